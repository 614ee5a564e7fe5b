//! How an event finds what it answers.
//!
//! Owns the one place where late, repeated and foreign events are told from the awaited answer, and what follows when an
//! action could not be carried out. Decides nothing about a fix.

use std::collections::BTreeSet;

use super::{Bounded, LoopKind, Phase, Retry, Then, TreeFacts, Unsure};
use crate::protocol::{
    Action, ActionId, Changes, Checked, Event, FailureClass, Path, Report, RestorePoint, Role, Spent, TreeId,
    WorkerFailure,
};

/// An event that answered the awaited action.
enum Taken {
    Checkpointed(Then, TreeId),
    Reported(Role, Box<Report>, Changes, Spent),
    WorkerFailed(Role, WorkerFailure, Changes, Spent),
    Interrupted(Role),
    CheckedBefore(Checked, Changes),
    CheckedAfter(Checked, Changes),
    Staged,
    StageRefused(String, bool),
    StagedForUser(Option<String>),
    Restored(RestorePoint, Then, Vec<Path>),
    CancelRestored(Vec<Path>),
    PutBack(BTreeSet<Path>, Changes),
}

impl Bounded {
    /// The awaited action, if this is its number. It is no longer awaited afterwards.
    fn answered(&mut self, action: ActionId) -> Option<Action> {
        let is_awaited = self
            .awaited
            .as_ref()
            .is_some_and(|step| step.id == action && !matches!(step.action, Action::Ask(_)));
        if is_awaited { self.awaited.take().map(|step| step.action) } else { None }
    }

    pub(super) fn take(&mut self, event: Event) {
        match event {
            Event::Started => self.started(),
            Event::Cancelled => self.cancelled(),
            Event::Answered { question, choice, by, text } => self.answer(question, choice, by, text),
            Event::Checkpointed { action, tree } => self.take_for(action, |phase| match phase {
                Phase::Checkpointing(then) => Ok(Taken::Checkpointed(then, tree)),
                other => Err(other),
            }),
            Event::Reported { action, report, changes, spent } => {
                self.take_for(action, |phase| match phase {
                    Phase::Working(role) => Ok(Taken::Reported(role, Box::new(report), changes, spent)),
                    other => Err(other),
                })
            }
            Event::WorkerFailed { action, failure, changes, spent } => {
                self.take_for(action, |phase| match phase {
                    Phase::Working(role) => Ok(Taken::WorkerFailed(role, failure, changes, spent)),
                    other => Err(other),
                })
            }
            Event::Interrupted { action } => self.take_for(action, |phase| match phase {
                Phase::Working(role) => Ok(Taken::Interrupted(role)),
                other => Err(other),
            }),
            Event::Checked { action, checked, changes } => self.take_for(action, |phase| match phase {
                Phase::CheckingBefore => Ok(Taken::CheckedBefore(checked, changes)),
                Phase::CheckingAfter => Ok(Taken::CheckedAfter(checked, changes)),
                other => Err(other),
            }),
            Event::Staged { action } => self.take_for(action, |phase| match phase {
                Phase::Staging => Ok(Taken::Staged),
                Phase::StagingForUser => Ok(Taken::StagedForUser(None)),
                other => Err(other),
            }),
            Event::StageRefused { action, reason, conflict } => self.take_for(action, |phase| match phase {
                Phase::Staging => Ok(Taken::StageRefused(reason, conflict)),
                Phase::StagingForUser => Ok(Taken::StagedForUser(Some(reason))),
                other => Err(other),
            }),
            Event::Restored { action, left_alone } => self.take_for(action, |phase| match phase {
                Phase::Restoring { to, then } => Ok(Taken::Restored(to, then, left_alone)),
                Phase::Cancelling => Ok(Taken::CancelRestored(left_alone)),
                other => Err(other),
            }),
            Event::Changed { action, changes } => self.take_for(action, |phase| match phase {
                Phase::PuttingBack(paths) => Ok(Taken::PutBack(paths, changes)),
                other => Err(other),
            }),
            Event::ActionFailed { action, reason } => {
                if let Some(failed) = self.answered(action) {
                    self.action_failed(failed, reason);
                }
            }
            // `converge` only.
            Event::Prepared { .. } | Event::Inspected { .. } => {}
        }
    }

    /// Takes an event only if it answers the awaited action with the right kind of answer; else nothing changes.
    fn take_for(&mut self, action: ActionId, read: impl FnOnce(Phase) -> Result<Taken, Phase>) {
        if self.awaited.as_ref().is_none_or(|step| step.id != action) {
            return;
        }
        match read(std::mem::replace(&mut self.phase, Phase::New)) {
            Ok(taken) => {
                self.awaited = None;
                self.carry_on(taken);
            }
            Err(phase) => self.phase = phase,
        }
    }

