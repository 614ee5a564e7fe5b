//! Reading one finding from JSON: exactly where it is written exactly, and with a note for every repair where it is not.
//!
//! Models write `"7-8"`, `"file:321"` and `CRITICAL`. This module turns such a finding into a [`Finding`], never gives it a
//! verdict or a place that it does not have, and says in a [`Note`] whatever it guessed, skipped or clamped.

mod place;
mod severity;
mod wording;

use serde_json::{Map, Value};

use super::finding::{Edit, Finding, FindingCheck, FindingId, Note, Severity, Verdict};

pub(super) use place::{LineSpan, split_place};
pub(super) use severity::severity_of;
pub(super) use wording::{from_line, leading_severity, plain, title_of};

/// How much a document may be trusted to use the names of the schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Manner {
    /// It was written by this program: as [`Manner::V1`], and its paths are paths, whatever they look like.
    Exact,
    /// It says that it is ReviewOutput v1: a missing or unknown severity or verdict makes the finding invalid, and a
    /// field of the schema is never read from anywhere else once it is given.
    V1,
    /// A review in the words of its author.
    Loose,
}

/// What the surroundings of a list say about the findings in it.
#[derive(Clone, Debug, Default)]
pub(super) struct Inherited {
    pub file: Option<String>,
    pub severity: Option<String>,
}

/// A finding and what had to be repaired in it.
#[derive(Debug)]
pub(super) struct Read {
    pub finding: Finding,
    pub notes: Vec<Note>,
}

/// Why an entry is no finding.
#[derive(Debug, thiserror::Error)]
#[error("{reason}")]
pub(super) struct Invalid {
    pub id: FindingId,
    pub reason: String,
}

/// The confidence of a finding that gives none: neither believed nor disbelieved.
pub(super) const UNSTATED_CONFIDENCE: f64 = 0.5;

const ID_KEYS: &[&str] = &["finding_id", "findingId", "issue_id", "identifier", "ID"];
const SEVERITY_KEYS: &[&str] = &["priority", "level", "sev", "importance", "risk_level", "risk"];
const CRITERION_KEYS: &[&str] =
    &["acceptance_criterion", "acceptance_criteria", "rule", "rule_id", "ruleId", "check_id"];
const CONFIDENCE_KEYS: &[&str] = &["confidence_score", "confidenceScore", "certainty"];

/// Reads one entry of a list; `number` is its 1-based place, which serves as id where none is given.
pub(super) fn read_finding(
    value: &Value,
    number: usize,
    inherited: &Inherited,
    manner: Manner,
) -> Result<Read, Invalid> {
    let numbered = FindingId::from(number as u64);
    let mut fields = match value {
        Value::Object(object) => Fields { object: object.clone(), manner },
        Value::String(text) if manner == Manner::Loose && !text.trim().is_empty() => {
            return Ok(wording::from_line(text, numbered, inherited));
        }
        _ => return Err(Invalid { id: numbered, reason: "a finding is a JSON object".to_owned() }),
    };
    let mut notes = Vec::new();
    let id = read_id(&mut fields, numbered, &mut notes);
    let invalid = |reason: String| Invalid { id: id.clone(), reason };

    let (mut title, mut body) = wording::take(&mut fields, &mut notes, &id);
    if title.is_empty() && body.is_empty() {
        return Err(invalid("it has neither a title nor a body".to_owned()));
    }
    let (severity, native_severity) =
        read_severity(&mut fields, inherited, &mut title, &mut notes, &id).map_err(&invalid)?;
    let verdict = read_verdict(&mut fields, &mut notes, &id).map_err(&invalid)?;
    let place = place::take(&mut fields, inherited, &mut notes, &id).map_err(&invalid)?;
    let confidence = read_confidence(&mut fields, &mut notes, &id);
    let evidence = fields.take("evidence", &[]).as_ref().and_then(plain);
    let criterion = read_criterion(&mut fields, verdict, severity, &title, &mut notes, &id);
    let checks = read_checks(&mut fields, &mut notes, &id);
    let suggestion = read_suggestion(&mut fields, &mut body, &mut notes, &id);
    let finding = Finding {
        severity,
        title,
        body,
        file: place.file,
        line_start: place.line_start,
        line_end: place.line_end,
        confidence,
        criterion,
        verdict,
        evidence,
        related_files: place.related_files,
        checks,
        suggestion,
        origin: fields.take_text("origin"),
        caused_by: fields.take("caused_by", &[]).as_ref().and_then(FindingId::from_value),
        native_severity,
        set_aside: fields.take_text("set_aside"),
        // In a map of its own size: the one that the others were taken out of keeps room for them all.
        extra: fields.object.into_iter().collect(),
        id,
    };
    Ok(Read { finding, notes })
}

/// The fields not yet read. What is left in the end is unknown, and kept.
pub(super) struct Fields {
    object: Map<String, Value>,
    manner: Manner,
}

