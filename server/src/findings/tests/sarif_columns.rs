//! Columns and fixes of SARIF, and whether they can be believed.

use super::*;

const WIDE: &str = "// café 😀\nlet s = \"😀\"; eval(s);\nlast";

/// A fix that replaces `eval` of [`WIDE`], in some unit's columns.
fn fixed(run: Value, region: Value) -> (Vec<Edit>, Vec<Note>) {
    let tree = MemoryTree::of([("w.js", WIDE)]);
    let mut full = json!({"tool": {"driver": {"name": "unknown"}}, "results": [{
        "ruleId": "no-eval", "message": {"text": "eval"},
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": "w.js"}, "region": {"startLine": 2}}}],
        "fixes": [{"description": {"text": "Use run"}, "artifactChanges": [{"artifactLocation": {"uri": "w.js"}, "replacements": [
            {"deletedRegion": region, "insertedContent": {"text": "run"}}]}]}],
    }]});
    merge(&mut full, run);
    let log = json!({"version": "2.1.0", "runs": [full]});
    let imported = import_with(log.to_string().as_bytes(), "a", &tree).unwrap();
    let notes = imported.notes.into_iter().filter(|note| note.field == "suggestion").collect();
    (imported.review_output.findings[0].suggestion.clone(), notes)
}

fn region(start: u32, end: u32) -> Value {
    json!({"startLine": 2, "startColumn": start, "endColumn": end})
}

// `eval` in WIDE: code points 14–18, UTF-16 15–19, UTF-8 17–21.
const EXPECTED: (u32, u32) = (14, 18);

#[test]
fn columns_are_read_in_the_unit_that_the_run_the_tool_or_the_text_gives() {
    let tool = |name: &str| json!({"tool": {"driver": {"name": name}}});
    let snippet = |mut region: Value| {
        region["snippet"] = json!({"text": "eval"});
        region
    };
    for (run, region) in [
        (json!({"columnKind": "unicodeCodePoints"}), region(14, 18)),
        (json!({"columnKind": "utf16CodeUnits"}), region(15, 19)),
        (tool("ESLint"), region(15, 19)),
        (tool("ruff"), region(14, 18)),
        (tool("Biome"), region(14, 18)),
        (tool("Bandit"), region(17, 21)),
        (json!({}), snippet(region(14, 18))),
        (json!({}), snippet(region(15, 19))),
        (json!({}), snippet(region(17, 21))),
        (json!({"columnKind": "utf16CodeUnits"}), snippet(region(14, 18))),
    ] {
        let (edits, notes) = fixed(run.clone(), region.clone());
        assert_eq!(edits.len(), 1, "{run} {region}: {notes:?}");
        assert_eq!((edits[0].start.column, edits[0].end.column), EXPECTED, "{run} {region}");
        assert_eq!(edits[0].deleted.as_deref(), Some("eval"));
        let fixed = apply_edits(WIDE, "w.js", &edits).unwrap();
        assert_eq!(fixed, WIDE.replace("eval", "run"));
    }
}

#[test]
fn columns_that_cannot_be_believed_make_no_suggestion() {
    for (run, region) in [
        (json!({}), region(14, 18)),
        (json!({}), region(15, 19)),
        (json!({"columnKind": "utf16CodeUnits"}), region(11, 14)),
        (json!({"columnKind": "unicodeCodePoints"}), region(14, 99)),
        (json!({"columnKind": "unicodeCodePoints"}), region(18, 14)),
        (json!({"columnKind": "unicodeCodePoints"}), region(0, 4)),
        (
            json!({"columnKind": "unicodeCodePoints"}),
            json!({"startLine": 9, "startColumn": 1, "endColumn": 2}),
        ),
        (
            json!({"columnKind": "unicodeCodePoints"}),
            json!({"startLine": 2, "startColumn": 14, "endColumn": 18, "snippet": {"text": "exec"}}),
        ),
        (json!({}), json!({})),
        (json!({}), json!({"byteOffset": 3, "byteLength": 4})),
    ] {
        let (edits, notes) = fixed(run.clone(), region.clone());
        assert!(edits.is_empty(), "{run} {region}: {edits:?}");
        assert_eq!(notes.len(), 1, "{run} {region}");
    }
}

