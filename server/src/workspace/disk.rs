//! The work tree as files: looking, reading and writing without ever following a link.
//!
//! Owns every access to the user's files. Each path is walked from the root with one open folder per component, so a
//! folder that became a symlink (to a place outside, say) ends the walk. A file is replaced only while it still has
//! the bytes that the caller expects. Never decides what to write; `restore` does.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, SystemTime};

use rustix::fs::{AtFlags, FileType, Mode, OFlags, Stat};
use rustix::io::Errno;

use super::fault;
use super::object::{FileKind, ObjectId};
use super::path::RepoPath;

/// What one look at a path says, without reading it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Look {
    Absent,
    Folder,
    File(Signature),
}

/// Everything about a file that changes when its bytes do.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Signature {
    pub(super) kind: FileKind,
    pub(super) size: u64,
    pub(super) permissions: u32,
    pub(super) inode: (u64, u64),
    pub(super) modified: (i64, i64),
    pub(super) changed: (i64, i64),
}

impl Signature {
    /// Whether the file has been quiet for so long that an equal signature means equal bytes, on file systems with
    /// coarse timestamps too.
    pub(super) fn is_settled(&self) -> bool {
        let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO);
        let now = i64::try_from(now.as_secs()).unwrap_or(i64::MAX);
        self.modified.0 + 3 < now && self.changed.0 + 3 < now
    }

    /// An id for contents that are not read: it differs when size, inode or modification time do.
    pub(super) fn digest(&self) -> ObjectId {
        let text = format!("unread {} {:?} {:?}", self.size, self.inode, self.modified);
        ObjectId::of_bytes(text.as_bytes())
    }
}

/// What to write at a path.
#[derive(Debug, Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) kind: FileKind,
    pub(super) bytes: &'a [u8],
    pub(super) permissions: Option<u32>,
}

/// The files below one root.
#[derive(Debug)]
pub(super) struct Disk {
    root: PathBuf,
    /// Where a new version is made before it is moved into place. It lies in the git folder, so that a crash leaves
    /// nothing in the user's tree.
    scratch: PathBuf,
}

const FOLDER: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::NOFOLLOW).union(OFlags::CLOEXEC);
static COUNTER: AtomicU64 = AtomicU64::new(0);

impl Disk {
    pub(super) fn new(root: &Path, scratch: PathBuf) -> Disk {
        Disk { root: root.to_path_buf(), scratch }
    }

    fn open_root(&self) -> io::Result<OwnedFd> {
        Ok(rustix::fs::open(&self.root, OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?)
    }

    /// Opens the folder of `path`. `Ok(None)` when it is not there, or when a component is a link or a file.
    fn open_parent(&self, path: &RepoPath, create: bool) -> io::Result<Option<(OwnedFd, String)>> {
        let mut folder = self.open_root()?;
        let mut parts = path.parts().peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return Ok(Some((folder, part.to_owned())));
            }
            folder = match rustix::fs::openat(&folder, part, FOLDER, Mode::empty()) {
                Ok(next) => next,
                Err(Errno::NOENT) if create => {
                    match rustix::fs::mkdirat(&folder, part, Mode::from_raw_mode(0o777)) {
                        Ok(()) | Err(Errno::EXIST) => {}
                        Err(error) => return Err(error.into()),
                    }
                    rustix::fs::openat(&folder, part, FOLDER, Mode::empty())?
                }
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
        }
        Ok(None)
    }

    /// Whether a folder on the way to `path` is a symlink.
    pub(super) fn is_beyond_link(&self, path: &RepoPath) -> bool {
        path.ancestors().any(|folder| folder.under(&self.root).is_symlink())
    }

    /// Looks at `path` without following links and without opening it.
    pub(super) fn look(&self, path: &RepoPath) -> io::Result<Look> {
        match self.open_parent(path, false)? {
            Some((folder, name)) => look_at(&folder, &name),
            None => Ok(Look::Absent),
        }
    }

