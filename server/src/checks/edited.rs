//! Whether a fix changed the very test that it was to turn green.
//!
//! Pure. Not every such edit weakens the test (`weaken` says which do); but a test that was rewritten on the way from red
//! to green has not shown that the code changed for the better.

use std::path::Path;

use super::FailingTest;
use super::source::{Language, Source, Unit};
use super::weaken::{Edit, is_test_path};

/// One line for each edit that touches a failing test or what it uses from its own file.
pub(super) fn edited_tests(edits: &[Edit<'_>], failing: &[&FailingTest]) -> Vec<String> {
    let mut found = Vec::new();
    for edit in edits {
        let (Some(before), Some(after)) = (edit.before, edit.after) else { continue };
        if !is_test_path(edit.path) && Language::of(edit.path) != Some(Language::Rust) {
            continue;
        }
        let Some(language) = Language::of(edit.path) else { continue };
        let path = edit.path.display();
        let (was, now) = (Source::new(language, before), Source::new(language, after));
        let (old_units, new_units) = (was.units(), now.units());
        for test in failing {
            let in_file = |test: &&FailingTest| test.places.iter().any(|place| place.file == edit.path);
            if !test.places.is_empty() && !in_file(test) {
                continue;
            }
            let Some(old) = unit_of(test, edit.path, &was, &old_units) else { continue };
            let Some(new) = new_units.iter().find(|unit| unit.name == old.name) else { continue };
            if !keeps(&text(&was, old), &text(&now, new)) {
                found.push(format!(
                    "{path}:{}: the test that failed before was changed by the fix: {}",
                    now.line(new.body.start),
                    old.name
                ));
            } else if is_test_path(edit.path) && !keeps(&around(&was, &old_units), &around(&now, &new_units))
            {
                found.push(format!("{path}: what the tests in it use was changed by the fix"));
            }
        }
    }
    found.sort();
    found.dedup();
    found
}

/// The test in the file as it was: where it failed, else by its name.
fn unit_of<'a>(test: &FailingTest, path: &Path, was: &Source<'_>, units: &'a [Unit]) -> Option<&'a Unit> {
    let at = test.places.iter().filter(|place| place.file == path).find_map(|place| {
        let start = was.lines(place.line, place.line).start;
        let inside = units.iter().filter(|unit| unit.body.start <= start && start < unit.body.end);
        inside.min_by_key(|unit| unit.body.len())
    });
    at.or_else(|| {
        let last = |name: &str| name.rsplit(['.', ':', '>', ' ', '/']).next().unwrap_or_default().to_owned();
        units.iter().find(|unit| !unit.name.is_empty() && last(&unit.name) == last(&test.name))
    })
}

/// The code of a test without comments.
fn text(source: &Source<'_>, unit: &Unit) -> String {
    source.code[unit.header.start.min(unit.body.start)..unit.body.end].to_owned()
}

/// The code outside of all tests.
fn around(source: &Source<'_>, units: &[Unit]) -> String {
    let mut code = String::new();
    let mut at = 0;
    for unit in units {
        let start = unit.header.start.min(unit.body.start);
        code.push_str(source.code.get(at..start.max(at)).unwrap_or_default());
        at = unit.body.end.max(at);
    }
    code.push_str(source.code.get(at..).unwrap_or_default());
    code
}

/// Whether all lines are still there in their order; more may stand between them.
fn keeps(before: &str, after: &str) -> bool {
    let mut present = after.lines().map(str::trim);
    before
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty())
        .all(|line| present.any(|other| other == line))
}
