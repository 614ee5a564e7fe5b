//! `go test -json`, and go's plain text where a wrapper hides the flag.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{Collected, Project, Raw, Reading};
use crate::checks::outcome::COMPILE;
use crate::checks::{FailingTest, Place};

static PLACE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*([^\s:]+\.go):(\d+)(?::\d+)?[: ]").expect("constant"));
static FRAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\t([^\n:]+\.go):(\d+)(?: \+0x[0-9a-f]+)?$").expect("constant"));
static TEXT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*--- (FAIL|PASS|SKIP): (\S+) \([\d.]+s\)").expect("constant"));

pub(super) fn read(raw: &Raw<'_>, project: &Project) -> Reading {
    let mut events = Vec::new();
    for line in raw.stdout.lines().filter(|line| line.starts_with('{')) {
        if let Ok(event) = serde_json::from_str::<Value>(line)
            && event["Action"].is_string()
        {
            events.push(event);
        }
    }
    if events.is_empty() { read_text(raw, project) } else { read_events(&events, raw, project) }
}

fn read_events(events: &[Value], raw: &Raw<'_>, project: &Project) -> Reading {
    let mut all = Collected::default();
    let mut output: BTreeMap<(String, String), String> = BTreeMap::new();
    let mut shown = String::new();
    let mut failed_packages = Vec::new();
    for event in events {
        let package = event["Package"].as_str().or(event["ImportPath"].as_str()).unwrap_or_default();
        let test = event["Test"].as_str().unwrap_or_default();
        let name = format!("{package} {test}");
        match event["Action"].as_str().unwrap_or_default() {
            "output" | "build-output" => {
                let text = event["Output"].as_str().unwrap_or_default();
                shown.push_str(text);
                output.entry((package.to_owned(), test.to_owned())).or_default().push_str(text);
            }
            "pass" if !test.is_empty() => {
                all.passed.insert(name);
            }
            "skip" if !test.is_empty() => {
                all.skipped.insert(name);
            }
            "fail" if !test.is_empty() => {
                let excerpt = output.get(&(package.to_owned(), test.to_owned())).cloned().unwrap_or_default();
                all.fail(FailingTest { name, places: places(&excerpt, package, project), excerpt });
            }
            "fail" => failed_packages.push(package.to_owned()),
            _ => {}
        }
    }
    // A parent of a failing subtest fails with it and says nothing of its own.
    let names: Vec<String> = all.failing.keys().cloned().collect();
    all.failing.retain(|name, _| !names.iter().any(|other| other.starts_with(&format!("{name}/"))));
    let mut cannot_start = None;
    failed_packages.extend(not_built(raw.stdout));
    for package in failed_packages {
        if all.failing.keys().any(|name| name.starts_with(&format!("{package} "))) {
            continue;
        }
        let mut text = output.get(&(package.clone(), String::new())).cloned().unwrap_or_default();
        if !text.contains(".go:") {
            text.push_str(said_of(&package, raw.stderr));
        }
        match build_failure(&package, &text, project) {
            Ok(test) => all.fail(test),
            Err(reason) => cannot_start = cannot_start.or(Some(reason)),
        }
    }
    if !all.failing.is_empty() {
        cannot_start = None;
    }
    let mut reading = all.complete();
    reading.cannot_start = cannot_start;
    reading.shown = Some(shown);
    reading
}

/// Packages that could not be built: up to Go 1.23 in plain text, also under `-json`.
fn not_built(stdout: &str) -> Vec<String> {
    stdout
        .lines()
        .filter(|line| line.ends_with("[build failed]") || line.ends_with("[setup failed]"))
        .filter_map(|line| line.strip_prefix("FAIL\t")?.split([' ', '\t']).next())
        .map(str::to_owned)
        .collect()
}

/// What the compiler said of one package: the section under `# package`, else everything.
fn said_of<'a>(package: &str, stderr: &'a str) -> &'a str {
    let Some(start) = stderr.find(&format!("# {package}")) else { return stderr };
    let section = &stderr[start..];
    section[1..].find("\n# ").map_or(section, |end| &section[..end + 1])
}

fn build_failure(package: &str, text: &str, project: &Project) -> Result<FailingTest, String> {
    let environment =
        ["cannot find module", "no required module provides", "missing go.sum entry", "is not in std"];
    if let Some(line) = text.lines().find(|line| environment.iter().any(|words| line.contains(words))) {
        return Err(line.trim().to_owned());
    }
    let places = places(text, package, project);
    Ok(FailingTest { name: format!("{COMPILE}{package}"), places, excerpt: text.to_owned() })
}

fn read_text(raw: &Raw<'_>, project: &Project) -> Reading {
    let text = raw.stdout;
    let hits: Vec<_> = TEXT.captures_iter(text).collect();
    let ok = |line: &&str| line.starts_with("ok  \t");
    let packages = text.lines().filter(|line| ok(line) || line.starts_with("FAIL\t")).count();
    if hits.is_empty() && packages == 0 {
        return Reading::default();
    }
    let mut all = Collected::default();
    let mut passes = false;
    for (index, hit) in hits.iter().enumerate() {
        let start = hit.get(0).map_or(0, |whole| whole.end());
        let end = hits.get(index + 1).and_then(|next| next.get(0)).map_or(text.len(), |next| next.start());
        let name = hit[2].to_owned();
        match &hit[1] {
            "FAIL" => {
                let excerpt = text[start..end].trim_end().to_owned();
                all.fail(FailingTest { name, places: places(&excerpt, "", project), excerpt });
            }
            "PASS" => {
                passes = true;
                all.passed.insert(name);
            }
            _ => {
                all.skipped.insert(name);
            }
        }
    }
    let names: Vec<String> = all.failing.keys().cloned().collect();
    all.failing.retain(|name, _| !names.iter().any(|other| other.starts_with(&format!("{name}/"))));
    let mut cannot_start = None;
    for package in not_built(text) {
        match build_failure(&package, said_of(&package, raw.stderr), project) {
            Ok(test) => all.fail(test),
            Err(reason) => cannot_start = cannot_start.or(Some(reason)),
        }
    }
    if !all.failing.is_empty() {
        cannot_start = None;
    }
    let mut reading = all.complete();
    reading.cannot_start = cannot_start;
    if !passes {
        // Tests that passed are not named: at least one for each package that does not say that there was none.
        reading.tests = None;
        let with_tests = text.lines().filter(ok).filter(|line| !line.contains("[no tests to run]")).count();
        reading.ran = Some(with_tests + reading.failing.len());
    }
    reading
}

/// `file_test.go:12: got 1` names only the file, relative to its package; panics name absolute paths.
fn places(text: &str, package: &str, project: &Project) -> Vec<Place> {
    let in_package = |file: &str, line: u32| {
        project.place(file, line).or_else(|| {
            // The tail of the import path that is a folder of this module.
            let parts: Vec<&str> = package.split([' ', '/']).collect();
            (0..parts.len())
                .find_map(|from| project.place(&format!("{}/{file}", parts[from..].join("/")), line))
        })
    };
    let mut places: Vec<Place> =
        FRAME.captures_iter(text).filter_map(|hit| in_package(&hit[1], hit[2].parse().ok()?)).collect();
    places.reverse();
    if places.is_empty() {
        places =
            PLACE.captures_iter(text).filter_map(|hit| in_package(&hit[1], hit[2].parse().ok()?)).collect();
        places.truncate(1);
    }
    places.dedup();
    places
}