    /// Reads a file or the target of a link; `None` when there is none of both.
    pub(super) fn read(&self, path: &RepoPath) -> io::Result<Option<(Signature, Vec<u8>)>> {
        match self.open_parent(path, false)? {
            Some((folder, name)) => read_at(&folder, &name),
            None => Ok(None),
        }
    }

    /// Makes `path` hold exactly `wanted` (absent when `None`), provided that it now holds exactly `expected`.
    /// `Ok(false)` when it holds something else; then nothing was changed.
    pub(super) fn replace(
        &self,
        path: &RepoPath,
        expected: Option<(FileKind, ObjectId)>,
        wanted: Option<Wanted<'_>>,
    ) -> io::Result<bool> {
        let Some((folder, name)) = self.open_parent(path, wanted.is_some() && expected.is_none())? else {
            return Ok(wanted.is_none() && expected.is_none());
        };
        if let Look::Folder = look_at(&folder, &name)? {
            // Only an empty folder may give way, and rmdir refuses any other.
            if expected.is_some() || wanted.is_none() {
                return Ok(false);
            }
            if rustix::fs::unlinkat(&folder, &name, AtFlags::REMOVEDIR).is_err() {
                return Ok(false);
            }
        }
        if identity(&folder, &name)? != expected {
            return Ok(false);
        }
        fault::point("file.before");
        let done = match wanted {
            None if expected.is_none() => true,
            None => self.take_away(&folder, &name, expected)?,
            Some(wanted) => self.put(&folder, &name, expected, wanted)?,
        };
        fault::point("file.after");
        Ok(done)
    }

    fn take_away(
        &self,
        folder: &OwnedFd,
        name: &str,
        expected: Option<(FileKind, ObjectId)>,
    ) -> io::Result<bool> {
        let scratch = self.open_scratch()?;
        let taken = fresh_name();
        match rustix::fs::renameat(folder, name, &scratch, &taken) {
            Ok(()) => {}
            Err(Errno::XDEV) => {
                rustix::fs::unlinkat(folder, name, AtFlags::empty())?;
                return Ok(true);
            }
            Err(error) => return Err(error.into()),
        }
        if identity(&scratch, &taken)? == expected {
            rustix::fs::unlinkat(&scratch, &taken, AtFlags::empty())?;
            return Ok(true);
        }
        // Somebody saved the file between the look and the move: theirs goes back.
        if rename_new(&scratch, &taken, folder, name)? {
            return Ok(false);
        }
        Err(io::Error::other(format!("{name} was written twice while it was being removed")))
    }

    fn put(
        &self,
        folder: &OwnedFd,
        name: &str,
        expected: Option<(FileKind, ObjectId)>,
        wanted: Wanted<'_>,
    ) -> io::Result<bool> {
        let permissions = wanted.permissions.or_else(|| {
            let stat = rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW).ok()?;
            (FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile)
                .then(|| with_execute_bits(Mode::from_raw_mode(stat.st_mode).as_raw_mode(), wanted.kind))
        });
        let scratch = self.open_scratch()?;
        let made = make(&scratch, wanted, permissions)?;
        match swap_in(&scratch, &made, folder, name, expected) {
            Err(error) if error.raw_os_error() == Some(Errno::XDEV.raw_os_error()) => {
                rustix::fs::unlinkat(&scratch, &made, AtFlags::empty()).ok();
                let made = make(folder, wanted, permissions)?;
                swap_in(folder, &made, folder, name, expected)
            }
            other => {
                if other.is_err() {
                    rustix::fs::unlinkat(&scratch, &made, AtFlags::empty()).ok();
                }
                other
            }
        }
    }

    fn open_scratch(&self) -> io::Result<OwnedFd> {
        std::fs::create_dir_all(&self.scratch)?;
        Ok(rustix::fs::open(&self.scratch, FOLDER, Mode::empty())?)
    }

    /// Removes the folders above `path` that are empty and were made after `since`; earlier ones are the user's.
    pub(super) fn prune_folders(&self, path: &RepoPath, since: SystemTime) {
        // File systems stamp with the time of the last clock tick.
        let since = since.checked_sub(Duration::from_millis(100)).unwrap_or(since);
        for folder in path.ancestors() {
            let full = folder.under(&self.root);
            let made_later = match full.symlink_metadata() {
                Ok(meta) if meta.is_dir() => meta.created().map_or(true, |made| made >= since),
                _ => false,
            };
            if !made_later || self.is_beyond_link(&folder) || std::fs::remove_dir(&full).is_err() {
                return;
            }
        }
    }

    /// Removes what crashes have left in the scratch folder more than a day ago.
    pub(super) fn sweep_scratch(&self) {
        let Ok(entries) = std::fs::read_dir(&self.scratch) else { return };
        for entry in entries.flatten() {
            let age = entry.metadata().and_then(|meta| meta.modified()).ok().and_then(|at| at.elapsed().ok());
            if age.is_some_and(|age| age > Duration::from_secs(86_400)) {
                std::fs::remove_file(entry.path()).ok();
            }
        }
    }
}

