//! The rules of the protocol, judged from outside: from the events and steps of a trace, and nothing of the machine.

use std::collections::{BTreeMap, BTreeSet};

use super::super::super::vocabulary::*;
use super::super::{LOOPS, RAISES, RereviewInput, parse_exhaustion};

pub(super) const THREE_FIXES: &str = "never more than two loops";
pub(super) const FRESH_WORKERS: &str = "every dispatch has a new worker";
pub(super) const ONE_AT_A_TIME: &str = "one action is awaited at a time";
pub(super) const CHECKPOINT_FIRST: &str = "a checkpoint stands before every dispatch";
pub(super) const RAISE_ON_EVIDENCE: &str = "a raise needs new evidence or a person";
pub(super) const RAISE_CAP: &str = "at most two raises without a person, never above the ladder";
pub(super) const EVIDENCE: &str = "done needs a reviewer's SHIP with evidence, or a person's acceptance";
pub(super) const RED: &str = "done is never said on a red check";
pub(super) const REVIEW_AFTER_CHECKS: &str = "a fix is staged and checked before its review";
pub(super) const GATE: &str = "a final gate speaks before done";
pub(super) const PERSON: &str = "an appeal, a raise, a clarified spec and an acceptance are a person's";
pub(super) const NO_SCOPE_QUESTION: &str = "a file outside the scope is never asked for";
pub(super) const BREACH: &str = "nothing is dispatched after a breach";
pub(super) const ONE_END: &str = "exactly one end: done, blocked or failed";
pub(super) const REASON: &str = "the reason is one line";
pub(super) const BLOCK: &str = "an ending that follows a diagnosis carries the exhaustion block";
pub(super) const RETRIES: &str = "at most two automatic retries";
pub(super) const CANCEL: &str = "a cancel restores the start and ends";
pub(super) const OVERDESIGNED: &str = "an over-designed plan stops at once";
pub(super) const READERS: &str = "a reading role has nothing that it may change";
pub(super) const OSCILLATION: &str = "a tree seen before is not staged";

/// What a watcher remembers of a trace.
#[derive(Clone, Debug)]
pub(super) struct Watcher {
    input: RereviewInput,
    last_worker: u32,
    awaited: BTreeMap<ActionId, Action>,
    rounds: BTreeSet<u32>,
    checkpoint: bool,
    any_checkpoint: bool,
    trees: BTreeSet<TreeId>,
    /// Steps of the ladder that evidence or a person has allowed so far, and how many of them evidence alone.
    allowed: u32,
    by_evidence: u32,
    supported: bool,
    needs_checks: bool,
    seen_before: bool,
    red: bool,
    shipped: bool,
    gate_shipped: bool,
    accepted: bool,
    upheld: bool,
    breach: bool,
    overdesigned: bool,
    cancelled: bool,
    automatic: u32,
    over: bool,
}

impl Watcher {
    pub(super) fn new(input: &RereviewInput) -> Self {
        Watcher {
            input: input.clone(),
            last_worker: 0,
            awaited: BTreeMap::new(),
            rounds: BTreeSet::new(),
            checkpoint: false,
            any_checkpoint: false,
            trees: input.inherited.seen.iter().cloned().collect(),
            allowed: input.inherited.raises,
            by_evidence: input.inherited.raises,
            supported: false,
            needs_checks: false,
            seen_before: false,
            red: false,
            shipped: false,
            gate_shipped: false,
            accepted: false,
            upheld: false,
            breach: false,
            overdesigned: false,
            cancelled: false,
            automatic: 0,
            over: false,
        }
    }

    /// What a later judgement depends on, for telling states apart.
    pub(super) fn key(&self) -> String {
        if self.over || self.cancelled {
            return "ending".to_owned();
        }
        format!(
            "{} {} {} {} {:?}",
            self.rounds.len(),
            self.allowed,
            self.by_evidence,
            self.automatic,
            [
                self.checkpoint,
                self.supported,
                self.needs_checks,
                self.seen_before,
                self.red,
                self.shipped,
                self.gate_shipped,
                self.accepted,
                self.upheld,
                self.breach,
                self.overdesigned,
                self.cancelled,
            ]
        )
    }

    /// Judges one event with the steps that it led to.
    pub(super) fn see(&mut self, event: &Event, steps: &[Step]) -> Result<(), String> {
        if self.over && !steps.is_empty() {
            return Err(ONE_END.to_owned());
        }
        self.event(event, steps)?;
        for step in steps {
            self.step(&step.id, &step.action)?;
        }
        if self.awaited.len() > 1 {
            return Err(ONE_AT_A_TIME.to_owned());
        }
        Ok(())
    }

