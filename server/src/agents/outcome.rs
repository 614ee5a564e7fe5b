//! What a dispatch came to: a report or a failure, and what it cost.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::failure::Failure;
use super::report::{FixStatus, Report};

/// How a dispatch ended.
#[derive(Debug)]
pub struct Outcome {
    pub result: Result<Report, Failure>,
    pub usage: Usage,
    pub elapsed: Duration,
    /// Processes that the agent left behind and that were ended.
    pub leftovers: u32,
    /// Its own settings or its sandbox did not allow edits, as it told: what that is where nothing was changed.
    pub denied: Option<Failure>,
}

impl Outcome {
    /// The same for a dispatch that changed nothing at all. "Fixed" and "blocked" from an agent that was not allowed to
    /// edit is the environment's failure then, and no attempt.
    pub fn without_changes(self) -> Outcome {
        match (&self.result, &self.denied) {
            (Ok(Report::Fix(fix)), Some(denied))
                if matches!(fix.status, FixStatus::Fixed | FixStatus::Blocked) =>
            {
                Outcome { result: Err(denied.clone()), ..self }
            }
            _ => self,
        }
    }
}

/// What a dispatch cost, as far as the agent says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Usage {
    pub cost_usd: Option<f64>,
    pub tokens: Option<u64>,
}

impl Usage {
    pub(super) fn add(&mut self, other: Usage) {
        self.cost_usd = match (self.cost_usd, other.cost_usd) {
            (Some(one), Some(two)) => Some(one + two),
            (one, two) => one.or(two),
        };
        self.tokens = match (self.tokens, other.tokens) {
            (Some(one), Some(two)) => Some(one.saturating_add(two)),
            (one, two) => one.or(two),
        };
    }
}
