//! Words that only the fix and re-review loop uses.

use serde::{Deserialize, Serialize};

use super::identity::Path;
use super::loops::Severity;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum GateWord {
    #[serde(rename = "SHIP")]
    Ship,
    #[serde(rename = "FIX-FIRST")]
    FixFirst,
    #[serde(rename = "BLOCKED")]
    Blocked,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GapReview {
    pub verdict: GateWord,
    pub gaps: Vec<Gap>,
    pub evidence: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gap {
    pub severity: Severity,
    pub text: String,
    pub file: Option<Path>,
    pub line: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    ModelCapacity,
    MissingContext,
    AmbiguousSpec,
    EnvToolFailure,
    OverdesignedPlan,
}

impl Cause {
    pub const ALL: [Cause; 5] = [
        Cause::ModelCapacity,
        Cause::MissingContext,
        Cause::AmbiguousSpec,
        Cause::EnvToolFailure,
        Cause::OverdesignedPlan,
    ];

    pub fn words(self) -> &'static str {
        match self {
            Cause::ModelCapacity => "model-capacity",
            Cause::MissingContext => "missing-context",
            Cause::AmbiguousSpec => "ambiguous-spec",
            Cause::EnvToolFailure => "env-tool-failure",
            Cause::OverdesignedPlan => "overdesigned-plan",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    pub cause: Cause,
    pub evidence: String,
    pub new_evidence: Option<String>,
    /// Set by the engine, never by the worker: output that differs from the last attempt's and was produced since.
    pub new_evidence_is_real: bool,
    /// Reasons that rule out the other causes.
    pub rules_out: Vec<(Cause, String)>,
    pub route: String,
    pub needs: Option<String>,
}
