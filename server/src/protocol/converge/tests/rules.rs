//! The rules of the protocol, judged from outside: from the events and steps of a trace, and nothing of the machine.

use std::collections::{BTreeMap, BTreeSet};

use super::super::super::vocabulary::*;
use super::super::{ConvergeInput, Source, Verdict, parse_gate};

pub(super) const REVIEW_ONCE: &str = "an axis that was reviewed is never reviewed again";
pub(super) const ONE_WORKER: &str = "one worker at a time, but for the two axes";
pub(super) const FRESH_WORKERS: &str = "every dispatch has a new worker";
pub(super) const CHECKPOINT_FIRST: &str = "a checkpoint stands before every dispatch";
pub(super) const FALLS: &str = "a fix of its own follows only a lower burden";
pub(super) const RECOVERY: &str = "one recovery for each plateau";
pub(super) const INSPECTED: &str = "a commit is inspected before it is judged";
pub(super) const ZERO: &str = "a pass needs a burden of zero";
pub(super) const AXES: &str = "PASS needs both axes";
pub(super) const APPROVED: &str = "a review without a spec is approved by the user";
pub(super) const DECISION: &str = "a decision pause is resumed by the user only";
pub(super) const RETRIES: &str = "at most two automatic resumes";
pub(super) const GATE: &str = "the end carries the gate as it is";
pub(super) const ONE_END: &str = "exactly one end, and nothing after it";
pub(super) const PAUSE_SAYS: &str = "a pause says reason, worker, evidence, next action and gate";
pub(super) const BUDGET: &str = "no dispatch beyond the budget";
pub(super) const STOP: &str = "a stop of the user is never undone";
pub(super) const READERS: &str = "a reading role has nothing that it may change";
pub(super) const SCOPE_QUESTIONS: &str = "at most two questions about scope in a round";
pub(super) const CHECKOUT: &str = "a changed checkout is the user's to judge before anything follows";

/// What a watcher remembers of a trace.
#[derive(Clone, Debug)]
pub(super) struct Watcher {
    input: ConvergeInput,
    awaited: BTreeMap<ActionId, Action>,
    last_worker: u32,
    workers: u32,
    granted: u32,
    checkpoint: bool,
    prepared: Option<(String, bool, Option<ValidationOutcome>)>,
    approved: bool,
    reviewed: BTreeSet<Axis>,
    findings: BTreeSet<FindingKey>,
    /// Confirmed root causes: whether each is open.
    open: BTreeMap<String, bool>,
    checked: bool,
    red: bool,
    head: String,
    best: Option<u32>,
    round: u32,
    may_fix: bool,
    recoveries: u32,
    must_inspect: bool,
    scope_questions: u32,
    automatic: u32,
    stopped: bool,
    over: bool,
    /// Reports that came while the user's checkout changed.
    held: Vec<(Dispatch, Report, Changes)>,
    /// The user was asked whose such a change is, and has not answered.
    is_foreign: bool,
}

impl Watcher {
    pub(super) fn new(input: &ConvergeInput) -> Self {
        Watcher {
            input: input.clone(),
            awaited: BTreeMap::new(),
            last_worker: 0,
            workers: 0,
            granted: 0,
            checkpoint: false,
            prepared: None,
            approved: input.standards_only,
            reviewed: BTreeSet::new(),
            findings: match &input.source {
                Source::Attached(findings) => keys(findings),
                Source::Review => BTreeSet::new(),
            },
            open: BTreeMap::new(),
            checked: false,
            red: false,
            head: "unknown".to_owned(),
            best: None,
            round: 0,
            may_fix: false,
            recoveries: 0,
            must_inspect: false,
            scope_questions: 0,
            automatic: 0,
            stopped: false,
            over: false,
            held: Vec::new(),
            is_foreign: false,
        }
    }

    /// What a later judgement depends on, for telling states apart.
    pub(super) fn key(&self) -> String {
        if self.over || self.stopped {
            return "ending".to_owned();
        }
        let budget = if self.input.budget.workers > 0 { self.workers - self.granted } else { 0 };
        format!(
            "{:?} {:?} {} {} {} {} {:?}",
            self.reviewed,
            self.best,
            self.recoveries,
            self.scope_questions,
            self.automatic,
            budget,
            [
                self.checkpoint,
                self.approved,
                self.checked,
                self.red,
                self.may_fix,
                self.must_inspect,
                self.is_foreign,
                self.stopped
            ]
        )
    }

