//! Whether a fix holds: checks, then a verifier where checks say too little, then the decision.
//!
//! Owns what counts as evidence and when a finding is resolved (rules 2, 3, 7; DESIGN 7.4). Never takes the fixer's word.

use super::cause::Sign;
use super::{
    Bounded, LoopKind, Phase, Retry, Then, Unsure, holding::Outcome, holding::Regression, holding::Said,
};
use crate::protocol::{
    Action, Changes, CheckVerdict, Checked, FindingKey, Focus, Judged, Judging, NewFinding, Record,
    RestorePoint, Role, Settled, When,
};

impl Bounded {
    /// The checks on the tree as it was found. Their results are the engine's to compare with; what they changed is
    /// undone, so that it is never taken for a fix.
    pub(super) fn checked_before(&mut self, checked: Checked, changes: &Changes) {
        for note in checked.notes {
            self.docket.note(note);
        }
        let then = match self.input.kind {
            LoopKind::Fix => Then::Fix,
            LoopKind::Verify => Then::Verify,
        };
        self.undo_what_checks_changed(changes, then);
    }

    /// A check that writes into the tree does no fix: its changes go, and the user is told.
    fn undo_what_checks_changed(&mut self, changes: &Changes, then: Then) {
        for note in &changes.notes {
            self.docket.note(note.clone());
        }
        if !changes.breaches.is_empty() {
            return self.restore(RestorePoint::BeforeWorker, Then::AskBreach(changes.breaches.clone()));
        }
        let touched: Vec<String> = changes.in_scope.iter().chain(&changes.out_of_scope).cloned().collect();
        if !touched.is_empty() {
            self.docket.note(format!("The checks changed files, which was undone: {}.", touched.join(", ")));
        }
        self.undo_if_changed(changes, then);
    }

    /// Everything said of earlier trees is void; the checks come first.
    pub(super) fn run_checks(&mut self) {
        for held in &mut self.findings {
            held.said = Said::default();
        }
        for regression in &mut self.regressions {
            regression.said = Said::default();
        }
        self.verifier_spoke = false;
        self.phase = Phase::CheckingAfter;
        let findings = self.under_verification();
        self.docket.give(Action::RunChecks { when: When::After, findings });
    }

    pub(super) fn checked_after(&mut self, checked: Checked, changes: &Changes) {
        for note in checked.notes {
            self.docket.note(note);
        }
        for (key, verdict) in checked.findings {
            if let Some(said) = self.said_mut(&key) {
                said.check = Some(verdict);
            }
        }
        for regression in &mut self.regressions {
            let failing = checked.regressions.iter().any(|new| new.key == regression.finding.key);
            regression.failing = failing;
            regression.by_check |= failing;
        }
        for new in checked.regressions {
            self.found(new, true);
        }
        self.undo_what_checks_changed(changes, Then::Decide);
    }

    /// Takes up a finding that a fix caused. Known already, it is not new but still there, whatever else was said of it.
    fn found(&mut self, finding: NewFinding, by_check: bool) {
        if let Some(said) = self.said_mut(&finding.key) {
            if by_check {
                said.check = Some(CheckVerdict::Persists { why: finding.title, failing: Vec::new() });
            } else {
                said.judged = Some((Judging::Persists, finding.evidence));
            }
            return;
        }
        self.docket.record(Record::Found(finding.clone()));
        let judged = (!by_check).then(|| (Judging::Persists, finding.evidence.clone()));
        let said = Said { judged, ..Said::default() };
        self.regressions.push(Regression { finding, by_check, failing: by_check, said });
    }

    // ------------------------------------------------------------ the verifier

    /// What only a verifier can still say something about.
    pub(super) fn to_be_judged(&self) -> Vec<FindingKey> {
        let needs = |key: &FindingKey| matches!(self.outcome_of(key), Some(Outcome::NeedsJudge { .. }));
        let mut keys = self.under_verification();
        if self.round == 1 {
            keys.retain(needs);
        } else if self.input.has_verifier && (!self.verifier_spoke || keys.iter().any(needs)) {
            // Round 2 is judged as a whole, whatever the checks say, except what the user has accepted in it.
            let accepted: Vec<FindingKey> =
                self.findings.iter().filter(|held| held.said.accepted).map(|held| held.key.clone()).collect();
            keys.retain(|key| !accepted.contains(key));
        } else {
            keys.clear();
        }
        keys
    }

