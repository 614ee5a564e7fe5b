//! Finding and validating a report in what an agent wrote.
//!
//! Models wrap reports in prose, fences and envelopes; that is repaired. What a report leaves out, or says in words that
//! were not asked for, is not: absent, unknown or unparseable output is never a pass (DESIGN 6, rule 2).

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::footer::{self, Footer, FooterStatus};
use super::report::*;
use super::role::{ProtocolName, Role};

/// Why there is no valid report. The message can be shown to the agent, which then gets one more try.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ReportProblem {
    #[error("the answer is empty")]
    Empty,
    #[error("the answer holds no JSON object with {0}")]
    NoReport(String),
    #[error("the report is not valid: {0}")]
    Invalid(String),
    #[error("the report says nothing of {0}")]
    Incomplete(String),
    /// The text is an agent's error envelope. A failure of the agent or its service, not a report.
    #[error("the agent reported an error: {0}")]
    AgentError(String),
}

/// Text beyond this is looked at from its end only; a report is its last object.
const LONGEST: usize = 16 * 1024 * 1024;
/// An envelope in an envelope in an envelope is not a report.
const DEEPEST: u32 = 4;

/// The report of a role in the text that an agent wrote: plain JSON, fenced, amid prose or in a result envelope. The last
/// JSON object that can be one is the report.
pub fn parse_report(role: Role, protocol: ProtocolName, text: &str) -> Result<Report, ReportProblem> {
    parse_text(role, protocol, text, 0)
}

/// The report of a role in a JSON value, as agents with structured output give it.
pub fn parse_value(role: Role, protocol: ProtocolName, value: &Value) -> Result<Report, ReportProblem> {
    match value {
        Value::Object(map) => parse_object(role, protocol, map.clone(), 0),
        Value::String(text) => parse_report(role, protocol, text),
        _ => Err(ReportProblem::NoReport(asked_for(role, protocol))),
    }
}

fn parse_text(role: Role, protocol: ProtocolName, text: &str, depth: u32) -> Result<Report, ReportProblem> {
    let text = text.trim_start_matches('\u{feff}').trim();
    if text.is_empty() {
        return Err(ReportProblem::Empty);
    }
    let mut from = text.len().saturating_sub(LONGEST);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    let text = &text[from..];
    let footer = (protocol == ProtocolName::Converge).then(|| footer::find(text)).flatten();
    let mut found = objects(text);
    let last = found.iter().rposition(|object| match object {
        Value::Object(map) => has_report_key(role, protocol, map) || is_envelope(map),
        _ => false,
    });
    match (last.map(|at| found.swap_remove(at)), footer) {
        (Some(Value::Object(mut map)), footer) => {
            // An object may itself be the footer, or stand beside it.
            for (key, value) in footer.unwrap_or_default() {
                map.entry(key).or_insert(value);
            }
            parse_object(role, protocol, map, depth)
        }
        (_, Some(footer)) => parse_object(role, protocol, footer, depth),
        _ => Err(ReportProblem::NoReport(asked_for(role, protocol))),
    }
}

fn parse_object(
    role: Role,
    protocol: ProtocolName,
    mut map: Map<String, Value>,
    depth: u32,
) -> Result<Report, ReportProblem> {
    if depth > DEEPEST {
        return Err(ReportProblem::NoReport(asked_for(role, protocol)));
    }
    if let Some(Value::Object(inner)) = map.remove("WORKER_RESULT") {
        for (key, value) in inner {
            map.entry(key).or_insert(value);
        }
    }
    if is_envelope(&map)
        && !(has_report_key(role, protocol, &map) && map.get("is_error") != Some(&Value::Bool(true)))
    {
        if let Some(message) = error_in(&map) {
            return Err(ReportProblem::AgentError(super::excerpt::head(&message, 500)));
        }
        for key in ["structured_output", "result", "response", "output", "report"] {
            match map.get(key) {
                Some(Value::Object(inner)) => return parse_object(role, protocol, inner.clone(), depth + 1),
                Some(Value::String(text)) => return parse_text(role, protocol, text, depth + 1),
                _ => {}
            }
        }
        return Err(ReportProblem::NoReport(asked_for(role, protocol)));
    }
    let map = without_nulls(map);
    match role {
        Role::Fixer | Role::Recoverer => fix(protocol, map),
        Role::Verifier => verified(read::<ReviewReport>(&map)?).map(Report::Review),
        Role::Reviewer if protocol == ProtocolName::Rereview => gate(read(&map)?),
        Role::FinalGate => gate(read(&map)?),
        Role::Reviewer => {
            let footer = footer_of(protocol, &map)?;
            Ok(Report::Review(ReviewReport { footer, ..read(&map)? }))
        }
        Role::Checker => {
            let footer = footer_of(protocol, &map)?;
            checked(CheckReport { footer, ..read(&map)? })
        }
        Role::Closer => {
            let footer = footer_of(protocol, &map)?;
            closed(CloseReport { footer, ..read(&map)? })
        }
        Role::Diagnoser => diagnosed(read(&map)?),
    }
}

