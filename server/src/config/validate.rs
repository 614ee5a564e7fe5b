//! What types alone cannot say: globs that parse, commands that name a program, paths that stay inside the root.

use std::fmt::Display;
use std::path::{Component, Path, PathBuf};

use globset::Glob;

use super::keys::{AgentConfig, AgentKind, ConfigFile, RoleName};
use super::source::nearest;
use super::{Config, ConfigError, PRESET_AGENTS, place};

/// A wrong value: the keys that lead to it, numbers for places in a list.
#[derive(Debug)]
pub(super) struct Fault {
    pub keys: Vec<String>,
    pub message: String,
}

impl Fault {
    fn new(keys: &[&dyn Display], message: impl Into<String>) -> Self {
        Fault { keys: keys.iter().map(|key| key.to_string()).collect(), message: message.into() }
    }

    /// `budget.workers`, for sources that have no lines.
    pub fn dotted(&self) -> String {
        self.keys.join(".")
    }
}

/// Checks what one source says, on its own.
pub(super) fn file(file: &ConfigFile) -> Result<(), Fault> {
    globs("findings", file.findings.as_deref())?;
    for (index, glob) in file.findings.iter().flatten().enumerate() {
        inside(glob).map_err(|message| Fault::new(&[&"findings", &index], message))?;
    }
    if let Some(globs) = &file.scope.always_allow {
        for (index, glob) in globs.iter().enumerate() {
            a_glob(glob).map_err(|message| Fault::new(&[&"scope", &"always_allow", &index], message))?;
        }
    }
    if let Some(spec) = &file.spec {
        inside(spec).map_err(|message| Fault::new(&[&"spec"], message))?;
    }
    for (index, path) in file.standards.iter().flatten().enumerate() {
        inside(path).map_err(|message| Fault::new(&[&"standards", &index], message))?;
    }
    budget(file)?;
    checks(file)?;
    for (name, agent) in &file.agents {
        an_agent(name, agent)?;
    }
    for (role, settings) in &file.roles {
        let choices = [("scoped", &settings.scoped), ("cross_file", &settings.cross_file)];
        let ladder = settings.ladder.iter().flatten().enumerate();
        for (key, value) in [("model", &settings.model), ("effort", &settings.effort)] {
            a_word(value).map_err(|message| Fault::new(&[&"roles", &role.as_str(), &key], message))?;
        }
        for (key, choice) in choices.into_iter().filter_map(|(key, choice)| Some((key, choice.as_ref()?))) {
            for (last, value) in [("model", &choice.model), ("effort", &choice.effort)] {
                a_word(value)
                    .map_err(|message| Fault::new(&[&"roles", &role.as_str(), &key, &last], message))?;
            }
        }
        for (index, choice) in ladder {
            for (last, value) in [("model", &choice.model), ("effort", &choice.effort)] {
                let keys: [&dyn Display; 5] = [&"roles", &role.as_str(), &"ladder", &index, &last];
                a_word(value).map_err(|message| Fault::new(&keys, message))?;
            }
        }
        if let Some(brief) = &settings.brief {
            inside(brief).map_err(|message| Fault::new(&[&"roles", &role.as_str(), &"brief"], message))?;
        }
    }
    Ok(())
}

fn globs(key: &str, globs: Option<&[String]>) -> Result<(), Fault> {
    for (index, glob) in globs.into_iter().flatten().enumerate() {
        a_glob(glob).map_err(|message| Fault::new(&[&key, &index], message))?;
    }
    Ok(())
}

fn a_glob(glob: &str) -> Result<(), String> {
    if glob.is_empty() {
        return Err("an empty glob matches nothing; remove it".to_owned());
    }
    Glob::new(glob).map(|_| ()).map_err(|error| format!("`{glob}` is no glob: {}", error.kind()))
}

/// A model or an effort: it stands in a command line, where it must not be taken for an option or end a quotation.
fn a_word(value: &Option<String>) -> Result<(), String> {
    let Some(value) = value else { return Ok(()) };
    let strange = |char: char| char.is_control() || matches!(char, '"' | '\'' | '\\' | '`' | '$');
    match () {
        () if value.trim().is_empty() => Err("an empty name chooses nothing; leave it out".to_owned()),
        () if value.starts_with('-') || value.contains(strange) => {
            Err(format!("{value:?} cannot be the name of a model or an effort"))
        }
        () => Ok(()),
    }
}

/// A path below the root, by its spelling; `workspace` looks at links.
fn inside(path: &str) -> Result<(), String> {
    let leaves = Path::new(path)
        .components()
        .any(|part| matches!(part, Component::ParentDir | Component::RootDir | Component::Prefix(_)));
    match () {
        () if path.is_empty() => Err("an empty path names nothing".to_owned()),
        () if leaves => Err(format!("`{path}` leaves the workspace; give a path relative to its root")),
        () => Ok(()),
    }
}

fn budget(file: &ConfigFile) -> Result<(), Fault> {
    for (key, value) in [("workers", file.budget.workers), ("minutes", file.budget.minutes)] {
        if value == Some(0) {
            return Err(Fault::new(
                &[&"budget", &key],
                "0 would never start anything; leave it out for the default",
            ));
        }
    }
    match file.budget.cost_usd {
        Some(cost) if !cost.is_finite() || cost <= 0.0 => {
            Err(Fault::new(&[&"budget", &"cost_usd"], "must be above 0; leave it out for no limit"))
        }
        _ => Ok(()),
    }
}

