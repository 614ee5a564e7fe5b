//! A small project with a bug and its test, the user's own work in it, and a real coding agent whose model is scripted.
//!
//! Nothing of an agent is configured that a user would not have: its program is on `PATH`, its account is in the
//! environment or in its own settings.

use std::ops::Deref;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use fix_loop_tests::{FixLoop, LspClient, Model, Replies, Repo, env_path, finding};
use serde_json::{Value, json};

/// A program that `tests/run` installs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    Claude,
    Codex,
    /// Claude Code through its adapter for the Agent Client Protocol.
    ClaudeAcp,
    Gemini,
    Qwen,
    Opencode,
    /// The same three as they speak that protocol themselves.
    GeminiAcp,
    QwenAcp,
    OpencodeAcp,
}

impl Program {
    /// The preset, and the name that workers are listed under.
    pub fn name(self) -> &'static str {
        match self {
            Program::Claude => "claude",
            Program::Codex => "codex",
            Program::ClaudeAcp => "adapter",
            Program::Gemini => "gemini",
            Program::Qwen => "qwen",
            Program::Opencode => "opencode",
            Program::GeminiAcp => "gemini-acp",
            Program::QwenAcp => "qwen-acp",
            Program::OpencodeAcp => "opencode-acp",
        }
    }

    /// Whether its readers are offered other tools than its fixers. Codex relies on its sandbox alone, and over ACP what is
    /// offered is the agent's own matter.
    pub fn offers_by_role(self) -> bool {
        self != Program::Codex && !self.speaks_acp()
    }

    pub fn speaks_acp(self) -> bool {
        self.name() == "adapter" || self.name().ends_with("-acp")
    }

    pub fn variable(self) -> &'static str {
        match self {
            Program::Claude => "FIX_LOOP_CLAUDE",
            Program::Codex => "FIX_LOOP_CODEX",
            Program::ClaudeAcp => "FIX_LOOP_CLAUDE_ACP",
            Program::Gemini | Program::GeminiAcp => "FIX_LOOP_GEMINI",
            Program::Qwen | Program::QwenAcp => "FIX_LOOP_QWEN",
            Program::Opencode | Program::OpencodeAcp => "FIX_LOOP_OPENCODE",
        }
    }

    pub fn path(self) -> PathBuf {
        env_path(self.variable())
    }

    /// What a user writes to have this agent in every role, with these lines about the agent itself; nothing at all for
    /// the first that is looked for.
    fn toml(self, about: &str) -> String {
        let roles = match self {
            Program::Claude => String::new(),
            _ => format!("[roles.fixer]\nagent = \"{0}\"\n[roles.verifier]\nagent = \"{0}\"\n", self.name()),
        };
        let own = match self {
            Program::ClaudeAcp => "kind = \"acp\"\npreset = \"claude\"\n".to_owned(),
            Program::GeminiAcp | Program::QwenAcp | Program::OpencodeAcp => {
                format!("kind = \"acp\"\npreset = \"{}\"\n", self.name().trim_end_matches("-acp"))
            }
            _ => String::new(),
        };
        match (own.as_str(), about) {
            ("", "") => roles,
            _ => format!("{roles}[agents.{}]\n{own}{about}", self.name()),
        }
    }
}

/// The project and whatever the user has in it.
pub struct Project {
    pub repo: Repo,
}

/// The same with a real agent and its model.
pub struct World {
    project: Project,
    pub model: Model,
}

impl Deref for World {
    type Target = Project;

    fn deref(&self) -> &Project {
        &self.project
    }
}

const CALC: &str = "import signs\n\n\ndef add(a, b):\n    return a + signs.FACTOR * b\n\n\ndef double(a):\n    return 2 * a\n\n\n\
                    def label(a):\n    return \"value \" + str(a)\n\n\ndef name():\n    return \"calc\"\n";
const TESTS: &str = "import calc\n\n\ndef test_add():\n    assert calc.add(1, 2) == 3\n\n\ndef test_double():\n    assert calc.double(2) == 4\n";

/// A check that belongs to the finding, so that its failure in round 1 needs no verifier.
pub const CHECK: &str = "[[check]]\nname = \"unit\"\ncommand = [\"pytest\"]\npaths = [\"calc.py\"]\n";

/// The line of the bug, and the line that mends it.
pub const WRONG: &str = "    return a + signs.FACTOR * b";
pub const RIGHT: &str = "    return a + b";
/// Another place where the same bug can be mended.
pub const FACTOR: (&str, &str, &str) = ("signs.py", "FACTOR = -1", "FACTOR = 1");

impl World {
    pub fn new(program: Program, replies: Replies) -> World {
        World::with(program, replies, "", |_| {})
    }

    /// The same with more configuration, and the finding changed.
    pub fn with(program: Program, replies: Replies, more: &str, change: impl FnOnce(&mut Value)) -> World {
        World::started(program, |repo| replies.start(repo), more, change)
    }

