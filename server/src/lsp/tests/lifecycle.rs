use serde_json::{Value, json};

use super::editor::{Editor, Engines, Session, Setup, finding, snapshot, uri};
use crate::engine::Notice;
use crate::engine::NoticeLevel;

const CAPABILITIES: &str = r#"{"jsonrpc":"2.0","id":900,"method":"initialize","params":{"capabilities":{}}}"#;

fn lonely() -> Editor {
    Editor::start(Engines::new().0)
}

async fn initialized(editor: &mut Editor) {
    editor.request("initialize", json!({"capabilities": {}})).await.unwrap();
    editor.notify("initialized", json!({})).await;
}

#[tokio::test]
async fn exit_after_shutdown_ends_with_0_also_when_its_params_are_null() {
    let mut editor = lonely();
    initialized(&mut editor).await;
    assert_eq!(editor.request("shutdown", Value::Null).await, Ok(Value::Null));
    editor.notify("exit", Value::Null).await;
    assert_eq!(editor.exit_code().await, 0);
}

#[tokio::test]
async fn shutdown_and_exit_without_waiting_still_answer_the_shutdown() {
    let mut editor = lonely();
    initialized(&mut editor).await;
    let id = editor.ask("shutdown", json!({})).await;
    editor.notify("exit", Value::Null).await;
    assert_eq!(editor.answer_to(id).await, Ok(Value::Null));
    assert_eq!(editor.exit_code().await, 0);
}

#[tokio::test]
async fn exit_or_a_closed_pipe_without_shutdown_ends_with_1() {
    let mut editor = lonely();
    initialized(&mut editor).await;
    editor.notify("exit", Value::Null).await;
    assert_eq!(editor.exit_code().await, 1);

    let mut editor = lonely();
    initialized(&mut editor).await;
    assert_eq!(editor.hang_up().await, 1);

    let mut editor = lonely();
    editor.send_bytes(b"Content-Length: 4000\r\n\r\n{\"jsonrpc\"").await;
    assert_eq!(editor.hang_up().await, 1, "the pipe may close in the middle of a message");
}

#[tokio::test]
async fn a_pipe_closed_after_shutdown_ends_with_0() {
    let mut editor = lonely();
    initialized(&mut editor).await;
    editor.request("shutdown", Value::Null).await.unwrap();
    assert_eq!(editor.hang_up().await, 0);
}

#[tokio::test]
async fn before_initialize_and_after_shutdown_requests_are_refused() {
    let mut editor = lonely();
    assert_eq!(editor.request("fixLoop/status", json!({})).await.unwrap_err()["code"], -32002);
    initialized(&mut editor).await;
    assert_eq!(editor.request("initialize", json!({"capabilities": {}})).await.unwrap_err()["code"], -32600);
    assert_eq!(editor.request("no/such", json!({})).await.unwrap_err()["code"], -32601);
    editor.request("shutdown", Value::Null).await.unwrap();
    assert_eq!(editor.request("fixLoop/status", json!({})).await.unwrap_err()["code"], -32600);
    editor.notify("exit", Value::Null).await;
    assert_eq!(editor.exit_code().await, 0);
}

#[tokio::test]
async fn what_is_no_message_is_refused_and_the_next_message_still_counts() {
    let mut editor = lonely();
    let null_id = |message: &Value| message["id"].is_null();
    let cases: [(&[u8], i64); 6] = [
        (b"Content-Length: 9\r\n\r\n{\"broken\"", -32700),
        (b"Content-Length: many\r\n\r\n", -32700),
        (b"Content-Type: application/vscode-jsonrpc\r\n\r\n", -32700),
        (b"Content-Length: 2\r\n\r\n[]", -32600),
        (b"Content-Length: 2\r\n\r\n42", -32600),
        (b"content-length: 13\r\n\r\n{\"method\": 7}", -32600),
    ];
    for (bytes, code) in cases {
        editor.send_bytes(bytes).await;
        let refusal = editor.take_refusal(null_id).await;
        assert_eq!(refusal["error"]["code"], code, "{}", String::from_utf8_lossy(bytes));
    }
    editor.send_raw(CAPABILITIES).await;
    assert!(editor.answer_to(900).await.unwrap()["capabilities"].is_object());
    assert_eq!(editor.hang_up().await, 1);
}

