//! jest and vitest: the JSON report both write, else the headings of their text.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{Collected, Project, Raw, Reading, script_trace};
use crate::checks::FailingTest;
use crate::checks::outcome::LOAD;

pub(super) fn read(raw: &Raw<'_>, project: &Project) -> Reading {
    let report = raw.report.and_then(|text| serde_json::from_str::<Value>(text).ok());
    let Some(files) = report.as_ref().and_then(|report| report["testResults"].as_array()) else {
        return read_text(raw, project);
    };
    let mut all = Collected::default();
    for file in files {
        let path = file["name"].as_str().unwrap_or_default();
        let shown = project.place(path, 1).map_or(path.to_owned(), |place| place.file.display().to_string());
        let cases = file["assertionResults"].as_array().map(Vec::as_slice).unwrap_or_default();
        for case in cases {
            let name = format!("{shown} > {}", title(case));
            match case["status"].as_str().unwrap_or_default() {
                "passed" => {
                    all.passed.insert(name);
                }
                "failed" => {
                    let excerpt = strings(&case["failureMessages"]).join("\n");
                    let mut places = script_trace::frames(&excerpt, project);
                    if places.is_empty() {
                        let line =
                            case["location"]["line"].as_u64().and_then(|line| u32::try_from(line).ok());
                        places.extend(line.and_then(|line| project.place(path, line)));
                    }
                    all.fail(FailingTest { name, places, excerpt });
                }
                _ => {
                    all.skipped.insert(name);
                }
            }
        }
        if file["status"] == "failed" && !cases.iter().any(|case| case["status"] == "failed") {
            let excerpt = file["message"].as_str().unwrap_or_default().to_owned();
            let mut places = script_trace::frames(&excerpt, project);
            if places.is_empty() {
                places.extend(project.place(path, 1));
            }
            all.fail(FailingTest { name: format!("{LOAD}{shown}"), places, excerpt });
        }
    }
    let mut reading = all.complete();
    reading.cannot_start = missing_package(&reading);
    reading
}

fn title(case: &Value) -> String {
    let mut parts = strings(&case["ancestorTitles"]);
    parts.retain(|part| !part.is_empty());
    parts.extend(case["title"].as_str().map(str::to_owned));
    parts.join(" > ")
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

fn missing_package(reading: &Reading) -> Option<String> {
    let only_files =
        !reading.failing.is_empty() && reading.failing.iter().all(|test| test.name.starts_with(LOAD));
    let foreign = |text: &str| -> Option<String> {
        let words = ["Cannot find module '", "Cannot find package '", "Failed to resolve import \""];
        let at = words.iter().find_map(|words| text.find(words).map(|at| at + words.len()))?;
        let module = text[at..].split(['\'', '"']).next()?;
        (!module.starts_with(['.', '/'])).then(|| format!("the package `{module}` is not installed"))
    };
    let all: Option<Vec<String>> = reading.failing.iter().map(|test| foreign(&test.excerpt)).collect();
    all.filter(|_| only_files).and_then(|all| all.into_iter().next())
}

static JEST_HEAD: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^  ● (.+)$").expect("constant"));
static JEST_COUNT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^\s*Tests:?\s+(?:.*?)(?:(\d+) total|\((\d+)\))\s*$").expect("constant")
});
static LEFT_OUT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(\d+) (?:skipped|todo|pending)\b").expect("constant"));
static VITEST_HEAD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^ ?FAIL\s+(\S+ > .+?)\s*$").expect("constant"));

/// Without a report: `● suite › test` of jest, `FAIL file > suite > test` of vitest.
pub(super) fn read_text(raw: &Raw<'_>, project: &Project) -> Reading {
    let mut all = Collected::default();
    let mut ran = None;
    let mut nothing = false;
    for text in [raw.stderr, raw.stdout] {
        nothing |= text.contains("No tests found") || text.contains("No test files found");
        if let Some(hit) = JEST_COUNT.captures(text) {
            // The total holds those that were skipped.
            let left_out: usize =
                LEFT_OUT.captures_iter(&hit[0]).filter_map(|hit| hit[1].parse::<usize>().ok()).sum();
            let total = hit.get(1).or(hit.get(2)).and_then(|count| count.as_str().parse::<usize>().ok());
            ran = total.map(|total| total.saturating_sub(left_out));
        }
        let heads: Vec<_> = JEST_HEAD
            .captures_iter(text)
            .chain(VITEST_HEAD.captures_iter(text))
            .filter_map(|hit| Some((hit.get(0)?, hit[1].replace(" › ", " > "))))
            .collect();
        for (index, (whole, name)) in heads.iter().enumerate() {
            let end = heads.get(index + 1).map_or(text.len(), |(next, _)| next.start().max(whole.end()));
            let body = text[whole.end()..end].trim_matches('\n').to_owned();
            all.fail(FailingTest {
                name: name.clone(),
                places: script_trace::frames(&body, project),
                excerpt: body,
            });
        }
    }
    if nothing && all.failing.is_empty() {
        ran = Some(0);
    }
    if ran.is_none() {
        return Reading::default();
    }
    Reading { failing: all.into_failing(), ran, ..Reading::default() }
}
