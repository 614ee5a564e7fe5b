//! The wire form.

use super::*;

#[test]
fn a_finding_comes_back_as_it_was_with_its_unknown_fields() {
    let given = finding_json(json!({
        "id": "sec-4", "related_files": ["src/other.py"], "checks": [{"check": "unit"}, {"command": ["pytest", "-q"]},
        {"absent": "a / b"}, {"present": "b != 0"}], "origin": "regression", "caused_by": 3,
        "suggestion": [{"file": "src/calc.py", "start": {"line": 2, "column": 5}, "end": {"line": 2, "column": 17},
        "replacement": "return a", "deleted": "return a / b"}], "reviewer_mood": {"calm": [1, 2.5, null]},
    }));
    let finding: Finding = serde_json::from_value(given.clone()).unwrap();
    assert_eq!(serde_json::to_value(&finding).unwrap(), given);
    assert_eq!(finding.checks[1], FindingCheck::Command { command: vec!["pytest".into(), "-q".into()] });
    assert_eq!(finding.caused_by, Some(FindingId::from(3)));
}

#[test]
fn a_review_comes_back_as_it_was_with_its_unknown_fields() {
    let given = json!({
        "schema_version": "v1", "findings": [finding_json(json!({}))], "checks_run": ["AC-1: PASS"],
        "artifact_paths": ["src/calc.py"], "criteria": ["AC-1: never raises"], "review_base": "abc123", "source": "codex",
        "pipeline": {"run": 7},
    });
    let review: ReviewOutput = serde_json::from_value(given.clone()).unwrap();
    assert!(review.unread.notes.is_empty(), "{:?}", review.unread.notes);
    assert_eq!(serde_json::to_value(&review).unwrap(), given);
}

#[test]
fn ids_keep_their_json_form_and_show_alike() {
    for (given, shown) in [(json!(7), "7"), (json!("7"), "7"), (json!("SEC-1"), "SEC-1"), (json!(1.5), "1.5")]
    {
        let id: FindingId = serde_json::from_value(given.clone()).unwrap();
        assert_eq!(serde_json::to_value(&id).unwrap(), given);
        assert_eq!(id.to_string(), shown);
    }
    assert!(serde_json::from_value::<FindingId>(json!(null)).is_err());
    assert!(serde_json::from_value::<FindingId>(json!([1])).is_err());
}

#[test]
fn verdicts_are_written_in_lower_case() {
    for (verdict, word) in
        [(Verdict::Confirmed, "confirmed"), (Verdict::Demoted, "demoted"), (Verdict::Rejected, "rejected")]
    {
        assert_eq!(serde_json::to_value(verdict).unwrap(), json!(word));
        assert_eq!(verdict.to_string(), word);
        assert_eq!(word.parse(), Ok(verdict));
    }
    assert_eq!("Confirmed".parse::<Verdict>(), Err(()));
}

#[test]
fn what_is_no_review_says_why() {
    for (document, says) in [
        (json!([]), "JSON object"),
        (json!({"findings": []}), "schema_version is missing"),
        (json!({"schema_version": "v2", "findings": []}), "\"v2\""),
        (json!({"schema_version": "v1"}), "findings is missing"),
        (json!({"schema_version": "v1", "findings": {}}), "not a list"),
    ] {
        let error = ReviewOutput::from_value(&document).unwrap_err();
        assert!(error.contains(says), "{document}: {error}");
    }
}

#[test]
fn the_schema_accepts_a_finding_and_refuses_an_unknown_severity() {
    let schema = schema();
    let validator = jsonschema::validator_for(&schema).unwrap();
    assert!(validator.is_valid(&review_json(json!([finding_json(json!({"line_start": -1, "more": true}))]))));
    for broken in [json!({"severity": "critical"}), json!({"verdict": "maybe"}), json!({"confidence": 2})] {
        assert!(!validator.is_valid(&review_json(json!([finding_json(broken.clone())]))), "{broken}");
    }
    assert!(!validator.is_valid(&json!({"schema_version": "v1"})));
    assert!(finding_schema()["properties"]["severity"].is_object());
}

#[test]
fn a_note_is_written_as_the_import_command_prints_it() {
    let note = Note::new(None, "line_end", 99, 12, "calc.py has 12 lines");
    assert_eq!(
        serde_json::to_value(&note).unwrap(),
        json!({"finding": null, "field": "line_end", "was": 99, "became": 12, "why": "calc.py has 12 lines"})
    );
}

#[test]
fn a_finding_that_this_program_wrote_keeps_a_path_that_looks_like_a_place() {
    let finding: Finding = serde_json::from_value(finding_json(json!({"file": "odd:12"}))).unwrap();
    assert_eq!(finding.file.as_deref(), Some("odd:12"));
    let review =
        review(json!([finding_json(json!({"file": "calc.py:12", "line_start": null, "line_end": null}))]));
    assert_eq!(
        (review.findings[0].file.as_deref(), review.findings[0].line_start),
        (Some("calc.py"), Some(12))
    );
}

#[test]
fn a_report_is_completed_from_the_brief_but_never_in_its_verdict() {
    let briefed = review(json!([finding_json(json!({"verdict": "confirmed", "evidence": "seen"}))])).findings;
    let report = |findings: Value| ReviewOutput::from_report(&review_json(findings), &briefed).unwrap();
    let short = report(json!([{"id": "1", "verdict": "rejected", "evidence": "line 2 guards"}]));
    assert_eq!(short.findings[0].title, "Division by zero");
    assert_eq!(
        (short.findings[0].verdict, short.findings[0].severity),
        (Some(Verdict::Rejected), Severity::P1)
    );
    let silent = report(json!([{"id": 1}]));
    assert_eq!((silent.findings[0].verdict, silent.findings[0].evidence.as_deref()), (None, None));
    let demoted = report(json!([{"id": 1, "verdict": "demoted", "severity": "P2"}]));
    assert_eq!(demoted.findings[0].severity, Severity::P2);
    let unknown = report(json!([{"id": 9, "verdict": "rejected"}]));
    assert!(unknown.findings.is_empty());
    assert_eq!(unknown.unread.left_out.len(), 1);
}