#[tokio::test]
async fn a_handler_that_panics_gets_an_internal_error_and_the_server_lives_on() {
    let mut session = Session::start(Setup::default()).await;
    for method in ["test/panic", "test/panicInState"] {
        let error = session.editor.request_without_params(method).await.unwrap_err();
        assert_eq!(error["code"], -32603, "{method}");
    }
    assert!(session.editor.request("fixLoop/status", json!({})).await.is_ok());
    session.finish().await;
}

#[tokio::test]
async fn handlers_that_never_answer_do_not_keep_others_from_answering() {
    let mut session = Session::start(Setup::default()).await;
    for _ in 0..40 {
        session.editor.ask_without_params("test/never").await;
    }
    assert!(session.editor.request("fixLoop/status", json!({})).await.is_ok());
    let stuck = session.editor.ask_without_params("test/never").await;
    session.editor.notify("$/cancelRequest", json!({"id": stuck})).await;
    assert_eq!(session.editor.answer_to(stuck).await.unwrap_err()["code"], -32800);
}

#[tokio::test]
async fn answers_to_unknown_requests_are_passed_over() {
    let mut session = Session::start(Setup::default()).await;
    session.editor.send_raw(r#"{"jsonrpc":"2.0","id":4711,"result":null}"#).await;
    session.editor.send_raw(r#"{"jsonrpc":"2.0","id":"x","error":{"code":1,"message":"no"}}"#).await;
    session.editor.assert_quiet().await;
    session.finish().await;
}

#[tokio::test]
async fn what_is_offered_fits_what_the_client_can() {
    let mut editor = lonely();
    let capabilities = json!({"general": {"positionEncodings": ["utf-32", "utf-16"]}});
    let answer = editor.request("initialize", json!({"capabilities": capabilities})).await.unwrap();
    let offered = &answer["capabilities"];
    assert_eq!(offered["positionEncoding"], "utf-32");
    assert_eq!(offered["textDocumentSync"]["change"], 2);
    assert_eq!(offered["codeActionProvider"]["codeActionKinds"], json!(["quickfix"]));
    assert_eq!(offered["diagnosticProvider"], Value::Null, "push only");
    let commands = offered["executeCommandProvider"]["commands"].as_array().unwrap();
    assert!(commands.contains(&json!("fix-loop.fix")) && commands.contains(&json!("fix-loop.trust")));
    assert_eq!(answer["serverInfo"]["name"], "fix-loop");
    assert_eq!(editor.hang_up().await, 1);
}

#[tokio::test]
async fn the_folder_comes_from_root_uri_or_root_path_where_there_are_no_folders() {
    let folder = tempfile::TempDir::new().unwrap();
    let root_uri = json!({"capabilities": {}, "rootUri": uri(folder.path(), "")});
    let root_path = json!({"capabilities": {}, "rootPath": folder.path(), "workspaceFolders": null});
    for mut params in [root_uri, root_path] {
        params["initializationOptions"] = json!({"trusted": true, "settings": {"show": "all"}});
        let (engines, mut openings) = Engines::new();
        let engine = engines.add(folder.path(), snapshot(folder.path(), Vec::new()));
        let mut editor = Editor::start(engines);
        editor.request("initialize", params).await.unwrap();
        editor.notify("initialized", Value::Null).await;
        let opened = openings.recv().await.unwrap();
        assert_eq!(opened, (folder.path().to_owned(), Some(json!({"show": "all"})), Some(true)));
        editor.finish(vec![engine]).await;
    }
}

#[tokio::test]
async fn without_a_folder_commands_say_what_to_do() {
    let mut editor = lonely();
    initialized(&mut editor).await;
    let params = json!({"command": "fix-loop.fixAll", "arguments": [{}]});
    let error = editor.request("workspace/executeCommand", params).await.unwrap_err();
    assert_eq!(error["code"], -32803);
    assert!(error["message"].as_str().unwrap().contains("open the folder"));
    assert_eq!(editor.hang_up().await, 1);
}

#[tokio::test]
async fn an_engine_that_can_not_be_opened_is_said_once_and_again_when_asked() {
    let folder = tempfile::TempDir::new().unwrap();
    let (engines, _openings) = Engines::new();
    engines.put(folder.path(), Err("fix-loop.toml: unknown key `budgt`, did you mean `budget`?".into()));
    let engine = engines.add(folder.path(), snapshot(folder.path(), vec![finding(1, 1, 1)]));
    let mut editor = Editor::start(engines);
    let params = json!({"capabilities": {}, "rootUri": uri(folder.path(), "")});
    editor.request("initialize", params).await.unwrap();
    editor.notify("initialized", json!({})).await;
    let shown = editor.next("window/showMessage").await.params;
    assert_eq!(shown["type"], 1);
    assert!(shown["message"].as_str().unwrap().contains("did you mean `budget`"));
    let error = editor.request("fixLoop/status", json!({})).await.unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("budgt"));

    let reload = json!({"command": "fix-loop.reload", "arguments": [{}]});
    let reply = editor.request("workspace/executeCommand", reload).await.unwrap();
    assert_eq!(reply["message"], "opening the folder again");
    assert_eq!(editor.diagnostics().await["uri"], uri(folder.path(), "src/a.py"));
    editor.finish(vec![engine]).await;
}

#[tokio::test]
async fn two_folders_have_two_engines_and_a_removed_one_takes_its_diagnostics_along() {
    let (one, two) = (tempfile::TempDir::new().unwrap(), tempfile::TempDir::new().unwrap());
    let (engines, _openings) = Engines::new();
    let mut first = engines.add(one.path(), snapshot(one.path(), vec![finding(1, 3, 4)]));
    let mut second = engines.add(two.path(), snapshot(two.path(), vec![finding(1, 3, 4)]));
    let mut editor = Editor::start(engines);
    let folders = json!([{"uri": uri(one.path(), ""), "name": "one"}]);
    editor.request("initialize", json!({"capabilities": {}, "workspaceFolders": folders})).await.unwrap();
    editor.notify("initialized", json!({})).await;
    assert_eq!(editor.diagnostics().await["uri"], uri(one.path(), "src/a.py"));

    let added = json!({"added": [{"uri": uri(two.path(), ""), "name": "two"}], "removed": []});
    editor.notify("workspace/didChangeWorkspaceFolders", json!({"event": added})).await;
    assert_eq!(editor.diagnostics().await["uri"], uri(two.path(), "src/a.py"));

    // Both know a finding `1`: the editor has to say which one it means.
    let fix = |workspace: Option<&std::path::Path>| {
        let mut arguments = json!({"findings": [1]});
        if let Some(workspace) = workspace {
            arguments["workspace"] = json!(uri(workspace, ""));
        }
        json!({"command": "fix-loop.fix", "arguments": [arguments]})
    };
    let error = editor.request("workspace/executeCommand", fix(None)).await.unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("`workspace`"), "{error}");
    let id = editor.ask("workspace/executeCommand", fix(Some(two.path()))).await;
    second.command_done("queued").await;
    assert_eq!(editor.answer_to(id).await.unwrap()["message"], "queued");
    let page = editor.request("fixLoop/findings", json!({})).await.unwrap();
    assert_eq!(page["items"][1]["workspace"], uri(two.path(), ""));

    let removed = json!({"added": [], "removed": [{"uri": uri(one.path(), "") + "/", "name": "one"}]});
    editor.notify("workspace/didChangeWorkspaceFolders", json!({"event": removed})).await;
    first.shut_down().await;
    let cleared = editor.diagnostics().await;
    assert_eq!((&cleared["uri"], &cleared["diagnostics"]), (&json!(uri(one.path(), "src/a.py")), &json!([])));
    editor.finish(vec![second]).await;
}

