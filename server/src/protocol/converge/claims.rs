//! What a worker claims beside what is known: a footer against git, a failure against its breaches.
//!
//! Owns the words in which a contradiction is told. Must never decide what follows from it: `judging` does.

use super::super::vocabulary::*;

/// What git contradicts, if anything.
pub(super) fn untrue(seen: &Inspected, claimed: Option<&str>) -> Option<String> {
    let mut wrong = Vec::new();
    match claimed {
        None => wrong.push("it names no head".to_owned()),
        Some(claimed) if !same_commit(claimed, &seen.head) => {
            wrong.push(format!("it says that the head is {claimed}, and it is {}", seen.head));
        }
        Some(_) => {}
    }
    if !seen.on_branch {
        wrong.push("the worktree is not on the loop's branch".to_owned());
    }
    if !seen.clean {
        wrong.push("the worktree is not clean".to_owned());
    }
    if !seen.base_is_ancestor {
        wrong.push(
            "the review base, or a commit that was there before, is not an ancestor of the head".to_owned(),
        );
    }
    (!wrong.is_empty()).then(|| wrong.join("; "))
}

/// Workers abbreviate commits; git takes seven digits.
fn same_commit(claimed: &str, head: &str) -> bool {
    claimed == head || (claimed.len() >= 7 && head.starts_with(claimed))
}

pub(super) fn blocked(footer: &Footer) -> String {
    let why = footer.blocked_by.clone().unwrap_or_else(|| "it does not say by what".to_owned());
    format!("BLOCKED: {why}")
}

/// What a worker without a report leaves: a breach beside it is always the user's to look at.
pub(super) fn failed(failure: &WorkerFailure, changes: &Changes) -> (PauseKind, String) {
    if changes.breaches.is_empty() {
        return (kind_of(failure.class), words(failure));
    }
    (PauseKind::Decision, format!("{}; breach: {}", words(failure), changes.breaches.join("; ")))
}

fn words(failure: &WorkerFailure) -> String {
    match failure.advice.trim() {
        "" => failure.message.clone(),
        advice => format!("{}. {advice}", failure.message.trim_end_matches('.')),
    }
}

fn kind_of(class: FailureClass) -> PauseKind {
    match class {
        // Only the user can log in, pay or allow more.
        FailureClass::Account => PauseKind::Decision,
        _ => PauseKind::Transient,
    }
}
