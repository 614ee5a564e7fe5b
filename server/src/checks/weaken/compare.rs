//! Comparing the tests of a file before and after.

use std::collections::BTreeMap;

use super::assertions::{Assertion, NOTHING, assertions, cases, tolerates_more};
use super::{WeakeningKind, same, skips};
use crate::checks::source::Language;
use crate::checks::source::{Source, Unit};

/// `is_test`: the whole file is a test; otherwise only its test functions are looked at.
pub(super) fn compare(
    language: Language,
    is_test: bool,
    before: Option<&str>,
    after: &str,
    elsewhere: &dyn Fn(&str, &[String]) -> bool,
    add: &mut impl FnMut(u32, WeakeningKind, String),
) {
    let was = Source::new(language, before.unwrap_or_default());
    let now = Source::new(language, after);
    let (old_units, new_units) = (was.units(), now.units());
    // A new test weakens none; but a test that went missing may be here under another name.
    let all_kept = old_units.iter().all(|old| new_units.iter().any(|new| new.name == old.name));
    let is_new = |unit: &Unit| all_kept && !old_units.iter().any(|old| old.name == unit.name);
    if is_test || !old_units.is_empty() {
        added_lines(&was, &now, &new_units, is_test, &is_new, add);
    }
    let mut left: Vec<&Unit> = new_units.iter().collect();
    let mut gone: Vec<&Unit> = Vec::new();
    for old in &old_units {
        match left.iter().position(|new| new.name == old.name) {
            Some(at) => tests(&was, old, &now, left.remove(at), add),
            None => gone.push(old),
        }
    }
    for old in gone {
        // A test with another name and the same assertions was renamed.
        let demands = texts(&assertions(&was, old));
        let renamed = left.iter().position(|new| {
            let present = texts(&assertions(&now, new));
            !demands.is_empty() && demands.iter().all(|text| present.contains(text))
        });
        match renamed {
            Some(at) => tests(&was, old, &now, left.remove(at), add),
            None if elsewhere(&old.name, &demands) => {}
            None => {
                let what = format!("the test `{}` was deleted", old.name);
                add(was.line(old.body.start), WeakeningKind::TestDeleted, what);
            }
        }
    }
}

/// Whether a file has got a test of this name that it did not have, with at least these assertions: one that was moved.
pub(super) fn got(
    language: Language,
    before: Option<&str>,
    after: &str,
    name: &str,
    demands: &[String],
) -> bool {
    let last = |name: &str| name.rsplit(['.', '>']).next().unwrap_or_default().trim().to_owned();
    let (was, now) = (Source::new(language, before.unwrap_or_default()), Source::new(language, after));
    let old_units = was.units();
    now.units().iter().any(|unit| {
        let present = texts(&assertions(&now, unit));
        last(&unit.name) == last(name)
            && !old_units.iter().any(|old| old.name == unit.name)
            && demands.iter().all(|text| present.contains(text))
            && !skips::skips(language, &now.mask[unit.header.clone()])
    })
}

fn texts(assertions: &[Assertion]) -> Vec<String> {
    assertions.iter().map(|assertion| assertion.text.clone()).collect()
}

/// One test before and after.
fn tests(
    was: &Source<'_>,
    old: &Unit,
    now: &Source<'_>,
    new: &Unit,
    add: &mut impl FnMut(u32, WeakeningKind, String),
) {
    if same::is_renamed(was, old, now, new) {
        return;
    }
    let (before, after) = (assertions(was, old), assertions(now, new));
    if !before.is_empty() && after.is_empty() {
        let what = format!("the test `{}` no longer asserts anything", new.name);
        add(now.line(new.body.start), WeakeningKind::TestEmptied, what);
    } else {
        demands(was, &before, now, &after, &new.name, add);
    }
    if let (Some(had), Some(has)) = (cases(was, old), cases(now, new))
        && has < had
    {
        let what = format!("{} of the {had} cases of `{}` were removed", had - has, new.name);
        add(now.line(new.header.start), WeakeningKind::CasesRemoved, what);
    }
}

