//! What scripts do with the streams: read one JSON object, close them early, name a workspace.

use std::process::Command;

use fix_loop_tests::{Repo, binary, finding};
use serde_json::json;

use super::{Project, everything, fixer};

/// Runs the program in a shell, with these redirections.
fn shell(repo: &Repo, arguments: &str) -> Option<i32> {
    let mut command = Command::new("sh");
    command.args(["-c", &format!("\"$0\" {arguments}")]).arg(binary()).current_dir(repo.root());
    repo.isolate(&mut command);
    command.stdin(std::process::Stdio::null()).output().expect("there is a shell").status.code()
}

#[test]
fn words_that_nobody_can_be_told_do_not_stop_what_runs() {
    for redirected in ["2>&-", "2>/dev/full", ">&- 2>&-", "2>/dev/full >/dev/null"] {
        let project = Project::new(fixer());
        for (arguments, code) in [
            ("status", 0),
            ("doctor", 0),
            ("defer f1", 0),
            ("reopen f1", 0),
            ("reopen f1", 2),
            ("run --trust", 0),
            ("nonsense", 2),
        ] {
            assert_eq!(
                shell(&project.repo, &format!("{arguments} {redirected}")),
                Some(code),
                "{arguments} {redirected}"
            );
        }
        assert_eq!(project.stands("f1"), "resolved", "{redirected}");
        assert_eq!(project.repo.status(), "M  app.txt\n");
    }
    // A result that cannot be written is another matter.
    let project = Project::new(fixer());
    assert_eq!(shell(&project.repo, "status --format json >/dev/full"), Some(3));
}

#[test]
fn every_change_is_answered_with_one_object() {
    let project = Project::new(fixer());
    let mut unconfirmed = finding("n", "other.txt", 1, "nobody has confirmed it");
    unconfirmed["verdict"] = json!(null);
    project.repo.findings(&[finding("f1", "app.txt", 2, "BAD is a word that must go"), unconfirmed]);
    let repo = &project.repo;
    for arguments in [
        &["defer", "f1", "--reason", "later"][..],
        &["reopen", "f1"],
        &["dispute", "f1"],
        &["reopen", "f1"],
        &["confirm", "n"],
        &["dispute", "n"],
        &["trust"],
    ] {
        let output = repo.fix_loop(arguments).args(["--format", "json"]).expect(0);
        let reply = output.json();
        let message = reply["message"].as_str().expect("text");
        assert!(output.stderr.contains(message), "{arguments:?}\n{output}");
        assert_eq!(reply["loops"], json!([]), "{arguments:?}");
        // Without the option, stdout is for nobody.
        assert_eq!(repo.fix_loop(["status"]).expect(0).stdout, "");
    }
    repo.fix_loop(["run"]).expect(0);
    assert!(repo.fix_loop(["undo", "L1", "--format", "json"]).expect(0).json()["message"].is_string());
    repo.remove("fix-loop.toml");
    let wrote = repo.fix_loop(["init", "--format", "json"]).expect(0).json();
    assert_eq!(wrote["wrote"], json!(repo.path("fix-loop.toml").display().to_string()));
    let graph = repo.fix_loop(["protocol", "bounded", "--format", "json"]).expect(0).json();
    let first = graph["transitions"].as_array().expect("a list").iter().find(|edge| edge["from"] == "[*]");
    assert_eq!(first.expect("it starts")["to"], "checkpointing");
}

#[test]
fn every_command_takes_the_workspace_before_and_after_its_name() {
    let project = Project::new(fixer());
    let outside = project.repo.outside().join("elsewhere");
    std::fs::create_dir_all(&outside).expect("a fresh folder");
    let root = project.repo.root().display().to_string();
    let before = everything(&project.repo);
    let review = project.repo.path(".fix-loop/findings/review.json").display().to_string();
    for (arguments, code) in [
        (&["run", "--dry-run"][..], 0),
        (&["import", &review], 0),
        (&["status"], 0),
        (&["answer", "L1.q1", "1"], 2),
        (&["confirm", "f1"], 2),
        (&["defer", "nobody"], 2),
        (&["dispute", "nobody"], 2),
        (&["reopen", "f1"], 2),
        (&["verify", "nobody"], 2),
        (&["undo", "L1"], 2),
        (&["doctor"], 0),
        (&["trust"], 0),
        (&["init"], 2),
        (&["protocol", "bounded"], 0),
        (&["schema", "config"], 0),
    ] {
        let place = ["--workspace", root.as_str()];
        let after = project.repo.fix_loop(arguments).args(place).current_dir(&outside).run();
        assert_eq!(after.code, Some(code), "{arguments:?}\n{after}");
        let first = project.repo.fix_loop(place).args(arguments).current_dir(&outside).run();
        assert_eq!(first.code, Some(code), "{arguments:?}\n{first}");
        assert!(!first.stderr.contains("unexpected argument"), "{first}");
    }
    assert_eq!(everything(&project.repo), before);
    assert_eq!(std::fs::read_dir(&outside).expect("there").count(), 0);
}
