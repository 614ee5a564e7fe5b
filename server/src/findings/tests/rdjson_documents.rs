//! Reviewdog's format.

use super::*;
use crate::findings::import::Format;

fn diagnostic(changes: Value) -> Value {
    let mut diagnostic = json!({
        "message": "Bad thing", "severity": "ERROR", "code": {"value": "E1", "url": "https://example.com/E1"},
        "location": {"path": "a.js", "range": {"start": {"line": 2, "column": 3}, "end": {"line": 2, "column": 5}}},
    });
    merge(&mut diagnostic, changes);
    diagnostic
}

fn document(tool: &str, diagnostics: Value) -> Value {
    json!({"source": {"name": tool}, "diagnostics": diagnostics})
}

#[test]
fn a_diagnostic_becomes_a_finding() {
    let imported = imported(&document("lint", json!([diagnostic(json!({}))])));
    assert_eq!(imported.format, Format::Rdjson);
    assert_eq!(imported.review_output.source.as_deref(), Some("lint"));
    let finding = &imported.review_output.findings[0];
    assert_eq!((finding.severity, finding.native_severity.as_deref()), (Severity::P1, Some("ERROR")));
    assert_eq!(
        (finding.file.as_deref(), finding.line_start, finding.line_end),
        (Some("a.js"), Some(2), Some(2))
    );
    assert_eq!((finding.criterion.as_deref(), finding.verdict), (Some("E1"), None));
    assert!(finding.body.contains("https://example.com/E1"));
}

#[test]
fn severities_are_words_or_numbers_with_a_default_of_the_document() {
    for (severity, default, expected) in [
        (json!("ERROR"), json!(null), "P1"),
        (json!("WARNING"), json!(null), "P2"),
        (json!("INFO"), json!(null), "P3"),
        (json!(1), json!(null), "P1"),
        (json!(2), json!(null), "P2"),
        (json!(3), json!(null), "P3"),
        (json!("ABSENT"), json!("ERROR"), "P1"),
        (json!("UNKNOWN_SEVERITY"), json!("INFO"), "P3"),
        (json!("ABSENT"), json!(null), "P2"),
        (json!(0), json!(null), "P2"),
    ] {
        let mut document = document("lint", json!([diagnostic(json!({"severity": severity}))]));
        document["severity"] = default.clone();
        let found = imported(&document).review_output.findings[0].severity.to_string();
        assert_eq!(found, expected, "{severity} {default}");
    }
}

#[test]
fn ranges_cite_the_lines_they_touch() {
    let range = |start: Value, end: Value| json!({"path": "a.js", "range": {"start": start, "end": end}});
    for (location, expected) in [
        (range(json!({"line": 5}), json!({"line": 9})), (Some(5), Some(9))),
        (range(json!({"line": 6, "column": 2}), json!({"line": 7, "column": 1})), (Some(6), Some(6))),
        (range(json!({"line": 6, "column": 2}), json!(null)), (Some(6), None)),
        (range(json!({"line": 9}), json!({"line": 5})), (Some(9), Some(9))),
        (range(json!({"line": 0, "column": 0}), json!({"line": 0})), (None, None)),
        (json!({"path": "a.js"}), (None, None)),
    ] {
        let found = imported(&document("lint", json!([diagnostic(json!({"location": location}))])));
        let finding = &found.review_output.findings[0];
        assert_eq!((finding.line_start, finding.line_end), expected, "{location}");
    }
}

#[test]
fn one_diagnostic_a_line_is_read_and_a_broken_line_is_an_error_at_its_place() {
    let line = diagnostic(json!({"source": {"name": "each"}})).to_string();
    let imported = import(format!("{line}\n{line}\n").as_bytes(), "a.rdjsonl").unwrap();
    assert_eq!((imported.format, imported.review_output.findings.len()), (Format::Rdjson, 2));
    assert_eq!(imported.review_output.findings[0].extra["tool"], json!("each"));
    assert_eq!(import(line.as_bytes(), "a").unwrap().format, Format::Rdjson);
    let error = import(format!("{line}\n{}", &line[..20]).as_bytes(), "a.rdjsonl").unwrap_err();
    assert_eq!(error.line, 2, "{error}");
}

