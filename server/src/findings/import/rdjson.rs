//! Reviewdog Diagnostic Format: one JSON document, or one diagnostic a line (DESIGN 5, R02).

use serde_json::{Map, Value};

use super::columns::{self, Region, Unit};
use crate::findings::finding::{Edit, Finding, FindingId, Note, Severity};
use crate::findings::reading::{LineSpan, UNSTATED_CONFIDENCE, resolved_criterion, title_of};
use crate::findings::review_output::{LeftOut, ReviewOutput};
use crate::findings::suggestion::UNVERIFIED_COLUMNS;
use crate::findings::tree::SourceText;

type Object = Map<String, Value>;

/// A whole document.
pub fn is_document(object: &Object) -> bool {
    if object.contains_key("findings") || object.contains_key("issues") {
        return false;
    }
    match object.get("diagnostics") {
        Some(Value::Array(items)) => {
            items.iter().all(|item| item.is_object() && item.get("message").is_some())
        }
        Some(Value::Null) => true,
        _ => false,
    }
}

/// One line of rdjsonl. A path is what tells it from other objects with a message and a location.
pub fn is_line(value: &Value) -> bool {
    let Some(object) = value.as_object() else { return false };
    let has_path =
        object.get("location").is_some_and(|location| location.get("path").is_some_and(Value::is_string));
    let foreign = object.contains_key("title") || object.contains_key("id");
    object.get("message").is_some_and(Value::is_string) && has_path && !foreign
}

pub fn read(object: &Object, tree: Option<&dyn SourceText>) -> ReviewOutput {
    let mut review = ReviewOutput::default();
    let source = source_name(object.get("source"));
    review.source = source.clone();
    let defaults = Defaults { source, severity: object.get("severity") };
    match object.get("diagnostics") {
        Some(Value::Array(items)) => read_all(items, &defaults, tree, &mut review),
        _ => {
            let why = "not scanned: there is no list of diagnostics, which is not the same as none found";
            review.unread.notes.push(Note::new(None, "diagnostics", Value::Null, Value::Null, why));
            review.unread.not_scanned.push(defaults.source.unwrap_or_default());
        }
    }
    review
}

pub fn read_lines(items: &[Value], tree: Option<&dyn SourceText>) -> ReviewOutput {
    let mut review = ReviewOutput::default();
    read_all(items, &Defaults { source: None, severity: None }, tree, &mut review);
    review
}

struct Defaults<'a> {
    source: Option<String>,
    severity: Option<&'a Value>,
}

fn source_name(source: Option<&Value>) -> Option<String> {
    let name = source?.get("name")?.as_str()?;
    (!name.is_empty()).then(|| name.to_owned())
}

fn read_all(
    items: &[Value],
    defaults: &Defaults<'_>,
    tree: Option<&dyn SourceText>,
    review: &mut ReviewOutput,
) {
    for item in items {
        let number = review.findings.len() + review.unread.left_out.len() + 1;
        let id = FindingId::from(number as u64);
        match item.as_object().and_then(|object| Some((object, object.get("message")?.as_str()?))) {
            Some((object, message)) if !message.trim().is_empty() => {
                let mut reading = Reading { object, tree, notes: &mut review.unread.notes };
                let finding = reading.finding(message, id, defaults);
                review.findings.push(finding);
            }
            _ => {
                let reason = "invalid: a diagnostic has a message".to_owned();
                review.unread.notes.push(Note::new(
                    Some(&id),
                    "diagnostic",
                    item.clone(),
                    Value::Null,
                    reason.clone(),
                ));
                review.unread.left_out.push(LeftOut { id, finding: None, reason });
            }
        }
    }
    if !review.findings.is_empty() {
        let why = "the format gives no confidence";
        review.unread.notes.push(Note::new(None, "confidence", Value::Null, UNSTATED_CONFIDENCE, why));
    }
}

struct Reading<'a> {
    object: &'a Object,
    tree: Option<&'a dyn SourceText>,
    notes: &'a mut Vec<Note>,
}

