use std::sync::Arc;

use lsp_types::Url;
use serde_json::{Value, json};

use super::editor::{Editor, Engines, Session, Setup, finding, snapshot, uri};
use crate::engine::status::FindingState;
use crate::engine::{BufferEvent, FindingView, InputError, Show};
use crate::protocol::Severity;

fn at(start: (u32, u32), end: (u32, u32)) -> Value {
    json!({"start": {"line": start.0, "character": start.1}, "end": {"line": end.0, "character": end.1}})
}

#[tokio::test]
async fn a_finding_is_shown_on_its_first_line_with_everything_needed_to_judge_it() {
    let mut shown = finding(7, 4, 4);
    shown.body = "The result is never used.\nCallers rely on it.\u{1b}[0m".into();
    shown.standing = "round 1 of 2: verifying".into();
    shown.generation = (1 << 53) + 5;
    let mut session = Session::start(Setup { findings: vec![shown], ..Setup::default() }).await;
    let published = session.editor.diagnostics().await;
    assert_eq!(
        published,
        json!({
            "uri": session.uri("src/a.py"),
            "diagnostics": [{
                "range": at((3, 4), (3, 12)),
                "severity": 2,
                "code": "AC-1",
                "source": "fix-loop",
                "message": "Finding 7\nThe result is never used.\nCallers rely on it.[0m\nround 1 of 2: verifying",
                "data": {"id": 7, "generation": 5},
            }],
        }),
        "no version, since the file is not open"
    );
    session.finish().await;
}

#[test]
fn how_loud_a_finding_is_depends_on_its_severity_its_state_and_what_is_asked_for() {
    use FindingState::*;
    let cases: [(Severity, FindingState, bool, [Option<i32>; 3]); 13] = [
        (Severity::P0, Open, false, [Some(1), Some(1), Some(1)]),
        (Severity::P1, Open, false, [Some(2), Some(2), Some(2)]),
        (Severity::P1, Fixing, false, [Some(2), Some(2), Some(2)]),
        (Severity::P0, Waiting, false, [Some(1), Some(1), Some(1)]),
        (Severity::P0, Stale, false, [Some(1), Some(1), Some(1)]),
        (Severity::P1, Manual, false, [Some(2), Some(2), Some(2)]),
        (Severity::P0, Ignored, true, [None, Some(4), Some(4)]),
        (Severity::P1, Ignored, false, [None, None, None]),
        (Severity::P2, Ignored, false, [None, None, Some(3)]),
        (Severity::P1, Demoted, false, [None, None, Some(3)]),
        (Severity::P0, Resolved, false, [None, None, None]),
        (Severity::P0, Deferred, false, [None, None, None]),
        (Severity::P0, Disputed, true, [None, None, None]),
    ];
    for (severity, state, unconfirmed, expected) in cases {
        let mut shown = finding(1, 1, 1);
        shown.detail.severity = severity;
        shown.detail.state = state;
        shown.unconfirmed = unconfirmed;
        for (show, expected) in [Show::Confirmed, Show::Unconfirmed, Show::All].into_iter().zip(expected) {
            let loud = super::super::diagnostics::severity(&shown, show);
            let loud = loud.map(|severity| serde_json::to_value(severity).unwrap().as_i64().unwrap() as i32);
            assert_eq!(loud, expected, "{severity:?} {state:?} {unconfirmed} {show:?}");
        }
    }
}

#[tokio::test]
async fn an_empty_set_is_sent_when_the_last_finding_of_a_file_goes_and_nothing_twice() {
    let mut session =
        Session::start(Setup { findings: vec![finding(1, 3, 4), finding(2, 4, 4)], ..Setup::default() })
            .await;
    assert_eq!(session.editor.diagnostics().await["diagnostics"].as_array().unwrap().len(), 2);

    session.engine.change(|_| {});
    session.sync().await;
    session.editor.assert_quiet().await;

    session
        .engine
        .change(|snapshot| Arc::make_mut(&mut snapshot.findings[0]).detail.state = FindingState::Resolved);
    session.engine.change(|snapshot| Arc::make_mut(&mut snapshot.findings[0]).generation += 1);
    assert_eq!(session.editor.diagnostics().await["diagnostics"].as_array().unwrap().len(), 1);
    session.engine.change(|snapshot| snapshot.findings.clear());
    assert_eq!(session.editor.diagnostics().await["diagnostics"], json!([]));
    session.finish().await;
}