#[test]
fn no_list_of_diagnostics_is_not_an_empty_one() {
    let absent = imported(&json!({"source": {"name": "Bearer"}, "diagnostics": null}));
    assert_eq!(absent.review_output.unread.not_scanned, ["Bearer"]);
    assert!(imported(&document("lint", json!([]))).review_output.unread.not_scanned.is_empty());
    let location_less = imported(&document("biome", json!([diagnostic(json!({"location": "ABSENT"}))])));
    assert_eq!(location_less.review_output.findings[0].file, None);
}

#[test]
fn suggestion_columns_are_in_the_units_that_each_tool_really_uses() {
    let text = "x\né😀 = l\n";
    let tree = MemoryTree::of([("a.js", text)]);
    // `l` stands at code point 6 and at byte 10.
    for (tool, start, end, works) in [
        ("ruff", 6, 7, true),
        ("Biome", 6, 7, true),
        ("eslint", 10, 11, true),
        ("other", 10, 11, true),
        ("other", 4, 5, false),
        ("ruff", 99, 100, false),
    ] {
        let range = json!({"start": {"line": 2, "column": start}, "end": {"line": 2, "column": end}});
        let given =
            document(tool, json!([diagnostic(json!({"suggestions": [{"range": range, "text": "m"}]}))]));
        let imported = import_with(given.to_string().as_bytes(), "a", &tree).unwrap();
        let edits = &imported.review_output.findings[0].suggestion;
        if works {
            assert_eq!(apply_edits(text, "a.js", edits).as_deref(), Ok("x\né😀 = m\n"), "{tool} {start}");
        } else {
            assert!(edits.is_empty(), "{tool} {start}: {edits:?}");
        }
    }
}

#[test]
fn suggestions_replace_insert_and_remove_lines() {
    let text = "one\ntwo\nthree\n";
    let tree = MemoryTree::of([("a.js", text)]);
    let line = |line: u32| json!({"start": {"line": line}});
    for (range, replacement, expected) in [
        (line(2), "TWO", "one\nTWO\nthree\n"),
        (json!({"start": {"line": 1}, "end": {"line": 2}}), "1\n2", "1\n2\nthree\n"),
        (line(2), "", "one\nthree\n"),
        (
            json!({"start": {"line": 2, "column": 1}, "end": {"line": 2, "column": 1}}),
            "new\n",
            "one\nnew\ntwo\nthree\n",
        ),
        (json!({"start": {"line": 1, "column": 4}, "end": {"line": 2, "column": 1}}), "", "onetwo\nthree\n"),
        (
            json!({"start": {"line": 2, "column": 2}, "end": {"line": 2, "column": 4}}),
            "en",
            "one\nten\nthree\n",
        ),
    ] {
        let given = document(
            "lint",
            json!([diagnostic(json!({"suggestions": [{"range": range, "text": replacement}]}))]),
        );
        let imported = import_with(given.to_string().as_bytes(), "a", &tree).unwrap();
        let edits = &imported.review_output.findings[0].suggestion;
        assert_eq!(apply_edits(text, "a.js", edits).as_deref(), Ok(expected), "{range}");
    }
}

#[test]
fn of_alternatives_the_first_usable_one_is_taken_and_all_are_kept() {
    let tree = MemoryTree::of([("a.js", "one\ntwo\n")]);
    let suggestion = |line: u32, text: &str| json!({"range": {"start": {"line": line}}, "text": text});
    let given = document(
        "lint",
        json!([diagnostic(
            json!({"suggestions": [suggestion(9, "x"), suggestion(1, "y"), suggestion(1, "z")]})
        )]),
    );
    let imported = import_with(given.to_string().as_bytes(), "a", &tree).unwrap();
    let finding = &imported.review_output.findings[0];
    assert_eq!(finding.suggestion[0].replacement, "y\n");
    assert_eq!(finding.extra["suggestion_alternatives"].as_array().unwrap().len(), 3);
    assert_eq!(imported.notes.iter().filter(|note| note.field == "suggestion").count(), 2);
}

#[test]
fn a_formatter_that_is_off_by_one_behind_a_byte_order_mark_is_not_believed() {
    let tree = MemoryTree::of([("a.js", "\u{feff}var x;\n")]);
    let range = json!({"start": {"line": 1, "column": 2}, "end": {"line": 1, "column": 5}});
    let given =
        document("eslint", json!([diagnostic(json!({"suggestions": [{"range": range, "text": "let"}]}))]));
    let imported = import_with(given.to_string().as_bytes(), "a", &tree).unwrap();
    assert!(imported.review_output.findings[0].suggestion.is_empty());
}
