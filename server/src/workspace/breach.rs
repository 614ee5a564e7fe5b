//! What a worker must never do, told from the differences that an observation found (DESIGN 7.2).
//!
//! Owns the list of breaches and their signs. Only judges; what follows from a breach is the engine's.

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::checkpoint::{Checkpoint, Head, RefState};
use super::index::{self, IndexChange};
use super::object::{FileKind, ObjectId};
use super::observe::{Change, Place};
use super::path::RepoPath;
use super::{Result, Workspace, damage};

/// Something a worker must never do in a loop that stages. It stops the loop and is shown to the user.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "breach", rename_all = "snake_case")]
pub enum Breach {
    /// A commit, reset or rebase: HEAD names another commit.
    HeadMoved {
        /// At the checkpoint.
        from: Head,
        /// Now.
        to: Head,
    },
    /// HEAD is on another branch.
    BranchSwitched {
        /// At the checkpoint.
        from: Head,
        /// Now.
        to: Head,
    },
    /// `git stash`. The files of lost entries are kept with the checkpoint.
    StashChanged {
        /// Entries that are gone.
        lost: Vec<ObjectId>,
        /// Entries that are new.
        added: Vec<ObjectId>,
    },
    /// Tags were made, moved or deleted.
    TagsChanged {
        /// Their names.
        tags: Vec<String>,
    },
    /// A merge, rebase or the like was begun or ended.
    OperationChanged {
        /// At the checkpoint.
        from: String,
        /// Now.
        to: String,
    },
    /// Entries that the user had staged are as in HEAD again.
    IndexReset {
        /// Their paths.
        paths: Vec<RepoPath>,
    },
    /// A whole-tree command (`checkout --`, `reset --hard`, `stash`, `clean`) threw away what was not committed.
    WorkDiscarded {
        /// Paths outside the scope that had changes, and have none now.
        paths: Vec<RepoPath>,
    },
    /// The byte order mark is gone.
    LostBom {
        /// The file.
        path: RepoPath,
    },
    /// Lines whose text is unchanged have other line endings.
    LineEndings {
        /// The file.
        path: RepoPath,
        /// How many of them.
        lines: usize,
    },
    /// Text that the fix did not touch was re-encoded or replaced by U+FFFD.
    Encoding {
        /// The file.
        path: RepoPath,
        /// What was seen.
        what: String,
    },
    /// A FIFO, socket or device stands where a file was or could be.
    SpecialFile {
        /// Its path.
        path: RepoPath,
    },
    /// Something changed inside a submodule or another repository, whose bytes only that repository has.
    RepositoryChanged {
        /// Its folder.
        path: RepoPath,
    },
}

impl fmt::Display for Breach {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let commit = |head: &Head| head.commit.map_or_else(|| "no commit".to_owned(), |id| id.to_string());
        let branch = |head: &Head| head.branch.clone().unwrap_or_else(|| "no branch".to_owned());
        match self {
            Breach::HeadMoved { from, to } => {
                write!(f, "HEAD was moved from {} to {}", commit(from), commit(to))
            }
            Breach::BranchSwitched { from, to } => {
                write!(f, "HEAD was switched from {} to {}", branch(from), branch(to))
            }
            Breach::StashChanged { lost, added } => {
                write!(f, "the stash was changed: {} entries lost, {} added", lost.len(), added.len())
            }
            Breach::TagsChanged { tags } => write!(f, "tags were changed: {}", tags.join(", ")),
            Breach::OperationChanged { from, to } => {
                write!(f, "the repository's operation in progress went from {from} to {to}")
            }
            Breach::IndexReset { paths } => {
                let paths: Vec<_> = paths.iter().map(RepoPath::as_str).collect();
                write!(f, "what you had staged was unstaged: {}", paths.join(", "))
            }
            Breach::WorkDiscarded { paths } => {
                let paths: Vec<_> = paths.iter().map(RepoPath::as_str).collect();
                write!(f, "uncommitted work was thrown away: {}", paths.join(", "))
            }
            Breach::LostBom { path } => write!(f, "{path} lost its byte order mark"),
            Breach::LineEndings { path, lines } => {
                write!(f, "{path} has other line endings on {lines} lines that are otherwise unchanged")
            }
            Breach::Encoding { path, what } => write!(f, "{path}: {what}"),
            Breach::SpecialFile { path } => write!(f, "{path} is no regular file any more"),
            Breach::RepositoryChanged { path } => write!(f, "the repository in {path} was changed"),
        }
    }
}

/// A ref that was made, moved or deleted and is neither HEAD, its branch, the stash nor a tag. It is only reported.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct RefChange {
    /// Full name.
    pub name: String,
    /// Target at the checkpoint; `None`: it did not exist.
    pub before: Option<ObjectId>,
    /// Target now; `None`: it does not exist.
    pub after: Option<ObjectId>,
}

impl Workspace {
    /// Whether somebody (an editor does it on its own) fetched, which brings new tags.
    pub(super) fn fetched_since(&self, since: &Checkpoint) -> bool {
        let heads = self.git_dir.join("FETCH_HEAD").metadata().and_then(|meta| meta.modified());
        // File systems stamp with the time of the last clock tick.
        let slack = std::time::Duration::from_millis(100);
        heads.is_ok_and(|at| at + slack >= since.taken_at)
    }

