//! Text as an editor counts it.
//!
//! Owns lines, offsets, and positions in the three encodings that LSP can negotiate. Never splits a character: a position
//! inside a surrogate pair or inside a UTF-8 sequence means the start of that character.

use std::ops::Range as Span;
use std::sync::Arc;

use lsp_types::{Position, PositionEncodingKind, Range, TextDocumentContentChangeEvent, TextEdit};

/// The unit in which `Position::character` counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Encoding {
    Utf8,
    #[default]
    Utf16,
    Utf32,
}

impl Encoding {
    /// The client's most preferred encoding that this server knows; UTF-16 where it names none (LSP 3.17).
    pub fn negotiate(offered: Option<&[PositionEncodingKind]>) -> Encoding {
        offered.unwrap_or_default().iter().find_map(Encoding::known).unwrap_or_default()
    }

    fn known(kind: &PositionEncodingKind) -> Option<Encoding> {
        match kind.as_str() {
            "utf-8" => Some(Encoding::Utf8),
            "utf-16" => Some(Encoding::Utf16),
            "utf-32" => Some(Encoding::Utf32),
            _ => None,
        }
    }

    pub fn kind(self) -> PositionEncodingKind {
        match self {
            Encoding::Utf8 => PositionEncodingKind::UTF8,
            Encoding::Utf16 => PositionEncodingKind::UTF16,
            Encoding::Utf32 => PositionEncodingKind::UTF32,
        }
    }

    fn width(self, character: char) -> usize {
        match self {
            Encoding::Utf8 => character.len_utf8(),
            Encoding::Utf16 => character.len_utf16(),
            Encoding::Utf32 => 1,
        }
    }

    /// How many units `text` takes.
    pub fn units(self, text: &str) -> u32 {
        let units = match self {
            Encoding::Utf8 => text.len(),
            _ => text.chars().map(|character| self.width(character)).sum(),
        };
        u32::try_from(units).unwrap_or(u32::MAX)
    }

    /// Where in `line` (without its terminator) the unit `character` is; past the end means the end.
    fn offset(self, line: &str, character: u32) -> usize {
        let mut left = character as usize;
        for (offset, next) in line.char_indices() {
            let width = self.width(next);
            if left < width {
                return offset;
            }
            left -= width;
        }
        line.len()
    }
}

/// A text with its line starts. Lines end at `\n`, `\r\n` or a lone `\r`, as LSP says.
#[derive(Clone, Debug)]
pub(super) struct Text {
    content: Arc<str>,
    starts: Vec<usize>,
}

impl Text {
    pub fn new(content: impl Into<Arc<str>>) -> Text {
        let content = content.into();
        let starts = line_starts(&content);
        Text { content, starts }
    }

    pub fn content(&self) -> &Arc<str> {
        &self.content
    }

    /// Never 0: an empty text has one empty line.
    pub fn line_count(&self) -> u32 {
        self.starts.len() as u32
    }

    /// The line without its terminator; lines past the end are empty.
    pub fn line(&self, line: u32) -> &str {
        &self.content[self.line_span(line)]
    }

    fn line_span(&self, line: u32) -> Span<usize> {
        let Some(&start) = self.starts.get(line as usize) else {
            return self.content.len()..self.content.len();
        };
        let end = self.starts.get(line as usize + 1).copied().unwrap_or(self.content.len());
        let line = &self.content[start..end];
        start..start + line.trim_end_matches(['\n', '\r']).len()
    }

    pub fn offset(&self, position: Position, encoding: Encoding) -> usize {
        let span = self.line_span(position.line);
        span.start + encoding.offset(&self.content[span], position.character)
    }

    /// The position of a byte offset; inside a character, that of its start.
    pub fn position(&self, offset: usize, encoding: Encoding) -> Position {
        let offset = (0..=offset.min(self.content.len()))
            .rev()
            .find(|&offset| self.content.is_char_boundary(offset))
            .unwrap_or(0);
        let line = self.starts.partition_point(|&start| start <= offset) - 1;
        let before = &self.content[self.starts[line]..offset];
        Position::new(line as u32, encoding.units(before.trim_end_matches(['\n', '\r'])))
    }

