//! Files that the user saved in the editor while a worker was at them (R32).
//!
//! Owns telling whether the text that a worker left holds what the user had saved before, and the text that holds both.
//! Never decides whose a change is, and writes a file only where it still is as it was seen.

use super::object::{FileKind, FileState};
use super::path::RepoPath;
use super::transplant::transplant;
use super::{Result, Workspace, WorkspaceError};

impl Workspace {
    /// The state of a file with these bytes, which are kept as an object. Mode and permissions are those of `like`.
    pub fn file_of(&self, bytes: &[u8], like: Option<&FileState>) -> Result<FileState> {
        let like = like.filter(|state| state.kind.is_file());
        Ok(FileState {
            kind: like.map_or(FileKind::Regular, |state| state.kind),
            content: self.store.write(bytes)?,
            size: bytes.len() as u64,
            permissions: like.and_then(|state| state.permissions),
            stored: true,
        })
    }

    /// What the file would be if the worker, which found `before` and left `now`, had known of what the user `saved`
    /// meanwhile. `None` where it did know, and where both changed the same lines.
    pub fn with_save(
        &self,
        before: &FileState,
        saved: &FileState,
        now: &FileState,
    ) -> Result<Option<FileState>> {
        if ![before, saved, now].iter().all(|state| state.stored && state.kind.is_file()) {
            return Ok(None);
        }
        let [before_text, saved_text, now_text] =
            [before, saved, now].map(|state| self.store.read(state.content));
        let (before_text, saved_text, now_text) = (before_text?, saved_text?, now_text?);
        // Seen from the save, only the worker's lines differ, and those stood there before: it wrote beside the user's.
        if transplant(&saved_text, &now_text, &before_text).is_ok() {
            return Ok(None);
        }
        match transplant(&before_text, &now_text, &saved_text) {
            Ok(both) => self.file_of(&both, Some(now)).map(Some),
            Err(_) => Ok(None),
        }
    }

    /// Gives a file other bytes where it still is as `expected`. Says whether it was.
    pub fn replace_file(&self, path: &RepoPath, expected: &FileState, wanted: &FileState) -> Result<bool> {
        let bytes = self.store.read(wanted.content)?;
        let wanted =
            super::disk::Wanted { kind: wanted.kind, bytes: &bytes, permissions: wanted.permissions };
        self.disk
            .replace(path, Some((expected.kind, expected.content)), Some(wanted))
            .map_err(|source| WorkspaceError::File { path: path.clone(), source })
    }
}
