//! Contents as git objects: ids, file states, and the object store.
//!
//! Owns reading and writing blobs, trees and the refs under `refs/fix-loop/` that keep them from being collected.
//! Never touches the work tree or the index.

use std::collections::BTreeMap;
use std::fmt;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard};

use git2::{ObjectType, Oid, Repository};
use serde::{Deserialize, Serialize};

use super::fault;

/// The SHA-1 name of a git object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ObjectId([u8; 20]);

impl ObjectId {
    /// The name git gives to a blob of exactly these bytes, without any filter.
    pub fn of_bytes(bytes: &[u8]) -> ObjectId {
        Oid::hash_object(ObjectType::Blob, bytes).expect("hashing memory cannot fail").into()
    }

    /// The id that git prints for "nothing".
    pub fn zero() -> ObjectId {
        ObjectId([0; 20])
    }

    pub(super) fn from_bytes(bytes: [u8; 20]) -> ObjectId {
        ObjectId(bytes)
    }

    /// Whether this is [`ObjectId::zero`].
    pub fn is_zero(&self) -> bool {
        self.0 == [0; 20]
    }

    pub(super) fn oid(self) -> Oid {
        Oid::from_bytes(&self.0).expect("an object id has 20 bytes")
    }
}

impl From<Oid> for ObjectId {
    fn from(oid: Oid) -> ObjectId {
        let mut id = [0; 20];
        id.copy_from_slice(oid.as_bytes());
        ObjectId(id)
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&hex::encode(self.0))
    }
}

impl fmt::Debug for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// Text that is not 40 hexadecimal digits.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{0}` is not a SHA-1 object id")]
pub struct NotAnObjectId(String);

impl FromStr for ObjectId {
    type Err = NotAnObjectId;

    fn from_str(text: &str) -> Result<ObjectId, NotAnObjectId> {
        let mut id = [0; 20];
        hex::decode_to_slice(text, &mut id).map_err(|_| NotAnObjectId(text.to_owned()))?;
        Ok(ObjectId(id))
    }
}

impl TryFrom<String> for ObjectId {
    type Error = NotAnObjectId;

    fn try_from(text: String) -> Result<ObjectId, NotAnObjectId> {
        text.parse()
    }
}

impl From<ObjectId> for String {
    fn from(id: ObjectId) -> String {
        id.to_string()
    }
}

/// What stands at a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FileKind {
    /// A file without the owner's execute bit.
    Regular,
    /// A file with it.
    Executable,
    /// A symlink; its content is the target.
    Symlink,
    /// A submodule or another nested repository; its content is a digest of its state, which is never written back.
    Repository,
    /// FIFO, socket or device; never opened.
    Special,
}

impl FileKind {
    /// The mode that git gives it in the index.
    pub fn git_mode(self) -> u32 {
        match self {
            FileKind::Regular | FileKind::Special => 0o100_644,
            FileKind::Executable => 0o100_755,
            FileKind::Symlink => 0o120_000,
            FileKind::Repository => 0o160_000,
        }
    }

    pub(super) fn from_git_mode(mode: u32) -> FileKind {
        match mode & 0o170_000 {
            0o120_000 => FileKind::Symlink,
            0o160_000 => FileKind::Repository,
            _ if mode & 0o100 != 0 => FileKind::Executable,
            _ => FileKind::Regular,
        }
    }

    /// Whether it is a plain file, executable or not.
    pub fn is_file(self) -> bool {
        matches!(self, FileKind::Regular | FileKind::Executable)
    }
}

/// The exact state of one path in the work tree.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct FileState {
    /// Type and mode.
    pub kind: FileKind,
    /// Blob of the raw bytes (unfiltered). For what is not `stored` it is a digest that changes when the file does.
    pub content: ObjectId,
    /// Length in bytes.
    pub size: u64,
    /// Permission bits, where the file was looked at (a clean file is not).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub permissions: Option<u32>,
    /// Whether the bytes are in the object store. False for files over the size limits and for what has no bytes.
    pub stored: bool,
}

