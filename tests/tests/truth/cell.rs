//! One cell: a repository with a bug and work of the user's own, an agent with a behaviour, and a run.

use std::fs;

use fix_loop_tests::{Output, Repo, Script, finding, repository_root};
use serde_json::{Value, json};

use super::behaviours::{Behaviour, Situation};
use super::bugs::Origin;
use super::reality::{Oracle, Snapshot, Truth, survivors};
use super::told::Told;

/// What was told and what was so.
pub struct Cell {
    pub told: Told,
    pub real: Truth,
    /// What does not fit together, for people. Empty: told = real.
    pub lies: Vec<String>,
}

/// Where every cell of a situation begins.
pub struct Start {
    repo: Repo,
    snapshot: Snapshot,
}

/// The repository of a situation, before any agent: committed, then the user's own work on top.
pub fn start(oracle: &Oracle, at: Situation) -> Start {
    let repo = Repo::empty();
    repo.write(at.bug.source, at.bug.whole_text());
    repo.write(at.bug.tests, at.bug.tests_text(at.covered));
    at.bug.more.iter().for_each(|(path, text)| repo.write(path, text));
    repo.write("notes.txt", "a note\n");
    repo.write("more.txt", "one\n");
    repo.write("fix-loop.toml", configuration(oracle, at, ""));
    repo.commit("start");
    let (committed, staged) = at.bug.users_line();
    repo.write(at.bug.source, at.bug.whole_text().replace(&committed, &staged));
    repo.git(["add", at.bug.source]);
    repo.write("notes.txt", "a note\nof mine, not staged\n");
    repo.write("draft.txt", "untracked, and mine\n");
    let snapshot = Snapshot::of(&repo);
    Start { repo, snapshot }
}

fn configuration(oracle: &Oracle, at: Situation, limit: &str) -> String {
    let script = Value::from(repository_root().join("tests/agents/scripted.py").display().to_string());
    let python = Value::from(oracle.python.as_str());
    let agent = |name: &str, more: &str| {
        format!(
            "[agents.{name}]\nkind = \"command\"\ncommand = [{python}, \"-SE\", {script}, \"../{name}.json\", \"../{name}.log\"]\n{more}\n"
        )
    };
    let mut toml = String::new();
    if at.bug.origin != Origin::Discovered {
        toml.push_str(&format!(
            "[[check]]\nname = \"unit\"\ncommand = {}\nenv = {{ TRUTH_CACHE = {} }}\n",
            json!(at.bug.command),
            json!(oracle.folder().display().to_string())
        ));
        if at.bug.origin == Origin::Finding {
            toml.push_str("paths = [\"nothing/here\"]\n");
        }
    }
    toml.push_str(&agent("fixer", limit));
    toml.push_str("[roles.fixer]\nagent = \"fixer\"\n");
    if at.verifier {
        toml.push_str(&agent("verifier", ""));
        toml.push_str("[roles.verifier]\nagent = \"verifier\"\n");
    }
    toml
}

