//! The questions of `bounded`: their words, their options, and what each answer means.
//!
//! Owns what the user is asked and how often. Never shows anything; the engine keeps a question open until it is answered.

use std::collections::BTreeSet;

use super::cause::Sign;
use super::{AUTOMATIC_RETRIES, Asked, Bounded, LoopKind, Phase, QuestionKind, Retry, Then, Unsure};
use crate::protocol::{
    Action, AnsweredBy, Choice, FindingKey, FixerStatus, Path, RestorePoint, Step, Told, Weakened,
};

/// What a question says, before it has a number.
struct Asking {
    kind: QuestionKind,
    findings: Vec<FindingKey>,
    text: String,
    detail: String,
    /// The recommended one first.
    options: Vec<Choice>,
}

impl Bounded {
    fn ask(&mut self, asking: Asking, asked: Asked) {
        let Asking { kind, findings, text, detail, options } = asking;
        // The user may change anything while a question is open.
        self.fresh = false;
        self.phase = Phase::Asking(asked);
        self.docket.ask(kind, findings, text, detail, &options);
    }

    fn names_of(&self, findings: &[FindingKey]) -> String {
        let names: Vec<String> = findings.iter().map(|key| self.name(key)).collect();
        names.join("; ")
    }

    // ------------------------------------------------------------ scope

    pub(super) fn ask_first_scope(&mut self) {
        self.scope_questions += 1;
        let findings = self.unresolved();
        let asking = Asking {
            kind: QuestionKind::Scope,
            text: format!("No file is named for {}: which files may change?", self.names_of(&findings)),
            detail: "Answer with the files, one a line. Approved without files, the fixer starts with none and has to \
                     name each file it needs, which is asked before any edit."
                .into(),
            options: vec![Choice::ApproveScope, Choice::Defer],
            findings,
        };
        self.ask(asking, Asked::FirstScope);
    }

    pub(super) fn ask_more_scope(&mut self, files: BTreeSet<Path>, justification: &str) {
        let asking = self.asking_scope(&files, "needs to change", format!("Why: {justification}"));
        self.ask(asking, Asked::MoreScope { files });
    }

    pub(super) fn ask_set_aside(&mut self, files: BTreeSet<Path>, allowed: BTreeSet<Path>, diff: &str) {
        let detail = format!("The changes are set aside and the files are as they were:\n{diff}");
        let asking = self.asking_scope(&files, "has changed", detail);
        self.ask(asking, Asked::SetAside { files, allowed });
    }

    fn asking_scope(&mut self, files: &BTreeSet<Path>, what: &str, detail: String) -> Asking {
        self.scope_questions += 1;
        self.asked.extend(files.iter().cloned());
        let list: Vec<&str> = files.iter().map(String::as_str).collect();
        let scope: Vec<&str> = self.scope.iter().map(String::as_str).collect();
        let findings = self.unresolved();
        Asking {
            kind: QuestionKind::Scope,
            text: format!(
                "The fixer of round {} {what} files outside its scope: {}. Approve?",
                self.round,
                list.join(", ")
            ),
            detail: format!(
                "Finding: {}\nScope so far: {}\nFiles: {}\n{detail}",
                self.names_of(&findings),
                if scope.is_empty() { "no file".to_owned() } else { scope.join(", ") },
                list.join(", ")
            ),
            options: vec![Choice::ApproveScope, Choice::RejectScope, Choice::Defer],
            findings,
        }
    }

    // ------------------------------------------------------------ inconclusive, breach, conflict