    fn event(&mut self, event: &Event, steps: &[Step]) -> Result<(), String> {
        match event {
            Event::Cancelled => {
                self.cancelled = true;
                self.awaited
                    .retain(|_, action| matches!(action, Action::Restore { to: RestorePoint::Start }));
            }
            Event::Checkpointed { action, tree } if self.answers(*action) => {
                self.checkpoint = true;
                if !self.any_checkpoint {
                    self.trees.insert(tree.clone());
                }
                self.any_checkpoint = true;
            }
            Event::Reported { action, report, changes, .. } => {
                if let Some(Action::Dispatch(dispatch)) = self.awaited.remove(action) {
                    self.report(&dispatch, report, changes);
                }
            }
            Event::WorkerFailed { action, changes, .. } if self.answers(*action) => {
                self.breach |= !changes.breaches.is_empty();
            }
            Event::Checked { action, checked, changes } => {
                if let Some(Action::RunChecks { when, .. }) = self.awaited.remove(action) {
                    self.breach |= !changes.breaches.is_empty();
                    if when == When::After {
                        let is_red = |(_, verdict): &(FindingKey, CheckVerdict)| {
                            matches!(verdict, CheckVerdict::Persists { .. })
                        };
                        let clear = |(_, verdict): &(FindingKey, CheckVerdict)| {
                            !matches!(verdict, CheckVerdict::Inconclusive { .. })
                        };
                        self.red = checked.findings.iter().any(is_red) || !checked.regressions.is_empty();
                        self.needs_checks = !checked.findings.iter().all(clear);
                    }
                }
            }
            Event::Answered { question, choice, by, .. } => self.answer(*question, *choice, *by, steps)?,
            Event::Interrupted { action }
            | Event::Staged { action }
            | Event::StageRefused { action, .. }
            | Event::Restored { action, .. }
            | Event::ActionFailed { action, .. } => {
                self.answers(*action);
            }
            _ => {}
        }
        Ok(())
    }

    fn answers(&mut self, action: ActionId) -> bool {
        self.awaited.remove(&action).is_some()
    }

    fn report(&mut self, dispatch: &Dispatch, report: &Report, changes: &Changes) {
        self.breach |= !changes.breaches.is_empty();
        let touched = !changes.in_scope.is_empty() || !changes.out_of_scope.is_empty();
        match (dispatch.role, report) {
            (Role::Fixer, Report::Fixer(_)) => {
                self.shipped = false;
                self.gate_shipped = false;
                self.red = false;
                self.needs_checks = true;
                if let Some(tree) = &changes.tree {
                    self.seen_before = !self.trees.insert(tree.clone());
                }
            }
            (Role::Reviewer | Role::FinalGate, Report::Gaps(review)) => {
                let clean = !review.gaps.iter().any(|gap| gap.severity.blocks()) && !self.red;
                let says_ship = review.verdict == GateWord::Ship
                    && clean
                    && !review.evidence.trim().is_empty()
                    && !touched;
                if dispatch.role == Role::Reviewer {
                    self.shipped = says_ship;
                } else {
                    self.gate_shipped = says_ship;
                }
            }
            (Role::Diagnoser, Report::Diagnosis(diagnosis)) if !touched => {
                self.overdesigned |= diagnosis.cause == Cause::OverdesignedPlan;
                let ruled_out: BTreeSet<Cause> = diagnosis
                    .rules_out
                    .iter()
                    .filter(|(_, reason)| !reason.trim().is_empty())
                    .map(|(cause, _)| *cause)
                    .collect();
                self.supported = diagnosis.cause == Cause::ModelCapacity
                    && diagnosis.new_evidence_is_real
                    && diagnosis.new_evidence.as_deref().is_some_and(|text| !text.trim().is_empty())
                    && Cause::ALL
                        .iter()
                        .filter(|cause| **cause != Cause::ModelCapacity)
                        .all(|c| ruled_out.contains(c));
            }
            _ => {}
        }
    }

    fn answer(
        &mut self,
        number: QuestionNumber,
        choice: Choice,
        by: AnsweredBy,
        steps: &[Step],
    ) -> Result<(), String> {
        let asked = self.awaited.iter().find_map(|(id, action)| match action {
            Action::Ask(question) if question.number == number && question.options.contains(&choice) => {
                Some((*id, question.clone()))
            }
            _ => None,
        });
        let Some((id, question)) = asked else { return Ok(()) };
        if steps.is_empty() {
            // The question stays open.
            return Ok(());
        }
        self.awaited.remove(&id);
        let persons = matches!(
            (question.kind, choice),
            (QuestionKind::Appeal, _)
                | (QuestionKind::ModelRaise | QuestionKind::Escalation, Choice::Yes)
                | (_, Choice::AcceptWithoutVerification | Choice::AcceptTestEdit)
        );
        if persons && by == AnsweredBy::Automatic {
            return Err(PERSON.to_owned());
        }
        if by == AnsweredBy::Automatic && matches!(choice, Choice::RetryVerification | Choice::TryAgain) {
            self.automatic += 1;
            if self.automatic > 2 {
                return Err(RETRIES.to_owned());
            }
        }
        match (question.kind, choice) {
            (QuestionKind::Appeal, Choice::Yes) => self.upheld = true,
            (QuestionKind::Appeal, _) => self.shipped = false,
            (QuestionKind::ModelRaise, Choice::Yes) => {
                self.allowed += 1;
                self.supported = false;
            }
            (_, Choice::AcceptWithoutVerification) => self.accepted = true,
            _ => {}
        }
        Ok(())
    }

