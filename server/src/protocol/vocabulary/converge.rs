//! Words that only the converging loop uses.

use serde::{Deserialize, Serialize};

use super::identity::{FindingKey, Path, TreeId};
use super::reports::NewFinding;

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    pub review_base: String,
    pub head: String,
    pub branch: String,
    /// Where the managed worktree is, for people.
    #[serde(default)]
    pub worktree: String,
    /// Paths that differ between `review_base` and `head`: the scope of a finding that names no file.
    #[serde(default)]
    pub changed: Vec<Path>,
    pub has_spec: bool,
    pub has_standards: bool,
    pub validation: Option<Validation>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    pub command: String,
    pub outcome: ValidationOutcome,
    /// Failing tests, or the bounded tail of the output.
    pub failing: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ValidationOutcome {
    Pass,
    Fail,
    NotRun,
}

/// What git says of the managed worktree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspected {
    pub head: String,
    pub clean: bool,
    pub on_branch: bool,
    /// The base is an ancestor of head.
    pub base_is_ancestor: bool,
    /// Commits since the previous inspection (or the initial head), oldest first.
    pub new_commits: Vec<String>,
    pub tree: TreeId,
    pub validation: Option<Validation>,
    /// Failures that validation did not have at the base.
    pub new_failures: Vec<String>,
    /// The same as findings, to be worked on.
    #[serde(default)]
    pub regressions: Vec<NewFinding>,
}

/// The `WORKER_RESULT` footer (DESIGN 6).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Footer {
    pub phase: String,
    pub done: bool,
    pub base: Option<String>,
    pub head: Option<String>,
    pub clean: Option<bool>,
    pub validation: ValidationOutcome,
    pub validation_command: Option<String>,
    pub blocked_by: Option<String>,
    pub open_root_causes: Option<u32>,
}

/// A root cause as a checker reports it, under its stable `<axis>-<n>` id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RootCause {
    pub id: String,
    pub confirmed: bool,
    /// The findings that it consolidates.
    pub from: Vec<FindingKey>,
    pub root_cause: String,
    pub evidence: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RootState {
    Resolved,
    Open,
    ConfirmedFixRegression,
}

/// One root cause, from its consolidation on.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Root {
    /// `<axis>-<n>`.
    pub id: String,
    pub confirmed: bool,
    pub from: Vec<FindingKey>,
    pub root_cause: String,
    /// The latest evidence for its state.
    pub evidence: String,
    /// Of a confirmed one; a disputed one is never open.
    pub state: RootState,
    /// A fix of this loop caused it.
    pub is_regression: bool,
}

impl Root {
    pub fn is_open(&self) -> bool {
        self.confirmed && self.state != RootState::Resolved
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseKind {
    Transient,
    Decision,
}
