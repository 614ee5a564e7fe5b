//! How a loop stops: escalation, and every ending.
//!
//! Owns what is recorded of each finding at the end. A finding that a tree of this loop resolved stays resolved wherever
//! that tree is what remains; everything else is said plainly.

use super::{Bounded, LoopKind, Phase, Then, asking::weakened_lines, holding::Outcome};
use crate::protocol::{
    Action, EndedHow, Ending, FindingKey, Focus, Inherited, Record, RestorePoint, Role, Settled,
};

impl Bounded {
    /// Asks at once, for a reason that no diagnosis would change.
    pub(super) fn escalate(&mut self, why: String) {
        self.stopped = why;
        if self.input.kind == LoopKind::Verify {
            return self.end_users_fix_persists();
        }
        self.attempted("it was not judged", &[]);
        self.ask_escalation();
    }

    /// Asks after attempts that failed, with the cause where a diagnoser can name it.
    pub(super) fn escalate_after_attempts(&mut self) {
        if self.input.diagnose && !self.diagnosed && self.docket.over_budget(1).is_none() {
            return self.go(Then::Diagnose);
        }
        self.ask_escalation();
    }

    pub(super) fn dispatch_diagnoser(&mut self) {
        self.diagnosed = true;
        if self.docket.over_budget(1).is_some() {
            return self.ask_escalation();
        }
        let mut findings = self.unresolved();
        findings.extend(self.open_regressions());
        self.dispatch(Role::Diagnoser, findings, Focus::Diagnosis, true);
    }

    /// Why the findings still stand, as one text.
    pub(super) fn still_broken(&self, findings: &[FindingKey]) -> String {
        let mut reasons = Vec::new();
        for key in findings {
            let why = match self.outcome_of(key) {
                Some(Outcome::Persists { why, failing }) if failing.is_empty() => why,
                Some(Outcome::Persists { why, failing }) => format!("{why} ({})", failing.join(", ")),
                Some(Outcome::NeedsJudge { why } | Outcome::Inconclusive { why })
                    if self.was_looked_at(key) =>
                {
                    why
                }
                _ => self.stopped.clone(),
            };
            reasons.push(format!("{}: {why}", self.name(key)));
        }
        reasons.join("; ")
    }

    /// Whether check or verifier said anything of the present tree.
    fn was_looked_at(&self, key: &FindingKey) -> bool {
        self.said_of(key).is_some_and(|said| said.check.is_some() || said.judged.is_some())
    }

    fn finish(&mut self, how: EndedHow, reason: &str, follow_up: Vec<FindingKey>) {
        if !self.facts.weakened.is_empty() {
            let lines = weakened_lines(&self.facts.weakened);
            self.docket.note(lines);
        }
        let ending = Ending { how, reason: reason.to_owned(), follow_up, block: None };
        self.phase = Phase::Finished(ending.clone());
        self.docket.give(Action::Finish(ending));
    }

    pub(super) fn finish_done(&mut self, reason: &str) {
        self.finish(EndedHow::Done, reason, Vec::new());
    }

    /// *Manual fix*: the attempt stays in the tree, and is staged where it is not yet.
    pub(super) fn manual_fix(&mut self) {
        let facts = &self.facts;
        if facts.staged || facts.unstaged_by_choice || facts.changed.is_empty() {
            return self.end_manual(None);
        }
        self.fresh = false;
        self.phase = Phase::StagingForUser;
        self.docket.give(Action::Stage);
    }

    pub(super) fn end_manual(&mut self, refused: Option<String>) {
        match refused {
            Some(reason) => self.docket.note(format!("The attempt is in the tree, unstaged: {reason}")),
            None => self.facts.staged |= !self.facts.changed.is_empty() && !self.facts.unstaged_by_choice,
        }
        self.leave_to_user();
        self.finish_done("Left to the user, with what was attempted in the tree.");
    }

