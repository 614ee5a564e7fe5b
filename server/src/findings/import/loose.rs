//! Reviews in the words of their author: lists under many names, nested per agent, per file or per severity.

use serde_json::{Map, Value};

use super::document;
use crate::findings::finding::Note;
use crate::findings::reading::{Inherited, Manner, severity_of};
use crate::findings::review_output::ReviewOutput;

const LIST_KEYS: &[&str] = &[
    "findings",
    "issues",
    "risks",
    "comments",
    "problems",
    "violations",
    "bugs",
    "defects",
    "gaps",
    "concerns",
    "vulnerabilities",
    "review_comments",
    "reviewcomments",
    "inline_comments",
    "code_issues",
    "security_issues",
    "blocking_issues",
    "observations",
    "alerts",
    "errors",
    "warnings",
    "blockers",
    "items",
    "failures",
];
const FILE_KEYS: &[&str] = &["file", "path", "filename", "file_path", "filepath", "file_name"];
const TEXT_KEYS: &[&str] = &[
    "title",
    "summary",
    "description",
    "message",
    "comment",
    "body",
    "issue",
    "detail",
    "details",
    "problem",
    "text",
    "finding",
];
/// How deep lists are looked for inside a document.
const DEEPEST: usize = 6;

/// A review as an object; `None` where it holds no list of findings and is no finding itself.
pub fn read_object(object: &Map<String, Value>) -> Option<ReviewOutput> {
    let mut gathered = Gathered::default();
    gathered.object(object, &Inherited::default(), 0);
    let mut review = ReviewOutput::default();
    if !gathered.any_list {
        if !is_finding(object) {
            return None;
        }
        review.read_findings(&[Value::Object(object.clone())], &Inherited::default(), Manner::Loose);
        return Some(review);
    }
    let consumed: Vec<&str> = object
        .keys()
        .map(String::as_str)
        .filter(|key| gathered.consumed.contains(&key.to_string()))
        .collect();
    let object = redacted(object, &mut review);
    review.read_top_level(&object, &consumed);
    review.extra.shift_remove("schema_version");
    gathered.read_into(&mut review);
    Some(review)
}

/// A bare list; `None` where it holds something else.
pub fn read_list(items: &[Value]) -> Option<ReviewOutput> {
    let readable = |item: &Value| match item {
        Value::Object(object) => is_finding(object) || has_list(item, 0),
        Value::String(text) => !text.trim().is_empty(),
        _ => false,
    };
    if !items.iter().all(readable) {
        // One odd entry among findings is left out with its reason; a list of something else is not a review.
        let findings = items.iter().filter(|item| item.as_object().is_some_and(is_finding)).count();
        if findings * 2 <= items.len() {
            return None;
        }
    } else if !items.is_empty() && items.iter().all(Value::is_string) {
        let tagged = items.iter().filter_map(Value::as_str).any(super::gaps::looks_like);
        if !tagged {
            return None;
        }
    }
    let mut gathered = Gathered::default();
    gathered.items(items, &Inherited::default(), 0);
    let mut review = ReviewOutput::default();
    gathered.read_into(&mut review);
    Some(review)
}

/// Says something about somewhere: a text together with a severity or a place.
fn is_finding(object: &Map<String, Value>) -> bool {
    let has = |keys: &[&str]| keys.iter().any(|key| object.get(*key).is_some_and(|value| !value.is_null()));
    has(TEXT_KEYS)
        && (has(&[
            "severity",
            "priority",
            "line",
            "line_start",
            "line_number",
            "location",
            "code_location",
            "criterion",
        ]) || has(FILE_KEYS)
            || has(&["title"]) && has(&["description", "body", "detail", "details"]))
}

fn has_list(value: &Value, depth: usize) -> bool {
    if depth > DEEPEST {
        return false;
    }
    match value {
        Value::Object(object) => object.iter().any(|(key, child)| match child {
            Value::Array(items) => {
                list_key(key).is_some()
                    || items.iter().any(|item| item.is_object() && has_list(item, depth + 1))
            }
            Value::Object(_) => has_list(child, depth + 1),
            _ => false,
        }),
        _ => false,
    }
}

/// What a list is called: a list of findings, perhaps all of one severity (`critical`, `high_issues`, `warnings`).
fn list_key(key: &str) -> Option<Option<String>> {
    let key = key.to_lowercase().replace('-', "_");
    let bare = ["unique_", "merged_", "consolidated_", "deduplicated_", "all_"]
        .iter()
        .find_map(|prefix| key.strip_prefix(prefix))
        .unwrap_or(&key);
    let word = bare.split('_').next().unwrap_or(bare);
    let rest = bare[word.len()..].trim_start_matches('_');
    let singular = word.strip_suffix('s').unwrap_or(word);
    let about_findings = matches!(
        rest,
        "" | "issues" | "findings" | "risks" | "problems" | "bugs" | "comments" | "priority" | "severity"
    );
    let suggests_only = matches!(
        singular,
        "suggestion"
            | "recommendation"
            | "note"
            | "style"
            | "hint"
            | "optional"
            | "none"
            | "unknown"
            | "info"
    );
    if about_findings && !suggests_only && severity_of(singular).is_some() {
        return Some(Some(singular.to_owned()));
    }
    LIST_KEYS.contains(&bare).then_some(None)
}

/// The lists of a document, with what their surroundings say.
#[derive(Default)]
struct Gathered {
    entries: Vec<(Value, Inherited)>,
    any_list: bool,
    /// The top-level fields that were read.
    consumed: Vec<String>,
    notes: Vec<Note>,
}

