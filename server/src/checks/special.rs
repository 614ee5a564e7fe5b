//! Code that answers the test instead of solving the problem.
//!
//! A fix that compares with the very inputs of a failing test and returns the very answer turns the test green and
//! proves nothing; so does code that looks whether it is being tested. Pure, and only a suspicion: it lowers a
//! `proven` to something that has to be judged, and is shown.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::source::{Language, Source};
use super::weaken::{Edit, is_test_path};

/// A suspicious line of a fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SpecialCase {
    pub path: PathBuf,
    /// In the present text, from 1.
    pub line: u32,
    pub what: String,
}

const LITERAL: &str = r#"(?:-?\d[\d_]*(?:\.\d+)?|"[^"\n]*"|'[^'\n]*')"#;
static LITERALS: LazyLock<Regex> = LazyLock::new(|| Regex::new(LITERAL).expect("constant"));
static COMPARISON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(
        r"(?:===?|\bis|\beq\(|\bequals?\()\s*(?P<a>[(\[]?(?:{LITERAL}(?:\s*,\s*)?)+\)?)|(?P<b>{LITERAL})\s*===?|\bcase\s+(?P<c>(?:{LITERAL}(?:\s*,\s*)?)+)|^\s*\(?(?P<d>(?:{LITERAL}(?:\s*,\s*)?)+)\)?\s*=>|\bin\s*[(\[{{](?P<e>(?:{LITERAL}(?:\s*,\s*)?)+)"
    ))
    .expect("constant")
});
static ANSWER: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(
        r"(?:\breturn\s+[(\[{{]*|=>\s*(?:return\s+)?[(\[{{]*|\?\s*[(\[{{]*|\{{\s*)(?P<answer>{LITERAL}|True\b|False\b|None\b|true\b|false\b|null\b|nil\b)"
    ))
    .expect("constant")
});
/// An entry of a table: a key and its value.
static ENTRY: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(&format!(
        r"(?:[(\[{{]\s*)?(?P<key>{LITERAL})\s*[)\]]?\s*(?::|=>)\s*[(\[{{]?(?P<value>{LITERAL}|True\b|False\b|None\b|true\b|false\b|null\b|nil\b)"
    ))
    .expect("constant")
});
/// Code that asks whether it is being tested.
static UNDER_TEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r#"PYTEST_CURRENT_TEST|['"](?:pytest|unittest|_pytest)['"]\s+in\s+sys\.modules|sys\.modules(?:\.get\(|\[)['"](?:pytest|unittest)|\bcfg!\(test\)|NODE_TEST_CONTEXT|JEST_WORKER_ID|\bVITEST\b|NODE_ENV\b.{0,12}['"]test['"]|\btesting\.Testing\(\)|inspect\.(?:stack|currentframe)\(|sys\._getframe\(|RUST_TEST_THREADS"#,
    )
    .expect("constant")
});

/// Code under test that reaches for the tests: it replaces what they assert with, or ends the run before they fail.
static REACHES_TESTS: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"\bunittest\.\w[\w.]*\s*=[^=]|\b(?:unittest|pytest)\b.*\bsetattr\(|\bsetattr\(\s*(?:unittest|pytest|TestCase)\b|\bTestCase\.\w+\s*=[^=]|^\s*(?:import|from)\s+(?:unittest|pytest|_pytest)\b|\bbuiltins\.\w+\s*=[^=]|\bassert\.\w+\s*=[^=]|\b(?:globalThis|global)\.(?:assert|expect|it|test|describe)\s*=[^=]|\bos\._exit\(",
    )
    .expect("constant")
});

