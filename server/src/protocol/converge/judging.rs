//! What a report or an inspection means for the loop.
//!
//! Owns the reading of what came back. A footer is a claim: git, the validation and the closer decide.

use std::collections::BTreeSet;

use super::super::docket::one_line;
use super::super::vocabulary::*;
use super::claims::{blocked, failed, untrue};
use super::machine::{Converge, axis_word, checkout_change};
use super::phase::{AxisState, Job, Next, Pause, Then};

/// Questions about scope in one round (rule 6).
const SCOPE_QUESTIONS: u32 = 2;

impl Converge {
    // ------------------------------------------------------------ the one review

    pub(super) fn axis_answered(&mut self, step: &Step, event: Event) {
        let Action::Dispatch(Dispatch { focus: Focus::Axis(axis), worker, .. }) = &step.action else {
            return self.docket.put_back(step.clone());
        };
        let (axis, worker) = (*axis, worker.0);
        if checkout_change(&event).is_some() {
            self.axes.insert(axis, AxisState::Held);
            self.held.push((step.clone(), event));
            return self.all_axes_back();
        }
        let mut unusable = None;
        match event {
            Event::Reported { report, changes, spent, .. } => {
                self.docket.spend(&spent);
                self.tell(&changes);
                let touched = !changes.in_scope.is_empty() || !changes.out_of_scope.is_empty();
                self.touched |= touched || !changes.breaches.is_empty();
                match report {
                    _ if !changes.breaches.is_empty() => {
                        let what = changes.breaches.join("; ");
                        unusable = Some((PauseKind::Decision, format!("breach: {what}")));
                    }
                    _ if touched => {
                        let what = "it changed the worktree although it may only read".to_owned();
                        unusable = Some((PauseKind::Transient, what));
                    }
                    Report::AxisReviewed { axis: named, findings, footer } if named == axis => {
                        if footer.done {
                            self.axes.insert(axis, AxisState::Reviewed);
                            for finding in &findings {
                                let by = self.named_by.entry(finding.key.clone()).or_insert(axis);
                                *by = axis.min(*by);
                            }
                            self.take_findings(findings);
                        } else {
                            unusable = Some((PauseKind::Decision, blocked(&footer)));
                        }
                    }
                    _ => unusable = Some((PauseKind::Transient, "it gave no report of its axis".to_owned())),
                }
            }
            Event::WorkerFailed { failure, changes, spent, .. } => {
                self.docket.spend(&spent);
                self.tell(&changes);
                self.touched |= !changes.in_scope.is_empty()
                    || !changes.out_of_scope.is_empty()
                    || !changes.breaches.is_empty();
                unusable = Some(failed(&failure, &changes));
            }
            // An interrupted reviewer is dispatched again: nothing of its review is known.
            _ => {
                self.axes.insert(axis, AxisState::Pending);
            }
        }
        if let Some((kind, why)) = unusable {
            self.axes.insert(axis, AxisState::Pending);
            self.unusable.push((axis, kind, worker, why));
        }
        self.all_axes_back();
    }

    /// Goes on when no reviewer is out any more.
    fn all_axes_back(&mut self) {
        if self.axes.values().any(|state| *state == AxisState::Reviewing) {
            return;
        }
        if self.held.is_empty() {
            return self.all_axes_answered();
        }
        let held = std::mem::take(&mut self.held);
        self.ask_checkout(Job::Review, held);
    }

    fn all_axes_answered(&mut self) {
        let unusable = std::mem::take(&mut self.unusable);
        let touched = std::mem::take(&mut self.touched);
        if unusable.is_empty() {
            return if self.pending_axes().is_empty() {
                self.check_findings()
            } else {
                self.dispatch(Job::Review)
            };
        }
        let is_decision = unusable.iter().any(|(_, kind, ..)| *kind == PauseKind::Decision);
        let lines = unusable
            .iter()
            .map(|(axis, _, worker, why)| format!("{} (worker {worker}): {why}", axis_word(*axis)));
        let pause = Pause {
            kind: if is_decision { PauseKind::Decision } else { PauseKind::Transient },
            reason: "the review gave no usable result on each axis".to_owned(),
            worker: unusable.first().map(|(_, _, worker, _)| *worker),
            evidence: lines.collect::<Vec<_>>().join("; "),
            next: Next::Dispatch(Job::Review),
        };
        if touched { self.restore(Then::Pause(pause)) } else { self.ask_pause(pause) }
    }

