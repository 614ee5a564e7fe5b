//! The managed worktree in which `converge` works.
//!
//! Owns making, resetting and removing worktrees in `.fix-loop/worktrees`, a folder that ignores itself. They do not lie
//! in the git folder, since agents refuse to edit any path with `.git` in it. Never touches any other worktree: what is
//! reset or removed has to be one that Fix Loop made.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::object::ObjectId;
use super::{GitError, OpenError, Result, Workspace, WorkspaceError};

/// A worktree of our own.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Worktree {
    /// Its folder.
    pub path: PathBuf,
    /// Its branch, short.
    pub branch: String,
}

/// What a worktree's commits are, to be compared with what a worker said.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommitState {
    /// Its HEAD.
    pub head: ObjectId,
    /// The branch that HEAD is on, in full; `None` when detached.
    pub branch: Option<String>,
    /// Whether nothing is uncommitted, untracked files included.
    pub clean: bool,
    /// Whether HEAD is `base` or comes after it.
    pub descends_from_base: bool,
    /// Commits after `base`, oldest first.
    pub commits: Vec<ObjectId>,
}

impl Workspace {
    fn worktrees_dir(&self) -> PathBuf {
        self.root.join(".fix-loop").join("worktrees")
    }

    /// The folder for worktrees, which no `git status` and no commit of the user's shows.
    fn make_worktrees_dir(&self) -> Result<()> {
        let folder = self.worktrees_dir();
        let ignore = folder.join(".gitignore");
        std::fs::create_dir_all(&folder)
            .and_then(|()| if ignore.exists() { Ok(()) } else { std::fs::write(&ignore, "*\n") })
            .map_err(|source| WorkspaceError::State { path: folder, source })
    }

    /// Removes that folder when no worktree is left in it.
    fn drop_worktrees_dir(&self) {
        let folder = self.worktrees_dir();
        let left = std::fs::read_dir(&folder)
            .map_or(0, |entries| entries.flatten().filter(|entry| entry.file_name() != ".gitignore").count());
        if left == 0 {
            std::fs::remove_file(folder.join(".gitignore")).ok();
            std::fs::remove_dir(&folder).ok();
            // Only if nothing else (the findings, say) is in it.
            std::fs::remove_dir(self.root.join(".fix-loop")).ok();
        }
    }

    /// Makes a worktree on a new branch `branch` at `at`. If it is there already (a crash came in between), it is used
    /// as it is.
    pub fn add_worktree(&self, branch: &str, at: &str) -> Result<Worktree> {
        let commit = self.resolve(at)?.to_string();
        let made = self.planned_worktree(branch);
        let path = made.path.clone();
        if path.join(".git").exists() && self.is_managed(&made) {
            return Ok(made);
        }
        self.make_worktrees_dir()?;
        self.git.run(&["worktree", "prune"])?;
        let full = format!("refs/heads/{branch}");
        let (exists, _, _) = self.git.status(&["rev-parse", "--verify", "-q", &full], b"")?;
        let path_text = path.as_os_str();
        let mut args: Vec<&std::ffi::OsStr> =
            ["-c", "core.hooksPath=/dev/null", "worktree", "add", "--quiet"]
                .map(std::ffi::OsStr::new)
                .to_vec();
        if exists == Some(0) {
            args.extend([path_text, branch.as_ref()]);
        } else {
            args.extend(["-b".as_ref(), branch.as_ref(), path_text, commit.as_ref()]);
        }
        self.git.run(&args)?;
        Ok(made)
    }

    /// Opens a managed worktree as a workspace of its own.
    pub fn open_worktree(&self, worktree: &Worktree) -> std::result::Result<Workspace, OpenError> {
        Workspace::open(&worktree.path)
    }

    /// Removes a worktree of ours and what is uncommitted in it. Its branch stays.
    pub fn remove_worktree(&self, worktree: &Worktree) -> Result<()> {
        self.require_managed(worktree)?;
        if worktree.path.exists() {
            let path = worktree.path.as_os_str();
            self.git.run(&["worktree".as_ref(), "remove".as_ref(), "--force".as_ref(), path])?;
        }
        self.git.run(&["worktree", "prune"])?;
        self.drop_worktrees_dir();
        Ok(())
    }

    /// Removes a worktree of ours together with its branch, which nobody is to see.
    pub fn discard_worktree(&self, worktree: &Worktree) -> Result<()> {
        self.remove_worktree(worktree)?;
        self.git.run(&["update-ref", "-d", &format!("refs/heads/{}", worktree.branch)])?;
        Ok(())
    }