    /// The same with these lines in the agent's own table.
    pub fn about(program: Program, replies: Replies, about: &str) -> World {
        World::configured(program, |repo| replies.start(repo), &program.toml(about), |_| {})
    }

    pub fn started(
        program: Program,
        start: impl FnOnce(&Repo) -> Model,
        more: &str,
        change: impl FnOnce(&mut Value),
    ) -> World {
        World::configured(program, start, &format!("{}{more}", program.toml("")), change)
    }

    fn configured(
        program: Program,
        start: impl FnOnce(&Repo) -> Model,
        config: &str,
        change: impl FnOnce(&mut Value),
    ) -> World {
        let mut project = Project::new(config, change);
        let model = start(&project.repo);
        use_model(&mut project.repo, program, model.port());
        World { project, model }
    }
}

impl Project {
    pub fn new(config: &str, change: impl FnOnce(&mut Value)) -> Project {
        let repo = Repo::with(&[
            ("calc.py", CALC),
            ("test_calc.py", TESTS),
            ("signs.py", "FACTOR = -1\n"),
            ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-q -p no:cacheprovider\"\n"),
            (".gitignore", "__pycache__/\n"),
        ]);
        repo.config(config);
        // The user's own: one hunk staged, one not, and a file of nobody's.
        let mine = CALC.replace("value ", "value: ");
        repo.write("calc.py", &mine);
        repo.git(["add", "calc.py"]);
        repo.write("calc.py", mine.replace("\"calc\"", "\"calculator\""));
        repo.write("mine.txt", "untracked, and mine\n");
        let mut wrong = finding("f1", "calc.py", 5, "add subtracts");
        wrong["criterion"] = "add(1, 2) == 3".into();
        change(&mut wrong);
        repo.findings(&[wrong]);
        Project { repo }
    }

    pub fn run(&self, more: &[&str]) -> FixLoop {
        self.repo.fix_loop(["run", "--trust", "--format", "json"]).args(more)
    }

    pub fn answer(&self, question: &str, choice: &str) -> FixLoop {
        self.repo.fix_loop(["answer", question, choice, "--format", "json"])
    }

    pub fn lsp(&self) -> LspClient {
        LspClient::start(&self.repo)
    }

    pub fn status(&self) -> Value {
        self.repo.fix_loop(["status", "--format", "json"]).expect(0).json()
    }

    /// The one open question, which must be of this kind.
    #[track_caller]
    pub fn question(&self, kind: &str) -> Value {
        let status = self.status();
        let all = status["questions"].as_array().expect("a list");
        assert_eq!(all.len(), 1, "{status:#}");
        assert_eq!(all[0]["kind"], kind, "{status:#}");
        all[0].clone()
    }

    /// What a worker wrote, for failed assertions.
    pub fn transcripts(&self) -> String {
        let mut all = String::new();
        let mut folders = vec![self.repo.path(".git/fix-loop/workers")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
                let path = entry.path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => all.push_str(&std::fs::read_to_string(path).unwrap_or_default()),
                }
            }
        }
        all
    }

    /// The fix of `add` is staged beside the user's staged hunk, and nothing else is.
    #[track_caller]
    pub fn assert_fixed(&self) {
        self.assert_staged(&format!("@@ -5 +5 @@ def add(a, b):\n-{WRONG}\n+{RIGHT}\n"), "");
    }

    /// These hunks of calc.py stand beside the user's staged one, and this diff of another file.
    #[track_caller]
    pub fn assert_staged(&self, hunks: &str, other: &str) {
        assert_eq!(
            self.repo.diff_cached(),
            format!(
                "diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n{hunks}@@ -13 +13 @@ def label(a):\n\
                 -    return \"value \" + str(a)\n+    return \"value: \" + str(a)\n{other}"
            )
        );
        assert_eq!(
            self.repo.diff(),
            "diff --git a/calc.py b/calc.py\n--- a/calc.py\n+++ b/calc.py\n@@ -17 +17 @@ def name():\n\
             -    return \"calc\"\n+    return \"calculator\"\n",
            "the user's own hunk is neither staged nor lost"
        );
        assert_eq!(self.repo.read("mine.txt"), "untracked, and mine\n");
    }
}

