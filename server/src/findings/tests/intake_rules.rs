//! What is workable, and why the rest is not.

use super::*;
use crate::findings::intake::IgnoredKind;

#[test]
fn only_confirmed_p0_and_p1_are_workable() {
    // severity, verdict → workable, unconfirmed, kind of the ignored one
    let table = [
        ("P0", json!("confirmed"), 1, 0, None),
        ("P1", json!("confirmed"), 1, 0, None),
        ("P2", json!("confirmed"), 0, 0, Some(IgnoredKind::LowSeverity)),
        ("P3", json!("confirmed"), 0, 0, Some(IgnoredKind::LowSeverity)),
        ("P0", json!(null), 0, 1, None),
        ("P1", json!("ABSENT"), 0, 1, None),
        ("P2", json!(null), 0, 0, Some(IgnoredKind::LowSeverity)),
        ("P0", json!("demoted"), 0, 0, Some(IgnoredKind::Demoted)),
        ("P1", json!("rejected"), 0, 0, Some(IgnoredKind::Rejected)),
        ("P3", json!("rejected"), 0, 0, Some(IgnoredKind::Rejected)),
    ];
    for (severity, verdict, workable, unconfirmed, ignored) in table {
        let intake = taken_in(json!([finding_json(json!({"severity": severity, "verdict": verdict}))]));
        let kinds: Vec<_> = intake.ignored.iter().map(|ignored| ignored.kind).collect();
        assert_eq!(
            (intake.workable.len(), intake.unconfirmed.len(), kinds),
            (workable, unconfirmed, Vec::from_iter(ignored)),
            "{severity} {verdict}"
        );
    }
}

#[test]
fn a_p0_or_p1_without_a_criterion_is_invalid_whatever_its_verdict() {
    for criterion in [json!(null), json!(""), json!("  "), json!("ABSENT")] {
        for verdict in [json!("confirmed"), json!(null)] {
            let intake = taken_in(json!([finding_json(json!({"criterion": criterion, "verdict": verdict}))]));
            assert!(intake.workable.is_empty() && intake.unconfirmed.is_empty() && intake.refused.is_empty());
            assert_eq!(intake.ignored[0].kind, IgnoredKind::Invalid);
            assert!(intake.ignored[0].reason.contains("criterion"), "{}", intake.ignored[0].reason);
        }
    }
    let low = taken_in(json!([finding_json(json!({"severity": "P2", "criterion": null}))]));
    assert_eq!(low.ignored[0].kind, IgnoredKind::LowSeverity);
}

#[test]
fn one_invalid_finding_never_stops_the_others() {
    let broken = [
        json!(17),
        json!(null),
        json!("text"),
        json!({}),
        finding_json(json!({"severity": "P9"})),
        finding_json(json!({"severity": null})),
        finding_json(json!({"verdict": "maybe"})),
        finding_json(json!({"title": "", "body": ""})),
        finding_json(json!({"file": {"name": 3}})),
    ];
    for entry in broken {
        let intake = taken_in(json!([entry, finding_json(json!({"id": 2}))]));
        assert_eq!(intake.workable.len(), 1, "{entry}");
        assert_eq!(intake.workable[0].finding.id, FindingId::from(2));
        assert_eq!(intake.ignored.len(), 1, "{entry}");
        assert_eq!(intake.ignored[0].kind, IgnoredKind::Invalid, "{entry}");
        assert!(intake.ignored[0].reason.starts_with("invalid: "), "{}", intake.ignored[0].reason);
    }
}

#[test]
fn an_invalid_finding_keeps_the_id_it_gave() {
    let intake = taken_in(json!([finding_json(json!({"id": "SEC-7", "severity": "banana"}))]));
    assert_eq!(reasons(&intake.ignored)[0].0, "SEC-7");
}