/// Permission bits other than "executable" are kept when a file is written back, but do not make two states differ:
/// git does not see them, and they are unknown for clean files.
impl PartialEq for FileState {
    fn eq(&self, other: &FileState) -> bool {
        self.kind == other.kind && self.content == other.content
    }
}

impl Eq for FileState {}

/// The repository, kept open. git2 reads and writes objects and refs here; it never writes the index.
pub(super) struct Store(Mutex<Repository>);

impl fmt::Debug for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Store")
    }
}

impl Store {
    pub(super) fn new(repository: Repository) -> Store {
        Store(Mutex::new(repository))
    }

    pub(super) fn repo(&self) -> MutexGuard<'_, Repository> {
        // Nothing in git2 is left half-changed by a panic elsewhere while the lock was held.
        self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    pub(super) fn write(&self, bytes: &[u8]) -> Result<ObjectId, git2::Error> {
        fault::point("object.before");
        let id = self.repo().blob(bytes)?;
        fault::point("object.after");
        Ok(id.into())
    }

    pub(super) fn read(&self, id: ObjectId) -> Result<Vec<u8>, git2::Error> {
        let repo = self.repo();
        let blob = repo.find_blob(id.oid())?;
        Ok(blob.content().to_vec())
    }

    pub(super) fn exists(&self, id: ObjectId) -> bool {
        self.repo().odb().is_ok_and(|odb| odb.exists(id.oid()))
    }

    /// Writes a tree with one document and every object it speaks of, and points `name` at it. A ref to a tree is
    /// invisible to `git log --all` and to graph viewers, and keeps the objects from being collected all the same.
    pub(super) fn keep(
        &self,
        name: &str,
        document: &str,
        text: &[u8],
        objects: &BTreeMap<ObjectId, u32>,
    ) -> Result<(), git2::Error> {
        fault::point("keep.before");
        let repo = self.repo();
        let odb = repo.odb()?;
        let mut held = repo.treebuilder(None)?;
        for (id, mode) in objects {
            // A missing object (a broken repository) must not make the rest unprotected.
            if odb.exists(id.oid()) {
                held.insert(id.to_string(), id.oid(), i32::try_from(*mode).unwrap_or(0o100_644))?;
            }
        }
        let held = held.write()?;
        fault::point("keep.objects");
        let document_id = repo.blob(text)?;
        let mut top = repo.treebuilder(None)?;
        top.insert(document, document_id, 0o100_644)?;
        top.insert("objects", held, 0o040_000)?;
        let top = top.write()?;
        fault::point("keep.tree");
        repo.reference(name, top, true, "fix-loop")?;
        fault::point("keep.after");
        Ok(())
    }

    /// The document that [`Store::keep`] stored under `name`; `None` when there is no such ref.
    pub(super) fn kept(&self, name: &str, document: &str) -> Result<Option<Vec<u8>>, git2::Error> {
        let repo = self.repo();
        let id = match repo.refname_to_id(name) {
            Ok(id) => id,
            Err(error) if error.code() == git2::ErrorCode::NotFound => return Ok(None),
            Err(error) => return Err(error),
        };
        let tree = repo.find_tree(id)?;
        match tree.get_name(document) {
            Some(entry) => Ok(Some(repo.find_blob(entry.id())?.content().to_vec())),
            None => Ok(None),
        }
    }

    /// Entry of `path` in the tree of `commit`.
    pub(super) fn tree_entry(
        &self,
        commit: ObjectId,
        path: &str,
    ) -> Result<Option<(u32, ObjectId)>, git2::Error> {
        let repo = self.repo();
        let tree = repo.find_commit(commit.oid())?.tree()?;
        match tree.get_path(Path::new(path)) {
            Ok(entry) if entry.kind() == Some(ObjectType::Tree) => Ok(None),
            Ok(entry) => {
                Ok(Some((u32::try_from(entry.filemode()).unwrap_or(0o100_644), ObjectId::from(entry.id()))))
            }
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }
}
