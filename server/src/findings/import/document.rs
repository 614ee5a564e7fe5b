//! From bytes to JSON values, however they are wrapped, and the exact place where that fails.

use serde_json::Value;

use super::{Refusal, gaps};

/// A place in the document, from 1, columns in code points.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    pub line: u32,
    pub column: u32,
}

impl Place {
    pub const START: Place = Place { line: 1, column: 1 };

    fn of_offset(text: &str, offset: usize) -> Self {
        let end = (0..=offset.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        let before = &text[..end];
        let line_start = before.rfind('\n').map_or(0, |at| at + 1);
        Place {
            line: u32::try_from(before.matches('\n').count() + 1).unwrap_or(u32::MAX),
            column: u32::try_from(before[line_start..].chars().count() + 1).unwrap_or(u32::MAX),
        }
    }
}

pub enum Document {
    /// The whole text is JSON: one value, or several in a row.
    Values(Vec<Value>),
    /// JSON found in prose, in order.
    Candidates(Vec<Vec<Value>>),
    /// No JSON.
    Text,
}

/// How many brackets in a text without fences are tried as the beginning of JSON.
const MOST_ATTEMPTS: usize = 64;

/// The text of the document. PowerShell writes UTF-16 when output is redirected, and many tools a byte order mark.
pub fn decode(bytes: &[u8]) -> Result<String, Refusal> {
    let wide = |bytes: &[u8], unit: fn([u8; 2]) -> u16| {
        let (pairs, _) = bytes.as_chunks::<2>();
        char::decode_utf16(pairs.iter().map(|pair| unit(*pair)))
            .map(|unit| unit.unwrap_or(char::REPLACEMENT_CHARACTER))
            .collect::<String>()
    };
    match bytes {
        [0xff, 0xfe, rest @ ..] => return Ok(wide(rest, u16::from_le_bytes)),
        [0xfe, 0xff, rest @ ..] => return Ok(wide(rest, u16::from_be_bytes)),
        _ => {}
    }
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(text.to_owned()),
        Err(error) => {
            let valid = String::from_utf8_lossy(&bytes[..error.valid_up_to()]);
            let place = Place::of_offset(&valid, valid.len());
            Err((place, "this is no UTF-8 text; save the findings as UTF-8".to_owned()))
        }
    }
}

/// Finds the JSON in a text.
pub fn parse(text: &str) -> Result<Document, Refusal> {
    let trimmed = text.trim_start_matches('\u{feff}').trim_start();
    if trimmed.is_empty() {
        let message =
            "the file is empty; a review without findings says {\"schema_version\":\"v1\",\"findings\":[]}";
        return Err((Place::START, message.to_owned()));
    }
    let start = text.len() - trimmed.len();
    let broken = match stream(trimmed) {
        Ok(values) => return Ok(Document::Values(values)),
        Err(broken) => broken,
    };
    let is_gap_list = gaps::looks_like(text);
    // `{"a": …` and `[{"a": …` are JSON that is broken or half written; `[HIGH] text` is not.
    if trimmed.starts_with('{') || trimmed.starts_with('[') && !is_gap_list {
        return Err((Place::of_offset(text, start + broken.offset), broken.message));
    }
    let mut candidates = Vec::new();
    let mut first_broken: Option<Refusal> = None;
    for (offset, fenced) in fences(text) {
        let content = fenced.trim_start();
        if !content.starts_with(['{', '[']) {
            continue;
        }
        let offset = offset + (fenced.len() - content.len());
        match stream(content) {
            Ok(values) => candidates.push(values),
            Err(broken) => {
                let place = Place::of_offset(text, offset + broken.offset);
                first_broken = first_broken.or(Some((place, broken.message)));
            }
        }
    }
    if candidates.is_empty() && first_broken.is_none() && !is_gap_list {
        embedded(text, &mut candidates, &mut first_broken);
    }
    match (candidates.is_empty(), first_broken) {
        (false, _) => Ok(Document::Candidates(candidates)),
        (true, Some(refusal)) if !is_gap_list => Err(refusal),
        _ => Ok(Document::Text),
    }
}

struct Broken {
    offset: usize,
    message: String,
}

