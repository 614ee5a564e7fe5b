//! Whole runs: who is dispatched, what is asked, and what is said at the end.

use super::super::super::vocabulary::*;
use super::super::super::{Machine, Standing};
use super::super::{Converge, ConvergeInput, Gate, Verdict, parse_gate, world};
use super::telling::Say::*;
use super::telling::*;

#[test]
fn who_is_dispatched_and_how_it_ends() {
    let two = || attached(&["f1", "f2"]);
    let resume = || user(Choice::ResumeLoop);
    let table: Vec<(&str, ConvergeInput, Vec<Say>, &str, EndedHow)> = vec![
        ("no finding on both axes", world::input(), both(&[], &[]).into(), "standards, spec", EndedHow::Pass),
        (
            "fixed at once",
            world::input(),
            after(both(&["f1"], &["f2"]), &[Check(&[]), Commits, Closes(0)]),
            "standards, spec, checker, fixer 1, closer",
            EndedHow::Pass,
        ),
        (
            "all disputed",
            world::input(),
            after(both(&["f1"], &[]), &[Check(&[0])]),
            "standards, spec, checker",
            EndedHow::Pass,
        ),
        (
            "the spec ends first",
            world::input(),
            vec![Reviews(Axis::Spec, &["f2"]), Reviews(Axis::Standards, &[]), Check(&[]), Commits, Closes(0)],
            "standards, spec, checker, fixer 1, closer",
            EndedHow::Pass,
        ),
        (
            "standards only, approved",
            world::input(),
            vec![no_spec(), user(Choice::Yes), Reviews(Axis::Standards, &[])],
            "standards",
            EndedHow::PassStandardsOnly,
        ),
        (
            "attached findings skip the review",
            two(),
            vec![Check(&[]), Commits, Closes(0)],
            "checker, fixer 1, closer",
            EndedHow::Pass,
        ),
        (
            "attached findings without a spec",
            two(),
            vec![no_spec(), Check(&[]), Commits, Closes(0)],
            "checker, fixer 1, closer",
            EndedHow::PassStandardsOnly,
        ),
        ("nothing attached", attached(&[]), vec![], "", EndedHow::Pass),
        (
            "the burden falls step by step",
            attached(&["f1", "f2", "f3"]),
            vec![Check(&[]), Commits, Closes(2), Commits, Closes(1), Commits, Closes(0)],
            "checker, fixer 1, closer, fixer 2, closer, fixer 3, closer",
            EndedHow::Pass,
        ),
        (
            "a plateau has one recovery, and a new best another",
            attached(&["f1", "f2", "f3"]),
            vec![Check(&[]), Commits, Closes(3), Commits, Closes(2), Commits, Closes(2), Commits, Closes(0)],
            "checker, fixer 1, closer, recoverer 2, closer, fixer 3, closer, recoverer 4, closer",
            EndedHow::Pass,
        ),
        (
            "a regression counts: no new best, so a recovery",
            attached(&["f1"]),
            vec![Check(&[]), Commits, Regression, Commits, Closes(0)],
            "checker, fixer 1, closer, recoverer 2, closer",
            EndedHow::Pass,
        ),
        (
            "a crash repeats its round",
            two(),
            vec![Interrupted, Check(&[]), Interrupted, Commits, Interrupted, Closes(0)],
            "checker, checker, fixer 1, fixer 1, closer, closer",
            EndedHow::Pass,
        ),
        (
            "no footer pauses and is resumed in its round",
            two(),
            vec![Check(&[]), Fails(FailureClass::NoReport), resume(), Commits, Closes(0)],
            "checker, fixer 1, fixer 1, closer",
            EndedHow::Pass,
        ),
        (
            "already resolved, and the closer agrees",
            two(),
            vec![
                Check(&[]),
                Says(Box::new(world::fixer(FixerStatus::AlreadyResolved)), Changes::default()),
                Closes(0),
            ],
            "checker, fixer 1, closer",
            EndedHow::Pass,
        ),
        (
            "staying paused ends it",
            two(),
            vec![Fails(FailureClass::Account), user(Choice::StayPaused)],
            "checker",
            EndedHow::Blocked,
        ),
        ("cancelled", two(), vec![Check(&[]), Cancel], "checker, fixer 1", EndedHow::Cancelled),
    ];
    for (name, input, says, roles, how) in table {
        let run = tell(input, &says);
        assert_eq!(run.roles(), roles, "{name}");
        assert_eq!(run.ending().how, how, "{name}: {:?}", run.ending());
    }
}

