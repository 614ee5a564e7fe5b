//! Every reachable state, against every rule.

use std::collections::BTreeSet;

use super::rules::Onlooker;
use crate::protocol::{
    Budget, FindingKey, Severity, Subject,
    bounded::{
        AlwaysAllowed, Bounded, BoundedInput, EvidenceNeeded, LoopKind,
        world::{ALLOWED, World, events, shape},
    },
    explore::{Broken, Explored, Limits, explore},
};

pub fn input(findings: &[&str]) -> BoundedInput {
    let subject = |key: &&str| Subject {
        key: FindingKey((*key).into()),
        severity: Severity::P1,
        files: BTreeSet::from(["src/a.rs".to_owned()]),
    };
    let mut input = BoundedInput::fix(findings.iter().map(subject).collect());
    input.budget = Budget { workers: 0, minutes: 0, cost_usd: None };
    input.always_allowed = AlwaysAllowed(vec![ALLOWED.into()]);
    input
}

fn walk(input: &BoundedInput, world: World, limits: Limits, merged: bool) -> Result<Explored, Broken> {
    explore(
        Bounded::new(input.clone()),
        Onlooker::new(input),
        |machine| events(machine, world),
        |machine, onlooker| merged.then(|| (shape(machine), onlooker.shape())),
        |onlooker, seen| {
            use crate::protocol::Machine;
            onlooker.see(seen.now, seen.event, seen.steps, &seen.before.view(), &seen.after.view())
        },
        limits,
    )
}

#[track_caller]
fn holds(name: &str, input: &BoundedInput, world: World) {
    let limits = Limits { states: 100_000, depth: usize::MAX };
    let explored =
        walk(input, world, limits, true).unwrap_or_else(|broken| panic!("{name}, {world:?}: {broken}"));
    println!("{name}, {world:?}: {explored:?}");
    assert!(!explored.cut, "{name}, {world:?} is too large to be walked: {explored:?}");
    assert!(explored.finished > 0, "{name}, {world:?} never ends: {explored:?}");
}

#[test]
fn every_state_of_one_finding_keeps_every_rule() {
    let one = input(&["one"]);
    let with = |change: &dyn Fn(&mut BoundedInput)| {
        let mut input = one.clone();
        change(&mut input);
        input
    };
    let [scope, failures, judgements, lies] = World::EACH;
    let table = [
        ("defaults", one.clone(), World::EACH.to_vec()),
        (
            "touched is enough",
            with(&|input| input.evidence_needed = EvidenceNeeded::Touched),
            vec![judgements],
        ),
        ("no verifier", with(&|input| input.has_verifier = false), vec![judgements, failures]),
        ("no second round", with(&|input| input.second_round = false), World::EACH.to_vec()),
        ("a diagnoser", with(&|input| input.diagnose = true), vec![lies]),
        (
            "a diagnoser after the only round",
            with(&|input| (input.diagnose, input.second_round) = (true, false)),
            vec![failures],
        ),
        ("weakened tests are only told", with(&|input| input.weakened_tests_are_asked = false), vec![lies]),
        (
            "no file is named",
            with(&|input| {
                input.scope.clear();
                input.subjects[0].files.clear();
            }),
            vec![scope],
        ),
        ("two workers", with(&|input| input.budget.workers = 2), vec![failures]),
        ("nine minutes", with(&|input| input.budget.minutes = 9), vec![World::ORDINARY]),
        ("two dollars", with(&|input| input.budget.cost_usd = Some(2.0)), vec![judgements]),
        (
            "the user's own fix",
            with(&|input| input.kind = LoopKind::Verify),
            vec![failures, judgements, lies],
        ),
    ];
    for (name, input, worlds) in table {
        for world in worlds {
            holds(name, &input, world);
        }
    }
}

#[test]
fn every_state_of_two_findings_keeps_every_rule() {
    let two = input(&["one", "two"]);
    let judgements = World { judgements: true, ..World::ORDINARY };
    holds("two findings", &two, judgements);
    let mut alone = two.clone();
    alone.has_verifier = false;
    holds("two findings without a verifier", &alone, judgements);
}

#[test]
fn every_history_of_an_ordinary_day_keeps_every_rule() {
    let limits = Limits { states: 40_000, depth: 15 };
    let explored =
        walk(&input(&["one"]), World::ORDINARY, limits, false).unwrap_or_else(|broken| panic!("{broken}"));
    println!("{explored:?}");
    assert!(explored.deepest >= 14, "{explored:?}");
    assert!(explored.finished > 50, "{explored:?}");
}
