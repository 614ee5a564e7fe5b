//! What becomes of a worker's report: the judgement of an edit before anything is verified.
//!
//! Owns the order in which an edit is looked at: breaches, then what the worker asked for, then changes outside the
//! scope, then changes that are none or were seen before. Never asks whether the fix is right; `verifying` does.

use super::cause::Sign;
use std::collections::BTreeSet;

use super::{Bounded, Phase, Retry, SCOPE_QUESTIONS, Then, TreeFacts, Trying, Unsure};
use crate::protocol::{
    Action, Attempt, Changes, FailureClass, FixerReport, FixerStatus, Focus, Path, Record, Report,
    RestorePoint, Role, ScopeRequest, WorkerFailure,
};

/// What is to be done with files that a worker needs beyond the scope.
struct Beyond {
    /// Join the scope without a question.
    allowed: BTreeSet<Path>,
    /// Never asked about before.
    new: BTreeSet<Path>,
    /// Asked about before and not approved.
    refused: BTreeSet<Path>,
}

impl Bounded {
    pub(super) fn dispatch_fixer(&mut self) {
        self.trying = None;
        let mut findings = self.unresolved();
        findings.extend(self.open_regressions());
        let with_diff = !self.facts.changed.is_empty();
        self.dispatch(Role::Fixer, findings, Focus::Ordinary, with_diff);
    }

    pub(super) fn worker_reported(&mut self, role: Role, report: Report, changes: Changes) {
        for note in &changes.notes {
            self.docket.note(note.clone());
        }
        if !changes.breaches.is_empty() {
            return self.restore(RestorePoint::BeforeWorker, Then::AskBreach(changes.breaches));
        }
        match (role, report) {
            (Role::Fixer, Report::NeedsScope(request)) => self.scope_requested(&request, &changes),
            (Role::Fixer, Report::Fixer(report)) => self.fixer_reported(report, &changes),
            (Role::Verifier, Report::Judged(judged)) => self.judged(judged, &changes),
            (Role::Diagnoser, Report::Diagnosis(diagnosis)) => {
                self.cause = Some(format!("{}: {}", diagnosis.cause.words(), diagnosis.evidence));
                self.undo_if_changed(&changes, Then::AskEscalation);
            }
            (role, _) => {
                let failure = WorkerFailure {
                    class: FailureClass::NoReport,
                    message: "its report is not the one that its role gives".into(),
                    advice: String::new(),
                };
                self.worker_failed(role, &failure, &changes);
            }
        }
    }

    /// A worker ended without a report: no attempt, and nothing of it stays (rule 4).
    pub(super) fn worker_failed(&mut self, role: Role, failure: &WorkerFailure, changes: &Changes) {
        for note in &changes.notes {
            self.docket.note(note.clone());
        }
        if !changes.breaches.is_empty() {
            return self.restore(RestorePoint::BeforeWorker, Then::AskBreach(changes.breaches.clone()));
        }
        let (who, retry) = match role {
            Role::Fixer => ("The fixer", Retry::Fixer),
            Role::Verifier => ("The verifier", Retry::Verifier(self.to_be_judged())),
            // The cause is an extra: the question is asked without it.
            _ => return self.restore(RestorePoint::BeforeWorker, Then::AskEscalation),
        };
        let class = match failure.class {
            FailureClass::Agent => "ended without a usable result",
            FailureClass::Service => "could not reach its service",
            FailureClass::Account => "was refused by its account",
            FailureClass::Environment => "could not run here",
            FailureClass::NoReport => "gave no valid report",
            FailureClass::OverLimit => "ran into its limit",
        };
        let detail = [failure.message.as_str(), failure.advice.as_str()];
        let detail: Vec<&str> = detail.into_iter().filter(|text| !text.trim().is_empty()).collect();
        let mut findings = self.unresolved();
        if let Retry::Verifier(judged) = &retry {
            findings = judged.clone();
        }
        let unsure = Unsure {
            findings,
            what: format!("{who} of round {} {class}", self.round),
            detail: detail.join("\n"),
            acceptable: role == Role::Verifier,
            retry,
        };
        match role {
            Role::Verifier => self.verifier_void(unsure),
            _ => self.restore(RestorePoint::BeforeWorker, Then::AskInconclusive(unsure)),
        }
    }

