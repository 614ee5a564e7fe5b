//! SARIF: which results count, how bad they are and where.

use super::*;
use crate::findings::import::Format;

fn log(run: Value) -> Value {
    let mut full = json!({"tool": {"driver": {"name": "lint", "rules": []}}, "results": []});
    merge(&mut full, run);
    json!({"version": "2.1.0", "runs": [full]})
}

fn result(changes: Value) -> Value {
    let mut result = json!({"ruleId": "R1", "message": {"text": "Bad."}});
    merge(&mut result, changes);
    result
}

fn located(artifact: Value) -> Value {
    result(
        json!({"locations": [{"physicalLocation": {"artifactLocation": artifact, "region": {"startLine": 2}}}]}),
    )
}

fn files(document: &Value) -> Vec<Option<String>> {
    imported(document).review_output.findings.into_iter().map(|finding| finding.file).collect()
}

#[test]
fn a_result_becomes_a_finding_without_a_verdict() {
    let document = log(json!({"results": [result(json!({
        "level": "error", "message": {"text": "Use of [eval](1) here. It is dangerous."}, "rank": 80,
        "locations": [{"physicalLocation": {"artifactLocation": {"uri": "src/a.js"}, "region": {"startLine": 3, "endLine": 5, "endColumn": 1}}}],
    }))]}));
    let imported = imported(&document);
    assert_eq!(imported.format, Format::Sarif);
    assert_eq!(imported.review_output.source.as_deref(), Some("lint"));
    let finding = &imported.review_output.findings[0];
    assert_eq!(finding.title, "Use of eval here");
    assert_eq!((finding.severity, finding.native_severity.as_deref()), (Severity::P1, Some("error")));
    assert_eq!((finding.line_start, finding.line_end), (Some(3), Some(4)));
    assert_eq!(finding.criterion.as_deref(), Some("R1"));
    assert_eq!((finding.verdict, finding.confidence), (None, 0.8));
    assert!(finding.checks.is_empty());
}

#[test]
fn the_level_comes_from_the_result_the_invocation_or_the_rule() {
    let rules = json!([
        {"id": "R1", "defaultConfiguration": {"level": "error"}},
        {"id": "R2"},
        {"id": "R3", "properties": {"security-severity": "9.8"}},
        {"id": "R4", "properties": {"security-severity": "2.0"}, "defaultConfiguration": {"level": "error"}},
        {"id": "R5", "properties": {"problem.severity": "error"}},
    ]);
    let overrides = json!([{"ruleConfigurationOverrides": [{"descriptor": {"id": "R1"}, "configuration": {"level": "note"}}]}]);
    let table = [
        (json!({"ruleId": "R1"}), json!([]), "P1"),
        (json!({"ruleId": "R1", "level": "note"}), json!([]), "P3"),
        (json!({"ruleId": "R1", "level": "none"}), json!([]), "P3"),
        (json!({"ruleId": "R1"}), overrides.clone(), "P3"),
        (json!({"ruleId": "R1", "level": "error"}), overrides.clone(), "P1"),
        (json!({"ruleId": "R1/sub"}), json!([]), "P1"),
        (json!({"ruleId": "R2"}), json!([]), "P2"),
        (json!({"ruleId": "unknown"}), json!([]), "P2"),
        (json!({"ruleId": "ABSENT"}), json!([]), "P2"),
        (json!({"ruleId": "ABSENT", "ruleIndex": 0}), json!([]), "P1"),
        (json!({"ruleId": "ABSENT", "rule": {"index": 0}}), json!([]), "P1"),
        (json!({"ruleId": "R2", "ruleIndex": 0}), json!([]), "P2"),
        (json!({"ruleId": "R2", "ruleIndex": 99}), json!([]), "P2"),
        (json!({"ruleId": "R2", "ruleIndex": -1}), json!([]), "P2"),
        (json!({"ruleId": "R1", "kind": "open"}), json!([]), "P3"),
        (json!({"ruleId": "R1", "kind": "informational"}), json!([]), "P3"),
        (json!({"ruleId": "R3"}), json!([]), "P0"),
        (json!({"ruleId": "R4"}), json!([]), "P1"),
        (json!({"ruleId": "R5"}), json!([]), "P1"),
        (json!({"ruleId": "R2", "properties": {"issue_severity": "HIGH"}}), json!([]), "P1"),
    ];
    for (changes, invocations, expected) in table {
        let document = log(json!({
            "tool": {"driver": {"name": "lint", "rules": rules}}, "invocations": invocations, "results": [result(changes.clone())],
        }));
        let severity = imported(&document).review_output.findings[0].severity.to_string();
        assert_eq!(severity, expected, "{changes}");
    }
}