#[tokio::test]
async fn the_version_is_exact_while_open_and_absent_once_closed() {
    let mut session = Session::start(Setup { findings: vec![finding(1, 3, 4)], ..Setup::default() }).await;
    assert_eq!(session.editor.diagnostics().await["version"], Value::Null);
    session.open("src/a.py", 11).await;
    assert_eq!(session.editor.diagnostics().await["version"], 11);
    session.edit("src/a.py", 12, [3, 4, 3, 4], "x").await;
    let published = session.editor.diagnostics().await;
    assert_eq!(
        (&published["version"], &published["diagnostics"][0]["range"]),
        (&json!(12), &at((2, 0), (2, 8)))
    );
    let closed = json!({"textDocument": {"uri": session.uri("src/a.py")}});
    session.editor.notify("textDocument/didClose", closed).await;
    assert_eq!(session.editor.diagnostics().await["version"], Value::Null);
    session.finish().await;
}

#[tokio::test]
async fn lines_put_in_above_move_the_squiggle_at_once_and_the_engine_gets_the_whole_text() {
    let mut session = Session::start(Setup { findings: vec![finding(1, 3, 4)], ..Setup::default() }).await;
    session.editor.diagnostics().await;
    session.open("src/a.py", 1).await;
    session.editor.diagnostics().await;
    session.edit("src/a.py", 2, [0, 0, 0, 0], "1\n2\n3\n4\n5\n6\n").await;
    let published = session.editor.diagnostics().await;
    assert_eq!(published["diagnostics"][0]["range"], at((8, 0), (8, 8)));
    assert_eq!(published["version"], 2);

    let text = "import os\n\ndef a():\n    return 1\n";
    let path = || "src/a.py".to_owned();
    assert_eq!(session.engine.buffer().await, BufferEvent::Opened { path: path(), text: text.into() });
    let changed: String = format!("1\n2\n3\n4\n5\n6\n{text}");
    let changed: std::sync::Arc<str> = changed.into();
    assert_eq!(session.engine.buffer().await, BufferEvent::Changed { path: path(), text: changed.clone() });

    // The engine catches up: the same lines, so nothing is sent but the new generation's data.
    session.engine.change(|snapshot| {
        Arc::make_mut(&mut snapshot.findings[0]).detail.line_start = Some(9);
        Arc::make_mut(&mut snapshot.findings[0]).detail.line_end = Some(10);
        snapshot.buffers_taken = 2;
    });
    session.sync().await;
    session.editor.assert_quiet().await;

    let saved = json!({"textDocument": {"uri": session.uri("src/a.py")}});
    session.editor.notify("textDocument/didSave", saved.clone()).await;
    assert_eq!(session.engine.buffer().await, BufferEvent::Saved { path: path(), text: changed });
    session.editor.notify("textDocument/didClose", saved).await;
    assert_eq!(session.engine.buffer().await, BufferEvent::Closed { path: path() });
    session.editor.diagnostics().await;
    session.finish().await;
}

