//! Every reachable state of the loop, against the rules.

use std::collections::BTreeSet;

use super::super::super::explore::Explored;
use super::super::super::vocabulary::*;
use super::super::super::walking;
use super::super::{Rereview, RereviewInput, world};
use super::rules::Watcher;

/// Answers of workers, checks and people alone: what the first walk covers in every state (failing actions, a crash, a
/// cancel) is left out.
fn calm(machine: &Rereview) -> Vec<(u64, Event)> {
    let mut events = unattended(machine);
    events.retain(|(_, event)| !matches!(event, Event::Answered { by: AnsweredBy::Automatic, .. }));
    events
}

/// The same, with the answers that `--answer recommended` gives.
fn unattended(machine: &Rereview) -> Vec<(u64, Event)> {
    walking::undisturbed(world::events(machine))
}

fn walk(input: RereviewInput, events: fn(&Rereview) -> Vec<(u64, Event)>) -> Explored {
    let begin = (Rereview::new(input.clone()), Watcher::new(&input));
    let key = |machine: &Rereview, watcher: &Watcher| format!("{} | {}", world::key(machine), watcher.key());
    walking::complete(begin, events, key, Watcher::see)
}

/// Automatic answers have a walk of their own: they count, and each count is a state.
#[test]
fn every_reachable_state_keeps_the_rules() {
    let explored = walk(RereviewInput { has_final_gate: false, ..world::input() }, world::attended);
    assert!(explored.states > 1000, "{explored:?}");
}

#[test]
fn every_reachable_state_keeps_the_rules_in_every_setting() {
    let base = world::input();
    let settings = [
        base.clone(),
        RereviewInput { has_diagnoser: false, has_final_gate: false, ..base.clone() },
        RereviewInput { has_final_gate: false, has_diagnoser: false, simplify: true, ..base.clone() },
        RereviewInput { verdict: Some(GateWord::Blocked), has_final_gate: false, ..base.clone() },
        RereviewInput { scope: BTreeSet::new(), has_final_gate: false, has_diagnoser: false, ..base.clone() },
        RereviewInput {
            budget: Budget { workers: 3, minutes: 0, cost_usd: None },
            has_final_gate: false,
            ..base.clone()
        },
        RereviewInput {
            ladder_len: 3,
            has_final_gate: false,
            inherited: Inherited { raises: 2, attempts: vec![earlier_attempt()], ..Inherited::default() },
            ..base
        },
    ];
    for input in settings {
        walk(input, calm);
    }
}

#[test]
fn automatic_answers_keep_the_rules_too() {
    let input = RereviewInput { has_final_gate: false, has_diagnoser: false, ..world::input() };
    walk(input, unattended);
}

fn earlier_attempt() -> Attempt {
    Attempt {
        round: 1,
        worker: WorkerId(1),
        summary: "tried".to_owned(),
        files_changed: vec![world::FILE.to_owned()],
        outcome: "FIX-FIRST".to_owned(),
        failing: Vec::new(),
    }
}

#[test]
fn the_graph_names_every_state() {
    let graph = world::graph().mermaid();
    for state in [
        "looking first",
        "fixing",
        "staging",
        "checking",
        "reviewing",
        "final gate",
        "diagnosing",
        "waiting: appeal",
        "waiting: model raise",
        "waiting: clarification",
        "waiting: repair",
        "waiting: inconclusive",
        "waiting: breach",
        "waiting: conflict",
        "finished",
    ] {
        assert!(graph.contains(state), "{state} is not in\n{graph}");
    }
}