#[test]
fn nothing_disappears() {
    let intake = taken_in(json!([
        finding_json(json!({"id": 1})),
        finding_json(json!({"id": 2})),
        finding_json(json!({"id": 3, "verdict": null, "line_start": 1})),
        finding_json(json!({"id": 4, "severity": "P3"})),
        finding_json(json!({"id": 5, "file": "../outside.py"})),
        finding_json(json!({"id": 6, "severity": "P7"})),
    ]));
    let mut ids: Vec<String> = intake.workable.iter().map(|finding| finding.shown_id.to_string()).collect();
    ids.extend(intake.unconfirmed.iter().map(|finding| finding.shown_id.to_string()));
    ids.extend(intake.ignored.iter().chain(&intake.refused).map(|ignored| ignored.id.to_string()));
    ids.sort();
    assert_eq!(ids, ["1", "2", "3", "4", "5", "6"]);
}

#[test]
fn a_confirmed_finding_whose_path_leaves_the_root_is_refused_and_an_unconfirmed_one_ignored() {
    for file in [
        "../outside.py",
        "/etc/passwd",
        ".git/config",
        "src/../.git/hooks/pre-commit",
        "sub/.GIT/x",
        "C:\\x.py",
    ] {
        let intake = taken_in(json!([
            finding_json(json!({"id": 1, "file": file})),
            finding_json(json!({"id": 2, "file": file, "verdict": null})),
            finding_json(json!({"id": 3})),
        ]));
        assert_eq!(reasons(&intake.refused)[0].0, "1", "{file}");
        assert_eq!(intake.ignored[0].kind, IgnoredKind::Refused, "{file}");
        assert_eq!(intake.workable.len(), 1);
    }
    let related = taken_in(json!([finding_json(json!({"related_files": ["src/calc.py", "../../x"]}))]));
    assert_eq!(related.refused.len(), 1);
    assert!(related.workable.is_empty());
}

#[test]
fn lines_are_clamped_and_noted_and_never_invented() {
    // given start and end → lines, fields that are noted
    let table = [
        (json!(2), json!(2), (Some(2), Some(2)), vec![]),
        (json!(2), json!(null), (Some(2), None), vec![]),
        (json!(null), json!(null), (None, None), vec![]),
        (json!(0), json!(0), (None, None), vec!["line_start"]),
        (json!(-1), json!(-1), (None, None), vec!["line_start"]),
        (json!(0), json!(7), (None, None), vec!["line_start"]),
        (json!(4), json!(0), (Some(4), Some(4)), vec!["line_end"]),
        (json!(4), json!(2), (Some(4), Some(4)), vec!["line_end"]),
        (json!(4), json!(99), (Some(4), Some(5)), vec!["line_end"]),
        (json!(99), json!(120), (Some(5), Some(5)), vec!["line_start", "line_end"]),
        (json!(99_999_999_999_u64), json!(null), (Some(5), None), vec!["line_start"]),
        (json!("2-5"), json!("ABSENT"), (Some(2), Some(5)), vec![]),
        (json!("soon"), json!(null), (None, None), vec!["line_start"]),
        (json!(null), json!(3), (Some(3), Some(3)), vec!["line_start"]),
    ];
    for (start, end, expected, noted) in table {
        let intake = taken_in(json!([finding_json(json!({"line_start": start, "line_end": end}))]));
        let finding = &intake.workable[0].finding;
        assert_eq!((finding.line_start, finding.line_end), expected, "{start} {end}");
        let fields: Vec<_> = intake.notes.iter().map(|note| note.field.as_str()).collect();
        assert_eq!(fields, noted, "{start} {end}");
    }
}

#[test]
fn a_finding_about_a_missing_or_empty_file_keeps_no_anchor_and_says_so() {
    let tree = MemoryTree::of([("empty.py", "")]);
    for file in ["empty.py", "missing.py"] {
        let review = review(json!([finding_json(json!({"file": file}))]));
        let intake = intake(&[("a".into(), review)], &tree);
        assert_eq!(intake.workable[0].anchor, None, "{file}");
        assert_eq!(intake.notes.len(), 1, "{file}: {:?}", intake.notes);
    }
}

