//! Looking a finding up in the tree: its paths, its lines, its suggestion.

use serde_json::Value;

use super::{Entry, Placed, Remembered, SourceName};
use crate::findings::anchor::Anchor;
use crate::findings::finding::{Edit, Finding, Note};
use crate::findings::fingerprint::{Fingerprint, given_key};
use crate::findings::review_output::ReviewOutput;
use crate::findings::suggestion::{UNVERIFIED_COLUMNS, text_between};
use crate::findings::tree::{Lined, ReadOnce};

/// The scope of findings without a file. A path that is refused is left out, and noted.
pub fn artifact_paths(review: &ReviewOutput, tree: &ReadOnce<'_>, notes: &mut Vec<Note>) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for given in &review.artifact_paths {
        match tree.resolve(given) {
            Ok(path) if !paths.contains(&path) => paths.push(path),
            Ok(_) => {}
            Err(refused) => {
                notes.push(Note::new(
                    None,
                    "artifact_paths",
                    given.clone(),
                    Value::Null,
                    refused.to_string(),
                ));
            }
        }
    }
    paths
}

pub fn place(
    given: &Finding,
    source: &SourceName,
    review: &ReviewOutput,
    artifacts: &[String],
    tree: &ReadOnce<'_>,
    remembered: Option<&Remembered>,
    notes: &mut Vec<Note>,
) -> Entry {
    let given_key = given_key(given);
    let mut finding = given.clone();
    let refusal = resolve_paths(&mut finding, tree, notes);
    // A fix may have made the file a link: the finding is still about the path that it names.
    let named =
        remembered.and_then(|known| known.file.as_ref()).filter(|file| given.file.as_ref() == Some(file));
    if let (None, Some(named)) = (&refusal, named) {
        finding.file = Some(named.clone());
    }
    let mut anchor = None;
    let mut ordinal = 0;
    let mut unread_line = None;
    let mut base_unknown = false;
    if refusal.is_none() {
        let lines = place_lines(&mut finding, review.review_base.as_deref(), tree, remembered, notes);
        (anchor, ordinal, unread_line) = (lines.anchor, lines.ordinal, lines.unread_line);
        base_unknown = lines.base_unknown;
        place_suggestion(&mut finding, review.review_base.as_deref(), tree, remembered, notes);
    }
    let mut scope: Vec<String> = Vec::new();
    let own = finding.file.iter().chain(&finding.related_files);
    let borrowed = artifacts.iter().filter(|_| finding.file.is_none());
    for path in own.chain(borrowed) {
        if !scope.contains(path) {
            scope.push(path.clone());
        }
    }
    // A file that moved is another place, so what is remembered counts only for the same one.
    let known = remembered.filter(|known| known.file == finding.file);
    Entry {
        placed: Placed {
            fingerprint: known.map_or_else(|| Fingerprint::from(""), |known| known.fingerprint.clone()),
            shown_id: finding.id.clone(),
            source: source.clone(),
            scope: if refusal.is_some() { Vec::new() } else { scope },
            anchor,
            failed_criterion: None,
            finding,
        },
        given_key,
        remembered: known.is_some(),
        ordinal,
        unread_line,
        base_unknown,
        refusal,
    }
}

/// Puts the paths and lines of a document into the form in which they hold in the tree, and says what that changed. Lines are
/// left alone where they count in another revision, or in a file that is not there.
pub fn settle(review: &mut ReviewOutput, tree: &ReadOnce<'_>) -> Vec<Note> {
    let mut notes = Vec::new();
    for finding in &mut review.findings {
        let related = std::mem::take(&mut finding.related_files);
        let refused = resolve_paths(finding, tree, &mut notes);
        finding.related_files = related;
        let Some(file) = finding.file.clone() else { continue };
        if let Some(why) = refused {
            notes.push(Note::new(Some(&finding.id), "file", file.clone(), file, why));
            continue;
        }
        let Some(start) = finding.line_start.filter(|_| review.review_base.is_none()) else { continue };
        let Some(text) = tree.text(&file) else { continue };
        if text.text.is_empty() {
            notes.push(Note::new(Some(&finding.id), "line_start", start, Value::Null, EMPTY_FILE));
            (finding.line_start, finding.line_end) = (None, None);
            continue;
        }
        let last = text.lines.count();
        note_clamped(finding, &file, &text, (last, last), &mut notes);
        finding.line_start = Some(start.min(last));
        finding.line_end = finding.line_end.map(|end| end.clamp(start.min(last), last));
    }
    notes
}

