//! `kill -9` of the process that drives, and two of them.

use fix_loop_tests::{Script, step};
use serde_json::json;

use super::{APP, Project, everything, fix, fixer, gone};

/// Killed while its agent is in the middle of the work.
fn killed() -> (Project, super::Before) {
    let script = Script::new()
        .on_nth(
            "fixer",
            1,
            [
                step::edit("app.txt", "three", "half done"),
                step::write("new.txt", "half\n"),
                step::spawn(&["sleep", "1000"]),
                step::mark("deep"),
                step::hang(),
            ],
        )
        .on("fixer", fix());
    let project = Project::new(script);
    project.repo.write("app.txt", APP.replace("five", "mine"));
    project.repo.write("mine.txt", "untracked\n");
    let before = everything(&project.repo);
    let run = project.run(&[]).spawn();
    project.agent.reached("deep");
    run.kill();
    for pid in project.agent.spawned() {
        gone(pid);
    }
    (project, before)
}

#[test]
fn an_interrupted_loop_is_shown_with_its_question_and_restored_byte_for_byte() {
    let (project, before) = killed();
    let status = project.status();
    assert_eq!(status["loops"][0]["state"], "interrupted", "{status:#}");
    assert_eq!(status["driver"], serde_json::Value::Null);
    let question = &status["questions"][0];
    assert_eq!((&question["kind"], &question["findings"]), (&json!("resume"), &json!(["f1"])));
    let id = question["id"].as_str().expect("text");
    let report =
        project.repo.fix_loop(["answer", id, "Restore and stop", "--format", "json"]).expect(1).json();
    assert_eq!(report["resolved"], json!([]));
    assert_eq!(everything(&project.repo), before);
    assert_eq!(project.stands("f1"), "open");
    assert_eq!(project.status()["questions"], json!([]));
}

#[test]
fn a_resumed_loop_repeats_its_round_and_ends_as_it_would_have() {
    let (project, _) = killed();
    // A run asks; it does not go on by itself.
    let report = project.run(&[]).expect(1).json();
    assert_eq!((&report["waiting"], &report["gate"]["outcome"]), (&json!(["f1"]), &json!("waiting")));
    let question = project.status()["questions"][0].clone();
    let id = question["id"].as_str().expect("text");
    let output = project.repo.fix_loop(["answer", id, "1", "--format", "json"]).expect(0);
    let report = output.json();
    assert_eq!((&report["resolved"], &report["evidence"]), (&json!(["f1"]), &json!({"f1": "proven"})));
    assert_eq!(project.agent.dispatches(), ["fixer 1", "fixer 1"]);
    assert!(!project.repo.exists("new.txt"), "what the first one left is gone");
    assert_eq!(project.repo.read("app.txt"), APP.replace("BAD", "GOOD").replace("five", "mine"));
    assert_eq!(
        project.repo.diff_cached(),
        "diff --git a/app.txt b/app.txt\n--- a/app.txt\n+++ b/app.txt\n@@ -2 +2 @@ one\n-BAD line\n+GOOD line\n"
    );
}

#[test]
fn recommended_answers_resume() {
    let (project, _) = killed();
    let report = project.run(&["--answer", "recommended"]).expect(0).json();
    assert_eq!(report["resolved"], json!(["f1"]));
    assert_eq!(project.agent.dispatches(), ["fixer 1", "fixer 1"]);
}

#[test]
fn linked_worktrees_have_a_state_of_their_own() {
    let project = Project::new(fixer());
    let linked = project.repo.outside().join("linked");
    project.repo.git(["worktree", "add", "--quiet", &linked.display().to_string()]);
    let review = project.repo.path(".fix-loop/findings/review.json");
    let before = everything(&project.repo);
    let run = ["run", "--trust", "--format", "json"];
    let report = project.repo.fix_loop(run).args([review.as_os_str()]).current_dir(&linked).expect(0).json();
    assert_eq!(report["resolved"], json!(["f1"]));
    assert_eq!(
        std::fs::read_to_string(linked.join("app.txt")).expect("it is there"),
        APP.replace("BAD", "GOOD")
    );
    assert_eq!(everything(&project.repo), before);
    let status = project.status();
    assert_eq!((&status["loops"], &status["counts"]["open"]), (&json!([]), &json!(1)));
}
