//! The append-only journal from which all state is rebuilt (DESIGN 7.5).
//!
//! Owns `<git dir>/fix-loop/ledger.jsonl`: one JSON object a line, on disk (fsync) before [`Ledger::append`] returns, so that
//! no action is ever carried out that the ledger does not know of. Nothing else writes state; what only has to survive for
//! convenience lies beside the journal ([`Kept`]). A torn last line is dropped at
//! the next start; a damaged line in the middle is skipped and told, since everything after it is still true.

use std::collections::BTreeMap;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::findings::{Finding, Memory};
use crate::process::Identity;
use crate::protocol::{ActionId, Event, Role, Tier, When, WorkerId};
use crate::workspace::{Checkpoint, OwnBytes, Scope, SetAside, Staged, fault};

mod kept;

pub use kept::Kept;

use super::rebasing::Rebased;
use super::running::{FixStates, MachineStart};

/// Number of a loop in its work tree, from 1; shown as `L1`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LoopId(pub u32);

impl std::fmt::Display for LoopId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "L{}", self.0)
    }
}

impl std::str::FromStr for LoopId {
    type Err = ();

    fn from_str(text: &str) -> Result<LoopId, ()> {
        let digits = text.strip_prefix(['L', 'l']).unwrap_or(text);
        digits.parse().map(LoopId).map_err(|_| ())
    }
}

/// One line.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Line {
    /// Milliseconds since the epoch.
    pub at: u64,
    pub entry: Entry,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Entry {
    /// What intake remembers of the findings seen so far, so that an entry keeps its identity whatever happens to the
    /// code that it cites. The latest holds.
    Seen {
        memory: Box<Memory>,
    },
    /// A loop exists, queued until its `Started`.
    Opened(Box<Opened>),
    /// An event of a loop's protocol.
    Event {
        r#loop: LoopId,
        event: Box<Event>,
    },
    /// An action is about to be carried out.
    Begun {
        r#loop: LoopId,
        action: ActionId,
    },
    /// What carrying an action out brought about, beside its event.
    Produced {
        r#loop: LoopId,
        action: ActionId,
        produced: Box<Produced>,
    },
    /// The user decided about a finding outside of any loop.
    Decided {
        fingerprint: String,
        decision: Decision,
    },
    Undone {
        r#loop: LoopId,
        left_alone: Vec<String>,
    },
    /// The user trusts this root with the commands of this hash.
    Trusted {
        commands: String,
    },
    /// The user approved a command that a findings file brought.
    Approved {
        command: Vec<String>,
    },
    /// After a restart the user chose to go on with, or to give up, what was interrupted.
    Resumed {
        r#loop: LoopId,
    },
}

#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Opened {
    pub id: LoopId,
    pub findings: Vec<LoopFinding>,
    pub start: MachineStart,
    /// The agent that the fixer role is mapped to, for people.
    pub agent: Option<String>,
    /// The loop whose *Try a different approach* this one is.
    pub follows: Option<LoopId>,
    /// The revision that was reviewed, if the review said so.
    pub base: Option<String>,
    /// What its commands were: it goes on without being trusted again while they are the same (DESIGN 11).
    #[serde(default)]
    pub commands: String,
}

/// A finding as it was when its loop opened; the loop's briefs are made from this.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct LoopFinding {
    pub fingerprint: String,
    /// As given, or `SOURCE#id`.
    pub shown: serde_json::Value,
    pub finding: Finding,
    /// The review's `artifact_paths`, where the finding itself names no file.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub artifact_paths: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    Deferred { reason: Option<String> },
    Confirmed,
    Disputed { reason: Option<String> },
    Reopened,
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Produced {
    Checkpoint(Checkpoint),
    /// A worker was chosen for a dispatch.
    Worker {
        worker: WorkerId,
        role: Role,
        round: u32,
        tier: Tier,
        agent: String,
        model: Option<String>,
        effort: Option<String>,
    },
    /// Its process runs.
    Process(Identity),
    WorkerEnded {
        worker: WorkerId,
        seconds: f64,
        cost_usd: Option<f64>,
        tokens: Option<u64>,
        outcome: String,
    },
    SetAside(SetAside),
    /// The loop's own bytes, ever and now.
    Own {
        own: OwnBytes,
        fix: FixStates,
    },
    /// What these paths of the scope stood for before any worker was sent at them.
    Scoped(BTreeMap<String, Scope>),
    /// What the user changed between two rounds.
    Rebased(Rebased),
    /// The loop's own bytes once what an interrupted worker or check left was looked at.
    LeftBehind(OwnBytes),
    /// What was put into the index on behalf of this loop.
    Staged(Staged),
    /// The checks as they ran before the fix.
    Before(super::checking::Before),
    /// Digest of what the checks said.
    Output {
        when: When,
        digest: String,
    },
    /// The managed worktree of a `converge` loop.
    Managed(super::managed::Managed),
    /// The user's own checkout before a worker of a `converge` loop.
    Checkout(Checkpoint),
    /// What changed there while it was at work, kept as objects.
    CheckoutChanged(SetAside),
    Note(String),
}

