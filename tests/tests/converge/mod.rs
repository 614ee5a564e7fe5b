//! The converging loop from the user's side: `fix-loop review` and `run --protocol converge` on real repositories, with
//! scripted agents. The user's checkout is compared byte for byte around every run.

mod apart;
mod checkout;
mod closing;
mod fixing;
mod interrupted;
mod pausing;
mod pull_request;
mod reviewing;

use std::collections::BTreeMap;
use std::path::PathBuf;

use fix_loop::protocol::converge::{Gate, Verdict, parse_gate};
use fix_loop_tests::{Agent, Entry, Output, Repo, Script, step};
use serde_json::{Value, json};

const ROLES: [&str; 5] = ["reviewer", "checker", "fixer", "recoverer", "closer"];

const CHECK: &str = "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\nkind = \"test\"\n";

/// A repository whose last commit is to be reviewed: two words in capitals.
fn project(script: Script, spec: bool, extra: &str) -> (Repo, Agent) {
    let (repo, agent, ()) = project_with(script, spec, extra, |_| (CHECK.to_owned(), ()));
    (repo, agent)
}

/// The same with another check.
fn project_with<C>(
    script: Script,
    spec: bool,
    extra: &str,
    check: impl FnOnce(&Repo) -> (String, C),
) -> (Repo, Agent, C) {
    let mut files = vec![
        ("app.txt", "one\n"),
        ("other.txt", "other\n"),
        ("CONTRIBUTING.md", "Words are lower case.\n"),
        ("check.sh", "! grep -q BROKEN app.txt\n"),
    ];
    if spec {
        files.push(("docs/spec.md", "The words are one, two and three.\n"));
    }
    let repo = Repo::with(&files);
    let agent = script.install(&repo, "scripted");
    let (toml, check) = check(&repo);
    repo.config(&format!("{extra}\n{toml}\n{}", agent.toml_for(&ROLES)));
    repo.write("app.txt", "one\nTWO\nTHREE\n");
    repo.commit("two more words");
    repo.fix_loop(["trust"]).expect(0);
    (repo, agent, check)
}

/// Everything of the user's that no run may touch.
#[derive(Debug, PartialEq)]
struct Checkout {
    tree: BTreeMap<PathBuf, Entry>,
    index: String,
    head: String,
    branch: String,
    refs: String,
    status: String,
}

fn checkout(repo: &Repo) -> Checkout {
    let refs = repo.git(["for-each-ref", "--format=%(refname) %(objectname)"]);
    let own = |line: &&str| !line.starts_with("refs/heads/fix-loop/") && !line.starts_with("refs/fix-loop/");
    Checkout {
        tree: repo.tree(),
        index: repo.git(["ls-files", "--stage", "-v"]),
        head: repo.head(),
        branch: repo.git(["symbolic-ref", "HEAD"]),
        refs: refs.lines().filter(own).collect::<Vec<_>>().join("\n"),
        status: repo.status(),
    }
}

fn said(title: &str, line: u32) -> Value {
    json!({
        "id": 1, "severity": "P1", "title": title, "body": title, "file": "app.txt", "line_start": line,
        "line_end": line, "confidence": 0.9, "criterion": "words are lower case", "verdict": "confirmed",
        "evidence": format!("line {line}"),
    })
}

fn axis(axis: &str) -> Value {
    json!({"role": "reviewer", "says": format!("along the {axis} axis")})
}

fn reviewed(findings: Value) -> Value {
    step::footer(json!({"schema_version": "v1", "findings": findings, "checks_run": []}))
}

/// Two reviewers with one finding each, and a checker that confirms both.
fn review() -> Script {
    Script::new()
        .when(axis("standards"), [reviewed(json!([said("TWO is in capitals", 2)]))])
        .when(axis("spec"), [reviewed(json!([said("THREE is in capitals", 3)]))])
        .on("checker", [step::consolidate(json!({}))])
}

fn fix_both() -> [Value; 5] {
    [
        step::edit("app.txt", "TWO", "two"),
        step::edit("app.txt", "THREE", "three"),
        step::commit("lower case"),
        step::footer(json!({"summary": "wrote both in lower case"})),
        json!({"stderr": ""}),
    ]
}

fn usual() -> Script {
    review().on("fixer", fix_both()).on("closer", [step::close(json!({}))])
}

/// The usual run, whose fixer waits at `fixing` until it is let `go`.
fn waiting() -> Script {
    review()
        .on("fixer", [step::mark("fixing"), step::wait_for("go")].into_iter().chain(fix_both()))
        .on("closer", [step::close(json!({}))])
}

fn roles(agent: &Agent) -> Vec<String> {
    agent.briefs().iter().map(|brief| brief["role"].as_str().expect("a role").to_owned()).collect()
}

fn run(repo: &Repo) -> fix_loop_tests::FixLoop {
    repo.fix_loop(["review"])
}

fn status(repo: &Repo) -> Value {
    repo.fix_loop(["status", "--format", "json"]).expect(0).json()
}

/// The one open question, which must be of this kind.
fn question(repo: &Repo, kind: &str) -> Value {
    let questions = status(repo)["questions"].clone();
    let all = questions.as_array().expect("a list");
    assert_eq!(all.len(), 1, "{questions:#}");
    assert_eq!(all[0]["kind"], kind, "{questions:#}");
    all[0].clone()
}

fn answer(repo: &Repo, question: &Value, choice: &str) -> fix_loop_tests::FixLoop {
    repo.fix_loop(["answer", question["id"].as_str().expect("an id"), choice])
}

/// Runs until the loop pauses, and gives its question, which holds every one of these.
#[track_caller]
fn pauses(repo: &Repo, holds: &[&str]) -> Value {
    let before = checkout(repo);
    let output = run(repo).expect(1);
    assert_eq!(checkout(repo), before);
    let question = question(repo, "pause");
    let detail = question["detail"].as_str().expect("a detail");
    for part in holds {
        assert!(detail.contains(part), "{part} is missing in\n{detail}\n{output}");
    }
    for part in ["Reason: ", "Worker: ", "Evidence: ", "Next action: "] {
        assert!(detail.contains(part), "{part} is missing in\n{detail}");
    }
    assert_eq!(parse_gate(detail).expect("a gate").verdict, Verdict::Paused);
    question
}

#[track_caller]
fn gate(output: &Output) -> Gate {
    parse_gate(&output.stderr).unwrap_or_else(|| panic!("no gate\n{output}"))
}
