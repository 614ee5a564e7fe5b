//! Whole runs: who is dispatched, what is asked, and what is said at the end.

use super::super::super::vocabulary::*;
use super::super::super::{Machine, Standing};
use super::super::{Rereview, RereviewInput};
use super::telling::Say::*;
use super::telling::*;

#[test]
fn who_is_dispatched_and_how_it_ends() {
    let gate = RereviewInput { has_final_gate: true, ..plain() };
    let blocked = RereviewInput { verdict: Some(GateWord::Blocked), ..with_diagnoser() };
    let shipped = RereviewInput { verdict: Some(GateWord::Ship), subjects: Vec::new(), ..plain() };
    let red = || CheckVerdict::Persists { why: "test_a fails".into(), failing: vec!["test_a".into()] };
    let stop = diagnosed(Cause::OverdesignedPlan, None);
    let done = EndedHow::Done;
    let missing = |needs| diagnosed(Cause::MissingContext, Some(needs));
    let table: Vec<(&str, RereviewInput, Vec<Say>, &str, EndedHow)> = vec![
        ("SHIP in the first loop", plain(), vec![FIXED, SHIP], "fixer 1, reviewer", done),
        (
            "SHIP in the second loop",
            plain(),
            vec![FIXED, first_gap(), FIXED, SHIP],
            "fixer 1, reviewer, fixer 2, reviewer",
            done,
        ),
        (
            "the group is already gone",
            plain(),
            vec![Fix(FixerStatus::AlreadyResolved), SHIP],
            "fixer 1, reviewer",
            done,
        ),
        ("nothing to fix", shipped, vec![], "", done),
        ("a gate agrees", gate, vec![FIXED, SHIP, SHIP], "fixer 1, reviewer, gate", done),
        (
            "never a third",
            plain(),
            vec![FIXED, first_gap(), FIXED, second_gap()],
            "fixer 1, reviewer, fixer 2, reviewer",
            EndedHow::Blocked,
        ),
        (
            "SHIP beside a red check",
            plain(),
            vec![FIXED, Checks(red()), SHIP, FIXED, Checks(red()), SHIP],
            "fixer 1, reviewer, fixer 2, reviewer",
            EndedHow::Blocked,
        ),
        (
            "SHIP beside a CRITICAL gap",
            plain(),
            vec![FIXED, Review(GateWord::Ship, &["bad"], "it ran"), FIXED, SHIP],
            "fixer 1, reviewer, fixer 2, reviewer",
            done,
        ),
        (
            "a fix that changes nothing fails unreviewed",
            plain(),
            vec![Nothing, FIXED, SHIP],
            "fixer 1, fixer 2, reviewer",
            done,
        ),
        ("what was set aside stays aside", plain(), vec![Outside, SHIP], "fixer 1, reviewer", done),
        (
            "a crash repeats its round",
            plain(),
            vec![Interrupted, FIXED, Interrupted, SHIP],
            "fixer 1, fixer 1, reviewer, reviewer",
            done,
        ),
        (
            "an over-designed plan stops unspent",
            with_diagnoser(),
            vec![stop.clone()],
            "first look",
            EndedHow::Blocked,
        ),
        ("BLOCKED is diagnosed, not fixed", blocked, vec![stop], "diagnoser", EndedHow::Blocked),
        (
            "a needed file is blocked, and diagnosed",
            with_diagnoser(),
            vec![look(), Asks, missing("look in src/b.py"), FIXED, SHIP],
            "first look, fixer 1, diagnoser, fixer 2, reviewer",
            done,
        ),
        ("a needed file without a diagnoser ends it", plain(), vec![Asks], "fixer 1", EndedHow::Blocked),
        (
            "the same tree again is diagnosed early",
            with_diagnoser(),
            vec![look(), FixTo("t"), first_gap(), FixTo("t"), missing("x")],
            "first look, fixer 1, reviewer, fixer 2, diagnoser",
            EndedHow::Blocked,
        ),
        ("cancelled in the middle", plain(), vec![FIXED, Cancel], "fixer 1", EndedHow::Failed),
        (
            "a breach ends it",
            plain(),
            vec![Breach, user(Choice::RestoreAndStop)],
            "fixer 1",
            EndedHow::Failed,
        ),
        (
            "an unclear check is asked about",
            plain(),
            vec![
                FIXED,
                Checks(CheckVerdict::Inconclusive { why: "flaky".into() }),
                user(Choice::RetryVerification),
                SHIP,
            ],
            "fixer 1, reviewer",
            done,
        ),
        (
            "a conflict left unstaged goes on",
            plain(),
            vec![FIXED, Conflict, user(Choice::LeaveUnstaged), SHIP],
            "fixer 1, reviewer",
            done,
        ),
    ];
    for (name, input, says, roles, how) in table {
        let told = tell(input, &says);
        assert_eq!(told.roles(), roles, "{name}");
        assert_eq!(told.ending().how, how, "{name}: {:?}", told.ending());
    }
}