#[test]
fn rules_of_extensions_are_found() {
    let document = json!({"version": "2.1.0", "runs": [{
        "tool": {"driver": {"name": "CodeQL"}, "extensions": [{"name": "a"}, {"name": "b", "rules": [
            {"id": "js/eval", "defaultConfiguration": {"level": "error"}, "fullDescription": {"text": "Never eval."}},
        ]}]},
        "results": [
            {"rule": {"index": 0, "toolComponent": {"index": 1}}, "message": {"text": "m"}},
            {"rule": {"index": 0, "toolComponent": {"name": "b"}}, "message": {"text": "m"}},
            {"ruleId": "js/eval", "message": {"text": "m"}},
        ],
    }]});
    for finding in imported(&document).review_output.findings {
        assert_eq!(finding.criterion.as_deref(), Some("js/eval"));
        assert_eq!(finding.severity, Severity::P1);
        assert!(finding.body.contains("Never eval."));
    }
}

#[test]
fn messages_are_filled_in_from_the_rule() {
    let driver = json!({"name": "lint", "globalMessageStrings": {"g": {"text": "Global {0}"}}, "rules": [
        {"id": "R1", "messageStrings": {"m": {"text": "Call of {0} in {1}; {{kept}} {9}"}}, "shortDescription": {"text": "Short"}},
    ]});
    for (message, title) in [
        (json!({"id": "m", "arguments": ["f", "g"]}), "Call of f in g; {kept} {9}"),
        (json!({"id": "g", "arguments": ["x"]}), "Global x"),
        (json!({"id": "unknown"}), "Short"),
        (json!({"text": ""}), "Short"),
        (json!({"markdown": "**Bold**"}), "Bold"),
        (json!("bare text"), "bare text"),
    ] {
        let document =
            log(json!({"tool": {"driver": driver}, "results": [result(json!({"message": message}))]}));
        assert_eq!(imported(&document).review_output.findings[0].title, title, "{message}");
    }
}

#[test]
fn results_that_the_document_takes_back_are_listed_and_not_findings() {
    let suppressed = |states: Value| json!({"suppressions": states});
    let table = [
        (json!({}), true),
        (suppressed(json!([])), true),
        (suppressed(json!([{"kind": "inSource"}])), false),
        (suppressed(json!([{"kind": "external", "status": "accepted"}])), false),
        (suppressed(json!([{"kind": "external", "status": "rejected"}])), true),
        (suppressed(json!([{"kind": "external", "status": "underReview"}])), true),
        (
            suppressed(
                json!([{"kind": "external", "status": "accepted"}, {"kind": "external", "status": "rejected"}]),
            ),
            false,
        ),
        (json!({"baselineState": "absent"}), false),
        (json!({"baselineState": "unchanged"}), true),
        (json!({"baselineState": "new"}), true),
        (json!({"kind": "pass"}), false),
        (json!({"kind": "notApplicable"}), false),
        (json!({"kind": "review"}), true),
    ];
    for (changes, live) in table {
        let imported = imported(&log(json!({"results": [result(changes.clone())]})));
        let review = &imported.review_output;
        assert_eq!(
            (review.findings.len(), review.unread.left_out.len()),
            (live as usize, !live as usize),
            "{changes}"
        );
        if !live {
            assert!(imported.notes.iter().any(|note| note.finding == Some(FindingId::from(1))), "{changes}");
            let intake = intake(&[("a".into(), review.clone())], &calc_tree());
            assert_eq!(intake.ignored.len(), 1, "{changes}");
        }
    }
}

