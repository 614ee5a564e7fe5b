//! The questions of the loop, and what each answer leads to.
//!
//! Owns the words and options. An answer that only a person may give (an appeal, a raise, a clarified spec, an acceptance
//! without verification) is not taken from `--answer recommended`: the question stays open.

use super::super::docket::{named_paths, one_line};
use super::super::vocabulary::*;
use super::diagnosis::{Left, Route, Trouble, route};
use super::judging::{gap_list, gate_word};
use super::machine::Rereview;
use super::phase::{Asked, Job, Phase, Stuck, Then};

/// Automatic retries of one loop (rule 4).
const AUTOMATIC_RETRIES: u32 = 2;

impl Rereview {
    fn ask(&mut self, asked: Asked, kind: QuestionKind, text: String, detail: String, options: &[Choice]) {
        self.phase = Phase::Asking(asked);
        let keys = self.keys();
        self.docket.ask(kind, keys, text, detail, options);
    }

    pub(super) fn ask_scope(&mut self) {
        self.ask(
            Asked::Scope,
            QuestionKind::Scope,
            "The findings name no file: which paths may the loop change?".to_owned(),
            "Approve with the paths, one a line, relative to the root. Nothing else may be changed."
                .to_owned(),
            &[Choice::ApproveScope, Choice::Defer],
        );
    }

    pub(super) fn ask_stuck(&mut self, stuck: Stuck, why: String) {
        let verifies =
            matches!(stuck, Stuck::ChecksAfter | Stuck::Job(Job::Review) | Stuck::Job(Job::FinalGate))
                && !self.simplifying;
        let options: &[Choice] = if verifies {
            &[Choice::RetryVerification, Choice::AcceptWithoutVerification, Choice::RevertAndEscalate]
        } else {
            &[Choice::RetryVerification, Choice::RevertAndEscalate]
        };
        self.ask(
            Asked::Stuck(stuck, why.clone()),
            QuestionKind::Inconclusive,
            format!("Inconclusive: {}", one_line(&why)),
            format!("{why}\nThis does not count as an attempt. Open: {}", gap_list(&self.open)),
            options,
        );
    }

    pub(super) fn ask_conflict(&mut self, reason: String) {
        self.ask(
            Asked::Conflict(reason.clone()),
            QuestionKind::Conflict,
            "The fix and your own change touch the same lines: the fix could not be staged".to_owned(),
            reason,
            &[Choice::TryAgain, Choice::LeaveUnstaged, Choice::KeepAndStop, Choice::RestoreAndStop],
        );
    }

    pub(super) fn ask_breach(&mut self, breaches: String) {
        self.ask(
            Asked::Breach(breaches.clone()),
            QuestionKind::Breach,
            format!("A subagent did what no subagent may do: {}", one_line(&breaches)),
            format!("{breaches}\nThe loop has stopped. History is never reset for you."),
            &[Choice::RestoreAndStop, Choice::KeepAndStop],
        );
    }

    pub(super) fn ask_weakened(&mut self, evidence: String) {
        let edits = self.weakened.iter().map(|edit| match edit.line {
            Some(line) => format!("{}:{line}: {}", edit.path, edit.what),
            None => format!("{}: {}", edit.path, edit.what),
        });
        let detail = edits.collect::<Vec<_>>().join("\n");
        self.ask(
            Asked::Weakened(evidence),
            QuestionKind::Breach,
            "The fix weakens a test. Is that edit part of the fix?".to_owned(),
            format!("{detail}\nNothing is resolved before this is answered."),
            &[Choice::RevertAndEscalate, Choice::AcceptTestEdit],
        );
    }

    pub(super) fn ask_appeal(&mut self, review: GapReview) {
        let word = gate_word(review.verdict);
        let gate = self.docket.workers_used();
        let contested = if review.gaps.is_empty() { gap_list(&self.open) } else { gap_list(&review.gaps) };
        let record = format!(
            "reviewer (worker {}) says SHIP: {}; final gate (worker {gate}) says {word}: {}; contested: {contested}",
            self.shipped_by,
            one_line(&self.evidence),
            one_line(&review.evidence),
        );
        self.docket.note(format!("appeal: {record}"));
        self.appeal = Some(format!("{record}; unresolved"));
        self.ask(
            Asked::Appeal(review),
            QuestionKind::Appeal,
            format!("The reviewer says SHIP, the final gate says {word}: does the SHIP stand?"),
            record,
            &[Choice::No, Choice::Yes],
        );
    }

