//! Errors of cargo and rustc that come before any test.
//!
//! Code of the project that does not compile is a failure like a failing test; a missing toolchain, linker or
//! download is the environment's.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;

use super::Project;
use crate::checks::FailingTest;
use crate::checks::outcome::COMPILE;

static ERROR: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^error(?:\[E\d+\])?: (.*)\n(?:.*\n)*?\s*--> ([^\n]+?):(\d+):\d+$").expect("constant")
});
/// Words of cargo about things that no edit of the code brings about.
const ENVIRONMENT: [&str; 18] = [
    "error: manifest path `",
    "linker `",
    "no such command",
    "failed to get `",
    "failed to download",
    "unable to update",
    "unable to connect",
    "network failure",
    "spurious network error",
    "no matching package",
    "could not find `Cargo.toml`",
    "is not installed",
    "rustup could not choose",
    "toolchain '",
    "package ID specification",
    "failed to run custom build command",
    "No space left on device",
    "Blocking waiting for file lock",
];

/// Failures to compile by file, or the reason why cargo could not work at all.
pub(super) fn read(stderr: &str, project: &Project) -> Result<Vec<FailingTest>, String> {
    if stderr.contains("error: failed to parse manifest")
        || stderr.contains("error: invalid character in manifest")
    {
        let mut test = FailingTest::named(format!("{COMPILE}Cargo.toml"));
        test.excerpt = from_first_error(stderr).to_owned();
        return Ok(vec![test]);
    }
    let compiled =
        stderr.contains("error: could not compile") || stderr.contains("error: could not document");
    let mut files: BTreeMap<String, FailingTest> = BTreeMap::new();
    if compiled {
        for hit in ERROR.captures_iter(stderr) {
            let Some(place) = hit[3].parse().ok().and_then(|line| project.place(&hit[2], line)) else {
                continue;
            };
            let name = format!("{COMPILE}{}", place.file.display());
            let known = files.entry(name.clone()).or_insert_with(|| FailingTest::named(name));
            if known.excerpt.is_empty() {
                known.excerpt = hit[0].to_owned();
            } else {
                known.excerpt = format!("{}\n\n{}", known.excerpt, &hit[0]);
            }
            if known.places.is_empty() {
                known.places.push(place);
            }
        }
    }
    if !files.is_empty() {
        return Ok(files.into_values().collect());
    }
    let first = from_first_error(stderr);
    if let Some(line) = first.lines().find(|line| ENVIRONMENT.iter().any(|words| line.contains(words))) {
        let line = line.trim();
        return Err(line.strip_prefix("error: ").unwrap_or(line).to_owned());
    }
    if compiled {
        return Err(first.lines().next().unwrap_or("a dependency does not compile").to_owned());
    }
    Ok(Vec::new())
}

fn from_first_error(stderr: &str) -> &str {
    let at = if stderr.starts_with("error") { Some(0) } else { stderr.find("\nerror").map(|at| at + 1) };
    at.map_or("", |at| &stderr[at..])
}
