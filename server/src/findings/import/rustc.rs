//! Diagnostics of the Rust compiler and clippy: `cargo … --message-format=json`, or `rustc --error-format=json`, one a line
//! (DESIGN 8: compiler suggestions).
//!
//! Only a suggestion that the compiler itself calls machine-applicable becomes one here; any other is text for whoever fixes
//! the finding. Columns count code points.

use serde_json::{Map, Value};

use super::columns::{Region, Unit};
use super::sarif_fixes::whole;
use crate::findings::finding::{Edit, Finding, FindingId, Note, Severity};
use crate::findings::reading::{LineSpan, UNSTATED_CONFIDENCE, resolved_criterion, title_of};
use crate::findings::review_output::{LeftOut, ReviewOutput};
use crate::findings::tree::SourceText;

type Object = Map<String, Value>;

const UNITS: &[Unit] = &[Unit::CodePoints];

/// What cargo says of a build, one object a line.
const REASONS: &[&str] =
    &["compiler-message", "compiler-artifact", "build-script-executed", "build-finished"];

/// How many expansions of macros are followed to the place that a person wrote.
const DEEPEST: usize = 32;

pub fn is_line(value: &Value) -> bool {
    let Some(object) = value.as_object() else { return false };
    let reason = object.get("reason").and_then(Value::as_str);
    reason.is_some_and(|reason| REASONS.contains(&reason)) || is_diagnostic(object)
}

fn is_diagnostic(object: &Object) -> bool {
    let lists = ["spans", "children"].iter().all(|key| object.get(*key).is_some_and(Value::is_array));
    lists && ["message", "level"].iter().all(|key| object.get(*key).is_some_and(Value::is_string))
}

pub fn read(lines: &[Value], tree: Option<&dyn SourceText>) -> ReviewOutput {
    let mut review = ReviewOutput { source: Some("rustc".to_owned()), ..ReviewOutput::default() };
    for line in lines.iter().filter_map(Value::as_object) {
        let diagnostic = match line.get("reason").and_then(Value::as_str) {
            None => Some(line),
            Some("compiler-message") => line.get("message").and_then(Value::as_object),
            Some(_) => None,
        };
        let Some(diagnostic) = diagnostic.filter(|object| is_diagnostic(object)) else { continue };
        let number = review.findings.len() + review.unread.left_out.len() + 1;
        let id = FindingId::from(number as u64);
        match summary(diagnostic) {
            Some(reason) => {
                let was = diagnostic.get("message").cloned().unwrap_or_default();
                review.unread.notes.push(Note::new(
                    Some(&id),
                    "diagnostic",
                    was,
                    Value::Null,
                    reason.clone(),
                ));
                review.unread.left_out.push(LeftOut { id, finding: None, reason });
            }
            None => {
                let finding = Diagnostic { object: diagnostic, tree }.finding(id, &mut review.unread.notes);
                review.findings.push(finding);
            }
        }
    }
    if !review.findings.is_empty() {
        let why = "the format gives no confidence";
        review.unread.notes.push(Note::new(None, "confidence", Value::Null, UNSTATED_CONFIDENCE, why));
    }
    review
}

/// The compiler's last words about the others: `aborting due to 2 previous errors`, `1 warning emitted`.
fn summary(diagnostic: &Object) -> Option<String> {
    let message = diagnostic.get("message")?.as_str()?;
    let bare = diagnostic.get("spans")?.as_array()?.is_empty() && code_of(diagnostic).is_none();
    let counts = message.starts_with("aborting due to ")
        || message.ends_with(" emitted") && message.starts_with(|first: char| first.is_ascii_digit())
        || diagnostic.get("level").and_then(Value::as_str) == Some("failure-note");
    (bare && counts).then(|| "a summary of the others".to_owned())
}

fn code_of(diagnostic: &Object) -> Option<&str> {
    diagnostic.get("code")?.get("code")?.as_str().filter(|code| !code.is_empty())
}

fn list<'a>(object: &'a Object, key: &str) -> &'a [Value] {
    object.get(key).and_then(Value::as_array).map_or(&[], Vec::as_slice)
}

struct Diagnostic<'a> {
    object: &'a Object,
    tree: Option<&'a dyn SourceText>,
}

