//! Commands that read and print: `import`, `init`, `schema`, `protocol`, `doctor`.

use fix_loop_tests::{Repo, Script};
use serde_json::{Value, json};

use super::{Project, assert_keys, everything, fixer};

#[test]
fn import_reads_what_tools_write_and_notes_go_to_stderr() {
    let repo = Repo::with(&[("src/a.py", "import os\nx = 1\n")]);
    let finding =
        json!({"severity": "high", "title": "t", "file": "src/a.py", "line_start": "1-2", "criterion": "c"});
    let fenced = format!("Here is my review:\n```json\n{}\n```\n", json!({"findings": [finding]}));
    let rdjson = json!({"source": {"name": "ruff"}, "severity": "ERROR", "diagnostics": [
        {"message": "`os` imported but unused", "code": {"value": "F401"}, "location": {
            "path": "src/a.py", "range": {"start": {"line": 1, "column": 8}, "end": {"line": 1, "column": 10}}}}]});
    let sarif = json!({"version": "2.1.0", "runs": [{"tool": {"driver": {"name": "scan"}}, "results": [
        {"ruleId": "R1", "level": "error", "message": {"text": "bad"}, "locations": [{"physicalLocation": {
            "artifactLocation": {"uri": "src/a.py"}, "region": {"startLine": 2}}}]}]}]});
    let gaps = "Verdict: FIX-FIRST\n- [CRITICAL] unused import — src/a.py:1\n";
    for (name, text, line) in [
        ("fenced.md", fenced, 1),
        ("rdjson.json", rdjson.to_string(), 1),
        ("scan.sarif", sarif.to_string(), 2),
        ("gaps.md", gaps.to_owned(), 1),
    ] {
        repo.write(name, text);
        let review = repo.fix_loop(["import", name]).expect(0).json();
        assert_eq!(review["schema_version"], "v1", "{name}");
        let found = &review["findings"][0];
        assert_eq!(
            (&found["file"], &found["line_start"]),
            (&json!("src/a.py"), &json!(line)),
            "{name}: {review:#}"
        );
        assert_ne!(found["verdict"], "confirmed", "{name}: no verdict is invented");
        let whole = repo.fix_loop(["import", name, "--format", "json"]).expect(0).json();
        assert_keys(&whole, &["review_output", "notes"]);
        assert_eq!(whole["review_output"], review, "{name}");
        for note in whole["notes"].as_array().expect("a list") {
            assert_keys(note, &["finding", "field", "was", "became", "why"]);
        }
        // What was printed can be read again.
        let again = repo.fix_loop(["import", "-"]).stdin(&review.to_string()).expect(0).json();
        assert_eq!(again["findings"], review["findings"], "{name}");
    }
    repo.write("broken.json", "{\"findings\": [\n");
    let output = repo.fix_loop(["import", "broken.json"]).expect(2);
    assert!(output.stderr.contains("broken.json:2:"), "{output}");
}

#[test]
fn init_writes_a_configuration_that_is_valid_and_never_writes_over_one() {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    repo.fix_loop(["init"]).expect(0);
    let written = repo.read("fix-loop.toml");
    assert!(written.contains("protocol") && written.contains("round1_evidence"), "{written}");
    repo.fix_loop(["run", "--dry-run", "--format", "json"]).expect(0);
    repo.write("fix-loop.toml", "protocol = \"rereview\"\n");
    let output = repo.fix_loop(["init"]).expect(2);
    assert!(output.stderr.contains("fix-loop.toml"), "{output}");
    assert_eq!(repo.read("fix-loop.toml"), "protocol = \"rereview\"\n");
}

#[test]
fn schemas_and_graphs_are_printed_anywhere() {
    let repo = Repo::empty();
    for of in ["config", "findings"] {
        let schema = repo.fix_loop(["schema", of]).expect(0).json();
        assert!(schema["properties"].is_object(), "{schema:#}");
    }
    for (name, state) in [("bounded", "fixing"), ("converge", "closing"), ("rereview", "diagnosing")] {
        let output = repo.fix_loop(["protocol", name, "--format", "mermaid"]).expect(0);
        assert!(output.stdout.starts_with("stateDiagram-v2"), "{output}");
        assert!(output.stdout.contains(state) && output.stdout.contains("[*] -->"), "{output}");
        assert_eq!(output.stderr, "");
    }
    repo.fix_loop(["protocol", "endless"]).expect(2);
    repo.fix_loop(["schema"]).expect(2);
}

#[test]
fn the_doctor_says_what_is_there_and_what_is_missing() {
    let project = Project::new(fixer());
    let before = everything(&project.repo);
    let examined = project.repo.fix_loop(["doctor", "--format", "json"]).expect(0).json();
    assert_keys(&examined, &["version", "workspace", "lines", "ready"]);
    assert_eq!(examined["ready"], true, "{examined:#}");
    let says = |examined: &Value, what: &str| -> Option<String> {
        let lines = examined["lines"].as_array().expect("a list").clone();
        lines
            .iter()
            .find(|line| line["what"] == what)
            .map(|line| line["says"].as_str().expect("text").to_owned())
    };
    assert!(says(&examined, "role fixer").is_some_and(|says| says.contains("scripted")), "{examined:#}");
    assert!(says(&examined, "checks").is_some_and(|says| says.contains("words")), "{examined:#}");
    assert_eq!(everything(&project.repo), before);
    project.repo.config("chekc = 1\n");
    let broken = project.repo.fix_loop(["doctor", "--format", "json"]).expect(3).json();
    assert_eq!(broken["ready"], false);
    assert!(
        says(&broken, "configuration").is_some_and(|says| says.contains("fix-loop.toml:1:1")),
        "{broken:#}"
    );
}

