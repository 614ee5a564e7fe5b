//! Columns of other tools, turned into code points (R01, R02, R03).
//!
//! Tools count UTF-16 units, UTF-8 bytes or code points, and few say which. A unit is taken from the document, else from
//! what was measured of the tool, else from the text itself: where the line is plain ASCII all agree, and where a snippet is
//! given, the unit whose text matches it is right. Otherwise the columns are not used.

use crate::findings::finding::Position;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    CodePoints,
    Utf16,
    Utf8,
}

/// All units, for a tool of which nothing is known.
pub const ANY: &[Unit] = &[Unit::CodePoints, Unit::Utf16, Unit::Utf8];

/// The unit of a tool, as measured; it may be against the format's own rule.
pub fn of_tool(tool: &str, format_default: &'static [Unit]) -> &'static [Unit] {
    let tool = tool.to_lowercase();
    match tool.split([' ', '/', '-']).next().unwrap_or(&tool) {
        "ruff" | "biome" | "biomejs" => &[Unit::CodePoints],
        "bandit" => &[Unit::Utf8],
        "eslint" if format_default.len() > 1 => &[Unit::Utf16],
        _ => format_default,
    }
}

/// A region as given: lines and columns from 1, `end` exclusive. Without columns it is whole lines.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Region {
    pub start_line: Option<i64>,
    pub start_column: Option<i64>,
    pub end_line: Option<i64>,
    pub end_column: Option<i64>,
    /// From 0, for tools that give no lines.
    pub char_offset: Option<i64>,
    pub char_length: Option<i64>,
    pub snippet: Option<String>,
}

/// A region in the terms of an edit.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    pub start: Position,
    pub end: Position,
    /// The lines were given without columns: the replacement stands for them without the last line break.
    pub whole_lines: bool,
    /// The text that stands there, where it is known.
    pub text: Option<String>,
    /// The unit could not be verified, since the text is not known.
    pub unverified: bool,
}

impl Region {
    /// The cited lines. A region that ends before the first column of a line does not cite that line.
    pub fn lines(&self, text: Option<&str>, units: &[Unit]) -> (Option<i64>, Option<i64>) {
        let Some(start) = self.start_line else {
            let Some((text, offset)) = text.zip(self.char_offset) else { return (None, None) };
            let end = offset.saturating_add(self.char_length.unwrap_or(0));
            let line = |offset: i64| {
                byte_at(text, offset, units).map(|at| text[..at].matches('\n').count() as i64 + 1)
            };
            return (line(offset), line(end).or_else(|| line(offset)));
        };
        let end = match (self.end_line, self.end_column) {
            (Some(end), Some(1)) if end > start => Some(end - 1),
            (end, _) => end,
        };
        (Some(start), end)
    }

    /// The region as an edit sees it; the error says why it cannot be used.
    pub fn span(&self, text: Option<&str>, units: &[Unit]) -> Result<Span, String> {
        let Some(start_line) = self.start_line else { return self.span_of_offsets(text, units) };
        let end_line = self.end_line.unwrap_or(start_line);
        let line = |line: i64| {
            u32::try_from(line).ok().filter(|line| *line >= 1).ok_or("there is no line 0".to_owned())
        };
        let (start_line, end_line) = (line(start_line)?, line(end_line)?);
        if end_line < start_line {
            return Err("the region ends before it starts".to_owned());
        }
        let whole_lines = self.start_column.is_none() && self.end_column.is_none();
        if whole_lines {
            let (start, end) = (Position::new(start_line, 1), Position::new(end_line.saturating_add(1), 1));
            let text = match text {
                Some(text) => Some(between(text, start, end).ok_or("the file has no such lines")?.to_owned()),
                None => None,
            };
            return Ok(Span { start, end, whole_lines, text, unverified: false });
        }
        let column = |column: i64| {
            u32::try_from(column).ok().filter(|column| *column >= 1).ok_or("there is no column 0")
        };
        let start_column = column(self.start_column.unwrap_or(1))?;
        let end_column = self.end_column.map(column).transpose()?;
        if end_line == start_line && end_column.is_some_and(|end| end < start_column) {
            return Err("the region ends before it starts".to_owned());
        }
        let Some(text) = text else {
            let Some(end_column) = end_column else {
                return Err("it goes to the end of a line of a file that is not known".to_owned());
            };
            let (start, end) = (Position::new(start_line, start_column), Position::new(end_line, end_column));
            return Ok(Span {
                start,
                end,
                whole_lines,
                text: self.snippet.clone(),
                unverified: units != [Unit::CodePoints]
                    && self.snippet.as_ref().is_none_or(|text| !text.is_ascii()),
            });
        };
        let first = line_of(text, start_line).ok_or("the file has no such line")?;
        let last = line_of(text, end_line);
        let mut found: Vec<(Position, Position)> = Vec::new();
        for unit in ordered(units, self.snippet.is_some()) {
            let start = to_code_points(first, start_column, unit);
            let end = match (last, end_column) {
                (Some(last), Some(column)) => to_code_points(last, column, unit),
                (Some(last), None) => u32::try_from(last.chars().count() + 1).ok(),
                // The line after the last line break is a place, too.
                (None, Some(1)) => Some(1),
                (None, _) => None,
            };
            let Some((start, end)) = start.zip(end) else { continue };
            let place = (Position::new(start_line, start), Position::new(end_line, end));
            let Some(there) = between(text, place.0, place.1) else { continue };
            if self.snippet.as_ref().is_none_or(|snippet| plain(snippet) == plain(there))
                && !found.contains(&place)
            {
                found.push(place);
            }
        }
        match found.as_slice() {
            [] if self.snippet.is_some() => Err("the text that it deletes does not stand there".to_owned()),
            [] => Err("the file has no such columns".to_owned()),
            [(start, end)] => Ok(Span {
                start: *start,
                end: *end,
                whole_lines,
                text: between(text, *start, *end).map(str::to_owned),
                unverified: false,
            }),
            _ => {
                Err("the tool does not say what its columns count, and the line is not plain ASCII"
                    .to_owned())
            }
        }
    }