    /// A branch of this name that no other work tree of the repository uses: loops are numbered in each by itself.
    pub fn free_branch(&self, wanted: &str) -> Result<String> {
        let is_free = |branch: &str| -> Result<bool> {
            let made = self.planned_worktree(branch);
            if made.path.join(".git").exists() && self.is_managed(&made) {
                return Ok(true);
            }
            let full = format!("refs/heads/{branch}");
            Ok(self.git.status(&["rev-parse", "--verify", "-q", &full], b"")?.0 != Some(0))
        };
        let mut branch = wanted.to_owned();
        let mut number = 1;
        while !is_free(&branch)? {
            number += 1;
            branch = format!("{wanted}-{number}");
        }
        Ok(branch)
    }

    fn planned_worktree(&self, branch: &str) -> Worktree {
        let folder = branch.replace(|c: char| !(c.is_ascii_alphanumeric() || c == '-' || c == '_'), "-");
        Worktree { path: self.worktrees_dir().join(folder), branch: branch.to_owned() }
    }

    /// Puts a worktree of ours to a commit, and drops everything uncommitted in it.
    pub fn reset_managed(&self, worktree: &Worktree, to: &str) -> Result<()> {
        self.require_managed(worktree)?;
        let commit = self.resolve(to)?.to_string();
        let git = super::git::Git::new(&worktree.path);
        const QUIET: [&str; 2] = ["-c", "core.hooksPath=/dev/null"];
        let full = format!("refs/heads/{}", worktree.branch);
        let args =
            |rest: &[&str]| -> Vec<String> { QUIET.iter().chain(rest).map(ToString::to_string).collect() };
        // HEAD first, so that a worker that left the branch does not make the reset move another one.
        git.run(&args(&["symbolic-ref", "HEAD", &full]))?;
        git.run(&args(&["reset", "--quiet", "--hard", &commit]))?;
        git.run(&args(&["clean", "--quiet", "-ffd"]))?;
        Ok(())
    }

    /// HEAD, branch, cleanliness and ancestry of a worktree.
    pub fn commit_state(&self, worktree: &Worktree, base: &str) -> Result<CommitState> {
        let base = self.resolve(base)?.to_string();
        let opened = Workspace::open(&worktree.path)
            .map_err(|error| GitError::Failed { command: "worktree".into(), message: error.to_string() })?;
        let head = opened.head()?;
        let commit = head.commit.ok_or_else(|| WorkspaceError::NoSuchRevision("HEAD".to_owned()))?;
        let commit_text = commit.to_string();
        Ok(CommitState {
            head: commit,
            branch: head.branch,
            clean: opened.is_clean()? && opened.ref_state()?.operation == "clean",
            descends_from_base: opened.is_ancestor(&base, &commit_text)?,
            commits: opened.commits_between(&base, &commit_text)?,
        })
    }

    /// The worktrees of ours that exist.
    pub fn managed_worktrees(&self) -> Result<Vec<Worktree>> {
        let out = self.git.run(&["worktree", "list", "--porcelain"])?;
        let text = String::from_utf8_lossy(&out);
        let ours = self.worktrees_dir();
        let ours = ours.canonicalize().unwrap_or(ours);
        let mut found = Vec::new();
        for record in text.split("\n\n") {
            let mut lines = record.lines();
            let Some(path) = lines.find_map(|line| line.strip_prefix("worktree ")) else { continue };
            let branch = record.lines().find_map(|line| line.strip_prefix("branch refs/heads/"));
            let path = Path::new(path);
            if path.starts_with(&ours) && path.exists() {
                found.push(Worktree {
                    path: path.to_path_buf(),
                    branch: branch.unwrap_or_default().to_owned(),
                });
            }
        }
        Ok(found)
    }

    fn is_managed(&self, worktree: &Worktree) -> bool {
        let wanted = worktree.path.canonicalize().unwrap_or_else(|_| worktree.path.clone());
        self.managed_worktrees().is_ok_and(|known| {
            known.iter().any(|one| one.path.canonicalize().is_ok_and(|path| path == wanted))
        })
    }

    fn require_managed(&self, worktree: &Worktree) -> Result<()> {
        let inside = worktree.path.parent() == Some(self.worktrees_dir().as_path());
        let gone = inside && !worktree.path.exists();
        if gone || (inside && self.is_managed(worktree)) {
            return Ok(());
        }
        Err(WorkspaceError::NotManaged(worktree.path.clone()))
    }
}
