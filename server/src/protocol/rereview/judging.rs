//! What a report, a check or a review means for the loop.
//!
//! Owns the reading of what came back: the guard's view of the tree and the checks decide, a worker's claim never does.

use std::collections::BTreeSet;

use super::super::docket::one_line;
use super::super::vocabulary::*;
use super::diagnosis::{Trouble, real_evidence};
use super::machine::Rereview;
use super::phase::{Job, Stuck, Then};
use super::severity_word;

impl Rereview {
    pub(super) fn reported(&mut self, job: Job, report: Report, changes: Changes) {
        if self.stops_for_a_breach(&changes) {
            return;
        }
        self.tell(&changes);
        if matches!(job, Job::Fix | Job::Simplify) {
            return match report {
                Report::Fixer(report) => self.fixed(job, report, &changes),
                Report::NeedsScope(request) => {
                    let files = request.files.join(", ");
                    let why =
                        format!("it needs files outside the scope ({files}): {}", request.justification);
                    self.fixer_blocked(job, &changes, why);
                }
                _ => self.no_report(job, &changes, "it gave another role's report"),
            };
        }
        // A tree change by a role that may only read voids its result (rule 3).
        if !changes.in_scope.is_empty() || !changes.out_of_scope.is_empty() {
            return self.no_report(
                job,
                &changes,
                "it changed the tree although it may only read; that is undone",
            );
        }
        match (job, report) {
            (Job::Review, Report::Gaps(review)) => self.reviewed(review, &changes),
            (Job::FinalGate, Report::Gaps(review)) => self.gated(review, &changes),
            (Job::FirstLook, Report::Diagnosis(diagnosis)) => self.looked(diagnosis),
            (Job::Diagnose, Report::Diagnosis(diagnosis)) => {
                if diagnosis.evidence.trim().is_empty() {
                    self.no_report(job, &changes, "the diagnosis names no evidence");
                } else {
                    self.take_route(diagnosis, true);
                }
            }
            _ => self.no_report(job, &changes, "it gave another role's report"),
        }
    }

    pub(super) fn worker_failed(&mut self, job: Job, failure: &WorkerFailure, changes: &Changes) {
        if self.stops_for_a_breach(changes) {
            return;
        }
        self.tell(changes);
        let why = match failure.advice.trim() {
            "" => failure.message.clone(),
            advice => format!("{}. {advice}", failure.message.trim_end_matches('.')),
        };
        self.no_report(job, changes, &why);
    }

    /// Inconclusive, never a failed attempt (rules 2 and 4).
    fn no_report(&mut self, job: Job, changes: &Changes, why: &str) {
        let who = match job {
            Job::Simplify | Job::Fix => "the fixer",
            Job::Check | Job::Review => "the reviewer",
            Job::FinalGate => "the final gate",
            Job::FirstLook | Job::Diagnose => "the diagnoser",
        };
        self.undo_then(changes, Then::Ask(Stuck::Job(job), format!("{who} gave no usable result: {why}")));
    }

    fn stops_for_a_breach(&mut self, changes: &Changes) -> bool {
        if changes.breaches.is_empty() {
            return false;
        }
        self.restore(RestorePoint::BeforeWorker, Then::AskBreach(changes.breaches.join("; ")));
        true
    }

    /// Says what the guard saw. What was set aside stays aside: in this protocol the scope never grows.
    fn tell(&mut self, changes: &Changes) {
        if !changes.out_of_scope.is_empty() {
            let paths = changes.out_of_scope.join(", ");
            self.docket.note(format!("set aside, outside the scope: {paths}\n{}", changes.out_of_scope_diff));
        }
        for note in &changes.notes {
            self.docket.note(note.clone());
        }
        for weakened in &changes.weakened {
            if !self.weakened.contains(weakened) {
                self.docket.note(format!("weakens a test: {}: {}", weakened.path, weakened.what));
            }
        }
    }

    // ------------------------------------------------------------ the fixer

