//! Every reachable state of the loop, against the rules.

use super::super::super::explore::Explored;
use super::super::super::vocabulary::*;
use super::super::super::walking;
use super::super::{Converge, ConvergeInput, Source, world};
use super::rules::Watcher;

/// Answers of workers, checks and people alone: what the first walk covers in every state (failing actions, a crash, a
/// cancel) is left out.
fn calm(machine: &Converge) -> Vec<(u64, Event)> {
    let mut events = unattended(machine);
    events.retain(|(_, event)| !matches!(event, Event::Answered { by: AnsweredBy::Automatic, .. }));
    events
}

/// The same, with the answers that `--answer recommended` gives.
fn unattended(machine: &Converge) -> Vec<(u64, Event)> {
    walking::undisturbed(world::events(machine))
}

fn walk(input: ConvergeInput, events: fn(&Converge) -> Vec<(u64, Event)>) -> Explored {
    let begin = (Converge::new(input.clone()), Watcher::new(&input));
    let key = |machine: &Converge, watcher: &Watcher| format!("{} | {}", world::key(machine), watcher.key());
    walking::complete(begin, events, key, Watcher::see)
}

/// Automatic answers have a walk of their own: they count, and each count is a state.
#[test]
fn every_reachable_state_keeps_the_rules() {
    let explored = walk(world::input(), world::attended);
    assert!(explored.states > 1000 && explored.finished > 3, "{explored:?}");
}

#[test]
fn every_reachable_state_keeps_the_rules_in_every_setting() {
    let attached = |keys: &[&str]| Source::Attached(keys.iter().map(|key| world::finding(key)).collect());
    let nowhere = Source::Attached(vec![NewFinding { file: None, ..world::finding("f1") }]);
    let settings = [
        ConvergeInput { source: attached(&["f1"]), ..world::input() },
        ConvergeInput { source: attached(&[]), ..world::input() },
        ConvergeInput { source: nowhere, ..world::input() },
        ConvergeInput { standards_only: true, ..world::input() },
        ConvergeInput {
            source: attached(&["f1"]),
            budget: Budget { workers: 2, minutes: 0, cost_usd: None },
            ..world::input()
        },
    ];
    for input in settings {
        walk(input, calm);
    }
}

#[test]
fn automatic_answers_keep_the_rules_too() {
    let source = Source::Attached(vec![world::finding("f1")]);
    walk(ConvergeInput { source, ..world::input() }, unattended);
}

#[test]
fn the_graph_names_every_state() {
    let graph = world::graph().mermaid();
    for state in [
        "preparing",
        "waiting: standards only",
        "reviewing",
        "checking findings",
        "fixing",
        "inspecting",
        "closing",
        "recovering",
        "waiting: scope",
        "waiting: breach",
        "putting back",
        "paused: transient",
        "paused: decision",
        "restoring",
        "finished",
    ] {
        assert!(graph.contains(state), "{state} is not in\n{graph}");
    }
}