impl Fields {
    /// Takes the field `name`, or the first of `others` that is there. A document that claims the schema and gives `name`,
    /// be it `null`, is taken at its word.
    fn take(&mut self, name: &str, others: &[&str]) -> Option<Value> {
        let given = self.object.shift_remove(name);
        match given {
            Some(Value::Null) if self.manner != Manner::Loose => return None,
            Some(Value::Null) | None => {}
            given => return given,
        }
        others.iter().find_map(|other| match self.object.get(*other) {
            Some(Value::Null) | None => None,
            Some(_) => self.object.shift_remove(*other),
        })
    }

    fn take_text(&mut self, name: &str) -> Option<String> {
        match self.object.get(name) {
            Some(Value::String(_)) | Some(Value::Null) => match self.object.shift_remove(name) {
                Some(Value::String(text)) => Some(text),
                _ => None,
            },
            _ => None,
        }
    }

    fn has(&self, name: &str) -> bool {
        self.object.contains_key(name)
    }

    fn is_loose(&self) -> bool {
        self.manner == Manner::Loose
    }
}

fn read_id(fields: &mut Fields, numbered: FindingId, notes: &mut Vec<Note>) -> FindingId {
    let given = fields.take("id", ID_KEYS);
    match given.as_ref().and_then(FindingId::from_value) {
        Some(id) if !id.to_string().trim().is_empty() => id,
        _ => {
            let was = given.unwrap_or(Value::Null);
            notes.push(Note::new(
                Some(&numbered),
                "id",
                was,
                numbered.to_value(),
                "no usable id was given, so its number in the document is used",
            ));
            numbered
        }
    }
}

fn read_severity(
    fields: &mut Fields,
    inherited: &Inherited,
    title: &mut String,
    notes: &mut Vec<Note>,
    id: &FindingId,
) -> Result<(Severity, Option<String>), String> {
    let kept = fields.take_text("native_severity");
    let mut given = fields.take("severity", SEVERITY_KEYS);
    // Codex writes the priority into the title as well: "[P1] Guard against …".
    if let Some((word, rest)) = severity::title_tag(title) {
        if given.is_none() {
            given = Some(Value::String(word));
        }
        if fields.is_loose() {
            *title = rest;
        }
    }
    if given.is_none() && fields.is_loose() {
        given = inherited.severity.clone().map(Value::String);
    }
    if let Some(Value::String(word)) = &given
        && let Some(exact) = severity::exact(word)
    {
        return Ok((exact, kept));
    }
    let word = given.as_ref().and_then(plain);
    let mapped = match &given {
        Some(Value::Number(number)) => severity::of_number(number),
        _ => word.as_deref().and_then(severity_of),
    };
    match (mapped, word) {
        (Some(severity), word) => Ok((severity, kept.or(word))),
        (None, Some(word)) if fields.is_loose() => {
            notes.push(Note::new(
                Some(id),
                "severity",
                word.clone(),
                "P2",
                "this severity is not known, so the finding is only listed",
            ));
            Ok((Severity::P2, kept.or(Some(word))))
        }
        (None, None) if fields.is_loose() => {
            notes.push(Note::new(
                Some(id),
                "severity",
                Value::Null,
                "P2",
                "no severity was given, so the finding is only listed",
            ));
            Ok((Severity::P2, kept))
        }
        (None, Some(word)) => Err(format!("severity {word:?} is not one of P0, P1, P2 and P3")),
        (None, None) => Err("it has no severity".to_owned()),
    }
}

fn read_verdict(
    fields: &mut Fields,
    notes: &mut Vec<Note>,
    id: &FindingId,
) -> Result<Option<Verdict>, String> {
    let Some(given) = fields.take("verdict", &[]) else { return Ok(None) };
    let word = given.as_str().map(|word| word.trim().to_ascii_lowercase());
    if let Some(verdict) = word.as_deref().and_then(|word| word.parse().ok()) {
        return Ok(Some(verdict));
    }
    if fields.is_loose() {
        notes.push(Note::new(
            Some(id),
            "verdict",
            given,
            Value::Null,
            "only confirmed, demoted and rejected are verdicts, and a verdict is never invented",
        ));
        return Ok(None);
    }
    Err(format!("verdict {given} is not one of confirmed, demoted, rejected and null"))
}

