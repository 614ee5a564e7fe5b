//! The rules can be broken: histories with one lie in them, each caught by the rule that it breaks.

use super::{
    enumeration::input,
    rules::Onlooker,
    telling::{
        Reply, Story, breaches, check, checks, checks_break, fixes, judges, judges_and_writes, needs,
        only_says, persists, proven, silent, verdict, weakens,
    },
};
use crate::protocol::{
    Action, ActionId, Choice, EndedHow, Ending, Event, FindingKey, FixerStatus, Grade, Judging, Machine,
    Record, RestorePoint, Role, Settled, Step, View, WorkerId,
    bounded::{Bounded, BoundedInput},
};

/// What the last transition of an honest history is turned into.
type Lie = fn(&mut Vec<Step>, &mut View);

/// Shows an honest history to the onlooker, its last transition doctored.
fn shown(input: &BoundedInput, events: &[Event], lie: Lie) -> Result<(), String> {
    let mut machine = Bounded::new(input.clone());
    let mut onlooker = Onlooker::new(input);
    for (i, event) in events.iter().enumerate() {
        let before = machine.view();
        let mut steps = machine.handle(i as u64, event.clone());
        let mut after = machine.view();
        if i + 1 == events.len() {
            lie(&mut steps, &mut after);
        }
        onlooker.see(i as u64, event, &steps, &before, &after)?;
    }
    Ok(())
}

fn resolve(grade: Grade) -> Action {
    let how = Settled::Resolved { grade, why: "so it says".into(), round: 1 };
    Action::Record(Record::Settled { key: FindingKey("one".into()), how })
}

/// Puts an action before the last one, with the numbers in order.
fn slip_in(steps: &mut Vec<Step>, action: Action) {
    let last = steps.pop().expect("there is a last step");
    steps.push(Step { id: last.id, action });
    steps.push(Step { id: ActionId(last.id.0 + 1), action: last.action });
}

fn dispatch(steps: &mut [Step]) -> &mut crate::protocol::Dispatch {
    let last = steps.last_mut().map(|step| &mut step.action);
    let Some(Action::Dispatch(dispatch)) = last else { panic!("the last step is a dispatch") };
    dispatch
}