    fn step(&mut self, id: &ActionId, action: &Action) -> Result<(), String> {
        if self.over {
            return Err(ONE_END.to_owned());
        }
        if action.is_answered() {
            self.awaited.insert(*id, action.clone());
        }
        if self.cancelled
            && !matches!(action, Action::Restore { to: RestorePoint::Start } | Action::Finish(_))
            && action.is_answered()
        {
            return Err(CANCEL.to_owned());
        }
        match action {
            Action::Dispatch(dispatch) => self.dispatched(dispatch)?,
            Action::RunChecks { when: When::After, .. } if !self.checkpoint => {
                return Err(CHECKPOINT_FIRST.to_owned());
            }
            Action::Stage if self.seen_before => return Err(OSCILLATION.to_owned()),
            Action::Ask(question) if question.kind == QuestionKind::Scope && !self.input.scope.is_empty() => {
                return Err(NO_SCOPE_QUESTION.to_owned());
            }
            Action::Finish(ending) => self.finished(ending)?,
            _ => {}
        }
        Ok(())
    }

    fn dispatched(&mut self, dispatch: &Dispatch) -> Result<(), String> {
        let broken = |rule: &str| Err(rule.to_owned());
        if dispatch.worker.0 <= self.last_worker {
            return broken(FRESH_WORKERS);
        }
        self.last_worker = dispatch.worker.0;
        if !std::mem::take(&mut self.checkpoint) {
            return broken(CHECKPOINT_FIRST);
        }
        if self.breach {
            return broken(BREACH);
        }
        if self.overdesigned {
            return broken(OVERDESIGNED);
        }
        if !dispatch.role.may_edit() && !dispatch.scope.is_empty() {
            return broken(READERS);
        }
        if dispatch.role == Role::Fixer && dispatch.focus != Focus::Simplify {
            self.rounds.insert(dispatch.round);
            if self.rounds.len() as u32 > LOOPS || dispatch.round > LOOPS {
                return broken(THREE_FIXES);
            }
        }
        if let Tier::Raised(step) = dispatch.tier {
            if step > self.allowed && std::mem::take(&mut self.supported) {
                self.allowed += 1;
                self.by_evidence += 1;
            }
            if step > self.allowed {
                return broken(RAISE_ON_EVIDENCE);
            }
            if self.by_evidence > RAISES || step > self.input.ladder_len || dispatch.role != Role::Fixer {
                return broken(RAISE_CAP);
            }
        }
        if matches!(dispatch.role, Role::Reviewer | Role::FinalGate) && self.needs_checks {
            return broken(REVIEW_AFTER_CHECKS);
        }
        Ok(())
    }

    fn finished(&mut self, ending: &Ending) -> Result<(), String> {
        let broken = |rule: &str| Err(rule.to_owned());
        self.over = true;
        if !self.awaited.is_empty()
            || !matches!(ending.how, EndedHow::Done | EndedHow::Blocked | EndedHow::Failed)
        {
            return broken(ONE_END);
        }
        if ending.reason.trim().is_empty() || ending.reason.contains('\n') {
            return broken(REASON);
        }
        if self.cancelled && ending.how != EndedHow::Failed {
            return broken(CANCEL);
        }
        if ending.how != EndedHow::Done {
            if let Some(block) = &ending.block {
                let Some(read) = parse_exhaustion(block) else { return broken(BLOCK) };
                if read.attempts != self.rounds.len() as u32 || read.gaps.is_empty() {
                    return broken(BLOCK);
                }
            } else if self.overdesigned && ending.how == EndedHow::Blocked {
                return broken(BLOCK);
            }
            return Ok(());
        }
        if self.input.subjects.is_empty() || self.input.verdict == Some(GateWord::Ship) {
            return Ok(());
        }
        if self.accepted {
            return Ok(());
        }
        if self.red {
            return broken(RED);
        }
        if !self.shipped {
            return broken(EVIDENCE);
        }
        if self.input.has_final_gate && !self.gate_shipped && !self.upheld {
            return broken(GATE);
        }
        Ok(())
    }
}