const EMPTY_FILE: &str = "the file is empty";

/// Lines behind the end of the text, and the lines that are taken in their place.
fn note_clamped(finding: &Finding, file: &str, text: &Lined, taken: (u32, u32), notes: &mut Vec<Note>) {
    let last = text.lines.count();
    let why = format!("{file} has {last} line{}", if last == 1 { "" } else { "s" });
    let given = [("line_start", finding.line_start, taken.0), ("line_end", finding.line_end, taken.1)];
    for (field, line, taken) in given {
        if let Some(line) = line.filter(|line| *line > last) {
            notes.push(Note::new(Some(&finding.id), field, line, taken, why.clone()));
        }
    }
}

/// Resolves the finding's paths inside the root. The answer says why they are refused.
fn resolve_paths(finding: &mut Finding, tree: &ReadOnce<'_>, notes: &mut Vec<Note>) -> Option<String> {
    let id = finding.id.clone();
    if finding.file.as_deref().is_some_and(|file| file.trim().is_empty()) {
        notes.push(Note::new(
            Some(&id),
            "file",
            finding.file.take(),
            Value::Null,
            "an empty path names no file",
        ));
    }
    if let Some(file) = &finding.file {
        match tree.resolve(file) {
            Ok(path) => {
                if path != *file {
                    let why = "the path as it is inside the workspace";
                    notes.push(Note::new(Some(&id), "file", file.clone(), path.clone(), why));
                }
                finding.file = Some(path);
            }
            Err(refused) => return Some(refused.to_string()),
        }
    }
    let mut related = Vec::new();
    for file in &finding.related_files {
        match tree.resolve(file) {
            Ok(path) if !related.contains(&path) => related.push(path),
            Ok(_) => {}
            Err(refused) => return Some(format!("related file: {refused}")),
        }
    }
    finding.related_files = related;
    None
}

#[derive(Default)]
struct Lines {
    anchor: Option<Anchor>,
    ordinal: u32,
    unread_line: Option<u32>,
    base_unknown: bool,
}

/// Clamps the lines to the text that was reviewed, and maps them to the present one.
fn place_lines(
    finding: &mut Finding,
    review_base: Option<&str>,
    tree: &ReadOnce<'_>,
    remembered: Option<&Remembered>,
    notes: &mut Vec<Note>,
) -> Lines {
    let id = finding.id.clone();
    let Some(file) = finding.file.clone() else { return Lines::default() };
    let Some(start) = finding.line_start.filter(|line| *line > 0) else {
        finding.line_start = None;
        finding.line_end = None;
        return Lines::default();
    };
    let end = finding.line_end.unwrap_or(start).max(start);
    let Some(present) = tree.text(&file) else {
        notes.push(Note::new(
            Some(&id),
            "file",
            file.clone(),
            file.clone(),
            "the file is not there or is no text, so its lines cannot be looked up",
        ));
        // What is known of its lines is not forgotten: the file may come back, as with a change of branches.
        let known = remembered.filter(|known| known.file.as_ref() == Some(&file));
        let anchor =
            known.and_then(|known| known.anchor.clone()).map(|anchor| Anchor { stale: true, ..anchor });
        return Lines { unread_line: Some(start), anchor, ..Lines::default() };
    };
    if let Some(known) = remembered.filter(|known| known.file.as_ref() == Some(&file)) {
        let anchor = known.anchor.as_ref().map(|anchor| anchor.refind_in(&present.lines));
        if let Some(anchor) = &anchor {
            let now = (anchor.line_start, anchor.line_end);
            note_clamped(finding, &file, &present, now, notes);
            finding.line_start = Some(anchor.line_start);
            finding.line_end = finding.line_end.map(|_| anchor.line_end);
        }
        return Lines { anchor, ..Lines::default() };
    }
    let base = review_base.and_then(|revision| tree.text_at(revision, &file));
    let reviewed: &Lined = base.as_deref().unwrap_or(&present);
    if reviewed.text.is_empty() {
        notes.push(Note::new(Some(&id), "line_start", start, Value::Null, EMPTY_FILE));
        (finding.line_start, finding.line_end) = (None, None);
        return Lines { unread_line: Some(start), ..Lines::default() };
    }
    let last = reviewed.lines.count();
    note_clamped(finding, &file, reviewed, (last, last), notes);
    let cited = Anchor::place_in(&reviewed.lines, start, end);
    let before =
        reviewed.lines.places_of(&cited.cited).iter().filter(|line| **line < cited.line_start).count();
    let anchor = match &base {
        Some(base) => review_base
            .and_then(|revision| cited.mapped(&*tree.line_map(revision, &file)?))
            .unwrap_or_else(|| cited.through_diff(&base.text, &present.text)),
        None => cited.clone(),
    };
    if anchor.line_start != cited.line_start || anchor.stale {
        let why = if anchor.stale {
            "the cited code has gone since it was reviewed"
        } else {
            "moved since it was reviewed"
        };
        notes.push(Note::new(Some(&id), "line_start", cited.line_start, anchor.line_start, why));
    }
    finding.line_start = Some(anchor.line_start);
    finding.line_end = finding.line_end.map(|_| anchor.line_end);
    Lines {
        anchor: Some(anchor),
        ordinal: u32::try_from(before).unwrap_or(u32::MAX),
        unread_line: None,
        base_unknown: review_base.is_some() && base.is_none(),
    }
}