#[test]
fn a_recovery_that_stays_at_the_best_pauses_for_a_decision() {
    let says = [Check(&[]), Commits, Closes(2), Commits, Closes(2)];
    let run = tell(attached(&["f1", "f2"]), &says);
    assert_eq!(run.machine.view().state, "paused: decision");
    let question = run.question();
    assert!(question.text.contains("burden (2)"), "{}", question.text);
    let gate = parse_gate(&question.detail).expect("the gate as it stands");
    assert_eq!((gate.verdict, gate.open_confirmed_findings), (Verdict::Paused, 2));
    assert_eq!((gate.review_base.as_str(), gate.final_head.as_str()), (world::BASE, "commit2"));

    // Nobody but the user goes on from here, with one more recovery and no new review.
    let run = tell(
        attached(&["f1", "f2"]),
        &after(says.clone(), &[automatic(Choice::ResumeLoop), automatic(Choice::StayPaused)]),
    );
    assert_eq!(run.machine.view().state, "paused: decision");
    let run = tell(
        attached(&["f1", "f2"]),
        &after(says, &[user(Choice::ResumeLoop), Commits, Closes(1), Commits, Closes(0)]),
    );
    assert_eq!(run.ending().how, EndedHow::Pass);
    assert!(
        run.roles().ends_with("recoverer 2, closer, recoverer 3, closer, fixer 4, closer"),
        "{}",
        run.roles()
    );
}

#[test]
fn the_review_runs_once_whatever_happens_to_its_reviewers() {
    use Axis::*;
    // One axis fails, the other is kept.
    let run = tell(
        world::input(),
        &[
            Reviews(Spec, &["f2"]),
            Fails(FailureClass::Service),
            user(Choice::ResumeLoop),
            Reviews(Standards, &[]),
        ],
    );
    assert_eq!(run.roles(), "standards, spec, standards, checker");
    // Both are interrupted by a restart, and both dispatched again, together.
    let run = tell(world::input(), &[Interrupted, Interrupted]);
    assert_eq!(
        (run.roles().as_str(), run.machine.view().outstanding.len()),
        ("standards, spec, standards, spec", 2)
    );
    // After the check nothing is reviewed again, not even after a pause.
    let says = after(
        both(&["f1"], &[]),
        &[Check(&[]), Fails(FailureClass::Agent), user(Choice::ResumeLoop), Commits, Closes(1)],
    );
    let run = tell(world::input(), &says);
    assert_eq!(run.roles(), "standards, spec, checker, fixer 1, fixer 1, closer, recoverer 2");
}

#[test]
fn nothing_else_runs_while_an_axis_is_still_out() {
    let run = tell(world::input(), &[Fails(FailureClass::Service)]);
    assert_eq!(run.machine.view().state, "reviewing");
    assert_eq!(run.machine.view().outstanding.len(), 1);
    let run = tell(world::input(), &[Reviews(Axis::Standards, &["f1"])]);
    assert_eq!(run.roles(), "standards, spec");
}

