//! The scripted model on loopback, `tests/tools/fakemodel.py`, which documents its rules and steps.

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};

use serde_json::{Value, json};

use crate::{Repo, repository_root};

/// What the model answers, as rules of which the first that matches a request is followed.
#[derive(Default)]
pub struct Replies {
    rules: Vec<Value>,
}

/// The model while it runs; it ends when this is dropped.
pub struct Model {
    port: u16,
    record: PathBuf,
    watch: PathBuf,
    process: Child,
    _input: ChildStdin,
}

impl Replies {
    pub fn new() -> Replies {
        Replies::default()
    }

    /// To every worker of this role.
    pub fn to(self, role: &str, steps: impl IntoIterator<Item = Value>) -> Replies {
        self.when(json!({"role": role}), steps)
    }

    /// To the fixers of one round.
    pub fn to_round(self, round: u32, steps: impl IntoIterator<Item = Value>) -> Replies {
        self.when(json!({"role": "fixer", "round": round}), steps)
    }

    /// To requests that hold all of this; `fakemodel.py` lists the keys.
    pub fn when(mut self, when: Value, steps: impl IntoIterator<Item = Value>) -> Replies {
        let steps: Vec<Value> = steps.into_iter().collect();
        self.rules.push(json!({"when": when, "do": steps}));
        self
    }

    /// Starts the model beside the repository.
    pub fn start(self, repo: &Repo) -> Model {
        self.start_with(repo, false)
    }

    /// The same, and each request holds the memory of the process that [`Model::watch`] names.
    pub fn start_watching(self, repo: &Repo) -> Model {
        self.start_with(repo, true)
    }

    fn start_with(self, repo: &Repo, watching: bool) -> Model {
        let folder = tempfile::Builder::new().prefix("model-").tempdir_in(repo.outside());
        // It goes with the repository's folder.
        let folder = folder.expect("the folder can be written").keep();
        let (script, record, watch) =
            (folder.join("script.json"), folder.join("requests.jsonl"), folder.join("watch"));
        fs::write(&script, Value::from(self.rules).to_string()).expect("a fresh folder");
        let mut command = Command::new("python3");
        command.arg(repository_root().join("tests/tools/fakemodel.py")).args([&script, &record]);
        if watching {
            command.env("FAKEMODEL_WATCH", &watch);
        }
        let mut process =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("python3 is installed");
        let mut line = String::new();
        let stdout = process.stdout.take().expect("it is piped");
        BufReader::new(stdout).read_line(&mut line).expect("it can be read");
        let input = process.stdin.take().expect("it is piped");
        let port = line.trim().parse().expect("the model prints its port");
        Model { port, record, watch, process, _input: input }
    }
}

impl Model {
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Whose memory each request is to hold.
    pub fn watch(&self, pid: u32) {
        let half = self.watch.with_extension("part");
        fs::write(&half, pid.to_string()).expect("the folder can be written");
        fs::rename(&half, &self.watch).expect("both are in one folder");
    }

    /// Every request so far.
    pub fn all_requests(&self) -> Vec<Value> {
        requests(&self.record)
    }

    /// The requests of workers: those that offered tools.
    pub fn requests(&self) -> Vec<Value> {
        let offers = |request: &Value| request["tools"].as_array().is_some_and(|tools| !tools.is_empty());
        self.all_requests().into_iter().filter(offers).collect()
    }

    /// Which workers asked, each as often as it was dispatched: `["fixer 1", "fixer 2", "verifier"]`.
    ///
    /// # Panics
    /// When no rule matched a request.
    pub fn workers(&self) -> Vec<String> {
        let mut workers: Vec<String> = Vec::new();
        for request in self.requests() {
            assert!(!request["rule"].is_null(), "no rule is for this: {}", request["said"]);
            if request["answers"] == 0 {
                let role = request["role"].as_str().unwrap_or("?");
                workers.push(match request["round"].as_u64() {
                    Some(round) => format!("{role} {round}"),
                    None => role.to_owned(),
                });
            }
        }
        workers
    }
}

fn requests(record: &Path) -> Vec<Value> {
    let text = fs::read_to_string(record).unwrap_or_default();
    text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
}

impl Drop for Model {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