fn checks(file: &ConfigFile) -> Result<(), Fault> {
    for (index, check) in file.check.iter().enumerate() {
        let fault = |key: &str, message: String| Fault::new(&[&"check", &index, &key], message);
        if check.name.trim().is_empty() {
            return Err(fault("name", "a check needs a name".to_owned()));
        }
        if file.check[..index].iter().any(|earlier| earlier.name == check.name) {
            return Err(fault("name", format!("there are two checks named `{}`", check.name)));
        }
        a_command(&check.command).map_err(|message| fault("command", message))?;
        inside(&check.cwd).map_err(|message| fault("cwd", message))?;
        for (place, glob) in check.paths.iter().flatten().enumerate() {
            a_glob(glob).map_err(|message| Fault::new(&[&"check", &index, &"paths", &place], message))?;
        }
        environment(check.env.keys()).map_err(|message| fault("env", message))?;
    }
    Ok(())
}

fn a_command(command: &[String]) -> Result<(), String> {
    match command.first() {
        None => Err("an empty list names no program".to_owned()),
        Some(program) if program.trim().is_empty() => Err("the first entry must name a program".to_owned()),
        // ["pytest -q"]: the shell string in a list.
        Some(program) if command.len() == 1 && program.contains(' ') && !program.contains('/') => {
            let parts: Vec<String> = program.split_whitespace().map(|part| format!("{part:?}")).collect();
            Err(format!("`{program}` is a shell string; write [{}]", parts.join(", ")))
        }
        Some(_) if command.iter().any(|part| part.contains('\0')) => {
            Err("an argument cannot hold a NUL character".to_owned())
        }
        Some(_) => Ok(()),
    }
}

fn environment<'a>(names: impl Iterator<Item = &'a String>) -> Result<(), String> {
    for name in names {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(format!("`{name}` cannot be the name of a variable"));
        }
    }
    Ok(())
}

fn an_agent(name: &str, agent: &AgentConfig) -> Result<(), Fault> {
    let fault = |key: &str, message: String| Fault::new(&[&"agents", &name, &key], message);
    if let Some(command) = &agent.command {
        a_command(command).map_err(|message| fault("command", message))?;
    }
    environment(agent.env.keys()).map_err(|message| fault("env", message))?;
    environment(agent.pass_env.iter().flatten()).map_err(|message| fault("pass_env", message))?;
    if let Some(preset) = &agent.preset
        && !PRESET_AGENTS.contains(&preset.as_str())
    {
        let near = nearest(preset, &PRESET_AGENTS).map(|near| format!("; did you mean `{near}`?"));
        return Err(fault("preset", format!("there is no preset `{preset}`{}", near.unwrap_or_default())));
    }
    Ok(())
}

/// Checks what only the whole can say: every role's agent exists, and every agent names a program. `written` holds the
/// texts to point into.
pub(super) fn agents_exist(config: &Config, written: &[(PathBuf, String)]) -> Result<(), ConfigError> {
    let known: Vec<&str> =
        PRESET_AGENTS.into_iter().chain(config.agents.keys().map(String::as_str)).collect();
    for (role, settings) in &config.roles {
        let Some(agent) = settings.agent.as_deref() else { continue };
        if known.contains(&agent) {
            continue;
        }
        let near = nearest(agent, &known).map(|near| format!("did you mean `{near}`?"));
        let near = near.unwrap_or_else(|| format!("add a table [agents.{agent}]"));
        let fault = Fault::new(
            &[&"roles", &role.as_str(), &"agent"],
            format!("there is no agent `{agent}` for the role {}; {near}", role.as_str()),
        );
        return Err(point(fault, written));
    }
    for (role, settings) in &config.roles {
        let Some(agent) = settings.agent.as_deref().filter(|_| *role != RoleName::Fixer) else { continue };
        let kind = config.agents.get(agent).and_then(|table| table.kind);
        if kind == Some(AgentKind::Suggested) || kind.is_none() && agent == "suggested" {
            let message = format!("`{agent}` applies the fixes that findings carry, and can only be fixer");
            return Err(point(Fault::new(&[&"roles", &role.as_str(), &"agent"], message), written));
        }
    }
    for (name, agent) in &config.agents {
        let has_preset = PRESET_AGENTS.contains(&name.as_str()) || agent.preset.is_some();
        let built_in = agent.kind == Some(AgentKind::Suggested);
        if !has_preset && !built_in && agent.command.is_none() {
            let message = format!("the agent `{name}` has no command; give it one, or a preset");
            return Err(point(Fault::new(&[&"agents", name], message), written));
        }
    }
    Ok(())
}

/// Puts a fault at the last file that has the place, since that one wins.
fn point(fault: Fault, written: &[(PathBuf, String)]) -> ConfigError {
    for (file, text) in written.iter().rev() {
        if let Some(span) = place::of_value(text, &fault.keys) {
            let (line, column) = place::of_byte(text, span.start);
            return ConfigError { file: file.clone(), line, column, message: fault.message };
        }
    }
    ConfigError {
        file: PathBuf::from(super::settings::NAME),
        line: 0,
        column: 0,
        message: format!("{}: {}", fault.dotted(), fault.message),
    }
}