#[test]
fn the_final_report_says_everything_and_ends_in_the_gate() {
    let run = tell(attached(&["f1", "f2"]), &[Check(&[1]), Commits, Closes(0)]);
    assert_eq!(
        run.block(),
        "Environment: managed worktree worktrees/1, removed at the end\n\
         Branch: fix-loop/1\n\
         Review: skipped: the findings were attached\n\
         Workers: 1 checker, 2 fixer, 3 closer\n\
         Fix commits: commit1\n\
         Validation: `make check` PASS\n\
         Dispositions:\n\
         - standards-1: RESOLVED — what the diff shows\n\
         - standards-2: DISPUTED — the cited lines\n\
         Unresolved evidence:\n\
         - none\n\
         \n\
         LOOP_GATE:\n  verdict: PASS\n  review_base: base000\n  final_head: commit1\n  open_confirmed_findings: 0"
    );
    let standing = run.machine.view().findings;
    assert!(matches!(standing[0].1, Standing::Settled(Settled::Resolved { grade: Grade::Verified, .. })));
    assert!(matches!(standing[1].1, Standing::Settled(Settled::Disputed { .. })));
}

#[test]
fn all_disputed_is_a_pass_with_a_disagreement_note() {
    let run = tell(attached(&["f1", "f2"]), &[Check(&[0, 1])]);
    assert_eq!(run.gate().verdict, Verdict::Pass);
    assert!(run.block().contains("\ndisagreement: the review named 2 findings"), "{}", run.block());
    assert!(run.ending().reason.starts_with("disagreement"));
}

#[test]
fn a_pause_before_anything_was_prepared_still_has_a_gate() {
    let run = tell(world::input(), &[ActionFails, user(Choice::StayPaused)]);
    let unknown = Gate {
        verdict: Verdict::Paused,
        review_base: "unknown".into(),
        final_head: "unknown".into(),
        open_confirmed_findings: 0,
    };
    assert_eq!(run.gate(), unknown);
}

#[test]
fn without_a_spec_the_user_is_asked_and_a_no_pauses() {
    let run = tell(world::input(), &[no_spec()]);
    assert_eq!(run.question().kind, QuestionKind::StandardsOnly);
    assert!(run.dispatches().is_empty());
    let run = tell(world::input(), &[no_spec(), user(Choice::No)]);
    assert_eq!(run.machine.view().state, "paused: decision");
    // Resumed, the spec is looked for again.
    let run = tell(
        world::input(),
        &[no_spec(), user(Choice::No), user(Choice::ResumeLoop), Reviews(Axis::Spec, &[])],
    );
    assert_eq!(run.roles(), "standards, spec");
}

#[test]
fn an_empty_diff_is_nothing_to_review() {
    let mut prepared = world::prepared(true, ValidationOutcome::Pass);
    prepared.head = prepared.review_base.clone();
    let run = tell(world::input(), &[Prepares(Box::new(prepared))]);
    assert!(run.question().text.contains("nothing to review"));
}

#[test]
fn a_changed_checkout_is_asked_about_before_the_result_counts() {
    let start = [Check(&[]), Trespasses];
    let asked = tell(attached(&["f1"]), &start);
    assert_eq!(
        (asked.machine.view().state, asked.question().kind),
        ("waiting: breach", QuestionKind::Breach)
    );
    assert!(asked.question().detail.contains("notes.txt"), "{}", asked.question().detail);
    // It was the user: the commit counts.
    let kept = tell(attached(&["f1"]), &after(start.clone(), &[user(Choice::KeepCheckout), Closes(0)]));
    assert_eq!((kept.roles().as_str(), kept.ending().how), ("checker, fixer 1, closer", EndedHow::Pass));
    assert!(!kept.has(&Action::PutBackCheckout));
    // It was the worker: its commit is void, and another fixer is sent in the same round.
    let back =
        tell(attached(&["f1"]), &after(start.clone(), &[user(Choice::PutBackCheckout), Commits, Closes(0)]));
    assert_eq!(back.roles(), "checker, fixer 1, fixer 1, closer");
    assert!(back.has(&Action::PutBackCheckout));
    assert!(back.has(&Action::Restore { to: RestorePoint::BeforeWorker }));
    // Nobody but a person answers that.
    let open = tell(attached(&["f1"]), &after(start.clone(), &[automatic(Choice::KeepCheckout)]));
    assert_eq!(open.machine.view().state, "waiting: breach");
    let stays = tell(attached(&["f1"]), &after(start.clone(), &[user(Choice::StayPaused)]));
    assert_eq!(stays.gate().verdict, Verdict::Paused);
    // A checkout that cannot be put back is a pause, and is tried again.
    let failing = [user(Choice::PutBackCheckout), ActionFails, user(Choice::ResumeLoop), Commits, Closes(0)];
    let failed = tell(attached(&["f1"]), &after(start.clone(), &failing));
    assert_eq!(failed.ending().how, EndedHow::Pass);
    let cancelled = tell(attached(&["f1"]), &after(start, &[Cancel]));
    assert!(cancelled.has(&Action::Restore { to: RestorePoint::BeforeWorker }), "its commit is taken back");
}

