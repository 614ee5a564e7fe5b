//! Changing some entries of the index without losing any other.
//!
//! Owns `index.lock` for as long as one edit takes. The order is git's own (R17): take the lock, read the index, make a
//! new one from a copy with `git update-index`, compare all other entries, move it into place, release. So an entry
//! that somebody adds meanwhile is either seen or waits. A lock of anybody else is never deleted (R18); our own is known
//! by its inode, so that the next start can remove it after a crash.

use std::fs::{File, OpenOptions};
use std::io::ErrorKind;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use rustix::fs::{FlockOperation, flock};

use super::index::{self, IndexChange, IndexEntry};
use super::index_file::IndexFile;
use super::object::{FileKind, ObjectId};
use super::path::RepoPath;
use super::{Result, Workspace, WorkspaceError, fault};

const CLAIM: &str = "index-claim.";
/// Waits between attempts, two seconds in all.
const BACKOFF_MS: [u64; 8] = [10, 25, 65, 100, 200, 400, 600, 600];
static COUNTER: AtomicU64 = AtomicU64::new(0);

/// `index.lock`, held. Dropping it releases the lock.
pub(super) struct Held {
    lock: PathBuf,
    claim: PathBuf,
    draft: PathBuf,
    /// Locked for as long as this process lives; how a later start tells an abandoned claim from one in use.
    _alive: File,
}

impl Drop for Held {
    fn drop(&mut self) {
        for file in [&self.lock, &self.draft, &with_lock_suffix(&self.draft), &self.claim] {
            std::fs::remove_file(file).ok();
        }
    }
}