    fn burden(&self) -> u32 {
        self.open.values().filter(|open| **open).count() as u32 + u32::from(self.red)
    }

    /// Judges one event with the steps that it led to.
    pub(super) fn see(&mut self, event: &Event, steps: &[Step]) -> Result<(), String> {
        if self.over && !steps.is_empty() {
            return Err(ONE_END.to_owned());
        }
        self.event(event, steps)?;
        for step in steps {
            self.step(step)?;
        }
        let workers = self.awaited.values().filter(|action| matches!(action, Action::Dispatch(_))).count();
        let axes: BTreeSet<Axis> = self.awaited.values().filter_map(axis_of).collect();
        if self.awaited.len() > 1 && (workers != self.awaited.len() || axes.len() != workers) {
            return Err(ONE_WORKER.to_owned());
        }
        Ok(())
    }

    fn event(&mut self, event: &Event, steps: &[Step]) -> Result<(), String> {
        match event {
            Event::Cancelled => {
                self.stopped = true;
                self.awaited.retain(|_, action| matches!(action, Action::Restore { .. }));
            }
            Event::Prepared { action, prepared } if self.awaited.remove(action).is_some() => {
                let outcome = prepared.validation.as_ref().map(|validation| validation.outcome);
                self.prepared = Some((prepared.review_base.clone(), prepared.has_spec, outcome));
                self.head = prepared.head.clone();
            }
            Event::Checkpointed { action, .. } if self.awaited.remove(action).is_some() => {
                self.checkpoint = true;
            }
            Event::Reported { action, report, changes, .. } => {
                if let Some(Action::Dispatch(dispatch)) = self.awaited.remove(action) {
                    if changes.checkout.is_some() {
                        self.is_foreign = true;
                        self.held.push((dispatch, report.clone(), changes.clone()));
                    } else {
                        self.report(&dispatch, report, changes);
                    }
                }
            }
            Event::Inspected { action, inspected } => {
                if let Some(Action::Inspect { claimed_head, .. }) = self.awaited.remove(action) {
                    self.inspected(claimed_head.as_deref(), inspected);
                }
            }
            Event::Answered { question, choice, by, .. } => self.answer(*question, *choice, *by, steps)?,
            Event::WorkerFailed { action, .. }
            | Event::Interrupted { action }
            | Event::Restored { action, .. }
            | Event::ActionFailed { action, .. } => {
                self.awaited.remove(action);
            }
            _ => {}
        }
        Ok(())
    }

    fn report(&mut self, dispatch: &Dispatch, report: &Report, changes: &Changes) {
        let touched = !changes.in_scope.is_empty() || !changes.out_of_scope.is_empty();
        match report {
            Report::AxisReviewed { axis, findings, footer } if footer.done && !touched => {
                self.reviewed.insert(*axis);
                self.findings.extend(keys(findings));
            }
            Report::Consolidated { roots, footer } if footer.done && !touched => {
                let judged: BTreeSet<FindingKey> = roots.iter().flat_map(|root| root.from.clone()).collect();
                if self.findings.is_subset(&judged) {
                    self.checked = true;
                    self.open =
                        roots.iter().filter(|r| r.confirmed).map(|root| (root.id.clone(), true)).collect();
                    self.best = Some(self.burden());
                    self.may_fix = true;
                }
            }
            Report::Committed { footer, .. } if footer.done => self.must_inspect = true,
            Report::Closed { states, footer, .. }
                if footer.done
                    && !touched
                    && dispatch.role == Role::Closer
                    && states.iter().any(|(id, ..)| self.open.contains_key(id)) =>
            {
                self.closed(states);
            }
            _ => {}
        }
    }

