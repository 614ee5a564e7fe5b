use serde_json::{Value, json};

use super::editor::{Session, Setup, finding, question, running_loop};
use crate::engine::Command;

async fn session() -> Session {
    let capabilities = json!({"window": {"workDoneProgress": true}});
    let mut session =
        Session::start(Setup { capabilities, findings: vec![finding(1, 3, 4)], ..Setup::default() }).await;
    session.editor.diagnostics().await;
    session
}

async fn progress(session: &mut Session) -> (String, Value) {
    let params = session.editor.next("$/progress").await.params;
    (params["token"].as_str().unwrap().to_owned(), params["value"].clone())
}

#[tokio::test]
async fn a_loop_begins_after_the_editor_agreed_reports_each_change_and_ends_once() {
    let mut session = session().await;
    session.engine.change(|snapshot| snapshot.status.loops = vec![running_loop("L1", "fixing")]);
    let create = session.editor.next("window/workDoneProgress/create").await;
    let token = create.params["token"].as_str().unwrap().to_owned();
    session.editor.assert_quiet().await;
    session.editor.respond(&create, Value::Null).await;
    let begin = json!({
        "kind": "begin",
        "title": "Fix with loop: Finding 1",
        "cancellable": true,
        "message": "round 1 of 2: fixing",
    });
    assert_eq!(progress(&mut session).await, (token.clone(), begin));

    session.engine.change(|snapshot| {
        snapshot.status.loops[0].state = "verifying".into();
        snapshot.status.loops[0].activity = Some("runs pytest\u{7}\nand more".into());
    });
    let report =
        json!({"kind": "report", "cancellable": true, "message": "round 1 of 2: verifying · runs pytest…"});
    assert_eq!(progress(&mut session).await, (token.clone(), report));
    session.engine.change(|snapshot| snapshot.status.loops[0].seconds = 9.0);
    session.sync().await;
    session.editor.assert_quiet().await;

    session.engine.change(|snapshot| snapshot.status.loops.clear());
    assert_eq!(progress(&mut session).await, (token, json!({"kind": "end"})));
    session.finish().await;
}

#[tokio::test]
async fn a_loop_that_waits_goes_on_and_one_that_stays_listed_after_its_end_is_ended() {
    let mut session = session().await;
    session.engine.change(|snapshot| {
        snapshot.status.loops = vec![running_loop("L0", "interrupted"), running_loop("L1", "fixing")];
    });
    let create = session.editor.next("window/workDoneProgress/create").await;
    assert!(create.params["token"].as_str().unwrap().contains("/L1/"));
    session.editor.respond(&create, Value::Null).await;
    assert_eq!(progress(&mut session).await.1["kind"], "begin");
    session.engine.change(|snapshot| {
        snapshot.status.loops[1].state = "waiting".into();
        snapshot.questions = vec![question("Q1")];
    });
    session.editor.next("window/showMessageRequest").await;
    assert_eq!(progress(&mut session).await.1["message"], "round 1 of 2: waiting");
    session.engine.change(|snapshot| {
        snapshot.status.loops[1].state = "finished".into();
        snapshot.questions.clear();
    });
    assert_eq!(progress(&mut session).await.1, json!({"kind": "end"}));
    session.sync().await;
    session.editor.assert_quiet().await;
    session.finish().await;
}

#[tokio::test]
async fn cancelling_the_progress_cancels_the_loop() {
    let mut session = session().await;
    session.engine.change(|snapshot| snapshot.status.loops = vec![running_loop("L1", "fixing")]);
    let create = session.editor.next("window/workDoneProgress/create").await;
    session.editor.respond(&create, Value::Null).await;
    let (token, _) = progress(&mut session).await;
    session.editor.notify("window/workDoneProgress/cancel", json!({"token": "unknown"})).await;
    session.editor.notify("window/workDoneProgress/cancel", json!({"token": 5})).await;
    session.editor.notify("window/workDoneProgress/cancel", json!({"token": token})).await;
    assert_eq!(session.engine.command_done("cancelled").await, Command::Cancel { r#loop: Some("L1".into()) });
    session.engine.change(|snapshot| snapshot.status.loops.clear());
    assert_eq!(progress(&mut session).await.1["kind"], "end");
    session.finish().await;
}

#[tokio::test]
async fn a_refused_progress_is_never_begun_and_an_editor_without_progress_is_not_asked() {
    let mut refusing = session().await;
    refusing.engine.change(|snapshot| snapshot.status.loops = vec![running_loop("L1", "fixing")]);
    let create = refusing.editor.next("window/workDoneProgress/create").await;
    refusing.editor.respond_error(&create, -32601).await;
    refusing.engine.change(|snapshot| snapshot.status.loops[0].state = "verifying".into());
    refusing.sync().await;
    refusing.engine.change(|snapshot| snapshot.status.loops.clear());
    refusing.sync().await;
    refusing.finish().await;

    let mut unable = Session::start(Setup::default()).await;
    unable.engine.change(|snapshot| snapshot.status.loops = vec![running_loop("L1", "fixing")]);
    unable.sync().await;
    unable.finish().await;
}

#[tokio::test]
async fn a_loop_that_ended_before_the_editor_agreed_is_begun_and_ended_at_once() {
    let mut session = session().await;
    session.engine.change(|snapshot| snapshot.status.loops = vec![running_loop("L1", "fixing")]);
    let create = session.editor.next("window/workDoneProgress/create").await;
    session.engine.change(|snapshot| snapshot.status.loops.clear());
    session.sync().await;
    session.editor.respond(&create, Value::Null).await;
    assert_eq!(progress(&mut session).await.1["kind"], "begin");
    assert_eq!(progress(&mut session).await.1["kind"], "end");
    session.finish().await;
}

#[tokio::test]
async fn what_is_shown_at_shutdown_is_ended() {
    let mut session = session().await;
    session.engine.change(|snapshot| snapshot.status.loops = vec![running_loop("L1", "fixing")]);
    let create = session.editor.next("window/workDoneProgress/create").await;
    session.editor.respond(&create, Value::Null).await;
    progress(&mut session).await;
    let id = session.editor.ask("shutdown", Value::Null).await;
    session.engine.shut_down().await;
    assert_eq!(session.editor.answer_to(id).await, Ok(Value::Null));
    assert_eq!(progress(&mut session).await.1["kind"], "end");
    session.editor.notify("exit", Value::Null).await;
    assert_eq!(session.editor.exit_code().await, 0);
}