fn with_lock_suffix(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

impl Workspace {
    /// Gives the paths of `edits` their `after` entries where they now have their `before` entries. Returns the paths
    /// that have others; with `all_or_nothing` a single one keeps everything as it was.
    pub(super) fn edit_index(&self, edits: &[IndexChange], all_or_nothing: bool) -> Result<Vec<RepoPath>> {
        if edits.is_empty() {
            return Ok(Vec::new());
        }
        let held = self.take_index_lock(&mut std::thread::sleep)?;
        fault::point("index.locked");
        let index_path = self.index_path();
        if index_path.exists() {
            copy_with_times(&index_path, &held.draft)
                .map_err(|source| WorkspaceError::State { path: held.draft.clone(), source })?;
        }
        let present = index::read(&held.draft)?;
        let (fitting, foreign): (Vec<&IndexChange>, Vec<&IndexChange>) =
            edits.iter().partition(|edit| index::entries_of(&present, &edit.path) == edit.before);
        let foreign: Vec<RepoPath> = foreign
            .into_iter()
            .filter(|edit| index::entries_of(&present, &edit.path) != edit.after)
            .map(|edit| edit.path.clone())
            .collect();
        let todo: Vec<&IndexChange> = fitting.into_iter().filter(|edit| edit.before != edit.after).collect();
        if todo.is_empty() || (all_or_nothing && !foreign.is_empty()) {
            return Ok(foreign);
        }
        self.write_entries(&held.draft, &todo)?;
        self.compare_others(&present, &held.draft, &todo)?;
        fault::point("index.before");
        std::fs::rename(&held.draft, &index_path)
            .map_err(|source| WorkspaceError::State { path: index_path, source })?;
        fault::point("index.after");
        drop(held);
        fault::point("index.released");
        Ok(foreign)
    }

    fn write_entries(&self, draft: &Path, edits: &[&IndexChange]) -> Result<()> {
        let git = self.git.with_env("GIT_INDEX_FILE", draft);
        let mut info = Vec::new();
        let zero = ObjectId::zero();
        let (mut skip, mut assume, mut intent) = (Vec::new(), Vec::new(), Vec::new());
        for edit in edits {
            let path = edit.path.as_str().as_bytes();
            // Removing first clears all stages and flags of what was there.
            info.extend_from_slice(format!("0 {zero}\t").as_bytes());
            info.extend_from_slice(path);
            info.push(0);
            for entry in &edit.after {
                let lists = [(entry.skip_worktree, &mut skip), (entry.assume_unchanged, &mut assume)];
                for (_, list) in lists.into_iter().filter(|(flagged, _)| *flagged) {
                    list.extend_from_slice(path);
                    list.push(0);
                }
                if entry.intent_to_add {
                    intent.extend_from_slice(path);
                    intent.push(0);
                    continue;
                }
                info.extend_from_slice(
                    format!("{:06o} {} {}\t", entry.mode, entry.id, entry.stage).as_bytes(),
                );
                info.extend_from_slice(path);
                info.push(0);
            }
        }
        // Without the second setting git clears skip-worktree of every entry whose file is there (R15).
        const QUIET: [&str; 4] =
            ["-c", "core.hooksPath=/dev/null", "-c", "sparse.expectFilesOutsideOfPatterns=true"];
        let run = |args: &[&str], input: &[u8]| -> Result<()> {
            let args: Vec<&str> = QUIET.iter().chain(args).copied().collect();
            git.feed(&args, input)?;
            Ok(())
        };
        run(&["update-index", "-z", "--index-info"], &info)?;
        if !intent.is_empty() {
            run(
                &[
                    "add",
                    "--intent-to-add",
                    "--force",
                    "--sparse",
                    "--pathspec-from-file=-",
                    "--pathspec-file-nul",
                ],
                &intent,
            )?;
        }
        for (flag, list) in [("--skip-worktree", skip), ("--assume-unchanged", assume)] {
            if !list.is_empty() {
                run(&["update-index", flag, "-z", "--stdin"], &list)?;
            }
        }
        Ok(())
    }

    /// All entries that were not to change are what they were, and the others are what was asked for.
    fn compare_others(&self, before: &IndexFile, draft: &Path, edits: &[&IndexChange]) -> Result<()> {
        let after = index::read(draft)?;
        for edit in edits {
            if !same_entries(&index::entries_of(&after, &edit.path), &edit.after) {
                return Err(WorkspaceError::IndexSideEffect(edit.path.to_string()));
            }
        }
        let edited = edits.iter().map(|edit| edit.path.as_str()).collect();
        match index::first_difference(before, &after, &edited) {
            Some(path) => Err(WorkspaceError::IndexSideEffect(path)),
            None => Ok(()),
        }
    }

    /// Takes the lock, calling `wait` between attempts for as long as somebody else has it.
    pub(super) fn take_index_lock(&self, wait: &mut dyn FnMut(Duration)) -> Result<Held> {
        let state = self.state_dir();
        let failed = |path: &Path| {
            let path = path.to_path_buf();
            move |source| WorkspaceError::State { path, source }
        };
        std::fs::create_dir_all(&state).map_err(failed(&state))?;
        let id = format!("{}.{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed));
        let claim = state.join(format!("{CLAIM}{id}"));
        let unnamed = state.join(format!("index-new.{id}"));
        let alive = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(true)
            .open(&unnamed)
            .map_err(failed(&unnamed))?;
        // Nobody else knows the file yet, so this neither fails nor waits; and once it has its name it is locked.
        flock(&alive, FlockOperation::NonBlockingLockExclusive)
            .map_err(|error| failed(&claim)(error.into()))?;
        std::fs::rename(&unnamed, &claim).map_err(failed(&claim))?;
        let lock = with_lock_suffix(&self.index_path());
        let mut waits = BACKOFF_MS.iter();
        loop {
            match link_or_create(&claim, &lock) {
                Ok(()) => {
                    let draft = state.join(format!("index-draft.{id}"));
                    return Ok(Held { lock, claim, draft, _alive: alive });
                }
                Err(error) if error.kind() == ErrorKind::AlreadyExists => match waits.next() {
                    Some(time) => wait(Duration::from_millis(*time)),
                    None => {
                        std::fs::remove_file(&claim).ok();
                        return Err(held_by_other(lock));
                    }
                },
                Err(source) => {
                    std::fs::remove_file(&claim).ok();
                    return Err(WorkspaceError::State { path: lock, source });
                }
            }
        }
    }
}

/// The new id of an intent-to-add entry is always that of the empty blob, whatever it was read as.
fn same_entries(present: &[IndexEntry], wanted: &[IndexEntry]) -> bool {
    let plain = |entries: &[IndexEntry]| -> Vec<IndexEntry> {
        let same = |entry: &IndexEntry| {
            if !entry.intent_to_add {
                return *entry;
            }
            IndexEntry { id: ObjectId::zero(), mode: FileKind::Regular.git_mode(), ..*entry }
        };
        entries.iter().map(same).collect()
    };
    plain(present) == plain(wanted)
}

/// A hard link gives the lock the claim's inode, in one step that fails when the lock exists.
fn link_or_create(claim: &Path, lock: &Path) -> std::io::Result<()> {
    match std::fs::hard_link(claim, lock) {
        Err(error)
            if !matches!(error.kind(), ErrorKind::AlreadyExists | ErrorKind::NotFound) && !lock.exists() =>
        {
            // A file system without hard links.
            OpenOptions::new().write(true).create_new(true).open(lock).map(|_| ())
        }
        other => other,
    }
}

/// git tells entries that changed in the same tick as the index was written by the index's own timestamp. A copy with
/// a later one would make such an entry look clean.
fn copy_with_times(from: &Path, to: &Path) -> std::io::Result<()> {
    let meta = std::fs::metadata(from)?;
    std::fs::copy(from, to)?;
    OpenOptions::new().write(true).open(to)?.set_modified(meta.modified()?)
}

fn held_by_other(lock: PathBuf) -> WorkspaceError {
    let age = std::fs::metadata(&lock).and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
    let owner =
        owner_of(&lock).unwrap_or_else(|| "a program that no longer runs, or one of another user".to_owned());
    WorkspaceError::IndexLocked { path: lock, owner, age_seconds: age.map_or(0, |age| age.as_secs()) }
}

/// git keeps its lock file open while it holds the lock, which /proc shows.
fn owner_of(lock: &Path) -> Option<String> {
    let lock = lock.canonicalize().ok()?;
    for process in std::fs::read_dir("/proc").ok()?.flatten() {
        let name = process.file_name();
        let Some(pid) = name.to_str().filter(|name| name.bytes().all(|b| b.is_ascii_digit())) else {
            continue;
        };
        let Ok(open) = std::fs::read_dir(process.path().join("fd")) else { continue };
        if open.flatten().any(|fd| std::fs::read_link(fd.path()).is_ok_and(|target| target == lock)) {
            let program = std::fs::read_to_string(process.path().join("comm")).unwrap_or_default();
            return Some(format!("{} (pid {pid})", program.trim()));
        }
    }
    None
}

/// Removes an `index.lock` that a crashed Fix Loop left behind, and the files that belong to it. A lock with any other
/// inode than that of an abandoned claim is somebody else's.
pub(super) fn release_abandoned(workspace: &Workspace) {
    let Ok(entries) = std::fs::read_dir(workspace.state_dir()) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let Some(id) = name.to_str().and_then(|name| name.strip_prefix(CLAIM)) else { continue };
        let claim = entry.path();
        let Ok(file) = OpenOptions::new().write(true).open(&claim) else { continue };
        if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
            continue;
        }
        let lock = with_lock_suffix(&workspace.index_path());
        let inode = |meta: std::fs::Metadata| (meta.dev(), meta.ino());
        if let (Ok(ours), Ok(theirs)) = (file.metadata(), std::fs::symlink_metadata(&lock))
            && inode(ours) == inode(theirs)
        {
            std::fs::remove_file(&lock).ok();
        }
        let draft = workspace.state_dir().join(format!("index-draft.{id}"));
        std::fs::remove_file(with_lock_suffix(&draft)).ok();
        std::fs::remove_file(draft).ok();
        std::fs::remove_file(&claim).ok();
    }
}
