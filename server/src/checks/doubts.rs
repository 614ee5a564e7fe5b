//! Reasons not to take green tests for proof.
//!
//! A fix that changed the tests, or that answers them, may be right; but its tests do not show it. What is found is
//! always shown to the user, and a verifier judges.

use std::path::Path;

use super::coverage::code_of_test;
use super::edited::edited_tests;
use super::weaken::{Edit, Weakening, find_weakened};
use super::{CheckRun, FailingTest, Judgement, SpecialCase, find_special_cases};

/// What speaks against taking a fix's green tests for proof.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Doubts {
    pub weakened: Vec<Weakening>,
    pub special: Vec<SpecialCase>,
    /// Failing tests that the fix changed, in words.
    pub edited: Vec<String>,
}

impl Doubts {
    /// Looks through a whole fix: every changed file, and the runs before it. `read` gives the text of a test file as
    /// it was before the fix.
    pub fn of(edits: &[Edit<'_>], before: &[&CheckRun], read: &dyn Fn(&Path) -> Option<String>) -> Self {
        let failing: Vec<&FailingTest> =
            before.iter().filter_map(|run| run.failure()).flat_map(|failure| &failure.details).collect();
        let tests: Vec<String> = failing.iter().filter_map(|test| code_of_test(test, read)).collect();
        let tests: Vec<&str> = tests.iter().map(String::as_str).collect();
        Self {
            weakened: find_weakened(edits),
            special: find_special_cases(edits, &tests),
            edited: edited_tests(edits, &failing),
        }
    }

    pub fn is_empty(&self) -> bool {
        self.weakened.is_empty() && self.special.is_empty() && self.edited.is_empty()
    }

    /// Good news that rests on tests becomes something to be judged; bad news stays.
    pub fn apply(&self, judgement: Judgement) -> Judgement {
        if self.is_empty() {
            return judgement;
        }
        match judgement {
            Judgement::Proven | Judgement::Touched => {
                let first = self.lines().into_iter().next().unwrap_or_default();
                Judgement::Neutral(format!(
                    "passes, but its tests do not show that the fix is right: {first}"
                ))
            }
            other => other,
        }
    }

    /// One line each, for people.
    pub fn lines(&self) -> Vec<String> {
        let special =
            self.special.iter().map(|case| format!("{}:{}: {}", case.path.display(), case.line, case.what));
        self.weakened
            .iter()
            .map(Weakening::to_string)
            .chain(special)
            .chain(self.edited.iter().cloned())
            .collect()
    }
}
