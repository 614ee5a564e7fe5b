use std::sync::Arc;

use serde_json::{Value, json};

use super::editor::{Session, Setup, finding, question};
use crate::engine::Offers;
use crate::engine::status::FindingState;

fn titles(actions: &[Value]) -> Vec<&str> {
    actions.iter().map(|action| action["title"].as_str().unwrap()).collect()
}

#[tokio::test]
async fn every_line_that_a_finding_cites_offers_its_actions_as_plain_quick_fixes() {
    let mut session = Session::start(Setup { findings: vec![finding(1, 3, 4)], ..Setup::default() }).await;
    let shown = session.editor.diagnostics().await["diagnostics"][0].clone();
    for line in [2, 3] {
        let actions = session.actions("src/a.py", line, None).await;
        assert_eq!(
            actions[0],
            json!({
                "title": "Fix with loop: Finding 1",
                "kind": "quickfix",
                "diagnostics": [shown],
                "command": {
                    "title": "Fix with loop: Finding 1",
                    "command": "fix-loop.fix",
                    "arguments": [{"findings": ["fp1"]}],
                },
            })
        );
        assert_eq!(titles(&actions), ["Fix with loop: Finding 1", "Defer…", "Dispute…", "Show report"]);
    }
    for line in [0, 1, 4] {
        assert_eq!(session.actions("src/a.py", line, None).await, Vec::<Value>::new(), "line {line}");
    }
    assert_eq!(session.actions("src/other.py", 3, None).await, Vec::<Value>::new());
    session.finish().await;
}

#[tokio::test]
async fn nothing_is_offered_where_other_kinds_are_asked_for() {
    let mut session = Session::start(Setup { findings: vec![finding(1, 3, 4)], ..Setup::default() }).await;
    session.editor.diagnostics().await;
    for (only, offered) in [
        ("quickfix", true),
        ("", true),
        ("source.fixAll", false),
        ("refactor", false),
        ("quickfix.ruff", false),
    ] {
        assert_eq!(!session.actions("src/a.py", 2, Some(only)).await.is_empty(), offered, "{only}");
    }
    let at = json!({"line": 2, "character": 0});
    let params = json!({
        "textDocument": {"uri": session.uri("src/a.py")},
        "range": {"start": at, "end": at},
        "context": {"diagnostics": [], "only": []},
    });
    let actions = session.editor.request("textDocument/codeAction", params).await.unwrap();
    assert_ne!(actions, json!([]), "an empty list asks for nothing in particular");
    session.finish().await;
}

#[tokio::test]
async fn each_offer_is_one_action_with_its_command() {
    let cases: [(Offers, &str, &str, Value); 8] = [
        (
            Offers { verify: true, ..Offers::default() },
            "Verify my fix",
            "fix-loop.verify",
            json!({"finding": "fp1"}),
        ),
        (
            Offers { confirm: true, ..Offers::default() },
            "Confirm this finding",
            "fix-loop.confirm",
            json!({"finding": "fp1"}),
        ),
        (Offers { defer: true, ..Offers::default() }, "Defer…", "fix-loop.defer", json!({"finding": "fp1"})),
        (
            Offers { dispute: true, ..Offers::default() },
            "Dispute…",
            "fix-loop.dispute",
            json!({"finding": "fp1"}),
        ),
        (
            Offers { reopen: true, ..Offers::default() },
            "Reopen",
            "fix-loop.reopen",
            json!({"finding": "fp1"}),
        ),
        (
            Offers { undo: Some("L9".into()), ..Offers::default() },
            "Undo this fix",
            "fix-loop.undo",
            json!({"loop": "L9"}),
        ),
        (
            Offers { cancel: Some("L9".into()), ..Offers::default() },
            "Cancel loop",
            "fix-loop.cancel",
            json!({"loop": "L9"}),
        ),
        (Offers::default(), "Show report", "fix-loop.report", json!({"finding": "fp1"})),
    ];
    let mut session = Session::start(Setup { findings: vec![finding(1, 3, 4)], ..Setup::default() }).await;
    session.editor.diagnostics().await;
    for (offers, title, command, arguments) in cases {
        session.engine.change(|snapshot| Arc::make_mut(&mut snapshot.findings[0]).offers = offers);
        session.sync().await;
        let actions = session.actions("src/a.py", 2, None).await;
        assert_eq!(actions.len(), if title == "Show report" { 1 } else { 2 }, "{title}");
        let action = actions.iter().find(|action| action["title"] == title).unwrap();
        assert_eq!(action["command"]["command"], command);
        assert_eq!(action["command"]["arguments"], json!([arguments]));
    }
    session.finish().await;
}

