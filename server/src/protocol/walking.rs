//! Walks that the tests of several protocols make: over every reachable state, and in random orders.
//!
//! Must never know a protocol: the machine, its watcher and what can happen come from the caller.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::explore::{Explored, Limits, explore};
use super::{Event, Machine, Step};

/// Judges one event with the steps that it led to.
pub(super) type See<W> = fn(&mut W, &Event, &[Step]) -> Result<(), String>;

/// Only what workers, checks and people say: no failing action, no crash, no cancel.
pub(super) fn undisturbed(mut events: Vec<(u64, Event)>) -> Vec<(u64, Event)> {
    events.retain(|(_, event)| {
        !matches!(event, Event::ActionFailed { .. } | Event::Interrupted { .. } | Event::Cancelled)
    });
    events
}

/// Every state that can be reached from `start`, each transition seen by the watcher.
pub(super) fn complete<M: Machine + Clone, W: Clone>(
    (start, watcher): (M, W),
    events: fn(&M) -> Vec<(u64, Event)>,
    key: fn(&M, &W) -> String,
    see: See<W>,
) -> Explored {
    let explored = explore(
        start,
        watcher,
        events,
        |machine, watcher| Some(key(machine, watcher)),
        |watcher, seen| see(watcher, seen.event, seen.steps),
        Limits { states: 60_000, depth: 1000 },
    );
    match explored {
        Ok(explored) => {
            assert!(!explored.cut, "a limit kept states from being looked at: {explored:?}");
            explored
        }
        Err(broken) => panic!("{broken}"),
    }
}

/// Random orders: answers that fit, answers that come late, twice, or for something that was never asked. A late one
/// changes nothing, no rule breaks, and folding the same events gives the same state.
pub(super) fn random_orders<M: Machine, W>(
    begin: impl Fn() -> (M, W),
    events: fn(&M) -> Vec<(u64, Event)>,
    see: See<W>,
) {
    let config =
        Config { cases: 64, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() };
    let choices = prop::collection::vec(any::<u16>(), 1..120);
    TestRunner::new(config)
        .run(&choices, |choices| {
            random_order(&begin, events, see, &choices);
            Ok(())
        })
        .unwrap();
}

fn random_order<M: Machine, W>(
    begin: &impl Fn() -> (M, W),
    events: fn(&M) -> Vec<(u64, Event)>,
    see: See<W>,
    choices: &[u16],
) {
    let (mut machine, mut watcher) = begin();
    let mut said: Vec<(u64, Event)> = Vec::new();
    for (at, choice) in choices.iter().enumerate() {
        let fitting = events(&machine);
        let choice = usize::from(*choice);
        // Every third event is one from before: late, or said twice.
        let is_late = choice.is_multiple_of(3) && !said.is_empty();
        let event = match (is_late, fitting.is_empty()) {
            (true, _) => said[choice / 3 % said.len()].1.clone(),
            (false, true) => Event::Started,
            (false, false) => fitting[choice / 3 % fitting.len()].1.clone(),
        };
        if event == Event::Cancelled && choice % 7 > 0 {
            continue;
        }
        let now = at as u64 * 500;
        let before = machine.view();
        let steps = machine.handle(now, event.clone());
        if is_late && event != Event::Cancelled {
            let still_open = matches!(&event, Event::Answered { question, .. }
                if before.open_question.as_ref().is_some_and(|open| open.number == *question));
            assert!(
                still_open || (steps.is_empty() && machine.view() == before),
                "a late {event:?} changed something"
            );
        }
        if let Err(rule) = see(&mut watcher, &event, &steps) {
            panic!("{rule}: {said:?} then {event:?}");
        }
        let view = machine.view();
        assert!(
            !view.outstanding.is_empty() || view.finished.is_some() || said.is_empty(),
            "nothing is awaited: {said:?}"
        );
        said.push((now, event));
    }
    let (mut folded, _) = begin();
    for (now, event) in said {
        folded.handle(now, event);
    }
    assert_eq!(folded.view(), machine.view());
}