impl Reading<'_> {
    fn finding(&mut self, message: &str, id: FindingId, defaults: &Defaults<'_>) -> Finding {
        let source = source_name(self.object.get("source")).or_else(|| defaults.source.clone());
        let (severity, native) = match severity_of(self.object.get("severity"))
            .or_else(|| severity_of(defaults.severity))
        {
            Some((severity, native)) => (severity, Some(native)),
            None => {
                self.notes.push(Note::new(Some(&id), "severity", Value::Null, "P2", "no severity was given"));
                (Severity::P2, None)
            }
        };
        let mut finding = Finding::new(id, severity, title_of(message));
        finding.native_severity = native;
        finding.confidence = UNSTATED_CONFIDENCE;
        message.clone_into(&mut finding.body);
        let code = self.object.get("code");
        let rule = code.and_then(|code| code.get("value")?.as_str()).filter(|rule| !rule.is_empty());
        finding.criterion = Some(rule.map_or_else(|| resolved_criterion(&finding.title), str::to_owned));
        if let Some(url) = code.and_then(|code| code.get("url")?.as_str()).filter(|url| !url.is_empty()) {
            finding.body.push_str(&format!("\n\nSee {url}"));
        }
        let units = columns::of_tool(source.as_deref().unwrap_or_default(), &[Unit::Utf8]);
        let location = self.object.get("location");
        finding.file = location
            .and_then(|location| location.get("path")?.as_str())
            .filter(|path| !path.trim().is_empty())
            .map(|path| {
                self.tree.and_then(|tree| tree.resolve(path).ok()).unwrap_or_else(|| path.to_owned())
            });
        let region = range(location.and_then(|location| location.get("range")));
        if finding.file.is_some() {
            let (start, end) = region.lines(None, units);
            (finding.line_start, finding.line_end) =
                LineSpan { start, end, more: false }.settle(self.notes, &finding.id);
        }
        self.related(&mut finding);
        self.suggest(&mut finding, source.as_deref().unwrap_or_default(), units);
        if let Some(source) = source {
            finding.extra.insert("tool".to_owned(), Value::from(source));
        }
        for key in ["original_output", "code"] {
            if let Some(value) = self.object.get(key) {
                finding.extra.insert(key.to_owned(), value.clone());
            }
        }
        finding
    }

    fn related(&self, finding: &mut Finding) {
        let related = self.object.get("related_locations").or_else(|| self.object.get("relatedLocations"));
        for one in related.and_then(Value::as_array).map_or(&[][..], Vec::as_slice) {
            let location = one.get("location");
            let Some(path) = location.and_then(|location| location.get("path")?.as_str()) else { continue };
            let line = range(location.and_then(|location| location.get("range"))).start_line;
            let line = line.map(|line| format!(":{line}")).unwrap_or_default();
            let text = one
                .get("message")
                .and_then(Value::as_str)
                .map(|text| format!(": {text}"))
                .unwrap_or_default();
            finding.body.push_str(&format!("\nRelated: {path}{line}{text}"));
        }
    }

    /// Several suggestions are alternatives: the first usable one is taken, and all are kept.
    fn suggest(&mut self, finding: &mut Finding, tool: &str, units: &[Unit]) {
        let given = self.object.get("suggestions").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let Some(file) = finding.file.clone() else { return };
        let text = self.tree.and_then(|tree| tree.text(&file));
        if given.len() > 1 {
            finding.extra.insert("suggestion_alternatives".to_owned(), Value::from(given.to_vec()));
        }
        for suggestion in given {
            match edit(suggestion, &file, text.as_deref(), tool, units) {
                Ok((edit, unverified)) => {
                    finding.suggestion = vec![edit];
                    if unverified {
                        finding.extra.insert(UNVERIFIED_COLUMNS.to_owned(), Value::from("unverified"));
                        let why = "the file is not known, so the unit of the columns could not be verified";
                        self.notes.push(Note::new(
                            Some(&finding.id),
                            "suggestion",
                            Value::Null,
                            Value::Null,
                            why,
                        ));
                    }
                    if given.len() > 1 {
                        let why = format!(
                            "{} alternatives are given, and the first usable one is taken",
                            given.len()
                        );
                        self.notes.push(Note::new(Some(&finding.id), "suggestion", given.len(), 1, why));
                    }
                    return;
                }
                Err(why) => {
                    self.notes.push(Note::new(
                        Some(&finding.id),
                        "suggestion",
                        suggestion.clone(),
                        Value::Null,
                        why,
                    ));
                }
            }
        }
    }
}

fn edit(
    suggestion: &Value,
    file: &str,
    text: Option<&str>,
    tool: &str,
    units: &[Unit],
) -> Result<(Edit, bool), String> {
    if tool.eq_ignore_ascii_case("eslint") && text.is_some_and(|text| text.starts_with('\u{feff}')) {
        return Err(
            "this formatter's suggestions are one character off in a file with a byte order mark".to_owned()
        );
    }
    let mut region = range(suggestion.get("range"));
    if region.start_line.is_none() {
        return Err("the suggestion has no range".to_owned());
    }
    let mut replacement = suggestion.get("text").and_then(Value::as_str).unwrap_or_default().to_owned();
    // A start column without an end is a place, not a range.
    if region.start_column.is_some() && region.end_line.is_none() && region.end_column.is_none() {
        region.end_column = region.start_column;
    }
    let span = region.span(text, units)?;
    if span.whole_lines && !replacement.is_empty() && !replacement.ends_with('\n') {
        replacement.push('\n');
    }
    let edit =
        Edit { file: file.to_owned(), start: span.start, end: span.end, replacement, deleted: span.text };
    Ok((edit, span.unverified))
}

fn range(value: Option<&Value>) -> Region {
    let number = |end: &str, key: &str| {
        // protobuf writes 0 for what is not given.
        super::sarif_fixes::whole(value?.get(end)?.get(key)?)
    };
    let column = |end: &str| number(end, "column").filter(|column| *column != 0);
    Region {
        start_line: number("start", "line"),
        start_column: column("start"),
        end_line: number("end", "line").filter(|line| *line != 0),
        end_column: column("end"),
        ..Region::default()
    }
}

/// Names and numbers of the protobuf enumeration.
fn severity_of(value: Option<&Value>) -> Option<(Severity, String)> {
    let word = match value? {
        Value::String(word) => word.to_ascii_uppercase(),
        Value::Number(number) => match number.as_u64()? {
            1 => "ERROR".to_owned(),
            2 => "WARNING".to_owned(),
            3 => "INFO".to_owned(),
            _ => return None,
        },
        _ => return None,
    };
    match word.as_str() {
        "UNKNOWN_SEVERITY" | "" => None,
        word => crate::findings::reading::severity_of(word).map(|severity| (severity, word.to_owned())),
    }
}
