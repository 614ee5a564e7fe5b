use serde_json::{Value, json};

use super::super::commands::{COMMANDS, Request, What};
use super::editor::{Session, Setup, finding};
use crate::engine::{Command, Refusal, RefusalKind};

fn read(command: &str, arguments: Value) -> Result<What, String> {
    let arguments = if arguments.is_null() { Vec::new() } else { vec![arguments] };
    Request::read(command, arguments).map(|request| request.what).map_err(|error| error.message.into_owned())
}

#[test]
fn every_command_is_read_from_one_json_object() {
    let cases = [
        (
            "fix-loop.fix",
            json!({"findings": [7, "SRC#8"]}),
            Command::Fix { findings: vec!["7".into(), "SRC#8".into()] },
        ),
        ("fix-loop.fixFile", json!({"file": "src/a.py"}), Command::FixFile { path: "src/a.py".into() }),
        ("fix-loop.fixAll", json!({}), Command::FixAll),
        ("fix-loop.fixAll", Value::Null, Command::FixAll),
        (
            "fix-loop.answer",
            json!({"question": "Q1", "choice": 2}),
            Command::Answer { question: "Q1".into(), choice: "2".into(), text: None },
        ),
        ("fix-loop.defer", json!({"finding": "fp1"}), Command::Defer { finding: "fp1".into(), reason: None }),
        (
            "fix-loop.dispute",
            json!({"finding": 3, "reason": "by design"}),
            Command::Dispute { finding: "3".into(), reason: Some("by design".into()) },
        ),
        ("fix-loop.confirm", json!({"finding": "fp1"}), Command::Confirm { finding: "fp1".into() }),
        ("fix-loop.reopen", json!({"finding": "fp1"}), Command::Reopen { finding: "fp1".into() }),
        ("fix-loop.verify", json!({"finding": "fp1"}), Command::Verify { finding: "fp1".into() }),
        ("fix-loop.cancel", json!({}), Command::Cancel { r#loop: None }),
        ("fix-loop.cancel", json!({"loop": "L1"}), Command::Cancel { r#loop: Some("L1".into()) }),
        ("fix-loop.undo", json!({"loop": "L1"}), Command::Undo { r#loop: "L1".into() }),
        ("fix-loop.review", json!({}), Command::Review),
        ("fix-loop.import", json!({"source": "out.sarif"}), Command::Import { source: "out.sarif".into() }),
        ("fix-loop.fromCheck", json!({"name": "unit"}), Command::FromCheck { name: "unit".into() }),
        ("fix-loop.reload", json!({}), Command::Reload),
        ("fix-loop.trust", json!({}), Command::Trust),
    ];
    for (command, arguments, expected) in cases {
        assert_eq!(read(command, arguments), Ok(What::Engine(expected)), "{command}");
    }
    assert_eq!(read("fix-loop.report", json!({"finding": 1})), Ok(What::Report("1".into())));
}

#[test]
fn wrong_arguments_are_refused_by_naming_the_key() {
    let cases = [
        ("fix-loop.fix", json!({}), "needs the key `findings`"),
        ("fix-loop.fix", json!({"findings": "7"}), "`findings` of `fix-loop.fix` must be a list"),
        ("fix-loop.fix", json!({"findings": []}), "the list is empty"),
        ("fix-loop.fix", json!({"findings": [{}]}), "`findings` of `fix-loop.fix` must be text"),
        ("fix-loop.fix", json!({"findings": [1], "finding": 1}), "does not know the key `finding`"),
        ("fix-loop.answer", json!({"question": "Q1"}), "needs the key `choice`"),
        ("fix-loop.answer", json!({"question": true, "choice": 1}), "`question` of"),
        ("fix-loop.answer", json!({"question": "Q1", "choice": 1.5}), "`choice` of"),
        ("fix-loop.defer", json!({"finding": "  "}), "`finding` of"),
        ("fix-loop.cancel", json!({"loop": []}), "`loop` of"),
        ("fix-loop.fixFile", json!({}), "`uri` and `file`"),
        ("fix-loop.fixFile", json!({"uri": "no uri"}), "`uri` of"),
        ("fix-loop.reload", json!({"now": true}), "`now`"),
        ("fix-loop.trust", json!([1]), "takes one JSON object, not [1]"),
        ("fix-loop.explode", json!({}), "no command `fix-loop.explode`"),
    ];
    for (command, arguments, expected) in cases {
        let error = read(command, arguments.clone()).unwrap_err();
        assert!(error.contains(expected), "{command} {arguments}: {error}");
    }
    let two = Request::read("fix-loop.reload", vec![json!({}), json!({})]).unwrap_err();
    assert!(two.message.contains("2 arguments"));
}

#[test]
fn every_command_that_is_offered_is_known() {
    for command in COMMANDS {
        if let Err(error) = read(command, json!({})) {
            assert!(!error.contains("there is no command"), "{command}");
        }
    }
}

#[tokio::test]
async fn a_refusal_becomes_an_error_of_the_fitting_kind() {
    let mut session = Session::start(Setup { findings: vec![finding(1, 3, 4)], ..Setup::default() }).await;
    session.editor.diagnostics().await;
    for (kind, code, name) in [
        (RefusalKind::Unknown, -32602, "unknown"),
        (RefusalKind::NotNow, -32803, "not_now"),
        (RefusalKind::Environment, -32803, "environment"),
    ] {
        let params = json!({"command": "fix-loop.fix", "arguments": [{"findings": ["fp1"]}]});
        let id = session.editor.ask("workspace/executeCommand", params).await;
        let (command, reply) = session.engine.command().await;
        assert_eq!(command, Command::Fix { findings: vec!["fp1".into()] });
        reply.send(Err(Refusal { kind, message: "first save src/a.py".into() })).unwrap();
        let error = session.editor.answer_to(id).await.unwrap_err();
        assert_eq!(error, json!({"code": code, "message": "first save src/a.py", "data": {"kind": name}}));
    }
    session.finish().await;
}

#[tokio::test]
async fn an_invalid_command_is_an_invalid_params_error() {
    let mut session = Session::start(Setup::default()).await;
    let params = json!({"command": "fix-loop.fix", "arguments": [{"finding": 1}]});
    let error = session.editor.request("workspace/executeCommand", params).await.unwrap_err();
    assert_eq!(error["code"], -32602);
    session.finish().await;
}

#[tokio::test]
async fn a_file_is_named_by_uri_or_path() {
    let mut session = Session::start(Setup { findings: vec![finding(1, 3, 4)], ..Setup::default() }).await;
    session.editor.diagnostics().await;
    for arguments in [json!({"uri": session.uri("src/a.py")}), json!({"file": "src/a.py"})] {
        let params = json!({"command": "fix-loop.fixFile", "arguments": [arguments]});
        let id = session.editor.ask("workspace/executeCommand", params).await;
        assert_eq!(session.engine.command_done("queued").await, Command::FixFile { path: "src/a.py".into() });
        assert!(session.editor.answer_to(id).await.is_ok());
    }
    let params = json!({"command": "fix-loop.fixFile", "arguments": [{"uri": "file:///elsewhere/x.py"}]});
    let error = session.editor.request("workspace/executeCommand", params).await.unwrap_err();
    assert!(error["message"].as_str().unwrap().contains("in no workspace folder"));
    session.finish().await;
}

#[tokio::test]
async fn a_report_is_returned_and_shown_where_the_editor_does_not_show_it_itself() {
    let report = |finding: Value| json!({"command": "fix-loop.report", "arguments": [{"finding": finding}]});
    let start = |capabilities: Value| {
        Session::start(Setup { capabilities, findings: vec![finding(1, 3, 4)], ..Setup::default() })
    };
    let mut session = start(json!({})).await;
    session.editor.diagnostics().await;
    let returned = session.editor.request("workspace/executeCommand", report(json!(1))).await;
    let whole = finding(1, 3, 4).report();
    assert_eq!(returned, Ok(json!(whole)));
    assert_eq!(session.editor.next("window/showMessage").await.params["message"], whole.trim());
    let error = session.editor.request("workspace/executeCommand", report(json!(99))).await.unwrap_err();
    assert_eq!(error["code"], -32602);
    session.finish().await;

    let mut session = start(json!({"window": {"showDocument": {"support": true}}})).await;
    session.editor.diagnostics().await;
    session.editor.request("workspace/executeCommand", report(json!("fp1"))).await.unwrap();
    let shown = session.editor.next("window/showDocument").await;
    let uri = lsp_types::Url::parse(shown.params["uri"].as_str().unwrap()).unwrap();
    let file = uri.to_file_path().unwrap();
    assert_eq!(std::fs::read_to_string(&file).unwrap(), whole);
    assert!(!file.starts_with(session.folder.path()));
    session.editor.respond(&shown, json!({"success": true})).await;
    session.finish().await;
    assert!(!file.exists(), "reports go with the server");

    let mut session = start(json!({"experimental": {"fixLoop": {"report": true}}})).await;
    session.editor.diagnostics().await;
    session.editor.request("workspace/executeCommand", report(json!(1))).await.unwrap();
    session.finish().await;
}
