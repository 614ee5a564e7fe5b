//! The state of one loop, and which event leads where.
//!
//! Owns the phases and the dispatches. Must never interpret a report (`judging`), word a question (`questions`) or end
//! the loop (`ending`) itself.

use std::collections::{BTreeMap, BTreeSet};

use super::super::docket::Docket;
use super::super::explore::{FINISHED, NEW};
use super::super::machine::{Rules, Standing};
use super::super::vocabulary::*;
use super::diagnosis::Trouble;
use super::phase::{Asked, Draft, Job, Phase, Stuck, Then};
use super::{LOOPS, RereviewInput};

/// One run of the Fix-Review Loop over one group.
#[derive(Clone, Debug)]
pub struct Rereview {
    pub(super) input: RereviewInput,
    pub(super) docket: Docket,
    pub(super) phase: Phase,
    /// Fix dispatches that count, the present one included; at most [`LOOPS`].
    pub(super) round: u32,
    /// Of these, the ones in which a fixer was really dispatched.
    pub(super) spent: u32,
    /// Steps of the ladder taken, those of the loops before included.
    pub(super) raises: u32,
    /// What the last review, or the input, says is still wrong.
    pub(super) open: Vec<Gap>,
    pub(super) verdict: Option<GateWord>,
    pub(super) attempts: Vec<Attempt>,
    pub(super) draft: Draft,
    pub(super) answers: Vec<Told>,
    pub(super) supplied: Option<String>,
    pub(super) seen: Vec<TreeId>,
    pub(super) has_baseline: bool,
    pub(super) has_checkpoint: bool,
    /// The simplification is under way; its review replaces the one that the loop came with.
    pub(super) simplifying: bool,
    /// Paths of the loop's own that are changed in the tree.
    pub(super) in_tree: BTreeSet<Path>,
    pub(super) weakened: Vec<Weakened>,
    /// Why the loop is at the diagnosis, and what the last review gave as evidence.
    pub(super) trouble: Trouble,
    pub(super) evidence: String,
    /// The reviewer that said SHIP, for the appeal.
    pub(super) shipped_by: u32,
    pub(super) diagnosis: Option<Diagnosis>,
    pub(super) appeal: Option<String>,
    /// Retries that nobody but the machine's own recommendation asked for (rule 4: at most two).
    pub(super) automatic: u32,
    pub(super) settled: BTreeMap<FindingKey, Settled>,
    pub(super) ending: Option<Ending>,
}

impl Rereview {
    pub fn new(input: RereviewInput) -> Self {
        let mut open: Vec<Gap> = input.subjects.iter().map(|subject| subject.gap.clone()).collect();
        open.sort();
        Rereview {
            docket: Docket::new(input.budget),
            phase: Phase::Fresh,
            round: 0,
            spent: 0,
            raises: input.inherited.raises,
            open,
            verdict: input.verdict,
            attempts: Vec::new(),
            draft: Draft::default(),
            answers: input.inherited.answers.clone(),
            supplied: input.inherited.supplied.clone(),
            seen: input.inherited.seen.clone(),
            has_baseline: false,
            has_checkpoint: false,
            simplifying: false,
            in_tree: BTreeSet::new(),
            weakened: Vec::new(),
            trouble: Trouble::StillGaps,
            evidence: String::new(),
            shipped_by: 0,
            diagnosis: None,
            appeal: None,
            automatic: 0,
            settled: BTreeMap::new(),
            ending: None,
            input,
        }
    }

    pub(super) fn keys(&self) -> Vec<FindingKey> {
        self.input.subjects.iter().map(|subject| subject.subject.key.clone()).collect()
    }

    /// What is still wrong, as the last review says.
    pub fn open_gaps(&self) -> &[Gap] {
        &self.open
    }

    pub(super) fn has_loop_left(&self) -> bool {
        self.round < LOOPS
    }

    pub(super) fn begin(&mut self) {
        if self.input.simplify {
            self.simplifying = true;
            return self.dispatch(Job::Simplify);
        }
        self.look_first();
    }