    fn fixed(&mut self, job: Job, report: FixerReport, changes: &Changes) {
        self.draft.summary = report.summary;
        self.draft.files = changes.in_scope.clone();
        match report.status {
            FixerStatus::Declined | FixerStatus::Blocked => {
                let why = report
                    .blocked_by
                    .or(report.concerns)
                    .filter(|why| !why.trim().is_empty())
                    .unwrap_or_else(|| self.draft.summary.clone());
                self.fixer_blocked(job, changes, why);
            }
            FixerStatus::Fixed if changes.in_scope.is_empty() => self.nothing_changed(job, changes),
            FixerStatus::AlreadyResolved if changes.in_scope.is_empty() => self.check(),
            FixerStatus::Fixed | FixerStatus::AlreadyResolved => self.changed(job, changes),
        }
    }

    fn changed(&mut self, job: Job, changes: &Changes) {
        if let Some(tree) = &changes.tree {
            if self.seen.contains(tree) && job == Job::Simplify {
                return self.undo_then(changes, Then::LookFirst);
            }
            if self.seen.contains(tree) {
                self.trouble = Trouble::Oscillation;
                self.attempted("it leads back to a tree that was seen before");
                return self.undo_then(changes, Then::Diagnose);
            }
            self.seen.push(tree.clone());
        }
        self.in_tree.extend(changes.in_scope.iter().cloned());
        // The guard judges the loop's whole diff so far.
        self.weakened = changes.weakened.clone();
        self.stage();
    }

    fn nothing_changed(&mut self, job: Job, changes: &Changes) {
        if job == Job::Simplify {
            // Nothing was to be simplified: the review that the loop came with still holds.
            return self.undo_then(changes, Then::LookFirst);
        }
        let outcome = if changes.out_of_scope.is_empty() {
            "it changed nothing".to_owned()
        } else {
            format!("it changed nothing in the scope; set aside: {}", changes.out_of_scope.join(", "))
        };
        self.attempted(&outcome);
        if self.has_loop_left() { self.next_round() } else { self.diagnose(Trouble::NoChange) }
    }

    /// `blocked` is the diagnosis' matter, never a question (rule 6).
    fn fixer_blocked(&mut self, job: Job, changes: &Changes, why: String) {
        if job == Job::Simplify {
            self.docket.note(format!("not simplified: {why}"));
            return self.undo_then(changes, Then::LookFirst);
        }
        self.trouble = Trouble::FixerBlocked(one_line(&why));
        self.evidence = why.clone();
        self.attempted(&format!("blocked: {}", one_line(&why)));
        self.undo_then(changes, Then::Diagnose);
    }

    /// Closes the present attempt with its outcome, once.
    pub(super) fn attempted(&mut self, outcome: &str) {
        let is_closed = self.attempts.last().is_some_and(|attempt| attempt.round == self.round);
        if self.round == 0 || self.simplifying || is_closed {
            return;
        }
        let attempt = Attempt {
            round: self.round,
            worker: WorkerId(self.draft.worker),
            summary: self.draft.summary.clone(),
            files_changed: self.draft.files.clone(),
            outcome: outcome.to_owned(),
            failing: self.draft.failing.clone(),
        };
        self.docket.record(Record::Attempt(attempt.clone()));
        self.attempts.push(attempt);
    }

    // ------------------------------------------------------------ the checks

    pub(super) fn checked_before(&mut self, job: Job, changes: &Changes) {
        if self.stops_for_a_breach(changes) {
            return;
        }
        self.tell(changes);
        self.has_baseline = true;
        // What a check writes is not the fix's.
        self.undo_then(changes, Then::Send(job));
    }

