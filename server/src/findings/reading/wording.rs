//! Title and body of a finding, from whatever fields the author used for them.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Value;

use super::{
    Fields, Inherited, LineSpan, Read, UNSTATED_CONFIDENCE, resolved_criterion, severity_of, split_place,
};
use crate::findings::finding::{Finding, FindingId, Note, Severity};

const TITLE_KEYS: &[&str] = &["summary", "headline", "heading", "short_description", "subject"];
const BODY_KEYS: &[&str] = &[
    "description",
    "details",
    "detail",
    "explanation",
    "comment",
    "message",
    "issue",
    "problem",
    "finding",
    "text",
    "content",
    "rationale",
    "reason",
];
/// Parts of a report that are worth reading after the body, with the word that introduces them.
const PART_KEYS: &[(&str, &str)] = &[
    ("failure_scenario", "Failure scenario"),
    ("impact", "Impact"),
    ("why", "Why"),
    ("consequence", "Consequence"),
];
const ADVICE_KEYS: &[&str] = &[
    "suggestion",
    "suggested_fix",
    "suggestedFix",
    "fix_suggestion",
    "fix",
    "recommendation",
    "remediation",
    "proposed_fix",
    "resolution",
];

/// Longest title that is made from a text which was not meant as one.
const MADE_TITLE: usize = 120;

static LINE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?x)^\s* (?: [-*+•]\s+ | \d+[.)]\s+ )?
        (?: \*\*\[?([A-Za-z0-9]+)\]?:?\*\* | \[\s*([A-Za-z0-9]+)\s*\] | ([A-Za-z0-9]+)\s*: )
        \s*[:—–-]?\s* (.+)$",
    )
    .expect("a constant pattern")
});

/// The severity word that a line begins with, where it is marked as one, and the rest of the line.
pub fn leading_severity(line: &str) -> Option<(Severity, String, String)> {
    let found = LINE.captures(line)?;
    let word = found.get(1).or_else(|| found.get(2)).or_else(|| found.get(3))?.as_str();
    Some((severity_of(word)?, word.to_owned(), found[4].trim().to_owned()))
}

/// A value as text: strings as they are, lists one item a line, objects as compact JSON, `null` and empty lists as nothing.
pub fn plain(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        Value::Array(items) => {
            let lines: Vec<String> = items.iter().filter_map(plain).collect();
            (!lines.is_empty()).then(|| lines.join("\n"))
        }
        other => Some(other.to_string()),
    }
}

/// A one-line title from the beginning of a text.
pub fn title_of(text: &str) -> String {
    let line = text
        .lines()
        .map(|line| line.trim().trim_start_matches(['#', '>', ' ']).trim())
        .find(|line| line.chars().any(char::is_alphanumeric))
        .unwrap_or_else(|| text.trim());
    let line = line.split("<br").next().unwrap_or(line).replace("**", "");
    let line = line.trim_matches(['*', '_', ' ']).trim();
    let sentence = line.find(". ").map_or(line, |end| &line[..end]);
    let chosen = if sentence.chars().count() >= 12 { sentence } else { line };
    if chosen.chars().count() <= MADE_TITLE {
        return chosen.to_owned();
    }
    let cut: String = chosen.chars().take(MADE_TITLE - 1).collect();
    let at_word = cut.rfind(' ').filter(|at| *at > MADE_TITLE / 2).unwrap_or(cut.len());
    format!("{}…", cut[..at_word].trim_end())
}

pub fn append(body: &mut String, label: &str, text: &str) {
    if text.trim().is_empty() || body.contains(text.trim()) {
        return;
    }
    if !body.is_empty() {
        body.push_str("\n\n");
    }
    body.push_str(label);
    body.push_str(": ");
    body.push_str(text.trim_end());
}

