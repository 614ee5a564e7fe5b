//! The diagnosis: five causes, each with its own route, raises, clarified specs and appeals.

use super::super::super::vocabulary::*;
use super::super::super::{Machine, Standing, vocabulary};
use super::super::{RereviewInput, parse_exhaustion, world};
use super::telling::Say::*;
use super::telling::*;

#[test]
fn each_cause_takes_its_own_route_while_a_loop_is_left() {
    let blocked = || Review(GateWord::Blocked, &["first"], "it ran");
    let begin = |say: Say| vec![look(), FIXED, blocked(), say];

    let told = tell(with_diagnoser(), &begin(diagnosed(Cause::MissingContext, Some("docs/spec.md"))));
    let retry = told.dispatches().pop().expect("a retry");
    assert_eq!(
        (retry.round, &retry.focus, retry.tier),
        (2, &Focus::Supplied("docs/spec.md".into()), Tier::Scoped)
    );

    let mut says = begin(diagnosed(Cause::AmbiguousSpec, Some("Round up or down?")));
    let told = tell(with_diagnoser(), &says);
    assert_eq!(told.question().kind, QuestionKind::Escalation);
    assert!(told.question().text.contains("Round up or down?"));
    says.push(Answer(Choice::Yes, AnsweredBy::User, Some("down")));
    let told = tell(with_diagnoser(), &says);
    let retry = told.dispatches().pop().expect("a retry");
    assert_eq!(retry.round, 2);
    assert_eq!(
        retry.answers,
        [vocabulary::Told { question: "Round up or down?".into(), choice: "down".into() }]
    );

    let told = tell(with_diagnoser(), &begin(diagnosed(Cause::EnvToolFailure, None)));
    assert_eq!(
        (told.roles().as_str(), told.machine.view().round),
        ("first look, fixer 1, reviewer, diagnoser, fixer 2", 2)
    );
    let told = tell(with_diagnoser(), &begin(diagnosed(Cause::EnvToolFailure, Some("install pytest"))));
    assert_eq!(told.question().kind, QuestionKind::Inconclusive);

    let told = tell(with_diagnoser(), &begin(diagnosed(Cause::OverdesignedPlan, None)));
    assert_eq!((told.ending().how, told.block().cause), (EndedHow::Blocked, Cause::OverdesignedPlan));

    let told = tell(with_diagnoser(), &begin(evidenced()));
    let retry = told.dispatches().pop().expect("a retry");
    assert_eq!((retry.round, retry.tier, &retry.focus), (2, Tier::Raised(1), &Focus::Ordinary));
}

#[test]
fn at_two_of_two_the_route_is_reported_with_the_block() {
    for cause in [Cause::MissingContext, Cause::EnvToolFailure, Cause::OverdesignedPlan] {
        let told = tell(
            with_diagnoser(),
            &[look(), FIXED, first_gap(), FIXED, second_gap(), diagnosed(cause, Some("x"))],
        );
        let block = told.block();
        assert_eq!((block.cause, block.attempts, block.raises, block.new_evidence), (cause, 2, 0, None));
        assert_eq!(block.gaps[0].text, "second");
        assert_eq!(told.ending().reason, format!("{}: the route of {}", cause.words(), cause.words()));
    }
}

#[test]
fn a_raise_needs_real_evidence_that_rules_out_the_other_four() {
    let whole = world::evidenced(Cause::ModelCapacity);
    let mut three = whole.clone();
    three.rules_out.pop();
    let mut empty = whole.clone();
    empty.rules_out[0].1 = "  ".to_owned();
    let claimed = Diagnosis { new_evidence_is_real: false, ..whole.clone() };
    let none = Diagnosis { new_evidence: None, ..whole };
    for diagnosis in [three, empty, claimed, none] {
        let told = tell(
            with_diagnoser(),
            &[
                look(),
                FIXED,
                Review(GateWord::Blocked, &["first"], "it ran"),
                Diagnose(Box::new(diagnosis.clone())),
            ],
        );
        assert_eq!(told.ending().how, EndedHow::Blocked, "{diagnosis:?}");
        assert!(told.dispatches().iter().all(|dispatch| dispatch.tier == Tier::Scoped));
    }
}

