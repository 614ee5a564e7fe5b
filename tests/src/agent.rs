//! Agents that do exactly what a test says, by `tests/agents/scripted.py`, which documents the steps.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use serde_json::{Value, json};

use crate::{DEADLINE, Repo, repository_root};

static BRIEF: LazyLock<jsonschema::Validator> = LazyLock::new(|| {
    let text =
        fs::read_to_string(repository_root().join("server/schemas/brief.json")).expect("it is published");
    let schema = serde_json::from_str(&text).expect("it is JSON");
    jsonschema::validator_for(&schema).expect("it is a schema")
});

/// One step of a recipe.
pub type Step = Value;

/// The steps, as functions.
pub mod step {
    use super::Step;
    use serde_json::{Value, json};

    pub fn edit(file: &str, old: &str, new: &str) -> Step {
        json!({"edit": [file, old, new]})
    }
    pub fn write(file: &str, text: &str) -> Step {
        json!({"write": [file, text]})
    }
    pub fn append(file: &str, text: &str) -> Step {
        json!({"append": [file, text]})
    }
    pub fn delete(file: &str) -> Step {
        json!({"delete": file})
    }
    pub fn rename(from: &str, to: &str) -> Step {
        json!({"rename": [from, to]})
    }
    pub fn mode(file: &str, octal: &str) -> Step {
        json!({"mode": [file, octal]})
    }
    pub fn run(arguments: &[&str]) -> Step {
        json!({"run": arguments})
    }
    pub fn spawn(arguments: &[&str]) -> Step {
        json!({"spawn": arguments})
    }
    pub fn stderr(text: &str) -> Step {
        json!({"stderr": text})
    }
    pub fn report(report: Value) -> Step {
        json!({"report": report})
    }
    /// A fixer's plain report.
    pub fn fixed(summary: &str) -> Step {
        json!({"report": {"summary": summary}})
    }
    /// A fixer's request for more files.
    pub fn needs(files: &[&str], justification: &str) -> Step {
        json!({"report": {
            "needs_scope_expansion": true, "additional_files": files, "justification": justification
        }})
    }
    /// A verifier's verdict on every finding of its brief: `rejected` means that it is resolved.
    pub fn judge(verdict: &str, evidence: &str) -> Step {
        json!({"judge": verdict, "evidence": evidence})
    }
    /// Commits everything in the worker's folder.
    pub fn commit(message: &str) -> Step {
        json!({"commit": message})
    }
    /// The footer of `converge`, true but for what is given here.
    pub fn footer(over: Value) -> Step {
        json!({"footer": over})
    }
    /// The same footer in prose and YAML, after a block that is not the last one.
    pub fn prose(over: Value) -> Step {
        json!({"prose": over})
    }
    /// A checker that confirms every finding but those named by their number.
    pub fn consolidate(verdicts: Value) -> Step {
        json!({"consolidate": verdicts})
    }
    /// A closer that resolves every root cause but those named by their id.
    pub fn close(states: Value) -> Step {
        json!({"close": states})
    }
    pub fn raw(text: &str) -> Step {
        json!({"raw": text})
    }
    pub fn mark(name: &str) -> Step {
        json!({"mark": name})
    }
    pub fn wait_for(name: &str) -> Step {
        json!({"await": name})
    }
    pub fn hang() -> Step {
        json!({"hang": true})
    }
    pub fn exit(code: i32) -> Step {
        json!({"exit": code})
    }
    pub fn kill(signal: i32) -> Step {
        json!({"kill": signal})
    }
}

/// A recipe in the making: rules, of which the first that matches a brief is followed.
#[derive(Default)]
pub struct Script {
    rules: Vec<Value>,
}

/// An agent that is ready to be named in a configuration.
pub struct Agent {
    name: String,
    recipe: PathBuf,
    log: PathBuf,
}

impl Script {
    pub fn new() -> Script {
        Script::default()
    }

    /// For every brief of this role.
    pub fn on(self, role: &str, steps: impl IntoIterator<Item = Step>) -> Script {
        self.when(json!({"role": role}), steps)
    }