    /// Diagnoses before the first attempt (DESIGN 6: an over-designed plan stops at once).
    pub(super) fn look_first(&mut self) {
        // A loop that follows another one was diagnosed there, and the user let it go on.
        let follows = !self.input.inherited.attempts.is_empty();
        if follows {
            self.next_round();
        } else if self.verdict == Some(GateWord::Blocked) {
            self.diagnose(Trouble::ReviewBlocked);
        } else if self.input.has_diagnoser {
            self.dispatch(Job::FirstLook);
        } else {
            self.next_round();
        }
    }

    /// Spends a loop on another fixer. Only called while one is left.
    pub(super) fn next_round(&mut self) {
        if !self.has_loop_left() {
            return self.diagnose(Trouble::StillGaps);
        }
        self.round += 1;
        self.dispatch(Job::Fix);
    }

    pub(super) fn diagnose(&mut self, trouble: Trouble) {
        self.trouble = trouble;
        if self.input.has_diagnoser {
            return self.dispatch(Job::Diagnose);
        }
        let diagnosis = super::diagnosis::without_a_diagnoser(&self.trouble, &self.evidence);
        self.take_route(diagnosis, false);
    }

    /// Checkpoint first, then the subagent, if the budget allows one more.
    pub(super) fn dispatch(&mut self, job: Job) {
        if let Some(spent) = self.docket.over_budget(1) {
            let why = format!("the budget of {spent} is spent");
            if job == Job::Review {
                self.attempted(&format!("not reviewed: {why}"));
            }
            return self.finish_open(EndedHow::Blocked, &why, None, Vec::new());
        }
        self.phase = Phase::Checkpointing(job);
        self.docket.give(Action::Checkpoint);
    }

    fn checkpointed(&mut self, job: Job, tree: TreeId) {
        if !self.has_checkpoint {
            self.has_checkpoint = true;
            self.seen.push(tree);
        }
        if matches!(job, Job::Fix | Job::Simplify) && !self.has_baseline {
            self.check_before(job);
        } else {
            self.send(job);
        }
    }

    fn check_before(&mut self, job: Job) {
        self.phase = Phase::CheckingBefore(job);
        self.docket.give(Action::RunChecks { when: When::Before, findings: self.keys() });
    }

    pub(super) fn send(&mut self, job: Job) {
        if job == Job::Check {
            self.phase = Phase::CheckingAfter;
            self.docket.give(Action::RunChecks { when: When::After, findings: self.keys() });
            return;
        }
        let worker = self.docket.next_worker();
        let (role, focus) = match job {
            Job::Simplify => (Role::Fixer, Focus::Simplify),
            Job::FirstLook => (Role::Diagnoser, Focus::FirstLook),
            Job::Fix => match &self.supplied {
                Some(text) => (Role::Fixer, Focus::Supplied(text.clone())),
                None => (Role::Fixer, Focus::Ordinary),
            },
            Job::Check | Job::Review => (Role::Reviewer, Focus::Ordinary),
            Job::FinalGate => (Role::FinalGate, Focus::Ordinary),
            Job::Diagnose => (Role::Diagnoser, Focus::Diagnosis),
        };
        if job == Job::Fix {
            self.spent = self.round;
        }
        if matches!(job, Job::Fix | Job::Simplify) {
            self.draft = Draft { worker: worker.0, ..Draft::default() };
        }
        let mut previous = self.input.inherited.attempts.clone();
        previous.extend(self.attempts.iter().cloned());
        let dispatch = Dispatch {
            worker,
            role,
            round: self.round.max(1),
            tier: self.tier(job),
            findings: self.keys(),
            // A role that may only read has no path that it may change.
            scope: if role.may_edit() { self.input.scope.clone() } else { BTreeSet::new() },
            previous,
            with_diff: !matches!(job, Job::FirstLook | Job::Simplify),
            answers: self.answers.clone(),
            focus,
        };
        self.phase = Phase::Working(job);
        self.docket.give(Action::Dispatch(dispatch));
    }

    /// Only the fixer is ever raised: the ladder is its own.
    fn tier(&self, job: Job) -> Tier {
        let step = self.raises.min(self.input.ladder_len);
        match job {
            Job::Fix if step > 0 => Tier::Raised(step),
            _ if self.input.scope.len() > 1 => Tier::CrossFile,
            _ => Tier::Scoped,
        }
    }

    pub(super) fn stage(&mut self) {
        self.phase = Phase::Staging;
        self.docket.give(Action::Stage);
    }

