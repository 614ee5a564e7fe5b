//! Starting an engine: repository, configuration, lock, ledger, recovery, in this order.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::config::{Config, ConfigError, Loaded};
use crate::findings::Memory;
use crate::workspace::{DriverLock, LockError, OpenError, RepoPath, Workspace};

use super::api::{EngineHandle, InputError};
use super::buffers::Buffers;
use super::driver::{Driver, channels};
use super::follow::Followed;
use super::inbox::Inbox;
use super::ledger::{Entry, Kept, Ledger, LedgerError};
use super::setup::{Answers, Setup};
use super::state::State;

/// Checkpoints of finished loops are kept this long (DESIGN 7.5).
const CHECKPOINTS_KEPT: Duration = Duration::from_secs(14 * 24 * 60 * 60);

#[derive(Debug, thiserror::Error)]
pub enum StartError {
    #[error("{0}")]
    Config(#[from] ConfigError),
    #[error(transparent)]
    Ledger(#[from] LedgerError),
}

impl StartError {
    /// Something that was given cannot be read (exit code 2), rather than the environment (3).
    pub fn is_input(&self) -> bool {
        matches!(self, StartError::Config(_))
    }
}

/// Starts the engine of one workspace folder. Without a usable repository it still shows findings.
pub fn start(setup: Setup) -> Result<EngineHandle, StartError> {
    let (loaded, config_error) = match load(&setup) {
        Ok(loaded) => (loaded, None),
        Err(error) if setup.lenient => {
            let shown = InputError {
                file: shown_path(&setup.root, &error.file),
                line: error.line,
                column: error.column,
                message: error.message.clone(),
            };
            (Loaded::default(), Some(shown))
        }
        Err(error) => return Err(error.into()),
    };
    let (workspace, fixing_off) = match Workspace::open(&setup.root) {
        // Findings name paths from the folder that is open; fixes are staged from the top of the work tree.
        Ok(workspace) if workspace.prefix().is_some() => {
            let top = workspace.root().display().to_string();
            (
                None,
                Some(format!(
                    "fixing is off here: this folder lies inside the git work tree {top}; open that folder"
                )),
            )
        }
        Ok(workspace) => (Some(Arc::new(workspace)), None),
        Err(error) => (None, Some(why_off(&error))),
    };
    let config = Arc::new(loaded.config);
    let (handle, inbox_of_messages, snapshots) = channels();
    let texts = workspace.clone();
    let revision_texts = move |revision: &str, path: &str| {
        let bytes = texts.as_ref()?.read_at(revision, &RepoPath::new(path).ok()?).ok()??;
        String::from_utf8(bytes).ok()
    };
    let tree = workspace.clone();
    let why_not = move |path: &str| {
        let workspace = tree.as_ref()?;
        let inner = workspace.nested_repository(&RepoPath::new(path).ok()?)?;
        let folder = inner.under(workspace.root());
        Some(format!(
            "{path} is inside the submodule or repository {inner}; open {} to fix it there",
            folder.display()
        ))
    };
    let inbox = Inbox::new(
        &setup.root,
        &config.findings,
        setup.files.clone(),
        Arc::new(revision_texts),
        Arc::new(why_not),
        workspace.as_ref().map(|workspace| Kept::new(&workspace.state_dir(), setup.drive || setup.starts)),
    );
    let mut driver = Driver {
        config,
        commands_hash: loaded.commands_hash,
        config_error,
        notes: loaded.notes,
        workspace,
        fixing_off,
        lock: None,
        ledger: None,
        followed: None,
        state: State::default(),
        inbox,
        known_views: Default::default(),
        buffers: Buffers::below(&setup.root),
        buffers_taken: 0,
        own_questions: Vec::new(),
        declined: BTreeSet::new(),
        asked_before: 0,
        answered: None,
        interrupted: BTreeSet::new(),
        ended_before: BTreeSet::new(),
        running: HashMap::new(),
        held: BTreeMap::new(),
        activity: BTreeMap::new(),
        questions_answered_by_us: BTreeSet::new(),
        messages: handle.messages.clone(),
        snapshots,
        notices: handle.notices.clone(),
        revision: 0,
        stopping: false,
        setup,
    };
    driver.begin()?;
    driver.publish();
    tokio::spawn(driver.run(inbox_of_messages));
    Ok(handle)
}

fn load(setup: &Setup) -> Result<Loaded, ConfigError> {
    Config::load(&setup.root, setup.user_config.as_deref(), setup.settings.as_ref())
}

fn shown_path(root: &Path, file: &Path) -> String {
    file.strip_prefix(root).unwrap_or(file).to_string_lossy().into_owned()
}

fn why_off(error: &OpenError) -> String {
    match error {
        OpenError::Unsupported { .. } => error.to_string(),
        _ => format!("fixing is off here: {error}"),
    }
}

impl Driver {
    /// Lock, ledger, recovery.
    fn begin(&mut self) -> Result<(), StartError> {
        for note in self.notes.clone() {
            self.notice(super::NoticeLevel::Warning, None, note);
        }
        if let Some(workspace) = self.workspace.clone() {
            let state_dir = workspace.state_dir();
            if self.setup.drive {
                match DriverLock::acquire(&state_dir) {
                    Ok(lock) => self.drive(lock)?,
                    Err(LockError::Held(held)) => self.followed = Some(Followed::new(&state_dir, Some(held))),
                    Err(error) => self.fixing_off = Some(format!("fixing is off here: {error}")),
                }
            } else {
                self.followed = Some(Followed::new(&state_dir, DriverLock::holder(&state_dir)));
            }
            if let Some(followed) = &mut self.followed
                && let Some(state) = followed.fresh()
            {
                let driven = followed.driver().is_some();
                self.state = state;
                self.inbox.set_memory(self.state.memory.clone());
                if !driven {
                    self.mark_interrupted();
                }
            }
            if let Some(followed) = &self.followed {
                self.inbox.recall(followed.length());
            }
        }
        self.inbox.read();
        self.judge_inbox();
        self.remember_what_was_seen();
        if self.lock.is_some() && self.setup.starts && self.setup.answers == Answers::Recommended {
            self.answer_what_is_open();
        }
        Ok(())
    }

    /// A process that only looks leaves what it saw to the next one: a finding keeps its identity and its place from the
    /// first look on. Where somebody drives, the ledger has it.
    fn remember_what_was_seen(&mut self) {
        let Some(followed) = self.followed.as_ref().filter(|followed| followed.driver().is_none()) else {
            return;
        };
        if let Some(kept) = self.inbox.kept() {
            kept.keep_memory(followed.length(), self.inbox.memory());
        }
    }

    /// From here on this process writes the ledger.
    fn drive(&mut self, lock: DriverLock) -> Result<(), StartError> {
        let Some(workspace) = self.workspace.clone() else { return Ok(()) };
        let (ledger, journal) = Ledger::open(&workspace.state_dir())?;
        if journal.damaged > 0 {
            self.notice(
                super::NoticeLevel::Warning,
                None,
                format!("{} damaged lines of the ledger were skipped", journal.damaged),
            );
        }
        self.ledger = Some(ledger);
        self.lock = Some(lock);
        self.followed = None;
        self.state = State::fold(journal.lines);
        self.inbox.set_memory(self.state.memory.clone());
        self.inbox.recall(journal.good);
        self.ended_before =
            self.state.loops.values().filter(|run| run.is_ended()).map(|run| run.id()).collect();
        self.find_interrupted();
        let finished: BTreeSet<String> =
            self.state.loops.values().filter(|run| run.is_ended()).map(|run| run.id().to_string()).collect();
        if let Err(error) = workspace.expire_checkpoints(CHECKPOINTS_KEPT, &|id| finished.contains(id)) {
            tracing::warn!("old checkpoints could not be expired: {error}");
        }
        Ok(())
    }

    /// The former driver is gone: this process takes its place.
    pub(super) fn take_over(&mut self, lock: DriverLock) {
        match self.drive(lock) {
            Ok(()) => {
                self.inbox.read();
                self.judge_inbox();
                self.notice(super::NoticeLevel::Info, None, "this process drives the work tree now".into());
            }
            Err(error) => self.fixing_off = Some(error.to_string()),
        }
    }

    /// Reads configuration and findings again. A configuration that cannot be read leaves the last good one in place.
    pub(super) fn reload(&mut self) {
        match load(&self.setup) {
            Ok(loaded) => {
                self.config_error = None;
                self.commands_hash = loaded.commands_hash;
                if *self.config != loaded.config {
                    self.config = Arc::new(loaded.config);
                    self.inbox.set_patterns(&self.config.findings);
                }
            }
            Err(error) => {
                self.config_error = Some(InputError {
                    file: shown_path(&self.setup.root, &error.file),
                    line: error.line,
                    column: error.column,
                    message: error.message.clone(),
                });
            }
        }
        self.inbox.read();
        self.inbox.files_moved();
        self.judge_inbox();
    }

    /// Puts what was read beside what the ledger knows.
    pub(super) fn judge_inbox(&mut self) {
        let confirmed: BTreeSet<String> = self
            .state
            .lives
            .iter()
            .filter(|(_, life)| life.confirmed)
            .map(|(fingerprint, _)| fingerprint.clone())
            .collect();
        let gaps_are_work = self.protocol() == crate::config::Protocol::Rereview;
        self.inbox.judge(&confirmed, gaps_are_work);
        if self.lock.is_some() && self.ledger.is_some() && *self.inbox.memory() != self.state.memory {
            let memory: Memory = self.inbox.memory().clone();
            self.write(Entry::Seen { memory: Box::new(memory) });
        }
    }

    pub(super) fn trust_detail(&self) -> String {
        let mut commands: Vec<String> = self
            .config
            .checks
            .iter()
            .map(|check| format!("check {}: {}", check.name, check.command.join(" ")))
            .collect();
        for (name, agent) in &self.config.agents {
            if let Some(command) = &agent.command {
                commands.push(format!("agent {name}: {}", command.join(" ")));
            }
        }
        if let Some(fixer) = super::starting::fixer_name(self) {
            commands.push(format!("the fixer is {fixer}"));
        }
        commands
            .push("checks that are found in the project (test runners, package scripts, Makefile)".into());
        format!("{} would run:\n{}", self.setup.root.display(), commands.join("\n"))
    }

    /// Whether anything is under way that is not waiting for a person.
    pub(super) fn is_busy(&self) -> bool {
        self.lock.is_some()
            && (!self.running.is_empty()
                || self
                    .state
                    .loops
                    .values()
                    .any(|run| run.is_working() && !self.interrupted.contains(&run.id())))
    }
}
