//! Putting bytes and index entries back, and setting changes aside so that they can be looked at and brought back.
//!
//! Owns every write to the user's files. Each one is for one path, happens only while the path holds exactly the bytes
//! that are named as the loop's own, and comes after those bytes are objects under a ref (DESIGN 7.1). Never resets:
//! HEAD, branches, tags and the stash stay where they are, and what the user changed meanwhile is left alone and named.

use std::collections::BTreeMap;
use std::time::SystemTime;

use serde::{Deserialize, Serialize};

use super::checkpoint::{Checkpoint, CheckpointName};
use super::disk::Wanted;
use super::index::{self, IndexChange};
use super::object::{FileKind, FileState};
use super::observe::{Change, Place};
use super::own::OwnBytes;
use super::path::RepoPath;
use super::{Result, Workspace, WorkspaceError, fault};

pub(super) const DOCUMENT: &str = "set-aside.json";

/// A path that was not put back, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LeftAlone {
    /// The path.
    pub path: RepoPath,
    /// Why, for the user.
    pub why: String,
}

/// What a restore did.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Restored {
    /// Paths of the work tree that now hold the wanted bytes.
    pub restored: Vec<RepoPath>,
    /// Paths whose index entries were put back.
    pub index_restored: Vec<RepoPath>,
    /// Paths that hold something else than the loop's own bytes, or could not be written.
    pub left_alone: Vec<LeftAlone>,
    /// The bytes that were there before.
    pub set_aside: Option<SetAside>,
}

/// Changes kept under a ref.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct SetAside {
    /// Where.
    pub name: CheckpointName,
    /// When.
    pub taken_at: SystemTime,
    /// What: each path before and after.
    pub changes: Vec<Change>,
    /// The same as a unified diff.
    pub diff: String,
    /// Paths that were put back to the state before.
    #[serde(default)]
    pub restored: Vec<RepoPath>,
    /// Paths that could not be, and why.
    #[serde(default)]
    pub left_alone: Vec<LeftAlone>,
}

/// One path that is to go from one state to another.
struct Rewrite<'a> {
    path: &'a RepoPath,
    expected: Option<&'a FileState>,
    wanted: Option<&'a FileState>,
}

impl Workspace {
    /// Keeps changes under a ref of the loop that `since` belongs to. The work tree stays as it is.
    pub fn keep(&self, since: &Checkpoint, changes: &[Change]) -> Result<SetAside> {
        self.keep_as("kept", since, changes)
    }

    fn keep_as(&self, word: &str, since: &Checkpoint, changes: &[Change]) -> Result<SetAside> {
        let aside = SetAside {
            name: self.next_label(&since.name.of_loop, word)?,
            taken_at: SystemTime::now(),
            changes: changes.to_vec(),
            diff: self.diff_changes(changes)?,
            restored: Vec::new(),
            left_alone: Vec::new(),
        };
        let states = changes.iter().flat_map(|change| [&change.before, &change.after]).flatten();
        let objects: BTreeMap<_, _> =
            states.filter(|state| state.stored).map(|state| (state.content, 0o100_644)).collect();
        let full = self.ref_name(&aside.name);
        let text = serde_json::to_vec(&aside)
            .map_err(|source| WorkspaceError::BadRecord { name: full.clone(), source })?;
        self.store.keep(&full, DOCUMENT, &text, &objects)?;
        Ok(aside)
    }

    /// Keeps changes under a ref and puts their paths back to the checkpoint. A path that has changed again since the
    /// change was observed is left alone.
    pub fn set_aside(&self, since: &Checkpoint, changes: &[Change]) -> Result<SetAside> {
        let mut aside = self.keep_as("aside", since, changes)?;
        let plan = changes
            .iter()
            .map(|change| Rewrite {
                path: &change.path,
                expected: change.after.as_ref(),
                wanted: change.before.as_ref(),
            })
            .collect();
        (aside.restored, aside.left_alone) = self.rewrite(plan, Some(since.taken_at))?;
        Ok(aside)
    }

    /// The set-aside of that name.
    pub fn load_set_aside(&self, name: &CheckpointName) -> Result<SetAside> {
        self.load(name, DOCUMENT, "set-aside")
    }

    /// Brings set-aside changes back where their paths still are as they were before the change.
    pub fn put_back(&self, aside: &SetAside) -> Result<Restored> {
        let plan = aside
            .changes
            .iter()
            .map(|change| Rewrite {
                path: &change.path,
                expected: change.before.as_ref(),
                wanted: change.after.as_ref(),
            })
            .collect();
        let (restored, left_alone) = self.rewrite(plan, None)?;
        Ok(Restored { restored, left_alone, ..Restored::default() })
    }

    /// Puts work tree and index back to a checkpoint, path by path, where they hold what `ours` records. Every other
    /// difference is the user's; it is left alone and named.
    pub fn restore(&self, to: &Checkpoint, ours: &OwnBytes) -> Result<Restored> {
        let now = self.changes_since(to)?;
        let mut changes = now.changes;
        // An ignored file that the loop never wrote is a build product, not worth a word.
        let known = |change: &Change| ours.has_state(&change.path, change.after.as_ref());
        changes.extend(now.ignored_changed.into_iter().filter(known));
        self.restore_changes(to, ours, changes, now.index_taken)
    }

    /// Puts back what a finished loop changed, where the bytes are still its own. Unlike [`Workspace::restore`] it
    /// says nothing about paths that the loop never touched.
    pub fn undo(&self, start: &Checkpoint, ours: &OwnBytes) -> Result<Restored> {
        let paths: Vec<RepoPath> = ours.paths().cloned().collect();
        let mut changes = Vec::new();
        for (path, before) in self.states_at(start, &paths)? {
            let after = self.present(&path)?;
            changes.extend(Change::between(path, before, after, Place::InScope));
        }
        let index = self.read_index()?;
        let mut entries = Vec::new();
        for path in ours.entry_paths() {
            let (before, after) = (self.entries_at(start, path)?, index::entries_of(&index, path));
            if before != after {
                entries.push(IndexChange { path: path.clone(), before, after });
            }
        }
        self.restore_changes(start, ours, changes, entries)
    }

