//! Messages of rustc and clippy.

use super::*;
use crate::findings::import::Format;

fn span(changes: Value) -> Value {
    let mut span = json!({
        "file_name": "src/lib.rs", "byte_start": 0, "byte_end": 3, "line_start": 2, "line_end": 2, "column_start": 5,
        "column_end": 9, "is_primary": true, "label": null, "suggested_replacement": null,
        "suggestion_applicability": null, "expansion": null, "text": [{"text": "let mut é = 1;"}],
    });
    merge(&mut span, changes);
    span
}

fn help(applicability: &str, changes: Value) -> Value {
    let mut span = span(json!({"suggested_replacement": "", "suggestion_applicability": applicability}));
    merge(&mut span, changes);
    json!({"message": "remove this `mut`", "level": "help", "code": null, "spans": [span], "children": []})
}

fn diagnostic(changes: Value) -> Value {
    let mut diagnostic = json!({
        "message": "variable does not need to be mutable", "level": "warning", "code": {"code": "unused_mut"},
        "spans": [span(json!({}))], "children": [], "rendered": "…",
    });
    merge(&mut diagnostic, changes);
    diagnostic
}

fn of_cargo(diagnostic: &Value) -> Value {
    json!({"reason": "compiler-message", "package_id": "p", "target": {}, "message": diagnostic})
}

fn read(lines: &[Value], tree: &MemoryTree) -> Imported {
    let text: String = lines.iter().map(|line| format!("{line}\n")).collect();
    let imported = import_with(text.as_bytes(), "cargo.json", tree).expect("an importable document");
    assert_eq!(imported.format, Format::Compiler);
    imported
}

const LIB: &str = "fn f() {\nlet mut é = 1;\n}\n";

fn lib() -> MemoryTree<'static> {
    MemoryTree::of([("src/lib.rs", LIB)])
}

#[test]
fn a_message_becomes_a_finding_without_a_verdict() {
    for lines in [
        vec![diagnostic(json!({}))],
        vec![
            json!({"reason": "compiler-artifact", "target": {}}),
            of_cargo(&diagnostic(json!({}))),
            json!({"reason": "build-finished", "success": true}),
        ],
    ] {
        let imported = read(&lines, &lib());
        let [finding] = &imported.review_output.findings[..] else { panic!("one finding") };
        assert_eq!((finding.severity, finding.native_severity.as_deref()), (Severity::P2, Some("warning")));
        assert_eq!(
            (finding.file.as_deref(), finding.line_start, finding.line_end),
            (Some("src/lib.rs"), Some(2), Some(2))
        );
        assert_eq!((finding.criterion.as_deref(), finding.verdict), (Some("unused_mut"), None));
        assert!(finding.checks.is_empty() && finding.suggestion.is_empty());
    }
}

#[test]
fn an_error_is_worked_on_and_its_notes_are_told() {
    let note = json!({"message": "a note", "level": "note", "code": null, "spans": [], "children": []});
    let other = span(json!({"is_primary": false, "label": "defined here", "line_start": 1}));
    let error = diagnostic(json!({
        "level": "error", "code": null, "children": [note], "spans": [other, span(json!({}))],
    }));
    let imported = read(&[error], &lib());
    let finding = &imported.review_output.findings[0];
    assert_eq!((finding.severity, finding.line_start), (Severity::P1, Some(2)));
    assert!(
        finding.body.contains("src/lib.rs:1: defined here") && finding.body.contains("note: a note"),
        "{}",
        finding.body
    );
}

#[test]
fn only_what_the_compiler_is_sure_of_is_a_suggestion() {
    let sure = "MachineApplicable";
    let expanded = json!({"expansion": {"span": span(json!({})), "macro_decl_name": "m!"}});
    let to_the_next_line = json!({"column_start": 1, "column_end": 16});
    for (help, expected, noted) in [
        (help(sure, json!({})), Some(((2, 5), (2, 9), "mut ")), 0),
        (help(sure, to_the_next_line), Some(((2, 1), (3, 1), "let mut é = 1;\n")), 0),
        (help("MaybeIncorrect", json!({})), None, 1),
        (help("HasPlaceholders", json!({})), None, 1),
        (help(sure, expanded), None, 1),
        (help(sure, json!({"line_start": 90, "line_end": 90})), None, 1),
        (help(sure, json!({"suggested_replacement": null})), None, 0),
    ] {
        let imported = read(&[diagnostic(json!({"children": [help.clone()]}))], &lib());
        let finding = &imported.review_output.findings[0];
        let edit = finding.suggestion.first().map(|edit| {
            let at = |place: Position| (place.line, place.column);
            (at(edit.start), at(edit.end), edit.deleted.as_deref().expect("the text is known"))
        });
        assert_eq!(edit, expected, "{help}");
        let notes = imported.notes.iter().filter(|note| note.field == "suggestion").count();
        assert_eq!(notes, noted, "{help}");
    }
}

#[test]
fn what_is_in_a_macro_is_where_a_person_wrote_it() {
    let call = span(json!({"line_start": 2, "line_end": 2}));
    let inner = span(json!({
        "file_name": "/rustc/hash/library/std/src/macros.rs", "line_start": 99, "line_end": 99,
        "expansion": {"span": call, "macro_decl_name": "println!"},
    }));
    let imported = read(&[diagnostic(json!({"spans": [inner]}))], &lib());
    let finding = &imported.review_output.findings[0];
    assert_eq!((finding.file.as_deref(), finding.line_start), (Some("src/lib.rs"), Some(2)));
}

#[test]
fn summaries_are_no_findings_and_a_clean_build_is_an_empty_list() {
    let said = |message: &str, level: &str| {
        diagnostic(json!({"message": message, "level": level, "code": null, "spans": []}))
    };
    let imported = read(
        &[
            said("aborting due to 2 previous errors; 1 warning emitted", "error"),
            said("1 warning emitted", "warning"),
            said("Some errors have detailed explanations: E0308.", "failure-note"),
            said("linking with `cc` failed: exit status: 1", "error"),
        ],
        &lib(),
    );
    let titles: Vec<&str> =
        imported.review_output.findings.iter().map(|finding| finding.title.as_str()).collect();
    assert_eq!(titles, ["linking with `cc` failed: exit status: 1"]);
    assert_eq!(imported.review_output.unread.left_out.len(), 3);
    let clean = read(&[json!({"reason": "build-finished", "success": true})], &lib());
    assert!(clean.review_output.findings.is_empty() && clean.review_output.unread.not_scanned.is_empty());
}
