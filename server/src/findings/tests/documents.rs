//! Reviews as models and agents really write them.

use super::*;
use crate::findings::import::Format;

fn import_text(text: &str) -> Imported {
    import(text.as_bytes(), "review.txt").unwrap_or_else(|error| panic!("{error}\n{text}"))
}

fn shown(imported: &Imported) -> Vec<String> {
    imported
        .review_output
        .findings
        .iter()
        .map(|finding| {
            let lines = match (finding.line_start, finding.line_end) {
                (Some(start), Some(end)) => format!(":{start}-{end}"),
                (Some(start), None) => format!(":{start}"),
                _ => String::new(),
            };
            format!(
                "{} {}{lines} {}",
                finding.severity,
                finding.file.as_deref().unwrap_or("-"),
                finding.title
            )
        })
        .collect()
}

#[test]
fn an_exact_review_passes_without_a_note() {
    let imported = imported(&review_json(json!([finding_json(json!({}))])));
    assert_eq!(imported.format, Format::ReviewOutput);
    assert!(imported.notes.is_empty(), "{:?}", imported.notes);
    assert_eq!(imported.review_output.findings[0].verdict, Some(Verdict::Confirmed));
}

#[test]
fn a_review_is_found_in_every_wrapping() {
    let review = review_json(json!([finding_json(json!({}))]));
    let pretty = serde_json::to_string_pretty(&review).unwrap();
    let fenced = format!("Here is my review:\n\n```json\n{pretty}\n```\n\nLet me know!");
    let message =
        |text: &str| json!({"type": "item.completed", "item": {"type": "agent_message", "text": text}});
    let lines = |values: &[Value]| values.iter().map(Value::to_string).collect::<Vec<_>>().join("\n");
    let wrappings = [
        pretty.clone(),
        format!("\u{feff}{pretty}"),
        fenced.clone(),
        fenced.replace("```json", "~~~").replace("```", "~~~"),
        format!("```\n{pretty}\n```"),
        format!("```json\n{pretty}"),
        format!("I looked at {{everything}} [1].\n{pretty}\nDone."),
        format!("```json\n{{\"note\": \"first\"}}\n```\nand\n```json\n{pretty}\n```"),
        json!({"type": "result", "subtype": "success", "is_error": false, "result": fenced}).to_string(),
        json!({"type": "result", "is_error": false, "result": "done", "structured_output": review}).to_string(),
        json!([{"type": "system"}, {"type": "assistant", "message": {"content": []}}, {"type": "result", "result": pretty}]).to_string(),
        lines(&[json!({"type": "system"}), json!({"type": "result", "result": fenced})]),
        lines(&[json!({"type": "thread.started"}), message("thinking {"), message(&fenced), json!({"type": "turn.completed"})]),
        json!({"response": fenced, "stats": {}}).to_string(),
        json!({"choices": [{"message": {"role": "assistant", "content": fenced}}]}).to_string(),
        json!({"content": [{"type": "text", "text": fenced}]}).to_string(),
        json!({"candidates": [{"content": {"parts": [{"text": fenced}]}}]}).to_string(),
        json!({"review_output": review, "notes": []}).to_string(),
        json!({"review": review}).to_string(),
        json!(pretty).to_string(),
    ];
    for text in wrappings {
        let imported = import_text(&text);
        assert_eq!(imported.format, Format::ReviewOutput, "{text}");
        assert_eq!(shown(&imported), ["P1 src/calc.py:2-2 Division by zero"], "{text}");
    }
}

