//! Telling a run as a list of answers.

use super::super::super::Machine;
use super::super::super::vocabulary::*;
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
    WeakensAndFails,
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

    pub(super) fn records(&self) -> Vec<&Record> {
        self.steps()
            .filter_map(|step| match &step.action {
                Action::Record(record) => Some(record),
                _ => None,
            })
            .collect()
    }

    pub(super) fn ending(&self) -> Ending {
        self.machine.view().finished.expect("the loop has ended")
    }

    pub(super) fn block(&self) -> Exhaustion {
        parse_exhaustion(&self.ending().block.expect("a block")).expect("a whole block")
    }

    pub(super) fn question(&self) -> Question {
        self.machine.view().open_question.expect("a question")
    }

    pub(super) fn roles(&self) -> String {
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

pub(super) fn by_itself(step: &Step) -> Event {
    let action = step.id;
    match &step.action {
        Action::Checkpoint => Event::Checkpointed { action, tree: world::tree(world::START) },
        Action::Stage => Event::Staged { action },
        Action::Restore { .. } => Event::Restored { action, left_alone: Vec::new() },
        Action::RunChecks { .. } => world::checked(action, Checked::default(), Changes::default()),
        other => panic!("{other:?} does not answer itself"),
    }
}

pub(super) fn answer(step: &Step, say: Say) -> Event {
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
        Weakens => world::reported(action, world::fixer(FixerStatus::Fixed), weakening(edits)),
        WeakensAndFails => failed(action, weakening(edits)),
        Review(word, gaps, evidence) => world::reported(action, world::gaps(word, gaps, evidence), clean),
        Edited => world::reported(action, world::gaps(GateWord::Ship, &[], "it ran"), edits),
        Diagnose(diagnosis) => world::reported(action, Report::Diagnosis(*diagnosis), clean),
        Fails => failed(action, edits),
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

pub(super) fn look() -> Say {
    diagnosed(Cause::EnvToolFailure, None)
}

fn weakening(edits: Changes) -> Changes {
    let what = "an assert is gone".to_owned();
    Changes { weakened: vec![Weakened { path: "tests/test_a.py".into(), line: Some(3), what }], ..edits }
}

fn failed(action: ActionId, changes: Changes) -> Event {
    let failure =
        WorkerFailure { class: FailureClass::NoReport, message: "no report".into(), advice: String::new() };
    Event::WorkerFailed { action, failure, changes, spent: Spent::default() }
}
