//! The document: ReviewOutput v1 with its extensions (DESIGN 5).
//!
//! Reading never fails because of one finding: what cannot be read is put into [`Unread`] with its reason, and
//! [`super::intake`] lists it. It never turns a broken finding into a valid one by guessing a verdict or a place.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Value};

use super::finding::{Finding, FindingId, Note};
use super::reading::{Inherited, Manner, read_finding};

/// The only version there is.
pub const SCHEMA_VERSION: &str = "v1";

/// The result of one review.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct ReviewOutput {
    /// Always `v1`.
    pub schema_version: String,
    pub findings: Vec<Finding>,
    /// What the review ran, one line each. `AC-3: FAIL` prevents a resolution of what it names.
    #[serde(default)]
    pub checks_run: Vec<String>,
    /// The files to fix: the scope of findings without a file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifact_paths: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub criteria: Vec<String>,
    /// The revision that was reviewed. Lines are mapped from it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub review_base: Option<String>,
    /// What produced the review.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<String>,
    /// Fields that are not part of the schema, written back as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
    /// What reading had to leave out, repair or doubt. Not part of the wire form.
    #[serde(skip)]
    #[schemars(skip)]
    pub unread: Unread,
}

/// What reading a document had to leave out, repair or doubt.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Unread {
    /// Entries that are no findings, or that the document itself takes back. [`super::intake`] lists them as ignored.
    pub left_out: Vec<LeftOut>,
    pub notes: Vec<Note>,
    /// The tools that reported no result list at all, which is not the same as an empty one: their earlier findings stay
    /// (R09, SARIF runs without `results`). An empty name means the whole document.
    pub not_scanned: Vec<String>,
}

/// An entry that did not become a finding of the document.
#[derive(Clone, Debug, PartialEq)]
pub struct LeftOut {
    /// The id it gave, or its 1-based number in the document.
    pub id: FindingId,
    /// What could be read of it, for display.
    pub finding: Option<Finding>,
    pub reason: String,
}

impl Default for ReviewOutput {
    fn default() -> Self {
        ReviewOutput {
            schema_version: SCHEMA_VERSION.to_owned(),
            findings: Vec::new(),
            checks_run: Vec::new(),
            artifact_paths: Vec::new(),
            criteria: Vec::new(),
            review_base: None,
            source: None,
            extra: Map::new(),
            unread: Unread::default(),
        }
    }
}

impl ReviewOutput {
    /// A document of these findings.
    pub fn of(findings: Vec<Finding>) -> Self {
        ReviewOutput { findings, ..ReviewOutput::default() }
    }

    /// Reads a ReviewOutput v1 finding by finding. The error says why this is no ReviewOutput at all.
    pub fn from_value(value: &Value) -> Result<Self, String> {
        let object = value.as_object().ok_or("a ReviewOutput is a JSON object")?;
        match object.get("schema_version") {
            Some(Value::String(version)) if version == SCHEMA_VERSION => {}
            Some(other) => return Err(format!("schema_version is {other}, and only \"v1\" is known")),
            None => return Err("schema_version is missing; a ReviewOutput says \"v1\"".to_owned()),
        }
        let items = match object.get("findings") {
            Some(Value::Array(items)) => items,
            Some(_) => return Err("findings is not a list".to_owned()),
            None => return Err("findings is missing; an empty review has an empty list".to_owned()),
        };
        let mut review = ReviewOutput::default();
        review.read_findings(items, &Inherited::default(), Manner::V1);
        review.read_top_level(object, &["schema_version", "findings"]);
        Ok(review)
    }