fn read_confidence(fields: &mut Fields, notes: &mut Vec<Note>, id: &FindingId) -> f64 {
    let given = fields.take("confidence", CONFIDENCE_KEYS);
    let (read, exact) = match &given {
        None => (UNSTATED_CONFIDENCE, false),
        Some(Value::Number(number)) => {
            let number = number.as_f64().unwrap_or(UNSTATED_CONFIDENCE);
            if (0.0..=1.0).contains(&number) {
                (number, true)
            } else if number > 1.0 && number <= 100.0 {
                (number / 100.0, false)
            } else {
                (number.clamp(0.0, 1.0), false)
            }
        }
        Some(Value::String(word)) => {
            let digits = word.trim().trim_end_matches('%');
            let read = match digits.trim().parse::<f64>() {
                Ok(number) if number.is_finite() && word.contains('%') => (number / 100.0).clamp(0.0, 1.0),
                Ok(number) if (0.0..=1.0).contains(&number) => number,
                Ok(number) if number > 1.0 && number <= 100.0 => number / 100.0,
                _ => match word.trim().to_ascii_lowercase().as_str() {
                    "high" | "very high" | "certain" => 0.9,
                    "medium" | "moderate" => 0.6,
                    "low" => 0.3,
                    _ => UNSTATED_CONFIDENCE,
                },
            };
            (read, false)
        }
        Some(_) => (UNSTATED_CONFIDENCE, false),
    };
    if !exact {
        let why =
            if given.is_none() { "no confidence was given" } else { "confidence is a number from 0 to 1" };
        notes.push(Note::new(Some(id), "confidence", given.unwrap_or(Value::Null), read, why));
    }
    read
}

/// The criterion as given. A review that knows no criteria gets one that says what it asked for, so that the checker or the
/// user can confirm the finding; a document that gives `criterion` or a verdict is held to it.
fn read_criterion(
    fields: &mut Fields,
    verdict: Option<Verdict>,
    severity: Severity,
    title: &str,
    notes: &mut Vec<Note>,
    id: &FindingId,
) -> Option<String> {
    let stated = fields.has("criterion");
    let given = fields.take("criterion", CRITERION_KEYS);
    let text = given.as_ref().and_then(plain).filter(|text| !text.trim().is_empty());
    if text.is_some() || stated || verdict.is_some() || !fields.is_loose() || !severity.is_worked_on() {
        return text;
    }
    let derived = resolved_criterion(title);
    notes.push(Note::new(
        Some(id),
        "criterion",
        Value::Null,
        derived.clone(),
        "the review gives no criterion, so the finding itself is one",
    ));
    Some(derived)
}

/// The criterion of a finding whose source knows none.
pub(super) fn resolved_criterion(title: &str) -> String {
    format!("Resolved: {title}")
}

fn read_checks(fields: &mut Fields, notes: &mut Vec<Note>, id: &FindingId) -> Vec<FindingCheck> {
    let Some(Value::Array(items)) = fields.object.get("checks") else { return Vec::new() };
    let items = items.clone();
    fields.object.shift_remove("checks");
    let mut checks = Vec::new();
    for item in items {
        let usable = match &item {
            Value::String(name) if !name.trim().is_empty() => {
                Some(FindingCheck::Named { check: name.trim().to_owned() })
            }
            _ => serde_json::from_value::<FindingCheck>(item.clone()).ok(),
        };
        let why = match &usable {
            Some(FindingCheck::Command { .. }) if fields.is_loose() => {
                "a command is taken only from a ReviewOutput v1, never made from another document"
            }
            Some(FindingCheck::Command { command }) if command.iter().all(String::is_empty) => {
                "the command is empty"
            }
            Some(_) => {
                checks.extend(usable);
                continue;
            }
            None => "a check is {check}, {command}, {absent} or {present}",
        };
        notes.push(Note::new(Some(id), "checks", item, Value::Null, why));
    }
    checks
}

/// Edits as in the schema. A suggestion in words is no edit: it goes to the body, for the fixer to read.
fn read_suggestion(
    fields: &mut Fields,
    body: &mut String,
    notes: &mut Vec<Note>,
    id: &FindingId,
) -> Vec<Edit> {
    let given = match fields.object.get("suggestion") {
        Some(Value::Array(_)) => fields.object.shift_remove("suggestion").unwrap_or(Value::Null),
        Some(Value::Null) => {
            fields.object.shift_remove("suggestion");
            Value::Null
        }
        _ => Value::Null,
    };
    let mut edits = Vec::new();
    if let Value::Array(items) = &given {
        for item in items {
            match serde_json::from_value::<Edit>(item.clone()) {
                Ok(edit) if edit.start.line >= 1 && edit.start.column >= 1 && edit.end >= edit.start => {
                    edits.push(edit)
                }
                Ok(_) => {
                    notes.push(Note::new(
                        Some(id),
                        "suggestion",
                        given.clone(),
                        Value::Null,
                        "an edit starts at line 1, column 1 or later and does not end before it starts",
                    ));
                    return Vec::new();
                }
                Err(_) if item.is_string() && fields.is_loose() => {
                    wording::append(body, "Suggestion", item.as_str().unwrap_or_default());
                }
                Err(error) => {
                    // Half a suggestion is worse than none.
                    notes.push(Note::new(
                        Some(id),
                        "suggestion",
                        given.clone(),
                        Value::Null,
                        error.to_string(),
                    ));
                    return Vec::new();
                }
            }
        }
    }
    if fields.is_loose() {
        wording::take_advice(fields, body);
    }
    edits
}
