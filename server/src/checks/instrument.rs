//! Asking a known runner for its machine-readable output, and for all its failures instead of the first.
//!
//! Adds arguments and changes none of the user's. The command that people are shown stays the one they wrote.

use std::path::{Path, PathBuf};

use super::Reader;

/// What is really started, and where its report will be.
pub(super) struct Instrumented {
    pub argv: Vec<String>,
    pub report: Option<PathBuf>,
}

pub(super) fn instrument(argv: &[String], reader: Reader, scratch: &Path) -> Instrumented {
    let mut argv = argv.to_vec();
    let mut report = None;
    match reader {
        Reader::Pytest => {
            let path = scratch.join("report.xml");
            let extra =
                ["-o", "junit_family=xunit1", "--maxfail=0", "--color=no"].map(str::to_owned).into_iter();
            let extra = extra.chain([format!("--junitxml={}", path.display())]);
            insert_before_separator(&mut argv, extra);
            report = Some(path);
        }
        Reader::Unittest => {
            let verbose =
                argv.iter().any(|word| matches!(word.as_str(), "-v" | "--verbose" | "-q" | "--quiet"));
            if let Some(at) = argv.iter().position(|word| word == "unittest")
                && !verbose
            {
                let after =
                    if argv.get(at + 1).is_some_and(|word| word == "discover") { at + 2 } else { at + 1 };
                argv.insert(after, "-v".to_owned());
            }
        }
        Reader::Libtest => {
            // Without it a failing binary hides the others, and an old failure would look like a new one.
            if let Some(at) = argv.iter().position(|word| matches!(word.as_str(), "test" | "t")) {
                insert_once(&mut argv, at + 1, "--no-fail-fast");
            }
        }
        Reader::Nextest => {
            if let Some(at) = argv.iter().position(|word| matches!(word.as_str(), "run" | "r")) {
                insert_once(&mut argv, at + 1, "--no-fail-fast");
            }
        }
        Reader::Go => {
            if let Some(at) = argv.iter().position(|word| word == "test") {
                insert_once(&mut argv, at + 1, "-json");
            }
        }
        Reader::Tap => {
            if let Some(at) = argv.iter().position(|word| word == "--test")
                && !argv.iter().any(|word| word.starts_with("--test-reporter"))
            {
                argv.insert(at + 1, "--test-reporter=tap".to_owned());
            }
        }
        Reader::Jest => {
            let path = scratch.join("report.json");
            let program = |name: &str| argv.iter().any(|word| word.rsplit(['/', '\\']).next() == Some(name));
            let extra = if program("vitest") {
                let file = format!("--outputFile.json={}", path.display());
                vec!["--reporter=default".to_owned(), "--reporter=json".to_owned(), file]
            } else if program("jest") {
                vec!["--json".to_owned(), format!("--outputFile={}", path.display())]
            } else {
                Vec::new()
            };
            if !extra.is_empty() {
                insert_before_separator(&mut argv, extra.into_iter());
                report = Some(path);
            }
        }
        Reader::Any | Reader::Plain => {}
    }
    Instrumented { argv, report }
}

fn insert_once(argv: &mut Vec<String>, at: usize, word: &str) {
    if !argv.iter().any(|present| present == word) {
        argv.insert(at, word.to_owned());
    }
}

fn insert_before_separator(argv: &mut Vec<String>, extra: impl Iterator<Item = String>) {
    let at = argv.iter().position(|word| word == "--").unwrap_or(argv.len());
    argv.splice(at..at, extra);
}
