//! What each single action must hold to.

use std::collections::BTreeSet;

use super::{Onlooker, rule};
use crate::protocol::{
    Action, Cause, Choice, EndedHow, Event, Focus, Grade, Path, Question, QuestionKind, Record, Report,
    RestorePoint, Role, Settled, Step, View, When, bounded::LoopKind,
};

impl Onlooker {
    pub(super) fn look_at(&mut self, step: &Step, event: &Event, after: &View) -> Result<(), String> {
        rule("numbers: actions are numbered from 1 without a gap", step.id.0 == self.actions + 1)?;
        self.actions = step.id.0;
        if step.action.is_answered() {
            self.given = Some(step.action.clone());
        }
        rule("finished: nothing follows the end", !self.finished)?;
        let acts_on_tree = matches!(
            step.action,
            Action::Dispatch(_) | Action::Stage | Action::PutBack { .. } | Action::RunChecks { .. }
        );
        if acts_on_tree {
            rule("cancel: nothing is begun after it", !self.cancelled)?;
            rule("breach: nothing is begun after it", !self.breached)?;
        }
        let fix = self.input.kind == LoopKind::Fix;
        match &step.action {
            Action::Dispatch(dispatch) => {
                rule("workers: every dispatch is a new worker", dispatch.worker.0 == self.workers + 1)?;
                self.workers += 1;
                rule("checkpoint: one stands before every dispatch", self.checkpoint_holds)?;
                let budget = &self.input.budget;
                let within = (budget.workers == 0 || self.workers <= budget.workers)
                    && (budget.minutes == 0 || self.worked < u64::from(budget.minutes) * 60_000)
                    && budget.cost_usd.is_none_or(|limit| self.cost < limit);
                rule("budget: nothing is dispatched beyond it", within)?;
                rule("brief: a worker is always asked about something", !dispatch.findings.is_empty())?;
                rule("cap: at most two rounds", dispatch.round <= 2 && dispatch.round <= after.max_rounds)?;
                if dispatch.role == Role::Fixer {
                    rule("users fix: nobody else fixes", fix)?;
                    rule("cap: a round has one fix", dispatch.round > self.spent_round)?;
                    let globs = &self.input.always_allowed;
                    let allowed = |file: &Path| self.may_change.contains(file) || globs.allows(file);
                    rule(
                        "scope: only what was given, approved or always allowed",
                        dispatch.scope.iter().all(allowed),
                    )?;
                    self.editors.insert(dispatch.worker.0);
                } else {
                    rule("readers: no path may be changed", dispatch.scope.is_empty())?;
                    rule("readers: a fix is judged by another", !self.editors.contains(&dispatch.worker.0))?;
                    rule(
                        "verifier: only where there is one",
                        self.input.has_verifier || dispatch.role != Role::Verifier,
                    )?;
                    let first = dispatch.focus == Focus::FirstLook;
                    if dispatch.role == Role::Verifier && fix {
                        rule("verifier: round 1 is a first look", first == (dispatch.round == 1))?;
                    }
                }
                self.checkpoint_holds = false;
            }
            Action::Stage => {
                rule("users fix: nothing is staged", fix)?;
                let manual = matches!(event, Event::Answered { choice: Choice::ManualFix, .. });
                if !manual {
                    self.spent_round = self.spent_round.max(after.round);
                    self.trees_seen(event)?;
                }
                self.checkpoint_holds = false;
            }
            Action::RunChecks { when: When::After, findings } => {
                rule("brief: checks are run for something", !findings.is_empty())?;
                rule("checkpoint: one stands before checks, too", self.checkpoint_holds)?;
            }
            Action::Restore { to } => {
                rule("checkpoint: only what was recorded is restored", self.checkpointed)?;
                self.restored_to = Some(*to);
                self.checkpoint_holds = false;
                if *to != RestorePoint::BeforeWorker {
                    self.regressions.clear();
                    self.weakened = false;
                }
            }
            Action::PutBack { .. } => self.checkpoint_holds = false,
            Action::Ask(question) => {
                self.checkpoint_holds = false;
                self.look_at_question(question, after)?;
            }
            Action::Record(record) => self.look_at_record(record, event)?,
            Action::Finish(ending) => {
                self.finished = true;
                rule("cancel: ends as cancelled", (ending.how == EndedHow::Cancelled) == self.cancelled)?;
                let follows = !ending.follow_up.is_empty();
                rule(
                    "cap: a new loop only where the user chose it",
                    !follows || (self.asked_different && self.inherit),
                )?;
                if self.deferred && self.checkpointed && ending.how == EndedHow::Done {
                    let to = self.restored_to;
                    rule("defer: restores to the last resolution", to == Some(RestorePoint::LastResolution))?;
                }
                if self.breached {
                    rule("breach: what it did is undone", self.restored_to.is_some())?;
                }
                for subject in &self.input.subjects {
                    rule("finished: every finding has an end", self.settled.contains_key(&subject.key))?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// The tree of an edit is staged only if it was not there before.
    fn trees_seen(&mut self, event: &Event) -> Result<(), String> {
        let (Event::Reported { changes, .. } | Event::Changed { changes, .. }) = event else { return Ok(()) };
        if let Some(tree) = &changes.tree {
            rule("circle: a tree already seen stops the loop", !self.trees.contains(tree))?;
            self.trees.push(tree.clone());
        }
        Ok(())
    }

    fn look_at_question(&mut self, question: &Question, after: &View) -> Result<(), String> {
        use Choice::*;
        self.questions += 1;
        rule("numbers: questions are numbered from 1 without a gap", question.number.0 == self.questions)?;
        rule(
            "questions: the recommended option stands first",
            question.options.first() == Some(&question.recommended),
        )?;
        rule(
            "questions: say something",
            !question.text.trim().is_empty() && !question.detail.trim().is_empty(),
        )?;
        rule("questions: are about something", !question.findings.is_empty())?;
        if question.kind == QuestionKind::Escalation {
            let names = |cause: &Cause| {
                question.text.contains(cause.words()) && question.detail.contains(cause.words())
            };
            let named: Vec<Cause> = Cause::ALL.into_iter().filter(names).collect();
            rule("escalation: names exactly one cause", named.len() == 1)?;
            let inferred = question.detail.contains("inferred from what happened (no diagnoser judged it)");
            rule("escalation: nobody infers model-capacity", !inferred || named != [Cause::ModelCapacity])?;
            rule("escalation: an inference is said to be one", inferred || self.input.diagnose)?;
        }
        let of: &[&[Choice]] = match question.kind {
            QuestionKind::Scope => &[&[ApproveScope, RejectScope, Defer], &[ApproveScope, Defer]],
            QuestionKind::Inconclusive => &[
                &[RetryVerification, AcceptWithoutVerification, RevertAndEscalate],
                &[RetryVerification, RevertAndEscalate],
                &[RetryVerification, AcceptWithoutVerification, KeepAndStop],
                &[RetryVerification, KeepAndStop],
            ],
            QuestionKind::Escalation => &[&[Defer, ManualFix, TryDifferentApproach]],
            QuestionKind::Breach => &[&[RestoreAndStop, KeepAndStop], &[RevertAndEscalate, AcceptTestEdit]],
            QuestionKind::Conflict => &[
                &[TryAgain, LeaveUnstaged, RestoreAndStop],
                &[LeaveUnstaged, TryAgain, RestoreAndStop],
                &[TryAgain, KeepAndStop],
            ],
            _ => &[],
        };
        rule("questions: offer what their kind offers", of.contains(&question.options.as_slice()))?;
        if question.kind == QuestionKind::Scope {
            let asked = self.scope_questions.entry(after.round).or_default();
            *asked += 1;
            rule("scope: at most two questions a round", *asked <= 2)?;
            let new: BTreeSet<Path> = self.files_pending.difference(&self.files_asked).cloned().collect();
            let first = self.files_pending.is_empty() && self.workers == 0;
            rule("scope: no question about files asked before", first || !new.is_empty())?;
            rule(
                "scope: the question names its files",
                new.iter().all(|file| {
                    self.input.always_allowed.allows(file)
                        || self.may_change.contains(file)
                        || question.text.contains(file.as_str())
                }),
            )?;
            self.files_asked.extend(new);
        }
        Ok(())
    }

    fn look_at_record(&mut self, record: &Record, event: &Event) -> Result<(), String> {
        match record {
            Record::Attempt(attempt) => {
                self.spent_round = self.spent_round.max(attempt.round);
                let excused = matches!(
                    event,
                    Event::WorkerFailed { .. } | Event::Interrupted { .. } | Event::ActionFailed { .. }
                );
                rule("inconclusive: a failure to work is no attempt", !excused)?;
            }
            Record::Inherit(inherited) => {
                self.inherit = true;
                let told = self.input.inherited.attempts.len() <= inherited.attempts.len();
                rule("follow-up: is told everything", told)?;
            }
            Record::Settled { key, how } => {
                match how {
                    Settled::Resolved { grade, .. } => {
                        rule("cancel: nothing is resolved after it", !self.cancelled)?;
                        rule(
                            "evidence: a broken thing is not resolved",
                            self.accepted.contains(key) || !self.against.contains(key),
                        )?;
                        let supported = match grade {
                            Grade::Accepted => self.accepted.contains(key),
                            grade => self.grades.get(key).is_some_and(|grades| grades.contains(grade)),
                        };
                        let subject = self.input.subjects.iter().any(|subject| subject.key == *key);
                        rule("evidence: nothing is resolved without it", supported || !subject)?;
                        rule(
                            "regressions: are gone before anything is resolved",
                            self.regressions.is_empty(),
                        )?;
                        let asked = !self.input.weakened_tests_are_asked || self.weakening_accepted;
                        rule("weakened: the user has the word", asked || !self.weakened)?;
                        let fixer_spoke = matches!(event, Event::Reported { report: Report::Fixer(_), .. });
                        rule("evidence: a fixer's own word is none", !fixer_spoke)?;
                    }
                    Settled::Demoted { .. } => {
                        rule("evidence: only a verifier demotes", self.demoted.contains(key))?;
                    }
                    Settled::Deferred { .. } => {
                        rule("defer: the user or the recommendation said so", self.deferred)?
                    }
                    Settled::Disputed { .. } => rule("dispute: this protocol has no checker", false)?,
                    Settled::Manual { .. } | Settled::Open { .. } => {}
                }
                self.settled.insert(key.clone(), how.clone());
            }
            _ => {}
        }
        Ok(())
    }
}
