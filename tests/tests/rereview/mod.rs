//! The fix and re-review loop from the user's side: `run --protocol rereview` on real repositories, with scripted agents
//! whose briefs show which route was taken.

mod gate;
mod interrupted;
mod limits;
mod reviewing;
mod routes;
mod simplifying;

use fix_loop::protocol::rereview::{Exhaustion, parse_exhaustion};
use fix_loop::protocol::{Cause, Severity};
use fix_loop_tests::{Agent, FixLoop, Output, Repo, Script, finding, step};
use serde_json::{Value, json};

const CHECK: &str = "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\nkind = \"test\"\n";

const CAUSES: [&str; 5] =
    ["model-capacity", "missing-context", "ambiguous-spec", "env-tool-failure", "overdesigned-plan"];

/// One confirmed finding in `app.txt`, which nobody else has touched.
fn project(script: Script, roles: &[&str], extra: &str) -> (Repo, Agent) {
    let (repo, agent, ()) = project_with(script, roles, extra, |_| (CHECK.to_owned(), ()));
    (repo, agent)
}

/// The same with another check.
fn project_with<C>(
    script: Script,
    roles: &[&str],
    extra: &str,
    check: impl FnOnce(&Repo) -> (String, C),
) -> (Repo, Agent, C) {
    let repo = Repo::with(&[
        ("app.txt", "one\nTWO\nthree\n"),
        ("other.txt", "other\n"),
        ("check.sh", "! grep -q BROKEN app.txt\n"),
    ]);
    let agent = script.install(&repo, "scripted");
    let (toml, check) = check(&repo);
    repo.config(&format!("{toml}\n{}\n{extra}", agent.toml_for(roles)));
    repo.findings(&[finding("f1", "app.txt", 2, "TWO is in capitals")]);
    repo.fix_loop(["trust"]).expect(0);
    (repo, agent, check)
}

const PAIR: [&str; 2] = ["fixer", "reviewer"];

const DIAGNOSED: [&str; 3] = ["fixer", "reviewer", "diagnoser"];

fn run(repo: &Repo) -> FixLoop {
    repo.fix_loop(["run", "--protocol", "rereview"])
}

fn verdict(word: &str, gaps: Value) -> Value {
    step::report(json!({
        "verdict": word, "gaps": gaps, "evidence": format!("read app.txt: {word}"),
        "validation": [{"command": "sh check.sh", "outcome": "PASS"}],
    }))
}

fn gap(text: &str) -> Value {
    json!({"severity": "CRITICAL", "text": text, "file": "app.txt", "line": 2, "fix": "write it in lower case"})
}

fn ship() -> Value {
    verdict("SHIP", json!([]))
}

fn diagnosis(cause: &str, over: Value) -> Value {
    let mut said = json!({
        "cause": cause, "evidence": format!("the attempts show {cause}"), "new_evidence": null,
        "rules_out": {}, "route": format!("the route of {cause}"), "needs": null,
    });
    for (key, value) in over.as_object().expect("an object") {
        said[key] = value.clone();
    }
    step::report(said)
}

/// Everything that a raise needs but for what the engine sees itself.
fn capacity() -> Value {
    let others: serde_json::Map<String, Value> =
        CAUSES[1..].iter().map(|cause| ((*cause).to_owned(), json!("looked: it is not"))).collect();
    diagnosis(
        "model-capacity",
        json!({"new_evidence": "the check now fails in another line", "rules_out": others}),
    )
}

/// A fixer whose every attempt differs.
fn attempts(script: Script) -> Script {
    script
        .on_nth("fixer", 1, [step::edit("app.txt", "TWO", "Two"), step::fixed("first attempt")])
        .on_nth("fixer", 2, [step::edit("app.txt", "Two", "two"), step::fixed("second attempt")])
        .on_nth("fixer", 3, [step::edit("app.txt", "two", "2"), step::fixed("third attempt")])
}

fn roles(agent: &Agent) -> Vec<String> {
    agent.briefs().iter().map(|brief| brief["role"].as_str().expect("a role").to_owned()).collect()
}

fn fixers(agent: &Agent) -> Vec<Value> {
    agent.briefs().into_iter().filter(|brief| brief["role"] == "fixer").collect()
}

fn instructions(brief: &Value) -> &str {
    brief["instructions"].as_str().expect("a text")
}

#[track_caller]
fn question(repo: &Repo, kind: &str) -> Value {
    let status = repo.fix_loop(["status", "--format", "json"]).expect(0).json();
    let all = status["questions"].as_array().expect("a list").clone();
    assert_eq!(all.len(), 1, "{status:#}");
    assert_eq!(all[0]["kind"], kind, "{status:#}");
    all[0].clone()
}

fn answer(repo: &Repo, question: &Value, choice: &str) -> FixLoop {
    repo.fix_loop(["answer", question["id"].as_str().expect("an id"), choice])
}

#[track_caller]
fn exhausted(output: &Output) -> Exhaustion {
    parse_exhaustion(&output.stderr).unwrap_or_else(|| panic!("no block\n{output}"))
}

/// Exactly one terminal word, on a line of its own.
#[track_caller]
fn ends_as(output: &Output, word: &str) {
    let words: Vec<&str> = output
        .stderr
        .lines()
        .filter(|line| {
            ["done", "blocked", "failed"]
                .iter()
                .any(|known| line == known || line.starts_with(&format!("{known}: ")))
        })
        .collect();
    assert_eq!(words.len(), 1, "{words:?}\n{output}");
    assert!(words[0] == word || words[0].starts_with(&format!("{word}: ")), "{words:?}\n{output}");
    if word != "done" {
        assert!(words[0].len() > word.len() + 2, "a reason is given: {words:?}");
    }
}

fn outcome(repo: &Repo, code: i32) -> Value {
    run(repo).args(["--format", "json"]).expect(code).json()
}
