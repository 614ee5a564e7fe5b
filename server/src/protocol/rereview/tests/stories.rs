//! Whole runs, told as lists of answers: what is dispatched, asked and said at the end.

use super::super::super::vocabulary::*;
use super::super::super::{Machine, Standing, vocabulary};
use super::super::{Exhaustion, Rereview, RereviewInput, parse_exhaustion, world};
use super::rules::Watcher;

/// The next answer in a story. Checkpoints, stagings, restores and checks without a word answer themselves.
#[derive(Clone)]
pub(super) enum Say {
    Fix(FixerStatus),
    /// The fixer is done and the tree is called this.
    FixTo(&'static str),
    /// The fixer is done and nothing is changed.
    Nothing,
    Asks,
    Outside,
    Breach,
    Weakens,
    Checks(CheckVerdict),
    Review(GateWord, &'static [&'static str], &'static str),
    Edited,
    Diagnose(Box<Diagnosis>),
    Fails,
    Interrupted,
    Conflict,
    Answer(Choice, AnsweredBy, Option<&'static str>),
    Cancel,
}
use Say::*;

pub(super) const FIXED: Say = Fix(FixerStatus::Fixed);
pub(super) const SHIP: Say = Review(GateWord::Ship, &[], "the pipeline ran");

pub(super) fn first_gap() -> Say {
    Review(GateWord::FixFirst, &["first"], "it ran")
}

pub(super) fn second_gap() -> Say {
    Review(GateWord::FixFirst, &["second"], "it ran")
}

pub(super) fn diagnosed(cause: Cause, needs: Option<&'static str>) -> Say {
    Diagnose(Box::new(world::diagnosis(cause, needs)))
}

pub(super) fn evidenced() -> Say {
    Diagnose(Box::new(world::evidenced(Cause::ModelCapacity)))
}

pub(super) fn user(choice: Choice) -> Say {
    Answer(choice, AnsweredBy::User, None)
}

/// A trace as the ledger would hold it.
pub(super) type Trace = Vec<(Event, Vec<Step>)>;

pub(super) struct Told {
    pub(super) machine: Rereview,
    pub(super) trace: Trace,
}

impl Told {
    pub(super) fn dispatches(&self) -> Vec<&Dispatch> {
        self.steps()
            .filter_map(|step| match &step.action {
                Action::Dispatch(dispatch) => Some(dispatch),
                _ => None,
            })
            .collect()
    }

    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.trace.iter().flat_map(|(_, steps)| steps)
    }

    fn records(&self) -> Vec<&Record> {
        self.steps()
            .filter_map(|step| match &step.action {
                Action::Record(record) => Some(record),
                _ => None,
            })
            .collect()
    }

    fn ending(&self) -> Ending {
        self.machine.view().finished.expect("the loop has ended")
    }

    fn block(&self) -> Exhaustion {
        parse_exhaustion(&self.ending().block.expect("a block")).expect("a whole block")
    }

    fn question(&self) -> Question {
        self.machine.view().open_question.expect("a question")
    }

    fn roles(&self) -> String {
        let words = self.dispatches().into_iter().map(|dispatch| match dispatch.role {
            Role::Fixer => format!("fixer {}", dispatch.round),
            Role::Reviewer => "reviewer".to_owned(),
            Role::FinalGate => "gate".to_owned(),
            Role::Diagnoser if dispatch.focus == Focus::FirstLook => "first look".to_owned(),
            _ => "diagnoser".to_owned(),
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Tells a story to its end, or to where the loop waits for something that the story does not say. Every trace is also
/// judged by the rules.
pub(super) fn tell(input: RereviewInput, says: &[Say]) -> Told {
    let mut watcher = Watcher::new(&input);
    let mut told = Told { machine: Rereview::new(input), trace: Vec::new() };
    let mut says = says.iter().cloned().peekable();
    let mut now = 0;
    let mut push = |told: &mut Told, event: Event| {
        now += 1000;
        let steps = told.machine.handle(now, event.clone());
        if let Err(rule) = watcher.see(&event, &steps) {
            panic!("{rule}, after {event:?}: {steps:?}");
        }
        told.trace.push((event, steps));
    };
    push(&mut told, Event::Started);
    while let Some(step) = told.machine.view().outstanding.first().cloned() {
        let event = match (&step.action, says.peek()) {
            (_, Some(Cancel)) => {
                says.next();
                Event::Cancelled
            }
            (Action::Stage, Some(Conflict)) => {
                says.next();
                Event::StageRefused { action: step.id, reason: "line 7".to_owned(), conflict: true }
            }
            (Action::RunChecks { when: When::After, findings }, Some(Checks(verdict))) => {
                let findings = findings.iter().map(|key| (key.clone(), verdict.clone())).collect();
                says.next();
                world::checked(step.id, Checked { findings, ..Checked::default() }, Changes::default())
            }
            (Action::Dispatch(_) | Action::Ask(_), Some(_)) => answer(&step, says.next().expect("peeked")),
            (Action::Dispatch(_) | Action::Ask(_), None) => break,
            _ => by_itself(&step),
        };
        push(&mut told, event);
    }
    assert!(says.peek().is_none(), "the story says more than the loop asked for: {}", told.roles());
    told
}

fn by_itself(step: &Step) -> Event {
    let action = step.id;
    match &step.action {
        Action::Checkpoint => Event::Checkpointed { action, tree: world::tree(world::START) },
        Action::Stage => Event::Staged { action },
        Action::Restore { .. } => Event::Restored { action, left_alone: Vec::new() },
        Action::RunChecks { .. } => world::checked(action, Checked::default(), Changes::default()),
        other => panic!("{other:?} does not answer itself"),
    }
}

fn answer(step: &Step, say: Say) -> Event {
    let action = step.id;
    let clean = Changes::default();
    let round = match &step.action {
        Action::Dispatch(dispatch) => dispatch.round,
        _ => 0,
    };
    let edits = world::edits(world::FILE, &format!("tree-{round}-{}", action.0));
    match say {
        Fix(status @ (FixerStatus::Fixed | FixerStatus::Blocked)) => {
            world::reported(action, world::fixer(status), edits)
        }
        Fix(status) => world::reported(action, world::fixer(status), clean),
        FixTo(name) => {
            world::reported(action, world::fixer(FixerStatus::Fixed), world::edits(world::FILE, name))
        }
        Nothing => world::reported(action, world::fixer(FixerStatus::Fixed), clean),
        Asks => {
            let request =
                ScopeRequest { files: vec!["src/b.py".into()], justification: "it is there".into() };
            world::reported(action, Report::NeedsScope(request), clean)
        }
        Outside => {
            let changes = Changes { out_of_scope: vec!["src/b.py".into()], ..edits };
            world::reported(action, world::fixer(FixerStatus::Fixed), changes)
        }
        Breach => {
            let changes = Changes { breaches: vec!["HEAD was moved".into()], ..edits };
            world::reported(action, world::fixer(FixerStatus::Fixed), changes)
        }
        Weakens => {
            let what = "an assert is gone".to_owned();
            let weakened = vec![Weakened { path: "tests/test_a.py".into(), line: Some(3), what }];
            world::reported(action, world::fixer(FixerStatus::Fixed), Changes { weakened, ..edits })
        }
        Review(word, gaps, evidence) => world::reported(action, world::gaps(word, gaps, evidence), clean),
        Edited => world::reported(action, world::gaps(GateWord::Ship, &[], "it ran"), edits),
        Diagnose(diagnosis) => world::reported(action, Report::Diagnosis(*diagnosis), clean),
        Fails => Event::WorkerFailed {
            action,
            failure: WorkerFailure {
                class: FailureClass::NoReport,
                message: "no report".into(),
                advice: String::new(),
            },
            changes: edits,
            spent: Spent::default(),
        },
        Interrupted => Event::Interrupted { action },
        Answer(choice, by, text) => {
            let Action::Ask(question) = &step.action else { panic!("nothing is asked: {step:?}") };
            Event::Answered { question: question.number, choice, by, text: text.map(str::to_owned) }
        }
        Checks(_) | Conflict | Cancel => panic!("this answers no dispatch and no question: {step:?}"),
    }
}

pub(super) fn plain() -> RereviewInput {
    RereviewInput { has_final_gate: false, has_diagnoser: false, ..world::input() }
}

pub(super) fn with_diagnoser() -> RereviewInput {
    RereviewInput { has_final_gate: false, ..world::input() }
}

fn look() -> Say {
    diagnosed(Cause::EnvToolFailure, None)
}

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
