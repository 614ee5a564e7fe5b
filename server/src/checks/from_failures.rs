//! Failing tests of a check as drafts of findings (`run --from-check NAME`, DESIGN 4).
//!
//! Says where a failure is and which files its fix may need; never gives an id, never stores anything (`findings`
//! does). The place is never invented: without one in the project, the draft has none.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::imports::imported_files;
use super::weaken::is_test_path;
use super::{CheckName, CheckRun, FailingTest, Place, stands_for_no_test};

/// A confirmed P1 in the making.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Draft {
    pub title: String,
    /// The failure in the runner's own words.
    pub body: String,
    pub file: Option<PathBuf>,
    pub line: Option<u32>,
    /// `test NAME passes`; [`test_of_criterion`] reads it back.
    pub criterion: String,
    /// The check the finding's `checks` shall name.
    pub check: CheckName,
    pub related_files: Vec<PathBuf>,
}

/// The criterion of a finding made from a failing test.
pub fn criterion_of_test(test: &str) -> String {
    format!("test {test} passes")
}

/// The test that such a criterion names.
pub fn test_of_criterion(criterion: &str) -> Option<&str> {
    let name = criterion.trim().strip_prefix("test ")?.strip_suffix(" passes")?.trim();
    (!name.is_empty()).then_some(name)
}

/// One draft for each failing test; one for the whole check if its runner names none.
pub fn drafts(run: &CheckRun, root: &Path) -> Vec<Draft> {
    let Some(failure) = run.failure() else { return Vec::new() };
    if failure.details.is_empty() {
        return vec![Draft {
            title: format!("{} fails", run.check),
            body: run.output.clone(),
            file: None,
            line: None,
            criterion: format!("{} passes", run.check),
            check: run.check.clone(),
            related_files: Vec::new(),
        }];
    }
    failure.details.iter().map(|test| draft(test, &run.check, root)).collect()
}

fn draft(test: &FailingTest, check: &CheckName, root: &Path) -> Draft {
    let place = place_of(test);
    let file = place.map(|place| place.file.clone());
    let mut related: BTreeSet<PathBuf> = test.places.iter().map(|place| place.file.clone()).collect();
    // An assertion fails in the test; what it tests has to be in scope as well.
    let tests: Vec<PathBuf> = related.iter().filter(|path| is_test_path(path)).cloned().collect();
    let code_is_known = related.iter().any(|path| !is_test_path(path));
    if !code_is_known {
        for path in &tests {
            related.extend(imported_files(root, path));
        }
    }
    if let Some(file) = &file {
        related.remove(file);
    }
    let (title, criterion) = if stands_for_no_test(&test.name) {
        (format!("{check} cannot {}", test.name), format!("{check} can {}", test.name))
    } else {
        (format!("Failing test: {}", test.name), criterion_of_test(&test.name))
    };
    Draft {
        title,
        body: body(test),
        line: place.map(|place| place.line),
        file,
        criterion,
        check: check.clone(),
        related_files: related.into_iter().collect(),
    }
}

/// Where the traceback ends: in the code under test, or at the assertion.
fn place_of(test: &FailingTest) -> Option<&Place> {
    test.places.last()
}

fn body(test: &FailingTest) -> String {
    if test.excerpt.trim().is_empty() {
        format!("The test {} fails. Its runner gave no details.", test.name)
    } else {
        test.excerpt.clone()
    }
}
