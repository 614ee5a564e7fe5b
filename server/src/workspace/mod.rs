//! git and the work tree: checkpoint, scope guard, exact-hunk staging, worktrees.
//!
//! Owns every access to the repository and to the user's files. Never decides what should happen to them: a protocol
//! decides, the engine asks, and this module does it exactly or says why not. It never moves HEAD, a branch, the stash
//! or a tag of the user's, never commits in the user's work tree, and never overwrites bytes that the caller did not
//! name (faults R26, R28, R29). Everything here blocks; the engine calls it from a blocking thread.
//!
//! One round, in the order of the calls: [`Workspace::checkpoint`] (with the scope's files), dispatch,
//! [`Workspace::observe`], [`Workspace::untake_index`] for what the worker staged, [`Workspace::set_aside`] for what is out
//! of scope, [`Workspace::observe`] once more for late writes (R36), [`Workspace::stage`] from the loop's first checkpoint.
//! [`OwnBytes`] gathers each observation and each [`Staged`]; [`Workspace::restore`] and [`Workspace::undo`] believe
//! nothing else. All of these may be repeated after a crash with the same arguments and come to the same end.
//!
//! | file | owns |
//! |---|---|
//! | `open` | finding the repository, and saying early what cannot work in it |
//! | `path` | [`RepoPath`], [`Scope`] |
//! | `checkpoint` | [`Checkpoint`]: the state before a dispatch |
//! | `observe`, `status` | [`Observation`]: what changed since |
//! | `breach`, `damage` | which of it a worker must never do |
//! | `own` | [`OwnBytes`]: what the loop itself wrote |
//! | `restore` | putting bytes and index entries back, and setting changes aside |
//! | `stage`, `staged`, `transplant`, `hunks` | the fix, and nothing else, into the index |
//! | `patch` | unified diffs |
//! | `index`, `index_file`, `index_lock` | reading index entries, and changing some of them without losing others |
//! | `disk`, `present`, `object`, `filter` | files, their states, objects, and git's own clean and smudge filters between them |
//! | `history`, `worktree` | commits, and the worktree of `converge` |
//! | `driver` | one driver per work tree |
//! | `git`, `fault` | starting git; places where a test ends the process |

mod breach;
mod checkpoint;
mod damage;
mod disk;
mod driver;
pub mod fault;
mod filter;
mod git;
mod history;
mod hunks;
mod index;
mod index_file;
mod index_lock;
mod object;
mod observe;
mod open;
mod own;
mod patch;
mod path;
mod present;
mod restore;
mod saved;
mod stage;
mod staged;
mod status;
mod transplant;
mod worktree;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

pub use breach::{Breach, RefChange};
pub use checkpoint::{Checkpoint, CheckpointName, Head, NameError, Unprotected};
pub use driver::{DriverLock, HeldBy, LockError};
pub use git::GitError;
pub use index::{IndexChange, IndexEntry};
pub use object::{FileKind, FileState, NotAnObjectId, ObjectId};
pub use observe::{Change, ChangeKind, Observation, Place, TreeId};
pub use open::OpenError;
pub use own::OwnBytes;
pub use path::{PathError, RepoPath, Scope};
pub use restore::{LeftAlone, Restored, SetAside};
pub use staged::{Conflict, NotStaged, StageRefused, Staged, StagedEntries, StagedEntry};
pub use transplant::{Clash, transplant};
pub use worktree::{CommitState, Worktree};

/// One work tree of one repository.
#[derive(Debug)]
pub struct Workspace {
    root: PathBuf,
    prefix: Option<RepoPath>,
    git_dir: PathBuf,
    common_dir: PathBuf,
    git: git::Git,
    store: object::Store,
    disk: disk::Disk,
    /// Blobs of dirty files that have not changed since they were read.
    seen: Mutex<HashMap<RepoPath, (disk::Signature, ObjectId)>>,
}