#[test]
fn the_scope_is_the_file_and_its_related_files_or_else_the_artifact_paths() {
    let mut given = review_json(json!([
        finding_json(json!({"id": 1, "related_files": ["src/a.py", "./src/calc.py"]})),
        finding_json(json!({"id": 2, "file": null, "line_start": null})),
        finding_json(
            json!({"id": 3, "file": null, "line_start": null, "title": "other", "related_files": ["src/b.py"]})
        ),
    ]));
    given["artifact_paths"] = json!(["docs/spec.md", "../secret", "src/x.py", "docs/spec.md"]);
    let intake = intake(&[("a".into(), ReviewOutput::from_value(&given).unwrap())], &calc_tree());
    let scopes: Vec<_> = intake.workable.iter().map(|finding| finding.scope.join(" ")).collect();
    assert_eq!(scopes, ["src/calc.py src/a.py", "docs/spec.md src/x.py", "src/b.py docs/spec.md src/x.py"]);
    assert!(intake.notes.iter().any(|note| note.field == "artifact_paths" && note.was == json!("../secret")));
    let bare = taken_in(json!([finding_json(json!({"file": null, "line_start": null}))]));
    assert!(bare.workable[0].scope.is_empty());
}

#[test]
fn a_failed_criterion_blocks_what_it_names_and_nothing_else() {
    let mut given = review_json(json!([
        finding_json(json!({"id": 1, "criterion": "AC-1: never raises"})),
        finding_json(json!({"id": 2, "criterion": "see AC-12", "line_start": 1})),
        finding_json(json!({"id": 3, "criterion": "ac_3", "line_start": 4})),
        finding_json(json!({"id": 4, "criterion": "none", "line_start": 5})),
    ]));
    given["checks_run"] =
        json!(["AC-1: FAIL - raises", "AC-12: PASS", "**ac-3**: FAILED", "unit tests: FAIL"]);
    let intake = intake(&[("a".into(), ReviewOutput::from_value(&given).unwrap())], &calc_tree());
    assert_eq!(Vec::from_iter(&intake.blocked_criteria), ["AC-1", "AC-3"]);
    let failed: Vec<_> = intake.workable.iter().map(|finding| finding.failed_criterion.as_deref()).collect();
    assert_eq!(failed, [Some("AC-1"), None, Some("AC-3"), None]);
}

#[test]
fn failed_criteria_are_read_in_the_ways_they_are_written() {
    for (line, names) in [
        ("AC-1: FAIL", vec!["AC-1"]),
        ("AC-1 FAIL", vec!["AC-1"]),
        ("AC-2 = fail (two tests)", vec!["AC-2"]),
        ("AC-1: FAIL, AC-2: PASS, AC-3: FAIL", vec!["AC-1", "AC-3"]),
        ("AC-1.2 - FAILED", vec!["AC-1.2"]),
        ("AC-1: PASS", vec![]),
        ("AC-1: no FAIL seen", vec![]),
        ("MAC-1: FAIL", vec![]),
        ("AC-1: FAILSAFE ok", vec![]),
    ] {
        assert_eq!(Vec::from_iter(failed_criteria(&[line.to_owned()])), names, "{line}");
    }
}

#[test]
fn the_user_or_the_checker_makes_an_unconfirmed_finding_workable() {
    let intake = taken_in(json!([finding_json(json!({"verdict": null}))]));
    let unconfirmed = intake.unconfirmed[0].clone();
    let by_user = ConfirmedFinding::by_user(unconfirmed.clone());
    assert_eq!(by_user.finding.verdict, Some(Verdict::Confirmed));
    assert_eq!(by_user.fingerprint, unconfirmed.fingerprint);
    let by_checker = ConfirmedFinding::by_checker(unconfirmed, "line 2 divides");
    assert_eq!(by_checker.finding.evidence.as_deref(), Some("line 2 divides"));
    let back: ConfirmedFinding = serde_json::from_value(serde_json::to_value(&by_checker).unwrap()).unwrap();
    assert_eq!(back, by_checker);
}

#[test]
fn a_finding_that_was_set_aside_is_listed_and_may_be_confirmed() {
    let intake = taken_in(json!([finding_json(json!({"verdict": null, "set_aside": "outdated"}))]));
    assert_eq!(intake.ignored[0].kind, IgnoredKind::SetAside);
    let confirmable = intake.ignored[0].confirmable.clone().expect("the user may confirm it");
    assert_eq!(ConfirmedFinding::by_user(confirmable).finding.verdict, Some(Verdict::Confirmed));
}

