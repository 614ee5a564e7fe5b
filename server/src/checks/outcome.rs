//! What came of running a check once, or once and again.
//!
//! Pure data, and the comparison "fails the same way". What two outcomes mean together is [`super::judge`]'s.

use std::collections::BTreeSet;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::CheckName;

/// A place in the project, relative to the root; the line counts from 1.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Place {
    pub file: PathBuf,
    pub line: u32,
}

impl Place {
    pub fn new(file: impl Into<PathBuf>, line: u32) -> Self {
        Self { file: file.into(), line }
    }
}

/// A failing test, as far as its runner told.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailingTest {
    pub name: String,
    /// Frames of the failure inside the project, outermost first; the last one is where it failed.
    pub places: Vec<Place>,
    /// The runner's own words about this failure, bounded.
    pub excerpt: String,
}

impl FailingTest {
    pub fn named(name: impl Into<String>) -> Self {
        Self { name: name.into(), places: Vec::new(), excerpt: String::new() }
    }
}

/// Names of what failed before any test could run: a file that does not compile or cannot be loaded. They take
/// part in comparisons, but no test of that name will ever be seen passing.
pub const COMPILE: &str = "compile ";
pub const LOAD: &str = "load ";

/// Whether `name` stands for a compilation or loading step instead of a test.
pub fn stands_for_no_test(name: &str) -> bool {
    name.starts_with(COMPILE) || name.starts_with(LOAD)
}

/// A check that ran and did not pass.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Failure {
    /// The names of the failing tests; empty when the runner gave none.
    pub tests: BTreeSet<String>,
    pub exit: Option<i32>,
    /// The last lines of the output without times, addresses and temporary paths; for comparison only.
    pub tail: String,
    pub details: Vec<FailingTest>,
}

impl Failure {
    /// Whether the two fail the same way: by the failing tests where there are names, else by exit code and text.
    pub fn same_as(&self, other: &Failure) -> bool {
        if self.tests.is_empty() && other.tests.is_empty() {
            self.exit == other.exit && self.tail == other.tail
        } else {
            self.tests == other.tests
        }
    }
}

/// Why a run says nothing.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// The program, its environment or its arguments are not in order.
    CannotStart(String),
    /// It ended and no test had run: none found, or all skipped.
    NothingRan,
    /// The check itself was ended by a signal that was not ours.
    Signal(i32),
    /// It did not end within its wall-clock limit.
    TimeLimit(Duration),
    /// It failed once and passed when repeated on the same tree; the tests, where known.
    Flaky(BTreeSet<String>),
    /// We stopped it.
    Cancelled,
    /// It could be run now, but the run before the fix said nothing.
    NoBaseline(String),
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::CannotStart(reason) => write!(f, "could not be run: {reason}"),
            Self::NothingRan => write!(f, "ended without running a test"),
            Self::Signal(signal) => write!(f, "was ended by signal {signal}"),
            Self::TimeLimit(limit) => write!(f, "did not end within {} s", limit.as_secs_f64()),
            Self::Flaky(tests) if tests.is_empty() => {
                write!(f, "failed once and passed when repeated on the same tree")
            }
            Self::Flaky(tests) => {
                write!(f, "is flaky: {} failed once and passed when repeated on the same tree", listed(tests))
            }
            Self::Cancelled => write!(f, "was cancelled"),
            Self::NoBaseline(reason) => write!(f, "has no baseline: before the fix it {reason}"),
        }
    }
}

/// What a run of a check came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    Passed,
    Failed(Failure),
    Inconclusive(Why),
}

/// Which tests ran to a good end, where the runner told them by name.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestsRun {
    pub passed: BTreeSet<String>,
    pub skipped: BTreeSet<String>,
}

/// One run of a check (with its repetition, if there was one).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CheckRun {
    pub check: CheckName,
    /// What was really run; empty for a pattern.
    pub argv: Vec<String>,
    pub outcome: Outcome,
    /// `None` when the runner did not name the tests that passed.
    pub tests: Option<TestsRun>,
    /// How many tests ran; `None` when the output did not say, or was not recognised.
    #[serde(default)]
    pub ran: Option<usize>,
    /// Tests that failed in one of two runs on the same tree.
    pub flaky: BTreeSet<String>,
    /// Head and tail of the output, control codes stripped.
    pub output: String,
    pub seconds: f64,
    /// Processes that the check left behind and that were ended.
    pub leftovers: u32,
}

impl CheckRun {
    /// A run that has only an outcome.
    pub fn bare(check: CheckName, outcome: Outcome) -> Self {
        Self {
            check,
            argv: Vec::new(),
            outcome,
            tests: None,
            ran: None,
            flaky: BTreeSet::new(),
            output: String::new(),
            seconds: 0.0,
            leftovers: 0,
        }
    }

    pub fn failure(&self) -> Option<&Failure> {
        match &self.outcome {
            Outcome::Failed(failure) => Some(failure),
            Outcome::Passed | Outcome::Inconclusive(_) => None,
        }
    }

    /// One line for status, hover and ledger.
    pub fn summary(&self) -> String {
        match &self.outcome {
            Outcome::Passed => format!("{} passed", self.check),
            Outcome::Failed(failure) if failure.tests.is_empty() => {
                let exit = failure.exit.map_or(String::new(), |code| format!(" with exit code {code}"));
                format!("{} failed{exit}", self.check)
            }
            Outcome::Failed(failure) => format!("{} failed: {}", self.check, listed(&failure.tests)),
            Outcome::Inconclusive(why) => format!("{} {why}", self.check),
        }
    }
}

/// Up to three names, then how many more.
pub(super) fn listed(names: &BTreeSet<String>) -> String {
    let first: Vec<&str> = names.iter().take(3).map(String::as_str).collect();
    match names.len() {
        0..=3 => first.join(", "),
        more => format!("{} and {} more", first.join(", "), more - 3),
    }
}
