//! Where a loop can be: what it waits for, and what comes next.

use std::collections::BTreeSet;

use super::super::vocabulary::*;

/// What subagents are dispatched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Job {
    /// The one review: one reviewer for each axis that has not reported yet.
    Review,
    Check,
    Fix,
    Recover,
    Close,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AxisState {
    Skipped,
    Pending,
    Reviewing,
    /// It reported, and the user's checkout changed meanwhile.
    Held,
    Reviewed,
}

/// Why the loop does not go on by itself, and what happens when the user lets it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Pause {
    pub(super) kind: PauseKind,
    pub(super) reason: String,
    pub(super) worker: Option<u32>,
    pub(super) evidence: String,
    pub(super) next: Next,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Next {
    Prepare,
    /// The same again, in its round.
    Dispatch(Job),
    /// The budget once more, and then this.
    Grant(Job),
    /// Another recovery: a round of its own.
    Recover,
    Inspect(Job, Option<String>),
    /// Only the validation: the commits are taken already.
    Validate(Job),
    /// A restore that failed is tried again.
    Restore(Box<Then>),
    /// The user's checkout is put back, and then the same is done again.
    PutBack(Job),
}

impl Next {
    /// The next action, for people.
    pub(super) fn words(&self) -> &'static str {
        match self {
            Next::Prepare => "prepare again: base, worktree, spec and standards",
            Next::Dispatch(job) | Next::Grant(job) => match job {
                Job::Review => "dispatch a reviewer for each axis that has not reported",
                Job::Check => "dispatch a new checker",
                Job::Fix => "dispatch a new fixer in the same round",
                Job::Recover => "dispatch a new recoverer in the same round",
                Job::Close => "dispatch a new closer",
            },
            Next::Recover => "dispatch one more recoverer for this plateau",
            Next::Inspect(..) => "inspect the worktree again",
            Next::Validate(_) => "run the validation again",
            Next::Restore(_) => "restore the worktree again",
            Next::PutBack(_) => "put your own checkout back again",
        }
    }
}

/// What follows once the worktree is restored.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Then {
    Pause(Pause),
    AskScope(Job, BTreeSet<Path>, String),
    Dispatch(Job),
    Cancelled,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Asked {
    StandardsOnly,
    /// No confirmed finding names a file.
    FirstScope,
    /// A fixer asks for these files before it edits.
    MoreScope(Job, BTreeSet<Path>),
    /// A fixer has committed changes to these files; then the inspection of this head.
    Committed(Job, BTreeSet<Path>, Option<String>),
    /// The user's own checkout changed meanwhile. What the workers gave is held until it is known whether they did it.
    Checkout(Job, Vec<(Step, Event)>),
    Pause(Pause),
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Phase {
    Fresh,
    Preparing,
    Checkpointing(Job),
    /// Reviewers are out, one for each axis in [`AxisState::Reviewing`].
    Reviewing,
    Working(Job),
    Inspecting {
        job: Job,
        claimed: Option<String>,
        only_validation: bool,
    },
    Restoring(Then),
    /// The user's checkout goes back to what it was before this job's workers.
    PuttingBack(Job),
    Asking(Asked),
    Over,
}