#[tokio::test]
async fn several_findings_at_one_place_are_told_apart_and_fixed_together() {
    let mut resolved = finding(3, 4, 4);
    resolved.detail.state = FindingState::Resolved;
    resolved.offers = Offers::default();
    let findings = vec![finding(1, 3, 4), finding(2, 4, 4), resolved];
    let mut session = Session::start(Setup { findings, ..Setup::default() }).await;
    session.editor.diagnostics().await;
    let actions = session.actions("src/a.py", 3, None).await;
    assert_eq!(
        titles(&actions)[..6],
        [
            "Fix with loop: Finding 1",
            "Fix with loop: Finding 2",
            "Fix all 2 findings in this file with loop",
            "Defer…: Finding 1",
            "Dispute…: Finding 1",
            "Show report: Finding 1",
        ]
    );
    assert_eq!(actions[2]["command"]["command"], "fix-loop.fixFile");
    assert_eq!(actions[2]["command"]["arguments"], json!([{"file": "src/a.py"}]));
    session.finish().await;
}

#[tokio::test]
async fn an_open_question_is_answered_by_action_with_the_recommended_option_first() {
    let findings = vec![finding(1, 3, 4)];
    let change = |snapshot: &mut crate::engine::Snapshot| {
        snapshot.questions = vec![question("Q1")];
        Arc::make_mut(&mut snapshot.findings[0]).offers =
            Offers { question: Some("Q1".into()), ..Offers::default() };
    };
    let mut session = Session::start(Setup { findings, change, ..Setup::default() }).await;
    session.editor.diagnostics().await;
    let dialog = session.editor.next("window/showMessageRequest").await;
    session.editor.respond(&dialog, Value::Null).await;
    let actions = session.actions("src/a.py", 2, None).await;
    assert_eq!(
        titles(&actions),
        ["Answer: Approve expanded scope (recommended)", "Answer: Defer this finding", "Show report"]
    );
    assert_eq!(
        actions[0]["command"]["arguments"],
        json!([{"question": "Q1", "choice": "Approve expanded scope"}])
    );
    session.finish().await;
}

#[tokio::test]
async fn a_question_about_no_finding_is_offered_at_every_finding_and_only_once() {
    let change = |snapshot: &mut crate::engine::Snapshot| {
        let mut trust = question("trust1");
        trust.findings.clear();
        let mut other = question("Q2");
        other.findings = vec!["fp9".into()];
        snapshot.questions = vec![trust, other];
    };
    let findings = vec![finding(1, 3, 4), finding(2, 4, 4)];
    let mut session = Session::start(Setup { findings, change, ..Setup::default() }).await;
    session.editor.diagnostics().await;
    let dialog = session.editor.next("window/showMessageRequest").await;
    session.editor.respond(&dialog, Value::Null).await;
    session.editor.next("window/showMessageRequest").await;
    let actions = session.actions("src/a.py", 3, None).await;
    let answers: Vec<_> =
        titles(&actions).into_iter().filter(|title| title.starts_with("Answer: ")).collect();
    assert_eq!(answers, ["Answer: Approve expanded scope (recommended)", "Answer: Defer this finding"]);
    assert_eq!(actions[0]["command"]["arguments"][0]["question"], "trust1");
    session.finish().await;
}

#[tokio::test]
async fn settled_findings_offer_what_can_still_be_done_and_ignored_ones_nothing() {
    let mut deferred = finding(1, 3, 3);
    deferred.detail.state = FindingState::Deferred;
    deferred.offers = Offers { reopen: true, ..Offers::default() };
    let mut ignored = finding(2, 4, 4);
    ignored.detail.state = FindingState::Ignored;
    ignored.offers = Offers::default();
    let mut session = Session::start(Setup { findings: vec![deferred, ignored], ..Setup::default() }).await;
    assert_eq!(titles(&session.actions("src/a.py", 2, None).await), ["Reopen", "Show report"]);
    assert_eq!(session.actions("src/a.py", 3, None).await, Vec::<Value>::new());
    session.finish().await;
}

#[tokio::test]
async fn an_editor_without_action_objects_gets_commands_and_a_reason_only_where_it_can_be_shown() {
    let off = |snapshot: &mut crate::engine::Snapshot| {
        snapshot.fixing_off = Some("This folder is not trusted; run `fix-loop trust`.".into());
        Arc::make_mut(&mut snapshot.findings[0]).offers.fix = false;
    };
    let findings = || vec![finding(1, 3, 4)];
    let plain = Setup { capabilities: json!({}), findings: findings(), change: off, ..Setup::default() };
    let mut session = Session::start(plain).await;
    session.editor.diagnostics().await;
    let actions = session.actions("src/a.py", 2, None).await;
    assert_eq!(
        actions[0],
        json!({"title": "Defer…", "command": "fix-loop.defer", "arguments": [{"finding": "fp1"}]})
    );
    session.finish().await;

    let literals = json!({"codeActionKind": {"valueSet": []}});
    let capabilities = json!({"textDocument": {"codeAction": {"codeActionLiteralSupport": literals, "disabledSupport": true}}});
    let mut session =
        Session::start(Setup { capabilities, findings: findings(), change: off, ..Setup::default() }).await;
    session.editor.diagnostics().await;
    let actions = session.actions("src/a.py", 2, None).await;
    assert_eq!(
        actions[0],
        json!({
            "title": "Fix with loop: Finding 1",
            "kind": "quickfix",
            "disabled": {"reason": "This folder is not trusted; run `fix-loop trust`."},
        })
    );
    session.finish().await;
}
