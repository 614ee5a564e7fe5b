use serde_json::{Value, json};

use super::editor::{Session, Setup, finding, question};
use crate::engine::Offers;
use crate::engine::status::{FindingState, StatusFinding};
use crate::protocol::Grade;

async fn hover(session: &mut Session, line: u32) -> Value {
    let params = json!({
        "textDocument": {"uri": session.uri("src/a.py")},
        "position": {"line": line, "character": 0},
    });
    session.editor.request("textDocument/hover", params).await.unwrap()
}

#[tokio::test]
async fn hover_says_everything_about_the_findings_at_a_line() {
    let mut shown = finding(1, 3, 4);
    shown.detail.evidence = Some(Grade::Touched);
    shown.detail.round = Some(2);
    shown.cost_usd = Some(0.125);
    shown.standing = "round 2 of 2: waiting for your answer".into();
    shown.attempts = vec!["Round 1: renamed `a`; test_a still fails.".into()];
    shown.offers = Offers { question: Some("Q1".into()), cancel: Some("L1".into()), ..Offers::default() };
    let change = |snapshot: &mut crate::engine::Snapshot| snapshot.questions = vec![question("Q1")];
    let capabilities = json!({"textDocument": {"hover": {"contentFormat": ["markdown", "plaintext"]}}});
    let mut session =
        Session::start(Setup { capabilities, findings: vec![shown], change, ..Setup::default() }).await;
    session.editor.diagnostics().await;
    session.editor.next("window/showMessageRequest").await;
    let answer = hover(&mut session, 3).await;
    assert_eq!(answer["contents"]["kind"], "markdown");
    let text = answer["contents"]["value"].as_str().unwrap();
    let listed = session.uri(".fix-loop/findings/review.json");
    for part in [
        "### P1: Finding 1",
        "**State:** round 2 of 2: waiting for your answer",
        "It is wrong.",
        "**Criterion:** AC-1",
        "**Evidence:** touched",
        "**Round:** 2",
        "**Cost:** $0.12",
        "Round 1: renamed `a`; test_a still fails.",
        "**Question:** May Q1 change src/b.py too?",
        "**You can:** Answer · Cancel loop",
        &format!("[.fix-loop/findings/review.json:3]({listed}#L3)"),
    ] {
        assert!(text.contains(part), "`{part}` is missing in\n{text}");
    }
    assert_eq!(hover(&mut session, 0).await, Value::Null);
    session.finish().await;
}

#[tokio::test]
async fn an_editor_without_markdown_gets_plain_text_and_why_fixing_is_off() {
    let mut shown = finding(1, 3, 4);
    shown.offers = Offers::default();
    let change =
        |snapshot: &mut crate::engine::Snapshot| snapshot.fixing_off = Some("No git repository.".into());
    let mut session = Session::start(Setup { findings: vec![shown], change, ..Setup::default() }).await;
    session.editor.diagnostics().await;
    let answer = hover(&mut session, 2).await;
    assert_eq!(answer["contents"]["kind"], "plaintext");
    let text = answer["contents"]["value"].as_str().unwrap();
    assert!(
        text.starts_with("P1: Finding 1\n") && text.contains("Fixing is off: No git repository."),
        "{text}"
    );
    let params = json!({"textDocument": {"uri": session.uri("src/a.py")}});
    let lenses = session.editor.request("textDocument/codeLens", params).await.unwrap();
    assert_eq!(lenses[1]["command"]["title"], "Fixing is off: No git repository.", "{lenses}");
    session.finish().await;
}

#[tokio::test]
async fn a_lens_above_each_shown_finding_says_how_it_stands_and_fixes_it() {
    let mut resolved = finding(2, 1, 1);
    resolved.detail.state = FindingState::Resolved;
    let capabilities = json!({"workspace": {"codeLens": {"refreshSupport": true}}});
    let findings = vec![finding(1, 4, 4), resolved];
    let mut session = Session::start(Setup { capabilities, findings, ..Setup::default() }).await;
    session.editor.diagnostics().await;
    let refresh = session.editor.next("workspace/codeLens/refresh").await;
    let params = json!({"textDocument": {"uri": session.uri("src/a.py")}});
    let lenses = session.editor.request("textDocument/codeLens", params).await.unwrap();
    let range = json!({"start": {"line": 3, "character": 4}, "end": {"line": 3, "character": 12}});
    assert_eq!(
        lenses,
        json!([
            {
                "range": range,
                "command": {
                    "title": "Finding 1 — open",
                    "command": "fix-loop.report",
                    "arguments": [{"finding": "fp1"}],
                },
            },
            {
                "range": range,
                "command": {
                    "title": "Fix with loop",
                    "command": "fix-loop.fix",
                    "arguments": [{"findings": ["fp1"]}],
                },
            },
        ])
    );
    // Two changes while one refresh is under way ask for one more, not two.
    session.engine.change(|_| {});
    session.sync().await;
    session.engine.change(|_| {});
    session.sync().await;
    session.editor.assert_quiet().await;
    session.editor.respond(&refresh, Value::Null).await;
    let again = session.editor.next("workspace/codeLens/refresh").await;
    session.editor.respond(&again, Value::Null).await;
    session.editor.assert_quiet().await;
    session.finish().await;
}

