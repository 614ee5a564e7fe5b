//! Where a finding says it is: `file`, `"file:321"`, `"7-8"`, location objects, lists of files.
//!
//! A place is only ever taken from what the finding says. Nothing here looks at the tree: [`crate::findings::intake`] does.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{Fields, Inherited, Manner};
use crate::findings::finding::{FindingId, Note};

const FILE_KEYS: &[&str] = &[
    "path",
    "filename",
    "file_path",
    "filepath",
    "filePath",
    "absolute_file_path",
    "relative_path",
    "file_name",
    "fileName",
    "source_file",
];
const LOCATION_KEYS: &[&str] =
    &["location", "code_location", "codeLocation", "position", "where", "file_location", "loc"];
const START_KEYS: &[&str] =
    &["start_line", "lineStart", "startLine", "line", "line_number", "lineNumber", "lineno", "line_no"];
const END_KEYS: &[&str] = &["end_line", "lineEnd", "endLine"];
const SPAN_KEYS: &[&str] = &["lines", "line_range", "lineRange", "line_numbers", "range"];

static SPAN: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*[~≈]?\s*(?:lines?\s*|l)?(-?\d+)(?:\s*(?:-|–|—|−|\.\.=?|\bto\b|\bthrough\b)\s*(?:lines?\s*|l)?(\d+))?(?::\d+)?\s*(.*)$")
        .expect("a constant pattern")
});

static PLACE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?ix)^(?P<path>.+?)
        (?: (?: :\s*L? | \#L | ,?\ +\(?lines?\ +L? ) (?P<a>\d+)
            (?: \s*[-–—]\s*L?(?P<b>\d+) | :\d+(?:\s*[-–—]\s*(?P<c>\d+):\d+)? )?
            (?P<more> (?: \s*[,;&]\s*L?\d+(?:\s*[-–—]\s*L?\d+)? )+ )? \)?
          | (?P<ext>\.[a-z]\w*) \( (?P<d>\d+) (?:\s*[,:]\s*\d+)* \) )$",
    )
    .expect("a constant pattern")
});

/// Lines as given, not yet judged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LineSpan {
    pub start: Option<i64>,
    pub end: Option<i64>,
    /// More lines or ranges were given than a finding can have.
    pub more: bool,
}

impl LineSpan {
    pub fn line(start: i64) -> Self {
        LineSpan { start: Some(start), end: None, more: false }
    }

    /// The lines of a finding: 0 and −1 mean the whole file, inverted ranges collapse (DESIGN 5, R03).
    pub fn settle(self, notes: &mut Vec<Note>, id: &FindingId) -> (Option<u32>, Option<u32>) {
        let mut note = |field: &str, was: Value, became: Value, why: &str| {
            notes.push(Note::new(Some(id), field, was, became, why));
        };
        let fits = |line: i64| u32::try_from(line).unwrap_or(u32::MAX);
        if self.more {
            note(
                "lines",
                Value::Null,
                self.start.into(),
                "several places were given, and the first one is used",
            );
        }
        match (self.start, self.end) {
            (None, None) => (None, None),
            (None, Some(end)) if end <= 0 => (None, None),
            (None, Some(end)) => {
                note("line_start", Value::Null, end.into(), "only a last line was given");
                (Some(fits(end)), Some(fits(end)))
            }
            (Some(start), _) if start <= 0 => {
                note("line_start", start.into(), Value::Null, "0 and negative lines mean the whole file");
                (None, None)
            }
            (Some(start), None) => (Some(fits(start)), None),
            (Some(start), Some(end)) if end < start => {
                note("line_end", end.into(), start.into(), "the range ends before it starts");
                (Some(fits(start)), Some(fits(start)))
            }
            (Some(start), Some(end)) => (Some(fits(start)), Some(fits(end))),
        }
    }
}

pub struct Place {
    pub file: Option<String>,
    pub line_start: Option<u32>,
    pub line_end: Option<u32>,
    pub related_files: Vec<String>,
}