    /// Everything whose fix does not hold in the tree that remains becomes the user's.
    fn leave_to_user(&mut self) {
        let moved = self.facts.edit != self.kept.edit;
        let mut left: Vec<FindingKey> = Vec::new();
        for held in &self.findings {
            let holds = held.is_demoted()
                || (held.is_resolved()
                    && (!moved || matches!(held.outcome(&self.input, self.round), Outcome::Resolved { .. })));
            if !holds {
                left.push(held.key.clone());
            }
        }
        if !self.facts.changed.is_empty() {
            left.extend(self.open_regressions());
        }
        for key in left {
            let mut still_broken = self.still_broken(std::slice::from_ref(&key));
            if let Some(cause) = &self.cause_asked {
                still_broken = format!("{still_broken} ({cause})");
            }
            self.settle(&key, Settled::Manual { still_broken });
        }
    }

    /// *Verify my fix* did not bear it out: nothing was changed, and the finding stays the user's.
    pub(super) fn end_users_fix_persists(&mut self) {
        for key in self.unresolved() {
            let still_broken = self.still_broken(std::slice::from_ref(&key));
            self.settle(&key, Settled::Manual { still_broken });
        }
        self.finish_done("The fix was not borne out; the finding stays with the user.");
    }

    pub(super) fn end_deferred(&mut self, reason: &str) {
        for key in self.unresolved() {
            self.settle(&key, Settled::Deferred { reason: reason.to_owned() });
        }
        self.finish_done("Deferred; the tree is as it was after the last resolution.");
    }

    /// *Try a different approach*: a new loop, told everything (rule 1).
    pub(super) fn end_differently(&mut self, hint: Option<String>) {
        let follow_up = self.unresolved();
        self.docket.record(Record::Inherit(Inherited {
            attempts: self.attempts.clone(),
            answers: self.told.clone(),
            raises: self.input.inherited.raises,
            supplied: hint.or_else(|| self.input.inherited.supplied.clone()),
            seen: self.seen.clone(),
        }));
        for key in &follow_up {
            self.settle(key, Settled::Open { why: "A new loop tries a different approach.".into() });
        }
        self.finish(EndedHow::Done, "A new loop tries a different approach.", follow_up);
    }

    pub(super) fn end_open(&mut self, why: String) {
        for key in self.unresolved() {
            self.settle(&key, Settled::Open { why: why.clone() });
        }
        self.finish(EndedHow::Stopped, &why, Vec::new());
    }

    /// Stops with the tree as it is.
    pub(super) fn end_kept(&mut self, why: &str) {
        self.stopped = why.to_owned();
        self.attempted("the loop was stopped", &[]);
        if self.facts.changed.is_empty() {
            return self.end_open(why.to_owned());
        }
        self.leave_to_user();
        self.finish(EndedHow::Stopped, why, Vec::new());
    }

    // ------------------------------------------------------------ cancel

    /// Rule 8. The engine has ended whatever was running; its late answers change nothing.
    pub(super) fn cancelled(&mut self) {
        if matches!(self.phase, Phase::Cancelling) {
            return;
        }
        self.docket.drop_everything();
        self.trying = None;
        if !self.protected {
            return self.end_cancelled("Cancelled by the user before anything was changed.");
        }
        self.fresh = false;
        self.phase = Phase::Cancelling;
        self.docket.give(Action::Restore { to: RestorePoint::Start });
    }

    pub(super) fn end_cancelled(&mut self, reason: &str) {
        let keys: Vec<FindingKey> = self.findings.iter().map(|held| held.key.clone()).collect();
        for key in keys {
            let how = match self.input.kind {
                LoopKind::Fix => Settled::Open { why: reason.to_owned() },
                LoopKind::Verify => Settled::Manual { still_broken: "its verification was cancelled".into() },
            };
            self.settle(&key, how);
        }
        self.facts = Default::default();
        self.finish(EndedHow::Cancelled, reason, Vec::new());
    }
}
