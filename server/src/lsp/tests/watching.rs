use serde_json::{Value, json};

use super::editor::{Session, Setup, finding};

#[tokio::test]
async fn an_editor_that_can_watch_is_asked_to_and_its_word_reaches_the_engine() {
    let capabilities = json!({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": true}}});
    let mut session = Session::start(Setup { capabilities, ..Setup::default() }).await;
    let asked = session.editor.next("client/registerCapability").await;
    let registration = &asked.params["registrations"][0];
    assert_eq!(registration["method"], "workspace/didChangeWatchedFiles");
    assert_eq!(
        registration["registerOptions"]["watchers"],
        json!([{"globPattern": "**/fix-loop.toml"}, {"globPattern": "**/.fix-loop/findings/**"}])
    );
    session.editor.respond(&asked, Value::Null).await;
    session.engine.files_changed().await;
    let changes = json!([{"uri": session.uri(".fix-loop/findings/new.json"), "type": 1}]);
    session.editor.notify("workspace/didChangeWatchedFiles", json!({"changes": changes})).await;
    session.engine.files_changed().await;
    session.finish().await;
}

#[tokio::test]
async fn relative_patterns_are_used_where_they_are_known() {
    let watching = json!({"dynamicRegistration": true, "relativePatternSupport": true});
    let capabilities = json!({"workspace": {"didChangeWatchedFiles": watching}});
    let mut session = Session::start(Setup { capabilities, ..Setup::default() }).await;
    let asked = session.editor.next("client/registerCapability").await;
    assert_eq!(
        asked.params["registrations"][0]["registerOptions"]["watchers"][0]["globPattern"],
        json!({"baseUri": session.uri(""), "pattern": "fix-loop.toml"})
    );
    session.finish().await;
}

#[tokio::test]
async fn without_a_watching_editor_the_server_notices_new_changed_and_cited_files() {
    let mut session = Session::start(Setup { findings: vec![finding(1, 3, 4)], ..Setup::default() }).await;
    session.editor.diagnostics().await;
    session.engine.files_changed().await;
    let write = |path: &str, text: &str| {
        let file = session.folder.path().join(path);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    for (path, text) in [
        (".fix-loop/findings/deep/review.json", "{}"),
        (".fix-loop/findings/deep/review.json", "{\"findings\": []}"),
        ("fix-loop.toml", "protocol = \"bounded\"\n"),
        ("src/a.py", "shorter\n"),
    ] {
        write(path, text);
        session.engine.files_changed().await;
    }
    std::fs::remove_file(session.folder.path().join("fix-loop.toml")).unwrap();
    session.engine.files_changed().await;
    session.finish().await;
}

#[tokio::test]
async fn a_saved_findings_file_is_read_again_at_once() {
    let file = ".fix-loop/findings/review.json";
    let mut session = Session::start(Setup { files: vec![(file, "{}")], ..Setup::default() }).await;
    session.engine.files_changed().await;
    session.open(file, 1).await;
    session.engine.buffer().await;
    let saved = json!({"textDocument": {"uri": session.uri(file)}});
    session.editor.notify("textDocument/didSave", saved).await;
    session.engine.buffer().await;
    session.engine.files_changed().await;
    session.finish().await;
}

#[tokio::test]
async fn the_inbox_that_the_configuration_names_is_polled_even_where_the_editor_watches_the_usual_one() {
    let capabilities = json!({"workspace": {"didChangeWatchedFiles": {"dynamicRegistration": true}}});
    let files = vec![("fix-loop.toml", "findings = [\"reviews/*.json\"]\n")];
    let mut session = Session::start(Setup { capabilities, files, ..Setup::default() }).await;
    session.editor.next("client/registerCapability").await;
    session.engine.files_changed().await;
    std::fs::create_dir(session.folder.path().join("reviews")).unwrap();
    std::fs::write(session.folder.path().join("reviews/first.json"), "{}").unwrap();
    session.engine.files_changed().await;
    session.finish().await;
}

#[test]
fn a_glob_is_looked_for_no_deeper_than_it_can_match() {
    use super::super::watching::tree_of;
    for (glob, path, deep) in [
        (".fix-loop/findings/**", ".fix-loop/findings", true),
        ("reviews/*.json", "reviews", false),
        ("reviews/*/out.json", "reviews", true),
        ("review.json", "", false),
        ("out/review.json", "out", false),
        ("**/*.sarif", "", false),
    ] {
        let (found, depth) = tree_of(glob);
        assert_eq!((found.as_str(), depth > 0), (path, deep), "{glob}");
    }
}
