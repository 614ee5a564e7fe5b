//! TAP with subtests, as `node --test` writes it, and plain TAP.

use std::sync::LazyLock;

use regex::Regex;

use super::{Collected, Project, Raw, Reading, script_trace};
use crate::checks::outcome::LOAD;
use crate::checks::{FailingTest, Place};

static POINT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^( *)(not ok|ok)\b(?: +\d+)?(?: +-)? *(.*)$").expect("constant"));
static LOCATION: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^location: '(.+):(\d+):\d+'$").expect("constant"));
static DIRECTIVE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?i)\s+#\s*(skip|todo)\b.*$").expect("constant"));

struct Node {
    indent: usize,
    name: String,
    has_children: bool,
}

pub(super) fn read(raw: &Raw<'_>, project: &Project) -> Reading {
    let text = raw.stdout;
    let is_tap = text.lines().any(|line| line.starts_with("TAP version ") || line.starts_with("1.."))
        && text.lines().any(|line| line.starts_with("ok") || line.starts_with("not ok") || line == "1..0");
    if !is_tap && !text.starts_with("TAP version ") {
        return Reading { cannot_start: environment(raw), ..spec_text(raw, project) };
    }
    let lines: Vec<&str> = text.lines().collect();
    let mut all = Collected::default();
    let mut open: Vec<Node> = Vec::new();
    let mut index = 0;
    while index < lines.len() {
        let line = lines[index];
        index += 1;
        let indent = line.len() - line.trim_start_matches(' ').len();
        if let Some(name) = line.trim_start().strip_prefix("# Subtest: ") {
            open.retain(|node| node.indent < indent);
            if let Some(parent) = open.last_mut() {
                parent.has_children = true;
            }
            open.push(Node { indent, name: unescaped(name.trim()), has_children: false });
            continue;
        }
        let Some(hit) = POINT.captures(line) else { continue };
        let (passed, described) = (&hit[2] == "ok", hit[3].to_owned());
        let directive = DIRECTIVE.captures(&described).map(|found| found[1].to_ascii_lowercase());
        let name = unescaped(DIRECTIVE.replace(&described, "").trim());
        let (block, next) = diagnostics(&lines, index, indent);
        index = next;
        let parent_of_others = open.iter().any(|node| node.indent == indent && node.has_children);
        open.retain(|node| node.indent < indent);
        if parent_of_others && (passed || block.contains("subtestsFailed")) {
            continue;
        }
        let full: Vec<&str> =
            open.iter().map(|node| node.name.as_str()).chain(std::iter::once(name.as_str())).collect();
        let full = full.join(" > ");
        let file = project.place(&name, 1).filter(|_| indent == 0 && name.contains(['/', '\\']));
        match (passed, directive, file) {
            // node reports a file that defines no test as one that passed.
            (true, None, Some(_)) => {}
            (true, None, None) => {
                all.passed.insert(full);
            }
            (_, Some(_), _) => {
                all.skipped.insert(full);
            }
            (false, None, Some(place)) => {
                let excerpt = comments_before(&lines, index, block);
                let mut places = places(&excerpt, project);
                if places.is_empty() {
                    places.push(place.clone());
                }
                all.fail(FailingTest { name: format!("{LOAD}{}", place.file.display()), places, excerpt });
            }
            (false, None, None) => {
                let places = places(&block, project);
                all.fail(FailingTest { name: full, places, excerpt: block });
            }
        }
    }
    let mut reading = all.complete();
    reading.cannot_start = missing_package(&reading, text);
    reading
}

/// The YAML block below a test point, and the index of the line after it.
fn diagnostics(lines: &[&str], start: usize, indent: usize) -> (String, usize) {
    let inner = indent + 2;
    let is = |line: &str, word: &str| line.len() > inner && line.get(inner..) == Some(word);
    if !lines.get(start).is_some_and(|line| is(line, "---")) {
        return (String::new(), start);
    }
    let mut block = String::new();
    for (offset, line) in lines[start + 1..].iter().enumerate() {
        if is(line, "...") {
            return (block, start + offset + 2);
        }
        block.push_str(line.get(inner..).unwrap_or_else(|| line.trim_start()));
        block.push('\n');
    }
    // The output ended in the middle of it.
    (block, lines.len())
}

