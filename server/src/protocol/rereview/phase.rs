//! Where a loop can be: what it waits for, and what comes next.

use std::collections::BTreeMap;

use super::super::vocabulary::*;

/// What a subagent is dispatched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    Simplify,
    FirstLook,
    Fix,
    /// No subagent: the checks after a fix. They change the tree too, so a checkpoint stands before them as well.
    Check,
    Review,
    FinalGate,
    Diagnose,
}

/// What could not be done and may be tried again (rule 4).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stuck {
    Job(Job),
    ChecksBefore(Job),
    Staging,
    ChecksAfter,
}

/// What follows once the tree is restored.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Then {
    /// Ask whether to try again.
    Ask(Stuck, String),
    Diagnose,
    /// Dispatch the subagent whose checkpoint was taken.
    Send(Job),
    /// Dispatch a subagent, with a checkpoint of its own.
    Dispatch(Job),
    /// Show what the worker did to the repository.
    AskBreach(String),
    /// The simplification came to nothing: begin as if it had not been asked for.
    LookFirst,
    /// The user gave the verification up.
    GiveUp(String),
    Fail(String),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Asked {
    Scope,
    Stuck(Stuck, String),
    Conflict(String),
    Breach(String),
    /// SHIP, with this evidence, but the fix weakens a test.
    Weakened(String),
    /// The clarifying question.
    Clarify(String),
    Repair(String),
    Raise,
    /// The final gate's review.
    Appeal(GapReview),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phase {
    Fresh,
    Checkpointing(Job),
    Working(Job),
    /// The checks before the first fix; then the subagent is dispatched.
    CheckingBefore(Job),
    Staging,
    CheckingAfter,
    Restoring(RestorePoint, Then),
    Asking(Asked),
    Over,
}

/// The attempt that is being made or was made last.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Draft {
    pub(super) worker: u32,
    pub(super) summary: String,
    pub(super) files: Vec<Path>,
    /// Gaps that the checks show, whatever the reviewer says.
    pub(super) red: Vec<Gap>,
    pub(super) failing: Vec<String>,
    pub(super) grades: BTreeMap<FindingKey, Grade>,
}
