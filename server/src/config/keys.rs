//! The keys of `fix-loop.toml` as types: what one source may say, everything optional.
//!
//! The doc comments here become the descriptions in the published JSON Schema, so they are written for its readers.

use std::collections::BTreeMap;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{Config, duration};

/// Configuration of Fix Loop. Everything has a default; an empty file is valid.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ConfigFile {
    /// Which loop runs. Default: `bounded`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub protocol: Option<Protocol>,
    /// Globs of the findings files, relative to the root. Default: `[".fix-loop/findings/**"]`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub findings: Option<Vec<String>>,
    /// Which findings the editor shows. Default: `unconfirmed`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub show: Option<Show>,
    /// How much evidence round 1 needs before the verifier is left out. Default: `proven`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub round1_evidence: Option<Round1Evidence>,
    /// `converge`: the specification, relative to the root. Default: looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub spec: Option<String>,
    /// `converge`: the documents that the Standards axis judges against. Default: looked up.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub standards: Option<Vec<String>>,
    /// `rereview`: a fixer simplifies the change first, and a fresh review of what it left replaces the one that the loop
    /// came with. That is not an attempt. Default: `false`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub simplify: Option<bool>,
    /// Limits of one loop.
    #[serde(default, skip_serializing_if = "BudgetFile::is_empty")]
    pub budget: BudgetFile,
    /// What a loop may change without asking.
    #[serde(default, skip_serializing_if = "ScopeFile::is_empty")]
    pub scope: ScopeFile,
    /// Commands that verify a fix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub check: Vec<CheckConfig>,
    /// Programs that can act as subagents, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub agents: BTreeMap<String, AgentConfig>,
    /// Which agent does what.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub roles: BTreeMap<RoleName, RoleConfig>,
}

/// The loop to run (DESIGN 6).
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// Two rounds for each batch, then a question. Stages, never commits.
    #[default]
    Bounded,
    /// Review once, then fix and close while the burden strictly falls. Commits in its own worktree.
    Converge,
    /// Fixer, then a separate reviewer, at most two loops, then a diagnosis.
    Rereview,
}

impl Protocol {
    pub const ALL: [Protocol; 3] = [Protocol::Bounded, Protocol::Converge, Protocol::Rereview];

    pub fn as_str(self) -> &'static str {
        match self {
            Protocol::Bounded => "bounded",
            Protocol::Converge => "converge",
            Protocol::Rereview => "rereview",
        }
    }
}

impl std::fmt::Display for Protocol {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.as_str())
    }
}

impl std::str::FromStr for Protocol {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Protocol::ALL
            .into_iter()
            .find(|protocol| protocol.as_str() == text)
            .ok_or_else(|| format!("`{text}` is no protocol; there are bounded, converge and rereview"))
    }
}

/// Which findings the editor shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Show {
    /// Confirmed P0 and P1 only.
    Confirmed,
    /// Also P0 and P1 without a verdict, as hints.
    #[default]
    Unconfirmed,
    /// Also P2 and P3.
    All,
}

/// How much evidence round 1 needs (DESIGN 7.4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Round1Evidence {
    /// A check that failed before and passes now, or a pattern check.
    #[default]
    Proven,
    /// Checks that still pass, and the cited lines are different.
    Touched,
}

/// Limits of one loop. `converge` defaults to 12 workers and 360 minutes, the others to 8 and 60.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BudgetFile {
    /// How many subagents a loop may start.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub workers: Option<u32>,
    /// How long a loop may take, in minutes.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 1))]
    pub minutes: Option<u32>,
    /// What a loop may cost, in US dollars, as far as the agents report it. Default: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cost_usd: Option<f64>,
}

impl BudgetFile {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// What a loop may change without asking.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ScopeFile {
    /// Globs of paths that never need asking. Default: none.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub always_allow: Option<Vec<String>>,
}

impl ScopeFile {
    fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}

