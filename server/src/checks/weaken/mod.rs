//! Edits that weaken a test, and which files are tests at all (R39).
//!
//! Pure: compares texts. Never judges whether a weakening is right, and never keeps a loop from going on: what is
//! found is always shown to the user, who decides. Prefers showing an edit that is harmless to hiding one that is not.

mod assertions;
mod compare;
mod config;
mod paths;
mod same;
mod skips;

use std::fmt;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::source::{Language, Source};

pub use paths::{is_ci_path, is_snapshot_path, is_test_path};

/// A changed file; `None` is "does not exist".
#[derive(Clone, Copy, Debug)]
pub struct Edit<'a> {
    pub path: &'a Path,
    pub before: Option<&'a str>,
    pub after: Option<&'a str>,
}

/// A weakened test.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Weakening {
    pub path: PathBuf,
    /// In the present text; in the text before for what is no longer there. Counts from 1.
    pub line: u32,
    pub kind: WeakeningKind,
    /// What happened, for people.
    pub what: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WeakeningKind {
    TestFileDeleted,
    TestDeleted,
    TestEmptied,
    AssertionDeleted,
    ComparisonLoosened,
    ToleranceWidened,
    ExpectationChanged,
    Skipped,
    ErrorSwallowed,
    CodeReplaced,
    CasesRemoved,
    RecordedExpectationChanged,
    TestRunChanged,
}

impl fmt::Display for Weakening {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.path.display(), self.line, self.what)
    }
}

/// The weakened tests among the changed files of a fix. Give it every changed file: tests also live in source files
/// (Rust), and what runs the tests lives in configuration.
pub fn find_weakened(edits: &[Edit<'_>]) -> Vec<Weakening> {
    let mut found = Vec::new();
    for edit in edits {
        one(edit, edits, &mut found);
    }
    found.sort();
    found.dedup();
    found
}

fn one(edit: &Edit<'_>, all: &[Edit<'_>], found: &mut Vec<Weakening>) {
    let path = edit.path;
    let mut add = |line: u32, kind: WeakeningKind, what: String| {
        found.push(Weakening { path: path.to_owned(), line, kind, what });
    };
    match (edit.before, edit.after) {
        (Some(before), None) => {
            if is_test_path(path) && !moved(before, all) {
                add(1, WeakeningKind::TestFileDeleted, "the test file was deleted".to_owned());
            } else if is_ci_path(path) {
                add(
                    1,
                    WeakeningKind::TestRunChanged,
                    "the file that says how tests are run was deleted".to_owned(),
                );
            }
        }
        (before, Some(after)) => {
            let before = before.unwrap_or_default();
            if before == after {
                return;
            }
            if is_snapshot_path(path) || is_test_data(path) {
                if edit.before.is_some() {
                    let line = first_difference(before, after);
                    let what = match is_snapshot_path(path) {
                        true => "a recorded expectation was changed",
                        false => "data that tests use was changed",
                    };
                    add(line, WeakeningKind::RecordedExpectationChanged, what.to_owned());
                }
                return;
            }
            config::compare(path, edit.before, after, &mut add);
            if let Some(language) = Language::of(path) {
                let is_test = is_test_path(path);
                // A new file weakens no test, unless it sets up the others.
                let sets_up = path
                    .file_stem()
                    .is_some_and(|stem| stem == "conftest" || stem.to_string_lossy().contains("setup"));
                if language == Language::Go && takes_over(after) && !takes_over(before) {
                    let what = "TestMain decides now whether any test runs".to_owned();
                    add(1, WeakeningKind::TestRunChanged, what);
                }
                if sets_up && is_test_setup(path) {
                    config::setup(edit.before, &Source::new(language, after), &mut add);
                }
                if edit.before.is_none() && !sets_up {
                    return;
                }
                if is_test || language == Language::Rust {
                    let elsewhere = |name: &str, demands: &[String]| {
                        all.iter().any(|other| {
                            other.path != path
                                && is_test_path(other.path)
                                && Language::of(other.path) == Some(language)
                                && other.after.is_some_and(|after| {
                                    compare::got(language, other.before, after, name, demands)
                                })
                        })
                    };
                    compare::compare(language, is_test, edit.before, after, &elsewhere, &mut add);
                }
            }
        }
        (None, None) => {}
    }
}

/// What lies beside the tests and is neither code nor text for people.
fn is_test_data(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str()).unwrap_or_default();
    let is_read_by_tests = matches!(
        extension,
        "json"
            | "jsonl"
            | "yaml"
            | "yml"
            | "toml"
            | "csv"
            | "tsv"
            | "txt"
            | "xml"
            | "html"
            | "sql"
            | "out"
            | "expected"
    );
    is_test_path(path) && is_read_by_tests && !is_ci_path(path)
}

fn takes_over(text: &str) -> bool {
    text.lines().any(|line| line.starts_with("func TestMain("))
}

/// `setup.py` builds a package; `jest.setup.ts` and `tests/setup.js` set up tests.
fn is_test_setup(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name != "setup.py")
}

/// A test file that went to another test path unchanged is still there.
fn moved(before: &str, all: &[Edit<'_>]) -> bool {
    all.iter().any(|other| other.before.is_none() && other.after == Some(before) && is_test_path(other.path))
}

/// The first line (from 1) of `after` that differs from `before`.
fn first_difference(before: &str, after: &str) -> u32 {
    let same = before.lines().zip(after.lines()).take_while(|(a, b)| a == b).count();
    u32::try_from(same).unwrap_or(u32::MAX - 1) + 1
}
