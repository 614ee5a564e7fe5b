//! The exact state of work tree, index and refs before a dispatch.
//!
//! Owns taking, storing, loading and expiring checkpoints (DESIGN 7.1). Its cost follows what has changed, not the size
//! of the repository: a clean file is not read. Never changes the work tree, the user's index or refs; `restore` puts
//! things back.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, SystemTime};

use serde::{Deserialize, Serialize};

use super::index::Entries;
use super::object::{FileState, ObjectId};
use super::path::RepoPath;
use super::present::LARGEST;
use super::status::{self, Status};
use super::{Result, Workspace, WorkspaceError};

/// Ignored files above this are not copied (1 MiB).
const LARGEST_IGNORED: u64 = 1 << 20;
const DOCUMENT: &str = "checkpoint.json";
const SPACE: &str = "refs/fix-loop/";

/// Which checkpoint of which loop: the last two parts of its ref.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct CheckpointName {
    /// The loop.
    #[serde(rename = "loop")]
    pub of_loop: String,
    /// What it is called within the loop, such as `1`.
    pub label: String,
}

/// A name that cannot be part of a ref.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` cannot name a loop or a checkpoint; use letters, digits, `-` and `_`")]
pub struct NameError(String);

impl CheckpointName {
    /// Both parts hold letters, digits, `-` and `_` only.
    pub fn new(of_loop: &str, label: &str) -> Result<CheckpointName, NameError> {
        for part in [of_loop, label] {
            let fine = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
            if part.is_empty() || part.starts_with('-') || !part.chars().all(fine) {
                return Err(NameError(part.to_owned()));
            }
        }
        Ok(CheckpointName { of_loop: of_loop.to_owned(), label: label.to_owned() })
    }
}

/// Where HEAD is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Head {
    /// Its commit; `None` before the first one.
    pub commit: Option<ObjectId>,
    /// The branch that it is on, in full (`refs/heads/main`); `None` when detached.
    pub branch: Option<String>,
}

/// A path whose bytes are not in the checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unprotected {
    /// The path, with unreadable characters replaced.
    pub path: String,
    /// Length in bytes, where known.
    pub size: u64,
    /// Why it could not be copied.
    pub why: String,
}

/// The state of everything that a worker could damage.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Checkpoint {
    /// Its name.
    pub name: CheckpointName,
    /// When it was begun.
    pub taken_at: SystemTime,
    /// HEAD and branch.
    pub head: Head,
    /// All refs except our own, by full name.
    pub refs: BTreeMap<String, ObjectId>,
    /// The stash, newest first.
    pub stash: Vec<ObjectId>,
    /// The operation in progress (`merge`, `rebase`…), or `clean`.
    pub operation: String,
    /// Entries that differ from HEAD, are unmerged, or carry a flag.
    pub(super) index: Entries,
    /// Every path that was not clean, and those that were asked for. `None`: absent.
    pub(super) files: BTreeMap<RepoPath, Option<FileState>>,
    /// Ignored files outside ignored folders.
    pub(super) ignored: BTreeMap<RepoPath, FileState>,
    /// Ignored folders and whatever they hold.
    pub(super) ignored_folders: BTreeSet<RepoPath>,
    /// Configuration, exclusions and hooks in the git folder, by name.
    #[serde(default)]
    pub(super) git_files: BTreeMap<String, ObjectId>,
    /// Paths that would be lost if a worker damaged them.
    pub unprotected: Vec<Unprotected>,
}

impl Checkpoint {
    /// The recorded paths that were not clean, with their states. `None`: absent from the work tree.
    pub fn files(&self) -> impl Iterator<Item = (&RepoPath, Option<&FileState>)> {
        self.files.iter().map(|(path, state)| (path, state.as_ref()))
    }

    /// The same checkpoint with another state of one path, in memory only. For staging after the user saved a file in
    /// the middle of a loop: see [`Workspace::without_fix`].
    pub fn with_file(&self, path: &RepoPath, state: Option<FileState>) -> Checkpoint {
        let mut other = self.clone();
        other.files.insert(path.clone(), state);
        other
    }