    pub(super) fn undo_if_changed(&mut self, changes: &Changes, then: Then) {
        if changes.in_scope.is_empty() && changes.out_of_scope.is_empty() {
            self.go(then);
        } else {
            self.restore(RestorePoint::BeforeWorker, then);
        }
    }

    // ------------------------------------------------------------ scope

    fn beyond(&self, files: impl IntoIterator<Item = Path>) -> Beyond {
        let mut beyond = Beyond { allowed: BTreeSet::new(), new: BTreeSet::new(), refused: BTreeSet::new() };
        for file in files {
            if self.scope.contains(&file) {
                continue;
            }
            let place = if self.input.always_allowed.allows(&file) {
                &mut beyond.allowed
            } else if self.asked.contains(&file) {
                &mut beyond.refused
            } else {
                &mut beyond.new
            };
            place.insert(file);
        }
        beyond
    }

    /// A fixer asks before it edits (rule 6). What it may have edited already is undone: the round is repeated with the
    /// answer. A request that cannot be asked (again) is no way around the cap on rounds.
    fn scope_requested(&mut self, request: &ScopeRequest, changes: &Changes) {
        let beyond = self.beyond(request.files.iter().cloned());
        let then = if !beyond.new.is_empty() && self.scope_questions < SCOPE_QUESTIONS {
            self.scope.extend(beyond.allowed);
            Then::AskScope { files: beyond.new, justification: request.justification.clone() }
        } else if !beyond.allowed.is_empty()
            && beyond.new.is_empty()
            && self.quiet_extensions < SCOPE_QUESTIONS
        {
            self.quiet_extensions += 1;
            let files: Vec<Path> = beyond.allowed.iter().cloned().collect();
            self.docket.note(format!("Always allowed, so not asked: {}.", files.join(", ")));
            self.scope.extend(beyond.allowed);
            Then::Fix
        } else {
            let outcome = if beyond.new.is_empty() && beyond.refused.is_empty() {
                "it asked for files that it may change already".to_owned()
            } else {
                let files: Vec<Path> = beyond.new.into_iter().chain(beyond.refused).collect();
                format!("it needs files outside the scope that were not approved: {}", files.join(", "))
            };
            self.trying = Some(self.tried(FixerStatus::Blocked, request.justification.clone()));
            Then::FailRound { outcome }
        };
        self.undo_if_changed(changes, then);
    }

    /// The edit is in the tree; what lay outside the scope is set aside.
    fn edited(&mut self, changes: &Changes) {
        let beyond = self.beyond(changes.out_of_scope.iter().cloned());
        if !beyond.refused.is_empty() {
            let files: Vec<Path> = beyond.refused.into_iter().collect();
            self.docket.note(format!("Changed outside the scope again, set aside: {}.", files.join(", ")));
        }
        if !beyond.new.is_empty() && self.scope_questions < SCOPE_QUESTIONS {
            return self.ask_set_aside(beyond.new, beyond.allowed, &changes.out_of_scope_diff);
        }
        if !beyond.new.is_empty() {
            let files: Vec<Path> = beyond.new.into_iter().collect();
            self.docket.note(format!("Changed outside the scope, set aside unasked: {}.", files.join(", ")));
        }
        self.admit(beyond.allowed);
    }

    /// Puts approved changes back, or goes on with what is in scope.
    pub(super) fn admit(&mut self, paths: BTreeSet<Path>) {
        if paths.is_empty() {
            return self.judge_edit();
        }
        self.scope.extend(paths.iter().cloned());
        self.fresh = false;
        self.phase = Phase::PuttingBack(paths.clone());
        self.docket.give(Action::PutBack { paths });
    }

    pub(super) fn put_back(&mut self, paths: BTreeSet<Path>, changes: Changes) {
        if !changes.breaches.is_empty() {
            return self.restore(RestorePoint::BeforeWorker, Then::AskBreach(changes.breaches));
        }
        if let Some(trying) = &mut self.trying {
            trying.in_scope.extend(paths);
            trying.in_scope.extend(changes.in_scope);
            trying.tree = changes.tree;
            trying.weakened = changes.weakened;
        }
        self.judge_edit();
    }

