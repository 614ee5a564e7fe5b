//! What comes in over the command line, and how it is understood.

use fix_loop_tests::{Repo, Script, finding, step};
use serde_json::{Value, json};

use super::{Project, assert_report, everything, fixer};

fn review(findings: &[Value]) -> String {
    json!({"schema_version": "v1", "findings": findings, "checks_run": []}).to_string()
}

#[test]
fn findings_may_come_from_stdin() {
    let project = Project::new(fixer());
    project.repo.findings(&[]);
    let text = review(&[finding("z", "app.txt", 2, "BAD is a word that must go")]);
    let before = everything(&project.repo);
    for (broken, said) in [("", "empty"), ("{\"findings\": [", "broken JSON")] {
        let output = project.run(&["-"]).stdin(broken).expect(2);
        assert!(output.stderr.contains(said), "{output}");
    }
    assert_eq!(everything(&project.repo), before);
    let report = project.run(&["-"]).stdin(&text).expect(0).json();
    assert_report(&report);
    assert_eq!(report["resolved"], json!(["z"]));
}

#[test]
fn import_says_where_the_lines_and_paths_of_a_document_really_are() {
    let repo = Repo::with(&[("src/a.py", "one\ntwo\nthree\n"), ("empty.py", "")]);
    let absolute = repo.path("src/a.py").display().to_string();
    /// Given file and lines; what they became; the noted fields.
    type Case<'a> = (&'a str, (u32, u32), (&'a str, Value, Value), &'a [&'a str]);
    let cases: [Case; 7] = [
        ("src/a.py", (2, 3), ("src/a.py", json!(2), json!(3)), &[]),
        ("src/a.py", (2, 30), ("src/a.py", json!(2), json!(3)), &["line_end"]),
        ("src/a.py", (20, 30), ("src/a.py", json!(3), json!(3)), &["line_start", "line_end"]),
        ("./src/../src/a.py", (1, 1), ("src/a.py", json!(1), json!(1)), &["file"]),
        (&absolute, (1, 1), ("src/a.py", json!(1), json!(1)), &["file"]),
        ("empty.py", (1, 1), ("empty.py", json!(null), json!(null)), &["line_start"]),
        ("../out.py", (1, 9), ("../out.py", json!(1), json!(9)), &["file"]),
    ];
    for (file, (start, end), (path, line_start, line_end), noted) in cases {
        let mut given = finding("f1", file, start, "title");
        given["line_end"] = json!(end);
        let whole =
            repo.fix_loop(["import", "-", "--format", "json"]).stdin(&review(&[given])).expect(0).json();
        let found = &whole["review_output"]["findings"][0];
        assert_eq!(
            (&found["file"], &found["line_start"], &found["line_end"]),
            (&json!(path), &line_start, &line_end),
            "{file}"
        );
        let fields: Vec<&str> = whole["notes"]
            .as_array()
            .expect("a list")
            .iter()
            .map(|note| note["field"].as_str().expect("text"))
            .collect();
        assert_eq!(fields, noted, "{file}: {whole:#}");
    }
    // Lines of another revision are not the present ones.
    let mut document: Value =
        serde_json::from_str(&review(&[finding("f1", "src/a.py", 40, "t")])).expect("JSON");
    document["review_base"] = json!("HEAD");
    let kept = repo.fix_loop(["import", "-"]).stdin(&document.to_string()).expect(0).json();
    assert_eq!(kept["findings"][0]["line_start"], 40);
}

#[test]
fn a_finding_is_about_the_file_that_its_path_names_with_spaces_and_all() {
    let files = [(" lead.txt", "one\nBAD\n"), ("trail.txt ", "one\nBAD\n")];
    let fix = |file: &str| [step::edit(file, "BAD", "GOOD"), step::fixed("done")];
    let on = |title: &str| json!({"role": "fixer", "title": title});
    let script = Script::new()
        .when(on("lead"), fix(" lead.txt"))
        .when(on("trail"), fix("trail.txt "))
        .when(on("slip"), fix("app.txt"))
        .on("verifier", [step::judge("rejected", "it is gone")]);
    let project = Project::with(&files, script, "");
    project.repo.findings(&[
        finding("a", " lead.txt", 2, "lead"),
        finding("b", "trail.txt ", 2, "trail"),
        finding("c", " app.txt ", 2, "slip"),
    ]);
    let report = project.run(&[]).expect(0).json();
    assert_eq!(report["resolved"], json!(["a", "b", "c"]), "{report:#}");
    let staged = project.repo.git(["diff", "--cached", "--name-only", "-z"]);
    assert_eq!(staged, " lead.txt\0app.txt\0trail.txt \0");
}

#[test]
fn a_finding_is_about_the_path_that_it_names_also_when_a_fix_makes_that_a_link() {
    let script = Script::new()
        .on("fixer", [step::run(&["ln", "-sf", "other.txt", "app.txt"]), step::fixed("one text for both")])
        .on("verifier", [step::judge("rejected", "the word is gone")]);
    let project = Project::new(script);
    let before = project.status()["findings_detail"][0].clone();
    let report = project.run(&[]).expect(0).json();
    assert_eq!(report["resolved"], json!(["f1"]), "{report:#}");
    let after = project.status()["findings_detail"].clone();
    assert_eq!(after.as_array().expect("a list").len(), 1, "{after:#}");
    for key in ["id", "fingerprint", "file"] {
        assert_eq!(after[0][key], before[key], "{key}");
    }
    assert_eq!(after[0]["state"], "resolved");
}

#[test]
fn duplicates_are_listed_with_the_finding_that_they_are() {
    let project = Project::new(fixer());
    let same = "BAD is a word that must go";
    project.repo.findings(&[finding("f1", "app.txt", 2, same), finding("f2", "app.txt", 2, same)]);
    let expected = json!([{"id": "f2", "reason": "ignored: the same finding as f1"}]);
    assert_eq!(project.run(&["--dry-run"]).expect(0).json()["ignored"], expected);
    let report = project.run(&[]).expect(0).json();
    assert_eq!((&report["resolved"], &report["ignored"]), (&json!(["f1"]), &expected));
    assert_eq!(project.status()["findings_detail"].as_array().expect("a list").len(), 1);
}

#[test]
fn the_checks_of_a_finding_without_a_file_are_those_of_the_files_to_fix() {
    let project = Project::new(fixer());
    let mut all = finding("f1", "app.txt", 2, "BAD is a word that must go");
    for key in ["file", "line_start", "line_end"] {
        all[key] = json!(null);
    }
    let document =
        json!({"schema_version": "v1", "findings": [all], "checks_run": [], "artifact_paths": ["app.txt"]});
    project.repo.write(".fix-loop/findings/review.json", document.to_string());
    let report = project.run(&[]).expect(0).json();
    assert_eq!(report["evidence"], json!({"f1": "proven"}), "{report:#}");
}

#[test]
fn what_the_compiler_suggests_is_applied_as_any_other_fix() {
    let span = |start: u32, end: u32, replacement: Value| {
        json!({"file_name": "src/lib.rs", "is_primary": true, "line_start": 2, "line_end": 2, "column_start": start,
            "column_end": end, "expansion": null, "label": null, "text": [{"text": "    let é = 1; lett x = é;"}],
            "suggested_replacement": replacement, "suggestion_applicability": "MachineApplicable"})
    };
    let message = json!({"reason": "compiler-message", "message": {"message": "expected `let`", "code": null,
        "level": "error", "spans": [span(16, 20, json!(null))], "rendered": "…", "children": [
            {"message": "remove the t", "level": "help", "code": null, "children": [], "spans": [span(16, 20, json!("let"))]}]}});
    let config = "[[check]]\nname = \"compiles\"\ncommand = [\"sh\", \"-c\", \"! grep -q lett src/lib.rs\"]\n\
                  [roles.fixer]\nagent = \"suggested\"\n";
    let repo = Repo::with(&[("src/lib.rs", "fn f() {\n    let é = 1; lett x = é;\n}\n")]);
    repo.config(config);
    let lines = format!("{message}\n{}\n", json!({"reason": "build-finished", "success": false}));
    repo.write(".fix-loop/findings/cargo.json", lines);
    let report = repo.fix_loop(["run", "--trust", "--format", "json"]).expect(0).json();
    assert_eq!(report["resolved"], json!([]), "nobody has confirmed it");
    repo.fix_loop(["confirm", "1"]).expect(0);
    let report = repo.fix_loop(["run", "--trust", "--format", "json"]).expect(0).json();
    assert_eq!(report["evidence"], json!({"1": "proven"}), "{report:#}");
    assert_eq!(repo.staged("src/lib.rs"), "fn f() {\n    let é = 1; let x = é;\n}\n");
}
