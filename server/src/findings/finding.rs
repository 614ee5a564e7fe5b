//! The finding itself, as it stands in ReviewOutput v1 (DESIGN 5).
//!
//! Owns the types and their wire form. It never judges a finding: [`super::intake`] does. Reading from JSON goes through
//! `reading`, which repairs what models really write and says so in a [`Note`].

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::{Map, Number, Value};

/// How bad a finding is. Only `P0` and `P1` are worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub enum Severity {
    P0,
    P1,
    P2,
    P3,
}

impl Severity {
    /// P0 and P1 are worked on, P2 and P3 are only listed (DESIGN 5).
    pub fn is_worked_on(self) -> bool {
        matches!(self, Severity::P0 | Severity::P1)
    }
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Severity::P0 => "P0",
            Severity::P1 => "P1",
            Severity::P2 => "P2",
            Severity::P3 => "P3",
        })
    }
}

/// What a reviewer, a checker or the user said about a finding. `None` means that nobody has said anything.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Verdict {
    Confirmed,
    Demoted,
    Rejected,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Verdict::Confirmed => "confirmed",
            Verdict::Demoted => "demoted",
            Verdict::Rejected => "rejected",
        })
    }
}

impl FromStr for Verdict {
    type Err = ();

    fn from_str(word: &str) -> Result<Self, ()> {
        match word {
            "confirmed" => Ok(Verdict::Confirmed),
            "demoted" => Ok(Verdict::Demoted),
            "rejected" => Ok(Verdict::Rejected),
            _ => Err(()),
        }
    }
}

/// The identifier that the review gave: a number or a string, kept and written back as it was.
///
/// It is for display only. Two findings are the same when their [`super::Fingerprint`]s are (R10).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FindingId(IdForm);

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum IdForm {
    Number(Number),
    Text(String),
}

impl FindingId {
    /// The id in its original JSON form; `None` where the value is neither a number nor a string.
    pub fn from_value(value: &Value) -> Option<Self> {
        match value {
            Value::Number(number) => Some(FindingId(IdForm::Number(number.clone()))),
            Value::String(text) => Some(FindingId(IdForm::Text(text.clone()))),
            _ => None,
        }
    }

    /// The original JSON form.
    pub fn to_value(&self) -> Value {
        match &self.0 {
            IdForm::Number(number) => Value::Number(number.clone()),
            IdForm::Text(text) => Value::String(text.clone()),
        }
    }
}

impl fmt::Display for FindingId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            IdForm::Number(number) => number.fmt(f),
            IdForm::Text(text) => f.write_str(text),
        }
    }
}

impl From<u64> for FindingId {
    fn from(number: u64) -> Self {
        FindingId(IdForm::Number(number.into()))
    }
}

impl From<&str> for FindingId {
    fn from(text: &str) -> Self {
        FindingId(IdForm::Text(text.to_owned()))
    }
}

impl From<String> for FindingId {
    fn from(text: String) -> Self {
        FindingId(IdForm::Text(text))
    }
}

impl Serialize for FindingId {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match &self.0 {
            IdForm::Number(number) => number.serialize(serializer),
            IdForm::Text(text) => serializer.serialize_str(text),
        }
    }
}

impl<'de> Deserialize<'de> for FindingId {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        FindingId::from_value(&value)
            .ok_or_else(|| serde::de::Error::custom("a finding's id is a number or a string"))
    }
}

impl JsonSchema for FindingId {
    fn schema_name() -> Cow<'static, str> {
        "FindingId".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": ["string", "number"] })
    }
}

/// A check that a finding carries (DESIGN 5). A `command` runs only where it equals a configured check or the user has
/// approved it (DESIGN 11); importers never make one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
pub enum FindingCheck {
    /// The name of a check in the config.
    Named { check: String },
    /// An argument list.
    Command { command: Vec<String> },
    /// A regular expression that must not match in the finding's file.
    Absent { absent: String },
    /// A regular expression that must match in the finding's file.
    Present { present: String },
}

