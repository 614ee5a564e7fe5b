//! The named pieces of a source text: functions, methods, constants.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::{Language, Source};

/// A named piece of code.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::checks) struct Function {
    pub name: String,
    pub range: Range<usize>,
}

static PYTHON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^([ \t]*)(?:(?:async[ \t]+)?def[ \t]+(\w+)|(\w+)[ \t]*(?::[^=\n]+)?=[^=])")
        .expect("constant")
});
static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)(?:\bfunction\b[ \t*]*(\w+)|^[ \t]*(?:export[ \t]+)?(?:const|let|var)[ \t]+(\w+)|\bexports\.(\w+)[ \t]*=|^[ \t]+(?:static[ \t]+|async[ \t]+|get[ \t]+|set[ \t]+)*(\w+)[ \t]*\([^()\n]*\)[ \t]*\{)")
        .expect("constant")
});
static RUST: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(?:fn|const|static)[ \t]+(\w+)").expect("constant"));
static GO: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^(?:func[ \t]+(?:\([^)]*\)[ \t]*)?(\w+)|(?:var|const)[ \t]+(\w+))").expect("constant")
});
/// Words that look like the name of a method in front of its block.
const KEYWORDS: [&str; 6] = ["if", "for", "while", "switch", "catch", "function"];

impl Source<'_> {
    pub fn functions(&self) -> Vec<Function> {
        let mut found = Vec::new();
        let pattern: &Regex = match self.language {
            Language::Python => &PYTHON,
            Language::Script => &SCRIPT,
            Language::Rust => &RUST,
            Language::Go => &GO,
        };
        for hit in pattern.captures_iter(&self.mask) {
            let start = hit.get(0).map_or(0, |whole| whole.start());
            let first = if self.language == Language::Python { 2 } else { 1 };
            let Some(name) = (first..hit.len()).find_map(|group| hit.get(group)) else { continue };
            if KEYWORDS.contains(&name.as_str()) {
                continue;
            }
            let end = match self.language {
                Language::Python if hit.get(2).is_some() => self.indented_end(start, hit[1].len()),
                // A local variable is no name to be reached by.
                Language::Python if !hit[1].is_empty() => continue,
                Language::Rust | Language::Go => self.braced_end(name.end()),
                _ => self.statement(start, self.mask.len()).end,
            };
            found.push(Function { name: name.as_str().to_owned(), range: start..end });
        }
        found
    }

    /// The end of the block or statement that a name begins.
    fn braced_end(&self, from: usize) -> usize {
        let rest = &self.mask[from..];
        let brace = rest.find('{');
        let semicolon = rest.find(';');
        match (brace, semicolon) {
            (Some(brace), Some(semicolon)) if semicolon < brace => from + semicolon + 1,
            (Some(brace), _) => self.matching(from + brace),
            (None, Some(semicolon)) => from + semicolon + 1,
            (None, None) => self.mask.len(),
        }
    }

    /// The byte range of lines `first` to `last` (from 1, inclusive).
    pub fn lines(&self, first: u32, last: u32) -> Range<usize> {
        let mut starts = std::iter::once(0).chain(self.text.match_indices('\n').map(|(at, _)| at + 1));
        let start = starts.nth(first.saturating_sub(1) as usize).unwrap_or(self.text.len());
        let more = last.saturating_sub(first) as usize;
        let end = starts.nth(more).unwrap_or(self.text.len());
        start..end.max(start)
    }

    /// The names by which code outside can reach these lines: what encloses them, and what in this file uses that.
    /// `None` when they are in nothing that has a name.
    pub fn names_reaching(&self, first: u32, last: u32) -> Option<BTreeSet<String>> {
        let cited = self.lines(first, last);
        let functions = self.functions();
        let enclosing = functions
            .iter()
            .filter(|function| function.range.start < cited.end && cited.start < function.range.end);
        let mut names: BTreeSet<String> = enclosing.map(|function| function.name.clone()).collect();
        if names.is_empty() {
            return None;
        }
        loop {
            let users: Vec<String> = functions
                .iter()
                .filter(|function| !names.contains(&function.name))
                .filter(|function| {
                    names.iter().any(|name| has_word(&self.mask[function.range.clone()], name))
                })
                .map(|function| function.name.clone())
                .collect();
            if users.is_empty() {
                return Some(names);
            }
            names.extend(users);
        }
    }
}

/// Whether `word` stands in `text` as a whole word.
pub(in crate::checks) fn has_word(text: &str, word: &str) -> bool {
    let part = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(word).any(|(at, _)| {
        !text[..at].chars().next_back().is_some_and(part)
            && !text[at + word.len()..].chars().next().is_some_and(part)
    })
}
