//! Events: what the engine tells a machine. Each answers one action, but for the start, a cancel and a person's answer.

use serde::{Deserialize, Serialize};

use super::converge::{Inspected, Prepared};
use super::identity::{ActionId, FindingKey, Path, QuestionNumber, TreeId};
use super::loops::{Grade, Spent};
use super::questions::{AnsweredBy, Choice};
use super::reports::{NewFinding, Report};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The first event of every loop.
    Started,
    Checkpointed {
        action: ActionId,
        tree: TreeId,
    },
    /// A worker gave a valid report. What it says of its effect is not believed: `changes` is what the guard saw.
    Reported {
        action: ActionId,
        report: Report,
        changes: Changes,
        spent: Spent,
    },
    /// A worker ended without a valid report (after the follow-up, where its agent takes one).
    WorkerFailed {
        action: ActionId,
        failure: WorkerFailure,
        changes: Changes,
        spent: Spent,
    },
    /// After a restart: the dispatch was begun and never ended. The engine has already undone what it did.
    Interrupted {
        action: ActionId,
    },
    Checked {
        action: ActionId,
        checked: Checked,
        changes: Changes,
    },
    Staged {
        action: ActionId,
    },
    /// Nothing was staged. `conflict`: the user can settle it (a line that both changed); else it can't be staged at all.
    StageRefused {
        action: ActionId,
        reason: String,
        conflict: bool,
    },
    Restored {
        action: ActionId,
        /// Paths that the user changed meanwhile; they stay as they are.
        left_alone: Vec<Path>,
    },
    /// The changes set aside are back in the tree.
    Changed {
        action: ActionId,
        changes: Changes,
    },
    Prepared {
        action: ActionId,
        prepared: Prepared,
    },
    Inspected {
        action: ActionId,
        inspected: Inspected,
    },
    Answered {
        question: QuestionNumber,
        choice: Choice,
        by: AnsweredBy,
        /// Free text of the user, for questions that take one (a clarified spec, a reason).
        text: Option<String>,
    },
    /// The action could not be carried out (disk full, lock held, git refused). Never a failed attempt (rule 4).
    ActionFailed {
        action: ActionId,
        reason: String,
    },
    Cancelled,
}

/// What the scope guard saw since the checkpoint (DESIGN 7.2). Out-of-scope changes are already set aside and restored,
/// index entries that a worker staged already taken back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// In scope and the loop's own; sorted. In `converge`, committed or not.
    pub in_scope: Vec<Path>,
    /// Set aside as objects; sorted. In `converge` nothing is set aside: these are committed paths, which
    /// `Restore { to: BeforeWorker }` takes back with the commit.
    pub out_of_scope: Vec<Path>,
    /// Unified diff of the set-aside changes, bounded.
    pub out_of_scope_diff: String,
    /// HEAD, branch, stash or tags moved, reset, encoding damage …: one sentence each. Empty means none.
    pub breaches: Vec<String>,
    /// Refs, ignored files, index entries: told to the user, nothing more.
    pub notes: Vec<String>,
    /// Identity of the tree after the guard; `None` when nothing could be observed.
    pub tree: Option<TreeId>,
    /// Tests that the loop's whole diff weakens so far.
    pub weakened: Vec<Weakened>,
    /// `converge`: what changed in the user's own checkout meanwhile and is not known to be the user's.
    #[serde(default)]
    pub checkout: Option<CheckoutChange>,
}

/// What changed in the user's own checkout while a worker was at work elsewhere. Kept as objects, and left as it is: only
/// the user can say whose it is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckoutChange {
    pub paths: Vec<Path>,
    /// Unified diff, bounded.
    pub diff: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Weakened {
    pub path: Path,
    pub line: Option<u32>,
    pub what: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerFailure {
    pub class: FailureClass,
    pub message: String,
    pub advice: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// Crash, hang, garbage.
    Agent,
    Service,
    Account,
    Environment,
    /// Ended well and reported nothing valid.
    NoReport,
    OverLimit,
}

/// The outcome of the checks of each finding asked about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    pub findings: Vec<(FindingKey, CheckVerdict)>,
    /// Checks that passed before and fail now.
    pub regressions: Vec<NewFinding>,
    /// Failures that were there before, flaky runs of other checks: told, never blamed on the fix.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// Resolved as far as checks can say, this well.
    Supported { grade: Grade, why: String },
    /// The finding's own check fails as before.
    Persists { why: String, failing: Vec<String> },
    /// Could not run, timed out, was flaky, was stopped by a signal.
    Inconclusive { why: String },
    /// No check says anything of it (none exists, or the cited lines are unchanged and nothing else changed).
    Silent { why: String },
}
