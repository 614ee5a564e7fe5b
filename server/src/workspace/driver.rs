//! One driver per work tree (R30).
//!
//! Owns the advisory lock and the record of who holds it. The lock is the system's own file lock, so a process that died
//! holds nothing, whatever its record still says. Never breaks a lock.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use rustix::fs::{FlockOperation, flock};
use serde::{Deserialize, Serialize};

/// Who drives a work tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeldBy {
    /// Its process.
    pub pid: u32,
    /// The machine it runs on.
    pub host: String,
    /// Since when, in seconds since 1970.
    pub since: u64,
}

/// Why this process does not drive.
#[derive(Debug, thiserror::Error)]
pub enum LockError {
    /// Another process does.
    #[error("another Fix Loop (pid {} on {}) is working in this tree; this one only watches", .0.pid, .0.host)]
    Held(HeldBy),
    /// The lock file could not be used.
    #[error("{}: {source}", .path.display())]
    File {
        /// The lock file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

/// The right to drive one work tree, until dropped.
#[derive(Debug)]
pub struct DriverLock {
    file: File,
    me: HeldBy,
}

impl DriverLock {
    /// Takes the lock in `state_dir` at once, or says who has it.
    pub fn acquire(state_dir: &Path) -> Result<DriverLock, LockError> {
        let path = state_dir.join("lock");
        let failed = |source| LockError::File { path: path.clone(), source };
        std::fs::create_dir_all(state_dir).map_err(failed)?;
        let mut file = open(&path, true).map_err(failed)?;
        // Somebody who only asks for the holder has the lock too, for a moment.
        let mut attempts = 0;
        loop {
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => break,
                Err(rustix::io::Errno::WOULDBLOCK) if attempts < 5 => {
                    attempts += 1;
                    std::thread::sleep(Duration::from_millis(10));
                }
                Err(rustix::io::Errno::WOULDBLOCK) => return Err(LockError::Held(recorded(&mut file))),
                Err(error) => return Err(failed(error.into())),
            }
        }
        let since =
            SystemTime::now().duration_since(SystemTime::UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        let me = HeldBy { pid: std::process::id(), host: host(), since };
        let text = serde_json::to_vec(&me).expect("three plain fields always serialise");
        file.set_len(0).and_then(|()| file.rewind()).and_then(|()| file.write_all(&text)).map_err(failed)?;
        Ok(DriverLock { file, me })
    }

    /// Who holds the lock now; `None` when nobody does.
    pub fn holder(state_dir: &Path) -> Option<HeldBy> {
        let mut file = open(&state_dir.join("lock"), false).ok()?;
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            Ok(()) => {
                flock(&file, FlockOperation::Unlock).ok();
                None
            }
            Err(_) => Some(recorded(&mut file)),
        }
    }

    /// This process, as others see it.
    pub fn me(&self) -> &HeldBy {
        &self.me
    }
}

impl Drop for DriverLock {
    fn drop(&mut self) {
        // The file stays: deleting it would let two processes lock two files of the same name.
        self.file.set_len(0).ok();
        // A child that was forked and has not started its program yet would keep a merely closed lock.
        flock(&self.file, FlockOperation::Unlock).ok();
    }
}

fn open(path: &Path, create: bool) -> std::io::Result<File> {
    OpenOptions::new().read(true).write(true).create(create).truncate(false).open(path)
}

/// What the holder wrote. Between its locking and its writing there is nothing to read yet.
fn recorded(file: &mut File) -> HeldBy {
    let mut text = String::new();
    file.read_to_string(&mut text).ok();
    serde_json::from_str(&text).unwrap_or(HeldBy { pid: 0, host: "unknown".to_owned(), since: 0 })
}

/// The machine's name, for people.
fn host() -> String {
    let told = std::fs::read_to_string("/proc/sys/kernel/hostname")
        .or_else(|_| std::fs::read_to_string("/etc/hostname"));
    let told = told.ok().or_else(|| std::env::var("HOSTNAME").ok()).unwrap_or_default();
    let name = told.trim();
    if name.is_empty() { "this machine".to_owned() } else { name.to_owned() }
}