/// A command that verifies a fix.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct CheckConfig {
    /// By which findings and people refer to it.
    pub name: String,
    /// The program and its arguments: an argument list, never a shell string.
    #[schemars(length(min = 1))]
    pub command: Vec<String>,
    /// Globs of the files whose findings it belongs to. Absent: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paths: Option<Vec<String>>,
    /// What it tells.
    #[serde(default)]
    pub kind: CheckKind,
    /// Where it runs, relative to the root.
    #[serde(default = "here")]
    pub cwd: String,
    /// Variables added to its environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// How long it may take, such as `90s`, `5m` or `1h30m`. Default: `5m`.
    #[serde(default = "five_minutes", with = "duration")]
    #[schemars(with = "String")]
    pub timeout: Duration,
}

fn here() -> String {
    ".".to_owned()
}

fn five_minutes() -> Duration {
    Duration::from_secs(5 * 60)
}

/// What a check tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CheckKind {
    #[default]
    Test,
    Lint,
    Typecheck,
    Build,
}

/// A program that can act as a subagent. What is not said comes from its preset.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentConfig {
    /// How it is spoken to. Default: as its preset, else `command`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<AgentKind>,
    /// The preset that fills in what is not said: `claude`, `codex`, `gemini`, `qwen` or `opencode`. Default: the
    /// preset of the agent's own name, if there is one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub preset: Option<String>,
    /// The program and its arguments: an argument list, never a shell string.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub command: Option<Vec<String>>,
    /// `cli`: how the brief goes in.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief: Option<BriefInput>,
    /// `cli`: how the report comes out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub report: Option<ReportFormat>,
    /// `cli`: how the JSON Schema of the report is passed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schema: Option<SchemaDelivery>,
    /// `cli`: arguments that choose a model; `{model}` stands for its name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model_args: Option<Vec<String>>,
    /// `cli`: arguments that choose an effort; `{effort}` stands for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort_args: Option<Vec<String>>,
    /// Variables added to its environment.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub env: BTreeMap<String, String>,
    /// Names of variables of your own environment that it may see, besides those of its preset.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pass_env: Option<Vec<String>>,
    /// How long one dispatch may take, such as `30m`.
    #[serde(default, with = "duration::optional", skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<String>")]
    pub timeout: Option<Duration>,
    /// How often a dispatch is started again when the service failed before any work was done.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub retries: Option<u32>,
}

/// How an agent is spoken to (DESIGN 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentKind {
    /// A coding agent's own command line, by its preset.
    Cli,
    /// The Agent Client Protocol, version 1.
    Acp,
    /// Your own program: the brief as JSON on stdin, the report as JSON on stdout.
    Command,
    /// Built in: applies the fix that the finding itself carries.
    Suggested,
}

/// How the brief reaches a command-line agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BriefInput {
    Stdin,
    /// As the last argument.
    Argument,
}

/// How a command-line agent's report comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum ReportFormat {
    ClaudeJson,
    CodexJsonl,
    Text,
}

/// How a command-line agent is told the JSON Schema of its report.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SchemaDelivery {
    /// As an argument.
    Inline,
    /// As the path of a file.
    File,
    /// In the prompt only.
    Prompt,
}

/// What a subagent is for (DESIGN 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RoleName {
    Fixer,
    Verifier,
    Reviewer,
    Checker,
    Closer,
    Recoverer,
    Diagnoser,
    FinalGate,
}

impl RoleName {
    pub const ALL: [RoleName; 8] = [
        RoleName::Fixer,
        RoleName::Verifier,
        RoleName::Reviewer,
        RoleName::Checker,
        RoleName::Closer,
        RoleName::Recoverer,
        RoleName::Diagnoser,
        RoleName::FinalGate,
    ];

    pub fn as_str(self) -> &'static str {
        match self {
            RoleName::Fixer => "fixer",
            RoleName::Verifier => "verifier",
            RoleName::Reviewer => "reviewer",
            RoleName::Checker => "checker",
            RoleName::Closer => "closer",
            RoleName::Recoverer => "recoverer",
            RoleName::Diagnoser => "diagnoser",
            RoleName::FinalGate => "final_gate",
        }
    }
}