fn read<T: DeserializeOwned>(map: &Map<String, Value>) -> Result<T, ReportProblem> {
    serde_json::from_value(Value::Object(map.clone()))
        .map_err(|error| ReportProblem::Invalid(error.to_string()))
}

/// Services that demand every key get null for those that do not apply.
fn without_nulls(map: Map<String, Value>) -> Map<String, Value> {
    map.into_iter().filter(|(_, value)| !value.is_null()).collect()
}

fn invalid<T>(what: impl Into<String>) -> Result<T, ReportProblem> {
    Err(ReportProblem::Invalid(what.into()))
}

/// The footer of a worker that ends with one. Elsewhere a checker's list of verdicts says by itself that it is done.
fn footer_of(protocol: ProtocolName, map: &Map<String, Value>) -> Result<Option<Footer>, ReportProblem> {
    let footer: Footer = read(map)?;
    match footer.status {
        None if protocol == ProtocolName::Converge => {
            invalid("it ends without its WORKER_RESULT footer: `status` is missing")
        }
        None => Ok(Some(Footer { status: Some(FooterStatus::Done), ..footer })),
        Some(_) => Ok(Some(footer)),
    }
}

fn fix(protocol: ProtocolName, mut map: Map<String, Value>) -> Result<Report, ReportProblem> {
    let asks = match map.get("needs_scope_expansion") {
        None | Some(Value::Bool(false)) => false,
        Some(Value::Bool(true)) => true,
        Some(Value::String(word)) if matches!(word.trim().to_lowercase().as_str(), "true" | "yes") => true,
        Some(Value::String(word)) if matches!(word.trim().to_lowercase().as_str(), "false" | "no") => false,
        Some(other) => return invalid(format!("`needs_scope_expansion` is {other}; use true or false")),
    };
    if asks {
        map.insert("needs_scope_expansion".into(), Value::Bool(true));
        return scope_request(protocol, read(&map)?);
    }
    let mut footer = None;
    if protocol == ProtocolName::Converge {
        let mut footer_map = map.clone();
        // A worker may end with the fixer's words or with the footer's; either is a status, and none is invented.
        let said: Option<FixStatus> = match map.get("status") {
            None => None,
            Some(word) => match word.as_str().map(|word| word.trim().to_uppercase()).as_deref() {
                Some("DONE") => Some(FixStatus::Fixed),
                _ => Some(read::<FixReport>(&Map::from_iter([("status".to_owned(), word.clone())]))?.status),
            },
        };
        if let Some(said) = said {
            let status = if said == FixStatus::Blocked { FooterStatus::Blocked } else { FooterStatus::Done };
            footer_map.insert("status".into(), serde_json::to_value(status).unwrap_or_default());
            map.insert("status".into(), serde_json::to_value(said).unwrap_or_default());
        }
        footer = footer_of(protocol, &footer_map)?;
    }
    if !map.contains_key("status") && !map.contains_key("files_changed") {
        return invalid("it has neither `status` nor `files_changed`");
    }
    let report: FixReport = read(&map)?;
    Ok(Report::Fix(FixReport { footer, ..report }))
}

fn scope_request(protocol: ProtocolName, request: ScopeRequest) -> Result<Report, ReportProblem> {
    if request.additional_files.is_empty() {
        return invalid("`needs_scope_expansion` without `additional_files`");
    }
    if request.justification.is_empty() {
        return invalid("`needs_scope_expansion` without `justification`");
    }
    if protocol == ProtocolName::Rereview {
        // There a needed file goes to the diagnosis instead of to the user (DESIGN 6, rule 6).
        let files = request.additional_files.join(", ");
        return Ok(Report::Fix(FixReport {
            status: FixStatus::Blocked,
            summary: request.justification.clone(),
            blocked_by: Some(format!("needs {files}: {}", request.justification)),
            ..FixReport::default()
        }));
    }
    Ok(Report::Scope(request))
}

/// Every judged finding needs a verdict, and what lets it pass needs evidence.
fn verified(report: ReviewReport) -> Result<ReviewReport, ReportProblem> {
    for finding in &report.findings {
        let id = super::brief::id_text(&finding.id);
        match finding.verdict {
            None => return invalid(format!("finding {id} has no `verdict`")),
            Some(Verdict::Confirmed) => {}
            Some(_) if finding.evidence.is_none() => {
                return invalid(format!("finding {id} has a verdict that lets it pass, and no `evidence`"));
            }
            Some(Verdict::Demoted) if finding.severity.is_none() => {
                return invalid(format!("finding {id} is demoted, and `severity` does not say to what"));
            }
            Some(_) => {}
        }
    }
    Ok(report)
}

