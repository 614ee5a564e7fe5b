//! `cargo nextest run`, text. Names are `binary test`, since every test runs in its own process.

use std::sync::LazyLock;

use regex::Regex;

use super::{Collected, Project, Raw, Reading, cargo_build, libtest};
use crate::checks::FailingTest;

static LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^\s*(PASS|FAIL|TIMEOUT|ABORT|SIG[A-Z]+|LEAK|FLAKY \S+|TRY \d+ \S+) \[[^\]]*\] (?:\(\s*\d+/\d+\) )?(\S+) (.+?)$")
        .expect("constant")
});
static SKIP: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*Starting (\d+) tests? across").expect("constant"));

pub(super) fn read(raw: &Raw<'_>, project: &Project) -> Reading {
    let text = raw.stderr;
    let mut all = Collected::default();
    for hit in LINE.captures_iter(text) {
        let name = format!("{} {}", &hit[2], hit[3].trim());
        match &hit[1] {
            "PASS" | "LEAK" => {
                all.passed.insert(name);
            }
            "FAIL" | "TIMEOUT" | "ABORT" => all.fail(FailingTest::named(name)),
            word if word.starts_with("SIG") => all.fail(FailingTest::named(name)),
            word if word.starts_with("FLAKY") => {
                all.passed.insert(name);
            }
            _ => {}
        }
    }
    let names: Vec<String> = all.failing.keys().cloned().collect();
    for name in names {
        let Some(body) = section(text, &name) else { continue };
        if let Some(test) = all.failing.get_mut(&name) {
            test.places = libtest::places(body, project);
            test.excerpt = super::Excerpt::bounded(body.trim(), 1024, 3072);
        }
    }
    let started: Option<usize> = SKIP.captures(text).and_then(|hit| hit[1].parse().ok());
    if started.is_none() && all.ran() == 0 {
        return match cargo_build::read(text, project) {
            _ if raw.exit == Some(0) => Reading::default(),
            Ok(failures) => Reading { failing: failures, ..Reading::default() },
            Err(reason) => Reading { cannot_start: Some(reason), ..Reading::default() },
        };
    }
    let mut reading = all.complete();
    reading.ran = started.or(reading.ran);
    reading
}

/// The captured output of one failing test: from the line that first names it as failed to the next test's.
fn section<'a>(text: &'a str, name: &str) -> Option<&'a str> {
    let (binary, test) = name.split_once(' ')?;
    let wanted = format!("{binary} {test}");
    let mut start = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let is_status = LINE.is_match(line.trim_end());
        match start {
            None if is_status
                && line.trim_end().ends_with(&wanted)
                && !line.trim_start().starts_with("PASS") =>
            {
                start = Some(offset + line.len());
            }
            Some(begun) if is_status || line.starts_with("────────") => {
                return Some(&text[begun..offset]);
            }
            _ => {}
        }
        offset += line.len();
    }
    start.map(|begun| &text[begun..])
}