/// Which agent does the work of a role, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct RoleConfig {
    /// Name of a preset or of an `[agents.NAME]` table. Default: the first installed preset, else `suggested`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
    /// For findings in one file.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub scoped: Option<ModelChoice>,
    /// For findings across several files.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cross_file: Option<ModelChoice>,
    /// `rereview`: the steps by which model or effort may be raised, weakest first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ladder: Option<Vec<ModelChoice>>,
    /// A file whose text stands in place of the built-in brief template, relative to the root.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub brief: Option<String>,
}

/// A model and an effort, in the agent's own words.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ModelChoice {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub effort: Option<String>,
}

/// `upper` where it says something, else `lower`.
fn over<T>(lower: &mut Option<T>, upper: Option<T>) {
    if upper.is_some() {
        *lower = upper;
    }
}

impl ConfigFile {
    /// Lays another source on top of this one: single values and lists of the upper source replace those below, checks of
    /// the same name are replaced, tables of agents and roles are joined key by key.
    pub(super) fn lay_over(&mut self, upper: ConfigFile) {
        over(&mut self.protocol, upper.protocol);
        over(&mut self.findings, upper.findings);
        over(&mut self.show, upper.show);
        over(&mut self.round1_evidence, upper.round1_evidence);
        over(&mut self.spec, upper.spec);
        over(&mut self.standards, upper.standards);
        over(&mut self.simplify, upper.simplify);
        over(&mut self.budget.workers, upper.budget.workers);
        over(&mut self.budget.minutes, upper.budget.minutes);
        over(&mut self.budget.cost_usd, upper.budget.cost_usd);
        over(&mut self.scope.always_allow, upper.scope.always_allow);
        for check in upper.check {
            match self.check.iter_mut().find(|known| known.name == check.name) {
                Some(known) => *known = check,
                None => self.check.push(check),
            }
        }
        for (name, agent) in upper.agents {
            self.agents.entry(name).or_default().lay_over(agent);
        }
        for (name, role) in upper.roles {
            self.roles.entry(name).or_default().lay_over(role);
        }
    }

    pub(super) fn into_config(self) -> Config {
        Config {
            protocol: self.protocol.unwrap_or_default(),
            findings: self.findings.unwrap_or_else(|| vec![".fix-loop/findings/**".to_owned()]),
            show: self.show.unwrap_or_default(),
            round1_evidence: self.round1_evidence.unwrap_or_default(),
            spec: self.spec,
            standards: self.standards.unwrap_or_default(),
            simplify: self.simplify.unwrap_or_default(),
            budget: self.budget,
            always_allow: self.scope.always_allow.unwrap_or_default(),
            checks: self.check,
            agents: self.agents,
            roles: self.roles,
        }
    }
}

impl AgentConfig {
    fn lay_over(&mut self, upper: AgentConfig) {
        over(&mut self.kind, upper.kind);
        over(&mut self.preset, upper.preset);
        over(&mut self.command, upper.command);
        over(&mut self.brief, upper.brief);
        over(&mut self.report, upper.report);
        over(&mut self.schema, upper.schema);
        over(&mut self.model_args, upper.model_args);
        over(&mut self.effort_args, upper.effort_args);
        self.env.extend(upper.env);
        over(&mut self.pass_env, upper.pass_env);
        over(&mut self.timeout, upper.timeout);
        over(&mut self.retries, upper.retries);
    }
}

impl RoleConfig {
    fn lay_over(&mut self, upper: RoleConfig) {
        over(&mut self.agent, upper.agent);
        over(&mut self.model, upper.model);
        over(&mut self.effort, upper.effort);
        over(&mut self.scoped, upper.scoped);
        over(&mut self.cross_file, upper.cross_file);
        over(&mut self.ladder, upper.ladder);
        over(&mut self.brief, upper.brief);
    }
}
