//! Which finding is which.

use super::*;

fn fingerprints(intake: &Intake) -> Vec<Fingerprint> {
    intake.workable.iter().map(|finding| finding.fingerprint.clone()).collect()
}

fn of(changes: Value) -> Fingerprint {
    fingerprints(&taken_in(json!([finding_json(changes)])))[0].clone()
}

#[test]
fn a_rerun_with_other_ids_and_words_at_the_same_place_is_the_same_finding() {
    let first = of(json!({}));
    for changes in [
        json!({"id": "other"}),
        json!({"title": "Possible ZeroDivisionError"}),
        json!({"body": "worded differently"}),
        json!({"severity": "P0"}),
        json!({"confidence": 0.2}),
        json!({"file": "./src/calc.py"}),
        json!({"criterion": "ac-1 — Never  raises."}),
        json!({"line_end": null}),
        json!({"line_end": 3}),
    ] {
        assert_eq!(of(changes.clone()), first, "{changes}");
    }
}

#[test]
fn another_place_criterion_or_file_is_another_finding() {
    let first = of(json!({}));
    for changes in [
        json!({"line_start": 5, "line_end": 5}),
        json!({"criterion": "AC-2: is fast"}),
        json!({"file": "src/other.py"}),
        json!({"line_start": null, "line_end": null}),
        json!({"line_start": 1, "line_end": 2}),
    ] {
        assert_ne!(of(changes.clone()), first, "{changes}");
    }
}

#[test]
fn white_space_and_moved_lines_do_not_change_the_identity() {
    let first = of(json!({}));
    let tree = MemoryTree::of([("src/calc.py", "# new\n\ndef divide(a, b):\n\treturn  a / b\r\n")]);
    let review = review(json!([finding_json(json!({"line_start": 4, "line_end": 4}))]));
    assert_eq!(fingerprints(&intake(&[("a".into(), review)], &tree))[0], first);
}

#[test]
fn the_same_text_at_two_places_is_two_findings_in_any_order_and_alone() {
    let text = "a = risky()\nb = 1\na = risky()\n";
    let tree = MemoryTree::of([("src/calc.py", text)]);
    let at = |line: u32, id: u32| finding_json(json!({"id": id, "line_start": line, "line_end": line}));
    let run = |findings: Value| fingerprints(&intake(&[("a".into(), review(findings))], &tree));
    let both = run(json!([at(1, 1), at(3, 2)]));
    assert_ne!(both[0], both[1]);
    assert_eq!(run(json!([at(3, 1), at(1, 2)])), [both[1].clone(), both[0].clone()]);
    assert_eq!(run(json!([at(3, 9)])), [both[1].clone()]);
}

#[test]
fn two_titles_at_one_place_of_one_review_are_two_findings() {
    let intake = taken_in(json!([
        finding_json(json!({"id": 1, "title": "Division by zero"})),
        finding_json(json!({"id": 2, "title": "Wrong rounding"})),
    ]));
    assert_eq!(intake.workable.len(), 2);
    let both = fingerprints(&intake);
    assert_ne!(both[0], both[1]);
}

#[test]
fn without_a_place_or_criterion_the_title_tells_findings_apart() {
    let whole = |title: &str| of(json!({"line_start": null, "line_end": null, "title": title}));
    assert_ne!(whole("one"), whole("two"));
    assert_eq!(whole("One."), whole("one"));
    let no_file =
        |title: &str| of(json!({"file": null, "line_start": null, "line_end": null, "title": title}));
    assert_ne!(no_file("one"), no_file("two"));
}

#[test]
fn duplicates_are_shown_once_and_both_are_listed() {
    let one = review(json!([finding_json(json!({"id": 1}))]));
    let two = review(json!([finding_json(json!({"id": 4, "title": "ZeroDivisionError"}))]));
    let intake = intake(&[("a.json".into(), one), ("b.json".into(), two)], &calc_tree());
    assert_eq!(intake.workable.len(), 1);
    assert_eq!(reasons(&intake.ignored), [("4".to_owned(), "the same finding as 1")]);
}