    pub(super) fn checked_after(&mut self, checked: Checked, changes: &Changes) {
        if self.stops_for_a_breach(changes) {
            return;
        }
        self.tell(changes);
        for note in &checked.notes {
            self.docket.note(note.clone());
        }
        let mut unclear = Vec::new();
        for (key, verdict) in checked.findings {
            match verdict {
                CheckVerdict::Supported { grade, .. } => {
                    self.draft.grades.insert(key, grade);
                }
                CheckVerdict::Persists { why, failing } => {
                    self.draft.failing.extend(failing);
                    let gap = self.gap_of(&key);
                    self.draft.red.push(Gap { text: why, ..gap });
                }
                CheckVerdict::Inconclusive { why } => unclear.push(why),
                CheckVerdict::Silent { .. } => {}
            }
        }
        for regression in checked.regressions {
            self.draft.failing.push(regression.title.clone());
            self.draft.red.push(Gap {
                severity: regression.severity,
                text: regression.title.clone(),
                file: regression.file.clone(),
                line: regression.line,
            });
            self.docket.record(Record::Found(regression));
        }
        if unclear.is_empty() {
            self.undo_then(changes, Then::Dispatch(Job::Review));
        } else {
            // What the checks did say is said again when they run again.
            self.draft.red.clear();
            self.draft.failing.clear();
            self.draft.grades.clear();
            self.undo_then(changes, Then::Ask(Stuck::ChecksAfter, unclear.join("; ")));
        }
    }

    fn gap_of(&self, key: &FindingKey) -> Gap {
        let of = self.input.subjects.iter().find(|subject| subject.subject.key == *key);
        of.map(|subject| subject.gap.clone()).unwrap_or(Gap {
            severity: Severity::P1,
            text: String::new(),
            file: None,
            line: None,
        })
    }

    // ------------------------------------------------------------ the reviewers

    /// The word that a review really carries: SHIP beside a blocking gap or a red check is none.
    fn real_word(&self, review: &GapReview) -> GateWord {
        let contradicted = self.draft.red.iter().chain(&review.gaps).any(|gap| gap.severity.blocks());
        if review.verdict == GateWord::Ship && contradicted { GateWord::FixFirst } else { review.verdict }
    }

    fn reviewed(&mut self, review: GapReview, changes: &Changes) {
        let word = self.real_word(&review);
        if word == GateWord::Ship && review.evidence.trim().is_empty() {
            return self.no_report(Job::Review, changes, "it says SHIP without evidence");
        }
        self.evidence = review.evidence.clone();
        let identical = self.takes_gaps(&review) && word != GateWord::Ship;
        let outcome = self.outcome(word, &review);
        if self.simplifying {
            // The fresh review replaces the one that the loop came with.
            self.simplifying = false;
            self.docket.note(format!("simplified; the review before is void. {outcome}"));
            self.verdict = Some(word);
            return if word == GateWord::Ship { self.shipped(&review) } else { self.look_first() };
        }
        self.attempted(&outcome);
        match word {
            GateWord::Ship => self.shipped(&review),
            GateWord::Blocked => self.diagnose(Trouble::ReviewBlocked),
            GateWord::FixFirst if identical => self.diagnose(Trouble::IdenticalGaps),
            GateWord::FixFirst if self.has_loop_left() => self.next_round(),
            GateWord::FixFirst => self.diagnose(Trouble::StillGaps),
        }
    }

    fn outcome(&self, word: GateWord, review: &GapReview) -> String {
        let word = gate_word(word);
        if review.verdict == GateWord::Ship && word != "SHIP" {
            format!("{word}: the reviewer said SHIP, but {}", gap_list(&self.open))
        } else if self.open.is_empty() || word == "SHIP" {
            format!("{word}: {}", one_line(&review.evidence))
        } else {
            format!("{word}: {}", gap_list(&self.open))
        }
    }