    fn restore_changes(
        &self,
        to: &Checkpoint,
        ours: &OwnBytes,
        changes: Vec<Change>,
        entries: Vec<IndexChange>,
    ) -> Result<Restored> {
        let (own, foreign): (Vec<Change>, Vec<Change>) =
            changes.into_iter().partition(|change| ours.has_state(&change.path, change.after.as_ref()));
        let mut result = Restored::default();
        let users = |path: RepoPath| LeftAlone { path, why: "it was changed meanwhile".to_owned() };
        result.left_alone.extend(foreign.into_iter().map(|change| users(change.path)));
        if !own.is_empty() {
            let aside = self.keep_as("restored", to, &own)?;
            let plan = own
                .iter()
                .map(|change| Rewrite {
                    path: &change.path,
                    expected: change.after.as_ref(),
                    wanted: change.before.as_ref(),
                })
                .collect();
            let (restored, left_alone) = self.rewrite(plan, Some(to.taken_at))?;
            result.restored = restored;
            result.left_alone.extend(left_alone);
            result.set_aside = Some(aside);
        }
        let (own, foreign): (Vec<IndexChange>, Vec<IndexChange>) =
            entries.into_iter().partition(|change| ours.has_entries(&change.path, &change.after));
        let mut strange: Vec<RepoPath> = foreign.into_iter().map(|change| change.path).collect();
        let edits: Vec<IndexChange> = own.into_iter().map(reversed).collect();
        let missed = self.edit_index(&edits, false)?;
        result.index_restored =
            edits.into_iter().map(|edit| edit.path).filter(|path| !missed.contains(path)).collect();
        strange.extend(missed);
        for path in strange {
            if !result.left_alone.iter().any(|left| left.path == path) {
                result
                    .left_alone
                    .push(LeftAlone { path, why: "its index entry was changed meanwhile".to_owned() });
            }
        }
        Ok(result)
    }

    /// Writes a file (or removes it) provided that it is now `expected`; `false` when it is not. For a fix that the
    /// engine itself applies. Mode and permissions stay as they are.
    pub fn write_file(
        &self,
        path: &RepoPath,
        expected: Option<&FileState>,
        bytes: Option<&[u8]>,
    ) -> Result<bool> {
        let kind = expected.map_or(FileKind::Regular, |state| state.kind);
        let wanted = bytes.map(|bytes| Wanted { kind, bytes, permissions: None });
        let expected = expected.map(|state| (state.kind, state.content));
        let done = self.disk.replace(path, expected, wanted);
        done.map_err(|source| WorkspaceError::File { path: path.clone(), source })
    }

    /// Takes back index entries that a worker changed, where they are still as observed. Returns the paths that are
    /// not. What the user had staged before is exactly what is staged again.
    pub fn untake_index(&self, taken: &[IndexChange]) -> Result<Vec<RepoPath>> {
        let edits: Vec<IndexChange> = taken.iter().cloned().map(reversed).collect();
        self.edit_index(&edits, false)
    }

    /// Carries rewrites out: what is to be absent goes first, since it may stand in the way of the rest.
    fn rewrite(
        &self,
        mut plan: Vec<Rewrite<'_>>,
        prune_since: Option<SystemTime>,
    ) -> Result<(Vec<RepoPath>, Vec<LeftAlone>)> {
        plan.sort_by(|a, b| (a.wanted.is_some(), a.path).cmp(&(b.wanted.is_some(), b.path)));
        let (mut done, mut left) = (Vec::new(), Vec::new());
        for step in plan {
            let outcome = self.rewrite_one(&step)?;
            if outcome.is_none()
                && step.wanted.is_none()
                && let Some(since) = prune_since
            {
                self.disk.prune_folders(step.path, since);
            }
            match outcome {
                None => done.push(step.path.clone()),
                Some(why) => left.push(LeftAlone { path: step.path.clone(), why }),
            }
        }
        Ok((done, left))
    }

    /// `Some(why)` when the path was left alone.
    fn rewrite_one(&self, step: &Rewrite<'_>) -> Result<Option<String>> {
        let unsaved = |state: Option<&FileState>| {
            state.is_some_and(|state| !state.stored && state.kind != FileKind::Special)
        };
        if let Some(wanted) = step.wanted
            && (!wanted.stored || !self.store.exists(wanted.content))
        {
            return Ok(Some("its bytes were too large to keep".to_owned()));
        }
        if unsaved(step.expected) {
            return Ok(Some("it is too large, or a repository of its own; remove it yourself".to_owned()));
        }
        let bytes = match step.wanted {
            Some(wanted) => self.store.read(wanted.content)?,
            None => Vec::new(),
        };
        let wanted = step.wanted.map(|wanted| Wanted {
            kind: wanted.kind,
            bytes: &bytes,
            permissions: wanted.permissions,
        });
        fault::point("restore.before");
        let expected = step.expected.map(|state| (state.kind, state.content));
        let outcome = match self.disk.replace(step.path, expected, wanted) {
            Ok(true) => None,
            Ok(false) => Some("it was changed meanwhile".to_owned()),
            Err(error) => Some(error.to_string()),
        };
        fault::point("restore.after");
        Ok(outcome)
    }
}

fn reversed(change: IndexChange) -> IndexChange {
    IndexChange { path: change.path, before: change.after, after: change.before }
}
