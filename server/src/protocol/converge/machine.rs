//! The state of one loop, and which event leads where.
//!
//! Owns the phases and the dispatches. Must never interpret a report (`judging`), pause or ask (`pausing`), keep the root
//! causes (`ledger`) or word the end (`report`) itself.

use std::collections::{BTreeMap, BTreeSet};

use super::super::docket::Docket;
use super::super::explore::{FINISHED, NEW};
use super::super::machine::{Rules, Standing};
use super::super::vocabulary::*;
use super::ledger::Ledger;
use super::phase::{Asked, AxisState, Job, Next, Phase, Then};
use super::{ConvergeInput, Source};

/// One run of the Review Fix Loop.
#[derive(Clone, Debug)]
pub struct Converge {
    pub(super) input: ConvergeInput,
    pub(super) docket: Docket,
    pub(super) phase: Phase,
    pub(super) prepared: Option<Prepared>,
    pub(super) standards_only: bool,
    pub(super) axes: BTreeMap<Axis, AxisState>,
    /// Axes whose reviewer gave nothing usable this time, and why.
    pub(super) unusable: Vec<(Axis, PauseKind, u32, String)>,
    /// A reviewer changed the worktree.
    pub(super) touched: bool,
    /// What reviewers gave while the user's checkout changed.
    pub(super) held: Vec<(Step, Event)>,
    /// What the review or the source named, and what regressions came up: workable ones only.
    pub(super) findings: Vec<NewFinding>,
    /// Which axis named what.
    pub(super) named_by: BTreeMap<FindingKey, Axis>,
    pub(super) ledger: Ledger,
    /// The lowest burden so far.
    pub(super) best: Option<u32>,
    /// This plateau has had its recovery.
    pub(super) recovered: bool,
    pub(super) has_disagreement: bool,
    pub(super) round: u32,
    pub(super) scope: BTreeSet<Path>,
    pub(super) scope_questions: u32,
    pub(super) answers: Vec<Told>,
    pub(super) attempts: Vec<Attempt>,
    pub(super) head: Option<String>,
    pub(super) commits: Vec<String>,
    pub(super) seen: Vec<TreeId>,
    pub(super) validation: Option<Validation>,
    pub(super) workers: Vec<String>,
    pub(super) last_worker: u32,
    pub(super) summary: String,
    pub(super) files: Vec<Path>,
    /// Resumes that nobody but the machine's own recommendation asked for (rule 4: at most two).
    pub(super) automatic: u32,
    pub(super) settled: BTreeMap<FindingKey, Settled>,
    pub(super) ending: Option<Ending>,
}

impl Converge {
    pub fn new(input: ConvergeInput) -> Self {
        Converge {
            docket: Docket::new(input.budget),
            phase: Phase::Fresh,
            prepared: None,
            standards_only: false,
            axes: BTreeMap::new(),
            unusable: Vec::new(),
            touched: false,
            held: Vec::new(),
            findings: Vec::new(),
            named_by: BTreeMap::new(),
            ledger: Ledger::default(),
            best: None,
            recovered: false,
            has_disagreement: false,
            round: 0,
            scope: input.scope.clone(),
            scope_questions: 0,
            answers: Vec::new(),
            attempts: Vec::new(),
            head: None,
            commits: Vec::new(),
            seen: Vec::new(),
            validation: None,
            workers: Vec::new(),
            last_worker: 0,
            summary: String::new(),
            files: Vec::new(),
            automatic: 0,
            settled: BTreeMap::new(),
            ending: None,
            input,
        }
    }

    /// The root causes under their stable ids, for briefs and reports.
    pub fn roots(&self) -> &[Root] {
        &self.ledger.roots
    }

    /// The findings that the loop works on, regressions included.
    pub fn findings(&self) -> &[NewFinding] {
        &self.findings
    }

    pub(super) fn keys(&self) -> Vec<FindingKey> {
        self.findings.iter().map(|finding| finding.key.clone()).collect()
    }

    pub(super) fn prepare(&mut self) {
        self.phase = Phase::Preparing;
        self.docket.give(Action::Prepare);
    }

