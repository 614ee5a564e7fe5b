//! Reading what a command-line agent writes: its last message, its session, what it did and what it cost.
//!
//! Every agent has its own format; what they say is joined here into one reading. An error that an agent reports beside an
//! exit code of 0 is an error.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::agent::Retrying;
use super::lenient::as_text;
use super::outcome::Usage;
use super::{denials, excerpt, parse};

mod gemini;
mod opencode;

/// The format of an agent's standard output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// JSON lines (or one object) with a closing `result`, as Claude Code and qwen-code write them.
    Claude,
    /// JSON lines of items, as Codex writes them.
    Codex,
    /// JSON lines of events with a closing `result`, or one object with `response` and `stats`, as Gemini CLI writes them.
    Gemini,
    /// JSON lines of parts, as opencode writes them.
    Opencode,
    /// Nothing but the answer.
    Text,
}

/// One thing that an agent is doing, for people to watch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Progress {
    /// The agent's own name of the tool.
    pub tool: String,
    /// The file, relative where it is inside the workspace, or the head of the command.
    pub target: Option<String>,
}

impl std::fmt::Display for Progress {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.target {
            Some(target) => write!(f, "{} {target}", self.tool),
            None => f.write_str(&self.tool),
        }
    }
}

/// An error in the agent's own words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StreamError {
    /// The HTTP status that the model service answered with, where the agent tells.
    pub status: Option<u64>,
    pub message: String,
}

/// What has been read so far.
#[derive(Debug)]
pub struct Reading {
    output: Output,
    workspace: String,
    /// What continues this session.
    pub session: Option<String>,
    /// The last message.
    pub text: Option<String>,
    /// The last message, where the agent gives it as data.
    pub structured: Option<Value>,
    pub error: Option<StreamError>,
    /// What was said last in the course of the work.
    said: Option<String>,
    /// The agent gave up on its own output schema and ended: a report is at most in what it said.
    pub schema_unmet: bool,
    pub usage: Usage,
    /// Tool calls that were seen.
    pub tools: u32,
    /// Edits that were made, and those that were denied.
    pub edits: u32,
    pub denied: Vec<String>,
    /// Edits under way: the agent's number of the call, and the file.
    open_edits: Vec<(String, String)>,
    /// A complaint that may pass (a retry under way); an error only if nothing comes after it.
    complaint: Option<String>,
    retrying: Option<Retrying>,
    /// Retries told since anything was done.
    retries: u32,
    /// It tried again more often than it may.
    pub gave_up: bool,
}

impl Reading {
    pub fn new(output: Output, workspace: &str) -> Self {
        Reading {
            output,
            workspace: workspace.trim_end_matches('/').to_owned(),
            session: None,
            text: None,
            structured: None,
            error: None,
            said: None,
            schema_unmet: false,
            usage: Usage::default(),
            tools: 0,
            edits: 0,
            denied: Vec::new(),
            open_edits: Vec::new(),
            complaint: None,
            retrying: None,
            retries: 0,
            gave_up: false,
        }
    }

    /// The same, with a bound for tries in a row.
    pub fn impatient(self, retrying: Option<Retrying>) -> Self {
        Reading { retrying, ..self }
    }

    /// Takes one line of standard error.
    pub fn complaint_line(&mut self, line: &str) -> Vec<Progress> {
        let Some(retrying) = &self.retrying else { return Vec::new() };
        if self.gave_up || !line.to_lowercase().contains(&retrying.says) {
            return Vec::new();
        }
        self.tried_again(line);
        vec![self.progress("retrying", Some(line.to_owned()))]
    }

    /// Takes one line of standard output.
    pub fn line(&mut self, line: &str) -> Vec<Progress> {
        if !line.trim_start().starts_with('{') {
            return Vec::new();
        }
        let Ok(event) = serde_json::from_str::<Value>(line) else { return Vec::new() };
        let progress = match self.output {
            Output::Claude => self.claude(&event),
            Output::Codex => self.codex(&event),
            Output::Gemini => self.gemini(&event),
            Output::Opencode => self.opencode(&event),
            Output::Text => Vec::new(),
        };
        if !progress.is_empty() {
            self.retries = 0;
        }
        self.tools += u32::try_from(progress.len()).unwrap_or(0);
        progress
    }

    /// Takes both whole outputs at the end, for formats that are not lines and for lines that were cut.
    pub fn finish(&mut self, stdout: &str, stderr: &str) {
        match self.output {
            Output::Text => self.text = Some(stdout.to_owned()),
            Output::Gemini if self.text.is_none() && self.error.is_none() => {
                self.gemini_whole(stdout, stderr)
            }
            Output::Claude if self.text.is_none() && self.error.is_none() && !self.schema_unmet => {
                // One array or one pretty-printed object instead of lines.
                for event in parse::objects(stdout) {
                    self.claude(&event);
                }
            }
            Output::Codex => {
                for target in denials::in_codex_log(stderr) {
                    self.deny(&target);
                }
            }
            Output::Claude | Output::Gemini | Output::Opencode => {}
        }
        if self.error.is_none()
            && self.text.is_none()
            && let Some(message) = self.complaint.take()
        {
            self.error = Some(StreamError { status: None, message });
        }
    }

