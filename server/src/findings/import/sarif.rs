//! SARIF 2.1.0: results of analysers (DESIGN 5, R01–R04).

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::columns::{self, Unit};
use super::sarif_fixes::{edits, region};
use super::sarif_paths::{Located, Paths};
use super::sarif_rules::{Rule, Rules, taken_back};
use crate::findings::finding::{Finding, FindingId, Note};
use crate::findings::reading::{LineSpan, UNSTATED_CONFIDENCE, resolved_criterion, title_of};
use crate::findings::review_output::{LeftOut, ReviewOutput};
use crate::findings::suggestion::UNVERIFIED_COLUMNS;
use crate::findings::tree::SourceText;

/// `[text](1)` points at a related location, which has no meaning outside the document.
static LINK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\[((?:[^\[\]\\]|\\.)+)\]\(\d+\)").expect("a constant pattern"));

/// A message as people read it: its links are their text, and brackets that are none are escaped no more.
fn without_links(message: &str) -> String {
    LINK.replace_all(message, "$1").replace(r"\[", "[").replace(r"\]", "]")
}

type Object = Map<String, Value>;

pub fn read(log: &Object, tree: Option<&dyn SourceText>) -> Result<ReviewOutput, String> {
    let version = log.get("version").and_then(Value::as_str);
    match version {
        Some(version) if version.starts_with("2.1") => {}
        None => {}
        Some(version) => {
            return Err(format!(
                "this is SARIF {version}, and only 2.1.0 is read; convert it with the SARIF Multitool"
            ));
        }
    }
    let runs = log.get("runs").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
    let mut review = ReviewOutput::default();
    let mut tools: Vec<String> = Vec::new();
    for run in runs {
        let Some(run) = run.as_object() else {
            review.unread.notes.push(Note::new(
                None,
                "runs",
                run.clone(),
                Value::Null,
                "a run is a JSON object",
            ));
            continue;
        };
        let driver = run.get("tool").and_then(|tool| tool.get("driver"));
        let name = driver
            .and_then(|driver| driver.get("name"))
            .and_then(Value::as_str)
            .unwrap_or_default()
            .to_owned();
        if !name.is_empty() && !tools.contains(&name) {
            tools.push(name.clone());
        }
        Run { name, tree, rules: Rules::of(run), paths: Paths::of(run, tree), units: units_of(run) }
            .read(run, &mut review);
    }
    if runs.is_empty() {
        review.unread.not_scanned.push(String::new());
        review.unread.notes.push(Note::new(
            None,
            "runs",
            Value::Array(Vec::new()),
            Value::Null,
            "no tool was run",
        ));
    }
    if !tools.is_empty() {
        review.source = Some(tools.join(", "));
    }
    if !review.findings.is_empty() {
        let why = "the format gives no confidence";
        review.unread.notes.push(Note::new(None, "confidence", Value::Null, UNSTATED_CONFIDENCE, why));
    }
    Ok(review)
}

/// `columnKind`, else what is known of the tool, else any unit that the text can tell.
fn units_of(run: &Object) -> &'static [Unit] {
    match run.get("columnKind").and_then(Value::as_str) {
        Some("utf16CodeUnits") => &[Unit::Utf16],
        Some("unicodeCodePoints") => &[Unit::CodePoints],
        _ => {
            let name = run
                .get("tool")
                .and_then(|tool| tool.get("driver")?.get("name")?.as_str())
                .unwrap_or_default();
            columns::of_tool(name, columns::ANY)
        }
    }
}

struct Run<'a> {
    name: String,
    tree: Option<&'a dyn SourceText>,
    rules: Rules<'a>,
    paths: Paths<'a>,
    units: &'static [Unit],
}

