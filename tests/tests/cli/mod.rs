//! The command line, from the side of whoever types it or calls it in a script: exit codes, JSON, messages, and what is
//! left in the working tree, the index and the refs.

mod approving;
mod bad_input;
mod cause;
mod deciding;
mod evidence;
mod from_check;
mod interrupted;
mod looking;
mod printing;
mod reading;
mod reporting;
mod staging;
mod streams;

use std::collections::BTreeMap;
use std::path::PathBuf;

use fix_loop_tests::{Agent, Entry, Repo, Script, Step, finding, step};
use serde_json::Value;

pub const APP: &str = "one\nBAD line\nthree\nfour\nfive\nsix\nseven\n";

/// A repository in which `BAD` must not stand in app.txt, one finding about that, and one agent for all roles.
pub struct Project {
    pub repo: Repo,
    pub agent: Agent,
}

impl Project {
    pub fn new(script: Script) -> Project {
        Project::with(&[], script, "")
    }

    pub fn with(files: &[(&str, &str)], script: Script, config: &str) -> Project {
        let check = "if grep -q BAD app.txt; then echo 'app.txt is BAD'; exit 1; fi\n";
        let mut all = vec![("app.txt", APP), ("other.txt", "other\n"), ("check.sh", check)];
        all.extend(files);
        let repo = Repo::with(&all);
        let agent = script.install(&repo, "scripted");
        let words = "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\npaths = [\"app.txt\"]\n";
        // `config` may go on with the agent's own table.
        let roles = "[roles.fixer]\nagent = \"scripted\"\n[roles.verifier]\nagent = \"scripted\"\n";
        repo.config(&format!("{words}{roles}{}{config}", agent.toml()));
        repo.findings(&[finding("f1", "app.txt", 2, "BAD is a word that must go")]);
        Project { repo, agent }
    }

    pub fn run(&self, arguments: &[&str]) -> fix_loop_tests::FixLoop {
        self.repo.fix_loop(["run", "--trust", "--format", "json"]).args(arguments)
    }

    pub fn status(&self) -> Value {
        self.repo.fix_loop(["status", "--format", "json"]).expect(0).json()
    }

    /// Where finding `id` stands.
    pub fn stands(&self, id: &str) -> String {
        let status = self.status();
        let all = status["findings_detail"].as_array().expect("a list").clone();
        let found = all.iter().find(|one| one["id"] == id);
        found.unwrap_or_else(|| panic!("no finding {id}: {status:#}"))["state"]
            .as_str()
            .expect("text")
            .to_owned()
    }
}

/// The fix that the check is content with.
pub fn fix() -> Vec<Step> {
    vec![step::edit("app.txt", "BAD line", "GOOD line"), step::fixed("replaced the word")]
}

pub fn fixer() -> Script {
    Script::new().on("fixer", fix())
}

/// Everything that must be as it was: every byte, the index with its flags, refs, and how git sees them.
#[derive(Debug, PartialEq, Eq)]
pub struct Before {
    tree: BTreeMap<PathBuf, Entry>,
    git: (String, String, String),
    status: String,
    staged: String,
}

pub fn everything(repo: &Repo) -> Before {
    Before {
        tree: repo.tree(),
        git: repo.git_state(),
        status: repo.git(["status", "--porcelain=v2", "--untracked-files=all"]),
        staged: repo.diff_cached(),
    }
}

/// An object with exactly these keys.
#[track_caller]
pub fn assert_keys(value: &Value, keys: &[&str]) {
    let mut found: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    let mut keys = keys.to_vec();
    found.sort_unstable();
    keys.sort_unstable();
    assert_eq!(found, keys, "{value:#}");
}

#[track_caller]
pub fn assert_report(report: &Value) {
    assert_keys(
        report,
        &[
            "schema_version",
            "protocol",
            "gate",
            "resolved",
            "escalated",
            "deferred",
            "demoted",
            "dropped",
            "ignored",
            "waiting",
            "workers",
            "evidence",
        ],
    );
    assert_keys(
        &report["gate"],
        &["verdict", "outcome", "reason", "review_base", "final_head", "open_confirmed_findings"],
    );
    for worker in report["workers"].as_array().expect("a list") {
        assert_keys(
            worker,
            &["id", "loop", "role", "agent", "model", "round", "seconds", "cost_usd", "tokens", "outcome"],
        );
    }
    for escalated in report["escalated"].as_array().expect("a list") {
        assert_keys(escalated, &["id", "attempts", "evidence", "still_broken"]);
    }
    for ignored in report["ignored"].as_array().expect("a list") {
        assert_keys(ignored, &["id", "reason"]);
    }
}

/// Waits until a process that is none of ours has gone.
pub fn gone(pid: u32) {
    let began = std::time::Instant::now();
    // A zombie has ended; whoever adopted it may be slow to say so.
    let alive = || {
        std::fs::read_to_string(format!("/proc/{pid}/stat"))
            .is_ok_and(|stat| !stat.rsplit(')').next().is_some_and(|rest| rest.trim_start().starts_with('Z')))
    };
    while alive() {
        assert!(began.elapsed() < fix_loop_tests::DEADLINE, "process {pid} is still there");
        std::thread::yield_now();
    }
}
