//! A findings file is data (DESIGN 11): a command in it runs only where it is configured, or approved by the user.

use fix_loop_tests::{LspClient, finding};
use serde_json::{Value, json};

use super::{Project, everything, fixer};

/// f1 brings a command that leaves a mark outside the repository, and fails while `BAD` is there.
fn bringing() -> (Project, std::path::PathBuf) {
    let project = Project::with(&[], fixer(), "");
    let mark = project.repo.outside().join("it-ran");
    let script = format!("touch '{}'; ! grep -q BAD app.txt", mark.display());
    let mut brought = finding("f1", "app.txt", 2, "BAD is a word that must go");
    brought["checks"] = json!([{"command": ["sh", "-c", script]}]);
    project.repo.findings(&[brought]);
    (project, mark)
}

#[test]
fn where_nobody_can_be_asked_a_brought_command_is_left_out_and_named() {
    let (project, mark) = bringing();
    let output = project.run(&[]).expect(0);
    assert!(!mark.exists());
    assert!(output.stderr.contains("has not been approved"), "{output}");
    assert_eq!(output.json()["evidence"], json!({"f1": "proven"}), "by the configured check");
    let again = bringing();
    again.0.run(&["--answer", "recommended"]).expect(0);
    assert!(!again.1.exists(), "what is recommended runs nothing");
}

#[test]
fn a_brought_command_that_was_approved_runs_as_a_check_of_its_finding() {
    let (project, mark) = bringing();
    let before = everything(&project.repo);
    let output = project.repo.fix_loop(["trust", "--command-of", "f1"]).expect(0);
    assert!(output.stderr.contains("approved: sh -c "), "{output}");
    assert!(!mark.exists());
    assert_eq!(everything(&project.repo), before);
    project.repo.fix_loop(["trust", "--command-of", "f9"]).expect(2);
    // Approving a command is not trusting the root.
    project.repo.fix_loop(["run"]).expect(3);
    let output = project.run(&[]).expect(0);
    assert!(mark.exists());
    assert!(!output.stderr.contains("has not been approved"), "{output}");
    let briefs = project.agent.briefs();
    let checks = briefs[0]["checks"].as_array().expect("a list");
    assert!(checks.iter().any(|check| check["command"][0] == "sh" && check["command"][1] == "-c"));
    // That exact command, and no other.
    let mut other = finding("f2", "app.txt", 1, "another");
    other["checks"] = json!([{"command": ["sh", "-c", "touch it-ran-too"]}]);
    project.repo.findings(&[other]);
    let plan = project.repo.fix_loop(["run", "--dry-run"]).expect(0);
    assert!(plan.stderr.contains("not run: check sh -c touch it-ran-too"), "{plan}");
}

#[test]
fn an_editor_is_asked_before_a_brought_command_runs() {
    for (choice, runs) in [("Go on without it", false), ("Approve this exact command", true)] {
        let (project, mark) = bringing();
        project.repo.fix_loop(["trust"]).expect(0);
        let mut client = LspClient::start(&project.repo);
        client.open(&project.repo, "app.txt", "plaintext");
        client.diagnostics(&project.repo, "app.txt", |found| found.len() == 1);
        let action = client.code_action(&project.repo, "app.txt", 1, "Fix with loop");
        client.choose(&action);
        let question = client.question();
        assert!(question.text.contains("grep -q BAD app.txt"), "the command is shown: {}", question.text);
        assert_eq!(question.options[0], "Go on without it", "what is recommended runs nothing");
        assert!(!mark.exists() && project.agent.briefs().is_empty(), "nothing runs before the answer");
        client.answer(&question, Some(choice));
        client.status(|status| status["counts"]["resolved"] == 1 && status["questions"] == json!([]));
        client.diagnostics(&project.repo, "app.txt", <[Value]>::is_empty);
        client.finished_progress();
        client.shutdown();
        assert_eq!(mark.exists(), runs, "{choice}");
    }
}