fn fresh_name() -> String {
    format!(".fix-loop-{}-{}", std::process::id(), COUNTER.fetch_add(1, Ordering::Relaxed))
}

fn with_execute_bits(mode: u32, kind: FileKind) -> u32 {
    match kind {
        FileKind::Executable => mode | ((mode & 0o444) >> 2),
        _ => mode & !0o111,
    }
}

/// Makes the new version under a fresh name in `folder`, complete on disk before it is moved.
fn make(folder: &OwnedFd, wanted: Wanted<'_>, permissions: Option<u32>) -> io::Result<String> {
    let name = fresh_name();
    if wanted.kind == FileKind::Symlink {
        rustix::fs::symlinkat(std::ffi::OsStr::from_bytes(wanted.bytes), folder, &name)?;
        return Ok(name);
    }
    let mode = if wanted.kind == FileKind::Executable { 0o777 } else { 0o666 };
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    let fd = rustix::fs::openat(folder, &name, flags, Mode::from_raw_mode(mode))?;
    if let Some(permissions) = permissions {
        rustix::fs::fchmod(&fd, Mode::from_raw_mode(permissions & 0o7777))?;
    }
    let mut file = std::fs::File::from(fd);
    io::Write::write_all(&mut file, wanted.bytes)?;
    file.sync_data()?;
    Ok(name)
}