#[test]
fn utf_16_is_read_as_powershell_writes_it() {
    let text = review_json(json!([finding_json(json!({"title": "é😀"}))])).to_string();
    let little: Vec<u8> =
        [0xff, 0xfe].into_iter().chain(text.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    let big: Vec<u8> =
        [0xfe, 0xff].into_iter().chain(text.encode_utf16().flat_map(u16::to_be_bytes)).collect();
    for bytes in [little, big] {
        assert_eq!(import(&bytes, "a").unwrap().review_output.findings[0].title, "é😀");
    }
}

#[test]
fn an_envelope_that_reports_a_failure_is_never_an_empty_review() {
    for envelope in [
        json!({"type": "result", "subtype": "success", "is_error": true, "result": "API Error: 529"}),
        json!({"type": "result", "subtype": "error_max_turns", "is_error": false}),
        json!({"type": "result", "is_error": false, "result": ""}),
        json!([{"type": "system"}, {"type": "result", "is_error": true, "result": "no credit"}]),
        json!([{"type": "thread.started"}, {"type": "turn.failed", "error": {"message": "stream lost"}}]),
        json!({"type": "error", "error": {"message": "overloaded"}}),
        json!({"error": "quota"}),
    ] {
        let error = import(envelope.to_string().as_bytes(), "a").unwrap_err();
        assert!(error.message.contains("error") || error.message.contains("failed"), "{envelope}: {error}");
    }
}

#[test]
fn broken_json_inside_a_fence_is_an_error_at_its_place_in_the_file() {
    let error =
        import(b"My review:\n\n```json\n{\"findings\": [\n  {\"id\": 1 \"severity\": \"P1\"}]}\n```\n", "a")
            .unwrap_err();
    assert_eq!((error.line, error.column), (5, 12), "{error}");
    let open = import(b"text\n```json\n{\"findings\": [", "a").unwrap_err();
    assert_eq!(open.line, 3, "{open}");
}

#[test]
fn what_is_no_review_is_an_error_and_never_an_empty_one() {
    for text in [
        "hello",
        "{}",
        "[1, 2]",
        "null",
        "7",
        "true",
        "\"text\"",
        "[\"just\", \"words\"]",
        "{\"verdict\": \"approved\"}",
        "{\"name\": \"x\", \"version\": \"1\"}",
        "def f(): return [1]",
        "[[]]x",
        "{\"diagnostics\": 4}",
        "{\"schema_version\": \"v1\"}",
        "{\"schema_version\": \"v2\", \"findings\": []}",
        "{\"schema_version\": \"v1\", \"findings\": null}",
    ] {
        assert!(import(text.as_bytes(), "a").is_err(), "{text}");
    }
}

#[test]
fn an_explicit_empty_list_is_a_clean_review() {
    for text in [
        "[]",
        "{\"findings\": []}",
        "{\"issues\": [], \"verdict\": \"approved\"}",
        "```json\n[]\n```",
        "{\"verdict\": \"SHIP\", \"gaps\": []}",
    ] {
        let imported = import_text(text);
        assert!(imported.review_output.findings.is_empty(), "{text}");
        assert!(imported.review_output.unread.not_scanned.is_empty(), "{text}");
    }
}

#[test]
fn findings_are_read_under_the_names_their_authors_use() {
    let table = [
        (
            json!([{"file": "cmd/root.go:321", "priority": "CRITICAL", "summary": "Rejected", "detail": "long"}]),
            "P0 cmd/root.go:321 Rejected",
        ),
        (
            json!({"risks": [{"severity": "HIGH", "location": "src/a.ps1:2-8", "description": "No check"}]}),
            "P1 src/a.ps1:2-8 No check",
        ),
        (
            json!({"findings": [{"title": "[P1] Guard it", "body": "b", "priority": 1, "code_location": {"absolute_file_path": "/ws/a.py", "line_range": {"start": 3, "end": 9}}}]}),
            "P1 /ws/a.py:3-9 Guard it",
        ),
        (
            json!({"findings": [{"title": "[P0] Guard it", "body": "b", "code_location": {"absolute_file_path": "/ws/a.py", "line_range": {"start": 3, "end": 9}}}]}),
            "P0 /ws/a.py:3-9 Guard it",
        ),
        (
            json!({"issues": [{"severity": "high", "summary": "Dead code", "details": "d", "files": ["src/lib.rs:3888", "src/n.rs:310"]}]}),
            "P1 src/lib.rs:3888 Dead code",
        ),
        (
            json!({"findings": [{"severity": "medium", "title": "T", "location": {"file": "a.py", "line_start": 25}}]}),
            "P2 a.py:25 T",
        ),
        (
            json!({"agent_reviews": [{"agent": "x", "issues": [{"severity": "blocker", "line_number": 2, "issue": "SQL", "file": "q.py"}]}]}),
            "P0 q.py:2 SQL",
        ),
        (
            json!({"files": [{"path": "a.py", "issues": [{"severity": "major", "line": "7-8", "message": "M"}]}]}),
            "P1 a.py:7-8 M",
        ),
        (json!({"critical": [{"file": "a.py", "line": 4, "description": "D"}], "low": []}), "P0 a.py:4 D"),
        (json!({"warnings": [{"file": "a.py", "line": 4, "description": "D"}]}), "P2 a.py:4 D"),
        (
            json!({"review": {"comments": [{"path": "a.py", "line": 1, "comment": "C", "severity": "nit"}]}}),
            "P3 a.py:1 C",
        ),
        (json!({"title": "One", "severity": "high", "file": "a.py", "line": 3}), "P1 a.py:3 One"),
        (json!({"issues": ["[HIGH] Unchecked input — src/a.py:10-12"]}), "P1 src/a.py:10-12 Unchecked input"),
        (
            json!([{"path": "v.js", "line": 1, "comment": "```json\n[{\"line\": 9, \"comment\": \"Too simple\", \"severity\": \"error\"}]\n```"}]),
            "P1 v.js:9 Too simple",
        ),
    ];
    for (document, expected) in table {
        let imported = imported(&document);
        assert_eq!(imported.format, Format::Review, "{document}");
        assert_eq!(shown(&imported), [expected], "{document}");
        assert_eq!(imported.review_output.findings[0].verdict, None, "{document}");
    }
}

#[test]
fn importers_invent_no_verdict_and_make_no_command() {
    let imported = imported(&json!({"verdict": "REQUEST_CHANGES", "issues": [
        {"severity": "high", "title": "T", "file": "a.py", "status": "confirmed", "checks": [{"command": ["rm", "-rf", "/"]}, {"absent": "x"}]},
        {"severity": "high", "title": "U", "file": "a.py", "verdict": "valid"},
        {"severity": "high", "title": "V", "file": "a.py", "verdict": "Confirmed"},
    ]}));
    let findings = &imported.review_output.findings;
    let verdicts: Vec<_> = findings.iter().map(|finding| finding.verdict).collect();
    assert_eq!(verdicts, [None, None, Some(Verdict::Confirmed)]);
    assert_eq!(findings[0].checks, [FindingCheck::Absent { absent: "x".into() }]);
    assert!(imported.notes.iter().any(|note| note.field == "checks"));
    assert!(imported.notes.iter().any(|note| note.field == "verdict" && note.became == Value::Null));
    assert_eq!(imported.review_output.extra["verdict"], json!("REQUEST_CHANGES"));
}

#[test]
fn a_review_without_criteria_can_be_confirmed_and_one_that_gives_none_cannot() {
    let imported = imported(&json!([
        {"title": "Off by one", "severity": "high", "file": "a.py"},
        {"title": "Off by two", "severity": "high", "file": "a.py", "criterion": null},
        {"title": "Off by three", "severity": "high", "file": "a.py", "verdict": "confirmed"},
    ]));
    let criteria: Vec<_> =
        imported.review_output.findings.iter().map(|finding| finding.criterion.as_deref()).collect();
    assert_eq!(criteria, [Some("Resolved: Off by one"), None, None]);
}

#[test]
fn lists_that_repeat_each_other_are_read_once() {
    let issue = |text: &str| json!({"severity": "critical", "line_number": 2, "issue": text, "file": "a.py"});
    let imported = imported(&json!({
        "agent_reviews": [{"issues": [issue("SQL")]}, {"issues": [issue("SQL injection")]}],
        "unique_issues": [issue("SQL")],
    }));
    assert_eq!(shown(&imported), ["P0 a.py:2 SQL"]);
    assert!(imported.notes.iter().any(|note| note.field == "agent_reviews"));
}

#[test]
fn tokens_of_other_tools_are_not_passed_on() {
    let imported = imported(&json!({"session": {"id": "x", "token": "hunter2"}, "issues": []}));
    let written = serde_json::to_string(&imported.review_output).unwrap()
        + &serde_json::to_string(&imported.notes).unwrap();
    assert!(!written.contains("hunter2"), "{written}");
    assert!(written.contains("redacted"));
}

#[test]
fn gap_lists_are_read_from_text() {
    let text = "## Review\n\nVerdict: FIX-FIRST\n\n- [CRITICAL] Token is logged — src/auth.py:12\n  Fix: drop it\n\
                - [HIGH] Retry loop never ends - src/net.py:40-44\n* **[MEDIUM]** Slow query\n1. [LOW] Typo in README.md:3\n\
                [CRITICAL] No tests\n[see] other\n";
    let imported = import_text(text);
    assert_eq!(imported.format, Format::Gaps);
    assert_eq!(
        shown(&imported),
        [
            "P0 src/auth.py:12 Token is logged",
            "P1 src/net.py:40-44 Retry loop never ends",
            "P2 - Slow query",
            "P3 README.md:3 Typo",
            "P0 - No tests",
        ]
    );
    let first = &imported.review_output.findings[0];
    assert!(first.body.contains("Fix: drop it"));
    assert_eq!(first.native_severity.as_deref(), Some("CRITICAL"));
    assert_eq!(first.verdict, None);
    assert_eq!(imported.review_output.extra["verdict"], json!("FIX-FIRST"));
}

#[test]
fn gap_lists_are_read_from_json() {
    let imported = imported(&json!({"verdict": "FIX-FIRST", "validation": [], "gaps": [
        {"severity": "CRITICAL", "text": "Token is logged", "file": "src/auth.py", "line": 12, "fix": "Drop it"},
        {"severity": "HIGH", "text": "No tests", "file": null, "line": null, "fix": null},
        "[HIGH] Loop — src/net.py:4",
    ]}));
    assert_eq!(imported.format, Format::Gaps);
    assert_eq!(
        shown(&imported),
        ["P0 src/auth.py:12 Token is logged", "P1 - No tests", "P1 src/net.py:4 Loop"]
    );
    assert!(imported.review_output.findings[0].body.contains("Drop it"));
    assert!(imported.review_output.findings.iter().all(|finding| finding.verdict.is_none()));
}

#[test]
fn a_verdict_that_asks_for_work_and_names_none_clears_nothing() {
    let blocked = import_text("Verdict: BLOCKED\n\nCannot run anything.\n");
    assert_eq!(blocked.review_output.unread.not_scanned, [""]);
    let ship = import_text("**SHIP**\n");
    assert!(ship.review_output.unread.not_scanned.is_empty());
}

#[test]
fn what_the_import_command_prints_is_read_again() {
    let printed =
        serde_json::to_value(imported(&json!([{"title": "T", "severity": "critical", "file": "a.py:3"}])))
            .unwrap();
    let keys: Vec<_> = printed.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["review_output", "notes"]);
    assert_eq!(printed["notes"][0].as_object().unwrap().len(), 5);
    let again = imported(&printed);
    assert_eq!(shown(&again), ["P0 a.py:3 T"]);
    assert_eq!(serde_json::to_value(&again.review_output).unwrap(), printed["review_output"]);
}