    /// Nothing was done, and the program goes on trying.
    fn tried_again(&mut self, words: &str) {
        let Some(retrying) = &self.retrying else { return };
        self.retries += 1;
        if self.retries >= retrying.most && !self.gave_up {
            self.gave_up = true;
            let message = format!(
                "it tried {} times in a row; last: {}",
                self.retries,
                excerpt::head(words.trim(), 300)
            );
            self.error = Some(StreamError { status: None, message });
        }
    }

    /// Whether costs are told for the whole session so far instead of for this turn.
    pub fn counts_session(&self) -> bool {
        self.output == Output::Codex
    }

    fn progress(&self, tool: &str, target: Option<String>) -> Progress {
        Progress { tool: excerpt::head(tool, 60), target: target.map(|target| self.short(&target)) }
    }

    fn short(&self, target: &str) -> String {
        let target = target.strip_prefix(&format!("{}/", self.workspace)).unwrap_or(target);
        let line = crate::process::clean(target).lines().next().unwrap_or_default().to_owned();
        excerpt::head(&line, 160)
    }

    fn claude(&mut self, event: &Value) -> Vec<Progress> {
        if let Some(session) = event.get("session_id").and_then(Value::as_str) {
            self.session = Some(session.to_owned());
        }
        let content = || event.pointer("/message/content").and_then(Value::as_array).into_iter().flatten();
        match event.get("type").and_then(Value::as_str) {
            Some("assistant") => {
                let mut seen = Vec::new();
                for block in content() {
                    let kind = block.get("type").and_then(Value::as_str);
                    let name = block.get("name").and_then(Value::as_str).unwrap_or_default();
                    if kind == Some("text") {
                        self.said = block.get("text").and_then(Value::as_str).map(str::to_owned);
                    }
                    if kind != Some("tool_use") || matches!(name, "StructuredOutput" | "structured_output") {
                        continue;
                    }
                    if is_edit(name)
                        && let Some(id) = block.get("id").and_then(Value::as_str)
                    {
                        let target = target_of(block.get("input")).unwrap_or_default();
                        self.open_edits.push((id.to_owned(), target));
                    }
                    seen.push(self.progress(name, target_of(block.get("input"))));
                }
                seen
            }
            Some("user") => {
                for block in content() {
                    let Some(id) = block.get("tool_use_id").and_then(Value::as_str) else { continue };
                    let failed = block.get("is_error") == Some(&Value::Bool(true));
                    let why = failed.then(|| block.get("content").map(as_text).unwrap_or_default());
                    self.edit_ended(id, why.as_deref());
                }
                Vec::new()
            }
            Some("result") => {
                self.claude_result(event);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }

    /// An edit under way was made, or was not, for this reason.
    fn edit_ended(&mut self, id: &str, failed: Option<&str>) {
        let Some(at) = self.open_edits.iter().position(|(open, _)| open == id) else { return };
        let (_, target) = self.open_edits.swap_remove(at);
        match failed {
            None => self.edits += 1,
            Some(why) if denials::reads_as_denial(why) => self.deny(&target),
            Some(_) => {}
        }
    }

    /// An edit that was not allowed, which an agent may tell more than once.
    fn deny(&mut self, target: &str) {
        let target = if target.is_empty() { "any file".to_owned() } else { self.short(target) };
        if !self.denied.contains(&target) {
            self.denied.push(target);
        }
    }

    fn claude_result(&mut self, event: &Value) {
        self.usage.cost_usd = event.get("total_cost_usd").and_then(Value::as_f64).or(self.usage.cost_usd);
        // The sum per model also holds what side requests took; not every agent of this format tells it.
        let models = event.get("modelUsage").and_then(Value::as_object);
        let per_model: u64 = models
            .into_iter()
            .flat_map(serde_json::Map::values)
            .map(|model| {
                sum(
                    model,
                    &["inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens"],
                )
            })
            .sum();
        let in_all = event.get("usage").map_or(0, |usage| {
            sum(
                usage,
                &["input_tokens", "output_tokens", "cache_read_input_tokens", "cache_creation_input_tokens"],
            )
        });
        let tokens = per_model.max(in_all);
        if tokens > 0 {
            self.usage.tokens = Some(tokens);
        }
        for denial in event.get("permission_denials").and_then(Value::as_array).into_iter().flatten() {
            let name = denial.get("tool_name").and_then(Value::as_str).unwrap_or_default();
            if is_edit(name) {
                let target = target_of(denial.get("tool_input")).unwrap_or_default();
                self.deny(&target);
            }
        }
        let subtype = event.get("subtype").and_then(Value::as_str).unwrap_or_default();
        if subtype == "error_max_structured_output_retries" {
            self.schema_unmet = true;
            self.text = self.said.take();
            return;
        }
        let said = event.get("result").map(as_text).filter(|text| !text.is_empty());
        if event.get("is_error") == Some(&Value::Bool(true)) || subtype.starts_with("error") {
            let message = said
                .or_else(|| event.get("errors").map(as_text).filter(|text| !text.is_empty()))
                .or_else(|| event.pointer("/error/message").map(as_text))
                .unwrap_or_else(|| subtype.replace('_', " "));
            // So says qwen-code that its model answered in prose.
            if message.contains("instead of calling the structured_output tool") {
                self.schema_unmet = true;
                self.text = self.said.take();
                return;
            }
            self.error =
                Some(StreamError { status: event.get("api_error_status").and_then(Value::as_u64), message });
            return;
        }
        let structured = event.get("structured_output").or_else(|| event.get("structured_result"));
        self.structured = structured.filter(|value| value.is_object()).cloned();
        self.text = said;
    }

    fn codex(&mut self, event: &Value) -> Vec<Progress> {
        let item = event.get("item");
        let field = |key: &str| item.and_then(|item| item.get(key)).and_then(Value::as_str);
        match event.get("type").and_then(Value::as_str) {
            Some("thread.started") => {
                self.session = event.get("thread_id").and_then(Value::as_str).map(str::to_owned);
                Vec::new()
            }
            Some("item.started") => match field("type") {
                Some("command_execution") => {
                    vec![self.progress("shell", field("command").map(unwrapped_shell))]
                }
                Some("mcp_tool_call") => vec![self.progress(field("tool").unwrap_or("tool"), None)],
                Some("web_search") => vec![self.progress("web_search", field("query").map(str::to_owned))],
                _ => Vec::new(),
            },
            Some("item.completed") => match field("type") {
                Some("agent_message") => {
                    self.text = field("text").map(str::to_owned);
                    Vec::new()
                }
                Some("file_change") => {
                    let changes = item.and_then(|item| item.get("changes")).and_then(Value::as_array);
                    let failed = field("status") == Some("failed");
                    let paths =
                        changes.into_iter().flatten().filter_map(|change| change.get("path")).map(as_text);
                    let paths: Vec<String> = paths.collect();
                    if failed {
                        for path in &paths {
                            self.deny(path);
                        }
                    } else {
                        self.edits += u32::try_from(paths.len()).unwrap_or(0);
                    }
                    paths.into_iter().map(|path| self.progress("edit", Some(path))).collect()
                }
                Some("command_execution") if field("status") == Some("failed") => {
                    let output = field("aggregated_output").unwrap_or_default();
                    if let Some(line) = denials::in_output(output, &self.workspace) {
                        self.deny(&line);
                    }
                    Vec::new()
                }
                _ => Vec::new(),
            },
            Some("turn.completed") => {
                let tokens: u64 = ["input_tokens", "output_tokens"]
                    .iter()
                    .filter_map(|key| event.pointer(&format!("/usage/{key}")).and_then(Value::as_u64))
                    .sum();
                self.usage.tokens = (tokens > 0).then_some(tokens).or(self.usage.tokens);
                self.complaint = None;
                Vec::new()
            }
            Some("turn.failed") => {
                let message = event.pointer("/error/message").map(as_text).unwrap_or_default();
                self.error = Some(StreamError { status: None, message });
                Vec::new()
            }
            Some("error") => {
                self.complaint = event.get("message").map(as_text);
                Vec::new()
            }
            _ => Vec::new(),
        }
    }
}

fn sum(object: &Value, keys: &[&str]) -> u64 {
    keys.iter().filter_map(|key| object.get(key).and_then(Value::as_u64)).sum()
}

fn is_edit(tool: &str) -> bool {
    matches!(
        tool,
        "Edit"
            | "Write"
            | "MultiEdit"
            | "NotebookEdit"
            | "edit"
            | "write"
            | "write_file"
            | "replace"
            | "patch"
            | "apply_patch"
    )
}

/// What a tool is used on.
fn target_of(input: Option<&Value>) -> Option<String> {
    let input = input?;
    ["file_path", "filePath", "absolute_path", "notebook_path", "path", "command", "pattern", "query", "url"]
        .iter()
        .find_map(|key| input.get(key))
        .map(as_text)
        .filter(|target| !target.is_empty())
}

/// Codex shows every command inside the shell that runs it.
fn unwrapped_shell(command: &str) -> String {
    let inner = ["/bin/bash -lc ", "bash -lc ", "/bin/sh -c ", "/bin/zsh -lc "]
        .iter()
        .find_map(|prefix| command.strip_prefix(prefix))
        .unwrap_or(command);
    inner.trim_matches(['\'', '"']).to_owned()
}