/// What went wrong in the repository or the work tree.
#[derive(Debug, thiserror::Error)]
pub enum WorkspaceError {
    /// git ran and failed, or could not be started.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The object store or the refs could not be read or written.
    #[error("the repository could not be read or written: {0}; `git fsck` says whether it is sound")]
    Store(#[from] git2::Error),
    /// A file of the work tree.
    #[error("{path}: {source}; nothing else was changed")]
    File {
        /// The file.
        path: RepoPath,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file in the git folder.
    #[error("{path}: {source}")]
    State {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// Somebody else holds `index.lock`.
    #[error(
        "{path} has been held for {age_seconds} s by {owner}; end that program, or delete the file if no git is \
         running, and try again"
    )]
    IndexLocked {
        /// The lock file.
        path: PathBuf,
        /// The program that has it open, as far as the system tells.
        owner: String,
        /// Since when.
        age_seconds: u64,
    },
    /// git changed an entry that it was not asked to change; the index was left as it was.
    #[error("the index entry of {0} would have changed too; nothing was staged")]
    IndexSideEffect(String),
    /// A checkpoint or set-aside that is not there any more.
    #[error("there is no {0}; it has expired or belongs to another repository")]
    NoSuchRecord(String),
    /// A record that does not parse.
    #[error("{name} cannot be read: {source}")]
    BadRecord {
        /// Its ref.
        name: String,
        /// What the parser said.
        source: serde_json::Error,
    },
    /// A revision that git does not know.
    #[error("`{0}` names no commit in this repository")]
    NoSuchRevision(String),
    /// A worktree that is not one of ours.
    #[error("{0} is not a worktree that Fix Loop made; it was left alone")]
    NotManaged(PathBuf),
}

/// Shorthand of this module.
pub type Result<T, E = WorkspaceError> = std::result::Result<T, E>;

impl Workspace {
    /// Root of the work tree, canonical. All [`RepoPath`]s are relative to it.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Where in the work tree the folder lies that was opened; `None` when it is the root itself.
    pub fn prefix(&self) -> Option<&RepoPath> {
        self.prefix.as_ref()
    }

    /// The git folder of this work tree (of a linked worktree, its own).
    pub fn git_dir(&self) -> &Path {
        &self.git_dir
    }

    /// The folders beside its files that a commit in this work tree is written into. Settings, hooks and the index of another
    /// work tree are in none of them.
    pub fn commit_folders(&self) -> Vec<PathBuf> {
        let shared = ["objects", "refs", "logs"].map(|name| self.common_dir.join(name));
        shared.into_iter().chain([self.git_dir.clone()]).filter(|folder| folder.is_dir()).collect()
    }

    /// Where Fix Loop keeps its own files for this work tree.
    pub fn state_dir(&self) -> PathBuf {
        self.git_dir.join("fix-loop")
    }

    /// The path that `given` names, relative to the folder that was opened.
    pub fn resolve_path(&self, given: &Path) -> Result<RepoPath, PathError> {
        match &self.prefix {
            Some(prefix) if given.is_relative() => {
                RepoPath::resolve(&self.root, &Path::new(prefix.as_str()).join(given))
            }
            _ => RepoPath::resolve(&self.root, given),
        }
    }

    /// A scope of paths and globs that are relative to the folder that was opened; see [`Scope::new`].
    pub fn scope<P: AsRef<Path>>(&self, paths: &[P], always_allow: &[String]) -> Result<Scope, PathError> {
        let Some(prefix) = &self.prefix else { return Scope::new(&self.root, paths, always_allow) };
        let inside = |path: &P| Path::new(prefix.as_str()).join(path.as_ref());
        let paths: Vec<PathBuf> = paths.iter().map(inside).collect();
        let literal = globset::escape(prefix.as_str());
        let globs: Vec<String> = always_allow.iter().map(|glob| format!("{literal}/{glob}")).collect();
        Scope::new(&self.root, &paths, &globs)
    }

    /// The present text of a file; `None` when it is absent, no file, or not UTF-8.
    pub fn file_text(&self, path: &RepoPath) -> Result<Option<String>> {
        Ok(self.file_bytes(path)?.and_then(|bytes| String::from_utf8(bytes).ok()))
    }

    /// The present bytes of a file (of a symlink, its target); `None` when there is none.
    pub fn file_bytes(&self, path: &RepoPath) -> Result<Option<Vec<u8>>> {
        let read =
            self.disk.read(path).map_err(|source| WorkspaceError::File { path: path.clone(), source })?;
        Ok(read.map(|(_, bytes)| bytes))
    }

    /// Whether git ignores `path`. A tracked file is never ignored.
    pub fn is_ignored(&self, path: &RepoPath) -> Result<bool> {
        // check-ignore knows no literal pathspecs; with "./" in front nothing in the name is magic.
        let git = self.git.with_env("GIT_LITERAL_PATHSPECS", "0");
        let (code, _, stderr) = git.status(&["check-ignore", "-q", "--", &format!("./{path}")], b"")?;
        let said = String::from_utf8_lossy(&stderr);
        match code {
            Some(0) => Ok(true),
            Some(1) => Ok(false),
            // git would never add such a path, so nothing is to be ignored.
            _ if said.contains("beyond a symbolic link") || said.contains("in submodule") => Ok(false),
            _ => Err(GitError::Failed { command: "check-ignore".into(), message: said.trim().into() }.into()),
        }
    }

    /// The bytes of an object that a [`FileState`] or [`IndexEntry`] names.
    pub fn object(&self, id: ObjectId) -> Result<Vec<u8>> {
        Ok(self.store.read(id)?)
    }
}