    // ------------------------------------------------------------ the edit

    fn tried(&self, status: FixerStatus, summary: String) -> Trying {
        Trying {
            worker: self.docket.worker(),
            status,
            summary,
            in_scope: BTreeSet::new(),
            tree: None,
            weakened: self.facts.weakened.clone(),
        }
    }

    fn fixer_reported(&mut self, report: FixerReport, changes: &Changes) {
        let mut summary = report.summary.clone();
        if let Some(concerns) = report.concerns.as_deref().filter(|text| !text.trim().is_empty()) {
            summary = format!("{summary} (its concerns: {concerns})");
        }
        let mut trying = self.tried(report.status, summary);
        if let FixerStatus::Declined | FixerStatus::Blocked = report.status {
            let reason = report.blocked_by.filter(|text| !text.trim().is_empty());
            let outcome = match (report.status, reason) {
                (FixerStatus::Declined, None) => "it declined".to_owned(),
                (FixerStatus::Declined, Some(reason)) => format!("it declined: {reason}"),
                (_, None) => "it was blocked and did not say by what".to_owned(),
                (_, Some(reason)) => format!("it was blocked: {reason}"),
            };
            self.trying = Some(trying);
            self.sign = Sign::Blocked;
            return self.undo_if_changed(changes, Then::FailRound { outcome });
        }
        trying.in_scope = changes.in_scope.iter().cloned().collect();
        trying.tree = changes.tree.clone();
        trying.weakened = changes.weakened.clone();
        self.trying = Some(trying);
        self.edited(changes);
    }

    /// Rule 5, then staging. A claim that the problem is already gone is verified like a fix.
    pub(super) fn judge_edit(&mut self) {
        let Some(trying) = self.trying.clone() else {
            return self.fail_round("no attempt was made".into());
        };
        if trying.in_scope.is_empty() {
            if trying.status == FixerStatus::AlreadyResolved {
                return self.go(Then::Verify);
            }
            self.sign = Sign::Unchanged;
            return self.fail_round("it changed nothing in the scope".into());
        }
        if let Some(tree) = &trying.tree {
            if self.seen.contains(tree) {
                self.sign = Sign::Circle;
                self.attempted("it brought back a tree that was there before", &[]);
                let why = format!("Round {} went in a circle: its tree had been there before.", self.round);
                return self.restore(RestorePoint::BeforeWorker, Then::Escalate { why });
            }
            self.seen.push(tree.clone());
        }
        self.facts = TreeFacts {
            edit: self.docket.workers_used(),
            changed: self.facts.changed.union(&trying.in_scope).cloned().collect(),
            staged: false,
            unstaged_by_choice: false,
            weakened: trying.weakened,
        };
        self.stage();
    }

    pub(super) fn stage(&mut self) {
        self.fresh = false;
        self.phase = Phase::Staging;
        self.docket.give(Action::Stage);
    }

    // ------------------------------------------------------------ rounds

    /// Writes the attempt of this round down, for the next brief and for the escalation question.
    pub(super) fn attempted(&mut self, outcome: &str, failing: &[String]) {
        let Some(trying) = self.trying.take() else { return };
        let attempt = Attempt {
            round: self.round,
            worker: trying.worker,
            summary: trying.summary,
            files_changed: trying.in_scope.into_iter().collect(),
            outcome: outcome.to_owned(),
            failing: failing.to_vec(),
        };
        self.attempts.push(attempt.clone());
        self.docket.record(Record::Attempt(attempt));
    }

    /// The round failed before there was anything to verify.
    pub(super) fn fail_round(&mut self, outcome: String) {
        self.stopped = format!("Round {} failed: {outcome}.", self.round);
        self.attempted(&outcome, &[]);
        self.next_round();
    }

    pub(super) fn next_round(&mut self) {
        if self.round >= self.rounds() {
            if !self.input.second_round {
                self.stopped += " The agent takes no second round.";
            }
            return self.escalate_after_attempts();
        }
        self.round += 1;
        self.scope_questions = 0;
        self.quiet_extensions = 0;
        self.automatic_retries = 0;
        for held in &mut self.findings {
            held.accepted_before |= held.said.accepted && held.is_resolved();
        }
        self.go(Then::Fix);
    }
}
