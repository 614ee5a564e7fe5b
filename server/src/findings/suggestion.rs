//! Applying the fix that a finding itself carries (DESIGN 5, 8 `suggested`).
//!
//! Owns the arithmetic of edits: 1-based lines and columns in code points. An edit is applied only where the text that it
//! deletes is really there (R02). It never writes a file; `agents` does, under the scope guard.

use super::finding::{Edit, Position};

/// Set among a finding's unknown fields by an importer that could not verify the unit of a suggestion's columns.
pub(super) const UNVERIFIED_COLUMNS: &str = "suggestion_columns";

/// Why a suggestion is not applied. None of its edits is, then.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SuggestionRefused {
    #[error(
        "{file}: there is no line {line}, column {column} to edit; the file has changed, or the suggestion is wrong"
    )]
    NoSuchPlace { file: String, line: u32, column: u32 },
    #[error("{file}, line {line}: the suggestion deletes {expected:?}, but {found:?} stands there")]
    Different { file: String, line: u32, expected: String, found: String },
    #[error("{file}, line {line}: two edits of the suggestion overlap")]
    Overlap { file: String, line: u32 },
    #[error(
        "{file}, line {line}: the suggestion does not say what it deletes, and the reviewed text is not known"
    )]
    Unverifiable { file: String, line: u32 },
    #[error("the suggestion has no edit for {file}")]
    NoEdits { file: String },
}

/// Applies those edits that are for `file` to its text. Each must say what it deletes.
pub fn apply_edits(text: &str, file: &str, edits: &[Edit]) -> Result<String, SuggestionRefused> {
    apply_edits_against(text, None, file, edits)
}

/// The same, with the text that was reviewed: an edit that does not say what it deletes deletes what stood there.
pub fn apply_edits_against(
    text: &str,
    reviewed: Option<&str>,
    file: &str,
    edits: &[Edit],
) -> Result<String, SuggestionRefused> {
    let mut edits: Vec<&Edit> = edits.iter().filter(|edit| edit.file == file).collect();
    if edits.is_empty() {
        return Err(SuggestionRefused::NoEdits { file: file.to_owned() });
    }
    edits.sort_by_key(|edit| (edit.start, edit.end));
    let mut spans: Vec<(usize, usize, String)> = Vec::with_capacity(edits.len());
    for edit in edits {
        let line = edit.start.line;
        let missing = |place: Position| SuggestionRefused::NoSuchPlace {
            file: file.to_owned(),
            line: place.line,
            column: place.column,
        };
        let from = offset(text, edit.start).ok_or_else(|| missing(edit.start))?;
        let to = offset(text, edit.end).ok_or_else(|| missing(edit.end))?;
        if to < from {
            return Err(missing(edit.end));
        }
        let found = &text[from..to];
        let expected = match (&edit.deleted, reviewed) {
            (Some(deleted), _) => deleted.as_str(),
            (None, Some(reviewed)) => {
                text_between(reviewed, edit.start, edit.end).ok_or_else(|| missing(edit.start))?
            }
            (None, None) if from == to => "",
            (None, None) => return Err(SuggestionRefused::Unverifiable { file: file.to_owned(), line }),
        };
        if !same_text(expected, found) {
            return Err(SuggestionRefused::Different {
                file: file.to_owned(),
                line,
                expected: expected.to_owned(),
                found: found.to_owned(),
            });
        }
        // An insertion has nothing to compare, so the line before it must be the one that was reviewed.
        if let (true, Some(reviewed)) = (from == to, reviewed)
            && line_text(text, line) != line_text(reviewed, line)
        {
            return Err(SuggestionRefused::Different {
                file: file.to_owned(),
                line,
                expected: line_text(reviewed, line).to_owned(),
                found: line_text(text, line).to_owned(),
            });
        }
        if spans.last().is_some_and(|(_, end, _)| *end > from) {
            return Err(SuggestionRefused::Overlap { file: file.to_owned(), line });
        }
        spans.push((from, to, replacement(text, edit, from, to)));
    }
    let mut fixed = text.to_owned();
    for (from, to, replacement) in spans.into_iter().rev() {
        fixed.replace_range(from..to, &replacement);
    }
    Ok(fixed)
}

/// The replacement with the file's own line endings.
fn replacement(text: &str, edit: &Edit, from: usize, to: usize) -> String {
    let plain = edit.replacement.replace("\r\n", "\n");
    let mut replacement = if uses_crlf(text) { plain.replace('\n', "\r\n") } else { plain };
    // A whole last line without a line break is replaced by one without a line break.
    let to_the_end = to == text.len() && edit.end.column == 1 && !text[from..to].ends_with('\n');
    if to_the_end && from < to {
        let stripped =
            replacement.strip_suffix('\n').map(|rest| rest.strip_suffix('\r').unwrap_or(rest).len());
        replacement.truncate(stripped.unwrap_or(replacement.len()));
    }
    replacement
}

fn uses_crlf(text: &str) -> bool {
    let all = text.matches('\n').count();
    let crlf = text.matches("\r\n").count();
    crlf * 2 > all
}

/// Texts are the same whatever their line endings; a last line may lack its line break.
fn same_text(expected: &str, found: &str) -> bool {
    if expected == found {
        return true;
    }
    let plain = |text: &str| text.replace("\r\n", "\n");
    let (expected, found) = (plain(expected), plain(found));
    expected == found || expected.strip_suffix('\n') == Some(found.as_str()) && !found.is_empty()
}

fn line_text(text: &str, line: u32) -> &str {
    text.lines().nth(line.saturating_sub(1) as usize).unwrap_or_default()
}

/// The text between two places; `None` where one of them is not in the text.
pub fn text_between(text: &str, start: Position, end: Position) -> Option<&str> {
    text.get(offset(text, start)?..offset(text, end)?)
}

/// The byte offset of a place. The line after the last line break is a place too, and so is the one after a last line that
/// has none: both are the end of the text.
pub(super) fn offset(text: &str, place: Position) -> Option<usize> {
    if place.line == 0 || place.column == 0 {
        return None;
    }
    let start = line_start(text, place.line)?;
    if start == text.len() {
        return (place.column == 1).then_some(start);
    }
    // A byte order mark takes no column.
    let start = if start == 0 && text.starts_with('\u{feff}') { '\u{feff}'.len_utf8() } else { start };
    let rest = &text[start..];
    let line = &rest[..rest.find('\n').unwrap_or(rest.len())];
    let line = line.strip_suffix('\r').unwrap_or(line);
    let wanted = place.column as usize - 1;
    let mut offsets = line.char_indices().map(|(at, _)| at).chain([line.len()]);
    offsets.nth(wanted).map(|at| start + at)
}

fn line_start(text: &str, line: u32) -> Option<usize> {
    if line == 1 {
        return Some(0);
    }
    let breaks = text.match_indices('\n').map(|(at, _)| at + 1);
    match breaks.clone().nth(line as usize - 2) {
        Some(start) => Some(start),
        None => {
            let lines = line_breaks(text) + 1;
            (line as usize == lines + 1 && !text.is_empty() && !text.ends_with('\n')).then_some(text.len())
        }
    }
}

fn line_breaks(text: &str) -> usize {
    text.matches('\n').count()
}
