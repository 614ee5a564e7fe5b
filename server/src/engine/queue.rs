//! Whose turn it is: which loop may start, and which has to wait for another (DESIGN 7.6).

use std::collections::BTreeSet;

use crate::protocol::{Event, Step};

use super::driver::Driver;
use super::ledger::LoopId;
use super::running::LoopRun;

impl Driver {
    /// Another loop is at work in the user's tree, where one writes at a time (DESIGN 7.6): the guard of each would take
    /// the other's work for its own worker's.
    pub(super) fn must_wait_its_turn(&self, id: LoopId) -> bool {
        let writes = |id: LoopId| self.state.loops.get(&id).is_some_and(|run| run.writes_in_the_users_tree());
        let at_work = |run: &LoopRun| {
            run.is_working() && !self.interrupted.contains(&run.id()) && !self.held.contains_key(&run.id())
        };
        writes(id) && self.state.loops.values().any(|run| run.id() != id && writes(run.id()) && at_work(run))
    }

    /// Starts whatever may start now. In the user's own tree one loop writes at a time (DESIGN 7.6).
    pub(super) fn pump(&mut self) {
        while !self.stopping
            && let Some(id) = self.next_held()
        {
            for step in self.held.remove(&id).unwrap_or_default() {
                self.start_action(id, step);
            }
        }
        if self.lock.is_none() || self.stopping || self.fixing_off.is_some() || !self.setup.starts {
            return;
        }
        while let Some(id) = self.next_to_start() {
            self.feed(id, Event::Started);
        }
    }

    fn next_held(&mut self) -> Option<LoopId> {
        let held: Vec<(LoopId, Vec<Step>)> =
            self.held.iter().map(|(id, steps)| (*id, steps.clone())).collect();
        let mut ready = held.into_iter().filter(|(id, steps)| {
            !self.must_wait_its_turn(*id) && !steps.iter().any(|step| self.waits_with(*id, step))
        });
        ready.next().map(|(id, _)| id)
    }

    fn next_to_start(&mut self) -> Option<LoopId> {
        let writing = self.state.loops.values().any(|run| {
            run.is_working() && run.writes_in_the_users_tree() && !self.interrupted.contains(&run.id())
        });
        let queued: Vec<LoopId> =
            self.state.loops.values().filter(|run| run.is_queued()).map(|run| run.id()).collect();
        if queued.is_empty() {
            return None;
        }
        if !queued.iter().all(|&id| self.may_start(id)) {
            self.ask_for_trust();
        }
        queued.into_iter().filter(|&id| self.may_start(id)).collect::<Vec<_>>().into_iter().find(|&id| {
            let run = &self.state.loops[&id];
            if run.writes_in_the_users_tree() && (writing || self.touches_a_waiting_loop(id)) {
                return false;
            }
            !self.waits_for_approval(id) && !self.waits_for_buffers(id)
        })
    }

    /// Whether a loop that waits for an answer (or was interrupted) has bytes in a path that this one may change.
    fn touches_a_waiting_loop(&self, id: LoopId) -> bool {
        let scope: BTreeSet<&str> = self.state.loops[&id]
            .opened
            .findings
            .iter()
            .flat_map(|finding| finding.finding.file.iter().chain(&finding.finding.related_files))
            .map(String::as_str)
            .collect();
        self.state
            .loops
            .values()
            .filter(|run| {
                run.id() != id && !run.is_queued() && !run.is_ended() && run.writes_in_the_users_tree()
            })
            .any(|run| run.traces.own.paths().any(|path| scope.contains(path.as_str())))
    }
}