#[test]
fn a_raise_beyond_the_loops_or_the_cap_is_a_persons_decision() {
    let spent = [look(), FIXED, first_gap(), FIXED, second_gap(), evidenced()];
    let told = tell(with_diagnoser(), &spent);
    assert_eq!(told.question().kind, QuestionKind::ModelRaise);
    assert!(parse_exhaustion(&told.question().detail).is_some(), "the block is shown before the decision");

    let mut no = spent.to_vec();
    no.push(Answer(Choice::No, AnsweredBy::Automatic, None));
    let told = tell(with_diagnoser(), &no);
    assert_eq!(told.block().new_evidence.as_deref(), Some("a trace that is new"));

    let mut yes = spent.to_vec();
    yes.push(Answer(Choice::Yes, AnsweredBy::User, Some("it is worth it")));
    let told = tell(with_diagnoser(), &yes);
    assert_eq!(told.ending().follow_up.len(), 2);
    let inherited = told
        .records()
        .into_iter()
        .find_map(|record| match record {
            Record::Inherit(inherited) => Some(inherited.clone()),
            _ => None,
        })
        .expect("the next loop is told");
    assert_eq!((inherited.raises, inherited.attempts.len()), (1, 2));
    assert!(told.records().iter().any(|record| matches!(
        record,
        Record::Decision { about, reason, .. } if about == "model raise" && reason == "it is worth it"
    )));

    // The loop that follows begins at the raised setting, without another first look.
    let next = RereviewInput { inherited: inherited.clone(), ..with_diagnoser() };
    let told = tell(next, &[]);
    assert_eq!((told.roles().as_str(), told.dispatches()[0].tier), ("fixer 1", Tier::Raised(1)));

    // Two raises are spent: a third is asked for even while a loop is left.
    let inherited = Inherited { raises: 2, ..inherited };
    let next = RereviewInput { inherited, ladder_len: 3, ..with_diagnoser() };
    let told = tell(next, &[FIXED, Review(GateWord::Blocked, &["first"], "it ran"), evidenced()]);
    assert_eq!(told.question().kind, QuestionKind::ModelRaise);
}

#[test]
fn a_ladder_without_a_further_step_is_reported() {
    let input = RereviewInput { ladder_len: 0, ..with_diagnoser() };
    let told = tell(input, &[look(), FIXED, Review(GateWord::Blocked, &["first"], "it ran"), evidenced()]);
    assert_eq!(told.block().cause, Cause::ModelCapacity);
}

#[test]
fn a_clarified_spec_at_two_of_two_starts_a_new_loop() {
    let says = [
        look(),
        FIXED,
        first_gap(),
        FIXED,
        second_gap(),
        diagnosed(Cause::AmbiguousSpec, Some("Up or down?")),
        Answer(Choice::Yes, AnsweredBy::User, Some("down")),
    ];
    let told = tell(with_diagnoser(), &says);
    assert_eq!(told.ending().how, EndedHow::Blocked);
    assert_eq!(told.ending().follow_up, [FindingKey("f1".into()), FindingKey("f2".into())]);
    assert!(told.records().iter().any(|record| matches!(
        record,
        Record::Inherit(Inherited { answers, supplied: Some(supplied), raises: 0, .. })
            if answers.len() == 1 && supplied.contains("down")
    )));
}

#[test]
fn identical_gaps_twice_are_no_progress() {
    // Lines, case and spacing do not make a gap another one.
    let again = || Review(GateWord::FixFirst, &["First  GAP"], "the same trace");
    let input = || {
        let mut input = with_diagnoser();
        input.subjects.truncate(1);
        input.subjects[0].gap.text = "first gap".to_owned();
        input
    };
    let told = tell(input(), &[look(), FIXED, again()]);
    assert_eq!(told.roles(), "first look, fixer 1, reviewer, diagnoser");
    // Without a diagnoser the reviewer's evidence is what the fixer lacked.
    let told = tell(RereviewInput { has_diagnoser: false, ..input() }, &[FIXED, again(), FIXED, again()]);
    assert_eq!(told.roles(), "fixer 1, reviewer, fixer 2, reviewer");
    assert_eq!(told.dispatches()[2].focus, Focus::Supplied("the same trace".into()));
    assert_eq!((told.block().cause, told.block().attempts), (Cause::MissingContext, 2));
}

#[test]
fn an_appeal_is_resolved_by_a_person_only() {
    let input = || RereviewInput { has_final_gate: true, ..plain() };
    let disagrees = Review(GateWord::FixFirst, &["the gate's gap"], "the gate ran it");
    let mut says = vec![FIXED, SHIP, disagrees.clone()];
    for choice in [Choice::Yes, Choice::No] {
        says.push(Answer(choice, AnsweredBy::Automatic, None));
    }
    let told = tell(input(), &says);
    assert_eq!(told.question().kind, QuestionKind::Appeal);

    let mut upheld = says.clone();
    upheld.push(Answer(Choice::Yes, AnsweredBy::User, Some("the gate is wrong")));
    let told = tell(input(), &upheld);
    assert_eq!(told.ending().how, EndedHow::Done);
    let (_, standing) = &told.machine.view().findings[0];
    assert!(matches!(standing, Standing::Settled(Settled::Resolved { grade: Grade::Accepted, .. })));

    let mut denied = says;
    denied.push(user(Choice::No));
    denied.extend([FIXED, SHIP, disagrees, user(Choice::No)]);
    let told = tell(input(), &denied);
    assert_eq!(told.roles(), "fixer 1, reviewer, gate, fixer 2, reviewer, gate");
    let block = told.block();
    assert_eq!(block.gaps[0].text, "the gate's gap");
    assert!(
        block.appeal.expect("an appeal").contains("resolved by the user: the final gate's verdict stands")
    );
}