    /// Takes the route of a diagnosis.
    pub(super) fn take_route(&mut self, mut diagnosis: Diagnosis, by_worker: bool) {
        let before = self.diagnosis.as_ref().and_then(|before| before.new_evidence.as_deref()).map(one_line);
        if before.is_some() && diagnosis.new_evidence.as_deref().map(one_line) == before {
            self.docket.note("what the diagnosis calls new evidence was named before");
            diagnosis.new_evidence_is_real = false;
        }
        let cause = diagnosis.cause;
        self.docket.note(format!(
            "diagnosis: {} — {}; route: {}",
            cause.words(),
            one_line(&diagnosis.evidence),
            one_line(&diagnosis.route)
        ));
        let left = Left {
            loops: self.has_loop_left() && !matches!(self.trouble, Trouble::NoVerification(_)),
            raises: self.raises,
            ladder_len: self.input.ladder_len,
            attempted: self.round > 0 || !self.input.inherited.attempts.is_empty(),
        };
        let route = route(&diagnosis, &self.trouble, by_worker, &left);
        self.diagnosis = Some(diagnosis);
        match route {
            Route::Retry(supplied) => {
                if supplied.is_some() {
                    self.supplied = supplied;
                }
                self.next_round();
            }
            Route::Raise => {
                self.raises += 1;
                let (old, new) = (step(self.raises - 1), step(self.raises));
                self.docket.note(format!("raised: {old} → {new}, on new evidence"));
                self.next_round();
            }
            Route::AskRaise => self.ask_raise(),
            Route::Clarify(question) => self.ask_clarification(question),
            Route::Repair(needs) => self.ask_repair(needs),
            Route::Report => self.finish_diagnosed(),
        }
    }

    fn ask_raise(&mut self) {
        let (old, new) = (step(self.raises), step(self.raises + 1));
        self.ask(
            Asked::Raise,
            QuestionKind::ModelRaise,
            format!("Raise the fixer's model or effort from {old} to {new}?"),
            format!("No loop or no raise is left; only you can allow more.\n{}", self.block()),
            &[Choice::No, Choice::Yes],
        );
    }

    fn ask_clarification(&mut self, question: String) {
        self.ask(
            Asked::Clarify(question.clone()),
            QuestionKind::Escalation,
            format!("The spec is ambiguous. {} Go on with your answer?", one_line(&question)),
            format!(
                "Yes, with your answer as text: the loop goes on with it. No: it ends here.\n{}",
                self.block()
            ),
            &[Choice::Yes, Choice::No],
        );
    }

    fn ask_repair(&mut self, needs: String) {
        self.ask(
            Asked::Repair(needs.clone()),
            QuestionKind::Inconclusive,
            format!("The environment is in the way: {} Retry when it is repaired?", one_line(&needs)),
            self.block(),
            &[Choice::RetryVerification, Choice::RevertAndEscalate],
        );
    }

    /// Whether one more automatic retry is allowed; a person's always is.
    fn may_retry(&mut self, by: AnsweredBy) -> bool {
        if by == AnsweredBy::Automatic {
            if self.automatic >= AUTOMATIC_RETRIES {
                return false;
            }
            self.automatic += 1;
        }
        true
    }

