//! Checks: discovering, running and judging what verifies a fix deterministically (DESIGN 7.4).
//!
//! Owns: which checks belong to a finding, how a check is run, what its output says about single tests, and what
//! a run before and a run after the fix prove together. Must never start an agent (`agents` does), never touch
//! the index, refs or the user's files (`workspace` does), and never decide what happens next (`protocol` does).
//! Nothing outside this module runs a check. Processes are started through [`crate::process`] only.
//!
//! The way through: [`select`] → [`run_before`] → (fix) → [`run_after`] → [`judge_batch`] → [`Doubts::apply`] →
//! [`combine`].

mod batch;
mod check;
mod coverage;
pub mod discover;
mod doubts;
mod edited;
mod environment;
pub mod from_failures;
mod imports;
mod instrument;
mod judge;
mod outcome;
mod output;
mod pattern;
pub mod readers;
mod run;
mod select;
mod shared;
mod source;
mod special;
#[cfg(test)]
mod tests;
pub mod weaken;

pub use batch::{Asked, judge_batch};
pub use check::{Check, CheckName, Command, DEFAULT_LIMIT, Kind, Origin, Reader, What};
pub use coverage::Cited;
pub use discover::Tools;
pub use doubts::Doubts;
pub use judge::{FindingEvidence, Grade, Judged, Judgement, Round1Evidence, Standing, combine, judge};
pub use outcome::{CheckRun, FailingTest, Failure, Outcome, Place, TestsRun, Why, stands_for_no_test};
pub use output::Excerpt;
pub use run::{run, run_after, run_before};
pub use select::{
    ConfiguredCheck, FindingCheck, FindingChecks, Refused, Selection, configured_check, select, to_approve,
};
pub use shared::SharedRuns;
pub use special::{SpecialCase, find_special_cases};
