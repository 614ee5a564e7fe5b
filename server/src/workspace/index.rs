//! Entries of the index, read.
//!
//! Owns what an entry is and how two states of the index are compared. Never writes; `index_lock` does.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};

use super::index_file::{IndexFile, Seen};
use super::object::{FileKind, ObjectId};
use super::path::RepoPath;
use super::status::Status;
use super::{Checkpoint, Result, Workspace, WorkspaceError};

/// One entry of the index, without its cached stat data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct IndexEntry {
    /// git's file mode, such as 0o100644.
    pub mode: u32,
    /// The blob (of a submodule, the commit).
    pub id: ObjectId,
    /// 0, or 1 to 3 for an unmerged path.
    pub stage: u8,
    /// `git add --intent-to-add`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub intent_to_add: bool,
    /// Outside a sparse checkout, or set by the user.
    #[serde(default, skip_serializing_if = "is_false")]
    pub skip_worktree: bool,
    /// `git update-index --assume-unchanged`.
    #[serde(default, skip_serializing_if = "is_false")]
    pub assume_unchanged: bool,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // serde asks for a reference
fn is_false(flag: &bool) -> bool {
    !flag
}

impl IndexEntry {
    pub(super) fn plain(mode: u32, id: ObjectId) -> IndexEntry {
        IndexEntry { mode, id, stage: 0, intent_to_add: false, skip_worktree: false, assume_unchanged: false }
    }

    pub(super) fn is_gitlink(&self) -> bool {
        self.mode == FileKind::Repository.git_mode()
    }
}

/// The entries of one path before and after; empty means that the path is not in the index.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct IndexChange {
    /// The path.
    pub path: RepoPath,
    /// As they were.
    pub before: Vec<IndexEntry>,
    /// As they are.
    pub after: Vec<IndexEntry>,
}

/// Entries that differ from a commit, or carry a flag, by path.
pub(super) type Entries = BTreeMap<RepoPath, Vec<IndexEntry>>;

pub(super) fn read(path: &Path) -> Result<IndexFile> {
    IndexFile::read(path).map_err(|source| WorkspaceError::State { path: path.to_path_buf(), source })
}

/// All entries of one path, by stage.
pub(super) fn entries_of(index: &IndexFile, path: &RepoPath) -> Vec<IndexEntry> {
    index.of(path.as_str()).map(|seen| seen.entry()).collect()
}

/// The first path, outside of `apart`, whose entries are not the same in both.
pub(super) fn first_difference(one: &IndexFile, other: &IndexFile, apart: &BTreeSet<&str>) -> Option<String> {
    let is_apart = |seen: &Seen<'_>| std::str::from_utf8(seen.name).is_ok_and(|path| apart.contains(path));
    let (mut left, mut right) = (one.iter().peekable(), other.iter().peekable());
    loop {
        match (left.peek(), right.peek()) {
            (None, None) => return None,
            (Some(a), Some(b)) if a.says_the_same(b) => {
                left.next();
                right.next();
            }
            (Some(seen), _) if is_apart(seen) => drop(left.next()),
            (_, Some(seen)) if is_apart(seen) => drop(right.next()),
            (Some(seen), _) | (None, Some(seen)) => {
                return Some(String::from_utf8_lossy(seen.name).into_owned());
            }
        }
    }
}

fn path_of(seen: &Seen<'_>) -> Option<RepoPath> {
    std::str::from_utf8(seen.name).ok().and_then(|path| RepoPath::new(path).ok())
}

impl Workspace {
    pub(super) fn index_path(&self) -> std::path::PathBuf {
        self.git_dir.join("index")
    }

    pub(super) fn read_index(&self) -> Result<IndexFile> {
        read(&self.index_path())
    }

    /// The present entries of one path; empty when it is not in the index.
    pub fn index_entries(&self, path: &RepoPath) -> Result<Vec<IndexEntry>> {
        Ok(entries_of(&self.read_index()?, path))
    }

    /// Entries that differ from HEAD (as `status` lists them) and those with a flag.
    pub(super) fn notable_entries(&self, index: &IndexFile, status: &Status) -> Entries {
        let listed = status.tracked.iter().filter(|listed| listed.in_index);
        let mut notable: Entries =
            listed.map(|listed| (listed.path.clone(), entries_of(index, &listed.path))).collect();
        for entry in index.iter() {
            if entry.is_flagged()
                && let Some(path) = path_of(&entry)
            {
                let entries = entries_of(index, &path);
                notable.insert(path, entries);
            }
        }
        notable
    }

    /// The entries that `path` had at a checkpoint.
    pub(super) fn entries_at(&self, checkpoint: &Checkpoint, path: &RepoPath) -> Result<Vec<IndexEntry>> {
        if let Some(entries) = checkpoint.index.get(path) {
            return Ok(entries.clone());
        }
        let Some(commit) = checkpoint.head.commit else { return Ok(Vec::new()) };
        let entry = self.store.tree_entry(commit, path.as_str())?;
        Ok(entry.map(|(mode, id)| IndexEntry::plain(normal_mode(mode), id)).into_iter().collect())
    }

    /// Every path whose entries are not those of the checkpoint.
    pub(super) fn index_changes(
        &self,
        since: &Checkpoint,
        index: &IndexFile,
        now: &Entries,
        same_head: bool,
    ) -> Result<Vec<IndexChange>> {
        let mut paths: BTreeSet<RepoPath> = now.keys().chain(since.index.keys()).cloned().collect();
        if !same_head {
            paths.extend(self.index_against(since.head.commit)?);
        }
        let mut changes = Vec::new();
        for path in paths {
            let (before, after) = (self.entries_at(since, &path)?, entries_of(index, &path));
            if before != after {
                changes.push(IndexChange { path, before, after });
            }
        }
        Ok(changes)
    }

    /// Paths whose entries differ from a commit that HEAD no longer is.
    fn index_against(&self, commit: Option<ObjectId>) -> Result<Vec<RepoPath>> {
        // The empty tree, which every git knows without having it.
        const EMPTY_TREE: &str = "4b825dc642cb6eb9a060e54bf8d69288fbee4904";
        let tree = commit.map_or_else(|| EMPTY_TREE.to_owned(), |id| id.to_string());
        let out =
            self.git.run(&["diff-index", "--cached", "--name-only", "--no-renames", "-z", &tree, "--"])?;
        Ok(out
            .split(|byte| *byte == 0)
            .filter_map(|raw| std::str::from_utf8(raw).ok().and_then(|text| RepoPath::new(text).ok()))
            .collect())
    }
}

/// Old commits hold modes such as 0o100664, which the index never does.
fn normal_mode(mode: u32) -> u32 {
    FileKind::from_git_mode(mode).git_mode()
}