/// One JSON value after the other, with nothing else in between.
fn stream(text: &str) -> Result<Vec<Value>, Broken> {
    let mut values = Vec::new();
    let mut stream = serde_json::Deserializer::from_str(text).into_iter::<Value>();
    let mut end = 0;
    while let Some(value) = stream.next() {
        match value {
            Ok(value @ (Value::Object(_) | Value::Array(_))) => values.push(value),
            // An agent's answer that was itself written as a JSON string.
            Ok(value @ Value::String(_)) if values.is_empty() => values.push(value),
            Ok(_) => {
                let skipped = text[end..].len() - text[end..].trim_start().len();
                return Err(Broken {
                    offset: end + skipped,
                    message: "a findings file is a JSON object or list".to_owned(),
                });
            }
            Err(error) => {
                let rest = &text[end..];
                let at = end + (rest.len() - rest.trim_start().len());
                let offset = offset_of(text, error.line(), error.column()).max(at);
                // The place is given apart from the message.
                let message = error.to_string();
                let message = message.split(" at line ").next().unwrap_or(&message);
                return Err(Broken { offset, message: format!("broken JSON: {message}") });
            }
        }
        end = stream.byte_offset();
    }
    Ok(values)
}

/// serde_json counts lines from 1 and bytes from 1; at the end of the text it stands behind the last byte.
fn offset_of(text: &str, line: usize, column: usize) -> usize {
    let start = match line.checked_sub(2) {
        None => 0,
        Some(before) => text.match_indices('\n').nth(before).map_or(text.len(), |(at, _)| at + 1),
    };
    (start + column.saturating_sub(1)).min(text.len())
}

/// The contents of Markdown fences with their offsets. A fence that is never closed goes to the end.
fn fences(text: &str) -> Vec<(usize, &str)> {
    let mut found = Vec::new();
    let mut open: Option<(usize, char, usize)> = None;
    let mut offset = 0;
    for line in text.split_inclusive('\n') {
        let bare = line.trim();
        let marker = bare.chars().next().filter(|c| *c == '`' || *c == '~');
        let length = marker.map_or(0, |marker| bare.chars().take_while(|c| *c == marker).count());
        match (open, marker) {
            (None, Some(marker)) if length >= 3 => open = Some((offset + line.len(), marker, length)),
            (Some((start, kind, needed)), Some(marker))
                if marker == kind && length >= needed && bare.chars().all(|c| c == kind) =>
            {
                found.push((start, &text[start..offset]));
                open = None;
            }
            _ => {}
        }
        offset += line.len();
    }
    if let Some((start, ..)) = open {
        found.push((start, &text[start..]));
    }
    found
}

/// JSON in the middle of prose, without fences. What begins at the start of a line is taken for JSON even if it is broken.
fn embedded(text: &str, candidates: &mut Vec<Vec<Value>>, first_broken: &mut Option<Refusal>) {
    let mut from = 0;
    let mut attempts = 0;
    while let Some(at) = text[from..].find(['{', '[']).map(|at| from + at) {
        attempts += 1;
        if attempts > MOST_ATTEMPTS {
            return;
        }
        let mut stream = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        match stream.next() {
            Some(Ok(value)) => {
                from = at + stream.byte_offset().max(1);
                let worthwhile = match &value {
                    Value::Object(object) => !object.is_empty(),
                    Value::Array(items) => items.is_empty() || items.iter().any(|item| item.is_object()),
                    _ => false,
                };
                if worthwhile {
                    candidates.push(vec![value]);
                }
            }
            Some(Err(error)) => {
                let line_start = text[..at].rfind('\n').map_or(0, |at| at + 1);
                let begins_a_line = text[line_start..at].trim().is_empty();
                let meant = text[at + 1..].trim_start().starts_with(['"', '{', '[']);
                if begins_a_line && meant && first_broken.is_none() {
                    let offset = at + offset_of(&text[at..], error.line(), error.column());
                    let message = error.to_string();
                    let message = message.split(" at line ").next().unwrap_or(&message);
                    *first_broken = Some((Place::of_offset(text, offset), format!("broken JSON: {message}")));
                }
                from = at + 1;
            }
            None => return,
        }
    }
}
