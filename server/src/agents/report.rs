//! What a subagent must return (DESIGN 8), as types. The JSON Schemas given to agents are made from these.
//!
//! A report says what a worker claims. Nothing here is evidence of an effect: the diff and the checks decide.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::footer::Footer;
use super::lenient;

/// A valid report of some role.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    /// Fixer and recoverer.
    Fix(FixReport),
    /// Fixer and recoverer: a file outside the scope is needed. Never in `rereview`, where it becomes `blocked`.
    Scope(ScopeRequest),
    /// Verifier, and reviewer in `converge`.
    Review(ReviewReport),
    /// Reviewer and final gate in `rereview`.
    Gate(GateReport),
    Check(CheckReport),
    Close(CloseReport),
    Diagnosis(DiagnosisReport),
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FixReport {
    /// `already_resolved`: the problem is not there any more. `declined`: it should not be fixed. `blocked`: it cannot be
    /// fixed here.
    #[serde(default, deserialize_with = "lenient::word")]
    pub status: FixStatus,
    /// Every file you changed, relative to the workspace.
    #[serde(default, deserialize_with = "lenient::texts")]
    pub files_changed: Vec<String>,
    /// What was wrong and what you changed, in a few sentences.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub summary: String,
    /// What a reviewer should look at.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub concerns: Option<String>,
    /// What keeps you from fixing it.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub blocked_by: Option<String>,
    /// `converge` only.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub footer: Option<Footer>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum FixStatus {
    #[default]
    Fixed,
    AlreadyResolved,
    Declined,
    Blocked,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ScopeRequest {
    /// True when a file outside the scope must be changed. Then nothing else is reported.
    #[serde(default)]
    pub needs_scope_expansion: bool,
    /// The files that are needed beyond the scope, relative to the workspace.
    #[serde(default, deserialize_with = "lenient::texts")]
    pub additional_files: Vec<String>,
    /// Why the fix cannot be made without them.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub justification: String,
}

/// A ReviewOutput (DESIGN 5) as a subagent gives it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewReport {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub schema_version: Option<Value>,
    pub findings: Vec<ReviewedFinding>,
    /// What you ran or looked at, one entry each.
    #[serde(default, deserialize_with = "lenient::texts")]
    pub checks_run: Vec<String>,
    /// `converge` only.
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub footer: Option<Footer>,
}

#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ReviewedFinding {
    /// The id in the brief; for a new finding, one that is not in use.
    #[serde(default)]
    #[schemars(with = "u32")]
    pub id: Value,
    #[serde(default, deserialize_with = "lenient::maybe_word")]
    #[schemars(with = "Severity")]
    pub severity: Option<Severity>,
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub title: String,
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub body: String,
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub file: Option<String>,
    #[serde(default, deserialize_with = "lenient::maybe_line")]
    pub line_start: Option<u32>,
    #[serde(default, deserialize_with = "lenient::maybe_line")]
    pub line_end: Option<u32>,
    /// From 0 to 1.
    #[serde(default)]
    pub confidence: Option<f64>,
    /// The criterion that is broken, in the words it was given in.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub criterion: Option<String>,
    /// `rejected`: not true, or no longer. `confirmed`: true. `demoted`: true, but only as severe as `severity` says.
    #[serde(default, deserialize_with = "lenient::maybe_word")]
    pub verdict: Option<Verdict>,
    /// What in the present code shows it: file, line, reason.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub evidence: Option<String>,
    /// `regression` for a problem that the fix brought in.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub origin: Option<String>,
    /// For a regression: the id of the finding whose fix caused it.
    #[serde(default)]
    #[schemars(with = "Option<u32>")]
    pub caused_by: Value,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[schemars(inline)]
