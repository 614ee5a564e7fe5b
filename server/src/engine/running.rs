//! One loop as the ledger tells it: its machine, and what carrying out its actions brought about.
//!
//! Owns the fold. [`LoopRun::apply`] is the only way in which a loop changes, live and when the ledger is read back, so that
//! a restart can give no other state than the one that was there.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::protocol::bounded::{Bounded, BoundedInput};
use crate::protocol::converge::{Converge, ConvergeInput, Gate, Verdict, parse_gate};
use crate::protocol::rereview::{Rereview, RereviewInput};
use crate::protocol::{
    Action, ActionId, Attempt, Event, FindingKey, Inherited, Machine, NewFinding, QuestionNumber, Record,
    Role, Root, Settled, Standing, Step, View, When, WorkerId,
};
use crate::workspace::{Checkpoint, FileState, OwnBytes, RepoPath, Scope, SetAside, StagedEntries};

use super::checking::Before;
use super::ledger::{LoopId, Opened, Produced};
use super::managed::Managed;

/// The state of each path that a loop changed; `None`: deleted.
pub type FixStates = BTreeMap<RepoPath, Option<FileState>>;

/// What a machine is started with; the ledger keeps it, so that the same machine can be made again.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum MachineStart {
    Bounded(BoundedInput),
    Converge(ConvergeInput),
    Rereview(RereviewInput),
}

impl MachineStart {
    pub fn protocol(&self) -> &'static str {
        match self {
            MachineStart::Bounded(_) => "bounded",
            MachineStart::Converge(_) => "converge",
            MachineStart::Rereview(_) => "rereview",
        }
    }

    pub fn budget(&self) -> crate::protocol::Budget {
        match self {
            MachineStart::Bounded(input) => input.budget,
            MachineStart::Converge(input) => input.budget,
            MachineStart::Rereview(input) => input.budget,
        }
    }

    fn machine(&self) -> Box<dyn Machine + Send + Sync> {
        match self {
            MachineStart::Bounded(input) => Box::new(Bounded::new(input.clone())),
            MachineStart::Converge(input) => Box::new(Converge::new(input.clone())),
            MachineStart::Rereview(input) => Box::new(Rereview::new(input.clone())),
        }
    }
}

/// One subagent, for the run report and the status.
#[derive(Clone, Debug, PartialEq)]
pub struct WorkerLine {
    pub worker: WorkerId,
    pub action: ActionId,
    pub role: Role,
    pub agent: String,
    pub model: Option<String>,
    pub round: u32,
    pub process: Option<crate::process::Identity>,
    pub seconds: f64,
    pub cost_usd: Option<f64>,
    pub tokens: Option<u64>,
    /// `None` while it works.
    pub outcome: Option<String>,
}

/// What the loop's actions left behind, all of it from the ledger.
#[derive(Clone, Debug, Default)]
pub struct Traces {
    /// Under the number of the action that made them.
    pub checkpoints: BTreeMap<ActionId, Checkpoint>,
    pub first_checkpoint: Option<ActionId>,
    pub last_checkpoint: Option<ActionId>,
    /// Milliseconds since the epoch.
    pub last_checkpoint_at: u64,
    /// The first checkpoint after the latest resolution.
    pub after_resolution: Option<ActionId>,
    /// Something was resolved, and no checkpoint was taken since.
    pub resolution_pending: bool,
    /// What each path of the scope stood for when it was first given to a worker: a link that a worker leaves there later
    /// widens nothing.
    pub scopes: BTreeMap<String, Scope>,
    /// Every state that the loop ever gave to a path or an index entry.
    pub own: OwnBytes,
    /// What the loop's fix is now: the state of each path that it changed.
    pub fix: FixStates,
    /// The same at each checkpoint, for restores.
    pub fix_at: BTreeMap<ActionId, FixStates>,
    /// What is in the index on behalf of this loop.
    pub staged: StagedEntries,
    pub set_aside: Vec<SetAside>,
    pub before: Option<Before>,
    /// Digests of what the checks said: before the fix (round 0), and after the latest attempt of each round.
    pub outputs: BTreeMap<u32, String>,
    pub managed: Option<Managed>,
    pub workers: Vec<WorkerLine>,
    pub attempts: Vec<Attempt>,
    pub notes: Vec<String>,
    pub decisions: Vec<Decided>,
    pub found: Vec<NewFinding>,
    /// `converge`: the consolidated root causes as they stand, regressions of the fix included.
    pub roots: Vec<Root>,
    /// `converge`: the user's checkout before each worker since the latest checkpoint, under its dispatch.
    pub checkout: BTreeMap<ActionId, Checkpoint>,
    /// What changed there meanwhile, in the order in which it was seen.
    pub checkout_changed: Vec<(ActionId, SetAside)>,
    pub settled: BTreeMap<FindingKey, Settled>,
    pub inherit: Option<Inherited>,
}