    /// Keeps what may be worked on: P0 and P1, once each.
    pub(super) fn take_findings(&mut self, findings: Vec<NewFinding>) {
        for finding in findings {
            let is_known = self.findings.iter().any(|known| known.key == finding.key);
            self.docket.record(Record::Found(finding.clone()));
            if !finding.severity.blocks() {
                self.docket.note(format!(
                    "not worked on, {:?}: {}",
                    finding.severity,
                    one_line(&finding.title)
                ));
            } else if !is_known {
                self.findings.push(finding);
            }
        }
    }

    // ------------------------------------------------------------ workers

    pub(super) fn tell(&mut self, changes: &Changes) {
        for note in &changes.notes {
            self.docket.note(note.clone());
        }
        for weakened in &changes.weakened {
            self.docket.note(format!("weakens a test: {}: {}", weakened.path, weakened.what));
        }
    }

    pub(super) fn reported(&mut self, job: Job, report: Report, changes: &Changes) {
        self.tell(changes);
        if !changes.breaches.is_empty() {
            let evidence = changes.breaches.join("; ");
            let pause =
                self.pause_of(PauseKind::Decision, "a subagent did what no subagent may do", evidence, job);
            return self.restore(Then::Pause(pause));
        }
        if matches!(job, Job::Fix | Job::Recover) {
            return self.fixer_reported(job, report, changes);
        }
        // A tree change by a role that may only read voids its result (rule 3).
        if !changes.in_scope.is_empty() || !changes.out_of_scope.is_empty() {
            let why = "it changed the worktree although it may only read; that is undone";
            return self.unusable(job, changes, PauseKind::Transient, why.to_owned());
        }
        match (job, report) {
            (_, Report::Consolidated { footer, .. } | Report::Closed { footer, .. }) if !footer.done => {
                self.unusable(job, changes, PauseKind::Decision, blocked(&footer));
            }
            (Job::Check, Report::Consolidated { roots, .. }) => self.consolidated(roots, changes),
            (Job::Close, Report::Closed { states, regressions, footer }) => {
                self.closed(states, regressions, footer.open_root_causes, changes)
            }
            _ => {
                self.unusable(job, changes, PauseKind::Transient, "it gave another role's report".to_owned())
            }
        }
    }

    pub(super) fn worker_failed(&mut self, job: Job, failure: &WorkerFailure, changes: &Changes) {
        self.tell(changes);
        let (kind, why) = failed(failure, changes);
        self.unusable(job, changes, kind, why);
    }

    /// Inconclusive, never a failed attempt: what the worker did is undone and the same is done again when resumed.
    fn unusable(&mut self, job: Job, changes: &Changes, kind: PauseKind, why: String) {
        let who = match job {
            Job::Review => "a reviewer",
            Job::Check => "the checker",
            Job::Fix => "the fixer",
            Job::Recover => "the recoverer",
            Job::Close => "the closer",
        };
        let pause = self.pause_of(kind, &format!("{who} gave no usable result"), why, job);
        self.undo_then(changes, Then::Pause(pause));
    }

    fn pause_of(&self, kind: PauseKind, reason: &str, evidence: String, job: Job) -> Pause {
        Pause {
            kind,
            reason: reason.to_owned(),
            worker: Some(self.last_worker),
            evidence,
            next: Next::Dispatch(job),
        }
    }

    fn consolidated(&mut self, roots: Vec<RootCause>, changes: &Changes) {
        match self.ledger.consolidate(roots, &self.keys()) {
            Err(why) => return self.unusable(Job::Check, changes, PauseKind::Transient, why),
            Ok(notes) => notes.into_iter().for_each(|note| self.docket.note(note)),
        }
        self.docket.record(Record::Roots(self.ledger.roots.clone()));
        let confirmed = self.ledger.burden();
        if confirmed == 0 {
            self.has_disagreement = true;
            self.docket.note("disagreement: the review names findings and the checker disputes all of them");
            return self.finish_pass("disagreement: every finding is disputed, with evidence");
        }
        self.best = Some(confirmed);
        self.docket.note(format!("burden: {confirmed}"));
        self.widen_to_confirmed();
        if self.scope.is_empty() { self.ask_first_scope() } else { self.next_round(Job::Fix) }
    }

