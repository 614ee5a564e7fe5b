//! What subagents report, as the protocols take it in. A report is a claim; the guard and the checks decide.

use serde::{Deserialize, Serialize};

use super::actions::Axis;
use super::converge::{Footer, RootCause, RootState};
use super::identity::{FindingKey, Path};
use super::loops::Severity;
use super::rereview::{Diagnosis, GapReview};

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    Fixer(FixerReport),
    NeedsScope(ScopeRequest),
    /// Verifier: one judgement per finding of the brief, plus what is new.
    Judged(Judged),
    /// `converge` reviewer: the findings of its own axis.
    AxisReviewed {
        axis: Axis,
        findings: Vec<NewFinding>,
        footer: Footer,
    },
    /// `converge` checker.
    Consolidated {
        roots: Vec<RootCause>,
        footer: Footer,
    },
    /// `converge` closer.
    Closed {
        states: Vec<(String, RootState, String)>,
        /// The findings of those states that are regressions, each under the id that the closer gave it.
        regressions: Vec<(String, NewFinding)>,
        footer: Footer,
    },
    /// `converge` fixer and recoverer.
    Committed {
        footer: Footer,
        summary: String,
    },
    /// `rereview` reviewer and final gate.
    Gaps(GapReview),
    Diagnosis(Diagnosis),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FixerReport {
    pub status: FixerStatus,
    pub summary: String,
    pub concerns: Option<String>,
    pub blocked_by: Option<String>,
    /// What it says it changed; for display only.
    pub claimed: Vec<Path>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FixerStatus {
    Fixed,
    AlreadyResolved,
    Declined,
    Blocked,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScopeRequest {
    pub files: Vec<Path>,
    pub justification: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    pub findings: Vec<Judgement>,
    pub new: Vec<NewFinding>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    pub key: FindingKey,
    pub verdict: Judging,
    pub evidence: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judging {
    /// `rejected`: no longer true.
    Gone,
    /// `confirmed`, or demoted to P0/P1.
    Persists,
    /// Demoted to P2/P3.
    Demoted,
    /// No verdict, or one without evidence: never a pass (rule 2).
    Unsaid,
}

/// A finding that a worker or a check brought up (rule 7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewFinding {
    pub key: FindingKey,
    pub severity: Severity,
    pub title: String,
    pub body: String,
    pub file: Option<Path>,
    pub line: Option<u32>,
    pub evidence: String,
    pub criterion: String,
    /// The finding whose fix caused it, for `origin: regression`.
    pub caused_by: Option<FindingKey>,
}
