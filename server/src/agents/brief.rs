//! What a subagent is given (DESIGN 13): the standard input of a `command` agent, and the source of every prompt.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::role::{ProtocolName, Role};
use crate::findings::Finding;

/// One dispatch, complete: a subagent is told nothing else and is never told anything twice.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Brief {
    pub schema_version: SchemaVersion,
    pub role: Role,
    pub protocol: ProtocolName,
    #[serde(rename = "loop")]
    pub loop_id: String,
    /// From 1.
    #[schemars(range(min = 1))]
    pub round: u32,
    pub worker: String,
    /// The folder to work in, absolute.
    pub workspace: String,
    /// Findings as in DESIGN 5, with the ids 1…n.
    #[schemars(with = "Vec<Finding>")]
    pub findings: Vec<Value>,
    /// The paths that may be changed, relative to the workspace.
    pub scope: Vec<String>,
    pub criteria: Vec<String>,
    pub checks: Vec<NamedCheck>,
    /// What was tried before and why it did not suffice.
    pub previous: Vec<Previous>,
    /// The exact diff of this loop, for those who judge it.
    pub diff: Option<String>,
    /// The revision that the diff is against.
    pub base: Option<String>,
    pub questions_answered: Vec<Answered>,
    /// What is asked beyond the ordinary work of the role.
    pub instructions: String,
    /// The JSON Schema of the report.
    #[schemars(with = "serde_json::Map<String, Value>")]
    pub report_schema: Value,
}

/// The JSON Schema of a brief, published as `server/schemas/brief.json`.
pub fn schema() -> Value {
    let mut schema = Value::from(schemars::schema_for!(Brief));
    schema["title"] = Value::from("Brief v1");
    // A root cause of `converge` is told as a finding too, and has only what is known of it.
    schema["$defs"]["Finding"]["required"] = Value::from(vec!["id"]);
    schema
}

impl Brief {
    /// Whether it asks for anything at all. An empty brief is never dispatched (DESIGN 8).
    pub fn is_empty(&self) -> bool {
        let blank = |text: &str| text.trim().is_empty();
        self.findings.is_empty()
            && self.criteria.iter().all(|criterion| blank(criterion))
            && self.diff.as_deref().is_none_or(blank)
            && blank(&self.instructions)
    }

    /// The ids of its findings, as text.
    pub fn finding_ids(&self) -> Vec<String> {
        self.findings.iter().filter_map(|finding| finding.get("id").map(id_text)).collect()
    }
}

/// An id as models write it: `1`, `"1"`.
pub(super) fn id_text(id: &Value) -> String {
    match id {
        Value::String(text) => text.trim().to_owned(),
        other => other.to_string(),
    }
}

/// The only version there is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub enum SchemaVersion {
    #[default]
    #[serde(rename = "v1")]
    V1,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct NamedCheck {
    pub name: String,
    pub command: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Previous {
    pub round: u32,
    pub worker: String,
    pub summary: String,
    pub files_changed: Vec<String>,
    pub outcome: String,
    pub failing: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Answered {
    pub question: String,
    pub choice: String,
}