#[test]
fn a_run_without_results_is_not_scanned_and_several_runs_are_all_read() {
    let document = json!({"version": "2.1.0", "runs": [
        {"tool": {"driver": {"name": "one"}}, "results": [result(json!({}))]},
        {"tool": {"driver": {"name": "two"}}},
        {"tool": {"driver": {"name": "three"}}, "results": null},
        {"tool": {"driver": {"name": "four"}}, "results": [], "invocations": [{"executionSuccessful": false}]},
        {"tool": {"driver": {"name": "five"}}, "results": [result(json!({"message": {"text": "Worse."}}))]},
    ]});
    let imported = imported(&document);
    assert_eq!(imported.review_output.unread.not_scanned, ["two", "three", "four"]);
    let tools: Vec<_> =
        imported.review_output.findings.iter().map(|finding| &finding.extra["tool"]).collect();
    assert_eq!(tools, ["one", "five"]);
    assert_eq!(imported.review_output.source.as_deref(), Some("one, two, three, four, five"));
}

#[test]
fn uris_become_paths() {
    let bases = json!({
        "SRC": {"uri": "src/", "uriBaseId": "REPO"}, "REPO": {"description": {"text": "the clone"}},
        "NOSLASH": {"uri": "src"}, "ABS": {"uri": "file:///ws/repo/"}, "DEEP": {"uri": "a/", "uriBaseId": "ABS"},
        "LOOP": {"uri": "x/", "uriBaseId": "POOL"}, "POOL": {"uri": "y/", "uriBaseId": "LOOP"}, "SELF": {"uri": "z/", "uriBaseId": "SELF"},
        "BAD": {"uri": "::::::/"}, "EMPTY": {"uri": "empty:"}, "WEB": {"uri": "https://example.com/x/"}, "WIN": {"uri": "file:///C:/code/"},
        "PCT": {"uri": "sp%20ace/"},
    });
    let table = [
        (json!({"uri": "src/a.c"}), Some("src/a.c")),
        (json!({"uri": "a.c", "uriBaseId": "SRC"}), Some("src/a.c")),
        (json!({"uri": "a.c", "uriBaseId": "NOSLASH"}), Some("src/a.c")),
        (json!({"uri": "a.c", "uriBaseId": "ABS"}), Some("/ws/repo/a.c")),
        (json!({"uri": "b.c", "uriBaseId": "DEEP"}), Some("/ws/repo/a/b.c")),
        (json!({"uri": "a.c", "uriBaseId": "%SRCROOT%"}), Some("a.c")),
        (json!({"uri": "/a.c", "uriBaseId": "%SRCROOT%"}), Some("a.c")),
        (json!({"uri": "a.c", "uriBaseId": "LOOP"}), Some("y/x/a.c")),
        (json!({"uri": "a.c", "uriBaseId": "SELF"}), Some("z/a.c")),
        (json!({"uri": "a.c", "uriBaseId": "BAD"}), Some("a.c")),
        (json!({"uri": "a.c", "uriBaseId": "EMPTY"}), Some("a.c")),
        (json!({"uri": "a.c", "uriBaseId": "WEB"}), Some("a.c")),
        (json!({"uri": "a.c", "uriBaseId": "WIN"}), Some("C:/code/a.c")),
        (json!({"uri": "a.c", "uriBaseId": "PCT"}), Some("sp ace/a.c")),
        (json!({"uri": "a.c", "uriBaseId": "/home/user/project"}), Some("/home/user/project/a.c")),
        (json!({"uri": "file:///ws/a.c", "uriBaseId": "SRC"}), Some("/ws/a.c")),
        (json!({"uri": "file:///ws/sp%20ace/%C3%A9%F0%9F%98%80.js"}), Some("/ws/sp ace/é😀.js")),
        (json!({"uri": "file:/ws/a.c"}), Some("/ws/a.c")),
        (json!({"uri": "file://localhost/ws/a.c"}), Some("/ws/a.c")),
        (json!({"uri": "file:///C:/Users/x%20y/a.js"}), Some("C:/Users/x y/a.js")),
        (json!({"uri": "C:\\Users\\a.js"}), Some("C:/Users/a.js")),
        (json!({"uri": "raw space/é😀.js"}), Some("raw space/é😀.js")),
        (json!({"uri": "once%2520only.c"}), Some("once%20only.c")),
        (json!({"uri": "100%.c"}), Some("100%.c")),
        (json!({"uri": "bad%ff.c"}), Some("bad%ff.c")),
        (json!({"uri": "../../x.c"}), Some("../../x.c")),
        (json!({"index": 1}), Some("by/index.c")),
        (json!({"uri": "", "index": 0}), Some("src/first.c")),
        (json!({"index": 9}), None),
        (json!({"uri": ""}), None),
        (json!({}), None),
        (json!({"uri": "https://example.com/a.c"}), None),
        (json!({"uri": "pkg:npm/x@1"}), None),
    ];
    for (artifact, expected) in table {
        let document = log(json!({
            "originalUriBaseIds": bases, "results": [located(artifact.clone())],
            "artifacts": [{"location": {"uri": "first.c", "uriBaseId": "SRC"}}, {"location": {"uri": "by/index.c"}}],
        }));
        assert_eq!(files(&document), [expected.map(str::to_owned)], "{artifact}");
    }
}

