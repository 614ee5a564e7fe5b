//! Words and places of a finding.

use super::*;
use crate::findings::reading::{LineSpan, severity_of, split_place, title_of};

#[test]
fn severity_words_map_and_the_native_word_is_kept() {
    let table = [
        ("CRITICAL", "P0"),
        ("critical", "P0"),
        ("blocker", "P0"),
        ("P0", "P0"),
        ("p0", "P0"),
        ("🔴 Critical", "P0"),
        ("HIGH", "P1"),
        ("high", "P1"),
        ("major", "P1"),
        ("error", "P1"),
        ("P1 - must fix", "P1"),
        ("_High_", "P1"),
        ("MEDIUM", "P2"),
        ("moderate", "P2"),
        ("warning", "P2"),
        ("minor", "P2"),
        ("LOW", "P3"),
        ("low", "P3"),
        ("nit", "P3"),
        ("info", "P3"),
        ("suggestion", "P3"),
        ("trivial", "P3"),
    ];
    for (word, expected) in table {
        assert_eq!(
            severity_of(word).map(|severity| severity.to_string()).as_deref(),
            Some(expected),
            "{word}"
        );
        let imported = imported(&json!([{"title": "T", "severity": word, "file": "a.py"}]));
        let finding = &imported.review_output.findings[0];
        assert_eq!(finding.severity.to_string(), expected);
        let kept = (!["P0", "P1", "P2", "P3"].contains(&word)).then_some(word);
        assert_eq!(finding.native_severity.as_deref(), kept, "{word}");
    }
    for word in ["", "banana", "P9", "12"] {
        assert_eq!(severity_of(word), None, "{word}");
    }
}

#[test]
fn severity_words_are_read_in_a_review_that_claims_the_schema_too() {
    let review = review(json!([
        finding_json(json!({"severity": "critical"})),
        finding_json(json!({"severity": "High"}))
    ]));
    let severities: Vec<_> = review.findings.iter().map(|finding| finding.severity).collect();
    assert_eq!(severities, [Severity::P0, Severity::P1]);
}

#[test]
fn an_unknown_or_missing_severity_is_listed_and_noted() {
    let imported = imported(
        &json!([{"title": "T", "file": "a.py"}, {"title": "U", "file": "a.py", "severity": "banana"}]),
    );
    assert!(imported.review_output.findings.iter().all(|finding| finding.severity == Severity::P2));
    assert_eq!(imported.notes.iter().filter(|note| note.field == "severity").count(), 2);
}

#[test]
fn lines_are_taken_out_of_paths() {
    let span = |start: i64, end: Option<i64>| Some(LineSpan { start: Some(start), end, more: false });
    for (given, path, lines) in [
        ("src/a.py", "src/a.py", None),
        ("src/a.py:321", "src/a.py", span(321, None)),
        ("src/a.py:89-101", "src/a.py", span(89, Some(101))),
        ("src/a.py:89–101", "src/a.py", span(89, Some(101))),
        ("src/a.py:L7-L8", "src/a.py", span(7, Some(8))),
        ("src/a.py#L10-L20", "src/a.py", span(10, Some(20))),
        ("src/a.py:12:5", "src/a.py", span(12, None)),
        ("src/a.py:12:5-14:2", "src/a.py", span(12, Some(14))),
        ("src/a.py(10,5)", "src/a.py", span(10, None)),
        ("`src/a.py:3`", "src/a.py", span(3, None)),
        ("src/a.py, line 7", "src/a.py", span(7, None)),
        ("src/a.py lines 7-9", "src/a.py", span(7, Some(9))),
        ("C:\\x\\a.py:12", "C:\\x\\a.py", span(12, None)),
        ("dir with space/é😀.js:3", "dir with space/é😀.js", span(3, None)),
        ("Copy(2)", "Copy(2)", None),
        ("npm/x@1", "npm/x@1", None),
        ("page#2", "page#2", None),
        ("Makefile", "Makefile", None),
        ("", "", None),
    ] {
        assert_eq!(split_place(given), (path.to_owned(), lines), "{given}");
    }
    assert!(split_place("a.py:1-3, 7-9").1.unwrap().more);
}

