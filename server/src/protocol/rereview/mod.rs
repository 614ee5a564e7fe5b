//! The Fix-Review Loop: a fixer, then a separate reviewer, at most two loops, then a diagnosis (DESIGN 6, `rereview`).
//!
//! Owns when a fixer, a reviewer, the final gate and the diagnoser are dispatched, which of the five causes is accepted
//! and which route follows, and the exhaustion block. Must never judge whether new evidence is real (the engine compares
//! the outputs), read or write a file, or ask for a wider scope: a fixer that needs another file is blocked, and that goes
//! to the diagnosis.
//!
//! A loop's bytes stay in the tree, staged, when it ends blocked: the group remains in progress. They are restored when
//! it is cancelled, stopped after a breach, or reverted by the user.

mod block;
mod diagnosis;
mod ending;
mod judging;
mod machine;
mod phase;
mod questions;
#[cfg(test)]
mod tests;
pub mod world;

use std::collections::BTreeSet;

pub use block::{Exhaustion, parse_exhaustion, severity_word};
pub use machine::Rereview;

use super::vocabulary::*;

/// Loops (fix dispatches that count) of one run. Never more, whatever a diagnosis asks for.
pub const LOOPS: u32 = 2;

/// Raises of model or effort per group that need no person's decision.
pub const RAISES: u32 = 2;

/// One finding of the group with the gap that the review named.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct GapSubject {
    pub subject: Subject,
    pub gap: Gap,
}

/// What a loop starts from.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
pub struct RereviewInput {
    pub subjects: Vec<GapSubject>,
    /// The review's own word, where it came as a gap list.
    pub verdict: Option<GateWord>,
    pub scope: BTreeSet<Path>,
    pub budget: Budget,
    /// Steps of the fixer's configured ladder.
    pub ladder_len: u32,
    pub has_final_gate: bool,
    pub has_diagnoser: bool,
    /// Simplify first, without spending an attempt; the review is then void and made anew.
    pub simplify: bool,
    pub inherited: Inherited,
}
