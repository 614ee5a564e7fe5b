//! The single tests of a file: their names, where they stand, and their statements.

use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use super::Language;
use super::mask::{Masked, mask};

/// A source text with its mask.
pub(in crate::checks) struct Source<'a> {
    pub language: Language,
    pub text: &'a str,
    pub mask: String,
    pub code: String,
}

/// One test.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::checks) struct Unit {
    /// With the names of what it is nested in.
    pub name: String,
    /// Decorators and attributes.
    pub header: Range<usize>,
    /// From its own first line to its end.
    pub body: Range<usize>,
}

static PYTHON: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^([ \t]*)(?:async[ \t]+)?(def|class)[ \t]+(\w+)").expect("constant"));
static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)(?:^|[^\w.$])((?:x|f)?(?:it|test|describe|suite|context|specify)(?:\.\w+)*)[ \t]*[(`]")
        .expect("constant")
});
static RUST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^[ \t]*(?:pub(?:\([^)]*\))?[ \t]+)?(?:async[ \t]+)?fn[ \t]+(\w+)").expect("constant")
});
static RUST_TEST: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"#\[\s*(?:[\w:]+::)?(?:test|rstest|test_case|quickcheck|wasm_bindgen_test)\b")
        .expect("constant")
});
static GO: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^func[ \t]+((?:Test|Benchmark|Example|Fuzz)\w*)[ \t]*\(").expect("constant")
});

impl<'a> Source<'a> {
    pub fn new(language: Language, text: &'a str) -> Self {
        {
            let Masked { mask, code } = mask(language, text);
            Self { language, text, mask, code }
        }
    }

    /// The line (from 1) at a byte position.
    pub fn line(&self, at: usize) -> u32 {
        let breaks =
            self.text.as_bytes()[..at.min(self.text.len())].iter().filter(|byte| **byte == b'\n').count();
        u32::try_from(breaks).unwrap_or(u32::MAX - 1) + 1
    }

    pub fn units(&self) -> Vec<Unit> {
        match self.language {
            Language::Python => self.python(),
            Language::Script => self.script(),
            Language::Rust => self.rust(),
            Language::Go => self.go(),
        }
    }

    fn python(&self) -> Vec<Unit> {
        let mut units = Vec::new();
        let mut classes: Vec<(usize, String)> = Vec::new();
        for hit in PYTHON.captures_iter(&self.mask) {
            let (indent, start) = (hit[1].len(), hit.get(0).map_or(0, |whole| whole.start()));
            classes.retain(|(outer, _)| *outer < indent);
            if &hit[2] == "class" {
                classes.push((indent, hit[3].to_owned()));
                continue;
            }
            if !hit[3].starts_with("test") {
                continue;
            }
            let mut name: Vec<&str> = classes.iter().map(|(_, class)| class.as_str()).collect();
            name.push(&hit[3]);
            units.push(Unit {
                name: name.join("."),
                header: self.lines_above(start, |line| {
                    line.starts_with('@')
                        || line.ends_with([',', '(', '['])
                        || line.starts_with([')', ']', '(', '"', '\''])
                }),
                body: start..self.indented_end(start, indent),
            });
        }
        units
    }

    /// The end of the block whose first line starts at `start`: the first later line that is not deeper.
    pub(super) fn indented_end(&self, start: usize, indent: usize) -> usize {
        let mut depth = 0i32;
        let mut at = start;
        for (index, line) in self.mask[start..].split_inclusive('\n').enumerate() {
            let trimmed = line.trim();
            let own = line.len() - line.trim_start_matches([' ', '\t']).len();
            let inside_string = self.text[at..at + line.len()].trim() != "" && trimmed.is_empty();
            if index > 0
                && depth <= 0
                && !trimmed.is_empty()
                && !inside_string
                && own <= indent
                && !trimmed.starts_with(')')
            {
                return at;
            }
            depth += balance(line);
            at += line.len();
        }
        self.text.len()
    }

    /// The lines directly above `start` that `belongs` accepts.
    fn lines_above(&self, start: usize, belongs: impl Fn(&str) -> bool) -> Range<usize> {
        let mut top = start;
        while top > 0 {
            let previous = self.mask[..top - 1].rfind('\n').map_or(0, |at| at + 1);
            let line = self.mask[previous..top].trim();
            if line.is_empty() || !belongs(line) {
                break;
            }
            top = previous;
        }
        top..start
    }

    fn script(&self) -> Vec<Unit> {
        let mut units = Vec::new();
        let mut groups: Vec<(usize, String)> = Vec::new();
        for hit in SCRIPT.captures_iter(&self.mask) {
            let Some(call) = hit.get(1) else { continue };
            let mut open = hit.get(0).map_or(call.end(), |whole| whole.end() - 1);
            // `it.each(table)(title, body)`: the second call is the test.
            let table = call.start()..self.closed(open);
            if call.as_str().ends_with(".each") || self.mask.as_bytes()[open] == b'`' {
                let Some(second) = self.mask[table.end..].find(|c: char| !c.is_whitespace()) else {
                    continue;
                };
                open = table.end + second;
                if self.mask.as_bytes()[open] != b'(' {
                    continue;
                }
            }
            let header = if open < table.end { call.range() } else { table };
            let end = self.matching(open);
            let title = self.first_string(open + 1, end).unwrap_or_default();
            groups.retain(|(end, _)| *end > call.start());
            let word = call.as_str().trim_start_matches(['x', 'f']);
            if ["describe", "suite", "context"].iter().any(|group| word.starts_with(group)) {
                groups.push((end, title));
                continue;
            }
            let mut name: Vec<&str> = groups.iter().map(|(_, title)| title.as_str()).collect();
            name.push(&title);
            units.push(Unit { name: name.join(" > "), header, body: call.start()..end });
        }
        units
    }

    /// The title of a test: the first string among its arguments.
    fn first_string(&self, from: usize, to: usize) -> Option<String> {
        let masked = &self.mask.as_bytes()[from..to.min(self.mask.len())];
        let start = masked.iter().position(|byte| !byte.is_ascii_whitespace())?;
        let quote = masked[start];
        if !matches!(quote, b'"' | b'\'' | b'`') {
            return None;
        }
        let length = masked[start + 1..].iter().position(|byte| *byte == quote)?;
        Some(self.text[from + start + 1..from + start + 1 + length].to_owned())
    }

    fn rust(&self) -> Vec<Unit> {
        let mut units = Vec::new();
        for hit in RUST.captures_iter(&self.mask) {
            let start = hit.get(0).map_or(0, |whole| whole.start());
            let header = self.lines_above(start, |line| {
                line.starts_with("#[") || line.ends_with([',', '(']) || line.starts_with([')', ']'])
            });
            if !RUST_TEST.is_match(&self.mask[header.clone()]) {
                continue;
            }
            let Some(open) = self.mask[start..].find('{').map(|at| start + at) else { continue };
            units.push(Unit { name: hit[1].to_owned(), header, body: start..self.matching(open) });
        }
        units
    }

    fn go(&self) -> Vec<Unit> {
        let mut units = Vec::new();
        for hit in GO.captures_iter(&self.mask) {
            let start = hit.get(0).map_or(0, |whole| whole.start());
            let Some(open) = self.mask[start..].find('{').map(|at| start + at) else { continue };
            units.push(Unit {
                name: hit[1].to_owned(),
                header: start..start,
                body: start..self.matching(open),
            });
        }
        units
    }

    /// The position after the bracketed or template text that begins at `open`.
    fn closed(&self, open: usize) -> usize {
        if self.mask.as_bytes()[open] == b'`' {
            self.mask[open + 1..].find('`').map_or(self.text.len(), |at| open + at + 2)
        } else {
            self.matching(open)
        }
    }

    /// The position after the bracket that closes the one at `open`.
    pub fn matching(&self, open: usize) -> usize {
        let mut depth = 0i32;
        for (offset, byte) in self.mask.as_bytes()[open..].iter().enumerate() {
            match byte {
                b'(' | b'[' | b'{' => depth += 1,
                b')' | b']' | b'}' => {
                    depth -= 1;
                    if depth == 0 {
                        return open + offset + 1;
                    }
                }
                _ => {}
            }
        }
        self.text.len()
    }

    /// The statement that starts at `at`: to the end of the line on which all its brackets are closed, and on over
    /// lines that go on with a method call.
    pub fn statement(&self, at: usize, limit: usize) -> Range<usize> {
        let mut depth = 0i32;
        let mut end = at;
        let lines: Vec<&str> = self.mask[at..limit].split_inclusive('\n').collect();
        for (index, line) in lines.iter().enumerate() {
            for (offset, byte) in line.bytes().enumerate() {
                match byte {
                    b'(' | b'[' | b'{' => depth += 1,
                    b')' | b']' | b'}' => {
                        depth -= 1;
                        if depth < 0 {
                            return at..end + offset;
                        }
                    }
                    _ => {}
                }
            }
            end += line.len();
            let goes_on = lines.get(index + 1).is_some_and(|next| next.trim_start().starts_with('.'));
            let continued = line.trim_end().ends_with('\\');
            if depth <= 0 && !goes_on && !continued {
                break;
            }
        }
        at..end
    }
}

fn balance(line: &str) -> i32 {
    line.bytes().fold(0, |depth, byte| match byte {
        b'(' | b'[' | b'{' => depth + 1,
        b')' | b']' | b'}' => depth - 1,
        _ => depth,
    })
}