pub enum Severity {
    #[serde(alias = "CRITICAL", alias = "BLOCKER")]
    P0,
    #[serde(alias = "HIGH", alias = "MAJOR")]
    P1,
    #[serde(alias = "MEDIUM", alias = "MODERATE")]
    P2,
    #[serde(alias = "LOW", alias = "MINOR", alias = "INFO")]
    P3,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Verdict {
    Confirmed,
    Demoted,
    Rejected,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct GateReport {
    /// `SHIP`: every criterion holds and no CRITICAL or HIGH gap is left. `FIX-FIRST`: gaps are left. `BLOCKED`: it cannot
    /// be decided or fixed here.
    #[serde(deserialize_with = "lenient::word")]
    pub verdict: GateVerdict,
    #[serde(default)]
    pub gaps: Vec<Gap>,
    /// What you ran, and how it ended.
    #[serde(default)]
    pub validation: Vec<ValidationRun>,
    /// What the verdict rests on.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub evidence: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING-KEBAB-CASE")]
#[schemars(inline)]
pub enum GateVerdict {
    Ship,
    FixFirst,
    Blocked,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Gap {
    #[serde(deserialize_with = "lenient::word")]
    pub severity: GapSeverity,
    /// What is missing or wrong.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub text: String,
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub file: Option<String>,
    #[serde(default, deserialize_with = "lenient::maybe_line")]
    pub line: Option<u32>,
    /// What would close it.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub fix: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum GapSeverity {
    #[serde(alias = "P0", alias = "BLOCKER")]
    Critical,
    #[serde(alias = "P1", alias = "MAJOR")]
    High,
    #[serde(alias = "P2", alias = "MODERATE")]
    Medium,
    #[serde(alias = "P3", alias = "MINOR", alias = "INFO")]
    Low,
}

impl GapSeverity {
    /// Whether a gap of this severity keeps the work from shipping.
    pub fn blocks(self) -> bool {
        self <= GapSeverity::High
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ValidationRun {
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub command: String,
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub outcome: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckReport {
    /// One root cause each.
    pub findings: Vec<CheckedCause>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub footer: Option<Footer>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CheckedCause {
    /// `<axis>-<n>`, stable.
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub id: String,
    #[serde(deserialize_with = "lenient::word")]
    pub verdict: CheckVerdict,
    /// The ids of the findings in the brief that have this cause.
    #[serde(default, deserialize_with = "lenient::ids")]
    pub from: Vec<u32>,
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub root_cause: String,
    /// What in the code shows it.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub evidence: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(inline)]
pub enum CheckVerdict {
    Confirmed,
    #[serde(alias = "REJECTED")]
    Disputed,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct CloseReport {
    /// Every root cause of the ledger, and the regressions of the fix.
    pub findings: Vec<ClosedCause>,
    #[serde(skip_deserializing, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub footer: Option<Footer>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct ClosedCause {
    #[serde(deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub id: String,
    #[serde(deserialize_with = "lenient::word")]
    pub state: CloseState,
    /// What in the present code shows it.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub evidence: String,
    /// For a regression: where it is.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub file: Option<String>,
    #[serde(default, deserialize_with = "lenient::maybe_line")]
    pub line: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(inline)]
pub enum CloseState {
    Resolved,
    Open,
    #[serde(alias = "FIX_REGRESSION", alias = "REGRESSION")]
    ConfirmedFixRegression,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct DiagnosisReport {
    #[serde(deserialize_with = "lenient::word")]
    pub cause: Cause,
    /// What shows that this is the cause.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub evidence: String,
    /// Evidence that did not exist at the last attempt; null when there is none.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub new_evidence: Option<String>,
    /// For each other cause, why it is not this one.
    #[serde(default, deserialize_with = "lenient::reasons")]
    #[schemars(with = "ReasonsByCause")]
    pub rules_out: IndexMap<String, String>,
    /// The one next step.
    #[serde(default, deserialize_with = "lenient::text")]
    #[schemars(with = "String")]
    pub route: String,
    /// What a person must supply.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub needs: Option<String>,
}

/// The five causes (DESIGN 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
pub enum Cause {
    ModelCapacity,
    MissingContext,
    AmbiguousSpec,
    EnvToolFailure,
    OverdesignedPlan,
}

/// Only for the schema: some services take no objects with free keys.
#[derive(JsonSchema)]
#[serde(rename_all = "kebab-case")]
#[schemars(inline)]
#[expect(dead_code, reason = "its fields are read by the schema generator only")]
struct ReasonsByCause {
    model_capacity: Option<String>,
    missing_context: Option<String>,
    ambiguous_spec: Option<String>,
    env_tool_failure: Option<String>,
    overdesigned_plan: Option<String>,
}