#[test]
fn what_another_machine_called_the_root_is_found_in_ours_only_if_it_is_there() {
    let tree = calc_tree();
    let file = |run: Value| {
        let imported = import_with(log(run).to_string().as_bytes(), "a", &tree).unwrap();
        (
            imported.review_output.findings[0].file.clone().unwrap(),
            imported.notes.iter().filter(|note| note.field == "file").count(),
        )
    };
    let bases = json!({"ROOT": {"uri": "file:///home/runner/build/repo/"}});
    let based = |uri: &str| json!({"originalUriBaseIds": bases, "results": [located(json!({"uri": uri, "uriBaseId": "ROOT"}))]});
    assert_eq!(file(based("src/calc.py")), ("src/calc.py".to_owned(), 1));
    assert_eq!(file(based("src/none.py")).0, "/home/runner/build/repo/src/none.py");
    let ran_in = |uri: &str| json!({"invocations": [{"executionSuccessful": true, "workingDirectory": {"uri": "file:///home/runner/build/repo"}}], "results": [located(json!({"uri": uri}))]});
    assert_eq!(file(ran_in("file:///home/runner/build/repo/src/calc.py")), ("src/calc.py".to_owned(), 1));
    assert_eq!(
        file(ran_in("file:///home/runner/build/other/src/calc.py")).0,
        "/home/runner/build/other/src/calc.py"
    );
    let outside = import_with(log(ran_in("file:///etc/passwd")).to_string().as_bytes(), "a", &tree).unwrap();
    let intake = intake(&[("a".into(), outside.review_output)], &tree);
    assert_eq!(intake.ignored.len(), 1, "kept in a visible list");
}

#[test]
fn further_locations_are_related_files_and_shown_in_the_body() {
    let place = |uri: &str, line: u32| json!({"physicalLocation": {"artifactLocation": {"uri": uri}, "region": {"startLine": line}}});
    let document = log(json!({"results": [result(json!({
        "locations": [place("a.c", 1), place("b.c", 2), place("a.c", 9)],
        "relatedLocations": [{"physicalLocation": place("c.c", 4)["physicalLocation"], "message": {"text": "declared here"}}],
    }))]}));
    let finding = &imported(&document).review_output.findings[0];
    assert_eq!(finding.file.as_deref(), Some("a.c"));
    assert_eq!(finding.related_files, ["b.c"], "a related location is no place to change");
    for text in ["Also at b.c:2", "Also at a.c:9", "Related: c.c:4: declared here"] {
        assert!(finding.body.contains(text), "{}", finding.body);
    }
}