impl Diagnostic<'_> {
    fn finding(&self, id: FindingId, notes: &mut Vec<Note>) -> Finding {
        let text = |key: &str| self.object.get(key).and_then(Value::as_str).unwrap_or_default();
        let level = text("level");
        let severity = match level {
            level if level.starts_with("error") => Severity::P1,
            "warning" => Severity::P2,
            _ => Severity::P3,
        };
        let mut finding = Finding::new(id, severity, title_of(text("message")));
        finding.native_severity = Some(level.to_owned());
        finding.confidence = UNSTATED_CONFIDENCE;
        finding.body = text("message").to_owned();
        let code = code_of(self.object);
        finding.criterion = Some(code.map_or_else(|| resolved_criterion(&finding.title), str::to_owned));
        let tool = if code.is_some_and(|code| code.starts_with("clippy::")) { "clippy" } else { "rustc" };
        finding.extra.insert("tool".to_owned(), Value::from(tool));
        let spans = list(self.object, "spans");
        let primary = spans.iter().find(|span| span.get("is_primary") == Some(&Value::Bool(true)));
        if let Some(span) = primary.or(spans.first()) {
            let span = written(span);
            finding.file = self.path(span);
            let lines =
                LineSpan { start: number(span, "line_start"), end: number(span, "line_end"), more: false };
            if finding.file.is_some() {
                (finding.line_start, finding.line_end) = lines.settle(notes, &finding.id);
            }
        }
        for span in spans {
            let label = span.get("label").and_then(Value::as_str).filter(|label| !label.is_empty());
            if let (Some(label), Some(path)) = (label, self.path(written(span))) {
                let line = number(written(span), "line_start").unwrap_or_default();
                finding.body.push_str(&format!("\n{path}:{line}: {label}"));
            }
        }
        for child in list(self.object, "children").iter().filter_map(Value::as_object) {
            let said = |key: &str| child.get(key).and_then(Value::as_str).unwrap_or_default();
            finding.body.push_str(&format!("\n{}: {}", said("level"), said("message")));
            self.suggest(child, &mut finding, notes);
        }
        finding
    }

    fn path(&self, span: &Value) -> Option<String> {
        let path =
            span.get("file_name")?.as_str().filter(|path| !path.is_empty() && !path.starts_with('<'))?;
        Some(self.tree.and_then(|tree| tree.resolve(path).ok()).unwrap_or_else(|| path.to_owned()))
    }

    /// The replacements of one child are one suggestion. The first that can be applied is taken.
    fn suggest(&self, child: &Object, finding: &mut Finding, notes: &mut Vec<Note>) {
        let replaced: Vec<&Value> = list(child, "spans")
            .iter()
            .filter(|span| span.get("suggested_replacement").is_some_and(Value::is_string))
            .collect();
        if replaced.is_empty() || !finding.suggestion.is_empty() {
            return;
        }
        let sure = |span: &&Value| {
            span.get("suggestion_applicability").and_then(Value::as_str) == Some("MachineApplicable")
        };
        let edits = match replaced.iter().all(sure) {
            true => replaced.iter().map(|span| self.edit(span)).collect(),
            false => Err("the compiler does not call it machine-applicable".to_owned()),
        };
        match edits {
            Ok(edits) => finding.suggestion = edits,
            Err(why) => {
                let was = child.get("message").cloned().unwrap_or_default();
                notes.push(Note::new(Some(&finding.id), "suggestion", was, Value::Null, why));
            }
        }
    }

    fn edit(&self, span: &Value) -> Result<Edit, String> {
        if span.get("expansion").is_some_and(Value::is_object) {
            return Err("it is about what a macro expands to".to_owned());
        }
        let file = self.path(span).ok_or("it names no file")?;
        let mut region = Region {
            start_line: number(span, "line_start"),
            start_column: number(span, "column_start"),
            end_line: number(span, "line_end"),
            end_column: number(span, "column_end"),
            ..Region::default()
        };
        // The line break counts as one more column of its line.
        let last = span.get("text").and_then(|lines| lines.as_array()?.last()?.get("text")?.as_str());
        if let (Some(last), Some(end)) = (last, region.end_column)
            && end == last.chars().count() as i64 + 2
        {
            (region.end_line, region.end_column) = (region.end_line.map(|line| line + 1), Some(1));
        }
        let text = self.tree.and_then(|tree| tree.text(&file));
        let there = region.span(text.as_deref(), UNITS)?;
        let replacement = span.get("suggested_replacement").and_then(Value::as_str).unwrap_or_default();
        let replacement = replacement.to_owned();
        Ok(Edit { file, start: there.start, end: there.end, replacement, deleted: there.text })
    }
}

fn number(span: &Value, key: &str) -> Option<i64> {
    whole(span.get(key)?)
}

/// Where a person wrote what a span in a macro is about.
fn written(span: &Value) -> &Value {
    let mut span = span;
    for _ in 0..DEEPEST {
        match span.get("expansion").and_then(|expansion| expansion.get("span")) {
            Some(outer) if outer.is_object() => span = outer,
            _ => break,
        }
    }
    span
}
