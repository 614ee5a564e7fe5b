//! No input whatever makes an importer panic, and no document loses anything on the way through.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;

fn config() -> ProptestConfig {
    ProptestConfig {
        cases: 64,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

fn samples() -> Vec<String> {
    let finding = finding_json(
        json!({"title": "é😀", "line_start": "7-8", "file": "a.py:3", "checks": [{"absent": "x"}]}),
    );
    vec![
        serde_json::to_string_pretty(&review_json(json!([finding, {"severity": "critical", "title": "T", "location": {"file": "b", "line": -1}}]))).unwrap(),
        "Prose {with} [brackets]\n```json\n[{\"title\": \"é\", \"severity\": \"high\", \"file\": \"a.py:9\"}]\n```\n- [HIGH] é — a.py:3\n".to_owned(),
        json!({"version": "2.1.0", "runs": [{
            "columnKind": "utf16CodeUnits", "originalUriBaseIds": {"A": {"uri": "é/", "uriBaseId": "A"}},
            "tool": {"driver": {"name": "ESLint", "rules": [{"id": "R", "messageStrings": {"m": {"text": "é {0} {{"}}}]}},
            "results": [{"ruleIndex": 0, "message": {"id": "m", "arguments": ["😀"]}, "suppressions": [{"kind": "inSource"}],
                "locations": [{"physicalLocation": {"artifactLocation": {"uri": "sp%20ace%C3%A9.js", "uriBaseId": "A"}, "region": {"startLine": 1, "startColumn": 2, "endColumn": 3}}}],
                "fixes": [{"artifactChanges": [{"artifactLocation": {"uri": "a.py"}, "replacements": [{"deletedRegion": {"startLine": 1, "startColumn": 2, "endColumn": 4}, "insertedContent": {"text": "é"}}]}]}]}],
        }]}).to_string(),
        format!("{0}\n{0}\n", json!({"message": "é", "location": {"path": "a.py", "range": {"start": {"line": 1, "column": 2}, "end": {"line": 1, "column": 3}}}, "suggestions": [{"range": {"start": {"line": 1}}, "text": "😀"}]})),
        json!([{"id": 1, "path": "a.py", "line": 2, "body": "![high](x)\n**é**\n```suggestion\n😀\n```", "user": {"login": "é"}, "diff_hunk": "@@ -1 +1,2 @@\n é\n+😀", "in_reply_to_id": null}]).to_string(),
        json!({"data": {"repository": {"pullRequest": {"reviewThreads": {"nodes": [{"isResolved": true, "comments": {"nodes": [{"path": "é", "line": null, "body": "é"}]}}]}}}}}).to_string(),
        json!({"verdict": "FIX-FIRST", "gaps": [{"severity": "HIGH", "text": "é", "file": "a.py", "line": 1}]}).to_string(),
        json!({"type": "result", "result": "```json\n{\"issues\": [\"[HIGH] é — a.py:1\"]}\n```"}).to_string(),
    ]
}

fn small_tree() -> MemoryTree<'static> {
    MemoryTree::of([("a.py", "é😀 = 1\r\nb\n"), ("sp ace", "")])
}

/// Everything that can happen to bytes: import, intake, suggestions, anchors.
fn run(bytes: &[u8]) {
    let tree = small_tree();
    let _ = import(bytes, "a");
    let Ok(imported) = import_with(bytes, "a", &tree) else { return };
    let review = imported.review_output;
    let count = review.findings.len() + review.unread.left_out.len();
    for finding in &review.findings {
        let _ = apply_edits_against("é😀 = 1\r\nb\n", Some("é\n"), "a.py", &finding.suggestion);
    }
    let written = serde_json::to_value(&review).expect("a review can be written");
    ReviewOutput::from_value(&written).expect("what was imported is a ReviewOutput");
    let taken = intake(&[("a".into(), review)], &tree);
    let listed = taken.workable.len() + taken.unconfirmed.len() + taken.ignored.len() + taken.refused.len();
    assert_eq!(listed, count, "nothing disappears");
}

#[test]
fn every_prefix_of_every_sample_is_read_or_refused() {
    for sample in samples() {
        assert!(import(sample.as_bytes(), "a").is_ok(), "{sample}");
        for length in 0..=sample.len() {
            run(&sample.as_bytes()[..length]);
        }
    }
}

#[test]
fn every_sample_with_one_byte_changed_is_read_or_refused() {
    for sample in samples() {
        let mut bytes = sample.into_bytes();
        for at in 0..bytes.len() {
            let byte = bytes[at];
            for other in [b'"', b'9', 0xff] {
                bytes[at] = other;
                let _ = import(&bytes, "a");
            }
            bytes[at] = byte;
        }
    }
}

#[test]
fn deep_documents_do_not_exhaust_the_stack() {
    for text in
        ["[".repeat(100_000), "{\"a\":".repeat(50_000), "{\"result\":".repeat(100) + "1" + &"}".repeat(100)]
    {
        assert!(import(text.as_bytes(), "a").is_err());
    }
    let mut nested = json!({"issues": []});
    for _ in 0..60 {
        nested = json!({"review": nested});
    }
    run(nested.to_string().as_bytes());
    let mut text = "[]".to_owned();
    for _ in 0..12 {
        text = json!({"type": "result", "result": text}).to_string();
    }
    run(text.as_bytes());
}

fn any_json() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(json!(null)),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a-zA-Z0-9:/.é😀 \\-\\[\\]%]{0,12}".prop_map(Value::from),
        prop::sample::select(vec![
            "P1",
            "critical",
            "confirmed",
            "a.py",
            "a.py:3-9",
            "v1",
            "2.1.0",
            "result",
            "error"
        ])
        .prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "id",
        "severity",
        "title",
        "body",
        "file",
        "line_start",
        "line_end",
        "confidence",
        "criterion",
        "verdict",
        "evidence",
        "related_files",
        "checks",
        "suggestion",
        "findings",
        "schema_version",
        "runs",
        "results",
        "tool",
        "driver",
        "name",
        "rules",
        "locations",
        "physicalLocation",
        "artifactLocation",
        "uri",
        "uriBaseId",
        "region",
        "startLine",
        "startColumn",
        "endColumn",
        "message",
        "text",
        "fixes",
        "artifactChanges",
        "replacements",
        "deletedRegion",
        "insertedContent",
        "diagnostics",
        "location",
        "path",
        "range",
        "start",
        "end",
        "line",
        "column",
        "suggestions",
        "comments",
        "nodes",
        "data",
        "isResolved",
        "user",
        "diff_hunk",
        "gaps",
        "type",
        "result",
        "issues",
        "checks_run",
        "artifact_paths",
        "criteria",
        "review_base",
        "version",
        "charOffset",
        "index",
        "artifacts",
        "originalUriBaseIds",
        "suppressions",
        "invocations",
        "source",
        "set_aside",
    ]);
    leaf.prop_recursive(6, 96, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..5).prop_map(Value::from),
            prop::collection::vec((key.clone(), inner), 0..8)
                .prop_map(|fields| fields
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect::<serde_json::Map<_, _>>())
                .prop_map(Value::from),
        ]
    })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn arbitrary_bytes_never_panic(bytes in prop::collection::vec(any::<u8>(), 0..400)) {
        run(&bytes);
    }

    #[test]
    fn arbitrary_text_never_panics(text in "[\\[\\]{}\":,`~\\-a-zA-Z0-9é😀\n\r ]{0,300}") {
        run(text.as_bytes());
    }

    #[test]
    fn arbitrary_documents_never_panic(findings in prop::collection::vec(any_json(), 0..5), other in any_json()) {
        run(other.to_string().as_bytes());
        run(review_json(Value::from(findings.clone())).to_string().as_bytes());
        run(json!({"version": "2.1.0", "runs": findings}).to_string().as_bytes());
        run(json!({"diagnostics": findings}).to_string().as_bytes());
        run(json!({"verdict": "FIX-FIRST", "gaps": findings}).to_string().as_bytes());
    }

    #[test]
    fn anchors_stay_inside_any_text(
        old in "[ab\n]{0,60}", new in "[ab\n]{0,60}", start in 0_u32..20, length in 0_u32..5,
        edit in (0_u32..10, 0_u32..3, 0_u32..4, "[ab\n]{0,10}"),
    ) {
        let anchor = Anchor::place(&old, start, start + length);
        let edit = BufferEdit {
            start: BufferPlace { line: edit.0, column: edit.1 },
            end: BufferPlace { line: edit.0 + edit.2, column: edit.1 },
            inserted: edit.3,
        };
        let last = |text: &str| u32::try_from(text.lines().count().max(1)).unwrap();
        for moved in [anchor.through_diff(&old, &new), anchor.refind(&new)] {
            prop_assert!(moved.line_start >= 1 && moved.line_start <= moved.line_end);
            prop_assert!(moved.line_end <= last(&new), "{moved:?} in {new:?}");
        }
        let edited = anchor.edited(&edit, &old, &new);
        prop_assert!(edited.line_start >= 1 && edited.line_start <= edited.line_end);
    }

    #[test]
    fn an_applied_edit_changes_nothing_outside_its_range(
        before in "[abé😀]{0,8}", deleted in "[abé😀]{0,8}", after in "[abé😀]{0,8}", replacement in "[xyé😀\n]{0,8}",
    ) {
        let text = format!("first\n{before}{deleted}{after}\nlast\n");
        let column = |text: &str| u32::try_from(text.chars().count() + 1).unwrap();
        let edit = Edit {
            file: "f".into(),
            start: Position::new(2, column(&before)),
            end: Position::new(2, column(&format!("{before}{deleted}"))),
            replacement: replacement.clone(),
            deleted: Some(deleted),
        };
        prop_assert_eq!(apply_edits(&text, "f", &[edit]).unwrap(), format!("first\n{before}{replacement}{after}\nlast\n"));
    }
}