    /// Whether `path` lay in an ignored folder, where nothing is protected.
    pub(super) fn in_ignored_folder(&self, path: &RepoPath) -> bool {
        path.ancestors().any(|folder| self.ignored_folders.contains(&folder))
            || self.ignored_folders.contains(path)
    }
}

/// HEAD, refs, stash and the operation in progress.
#[derive(Debug)]
pub(super) struct RefState {
    pub(super) head: Head,
    pub(super) refs: BTreeMap<String, ObjectId>,
    pub(super) stash: Vec<ObjectId>,
    pub(super) operation: String,
}

impl Workspace {
    /// Records the present state under `refs/fix-loop/<loop>/<label>`. Paths in `also` are recorded though they are
    /// clean; give the scope, so that its files can be put back to the very bytes even where a filter (line endings,
    /// LFS) maps several contents to one blob.
    pub fn checkpoint(&self, name: &CheckpointName, also: &[RepoPath]) -> Result<Checkpoint> {
        let taken_at = SystemTime::now();
        let status = status::read(&self.git, true)?;
        let refs = self.ref_state()?;
        let index = self.read_index()?;
        let index = self.notable_entries(&index, &status);
        let mut unprotected = Vec::new();
        let mut files = BTreeMap::new();
        for path in also.iter().cloned().chain(listed_paths(&status, &index)) {
            if let std::collections::btree_map::Entry::Vacant(slot) = files.entry(path) {
                let state = self.state_on_disk(slot.key(), LARGEST)?;
                if let Some(state) = &state
                    && !state.stored
                    && state.kind.is_file()
                {
                    unprotected.push(Unprotected {
                        path: slot.key().to_string(),
                        size: state.size,
                        why: (if state.size > LARGEST { "larger than 50 MiB" } else { "it cannot be read" })
                            .to_owned(),
                    });
                }
                slot.insert(state);
            }
        }
        let unreadable = |path: &String| Unprotected {
            path: path.clone(),
            size: 0,
            why: "its name is not UTF-8".to_owned(),
        };
        unprotected.extend(status.unreadable.iter().map(unreadable));
        let checkpoint = Checkpoint {
            name: name.clone(),
            taken_at,
            head: refs.head,
            refs: refs.refs,
            stash: refs.stash,
            operation: refs.operation,
            index,
            files,
            ignored: self.ignored_states(&status)?,
            ignored_folders: status.ignored_folders.iter().cloned().collect(),
            git_files: self.git_files(),
            unprotected,
        };
        self.keep_index(name);
        self.store_checkpoint(&checkpoint)?;
        Ok(checkpoint)
    }

    /// git replaces its index and never writes into it, so one more name keeps the index of this moment, for nothing.
    /// It knows the length that each clean file had, which tells the contents apart that a filter maps to one blob.
    fn keep_index(&self, name: &CheckpointName) {
        let kept = self.kept_index(name);
        if let Some(folder) = kept.parent() {
            std::fs::create_dir_all(folder).ok();
        }
        std::fs::remove_file(&kept).ok();
        if std::fs::hard_link(self.index_path(), &kept).is_err() {
            std::fs::copy(self.index_path(), &kept).ok();
        }
    }

    pub(super) fn kept_index(&self, name: &CheckpointName) -> std::path::PathBuf {
        self.state_dir().join("indexes").join(format!("{}.{}", name.of_loop, name.label))
    }

    fn store_checkpoint(&self, checkpoint: &Checkpoint) -> Result<()> {
        let mut objects = BTreeMap::new();
        let states = checkpoint.files.values().flatten().chain(checkpoint.ignored.values());
        for state in states.filter(|state| state.stored) {
            objects.insert(state.content, 0o100_644);
        }
        for entry in checkpoint.index.values().flatten().filter(|entry| !entry.is_gitlink()) {
            objects.insert(entry.id, 0o100_644);
        }
        for commit in &checkpoint.stash {
            self.keep_commit(*commit, &mut objects)?;
        }
        let name = self.ref_name(&checkpoint.name);
        let text = serde_json::to_vec(checkpoint)
            .map_err(|source| WorkspaceError::BadRecord { name: name.clone(), source })?;
        Ok(self.store.keep(&name, DOCUMENT, &text, &objects)?)
    }

