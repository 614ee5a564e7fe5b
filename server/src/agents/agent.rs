//! Agents as data: which program, how the brief goes in, how the report comes out.

use std::collections::BTreeMap;
use std::time::Duration;

use super::role::Role;
use super::stream::Output;
use super::{mentions, presets};
use crate::config::{AgentConfig, AgentKind, BriefInput, ReportFormat, SchemaDelivery};

/// An agent, complete: presets and configuration are already joined.
#[derive(Clone, Debug, PartialEq)]
pub struct AgentSpec {
    pub name: String,
    pub kind: Kind,
    /// Variables added to its environment.
    pub env: Vec<(String, String)>,
    /// The same for turns that may edit, and for those that may only read, however the agent is spoken to.
    pub editing_env: Vec<(String, String)>,
    pub reading_env: Vec<(String, String)>,
    /// Variables of the user's own environment that it may see although they look like secrets (DESIGN 11).
    pub pass_env: Vec<String>,
    /// Its own wall-clock limit; the shorter of this and the dispatch's holds.
    pub limit: Option<Duration>,
    /// How often a dispatch is started again when the service failed before any work was done.
    pub retries: u32,
    /// Templates in place of the built-in ones.
    pub templates: BTreeMap<Role, String>,
}

#[derive(Clone, Debug, PartialEq)]
pub enum Kind {
    /// A coding agent's own command line.
    Cli(Box<Cli>),
    /// The Agent Client Protocol, version 1, over standard input and output.
    Acp { command: Vec<String> },
    /// The brief as JSON on standard input, the report as JSON on standard output.
    Command { command: Vec<String> },
    /// Built in: applies the fix that the finding itself carries.
    Suggested,
}

/// A command line. In all arguments `{model}`, `{effort}`, `{schema}`, `{session}`, `{rules}` and `{prompt}` stand for their
/// values.
#[derive(Clone, Debug, PartialEq)]
pub struct Cli {
    /// The program, with arguments that always come first.
    pub program: Vec<String>,
    pub arguments: Vec<String>,
    /// Arguments for roles that may edit.
    pub editing: Vec<String>,
    /// Arguments that let such a role write into `{folders}` too, a list in JSON, where its own sandbox would not.
    pub also_writes: Vec<String>,
    /// Arguments for roles that may only read, and for every follow-up.
    pub reading: Vec<String>,
    /// What `{rules}` in the arguments of roles that may only read is the file of, with its extension.
    pub reading_rules: Option<(String, String)>,
    pub model: Vec<String>,
    pub effort: Vec<String>,
    pub schema: SchemaVia,
    /// Arguments that continue a session for the one follow-up; empty where that cannot be done.
    pub resume: Vec<String>,
    /// The last arguments: `-` for the standard input, `{prompt}` for the prompt as an argument.
    pub prompt: Vec<String>,
    /// It takes `@name` in a prompt as an order.
    pub mentions: bool,
    pub output: Output,
    /// How often in a row it may try a request again, where it would do so for many minutes.
    pub retrying: Option<Retrying>,
    /// What asks for the version, without cost.
    pub version: Vec<String>,
    /// The oldest version that knows the arguments above.
    pub oldest: Option<[u32; 3]>,
}

/// A program that tells on its standard error that it tries again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retrying {
    /// In small letters: what stands in such a line.
    pub says: String,
    /// With this many of them, and nothing done in between, the service has failed.
    pub most: u32,
}

/// How a JSON Schema is passed.
#[derive(Clone, Debug, PartialEq)]
pub enum SchemaVia {
    /// `{schema}` is the schema itself.
    Inline(Vec<String>),
    /// `{schema}` is the path of a file that holds it, in its strict form.
    File(Vec<String>),
    PromptOnly,
}

/// Why a configured agent cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AgentError {
    #[error(
        "there is no agent `{0}`; name a preset (claude, codex, gemini, qwen, opencode), `suggested`, or an [agents.{0}] table"
    )]
    Unknown(String),
    #[error("the agent `{0}` has no command; give it one under [agents.{0}] in fix-loop.toml")]
    NoCommand(String),
}

