//! Actions: what a machine asks of the engine.
//!
//! Owns the words only; what each one does is the engine's (`engine::act`).

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::endings::{Ending, Record};
use super::identity::{ActionId, FindingKey, Path, QuestionNumber, WorkerId};
use super::loops::Role;
use super::questions::Question;

/// An action with the number under which its answer comes back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub id: ActionId,
    pub action: Action,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Record the exact state before a dispatch. Answer: `Checkpointed` or `ActionFailed`.
    Checkpoint,
    /// Start one subagent. Answer: `Reported`, `WorkerFailed` or `Interrupted`.
    /// A checkpoint of this loop always exists before.
    Dispatch(Dispatch),
    /// Run the checks that belong to `findings`. Answer: `Checked` or `ActionFailed`.
    RunChecks { when: When, findings: Vec<FindingKey> },
    /// Stage exactly what this loop changed since its start. Answer: `Staged`, `StageRefused` or `ActionFailed`.
    Stage,
    /// Bring the loop's own bytes (tree and index) back to a recorded state. Answer: `Restored` or `ActionFailed`.
    Restore { to: RestorePoint },
    /// Put those changes of the latest worker that the guard set aside back into the tree, for these paths only (scope
    /// approved; the others stay set aside). Answer: `Changed`, with everything since the latest checkpoint, or
    /// `ActionFailed`.
    PutBack { paths: BTreeSet<Path> },
    /// `converge`: put the user's own checkout back to what it was before the latest worker. Answer: `Restored` or
    /// `ActionFailed`.
    PutBackCheckout,
    /// Ask the user. Answer: `Answered`. The question stays open until then; the machine waits.
    Ask(Question),
    /// The question is settled otherwise; no answer follows.
    Withdraw { question: QuestionNumber },
    /// Write something into the ledger for people and reports; no answer follows.
    Record(Record),
    /// `converge`: pin the base, make the managed worktree, snapshot spec and standards, run validation at the base.
    /// Answer: `Prepared` or `ActionFailed`.
    Prepare,
    /// `converge`: look at the worktree in git and rerun validation. Answer: `Inspected` or `ActionFailed`.
    Inspect { claimed_head: Option<String>, validate: bool },
    /// The loop is over; no answer follows and nothing comes after it.
    Finish(Ending),
}

impl Action {
    /// Whether the machine waits for an answer to this action.
    pub fn is_answered(&self) -> bool {
        !matches!(self, Action::Withdraw { .. } | Action::Record(_) | Action::Finish(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// On the tree as the loop found it (or, in `converge`, at the base).
    Before,
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestorePoint {
    /// The loop's first checkpoint: before its first check and dispatch.
    Start,
    /// After the batch's last resolution: the first checkpoint after the latest `Settled` record that says `Resolved` or
    /// `Demoted`; equals `Start` when there is none.
    LastResolution,
    /// The latest checkpoint: what the worker or the checks did since is undone.
    BeforeWorker,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dispatch {
    pub worker: WorkerId,
    pub role: Role,
    /// From 1.
    pub round: u32,
    pub tier: Tier,
    /// What the worker is asked about, in the order of the brief's ids 1…n.
    pub findings: Vec<FindingKey>,
    /// The paths that it may change.
    pub scope: BTreeSet<Path>,
    /// What was tried before, in this loop and in those it follows.
    pub previous: Vec<Attempt>,
    /// Whether the brief shows the exact diff of this loop.
    pub with_diff: bool,
    /// What the user answered so far.
    pub answers: Vec<Told>,
    pub focus: Focus,
}

/// What, beyond its role, a worker is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Focus {
    /// The role's ordinary work.
    Ordinary,
    /// `converge`: review along one axis.
    Axis(Axis),
    /// `bounded`: judge round 1's diff only. `rereview`: the diagnosis before the first attempt.
    FirstLook,
    /// `bounded`: only name the cause for the escalation text. `rereview`: the diagnosis after an attempt.
    Diagnosis,
    /// `rereview`: the corrective route says what to supply (missing context, clarified question).
    Supplied(String),
    /// `rereview`: simplify without changing behaviour; earlier evidence is void afterwards.
    Simplify,
    /// *Verify my fix*: the user fixed it; nobody else did.
    UsersFix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    Standards,
    Spec,
}

/// Which model setting of the role is used (DESIGN 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// One file.
    Scoped,
    /// Several files.
    CrossFile,
    /// The n-th step of the configured ladder, from 1.
    Raised(u32),
}

/// One earlier attempt, for the next brief and for the escalation text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub round: u32,
    pub worker: WorkerId,
    pub summary: String,
    pub files_changed: Vec<Path>,
    /// Why it did not suffice, in a sentence; for a good one, what resolved it.
    pub outcome: String,
    /// Names of checks or tests that still fail.
    pub failing: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    pub question: String,
    pub choice: String,
}