    /// Reads the ReviewOutput that a verifier reports about findings it was given. What it does not repeat of a finding is
    /// known from the brief; a verdict and its evidence are only ever its own.
    pub fn from_report(value: &Value, briefed: &[Finding]) -> Result<Self, String> {
        let mut value = value.clone();
        let items = value.get_mut("findings").and_then(Value::as_array_mut).into_iter().flatten();
        for item in items.filter_map(Value::as_object_mut) {
            let Some(id) = item.get("id").and_then(FindingId::from_value) else { continue };
            let known = briefed.iter().find(|finding| finding.id.to_string() == id.to_string());
            let Some(Value::Object(known)) = known.and_then(|finding| serde_json::to_value(finding).ok())
            else {
                continue;
            };
            for key in [
                "severity",
                "title",
                "body",
                "file",
                "line_start",
                "line_end",
                "confidence",
                "criterion",
                "related_files",
            ] {
                if let (false, Some(field)) = (item.contains_key(key), known.get(key)) {
                    item.insert(key.to_owned(), field.clone());
                }
            }
        }
        ReviewOutput::from_value(&value)
    }

    /// Adds the findings of a list, one by one, so that one invalid entry never stops the others (DESIGN 5).
    pub(super) fn read_findings(&mut self, items: &[Value], inherited: &Inherited, manner: Manner) {
        for item in items {
            let number = self.findings.len() + self.unread.left_out.len() + 1;
            match read_finding(item, number, inherited, manner) {
                Ok(read) => {
                    self.findings.push(read.finding);
                    self.unread.notes.extend(read.notes);
                }
                Err(invalid) => {
                    self.unread.notes.push(Note::new(
                        Some(&invalid.id),
                        "finding",
                        item.clone(),
                        Value::Null,
                        invalid.reason.clone(),
                    ));
                    self.unread.left_out.push(LeftOut {
                        id: invalid.id,
                        finding: None,
                        reason: format!("invalid: {}", invalid.reason),
                    });
                }
            }
        }
    }

    /// Takes over the document's other fields; those named in `read` have been read already.
    pub(super) fn read_top_level(&mut self, object: &Map<String, Value>, read: &[&str]) {
        for (key, value) in object {
            if read.contains(&key.as_str()) {
                continue;
            }
            match (key.as_str(), value) {
                ("checks_run", value) => self.checks_run = self.read_lines(key, value),
                ("artifact_paths", value) => self.artifact_paths = self.read_lines(key, value),
                ("criteria", value) => self.criteria = self.read_lines(key, value),
                ("review_base", Value::Null) | ("source", Value::Null) => {}
                ("review_base", Value::String(text)) if !text.is_empty() => {
                    self.review_base = Some(text.clone())
                }
                ("source", Value::String(text)) => self.source = Some(text.clone()),
                _ => {
                    self.extra.insert(key.clone(), value.clone());
                }
            }
        }
    }

    fn read_lines(&mut self, field: &str, value: &Value) -> Vec<String> {
        let as_line = |value: &Value| match value {
            Value::String(text) => text.clone(),
            Value::Object(object) => {
                let text = |key: &str| object.get(key).and_then(Value::as_str);
                let name =
                    ["id", "name", "check", "criterion", "path", "command"].iter().find_map(|key| text(key));
                let rest =
                    ["result", "status", "outcome", "text", "description"].iter().find_map(|key| text(key));
                match (name, rest) {
                    (Some(name), Some(rest)) => format!("{name}: {rest}"),
                    (Some(name), None) => name.to_owned(),
                    _ => value.to_string(),
                }
            }
            other => other.to_string(),
        };
        let lines: Vec<String> = match value {
            Value::Null => return Vec::new(),
            Value::Array(items) => items.iter().map(as_line).collect(),
            Value::Object(object) => {
                object.iter().map(|(key, value)| format!("{key}: {}", as_line(value))).collect()
            }
            other => vec![as_line(other)],
        };
        let exact = matches!(value, Value::Array(items) if items.iter().all(Value::is_string));
        if !exact {
            self.unread.notes.push(Note::new(
                None,
                field,
                value.clone(),
                lines.clone(),
                "this is a list of strings, and was read as one",
            ));
        }
        lines
    }
}

impl<'de> Deserialize<'de> for ReviewOutput {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        ReviewOutput::from_value(&value).map_err(serde::de::Error::custom)
    }
}
