//! What workers claim, and what git, the validation and the ledger make of it.

use super::super::super::Machine;
use super::super::super::vocabulary::*;
use super::super::{Converge, parse_gate, world};
use super::telling::Say::*;
use super::telling::*;

#[test]
fn what_git_contradicts_is_undone_and_paused() {
    type Lie = fn(&Converge) -> Inspected;
    let lies: [(&str, Lie); 4] = [
        ("not clean", |machine| Inspected { clean: false, ..world::inspected(machine) }),
        ("the head is", |machine| Inspected { head: "other".into(), ..world::inspected(machine) }),
        ("not on the loop's branch", |machine| Inspected { on_branch: false, ..world::inspected(machine) }),
        ("not an ancestor", |machine| Inspected { base_is_ancestor: false, ..world::inspected(machine) }),
    ];
    for (words, lie) in lies {
        let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(lie)]);
        assert_eq!(run.machine.view().state, "paused: decision");
        assert!(run.question().detail.contains(words), "{}", run.question().detail);
        assert!(run.has(&Action::Restore { to: RestorePoint::BeforeWorker }), "{words}");
        assert_eq!(parse_gate(&run.question().detail).expect("a gate").final_head, world::START, "{words}");
    }
    // A footer that names no head is no claim that holds.
    let footer = Box::new(world::footer("fix", None));
    let run = tell(attached(&["f1"]), &[Check(&[]), CommitsAs(footer, Changes::default())]);
    assert!(run.question().detail.contains("names no head"));
}

#[test]
fn a_fix_without_a_commit_is_no_progress() {
    let nothing: fn(&Converge) -> Inspected = |machine| Inspected {
        new_commits: Vec::new(),
        head: world::commit(machine),
        ..world::inspected(machine)
    };
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(nothing)]);
    assert_eq!(run.roles(), "checker, fixer 1, recoverer 2");
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(nothing), Commits, Inspects(nothing)]);
    assert_eq!(run.machine.view().state, "paused: decision");
}

#[test]
fn a_tree_seen_before_is_oscillation() {
    let back: fn(&Converge) -> Inspected =
        |machine| Inspected { tree: TreeId(world::START.into()), ..world::inspected(machine) };
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(back)]);
    assert_eq!(run.machine.view().state, "paused: decision");
    assert!(run.question().text.contains("oscillation"));
}

#[test]
fn a_red_validation_counts_unless_it_was_red_before() {
    let red_now: fn(&Converge) -> Inspected = |machine| Inspected {
        validation: Some(world::validation(ValidationOutcome::Fail)),
        new_failures: vec!["test_new".into()],
        ..world::inspected(machine)
    };
    // Everything is closed, and still the fix broke something.
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(red_now), Closes(0)]);
    assert_eq!(run.roles(), "checker, fixer 1, closer, recoverer 2");
    assert_eq!(run.dispatches().last().expect("a recoverer").previous[0].failing, ["test_new"]);
    let run =
        tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(red_now), Closes(0), Commits, Closes(0)]);
    assert_eq!(run.ending().how, EndedHow::Pass);

    // No list of failures, but it passed at the base.
    let red_untold: fn(&Converge) -> Inspected = |machine| Inspected {
        validation: Some(world::validation(ValidationOutcome::Fail)),
        ..world::inspected(machine)
    };
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(red_untold), Closes(0)]);
    assert_eq!(run.roles(), "checker, fixer 1, closer, recoverer 2");

    let red_base = Prepares(Box::new(world::prepared(true, ValidationOutcome::Fail)));
    let run = tell(attached(&["f1"]), &[red_base, Check(&[]), Commits, Closes(0)]);
    assert_eq!(run.ending().how, EndedHow::Pass);
    assert!(run.block().contains("Validation: `make check` FAIL, as at the base"), "{}", run.block());
}

#[test]
fn a_validation_that_could_not_run_is_run_again_and_nothing_else() {
    let not_run: fn(&Converge) -> Inspected = |machine| Inspected {
        validation: Some(world::validation(ValidationOutcome::NotRun)),
        ..world::inspected(machine)
    };
    let again: fn(&Converge) -> Inspected =
        |machine| Inspected { head: "commit1".into(), new_commits: Vec::new(), ..world::inspected(machine) };
    let start = [Check(&[]), Commits, Inspects(not_run)];
    let run = tell(attached(&["f1"]), &start);
    assert_eq!(run.machine.view().state, "paused: transient");
    let run = tell(attached(&["f1"]), &after(start, &[user(Choice::ResumeLoop), Inspects(again), Closes(0)]));
    assert_eq!(run.roles(), "checker, fixer 1, closer");
    assert_eq!(run.gate().final_head, "commit1");
}

