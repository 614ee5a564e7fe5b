//! What works here and what is missing: everything that a first run would find out, without running anything that costs.

use std::path::Path;

use serde::Serialize;

use crate::agents;
use crate::config::{Config, Protocol};
use crate::process::Supervisor;
use crate::protocol::{Role, Tier};
use crate::workspace::{DriverLock, Workspace};

use super::roster;

#[derive(Clone, Debug, Serialize)]
pub struct Examined {
    pub version: &'static str,
    pub workspace: String,
    pub lines: Vec<Line>,
    /// Everything that is needed to fix something here works.
    pub ready: bool,
}

#[derive(Clone, Debug, Serialize)]
pub struct Line {
    /// `ok`, `note` (works without it), `missing` (fixing does not work).
    pub state: State,
    pub what: String,
    pub says: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum State {
    Ok,
    Note,
    Missing,
}

/// Looks at repository, configuration, checks and agents of a workspace folder.
pub async fn examine(root: &Path, user_config: Option<&Path>, supervisor: &Supervisor) -> Examined {
    let mut lines = Vec::new();
    let mut say = |state, what: &str, says: String| lines.push(Line { state, what: what.to_owned(), says });
    let workspace = match Workspace::open(root) {
        Ok(workspace) => {
            say(State::Ok, "repository", format!("git work tree {}", workspace.root().display()));
            Some(workspace)
        }
        Err(error) => {
            say(State::Missing, "repository", error.to_string());
            None
        }
    };
    if let Some(workspace) = &workspace {
        match DriverLock::holder(&workspace.state_dir()) {
            Some(held) => say(
                State::Note,
                "driver",
                format!("process {} on {} drives this work tree", held.pid, held.host),
            ),
            None => say(State::Ok, "driver", "nobody drives this work tree".into()),
        }
    }
    let config = match Config::load(root, user_config, None) {
        Ok(loaded) => {
            let files: Vec<String> = loaded.files.iter().map(|file| file.display().to_string()).collect();
            say(
                State::Ok,
                "configuration",
                if files.is_empty() { "defaults (no fix-loop.toml)".into() } else { files.join(", ") },
            );
            for note in loaded.notes {
                say(State::Note, "configuration", note);
            }
            Some(loaded.config)
        }
        Err(error) => {
            say(State::Missing, "configuration", error.to_string());
            None
        }
    };
    if let Some(config) = &config {
        let configured: Vec<&str> = config.checks.iter().map(|check| check.name.as_str()).collect();
        let programs = crate::checks::Tools::from_environment();
        let discovered = crate::checks::discover::discover(root, &[], &programs);
        let found: Vec<String> = discovered.iter().map(|check| check.name.to_string()).collect();
        match (configured.is_empty(), found.is_empty()) {
            (true, true) => say(
                State::Note,
                "checks",
                "none found: a verifier has to judge every fix. Add a [[check]] to fix-loop.toml.".into(),
            ),
            _ => say(
                State::Ok,
                "checks",
                configured.into_iter().map(str::to_owned).chain(found).collect::<Vec<_>>().join(", "),
            ),
        }
        let probes = probes(config, supervisor, root).await;
        for (name, probe) in &probes {
            let program =
                probe.program.as_ref().map(|program| format!(" ({})", program.display())).unwrap_or_default();
            match (&probe.problem, &probe.version) {
                (Some(problem), _) => say(State::Note, &format!("agent {name}"), problem.clone()),
                (None, version) => say(
                    State::Ok,
                    &format!("agent {name}"),
                    format!("{}{program}", version.as_deref().unwrap_or("found")),
                ),
            }
        }
        for &role in roles(config.protocol) {
            let what = format!("role {}", roster::role_name(role));
            match who_plays(root, config, role, &probes) {
                Ok(says) => say(State::Ok, &what, says),
                Err(why) => {
                    // Without a verifier, what no check proves is asked about: `bounded` still works.
                    let state = if role == Role::Fixer || config.protocol != Protocol::Bounded {
                        State::Missing
                    } else {
                        State::Note
                    };
                    say(state, &what, why);
                }
            }
        }
    }
    let ready = lines.iter().all(|line| line.state != State::Missing);
    Examined { version: env!("CARGO_PKG_VERSION"), workspace: root.display().to_string(), lines, ready }
}

/// Every agent that could be used, asked for its version. All at once: one that hangs keeps nobody else waiting.
async fn probes(config: &Config, supervisor: &Supervisor, root: &Path) -> Vec<(String, agents::Probe)> {
    let mut names: Vec<String> = agents::presets::NAMES.iter().map(|name| (*name).to_owned()).collect();
    names.extend(
        config.agents.keys().filter(|name| !agents::presets::NAMES.contains(&name.as_str())).cloned(),
    );
    let known =
        names.into_iter().filter_map(|name| roster::spec(config, &name).ok().map(|spec| (name, spec)));
    let asked: Vec<_> = known
        .map(|(name, spec)| {
            let (supervisor, root) = (supervisor.clone(), root.to_path_buf());
            tokio::spawn(async move { (name, agents::probe(&spec, &supervisor, &root).await) })
        })
        .collect();
    let mut probes = Vec::new();
    for one in asked {
        probes.extend(one.await.ok());
    }
    probes
}

/// The agent, model and effort of a role for one file, and for several where that is another.
fn who_plays(
    root: &Path,
    config: &Config,
    role: Role,
    probes: &[(String, agents::Probe)],
) -> Result<String, String> {
    let told = |tier| {
        let chosen = roster::choose(root, config, None, role, tier)?;
        let probe = probes.iter().find(|(name, _)| *name == chosen.spec.name).map(|(_, probe)| probe);
        if let Some(problem) = probe.and_then(|probe| probe.problem.as_ref()) {
            return Err(format!("{} would be used, and cannot be: {problem}", chosen.spec.name));
        }
        let model = chosen.model.map(|model| format!(" with {model}")).unwrap_or_default();
        let effort = chosen.effort.map(|effort| format!(" at effort {effort}")).unwrap_or_default();
        Ok(format!("{}{model}{effort}", chosen.spec.name))
    };
    let scoped = told(Tier::Scoped)?;
    if role != Role::Fixer {
        return Ok(scoped);
    }
    let cross_file = told(Tier::CrossFile)?;
    Ok(if scoped == cross_file { scoped } else { format!("{scoped}; across files {cross_file}") })
}

fn roles(protocol: Protocol) -> &'static [Role] {
    match protocol {
        Protocol::Bounded => &[Role::Fixer, Role::Verifier],
        Protocol::Converge => &[Role::Reviewer, Role::Checker, Role::Fixer, Role::Closer, Role::Recoverer],
        Protocol::Rereview => &[Role::Fixer, Role::Reviewer, Role::Diagnoser],
    }
}
