//! `fix-loop.toml`: what may be said there, what it is when nothing is said, and where it was said wrongly.
//!
//! Owns the keys of DESIGN 10, their defaults, and how the three sources lie on top of each other: the user's own
//! `fix-loop/config.toml`, then the workspace's `fix-loop.toml`, then the editor's settings. It never looks for programs
//! (`agents` does), never runs a check (`checks` does), never decides whether commands may run (`engine` asks for trust,
//! with [`Loaded::commands_hash`]), and reads no environment: the caller says where the user's file is.

mod commands;
mod duration;
mod keys;
mod place;
mod settings;
mod source;
#[cfg(test)]
mod tests;
mod validate;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Serialize;
use serde_json::Value;

pub use keys::{
    AgentConfig, AgentKind, BriefInput, BudgetFile, CheckConfig, CheckKind, ConfigFile, ModelChoice,
    Protocol, ReportFormat, RoleConfig, RoleName, Round1Evidence, SchemaDelivery, ScopeFile, Show,
};

/// The workspace's file, at its root.
pub const FILE_NAME: &str = "fix-loop.toml";

/// What `fix-loop init` writes: every key with its default or an example, all of it commented out.
pub const INIT_TEMPLATE: &str = include_str!("config/init.toml");

/// Agents that may be named without an `[agents.NAME]` table (DESIGN 8).
pub const PRESET_AGENTS: [&str; 6] = ["claude", "codex", "gemini", "qwen", "opencode", "suggested"];

/// Everything that can be configured, with the defaults filled in.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Config {
    pub protocol: Protocol,
    /// Globs of findings files, relative to the root.
    pub findings: Vec<String>,
    pub show: Show,
    pub round1_evidence: Round1Evidence,
    /// `converge`: the specification, relative to the root. `None`: it is looked up.
    pub spec: Option<String>,
    /// `converge`: what the Standards axis judges against. Empty: it is looked up.
    pub standards: Vec<String>,
    /// `rereview`: simplify first, and review anew.
    pub simplify: bool,
    /// As written; [`Config::budget_for`] has the numbers.
    pub budget: BudgetFile,
    /// Globs of paths that never need asking.
    pub always_allow: Vec<String>,
    /// `[[check]]`, in the order of the files, the user's own first.
    pub checks: Vec<CheckConfig>,
    /// `[agents.NAME]`. Presets that are not changed are not listed.
    pub agents: BTreeMap<String, AgentConfig>,
    pub roles: BTreeMap<RoleName, RoleConfig>,
}

/// The limits of one loop (rule 1).
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct LoopBudget {
    pub workers: u32,
    pub minutes: u32,
    pub cost_usd: Option<f64>,
}

/// A configuration, and what has to be known about where it came from.
#[derive(Default, Clone, Debug)]
pub struct Loaded {
    pub config: Config,
    /// What was set aside, for the user to read: one sentence each.
    pub notes: Vec<String>,
    /// Hex sha256 over everything that names a command (DESIGN 11). A change asks for trust again.
    pub commands_hash: String,
    /// The files that were read, the user's own first.
    pub files: Vec<PathBuf>,
}

/// What is wrong, and where. `line` and `column` count from 1, in code points; 0 means that there is no such place, as
/// with the editor's settings.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}{}: {message}", file.display(), Self::place(*line, *column))]
pub struct ConfigError {
    pub file: PathBuf,
    pub line: u32,
    pub column: u32,
    pub message: String,
}

impl ConfigError {
    fn place(line: u32, column: u32) -> String {
        if line == 0 { String::new() } else { format!(":{line}:{column}") }
    }
}

impl Default for Config {
    fn default() -> Self {
        ConfigFile::default().into_config()
    }
}

impl Config {
    /// Reads the user's file, the workspace's `fix-loop.toml` and the editor's settings, and lays them on top of each
    /// other in this order. A file that is absent counts as empty; one that is wrong is an error, never half used.
    ///
    /// `settings` is the `fixLoop` object of the editor. Keys in it that name commands are set aside with a note.
    pub fn load(
        root: &Path,
        user_file: Option<&Path>,
        settings: Option<&Value>,
    ) -> Result<Loaded, ConfigError> {
        let mut files = Vec::new();
        let mut notes = Vec::new();
        let mut merged = ConfigFile::default();
        let workspace_file = root.join(FILE_NAME);
        let mut written = Vec::new();
        for path in user_file.into_iter().chain([workspace_file.as_path()]) {
            let Some(text) = source::read(path)? else { continue };
            let parsed = source::parse(path, &text)?;
            files.push(path.to_path_buf());
            merged.lay_over(parsed);
            written.push((path.to_path_buf(), text));
        }
        if let Some(value) = settings {
            merged.lay_over(settings::parse(value, &mut notes)?);
        }
        let config = merged.into_config();
        validate::agents_exist(&config, &written)?;
        let commands_hash = commands::hash(&config);
        Ok(Loaded { config, notes, commands_hash, files })
    }

    /// The limits of one loop of `protocol`: as configured, else 12 workers and 360 minutes for `converge`, 8 and 60 for
    /// the others.
    pub fn budget_for(&self, protocol: Protocol) -> LoopBudget {
        let (workers, minutes) = match protocol {
            Protocol::Converge => (12, 360),
            Protocol::Bounded | Protocol::Rereview => (8, 60),
        };
        LoopBudget {
            workers: self.budget.workers.unwrap_or(workers),
            minutes: self.budget.minutes.unwrap_or(minutes),
            cost_usd: self.budget.cost_usd,
        }
    }

    /// What is configured for a role; nothing when the role is not named.
    pub fn role(&self, role: RoleName) -> RoleConfig {
        self.roles.get(&role).cloned().unwrap_or_default()
    }
}

impl RoleConfig {
    /// The model and effort for work on `files` files: `scoped` for one, `cross_file` for several, each falling back to
    /// the role's own `model` and `effort` (DESIGN 6, bounded).
    pub fn choice_for(&self, files: usize) -> ModelChoice {
        let special = if files > 1 { &self.cross_file } else { &self.scoped };
        let special = special.clone().unwrap_or_default();
        ModelChoice {
            model: special.model.or_else(|| self.model.clone()),
            effort: special.effort.or_else(|| self.effort.clone()),
        }
    }
}

/// Where the user's own defaults stand, from the values of `XDG_CONFIG_HOME` and `HOME`.
pub fn user_file(xdg_config_home: Option<OsString>, home: Option<OsString>) -> Option<PathBuf> {
    // The base directory specification: a relative XDG_CONFIG_HOME counts as unset.
    let xdg = xdg_config_home.map(PathBuf::from).filter(|path| path.is_absolute());
    let base = xdg.or_else(|| {
        home.map(PathBuf::from).filter(|path| path.is_absolute()).map(|home| home.join(".config"))
    })?;
    Some(base.join("fix-loop").join("config.toml"))
}

/// JSON Schema of `fix-loop.toml`, which the editors' settings share.
pub fn schema() -> Value {
    let mut value = schemars::schema_for!(ConfigFile).to_value();
    value["title"] = Value::from("fix-loop.toml");
    value
}