    fn prepared(&mut self, prepared: Prepared) {
        self.head = Some(prepared.head.clone());
        self.validation = prepared.validation.clone();
        let is_empty = prepared.review_base == prepared.head;
        let has_spec = prepared.has_spec;
        self.prepared = Some(prepared);
        match self.input.source.clone() {
            Source::Attached(findings) => {
                self.take_findings(findings);
                self.check_findings();
            }
            Source::Review if is_empty => {
                let why = "there is nothing to review: the head is the review base".to_owned();
                self.pause(PauseKind::Decision, why, None, String::new(), Next::Prepare);
            }
            Source::Review if has_spec => self.review(false),
            Source::Review if self.input.standards_only => self.review(true),
            Source::Review => self.ask_standards_only(),
        }
    }

    /// The one review. It is begun here and nowhere else.
    pub(super) fn review(&mut self, standards_only: bool) {
        self.standards_only = standards_only;
        let spec = if standards_only { AxisState::Skipped } else { AxisState::Pending };
        self.axes = BTreeMap::from([(Axis::Standards, AxisState::Pending), (Axis::Spec, spec)]);
        self.dispatch(Job::Review);
    }

    pub(super) fn pending_axes(&self) -> Vec<Axis> {
        self.axes.iter().filter(|(_, state)| **state == AxisState::Pending).map(|(axis, _)| *axis).collect()
    }

    /// To the checker, or to the end where nothing is workable.
    pub(super) fn check_findings(&mut self) {
        // Whichever axis ended first: the same findings are always numbered in the same way.
        self.findings.sort_by_key(|finding| self.named_by.get(&finding.key).copied());
        if self.findings.is_empty() {
            self.finish_pass("no finding to work on")
        } else {
            self.dispatch(Job::Check)
        }
    }

    /// Checkpoint first, then the subagents, if the budget allows them.
    pub(super) fn dispatch(&mut self, job: Job) {
        let wanted = if job == Job::Review { self.pending_axes().len() as u32 } else { 1 };
        if let Some(spent) = self.docket.over_budget(wanted) {
            let why = format!("the budget of {spent} is spent");
            let evidence =
                format!("{} workers, {:.2} USD used", self.docket.workers_used(), self.docket.cost_usd());
            return self.pause(PauseKind::Decision, why, None, evidence, Next::Grant(job));
        }
        self.phase = Phase::Checkpointing(job);
        self.docket.give(Action::Checkpoint);
    }

    /// A fix or recovery of its own, not a repetition.
    pub(super) fn next_round(&mut self, job: Job) {
        self.round += 1;
        self.scope_questions = 0;
        self.dispatch(job);
    }

    fn send(&mut self, job: Job) {
        if job != Job::Review {
            self.phase = Phase::Working(job);
            return self.send_one(job, None);
        }
        self.phase = Phase::Reviewing;
        for axis in self.pending_axes() {
            self.axes.insert(axis, AxisState::Reviewing);
            self.send_one(job, Some(axis));
        }
    }

    fn send_one(&mut self, job: Job, axis: Option<Axis>) {
        let worker = self.docket.next_worker();
        let (role, name, findings) = match job {
            Job::Review => (Role::Reviewer, "reviewer", Vec::new()),
            Job::Check => (Role::Checker, "checker", self.keys()),
            Job::Fix => (Role::Fixer, "fixer", self.ledger.open_findings()),
            Job::Recover => (Role::Recoverer, "recoverer", self.ledger.open_findings()),
            Job::Close => (Role::Closer, "closer", self.ledger.confirmed_findings()),
        };
        self.workers.push(match axis {
            Some(axis) => format!("{} {name} ({})", worker.0, axis_word(axis)),
            None => format!("{} {name}", worker.0),
        });
        self.last_worker = worker.0;
        let scope = if role.may_edit() { self.scope.clone() } else { BTreeSet::new() };
        let tier = if self.scope.len() > 1 { Tier::CrossFile } else { Tier::Scoped };
        self.docket.give(Action::Dispatch(Dispatch {
            worker,
            role,
            round: self.round.max(1),
            tier,
            findings,
            scope,
            previous: self.attempts.clone(),
            with_diff: true,
            answers: self.answers.clone(),
            focus: axis.map_or(Focus::Ordinary, Focus::Axis),
        }));
    }

    pub(super) fn inspect(&mut self, job: Job, claimed: Option<String>, only_validation: bool) {
        self.phase = Phase::Inspecting { job, claimed: claimed.clone(), only_validation };
        self.docket.give(Action::Inspect { claimed_head: claimed, validate: true });
    }

