//! pytest: JUnit XML where we asked for it, else the short test summary.

use std::sync::LazyLock;

use regex::Regex;

use super::junit::{self, Case, Verdict};
use super::{Collected, Project, Raw, Reading, python_trace};
use crate::checks::FailingTest;
use crate::checks::outcome::LOAD;

pub(super) fn read(raw: &Raw<'_>, project: &Project) -> Reading {
    let Some(cases) = raw.report.and_then(junit::cases) else {
        return read_text(raw, project);
    };
    let mut all = Collected::default();
    let mut unreadable = Vec::new();
    for case in &cases {
        let name = node_id(case);
        match case.verdict {
            Verdict::Passed => {
                all.passed.insert(name);
            }
            Verdict::Skipped => {
                all.skipped.insert(name);
            }
            Verdict::Failed | Verdict::Error => {
                let places = python_trace::frames(&case.text, project);
                if stands_for_a_file(case) {
                    unreadable.push(python_trace::missing_dependency(&case.text, project));
                }
                all.fail(FailingTest { name, places, excerpt: case.text.clone() });
            }
        }
    }
    let only_unreadable = all.failing.len() == unreadable.len();
    let mut reading = all.complete();
    if !unreadable.is_empty() && only_unreadable {
        // Every failure is a file that could not be loaded: the environment's fault only if all of them are.
        reading.cannot_start = unreadable.into_iter().collect::<Option<Vec<_>>>().map(|all| all[0].clone());
    }
    if reading.ran == Some(0) && !matches!(raw.exit, Some(0 | 5)) {
        reading.ran = None;
        match broken_conftest(raw, project) {
            Some(test) => reading.failing.push(test),
            None => reading.cannot_start = reading.cannot_start.or_else(|| environment(raw, project)),
        }
    }
    reading
}

fn stands_for_a_file(case: &Case) -> bool {
    case.verdict == Verdict::Error && case.text.starts_with("collection failure")
}

/// `tests/test_a.py::TestB::test_c[1]` from what the report has.
fn node_id(case: &Case) -> String {
    if stands_for_a_file(case) {
        let module = if case.classname.is_empty() { case.name.clone() } else { case.classname.clone() };
        return format!("{LOAD}{module}");
    }
    let Some(file) = &case.file else {
        return format!("{}::{}", case.classname, case.name);
    };
    let module = file.strip_suffix(".py").unwrap_or(file).replace(['/', '\\'], ".");
    let class = case.classname.strip_prefix(&module).unwrap_or("").trim_start_matches('.');
    let mut id = file.replace('\\', "/");
    for part in class.split('.').filter(|part| !part.is_empty()) {
        id.push_str("::");
        id.push_str(part);
    }
    format!("{id}::{}", case.name)
}

static SUMMARY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(FAILED|ERROR|PASSED|SKIPPED|XFAIL) (\S.*?\.py(?:::.*?)?)(?: - (.*))?$")
        .expect("constant")
});
static COUNTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^=*\s*((?:\d+ (?:passed|failed|errors?|skipped|xfailed|xpassed|deselected|warnings?|rerun)(?:, )?)+) in [\d.]+s")
        .expect("constant")
});
static COUNT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(\d+) (passed|failed|error|xpassed)").expect("constant"));
static SECTION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^_{3,} (?:ERROR (?:at \w+ of|collecting) )?(.+?) _{3,}$").expect("constant")
});

