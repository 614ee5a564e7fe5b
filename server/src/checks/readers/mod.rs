//! Reading which tests failed, and where, from the runners' own output (DESIGN 7.4).
//!
//! One file per format. Readers are pure but for asking whether a file named in a trace belongs to the project;
//! they never fail: what they do not recognise they leave out, and the exit code stays the last word.

mod cargo_build;
mod go;
mod jest;
mod junit;
mod libtest;
mod nextest;
mod place;
mod pytest;
mod python_trace;
mod script_trace;
mod tap;
mod unittest;

use std::collections::{BTreeMap, BTreeSet};

pub use place::Project;

use super::output::Excerpt;
use super::{FailingTest, Reader, TestsRun};

/// What a run left behind for its reader.
#[derive(Clone, Copy, Debug, Default)]
pub struct Raw<'a> {
    pub stdout: &'a str,
    pub stderr: &'a str,
    /// The machine-readable report, where one was asked for and written.
    pub report: Option<&'a str>,
    pub exit: Option<i32>,
}

/// What a reader makes of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    pub failing: Vec<FailingTest>,
    /// By name, where the runner names the tests that passed.
    pub tests: Option<TestsRun>,
    /// How many tests ran, skipped ones left out; `None` when the runner did not say.
    pub ran: Option<usize>,
    /// The runner or its environment is not in order.
    pub cannot_start: Option<String>,
    /// What to show instead of raw stdout, for formats that people do not read.
    pub shown: Option<String>,
}

impl Reading {
    /// Whether the output was recognised at all.
    fn says_anything(&self) -> bool {
        !self.failing.is_empty() || self.tests.is_some() || self.ran.is_some() || self.cannot_start.is_some()
    }
}

/// Reads a run. [`Reader::Any`] tries every text format and takes together what was recognised.
pub fn read(reader: Reader, raw: &Raw<'_>, project: &Project) -> Reading {
    match reader {
        Reader::Pytest => pytest::read(raw, project),
        Reader::Unittest => unittest::read(raw, project),
        Reader::Libtest => libtest::read(raw, project),
        Reader::Nextest => nextest::read(raw, project),
        Reader::Go => go::read(raw, project),
        Reader::Tap => tap::read(raw, project),
        Reader::Jest => jest::read(raw, project),
        Reader::Plain => Reading::default(),
        Reader::Any => read_any(raw, project),
    }
}

fn read_any(raw: &Raw<'_>, project: &Project) -> Reading {
    let readings = [
        pytest::read_text(raw, project),
        unittest::read(raw, project),
        libtest::read(raw, project),
        nextest::read(raw, project),
        go::read(raw, project),
        tap::read(raw, project),
        jest::read_text(raw, project),
    ];
    let mut said: Vec<Reading> = readings.into_iter().filter(Reading::says_anything).collect();
    if said.len() == 1 {
        return said.remove(0);
    }
    let mut all = Collected::default();
    let mut ran = None;
    let mut cannot_start = None;
    for reading in said {
        for test in reading.failing {
            all.fail(test);
        }
        ran = match (ran, reading.ran) {
            (Some(a), Some(b)) => Some(a + b),
            (a, b) => a.or(b),
        };
        cannot_start = cannot_start.or(reading.cannot_start);
    }
    // The names of passed tests are complete only for a single runner; several together are left unnamed.
    Reading { failing: all.into_failing(), tests: None, ran, cannot_start, shown: None }
}

/// How an argument list is read, by the program it names.
pub fn reader_of(argv: &[String]) -> Reader {
    let words: Vec<&str> = argv.iter().map(|word| program_name(word)).collect();
    let has = |word: &str| words.contains(&word);
    let first = words.first().copied().unwrap_or_default();
    if has("pytest") || has("py.test") {
        Reader::Pytest
    } else if has("unittest") {
        Reader::Unittest
    } else if first == "cargo" && has("nextest") {
        Reader::Nextest
    } else if first == "cargo" && words.iter().any(|word| matches!(*word, "test" | "t")) {
        Reader::Libtest
    } else if first == "go" && words.get(1) == Some(&"test") {
        Reader::Go
    } else if first == "node" && has("--test") {
        Reader::Tap
    } else if has("jest") || has("vitest") {
        Reader::Jest
    } else {
        Reader::Any
    }
}

/// `/venv/bin/pytest` and `pytest.exe` are pytest; a path that merely lies in a folder of that name is not.
fn program_name(word: &str) -> &str {
    let name = word.rsplit(['/', '\\']).next().unwrap_or(word);
    name.strip_suffix(".exe").or_else(|| name.strip_suffix(".cmd")).unwrap_or(name)
}

/// Collects failing, passed and skipped tests by name.
#[derive(Default)]
struct Collected {
    failing: BTreeMap<String, FailingTest>,
    passed: BTreeSet<String>,
    skipped: BTreeSet<String>,
}

impl Collected {
    /// Records a failure; what a second record of the same test adds is kept.
    fn fail(&mut self, test: FailingTest) {
        let known =
            self.failing.entry(test.name.clone()).or_insert_with(|| FailingTest::named(test.name.clone()));
        if known.places.is_empty() {
            known.places = test.places;
        }
        if known.excerpt.is_empty() {
            known.excerpt = Excerpt::bounded(test.excerpt.trim_end(), 1024, 3072);
        }
    }

    fn into_failing(self) -> Vec<FailingTest> {
        self.failing.into_values().collect()
    }

    fn ran(&self) -> usize {
        self.failing.len() + self.passed.len()
    }

    /// A reading in which every test was named.
    fn complete(mut self) -> Reading {
        for name in self.failing.keys() {
            self.passed.remove(name);
        }
        let ran = self.ran();
        let tests =
            TestsRun { passed: std::mem::take(&mut self.passed), skipped: std::mem::take(&mut self.skipped) };
        Reading { failing: self.into_failing(), tests: Some(tests), ran: Some(ran), ..Reading::default() }
    }
}
