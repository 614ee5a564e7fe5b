//! Random orders: answers that fit, answers that come late, twice, or for something that was never asked.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngSeed, TestRunner};

use super::super::super::Machine;
use super::super::super::vocabulary::*;
use super::super::{Rereview, world};
use super::rules::Watcher;

#[test]
fn no_order_of_events_breaks_a_rule() {
    let config =
        Config { cases: 64, rng_seed: RngSeed::Fixed(1), failure_persistence: None, ..Config::default() };
    let choices = prop::collection::vec(any::<u16>(), 1..120);
    TestRunner::new(config)
        .run(&choices, |choices| {
            walk(&choices);
            Ok(())
        })
        .unwrap();
}

fn walk(choices: &[u16]) {
    let input = world::input();
    let mut machine = Rereview::new(input.clone());
    let mut watcher = Watcher::new(&input);
    let mut said: Vec<(u64, Event)> = Vec::new();
    for (at, choice) in choices.iter().enumerate() {
        let fitting = world::events(&machine);
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
        if let Err(rule) = watcher.see(&event, &steps) {
            panic!("{rule}: {said:?} then {event:?}");
        }
        let waits = !machine.view().outstanding.is_empty();
        assert!(
            waits || machine.view().finished.is_some() || said.is_empty(),
            "nothing is awaited: {said:?}"
        );
        said.push((now, event));
    }
    // Folding the same events gives the same state: that is how the ledger brings it back.
    let mut folded = Rereview::new(input);
    for (now, event) in said {
        folded.handle(now, event);
    }
    assert_eq!(folded.view(), machine.view());
}
