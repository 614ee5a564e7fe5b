//! Commits and what lies between them, read.
//!
//! Owns the questions that `converge` and the mapping of findings ask about history. Never writes.

use super::git::GitError;
use super::object::ObjectId;
use super::path::RepoPath;
use super::status;
use super::{Result, Workspace, WorkspaceError};

impl Workspace {
    /// The commit that HEAD names; `None` before the first one.
    pub fn head_id(&self) -> Option<String> {
        self.head().ok()?.commit.map(|commit| commit.to_string())
    }

    /// The branch that HEAD is on, in full; `None` when detached.
    pub fn branch(&self) -> Option<String> {
        self.head().ok()?.branch
    }

    /// What the work tree changed in these paths since a revision, as a unified diff; new files are whole.
    pub fn diff_from_revision(&self, revision: &str, paths: &[RepoPath]) -> Result<String> {
        let mut diff = String::new();
        for path in paths {
            let before = self.read_at(revision, path)?.unwrap_or_default();
            let after = self.file_bytes(path)?.unwrap_or_default();
            if before == after {
                continue;
            }
            let (before, after) = (String::from_utf8_lossy(&before), String::from_utf8_lossy(&after));
            let text = similar::TextDiff::from_lines(before.as_ref(), after.as_ref());
            diff.push_str(
                &text.unified_diff().header(&format!("a/{path}"), &format!("b/{path}")).to_string(),
            );
        }
        Ok(diff)
    }

    /// The whole message of a commit.
    pub fn commit_message(&self, commit: ObjectId) -> Result<String> {
        let repo = self.store.repo();
        let commit = repo.find_commit(commit.oid())?;
        Ok(String::from_utf8_lossy(commit.message_bytes()).into_owned())
    }

    /// Every file of a revision.
    pub fn paths_at(&self, revision: &str) -> Result<Vec<RepoPath>> {
        let out = self.git.run(&["ls-tree", "-r", "-z", "--name-only", "--full-tree", revision])?;
        Ok(out
            .split(|byte| *byte == 0)
            .filter_map(|raw| std::str::from_utf8(raw).ok().and_then(|text| RepoPath::new(text).ok()))
            .collect())
    }

    /// The commit that a revision names.
    pub fn resolve(&self, revision: &str) -> Result<ObjectId> {
        let unknown = || WorkspaceError::NoSuchRevision(revision.to_owned());
        // `--end-of-options`: a revision out of a findings file is data, not an option.
        let wanted = format!("{revision}^{{commit}}");
        let args = ["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted];
        let (code, out, _) = self.git.status(&args, b"")?;
        if code != Some(0) {
            return Err(unknown());
        }
        String::from_utf8_lossy(&out).trim().parse().map_err(|_| unknown())
    }

    /// The best common ancestor of two revisions; `None` when they have none.
    pub fn merge_base(&self, one: &str, two: &str) -> Result<Option<ObjectId>> {
        let (one, two) = (self.resolve(one)?, self.resolve(two)?);
        match self.store.repo().merge_base(one.oid(), two.oid()) {
            Ok(base) => Ok(Some(base.into())),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether `ancestor` is `descendant` or comes before it.
    pub fn is_ancestor(&self, ancestor: &str, descendant: &str) -> Result<bool> {
        let (ancestor, descendant) = (self.resolve(ancestor)?, self.resolve(descendant)?);
        Ok(ancestor == descendant
            || self.store.repo().graph_descendant_of(descendant.oid(), ancestor.oid())?)
    }

    /// Commits that `to` has and `from` has not, oldest first.
    pub fn commits_between(&self, from: &str, to: &str) -> Result<Vec<ObjectId>> {
        let range = format!("{}..{}", self.resolve(from)?, self.resolve(to)?);
        let out = self.git.line(&["rev-list", "--reverse", "--topo-order", &range])?;
        out.lines()
            .map(|line| {
                line.parse().map_err(|_| {
                    GitError::Failed { command: "rev-list".into(), message: format!("it printed `{line}`") }
                        .into()
                })
            })
            .collect()
    }

    /// First line of a commit's message.
    pub fn commit_subject(&self, commit: ObjectId) -> Result<String> {
        let repo = self.store.repo();
        let commit = repo.find_commit(commit.oid())?;
        let message = String::from_utf8_lossy(commit.message_bytes()).into_owned();
        Ok(message.lines().next().unwrap_or_default().to_owned())
    }

    /// Paths that differ between two commits; a rename is two paths.
    pub fn paths_between(&self, from: &str, to: &str) -> Result<Vec<RepoPath>> {
        let (from, to) = (self.resolve(from)?.to_string(), self.resolve(to)?.to_string());
        let out =
            self.git.run(&["diff-tree", "-r", "-z", "--name-only", "--no-renames", &from, &to, "--"])?;
        Ok(out
            .split(|byte| *byte == 0)
            .filter_map(|raw| std::str::from_utf8(raw).ok().and_then(|text| RepoPath::new(text).ok()))
            .collect())
    }

    /// Unified diff between two commits, in git's default form whatever the user's settings.
    pub fn diff_between(&self, from: &str, to: &str) -> Result<String> {
        let (from, to) = (self.resolve(from)?.to_string(), self.resolve(to)?.to_string());
        let out = self.git.run(&[
            "diff-tree",
            "-r",
            "-p",
            "--no-renames",
            "--no-ext-diff",
            "--no-textconv",
            "--no-color",
            &from,
            &to,
            "--",
        ])?;
        Ok(String::from_utf8_lossy(&out).into_owned())
    }

    /// The file at a revision, as it is in the object store; `None` when it is not there.
    pub fn read_at(&self, revision: &str, path: &RepoPath) -> Result<Option<Vec<u8>>> {
        let commit = self.resolve(revision)?;
        match self.store.tree_entry(commit, path.as_str())? {
            Some((mode, id)) if mode != 0o160_000 => Ok(Some(self.store.read(id)?)),
            _ => Ok(None),
        }
    }

    /// Whether work tree and index are exactly HEAD, with no untracked file.
    pub fn is_clean(&self) -> Result<bool> {
        Ok(self.unclean_paths()?.is_empty())
    }

    /// The paths that keep the work tree from being clean.
    pub fn unclean_paths(&self) -> Result<Vec<String>> {
        let status = status::read(&self.git, false)?;
        let tracked = status.tracked.iter().map(|listed| listed.path.to_string());
        let others = status.untracked.iter().chain(&status.nested).map(ToString::to_string);
        Ok(tracked.chain(others).chain(status.unreadable.iter().cloned()).collect())
    }
}