#[test]
fn a_reviewer_that_edits_is_undone_and_says_nothing() {
    let told = tell(plain(), &[FIXED, Edited, user(Choice::RetryVerification), SHIP]);
    assert_eq!(told.roles(), "fixer 1, reviewer, reviewer");
    let undone = Action::Restore { to: RestorePoint::BeforeWorker };
    assert!(told.steps().any(|step| step.action == undone));
    assert_eq!(told.ending().how, EndedHow::Done);
}

#[test]
fn what_gave_no_report_is_asked_about_and_costs_no_attempt() {
    let told = tell(plain(), &[Fails, user(Choice::RetryVerification), FIXED, Fails]);
    assert_eq!(told.roles(), "fixer 1, fixer 1, reviewer");
    assert_eq!(
        told.question().options,
        [Choice::RetryVerification, Choice::AcceptWithoutVerification, Choice::RevertAndEscalate]
    );
    // SHIP without evidence is no report either.
    let told = tell(plain(), &[FIXED, Review(GateWord::Ship, &[], " ")]);
    assert_eq!(told.question().kind, QuestionKind::Inconclusive);
}

#[test]
fn automatic_answers_retry_twice_and_accept_nothing() {
    let retry = Answer(Choice::RetryVerification, AnsweredBy::Automatic, None);
    let says = [FIXED, Fails, retry.clone(), Fails, retry.clone(), Fails, retry];
    let told = tell(plain(), &says);
    assert_eq!(told.roles(), "fixer 1, reviewer, reviewer, reviewer");
    assert_eq!(told.question().kind, QuestionKind::Inconclusive);
    let accept = Answer(Choice::AcceptWithoutVerification, AnsweredBy::Automatic, None);
    let told = tell(plain(), &[FIXED, Fails, accept]);
    assert_eq!(told.question().kind, QuestionKind::Inconclusive);
}

#[test]
fn reverting_an_inconclusive_fix_leaves_nothing_of_it() {
    let told = tell(plain(), &[FIXED, Fails, user(Choice::RevertAndEscalate)]);
    assert!(told.steps().any(|step| step.action == Action::Restore { to: RestorePoint::Start }));
    assert_eq!((told.ending().how, told.block().cause), (EndedHow::Blocked, Cause::EnvToolFailure));
    let (_, standing) = &told.machine.view().findings[0];
    assert!(matches!(standing, Standing::Settled(Settled::Open { .. })), "{standing:?}");
}

#[test]
fn a_simplification_is_no_attempt_and_voids_the_review_before() {
    let input = RereviewInput { simplify: true, ..plain() };
    let told = tell(input.clone(), &[FIXED, SHIP]);
    assert_eq!((told.dispatches()[0].focus.clone(), told.machine.view().round), (Focus::Simplify, 0));
    assert_eq!(told.ending().how, EndedHow::Done);
    let told = tell(input, &[FIXED, first_gap(), FIXED, second_gap(), FIXED, SHIP]);
    assert_eq!(told.ending().how, EndedHow::Done);
    assert_eq!(told.machine.view().round, 2);
}

#[test]
fn a_review_that_names_no_gap_is_no_ship() {
    for (verdict, how) in [
        (Some(GateWord::Blocked), EndedHow::Blocked),
        (Some(GateWord::FixFirst), EndedHow::Blocked),
        (Some(GateWord::Ship), EndedHow::Done),
        (None, EndedHow::Done),
    ] {
        let told = tell(RereviewInput { subjects: Vec::new(), verdict, ..plain() }, &[]);
        assert_eq!((told.roles().as_str(), told.ending().how), ("", how), "{verdict:?}");
    }
}

#[test]
fn an_empty_scope_is_asked_for_before_anything_else() {
    let input = RereviewInput { scope: Default::default(), ..plain() };
    let told = tell(input.clone(), &[]);
    assert_eq!((told.question().kind, told.dispatches().len()), (QuestionKind::Scope, 0));
    // Nothing that leaves the root, and nothing that nobody named.
    for text in [None, Some(""), Some("../x"), Some("/etc/passwd"), Some(".git/config"), Some("a\n../b")] {
        let told = tell(input.clone(), &[Answer(Choice::ApproveScope, AnsweredBy::User, text)]);
        assert_eq!(told.question().kind, QuestionKind::Scope, "{text:?}");
    }
    let told = tell(input, &[Answer(Choice::ApproveScope, AnsweredBy::User, Some("src/a.py\nsrc/b.py"))]);
    assert_eq!((told.dispatches()[0].scope.len(), told.dispatches()[0].tier), (2, Tier::CrossFile));
}

