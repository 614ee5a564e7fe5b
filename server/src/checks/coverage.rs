//! Which failing tests are about a finding, as far as texts can tell.
//!
//! Needed only where several findings share a check: a test that turned green proves the finding it is about and not
//! its neighbours. Pure; reads through the function it is given.

use std::collections::BTreeSet;
use std::path::Path;

use super::source::{Language, Source, has_word};
use super::weaken::is_test_path;
use super::{FailingTest, Place};

/// The code that a finding cites.
#[derive(Clone, Copy, Debug, Default)]
pub struct Cited<'a> {
    /// Relative to the root; `None` for a finding without a file.
    pub file: Option<&'a Path>,
    /// First and last line, from 1; `None` for the whole file.
    pub lines: Option<(u32, u32)>,
}

/// Whether a test is about a finding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum About {
    Yes,
    No,
    Unknown,
}

/// The names under which the cited code can be reached, found once per finding.
pub(super) struct Reach<'a> {
    cited: Cited<'a>,
    text: Option<String>,
    names: Option<BTreeSet<String>>,
}

impl<'a> Reach<'a> {
    pub fn of(cited: Cited<'a>, read: &dyn Fn(&Path) -> Option<String>) -> Self {
        let text = cited.file.and_then(read);
        let names =
            cited.file.zip(text.as_deref()).zip(cited.lines).and_then(|((file, text), (first, last))| {
                Source::new(Language::of(file)?, text).names_reaching(first, last)
            });
        Self { cited, text, names }
    }

    pub fn about(&self, test: &FailingTest, read: &dyn Fn(&Path) -> Option<String>) -> About {
        let Some(file) = self.cited.file else { return About::Unknown };
        if test.places.iter().any(|place| self.is_in_cited_code(place)) {
            return About::Yes;
        }
        let Some(names) = &self.names else { return About::Unknown };
        let Some(text) = test.places.iter().find_map(|place| test_at(place, read)) else {
            return About::Unknown;
        };
        if names.iter().any(|name| has_word(&text.mask, name)) {
            return About::Yes;
        }
        // A test that was found and uses none of the names may still come to the code through other files.
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        if has_word(&text.mask, stem) { About::Unknown } else { About::No }
    }

    /// A frame inside the function that the finding cites.
    fn is_in_cited_code(&self, place: &Place) -> bool {
        if self.cited.file != Some(place.file.as_path()) {
            return false;
        }
        let Some((first, last)) = self.cited.lines else { return true };
        if (first..=last).contains(&place.line) {
            return true;
        }
        let Some(text) = &self.text else { return false };
        let Some(language) = Language::of(&place.file) else { return false };
        let source = Source::new(language, text);
        let (cited, at) = (source.lines(first, last), source.lines(place.line, place.line));
        source.functions().iter().any(|function| {
            let holds = |range: &std::ops::Range<usize>| {
                function.range.start <= range.start && range.start < function.range.end
            };
            holds(&cited) && holds(&at)
        })
    }
}

/// The test in which a place lies: its code as written, and with string contents blanked.
struct TestText {
    code: String,
    mask: String,
}

fn test_at(place: &Place, read: &dyn Fn(&Path) -> Option<String>) -> Option<TestText> {
    let language = Language::of(&place.file)?;
    let text = read(&place.file)?;
    let source = Source::new(language, &text);
    let at = source.lines(place.line, place.line).start;
    // The innermost one: tests can be nested in groups.
    let unit = source
        .units()
        .into_iter()
        .filter(|unit| unit.body.start <= at && at < unit.body.end)
        .min_by_key(|unit| unit.body.len())?;
    let whole = unit.header.start.min(unit.body.start)..unit.body.end;
    Some(TestText { code: source.code.get(whole)?.to_owned(), mask: source.mask.get(unit.body)?.to_owned() })
}

/// The code of a failing test and of what its file says outside of all tests (constants, tables, helpers), where its
/// failure says in which test file it is.
pub(super) fn code_of_test(test: &FailingTest, read: &dyn Fn(&Path) -> Option<String>) -> Option<String> {
    let (place, own) = test.places.iter().find_map(|place| Some((place, test_at(place, read)?)))?;
    let mut code = own.code;
    if !is_test_path(&place.file) {
        // In Rust the code under test may stand around its tests.
        return Some(code);
    }
    let text = read(&place.file)?;
    let source = Source::new(Language::of(&place.file)?, &text);
    let mut at = 0;
    for unit in source.units() {
        let (start, end) = (unit.header.start.min(unit.body.start), unit.body.end);
        code.push('\n');
        code.push_str(source.code.get(at..start.max(at)).unwrap_or_default());
        at = end.max(at);
    }
    code.push_str(source.code.get(at..).unwrap_or_default());
    Some(code)
}
