//! Agents that speak the Agent Client Protocol and let the client read and write for them.

use std::fs;
use std::path::PathBuf;

use fix_loop_tests::{LspClient, repository_root};
use serde_json::{Value, json};

use super::world::{FACTOR, Project, RIGHT, WRONG, fixed, judged, needs_signs};

/// These run wherever Python is.
const CHECK: &str = "[[check]]\nname = \"unit\"\npaths = [\"calc.py\"]\n\
                     command = [\"python3\", \"-c\", \"import test_calc as t; t.test_add(); t.test_double()\"]\n";

struct Acp {
    project: Project,
    log: PathBuf,
}

impl Acp {
    /// An agent for both roles that follows these rules.
    fn new(rules: &Value) -> Acp {
        let folder =
            tempfile::Builder::new().prefix("fix-loop-acp-").tempdir().expect("a temporary folder").keep();
        let recipe = folder.join("recipe.json");
        fs::write(&recipe, rules.to_string()).expect("a fresh folder");
        let script = repository_root().join("tests/agents/scripted_acp.py");
        let command: Vec<String> =
            [script, recipe, folder.clone()].iter().map(|path| path.display().to_string()).collect();
        let config = format!(
            "{CHECK}[agents.mine]\nkind = \"acp\"\ncommand = [\"python3\", {:?}, {:?}, {:?}]\n\
             [roles.fixer]\nagent = \"mine\"\n[roles.verifier]\nagent = \"mine\"\n",
            command[0], command[1], command[2]
        );
        Acp { project: Project::new(&config, |_| {}), log: folder }
    }

    /// What the client answered, step by step.
    fn answers(&self) -> Vec<Value> {
        let text = fs::read_to_string(self.log.join("answers.jsonl")).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
    }
}

impl Drop for Acp {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.log);
    }
}

#[test]
fn a_fix_written_through_the_client_is_staged_and_a_write_out_of_scope_is_refused() {
    let acp = Acp::new(&json!([{"when": {"role": "fixer"}, "do": [
        {"replace": ["calc.py", WRONG, RIGHT]},
        {"may": ["edit", FACTOR.0]},
        {"write": [FACTOR.0, FACTOR.2]},
        {"write": ["new.py", "x = 1\n"]},
        {"write": ["../outside.py", "x = 1\n"]},
        {"write": [".git/hooks/pre-commit", "x\n"]},
        {"report": fixed("added")},
    ]}]));
    let output = acp.project.run(&[]).run();
    assert_eq!(output.code, Some(0), "{output}\n{}", acp.project.transcripts());
    let report = output.json();
    assert_eq!((&report["resolved"], &report["evidence"]), (&json!(["f1"]), &json!({"f1": "proven"})));
    let answers = acp.answers();
    assert_eq!(answers[0]["error"], Value::Null, "in scope");
    assert_eq!(answers[1]["text"], "reject_once");
    for (answer, words) in answers[2..6].iter().zip(["scope", "scope", "outside of the workspace", "scope"]) {
        assert!(answer["error"].as_str().is_some_and(|error| error.contains(words)), "{answer}");
    }
    assert!(!acp.project.repo.exists("new.py") && !acp.project.repo.exists(".git/hooks/pre-commit"));
    assert_eq!(acp.project.repo.read("signs.py"), "FACTOR = -1\n");
    acp.project.assert_fixed();
}

#[test]
fn an_approved_file_may_be_written_through_the_client() {
    let acp = Acp::new(&json!([
        {"when": {"role": "fixer", "says": "Approve expanded scope"}, "do": [
            {"may": ["edit", FACTOR.0]}, {"replace": [FACTOR.0, FACTOR.1, FACTOR.2]}, {"report": fixed("turned the sign")},
        ]},
        {"when": {"role": "fixer"}, "do": [
            {"write": [FACTOR.0, "FACTOR = 1\n"]}, {"report": needs_signs()},
        ]},
    ]));
    let output = acp.project.run(&["--answer", "recommended"]).run();
    assert_eq!(output.code, Some(0), "{output}\n{}", acp.project.transcripts());
    let answers = acp.answers();
    assert!(
        answers[0]["error"].as_str().is_some_and(|error| error.contains("needs_scope_expansion")),
        "{answers:?}"
    );
    assert_eq!((&answers[2]["text"], &answers[3]["error"]), (&json!("allow_once"), &Value::Null));
    acp.project.assert_staged(
        "",
        "diff --git a/signs.py b/signs.py\n--- a/signs.py\n+++ b/signs.py\n@@ -1 +1 @@\n-FACTOR = -1\n+FACTOR = 1\n",
    );
}