    fn closed(&mut self, states: &[(String, RootState, String)]) {
        let resolved: BTreeSet<&String> = states
            .iter()
            .filter(|(_, state, evidence)| *state == RootState::Resolved && !evidence.trim().is_empty())
            .map(|(id, ..)| id)
            .collect();
        for (id, open) in &mut self.open {
            *open = !resolved.contains(id);
        }
        for (id, state, _) in states {
            if *state == RootState::ConfirmedFixRegression {
                self.open.insert(id.clone(), true);
            }
        }
        let burden = self.burden();
        if self.best.is_none_or(|best| burden < best) {
            self.best = Some(burden);
            self.may_fix = true;
            self.recoveries = 0;
        }
    }

    fn inspected(&mut self, claimed: Option<&str>, seen: &Inspected) {
        let is_true =
            claimed == Some(seen.head.as_str()) && seen.clean && seen.on_branch && seen.base_is_ancestor;
        let is_new = !seen.new_commits.is_empty() && seen.tree.0 != super::super::world::START;
        let is_taken = claimed == Some(self.head.as_str());
        if is_true && (is_new || is_taken) {
            self.head = seen.head.clone();
            let base = self.prepared.as_ref().and_then(|(.., outcome)| *outcome);
            match seen.validation.as_ref().map(|validation| validation.outcome) {
                Some(ValidationOutcome::Fail) => {
                    self.red = !seen.new_failures.is_empty() || base != Some(ValidationOutcome::Fail);
                    self.must_inspect = false;
                }
                Some(ValidationOutcome::Pass) => {
                    self.red = false;
                    self.must_inspect = false;
                }
                _ => {}
            }
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
        let is_automatic = by == AnsweredBy::Automatic;
        match (question.kind, choice) {
            (QuestionKind::StandardsOnly, Choice::Yes) => self.approved = true,
            (QuestionKind::Breach, _) => {
                if is_automatic {
                    return Err(CHECKOUT.to_owned());
                }
                self.is_foreign = false;
                self.stopped = choice == Choice::StayPaused;
                let held = std::mem::take(&mut self.held);
                for (dispatch, report, changes) in held.iter().filter(|_| choice == Choice::KeepCheckout) {
                    self.report(dispatch, report, changes);
                }
            }
            (QuestionKind::Pause, Choice::ResumeLoop) => {
                if is_automatic && question.text.contains("(decision)") {
                    return Err(DECISION.to_owned());
                }
                self.automatic += u32::from(is_automatic);
                if self.automatic > 2 {
                    return Err(RETRIES.to_owned());
                }
                if question.detail.contains("one more recoverer") {
                    self.recoveries = 0;
                }
                if question.text.contains("budget") {
                    self.granted = self.workers;
                }
            }
            (QuestionKind::Pause, _) => {
                if is_automatic {
                    return Err(DECISION.to_owned());
                }
                self.stopped = true;
            }
            _ => {}
        }
        Ok(())
    }

    fn step(&mut self, step: &Step) -> Result<(), String> {
        let broken = |rule: &str| Err(rule.to_owned());
        if self.over {
            return broken(ONE_END);
        }
        if step.action.is_answered() {
            self.awaited.insert(step.id, step.action.clone());
            if self.stopped && !matches!(step.action, Action::Restore { .. }) {
                return broken(STOP);
            }
        }
        match &step.action {
            Action::Dispatch(_) | Action::Inspect { .. } | Action::Checkpoint if self.is_foreign => {
                broken(CHECKOUT)
            }
            Action::Finish(ending) if self.is_foreign && ending.how != EndedHow::Cancelled => {
                broken(CHECKOUT)
            }
            Action::Dispatch(dispatch) => self.dispatched(dispatch),
            Action::Ask(question) if question.kind == QuestionKind::Pause => {
                let detail = &question.detail;
                let says = ["Reason: ", "Worker: ", "Evidence: ", "Next action: "]
                    .iter()
                    .all(|part| detail.contains(part));
                let is_paused = parse_gate(detail).is_some_and(|gate| gate.verdict == Verdict::Paused);
                if says && is_paused { Ok(()) } else { broken(PAUSE_SAYS) }
            }
            Action::Ask(question) if question.kind == QuestionKind::Scope => {
                self.scope_questions += 1;
                if self.scope_questions > 2 { broken(SCOPE_QUESTIONS) } else { Ok(()) }
            }
            Action::Finish(ending) => self.finished(ending),
            _ => Ok(()),
        }
    }

    fn dispatched(&mut self, dispatch: &Dispatch) -> Result<(), String> {
        let broken = |rule: &str| Err(rule.to_owned());
        if dispatch.worker.0 <= self.last_worker {
            return broken(FRESH_WORKERS);
        }
        self.last_worker = dispatch.worker.0;
        self.workers += 1;
        let cap = self.input.budget.workers;
        if cap > 0 && self.workers - self.granted > cap {
            return broken(BUDGET);
        }
        let is_second_axis = self.awaited.len() > 1;
        if !self.checkpoint && !is_second_axis {
            return broken(CHECKPOINT_FIRST);
        }
        self.checkpoint = false;
        if !dispatch.role.may_edit() && !dispatch.scope.is_empty() {
            return broken(READERS);
        }
        let is_new_round = dispatch.round > self.round;
        match (dispatch.role, &dispatch.focus) {
            (Role::Reviewer, Focus::Axis(axis)) => {
                if self.reviewed.contains(axis) || self.checked {
                    return broken(REVIEW_ONCE);
                }
                let has_spec = self.prepared.as_ref().is_some_and(|(_, has_spec, _)| *has_spec);
                if !has_spec && (*axis == Axis::Spec || !self.approved) {
                    return broken(APPROVED);
                }
            }
            (Role::Fixer, _) if is_new_round && !std::mem::take(&mut self.may_fix) => return broken(FALLS),
            (Role::Recoverer, _) if is_new_round => {
                self.recoveries += 1;
                if self.recoveries > 1 {
                    return broken(RECOVERY);
                }
            }
            (Role::Closer, _) if self.must_inspect => return broken(INSPECTED),
            _ => {}
        }
        if dispatch.role.may_edit() && is_new_round {
            self.round = dispatch.round;
            self.scope_questions = 0;
        }
        if dispatch.role.may_edit() {
            self.must_inspect = false;
        }
        Ok(())
    }

    fn finished(&mut self, ending: &Ending) -> Result<(), String> {
        let broken = |rule: &str| Err(rule.to_owned());
        self.over = true;
        if !self.awaited.is_empty() {
            return broken(ONE_END);
        }
        let verdict = match ending.how {
            EndedHow::Pass => Verdict::Pass,
            EndedHow::PassStandardsOnly => Verdict::PassStandardsOnly,
            EndedHow::Blocked | EndedHow::Cancelled => Verdict::Paused,
            _ => return broken(ONE_END),
        };
        let Some(gate) = ending.block.as_deref().and_then(parse_gate) else { return broken(GATE) };
        let base = self.prepared.as_ref().map_or("unknown", |(base, ..)| base.as_str());
        if gate.verdict != verdict || gate.review_base != base || gate.final_head != self.head {
            return broken(GATE);
        }
        if verdict == Verdict::Paused {
            return if self.stopped { Ok(()) } else { broken(STOP) };
        }
        if self.burden() > 0 || (!self.findings.is_empty() && !self.checked) {
            return broken(ZERO);
        }
        if gate.open_confirmed_findings != self.burden() {
            return broken(GATE);
        }
        let has_both = match &self.input.source {
            Source::Review => self.reviewed.len() == 2,
            Source::Attached(_) => self.prepared.as_ref().is_some_and(|(_, has_spec, _)| *has_spec),
        };
        let has_standards = self.reviewed.contains(&Axis::Standards) || self.input.source != Source::Review;
        if has_both != (verdict == Verdict::Pass) || !has_standards {
            return broken(AXES);
        }
        Ok(())
    }
}

fn keys(findings: &[NewFinding]) -> BTreeSet<FindingKey> {
    findings.iter().filter(|finding| finding.severity.blocks()).map(|finding| finding.key.clone()).collect()
}

fn axis_of(action: &Action) -> Option<Axis> {
    match action {
        Action::Dispatch(Dispatch { focus: Focus::Axis(axis), .. }) => Some(*axis),
        _ => None,
    }
}
