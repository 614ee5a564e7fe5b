//! Configuration that decides which tests run: CI files, and the settings of test runners.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::WeakeningKind;
use super::paths::is_ci_path;
use crate::checks::source::Source;

/// Settings with which tests are left out or failures let pass.
static LEAVES_OUT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"(?i)--ignore\b|--deselect\b|-k +['"]?not\b|-m +['"]?not\b|norecursedirs|collect_ignore|testPathIgnorePatterns|testIgnore|passWithNoTests|\bexclude\b|bail|--skip\b|continue-on-error|fail_under|\bthreshold\b|xfail_strict|addopts|testpaths|python_files|\bretries\b|--exit-zero|\|\| *true"#,
    )
    .expect("constant")
});
static TARGET: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(test|check|tests)\b[^\n:=]*:(?:[^=\n][^\n]*)?\n((?:\t[^\n]*\n?)*)").expect("constant")
});

/// What a `conftest.py` or a setup file can do to tests that it does not hold.
static REACHES_TESTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?m)^\s*(?:async\s+)?def\s+pytest_\w+|\bautouse *= *True|\bsys\.modules\[|\bbuiltins\.\w+ *=|\b(?:assert|expect|it|test|describe)(?:\.\w+)* *= *[^=\s>]|\bglobal(?:This)?\.(?:it|test|describe|expect|assert)\b *=|\b(?:vi|jest)\.mock\(|\bunittest\.\w[\w.]* *= *[^=\s]",
    )
    .expect("constant")
});

/// Lines of a file that sets up other tests, and with which it changes what they do.
pub(super) fn setup(
    before: Option<&str>,
    source: &Source<'_>,
    add: &mut impl FnMut(u32, WeakeningKind, String),
) {
    let known: Vec<&str> = before.unwrap_or_default().lines().map(str::trim).collect();
    for (number, (text, masked)) in (1u32..).zip(source.text.lines().zip(source.mask.lines())) {
        if !known.contains(&text.trim()) && REACHES_TESTS.is_match(masked) {
            let what = format!("changes what other tests do: {}", text.trim());
            add(number, WeakeningKind::TestRunChanged, what);
        }
    }
}

pub(super) fn compare(
    path: &Path,
    before: Option<&str>,
    after: &str,
    add: &mut impl FnMut(u32, WeakeningKind, String),
) {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    if is_ci_path(path) {
        let line = super::first_difference(before.unwrap_or_default(), after);
        let what = if before.is_some() { "was changed" } else { "was added" };
        add(line, WeakeningKind::TestRunChanged, format!("a file that says how tests are run {what}"));
        return;
    }
    // What a new file decides was not decided before.
    let before = before.unwrap_or_default();
    match name {
        "package.json" => package(before, after, add),
        "Makefile" | "makefile" | "GNUmakefile" => {
            let recipe = |text: &str| -> Vec<String> {
                TARGET.captures_iter(text).map(|hit| hit[2].to_owned()).collect()
            };
            if recipe(before) != recipe(after) {
                let line = super::first_difference(before, after);
                add(line, WeakeningKind::TestRunChanged, "the test target was changed".to_owned());
            }
        }
        "pyproject.toml" | "setup.cfg" | "Cargo.toml" | ".coveragerc" => {
            let changed = |from: &str, to: &str| -> Vec<(u32, String)> {
                let known: Vec<&str> = from.lines().map(str::trim).collect();
                let lines = to.lines().zip(1u32..);
                lines
                    .filter(|(line, _)| !known.contains(&line.trim()) && decides(name, line))
                    .map(|(line, number)| (number, line.trim().to_owned()))
                    .collect()
            };
            for (line, text) in changed(before, after) {
                add(line, WeakeningKind::TestRunChanged, format!("changes which tests run: {text}"));
            }
        }
        _ => {}
    }
}

fn decides(name: &str, line: &str) -> bool {
    if name == "Cargo.toml" {
        let line = line.replace(' ', "");
        return [
            "test=false",
            "doctest=false",
            "autotests=false",
            "harness=false",
            "required-features=",
            "exclude=",
            "default-members=",
        ]
        .iter()
        .any(|word| line.starts_with(word));
    }
    LEAVES_OUT.is_match(line)
}

fn package(before: &str, after: &str, add: &mut impl FnMut(u32, WeakeningKind, String)) {
    let read = |text: &str| serde_json::from_str::<Value>(text).unwrap_or(Value::Null);
    let (was, now) = (read(before), read(after));
    for (place, what) in [
        ("/scripts/test", "the `test` script was changed"),
        ("/scripts/pretest", "the `pretest` script was changed"),
        ("/scripts/posttest", "the `posttest` script was changed"),
        ("/jest", "the settings of jest were changed"),
        ("/vitest", "the settings of vitest were changed"),
        ("/mocha", "the settings of mocha were changed"),
        ("/ava", "the settings of ava were changed"),
    ] {
        // A first `test` script takes nothing away; settings of a runner may, wherever they come from.
        let first_script = place == "/scripts/test" && was.pointer(place).is_none();
        if !first_script && was.pointer(place) != now.pointer(place) {
            add(super::first_difference(before, after), WeakeningKind::TestRunChanged, what.to_owned());
        }
    }
}