#[test]
fn lines_out_of_the_ordinary_are_settled() {
    for (region, expected) in [
        (json!({"startLine": 0, "startColumn": 0, "endColumn": 0}), (None, None)),
        (json!({"startLine": -1}), (None, None)),
        (json!({"startLine": 5, "endLine": 2}), (Some(5), Some(5))),
        (json!({"startLine": 5, "startColumn": 3, "endColumn": 1}), (Some(5), None)),
        (json!({"byteOffset": 3, "byteLength": 2}), (None, None)),
        (json!({"charOffset": 3}), (None, None)),
        (json!({}), (None, None)),
        (json!({"startLine": 9_000_000_000_u64}), (Some(u32::MAX), None)),
    ] {
        let document = log(json!({"results": [result(json!({"locations": [
            {"physicalLocation": {"artifactLocation": {"uri": "a.c"}, "region": region}},
        ]}))]}));
        let finding = &imported(&document).review_output.findings[0];
        assert_eq!((finding.line_start, finding.line_end), expected, "{region}");
    }
}

#[test]
fn an_offset_alone_becomes_a_line_where_the_text_is_known() {
    let offset = CALC.find("def twice").unwrap();
    let document = log(json!({"results": [result(json!({"locations": [
        {"physicalLocation": {"artifactLocation": {"uri": "src/calc.py"}, "region": {"charOffset": offset, "charLength": 3}}},
    ]}))]}));
    let imported = import_with(document.to_string().as_bytes(), "a", &calc_tree()).unwrap();
    assert_eq!(imported.review_output.findings[0].line_start, Some(4));
}

#[test]
fn other_versions_and_odd_entries_are_named() {
    let old = json!({"version": "2.0.0", "runs": []});
    assert!(import(old.to_string().as_bytes(), "a").unwrap_err().message.contains("2.0.0"));
    let imported =
        imported(&json!({"version": "2.1.0", "runs": [7, {"tool": {"driver": {"name": "x"}}, "results": [
        4, {}, {"message": {}}, result(json!({}))]}]}));
    assert_eq!(imported.review_output.findings.len(), 1);
    assert_eq!(imported.review_output.unread.left_out.len(), 3);
    let none = super::imported(&json!({"version": "2.1.0", "runs": []}));
    assert_eq!(none.review_output.unread.not_scanned, [""]);
}

#[test]
fn a_line_is_a_number_however_it_is_written() {
    for (line, expected) in [
        (json!(2), Some(2)),
        (json!(2.0), Some(2)),
        (json!("2"), Some(2)),
        (json!(2.5), None),
        (json!("two"), None),
        (json!(null), None),
        (json!(1e300), None),
    ] {
        let place = json!({"artifactLocation": {"uri": "src/a.js"}, "region": {"startLine": line}});
        let document = log(json!({"results": [result(json!({"locations": [{"physicalLocation": place}]}))]}));
        assert_eq!(imported(&document).review_output.findings[0].line_start, expected, "{line}");
    }
}

#[test]
fn a_producer_without_runs_has_not_scanned() {
    let document = json!({"version": "2.1.0", "runs": null});
    let imported = imported(&document);
    assert_eq!((imported.format, imported.review_output.findings.len()), (Format::Sarif, 0));
    assert_eq!(imported.review_output.unread.not_scanned, [""], "earlier findings stay");
}

#[test]
fn brackets_that_are_no_link_are_read_as_they_are_meant() {
    for (written, read) in [
        (r"see [here](1)", "see here"),
        (r"index \[0\] of [a](2)", "index [0] of a"),
        (r"[a\]b](3)", "a]b"),
        (r"plain [x]", "plain [x]"),
    ] {
        let document = log(json!({"results": [result(json!({"message": {"text": written}}))]}));
        assert_eq!(imported(&document).review_output.findings[0].body, read, "{written}");
    }
}