/// What a file wrote before it failed to load stands in comments above its test point.
fn comments_before(lines: &[&str], end: usize, block: String) -> String {
    let mut comments: Vec<&str> = lines[..end]
        .iter()
        .filter(|line| line.starts_with("# ") && !line.starts_with("# Subtest"))
        .map(|line| line.trim_start_matches("# "))
        .collect();
    comments.truncate(60);
    if comments.is_empty() { block } else { format!("{}\n\n{block}", comments.join("\n")) }
}

/// The frames of the stack; without one, the test's own location counts.
fn places(block: &str, project: &Project) -> Vec<Place> {
    let places = script_trace::frames(block, project);
    if !places.is_empty() {
        return places;
    }
    LOCATION
        .captures_iter(block)
        .find_map(|hit| project.place(&hit[1], hit[2].parse().ok()?))
        .into_iter()
        .collect()
}

fn unescaped(name: &str) -> String {
    name.replace("\\#", "#").replace("\\\\", "\\")
}

/// All failures are files that miss a package that is none of the project's.
fn missing_package(reading: &Reading, text: &str) -> Option<String> {
    let only_files =
        !reading.failing.is_empty() && reading.failing.iter().all(|test| test.name.starts_with(LOAD));
    if !only_files {
        return None;
    }
    let at = text.find("Cannot find module '").map(|at| at + "Cannot find module '".len());
    let at =
        at.or_else(|| text.find("Cannot find package '").map(|at| at + "Cannot find package '".len()))?;
    let module = text[at..].split('\'').next()?;
    let foreign = !module.starts_with(['.', '/']);
    foreign.then(|| format!("the package `{module}` is not installed"))
}

fn environment(raw: &Raw<'_>) -> Option<String> {
    let line = raw
        .stderr
        .lines()
        .find(|line| line.starts_with("Could not find '") || line.contains("bad option"))?;
    (raw.exit != Some(0)).then(|| line.trim().to_owned())
}

static SPEC_FAILING: &str = "✖ failing tests:";
static SPEC_COUNT: LazyLock<Regex> = LazyLock::new(|| Regex::new(r"(?m)^ℹ tests (\d+)$").expect("constant"));
static SPEC_LEFT_OUT: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^ℹ (?:skipped|todo) (\d+)$").expect("constant"));
static SPEC_AT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^test at ([^\n]+?):(\d+):\d+\n✖ (.+?)(?: \([\d.]+ms\))?$").expect("constant")
});

/// node's `spec` reporter, which newer versions write without a terminal too.
fn spec_text(raw: &Raw<'_>, project: &Project) -> Reading {
    let Some(count) = SPEC_COUNT.captures(raw.stdout) else { return Reading::default() };
    let mut all = Collected::default();
    if let Some(at) = raw.stdout.find(SPEC_FAILING) {
        let section = &raw.stdout[at..];
        let hits: Vec<_> = SPEC_AT.captures_iter(section).collect();
        for (index, hit) in hits.iter().enumerate() {
            let start = hit.get(0).map_or(0, |whole| whole.end());
            let end =
                hits.get(index + 1).and_then(|next| next.get(0)).map_or(section.len(), |next| next.start());
            let body = section[start..end].trim().to_owned();
            let mut places = places(&body, project);
            if places.is_empty() {
                places.extend(hit[2].parse().ok().and_then(|line| project.place(&hit[1], line)));
            }
            all.fail(FailingTest { name: hit[3].to_owned(), places, excerpt: body });
        }
    }
    let left_out: usize =
        SPEC_LEFT_OUT.captures_iter(raw.stdout).filter_map(|hit| hit[1].parse::<usize>().ok()).sum();
    let ran = count[1].parse::<usize>().ok().map(|total| total.saturating_sub(left_out));
    Reading { failing: all.into_failing(), ran, ..Reading::default() }
}