#[test]
fn on_a_plain_ascii_line_every_unit_is_the_same() {
    let (edits, _) =
        fixed(json!({}), json!({"startLine": 3, "startColumn": 1, "endLine": 3, "endColumn": 5}));
    assert_eq!(edits[0].deleted.as_deref(), Some("last"));
}

#[test]
fn whole_lines_and_insertions_keep_the_lines_around_them() {
    let (edits, _) = fixed(json!({}), json!({"startLine": 3}));
    assert_eq!(apply_edits(WIDE, "w.js", &edits).unwrap(), WIDE.replace("last", "run"));
    let (edits, _) =
        fixed(json!({"columnKind": "unicodeCodePoints"}), json!({"startLine": 2, "startColumn": 14}));
    assert_eq!(edits[0].deleted.as_deref(), Some(""));
    let offset = WIDE.chars().take_while(|c| *c != 'v').count() - 1;
    let (edits, _) =
        fixed(json!({"columnKind": "unicodeCodePoints"}), json!({"charOffset": offset, "charLength": 4}));
    assert_eq!(edits[0].deleted.as_deref(), Some("eval"));
    let (edits, _) = fixed(json!({}), json!({"charOffset": offset, "charLength": 4}));
    assert!(edits.is_empty(), "an offset behind an emoji is ambiguous");
}

#[test]
fn a_fix_without_changes_or_with_bytes_is_noted_and_its_words_are_kept() {
    let run = |fixes: Value| {
        let log = json!({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, "results": [{"message": {"text": "m"}, "fixes": fixes}]}]});
        imported(&log)
    };
    let change = |replacement: Value| json!([{"artifactChanges": [{"artifactLocation": {"uri": "a"}, "replacements": [replacement]}]}]);
    for fixes in [
        json!([{"description": {"text": "Upgrade to 1.2"}}]),
        json!([{"description": {"text": "Upgrade to 1.2"}, "artifactChanges": []}]),
        change(json!({"deletedRegion": {"startLine": 1}, "insertedContent": {"binary": "AA=="}})),
        change(json!({})),
    ] {
        let imported = run(fixes.clone());
        assert!(imported.review_output.findings[0].suggestion.is_empty(), "{fixes}");
        assert!(imported.notes.iter().any(|note| note.field == "suggestion"), "{fixes}");
    }
    assert!(
        run(json!([{"description": {"text": "Upgrade to 1.2"}}])).review_output.findings[0]
            .body
            .contains("Upgrade to 1.2")
    );
}

#[test]
fn without_the_text_a_suggestion_is_marked_and_intake_believes_it_only_on_plain_lines() {
    let log = |line: u32| {
        json!({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "x"}}, "results": [{"ruleId": "R", "level": "error", "message": {"text": "m"},
            "locations": [{"physicalLocation": {"artifactLocation": {"uri": "w.js"}, "region": {"startLine": line}}}],
            "fixes": [{"artifactChanges": [{"artifactLocation": {"uri": "w.js"}, "replacements": [
                {"deletedRegion": {"startLine": line, "startColumn": 1, "endColumn": 4}, "insertedContent": {"text": "x"}}]}]}]}]}]})
    };
    let tree = MemoryTree::of([("w.js", WIDE)]);
    for (line, kept) in [(2, false), (3, true)] {
        let imported = imported(&log(line));
        assert_eq!(imported.review_output.findings[0].suggestion.len(), 1);
        let intake = intake(&[("a".into(), imported.review_output)], &tree);
        assert_eq!(!intake.unconfirmed[0].finding.suggestion.is_empty(), kept, "line {line}");
    }
}