    /// Replaces the open gaps by those of the review and of the checks. True when they are the same as before.
    fn takes_gaps(&mut self, review: &GapReview) -> bool {
        let mut gaps: Vec<Gap> = review.gaps.clone();
        gaps.extend(self.draft.red.iter().cloned());
        gaps.sort();
        gaps.dedup();
        let blocking: Vec<Gap> = gaps.iter().filter(|gap| gap.severity.blocks()).cloned().collect();
        for gap in gaps.iter().filter(|gap| !gap.severity.blocks()) {
            let word = severity_word(gap.severity);
            self.docket.note(format!("not worked on: [{word}] {}", one_line(&gap.text)));
        }
        // A review that is no SHIP and names nothing that blocks leaves what was open before.
        let now = if blocking.is_empty() { self.open.clone() } else { blocking };
        let identical = identity(&now) == identity(&self.open);
        self.open = now;
        identical
    }

    fn shipped(&mut self, review: &GapReview) {
        self.shipped_by = self.docket.workers_used();
        if self.input.has_final_gate {
            self.dispatch(Job::FinalGate);
        } else {
            self.resolve(&review.evidence);
        }
    }

    /// Edits that weaken a test are shown before anything counts as resolved.
    fn resolve(&mut self, evidence: &str) {
        if self.weakened.is_empty() {
            self.finish_done(Some(Grade::Verified), evidence);
        } else {
            self.ask_weakened(evidence.to_owned());
        }
    }

    fn gated(&mut self, review: GapReview, changes: &Changes) {
        if self.real_word(&review) != GateWord::Ship {
            return self.ask_appeal(review);
        }
        if review.evidence.trim().is_empty() {
            return self.no_report(Job::FinalGate, changes, "it says SHIP without evidence");
        }
        self.resolve(&review.evidence);
    }

    /// The final gate's verdict stands: its gaps are the open ones.
    pub(super) fn gate_stands(&mut self, review: &GapReview) {
        self.evidence = review.evidence.clone();
        self.takes_gaps(review);
        let blocked = review.verdict == GateWord::Blocked;
        if let Some(last) = self.attempts.last_mut() {
            last.outcome = format!("the final gate did not agree with SHIP: {}", gap_list(&self.open));
        }
        if blocked {
            self.diagnose(Trouble::ReviewBlocked);
        } else if self.has_loop_left() {
            self.next_round();
        } else {
            self.diagnose(Trouble::StillGaps);
        }
    }

    // ------------------------------------------------------------ the diagnoser

    /// The diagnosis before the first attempt only stops an over-designed plan; what else it knows goes to the fixer.
    fn looked(&mut self, diagnosis: Diagnosis) {
        let evidence = one_line(&diagnosis.evidence);
        self.docket.note(format!("first look: {} — {evidence}", diagnosis.cause.words()));
        if diagnosis.cause == Cause::OverdesignedPlan && !evidence.is_empty() {
            return self.take_route(diagnosis, true);
        }
        if diagnosis.cause == Cause::MissingContext {
            self.supplied = diagnosis.needs.filter(|needs| !needs.trim().is_empty());
        }
        self.next_round();
    }

    /// The evidence line of the exhaustion block.
    pub(super) fn new_evidence(diagnosis: &Diagnosis) -> Option<String> {
        real_evidence(diagnosis).map(str::to_owned)
    }
}

/// Gaps are the same when severity, words and file are: a line may shift with every edit.
fn identity(gaps: &[Gap]) -> BTreeSet<(Severity, String, Option<Path>)> {
    gaps.iter().map(|gap| (gap.severity, one_line(&gap.text).to_lowercase(), gap.file.clone())).collect()
}

pub(super) fn gate_word(word: GateWord) -> &'static str {
    match word {
        GateWord::Ship => "SHIP",
        GateWord::FixFirst => "FIX-FIRST",
        GateWord::Blocked => "BLOCKED",
    }
}

pub(super) fn gap_list(gaps: &[Gap]) -> String {
    let words = gaps.iter().map(|gap| {
        let place = match (&gap.file, gap.line) {
            (Some(file), Some(line)) => format!(" — {file}:{line}"),
            (Some(file), None) => format!(" — {file}"),
            _ => String::new(),
        };
        format!("[{}] {}{place}", severity_word(gap.severity), one_line(&gap.text))
    });
    words.collect::<Vec<_>>().join("; ")
}