#[derive(Debug, thiserror::Error)]
pub enum LedgerError {
    #[error("the ledger {} cannot be {what}: {source}. Free some space or mend its permissions, then start again.", path.display())]
    Io { path: PathBuf, what: &'static str, source: io::Error },
}

/// The open journal of the one driver.
#[derive(Debug)]
pub struct Ledger {
    path: PathBuf,
    file: File,
}

/// What reading a journal gave.
#[derive(Debug, Default)]
pub struct Journal {
    pub lines: Vec<Line>,
    /// Bytes up to the end of the last whole line.
    pub good: u64,
    /// Whole lines that could not be understood.
    pub damaged: u32,
}

impl Ledger {
    pub fn path_in(state_dir: &Path) -> PathBuf {
        state_dir.join("ledger.jsonl")
    }

    /// Opens the journal for writing and drops a torn last line.
    pub fn open(state_dir: &Path) -> Result<(Ledger, Journal), LedgerError> {
        let path = Self::path_in(state_dir);
        let failed = |what| {
            let path = path.clone();
            move |source| LedgerError::Io { path, what, source }
        };
        fs::create_dir_all(state_dir).map_err(failed("made"))?;
        let read = read(&path)?;
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(failed("opened"))?;
        file.set_len(read.good).map_err(failed("mended"))?;
        file.seek(SeekFrom::End(0)).map_err(failed("opened"))?;
        // The file's own entry in its folder has to survive a power cut too.
        File::open(state_dir).and_then(|dir| dir.sync_all()).map_err(failed("synced"))?;
        Ok((Ledger { path, file }, read))
    }

    /// Writes one entry; when this returns, it is on disk.
    pub fn append(&mut self, at: u64, entry: Entry) -> Result<Line, LedgerError> {
        let line = Line { at, entry };
        let mut bytes = serde_json::to_vec(&line).expect("ledger entries are plain data");
        bytes.push(b'\n');
        fault::point("ledger before");
        let whole = (|| {
            // Two writes, so that a fault test can leave a torn line; one in a release build.
            if cfg!(debug_assertions) {
                let (head, tail) = bytes.split_at(bytes.len() / 2);
                self.file.write_all(head)?;
                fault::point("ledger torn");
                self.file.write_all(tail)?;
            } else {
                self.file.write_all(&bytes)?;
            }
            fault::point("ledger unsynced");
            self.file.sync_data()
        })();
        whole.map_err(|source| LedgerError::Io { path: self.path.clone(), what: "written", source })?;
        fault::point("ledger after");
        Ok(line)
    }
}

/// Reads a journal without touching it (followers, `status`).
pub fn read(path: &Path) -> Result<Journal, LedgerError> {
    let mut bytes = Vec::new();
    match File::open(path) {
        Ok(mut file) => file.read_to_end(&mut bytes).map_err(|source| LedgerError::Io {
            path: path.into(),
            what: "read",
            source,
        })?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Journal::default()),
        Err(source) => return Err(LedgerError::Io { path: path.into(), what: "read", source }),
    };
    let mut read = Journal::default();
    let mut rest: &[u8] = &bytes;
    while let Some(end) = rest.iter().position(|&byte| byte == b'\n') {
        match serde_json::from_slice(&rest[..end]) {
            Ok(line) => read.lines.push(line),
            Err(_) if rest[..end].iter().all(u8::is_ascii_whitespace) => {}
            Err(_) => read.damaged += 1,
        }
        read.good += end as u64 + 1;
        rest = &rest[end + 1..];
    }
    Ok(read)
}
