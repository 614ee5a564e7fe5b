//! On which line of a findings file an entry stands.
//!
//! Owns nothing but a table of the strings in one file. A finding without a file is shown on its entry, and a report links
//! to it. Made once for each content of a file: looking through the file for each finding takes the square of its size.

use std::collections::HashMap;
use std::sync::Arc;

/// How much is looked through, in all, for titles that are no string of their own (the first sentence of a message).
const SEARCHED: usize = 64 * 1024 * 1024;

#[derive(Debug, Default)]
pub(super) struct EntryLines {
    text: Arc<str>,
    /// From each string, as it is written between its quotes, to the line of its first occurrence.
    strings: HashMap<Box<str>, u32>,
    searched: std::cell::Cell<usize>,
}

impl EntryLines {
    pub fn of(bytes: &[u8]) -> EntryLines {
        let text: Arc<str> = String::from_utf8_lossy(bytes).into();
        let mut strings = HashMap::new();
        for (line, number) in text.lines().zip(1..) {
            for string in strings_of(line) {
                strings.entry(string.into()).or_insert(number);
            }
        }
        EntryLines { text, strings, searched: std::cell::Cell::new(0) }
    }

    /// The 1-based line on which an entry's title stands; 1 where it is written otherwise.
    pub fn line_of(&self, title: &str) -> u32 {
        let quoted = serde_json::Value::String(title.to_owned()).to_string();
        let written = &quoted[1..quoted.len() - 1];
        if written.is_empty() {
            return 1;
        }
        if let Some(line) = self.strings.get(written) {
            return *line;
        }
        if self.searched.get() >= SEARCHED {
            return 1;
        }
        self.searched.set(self.searched.get() + self.text.len());
        self.text.find(written).map_or(1, |at| self.text[..at].matches('\n').count() as u32 + 1)
    }
}

/// What stands between quotes, escapes left as they are. No string of JSON goes over the end of a line.
fn strings_of(line: &str) -> impl Iterator<Item = &str> {
    let mut rest = line;
    std::iter::from_fn(move || {
        let start = rest.find('"')? + 1;
        let inside = &rest[start..];
        let mut escaped = false;
        let end = inside.bytes().position(|byte| {
            let ends = byte == b'"' && !escaped;
            escaped = byte == b'\\' && !escaped;
            ends
        })?;
        rest = &inside[end + 1..];
        Some(&inside[..end])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_by_its_title() {
        let lines = EntryLines::of(
            br#"{"findings": [
  {"title": "first", "body": "second one \" \\"},
  {"title": "second", "message": {"text": "third. And more"}},
  {"title": "with \"quotes\""}
], "odd
"#,
        );
        for (title, line) in
            [("first", 2), ("second", 3), ("third", 3), ("with \"quotes\"", 4), ("nowhere", 1), ("", 1)]
        {
            assert_eq!(lines.line_of(title), line, "{title:?}");
        }
    }
}