    /// The visible part of one line: from its first non-blank column to its end. A blank line gives its whole width.
    pub fn visible(&self, line: u32, encoding: Encoding) -> Range {
        let line = line.min(self.line_count() - 1);
        let text = self.line(line);
        let blank = text.len() - text.trim_start().len();
        let start = if blank == text.len() { 0 } else { encoding.units(&text[..blank]) };
        Range::new(Position::new(line, start), Position::new(line, encoding.units(text)))
    }

    /// From a 1-based line and column (in code points) to the end of that line; past the end of the line means its last
    /// character.
    pub fn range_from(&self, line: u32, column: u32, encoding: Encoding) -> Range {
        let line = line.saturating_sub(1).min(self.line_count() - 1);
        let text = self.line(line);
        let before = (column.saturating_sub(1) as usize).min(text.chars().count().saturating_sub(1));
        let offset = text.char_indices().nth(before).map_or(0, |(offset, _)| offset);
        let start = encoding.units(&text[..offset]);
        Range::new(Position::new(line, start), Position::new(line, encoding.units(text)))
    }

    /// Applies one change of `textDocument/didChange`. Positions outside the text are clamped, an inverted range is turned
    /// round: a client's slip must not cost the user the server.
    pub fn apply(&mut self, change: &TextDocumentContentChangeEvent, encoding: Encoding) {
        let Some(range) = change.range else {
            *self = Text::new(change.text.as_str());
            return;
        };
        let (a, b) = (self.offset(range.start, encoding), self.offset(range.end, encoding));
        let (start, end) = (a.min(b), a.max(b));
        let mut content = String::with_capacity(self.content.len() + change.text.len());
        content.push_str(&self.content[..start]);
        content.push_str(&change.text);
        content.push_str(&self.content[end..]);
        *self = Text::new(content);
    }
}

/// The edits that make one text of another, by lines: what did not change is not touched.
pub(super) fn differences(before: &Text, after: &str, encoding: Encoding) -> Vec<TextEdit> {
    let old: Vec<&str> = before.content().split_inclusive('\n').collect();
    let new: Vec<&str> = after.split_inclusive('\n').collect();
    let (old_offsets, new_offsets) = (offsets(&old), offsets(&new));
    similar::capture_diff_slices(similar::Algorithm::Myers, &old, &new)
        .into_iter()
        .filter(|change| change.tag() != similar::DiffTag::Equal)
        .map(|change| {
            let (from, to) = (change.old_range(), change.new_range());
            let start = before.position(old_offsets[from.start], encoding);
            let end = before.position(old_offsets[from.end], encoding);
            let new_text = after[new_offsets[to.start]..new_offsets[to.end]].to_owned();
            TextEdit { range: Range::new(start, end), new_text }
        })
        .collect()
}

/// Where each line begins, and where the last one ends.
fn offsets(lines: &[&str]) -> Vec<usize> {
    let mut offsets = vec![0];
    for line in lines {
        offsets.push(offsets[offsets.len() - 1] + line.len());
    }
    offsets
}

fn line_starts(content: &str) -> Vec<usize> {
    let bytes = content.as_bytes();
    let mut starts = vec![0];
    for (index, byte) in bytes.iter().enumerate() {
        let ends = match byte {
            b'\n' => true,
            b'\r' => bytes.get(index + 1) != Some(&b'\n'),
            _ => false,
        };
        if ends {
            starts.push(index + 1);
        }
    }
    starts
}

/// How many lines a text adds when it is put inside a line.
pub(super) fn line_breaks(text: &str) -> u32 {
    (line_starts(text).len() - 1) as u32
}

/// `text` without control codes (line breaks and tabs stay): what a worker or a findings file wrote must not reach a
/// terminal as commands (R38).
pub(super) fn printable(text: &str) -> String {
    text.chars().filter(|c| !c.is_control() || matches!(c, '\n' | '\t')).collect()
}

/// The first `lines` lines of `text`, and of those at most `characters` characters; `…` where something was left out.
pub(super) fn head(text: &str, lines: usize, characters: usize) -> String {
    let text = text.trim();
    let mut taken: String = text.lines().take(lines).collect::<Vec<_>>().join("\n");
    let mut cut = text.lines().count() > lines;
    if let Some((offset, _)) = taken.char_indices().nth(characters) {
        taken.truncate(offset);
        cut = true;
    }
    if cut {
        taken.push('…');
    }
    taken
}