/// Gives everything that is started for the repository the program and an account at the model.
pub fn use_model(repo: &mut Repo, program: Program, port: u16) {
    let path = program.path();
    let folder = match program {
        // A package with a script in it, which npm links from a folder of programs.
        Program::ClaudeAcp => {
            let folder = repo.outside().join("bin");
            std::fs::create_dir_all(&folder).expect("the folder can be written");
            let text = format!("#!/bin/sh\nexec node '{}' \"$@\"\n", path.display());
            let link = folder.join("claude-agent-acp");
            std::fs::write(&link, text).expect("a fresh folder");
            std::fs::set_permissions(&link, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
            folder
        }
        _ => path.parent().map(Path::to_owned).expect("it lies in a folder"),
    };
    let rest = std::env::var("PATH").expect("a PATH");
    repo.set_env("PATH", format!("{}:{rest}", folder.display()));
    let endpoint = format!("http://127.0.0.1:{port}");
    let home = repo.home();
    match program {
        Program::Claude | Program::ClaudeAcp => {
            repo.set_env("ANTHROPIC_BASE_URL", endpoint);
            repo.set_env("ANTHROPIC_API_KEY", "test");
            repo.set_env("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1");
        }
        Program::Codex => {
            let folder = home.join(".codex");
            std::fs::create_dir_all(&folder).expect("the home can be written");
            let config = format!(
                "model = \"gpt-5.5\"\nmodel_provider = \"fake\"\n[analytics]\nenabled = false\n[features]\nplugins = false\n\
                 [model_providers.fake]\nname = \"fake\"\nbase_url = \"{endpoint}/v1\"\nwire_api = \"responses\"\n\
                 env_key = \"OPENAI_API_KEY\"\nrequest_max_retries = 1\nstream_max_retries = 1\n"
            );
            std::fs::write(folder.join("config.toml"), config).expect("a fresh folder");
            repo.set_env("OPENAI_API_KEY", "test");
        }
        Program::Gemini | Program::GeminiAcp => {
            // An endpoint in the environment alone makes it choose a way to log in that it then refuses.
            let folder = home.join(".gemini");
            std::fs::create_dir_all(&folder).expect("the home can be written");
            let settings = json!({"security": {"auth": {"selectedType": "gemini-api-key"}}});
            std::fs::write(folder.join("settings.json"), settings.to_string()).expect("a fresh folder");
            // It leaves reports of failures in the folder for temporary files.
            repo.set_env("TMPDIR", home.clone());
            repo.set_env("GEMINI_API_KEY", "test");
            repo.set_env("GOOGLE_GEMINI_BASE_URL", endpoint);
        }
        Program::Qwen | Program::QwenAcp => {
            repo.set_env("OPENAI_API_KEY", "test");
            repo.set_env("OPENAI_BASE_URL", format!("{endpoint}/v1"));
            repo.set_env("OPENAI_MODEL", "fake");
        }
        Program::Opencode | Program::OpencodeAcp => {
            let config = json!({
                "autoupdate": false, "share": "disabled", "model": "fake/fake", "small_model": "fake/fake",
                "provider": {"fake": {
                    "npm": "@ai-sdk/openai-compatible", "name": "fake",
                    "options": {"baseURL": format!("{endpoint}/v1"), "apiKey": "test"},
                    "models": {"fake": {"name": "fake", "limit": {"context": 200_000, "output": 8192}}},
                }},
            });
            repo.set_env("OPENCODE_CONFIG_CONTENT", config.to_string());
            repo.set_env("OPENCODE_DISABLE_MODELS_FETCH", "1");
            repo.set_env("OPENCODE_DISABLE_LSP_DOWNLOAD", "1");
            repo.set_env("OPENCODE_DISABLE_DEFAULT_PLUGINS", "1");
        }
    }
}

// ---------------------------------------------------------------- steps

pub fn edit(old: &str, new: &str) -> Value {
    json!({"edit": "calc.py", "old": old, "new": new})
}

/// Reads, edits, and looks at the result as an agent does.
pub fn mend() -> Vec<Value> {
    vec![
        json!({"read": "calc.py"}),
        edit(WRONG, RIGHT),
        json!({"shell": "python3 -c 'import calc; assert calc.add(1, 2) == 3'"}),
        json!({"report": fixed("add added")}),
    ]
}

/// An edit that does not mend it.
pub fn miss() -> Vec<Value> {
    vec![
        json!({"read": "calc.py"}),
        edit(WRONG, "    return a - 2 * b"),
        json!({"report": fixed("doubled the difference")}),
    ]
}

/// A fixer's report, with every key that strict schemas want.
pub fn fixed(summary: &str) -> Value {
    json!({
        "status": "fixed", "files_changed": ["calc.py"], "summary": summary, "concerns": null, "blocked_by": null,
        "needs_scope_expansion": false, "additional_files": [], "justification": "",
    })
}

pub fn needs_signs() -> Value {
    json!({
        "status": null, "files_changed": [], "summary": "", "concerns": null, "blocked_by": null,
        "needs_scope_expansion": true, "additional_files": ["signs.py"], "justification": "the sign is kept there",
    })
}

/// A verifier's report with one verdict on the one finding.
pub fn judged(verdict: &str, evidence: &str) -> Value {
    json!({
        "schema_version": "v1", "checks_run": ["read calc.py"], "findings": [{
            "id": 1, "severity": "P1", "title": "add subtracts", "body": "", "file": "calc.py", "line_start": 5,
            "line_end": 5, "confidence": 1.0, "criterion": "add(1, 2) == 3", "verdict": verdict,
            "evidence": evidence, "origin": null, "caused_by": null,
        }],
    })
}