#[test]
fn an_unfinished_check_is_never_a_dispute() {
    let root = |id: &str, confirmed: bool, from: &str, evidence: &str| RootCause {
        id: id.into(),
        confirmed,
        from: vec![FindingKey(from.into())],
        root_cause: "why".into(),
        evidence: evidence.into(),
    };
    let table = [
        ("1 of 2 findings were not judged", vec![root("spec-1", false, "f1", "seen")]),
        (
            "disputed without evidence",
            vec![root("spec-1", false, "f1", " "), root("spec-2", true, "f2", "seen")],
        ),
        (
            "not an id of its own",
            vec![root("spec-1", true, "f1", "seen"), root("spec-1", true, "f2", "seen")],
        ),
        ("not an id of its own", vec![root("first", true, "f1", "seen"), root("spec-1", true, "f2", "seen")]),
        ("2 of 2 findings were not judged", vec![root("spec-1", true, "invented", "seen")]),
    ];
    for (words, roots) in table {
        let report = Report::Consolidated { roots, footer: world::footer("check", None) };
        let run = tell(attached(&["f1", "f2"]), &[Says(Box::new(report), Changes::default())]);
        assert_eq!(run.machine.view().state, "paused: transient", "{words}");
        assert!(run.question().detail.contains(words), "{words}: {}", run.question().detail);
    }
}

#[test]
fn what_the_closer_leaves_unsaid_is_open() {
    let close = |states: Vec<(&str, RootState, &str)>| {
        let states =
            states.into_iter().map(|(id, state, evidence)| (id.into(), state, evidence.into())).collect();
        let report = Report::Closed { states, regressions: Vec::new(), footer: world::footer("close", None) };
        tell(attached(&["f1", "f2"]), &[Check(&[]), Commits, Says(Box::new(report), Changes::default())])
    };
    let resolved = ("standards-1", RootState::Resolved, "seen");
    let open = |run: &Run| run.machine.roots().iter().filter(|root| root.is_open()).count();
    assert_eq!(open(&close(vec![resolved])), 1);
    assert_eq!(open(&close(vec![resolved, ("standards-2", RootState::Resolved, " ")])), 1);
    let both_ways = ("standards-1", RootState::Open, "no");
    assert_eq!(open(&close(vec![resolved, both_ways, ("standards-2", RootState::Resolved, "seen")])), 1);
    // Nothing judged at all is no result.
    let run = close(vec![("spec-7", RootState::Resolved, "seen")]);
    assert_eq!(run.machine.view().state, "paused: transient");
}

#[test]
fn a_resolved_root_cause_can_open_again() {
    let reopened = Report::Closed {
        states: vec![
            ("standards-1".into(), RootState::Open, "back".into()),
            ("standards-2".into(), RootState::Open, "still".into()),
            ("standards-3".into(), RootState::Open, "still".into()),
        ],
        regressions: Vec::new(),
        footer: world::footer("close", None),
    };
    let run = tell(
        attached(&["f1", "f2", "f3"]),
        &[Check(&[]), Commits, Closes(2), Commits, Says(Box::new(reopened), Changes::default())],
    );
    assert_eq!(run.roles(), "checker, fixer 1, closer, fixer 2, closer, recoverer 3");
    assert_eq!(run.dispatches().last().expect("a recoverer").findings.len(), 3);
}

#[test]
fn regressions_are_findings_of_their_own_and_counted_once() {
    let run = tell(attached(&["f1", "f2"]), &[Check(&[]), Commits, Regression]);
    let regression = run.machine.roots().last().expect("a regression");
    assert_eq!((regression.id.as_str(), regression.is_regression), ("standards-9", true));
    assert_eq!(regression.from, [FindingKey("caused".into())]);
    // Two root causes became one: a new best, and the fixer is told of the regression alone.
    assert_eq!(run.dispatches().last().expect("a fixer").findings, [FindingKey("caused".into())]);

    // The same one, told without an id of its own.
    let told = Report::Closed {
        states: vec![
            ("standards-1".into(), RootState::Resolved, "seen".into()),
            ("a new crash".into(), RootState::ConfirmedFixRegression, "seen".into()),
        ],
        regressions: vec![("a new crash".into(), world::finding("caused"))],
        footer: world::footer("close", None),
    };
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Says(Box::new(told), Changes::default())]);
    let ids: Vec<&str> = run.machine.roots().iter().map(|root| root.id.as_str()).collect();
    assert_eq!(ids, ["standards-1", "regression-1"]);
}