/// Without a report: the names in the summary, the places in the sections above it.
pub(super) fn read_text(raw: &Raw<'_>, project: &Project) -> Reading {
    let text = raw.stdout;
    let mut all = Collected::default();
    let sections = sections(text);
    for hit in SUMMARY.captures_iter(text) {
        let id = hit[2].to_owned();
        match &hit[1] {
            "PASSED" => {
                all.passed.insert(id);
            }
            "FAILED" | "ERROR" => {
                let title = id.split("::").skip(1).collect::<Vec<_>>().join(".");
                let section = sections.iter().find(|(name, _)| *name == title || *name == id.as_str());
                let excerpt = section.map_or_else(
                    || hit.get(3).map_or(String::new(), |message| message.as_str().to_owned()),
                    |(_, body)| (*body).to_owned(),
                );
                let places = python_trace::frames(&excerpt, project);
                let name = if id.contains("::") { id } else { format!("{LOAD}{}", module_of(&id)) };
                all.fail(FailingTest { name, places, excerpt });
            }
            _ => {}
        }
    }
    let ran = COUNTS.captures_iter(text).last().map(|hit| {
        COUNT.captures_iter(&hit[1]).filter_map(|count| count[1].parse::<usize>().ok()).sum::<usize>()
    });
    let mut failing = all.into_failing();
    let only_files = failing.iter().all(|test| test.name.starts_with(LOAD));
    let mut cannot_start = None;
    if !failing.is_empty() && only_files {
        let missing: Option<Vec<String>> =
            failing.iter().map(|test| python_trace::missing_dependency(&test.excerpt, project)).collect();
        cannot_start = missing.map(|all| all[0].clone());
    } else if failing.is_empty() && ran.is_none() && raw.exit != Some(0) {
        match broken_conftest(raw, project) {
            Some(test) => failing.push(test),
            None => cannot_start = environment(raw, project),
        }
    }
    let ran = if text.contains("no tests ran") || text.contains("collected 0 items") && failing.is_empty() {
        Some(0)
    } else {
        ran
    };
    Reading { failing, tests: None, ran, cannot_start, shown: None }
}

fn module_of(path: &str) -> String {
    path.strip_suffix(".py").unwrap_or(path).replace('/', ".")
}

/// `____ TestB.test_c ____` and what stands below it.
fn sections(text: &str) -> Vec<(&str, &str)> {
    let heads: Vec<_> =
        SECTION.captures_iter(text).filter_map(|hit| Some((hit.get(0)?, hit.get(1)?))).collect();
    let mut sections = Vec::with_capacity(heads.len());
    for (index, (whole, name)) in heads.iter().enumerate() {
        let end = heads.get(index + 1).map_or(text.len(), |(next, _)| next.start());
        let body = &text[whole.end()..end];
        let body = body.find("\n=====").map_or(body, |at| &body[..at]);
        sections.push((name.as_str(), body.trim_matches('\n')));
    }
    sections
}

/// A conftest that fails to load through code of the project is a failure of that code.
fn broken_conftest(raw: &Raw<'_>, project: &Project) -> Option<FailingTest> {
    let (text, at) = [raw.stderr, raw.stdout]
        .into_iter()
        .find_map(|text| text.find("ImportError while loading conftest").map(|at| (text, at)))?;
    let excerpt = &text[at..];
    if python_trace::missing_dependency(excerpt, project).is_some() {
        return None;
    }
    let places = python_trace::frames(excerpt, project);
    Some(FailingTest { name: format!("{LOAD}conftest"), places, excerpt: excerpt.to_owned() })
}

/// Why pytest itself could not do its work: not installed, wrong arguments, broken configuration, or a conftest
/// that needs something that is not there.
fn environment(raw: &Raw<'_>, project: &Project) -> Option<String> {
    let both = [raw.stderr, raw.stdout];
    for text in both {
        for line in text.lines() {
            let line = line.trim();
            if line.ends_with("No module named pytest") {
                return Some("pytest is not installed for this Python".to_owned());
            }
            let told = line.starts_with("ERROR: ") && !line.starts_with("ERROR: usage:");
            if told || line.contains(": error: ") || line.starts_with("INTERNALERROR> E") {
                return Some(line.to_owned());
            }
        }
    }
    if let Some(reason) = both.iter().find_map(|text| python_trace::missing_dependency(text, project)) {
        return Some(reason);
    }
    match raw.exit {
        Some(3) => Some("pytest had an internal error".to_owned()),
        Some(4) => Some("pytest could not use its arguments or configuration".to_owned()),
        _ => None,
    }
}