    /// Keeps what a stash entry consists of, even if a worker drops it and collects garbage: its tree, and the trees
    /// of the index and of the untracked files, which are further parents; and the commits themselves, as text.
    fn keep_commit(&self, id: ObjectId, objects: &mut BTreeMap<ObjectId, u32>) -> Result<()> {
        let mut texts = Vec::new();
        {
            let repo = self.store.repo();
            let Ok(stash) = repo.find_commit(id.oid()) else { return Ok(()) };
            for commit in std::iter::once(stash.clone()).chain(stash.parents().skip(1)) {
                objects.insert(commit.tree_id().into(), 0o040_000);
                texts.push(repo.odb()?.read(commit.id())?.data().to_vec());
            }
        }
        for text in texts {
            objects.insert(self.store.write(&text)?, 0o100_644);
        }
        Ok(())
    }

    /// The checkpoint of that name.
    pub fn load_checkpoint(&self, name: &CheckpointName) -> Result<Checkpoint> {
        self.load(name, DOCUMENT, "checkpoint")
    }

    pub(super) fn load<T: serde::de::DeserializeOwned>(
        &self,
        name: &CheckpointName,
        document: &str,
        what: &str,
    ) -> Result<T> {
        let full = self.ref_name(name);
        let text = self.store.kept(&full, document)?;
        let text = text.ok_or_else(|| WorkspaceError::NoSuchRecord(format!("{what} {full}")))?;
        serde_json::from_slice(&text).map_err(|source| WorkspaceError::BadRecord { name: full, source })
    }

    /// Removes checkpoints and set-asides of the loops that `finished` names which are older than `older_than`.
    /// Returns how many refs went. Their objects are collected by git in its own time.
    pub fn expire_checkpoints(&self, older_than: Duration, finished: &dyn Fn(&str) -> bool) -> Result<usize> {
        let limit = SystemTime::now().checked_sub(older_than).unwrap_or(SystemTime::UNIX_EPOCH);
        let mut gone = 0;
        for (full, name) in self.own_refs()? {
            if !finished(&name.of_loop) {
                continue;
            }
            let taken =
                self.store.kept(&full, DOCUMENT)?.or(self.store.kept(&full, super::restore::DOCUMENT)?);
            #[derive(Deserialize)]
            struct Dated {
                taken_at: SystemTime,
            }
            let dated = taken.and_then(|text| serde_json::from_slice::<Dated>(&text).ok());
            if dated.is_none_or(|dated| dated.taken_at <= limit) {
                self.store.repo().find_reference(&full)?.delete()?;
                std::fs::remove_file(self.kept_index(&name)).ok();
                gone += 1;
            }
        }
        self.disk.sweep_scratch();
        Ok(gone)
    }

    /// Full ref of a checkpoint. Refs are shared by all worktrees of a repository, so a linked one adds its name.
    pub fn ref_name(&self, name: &CheckpointName) -> String {
        format!("{SPACE}{}{}/{}", name.of_loop, self.worktree_suffix(), name.label)
    }

    fn worktree_suffix(&self) -> String {
        if self.git_dir == self.common_dir {
            return String::new();
        }
        let name = self.git_dir.file_name().unwrap_or_default().to_string_lossy();
        let safe = |c: char| if c.is_ascii_alphanumeric() || c == '-' || c == '_' { c } else { '_' };
        format!("@{}", name.chars().map(safe).collect::<String>())
    }

    /// Our refs of this work tree.
    pub(super) fn own_refs(&self) -> Result<Vec<(String, CheckpointName)>> {
        let suffix = self.worktree_suffix();
        let repo = self.store.repo();
        let mut found = Vec::new();
        for reference in repo.references_glob(&format!("{SPACE}*"))? {
            let reference = reference?;
            let Ok(full) = reference.name() else { continue };
            let Some((of_loop, label)) = full.strip_prefix(SPACE).and_then(|rest| rest.split_once('/'))
            else {
                continue;
            };
            let (of_loop, at) =
                of_loop.split_once('@').map_or((of_loop, ""), |(name, _)| (name, &of_loop[name.len()..]));
            if at == suffix
                && let Ok(name) = CheckpointName::new(of_loop, label)
            {
                found.push((full.to_owned(), name));
            }
        }
        Ok(found)
    }