    /// For briefs of this role in one round.
    pub fn on_round(self, role: &str, round: u32, steps: impl IntoIterator<Item = Step>) -> Script {
        self.when(json!({"role": role, "round": round}), steps)
    }

    /// For the n-th brief of this role, from 1.
    pub fn on_nth(self, role: &str, nth: u32, steps: impl IntoIterator<Item = Step>) -> Script {
        self.when(json!({"role": role, "nth": nth}), steps)
    }

    /// For briefs that hold all of this; `scripted.py` lists the keys.
    pub fn when(mut self, when: Value, steps: impl IntoIterator<Item = Step>) -> Script {
        let steps: Vec<Step> = steps.into_iter().collect();
        self.rules.push(json!({"when": when, "do": steps}));
        self
    }

    /// Another script's rules, after these.
    pub fn and(mut self, other: Script) -> Script {
        self.rules.extend(other.rules);
        self
    }

    /// Writes the recipe beside the repository.
    pub fn install(self, repo: &Repo, name: &str) -> Agent {
        let recipe = repo.outside().join(format!("{name}.recipe.json"));
        let log = repo.outside().join(format!("{name}.log"));
        fs::create_dir_all(&log).expect("a fresh folder");
        fs::write(&recipe, Value::from(self.rules).to_string()).expect("the folder can be written");
        Agent { name: name.to_owned(), recipe, log }
    }
}

impl Agent {
    /// Its `[agents.NAME]` table.
    pub fn toml(&self) -> String {
        let script = repository_root().join("tests/agents/scripted.py");
        let quoted = |path: &Path| Value::from(path.display().to_string()).to_string();
        format!(
            "[agents.{}]\nkind = \"command\"\ncommand = [\"python3\", {}, {}, {}]\n",
            self.name,
            quoted(&script),
            quoted(&self.recipe),
            quoted(&self.log),
        )
    }

    /// Its table, and that it has these roles.
    pub fn toml_for(&self, roles: &[&str]) -> String {
        let mut toml = self.toml();
        for role in roles {
            toml.push_str(&format!("[roles.{role}]\nagent = \"{}\"\n", self.name));
        }
        toml
    }

    /// Every brief so far, in the order of the dispatches. Each fits the published schema.
    pub fn briefs(&self) -> Vec<Value> {
        let briefs = self.kept();
        for brief in &briefs {
            let fits = BRIEF.validate(brief).map_err(|error| format!("{error} at {}", error.instance_path()));
            assert_eq!(fits, Ok(()), "server/schemas/brief.json does not fit {brief:#}");
        }
        briefs
    }

    /// What was given to it, whatever it is.
    fn kept(&self) -> Vec<Value> {
        (1..)
            .map(|number| self.log.join(format!("{number:03}.json")))
            .map_while(|path| fs::read_to_string(path).ok())
            .map(|text| serde_json::from_str(&text).expect("a brief is JSON"))
            .collect()
    }

    /// The briefs' roles and rounds, such as `["fixer 1", "verifier 1"]`.
    pub fn dispatches(&self) -> Vec<String> {
        let brief = |brief: &Value| format!("{} {}", brief["role"].as_str().unwrap_or("?"), brief["round"]);
        self.kept().iter().map(brief).collect()
    }

    /// Where marks are set and awaited.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// Lets a `wait_for` step go on.
    pub fn release(&self, name: &str) {
        fs::write(self.log.join(name), "").expect("the log folder is there");
    }

    /// Waits until a `mark` step was reached.
    pub fn reached(&self, name: &str) {
        let path = self.log.join(name);
        let began = std::time::Instant::now();
        while !path.exists() {
            assert!(began.elapsed() < DEADLINE, "the agent {} never reached {name}", self.name);
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    /// Pids that `spawn` steps left running.
    pub fn spawned(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.log.join("spawned")).unwrap_or_default();
        text.lines().map(|line| line.parse().expect("a pid")).collect()
    }
}
