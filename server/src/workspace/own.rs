//! What a loop itself has written, as far as it was observed.
//!
//! Owns the record by which a restore tells the loop's bytes from the user's. A path is put back only while it holds
//! one of the states recorded here. Never guesses: what was not observed is not the loop's own.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::index::{IndexChange, IndexEntry};
use super::object::FileState;
use super::observe::{Change, Observation, Place};
use super::path::RepoPath;
use super::staged::Staged;

/// States of paths and index entries that a loop produced.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnBytes {
    files: BTreeMap<RepoPath, Vec<Option<FileState>>>,
    entries: BTreeMap<RepoPath, Vec<Vec<IndexEntry>>>,
}

impl OwnBytes {
    /// Adds every change of an observation that is not the user's, ignored files included.
    pub fn record(&mut self, observation: &Observation) {
        self.record_changes(&observation.changes);
        self.record_changes(&observation.ignored_changed);
    }

    /// Adds the states after these changes, except the user's.
    pub fn record_changes(&mut self, changes: &[Change]) {
        for change in changes.iter().filter(|change| change.place != Place::Users) {
            let known = self.files.entry(change.path.clone()).or_default();
            if !known.contains(&change.after) {
                known.push(change.after.clone());
            }
        }
    }

    /// Adds the index entries that the loop staged.
    pub fn record_staged(&mut self, staged: &Staged) {
        for entry in &staged.entries {
            let known = self.entries.entry(entry.path.clone()).or_default();
            if !known.contains(&entry.new) {
                known.push(entry.new.clone());
            }
        }
    }

    /// Adds the index entries that were found changed while only the loop was at work.
    pub fn record_taken(&mut self, taken: &[IndexChange]) {
        for change in taken {
            let known = self.entries.entry(change.path.clone()).or_default();
            if !known.contains(&change.after) {
                known.push(change.after.clone());
            }
        }
    }

    /// A path is back as it was before a change: of the states that the loop gave it, only that one can still be the loop's.
    /// Should the user come to write the same bytes as the loop did, they are the user's.
    pub fn forget(&mut self, change: &Change) {
        if let Some(known) = self.files.get_mut(&change.path) {
            known.retain(|state| *state == change.before);
            if known.is_empty() {
                self.files.remove(&change.path);
            }
        }
    }

    /// The same for the index entries of paths that were put back.
    pub fn forget_entries(&mut self, paths: &[RepoPath]) {
        for path in paths {
            self.entries.remove(path);
        }
    }

    /// Whether a path is now as the loop left it.
    pub fn holds(&self, change: &Change) -> bool {
        self.has_state(&change.path, change.after.as_ref())
    }

    /// Whether an index entry is now as the loop left it.
    pub fn holds_entry(&self, change: &IndexChange) -> bool {
        self.has_entries(&change.path, &change.after)
    }

    /// Adds all that another record holds.
    pub fn merge(&mut self, other: &OwnBytes) {
        for (path, states) in &other.files {
            let known = self.files.entry(path.clone()).or_default();
            known.extend(states.iter().filter(|state| !known.contains(state)).cloned().collect::<Vec<_>>());
        }
        for (path, entries) in &other.entries {
            let known = self.entries.entry(path.clone()).or_default();
            known.extend(entries.iter().filter(|entry| !known.contains(entry)).cloned().collect::<Vec<_>>());
        }
    }

    /// The paths of which states are recorded.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.files.keys()
    }

    pub(super) fn has_state(&self, path: &RepoPath, state: Option<&FileState>) -> bool {
        self.files.get(path).is_some_and(|known| known.iter().any(|own| own.as_ref() == state))
    }

    pub(super) fn has_entries(&self, path: &RepoPath, entries: &[IndexEntry]) -> bool {
        self.entries.get(path).is_some_and(|known| known.iter().any(|own| own == entries))
    }

    pub(super) fn entry_paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.entries.keys()
    }
}
