//! Everything the ledger says, folded.
//!
//! Owns loops, what became of each finding, trust. Must never look at a file or a clock: the same lines give the same
//! state. What is in the findings files now is the inbox's; both meet in `view`.

use std::collections::{BTreeMap, BTreeSet};

use crate::protocol::{FindingKey, Settled, Step};

use super::ledger::{Decision, Entry, Line, LoopId};
use super::running::LoopRun;

/// What became of one finding so far.
#[derive(Clone, Debug, Default)]
pub struct Life {
    /// How the latest loop over it ended for it.
    pub settled: Option<(LoopId, Settled)>,
    /// The user's own latest word, unless a loop settled it later.
    pub decision: Option<Decision>,
    /// *Confirm this finding*: stays true whatever happens later, until it is disputed.
    pub confirmed: bool,
    /// The revision when any of this last changed.
    pub changed: u64,
}

#[derive(Default)]
pub struct State {
    pub loops: BTreeMap<LoopId, LoopRun>,
    pub lives: BTreeMap<String, Life>,
    /// What intake remembers.
    pub memory: crate::findings::Memory,
    pub trusted: BTreeSet<String>,
    pub approved: Vec<Vec<String>>,
    /// Interrupted loops whose resume question has been answered.
    pub resumed: BTreeSet<LoopId>,
    /// Lines applied: the revision that people see.
    pub revision: u64,
}

impl State {
    pub fn fold(lines: Vec<Line>) -> State {
        let mut state = State::default();
        for line in lines {
            state.apply(line);
        }
        state
    }

    /// Takes one line in and gives the actions that follow from it.
    pub fn apply(&mut self, line: Line) -> Vec<Step> {
        self.revision += 1;
        let at = line.at;
        if let Some(id) = of_loop(&line.entry) {
            self.loops.entry(id).and_modify(|run| run.changed = self.revision);
        }
        match line.entry {
            Entry::Seen { memory } => self.memory = *memory,
            Entry::Opened(opened) => {
                let mut run = LoopRun::open(*opened);
                run.changed = self.revision;
                self.loops.insert(run.id(), run);
            }
            Entry::Event { r#loop, event } => return self.event(at, r#loop, *event),
            Entry::Begun { r#loop, action } => {
                if let Some(run) = self.loops.get_mut(&r#loop) {
                    run.begun.insert(action);
                    run.left_behind.remove(&action);
                }
            }
            Entry::Produced { r#loop, action, produced } => {
                if let Some(run) = self.loops.get_mut(&r#loop) {
                    run.produced(at, action, *produced);
                }
            }
            Entry::Decided { fingerprint, decision } => {
                let life = self.lives.entry(fingerprint).or_default();
                life.changed = self.revision;
                match decision {
                    Decision::Confirmed => life.confirmed = true,
                    Decision::Disputed { .. } => life.confirmed = false,
                    Decision::Reopened => life.settled = None,
                    Decision::Deferred { .. } => {}
                }
                life.decision = Some(decision);
            }
            Entry::Undone { r#loop, .. } => {
                if let Some(run) = self.loops.get_mut(&r#loop) {
                    run.undone = true;
                    for key in run.traces.settled.keys() {
                        let life = self.lives.entry(key.0.clone()).or_default();
                        life.changed = self.revision;
                        if life.settled.as_ref().is_some_and(|(by, _)| *by == r#loop) {
                            life.settled = None;
                        }
                    }
                }
            }
            Entry::Trusted { commands } => {
                self.trusted.insert(commands);
            }
            Entry::Approved { command } => self.approved.push(command),
            Entry::Resumed { r#loop } => {
                self.resumed.insert(r#loop);
            }
        }
        Vec::new()
    }

    fn event(&mut self, at: u64, id: LoopId, event: crate::protocol::Event) -> Vec<Step> {
        let Some(run) = self.loops.get_mut(&id) else { return Vec::new() };
        let before = run.traces.settled.clone();
        let steps = run.event(at, event);
        for (FindingKey(key), how) in &run.traces.settled {
            if before.get(&FindingKey(key.clone())) != Some(how) {
                let life = self.lives.entry(key.clone()).or_default();
                life.settled = Some((id, how.clone()));
                life.decision = None;
                life.changed = self.revision;
            }
        }
        steps
    }

    pub fn next_loop(&self) -> LoopId {
        LoopId(self.loops.keys().next_back().map_or(1, |last| last.0 + 1))
    }

    /// The loop that goes on with what another one left, if the user let one.
    pub fn follower(&self, id: LoopId) -> Option<&LoopRun> {
        self.loops.values().find(|run| run.opened.follows == Some(id))
    }

    /// The loop that is queued, working or waiting on this finding.
    pub fn live_loop(&self, fingerprint: &str) -> Option<&LoopRun> {
        self.loops.values().find(|run| !run.is_ended() && run.has(fingerprint))
    }

    pub fn last_loop(&self, fingerprint: &str) -> Option<&LoopRun> {
        self.loops.values().rev().find(|run| {
            run.has(fingerprint) || run.traces.found.iter().any(|found| found.key.0 == fingerprint)
        })
    }
}

fn of_loop(entry: &Entry) -> Option<LoopId> {
    match entry {
        Entry::Event { r#loop, .. }
        | Entry::Begun { r#loop, .. }
        | Entry::Produced { r#loop, .. }
        | Entry::Undone { r#loop, .. }
        | Entry::Resumed { r#loop } => Some(*r#loop),
        Entry::Seen { .. }
        | Entry::Opened(_)
        | Entry::Decided { .. }
        | Entry::Trusted { .. }
        | Entry::Approved { .. } => None,
    }
}