    /// Signs of a command that threw uncommitted work away: a changed file outside the scope is as checked out again, or
    /// all the untracked files there are gone (R29).
    pub(super) fn discarded(&self, since: &Checkpoint, changes: &[Change]) -> Result<Option<Breach>> {
        let outside =
            |change: &&Change| change.place == Place::OutOfScope && since.files.contains_key(&change.path);
        let changed: Vec<&Change> = changes.iter().filter(outside).collect();
        let paths: Vec<RepoPath> = changed.iter().map(|change| change.path.clone()).collect();
        let clean = self.clean_states(since, &paths)?;
        let is_tracked = |path: &RepoPath| clean.get(path).is_some_and(Option::is_some);
        let mut lost = Vec::new();
        let is_swept = |change: &&Change| !is_tracked(&change.path) && change.after.is_none();
        let mut swept = changed.iter().any(is_swept);
        if swept {
            // Recorded paths that are neither tracked nor gone speak against a sweep.
            for (path, _) in since.files.iter().filter(|(_, state)| state.is_some()) {
                let gone = changed.iter().any(|change| change.path == *path && change.after.is_none());
                swept &= gone || !self.entries_at(since, path)?.is_empty();
            }
        }
        for change in changed {
            let reverted = is_tracked(&change.path) && change.after == clean[&change.path];
            if reverted || (swept && is_swept(&change)) {
                lost.push(change.path.clone());
            }
        }
        Ok((!lost.is_empty()).then_some(Breach::WorkDiscarded { paths: lost }))
    }

    pub(super) fn file_breaches(&self, changes: &[Change]) -> Result<Vec<Breach>> {
        let mut breaches = Vec::new();
        for change in changes.iter().filter(|change| change.place != Place::Users) {
            let kinds = [&change.before, &change.after].map(|state| state.as_ref().map(|state| state.kind));
            if kinds.contains(&Some(FileKind::Repository)) {
                breaches.push(Breach::RepositoryChanged { path: change.path.clone() });
            } else if kinds[1] == Some(FileKind::Special) {
                breaches.push(Breach::SpecialFile { path: change.path.clone() });
            }
            if let (Some(before), Some(after)) = (&change.before, &change.after)
                && before.content != after.content
                && [before, after].iter().all(|state| state.stored && state.kind.is_file())
            {
                let (before, after) = (self.store.read(before.content)?, self.store.read(after.content)?);
                breaches.extend(damage::find(&change.path, &before, &after));
            }
        }
        Ok(breaches)
    }
}

pub(super) fn ref_breaches(since: &Checkpoint, now: &RefState, fetched: bool) -> Vec<Breach> {
    let mut breaches = Vec::new();
    let heads = || (since.head.clone(), now.head.clone());
    if since.head.branch != now.head.branch {
        let (from, to) = heads();
        breaches.push(Breach::BranchSwitched { from, to });
    }
    if since.head.commit != now.head.commit {
        let (from, to) = heads();
        breaches.push(Breach::HeadMoved { from, to });
    }
    if since.stash != now.stash {
        let missing = |from: &[ObjectId], to: &[ObjectId]| -> Vec<ObjectId> {
            from.iter().filter(|id| !to.contains(id)).copied().collect()
        };
        let (lost, added) = (missing(&since.stash, &now.stash), missing(&now.stash, &since.stash));
        breaches.push(Breach::StashChanged { lost, added });
    }
    let tags: Vec<String> = changed_refs(since, now)
        .into_iter()
        .filter(|change| !(fetched && change.before.is_none()))
        .filter_map(|change| change.name.strip_prefix("refs/tags/").map(str::to_owned))
        .collect();
    if !tags.is_empty() {
        breaches.push(Breach::TagsChanged { tags });
    }
    if since.operation != now.operation {
        breaches.push(Breach::OperationChanged { from: since.operation.clone(), to: now.operation.clone() });
    }
    breaches
}

fn changed_refs(since: &Checkpoint, now: &RefState) -> Vec<RefChange> {
    let names: BTreeSet<&String> = since.refs.keys().chain(now.refs.keys()).collect();
    names
        .into_iter()
        .map(|name| RefChange {
            name: name.clone(),
            before: since.refs.get(name).copied(),
            after: now.refs.get(name).copied(),
        })
        .filter(|change| change.before != change.after)
        .collect()
}

pub(super) fn other_refs(since: &Checkpoint, now: &RefState) -> Vec<RefChange> {
    let mut changes = changed_refs(since, now);
    changes.retain(|change| {
        !change.name.starts_with("refs/tags/")
            && change.name != "refs/stash"
            && Some(&change.name) != since.head.branch.as_ref()
    });
    changes
}

/// Entries that the user had staged and that are HEAD's again.
pub(super) fn index_reset(
    since: &Checkpoint,
    taken: &[IndexChange],
    workspace: &Workspace,
) -> Result<Option<Breach>> {
    let mut paths = Vec::new();
    for change in taken {
        let committed = match since.head.commit {
            Some(commit) => workspace.store.tree_entry(commit, change.path.as_str())?,
            None => None,
        };
        let plain = |entries: &[index::IndexEntry]| -> Vec<(u32, ObjectId)> {
            entries.iter().filter(|entry| !entry.intent_to_add).map(|entry| (entry.mode, entry.id)).collect()
        };
        let head: Vec<(u32, ObjectId)> = committed.into_iter().collect();
        if plain(&change.before) != head && plain(&change.after) == head {
            paths.push(change.path.clone());
        }
    }
    Ok((!paths.is_empty()).then_some(Breach::IndexReset { paths }))
}