#[test]
fn a_checkout_that_changes_during_the_review_voids_only_the_axis_that_was_out() {
    let trespass = || {
        let changes = Changes { checkout: Some(world::checkout()), ..Changes::default() };
        Says(Box::new(world::axis_review(Axis::Standards, &["f1"])), changes)
    };
    let run = tell(world::input(), &[trespass(), Reviews(Axis::Spec, &[])]);
    assert_eq!(run.machine.view().state, "waiting: breach");
    let kept = tell(
        world::input(),
        &[trespass(), Reviews(Axis::Spec, &[]), user(Choice::KeepCheckout), Check(&[]), Commits, Closes(0)],
    );
    assert_eq!(kept.roles(), "standards, spec, checker, fixer 1, closer");
    let back = tell(
        world::input(),
        &[
            trespass(),
            Reviews(Axis::Spec, &[]),
            user(Choice::PutBackCheckout),
            Reviews(Axis::Standards, &["f1"]),
            Check(&[]),
            Commits,
            Closes(0),
        ],
    );
    assert_eq!(back.roles(), "standards, spec, standards, checker, fixer 1, closer");
}

#[test]
fn a_red_validation_is_a_finding_that_the_next_fixer_is_given() {
    fn red(machine: &Converge) -> Inspected {
        let found = NewFinding { file: Some("src/c.py".into()), ..world::finding("test_new") };
        Inspected {
            validation: Some(world::validation(ValidationOutcome::Fail)),
            new_failures: vec!["test_new".into()],
            regressions: vec![NewFinding { caused_by: Some(FindingKey("f1".into())), ..found }],
            ..world::inspected(machine)
        }
    }
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(red), Closes(0), Commits, Closes(0)]);
    assert_eq!(run.roles(), "checker, fixer 1, closer, recoverer 2, closer");
    let next = run.dispatches()[3].clone();
    assert_eq!(next.findings, [FindingKey("test_new".into())], "an empty brief is never dispatched");
    assert!(next.scope.contains("src/c.py"));
    let settled = run.machine.view().findings;
    assert!(
        settled.iter().all(|(_, standing)| matches!(standing, Standing::Settled(Settled::Resolved { .. }))),
        "{settled:?}"
    );
}

#[test]
fn a_closer_may_call_a_known_root_cause_a_regression_and_it_stays_one() {
    let says = |state| {
        let found = NewFinding { caused_by: Some(FindingKey("f1".into())), ..world::finding("by that id") };
        Says(
            Box::new(Report::Closed {
                states: vec![("standards-1".into(), state, "the fix made it worse".into())],
                regressions: vec![("standards-1".into(), found)],
                footer: world::footer("close", None),
            }),
            Changes::default(),
        )
    };
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, says(RootState::ConfirmedFixRegression)]);
    assert_eq!(run.machine.roots().len(), 1);
    assert_eq!(run.machine.roots()[0].state, RootState::ConfirmedFixRegression);
    assert_eq!(run.machine.findings().len(), 1);
}

#[test]
fn a_closer_that_counts_what_it_does_not_name_is_not_believed() {
    let footer = Footer { open_root_causes: Some(1), ..world::footer("close", None) };
    let states = vec![("standards-1".into(), RootState::Resolved, "seen".into())];
    let report = Report::Closed { states, regressions: Vec::new(), footer };
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Says(Box::new(report), Changes::default())]);
    assert_eq!(run.machine.view().state, "paused: transient");
}
