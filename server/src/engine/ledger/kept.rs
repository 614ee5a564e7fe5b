//! What is kept beside the journal for the next process: what one that only looks has seen of the findings, and the last good
//! content of each findings file (DESIGN 5 "Reading", "Anchors").
//!
//! Owns `seen.json` and `inbox/` in the state folder, each file replaced whole. All of it may be lost or left unwritten at any
//! time: a finding is then where its file says, and a broken findings file has no earlier set. Never holds what became of a
//! finding; that is the journal's.

use std::collections::BTreeSet;
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::findings::Memory;

#[derive(Debug)]
pub struct Kept {
    state_dir: PathBuf,
    writes: bool,
}

/// What was seen after the journal had this many bytes. A longer one was written by somebody who had read this.
#[derive(Default, Serialize, Deserialize)]
struct Seen {
    journal: u64,
    memory: Memory,
}

impl Kept {
    /// `writes`: a process that only tells what it would do leaves nothing behind.
    pub fn new(state_dir: &Path, writes: bool) -> Kept {
        Kept { state_dir: state_dir.to_path_buf(), writes }
    }

    fn seen(&self) -> Option<Seen> {
        serde_json::from_slice(&fs::read(self.state_dir.join("seen.json")).ok()?).ok()
    }

    /// What was seen since the journal was last written.
    pub fn memory(&self, journal: u64) -> Option<Memory> {
        self.seen().filter(|seen| seen.journal == journal).map(|seen| seen.memory)
    }

    pub fn keep_memory(&self, journal: u64, memory: &Memory) {
        if self.seen().is_some_and(|seen| seen.journal == journal && seen.memory == *memory) {
            return;
        }
        let seen = Seen { journal, memory: memory.clone() };
        let bytes = serde_json::to_vec(&seen).expect("what was seen is plain data");
        self.replace(&self.state_dir.join("seen.json"), &bytes);
    }

    fn copy_of(&self, name: &str) -> PathBuf {
        let mut hasher = DefaultHasher::new();
        name.hash(&mut hasher);
        self.state_dir.join("inbox").join(format!("{:016x}", hasher.finish()))
    }

    /// The last good content of a findings file.
    pub fn file(&self, name: &str) -> Option<Vec<u8>> {
        fs::read(self.copy_of(name)).ok()
    }

    pub fn keep_file(&self, name: &str, bytes: &[u8]) {
        let copy = self.copy_of(name);
        let same_length = fs::metadata(&copy).is_ok_and(|about| about.len() == bytes.len() as u64);
        if !same_length || fs::read(&copy).ok().as_deref() != Some(bytes) {
            self.replace(&copy, bytes);
        }
    }

    /// A findings file that is gone takes its findings with it.
    pub fn drop_all_but<'a>(&self, names: impl Iterator<Item = &'a str>) {
        let copies: BTreeSet<PathBuf> = names.map(|name| self.copy_of(name)).collect();
        if !self.writes {
            return;
        }
        let Ok(there) = fs::read_dir(self.state_dir.join("inbox")) else { return };
        for copy in
            there.filter_map(Result::ok).map(|entry| entry.path()).filter(|path| !copies.contains(path))
        {
            let _ = fs::remove_file(copy);
        }
    }

    fn replace(&self, path: &Path, bytes: &[u8]) {
        if !self.writes {
            return;
        }
        let written = (|| -> io::Result<()> {
            let folder = path.parent().expect("a file in the state folder");
            fs::create_dir_all(folder)?;
            let mut file = tempfile::NamedTempFile::new_in(folder)?;
            io::Write::write_all(&mut file, bytes)?;
            file.persist(path).map_err(|error| error.error)?;
            Ok(())
        })();
        if let Err(error) = written {
            tracing::info!("{} is not kept: {error}", path.display());
        }
    }
}