pub fn take(
    fields: &mut Fields,
    inherited: &Inherited,
    notes: &mut Vec<Note>,
    id: &FindingId,
) -> Result<Place, String> {
    let mut span = LineSpan::default();
    // A document that claims the schema and gives `file` keeps its other fields to itself.
    let open = fields.is_loose() || !fields.has("file");
    let mut file = match fields.take("file", FILE_KEYS) {
        None => None,
        Some(Value::String(text)) => Some(text),
        Some(other) => match from_location(&other) {
            Some((file, within)) if open => {
                span = within;
                file
            }
            _ => return Err(format!("file is {other}, which is no path")),
        },
    };
    let start = fields.take("line_start", START_KEYS);
    let end = fields.take("line_end", END_KEYS);
    let mut unread = |field: &str, value: &Value| {
        notes.push(Note::new(Some(id), field, value.clone(), Value::Null, "this is no line number"));
    };
    if let Some(value) = &start {
        match span_of(value) {
            Some(read) => span = read,
            None => unread("line_start", value),
        }
    }
    if let Some(value) = &end {
        match span_of(value) {
            Some(read) => span.end = read.end.or(read.start),
            None => unread("line_end", value),
        }
    }
    if open {
        if span.start.is_none()
            && let Some(read) = take_readable(fields, SPAN_KEYS, span_of)
        {
            span = read;
        }
        if (file.is_none() || span.start.is_none())
            && let Some((found, within)) = take_readable(fields, LOCATION_KEYS, from_location)
        {
            file = file.or(found);
            if span.start.is_none() {
                span = within;
            }
        }
    }

    let mut related_files = take_paths(fields, "related_files");
    if open && file.is_none() {
        for key in ["files", "affected_files", "paths", "locations"] {
            let mut listed = take_paths(fields, key);
            if !listed.is_empty() {
                file = Some(listed.remove(0));
                related_files.splice(0..0, listed);
                break;
            }
        }
    }
    if file.is_none() && fields.is_loose() {
        file = inherited.file.clone();
    }

    let file = file.and_then(|given| {
        if fields.manner == Manner::Exact {
            return (!given.trim().is_empty()).then_some(given);
        }
        let (path, within) = split_place(&given);
        // The tree tells whether spaces around a path belong to it.
        let path = if path == given.trim() && !path.is_empty() { given.clone() } else { path };
        if let Some(within) = within
            && path != given
        {
            notes.push(Note::new(
                Some(id),
                "file",
                given.clone(),
                path.clone(),
                "the line is taken out of the path",
            ));
            if span.start.is_none() {
                span = within;
            }
        }
        (!path.trim().is_empty()).then_some(path)
    });
    let mut related = Vec::new();
    for given in related_files {
        let path = if fields.manner == Manner::Exact { given } else { split_place(&given).0 };
        if !path.trim().is_empty() && Some(&path) != file.as_ref() && !related.contains(&path) {
            related.push(path);
        }
    }
    if file.is_none() && span.start.is_some_and(|line| line > 0) {
        notes.push(Note::new(Some(id), "file", Value::Null, Value::Null, "lines were given, but no file"));
        return Ok(Place { file: None, line_start: None, line_end: None, related_files: related });
    }
    let (line_start, line_end) = span.settle(notes, id);
    Ok(Place { file, line_start, line_end, related_files: related })
}

/// Takes the first of `keys` whose value can be read; the others stay as unknown fields.
fn take_readable<T>(fields: &mut Fields, keys: &[&str], read: impl Fn(&Value) -> Option<T>) -> Option<T> {
    for key in keys {
        if let Some(found) = fields.object.get(*key).and_then(&read) {
            fields.object.shift_remove(*key);
            return Some(found);
        }
    }
    None
}

/// A list of paths: strings, or objects that have one. Anything else stays where it is.
fn take_paths(fields: &mut Fields, key: &str) -> Vec<String> {
    let path_of = |value: &Value| match value {
        Value::String(text) => Some(text.clone()),
        other => {
            let (file, span) = from_location(other)?;
            let file = file?;
            Some(match (span.start, span.end) {
                (Some(start), Some(end)) if start > 0 => format!("{file}:{start}-{end}"),
                (Some(start), None) if start > 0 => format!("{file}:{start}"),
                _ => file,
            })
        }
    };
    let paths: Option<Vec<String>> = match fields.object.get(key) {
        Some(Value::Array(items)) => items.iter().map(path_of).collect(),
        Some(Value::String(text)) => Some(vec![text.clone()]),
        _ => None,
    };
    match paths {
        Some(paths) => {
            fields.object.shift_remove(key);
            paths.into_iter().filter(|path| !path.trim().is_empty()).collect()
        }
        None => Vec::new(),
    }
}