#[test]
fn each_rule_catches_the_history_that_breaks_it() {
    let ended = [fixes(&["src/a.rs"], "t1"), checks(vec![check("one", proven())])];
    let fixing: [Reply; 0] = [];
    let persisting = [fixes(&["src/a.rs"], "t1"), checks(vec![check("one", persists())])];
    let verifying = [fixes(&["src/a.rs"], "t1"), checks(vec![check("one", silent())])];
    let round_2_begins = [only_says(FixerStatus::Fixed)];
    let escalated = [only_says(FixerStatus::Fixed), only_says(FixerStatus::Fixed)];
    let broke = [fixes(&["src/a.rs"], "t1"), checks_break(vec![check("one", proven())], "other")];
    let persists_twice = [
        fixes(&["src/a.rs"], "t1"),
        checks(vec![check("one", persists())]),
        fixes(&["src/a.rs"], "t2"),
        checks(vec![check("one", persists())]),
        judges(vec![verdict("one", Judging::Gone)]),
    ];
    let deferred = [only_says(FixerStatus::Fixed), only_says(FixerStatus::Fixed), Reply::Says(Choice::Defer)];
    let failed = [Reply::Fails(crate::protocol::FailureClass::Service)];
    let cancelled = [fixes(&["src/a.rs"], "t1"), Reply::Cancel];
    let interrupted = [Reply::Interrupted];
    let breach = [breaches("t1")];
    let circle = [fixes(&["src/a.rs"], "start")];
    let weakened = [weakens(&["src/a.rs"], "t1"), checks(vec![check("one", proven())])];
    let wrote = [
        fixes(&["src/a.rs"], "t1"),
        checks(vec![check("one", silent())]),
        judges_and_writes(vec![verdict("one", Judging::Gone)]),
    ];
    let first_request = [needs(&["b.rs"])];
    let third_request = [
        needs(&["b.rs"]),
        Reply::Says(Choice::ApproveScope),
        needs(&["c.rs"]),
        Reply::Says(Choice::RejectScope),
        needs(&["d.rs"]),
    ];
    let different = [
        only_says(FixerStatus::Fixed),
        only_says(FixerStatus::Fixed),
        Reply::Says(Choice::TryDifferentApproach),
    ];
    let one = input(&["one"]);

    // The rule, the honest history, how many of its last events are left out, and the lie.
    let table: &[(&str, &[Reply], usize, Lie)] = &[
        ("evidence: nothing is resolved", &verifying, 0, |steps, _| slip_in(steps, resolve(Grade::Verified))),
        ("evidence: nothing is resolved", &ended, 0, |steps, _| {
            steps[1].action = resolve(Grade::Accepted);
        }),
        ("evidence: nothing is resolved", &fixing, 0, |steps, _| slip_in(steps, resolve(Grade::Proven))),
        ("evidence: a broken thing", &persists_twice, 0, |steps, _| slip_in(steps, resolve(Grade::Verified))),
        ("regressions: are gone", &broke, 0, |steps, _| slip_in(steps, resolve(Grade::Proven))),
        ("workers: every dispatch is a new", &round_2_begins, 0, |steps, _| {
            dispatch(steps).worker = WorkerId(1)
        }),
        ("cap: at most two rounds", &round_2_begins, 0, |steps, _| dispatch(steps).round = 3),
        ("cap: a round has one fix", &persisting, 0, |steps, _| dispatch(steps).round = 1),
        ("cap: the round never goes back", &persisting, 1, |_, view| view.round = 0),
        ("scope: only what was given", &fixing, 0, |steps, _| {
            dispatch(steps).scope.insert("other.rs".into());
        }),
        ("readers: no path", &verifying, 0, |steps, _| {
            dispatch(steps).scope.insert("src/a.rs".into());
        }),
        ("verifier: round 1 is a first look", &verifying, 0, |steps, _| {
            dispatch(steps).focus = crate::protocol::Focus::Ordinary;
        }),
        ("brief: a worker is always asked", &fixing, 0, |steps, _| dispatch(steps).findings.clear()),
        ("checkpoint: one stands before every", &interrupted, 1, |steps, _| {
            let mut again = Story::tell(&input(&["one"]), &[]).steps.pop().expect("dispatches");
            dispatch(std::slice::from_mut(&mut again)).worker = WorkerId(2);
            steps[0].action = again.action;
        }),
        ("checkpoint: one stands before checks", &ended, 2, |steps, _| {
            let findings = vec![FindingKey("one".into())];
            steps[0].action = Action::RunChecks { when: crate::protocol::When::After, findings };
        }),
        ("breach: nothing is begun", &breach, 1, |steps, _| steps[0].action = Action::Stage),
        ("breach: the first answer", &breach, 1, |steps, _| {
            steps[0].action = Action::Restore { to: RestorePoint::Start };
        }),
        ("circle: a tree already seen", &circle, 1, |steps, _| {
            let id = steps[0].id;
            *steps = vec![Step { id, action: Action::Stage }];
        }),
        ("weakened: the user has the word", &weakened, 0, |steps, _| slip_in(steps, resolve(Grade::Proven))),
        ("readers: what they changed is undone", &wrote, 1, |steps, _| steps[0].action = Action::Checkpoint),
        ("scope: at most two questions", &third_request, 1, |steps, view| {
            *steps = Story::tell(&input(&["one"]), &[needs(&["d.rs"])]).steps.split_off(3);
            let Some(Action::Ask(question)) = steps.last_mut().map(|step| &mut step.action) else {
                panic!("asks")
            };
            question.number = crate::protocol::QuestionNumber(3);
            steps[0].id = ActionId(10);
            view.round = 1;
        }),
        ("scope: nothing is staged before", &first_request, 0, |steps, view| {
            steps[0].action = Action::Stage;
            view.open_question = None;
        }),
        ("cap: a new loop only where", &different, 0, |steps, _| {
            for step in steps.iter_mut() {
                if matches!(step.action, Action::Record(Record::Inherit(_))) {
                    step.action = Action::Record(Record::Note("go on".into()));
                }
            }
        }),
        ("awaited: one action at a time", &escalated, 0, |steps, _| slip_in(steps, Action::Checkpoint)),
        ("awaited: a loop that has not ended", &fixing, 0, |_, view| view.outstanding.clear()),
        ("numbers: actions", &fixing, 0, |steps, _| steps[0].id = ActionId(9)),
        ("questions: the recommended", &escalated, 0, |steps, _| {
            let Some(Action::Ask(question)) = steps.last_mut().map(|step| &mut step.action) else {
                panic!("asks")
            };
            question.options.swap(0, 1);
        }),
        ("questions: offer what", &escalated, 0, |steps, _| {
            let Some(Action::Ask(question)) = steps.last_mut().map(|step| &mut step.action) else {
                panic!("asks")
            };
            question.options.pop();
        }),
        ("inconclusive: what a failed worker did", &failed, 1, |steps, _| {
            steps[0].action = Action::Checkpoint;
        }),
        ("cancel: restores the start", &cancelled, 1, |steps, _| {
            steps[0].action = Action::Restore { to: RestorePoint::BeforeWorker };
        }),
        ("cancel: nothing is begun", &cancelled, 1, |steps, _| steps[0].action = Action::Stage),
        ("cancel: ends as cancelled", &cancelled, 0, |steps, _| {
            let Some(Action::Finish(ending)) = steps.last_mut().map(|step| &mut step.action) else {
                panic!("ends")
            };
            ending.how = EndedHow::Done;
        }),
        ("finished: nothing follows", &ended, 0, |steps, _| {
            let id = ActionId(steps.last().expect("ends").id.0 + 1);
            steps.push(Step { id, action: Action::Record(Record::Note("more".into())) });
        }),
        ("finished: every finding has an end", &ended, 0, |steps, _| {
            for step in steps.iter_mut() {
                if matches!(step.action, Action::Record(Record::Settled { .. })) {
                    step.action = Action::Record(Record::Note("resolved, surely".into()));
                }
            }
        }),
        ("cap: a new loop only where", &ended, 0, |steps, _| {
            let Some(Action::Finish(ending)) = steps.last_mut().map(|step| &mut step.action) else {
                panic!("ends")
            };
            ending.follow_up.push(FindingKey("one".into()));
        }),
        ("defer: restores", &deferred, 1, |steps, _| {
            let id = steps[0].id;
            let how = Settled::Deferred { reason: "later".into() };
            let settled = Action::Record(Record::Settled { key: FindingKey("one".into()), how });
            let ending =
                Ending { how: EndedHow::Done, reason: "later".into(), follow_up: Vec::new(), block: None };
            *steps = vec![
                Step { id, action: settled },
                Step { id: ActionId(id.0 + 1), action: Action::Finish(ending) },
            ];
        }),
        ("no-op: fails at once", &round_2_begins, 1, |steps, view| {
            let last = steps.last_mut().expect("goes on");
            last.action = Action::Checkpoint;
            view.round = 1;
        }),
        ("no-op: nothing to stage", &round_2_begins, 1, |steps, _| {
            let last = steps.last_mut().expect("goes on");
            last.action = Action::Stage;
        }),
        ("view: it counts the workers", &fixing, 0, |_, view| view.workers_used = 7),
        ("view: the question is open", &escalated, 0, |_, view| view.open_question = None),
    ];
    for (rule, replies, without, lie) in table {
        let mut events = Story::tell(&one, replies).events;
        events.truncate(events.len() - without);
        assert_eq!(shown(&one, &events, |_, _| {}), Ok(()), "{rule}: the history is honest");
        let caught = shown(&one, &events, *lie).expect_err(rule);
        assert!(caught.starts_with(rule), "{rule} is broken, but what is said is: {caught}");
    }
}

#[test]
fn a_fixer_that_judges_itself_is_caught() {
    let one = input(&["one"]);
    let events =
        Story::tell(&one, &[fixes(&["src/a.rs"], "t1"), checks(vec![check("one", silent())])]).events;
    let lie: Lie = |steps, _| dispatch(steps).worker = WorkerId(1);
    assert!(shown(&one, &events, lie).unwrap_err().starts_with("workers: every dispatch is a new worker"));
    let mut without = one.clone();
    without.has_verifier = false;
    let events = Story::tell(&without, &[only_says(FixerStatus::Fixed)]).events;
    let lie: Lie = |steps, _| {
        dispatch(steps).role = Role::Verifier;
        dispatch(steps).scope.clear();
    };
    assert!(shown(&without, &events, lie).unwrap_err().starts_with("verifier: only where there is one"));
}