#[test]
fn the_doctor_says_who_would_play_which_role_and_why_somebody_cannot() {
    let mut repo = Repo::with(&[("a.txt", "a\n")]);
    let bin = repo.outside().join("bin");
    std::fs::create_dir_all(&bin).expect("a fresh folder");
    let program = |name: &str, version: &str| {
        let path = bin.join(name);
        std::fs::write(&path, format!("#!/bin/sh\n[ \"$*\" = --version ] && echo '{version}'\n"))
            .expect("a folder");
        std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o755))
            .expect("it is ours");
    };
    program("claude", "2.0.44 (Claude Code)");
    program("codex", "codex-cli 9.9.9");
    std::os::unix::fs::symlink(repo.outside().join("gone"), bin.join("gemini")).expect("a fresh name");
    repo.set_env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").expect("a PATH")));
    let examine = |repo: &Repo, code: i32| {
        let examined = repo.fix_loop(["doctor", "--format", "json"]).expect(code).json();
        move |what: &str| -> String {
            let lines = examined["lines"].as_array().expect("a list");
            let line = lines.iter().find(|line| line["what"] == what);
            let line = line.unwrap_or_else(|| panic!("nothing of {what}: {examined:#}"));
            format!("{}: {}", line["state"].as_str().expect("text"), line["says"].as_str().expect("text"))
        }
    };
    let says = examine(&repo, 3);
    assert!(says("agent claude").contains("2.0.44 is too old"), "{}", says("agent claude"));
    assert!(says("agent gemini").contains("which does not exist"), "{}", says("agent gemini"));
    assert!(says("agent codex").starts_with("ok: codex-cli 9.9.9 ("), "{}", says("agent codex"));
    // The first that is installed would be used, and cannot be.
    assert!(says("role fixer").starts_with("missing: claude would be used"), "{}", says("role fixer"));

    repo.config(
        "[roles.fixer]\nagent = \"codex\"\nscoped = { model = \"small\" }\ncross_file = { model = \"big\", effort = \"high\" }\n\
         [roles.verifier]\nagent = \"codex\"\n",
    );
    let says = examine(&repo, 0);
    assert_eq!(says("role fixer"), "ok: codex with small; across files codex with big at effort high");
    assert_eq!(says("role verifier"), "ok: codex");
}

#[test]
fn a_brief_of_the_workspaces_own_is_found_from_anywhere_and_never_outside() {
    let project = Project::with(&[("briefs/fixer.md", "MY OWN WORDS\n\n{{findings}}\n")], fixer(), "");
    let elsewhere = project.repo.outside();
    let bin = elsewhere.join("bin");
    std::fs::create_dir_all(&bin).expect("a fresh folder");
    let reads = bin.join("reads");
    let script = format!("#!/bin/sh\ncat > '{}'\n", bin.join("seen").display());
    std::fs::write(&reads, script).expect("a fresh folder");
    std::fs::set_permissions(&reads, std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .expect("it is ours");
    let config = format!(
        "[agents.reads]\nkind = \"cli\"\ncommand = [{:?}]\n[roles.fixer]\nagent = \"reads\"\nbrief = \"briefs/fixer.md\"\n",
        reads.display().to_string()
    );
    project.repo.config(&config);
    let root = project.repo.root().display().to_string();
    let run = || {
        let arguments = ["run", "--trust", "--format", "json", "--workspace", &root];
        project.repo.fix_loop(arguments).current_dir(&elsewhere).run()
    };
    let output = run();
    let seen = std::fs::read_to_string(bin.join("seen")).unwrap_or_else(|error| panic!("{error}\n{output}"));
    assert!(seen.starts_with("MY OWN WORDS\n") && seen.contains("## Scope"), "{seen}");

    std::fs::remove_file(bin.join("seen")).expect("it was written");
    std::fs::write(elsewhere.join("secret.md"), "SECRET\n").expect("it can be written");
    project.repo.remove("briefs/fixer.md");
    std::os::unix::fs::symlink(elsewhere.join("secret.md"), project.repo.path("briefs/fixer.md"))
        .expect("a link");
    project.repo.findings(&[fix_loop_tests::finding("f9", "other.txt", 1, "another")]);
    let output = run();
    assert!(!bin.join("seen").exists(), "{output}");
    assert!(format!("{output}").contains("leaves the workspace"), "{output}");
}

#[test]
fn the_workspace_can_be_named_from_anywhere() {
    let project = Project::new(Script::new());
    let elsewhere = project.repo.outside();
    let root = project.repo.root().display().to_string();
    let status = project
        .repo
        .fix_loop(["status", "--format", "json", "--workspace", &root])
        .current_dir(&elsewhere)
        .expect(0)
        .json();
    assert_eq!(status["findings_detail"][0]["id"], "f1");
    project.repo.fix_loop(["status", "--workspace", "nowhere"]).expect(2);
}