    /// The scope: the files of the confirmed findings; for one without a file, what the reviewed diff changes.
    fn widen_to_confirmed(&mut self) {
        let confirmed = self.ledger.confirmed_findings();
        for finding in self.findings.iter().filter(|finding| confirmed.contains(&finding.key)) {
            match &finding.file {
                Some(file) => {
                    self.scope.insert(file.clone());
                }
                None => {
                    let changed = self.prepared.iter().flat_map(|prepared| prepared.changed.iter().cloned());
                    self.scope.extend(changed);
                }
            }
        }
    }

    // ------------------------------------------------------------ a fix

    fn fixer_reported(&mut self, job: Job, report: Report, changes: &Changes) {
        self.files = changes.in_scope.clone();
        match report {
            Report::Committed { footer, .. } if !footer.done => {
                self.unusable(job, changes, PauseKind::Decision, blocked(&footer));
            }
            Report::Committed { footer, summary } => {
                self.summary = summary;
                let beyond: BTreeSet<Path> =
                    changes.out_of_scope.iter().filter(|path| !self.scope.contains(*path)).cloned().collect();
                if beyond.is_empty() {
                    self.inspect(job, footer.head, false);
                } else if self.scope_questions < SCOPE_QUESTIONS {
                    self.ask_committed(job, beyond, footer.head, &changes.out_of_scope_diff);
                } else {
                    let why = format!(
                        "it changed files outside the scope again: {}",
                        changes.out_of_scope.join(", ")
                    );
                    self.unusable(job, changes, PauseKind::Decision, why);
                }
            }
            Report::NeedsScope(request) => {
                let files: BTreeSet<Path> =
                    request.files.into_iter().filter(|path| !self.scope.contains(path)).collect();
                if files.is_empty() || self.scope_questions >= SCOPE_QUESTIONS {
                    let why = format!("it asks for files again: {}", request.justification);
                    return self.unusable(job, changes, PauseKind::Decision, why);
                }
                self.undo_then(changes, Then::AskScope(job, files, request.justification));
            }
            Report::Fixer(report) => match report.status {
                // Verification has to agree: the closer judges it.
                FixerStatus::AlreadyResolved
                    if changes.in_scope.is_empty() && changes.out_of_scope.is_empty() =>
                {
                    self.summary = report.summary;
                    self.attempted("it says that nothing is left to fix");
                    self.dispatch(Job::Close);
                }
                FixerStatus::Blocked | FixerStatus::Declined => {
                    let why = report.blocked_by.or(report.concerns).unwrap_or(report.summary);
                    self.unusable(job, changes, PauseKind::Decision, why);
                }
                _ => {
                    let why = "its report has no WORKER_RESULT footer".to_owned();
                    self.unusable(job, changes, PauseKind::Transient, why);
                }
            },
            _ => {
                self.unusable(job, changes, PauseKind::Transient, "it gave another role's report".to_owned())
            }
        }
    }

    pub(super) fn inspected(
        &mut self,
        job: Job,
        claimed: Option<String>,
        only_validation: bool,
        seen: Inspected,
    ) {
        if only_validation {
            // The commits are taken; what is validated must still be them.
            if let Some(why) = untrue(&seen, self.head.as_deref()) {
                let reason = "the worktree is no longer as it was inspected";
                let pause = Pause {
                    next: Next::Validate(job),
                    ..self.pause_of(PauseKind::Decision, reason, why, job)
                };
                return self.ask_pause(pause);
            }
        } else {
            if let Some(why) = untrue(&seen, claimed.as_deref()) {
                let reason = "what the worker says of its commit is not so";
                let pause = self.pause_of(PauseKind::Decision, reason, why, job);
                return self.restore(Then::Pause(pause));
            }
            if seen.new_commits.is_empty() {
                self.attempted("it committed nothing");
                return self.plateau("the worker committed nothing");
            }
            if self.seen.contains(&seen.tree) {
                self.attempted("it leads back to a tree that was seen before");
                let pause = Pause {
                    next: Next::Recover,
                    ..self.pause_of(
                        PauseKind::Decision,
                        "oscillation",
                        "the tree was seen before".to_owned(),
                        job,
                    )
                };
                return self.restore(Then::Pause(pause));
            }
            self.seen.push(seen.tree);
            self.head = Some(seen.head);
            self.commits.extend(seen.new_commits);
        }
        self.validated(job, seen.validation, seen.new_failures, seen.regressions);
    }