    pub(super) fn dispatch_verifier(&mut self, findings: Vec<FindingKey>) {
        for key in &findings {
            if let Some(said) = self.said_mut(key) {
                said.judged = None;
            }
        }
        let focus = match (self.input.kind, self.round) {
            (LoopKind::Verify, _) => Focus::UsersFix,
            (LoopKind::Fix, 1) => Focus::FirstLook,
            _ => Focus::Ordinary,
        };
        self.dispatch(Role::Verifier, findings, focus, true);
    }

    /// A verifier only reads: where it changed something, that is undone and its result is void (rule 3).
    pub(super) fn judged(&mut self, judged: Judged, changes: &Changes) {
        let asked = self.to_be_judged();
        if !changes.in_scope.is_empty() || !changes.out_of_scope.is_empty() {
            let touched: Vec<String> =
                changes.in_scope.iter().chain(&changes.out_of_scope).cloned().collect();
            let unsure = Unsure {
                findings: asked.clone(),
                what: format!(
                    "The verifier of round {} changed the tree, so its result does not count",
                    self.round
                ),
                detail: format!("It may only read. What it changed was undone: {}.", touched.join(", ")),
                acceptable: true,
                retry: Retry::Verifier(asked),
            };
            return self.verifier_void(unsure);
        }
        self.verifier_spoke = true;
        for key in &asked {
            let about: Vec<_> = judged.findings.iter().filter(|judgement| judgement.key == *key).collect();
            // Two verdicts that differ are no verdict, and a good one without evidence is none either (rule 2).
            let (verdict, evidence) = match about.split_first() {
                Some((first, rest)) if rest.iter().all(|other| other.verdict == first.verdict) => {
                    (first.verdict, first.evidence.clone())
                }
                _ => (Judging::Unsaid, String::new()),
            };
            let unfounded = matches!(verdict, Judging::Gone | Judging::Demoted) && evidence.trim().is_empty();
            let verdict = if unfounded { Judging::Unsaid } else { verdict };
            if let Some(said) = self.said_mut(key) {
                said.judged = Some((verdict, evidence));
            }
        }
        for new in judged.new {
            if new.severity.blocks() {
                self.found(new, false);
            } else {
                self.docket.record(Record::Found(new));
            }
        }
        self.decide();
    }

    /// A verifier without a usable result. The user is asked, unless the checks have decided everything without it.
    pub(super) fn verifier_void(&mut self, unsure: Unsure) {
        let needed = |key: &FindingKey| matches!(self.outcome_of(key), Some(Outcome::NeedsJudge { .. }));
        let then = if self.under_verification().iter().any(needed) {
            Then::AskInconclusive(unsure)
        } else {
            self.verifier_spoke = true;
            self.docket.note(format!("{}; the checks had decided already.", unsure.what));
            Then::Decide
        };
        self.restore(RestorePoint::BeforeWorker, then);
    }

    // ------------------------------------------------------------ the decision

    /// What could not be judged is the user's, then the verifier has its say, then the round is settled. Where a check
    /// shows that the fix broke something, the round has failed whatever else it did: nobody is asked about the rest.
    pub(super) fn decide(&mut self) {
        let broke = self.regressions.iter().any(|regression| regression.failing && !regression.said.accepted);
        let mut unsure = Vec::new();
        let mut detail = Vec::new();
        for key in self.under_verification() {
            if let Some(Outcome::Inconclusive { why }) = self.outcome_of(&key) {
                detail.push(format!("- {}: {why}", self.name(&key)));
                unsure.push(key);
            }
        }
        if !unsure.is_empty() && !broke {
            let by_verifier = unsure.iter().any(|key| {
                let judged = self.said_of(key).and_then(|said| said.judged.as_ref());
                matches!(judged, Some((Judging::Unsaid, _)))
            });
            let by_check = unsure.iter().any(|key| {
                let check = self.said_of(key).and_then(|said| said.check.as_ref());
                matches!(check, Some(CheckVerdict::Inconclusive { .. }))
            });
            let retry =
                if by_verifier && !by_check { Retry::Verifier(unsure.clone()) } else { Retry::Checks };
            return self.ask_inconclusive(Unsure {
                findings: unsure,
                what: format!("Round {} could not be verified", self.round),
                detail: detail.join("\n"),
                acceptable: true,
                retry,
            });
        }
        // A regression decides round 1 already: nothing can be resolved next to it, so nobody is asked about the rest.
        let decided = self.round == 1 && !self.open_regressions().is_empty();
        let judged = self.to_be_judged();
        if !judged.is_empty() && !decided {
            return self.go(Then::Judge(judged));
        }
        self.settle_round();
    }