/// A place in a text: 1-based line and 1-based column in code points. A byte order mark takes no column.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
pub struct Position {
    pub line: u32,
    pub column: u32,
}

impl Position {
    pub fn new(line: u32, column: u32) -> Self {
        Position { line, column }
    }
}

/// One edit of a suggestion, against the text that was reviewed. `end` is exclusive.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Edit {
    pub file: String,
    pub start: Position,
    pub end: Position,
    pub replacement: String,
    /// The text between `start` and `end`. Where given, the edit is applied only if this text is really there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deleted: Option<String>,
}

/// A problem that a review reported.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
pub struct Finding {
    pub id: FindingId,
    pub severity: Severity,
    pub title: String,
    pub body: String,
    /// As given; [`super::intake`] resolves it inside the root.
    pub file: Option<String>,
    /// First cited line, from 1. `null`, 0 and −1 mean the whole file.
    #[schemars(with = "Option<i64>")]
    pub line_start: Option<u32>,
    /// Last cited line, inclusive.
    #[schemars(with = "Option<i64>")]
    pub line_end: Option<u32>,
    /// From 0 to 1.
    #[schemars(range(min = 0.0, max = 1.0))]
    pub confidence: f64,
    /// What must hold once the problem is gone. A P0 or P1 without one is invalid.
    pub criterion: Option<String>,
    pub verdict: Option<Verdict>,
    pub evidence: Option<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub related_files: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<FindingCheck>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub suggestion: Vec<Edit>,
    /// `regression` for a problem that a fix caused (DESIGN 6, rule 7).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<String>,
    /// The finding whose fix caused this one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caused_by: Option<FindingId>,
    /// The severity in the producer's own words.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub native_severity: Option<String>,
    /// Why the producer no longer stands behind this finding (an outdated or resolved comment). Such a finding is kept
    /// and listed, and is not worked on unless the user confirms it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub set_aside: Option<String>,
    /// Fields that are not part of the schema, written back as they came.
    #[serde(flatten)]
    pub extra: Map<String, Value>,
}

impl Finding {
    /// A finding without place, verdict or extensions, to be filled in.
    pub fn new(id: impl Into<FindingId>, severity: Severity, title: impl Into<String>) -> Self {
        Finding {
            id: id.into(),
            severity,
            title: title.into(),
            body: String::new(),
            file: None,
            line_start: None,
            line_end: None,
            confidence: 1.0,
            criterion: None,
            verdict: None,
            evidence: None,
            related_files: Vec::new(),
            checks: Vec::new(),
            suggestion: Vec::new(),
            origin: None,
            caused_by: None,
            native_severity: None,
            set_aside: None,
            extra: Map::new(),
        }
    }
}

impl<'de> Deserialize<'de> for Finding {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        super::reading::read_finding(
            &value,
            1,
            &super::reading::Inherited::default(),
            super::reading::Manner::Exact,
        )
        .map(|read| read.finding)
        .map_err(serde::de::Error::custom)
    }
}

/// Something that was skipped, guessed or clamped on the way in. Nothing is changed without one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Note {
    /// The finding it is about; `null` for the whole document.
    pub finding: Option<FindingId>,
    pub field: String,
    pub was: Value,
    pub became: Value,
    pub why: String,
}

impl Note {
    pub fn new(
        finding: Option<&FindingId>,
        field: impl Into<String>,
        was: impl Into<Value>,
        became: impl Into<Value>,
        why: impl Into<String>,
    ) -> Self {
        Note {
            finding: finding.cloned(),
            field: field.into(),
            was: was.into(),
            became: became.into(),
            why: why.into(),
        }
    }
}

impl fmt::Display for Note {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(id) = &self.finding {
            write!(f, "finding {id}: ")?;
        }
        write!(f, "{}: {} became {}: {}", self.field, self.was, self.became, self.why)
    }
}
