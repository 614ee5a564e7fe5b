//! What is fixed while an engine runs.

use std::path::PathBuf;

use crate::config::Protocol;
use crate::process::Supervisor;

/// How questions are answered where nobody can be asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answers {
    /// They stay open until somebody answers.
    Open,
    /// The recommended option at once (`--answer recommended`).
    Recommended,
}

/// Everything that is fixed while the engine runs.
pub struct Setup {
    pub root: PathBuf,
    pub supervisor: Supervisor,
    pub answers: Answers,
    /// The editor or `--trust` vouches for this root.
    pub trusted: bool,
    /// `--protocol`, else the configuration's.
    pub protocol: Option<Protocol>,
    /// `--agent`: the fixer's agent.
    pub agent: Option<String>,
    /// Findings files beside the inbox.
    pub files: Vec<PathBuf>,
    /// The editor's settings, laid over the configuration.
    pub settings: Option<serde_json::Value>,
    /// `.../fix-loop/config.toml` of the user.
    pub user_config: Option<PathBuf>,
    /// Whether loops left open by an earlier process are asked about (`run`, editors) or left alone.
    pub resume: bool,
    /// Take the lock if it is free; else only look.
    pub drive: bool,
    /// Start queued loops. A command that only records a decision leaves them for one that stays to see them end.
    pub starts: bool,
    /// A person sees questions and may answer them while this process drives.
    pub someone_answers: bool,
    /// Show a configuration that cannot be read and go on with the defaults, instead of stopping.
    pub lenient: bool,
}