    pub(super) fn said_of(&self, key: &FindingKey) -> Option<&Said> {
        let held = self.findings.iter().find(|held| held.key == *key).map(|held| &held.said);
        held.or_else(|| {
            let regression = self.regressions.iter().find(|regression| regression.finding.key == *key);
            regression.map(|regression| &regression.said)
        })
    }

    /// Resolves what the evidence supports, unless a fix of this loop broke something that is still broken (rule 7).
    pub(super) fn settle_round(&mut self) {
        let mut settled = Vec::new();
        let mut broken = Vec::new();
        let mut failing = Vec::new();
        let mut broke_again = false;
        for held in &self.findings {
            match held.outcome(&self.input, self.round) {
                Outcome::Resolved { grade, why } => {
                    settled.push((held.key.clone(), Settled::Resolved { grade, why, round: self.round }));
                }
                Outcome::Demoted { why } => settled.push((held.key.clone(), Settled::Demoted { why })),
                Outcome::Persists { why, failing: tests } => {
                    broke_again |= held.is_resolved();
                    broken.push((held.key.clone(), why));
                    failing.extend(tests);
                }
                Outcome::NeedsJudge { why } | Outcome::Inconclusive { why } => {
                    broken.push((held.key.clone(), why))
                }
            }
        }
        let open_regressions = self.open_regressions();
        let held_back = broke_again || !open_regressions.is_empty();
        let all_good = broken.is_empty() && !held_back;
        // Only what is new: a finding resolved earlier keeps the tree of its resolution as the one to go back to.
        settled.retain(|(key, _)| self.unresolved().contains(key));
        let settles = !settled.is_empty() && !held_back;
        if settles && self.weakened_tests_need_a_word() {
            return self.ask_weakened_tests();
        }

        let mut outcome: Vec<String> = Vec::new();
        for (key, why) in &broken {
            outcome.push(format!("{} persists: {why}", self.name(key)));
        }
        for key in &open_regressions {
            outcome.push(format!("it caused something new: {}", self.name(key)));
        }
        failing.extend(open_regressions.iter().map(|key| self.name(key)));
        failing.sort();
        failing.dedup();
        if outcome.is_empty() {
            outcome = settled
                .iter()
                .map(|(key, how)| match how {
                    Settled::Resolved { why, .. } => format!("{} resolved: {why}", self.name(key)),
                    _ => format!("{} demoted", self.name(key)),
                })
                .collect();
        }
        self.sign = Sign::Persists;
        self.stopped = format!("Round {} did not suffice.", self.round);
        self.attempted(&outcome.join("; "), &failing);

        if settles {
            for (key, how) in settled {
                self.settle(&key, how);
            }
        }
        if all_good {
            let regressions: Vec<_> = self
                .regressions
                .iter()
                .map(|regression| {
                    (regression.finding.key.clone(), regression.outcome(&self.input, self.round))
                })
                .collect();
            for (key, outcome) in regressions {
                let how = match outcome {
                    Outcome::Resolved { grade, why } => Settled::Resolved { grade, why, round: self.round },
                    Outcome::Demoted { why } => Settled::Demoted { why },
                    _ => continue,
                };
                self.docket.record(Record::Settled { key, how });
            }
            return self.finish_done("Every finding of the loop is resolved or demoted.");
        }
        if self.input.kind == LoopKind::Verify {
            return self.end_users_fix_persists();
        }
        if settles {
            // The tree as it is now is what later restores go back to.
            self.kept = self.facts.clone();
            self.phase = Phase::Checkpointing(Then::NextRound);
            self.fresh = false;
            return self.docket.give(Action::Checkpoint);
        }
        self.next_round();
    }

    /// Records how a finding stands. In the tree of its resolution it stays so, whatever later rounds do to the tree.
    pub(super) fn settle(&mut self, key: &FindingKey, how: Settled) {
        if let Some(held) = self.findings.iter_mut().find(|held| held.key == *key) {
            held.settled = Some(how.clone());
        }
        self.docket.record(Record::Settled { key: key.clone(), how });
    }

    fn weakened_tests_need_a_word(&mut self) -> bool {
        let unaccepted = self.facts.weakened.iter().any(|edit| !self.accepted_edits.contains(edit));
        unaccepted && self.input.weakened_tests_are_asked && self.input.kind == LoopKind::Fix
    }
}