/// Said where an action came before any checkpoint.
pub const NO_CHECKPOINT: &str = "there is no checkpoint yet";

impl Traces {
    pub fn first_checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoints.get(&self.first_checkpoint?)
    }

    pub fn last_checkpoint(&self) -> Option<&Checkpoint> {
        self.checkpoints.get(&self.last_checkpoint?)
    }
}

/// A person's recorded decision.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Decided {
    pub about: String,
    pub old: String,
    pub new: String,
    pub reason: String,
    /// Milliseconds since the epoch.
    pub at: u64,
}

pub struct LoopRun {
    pub opened: Opened,
    machine: Box<dyn Machine + Send + Sync>,
    pub view: View,
    pub traces: Traces,
    /// Begun and not answered yet.
    pub begun: BTreeSet<ActionId>,
    /// Interrupted, and what they left behind is known.
    pub left_behind: BTreeSet<ActionId>,
    pub started_at: Option<u64>,
    pub ended_at: Option<u64>,
    /// Bytes restored by `undo`.
    pub undone: bool,
    /// The ledger's revision when the loop last changed.
    pub changed: u64,
}

impl LoopRun {
    pub fn open(opened: Opened) -> LoopRun {
        let machine = opened.start.machine();
        let view = machine.view();
        LoopRun {
            opened,
            machine,
            view,
            traces: Traces::default(),
            begun: BTreeSet::new(),
            left_behind: BTreeSet::new(),
            started_at: None,
            ended_at: None,
            undone: false,
            changed: 0,
        }
    }

    pub fn id(&self) -> LoopId {
        self.opened.id
    }

    pub fn is_queued(&self) -> bool {
        self.started_at.is_none() && self.ended_at.is_none()
    }

    pub fn is_ended(&self) -> bool {
        self.ended_at.is_some()
    }

    /// Nothing but a question is awaited.
    pub fn is_waiting(&self) -> bool {
        !self.is_queued()
            && !self.is_ended()
            && !self.view.outstanding.is_empty()
            && self.view.outstanding.iter().all(|step| matches!(step.action, Action::Ask(_)))
    }

    /// Something other than a question is awaited.
    pub fn is_working(&self) -> bool {
        !self.is_queued() && !self.is_ended() && !self.is_waiting()
    }

    pub fn writes_in_the_users_tree(&self) -> bool {
        !matches!(self.opened.start, MachineStart::Converge(_))
    }

    /// The gate of a converging loop that is not at its end.
    pub fn paused_gate(&self) -> Option<Gate> {
        if self.is_ended() || self.writes_in_the_users_tree() {
            return None;
        }
        if let Some(told) = self.open_question().and_then(|open| parse_gate(&open.detail)) {
            return Some(told);
        }
        let unknown = || "unknown".to_owned();
        let managed = self.traces.managed.as_ref();
        Some(Gate {
            verdict: Verdict::Paused,
            review_base: managed.map_or_else(unknown, |managed| managed.review_base.clone()),
            final_head: managed.map_or_else(unknown, |managed| managed.head.clone()),
            open_confirmed_findings: self.traces.roots.iter().filter(|root| root.is_open()).count() as u32,
        })
    }

    /// Feeds one event to the machine and keeps what it records.
    pub fn event(&mut self, at: u64, event: Event) -> Vec<Step> {
        if let Some(action) = answered(&event) {
            self.begun.remove(&action);
        }
        if matches!(event, Event::Started) {
            self.started_at.get_or_insert(at);
        }
        let steps = self.machine.handle(at, event);
        for step in &steps {
            match &step.action {
                Action::Record(record) => self.record(at, record),
                Action::Finish(_) => {
                    self.ended_at.get_or_insert(at);
                }
                _ => {}
            }
        }
        self.view = self.machine.view();
        steps
    }

    fn record(&mut self, at: u64, record: &Record) {
        let traces = &mut self.traces;
        match record {
            Record::Settled { key, how } => {
                if matches!(how, Settled::Resolved { .. } | Settled::Demoted { .. }) {
                    traces.resolution_pending = true;
                }
                traces.settled.insert(key.clone(), how.clone());
            }
            Record::Found(found) => {
                traces.found.retain(|known| known.key != found.key);
                traces.found.push(found.clone());
            }
            Record::Roots(roots) => traces.roots = roots.clone(),
            Record::Attempt(attempt) => traces.attempts.push(attempt.clone()),
            Record::Note(note) => traces.notes.push(note.clone()),
            Record::Decision { about, old, new, reason } => traces.decisions.push(Decided {
                about: about.clone(),
                old: old.clone(),
                new: new.clone(),
                reason: reason.clone(),
                at,
            }),
            Record::Inherit(inherited) => traces.inherit = Some(inherited.clone()),
        }
    }