/// Moves `made` to `name`. Where the system can exchange two names, what was there is compared once more after the
/// exchange, and put back if it is not what was expected: a save in the last microsecond is not lost.
fn swap_in(
    from: &OwnedFd,
    made: &str,
    to: &OwnedFd,
    name: &str,
    expected: Option<(FileKind, ObjectId)>,
) -> io::Result<bool> {
    if expected.is_none() {
        let done = rename_new(from, made, to, name)?;
        if !done {
            rustix::fs::unlinkat(from, made, AtFlags::empty())?;
        }
        return Ok(done);
    }
    match exchange(from, made, to, name) {
        Ok(()) => {
            let same = identity(from, made)? == expected;
            if !same {
                exchange(from, made, to, name)?;
            }
            rustix::fs::unlinkat(from, made, AtFlags::empty())?;
            Ok(same)
        }
        Err(Errno::NOENT) => {
            rustix::fs::unlinkat(from, made, AtFlags::empty())?;
            Ok(false)
        }
        Err(Errno::NOSYS | Errno::INVAL | Errno::NOTSUP) => {
            rustix::fs::renameat(from, made, to, name)?;
            Ok(true)
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(any(target_os = "linux", target_os = "macos"))]
fn exchange(from: &OwnedFd, a: &str, to: &OwnedFd, b: &str) -> Result<(), Errno> {
    rustix::fs::renameat_with(from, a, to, b, rustix::fs::RenameFlags::EXCHANGE)
}

#[cfg(not(any(target_os = "linux", target_os = "macos")))]
fn exchange(_: &OwnedFd, _: &str, _: &OwnedFd, _: &str) -> Result<(), Errno> {
    Err(Errno::NOSYS)
}

/// Renames only when nothing has the new name; `Ok(false)` when something has.
fn rename_new(from: &OwnedFd, a: &str, to: &OwnedFd, b: &str) -> io::Result<bool> {
    #[cfg(any(target_os = "linux", target_os = "macos"))]
    match rustix::fs::renameat_with(from, a, to, b, rustix::fs::RenameFlags::NOREPLACE) {
        Ok(()) => return Ok(true),
        Err(Errno::EXIST) => return Ok(false),
        Err(Errno::NOSYS | Errno::INVAL | Errno::NOTSUP) => {}
        Err(error) => return Err(error.into()),
    }
    if look_at(to, b)? != Look::Absent {
        return Ok(false);
    }
    rustix::fs::renameat(from, a, to, b)?;
    Ok(true)
}

fn look_at(folder: &impl AsFd, name: &str) -> io::Result<Look> {
    let stat = match rustix::fs::statat(folder, name, AtFlags::SYMLINK_NOFOLLOW) {
        Ok(stat) => stat,
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(Look::Absent),
        Err(error) => return Err(error.into()),
    };
    Ok(match FileType::from_raw_mode(stat.st_mode) {
        FileType::Directory => Look::Folder,
        _ => Look::File(signature(&stat)),
    })
}

// The field types differ between platforms.
#[allow(clippy::cast_possible_wrap, clippy::unnecessary_cast, clippy::cast_sign_loss)]
fn signature(stat: &Stat) -> Signature {
    let kind = match FileType::from_raw_mode(stat.st_mode) {
        FileType::Symlink => FileKind::Symlink,
        FileType::RegularFile if stat.st_mode & 0o100 != 0 => FileKind::Executable,
        FileType::RegularFile => FileKind::Regular,
        _ => FileKind::Special,
    };
    Signature {
        kind,
        size: stat.st_size as u64,
        permissions: (stat.st_mode & 0o7777) as u32,
        inode: (stat.st_dev as u64, stat.st_ino as u64),
        modified: (stat.st_mtime as i64, stat.st_mtime_nsec as i64),
        changed: (stat.st_ctime as i64, stat.st_ctime_nsec as i64),
    }
}

fn read_at(folder: &impl AsFd, name: &str) -> io::Result<Option<(Signature, Vec<u8>)>> {
    let Look::File(seen) = look_at(folder, name)? else { return Ok(None) };
    match seen.kind {
        FileKind::Symlink => {
            let target = rustix::fs::readlinkat(folder, name, Vec::new())?;
            Ok(Some((seen, target.into_bytes())))
        }
        kind if kind.is_file() => {
            // NONBLOCK: should a FIFO take its place between the look and the open, the open must not block.
            let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
            let fd = match rustix::fs::openat(folder, name, flags, Mode::empty()) {
                Ok(fd) => fd,
                Err(Errno::NOENT | Errno::LOOP) => return Ok(None),
                Err(error) => return Err(error.into()),
            };
            let opened = signature(&rustix::fs::fstat(&fd)?);
            if !opened.kind.is_file() {
                return Ok(None);
            }
            let mut bytes = Vec::with_capacity(usize::try_from(opened.size).unwrap_or(0));
            io::Read::read_to_end(&mut std::fs::File::from(fd), &mut bytes)?;
            Ok(Some((opened, bytes)))
        }
        _ => Ok(None),
    }
}

/// Kind and blob id of what stands there; a special file has the id of its signature.
fn identity(folder: &impl AsFd, name: &str) -> io::Result<Option<(FileKind, ObjectId)>> {
    match look_at(folder, name)? {
        Look::Absent => Ok(None),
        Look::Folder => Ok(Some((FileKind::Repository, ObjectId::zero()))),
        Look::File(seen) if seen.kind == FileKind::Special => Ok(Some((seen.kind, seen.digest()))),
        Look::File(_) => {
            Ok(read_at(folder, name)?.map(|(seen, bytes)| (seen.kind, ObjectId::of_bytes(&bytes))))
        }
    }
}
