//! The tools of these tests are tested themselves: a harness that sees nothing makes every test pass.

use std::io::Write;
use std::process::{Command, Stdio};

use fix_loop_tests::{Entry, Repo, Script, finding, step};
use serde_json::{Value, json};

/// Runs a scripted agent by its own configuration, as fix-loop would, and gives its code and output.
fn dispatch(repo: &Repo, agent: &fix_loop_tests::Agent, role: &str, round: u32) -> (Option<i32>, String) {
    let root = repo.root();
    repo.write(".fix-loop/agent.toml", agent.toml());
    let config =
        fix_loop::config::Config::load(&root.join("nowhere"), Some(&repo.path(".fix-loop/agent.toml")), None);
    let config = config.expect("the table is valid").config;
    let command =
        config.agents.values().next().and_then(|agent| agent.command.clone()).expect("it has a command");
    let brief = json!({
        "role": role, "round": round, "findings": [finding("1", "a.txt", 1, "first")], "questions_answered": [],
    });
    let mut program = Command::new(&command[0]);
    program.args(&command[1..]).current_dir(root).stdin(Stdio::piped()).stdout(Stdio::piped());
    repo.isolate(&mut program);
    let mut child = program.spawn().expect("python3 is installed");
    child.stdin.take().expect("piped").write_all(brief.to_string().as_bytes()).expect("it reads its brief");
    let output = child.wait_with_output().expect("it is our child");
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn a_scripted_agent_follows_the_first_rule_that_matches_and_keeps_its_briefs() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\n")]);
    let agent = Script::new()
        .on_round("fixer", 2, [step::edit("a.txt", "TWO", "2"), step::fixed("second")])
        .on_nth("fixer", 1, [step::edit("a.txt", "two", "TWO"), step::fixed("first")])
        .on("verifier", [step::judge("rejected", "gone")])
        .install(&repo, "mine");
    let (code, out) = dispatch(&repo, &agent, "fixer", 1);
    let report: Value = serde_json::from_str(&out).expect("a report");
    assert_eq!(
        (code, &report["files_changed"], &report["summary"]),
        (Some(0), &json!(["a.txt"]), &json!("first"))
    );
    assert_eq!(repo.read("a.txt"), "one\nTWO\n");
    let (code, _) = dispatch(&repo, &agent, "fixer", 2);
    assert_eq!((code, repo.read("a.txt").as_str()), (Some(0), "one\n2\n"));
    let (_, out) = dispatch(&repo, &agent, "verifier", 2);
    let review: Value = serde_json::from_str(&out).expect("a review");
    assert_eq!(review["findings"][0]["verdict"], "rejected");
    assert_eq!(review["findings"][0]["title"], "first");
    // No rule for a third fixer in round 1: that is an error, not silence.
    assert_eq!(dispatch(&repo, &agent, "fixer", 1).0, Some(64));
    assert_eq!(agent.dispatches(), ["fixer 1", "fixer 2", "verifier 2", "fixer 1"]);
}

#[test]
fn a_repository_shows_what_is_staged_apart_from_what_is_not() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\n"), ("b.txt", "b\n")]);
    assert_eq!(repo.status(), "");
    let before = (repo.tree(), repo.git_state());
    repo.write("a.txt", "ONE\ntwo\nthree\n");
    repo.git(["add", "a.txt"]);
    repo.write("a.txt", "ONE\ntwo\nTHREE\n");
    repo.write("new.txt", "n\n");
    assert_eq!(repo.status(), "MM a.txt\n?? new.txt\n");
    assert_eq!(
        repo.diff_cached(),
        "diff --git a/a.txt b/a.txt\n--- a/a.txt\n+++ b/a.txt\n@@ -1 +1 @@\n-one\n+ONE\n"
    );
    assert!(repo.diff().ends_with("@@ -3 +3 @@ two\n-three\n+THREE\n"), "{}", repo.diff());
    assert_eq!(repo.staged("a.txt"), "ONE\ntwo\nthree\n");
    assert_ne!((repo.tree(), repo.git_state()), before);
    assert_eq!(
        repo.tree().get(std::path::Path::new("new.txt")),
        Some(&Entry::File { bytes: b"n\n".to_vec(), executable: false })
    );
    repo.git(["reset", "--quiet", "--hard"]);
    repo.remove("new.txt");
    assert_eq!((repo.tree(), repo.git_state()), before);
    // The inbox is nobody's change.
    repo.findings(&[finding("f1", "a.txt", 1, "first")]);
    assert_eq!(repo.status(), "");
}
