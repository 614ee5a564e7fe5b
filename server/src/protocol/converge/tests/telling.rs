//! Telling a run as a list of answers.

use super::super::super::Machine;
use super::super::super::vocabulary::*;
use super::super::{Converge, ConvergeInput, Gate, Source, parse_gate, world};
use super::rules::Watcher;

/// The next answer in a story. Checkpoints and restores answer themselves, and an inspection or a preparation that the
/// story does not tell is a good one.
#[derive(Clone)]
pub(super) enum Say {
    Prepares(Box<Prepared>),
    /// What the reviewers of both axes name, in the order in which they end.
    Reviews(Axis, &'static [&'static str]),
    Check(&'static [usize]),
    Commits,
    /// The same, while the user's own checkout changes.
    Trespasses,
    CommitsAs(Box<Footer>, Changes),
    Says(Box<Report>, Changes),
    Inspects(fn(&Converge) -> Inspected),
    /// This many of the confirmed root causes are open.
    Closes(usize),
    Regression,
    Fails(FailureClass),
    Interrupted,
    ActionFails,
    Answer(Choice, AnsweredBy, Option<&'static str>),
    Cancel,
}
use Say::*;

pub(super) fn user(choice: Choice) -> Say {
    Answer(choice, AnsweredBy::User, None)
}

pub(super) fn automatic(choice: Choice) -> Say {
    Answer(choice, AnsweredBy::Automatic, None)
}

pub(super) type Trace = Vec<(Event, Vec<Step>)>;

pub(super) struct Run {
    pub(super) machine: Converge,
    pub(super) trace: Trace,
}

impl Run {
    pub(super) fn steps(&self) -> impl Iterator<Item = &Step> {
        self.trace.iter().flat_map(|(_, steps)| steps)
    }

    pub(super) fn dispatches(&self) -> Vec<&Dispatch> {
        self.steps()
            .filter_map(|step| match &step.action {
                Action::Dispatch(dispatch) => Some(dispatch),
                _ => None,
            })
            .collect()
    }

    pub(super) fn roles(&self) -> String {
        let words = self.dispatches().into_iter().map(|dispatch| match (dispatch.role, &dispatch.focus) {
            (Role::Reviewer, Focus::Axis(Axis::Standards)) => "standards".to_owned(),
            (Role::Reviewer, _) => "spec".to_owned(),
            (Role::Checker, _) => "checker".to_owned(),
            (Role::Fixer, _) => format!("fixer {}", dispatch.round),
            (Role::Recoverer, _) => format!("recoverer {}", dispatch.round),
            _ => "closer".to_owned(),
        });
        words.collect::<Vec<_>>().join(", ")
    }

    pub(super) fn ending(&self) -> Ending {
        self.machine.view().finished.expect("the loop has ended")
    }

    pub(super) fn block(&self) -> String {
        self.ending().block.expect("a report")
    }

    pub(super) fn gate(&self) -> Gate {
        parse_gate(&self.block()).expect("a whole gate")
    }

    pub(super) fn question(&self) -> Question {
        self.machine.view().open_question.expect("a question")
    }

    pub(super) fn has(&self, action: &Action) -> bool {
        self.steps().any(|step| step.action == *action)
    }
}

pub(super) fn tell(input: ConvergeInput, says: &[Say]) -> Run {
    let mut watcher = Watcher::new(&input);
    let mut run = Run { machine: Converge::new(input), trace: Vec::new() };
    let mut says = says.iter().cloned().peekable();
    let mut now = 0;
    let mut push = |run: &mut Run, event: Event| {
        now += 1000;
        let steps = run.machine.handle(now, event.clone());
        if let Err(rule) = watcher.see(&event, &steps) {
            panic!("{rule}, after {event:?}: {steps:?}");
        }
        run.trace.push((event, steps));
    };
    push(&mut run, Event::Started);
    loop {
        let outstanding = run.machine.view().outstanding;
        let Some(first) = outstanding.first().cloned() else { break };
        let event = match (&first.action, says.peek()) {
            (Action::Dispatch(_) | Action::Ask(_), Some(Cancel)) => {
                says.next();
                Event::Cancelled
            }
            (
                Action::Prepare
                | Action::Checkpoint
                | Action::Restore { .. }
                | Action::PutBackCheckout
                | Action::Inspect { .. },
                Some(ActionFails),
            ) => {
                says.next();
                Event::ActionFailed { action: first.id, reason: "the disk is full".into() }
            }
            (Action::Prepare, Some(Prepares(_))) | (Action::Inspect { .. }, Some(Inspects(_))) => {
                answer(&run.machine, &first, says.next().expect("peeked"))
            }
            (Action::Dispatch(_) | Action::Ask(_), None) => break,
            (Action::Dispatch(_), Some(Reviews(axis, _))) => {
                let reviews = |step: &&Step| matches!(&step.action, Action::Dispatch(d) if d.focus == Focus::Axis(*axis));
                let step = outstanding.iter().find(reviews).expect("that axis is reviewed").clone();
                answer(&run.machine, &step, says.next().expect("peeked"))
            }
            (Action::Dispatch(_) | Action::Ask(_), Some(_)) => {
                answer(&run.machine, &first, says.next().expect("peeked"))
            }
            _ => by_itself(&run.machine, &first),
        };
        push(&mut run, event);
    }
    assert!(says.peek().is_none(), "the story says more than the loop asked for: {}", run.roles());
    run
}

pub(super) fn by_itself(machine: &Converge, step: &Step) -> Event {
    let action = step.id;
    match &step.action {
        Action::Prepare => {
            Event::Prepared { action, prepared: world::prepared(true, ValidationOutcome::Pass) }
        }
        Action::Checkpoint => Event::Checkpointed { action, tree: TreeId(world::START.to_owned()) },
        Action::Restore { .. } | Action::PutBackCheckout => {
            Event::Restored { action, left_alone: Vec::new() }
        }
        Action::Inspect { .. } => Event::Inspected { action, inspected: world::inspected(machine) },
        other => panic!("{other:?} does not answer itself"),
    }
}

pub(super) fn answer(machine: &Converge, step: &Step, say: Say) -> Event {
    let action = step.id;
    let clean = Changes::default;
    let committed = |footer| Report::Committed { footer, summary: "fixed it".to_owned() };
    match say {
        Prepares(prepared) => Event::Prepared { action, prepared: *prepared },
        Reviews(axis, keys) => world::reported(action, world::axis_review(axis, keys), clean()),
        Check(disputed) => world::reported(action, world::consolidation(machine, disputed), clean()),
        Commits => {
            let footer = world::footer("fix", Some(world::commit(machine)));
            world::reported(action, committed(footer), world::edits(world::FILE))
        }
        Trespasses => {
            let footer = world::footer("fix", Some(world::commit(machine)));
            let changes = Changes { checkout: Some(world::checkout()), ..world::edits(world::FILE) };
            world::reported(action, committed(footer), changes)
        }
        CommitsAs(footer, changes) => world::reported(action, committed(*footer), changes),
        Says(report, changes) => world::reported(action, *report, changes),
        Inspects(inspection) => Event::Inspected { action, inspected: inspection(machine) },
        Closes(open) => world::reported(action, world::closing(machine, open), clean()),
        Regression => world::reported(action, world::regression(machine), clean()),
        Fails(class) => world::failure(action, class),
        Interrupted => Event::Interrupted { action },
        Answer(choice, by, text) => {
            let Action::Ask(question) = &step.action else { panic!("nothing is asked: {step:?}") };
            Event::Answered { question: question.number, choice, by, text: text.map(str::to_owned) }
        }
        ActionFails | Cancel => panic!("this answers no dispatch and no question: {step:?}"),
    }
}

pub(super) fn attached(keys: &[&str]) -> ConvergeInput {
    let source = Source::Attached(keys.iter().map(|key| world::finding(key)).collect());
    ConvergeInput { source, ..world::input() }
}

pub(super) fn both(standards: &'static [&'static str], spec: &'static [&'static str]) -> [Say; 2] {
    [Reviews(Axis::Standards, standards), Reviews(Axis::Spec, spec)]
}

pub(super) fn no_spec() -> Say {
    Prepares(Box::new(world::prepared(false, ValidationOutcome::Pass)))
}

pub(super) fn after(first: impl IntoIterator<Item = Say>, then: &[Say]) -> Vec<Say> {
    first.into_iter().chain(then.iter().cloned()).collect()
}