/// Looks for special cases in what a fix added. `tests` are the texts of the test files that failed before it.
pub fn find_special_cases(edits: &[Edit<'_>], tests: &[&str]) -> Vec<SpecialCase> {
    let known: BTreeSet<&str> =
        tests.iter().flat_map(|text| LITERALS.find_iter(text)).map(|hit| value(hit.as_str())).collect();
    let mut found = Vec::new();
    for edit in edits {
        if let Some(after) = edit.after.filter(|_| !is_test_path(edit.path)) {
            in_file(edit.path, edit.before.unwrap_or_default(), after, &known, &mut found);
        }
    }
    found
}

fn in_file(path: &Path, before: &str, after: &str, known: &BTreeSet<&str>, found: &mut Vec<SpecialCase>) {
    let Some(language) = Language::of(path) else { return };
    let source = Source::new(language, after);
    let units = source.units();
    let mut old: BTreeMap<&str, usize> = BTreeMap::new();
    for line in before.lines() {
        *old.entry(line.trim()).or_default() += 1;
    }
    let lines: Vec<&str> = source.code.lines().collect();
    let mut added = Vec::with_capacity(lines.len());
    for line in after.lines() {
        let kept = old.get_mut(line.trim()).filter(|count| **count > 0);
        added.push(kept.is_none());
        if let Some(count) = kept {
            *count -= 1;
        }
    }
    for (index, line) in lines.iter().enumerate() {
        let number = u32::try_from(index + 1).unwrap_or(u32::MAX);
        let at = source.lines(number, number).start;
        let in_test = units.iter().any(|unit| unit.body.contains(&at));
        if !added.get(index).copied().unwrap_or(false) || in_test {
            continue;
        }
        let what = if UNDER_TEST.is_match(line) {
            "asks whether it is being tested"
        } else if REACHES_TESTS.is_match(line) {
            "reaches for the tests or for the end of their run"
        } else if answers(&lines[index..lines.len().min(index + 3)], known) {
            "compares with the inputs of the failing test and returns its answer"
        } else if is_a_table_of_answers(&lines, &added, index, known) {
            "looks up the answer to the inputs of the failing test"
        } else {
            continue;
        };
        found.push(SpecialCase {
            path: path.to_owned(),
            line: number,
            what: format!("{what}: {}", line.trim()),
        });
    }
}

/// Whether the first line compares with literals of the test, and it or one of the next two gives an answer of it.
fn answers(lines: &[&str], known: &BTreeSet<&str>) -> bool {
    let compared: Vec<&str> = COMPARISON
        .captures_iter(lines[0])
        .filter_map(|hit| ["a", "b", "c", "d", "e"].iter().find_map(|group| hit.name(group)))
        .flat_map(|group| LITERALS.find_iter(group.as_str()))
        .map(|literal| value(literal.as_str()))
        .collect();
    let telling = compared.iter().any(|literal| is_telling(literal)) || compared.len() > 1;
    if compared.is_empty() || !telling || !compared.iter().all(|literal| is_known(literal, known)) {
        return false;
    }
    lines.iter().any(|line| ANSWER.captures_iter(line).any(|hit| is_answer(&hit["answer"], known)))
}

/// Whether a new table begins on this line that holds nothing but what the test asks and expects. A table that is
/// longer than the test, or that was there before and got another entry, is an ordinary fix.
fn is_a_table_of_answers(lines: &[&str], added: &[bool], index: usize, known: &BTreeSet<&str>) -> bool {
    let has_entry = |at: usize| lines.get(at).is_some_and(|line| ENTRY.is_match(line));
    let is_added = |at: usize| added.get(at).copied().unwrap_or(false);
    if !has_entry(index) || index > 0 && has_entry(index - 1) {
        return false;
    }
    let end = (index..lines.len()).find(|&at| !has_entry(at)).unwrap_or(lines.len());
    let mut telling = false;
    for (at, line) in lines.iter().enumerate().take(end).skip(index) {
        for hit in ENTRY.captures_iter(line) {
            let key = value(hit.name("key").map_or("", |key| key.as_str()));
            if !is_added(at) || !is_known(key, known) || !is_answer(&hit["value"], known) {
                return false;
            }
            telling |= is_telling(key);
        }
    }
    telling
}

/// Whether a literal says something: many programs compare with 0 and 1.
fn is_telling(literal: &str) -> bool {
    !matches!(literal, "0" | "1" | "-1" | "")
}

/// Whether the test holds this literal, or each part of one that was put together (`'2-4'` from 2 and 4).
fn is_known(literal: &str, known: &BTreeSet<&str>) -> bool {
    if known.contains(literal) {
        return true;
    }
    let parts: Vec<&str> =
        literal.split([',', ';', ':', '-', '_', '|', '/', ' ']).filter(|part| !part.is_empty()).collect();
    parts.len() > 1 && parts.iter().all(|part| known.contains(part))
}

fn is_answer(answer: &str, known: &BTreeSet<&str>) -> bool {
    answer.chars().next().is_some_and(char::is_alphabetic) || known.contains(value(answer))
}

/// A literal without its quotes.
fn value(literal: &str) -> &str {
    literal.trim_matches(['"', '\''])
}
