//! What is known about the coding agents that people have installed, as data.
//!
//! Each line here was seen working against the program itself; `tests/real/real_agents.rs` runs them. Roles that may only
//! read get no tool that edits or runs anything; that is the first line of defence, and the scope guard is the one that
//! counts. Options whose values vary in number are written as one argument each.

use std::path::Path;
use std::time::Duration;

use super::agent::{AgentSpec, Cli, Kind, Retrying, SchemaVia};
use super::stream::Output;
use crate::process::resolve_program;

/// The presets in the order in which they are looked for.
pub const NAMES: [&str; 5] = ["claude", "codex", "gemini", "qwen", "opencode"];

/// Several agents retry for minutes, or hang for ever on a dead endpoint; this is the bound that holds.
const LIMIT: Duration = Duration::from_secs(45 * 60);

/// The first preset whose program is on this `PATH`.
pub fn detect(path: &str) -> Option<&'static str> {
    NAMES.into_iter().find(|name| resolve_program(name, Path::new("/"), Some(path)).is_ok())
}

/// The preset of this name.
pub fn preset(name: &str) -> Option<AgentSpec> {
    let (cli, env, pass_env): (Cli, &[(&str, &str)], &[&str]) = match name {
        "claude" => (
            claude(),
            &[
                ("CLAUDE_CODE_MAX_RETRIES", "3"),
                ("DISABLE_AUTOUPDATER", "1"),
                ("CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1"),
                ("CLAUDE_CODE_DISABLE_TERMINAL_TITLE", "1"),
            ],
            &[
                "ANTHROPIC_*",
                "CLAUDE_CODE_OAUTH_TOKEN",
                "CLAUDE_CODE_API_KEY_HELPER_TTL_MS",
                "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC",
                // Which service answers, and what opens it.
                "CLAUDE_CODE_USE_BEDROCK",
                "CLAUDE_CODE_USE_VERTEX",
                "CLAUDE_CODE_USE_FOUNDRY",
                "AWS_REGION",
                "AWS_PROFILE",
                "AWS_BEARER_TOKEN_BEDROCK",
            ],
        ),
        "codex" => (codex(), &[], &["OPENAI_*", "CODEX_API_KEY", "CODEX_ACCESS_TOKEN", "AZURE_OPENAI_*"]),
        "gemini" => (
            gemini(),
            &[("GEMINI_CLI_TRUST_WORKSPACE", "true"), ("GEMINI_CLI_NO_RELAUNCH", "true")],
            &["GEMINI_*", "GOOGLE_*"],
        ),
        "qwen" => (
            qwen(),
            // It would start itself once more for a larger heap, which takes a second of the processor.
            &[("QWEN_CODE_NO_RELAUNCH", "true"), ("QWEN_CODE_SUPPRESS_YOLO_WARNING", "1")],
            &["OPENAI_*", "QWEN_*", "DASHSCOPE_*", "BAILIAN_*"],
        ),
        "opencode" => (
            opencode(),
            &[("OPENCODE_DISABLE_AUTOUPDATE", "1")],
            &["OPENCODE_*", "ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "OPENROUTER_*", "GOOGLE_*"],
        ),
        _ => return None,
    };
    let mut spec = AgentSpec::new(name, Kind::Cli(Box::new(cli)));
    spec.env = env.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    if name == "opencode" {
        (spec.editing_env, spec.reading_env) = opencode_permissions();
    }
    spec.pass_env = strings(pass_env);
    spec.limit = Some(LIMIT);
    Some(spec)
}

/// How a preset's program speaks the Agent Client Protocol.
pub(super) fn acp_command(name: &str) -> Option<Vec<String>> {
    let command: &[&str] = match name {
        "claude" => &["claude-agent-acp"],
        "codex" => &["codex-acp"],
        "gemini" => &["gemini", "--acp"],
        "qwen" => &["qwen", "--acp"],
        "opencode" => &["opencode", "acp"],
        _ => return None,
    };
    Some(strings(command))
}

fn strings(items: &[&str]) -> Vec<String> {
    items.iter().map(|item| (*item).to_owned()).collect()
}

fn claude() -> Cli {
    Cli {
        arguments: strings(&["-p", "--output-format", "stream-json", "--verbose", "--strict-mcp-config"]),
        // A person's own settings may allow less or more; what is listed is what there is. Denied prefixes keep honest
        // mistakes from costing a round (DESIGN 7.2 has the net below).
        editing: strings(&[
            "--tools=Read,Grep,Glob,Edit,Write,NotebookEdit,Bash",
            "--permission-mode=acceptEdits",
            "--allowedTools=Read,Grep,Glob,Edit,Write,NotebookEdit,Bash",
            "--disallowedTools=Bash(git stash:*),Bash(git reset:*),Bash(git clean:*),Bash(git push:*),Bash(git rebase:*)",
        ]),
        reading: strings(&[
            "--tools=Read,Grep,Glob",
            "--permission-mode=dontAsk",
            "--allowedTools=Read,Grep,Glob",
        ]),
        model: strings(&["--model", "{model}"]),
        effort: strings(&["--effort", "{effort}"]),
        schema: SchemaVia::Inline(strings(&["--json-schema", "{schema}"])),
        resume: strings(&["--resume", "{session}"]),
        output: Output::Claude,
        // The first with `--tools` and `--json-schema`.
        oldest: Some([2, 0, 45]),
        ..Cli::plain(strings(&["claude"]))
    }
}

fn codex() -> Cli {
    Cli {
        arguments: strings(&[
            "exec",
            "--json",
            "--color",
            "never",
            "--skip-git-repo-check",
            "-c",
            "approval_policy=\"never\"",
        ]),
        editing: strings(&["-s", "workspace-write"]),
        also_writes: strings(&["-c", "sandbox_workspace_write.writable_roots={folders}"]),
        reading: strings(&["-s", "read-only"]),
        model: strings(&["-m", "{model}"]),
        effort: strings(&["-c", "model_reasoning_effort=\"{effort}\""]),
        schema: SchemaVia::File(strings(&["--output-schema", "{schema}"])),
        resume: strings(&["resume", "{session}"]),
        prompt: strings(&["-"]),
        output: Output::Codex,
        // The first whose `--json` writes these items.
        oldest: Some([0, 44, 0]),
        ..Cli::plain(strings(&["codex"]))
    }
}

/// What Gemini CLI offers to roles that may only read. An administrator's rules overrule the person's own, which may
/// allow more; what is denied without exception is not even offered.
const GEMINI_READS: &str = r#"[[rule]]
toolName = "*"
decision = "deny"
priority = 1

[[rule]]
toolName = ["read_file", "read_many_files", "list_directory", "glob", "grep_search", "search_file_content"]
decision = "allow"
priority = 2
"#;

fn gemini() -> Cli {
    Cli {
        arguments: strings(&["--output-format", "stream-json"]),
        editing: strings(&["--approval-mode", "yolo"]),
        reading: strings(&["--approval-mode", "default", "--admin-policy", "{rules}"]),
        reading_rules: Some(("policy.toml".into(), GEMINI_READS.into())),
        model: strings(&["-m", "{model}"]),
        resume: strings(&["--resume", "{session}"]),
        mentions: true,
        output: Output::Gemini,
        // Of ten tries, the last of which comes after five minutes.
        retrying: retrying("retrying with backoff", 4),
        // The first with `--admin-policy`, which 0.34 has not.
        oldest: Some([0, 36, 0]),
        ..Cli::plain(strings(&["gemini"]))
    }
}

fn qwen() -> Cli {
    Cli {
        arguments: strings(&["--output-format", "stream-json"]),
        editing: strings(&["--approval-mode", "yolo"]),
        // Whatever the person's settings allow, what is excluded is not offered.
        reading: strings(&[
            "--approval-mode=default",
            "--core-tools=read_file,list_directory,glob,grep_search",
            "--exclude-tools=edit,write_file,notebook_edit,run_shell_command,monitor,web_fetch,agent,skill,tool_call,\
             enter_worktree,cron_create,loop_wakeup,save_memory",
        ]),
        model: strings(&["-m", "{model}"]),
        schema: SchemaVia::Inline(strings(&["--json-schema", "{schema}"])),
        resume: strings(&["--resume", "{session}"]),
        mentions: true,
        output: Output::Claude,
        // That comes after seven tries, and then begins ten pauses of a minute.
        retrying: retrying("retrying in", 1),
        // The first with `--json-schema`, which 0.15.6 has not.
        oldest: Some([0, 15, 10]),
        ..Cli::plain(strings(&["qwen"]))
    }
}

fn opencode() -> Cli {
    Cli {
        // Without its log it says nothing of its tries, which have no end.
        arguments: strings(&["run", "--format", "json", "--print-logs", "--log-level", "ERROR"]),
        editing: strings(&["--auto"]),
        reading: strings(&["--agent", "plan"]),
        model: strings(&["-m", "{model}"]),
        effort: strings(&["--variant", "{effort}"]),
        resume: strings(&["--session", "{session}"]),
        output: Output::Opencode,
        retrying: retrying("message=\"stream error\"", 4),
        // The first with `--auto`, which 1.17.11 has not.
        oldest: Some([1, 17, 18]),
        ..Cli::plain(strings(&["opencode"]))
    }
}

type Variables = Vec<(String, String)>;

/// What opencode takes from its environment, so that it holds over the Agent Client Protocol too, where it asks nobody before
/// it edits. What the person's own settings deny stays denied; what they would ask about is allowed, except outside of the tree.
fn opencode_permissions() -> (Variables, Variables) {
    let editing = r#"{"external_directory":"deny","webfetch":"deny","websearch":"deny"}"#;
    let reading = r#"{"*":"deny","read":"allow","glob":"allow","grep":"allow","list":"allow"}"#;
    let variables = |permission: &str| vec![("OPENCODE_PERMISSION".to_owned(), permission.to_owned())];
    (variables(editing), variables(reading))
}

fn retrying(says: &str, most: u32) -> Option<Retrying> {
    Some(Retrying { says: says.to_owned(), most })
}