#[tokio::test]
async fn changed_settings_open_the_engine_anew_but_never_under_a_running_loop() {
    let mut session = Session::start(Setup::default()).await;
    let folder = session.folder.path().to_owned();
    assert_eq!(session.openings.recv().await.unwrap(), (folder.clone(), None, None));
    session
        .engine
        .change(|snapshot| snapshot.status.loops = vec![super::editor::running_loop("L1", "fixing")]);
    session.sync().await;
    let settings = json!({"settings": {"fixLoop": {"show": "all"}}});
    session.editor.notify("workspace/didChangeConfiguration", settings.clone()).await;
    session.editor.settle().await;
    assert!(session.openings.try_recv().is_err(), "the loop is still running");

    session.engine.change(|snapshot| snapshot.status.loops.clear());
    session.engine.shut_down().await;
    let opened = session.openings.recv().await.unwrap();
    assert_eq!(opened, (folder, Some(json!({"show": "all"})), None));
    let shown = session.editor.next("window/showMessage").await.params;
    assert!(shown["message"].as_str().unwrap().contains("no engine"), "the test has only one engine to give");
    session.editor.notify("workspace/didChangeConfiguration", settings).await;
    session.editor.finish(Vec::new()).await;
}

#[tokio::test]
async fn problems_interrupt_and_everything_else_goes_to_the_log() {
    let mut session = Session::start(Setup::default()).await;
    let notice = |level, message: &str| Notice { level, r#loop: None, message: message.into() };
    session.engine.notice(notice(NoticeLevel::Worker, "reads src/a.py\u{1b}[2J"));
    assert_eq!(session.editor.next("window/logMessage").await.params["message"], "reads src/a.py[2J");
    session.engine.notice(notice(NoticeLevel::Warning, "slow"));
    assert_eq!(session.editor.next("window/logMessage").await.params["type"], 2);
    session.engine.notice(notice(NoticeLevel::Error, "no agent is installed"));
    assert_eq!(session.editor.next("window/showMessage").await.params["type"], 1);
    session.finish().await;
}

#[tokio::test]
async fn an_engine_that_stops_is_said_and_its_findings_go() {
    let mut session = Session::start(Setup { findings: vec![finding(1, 3, 4)], ..Setup::default() }).await;
    session.editor.diagnostics().await;
    drop(session.engine);
    assert_eq!(session.editor.next("window/showMessage").await.params["type"], 1);
    assert_eq!(session.editor.diagnostics().await["diagnostics"], json!([]));
    session.editor.finish(Vec::new()).await;
}

#[tokio::test]
async fn requests_that_begin_with_a_dollar_are_answered_and_arguments_may_be_null() {
    let mut session = Session::start(Setup::default()).await;
    let error = session.editor.request("$/noSuch", json!({})).await.unwrap_err();
    assert_eq!(error["code"], -32601, "LSP: such requests get an error, such notifications are passed over");
    session.editor.notify("$/noSuch", json!({})).await;
    for params in
        [json!({"command": "fix-loop.trust", "arguments": null}), json!({"command": "fix-loop.trust"})]
    {
        let id = session.editor.ask("workspace/executeCommand", params).await;
        session.engine.command_done("trusted").await;
        assert_eq!(session.editor.answer_to(id).await.unwrap()["message"], "trusted");
    }
    session.finish().await;
}

#[tokio::test]
async fn the_server_ends_when_the_editors_process_has_though_the_pipe_is_open() {
    let mut process = std::process::Command::new("cat").stdin(std::process::Stdio::piped()).spawn().unwrap();
    let mut editor = lonely();
    let params = json!({"processId": process.id(), "capabilities": {}});
    editor.request("initialize", params).await.unwrap();
    editor.notify("initialized", json!({})).await;
    process.kill().unwrap();
    process.wait().unwrap();
    assert_eq!(editor.exit_code().await, 1);
}

#[tokio::test]
async fn settings_are_asked_for_where_none_came_with_initialize() {
    let capabilities = json!({"workspace": {"configuration": true}});
    for (options, asked) in [
        (json!({}), true),
        (Value::Null, true),
        (json!({"settings": {}}), false),
        (json!({"settings": {"fixLoop": {"show": "all"}}}), false),
    ] {
        let setup =
            Setup { capabilities: capabilities.clone(), options: options.clone(), ..Setup::default() };
        let mut session = Session::start(setup).await;
        let given = session.openings.recv().await.unwrap().1;
        if asked {
            assert_eq!(given, None);
            let request = session.editor.next("workspace/configuration").await;
            assert_eq!(request.params, json!({"items": [{"section": "fixLoop"}]}));
            session.editor.respond(&request, json!([null])).await;
        } else {
            let own = options["settings"].get("fixLoop").unwrap_or(&options["settings"]);
            assert_eq!(given.as_ref(), Some(own), "with or without the name of the section");
        }
        session.finish().await;
    }
}
