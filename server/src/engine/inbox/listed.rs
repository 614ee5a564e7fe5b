//! One finding as it is listed, wherever it came from.

use std::collections::BTreeSet;

use serde_json::Value;

use crate::findings::{self, Finding};
use crate::protocol::NewFinding;

/// How a listed finding may be worked on.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine) enum Listing {
    Workable,
    Unconfirmed,
    Ignored(String),
    /// Confirmed P0/P1, and not allowed: exit code 1.
    Refused(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(in crate::engine) struct Listed {
    pub fingerprint: String,
    pub shown: Value,
    pub finding: Finding,
    pub listing: Listing,
    /// Where it is now, after edits.
    pub lines: Option<(u32, u32)>,
    pub stale: bool,
    /// Findings file (of the repository where it lies in it) and line of its entry there.
    pub listed_in: Option<(String, u32)>,
    pub scope: BTreeSet<String>,
}

impl Listed {
    /// A finding of a live loop whose file is gone.
    pub fn only_in_a_loop(fingerprint: &str, shown: &Value, finding: &Finding) -> Listed {
        Listed {
            fingerprint: fingerprint.to_owned(),
            shown: shown.clone(),
            lines: finding.line_start.map(|start| (start, finding.line_end.unwrap_or(start))),
            scope: finding.file.iter().chain(&finding.related_files).cloned().collect(),
            finding: finding.clone(),
            listing: Listing::Workable,
            stale: false,
            listed_in: None,
        }
    }

    /// What people call such a finding.
    pub fn found_id(found: &NewFinding, r#loop: &str) -> String {
        let short: String = found.key.0.chars().take(8).collect();
        format!("{loop}#{short}", loop = r#loop)
    }

    /// A finding that a worker or a check brought up in a loop.
    pub fn found(found: &NewFinding, r#loop: &str) -> Listed {
        let severity = match found.severity {
            crate::protocol::Severity::P0 => findings::Severity::P0,
            crate::protocol::Severity::P1 => findings::Severity::P1,
            crate::protocol::Severity::P2 => findings::Severity::P2,
            crate::protocol::Severity::P3 => findings::Severity::P3,
        };
        let id = Listed::found_id(found, r#loop);
        let mut finding = Finding::new(id.as_str(), severity, found.title.clone());
        finding.body = found.body.clone();
        finding.file = found.file.clone();
        finding.line_start = found.line;
        finding.line_end = found.line;
        finding.criterion = Some(found.criterion.clone());
        finding.evidence = Some(found.evidence.clone());
        finding.verdict = Some(findings::Verdict::Confirmed);
        finding.origin = found.caused_by.as_ref().map(|_| "regression".to_owned());
        finding.caused_by = found.caused_by.as_ref().map(|key| key.0.as_str().into());
        let mut listed = Listed::only_in_a_loop(&found.key.0, &Value::String(id), &finding);
        if !found.severity.blocks() {
            listed.listing = Listing::Ignored("only P0 and P1 are worked on".into());
        }
        listed
    }
}
