//! Pattern checks: a regular expression that must, or must not, be found in the finding's whole file.
//!
//! Reads one file; starts nothing. The path was checked by intake, and is checked here again, because a check
//! must never read what a link inside the workspace points to outside of it.

use std::path::Path;
use std::time::Instant;

use regex::RegexBuilder;

use super::{Check, CheckRun, Failure, Outcome, What, Why};

/// Larger files are not searched.
const LARGEST: u64 = 64 * 1024 * 1024;

/// Runs a pattern check; for a command there is nothing to do here.
pub(super) fn run(check: &Check, root: &Path) -> CheckRun {
    let begun = Instant::now();
    let outcome = match &check.what {
        What::Absent { pattern, file } => look(root, file, pattern, false),
        What::Present { pattern, file } => look(root, file, pattern, true),
        What::Command(_) => Err(Why::CannotStart("it is a command, not a pattern".to_owned())),
    };
    let outcome = outcome.unwrap_or_else(Outcome::Inconclusive);
    let mut run = CheckRun::bare(check.name.clone(), outcome);
    run.output = match &run.outcome {
        Outcome::Failed(failure) => failure.tail.clone(),
        Outcome::Passed => String::new(),
        Outcome::Inconclusive(why) => why.to_string(),
    };
    run.seconds = begun.elapsed().as_secs_f64();
    run
}

fn look(root: &Path, file: &Path, pattern: &str, wanted: bool) -> Result<Outcome, Why> {
    // `crlf` lets `$` match before a carriage return too: the pattern is about lines, not about line endings.
    let regex =
        RegexBuilder::new(pattern).multi_line(true).crlf(true).size_limit(8 * 1024 * 1024).build().map_err(
            |error| Why::CannotStart(format!("`{pattern}` is not a valid pattern: {}", brief(&error))),
        )?;
    let text = read(root, file)?;
    let found = regex.find(&text);
    if found.is_some() == wanted {
        return Ok(Outcome::Passed);
    }
    let tail = match found {
        Some(hit) => {
            let line = text[..hit.start()].matches('\n').count() + 1;
            format!("`{pattern}` is still found at {}:{line}", file.display())
        }
        None => format!("`{pattern}` is not found in {}", file.display()),
    };
    Ok(Outcome::Failed(Failure { tests: Default::default(), exit: None, tail, details: Vec::new() }))
}

/// The message of a regex error without the drawing around it.
fn brief(error: &regex::Error) -> String {
    let text = error.to_string();
    text.lines().last().unwrap_or_default().trim_start_matches("error: ").to_owned()
}

fn read(root: &Path, file: &Path) -> Result<String, Why> {
    let cannot = |reason: String| Why::CannotStart(reason);
    let root = root.canonicalize().map_err(|error| cannot(format!("{}: {error}", root.display())))?;
    let path = root
        .join(file)
        .canonicalize()
        .map_err(|error| cannot(format!("{} cannot be read: {error}", file.display())))?;
    if !path.starts_with(&root) {
        return Err(cannot(format!("{} leads out of the workspace", file.display())));
    }
    let meta = path.metadata().map_err(|error| cannot(format!("{}: {error}", file.display())))?;
    if !meta.is_file() {
        return Err(cannot(format!("{} is not a regular file", file.display())));
    }
    if meta.len() > LARGEST {
        return Err(cannot(format!("{} is larger than 64 MiB", file.display())));
    }
    let bytes = std::fs::read(&path).map_err(|error| cannot(format!("{}: {error}", file.display())))?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}