fn demands(
    was: &Source<'_>,
    before: &[Assertion],
    now: &Source<'_>,
    after: &[Assertion],
    name: &str,
    add: &mut impl FnMut(u32, WeakeningKind, String),
) {
    let mut added: Vec<&Assertion> = after.iter().collect();
    let mut removed: Vec<&Assertion> = Vec::new();
    for old in before {
        match added.iter().position(|new| new.text == old.text || same::same_demand(&old.text, &new.text)) {
            Some(at) => {
                added.remove(at);
            }
            None => removed.push(old),
        }
    }
    for old in removed {
        let nearest = added
            .iter()
            .enumerate()
            .map(|(index, new)| (index, likeness(&old.text, &new.text)))
            .max_by(|(_, a), (_, b)| a.total_cmp(b));
        let Some((index, _)) = nearest else {
            let what = format!("an assertion of `{name}` was deleted: {}", short(&old.text));
            add(was.line(old.at), WeakeningKind::AssertionDeleted, what);
            continue;
        };
        let new = added.remove(index);
        let (from, to) = (short(&old.text), short(&new.text));
        let line = now.line(new.at);
        if new.strength == NOTHING && old.strength != NOTHING {
            add(line, WeakeningKind::ComparisonLoosened, format!("always true now: `{from}` became `{to}`"));
        } else if new.strength < old.strength {
            add(line, WeakeningKind::ComparisonLoosened, format!("demands less: `{from}` became `{to}`"));
        } else if tolerates_more(&old.text, &new.text) {
            add(line, WeakeningKind::ToleranceWidened, format!("tolerates more: `{from}` became `{to}`"));
        } else if new.strength == old.strength {
            add(
                line,
                WeakeningKind::ExpectationChanged,
                format!("expects something else: `{from}` became `{to}`"),
            );
        }
    }
}

/// Which assertion became which: by the words they share.
fn likeness(a: &str, b: &str) -> f64 {
    f64::from(similar::TextDiff::from_chars(a, b).ratio())
}

fn short(text: &str) -> String {
    const LONGEST: usize = 100;
    if text.chars().count() <= LONGEST {
        return text.to_owned();
    }
    let start: String = text.chars().take(LONGEST - 1).collect();
    format!("{start}…")
}

/// Lines that are new in the file and keep tests from running or failing.
fn added_lines(
    was: &Source<'_>,
    now: &Source<'_>,
    units: &[Unit],
    is_test: bool,
    is_new: &dyn Fn(&Unit) -> bool,
    add: &mut impl FnMut(u32, WeakeningKind, String),
) {
    let mut known: BTreeMap<&str, usize> = BTreeMap::new();
    for line in was.text.lines() {
        *known.entry(line.trim()).or_default() += 1;
    }
    let language = now.language;
    let mut at = 0;
    for (text, masked) in now.text.split_inclusive('\n').zip(now.mask.split_inclusive('\n')) {
        let start = at;
        at += text.len();
        let shown = text.trim();
        if let Some(count) = known.get_mut(shown).filter(|count| **count > 0) {
            *count -= 1;
            continue;
        }
        let unit = units.iter().find(|unit| unit.header.contains(&start) || unit.body.contains(&start));
        if unit.is_some_and(is_new) {
            continue;
        }
        if !is_test && unit.is_none() && !masked.trim_start().starts_with("#[") {
            continue;
        }
        // A build tag is a comment, and the value of an option a string: both are seen in the text only.
        let seen = if masked.trim().is_empty() && !shown.starts_with("//go:build") { continue } else { text };
        let visible = if shown.starts_with("//") { seen } else { masked };
        let line = now.line(start);
        if skips::skips(language, visible.trim_end())
            || skips::skips(language, shown) && !visible.trim().is_empty() && skips_in_code(masked, shown)
        {
            add(line, WeakeningKind::Skipped, format!("keeps tests from running: {}", short(shown)));
        } else if unit.is_some() && skips::swallows(language, masked) {
            add(line, WeakeningKind::ErrorSwallowed, format!("may hide a failure: {}", short(shown)));
        } else if skips::replaces(language, masked) {
            add(
                line,
                WeakeningKind::CodeReplaced,
                format!("replaces what the test is about: {}", short(shown)),
            );
        } else if unit.is_some() && skips::is_dead(masked) {
            add(line, WeakeningKind::Skipped, format!("never runs: {}", short(shown)));
        } else if let Some(unit) = unit
            && skips::leaves(masked.trim_end())
            && assertions(now, unit).iter().any(|assertion| assertion.at > start)
        {
            add(line, WeakeningKind::Skipped, format!("leaves `{}` before its assertions", unit.name));
        }
    }
}

/// A skip whose reason stands in a string still begins in code.
fn skips_in_code(masked: &str, shown: &str) -> bool {
    let code = masked.trim();
    let length = code.find(['"', '\'']).unwrap_or(code.len());
    length > 0 && shown.starts_with(&code[..length.min(3)])
}
