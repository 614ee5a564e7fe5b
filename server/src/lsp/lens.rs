//! Code lenses: a line above each finding that says how it stands, and the one click that fixes it.
//!
//! Owns their titles. Never shows a finding that the diagnostics do not show.

use lsp_types::{CodeLens, Command, Range};
use serde_json::{Value, json};

use crate::engine::FindingView;
use crate::engine::status::FindingState;

use super::actions::{short, with_workspace};
use super::text::printable;

pub(super) fn lenses(
    finding: &FindingView,
    fixing_off: Option<&str>,
    range: Range,
    workspace: Option<&str>,
) -> Vec<CodeLens> {
    let mut lenses = Vec::new();
    let mut push = |title: String, command: &str, arguments: Value| {
        let arguments = Some(vec![with_workspace(arguments, workspace)]);
        let command = Some(Command { title, command: command.to_owned(), arguments });
        lenses.push(CodeLens { range, command, data: None });
    };
    let fingerprint = &finding.detail.fingerprint;
    let title = short(&finding.detail.title);
    let standing = printable(&finding.standing);
    let title = if standing.is_empty() { title } else { format!("{title} — {standing}") };
    push(title, "fix-loop.report", json!({"finding": fingerprint}));
    let offers = &finding.offers;
    let is_work = finding.detail.state == FindingState::Open && !finding.unconfirmed;
    if let (Some(reason), true) = (fixing_off, is_work) {
        // Editors that hide what is disabled would say nothing at all.
        push(format!("Fixing is off: {}", short(reason)), "fix-loop.report", json!({"finding": fingerprint}));
    }
    if offers.fix {
        push("Fix with loop".into(), "fix-loop.fix", json!({"findings": [fingerprint]}));
    }
    if offers.verify {
        push("Verify my fix".into(), "fix-loop.verify", json!({"finding": fingerprint}));
    }
    if let Some(id) = &offers.cancel {
        push("Cancel loop".into(), "fix-loop.cancel", json!({"loop": id}));
    }
    lenses
}
