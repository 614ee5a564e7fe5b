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

/// How long a program may take to say its version: some are slow to start on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Looks for an agent's program and asks a preset's for its version. A `command` agent is only looked for: what it does
/// when it is started is not known.
pub async fn probe(spec: &AgentSpec, supervisor: &Supervisor, cwd: &Path) -> Probe {
    probe_within(PATIENCE, spec, supervisor, cwd).await
}

/// [`probe`] with a patience of its own.
pub async fn probe_within(
    patience: Duration,
    spec: &AgentSpec,
    supervisor: &Supervisor,
    cwd: &Path,
) -> Probe {
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
                limit: patience,
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
        How::Exited(0) => too_old(name, &said, cli.oldest),
        How::Exited(code) => Some(format!(
            "`{name} {}` ended with exit code {code}: {}",
            cli.version.join(" "),
            excerpt::last_line(&stderr, 200)
        )),
        How::NotStarted { message, .. } => Some(message),
        How::OverLimit => {
            let seconds = patience.as_secs_f64();
            Some(format!("`{name} {}` did not answer within {seconds} seconds", cli.version.join(" ")))
        }
        How::Signalled(signal) => Some(format!("`{name}` was ended by signal {signal}")),
        How::Cancelled => Some("it was stopped".to_owned()),
    };
    Probe { program: Some(program), version: Some(said).filter(|said| !said.is_empty()), problem }
}

/// Why an agent's program is too old, if it is.
pub(super) async fn outdated(spec: &AgentSpec, supervisor: &Supervisor, cwd: &Path) -> Option<String> {
    let Kind::Cli(cli) = &spec.kind else { return None };
    let oldest = cli.oldest?;
    let version = probe(spec, supervisor, cwd).await.version?;
    too_old(spec.program()?, &version, Some(oldest))
}

/// Whether a program is from before what its preset asks of it. A version that cannot be read is no reason against it.
fn too_old(name: &str, said: &str, oldest: Option<[u32; 3]>) -> Option<String> {
    let (oldest, found) = (oldest?, version(said)?);
    (found < oldest).then(|| {
        let text = |[major, minor, patch]: [u32; 3]| format!("{major}.{minor}.{patch}");
        format!(
            "{name} {} is too old: what Fix Loop asks of it came with {}; update it",
            text(found),
            text(oldest)
        )
    })
}

/// The first `1.2.3` in what a program says of itself.
fn version(said: &str) -> Option<[u32; 3]> {
    said.split(|char: char| !(char.is_ascii_digit() || char == '.')).find_map(|word| {
        let mut parts = word.split('.').map(|part| part.parse().ok());
        Some([parts.next()??, parts.next()??, parts.next()??])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_old_program_is_told_from_a_new_one_whatever_stands_around_its_version() {
        for (said, old) in [
            ("2.0.45 (Claude Code)", false),
            ("2.0.44 (Claude Code)", true),
            ("1.9.99", true),
            ("codex-cli 10.0.0", false),
            ("v2.1.3-beta.1", false),
            ("2.0", false),
            ("", false),
            ("99999999999999.1.1", false),
        ] {
            let problem = too_old("it", said, Some([2, 0, 45]));
            assert_eq!(problem.is_some(), old, "{said}: {problem:?}");
        }
        assert_eq!(too_old("it", "0.0.1", None), None);
    }
}
