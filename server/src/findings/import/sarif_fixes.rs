//! SARIF `fixes` as suggestions.

use serde_json::{Map, Value};

use super::columns::{Region, Unit};
use super::sarif_paths::Paths;
use crate::findings::finding::Edit;
use crate::findings::tree::SourceText;

/// A whole number, however JSON writes it: `2`, `2.0`, and `"2"` as some tools do.
pub(super) fn whole(value: &Value) -> Option<i64> {
    let of_float = |float: f64| (float.fract() == 0.0 && float.abs() < 9e15).then_some(float as i64);
    match value {
        Value::Number(number) => number.as_i64().or_else(|| number.as_f64().and_then(of_float)),
        Value::String(text) => text.trim().parse().ok(),
        _ => None,
    }
}

/// A region object.
pub fn region(value: Option<&Value>) -> Region {
    let number = |key: &str| value.and_then(|value| value.get(key)).and_then(whole);
    let snippet = value.and_then(|value| value.get("snippet")?.get("text")?.as_str());
    Region {
        start_line: number("startLine"),
        start_column: number("startColumn"),
        end_line: number("endLine"),
        end_column: number("endColumn"),
        char_offset: number("charOffset").filter(|offset| *offset >= 0),
        char_length: number("charLength"),
        snippet: snippet.map(str::to_owned),
    }
}

/// The edits of a fix, and whether their columns could not be verified; the error says why the fix cannot be used.
pub fn edits(
    fix: &Value,
    paths: &Paths<'_>,
    units: &[Unit],
    tree: Option<&dyn SourceText>,
) -> Result<(Vec<Edit>, bool), String> {
    let changes = fix.get("artifactChanges").or_else(|| fix.get("fileChanges")).and_then(Value::as_array);
    let changes = changes.ok_or("the fix names no change")?;
    let mut edits = Vec::new();
    let mut unverified = false;
    for change in changes {
        let empty = Map::new();
        let location = change.get("artifactLocation").and_then(Value::as_object).unwrap_or(&empty);
        let file = paths.locate(location).path.ok_or("the fix names no file")?;
        let text = tree.and_then(|tree| tree.text(&file));
        let replacements =
            change.get("replacements").and_then(Value::as_array).ok_or("the fix replaces nothing")?;
        for replacement in replacements {
            let inserted = match replacement.get("insertedContent") {
                None => "",
                Some(content) => match content.get("text").and_then(Value::as_str) {
                    Some(text) => text,
                    None if content.get("binary").is_some() => {
                        return Err("the fix inserts bytes, not text".to_owned());
                    }
                    None => "",
                },
            };
            let mut region = region(replacement.get("deletedRegion"));
            // Without an end a region of one line with a start column alone goes to the end of that line; but tools mean an
            // insertion, and a fix that deletes too much is worse than none.
            if region.start_column.is_some()
                && region.end_column.is_none()
                && region.end_line.is_none()
                && region.snippet.is_none()
            {
                region.end_column = region.start_column;
                if inserted.is_empty() {
                    return Err("the fix does not say what it deletes".to_owned());
                }
            }
            let span = region.span(text.as_deref(), units)?;
            unverified |= span.unverified;
            let mut replacement = inserted.to_owned();
            if span.whole_lines && !replacement.is_empty() && !replacement.ends_with('\n') {
                replacement.push('\n');
            }
            edits.push(Edit {
                file: file.clone(),
                start: span.start,
                end: span.end,
                replacement,
                deleted: span.text,
            });
        }
    }
    if edits.is_empty() {
        return Err("the fix replaces nothing".to_owned());
    }
    Ok((edits, unverified))
}