    pub(super) fn check(&mut self) {
        self.phase = Phase::Checkpointing(Job::Check);
        self.docket.give(Action::Checkpoint);
    }

    pub(super) fn restore(&mut self, to: RestorePoint, then: Then) {
        self.phase = Phase::Restoring(to, then);
        self.docket.give(Action::Restore { to });
    }

    /// Undoes what a worker changed, if anything, and then goes on.
    pub(super) fn undo_then(&mut self, changes: &Changes, then: Then) {
        if changes.in_scope.is_empty() {
            self.then(then)
        } else {
            self.restore(RestorePoint::BeforeWorker, then)
        }
    }

    fn restored(&mut self, to: RestorePoint, then: Then, left_alone: &[Path]) {
        if !left_alone.is_empty() {
            let paths = left_alone.join(", ");
            self.docket.note(format!("left as they are, since they were changed meanwhile: {paths}"));
        }
        if to == RestorePoint::Start {
            self.in_tree.clear();
        }
        self.then(then);
    }

    fn then(&mut self, then: Then) {
        match then {
            Then::Ask(stuck, why) => self.ask_stuck(stuck, why),
            Then::Diagnose => self.diagnose(self.trouble.clone()),
            Then::Send(job) => self.send(job),
            Then::Dispatch(job) => self.dispatch(job),
            Then::AskBreach(what) => self.ask_breach(what),
            Then::LookFirst => {
                self.simplifying = false;
                self.look_first();
            }
            Then::GiveUp(why) => {
                self.trouble = Trouble::NoVerification(why);
                let diagnosis = super::diagnosis::without_a_diagnoser(&self.trouble, "");
                self.take_route(diagnosis, false);
            }
            Then::Fail(why) => self.finish_open(EndedHow::Failed, &why, None, Vec::new()),
        }
    }

    /// Does again what could not be done.
    pub(super) fn again(&mut self, stuck: Stuck) {
        match stuck {
            // The round stays: only its worker is a new one.
            Stuck::Job(job) => self.dispatch(job),
            Stuck::ChecksBefore(job) => self.check_before(job),
            Stuck::Staging => self.stage(),
            Stuck::ChecksAfter => self.check(),
        }
    }

    fn standing(&self, key: &FindingKey) -> Standing {
        if let Some(settled) = self.settled.get(key) {
            return Standing::Settled(settled.clone());
        }
        match &self.phase {
            Phase::Asking(_) => Standing::Waiting,
            Phase::CheckingAfter
            | Phase::Checkpointing(Job::Check | Job::Review | Job::FinalGate)
            | Phase::Working(Job::Review | Job::FinalGate) => Standing::Verifying,
            _ => Standing::Working,
        }
    }
}

impl Rules for Rereview {
    fn docket(&self) -> &Docket {
        &self.docket
    }

    fn docket_mut(&mut self) -> &mut Docket {
        &mut self.docket
    }

    fn start(&mut self) {
        let nothing_blocks = !self.open.iter().any(|gap| gap.severity.blocks());
        match self.verdict {
            Some(GateWord::Ship) if nothing_blocks => {
                return self.finish_done(None, "the review says SHIP: there is nothing to fix");
            }
            // An empty brief is never dispatched, and an unnamed gap is no SHIP.
            Some(GateWord::FixFirst | GateWord::Blocked) if self.input.subjects.is_empty() => {
                let why = "the review is no SHIP, and it names no gap that could be fixed";
                return self.finish_open(EndedHow::Blocked, why, None, Vec::new());
            }
            _ if self.input.subjects.is_empty() => {
                return self.finish_done(None, "there is no finding to work on");
            }
            _ => {}
        }
        if self.input.scope.is_empty() {
            return self.ask_scope();
        }
        self.begin();
    }

    fn cancel(&mut self) {
        let then = Then::Fail("cancelled: the tree is as it was before the loop".to_owned());
        if let Phase::Restoring(RestorePoint::Start, next) = &mut self.phase {
            *next = then;
            return;
        }
        self.docket.drop_everything();
        if self.has_checkpoint {
            self.restore(RestorePoint::Start, then);
        } else {
            self.finish_open(EndedHow::Failed, "cancelled before anything was done", None, Vec::new());
        }
    }

