//! The built-in agent: applies the fix that a finding itself carries (DESIGN 8), and nothing else.
//!
//! It serves the fixer role, in the first round only. A suggestion is applied only where the text it deletes is really
//! there; anything doubtful is declined, with nothing written.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;

use super::brief::{Brief, id_text};
use super::failure::{Failure, FailureClass};
use super::report::{FixReport, FixStatus, Report, ScopeRequest};
use super::role::{ProtocolName, Role};

/// One edit of a suggestion (DESIGN 5): 1-based, columns in code points, the end exclusive.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
struct Edit {
    file: String,
    start: Point,
    end: Point,
    replacement: String,
    #[serde(default)]
    deleted: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
struct Point {
    line: usize,
    column: usize,
}

/// Applies the suggestions of the brief's findings.
pub(super) fn apply(brief: &Brief, workspace: &Path) -> Result<Report, Failure> {
    if brief.role != Role::Fixer {
        let mut failure = Failure::new(
            FailureClass::Environment,
            "suggested",
            format!(
                "the built-in agent only applies suggested fixes and cannot be a {}",
                brief.role.as_str()
            ),
        );
        failure.advice = format!("name an agent under [roles.{}] in fix-loop.toml", brief.role.as_str());
        return Err(failure);
    }
    if brief.round > 1 {
        return Ok(declined(
            "the suggested fix was applied in round 1 and did not suffice; it is not applied twice",
        ));
    }
    let mut edits = Vec::new();
    let mut without = Vec::new();
    for finding in &brief.findings {
        let id = finding.get("id").map(id_text).unwrap_or_default();
        match suggestion(finding) {
            Ok(own) if own.is_empty() => without.push(id),
            Ok(own) => edits.extend(own),
            Err(reason) => {
                return Ok(declined(&format!("the suggestion of finding {id} cannot be read: {reason}")));
            }
        }
    }
    if edits.is_empty() {
        return Ok(declined("the findings carry no suggested fix"));
    }
    let outside: Vec<String> = edits
        .iter()
        .map(|edit| normal(&edit.file))
        .filter(|file| !brief.scope.iter().any(|path| normal(path) == *file))
        .collect::<std::collections::BTreeSet<_>>()
        .into_iter()
        .collect();
    if !outside.is_empty() {
        return Ok(beyond_scope(brief.protocol, outside));
    }
    match write_all(&edits, workspace) {
        Ok(files) => Ok(Report::Fix(FixReport {
            status: FixStatus::Fixed,
            summary: format!("applied the suggested fix to {}", files.join(", ")),
            files_changed: files,
            concerns: (!without.is_empty())
                .then(|| format!("no suggestion came with finding {}", without.join(", "))),
            ..FixReport::default()
        })),
        Err(Refusal::Doubtful(reason)) => Ok(declined(&reason)),
        Err(Refusal::Io(message)) => Err(Failure::new(FailureClass::Environment, "suggested", message)),
    }
}

fn declined(why: &str) -> Report {
    Report::Fix(FixReport {
        status: FixStatus::Declined,
        summary: why.to_owned(),
        blocked_by: Some(why.to_owned()),
        ..FixReport::default()
    })
}

fn beyond_scope(protocol: ProtocolName, files: Vec<String>) -> Report {
    let justification = "the suggested fix also edits these files".to_owned();
    if protocol == ProtocolName::Rereview {
        let blocked_by = Some(format!("needs {}: {justification}", files.join(", ")));
        return Report::Fix(FixReport {
            status: FixStatus::Blocked,
            summary: justification,
            blocked_by,
            ..FixReport::default()
        });
    }
    Report::Scope(ScopeRequest { needs_scope_expansion: true, additional_files: files, justification })
}

fn suggestion(finding: &Value) -> Result<Vec<Edit>, String> {
    match finding.get("suggestion") {
        None | Some(Value::Null) => Ok(Vec::new()),
        Some(value) => serde_json::from_value(value.clone()).map_err(|error| error.to_string()),
    }
}

fn normal(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<_>>().join("/")
}

enum Refusal {
    Doubtful(String),
    Io(String),
}

/// Computes every new text before the first is written, so that a doubtful edit leaves all files as they are.
fn write_all(edits: &[Edit], workspace: &Path) -> Result<Vec<String>, Refusal> {
    let mut by_file: BTreeMap<String, Vec<&Edit>> = BTreeMap::new();
    for edit in edits {
        by_file.entry(normal(&edit.file)).or_default().push(edit);
    }
    let mut texts = Vec::new();
    for (file, edits) in by_file {
        let path = inside(workspace, &file).map_err(Refusal::Doubtful)?;
        let bytes = std::fs::read(&path)
            .map_err(|error| Refusal::Doubtful(format!("{file} cannot be read: {error}")))?;
        let text = String::from_utf8(bytes).map_err(|_| {
            Refusal::Doubtful(format!("{file} is not UTF-8, so columns cannot be counted in it"))
        })?;
        let new = edited(&text, &edits).map_err(|reason| Refusal::Doubtful(format!("{file}: {reason}")))?;
        if new != text {
            texts.push((file, path, new));
        }
    }
    if texts.is_empty() {
        return Err(Refusal::Doubtful("the suggested fix is already there".to_owned()));
    }
    let mut written = Vec::new();
    for (file, path, new) in texts {
        std::fs::write(&path, new)
            .map_err(|error| Refusal::Io(format!("{file} cannot be written: {error}")))?;
        written.push(file);
    }
    Ok(written)
}

/// The path inside the workspace, links followed; an error when it leaves it or is no ordinary file.
fn inside(workspace: &Path, file: &str) -> Result<PathBuf, String> {
    let relative = Path::new(file);
    if file.is_empty() || relative.components().any(|part| !matches!(part, Component::Normal(_))) {
        return Err(format!("{file} is not a path inside the workspace"));
    }
    let root = workspace.canonicalize().map_err(|error| format!("{}: {error}", workspace.display()))?;
    let path = root.join(relative);
    let real = path.canonicalize().map_err(|error| format!("{file}: {error}"))?;
    if !real.starts_with(&root) {
        return Err(format!("{file} leads out of the workspace"));
    }
    let kind = path.symlink_metadata().map_err(|error| format!("{file}: {error}"))?;
    if !kind.is_file() {
        return Err(format!("{file} is not an ordinary file"));
    }
    Ok(real)
}

fn edited(text: &str, edits: &[&Edit]) -> Result<String, String> {
    let mut spans: Vec<(usize, usize, String)> = Vec::new();
    let crlf = text.contains("\r\n");
    for edit in edits {
        let start = offset(text, edit.start)?;
        let end = offset(text, edit.end)?;
        if end < start {
            return Err(format!(
                "an edit ends (line {}) before it starts (line {})",
                edit.end.line, edit.start.line
            ));
        }
        let present = text[start..end].replace("\r\n", "\n");
        if let Some(deleted) = &edit.deleted
            && deleted.replace("\r\n", "\n") != present
        {
            return Err(format!(
                "line {} no longer holds the text that the suggestion replaces",
                edit.start.line
            ));
        }
        let plain = edit.replacement.replace("\r\n", "\n");
        spans.push((start, end, if crlf { plain.replace('\n', "\r\n") } else { plain }));
    }
    spans.sort();
    spans.dedup();
    if spans.windows(2).any(|pair| pair[1].0 < pair[0].1 || pair[1].0 == pair[0].0) {
        return Err("two suggested edits overlap".to_owned());
    }
    let mut out = String::with_capacity(text.len());
    let mut at = 0;
    for (start, end, replacement) in spans {
        out.push_str(&text[at..start]);
        out.push_str(&replacement);
        at = end;
    }
    out.push_str(&text[at..]);
    Ok(out)
}

/// The byte offset of a position. Column n+1 is the end of a line of n characters, and the first column of the line
/// after the last is the end of the text.
fn offset(text: &str, point: Point) -> Result<usize, String> {
    let missing = || format!("there is no line {}, column {}", point.line, point.column);
    if point.line == 0 || point.column == 0 {
        return Err(missing());
    }
    let body = text.strip_prefix('\u{feff}').unwrap_or(text);
    let mut start = text.len() - body.len();
    for _ in 1..point.line {
        start += text[start..].find('\n').map(|at| at + 1).ok_or_else(missing)?;
    }
    let line = text[start..].split('\n').next().unwrap_or_default();
    let line = line.strip_suffix('\r').unwrap_or(line);
    let column = line.char_indices().map(|(at, _)| at).chain([line.len()]).nth(point.column - 1);
    column.map(|at| start + at).ok_or_else(missing)
}
