//! Who plays which role: configuration and what is installed, resolved to one agent, model and effort.

use std::path::Path;
use std::time::Duration;

use crate::agents::{self, AgentSpec};
use crate::config::{Config, RoleName};
use crate::protocol::{Role, Tier};

use super::running::MachineStart;

/// For agents that set no limit of their own.
const LIMIT: Duration = Duration::from_secs(45 * 60);

pub(super) fn is_suggested(spec: &AgentSpec) -> bool {
    matches!(spec.kind, agents::Kind::Suggested)
}

/// The agent of one dispatch.
#[derive(Clone, Debug)]
pub(super) struct Chosen {
    pub spec: AgentSpec,
    pub model: Option<String>,
    pub effort: Option<String>,
}

impl Chosen {
    /// No worker runs longer than what is left of its loop's minutes, nor than its agent's own limit.
    pub fn limit(&self, start: &MachineStart, worked: u64) -> Duration {
        let own = self.spec.limit.unwrap_or(LIMIT);
        match start.budget().minutes {
            0 => own,
            minutes => {
                let left = (u64::from(minutes) * 60_000).saturating_sub(worked).max(1_000);
                own.min(Duration::from_millis(left))
            }
        }
    }
}

pub(super) fn role(role: Role) -> RoleName {
    match role {
        Role::Fixer => RoleName::Fixer,
        Role::Verifier => RoleName::Verifier,
        Role::Reviewer => RoleName::Reviewer,
        Role::Checker => RoleName::Checker,
        Role::Closer => RoleName::Closer,
        Role::Recoverer => RoleName::Recoverer,
        Role::Diagnoser => RoleName::Diagnoser,
        Role::FinalGate => RoleName::FinalGate,
    }
}

pub(super) fn role_name(of: Role) -> &'static str {
    role(of).as_str()
}

/// The agent that a role is mapped to. `--agent` names the fixer's.
pub(super) fn agent_name(config: &Config, flag: Option<&str>, of: Role) -> Option<String> {
    let flagged = flag.filter(|_| matches!(of, Role::Fixer | Role::Recoverer));
    let configured = config.role(role(of)).agent;
    // A recoverer is a fixer by another name, unless it is said otherwise.
    let like_fixer = || (of == Role::Recoverer).then(|| config.role(RoleName::Fixer).agent).flatten();
    flagged.map(str::to_owned).or(configured).or_else(like_fixer).or_else(|| {
        let path = std::env::var("PATH").ok()?;
        agents::detect(&path).map(str::to_owned)
    })
}

/// Whether somebody can play the role at all. `suggested` serves the fixer only.
pub(super) fn can_play(root: &Path, config: &Config, flag: Option<&str>, of: Role) -> bool {
    choose(root, config, flag, of, Tier::Scoped).is_ok()
}

pub(super) fn choose(
    root: &Path,
    config: &Config,
    flag: Option<&str>,
    of: Role,
    tier: Tier,
) -> Result<Chosen, String> {
    let name = agent_name(config, flag, of);
    let mut spec = match &name {
        Some(name) => spec(config, name)?,
        None => AgentSpec::suggested(),
    };
    if is_suggested(&spec) && of != Role::Fixer {
        return Err(format!(
            "nobody can be {}: no agent is configured or installed. Name one under [roles.{}] in fix-loop.toml.",
            role_name(of),
            role_name(of)
        ));
    }
    let settings = config.role(role(of));
    let tiered = match tier {
        Tier::Scoped => settings.scoped.clone(),
        Tier::CrossFile => settings.cross_file.clone(),
        Tier::Raised(step) => {
            settings.ladder.as_ref().and_then(|ladder| ladder.get((step as usize).saturating_sub(1))).cloned()
        }
    }
    .unwrap_or_default();
    if let Some(path) = &settings.brief {
        spec.templates.insert(role(of), template(root, path)?);
    }
    Ok(Chosen { spec, model: tiered.model.or(settings.model), effort: tiered.effort.or(settings.effort) })
}

/// The text of a brief of the workspace's own. A link that leads out of the root is not followed.
fn template(root: &Path, path: &str) -> Result<String, String> {
    let unreadable = |error: std::io::Error| format!("the brief {path} cannot be read: {error}");
    let real = root.join(path).canonicalize().map_err(unreadable)?;
    if !real.starts_with(root.canonicalize().map_err(unreadable)?) {
        return Err(format!("the brief {path} is a link that leaves the workspace"));
    }
    std::fs::read_to_string(real).map_err(unreadable)
}

/// An agent by its name: as configured, a preset, or `suggested`.
pub(super) fn spec(config: &Config, name: &str) -> Result<AgentSpec, String> {
    AgentSpec::resolve(name, config.agents.get(name)).map_err(|error| error.to_string())
}