    pub fn produced(&mut self, at: u64, action: ActionId, produced: Produced) {
        let traces = &mut self.traces;
        match produced {
            Produced::Checkpoint(checkpoint) => {
                traces.first_checkpoint.get_or_insert(action);
                traces.last_checkpoint = Some(action);
                // When it was begun: what is saved while it is taken is saved after it.
                traces.last_checkpoint_at = millis(checkpoint.taken_at).unwrap_or(at);
                traces.fix_at.insert(action, traces.fix.clone());
                traces.checkout.clear();
                traces.checkout_changed.clear();
                traces.checkpoints.insert(action, checkpoint);
                if std::mem::take(&mut traces.resolution_pending) {
                    traces.after_resolution = Some(action);
                }
            }
            Produced::Worker { worker, role, round, agent, model, .. } => traces.workers.push(WorkerLine {
                worker,
                action,
                role,
                agent,
                model,
                round,
                process: None,
                seconds: 0.0,
                cost_usd: None,
                tokens: None,
                outcome: None,
            }),
            Produced::Process(identity) => {
                if let Some(line) = traces.workers.iter_mut().rev().find(|line| line.action == action) {
                    line.process = Some(identity);
                }
            }
            Produced::WorkerEnded { worker, seconds, cost_usd, tokens, outcome } => {
                if let Some(line) = traces.workers.iter_mut().find(|line| line.worker == worker) {
                    line.seconds = seconds;
                    line.cost_usd = cost_usd;
                    line.tokens = tokens;
                    line.outcome = Some(outcome);
                }
            }
            Produced::SetAside(set_aside) => {
                for change in &set_aside.changes {
                    if set_aside.restored.contains(&change.path) {
                        traces.own.forget(change);
                    }
                }
                traces.set_aside.push(set_aside);
            }
            Produced::Own { own, fix } => {
                traces.own = own;
                traces.fix = fix;
            }
            Produced::LeftBehind(own) => {
                traces.own = own;
                self.left_behind.insert(action);
            }
            Produced::Scoped(scopes) => traces.scopes.extend(scopes),
            Produced::Rebased(rebased) => rebased.apply(traces),
            Produced::Staged(staged) => traces.staged.record(&staged),
            Produced::Before(before) => traces.before = Some(before),
            Produced::Output { when, digest } => {
                let round = if when == When::Before { 0 } else { self.view.round.max(1) };
                traces.outputs.insert(round, digest);
            }
            Produced::Managed(managed) => traces.managed = Some(managed),
            Produced::Checkout(checkpoint) => {
                traces.checkout.insert(action, checkpoint);
            }
            Produced::CheckoutChanged(kept) => traces.checkout_changed.push((action, kept)),
            Produced::Note(note) => traces.notes.push(note),
        }
    }

    pub fn open_question(&self) -> Option<&crate::protocol::Question> {
        if self.is_ended() { None } else { self.view.open_question.as_ref() }
    }

    pub fn question_id(&self, number: QuestionNumber) -> String {
        format!("{}.q{}", self.id(), number.0)
    }

    pub fn standing(&self, key: &FindingKey) -> Option<&Standing> {
        self.view.findings.iter().find(|(known, _)| known == key).map(|(_, standing)| standing)
    }

    pub fn keys(&self) -> impl Iterator<Item = &str> {
        self.opened.findings.iter().map(|finding| finding.fingerprint.as_str())
    }

    pub fn has(&self, fingerprint: &str) -> bool {
        self.keys().any(|key| key == fingerprint)
    }

    /// Ids as given, in the loop's order.
    pub fn shown_ids(&self) -> Vec<serde_json::Value> {
        self.opened.findings.iter().map(|finding| finding.shown.clone()).collect()
    }

    pub fn seconds(&self, now: u64) -> f64 {
        let Some(start) = self.started_at else { return 0.0 };
        (self.ended_at.unwrap_or(now).saturating_sub(start)) as f64 / 1000.0
    }

    pub fn cost_usd(&self) -> Option<f64> {
        let known: Vec<f64> = self.traces.workers.iter().filter_map(|worker| worker.cost_usd).collect();
        (!known.is_empty()).then(|| known.iter().sum())
    }
}

fn millis(at: std::time::SystemTime) -> Option<u64> {
    at.duration_since(std::time::UNIX_EPOCH).ok().and_then(|since| u64::try_from(since.as_millis()).ok())
}

/// The action that an event answers.
fn answered(event: &Event) -> Option<ActionId> {
    match event {
        Event::Checkpointed { action, .. }
        | Event::Reported { action, .. }
        | Event::WorkerFailed { action, .. }
        | Event::Interrupted { action }
        | Event::Checked { action, .. }
        | Event::Staged { action }
        | Event::StageRefused { action, .. }
        | Event::Restored { action, .. }
        | Event::Changed { action, .. }
        | Event::Prepared { action, .. }
        | Event::Inspected { action, .. }
        | Event::ActionFailed { action, .. } => Some(*action),
        Event::Started | Event::Answered { .. } | Event::Cancelled => None,
    }
}