#[tokio::test]
async fn the_engines_word_counts_where_it_has_seen_the_text_and_moved_a_finding_otherwise() {
    let mut session = Session::start(Setup { findings: vec![finding(1, 3, 4)], ..Setup::default() }).await;
    session.editor.diagnostics().await;
    session.open("src/a.py", 1).await;
    session.editor.diagnostics().await;
    // The whole cited code goes; here it can only be guessed where it is now.
    session.edit("src/a.py", 2, [1, 0, 4, 0], "").await;
    assert_eq!(session.editor.diagnostics().await["diagnostics"][0]["range"]["start"]["line"], 1);
    session.edit("src/a.py", 3, [0, 0, 0, 0], "#\n").await;
    assert_eq!(session.editor.diagnostics().await["diagnostics"][0]["range"]["start"]["line"], 2);

    // Opened, and the first of the changes: the same allocation of the finding, since nothing of it moved.
    session.engine.change(|snapshot| snapshot.buffers_taken = 2);
    session.sync().await;
    session.engine.change(|snapshot| {
        Arc::make_mut(&mut snapshot.findings[0]).detail.line_start = Some(1);
        Arc::make_mut(&mut snapshot.findings[0]).detail.line_end = Some(1);
        snapshot.buffers_taken = 3;
    });
    assert_eq!(session.editor.diagnostics().await["diagnostics"][0]["range"]["start"]["line"], 0);
    session.finish().await;
}

#[tokio::test]
async fn columns_count_in_the_negotiated_encoding() {
    for (encoding, end) in [("utf-8", 16), ("utf-16", 13), ("utf-32", 12)] {
        let mut session = Session::start(Setup {
            capabilities: json!({"general": {"positionEncodings": [encoding]}}),
            files: vec![("src/a.py", "  x = 'é𝄞'  \n")],
            findings: vec![finding(1, 1, 1)],
            ..Setup::default()
        })
        .await;
        let range = session.editor.diagnostics().await["diagnostics"][0]["range"].clone();
        assert_eq!(range, at((0, 2), (0, end)), "{encoding}");
        session.finish().await;
    }
}

#[tokio::test]
async fn a_finding_without_a_file_is_shown_on_its_entry_in_the_findings_file() {
    let nowhere = |mut finding: FindingView| {
        finding.detail.file = None;
        finding
    };
    let mut session = Session::start(Setup {
        files: vec![(".fix-loop/findings/review.json", "{\n \"findings\": [\n  {\"id\": 1}\n ]}\n")],
        findings: vec![nowhere(finding(1, 1, 1))],
        ..Setup::default()
    })
    .await;
    let published = session.editor.diagnostics().await;
    assert_eq!(published["uri"], session.uri(".fix-loop/findings/review.json"));
    assert_eq!(published["diagnostics"][0]["range"], at((2, 2), (2, 11)));
    let titles = session.actions(".fix-loop/findings/review.json", 2, None).await;
    assert_eq!(titles[0]["title"], "Fix with loop: Finding 1");
    session.finish().await;
}

#[tokio::test]
async fn input_that_can_not_be_read_is_an_error_at_the_exact_place() {
    let mut session = Session::start(Setup {
        files: vec![("fix-loop.toml", "[budget]\nwörkers = 1\n")],
        change: |snapshot| {
            snapshot.input_errors = vec![InputError {
                file: "fix-loop.toml".into(),
                line: 2,
                column: 3,
                message: "unknown key `wörkers`, did you mean `workers`?".into(),
            }];
        },
        ..Setup::default()
    })
    .await;
    let published = session.editor.diagnostics().await;
    assert_eq!(published["uri"], session.uri("fix-loop.toml"));
    assert_eq!(
        published["diagnostics"],
        json!([{
            "range": at((1, 2), (1, 11)),
            "severity": 1,
            "source": "fix-loop",
            "message": "unknown key `wörkers`, did you mean `workers`?",
        }])
    );
    session.engine.change(|snapshot| snapshot.input_errors.clear());
    assert_eq!(session.editor.diagnostics().await["diagnostics"], json!([]));
    session.finish().await;
}

#[tokio::test]
async fn a_whole_file_a_missing_file_and_lines_past_the_end_are_shown_somewhere_sensible() {
    let mut whole = finding(1, 1, 1);
    (whole.detail.line_start, whole.detail.line_end) = (None, None);
    let mut missing = finding(2, 30, 40);
    missing.detail.file = Some("gone.py".into());
    let findings = vec![whole, missing, finding(3, 99, 120)];
    let mut session = Session::start(Setup { findings, ..Setup::default() }).await;
    let gone = session.editor.diagnostics().await;
    assert_eq!(
        (&gone["uri"], &gone["diagnostics"][0]["range"]),
        (&json!(session.uri("gone.py")), &at((0, 0), (0, 0)))
    );
    let here = session.editor.diagnostics().await;
    assert_eq!(here["diagnostics"][0]["range"], at((0, 0), (0, 9)));
    assert_eq!(here["diagnostics"][1]["range"], at((4, 0), (4, 0)));
    session.finish().await;
}

