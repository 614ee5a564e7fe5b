//! What staging did, or why it did not.
//!
//! Owns the answers of `stage`, as the ledger keeps them and the user reads them.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use super::WorkspaceError;
use super::index::IndexEntry;
use super::path::RepoPath;

/// One path that was staged.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedEntry {
    /// The path.
    pub path: RepoPath,
    /// Its entries before; empty: not in the index.
    pub old: Vec<IndexEntry>,
    /// Its entries now.
    pub new: Vec<IndexEntry>,
}

/// Why a changed path was not staged although nothing is wrong. It stays changed in the work tree and is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotStaged {
    /// git ignores it (R21).
    Ignored,
    /// It is outside the sparse checkout, or marked `skip-worktree` (R15).
    SkipWorktree,
    /// It is a new file of the user's that was never added, so there is nothing that the hunks could stand on.
    Untracked,
    /// It is over 50 MiB.
    TooLarge,
}

/// What was staged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Staged {
    /// The changed entries.
    pub entries: Vec<StagedEntry>,
    /// Paths that the fix changed and that are not staged.
    pub skipped: Vec<(RepoPath, NotStaged)>,
}

/// The entries that a loop has in the index from its earlier rounds.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StagedEntries(pub(super) BTreeMap<RepoPath, Vec<IndexEntry>>);

impl StagedEntries {
    /// Adds what a round staged.
    pub fn record(&mut self, staged: &Staged) {
        for entry in &staged.entries {
            self.0.insert(entry.path.clone(), entry.new.clone());
        }
    }

    /// Whether nothing was staged yet.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

/// A path at which the fix and the user's own work cannot be told apart.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conflict {
    /// The path.
    pub path: RepoPath,
    /// Why, for the user.
    pub why: String,
    /// What the fix did, as hunks of a diff.
    pub ours: String,
    /// How the index differs from the file before the fix, as hunks of a diff.
    pub theirs: String,
}

/// Why nothing was staged. The index is as it was.
#[derive(Debug, thiserror::Error)]
pub enum StageRefused {
    /// The user has to say what belongs into the index.
    #[error("{} cannot be staged without deciding for you: {}", list(.0), .0.first().map_or("", |first| &first.why))]
    Conflicts(Vec<Conflict>),
    /// The path is unmerged.
    #[error("{0} is unmerged; resolve the conflict and `git add` it first")]
    Unmerged(RepoPath),
    /// The path belongs to another repository inside this one.
    #[error("{path} is inside the repository {repository}; open {} to fix it there", .folder.display())]
    OtherRepository {
        /// The path.
        path: RepoPath,
        /// The submodule or nested repository.
        repository: RepoPath,
        /// The folder to open.
        folder: PathBuf,
    },
    /// A folder on the way is a symlink.
    #[error("{0} lies beyond a symlinked folder; name the file by its real path")]
    BeyondLink(RepoPath),
    /// A FIFO, socket or device.
    #[error("{0} is neither a file nor a symlink; git cannot hold it")]
    SpecialFile(RepoPath),
    /// git's clean filter failed or objected (`core.safecrlf`, an LFS that is not installed).
    #[error("git would not take {path}: {message}")]
    Filter {
        /// The path.
        path: RepoPath,
        /// What git said.
        message: String,
    },
    /// The repository or the index could not be used.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

fn list(conflicts: &[Conflict]) -> String {
    conflicts.iter().map(|conflict| conflict.path.as_str()).collect::<Vec<_>>().join(", ")
}