fn gate(report: GateReport) -> Result<Report, ReportProblem> {
    if let Some(gap) = report.gaps.iter().find(|gap| gap.text.is_empty()) {
        return invalid(format!("a gap of severity {:?} has no `text`", gap.severity));
    }
    if report.verdict == GateVerdict::Ship && report.gaps.iter().any(|gap| gap.severity.blocks()) {
        return invalid("the verdict is SHIP, and a CRITICAL or HIGH gap is listed");
    }
    Ok(Report::Gate(report))
}

fn checked(report: CheckReport) -> Result<Report, ReportProblem> {
    for cause in &report.findings {
        if cause.verdict == CheckVerdict::Disputed && cause.evidence.is_empty() {
            return invalid(format!("{} is disputed without `evidence`", cause.id));
        }
    }
    Ok(Report::Check(report))
}

fn closed(report: CloseReport) -> Result<Report, ReportProblem> {
    for cause in &report.findings {
        if cause.state == CloseState::Resolved && cause.evidence.is_empty() {
            return invalid(format!("{} is resolved without `evidence`", cause.id));
        }
    }
    Ok(Report::Close(report))
}

fn diagnosed(report: DiagnosisReport) -> Result<Report, ReportProblem> {
    if report.evidence.is_empty() {
        return invalid("the cause has no `evidence`");
    }
    Ok(Report::Diagnosis(report))
}

/// The keys by which the report of a role is recognised among other objects.
fn report_keys(role: Role, protocol: ProtocolName) -> &'static [&'static str] {
    match role {
        Role::Fixer | Role::Recoverer if protocol == ProtocolName::Converge => {
            &["status", "files_changed", "needs_scope_expansion", "WORKER_RESULT", "head", "phase"]
        }
        Role::Fixer | Role::Recoverer => &["status", "files_changed", "needs_scope_expansion"],
        Role::Verifier => &["findings"],
        Role::Reviewer if protocol == ProtocolName::Rereview => &["verdict"],
        Role::FinalGate => &["verdict"],
        Role::Reviewer | Role::Checker | Role::Closer => &["findings", "WORKER_RESULT"],
        Role::Diagnoser => &["cause"],
    }
}

fn has_report_key(role: Role, protocol: ProtocolName, map: &Map<String, Value>) -> bool {
    report_keys(role, protocol).iter().any(|key| map.contains_key(*key))
}

fn asked_for(role: Role, protocol: ProtocolName) -> String {
    let keys: Vec<String> = report_keys(role, protocol)
        .iter()
        .filter(|key| **key != "WORKER_RESULT")
        .map(|key| format!("`{key}`"))
        .collect();
    keys.join(" or ")
}

/// The wrapping that agents put around their last message, or their way to say that something failed.
fn is_envelope(map: &Map<String, Value>) -> bool {
    map.get("is_error").is_some_and(Value::is_boolean)
        || map.contains_key("structured_output")
        || map.get("response").is_some_and(Value::is_string)
        || map.get("error").is_some_and(|error| error.is_string() || error.is_object())
        || map.get("type").and_then(Value::as_str).is_some_and(|kind| matches!(kind, "result" | "error"))
}

fn error_in(map: &Map<String, Value>) -> Option<String> {
    let said = map.get("is_error") == Some(&Value::Bool(true))
        || map.get("error").is_some_and(|error| !error.is_null())
        || map.get("type").and_then(Value::as_str) == Some("error");
    if !said {
        return None;
    }
    let nested = map.get("error").and_then(|error| error.get("message"));
    let message = [
        nested,
        map.get("error"),
        map.get("message"),
        map.get("result"),
        map.get("errors"),
        map.get("subtype"),
    ]
    .into_iter()
    .flatten()
    .map(super::lenient::as_text)
    .find(|text| !text.is_empty());
    Some(message.unwrap_or_else(|| "without a message".to_owned()))
}

/// All JSON objects in a text that are not inside another one, in order.
pub(super) fn objects(text: &str) -> Vec<Value> {
    let mut found = Vec::new();
    let mut at = 0;
    // An unfinished object makes the parser read to the end of the text; with many of them the time must stay bounded.
    let mut budget = 2 * text.len() + 1024 * 1024;
    while let Some(offset) = text[at..].find('{') {
        let start = at + offset;
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        match values.next() {
            Some(Ok(value)) => {
                at = start + values.byte_offset();
                found.push(value);
            }
            Some(Err(error)) => {
                at = start + 1;
                let cost = if error.is_eof() { text.len() - start } else { 256 };
                match budget.checked_sub(cost) {
                    Some(rest) => budget = rest,
                    None => break,
                }
            }
            None => break,
        }
    }
    found
}