/// Resolves a suggestion's paths and writes down what it deletes, so that it is only ever applied to that. A suggestion
/// with one impossible edit is dropped as a whole.
fn place_suggestion(
    finding: &mut Finding,
    review_base: Option<&str>,
    tree: &ReadOnce<'_>,
    remembered: Option<&Remembered>,
    notes: &mut Vec<Note>,
) {
    if finding.suggestion.is_empty() {
        return;
    }
    // A file that was seen before may have been fixed since, so what stands there now is not what was reviewed.
    if let Some(known) = remembered.filter(|known| same_edits(&known.suggestion, &finding.suggestion)) {
        finding.suggestion.clone_from(&known.suggestion);
        return;
    }
    let unverified = finding.extra.get(UNVERIFIED_COLUMNS).is_some();
    let own = finding.file.clone();
    let placed: Result<Vec<Edit>, String> = finding
        .suggestion
        .iter()
        .map(|edit| {
            let mut edit = edit.clone();
            match (edit.file.trim().is_empty(), &own) {
                (true, Some(own)) => edit.file = own.clone(),
                (true, None) => return Err("an edit names no file".to_owned()),
                (false, _) => edit.file = tree.resolve(&edit.file).map_err(|refused| refused.to_string())?,
            }
            let reviewed = review_base
                .and_then(|revision| tree.text_at(revision, &edit.file))
                .or_else(|| tree.text(&edit.file))
                .ok_or_else(|| format!("{} is not there", edit.file))?;
            if unverified {
                let touched = edit.start.line..=edit.end.line;
                let wide = reviewed
                    .text
                    .lines()
                    .zip(1..)
                    .any(|(line, number)| touched.contains(&number) && !line.is_ascii());
                if wide {
                    return Err(
                        "the unit of its columns is not known, and the line is not plain ASCII".to_owned()
                    );
                }
            }
            if edit.deleted.is_none() {
                edit.deleted = Some(
                    text_between(&reviewed.text, edit.start, edit.end)
                        .ok_or_else(|| format!("{} has no such lines or columns", edit.file))?
                        .to_owned(),
                );
            }
            Ok(edit)
        })
        .collect();
    match placed {
        Ok(edits) => finding.suggestion = edits,
        Err(why) => {
            let was = serde_json::to_value(&finding.suggestion).unwrap_or(Value::Null);
            finding.suggestion.clear();
            notes.push(Note::new(Some(&finding.id), "suggestion", was, Value::Null, why));
        }
    }
}

/// The same edits, whether or not they say what they delete.
fn same_edits(known: &[Edit], given: &[Edit]) -> bool {
    let same = |(known, given): (&Edit, &Edit)| {
        (known.start, known.end, &known.replacement) == (given.start, given.end, &given.replacement)
    };
    known.len() == given.len() && known.iter().zip(given).all(same)
}