#[test]
fn a_spent_budget_ends_it_before_the_next_dispatch() {
    let budget = Budget { workers: 1, minutes: 0, cost_usd: None };
    let told = tell(RereviewInput { budget, ..plain() }, &[FIXED]);
    assert_eq!(told.ending().reason, "the budget of 1 workers is spent");
    let (_, standing) = &told.machine.view().findings[0];
    assert!(matches!(standing, Standing::Settled(Settled::Manual { .. })), "{standing:?}");
    let budget = Budget { workers: 0, minutes: 0, cost_usd: Some(0.15) };
    let told = tell(RereviewInput { budget, ..plain() }, &[FIXED, first_gap()]);
    assert_eq!(told.ending().reason, "the budget of 0.15 USD is spent");
}

#[test]
fn waiting_for_a_person_does_not_use_up_the_minutes() {
    let budget = Budget { workers: 0, minutes: 60, cost_usd: None };
    let mut machine = Rereview::new(RereviewInput { budget, scope: Default::default(), ..plain() });
    machine.handle(0, Event::Started);
    let number = machine.view().open_question.expect("a question").number;
    let days = 72 * 3_600_000;
    machine.handle(
        days,
        Event::Answered {
            question: number,
            choice: Choice::ApproveScope,
            by: AnsweredBy::User,
            text: Some("src/a.py".into()),
        },
    );
    assert_eq!(machine.view().state, "fixing");
    let step = machine.view().outstanding[0].clone();
    machine.handle(days + 3_600_000, by_itself(&step));
    let step = machine.view().outstanding[0].clone();
    machine.handle(days + 3_600_000, by_itself(&step));
    let step = machine.view().outstanding[0].clone();
    machine.handle(days + 3_600_000, answer(&step, Nothing));
    let ending = machine.view().finished.expect("the next round is not begun");
    assert_eq!(ending.reason, "the budget of 60 minutes is spent");
}

#[test]
fn a_weakened_test_is_shown_before_anything_is_resolved() {
    let says = [Weakens, SHIP];
    let told = tell(plain(), &says);
    assert_eq!(told.question().kind, QuestionKind::Breach);
    assert!(told.question().detail.contains("tests/test_a.py:3: an assert is gone"));
    let with = |say: Say| [Weakens, SHIP, say];
    let automatic = Answer(Choice::AcceptTestEdit, AnsweredBy::Automatic, None);
    assert!(tell(plain(), &with(automatic)).machine.view().open_question.is_some());
    let told = tell(plain(), &with(user(Choice::AcceptTestEdit)));
    assert_eq!(told.ending().how, EndedHow::Done);
    assert!(told.ending().reason.contains("an assert is gone"), "{:?}", told.ending());
    let told = tell(plain(), &with(user(Choice::RevertAndEscalate)));
    assert_eq!(told.ending().how, EndedHow::Failed);
    // An edit that is undone with its worker needs no word either.
    let undone = [WeakensAndFails, user(Choice::RetryVerification), Fix(FixerStatus::AlreadyResolved), SHIP];
    assert_eq!(tell(plain(), &undone).ending().how, EndedHow::Done);
    // A second loop that takes the edit back needs no word.
    let told = tell(plain(), &[Weakens, first_gap(), FIXED, SHIP]);
    assert_eq!(told.ending().how, EndedHow::Done);
}

#[test]
fn what_a_check_proved_is_worth_more_than_a_reviewers_word() {
    let proven = CheckVerdict::Supported { grade: Grade::Proven, why: "test_a passes".into() };
    for (checks, grade) in
        [(proven, Grade::Proven), (CheckVerdict::Silent { why: String::new() }, Grade::Verified)]
    {
        let told = tell(plain(), &[FIXED, Checks(checks), SHIP]);
        let (_, standing) = &told.machine.view().findings[0];
        assert!(
            matches!(standing, Standing::Settled(Settled::Resolved { grade: g, round: 1, .. }) if *g == grade)
        );
    }
}

#[test]
fn a_cancel_restores_the_start_and_leaves_everything_open() {
    let told = tell(plain(), &[FIXED, first_gap(), Cancel]);
    assert!(told.steps().any(|step| step.action == Action::Restore { to: RestorePoint::Start }));
    assert_eq!(told.ending().how, EndedHow::Failed);
    for (_, standing) in told.machine.view().findings {
        assert!(matches!(standing, Standing::Settled(Settled::Open { .. })));
    }
}
