//! Loops whose driver ended in the middle of something.
//!
//! Owns finding them when a driver starts, noting what programs that outlived it left in the tree, and the answer to the
//! question about each: it goes on, or its bytes are put back. Must never start one by itself, but for `--answer recommended`.

use super::api::{NoticeLevel, Refusal, RefusalKind, Reply};
use super::commands::done;
use super::driver::Driver;
use super::ledger::{Entry, LoopId, Produced};
use super::own_questions::Asked;
use super::restoring;
use super::running::LoopRun;
use super::setup::Answers;
use crate::protocol::{Action, Event, Step};

impl Driver {
    /// At the start of a driver: every loop that an earlier process left in the middle of something. Its workers are ended.
    pub(super) fn find_interrupted(&mut self) {
        for run in self.state.loops.values().filter(|run| run.is_working()) {
            for worker in run.traces.workers.iter().filter(|worker| worker.outcome.is_none()) {
                if let Some(process) = &worker.process {
                    crate::process::end_leftover(process);
                }
            }
        }
        self.record_leftovers();
        self.mark_interrupted();
        if self.setup.answers == Answers::Recommended {
            for id in self.interrupted.clone() {
                self.own_questions.retain(|question| question.r#loop() != Some(id));
                let went = self.resume(id, true);
                let (level, said) = match went {
                    Ok(reply) => (NoticeLevel::Info, reply.message),
                    Err(refusal) => (NoticeLevel::Error, refusal.message),
                };
                self.notice(level, Some(id), said);
            }
        }
    }

    /// Questions that an earlier process left open: one that ended as waiting, or between a question and its answer. The
    /// machine refuses the answers that are a person's to give, and those that were given too often.
    pub(super) fn answer_what_is_open(&mut self) {
        let open: Vec<(LoopId, crate::protocol::Question)> = self
            .state
            .loops
            .values()
            .filter(|run| !self.interrupted.contains(&run.id()))
            .filter_map(|run| Some((run.id(), run.open_question()?.clone())))
            .collect();
        for (id, question) in open {
            match self.may_go_on(id) {
                Ok(()) => self.answer_by_itself(id, &question),
                Err(refusal) => self.notice(NoticeLevel::Error, Some(id), refusal.message),
            }
        }
    }

    /// What the interrupted workers and checks left is the loop's own; what changes from now on is the user's.
    fn record_leftovers(&mut self) {
        let Some(workspace) = self.workspace.clone() else { return };
        let left: Vec<(LoopId, Step)> = self
            .state
            .loops
            .values()
            .filter(|run| run.is_working() && run.writes_in_the_users_tree())
            .filter_map(|run| Some((run.id(), was_at_work(run).into_iter().next()?)))
            .filter(|(id, step)| !self.state.loops[id].left_behind.contains(&step.id))
            .collect();
        for (id, step) in left {
            match restoring::left_behind(&workspace, &self.config, &self.state.loops[&id]) {
                Ok(produced) => {
                    for produced in produced {
                        self.keep(id, step.id, produced);
                    }
                }
                Err(error) => self.notice(NoticeLevel::Error, Some(id), error.to_string()),
            }
        }
    }

    /// The same for a process that only looks, while nobody drives.
    pub(super) fn mark_interrupted(&mut self) {
        let left: Vec<LoopId> =
            self.state.loops.values().filter(|run| run.is_working()).map(|run| run.id()).collect();
        for id in left {
            let run = &self.state.loops[&id];
            let detail = format!(
                "It was {} when the process that drove it ended. Resuming repeats what was under way; restoring puts back \
                 the loop's own bytes and leaves its findings open.",
                run.view.state
            );
            self.interrupted.insert(id);
            if self.setup.resume {
                self.ask_own(Asked::Resume { r#loop: id, detail });
            }
        }
    }

    pub(super) fn resume(&mut self, id: LoopId, go_on: bool) -> Result<Reply, Refusal> {
        self.can_write()?;
        if go_on {
            self.may_go_on(id)?;
        }
        self.answered = Some(id);
        self.interrupted.remove(&id);
        self.write(Entry::Resumed { r#loop: id });
        let run = &self.state.loops[&id];
        let outstanding: Vec<Step> = run
            .view
            .outstanding
            .iter()
            .filter(|step| !matches!(step.action, Action::Ask(_)))
            .cloned()
            .collect();
        let at_work = was_at_work(run);
        let mut undone = String::new();
        if let Some(first) = at_work.first().cloned()
            && let Some(workspace) = self.workspace.clone()
        {
            // Whatever the interrupted worker or check left is set aside as objects before it is undone.
            let run = &self.state.loops[&id];
            let produced = if run.writes_in_the_users_tree() {
                restoring::interrupted(&workspace, &self.config, run)
            } else {
                restoring::interrupted_in_worktree(&workspace, &self.config, run)
            }
            .map_err(|error| Refusal { kind: RefusalKind::Environment, message: error.to_string() })?;
            for produced in produced {
                if let Produced::Note(note) = &produced {
                    undone.push_str("; ");
                    undone.push_str(note);
                }
                self.keep(id, first.id, produced);
            }
        }
        if !go_on {
            self.feed(id, Event::Cancelled);
            return done(format!("loop {id} is restored and ended; its findings are open{undone}"));
        }
        for step in outstanding {
            if matches!(step.action, Action::Dispatch(_)) && at_work.iter().any(|begun| begun.id == step.id) {
                self.feed(id, Event::Interrupted { action: step.id });
            } else {
                self.start_action(id, step);
            }
        }
        done(format!("loop {id} goes on{undone}"))
    }
}

/// What was begun, not ended, and may have written into the tree by programs of others.
fn was_at_work(run: &LoopRun) -> Vec<Step> {
    let writes = |step: &&Step| match step.action {
        Action::Dispatch(_) => true,
        Action::RunChecks { .. } => run.writes_in_the_users_tree(),
        _ => false,
    };
    let outstanding = run.view.outstanding.iter().filter(writes);
    outstanding.filter(|step| run.begun.contains(&step.id)).cloned().collect()
}