    fn answer(&mut self, step: Step, event: Event) {
        let phase = std::mem::replace(&mut self.phase, Phase::Over);
        match (phase, event) {
            (Phase::Checkpointing(job), Event::Checkpointed { tree, .. }) => self.checkpointed(job, tree),
            (Phase::Checkpointing(job), Event::ActionFailed { reason, .. }) => {
                self.ask_stuck(
                    Stuck::Job(job),
                    format!("the state of the tree could not be recorded: {reason}"),
                );
            }
            (Phase::Working(job), Event::Reported { report, changes, spent, .. }) => {
                self.docket.spend(&spent);
                self.reported(job, report, changes);
            }
            (Phase::Working(job), Event::WorkerFailed { failure, changes, spent, .. }) => {
                self.docket.spend(&spent);
                self.worker_failed(job, &failure, &changes);
            }
            (Phase::Working(job), Event::Interrupted { .. }) => self.dispatch(job),
            (Phase::CheckingBefore(job), Event::Checked { changes, .. }) => {
                self.checked_before(job, &changes)
            }
            (Phase::CheckingBefore(job), Event::ActionFailed { reason, .. }) => {
                self.ask_stuck(Stuck::ChecksBefore(job), format!("the checks could not be run: {reason}"));
            }
            (Phase::Staging, Event::Staged { .. }) => self.check(),
            (Phase::Staging, Event::StageRefused { reason, conflict, .. }) => {
                if conflict {
                    self.ask_conflict(reason);
                } else {
                    self.docket.note(format!("the fix stays unstaged: {reason}"));
                    self.check();
                }
            }
            (Phase::Staging, Event::ActionFailed { reason, .. }) => {
                self.ask_stuck(Stuck::Staging, format!("the fix could not be staged: {reason}"));
            }
            (Phase::CheckingAfter, Event::Checked { checked, changes, .. }) => {
                self.checked_after(checked, &changes)
            }
            (Phase::CheckingAfter, Event::ActionFailed { reason, .. }) => {
                self.ask_stuck(Stuck::ChecksAfter, format!("the checks could not be run: {reason}"));
            }
            (Phase::Restoring(to, then), Event::Restored { left_alone, .. }) => {
                self.restored(to, then, &left_alone);
            }
            (Phase::Restoring(_, then), Event::ActionFailed { reason, .. }) => {
                let before = match then {
                    Then::Fail(why) | Then::Ask(_, why) | Then::GiveUp(why) | Then::AskBreach(why) => {
                        format!("{why}; ")
                    }
                    Then::Diagnose | Then::Send(_) | Then::Dispatch(_) | Then::LookFirst => String::new(),
                };
                let why = format!("{before}the tree could not be restored: {reason}");
                self.finish_open(EndedHow::Failed, &why, None, Vec::new());
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
            Phase::Checkpointing(job) | Phase::Working(job) => match job {
                Job::Simplify => "simplifying",
                Job::FirstLook => "looking first",
                Job::Fix => "fixing",
                Job::Check => "checking",
                Job::Review => "reviewing",
                Job::FinalGate => "final gate",
                Job::Diagnose => "diagnosing",
            },
            Phase::CheckingBefore(_) => "checking before",
            Phase::Staging => "staging",
            Phase::CheckingAfter => "checking",
            Phase::Restoring(..) => "restoring",
            Phase::Asking(asked) => match asked {
                Asked::Scope => "waiting: scope",
                Asked::Stuck(..) => "waiting: inconclusive",
                Asked::Conflict(_) => "waiting: conflict",
                Asked::Breach(_) => "waiting: breach",
                Asked::Weakened(_) => "waiting: weakened test",
                Asked::Clarify(_) => "waiting: clarification",
                Asked::Repair(_) => "waiting: repair",
                Asked::Raise => "waiting: model raise",
                Asked::Appeal(_) => "waiting: appeal",
            },
            Phase::Over => FINISHED,
        }
    }

    fn round(&self) -> u32 {
        self.round
    }

    fn max_rounds(&self) -> u32 {
        LOOPS
    }

    fn ending(&self) -> Option<&Ending> {
        self.ending.as_ref()
    }

    fn standings(&self) -> Vec<(FindingKey, Standing)> {
        self.keys().into_iter().map(|key| (key.clone(), self.standing(&key))).collect()
    }
}
