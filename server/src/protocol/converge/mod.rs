//! The Review Fix Loop: review once, then fix and close while the burden strictly falls (DESIGN 6, `converge`).
//!
//! Owns the order review → check → fix → close, the ledger of root causes, burden and plateau, recovery, the pauses, and
//! the final report with its `LOOP_GATE` block. Must never believe a worker about its commit (the engine inspects git and
//! reruns validation), never review again, and never resume a decision pause by itself.
//!
//! The loop works in a managed worktree on its own branch; the user's checkout is never touched. Nothing is staged.

mod claims;
mod gate;
mod judging;
mod ledger;
mod machine;
mod pausing;
mod phase;
mod report;
#[cfg(test)]
mod tests;
pub mod world;

use std::collections::BTreeSet;

pub use gate::{Gate, Verdict, parse_gate};
pub use machine::Converge;

use super::vocabulary::*;

/// Where the findings come from.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// The one review, along both axes.
    Review,
    /// Attached, or from a pull request: the review is skipped.
    Attached(Vec<NewFinding>),
}

/// What a loop starts from.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct ConvergeInput {
    pub source: Source,
    pub budget: Budget,
    /// Paths that may be changed beside the files of the confirmed findings.
    pub scope: BTreeSet<Path>,
    /// The user has already approved a review without a spec.
    pub standards_only: bool,
}