    /// Carries an answer out. False: it does not settle the question, which stays open.
    pub(super) fn answered(
        &mut self,
        asked: Asked,
        choice: Choice,
        by: AnsweredBy,
        text: Option<String>,
    ) -> bool {
        let by_user = by == AnsweredBy::User;
        match (asked, choice) {
            (Asked::Scope, Choice::ApproveScope) => {
                let Some(scope) = text.as_deref().and_then(named_paths).filter(|_| by_user) else {
                    return false;
                };
                self.input.scope = scope;
                self.begin();
            }
            (Asked::Scope, _) => {
                self.finish_open(EndedHow::Blocked, "no scope: no path may be changed", None, Vec::new());
            }
            (Asked::Stuck(stuck, _), Choice::RetryVerification) => {
                if !self.may_retry(by) {
                    return false;
                }
                self.again(stuck);
            }
            (Asked::Stuck(_, why), Choice::AcceptWithoutVerification) => {
                if !by_user {
                    return false;
                }
                self.docket.decided("verification", "inconclusive", "accepted without verification", text);
                self.attempted(&format!("accepted without verification: {}", one_line(&why)));
                self.finish_done(Some(Grade::Accepted), &format!("accepted without verification: {why}"));
            }
            (Asked::Stuck(_, why), _) => {
                self.attempted(&format!("could not be verified: {}", one_line(&why)));
                if self.has_checkpoint {
                    self.restore(RestorePoint::Start, Then::GiveUp(why));
                } else {
                    self.finish_open(EndedHow::Failed, &why, None, Vec::new());
                }
            }
            (Asked::Repair(needs), Choice::RetryVerification) => {
                if !self.may_retry(by) {
                    return false;
                }
                let choice = text.unwrap_or_else(|| Choice::RetryVerification.words().to_owned());
                self.answers.push(Told { question: needs, choice });
                self.next_round();
            }
            (Asked::Repair(needs), _) => self.restore(RestorePoint::Start, Then::GiveUp(needs)),
            (Asked::Conflict(_), Choice::TryAgain) => {
                if !self.may_retry(by) {
                    return false;
                }
                self.stage();
            }
            (Asked::Conflict(reason), Choice::LeaveUnstaged) => {
                self.docket.note(format!("the fix stays unstaged: {reason}"));
                self.check();
            }
            (Asked::Conflict(_), Choice::RestoreAndStop) => {
                self.restore(
                    RestorePoint::Start,
                    Then::Fail("stopped: the fix could not be staged".to_owned()),
                );
            }
            (Asked::Conflict(_), _) => {
                let why = "stopped: the fix could not be staged and stays in the tree";
                self.finish_open(EndedHow::Blocked, why, None, Vec::new());
            }
            (Asked::Breach(what), Choice::RestoreAndStop) => {
                self.restore(RestorePoint::Start, Then::Fail(format!("breach: {what}")));
            }
            (Asked::Breach(what), _) => {
                self.finish_open(EndedHow::Failed, &format!("breach: {what}"), None, Vec::new());
            }
            (Asked::Weakened(evidence), Choice::AcceptTestEdit) => {
                if !by_user {
                    return false;
                }
                self.docket.decided("weakened test", "not accepted", "part of the fix", text);
                self.finish_done(Some(Grade::Verified), &evidence);
            }
            (Asked::Weakened(_), _) => {
                self.restore(RestorePoint::Start, Then::Fail("reverted: the fix weakens a test".to_owned()));
            }
            (Asked::Clarify(question), Choice::Yes) => {
                if !by_user {
                    return false;
                }
                self.clarified(question, text);
            }
            (Asked::Raise, Choice::Yes) => {
                if !by_user {
                    return false;
                }
                self.allowed_a_raise(text);
            }
            (Asked::Clarify(_) | Asked::Raise, _) => self.finish_diagnosed(),
            (Asked::Appeal(review), choice) => {
                if !by_user {
                    return false;
                }
                self.resolved_appeal(review, choice == Choice::Yes, text);
            }
        }
        true
    }

    fn clarified(&mut self, question: String, text: Option<String>) {
        let answer = text.filter(|text| !text.trim().is_empty());
        let choice = answer.clone().unwrap_or_else(|| Choice::Yes.words().to_owned());
        self.docket.decided("clarified spec", &question, &choice, answer.clone());
        self.supplied = Some(format!("{question}\nAnswer: {choice}"));
        self.answers.push(Told { question, choice });
        if self.has_loop_left() { self.next_round() } else { self.hand_on("the spec is clarified") }
    }

    fn allowed_a_raise(&mut self, reason: Option<String>) {
        let evidence = self.diagnosis.as_ref().and_then(Self::new_evidence);
        self.docket.decided("model raise", &step(self.raises), &step(self.raises + 1), reason.or(evidence));
        self.raises += 1;
        if self.has_loop_left() { self.next_round() } else { self.hand_on("the raise is allowed") }
    }

    /// The user starts a new loop: it is told everything that this one knows.
    fn hand_on(&mut self, what: &str) {
        let mut attempts = self.input.inherited.attempts.clone();
        attempts.extend(self.attempts.iter().cloned());
        self.docket.record(Record::Inherit(Inherited {
            attempts,
            answers: self.answers.clone(),
            raises: self.raises,
            supplied: self.supplied.clone(),
            seen: self.seen.clone(),
        }));
        let block = self.block();
        let keys = self.keys();
        self.finish_open(EndedHow::Blocked, &format!("{what}: a new loop follows"), Some(block), keys);
    }

    fn resolved_appeal(&mut self, review: GapReview, ship_stands: bool, reason: Option<String>) {
        let word = gate_word(review.verdict);
        let ruling =
            if ship_stands { "the reviewer's SHIP stands" } else { "the final gate's verdict stands" };
        self.docket.decided("appeal", &format!("reviewer SHIP, final gate {word}"), ruling, reason.clone());
        if let Some(record) = &mut self.appeal {
            let record_only = record.trim_end_matches("; unresolved").to_owned();
            let reason = reason.map_or(String::new(), |reason| format!(" ({})", one_line(&reason)));
            *record = format!("{record_only}; resolved by the user: {ruling}{reason}");
        }
        if ship_stands {
            self.finish_done(
                Some(Grade::Accepted),
                "the user resolved the appeal: the reviewer's SHIP stands",
            );
        } else {
            self.gate_stands(&review);
        }
    }
}

fn step(raises: u32) -> String {
    if raises == 0 { "the configured setting".to_owned() } else { format!("step {raises} of the ladder") }
}