#[test]
fn ids_that_several_files_give_are_shown_with_their_source() {
    let tree = calc_tree();
    let one = review(json!([
        finding_json(json!({"id": 1})),
        finding_json(json!({"id": 2, "line_start": 5, "line_end": 5}))
    ]));
    let two =
        review(json!([finding_json(json!({"id": "1", "line_start": 4, "line_end": 4, "criterion": "x"}))]));
    let intake = intake(&[("a.json".into(), one), ("b.json".into(), two)], &tree);
    let shown: Vec<_> = intake.workable.iter().map(|finding| finding.shown_id.to_string()).collect();
    assert_eq!(shown, ["a.json#1", "2", "b.json#1"]);
    assert_eq!(intake.workable[1].shown_id, FindingId::from(2));
    assert_eq!(intake.workable[0].finding.id, FindingId::from(1));
}

#[test]
fn an_id_that_one_file_gives_twice_still_names_one_finding() {
    let intake =
        taken_in(json!([finding_json(json!({})), finding_json(json!({"line_start": 5, "line_end": 5}))]));
    let shown: Vec<_> = intake.workable.iter().map(|finding| finding.shown_id.to_string()).collect();
    assert_eq!(shown, ["1", "1~2"]);
}

#[test]
fn a_suggestion_learns_what_it_deletes_and_is_dropped_where_it_cannot_be() {
    let edit = |line: u32, end: u32, file: &str| json!([{"file": file, "start": {"line": line, "column": 5}, "end": {"line": line, "column": end}, "replacement": "x"}]);
    let good = taken_in(json!([finding_json(json!({"suggestion": edit(2, 17, "src/calc.py")}))]));
    assert_eq!(good.workable[0].finding.suggestion[0].deleted.as_deref(), Some("return a / b"));
    for suggestion in
        [edit(2, 99, "src/calc.py"), edit(77, 6, "src/calc.py"), edit(2, 6, "../x.py"), edit(2, 6, "none.py")]
    {
        let intake = taken_in(json!([finding_json(json!({"suggestion": suggestion}))]));
        assert!(intake.workable[0].finding.suggestion.is_empty(), "{suggestion}");
        assert_eq!(intake.notes[0].field, "suggestion");
    }
}

#[test]
fn lines_are_mapped_from_the_reviewed_revision() {
    let tree =
        MemoryTree::of([("src/calc.py", format!("# one\n# two\n{CALC}"))]).at("abc", "src/calc.py", CALC);
    let mut given = review_json(json!([finding_json(json!({}))]));
    given["review_base"] = json!("abc");
    let intake = intake(&[("a".into(), ReviewOutput::from_value(&given).unwrap())], &tree);
    let finding = &intake.workable[0];
    assert_eq!((finding.finding.line_start, finding.finding.line_end), (Some(4), Some(4)));
    assert!(!finding.anchor.as_ref().unwrap().stale);
    assert!(intake.notes[0].why.contains("moved"));
}

#[test]
fn code_that_went_after_the_review_makes_a_stale_anchor_and_no_resolution() {
    let gone = "def twice(a):\n    return a * 2\n";
    let tree = MemoryTree::of([("src/calc.py", gone)]).at("abc", "src/calc.py", CALC);
    let mut given = review_json(json!([finding_json(json!({}))]));
    given["review_base"] = json!("abc");
    let intake = intake(&[("a".into(), ReviewOutput::from_value(&given).unwrap())], &tree);
    assert!(intake.workable[0].anchor.as_ref().unwrap().stale);
}

#[test]
fn a_reviewed_revision_that_is_not_known_is_noted_once_and_the_lines_stay() {
    let mut given = review_json(json!([
        finding_json(json!({})),
        finding_json(json!({"id": 2, "line_start": 5, "line_end": 5})),
    ]));
    given["review_base"] = json!("unknown");
    let intake = intake(&[("a".into(), ReviewOutput::from_value(&given).unwrap())], &calc_tree());
    let lines: Vec<_> = intake.workable.iter().map(|finding| finding.finding.line_start).collect();
    assert_eq!(lines, [Some(2), Some(5)]);
    assert_eq!(intake.notes.len(), 1);
    assert_eq!((intake.notes[0].field.as_str(), &intake.notes[0].was), ("review_base", &json!("unknown")));
}
