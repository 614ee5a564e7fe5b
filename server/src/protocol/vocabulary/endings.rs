//! What the ledger keeps for people, and how a loop ends.

use serde::{Deserialize, Serialize};

use super::actions::{Attempt, Told};
use super::converge::Root;
use super::identity::{FindingKey, TreeId};
use super::loops::Grade;
use super::reports::NewFinding;

/// What the ledger keeps beside the events, for people and for the run report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A finding reached an end in this loop.
    Settled {
        key: FindingKey,
        how: Settled,
    },
    /// `converge`: the root causes as they stand, under their stable ids.
    Roots(Vec<Root>),
    /// A finding came up (regression, review).
    Found(NewFinding),
    Attempt(Attempt),
    Note(String),
    /// A person's decision: what it was about, old and new setting, reason.
    Decision {
        about: String,
        old: String,
        new: String,
        reason: String,
    },
    /// What the next loop over these findings has to be told (*Try a different approach*, a permitted raise).
    Inherit(Inherited),
}

/// What a loop hands on to the one that follows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inherited {
    pub attempts: Vec<Attempt>,
    pub answers: Vec<Told>,
    /// Steps of the ladder already taken.
    pub raises: u32,
    pub supplied: Option<String>,
    /// Trees already seen, so that a follower does not oscillate back.
    pub seen: Vec<TreeId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    Resolved {
        grade: Grade,
        why: String,
        round: u32,
    },
    Demoted {
        why: String,
    },
    /// Hidden until reopened.
    Deferred {
        reason: String,
    },
    /// Left to the user, the attempt in the tree, staged.
    Manual {
        still_broken: String,
    },
    /// Open, nothing of this loop left in the tree.
    Open {
        why: String,
    },
    /// `converge`: the checker disputes it, with evidence.
    Disputed {
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    pub how: EndedHow,
    pub reason: String,
    /// *Try a different approach* or an allowed raise: start a new loop over these findings, told the `Inherit` record.
    pub follow_up: Vec<FindingKey>,
    /// `converge`: the gate. `rereview`: the exhaustion block, if any.
    pub block: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedHow {
    /// Every finding settled (resolved, demoted, deferred, manual …).
    Done,
    Cancelled,
    /// Budget, breach, restore-and-stop.
    Stopped,
    /// `converge` PASS / PASS_STANDARDS_ONLY / PAUSED for good; `rereview` blocked, failed.
    Pass,
    PassStandardsOnly,
    Blocked,
    Failed,
}
