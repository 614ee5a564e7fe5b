//! Python's unittest, text, with or without `-v`.

use std::sync::LazyLock;

use regex::Regex;

use super::{Collected, Project, Raw, Reading, python_trace};
use crate::checks::FailingTest;
use crate::checks::outcome::LOAD;

static HEAD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^(?:FAIL|ERROR): (\S+) \(([^()\s]+)\)(?: .*)?$").expect("constant"));
static SUCCESS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^UNEXPECTED SUCCESS: (\S+) \(([^()\s]+)\)").expect("constant"));
static VERBOSE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(\w+) \(([^()\s]+)\)(?:\n[^\n]*?)?? \.\.\. (?:[^\n]*?)(ok|FAIL|ERROR|skipped .*|expected failure|unexpected success)$")
        .expect("constant")
});
static RAN: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^Ran (\d+) tests? in ").expect("constant"));
static SKIPPED: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^(?:OK|FAILED) \(.*\bskipped=(\d+)").expect("constant"));
static RULE: &str = "\n======";

pub(super) fn read(raw: &Raw<'_>, project: &Project) -> Reading {
    let text = if RAN.is_match(raw.stderr) { raw.stderr } else { raw.stdout };
    let Some(ran) =
        RAN.captures_iter(text).map(|hit| hit[1].parse::<usize>().unwrap_or(0)).reduce(|a, b| a + b)
    else {
        return Reading { cannot_start: environment(raw), ..Reading::default() };
    };
    let mut all = Collected::default();
    let mut verbose = false;
    for hit in VERBOSE.captures_iter(text) {
        verbose = true;
        let name = full_name(&hit[1], &hit[2]);
        match &hit[3] {
            "ok" => {
                all.passed.insert(name);
            }
            // A test that is expected to fail shows nothing by failing.
            word if word.starts_with("skipped") || word == "expected failure" => {
                all.skipped.insert(name);
            }
            _ => {}
        }
    }
    let mut missing = Vec::new();
    let heads: Vec<_> = HEAD.captures_iter(text).collect();
    for (index, hit) in heads.iter().enumerate() {
        let start = hit.get(0).map_or(0, |whole| whole.end());
        let end = heads.get(index + 1).and_then(|next| next.get(0)).map_or(text.len(), |next| next.start());
        let body = &text[start..end];
        let body = body.find(RULE).map_or(body, |at| &body[..at]);
        let body = body.find("\n\nRan ").map_or(body, |at| &body[..at]).trim();
        let unloaded = hit[2].contains("_FailedTest");
        if unloaded {
            missing.push(python_trace::missing_dependency(body, project));
        }
        let name = if unloaded { format!("{LOAD}{}", &hit[1]) } else { full_name(&hit[1], &hit[2]) };
        all.fail(FailingTest { name, places: python_trace::frames(body, project), excerpt: body.to_owned() });
    }
    for hit in SUCCESS.captures_iter(text) {
        all.fail(FailingTest::named(full_name(&hit[1], &hit[2])));
    }
    let only_unloaded = !missing.is_empty() && all.failing.len() == missing.len();
    let cannot_start = if only_unloaded {
        missing.into_iter().collect::<Option<Vec<_>>>().map(|all| all[0].clone())
    } else {
        None
    };
    let mut reading = all.complete();
    let skipped: usize = SKIPPED.captures_iter(text).map(|hit| hit[1].parse::<usize>().unwrap_or(0)).sum();
    reading.ran = Some(ran.saturating_sub(skipped).max(reading.failing.len()));
    reading.cannot_start = cannot_start;
    if !verbose {
        reading.tests = None;
    }
    reading
}

/// Before Python 3.11 the name in brackets was the class alone.
fn full_name(method: &str, bracketed: &str) -> String {
    if bracketed.rsplit('.').next() == Some(method) {
        bracketed.to_owned()
    } else {
        format!("{bracketed}.{method}")
    }
}

fn environment(raw: &Raw<'_>) -> Option<String> {
    if matches!(raw.exit, Some(0)) {
        return None;
    }
    let line = raw.stderr.lines().rev().find(|line| !line.trim().is_empty())?;
    let usage = raw.stderr.contains("usage: ") && raw.stderr.contains("unittest");
    (usage || line.contains("Start directory is not importable")).then(|| line.trim().to_owned())
}