    pub(super) fn ask_inconclusive(&mut self, unsure: Unsure) {
        let mut options = vec![Choice::RetryVerification];
        if unsure.acceptable {
            options.push(Choice::AcceptWithoutVerification);
        }
        options.push(match self.input.kind {
            LoopKind::Fix => Choice::RevertAndEscalate,
            // The fix is the user's own; it is never reverted.
            LoopKind::Verify => Choice::KeepAndStop,
        });
        let retries = match self.automatic_retries {
            0 => String::new(),
            n => format!("\nRetried automatically: {n} of {AUTOMATIC_RETRIES} times."),
        };
        let asking = Asking {
            kind: QuestionKind::Inconclusive,
            findings: unsure.findings.clone(),
            text: format!("{}. Retry?", unsure.what),
            detail: format!("Finding: {}\n{}{retries}", self.names_of(&unsure.findings), unsure.detail),
            options,
        };
        self.ask(asking, Asked::Inconclusive(unsure));
    }

    pub(super) fn ask_weakened_tests(&mut self) {
        let detail = weakened_lines(&self.facts.weakened);
        let asking = Asking {
            kind: QuestionKind::Breach,
            findings: self.unresolved(),
            text: "The fix weakens a test. Is that edit part of the fix?".into(),
            detail: format!("{detail}\nNothing is resolved before this is answered."),
            options: vec![Choice::RevertAndEscalate, Choice::AcceptTestEdit],
        };
        self.ask(asking, Asked::WeakenedTests);
    }

    pub(super) fn ask_breach(&mut self, what: &[String]) {
        let asking = Asking {
            kind: QuestionKind::Breach,
            findings: self.unresolved(),
            text: format!("The loop was stopped: {}", what.join(" ")),
            detail: format!(
                "No worker and no check may do that. Its changes to files were undone; history was not touched.\n- {}",
                what.join("\n- ")
            ),
            options: vec![Choice::RestoreAndStop, Choice::KeepAndStop],
        };
        self.ask(asking, Asked::Breach);
    }

    pub(super) fn ask_conflict(&mut self, reason: &str, can_be_settled: bool) {
        let mut options = vec![Choice::TryAgain, Choice::LeaveUnstaged, Choice::RestoreAndStop];
        if !can_be_settled {
            options.swap(0, 1);
        }
        let asking = Asking {
            kind: QuestionKind::Conflict,
            findings: self.unresolved(),
            text: format!("The fix of round {} could not be staged: {reason}", self.round),
            detail: "The fix is in the tree and nothing of it is staged. Nothing of yours was changed."
                .into(),
            options,
        };
        self.ask(asking, Asked::Conflict);
    }

    pub(super) fn ask_restore_failed(&mut self, to: RestorePoint, then: Then, reason: &str) {
        let asking = Asking {
            kind: QuestionKind::Conflict,
            findings: self.unresolved(),
            text: format!("The tree could not be restored: {reason}"),
            detail: "What the loop changed may still be in the tree. Its checkpoint is kept.".into(),
            options: vec![Choice::TryAgain, Choice::KeepAndStop],
        };
        self.ask(asking, Asked::RestoreFailed { to, then: Box::new(then) });
    }

    // ------------------------------------------------------------ escalation

    pub(super) fn ask_escalation(&mut self) {
        let mut findings = self.unresolved();
        findings.extend(self.open_regressions());
        let mut detail = vec![format!("Finding: {}", self.names_of(&self.unresolved()))];
        let earlier = self.input.inherited.attempts.len();
        for (i, attempt) in self.attempts.iter().enumerate() {
            let which = if i < earlier { "Earlier loop, round" } else { "Round" };
            let files = match attempt.files_changed.is_empty() {
                true => "nothing".to_owned(),
                false => attempt.files_changed.join(", "),
            };
            detail.push(format!(
                "{which} {}: {}\n  changed: {files}\n  outcome: {}",
                attempt.round, attempt.summary, attempt.outcome
            ));
            if !attempt.failing.is_empty() {
                detail.push(format!("  failing: {}", attempt.failing.join(", ")));
            }
        }
        detail.push(format!("Still broken: {}", self.still_broken(&findings)));
        let (cause, in_full) = self.named_cause();
        detail.push(in_full);
        if !self.facts.weakened.is_empty() {
            detail.push(weakened_lines(&self.facts.weakened));
        }
        self.cause_asked = Some(cause.clone());
        let asking = Asking {
            kind: QuestionKind::Escalation,
            text: format!("{} {cause}. How should it go on?", self.stopped),
            detail: detail.join("\n"),
            options: vec![Choice::Defer, Choice::ManualFix, Choice::TryDifferentApproach],
            findings,
        };
        self.ask(asking, Asked::Escalation);
    }

