//! Questions: what only the user can decide, and the fixed words of every answer (DESIGN 6).

use serde::{Deserialize, Serialize};

use super::identity::{FindingKey, QuestionNumber};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    Inconclusive,
    Scope,
    Escalation,
    Conflict,
    DirtyBuffer,
    Breach,
    Resume,
    Trust,
    StandardsOnly,
    Pause,
    Appeal,
    ModelRaise,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub number: QuestionNumber,
    pub kind: QuestionKind,
    pub findings: Vec<FindingKey>,
    /// One sentence.
    pub text: String,
    /// Everything needed to decide: justification, files, what was tried, what is still broken and why.
    pub detail: String,
    pub options: Vec<Choice>,
    pub recommended: Choice,
}

/// Every answer that some question offers. The words are fixed (DESIGN 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    RetryVerification,
    AcceptWithoutVerification,
    RevertAndEscalate,
    ApproveScope,
    RejectScope,
    Defer,
    ManualFix,
    TryDifferentApproach,
    /// Breach, conflict: keep the tree as it is and end the loop with the finding open.
    KeepAndStop,
    /// Breach, conflict, resume: restore the loop's own bytes and end the loop.
    RestoreAndStop,
    /// Resume: go on where the loop was interrupted.
    ResumeLoop,
    /// Conflict: try to stage again after the user has changed the index or the tree.
    TryAgain,
    /// Conflict: leave the fix in the tree, unstaged, and go on.
    LeaveUnstaged,
    /// Weakened test: the user accepts the edit of the test as part of the fix.
    AcceptTestEdit,
    /// Standards-only review approved, or pause lifted, or the raise, or the appeal upheld.
    Yes,
    No,
    /// Pause: end here; the gate says PAUSED.
    StayPaused,
    /// Changed checkout: the change is the user's own; what the worker reported counts.
    KeepCheckout,
    /// Changed checkout: it was the worker; its result is void and another one is sent.
    PutBackCheckout,
}

impl Choice {
    /// The option's words, as shown to people and taken by `answer`.
    pub fn words(self) -> &'static str {
        match self {
            Choice::RetryVerification => "Retry verification",
            Choice::AcceptWithoutVerification => "Accept fix without verification",
            Choice::RevertAndEscalate => "Revert and escalate",
            Choice::ApproveScope => "Approve expanded scope",
            Choice::RejectScope => "Reject — fix within original scope only",
            Choice::Defer => "Defer this finding",
            Choice::ManualFix => "Manual fix",
            Choice::TryDifferentApproach => "Try a different approach",
            Choice::KeepAndStop => "Keep the tree as it is and stop",
            Choice::RestoreAndStop => "Restore and stop",
            Choice::ResumeLoop => "Resume the loop",
            Choice::TryAgain => "Try again",
            Choice::LeaveUnstaged => "Leave the fix unstaged",
            Choice::AcceptTestEdit => "Accept the edit of the test",
            Choice::Yes => "Yes",
            Choice::No => "No",
            Choice::StayPaused => "Stay paused",
            Choice::KeepCheckout => "It was me: keep my checkout and go on",
            Choice::PutBackCheckout => "Put my checkout back and send another worker",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    User,
    /// `--answer recommended`. Bounded by the machine: at most two automatic retries (rule 4).
    Automatic,
}
