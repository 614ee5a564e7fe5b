//! Starting an engine for one command: where the workspace is, and with which settings.

use std::path::{Path, PathBuf};

use fix_loop::config::{self, Protocol};
use fix_loop::engine::{self, Answers, EngineHandle, Setup};
use fix_loop::process::Supervisor;

use super::Place;
use super::exit::Failure;

/// The workspace folder: as given, else the nearest one above that looks like a workspace, else this one.
pub fn root(place: &Place) -> Result<PathBuf, Failure> {
    let start = match &place.workspace {
        Some(dir) => dir.clone(),
        None => std::env::current_dir()
            .map_err(|error| Failure::environment(format!("the current folder cannot be read: {error}")))?,
    };
    let start = std::fs::canonicalize(&start).map_err(|error| {
        Failure::input(format!("the workspace folder {} cannot be opened: {error}", start.display()))
    })?;
    if !start.is_dir() {
        return Err(Failure::input(format!("{} is not a folder", start.display())));
    }
    if place.workspace.is_some() {
        return Ok(start);
    }
    // As git sees it: a file that leads there, or a folder with a HEAD; an empty `.git` of nobody's is none.
    let is_repository =
        |dir: &Path| dir.join(".git").is_file() || std::fs::symlink_metadata(dir.join(".git/HEAD")).is_ok();
    let marked = |dir: &&Path| dir.join("fix-loop.toml").exists() || is_repository(dir);
    Ok(start.ancestors().find(marked).map_or_else(|| start.clone(), Path::to_path_buf))
}

pub fn user_config() -> Option<PathBuf> {
    config::user_file(std::env::var_os("XDG_CONFIG_HOME"), std::env::var_os("HOME"))
}

pub fn supervisor() -> Result<Supervisor, Failure> {
    let exe = std::env::current_exe()
        .map_err(|error| Failure::environment(format!("this program's own file cannot be found: {error}")))?;
    Ok(Supervisor::new(exe))
}

/// What one command wants of its engine, beside the defaults.
#[derive(Default)]
pub struct Wishes {
    pub trusted: bool,
    pub protocol: Option<Protocol>,
    pub agent: Option<String>,
    pub files: Vec<PathBuf>,
    pub recommended: bool,
    pub resume: bool,
    /// Only look: never take the lock.
    pub look: bool,
    /// Questions are put to a person while the command runs.
    pub asks: bool,
    /// Record a decision and end: start no loop.
    pub only_decides: bool,
}

pub fn setup(root: PathBuf, wishes: Wishes) -> Result<Setup, Failure> {
    Ok(Setup {
        root,
        supervisor: supervisor()?,
        answers: if wishes.recommended { Answers::Recommended } else { Answers::Open },
        trusted: wishes.trusted,
        protocol: wishes.protocol,
        agent: wishes.agent,
        files: wishes.files,
        settings: None,
        user_config: user_config(),
        resume: wishes.resume,
        drive: !wishes.look,
        starts: !wishes.only_decides,
        // A configuration that cannot be read stops a command; an editor shows it and goes on.
        lenient: false,
        someone_answers: wishes.asks,
    })
}

pub async fn start(root: PathBuf, wishes: Wishes) -> Result<EngineHandle, Failure> {
    let setup = setup(root, wishes)?;
    engine::start(setup).map_err(|error| {
        let exit = if error.is_input() { super::Exit::Input } else { super::Exit::Environment };
        Failure { exit, message: error.to_string() }
    })
}
