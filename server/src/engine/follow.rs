//! Following: this process does not hold the lock, and shows what the driver's ledger says (DESIGN 7.5).

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::driver::Driver;
use super::ledger::{self, Ledger};
use super::state::State;
use super::status::Driver as DriverShown;
use crate::workspace::{DriverLock, HeldBy, LockError};

/// The ledger of another process, as last read.
#[derive(Debug)]
pub(super) struct Followed {
    path: PathBuf,
    seen: Option<(u64, SystemTime)>,
    held_by: Option<HeldBy>,
}

impl Followed {
    pub fn new(state_dir: &Path, held_by: Option<HeldBy>) -> Followed {
        Followed { path: Ledger::path_in(state_dir), seen: None, held_by }
    }

    pub fn driver(&self) -> Option<DriverShown> {
        self.held_by.as_ref().map(|held| DriverShown {
            pid: held.pid,
            host: held.host.clone(),
            read_only: true,
        })
    }

    /// How long the ledger was at the last look.
    pub fn length(&self) -> u64 {
        self.seen.map_or(0, |(length, _)| length)
    }

    /// The state, if the ledger has changed since the last look.
    pub fn fresh(&mut self) -> Option<State> {
        let looked =
            std::fs::metadata(&self.path).ok().and_then(|meta| Some((meta.len(), meta.modified().ok()?)));
        if looked.is_none() || looked == self.seen {
            return None;
        }
        let journal = ledger::read(&self.path).ok()?;
        self.seen = looked;
        Some(State::fold(journal.lines))
    }
}

impl Driver {
    /// Looks at the ledger again; takes the lock over when its holder is gone. Says whether anything changed.
    pub(super) fn follow(&mut self) -> bool {
        let Some(workspace) = self.workspace.clone() else { return false };
        if self.setup.drive && self.fixing_off.is_none() {
            match DriverLock::acquire(&workspace.state_dir()) {
                Ok(lock) => {
                    self.take_over(lock);
                    return true;
                }
                Err(LockError::Held(held_by)) => {
                    if let Some(followed) = &mut self.followed {
                        followed.held_by = Some(held_by);
                    }
                }
                Err(error) => tracing::warn!("{error}"),
            }
        }
        let Some(state) = self.followed.as_mut().and_then(Followed::fresh) else { return false };
        self.state = state;
        self.judge_inbox();
        true
    }
}