    pub(super) fn restore(&mut self, then: Then) {
        self.phase = Phase::Restoring(then);
        self.docket.give(Action::Restore { to: RestorePoint::BeforeWorker });
    }

    /// Undoes what a worker changed, if anything, and then goes on.
    pub(super) fn undo_then(&mut self, changes: &Changes, then: Then) {
        if changes.in_scope.is_empty() && changes.out_of_scope.is_empty() && changes.breaches.is_empty() {
            self.then(then);
        } else {
            self.restore(then);
        }
    }

    pub(super) fn then(&mut self, then: Then) {
        match then {
            Then::Pause(pause) => self.ask_pause(pause),
            Then::AskScope(job, files, why) => self.ask_more_scope(job, files, &why),
            Then::Dispatch(job) => self.dispatch(job),
            Then::Cancelled => self.finish_cancelled(),
        }
    }

    pub(super) fn go(&mut self, next: Next) {
        match next {
            Next::Prepare => self.prepare(),
            Next::Dispatch(job) => self.dispatch(job),
            Next::Grant(job) => {
                self.docket.grant_again();
                self.dispatch(job);
            }
            Next::Recover => {
                self.recovered = true;
                self.next_round(Job::Recover);
            }
            Next::Inspect(job, claimed) => self.inspect(job, claimed, false),
            Next::Validate(job) => self.inspect(job, self.head.clone(), true),
            Next::Restore(then) => self.restore(*then),
            Next::PutBack(job) => self.put_checkout_back(job),
        }
    }

    fn standing(&self, key: &FindingKey) -> Standing {
        if let Some(settled) = self.settled.get(key) {
            return Standing::Settled(settled.clone());
        }
        match &self.phase {
            Phase::Asking(_) => Standing::Waiting,
            Phase::Inspecting { .. }
            | Phase::Checkpointing(Job::Check | Job::Close)
            | Phase::Working(Job::Check | Job::Close) => Standing::Verifying,
            _ => Standing::Working,
        }
    }
}

/// What the guard saw in the user's checkout while the worker of this event was at work.
pub(super) fn checkout_change(event: &Event) -> Option<&CheckoutChange> {
    match event {
        Event::Reported { changes, .. } | Event::WorkerFailed { changes, .. } => changes.checkout.as_ref(),
        _ => None,
    }
}

pub(super) fn axis_word(axis: Axis) -> &'static str {
    match axis {
        Axis::Standards => "standards",
        Axis::Spec => "spec",
    }
}

impl Rules for Converge {
    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn docket_mut(&mut self) -> &mut Docket {
        &mut self.docket
    }

    fn start(&mut self) {
        self.prepare();
    }

    fn cancel(&mut self) {
        if let Phase::Restoring(then) = &mut self.phase {
            *then = Then::Cancelled;
            return;
        }
        let is_under_way = matches!(
            self.phase,
            Phase::Reviewing
                | Phase::Working(_)
                | Phase::Inspecting { .. }
                | Phase::PuttingBack(_)
                | Phase::Asking(Asked::Committed(..) | Asked::Checkout(..))
        );
        self.docket.drop_everything();
        if is_under_way { self.restore(Then::Cancelled) } else { self.finish_cancelled() }
    }