    fn span_of_offsets(&self, text: Option<&str>, units: &[Unit]) -> Result<Span, String> {
        let offset = self.char_offset.ok_or("no region is given")?;
        let text = text.ok_or("it is given as an offset into a file that is not known")?;
        // An offset counts everything before it, so a unit is only certain where all agree.
        let mut found: Vec<(usize, usize)> = Vec::new();
        for unit in units {
            let to = offset.saturating_add(self.char_length.unwrap_or(0));
            let place = byte_at(text, offset, &[*unit]).zip(byte_at(text, to, &[*unit]));
            let Some((from, to)) = place else { continue };
            let matches =
                self.snippet.as_ref().is_none_or(|snippet| text.get(from..to) == Some(snippet.as_str()));
            if from <= to && matches && !found.contains(&(from, to)) {
                found.push((from, to));
            }
        }
        let [(from, to)] = found[..] else {
            return Err("its offset cannot be told with certainty in this text".to_owned());
        };
        Ok(Span {
            start: position_of(text, from),
            end: position_of(text, to),
            whole_lines: false,
            text: Some(text[from..to].to_owned()),
            unverified: false,
        })
    }
}

/// The declared units first; where a snippet can tell them apart, the others are tried after them.
fn ordered(units: &[Unit], has_snippet: bool) -> Vec<Unit> {
    let others = ANY.iter().copied().filter(|unit| has_snippet && !units.contains(unit));
    units.iter().copied().chain(others).collect()
}

fn plain(text: &str) -> String {
    text.replace("\r\n", "\n")
}

fn between(text: &str, start: Position, end: Position) -> Option<&str> {
    crate::findings::suggestion::text_between(text, start, end)
}

/// A line without its line break and without a byte order mark.
fn line_of(text: &str, line: u32) -> Option<&str> {
    let text = text.strip_prefix('\u{feff}').unwrap_or(text);
    let line = text.split('\n').nth(line as usize - 1)?;
    Some(line.strip_suffix('\r').unwrap_or(line))
}

/// A column in code points; `None` where it is outside the line or in the middle of a character.
pub fn to_code_points(line: &str, column: u32, unit: Unit) -> Option<u32> {
    let wanted = column.checked_sub(1)? as usize;
    let mut passed = 0;
    let mut points = 0_u32;
    for character in line.chars() {
        if passed >= wanted {
            break;
        }
        passed += match unit {
            Unit::CodePoints => 1,
            Unit::Utf16 => character.len_utf16(),
            Unit::Utf8 => character.len_utf8(),
        };
        points += 1;
    }
    (passed == wanted).then_some(points + 1)
}

fn byte_at(text: &str, offset: i64, units: &[Unit]) -> Option<usize> {
    let wanted = usize::try_from(offset).ok()?;
    let unit = units.first().copied().unwrap_or(Unit::CodePoints);
    let mut passed = 0;
    for (at, character) in text.char_indices() {
        if passed >= wanted {
            return (passed == wanted).then_some(at);
        }
        passed += match unit {
            Unit::CodePoints => 1,
            Unit::Utf16 => character.len_utf16(),
            Unit::Utf8 => character.len_utf8(),
        };
    }
    (passed == wanted).then_some(text.len())
}

fn position_of(text: &str, offset: usize) -> Position {
    let before = &text[..offset];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX);
    let column = before[line_start..].chars().filter(|c| *c != '\u{feff}').count() + 1;
    Position::new(line, u32::try_from(column).unwrap_or(u32::MAX))
}