impl<'a> Run<'a> {
    fn read(&self, run: &'a Object, review: &mut ReviewOutput) {
        let invocations = run.get("invocations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let failed = invocations
            .iter()
            .any(|invocation| invocation.get("executionSuccessful") == Some(&Value::Bool(false)));
        let results = run.get("results").and_then(Value::as_array);
        let mut not_scanned = |why: &str| {
            review.unread.notes.push(Note::new(
                None,
                "results",
                Value::Null,
                Value::Null,
                format!("{}: {why}", self.name),
            ));
            review.unread.not_scanned.push(self.name.clone());
        };
        let Some(results) = results else {
            not_scanned("not scanned: the run has no results, which is not the same as none found");
            return;
        };
        if failed {
            not_scanned("the tool failed, so what it does not report may still be there");
        }
        for result in results {
            let number = review.findings.len() + review.unread.left_out.len() + 1;
            let id = FindingId::from(number as u64);
            let Some(result) = result.as_object() else {
                let reason = "invalid: a result is a JSON object".to_owned();
                review.unread.notes.push(Note::new(
                    Some(&id),
                    "result",
                    result.clone(),
                    Value::Null,
                    reason.clone(),
                ));
                review.unread.left_out.push(LeftOut { id, finding: None, reason });
                continue;
            };
            let (finding, notes) = self.finding(result, id.clone());
            match (finding, taken_back(result)) {
                (Some(finding), None) => {
                    review.findings.push(finding);
                    review.unread.notes.extend(notes);
                }
                (finding, Some(reason)) => {
                    let title =
                        finding.as_ref().map_or(Value::Null, |finding| Value::from(finding.title.clone()));
                    review.unread.notes.push(Note::new(
                        Some(&id),
                        "result",
                        title,
                        Value::Null,
                        reason.clone(),
                    ));
                    review.unread.left_out.push(LeftOut { id, finding, reason });
                }
                (None, None) => {
                    let reason = "invalid: the result has neither a message nor a rule".to_owned();
                    let was = Value::Object(result.clone());
                    review.unread.notes.push(Note::new(
                        Some(&id),
                        "result",
                        was,
                        Value::Null,
                        reason.clone(),
                    ));
                    review.unread.left_out.push(LeftOut { id, finding: None, reason });
                }
            }
        }
    }

    fn finding(&self, result: &'a Object, id: FindingId) -> (Option<Finding>, Vec<Note>) {
        let mut notes = Vec::new();
        let rule = self.rules.rule(result);
        let message = without_links(&self.rules.message(result, &rule));
        if message.trim().is_empty() {
            return (None, notes);
        }
        let (severity, native) = self.rules.severity(result, &rule);
        let mut finding = Finding::new(id, severity, title_of(&message));
        finding.native_severity = Some(native);
        finding.confidence = result
            .get("rank")
            .and_then(Value::as_f64)
            .filter(|rank| (0.0..=100.0).contains(rank))
            .map_or(UNSTATED_CONFIDENCE, |rank| rank / 100.0);
        finding.criterion = Some(rule.id.clone().unwrap_or_else(|| resolved_criterion(&finding.title)));
        finding.body = message;
        self.describe(result, &rule, &mut finding);
        self.locate(result, &mut finding, &mut notes);
        self.suggest(result, &mut finding, &mut notes);
        if !self.name.is_empty() {
            finding.extra.insert("tool".to_owned(), Value::from(self.name.clone()));
        }
        for key in ["guid", "fingerprints", "partialFingerprints", "properties"] {
            if let Some(value) =
                result.get(key).filter(|value| value.as_object().is_none_or(|object| !object.is_empty()))
            {
                finding.extra.insert(key.to_owned(), value.clone());
            }
        }
        (Some(finding), notes)
    }

    /// What the rule says in general, for whoever fixes it.
    fn describe(&self, result: &Object, rule: &Rule<'_>, finding: &mut Finding) {
        let of_rule = |path: [&str; 2]| {
            rule.descriptor.and_then(|rule| rule.get(path[0])?.get(path[1])?.as_str()).map(str::trim)
        };
        for text in [of_rule(["fullDescription", "text"]), of_rule(["help", "text"])].into_iter().flatten() {
            if !text.is_empty() && text.len() < 4000 && !finding.body.contains(text) {
                finding.body.push_str("\n\n");
                finding.body.push_str(text);
            }
        }
        if let Some(uri) =
            rule.descriptor.and_then(|rule| rule.get("helpUri")?.as_str()).filter(|uri| !uri.is_empty())
        {
            finding.body.push_str("\n\nSee ");
            finding.body.push_str(uri);
        }
        let related = result.get("relatedLocations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for location in related.iter().take(20) {
            let text = location.get("message").and_then(|message| message.get("text")?.as_str());
            let place = self.place(location);
            let Some(path) = place.path.path else { continue };
            let line =
                place.lines.0.filter(|line| *line > 0).map(|line| format!(":{line}")).unwrap_or_default();
            let text = text.map(|text| format!(": {}", without_links(text))).unwrap_or_default();
            finding.body.push_str(&format!("\nRelated: {path}{line}{text}"));
        }
    }

    fn place(&self, location: &Value) -> Placing {
        let physical = location.get("physicalLocation");
        let empty = Map::new();
        let artifact =
            physical.and_then(|physical| physical.get("artifactLocation")).and_then(Value::as_object);
        let path = self.paths.locate(artifact.unwrap_or(&empty));
        let region = region(physical.and_then(|physical| physical.get("region")));
        let text = match (region.start_line, &path.path) {
            (None, Some(path)) if region.char_offset.is_some() => self.tree.and_then(|tree| tree.text(path)),
            _ => None,
        };
        let lines = region.lines(text.as_deref(), self.units);
        Placing { path, lines, unread_offset: region.char_offset.is_some() && lines.0.is_none() }
    }

    /// The first location is the finding's; further ones are places that the fix concerns as well.
    fn locate(&self, result: &Object, finding: &mut Finding, notes: &mut Vec<Note>) {
        let locations = result.get("locations").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        for (at, location) in locations.iter().enumerate() {
            let placing = self.place(location);
            if let (0, Some(why)) = (at, &placing.path.why) {
                notes.push(Note::new(
                    Some(&finding.id),
                    "file",
                    placing.path.given.clone(),
                    placing.path.path.clone(),
                    why.clone(),
                ));
            }
            if at == 0 {
                finding.file = placing.path.path;
                let span = LineSpan { start: placing.lines.0, end: placing.lines.1, more: false };
                if finding.file.is_some() {
                    (finding.line_start, finding.line_end) = span.settle(notes, &finding.id);
                    if placing.unread_offset {
                        let why = "only an offset is given, and the file's text is not known";
                        notes.push(Note::new(Some(&finding.id), "line_start", Value::Null, Value::Null, why));
                    }
                }
                let logical = location.get("logicalLocations").and_then(|all| all.get(0));
                let name = logical
                    .and_then(|one| one.get("fullyQualifiedName").or_else(|| one.get("name"))?.as_str());
                if let Some(name) = name.filter(|name| !finding.body.contains(*name)) {
                    finding.body.push_str(&format!("\nIn {name}"));
                }
                continue;
            }
            let Some(path) = placing.path.path else { continue };
            let line =
                placing.lines.0.filter(|line| *line > 0).map(|line| format!(":{line}")).unwrap_or_default();
            finding.body.push_str(&format!("\nAlso at {path}{line}"));
            if Some(&path) != finding.file.as_ref() && !finding.related_files.contains(&path) {
                finding.related_files.push(path);
            }
        }
    }

    fn suggest(&self, result: &Object, finding: &mut Finding, notes: &mut Vec<Note>) {
        let fixes = result.get("fixes").and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
        let mut refused = Vec::new();
        for fix in fixes {
            match edits(fix, &self.paths, self.units, self.tree) {
                Ok((edits, unverified)) => {
                    finding.suggestion = edits;
                    if unverified {
                        finding.extra.insert(UNVERIFIED_COLUMNS.to_owned(), Value::from("unverified"));
                        let why = "the file is not known, so the unit of the columns could not be verified";
                        notes.push(Note::new(Some(&finding.id), "suggestion", Value::Null, Value::Null, why));
                    }
                    if fixes.len() > 1 {
                        let why = format!(
                            "{} alternatives are given, and the first usable one is taken",
                            fixes.len()
                        );
                        notes.push(Note::new(Some(&finding.id), "suggestion", fixes.len(), 1, why));
                    }
                    return;
                }
                Err(why) => refused.push((fix, why)),
            }
        }
        for (fix, why) in refused {
            let text = fix.get("description").and_then(|description| description.get("text")?.as_str());
            if let Some(text) = text.filter(|text| !finding.body.contains(text)) {
                finding.body.push_str(&format!("\n\nSuggestion: {text}"));
            }
            notes.push(Note::new(Some(&finding.id), "suggestion", fix.clone(), Value::Null, why));
        }
    }
}

struct Placing {
    path: Located,
    lines: (Option<i64>, Option<i64>),
    unread_offset: bool,
}