impl AgentSpec {
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        AgentSpec {
            name: name.into(),
            kind,
            env: Vec::new(),
            editing_env: Vec::new(),
            reading_env: Vec::new(),
            pass_env: Vec::new(),
            limit: None,
            retries: 0,
            templates: BTreeMap::new(),
        }
    }

    /// The built-in agent.
    pub fn suggested() -> Self {
        AgentSpec::new("suggested", Kind::Suggested)
    }

    /// A program that takes the brief and gives the report as JSON.
    pub fn command(name: impl Into<String>, command: Vec<String>) -> Self {
        AgentSpec::new(name, Kind::Command { command })
    }

    /// The agent of this name: a preset, the built-in one, or what the configuration makes of them.
    pub fn resolve(name: &str, config: Option<&AgentConfig>) -> Result<Self, AgentError> {
        let default = AgentConfig::default();
        let said = config.unwrap_or(&default);
        let preset_name = said.preset.as_deref().unwrap_or(name);
        let preset = presets::preset(preset_name);
        let kind = match (said.kind, &preset) {
            (Some(kind), _) => kind,
            (None, Some(_)) => AgentKind::Cli,
            (None, None) if name == "suggested" => AgentKind::Suggested,
            (None, None) if config.is_some() => AgentKind::Command,
            (None, None) => return Err(AgentError::Unknown(name.to_owned())),
        };
        let command = said.command.clone().filter(|command| !command.is_empty());
        let no_command = || AgentError::NoCommand(name.to_owned());
        let mut spec = match kind {
            AgentKind::Suggested => AgentSpec::suggested(),
            AgentKind::Command => AgentSpec::command(name, command.ok_or_else(no_command)?),
            AgentKind::Acp => {
                let command = command.or_else(|| presets::acp_command(preset_name)).ok_or_else(no_command)?;
                let base = preset.unwrap_or_else(|| AgentSpec::command(name, Vec::new()));
                AgentSpec { kind: Kind::Acp { command }, ..base }
            }
            AgentKind::Cli => {
                let mut spec = match preset {
                    Some(preset) => preset,
                    None => AgentSpec::new(name, Kind::Cli(Box::new(Cli::plain(Vec::new())))),
                };
                if let Kind::Cli(cli) = &mut spec.kind {
                    if let Some(command) = command {
                        cli.program = command;
                    }
                    if cli.program.is_empty() {
                        return Err(no_command());
                    }
                    cli.configure(said);
                }
                spec
            }
        };
        spec.name = name.to_owned();
        spec.env.extend(said.env.iter().map(|(key, value)| (key.clone(), value.clone())));
        spec.pass_env.extend(said.pass_env.iter().flatten().cloned());
        spec.limit = said.timeout.or(spec.limit);
        spec.retries = said.retries.unwrap_or(spec.retries);
        Ok(spec)
    }

    /// The program that is started, if one is.
    pub fn program(&self) -> Option<&str> {
        match &self.kind {
            Kind::Cli(cli) => cli.program.first(),
            Kind::Acp { command } | Kind::Command { command } => command.first(),
            Kind::Suggested => None,
        }
        .map(String::as_str)
    }
}

impl Cli {
    /// A program that takes a prompt on standard input and answers with text.
    pub fn plain(program: Vec<String>) -> Self {
        Cli {
            program,
            arguments: Vec::new(),
            editing: Vec::new(),
            also_writes: Vec::new(),
            reading: Vec::new(),
            reading_rules: None,
            model: Vec::new(),
            effort: Vec::new(),
            schema: SchemaVia::PromptOnly,
            resume: Vec::new(),
            prompt: Vec::new(),
            mentions: false,
            output: Output::Text,
            retrying: None,
            version: vec!["--version".into()],
            oldest: None,
        }
    }

    fn configure(&mut self, said: &AgentConfig) {
        match said.brief {
            Some(BriefInput::Stdin) if self.takes_argument() => self.prompt = Vec::new(),
            Some(BriefInput::Argument) => self.prompt = vec!["{prompt}".into()],
            _ => {}
        }
        match said.report {
            Some(ReportFormat::ClaudeJson) => self.output = Output::Claude,
            Some(ReportFormat::CodexJsonl) => self.output = Output::Codex,
            Some(ReportFormat::Text) => self.output = Output::Text,
            None => {}
        }
        // How an agent calls its option is in its preset; without one there is only the prompt.
        match (said.schema, &self.schema) {
            (Some(SchemaDelivery::Prompt), _) => self.schema = SchemaVia::PromptOnly,
            (Some(SchemaDelivery::Inline), SchemaVia::File(arguments)) => {
                self.schema = SchemaVia::Inline(arguments.clone())
            }
            (Some(SchemaDelivery::File), SchemaVia::Inline(arguments)) => {
                self.schema = SchemaVia::File(arguments.clone())
            }
            (Some(SchemaDelivery::Inline), SchemaVia::PromptOnly) => {
                self.schema = SchemaVia::Inline(vec!["--json-schema".into(), "{schema}".into()]);
            }
            (Some(SchemaDelivery::File), SchemaVia::PromptOnly) => {
                self.schema = SchemaVia::File(vec!["--output-schema".into(), "{schema}".into()]);
            }
            _ => {}
        }
        if let Some(model) = &said.model_args {
            self.model = model.clone();
        }
        if let Some(effort) = &said.effort_args {
            self.effort = effort.clone();
        }
    }

    /// A prompt in which nothing is an order to the program itself.
    pub(super) fn shielded(&self, prompt: String) -> String {
        if self.mentions { mentions::shielded(&prompt) } else { prompt }
    }

    /// Whether the prompt is an argument instead of the standard input.
    pub fn takes_argument(&self) -> bool {
        self.prompt.iter().any(|argument| argument.contains("{prompt}"))
    }
}
