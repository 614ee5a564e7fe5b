//! What each findings file last said (DESIGN 5 "Reading", R09).
//!
//! A file that is empty, half written or invalid keeps the last good set. Results that are absent never clear earlier ones;
//! an explicit empty list does. Pure: whoever watches the files gives their bytes, and shows the error on the file.

use std::collections::BTreeMap;

use super::finding::Note;
use super::import::{ImportError, Imported, import, import_with};
use super::intake::SourceName;
use super::review_output::ReviewOutput;
use super::tree::SourceText;

/// The present state of a file.
#[derive(Clone, Copy, Debug)]
pub enum Content<'a> {
    Bytes(&'a [u8]),
    /// The file was deleted or moved away: its findings go with it.
    Gone,
}

/// What an update did.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// The findings or the error are as before.
    Same,
    /// There is a new good set.
    Read,
    /// The file cannot be read now; the last good set stays.
    Kept(ImportError),
    /// The file is gone, and its findings with it.
    Removed,
}

#[derive(Clone, Debug, Default)]
struct Entry {
    good: Option<ReviewOutput>,
    notes: Vec<Note>,
    error: Option<ImportError>,
}

/// The findings files, by name.
#[derive(Clone, Debug, Default)]
pub struct Inbox {
    files: BTreeMap<String, Entry>,
}

impl Inbox {
    pub fn new() -> Self {
        Inbox::default()
    }

    /// Takes a file as it is now.
    pub fn update(&mut self, name: &str, content: Content<'_>) -> Change {
        self.update_with(name, content, None)
    }

    /// The same, with the tree in which paths and columns are looked up.
    pub fn update_with(&mut self, name: &str, content: Content<'_>, tree: Option<&dyn SourceText>) -> Change {
        let Content::Bytes(bytes) = content else {
            return if self.files.remove(name).is_some() { Change::Removed } else { Change::Same };
        };
        let read = match tree {
            Some(tree) => import_with(bytes, name, tree),
            None => import(bytes, name),
        };
        let entry = self.files.entry(name.to_owned()).or_default();
        match read {
            Ok(imported) => {
                let Imported { mut review_output, notes, .. } = imported;
                if let Some(good) = &entry.good {
                    keep_unscanned(good, &mut review_output);
                }
                let same = entry.error.is_none() && entry.good.as_ref() == Some(&review_output);
                *entry = Entry { good: Some(review_output), notes, error: None };
                if same { Change::Same } else { Change::Read }
            }
            Err(error) if entry.error.as_ref() == Some(&error) => Change::Same,
            Err(error) => {
                entry.error = Some(error.clone());
                Change::Kept(error)
            }
        }
    }

    /// The good sets, ready for intake.
    pub fn reviews(&self) -> Vec<(SourceName, ReviewOutput)> {
        let good = self.files.iter().filter_map(|(name, entry)| Some((name, entry.good.clone()?)));
        good.map(|(name, review)| (SourceName(name.clone()), review)).collect()
    }

    /// The file was read, and every tool in it gave its results: nothing earlier is missing from it.
    pub fn is_whole(&self, name: &str) -> bool {
        let read =
            self.files.get(name).filter(|entry| entry.error.is_none()).and_then(|entry| entry.good.as_ref());
        read.is_some_and(|review| review.unread.not_scanned.is_empty())
    }

    /// The files that cannot be read now, with the exact place.
    pub fn errors(&self) -> impl Iterator<Item = (&str, &ImportError)> {
        self.files.iter().filter_map(|(name, entry)| Some((name.as_str(), entry.error.as_ref()?)))
    }

    /// Everything that was skipped, guessed or clamped, by file.
    pub fn notes(&self) -> impl Iterator<Item = (&str, &Note)> {
        self.files.iter().flat_map(|(name, entry)| entry.notes.iter().map(move |note| (name.as_str(), note)))
    }

    /// The names of all files that were ever read or tried.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }
}

/// Carries over the findings of tools that reported no results this time.
fn keep_unscanned(good: &ReviewOutput, review: &mut ReviewOutput) {
    if review.unread.not_scanned.is_empty() {
        return;
    }
    for finding in &good.findings {
        let tool = finding.extra.get("tool").and_then(serde_json::Value::as_str).unwrap_or_default();
        let unscanned = review.unread.not_scanned.iter().any(|name| name.is_empty() || name == tool);
        let same = |other: &super::Finding| {
            other.file == finding.file
                && other.title == finding.title
                && other.line_start == finding.line_start
        };
        if unscanned && !review.findings.iter().any(same) {
            review.findings.push(finding.clone());
        }
    }
}