    fn answer(&mut self, step: Step, event: Event) {
        let phase = std::mem::replace(&mut self.phase, Phase::Over);
        match (phase, event) {
            (Phase::Preparing, Event::Prepared { prepared, .. }) => self.prepared(prepared),
            (Phase::Preparing, Event::ActionFailed { reason, .. }) => {
                let why = "the loop could not be prepared".to_owned();
                self.pause(PauseKind::Transient, why, None, reason, Next::Prepare);
            }
            (Phase::Checkpointing(job), Event::Checkpointed { tree, .. }) => {
                if self.seen.is_empty() {
                    self.seen.push(tree);
                }
                self.send(job);
            }
            (Phase::Checkpointing(job), Event::ActionFailed { reason, .. }) => {
                let why = "the state of the worktree could not be recorded".to_owned();
                self.pause(PauseKind::Transient, why, None, reason, Next::Dispatch(job));
            }
            (Phase::Reviewing, event) => {
                self.phase = Phase::Reviewing;
                self.axis_answered(&step, event);
            }
            (Phase::Working(job), event) if checkout_change(&event).is_some() => {
                self.ask_checkout(job, vec![(step, event)]);
            }
            (Phase::Working(job), Event::Reported { report, changes, spent, .. }) => {
                self.docket.spend(&spent);
                self.reported(job, report, &changes);
            }
            (Phase::Working(job), Event::WorkerFailed { failure, changes, spent, .. }) => {
                self.docket.spend(&spent);
                self.worker_failed(job, &failure, &changes);
            }
            (Phase::Working(job), Event::Interrupted { .. }) => self.dispatch(job),
            (Phase::Inspecting { job, claimed, only_validation }, Event::Inspected { inspected, .. }) => {
                self.inspected(job, claimed, only_validation, inspected);
            }
            (Phase::Inspecting { job, claimed, only_validation }, Event::ActionFailed { reason, .. }) => {
                let why = "the worktree could not be inspected".to_owned();
                let next = if only_validation { Next::Validate(job) } else { Next::Inspect(job, claimed) };
                self.pause(PauseKind::Transient, why, Some(self.last_worker), reason, next);
            }
            (Phase::Restoring(then), Event::Restored { left_alone, .. }) => {
                if !left_alone.is_empty() {
                    self.docket.note(format!("left as they are: {}", left_alone.join(", ")));
                }
                self.then(then);
            }
            (Phase::Restoring(Then::Cancelled), Event::ActionFailed { reason, .. }) => {
                self.docket.note(format!("the worktree could not be restored: {reason}"));
                self.finish_cancelled();
            }
            (Phase::Restoring(then), Event::ActionFailed { reason, .. }) => {
                let why = "the worktree could not be restored".to_owned();
                let next = Next::Restore(Box::new(then));
                self.pause(PauseKind::Transient, why, Some(self.last_worker), reason, next);
            }
            (Phase::PuttingBack(job), Event::Restored { left_alone, .. }) => {
                if !left_alone.is_empty() {
                    self.docket.note(format!(
                        "left as they are in your checkout, since they changed again: {}",
                        left_alone.join(", ")
                    ));
                }
                self.restore(Then::Dispatch(job));
            }
            (Phase::PuttingBack(job), Event::ActionFailed { reason, .. }) => {
                let why = "your checkout could not be put back".to_owned();
                self.pause(PauseKind::Decision, why, Some(self.last_worker), reason, Next::PutBack(job));
            }
            (Phase::Asking(asked), Event::Answered { choice, by, text, .. }) => {
                self.phase = Phase::Asking(asked.clone());
                if !self.answered(asked, choice, by, text) {
                    self.docket.put_back(step);
                }
            }
            // The docket lets only fitting answers through: an action and its phase are always given out together.
            (phase, _) => {
                self.phase = phase;
                self.docket.put_back(step);
            }
        }
    }

    fn state(&self) -> &'static str {
        match &self.phase {
            Phase::Fresh => NEW,
            Phase::Preparing => "preparing",
            Phase::Reviewing => "reviewing",
            Phase::Checkpointing(job) | Phase::Working(job) => match job {
                Job::Review => "reviewing",
                Job::Check => "checking findings",
                Job::Fix => "fixing",
                Job::Recover => "recovering",
                Job::Close => "closing",
            },
            Phase::Inspecting { .. } => "inspecting",
            Phase::Restoring(_) => "restoring",
            Phase::PuttingBack(_) => "putting back",
            Phase::Asking(asked) => match asked {
                Asked::StandardsOnly => "waiting: standards only",
                Asked::FirstScope | Asked::MoreScope(..) | Asked::Committed(..) => "waiting: scope",
                Asked::Checkout(..) => "waiting: breach",
                Asked::Pause(pause) => match pause.kind {
                    PauseKind::Transient => "paused: transient",
                    PauseKind::Decision => "paused: decision",
                },
            },
            Phase::Over => FINISHED,
        }
    }

    fn round(&self) -> u32 {
        self.round
    }

    fn max_rounds(&self) -> u32 {
        0
    }

    fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    fn standings(&self) -> Vec<(FindingKey, Standing)> {
        self.keys().into_iter().map(|key| (key.clone(), self.standing(&key))).collect()
    }
}
