//! Random histories of a world in which everything goes wrong at once, with late, repeated and foreign events between.

use proptest::{
    prelude::*,
    test_runner::{RngSeed, TestRunner},
};

use super::{enumeration::input, rules::Onlooker};
use crate::protocol::{
    Action, ActionId, AnsweredBy, Event, Machine, QuestionNumber,
    bounded::{
        Bounded, BoundedInput,
        world::{World, events},
    },
};

fn run(cases: u32, input: &BoundedInput, check: impl Fn(&BoundedInput, &[(u8, u8)]) -> Result<(), String>) {
    let mut runner = TestRunner::new(ProptestConfig {
        cases,
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        ..ProptestConfig::default()
    });
    let choices = proptest::collection::vec((any::<u8>(), any::<u8>()), 10..80);
    let outcome = runner.run(&choices, |choices| check(input, &choices).map_err(TestCaseError::fail));
    if let Err(error) = outcome {
        panic!("{error}");
    }
}

/// Cancelling ends too many histories early, so it happens only now and then.
fn pick(machine: &Bounded, choice: u8, rare: u8) -> Option<(u64, Event)> {
    let mut possible = events(machine, World::WHOLE);
    if rare > 8 {
        possible.retain(|(_, event)| *event != Event::Cancelled);
    }
    let which = usize::from(choice) % possible.len().max(1);
    possible.into_iter().nth(which)
}

/// What must not change anything: answers to what is not awaited.
fn stray(machine: &Bounded, past: &[Event], choice: u8) -> Vec<Event> {
    let mut stray = vec![
        Event::Started,
        Event::Staged { action: ActionId(10_000) },
        Event::Interrupted { action: ActionId(0) },
        Event::Answered {
            question: QuestionNumber(10_000),
            choice: crate::protocol::Choice::AcceptWithoutVerification,
            by: AnsweredBy::User,
            text: None,
        },
    ];
    stray.extend(past.get(usize::from(choice) % past.len().max(1)).cloned());
    stray.extend(past.last().cloned());
    // The awaited number with an answer of another kind.
    if let Some(step) = machine.view().outstanding.first() {
        stray.push(match step.action {
            Action::Stage => {
                Event::Checkpointed { action: step.id, tree: crate::protocol::TreeId("x".into()) }
            }
            _ => Event::Staged { action: step.id },
        });
    }
    stray.retain(|event| *event != Event::Cancelled || machine.view().state == "cancelling");
    stray
}

#[test]
fn histories_with_late_and_repeated_events_keep_every_rule() {
    let mut with_little = input(&["one", "two"]);
    with_little.budget.workers = 4;
    with_little.diagnose = true;
    for input in [input(&["one"]), input(&["one", "two"]), with_little] {
        run(48, &input, |input, choices| {
            let mut machine = Bounded::new(input.clone());
            let mut onlooker = Onlooker::new(input);
            let mut past = Vec::new();
            let mut now = 0;
            for (choice, other) in choices {
                let Some((later, event)) = pick(&machine, *choice, *other) else { break };
                now += later;
                let before = machine.view();
                let steps = machine.handle(now, event.clone());
                onlooker.see(now, &event, &steps, &before, &machine.view())?;
                past.push(event);
                for event in stray(&machine, &past, *other) {
                    let before = machine.view();
                    let steps = machine.handle(now, event.clone());
                    if !steps.is_empty() || before != machine.view() {
                        return Err(format!("{event:?} answers nothing, and yet {steps:?}"));
                    }
                }
            }
            Ok(())
        });
    }
}

#[test]
fn the_same_events_at_the_same_times_give_the_same_state() {
    run(32, &input(&["one", "two"]), |input, choices| {
        let mut machine = Bounded::new(input.clone());
        let mut past = Vec::new();
        let mut now = 0;
        for (choice, other) in choices {
            let Some((later, event)) = pick(&machine, *choice, *other) else { break };
            now += later;
            past.push((now, event.clone(), machine.handle(now, event)));
        }
        // The input survives being written down, too: that is how the ledger keeps it.
        let written = serde_json::to_string(input).map_err(|error| error.to_string())?;
        let mut folded = Bounded::new(serde_json::from_str(&written).map_err(|error| error.to_string())?);
        for (now, event, steps) in past {
            let written = serde_json::to_string(&event).map_err(|error| error.to_string())?;
            let event: Event = serde_json::from_str(&written).map_err(|error| error.to_string())?;
            if folded.handle(now, event) != steps {
                return Err("folding gave other actions".into());
            }
        }
        if folded.view() == machine.view() { Ok(()) } else { Err("folding gave another state".into()) }
    });
}
