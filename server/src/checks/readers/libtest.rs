//! `cargo test`: libtest's text, or its JSON lines where a project has them.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{Collected, Project, Raw, Reading, cargo_build};
use crate::checks::{FailingTest, Place};

static TEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^test (.+?)(?: - should panic| - compile(?: fail)?)? \.\.\. (?:.*?)(ok|FAILED|ignored)(?:, .*| \(.*\)| <.*>)?$")
        .expect("constant")
});
static RUNNING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^running (\d+) tests?$").expect("constant"));
static STDOUT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^---- (.+?) stdout ----$").expect("constant"));
static PANIC: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)panicked at (?:'.*', )?([^\s:][^:\n]*):(\d+):\d+").expect("constant"));
pub(super) fn read(raw: &Raw<'_>, project: &Project) -> Reading {
    let mut all = Collected::default();
    let json = read_json(raw.stdout, project, &mut all);
    let announced: Option<usize> = RUNNING
        .captures_iter(raw.stdout)
        .map(|hit| hit[1].parse::<usize>().unwrap_or(0))
        .reduce(|sum, more| sum + more);
    if !json {
        read_text(raw.stdout, project, &mut all);
    }
    let built = if raw.exit == Some(0) { Ok(Vec::new()) } else { cargo_build::read(raw.stderr, project) };
    let mut cannot_start = None;
    match built {
        Ok(failures) => failures.into_iter().for_each(|failure| all.fail(failure)),
        Err(reason) if all.failing.is_empty() => cannot_start = Some(reason),
        Err(_) => {}
    }
    if announced.is_none() && !json {
        return Reading { failing: all.into_failing(), cannot_start, ..Reading::default() };
    }
    let skipped = all.skipped.len();
    let mut reading = all.complete();
    if let Some(announced) = announced {
        reading.ran = Some(announced.saturating_sub(skipped).max(reading.failing.len()));
    }
    reading.cannot_start = cannot_start;
    reading
}

fn read_text(text: &str, project: &Project, all: &mut Collected) {
    for hit in TEST.captures_iter(text) {
        let name = hit[1].to_owned();
        match &hit[2] {
            "ok" => {
                all.passed.insert(name);
            }
            "ignored" => {
                all.skipped.insert(name);
            }
            _ => all.fail(FailingTest::named(name)),
        }
    }
    let heads: Vec<_> =
        STDOUT.captures_iter(text).filter_map(|hit| Some((hit.get(0)?, hit.get(1)?))).collect();
    for (index, (whole, name)) in heads.iter().enumerate() {
        let end = heads.get(index + 1).map_or(text.len(), |(next, _)| next.start());
        let body = &text[whole.end()..end];
        let body = body.find("\nfailures:\n").map_or(body, |at| &body[..at]);
        let test = FailingTest {
            name: name.as_str().to_owned(),
            places: places(body, project),
            excerpt: body.trim().to_owned(),
        };
        // A section may also show the output of a test that passed (`--show-output`).
        if all.failing.contains_key(&test.name) {
            if let Some(known) = all.failing.get_mut(&test.name) {
                known.places = test.places;
                known.excerpt = test.excerpt;
            }
        } else if !all.passed.contains(&test.name) {
            all.fail(test);
        }
    }
    // The list at the end is complete even where tests wrote over the lines above.
    if let Some(at) = text.rfind("\nfailures:\n    ") {
        for line in text[at..].lines().skip(2).take_while(|line| line.starts_with("    ")) {
            all.fail(FailingTest::named(line.trim()));
        }
    }
}

/// The panic's place. Backtraces are switched off for checks: their paths are relative to the package of the test,
/// which its output does not name.
pub(super) fn places(body: &str, project: &Project) -> Vec<Place> {
    PANIC
        .captures_iter(body)
        .find_map(|hit| project.place(&hit[1], hit[2].parse().ok()?))
        .into_iter()
        .collect()
}

fn read_json(text: &str, project: &Project, all: &mut Collected) -> bool {
    let mut any = false;
    for line in text.lines().filter(|line| line.starts_with('{')) {
        let Ok(event) = serde_json::from_str::<Value>(line) else { continue };
        let kind = event["type"].as_str();
        any |= kind == Some("suite");
        if kind != Some("test") {
            continue;
        }
        let Some(name) = event["name"].as_str() else { continue };
        match event["event"].as_str() {
            Some("ok") => {
                all.passed.insert(name.to_owned());
            }
            Some("ignored") => {
                all.skipped.insert(name.to_owned());
            }
            Some("failed" | "timeout") => {
                let excerpt = event["stdout"].as_str().unwrap_or_default();
                all.fail(FailingTest {
                    name: name.to_owned(),
                    places: places(excerpt, project),
                    excerpt: excerpt.to_owned(),
                });
            }
            _ => {}
        }
    }
    any
}
