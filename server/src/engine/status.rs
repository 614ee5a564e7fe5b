//! The status object of DESIGN 13, as `fix-loop status --format json` prints it and `fixLoop/status` sends it.

use serde::{Deserialize, Serialize};

use crate::protocol::{Grade, QuestionKind, Severity};

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    pub revision: u64,
    pub driver: Option<Driver>,
    pub counts: Counts,
    pub loops: Vec<StatusLoop>,
    pub questions: Vec<StatusQuestion>,
    /// Only in `status --format json`; the notification leaves it empty and clients page with `fixLoop/findings`.
    #[serde(default)]
    pub findings_detail: Vec<StatusFinding>,
}

/// Who drives this work tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Driver {
    pub pid: u32,
    pub host: String,
    /// This process only follows: another one holds the lock.
    pub read_only: bool,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Counts {
    pub open: u32,
    pub fixing: u32,
    pub verifying: u32,
    pub waiting: u32,
    pub manual: u32,
    pub resolved: u32,
    pub deferred: u32,
    pub disputed: u32,
    pub demoted: u32,
    pub stale: u32,
    pub ignored: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FindingState {
    Open,
    Fixing,
    Verifying,
    Waiting,
    Manual,
    Resolved,
    Deferred,
    Disputed,
    Demoted,
    Stale,
    Ignored,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusLoop {
    pub id: String,
    pub protocol: String,
    /// A state of the protocol's graph, or `queued`.
    pub state: String,
    pub round: u32,
    pub max_rounds: u32,
    /// Ids as given.
    pub findings: Vec<serde_json::Value>,
    pub agent: Option<String>,
    pub seconds: f64,
    pub cost_usd: Option<f64>,
    /// The latest line of the running worker.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub activity: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusQuestion {
    pub id: String,
    pub kind: QuestionKind,
    pub r#loop: Option<String>,
    pub findings: Vec<serde_json::Value>,
    pub text: String,
    pub detail: String,
    pub options: Vec<String>,
    pub recommended: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatusFinding {
    /// As given.
    pub id: serde_json::Value,
    pub fingerprint: String,
    pub severity: Severity,
    pub title: String,
    pub file: Option<String>,
    pub line_start: Option<u32>,
    pub line_end: Option<u32>,
    pub state: FindingState,
    pub evidence: Option<Grade>,
    pub round: Option<u32>,
    pub r#loop: Option<String>,
}
