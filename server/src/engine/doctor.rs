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
        for name in
            agents::presets::NAMES.iter().map(|name| (*name).to_owned()).chain(config.agents.keys().cloned())
        {
            let Ok(spec) = roster::spec(config, &name) else { continue };
            let probe = agents::probe(&spec, supervisor, root).await;
            let program =
                probe.program.as_ref().map(|program| format!(" ({})", program.display())).unwrap_or_default();
            match (probe.problem, probe.version) {
                (Some(problem), _) => say(State::Note, &format!("agent {name}"), problem),
                (None, version) => say(
                    State::Ok,
                    &format!("agent {name}"),
                    format!("{}{program}", version.unwrap_or_else(|| "found".into())),
                ),
            }
        }
        for &role in roles(config.protocol) {
            let what = format!("role {}", roster::role_name(role));
            match roster::choose(config, None, role, Tier::Scoped) {
                Ok(chosen) => {
                    let model = chosen.model.map(|model| format!(" with {model}")).unwrap_or_default();
                    let effort =
                        chosen.effort.map(|effort| format!(" at effort {effort}")).unwrap_or_default();
                    say(State::Ok, &what, format!("{}{model}{effort}", chosen.spec.name));
                }
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

fn roles(protocol: Protocol) -> &'static [Role] {
    match protocol {
        Protocol::Bounded => &[Role::Fixer, Role::Verifier],
        Protocol::Converge => &[Role::Reviewer, Role::Checker, Role::Fixer, Role::Closer, Role::Recoverer],
        Protocol::Rereview => &[Role::Fixer, Role::Reviewer, Role::Diagnoser],
    }
}