#[test]
fn lines_are_read_in_every_form() {
    let table = [
        (json!({"line": 7}), (Some(7), None)),
        (json!({"line": "7"}), (Some(7), None)),
        (json!({"line": 7.0}), (Some(7), None)),
        (json!({"line": "7-8"}), (Some(7), Some(8))),
        (json!({"line": "L7-L8"}), (Some(7), Some(8))),
        (json!({"lines": "lines 7 to 8"}), (Some(7), Some(8))),
        (json!({"lines": [7, 8]}), (Some(7), Some(8))),
        (json!({"line_range": {"start": 7, "end": 8}}), (Some(7), Some(8))),
        (json!({"start_line": 7, "end_line": 8}), (Some(7), Some(8))),
        (json!({"line_start": "7", "line_end": "8"}), (Some(7), Some(8))),
        (json!({"range": {"start": {"line": 7}, "end": {"line": 8}}}), (Some(7), Some(8))),
        (json!({"line": "7, 12"}), (Some(7), None)),
        (json!({"line": 0}), (None, None)),
        (json!({"line": -1}), (None, None)),
        (json!({"line": "somewhere"}), (None, None)),
        (json!({"line": {"x": 1}}), (None, None)),
        (json!({"line": 1e300}), (Some(u32::MAX), None)),
        (json!({"location": "around the login"}), (None, None)),
    ];
    for (fields, expected) in table {
        let mut finding = json!({"title": "T", "severity": "high", "file": "a.py"});
        merge(&mut finding, fields.clone());
        let imported = imported(&json!([finding]));
        let finding = &imported.review_output.findings[0];
        assert_eq!((finding.line_start, finding.line_end), expected, "{fields}");
        assert_eq!(finding.file.as_deref(), Some("a.py"), "{fields}");
    }
}

#[test]
fn confidence_is_brought_between_0_and_1() {
    for (given, expected, noted) in [
        (json!(0.9), 0.9, false),
        (json!(0), 0.0, false),
        (json!(95), 0.95, true),
        (json!("80%"), 0.8, true),
        (json!("high"), 0.9, true),
        (json!(-3), 0.0, true),
        (json!(5000), 1.0, true),
        (json!("NaN"), 0.5, true),
        (json!(null), 0.5, true),
    ] {
        let review = review(json!([finding_json(json!({"confidence": given}))]));
        assert!((review.findings[0].confidence - expected).abs() < 1e-9, "{given}");
        assert_eq!(!review.unread.notes.is_empty(), noted, "{given}");
    }
}

#[test]
fn titles_are_one_short_line() {
    for (text, title) in [
        ("Short title", "Short title"),
        ("First sentence here. Second.", "First sentence here"),
        ("e.g. this is one", "e.g. this is one"),
        ("\n\n# Heading\nmore", "Heading"),
        ("**Bold** text", "Bold text"),
        ("line<br>next", "line"),
        ("", ""),
        ("---\n\n", "---"),
    ] {
        assert_eq!(title_of(text), title, "{text:?}");
    }
    let long = title_of(&"palabra ñandú ".repeat(40));
    assert!(long.chars().count() <= 120 && long.ends_with('…'), "{long}");
}

#[test]
fn a_review_that_claims_the_schema_keeps_fields_of_its_own() {
    let given = finding_json(
        json!({"location": "room 7", "line": 99, "path": "/x", "summary": "s", "priority": "low", "suggestion": [], "rule": "r"}),
    );
    let finding: Finding = serde_json::from_value(given).unwrap();
    assert_eq!(finding.line_start, Some(2));
    assert_eq!(finding.file.as_deref(), Some("src/calc.py"));
    assert_eq!(finding.severity, Severity::P1);
    for key in ["location", "line", "path", "summary", "priority", "rule"] {
        assert!(finding.extra.contains_key(key), "{key}");
    }
}

#[test]
fn advice_in_words_is_kept_for_the_fixer() {
    let imported = imported(
        &json!([{"title": "T", "description": "D", "severity": "high", "file": "a.py", "suggestion": "Use a lock", "impact": "Data loss"}]),
    );
    let body = &imported.review_output.findings[0].body;
    assert_eq!(body, "D\n\nImpact: Data loss\n\nSuggestion: Use a lock");
}

#[test]
fn checks_that_are_none_are_dropped_and_noted() {
    let review = review(json!([finding_json(
        json!({"checks": ["unit", {"check": "lint"}, {"run": "x"}, 7, {"command": []}]})
    )]));
    let checks = &review.findings[0].checks;
    assert_eq!(
        checks,
        &[FindingCheck::Named { check: "unit".into() }, FindingCheck::Named { check: "lint".into() }]
    );
    assert_eq!(review.unread.notes.len(), 3);
}