#[test]
fn of_duplicates_the_confirmed_and_the_more_severe_one_counts() {
    let intake = taken_in(json!([
        finding_json(json!({"id": 1, "verdict": null, "severity": "P0"})),
        finding_json(json!({"id": 2})),
        finding_json(json!({"id": 3, "severity": "P0"})),
    ]));
    assert_eq!(intake.workable.len(), 1);
    assert_eq!(intake.workable[0].finding.id, FindingId::from(3));
    assert!(intake.unconfirmed.is_empty());
    assert_eq!(intake.ignored.len(), 2);
}

#[test]
fn a_file_read_again_after_the_fix_is_not_a_new_finding() {
    let files = [("a.json".into(), review(json!([finding_json(json!({}))])))];
    let first = intake(&files, &calc_tree());
    let fixed = MemoryTree::of([("src/calc.py", CALC.replace("return a / b", "return a / b if b else 0"))]);
    let without = intake(&files, &fixed);
    assert_ne!(
        fingerprints(&without),
        fingerprints(&first),
        "without a memory it would be taken for another one"
    );
    let kept: Memory = serde_json::from_value(serde_json::to_value(&first.memory).unwrap()).unwrap();
    let again = intake_with(&files, &fixed, &kept);
    assert_eq!(fingerprints(&again), fingerprints(&first));
    assert!(again.workable[0].anchor.as_ref().unwrap().stale, "the cited code is gone");
}

#[test]
fn the_memory_keeps_what_a_suggestion_deletes() {
    let suggestion = json!([{"file": "src/calc.py", "start": {"line": 2, "column": 5}, "end": {"line": 2, "column": 17}, "replacement": "x"}]);
    let files = [("a.json".into(), review(json!([finding_json(json!({"suggestion": suggestion}))])))];
    let first = intake(&files, &calc_tree());
    let changed = MemoryTree::of([("src/calc.py", CALC.replace("return a / b", "return 1 + 2"))]);
    let again = intake_with(&files, &changed, &first.memory);
    assert_eq!(again.workable[0].finding.suggestion[0].deleted.as_deref(), Some("return a / b"));
}

#[test]
fn the_memory_follows_the_anchor() {
    let files = [("a.json".into(), review(json!([finding_json(json!({}))])))];
    let mut first = intake(&files, &calc_tree());
    let edited = CALC.replace("return a / b", "return a // b");
    let anchor = first.workable[0].anchor.clone().unwrap().through_diff(CALC, &edited);
    let fingerprint = first.workable[0].fingerprint.clone();
    first.memory.update(&[(fingerprint.clone(), anchor)].into());
    let moved = format!("# above\n{edited}");
    let again = intake_with(&files, &MemoryTree::of([("src/calc.py", moved)]), &first.memory);
    assert_eq!(again.workable[0].finding.line_start, Some(3));
    assert!(!again.workable[0].anchor.as_ref().unwrap().stale);
    first.memory.retain(|kept| *kept != fingerprint);
    assert_eq!(first.memory, Memory::default());
}

#[test]
fn cited_lines_survive_being_written_down() {
    let cited = Cited::lines(CALC, 1, 2);
    assert_eq!(cited.len(), 2);
    let written = serde_json::to_value(&cited).unwrap();
    assert_eq!(serde_json::from_value::<Cited>(written).unwrap(), cited);
    assert!(serde_json::from_value::<Cited>(json!("abcd")).is_err());
    assert!(serde_json::from_value::<Cited>(json!("no digits here!!")).is_err());
    assert_eq!(Cited::lines(CALC, 2, 3), Cited::lines(CALC, 2, 2), "blank lines at the ends are not cited");
    assert!(Cited::lines(CALC, 3, 3).is_empty());
    assert!(Cited::lines(CALC, 90, 95).is_empty());
}