#[test]
fn a_verifier_that_edits_behind_the_clients_back_is_undone_and_not_believed() {
    let broken = "    return a - 2 * b";
    let acp = Acp::new(&json!([
        {"when": {"role": "fixer", "says": "This is round 1"}, "do": [
            {"replace": ["calc.py", WRONG, broken]}, {"report": fixed("doubled it")},
        ]},
        {"when": {"role": "fixer"}, "do": [{"replace": ["calc.py", broken, RIGHT]}, {"report": fixed("added")}]},
        {"when": {"role": "verifier"}, "do": [
            {"write": ["calc.py", "x = 1\n"]},
            {"disk": ["test_calc.py", "def test_nothing():\n    pass\n"]},
            {"disk": ["made.py", "x = 1\n"]},
            {"report": judged("rejected", "it adds now")},
        ]},
    ]));
    let tests = acp.project.repo.read("test_calc.py");
    let output = acp.project.run(&[]).run();
    assert_eq!(output.code, Some(1), "{output}\n{}", acp.project.transcripts());
    let report = output.json();
    assert_eq!(
        (&report["resolved"], &report["waiting"]),
        (&json!([]), &json!(["f1"])),
        "its verdict is void"
    );
    let write =
        acp.answers().into_iter().find(|answer| answer["step"]["write"][0] == "calc.py").expect("it tried");
    assert!(write["error"].as_str().is_some_and(|error| error.contains("only read")), "{write}");
    assert_eq!(acp.project.repo.read("test_calc.py"), tests);
    assert!(!acp.project.repo.exists("made.py"));
    let question = acp.project.question("inconclusive");
    let detail = format!("{} {}", question["text"], question["detail"]);
    assert!(detail.contains("test_calc.py"), "it says what was undone: {question:#}");
}

#[test]
fn an_agent_that_asks_sees_unsaved_text_and_only_its_own_change_gets_into_the_file() {
    let acp = Acp::new(&json!([{"when": {"role": "fixer"}, "do": [
        {"read": "signs.py"},
        {"replace": ["calc.py", WRONG, RIGHT]},
        {"read": "calc.py"},
        {"replace": ["calc.py", "    return 2 * a", "    return a + a"]},
        {"write": ["calc.py", "# somebody else's words\n"]},
        {"report": fixed("added")},
    ]}]));
    let repo = &acp.project.repo;
    let (calc, signs) = (repo.read("calc.py"), repo.read("signs.py"));
    let mut client = LspClient::start(repo);
    client.open(repo, "calc.py", "python");
    client.open(repo, "signs.py", "python");
    client.diagnostics(repo, "calc.py", |found| found.len() == 1);
    client.change(repo, "calc.py", [0, 0, 0, 0], "# not saved\n");
    client.change(repo, "signs.py", [0, 0, 0, 0], "# not saved either\n");
    let action = client.code_action(repo, "calc.py", 5, "Fix with loop");
    client.choose(&action);
    let question = client.question();
    assert!(question.text.contains("calc.py") && question.text.contains("unsaved"), "{question:?}");
    client.answer(&question, Some("Go on with the saved file"));
    client.status(|status| {
        let loops = status["loops"].as_array().expect("a list");
        status["counts"]["resolved"] == 1 && loops.iter().all(|known| known["state"] == "finished")
    });

    let answers = acp.answers();
    assert_eq!(answers[0]["text"], format!("# not saved either\n{signs}"));
    assert_eq!(answers[1]["text"], format!("# not saved\n{calc}"));
    let mended = calc.replace(WRONG, RIGHT);
    assert_eq!(
        answers[2]["text"],
        format!("# not saved\n{mended}"),
        "its own change, seen in the unsaved text"
    );
    assert_eq!((&answers[1]["error"], &answers[3]["error"]), (&Value::Null, &Value::Null));
    let refused = answers[4]["error"].as_str();
    assert!(refused.is_some_and(|error| error.contains("unsaved changes in the editor")), "{refused:?}");
    assert_eq!(
        repo.read("calc.py"),
        mended.replace("return 2 * a", "return a + a"),
        "nothing unsaved is in the file"
    );
    acp.project.assert_staged(
        &format!("@@ -5 +5 @@ def add(a, b):\n-{WRONG}\n+{RIGHT}\n@@ -9 +9 @@ def double(a):\n-    return 2 * a\n+    return a + a\n"),
        "",
    );
    // The editor is asked to put the fix beside what is still unsaved.
    let edits = client.edit()["edit"]["documentChanges"][0]["edits"].to_string();
    assert!(edits.contains(RIGHT) && edits.contains("return a + a"), "{edits}");
    assert!(!edits.contains("not saved"), "{edits}");
    client.take_messages();
    client.shutdown();
}