/// `"path:89-101"`, `{file, line}`, `{file_path, line_range: {start, end}}` and the like.
fn from_location(value: &Value) -> Option<(Option<String>, LineSpan)> {
    match value {
        Value::String(text) => {
            if let Some(span) = lines_only(text) {
                return Some((None, span));
            }
            let (path, span) = split_place(text);
            // Prose such as "in the login handler" names no file.
            let is_path = span.is_some() || path.contains(['/', '\\', '.']) && !path.contains(' ');
            (is_path && !path.is_empty()).then(|| (Some(path), span.unwrap_or_default()))
        }
        Value::Object(object) => {
            let get =
                |keys: &[&str]| keys.iter().find_map(|key| object.get(*key)).filter(|value| !value.is_null());
            let file = std::iter::once("file")
                .chain(FILE_KEYS.iter().copied())
                .chain(["uri"])
                .find_map(|key| object.get(key).and_then(Value::as_str))
                .map(str::to_owned);
            let start = std::iter::once("line_start").chain(START_KEYS.iter().copied()).chain(["start"]);
            let mut span = start.filter_map(|key| object.get(key)).find_map(span_of).unwrap_or_default();
            if let Some(end) = get(&["line_end", "end_line", "lineEnd", "endLine", "end"]).and_then(span_of) {
                span.end = end.end.or(end.start);
            }
            if span.start.is_none()
                && let Some(within) = get(SPAN_KEYS).and_then(span_of)
            {
                span = within;
            }
            (file.is_some() || span.start.is_some()).then_some((file, span))
        }
        Value::Array(items) => from_location(items.first()?),
        _ => None,
    }
}

/// Lines in any of the forms that people and models write.
pub fn span_of(value: &Value) -> Option<LineSpan> {
    match value {
        Value::Number(_) => number(value).map(LineSpan::line),
        Value::String(text) => lines_only(text),
        Value::Array(items) => {
            let lines: Vec<i64> = items.iter().filter_map(|item| span_of(item)?.start).collect();
            let (start, end) = (*lines.iter().min()?, *lines.iter().max()?);
            Some(LineSpan {
                start: Some(start),
                end: (lines.len() > 1).then_some(end),
                more: lines.len() > 2,
            })
        }
        Value::Object(object) => {
            let line = |keys: [&str; 4]| {
                keys.iter().find_map(|key| object.get(*key)).and_then(span_of).and_then(|span| span.start)
            };
            let start = line(["start", "line", "start_line", "from"])?;
            Some(LineSpan {
                start: Some(start),
                end: line(["end", "end_line", "to", "endLine"]),
                more: false,
            })
        }
        _ => None,
    }
}

fn number(value: &Value) -> Option<i64> {
    // A line beyond what fits is clamped by intake like any other line out of range.
    value.as_i64().or_else(|| value.as_f64().filter(|line| line.is_finite()).map(|line| line as i64))
}

fn lines_only(text: &str) -> Option<LineSpan> {
    let found = SPAN.captures(text)?;
    let rest = found[3].trim();
    if !rest.is_empty() && !rest.starts_with([',', ';', '&']) && !rest.starts_with("and ") {
        return None;
    }
    let line = |at: usize| found.get(at).map(|digits| digits.as_str().parse().unwrap_or(i64::from(u32::MAX)));
    Some(LineSpan { start: line(1), end: line(2), more: !rest.is_empty() })
}

/// `src/a.py:89-101` as the path and the lines; a path without lines comes back trimmed.
pub fn split_place(given: &str) -> (String, Option<LineSpan>) {
    let text = given.trim().trim_matches(['`', '"', '\'']).trim();
    let Some(found) = PLACE.captures(text) else { return (text.to_owned(), None) };
    let line =
        |name: &str| found.name(name).map(|digits| digits.as_str().parse().unwrap_or(i64::from(u32::MAX)));
    // `a.py(10)` as compilers write it; `Copy(2)` is a name.
    let extension = found.name("ext").map_or("", |text| text.as_str());
    let path = format!("{}{extension}", found["path"].trim().trim_matches('`'));
    let span = LineSpan {
        start: line("a").or_else(|| line("d")),
        end: line("b").or_else(|| line("c")),
        more: found.name("more").is_some(),
    };
    (path, Some(span))
}