    fn carry_on(&mut self, taken: Taken) {
        match taken {
            Taken::Checkpointed(then, tree) => {
                if !self.protected {
                    self.protected = true;
                    self.seen.push(tree);
                }
                self.fresh = true;
                self.at_checkpoint = self.facts.clone();
                self.go(then);
            }
            Taken::Reported(role, report, changes, spent) => {
                self.cost += spent.cost_usd.unwrap_or(0.0);
                self.worker_reported(role, *report, changes);
            }
            Taken::WorkerFailed(role, failure, changes, spent) => {
                self.cost += spent.cost_usd.unwrap_or(0.0);
                self.worker_failed(role, &failure, &changes);
            }
            Taken::Interrupted(role) => self.dispatch_again(role),
            Taken::CheckedBefore(checked, changes) => self.checked_before(checked, &changes),
            Taken::CheckedAfter(checked, changes) => self.checked_after(checked, &changes),
            Taken::Staged => {
                self.facts.staged = true;
                self.go(Then::Verify);
            }
            Taken::StageRefused(reason, conflict) => self.ask_conflict(&reason, conflict),
            Taken::StagedForUser(refused) => self.end_manual(refused),
            Taken::Restored(to, then, left_alone) => {
                self.facts = match to {
                    RestorePoint::Start => TreeFacts::default(),
                    RestorePoint::LastResolution => self.kept.clone(),
                    RestorePoint::BeforeWorker => self.at_checkpoint.clone(),
                };
                self.note_left_alone(&left_alone);
                if to != RestorePoint::BeforeWorker {
                    self.forget_what_was_undone();
                }
                self.go(then);
            }
            Taken::CancelRestored(left_alone) => {
                self.note_left_alone(&left_alone);
                self.end_cancelled("Cancelled by the user; the tree is as it was before the loop.");
            }
            Taken::PutBack(paths, changes) => self.put_back(paths, changes),
        }
    }

    fn note_left_alone(&mut self, paths: &[Path]) {
        if !paths.is_empty() {
            self.note(format!("Left alone, because they were changed meanwhile: {}.", paths.join(", ")));
        }
    }

    fn started(&mut self) {
        if !matches!(self.phase, Phase::New) {
            return;
        }
        if self.scope.is_empty() && self.input.kind == LoopKind::Fix {
            self.ask_first_scope();
        } else {
            self.go(Then::CheckBefore);
        }
    }

    /// What a worker of this role was doing is begun once more, by a new worker and in the same round.
    fn dispatch_again(&mut self, role: Role) {
        match role {
            Role::Fixer => self.go(Then::Fix),
            Role::Verifier => {
                let findings = self.to_be_judged();
                self.go(Then::Judge(findings));
            }
            _ => self.ask_escalation(),
        }
    }

    /// An action could not be carried out. That is never an outcome of the fix (rule 4).
    fn action_failed(&mut self, action: Action, reason: String) {
        let phase = std::mem::replace(&mut self.phase, Phase::New);
        match (phase, action) {
            (Phase::Cancelling, _) => self.end_cancelled(&format!(
                "Cancelled by the user, but the tree could not be restored: {reason}. Undo the loop once that is settled."
            )),
            (Phase::Restoring { to, then }, _) => self.ask_restore_failed(to, then, &reason),
            (Phase::Staging, _) => self.ask_conflict(&reason, true),
            (Phase::StagingForUser, _) => self.end_manual(Some(reason)),
            (Phase::Working(Role::Diagnoser), _) => self.ask_escalation(),
            (Phase::Working(role), _) => {
                let failure = WorkerFailure {
                    class: FailureClass::Environment,
                    message: reason,
                    advice: String::new(),
                };
                self.worker_failed(role, &failure, &Changes::default());
            }
            (phase, action) => {
                let (what, retry, acceptable) = match &phase {
                    Phase::CheckingAfter => ("The checks could not be run", Retry::Checks, true),
                    Phase::CheckingBefore => {
                        ("The checks could not be run", Retry::Again(Box::new(phase), Box::new(action)), false)
                    }
                    Phase::Checkpointing(_) => (
                        "The state of the tree could not be recorded",
                        Retry::Again(Box::new(phase), Box::new(action)),
                        false,
                    ),
                    _ => (
                        "The approved changes could not be put back",
                        Retry::Again(Box::new(phase), Box::new(action)),
                        false,
                    ),
                };
                let findings = self.unresolved();
                let unsure = Unsure { findings, what: what.into(), detail: reason, acceptable, retry };
                self.ask_inconclusive(unsure);
            }
        }
    }
}
