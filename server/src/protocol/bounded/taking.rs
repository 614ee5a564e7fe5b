//! Which answer leads where.
//!
//! Owns what follows each answer that the docket let through, and what follows when an action could not be carried out.
//! Decides nothing about a fix.

use super::{Bounded, LoopKind, Phase, Retry, Then, TreeFacts, Unsure};
use crate::protocol::machine::{Rules, Standing};
use crate::protocol::{
    Action, Ending, Event, FindingKey, Path, RestorePoint, Role, Step, TreeId, docket::Docket,
};

impl Rules for Bounded {
    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn docket_mut(&mut self) -> &mut Docket {
        &mut self.docket
    }

    fn start(&mut self) {
        if self.scope.is_empty() && self.input.kind == LoopKind::Fix {
            self.ask_first_scope();
        } else {
            self.go(Then::CheckBefore);
        }
    }

    fn cancel(&mut self) {
        self.cancelled();
    }

    fn answer(&mut self, step: Step, event: Event) {
        let phase = std::mem::replace(&mut self.phase, Phase::Fresh);
        match (phase, event) {
            (Phase::Checkpointing(then), Event::Checkpointed { tree, .. }) => self.checkpointed(then, tree),
            (Phase::Working(role), Event::Reported { report, changes, spent, .. }) => {
                self.docket.spend(&spent);
                self.worker_reported(role, report, changes);
            }
            (Phase::Working(role), Event::WorkerFailed { failure, changes, spent, .. }) => {
                self.docket.spend(&spent);
                self.worker_failed(role, &failure, &changes);
            }
            (Phase::Working(role), Event::Interrupted { .. }) => self.dispatch_again(role),
            (Phase::CheckingBefore, Event::Checked { checked, changes, .. }) => {
                self.checked_before(checked, &changes);
            }
            (Phase::CheckingAfter, Event::Checked { checked, changes, .. }) => {
                self.checked_after(checked, &changes);
            }
            (Phase::Staging, Event::Staged { .. }) => {
                self.facts.staged = true;
                self.go(Then::Verify);
            }
            (Phase::Staging, Event::StageRefused { reason, conflict, .. }) => {
                self.ask_conflict(&reason, conflict);
            }
            (Phase::StagingForUser, Event::Staged { .. }) => self.end_manual(None),
            (Phase::StagingForUser, Event::StageRefused { reason, .. }) => self.end_manual(Some(reason)),
            (Phase::Restoring { to, then }, Event::Restored { left_alone, .. }) => {
                self.restored(to, then, &left_alone);
            }
            (Phase::Cancelling, Event::Restored { left_alone, .. }) => {
                self.note_left_alone(&left_alone);
                self.end_cancelled("Cancelled by the user; the tree is as it was before the loop.");
            }
            (Phase::PuttingBack(paths), Event::Changed { changes, .. }) => self.put_back(paths, changes),
            (Phase::Asking(asked), Event::Answered { choice, by, text, .. }) => {
                self.phase = Phase::Asking(asked.clone());
                if !self.answered(asked, &step, choice, by, text) {
                    self.docket.put_back(step);
                }
            }
            (phase, Event::ActionFailed { reason, .. }) => self.action_failed(phase, step.action, reason),
            // The docket lets only fitting answers through: an action and its phase are always given out together.
            (phase, _) => {
                self.phase = phase;
                self.docket.put_back(step);
            }
        }
    }

    fn state(&self) -> &'static str {
        self.state_and_standing().0
    }

    fn round(&self) -> u32 {
        self.round
    }

    fn max_rounds(&self) -> u32 {
        self.rounds()
    }

    fn ending(&self) -> Option<&Ending> {
        match &self.phase {
            Phase::Finished(ending) => Some(ending),
            _ => None,
        }
    }

    fn standings(&self) -> Vec<(FindingKey, Standing)> {
        let (_, standing) = self.state_and_standing();
        let of = |settled: Option<_>| settled.map_or(standing.clone(), Standing::Settled);
        self.findings.iter().map(|held| (held.key.clone(), of(held.settled.clone()))).collect()
    }
}

impl Bounded {
    fn checkpointed(&mut self, then: Then, tree: TreeId) {
        if !self.protected {
            self.protected = true;
            self.seen.push(tree);
        }
        self.fresh = true;
        self.at_checkpoint = self.facts.clone();
        self.go(then);
    }

    fn restored(&mut self, to: RestorePoint, then: Then, left_alone: &[Path]) {
        self.facts = match to {
            RestorePoint::Start => TreeFacts::default(),
            RestorePoint::LastResolution => self.kept.clone(),
            RestorePoint::BeforeWorker => self.at_checkpoint.clone(),
        };
        self.note_left_alone(left_alone);
        if to != RestorePoint::BeforeWorker {
            self.forget_what_was_undone();
        }
        self.go(then);
    }

    fn note_left_alone(&mut self, paths: &[Path]) {
        if !paths.is_empty() {
            self.docket
                .note(format!("Left alone, because they were changed meanwhile: {}.", paths.join(", ")));
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
    fn action_failed(&mut self, phase: Phase, action: Action, reason: String) {
        match phase {
            Phase::Cancelling => self.end_cancelled(&format!(
                "Cancelled by the user, but the tree could not be restored: {reason}. Undo the loop once that is settled."
            )),
            Phase::Restoring { to, then } => self.ask_restore_failed(to, then, &reason),
            Phase::Staging => self.ask_conflict(&reason, true),
            Phase::StagingForUser => self.end_manual(Some(reason)),
            phase => {
                let (what, acceptable) = match &phase {
                    Phase::CheckingAfter => ("The checks could not be run", true),
                    Phase::CheckingBefore => ("The checks could not be run", false),
                    Phase::Checkpointing(_) => ("The state of the tree could not be recorded", false),
                    _ => ("The approved changes could not be put back", false),
                };
                let retry = match phase {
                    Phase::CheckingAfter => Retry::Checks,
                    phase => Retry::Again(Box::new(phase), Box::new(action)),
                };
                let findings = self.unresolved();
                self.ask_inconclusive(Unsure { findings, what: what.into(), detail: reason, acceptable, retry });
            }
        }
    }
}