/// Takes title and body, and makes a missing title from the body.
pub fn take(fields: &mut Fields, notes: &mut Vec<Note>, id: &FindingId) -> (String, String) {
    let text = |value: Option<Value>| value.as_ref().and_then(plain).unwrap_or_default();
    let loose = fields.is_loose();
    let mut title = text(fields.take("title", TITLE_KEYS));
    let mut body = text(fields.take("body", BODY_KEYS));
    if loose {
        for (key, label) in PART_KEYS {
            if let Some(text) = fields.take_text(key) {
                if body.is_empty() {
                    body = text;
                } else {
                    append(&mut body, label, &text);
                }
            }
        }
        if title.is_empty()
            && body.is_empty()
            && let Some(name) = fields.take_text("name")
        {
            title = name;
        }
    }
    if title.trim().is_empty() && !body.trim().is_empty() {
        title = title_of(&body);
        if !loose {
            notes.push(Note::new(Some(id), "title", Value::Null, title.clone(), "made from the body"));
        }
    }
    if loose && title.contains('\n') {
        let whole = std::mem::take(&mut title);
        title = title_of(&whole);
        body = if body.is_empty() { whole } else { format!("{whole}\n\n{body}") };
    }
    (title.trim().to_owned(), body)
}

/// Advice in words belongs to what the fixer reads.
pub fn take_advice(fields: &mut Fields, body: &mut String) {
    for key in ADVICE_KEYS {
        if let Some(text) = fields.take_text(key) {
            append(body, "Suggestion", &text);
        }
    }
}

/// A finding in one line of text: `[CRITICAL] text — file:line`.
pub fn from_line(line: &str, id: FindingId, inherited: &Inherited) -> Read {
    let mut notes = Vec::new();
    let (severity, native, rest) = match leading_severity(line) {
        Some((severity, native, rest)) => (severity, Some(native), rest),
        None => match inherited.severity.as_deref().and_then(severity_of) {
            Some(severity) => (severity, inherited.severity.clone(), line.trim().to_owned()),
            None => {
                notes.push(Note::new(Some(&id), "severity", Value::Null, "P2", "no severity was given"));
                (Severity::P2, None, line.trim().to_owned())
            }
        },
    };
    let (text, file, span) = split_trailing_place(&rest);
    let (line_start, line_end) = span.settle(&mut notes, &id);
    let title = title_of(&text);
    let mut finding = Finding::new(id, severity, title.clone());
    finding.body = text;
    finding.file = file.or_else(|| inherited.file.clone());
    (finding.line_start, finding.line_end) = (line_start, line_end);
    finding.confidence = UNSTATED_CONFIDENCE;
    finding.native_severity = native;
    if severity.is_worked_on() {
        let criterion = resolved_criterion(&title);
        notes.push(Note::new(
            Some(&finding.id),
            "criterion",
            Value::Null,
            criterion.clone(),
            "the review gives no criterion, so the finding itself is one",
        ));
        finding.criterion = Some(criterion);
    }
    Read { finding, notes }
}

/// `text — file:line` as its parts. A dash inside the text is text: only what looks like a path counts as one.
fn split_trailing_place(text: &str) -> (String, Option<String>, LineSpan) {
    for dash in [" — ", " – ", " -- ", " - ", " @ ", " in ", " at "] {
        if let Some(at) = text.rfind(dash) {
            let given = text[at + dash.len()..].trim().trim_end_matches('.').trim_matches(['(', ')']);
            let (path, span) = split_place(given);
            let shaped = !path.is_empty() && !path.contains(char::is_whitespace)
                || span.is_some() && !path.contains(": ");
            let dashed = dash.trim().chars().all(|c| !c.is_alphanumeric());
            let named = path.contains(['/', '\\'])
                || path.rsplit_once('.').is_some_and(|(stem, ext)| {
                    !stem.is_empty()
                        && (1..=8).contains(&ext.len())
                        && ext.chars().all(|c| c.is_ascii_alphanumeric())
                });
            if shaped && (named && (dashed || span.is_some()) || dashed && span.is_some()) {
                return (text[..at].trim().to_owned(), Some(path), span.unwrap_or_default());
            }
        }
    }
    if let Some(at) = text.rfind(" (")
        && let Some(inner) = text[at + 2..].trim().strip_suffix(')')
    {
        let (path, span) = split_place(inner);
        if span.is_some() && !path.contains(char::is_whitespace) && path.contains('.') {
            return (text[..at].trim().to_owned(), Some(path), span.unwrap_or_default());
        }
    }
    (text.trim().to_owned(), None, LineSpan::default())
}
