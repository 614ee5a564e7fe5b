//! The state in which one path of the work tree is now.
//!
//! Owns turning a file into a [`FileState`], with its bytes in the object store, and remembering those that have not
//! changed since they were read. Never decides which paths are looked at.

use super::disk::{Look, Signature};
use super::object::{FileKind, FileState, ObjectId};
use super::path::RepoPath;
use super::{Result, Workspace, WorkspaceError};

/// Files above this are not copied (50 MiB).
pub(super) const LARGEST: u64 = 50 << 20;

impl Workspace {
    /// The present state of a path, with its bytes written as an object; `None`: absent.
    pub fn file_state(&self, path: &RepoPath) -> Result<Option<FileState>> {
        self.present(path)
    }

    pub(super) fn present(&self, path: &RepoPath) -> Result<Option<FileState>> {
        self.state_on_disk(path, LARGEST)
    }

    pub(super) fn state_on_disk(&self, path: &RepoPath, largest: u64) -> Result<Option<FileState>> {
        let failed = |source| WorkspaceError::File { path: path.clone(), source };
        let seen = match self.disk.look(path).map_err(failed)? {
            Look::Absent => return Ok(None),
            Look::Folder => return self.repository_state(path),
            Look::File(seen) => seen,
        };
        let unread = |seen: Signature| FileState {
            kind: seen.kind,
            content: seen.digest(),
            size: seen.size,
            permissions: Some(seen.permissions),
            stored: false,
        };
        if seen.kind == FileKind::Special || seen.size > largest {
            return Ok(Some(unread(seen)));
        }
        if let Some(content) = self.remembered(path, &seen) {
            return Ok(Some(stored(&seen, content, seen.size)));
        }
        let (seen, bytes) = match self.disk.read(path) {
            Ok(Some(read)) => read,
            Ok(None) => return Ok(None),
            // A file of another user (a database of some container, say) must not keep all others unprotected.
            Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
                return Ok(Some(unread(seen)));
            }
            Err(error) => return Err(failed(error)),
        };
        let content = self.store.write(&bytes)?;
        if seen.is_settled() {
            self.memory().insert(path.clone(), (seen, content));
        }
        Ok(Some(stored(&seen, content, bytes.len() as u64)))
    }

    fn memory(
        &self,
    ) -> std::sync::MutexGuard<'_, std::collections::HashMap<RepoPath, (Signature, ObjectId)>> {
        self.seen.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    fn remembered(&self, path: &RepoPath, seen: &Signature) -> Option<ObjectId> {
        let content =
            self.memory().get(path).filter(|(then, _)| then == seen).map(|(_, content)| *content)?;
        self.store.exists(content).then_some(content)
    }

    /// A folder stands for a file only where it is a submodule or another repository. Its state is digested from its
    /// HEAD and from what differs in it, so that a change is seen; its bytes are its own repository's business.
    fn repository_state(&self, path: &RepoPath) -> Result<Option<FileState>> {
        let full = path.under(&self.root);
        if self.disk.is_beyond_link(path) || full.join(".git").symlink_metadata().is_err() {
            return Ok(None);
        }
        let git = super::git::Git::new(&full);
        let (_, head, _) = git.status(&["rev-parse", "--verify", "-q", "HEAD"], b"")?;
        let mut text = head;
        let (_, listed, _) = git.status(
            &[
                "-c",
                "core.fsmonitor=false",
                "status",
                "--porcelain=v2",
                "-z",
                "--no-renames",
                "--untracked-files=all",
            ],
            b"",
        )?;
        for record in listed.split(|byte| *byte == 0) {
            text.extend_from_slice(record);
            let name = record.rsplit(|byte| *byte == b' ').next().unwrap_or_default();
            if let Ok(meta) = full.join(String::from_utf8_lossy(name).as_ref()).symlink_metadata()
                && let Ok(modified) = meta.modified()
            {
                text.extend_from_slice(format!(" {} {modified:?}\n", meta.len()).as_bytes());
            }
        }
        Ok(Some(FileState {
            kind: FileKind::Repository,
            content: ObjectId::of_bytes(&text),
            size: 0,
            permissions: None,
            stored: false,
        }))
    }
}

fn stored(seen: &Signature, content: ObjectId, size: u64) -> FileState {
    FileState { kind: seen.kind, content, size, permissions: Some(seen.permissions), stored: true }
}