#[cfg(unix)]
#[tokio::test]
async fn the_editors_own_spelling_is_used_for_a_workspace_behind_a_link() {
    let real = tempfile::TempDir::new().unwrap();
    let links = tempfile::TempDir::new().unwrap();
    let link = links.path().join("wörk space");
    std::os::unix::fs::symlink(real.path(), &link).unwrap();
    std::fs::write(real.path().join("a b.py"), "x = 1\n").unwrap();
    let mut cited = finding(1, 1, 1);
    cited.detail.file = Some("a b.py".into());
    let root = real.path().canonicalize().unwrap();
    let (engines, _openings) = Engines::new();
    let mut engine = engines.add(&link, snapshot(&root, vec![cited]));
    let mut editor = Editor::start(engines);
    let params = json!({"capabilities": {}, "rootUri": uri(&link, "")});
    editor.request("initialize", params).await.unwrap();
    editor.notify("initialized", json!({})).await;
    let spelled = Url::from_file_path(link.join("a b.py")).unwrap().to_string();
    assert_eq!(editor.diagnostics().await["uri"], spelled);

    // Opened by its real name: shown there instead.
    let by_real_name = Url::from_file_path(root.join("a b.py")).unwrap().to_string();
    let document = json!({"uri": by_real_name, "languageId": "python", "version": 5, "text": "x = 1\n"});
    editor.notify("textDocument/didOpen", json!({"textDocument": document})).await;
    let path = "a b.py".to_owned();
    assert_eq!(engine.buffer().await, BufferEvent::Opened { path, text: "x = 1\n".into() });
    let cleared = editor.diagnostics().await;
    assert_eq!((&cleared["uri"], &cleared["diagnostics"]), (&json!(spelled), &json!([])));
    let published = editor.diagnostics().await;
    assert_eq!((&published["uri"], &published["version"]), (&json!(by_real_name), &json!(5)));
    editor.finish(vec![engine]).await;
}

#[tokio::test]
async fn documents_opened_before_the_engine_are_introduced_to_it_with_what_is_not_saved() {
    let folder = tempfile::TempDir::new().unwrap();
    std::fs::write(folder.path().join("old.py"), "\u{feff}saved\r\n").unwrap();
    let (engines, _openings) = Engines::new();
    let mut engine = engines.add(folder.path(), snapshot(folder.path(), Vec::new()));
    let mut editor = Editor::start(engines);
    editor
        .request("initialize", json!({"capabilities": {}, "rootUri": uri(folder.path(), "")}))
        .await
        .unwrap();
    // No `initialized`: some editors forget it.
    let new = uri(folder.path(), "new.py");
    let document = json!({"uri": new, "languageId": "python", "version": 1, "text": "unsaved"});
    editor.notify("textDocument/didOpen", json!({"textDocument": document})).await;
    let path = "new.py".to_owned();
    assert_eq!(engine.buffer().await, BufferEvent::Opened { path, text: "unsaved".into() });

    let path = || "old.py".to_owned();
    for (text, unsaved) in [("saved\n", false), ("saved\nnot saved\n", true)] {
        let old = uri(folder.path(), "old.py");
        let document = json!({"uri": old, "languageId": "python", "version": 1, "text": text});
        editor.notify("textDocument/didOpen", json!({"textDocument": document})).await;
        let held = if unsaved { "saved\r\n" } else { text };
        assert_eq!(engine.buffer().await, BufferEvent::Opened { path: path(), text: held.into() });
        if unsaved {
            assert_eq!(engine.buffer().await, BufferEvent::Changed { path: path(), text: text.into() });
        }
    }
    editor.finish(vec![engine]).await;
}