impl Gathered {
    fn object(&mut self, object: &Map<String, Value>, inherited: &Inherited, depth: usize) {
        if depth > DEEPEST {
            return;
        }
        let file =
            FILE_KEYS.iter().find_map(|key| object.get(*key).and_then(Value::as_str)).map(str::to_owned);
        let inherited =
            Inherited { file: file.or_else(|| inherited.file.clone()), severity: inherited.severity.clone() };
        let merged: Vec<&String> = object
            .iter()
            .filter(|(key, child)| {
                child.is_array()
                    && (key.starts_with("unique_")
                        || key.starts_with("merged_")
                        || key.starts_with("deduplicated_")
                        || key.starts_with("consolidated_"))
                    && list_key(key).is_some()
            })
            .map(|(key, _)| key)
            .collect();
        for (key, child) in object {
            if !merged.is_empty() && !merged.contains(&key) {
                let repeats = matches!(child, Value::Array(items) if list_key(key).is_some() || items.iter().any(|item| has_list(item, 0)));
                if repeats {
                    self.consume(key, depth);
                    let why = format!("{} holds the same findings without the repetitions", merged[0]);
                    self.notes.push(Note::new(None, key.clone(), child.clone(), Value::Null, why));
                }
                continue;
            }
            match child {
                Value::Array(items) => match list_key(key) {
                    Some(severity) => {
                        self.any_list = true;
                        self.consume(key, depth);
                        let within = Inherited {
                            file: inherited.file.clone(),
                            severity: severity.or_else(|| inherited.severity.clone()),
                        };
                        self.items(items, &within, depth + 1);
                    }
                    None => {
                        for item in items {
                            if let Value::Object(nested) = item
                                && has_list(item, 0)
                            {
                                self.consume(key, depth);
                                self.object(nested, &inherited, depth + 1);
                            }
                        }
                    }
                },
                Value::Object(nested) if has_list(child, 0) => {
                    self.consume(key, depth);
                    self.object(nested, &inherited, depth + 1);
                }
                _ => {}
            }
        }
    }

    fn consume(&mut self, key: &str, depth: usize) {
        if depth == 0 {
            self.consumed.push(key.to_owned());
        }
    }

    fn items(&mut self, items: &[Value], inherited: &Inherited, depth: usize) {
        for item in items {
            if let Value::Object(object) = item {
                if !is_finding(object) && has_list(item, 0) {
                    self.object(object, inherited, depth + 1);
                    continue;
                }
                if let Some(inner) = fenced_list(object) {
                    // A model that answered with a fence inside the field where one comment was expected.
                    let file = FILE_KEYS.iter().find_map(|key| object.get(*key).and_then(Value::as_str));
                    let within =
                        Inherited { file: file.map(str::to_owned), severity: inherited.severity.clone() };
                    self.notes.push(Note::new(
                        None,
                        "finding",
                        item.clone(),
                        inner.len(),
                        "the findings were written inside the text of this one",
                    ));
                    if depth < DEEPEST {
                        self.items(&inner, &within, depth + 1);
                        continue;
                    }
                }
            }
            self.entries.push((item.clone(), inherited.clone()));
        }
    }

    fn read_into(self, review: &mut ReviewOutput) {
        review.unread.notes.extend(self.notes);
        for (item, inherited) in &self.entries {
            review.read_findings(std::slice::from_ref(item), inherited, Manner::Loose);
        }
    }
}

/// The list in a text field that is nothing but a fence.
fn fenced_list(object: &Map<String, Value>) -> Option<Vec<Value>> {
    let text = TEXT_KEYS.iter().find_map(|key| object.get(*key).and_then(Value::as_str))?;
    if !text.trim_start().starts_with("```") {
        return None;
    }
    let document::Document::Candidates(candidates) = document::parse(text).ok()? else { return None };
    let value = candidates.into_iter().flatten().next()?;
    let items = match value {
        Value::Array(items) => items,
        Value::Object(inner) => match LIST_KEYS.iter().find_map(|key| inner.get(*key)) {
            Some(Value::Array(items)) => items.clone(),
            _ => return None,
        },
        _ => return None,
    };
    items
        .iter()
        .any(|item| {
            item.as_object().is_some_and(|inner| TEXT_KEYS.iter().any(|key| inner.contains_key(*key)))
        })
        .then_some(items)
}

/// Sessions of other tools carry tokens, which are not passed on.
fn redacted(object: &Map<String, Value>, review: &mut ReviewOutput) -> Map<String, Value> {
    fn walk(object: &Map<String, Value>, depth: usize, found: &mut Vec<String>) -> Map<String, Value> {
        object
            .iter()
            .map(|(key, value)| {
                let name = key.to_lowercase();
                let secret = ["token", "secret", "password", "api_key", "apikey", "authorization"]
                    .iter()
                    .any(|word| name == *word || name.ends_with(&format!("_{word}")));
                let value = match value {
                    Value::String(_) if secret => {
                        found.push(key.clone());
                        Value::from("[redacted]")
                    }
                    Value::Object(inner) if depth < DEEPEST => Value::Object(walk(inner, depth + 1, found)),
                    other => other.clone(),
                };
                (key.clone(), value)
            })
            .collect()
    }
    let mut found = Vec::new();
    let object = walk(object, 0, &mut found);
    for key in found {
        review.unread.notes.push(Note::new(
            None,
            key,
            "[redacted]",
            "[redacted]",
            "looks like a secret, and is not passed on",
        ));
    }
    object
}
