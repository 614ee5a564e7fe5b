//! Whether an agent is there, at no cost: its version is asked for, no model is.

use std::path::{Path, PathBuf};
use std::time::Duration;

use super::agent::{AgentSpec, Kind};
use super::excerpt;
use crate::process::{Cancel, How, Keep, Spec, Supervisor, Watch, base_environment, resolve_program};

/// What is known about an agent without using it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Probe {
    /// The program that would be started; none for the built-in agent.
    pub program: Option<PathBuf>,
    pub version: Option<String>,
    /// Why it cannot be used, and what to do.
    pub problem: Option<String>,
}

impl Probe {
    pub fn is_usable(&self) -> bool {
        self.problem.is_none()
    }
}

/// Looks for an agent's program and asks a preset's for its version. A `command` agent is only looked for: what it does
/// when it is started is not known.
pub async fn probe(spec: &AgentSpec, supervisor: &Supervisor, cwd: &Path) -> Probe {
    let Some(name) = spec.program() else {
        let version = Some(format!("built in, {}", env!("CARGO_PKG_VERSION")));
        return Probe { program: None, version, problem: None };
    };
    let path = spec.env.iter().find(|(key, _)| key == "PATH").map(|(_, value)| value.clone());
    let path = path.or_else(|| std::env::var("PATH").ok());
    let program = match resolve_program(name, cwd, path.as_deref()) {
        Ok(program) => program,
        Err((_, message)) => return Probe { program: None, version: None, problem: Some(message) },
    };
    let Kind::Cli(cli) = &spec.kind else {
        return Probe { program: Some(program), version: None, problem: None };
    };
    let mut env = base_environment(&spec.pass_env);
    for (key, value) in &spec.env {
        crate::process::set_variable(&mut env, key, value.clone());
    }
    let ended = supervisor
        .run(
            Spec {
                argv: cli.program.iter().chain(&cli.version).cloned().collect(),
                cwd: cwd.to_owned(),
                env,
                stdin: Vec::new(),
                limit: Duration::from_secs(20),
                grace: Duration::from_secs(1),
                keep: Keep { head: 16 * 1024, tail: 0 },
            },
            &Cancel::new(),
            Watch::default(),
        )
        .await;
    let said = excerpt::head(
        ended.stdout.text().lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default(),
        120,
    );
    let stderr = ended.stderr.text();
    let problem = match ended.how {
        How::Exited(0) => None,
        How::Exited(code) => Some(format!(
            "`{name} {}` ended with exit code {code}: {}",
            cli.version.join(" "),
            excerpt::last_line(&stderr, 200)
        )),
        How::NotStarted { message, .. } => Some(message),
        How::OverLimit => {
            Some(format!("`{name} {}` did not answer within 20 seconds", cli.version.join(" ")))
        }
        How::Signalled(signal) => Some(format!("`{name}` was ended by signal {signal}")),
        How::Cancelled => Some("it was stopped".to_owned()),
    };
    Probe { program: Some(program), version: Some(said).filter(|said| !said.is_empty()), problem }
}
