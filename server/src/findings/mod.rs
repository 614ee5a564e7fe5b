//! What comes in: the schema of findings, intake, importers, fingerprints and anchors.
//!
//! This module owns the meaning of a findings file: which findings may be worked on, where they are and whether two of
//! them are the same. It never runs a check, never starts an agent, never changes a file and never decides that a finding
//! is resolved: `checks`, `agents`, `workspace` and `protocol` do that, and `lsp` shows it. Everything here is pure except
//! [`tree::DiskTree`], which only reads.
//!
//! The way through: bytes → [`inbox`] (keeps the last good set) → [`import`] (any format to [`ReviewOutput`]) →
//! [`intake`] (what is workable, and why the rest is not) → [`ConfirmedFinding`], the only thing a loop accepts.

pub mod anchor;
pub mod finding;
pub mod fingerprint;
pub mod import;
pub mod inbox;
pub mod intake;
mod reading;
pub mod review_output;
pub mod suggestion;
pub mod tree;

#[cfg(test)]
mod tests;

pub use anchor::{Anchor, BufferEdit, BufferPlace, LineDiff};
pub use finding::{Edit, Finding, FindingCheck, FindingId, Note, Position, Severity, Verdict};
pub use fingerprint::{Cited, Fingerprint, TextLines};
pub use import::{Format, ImportError, Imported, import, import_into, import_with};
pub use inbox::{Change, Content, Inbox};
pub use intake::{
    ConfirmedFinding, Ignored, IgnoredKind, Intake, Memory, Placed, SourceName, UnconfirmedFinding,
    failed_criteria, intake, intake_with,
};
pub use review_output::{LeftOut, ReviewOutput, Unread};
pub use suggestion::{SuggestionRefused, apply_edits, apply_edits_against};
pub use tree::{DiskTree, MemoryTree, PathRefused, SourceText};

/// The JSON Schema of ReviewOutput v1, as `fix-loop schema findings` prints it.
pub fn schema() -> serde_json::Value {
    let mut schema = serde_json::Value::from(schemars::schema_for!(ReviewOutput));
    if let Some(object) = schema.as_object_mut() {
        object.insert("title".to_owned(), serde_json::Value::from("ReviewOutput v1"));
    }
    schema
}

/// The JSON Schema of a single finding.
pub fn finding_schema() -> serde_json::Value {
    serde_json::Value::from(schemars::schema_for!(Finding))
}