    // ------------------------------------------------------------ answers

    /// Takes an answer to the open question. Automatic answers only follow the recommendation, and retry at most twice
    /// in a round; what they may not answer stays open (rule 4).
    pub(super) fn answered(
        &mut self,
        asked: Asked,
        step: &Step,
        choice: Choice,
        by: AnsweredBy,
        text: Option<String>,
    ) -> bool {
        let Action::Ask(question) = &step.action else { return false };
        if by == AnsweredBy::Automatic {
            if choice != question.recommended || choice == Choice::TryDifferentApproach {
                return false;
            }
            if matches!(choice, Choice::RetryVerification | Choice::TryAgain) {
                if self.automatic_retries >= AUTOMATIC_RETRIES {
                    return false;
                }
                self.automatic_retries += 1;
            }
        }
        let text = text.filter(|text| !text.trim().is_empty());
        let words = match &text {
            Some(text) => format!("{}: {text}", choice.words()),
            None => choice.words().to_owned(),
        };
        self.told.push(Told { question: question.text.clone(), choice: words });
        self.follow(asked, choice, by, text);
        true
    }

    fn follow(&mut self, asked: Asked, choice: Choice, by: AnsweredBy, text: Option<String>) {
        match asked {
            Asked::FirstScope => self.answer_first_scope(choice, text),
            Asked::MoreScope { files } => match choice {
                Choice::ApproveScope => {
                    self.scope.extend(files);
                    self.go(Then::Fix);
                }
                Choice::RejectScope => self.go(Then::Fix),
                _ => self.defer(by, text),
            },
            Asked::SetAside { files, allowed } => self.answer_set_aside(choice, files, allowed, by, text),
            Asked::Inconclusive(unsure) => self.answer_inconclusive(choice, unsure),
            Asked::WeakenedTests => match choice {
                Choice::AcceptTestEdit => {
                    self.accepted_edits.extend(self.facts.weakened.iter().cloned());
                    self.settle_round();
                }
                _ => {
                    self.sign = Sign::WeakensTest;
                    self.attempted("it weakens a test, which the user did not accept", &[]);
                    self.revert_and_escalate("The fix weakened a test, so it was reverted.".into());
                }
            },
            Asked::Breach => match choice {
                Choice::KeepAndStop => {
                    self.end_kept("A worker or a check did what it may not; the tree was kept.")
                }
                _ => {
                    let why =
                        "A worker or a check did what it may not; the loop's changes were undone.".to_owned();
                    self.attempted("the loop was stopped", &[]);
                    self.restore(RestorePoint::LastResolution, Then::EndOpen { why });
                }
            },
            Asked::Conflict => match choice {
                Choice::TryAgain => self.stage(),
                Choice::LeaveUnstaged => {
                    self.facts.unstaged_by_choice = true;
                    self.docket.note("The fix was left unstaged.");
                    self.go(Then::Verify);
                }
                _ => {
                    let why = "The fix could not be staged; it was undone.".to_owned();
                    self.attempted("it could not be staged", &[]);
                    self.restore(RestorePoint::LastResolution, Then::EndOpen { why });
                }
            },
            Asked::RestoreFailed { to, then } => match choice {
                Choice::TryAgain => self.restore(to, *then),
                _ => self.end_kept("The tree could not be restored and was kept as it is."),
            },
            Asked::Escalation => match choice {
                Choice::ManualFix => self.manual_fix(),
                Choice::TryDifferentApproach => {
                    self.restore(RestorePoint::LastResolution, Then::EndDifferently { hint: text });
                }
                _ => self.defer(by, text),
            },
        }
    }