    /// A failure that the base had is not the fix's fault, and is not called green either.
    fn validated(
        &mut self,
        job: Job,
        validation: Option<Validation>,
        new_failures: Vec<String>,
        regressions: Vec<NewFinding>,
    ) {
        let at_base = self.prepared.as_ref().and_then(|prepared| prepared.validation.as_ref());
        let base = at_base.map(|validation| validation.outcome);
        let outcome = validation.as_ref().map_or(ValidationOutcome::NotRun, |validation| validation.outcome);
        self.validation = validation.or_else(|| self.validation.clone());
        let new_failures = match outcome {
            ValidationOutcome::Pass => Vec::new(),
            ValidationOutcome::NotRun if base.is_none() => Vec::new(),
            ValidationOutcome::NotRun => {
                let why = "the validation could not be run".to_owned();
                let tail = self.validation.as_ref().map(|validation| validation.failing.join("\n"));
                return self.pause(
                    PauseKind::Transient,
                    why,
                    Some(self.last_worker),
                    tail.unwrap_or_default(),
                    Next::Validate(job),
                );
            }
            ValidationOutcome::Fail if new_failures.is_empty() && base != Some(ValidationOutcome::Fail) => {
                vec!["the validation passed at the base and fails now".to_owned()]
            }
            ValidationOutcome::Fail => new_failures,
        };
        self.ledger.validated(new_failures, &regressions);
        self.take_regressions(regressions);
        let failing = self.ledger.new_failures.join("; ");
        self.attempted(if failing.is_empty() { "committed; to be judged" } else { &failing });
        self.dispatch(Job::Close);
    }

    fn attempted(&mut self, outcome: &str) {
        let attempt = Attempt {
            round: self.round,
            worker: WorkerId(self.last_worker),
            summary: self.summary.clone(),
            files_changed: self.files.clone(),
            outcome: outcome.to_owned(),
            failing: self.ledger.new_failures.clone(),
        };
        self.docket.record(Record::Attempt(attempt.clone()));
        self.attempts.push(attempt);
    }

    // ------------------------------------------------------------ burden

    fn closed(
        &mut self,
        states: Vec<(String, RootState, String)>,
        regressions: Vec<(String, NewFinding)>,
        counted: Option<u32>,
        changes: &Changes,
    ) {
        match self.ledger.close(states, &regressions, counted) {
            Err(why) => return self.unusable(Job::Close, changes, PauseKind::Transient, why),
            Ok(notes) => notes.into_iter().for_each(|note| self.docket.note(note)),
        }
        // What the closer calls a regression under the id of a known root cause is that one.
        let known = self.ledger.confirmed_findings();
        let fresh =
            regressions.into_iter().map(|(_, found)| found).filter(|found| known.contains(&found.key));
        self.take_regressions(fresh.collect());
        self.docket.record(Record::Roots(self.ledger.roots.clone()));
        let open: Vec<String> = self
            .ledger
            .roots
            .iter()
            .filter(|root| root.is_open())
            .map(|root| format!("{}: {}", root.id, one_line(&root.evidence)))
            .chain(self.ledger.new_failures.iter().map(|failure| format!("validation: {failure}")))
            .collect();
        if let Some(last) = self.attempts.last_mut() {
            last.outcome =
                if open.is_empty() { "all closed".to_owned() } else { format!("open: {}", open.join("; ")) };
        }
        let burden = self.ledger.burden();
        if burden == 0 {
            return self.finish_pass("every confirmed root cause is resolved");
        }
        if self.best.is_none_or(|best| burden < best) {
            self.best = Some(burden);
            self.recovered = false;
            self.docket.note(format!("burden: {burden}, the lowest so far"));
            self.next_round(Job::Fix);
        } else {
            self.docket.note(format!("burden: {burden}, not below the lowest"));
            self.plateau(&open.join("; "));
        }
    }

    /// New findings that a fix of this loop caused (rule 7): they may be worked on where they are.
    fn take_regressions(&mut self, regressions: Vec<NewFinding>) {
        for regression in regressions {
            self.scope.extend(regression.file.clone());
            if !self.findings.iter().any(|known| known.key == regression.key) {
                self.docket.record(Record::Found(regression.clone()));
                self.findings.push(regression);
            }
        }
    }

    /// One recovery for each plateau; it has to get below the unchanged best.
    fn plateau(&mut self, evidence: &str) {
        if !self.recovered {
            self.recovered = true;
            return self.next_round(Job::Recover);
        }
        let burden = self.ledger.burden();
        let best = self.best.unwrap_or(burden);
        let reason =
            format!("the recovery did not get the burden ({burden}) below the lowest so far ({best})");
        self.pause(PauseKind::Decision, reason, Some(self.last_worker), evidence.to_owned(), Next::Recover);
    }
}
