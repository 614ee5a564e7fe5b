//! The cause that every escalation names, so that "what is still broken and why" is more than a list of failures.
//!
//! Owns the engine's own inference from what happened, for loops in which no diagnoser judged it. It is a reading of signs
//! and says so. Must never name `model-capacity` (nobody ruled out the other four), and never decide what follows: the
//! user does.

use super::Bounded;
use crate::protocol::Cause;

/// What the loop stopped at, as far as it tells something of the cause.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Sign {
    /// The verification contradicted the attempts.
    #[default]
    Persists,
    /// A fixer declined or was blocked.
    Blocked,
    /// A fixer left everything in the scope as it was.
    Unchanged,
    /// A tree came back that had been there before.
    Circle,
    /// The fix weakens a test, and the user did not take that for a part of it.
    WeakensTest,
    /// It could not be verified.
    Unverified,
    /// No worker is left to be sent.
    Budget,
}

impl Sign {
    /// The cause, and why it is the likely one.
    fn infers(self) -> (Cause, &'static str) {
        match self {
            Sign::Persists => (
                Cause::MissingContext,
                "every attempt was made and judged, and the fixer did not have what the verification saw",
            ),
            Sign::Blocked => (Cause::MissingContext, "the fixer says that it lacks something"),
            Sign::Unchanged => (
                Cause::MissingContext,
                "the fixer found nothing to change within the scope that it was given",
            ),
            Sign::Circle => {
                (Cause::AmbiguousSpec, "two attempts undo each other, so what is wanted is not clear")
            }
            Sign::WeakensTest => (
                Cause::AmbiguousSpec,
                "the code and its test contradict each other, and nothing says which is right",
            ),
            Sign::Unverified => (Cause::EnvToolFailure, "the verification could not be carried out"),
            Sign::Budget => (Cause::EnvToolFailure, "the loop ran into the limit that `[budget]` sets"),
        }
    }

    fn route(cause: Cause) -> &'static str {
        match cause {
            Cause::AmbiguousSpec => {
                "say which behaviour is wanted, then try a different approach with that answer"
            }
            Cause::EnvToolFailure => "repair or raise what is named, then try again",
            _ => "give what is missing as the hint of *Try a different approach*, or widen the scope",
        }
    }
}

impl Bounded {
    /// The cause in a few words, and in full. A diagnoser's word goes before the inference.
    pub(super) fn named_cause(&self) -> (String, String) {
        if let Some(diagnosed) = &self.cause {
            let word = diagnosed.split(':').next().unwrap_or_default();
            return (format!("Diagnosed cause: {word}"), format!("Cause, as diagnosed: {diagnosed}"));
        }
        let (cause, because) = self.sign.infers();
        let word = cause.words();
        (
            format!("Likely cause, inferred from what happened: {word}"),
            format!(
                "Cause, inferred from what happened (no diagnoser judged it): {word}: {because}\n  route: {}",
                Sign::route(cause)
            ),
        )
    }
}