    fn defer(&mut self, by: AnsweredBy, text: Option<String>) {
        let reason = text.unwrap_or_else(|| {
            let who = match by {
                AnsweredBy::User => "Deferred by the user.",
                AnsweredBy::Automatic => "Deferred as recommended.",
            };
            let cause = self.cause_asked.as_ref().map(|cause| format!("{cause}.")).unwrap_or_default();
            [who, self.stopped.trim(), cause.as_str()].join(" ").trim().to_owned()
        });
        self.restore(RestorePoint::LastResolution, Then::EndDeferred { reason });
    }

    fn answer_first_scope(&mut self, choice: Choice, text: Option<String>) {
        if choice == Choice::Defer {
            return self.defer(AnsweredBy::User, text);
        }
        for file in text.unwrap_or_default().split(['\n', ',']) {
            let file = file.trim().trim_start_matches("./");
            if file.is_empty() {
                continue;
            }
            let leaves = file.starts_with('/') || file.split('/').any(|part| part == ".." || part == ".git");
            if leaves {
                self.docket.note(format!("Not a file that may change: {file}."));
            } else {
                self.scope.insert(file.to_owned());
            }
        }
        self.go(Then::CheckBefore);
    }

    fn answer_set_aside(
        &mut self,
        choice: Choice,
        files: BTreeSet<Path>,
        mut allowed: BTreeSet<Path>,
        by: AnsweredBy,
        text: Option<String>,
    ) {
        match choice {
            Choice::ApproveScope => {
                allowed.extend(files);
                self.admit(allowed);
            }
            Choice::RejectScope => {
                let nothing_left = allowed.is_empty()
                    && self.trying.as_ref().is_none_or(|trying| {
                        trying.in_scope.is_empty() && trying.status != FixerStatus::AlreadyResolved
                    });
                if nothing_left {
                    // The same round once more, told that it has to do within the scope.
                    self.go(Then::Fix);
                } else {
                    self.admit(allowed);
                }
            }
            _ => {
                self.attempted("it needs files outside the scope; the finding was deferred", &[]);
                self.defer(by, text);
            }
        }
    }

    fn answer_inconclusive(&mut self, choice: Choice, unsure: Unsure) {
        match choice {
            Choice::RetryVerification => match unsure.retry {
                Retry::Fixer => self.go(Then::Fix),
                Retry::Checks => self.go(Then::Verify),
                Retry::Verifier(findings) => {
                    for key in &findings {
                        if let Some(said) = self.said_mut(key) {
                            said.judged = None;
                        }
                    }
                    let findings = self.to_be_judged();
                    self.go(Then::Judge(findings));
                }
                Retry::Again(phase, action) => match *phase {
                    Phase::Checkpointing(then) => self.go(then),
                    Phase::CheckingBefore => self.go(Then::CheckBefore),
                    phase => {
                        self.phase = phase;
                        self.docket.give(*action);
                    }
                },
            },
            Choice::AcceptWithoutVerification => {
                for key in &unsure.findings {
                    if let Some(said) = self.said_mut(key) {
                        said.accepted = true;
                    }
                }
                self.decide();
            }
            Choice::KeepAndStop => {
                self.stopped = format!("{}.", unsure.what);
                self.end_users_fix_persists();
            }
            _ => {
                self.sign = Sign::Unverified;
                self.attempted(&format!("{}; it was reverted", unsure.what), &[]);
                self.revert_and_escalate(format!("{}, and the attempt was reverted.", unsure.what));
            }
        }
    }

    fn revert_and_escalate(&mut self, why: String) {
        self.restore(RestorePoint::LastResolution, Then::Escalate { why });
    }
}

pub(super) fn weakened_lines(weakened: &[Weakened]) -> String {
    let lines: Vec<String> = weakened
        .iter()
        .map(|edit| match edit.line {
            Some(line) => format!("- {}:{line}: {}", edit.path, edit.what),
            None => format!("- {}: {}", edit.path, edit.what),
        })
        .collect();
    format!("Edits that weaken tests:\n{}", lines.join("\n"))
}