    /// The first label `<word>-<n>` that this loop has not used.
    pub(super) fn next_label(&self, of_loop: &str, word: &str) -> Result<CheckpointName> {
        let used: BTreeSet<String> = self
            .own_refs()?
            .into_iter()
            .filter(|(_, name)| name.of_loop == of_loop)
            .map(|(_, name)| name.label)
            .collect();
        let free = (1..).map(|n| format!("{word}-{n}")).find(|label| !used.contains(label));
        Ok(CheckpointName {
            of_loop: of_loop.to_owned(),
            label: free.expect("there are more numbers than refs"),
        })
    }

    /// Where HEAD is now.
    pub fn head(&self) -> Result<Head> {
        let repo = self.store.repo();
        let head = repo.find_reference("HEAD")?;
        let branch = head.symbolic_target().ok().flatten().map(str::to_owned);
        let commit = match head.resolve() {
            Ok(resolved) => resolved.target().map(ObjectId::from),
            Err(error) if error.code() == git2::ErrorCode::NotFound => None,
            Err(error) => return Err(error.into()),
        };
        Ok(Head { commit, branch })
    }

    /// The files by which a worker could make a later git command of the user's run something.
    pub(super) fn git_files(&self) -> BTreeMap<String, ObjectId> {
        let mut names: Vec<String> =
            ["config", "config.worktree", "info/exclude", "info/attributes"].map(Into::into).into();
        if let Ok(hooks) = std::fs::read_dir(self.common_dir.join("hooks")) {
            let hooks = hooks.flatten().filter_map(|hook| hook.file_name().into_string().ok());
            names.extend(hooks.filter(|name| !name.ends_with(".sample")).map(|name| format!("hooks/{name}")));
        }
        let digest = |name: &String| {
            let read = |folder: &std::path::Path| std::fs::read(folder.join(name)).ok();
            read(&self.common_dir).map(|bytes| ObjectId::of_bytes(&bytes))
        };
        names.into_iter().filter_map(|name| digest(&name).map(|id| (name, id))).collect()
    }

    pub(super) fn ref_state(&self) -> Result<RefState> {
        let head = self.head()?;
        let repo = self.store.repo();
        let mut refs = BTreeMap::new();
        for reference in repo.references()? {
            // A broken ref is the user's own trouble, and not ours to report here.
            let Ok(reference) = reference else { continue };
            let (Ok(name), Some(target)) = (reference.name(), reference.target()) else { continue };
            if !name.starts_with(SPACE) {
                refs.insert(name.to_owned(), target.into());
            }
        }
        let stash = match repo.reflog("refs/stash") {
            Ok(log) if refs.contains_key("refs/stash") => {
                log.iter().map(|entry| entry.id_new().into()).collect()
            }
            _ => refs.get("refs/stash").copied().into_iter().collect(),
        };
        let operation = format!("{:?}", repo.state()).to_ascii_lowercase();
        Ok(RefState { head, refs, stash, operation })
    }

    pub(super) fn ignored_states(&self, status: &Status) -> Result<BTreeMap<RepoPath, FileState>> {
        let mut states = BTreeMap::new();
        for path in &status.ignored {
            if let Some(state) = self.state_on_disk(path, LARGEST_IGNORED)? {
                states.insert(path.clone(), state);
            }
        }
        Ok(states)
    }
}

/// Every path whose bytes may be nowhere but in the work tree.
pub(super) fn listed_paths(status: &Status, index: &Entries) -> Vec<RepoPath> {
    let tracked = status.tracked.iter().map(|listed| &listed.path);
    tracked.chain(&status.untracked).chain(&status.nested).chain(index.keys()).cloned().collect()
}
