//! The one more time that a missing or incomplete report is asked for, in the same session (DESIGN 6, rule 2).

use std::collections::HashSet;

use serde_json::Value;

use super::brief::{Brief, id_text};
use super::parse::ReportProblem;
use super::prompt::fenced;
use super::report::Report;
use super::role::Role;

/// What an agent is told.
pub(super) fn follow_up(problem: &ReportProblem, schema: &Value) -> String {
    format!(
        "There is no valid report yet: {problem}.\n\nChange nothing and run nothing. Answer with exactly one JSON object that \
         fits this JSON Schema, and with nothing else:\n\n{}\n",
        fenced(&schema.to_string(), "json")
    )
}

/// The brief's ids of which a judging report says nothing.
pub(super) fn missing_from(report: &Report, brief: &Brief) -> Option<String> {
    let said: HashSet<String> = match report {
        Report::Review(review) if brief.role == Role::Verifier => {
            review.findings.iter().map(|finding| id_text(&finding.id)).collect()
        }
        Report::Close(close) => close.findings.iter().map(|cause| cause.id.clone()).collect(),
        Report::Check(check) => {
            check.findings.iter().flat_map(|cause| &cause.from).map(u32::to_string).collect()
        }
        _ => return None,
    };
    let missing: Vec<String> = brief.finding_ids().into_iter().filter(|id| !said.contains(id)).collect();
    (!missing.is_empty()).then(|| missing.join(", "))
}