#[tokio::test]
async fn the_status_is_sent_when_it_changes_and_given_when_asked() {
    let mut session = Session::start(Setup { findings: vec![finding(1, 3, 4)], ..Setup::default() }).await;
    session.editor.diagnostics().await;
    assert_eq!(session.editor.statuses.len(), 1);
    assert_eq!(session.editor.statuses[0]["counts"]["open"], 1);
    session.engine.change(|snapshot| {
        snapshot.status.counts.resolved = 1;
        let detail: StatusFinding = snapshot.findings[0].detail.clone();
        snapshot.status.findings_detail = vec![detail];
    });
    session.sync().await;
    session.editor.settle().await;
    let last = session.editor.statuses.last().unwrap().clone();
    assert_eq!(last["counts"]["resolved"], 1);
    assert_eq!(last.get("findings_detail"), None);
    assert_eq!(session.editor.request_without_params("fixLoop/status").await, Ok(last));
    let wrong = session.editor.request("fixLoop/status", json!({"workspace": 7})).await.unwrap_err();
    assert_eq!(wrong["code"], -32602);
    session.finish().await;
}

#[tokio::test]
async fn findings_are_paged_and_filtered() {
    let mut findings: Vec<_> = (1..=5).map(|id| finding(id, id, id)).collect();
    findings[1].detail.state = FindingState::Resolved;
    findings[4].detail.file = Some("src/b.py".into());
    let mut session = Session::start(Setup { findings, ..Setup::default() }).await;
    session.editor.diagnostics().await;
    session.editor.diagnostics().await;
    async fn page(session: &mut Session, query: Value) -> (Vec<u64>, Value) {
        let page = session.editor.request("fixLoop/findings", query).await.unwrap();
        let ids = page["items"].as_array().unwrap().iter().map(|item| item["id"].as_u64().unwrap()).collect();
        (ids, page["next"].clone())
    }
    let (ids, next) = page(&mut session, json!({"limit": 2})).await;
    assert_eq!(ids, [1, 2]);
    session.engine.change(|snapshot| drop(snapshot.findings.remove(0)));
    session.sync().await;
    session.editor.diagnostics().await;
    let (ids, next) = page(&mut session, json!({"limit": 2, "cursor": next})).await;
    assert_eq!(ids, [3, 4], "a finding that went meanwhile shifts nothing");
    assert_eq!(page(&mut session, json!({"limit": 2, "cursor": next})).await, (vec![5], Value::Null));
    assert_eq!(page(&mut session, json!({"states": ["resolved"]})).await, (vec![2], Value::Null));
    let here = json!({"uri": session.uri("src/b.py"), "states": null});
    assert_eq!(page(&mut session, here).await, (vec![5], Value::Null));
    assert_eq!(page(&mut session, json!({"uri": "file:///elsewhere.py"})).await, (vec![], Value::Null));

    let first = session.editor.request("fixLoop/findings", json!({"limit": 1})).await.unwrap();
    assert_eq!(
        first["items"][0],
        json!({
            "id": 2, "fingerprint": "fp2", "severity": "P1", "title": "Finding 2", "file": "src/a.py",
            "line_start": 2, "line_end": 2, "state": "resolved", "evidence": null, "round": null, "loop": null,
        })
    );
    for (wrong, key) in [
        (json!({"limit": 0}), "`limit`"),
        (json!({"limit": "2"}), "`limit`"),
        (json!({"cursor": 7}), "`cursor`"),
        (json!({"cursor": "junk"}), "`cursor`"),
        (json!({"states": ["fixed"]}), "`states`"),
        (json!({"uri": "no uri"}), "`uri`"),
        (json!({"page": 1}), "`page`"),
        (json!([]), "one JSON object"),
    ] {
        let error = session.editor.request("fixLoop/findings", wrong.clone()).await.unwrap_err();
        assert_eq!(error["code"], -32602);
        assert!(error["message"].as_str().unwrap().contains(key), "{wrong}: {error}");
    }
    session.finish().await;
}