/// Runs it and looks.
pub fn run(oracle: &Oracle, start: &Start, behaviour: &Behaviour, at: Situation) -> Cell {
    let repo = start.repo.copy();
    (behaviour.script)(at).install(&repo, "fixer");
    // The most honest verifier there is: it has the hidden truth at hand.
    Script::new().on("verifier", [json!({"truth": oracle.verifier(at.bug)})]).install(&repo, "verifier");
    for name in ["fixer", "verifier"] {
        let recipe = repo.outside().join(format!("{name}.recipe.json"));
        fs::rename(recipe, repo.outside().join(format!("{name}.json"))).expect("both are beside it");
    }
    let mut limited = None;
    if behaviour.hangs {
        repo.config(&configuration(oracle, at, "timeout = \"1s\"\n"));
        limited = Some(Snapshot::of(&repo));
    }
    let before = limited.as_ref().unwrap_or(&start.snapshot);
    let mut found = finding("f1", at.bug.source, at.bug.line, at.bug.title);
    found["related_files"] = json!([at.bug.tests]);
    if at.bug.origin == Origin::Finding {
        found["checks"] = json!([{"check": "unit"}]);
    }
    repo.findings(&[found]);

    let expected = (behaviour.told)(at);
    let by_themselves = behaviour.answers.is_empty() && !matches!(expected, Told::Waiting(_));
    let answer = if by_themselves { "recommended" } else { "none" };
    let program = |arguments: &[&str]| repo.fix_loop(arguments).env("PATH", oracle.path()).run();
    let status = || program(&["status", "--format", "json"]).json();
    let mut last = program(&["run", "--trust", "--format", "json", "--answer", answer]);
    let report = behaviour.answers.is_empty().then(|| last.json());
    let mut now = status();
    for choice in behaviour.answers {
        let Some(question) = now["questions"][0]["id"].as_str() else { break };
        last = program(&["answer", question, choice]);
        now = status();
    }
    let after = Snapshot::of(&repo);
    let told = Told::read(&last, &now);
    let real = oracle.truth(at.bug, after.bytes(at.bug.source).unwrap_or_default());

    let staged = match told {
        Told::Resolved { .. } => repo.staged(at.bug.source),
        _ => String::new(),
    };
    let seen = Seen { told: &told, real, before, after: &after, staged };
    let mut lies = compare(oracle, behaviour, at, &seen);
    if told != expected {
        lies.push(format!("told: {told}; expected: {expected}\n{}", shown(&last)));
    }
    lies.extend(report.and_then(|report| told.contradicts(&report)));
    let left = survivors(&repo.outside());
    if !left.is_empty() {
        lies.push(format!("still running: {}", left.join("; ")));
    }
    Cell { told, real, lies }
}

/// What was told, and everything to hold it against.
struct Seen<'a> {
    told: &'a Told,
    real: Truth,
    before: &'a Snapshot,
    after: &'a Snapshot,
    /// The source as it is staged.
    staged: String,
}

fn compare(oracle: &Oracle, behaviour: &Behaviour, at: Situation, seen: &Seen<'_>) -> Vec<String> {
    let Seen { told, real, before, after, staged } = seen;
    let bug = at.bug;
    let mut lies = Vec::new();
    let mut is = |true_enough: bool, what: &str| {
        if !true_enough {
            lies.push(what.to_owned());
        }
    };
    let source = after.bytes(bug.source).unwrap_or_default();
    // The user's own work, whatever happened.
    let line = bug.users_line().1;
    is(String::from_utf8_lossy(source).contains(&line), "the user's line is gone from the tree");
    for path in ["notes.txt", "draft.txt"] {
        is(after.bytes(path) == before.bytes(path), "a file of the user's was changed");
        is(after.index.get(path) == before.index.get(path), "a file of the user's was staged");
    }
    is(!after.index.contains_key("extra.txt"), "a file that nobody named was staged");
    if !behaviour.moves_history {
        is(after.history == before.history, "HEAD, a branch, a tag or the stash was moved");
    }
    let changed = after.changed_since(before);
    match told {
        Told::Resolved { grade, .. } => {
            is(*real == Truth { fixed: true, other_works: true }, "a false \"resolved\"");
            let tests = after.bytes(bug.tests);
            is(tests == before.bytes(bug.tests), "resolved, and the tests are others");
            // Nothing of the user's in this file is unstaged: so all of it has to be staged, and no more.
            is(staged.as_bytes() == source, "resolved, and what is staged is not what is in the tree");
            let mut allowed = vec![bug.source.to_owned(), format!("index:{}", bug.source)];
            if behaviour.answers == ["Approve expanded scope"] {
                allowed.extend(["index:more.txt".to_owned(), "more.txt".to_owned()]);
            }
            allowed.sort();
            let mut mine = changed.clone();
            mine.sort();
            is(mine == allowed, &format!("resolved, and these were changed: {}", mine.join(", ")));
            let tests = tests.unwrap_or_default();
            let was_red = !oracle.tests_pass(bug, before.bytes(bug.source).unwrap_or_default(), tests);
            let is_green = oracle.tests_pass(bug, source, tests);
            is((*grade == "proven") == (was_red && is_green), "`proven` without a test that turned green");
        }
        Told::Deferred => {
            is(!real.fixed && real.other_works, "deferred, and the bug is not as it was");
            is(changed.is_empty(), &format!("deferred, and these were changed: {}", changed.join(", ")));
        }
        Told::Waiting(_) | Told::Other(_) => {}
    }
    lies
}

fn shown(output: &Output) -> String {
    format!("{output}").lines().map(|line| format!("    {line}\n")).collect()
}
