//! What is wrong is said, with the exit code of DESIGN 4, and nothing is changed.

use fix_loop_tests::{Repo, Script, finding, step};
use serde_json::json;

use super::{Project, assert_report, everything, fixer};

#[test]
fn input_that_cannot_be_used_is_named_and_nothing_is_changed() {
    type Prepare = fn(&Repo);
    /// Name, what is prepared, arguments, exit code, what the message says.
    type Case = (&'static str, Prepare, &'static [&'static str], i32, &'static [&'static str]);
    let nothing: Prepare = |_| {};
    let cases: [Case; 11] = [
        (
            "a findings file that is no JSON",
            |repo| repo.write(".fix-loop/bad.json", "{\n  \"findings\": [,]\n}\n"),
            &["run", "--trust", ".fix-loop/bad.json"],
            2,
            &["bad.json:2:16"],
        ),
        (
            "an inbox file that is no JSON",
            |repo| repo.write(".fix-loop/findings/review.json", "{\"schema_version\": \"v1\",\n  oops}\n"),
            &["run", "--trust"],
            2,
            &[".fix-loop/findings/review.json:2:3"],
        ),
        (
            "a findings file that is not there",
            nothing,
            &["run", "--trust", "nowhere.json"],
            2,
            &["nowhere.json"],
        ),
        (
            "an unknown key",
            |repo| repo.config("protocl = \"bounded\"\n"),
            &["run", "--trust"],
            2,
            &["fix-loop.toml:1:1", "protocl", "`protocol`"],
        ),
        ("an unknown agent", nothing, &["run", "--trust", "--agent", "nobody"], 3, &["nobody"]),
        ("an unknown finding", nothing, &["run", "--trust", "--only", "f9"], 2, &["f9", "fix-loop status"]),
        (
            "an unknown protocol",
            nothing,
            &["run", "--trust", "--protocol", "endless"],
            2,
            &["endless", "bounded"],
        ),
        ("an unknown check", nothing, &["run", "--trust", "--from-check", "nope"], 2, &["nope", "words"]),
        ("no trust", nothing, &["run"], 3, &["fix-loop trust", "check.sh"]),
        ("an unknown question", nothing, &["answer", "L9.q1", "1"], 2, &["L9.q1"]),
        ("an unknown loop", nothing, &["undo", "L9"], 2, &["L9"]),
    ];
    for (what, prepare, arguments, code, said) in cases {
        let project = Project::new(fixer());
        prepare(&project.repo);
        let before = everything(&project.repo);
        let output = project.repo.fix_loop(arguments).args(["--format", "json"]).run();
        assert_eq!(output.code, Some(code), "{what}\n{output}");
        for &said in said {
            assert!(output.stderr.contains(said), "{what}: nothing is said of {said}\n{output}");
        }
        // `run` prints its one object whatever happened, once its arguments are understood.
        match arguments[0] {
            "run" if !said.contains(&"endless") => {
                let report = output.json();
                assert_eq!(
                    (&report["gate"]["verdict"], &report["gate"]["outcome"], &report["resolved"]),
                    (&json!("FAIL"), &json!("stopped"), &json!([])),
                    "{what}"
                );
                let reason = report["gate"]["reason"].as_str().expect("text");
                assert!(output.stderr.contains(reason), "{what}: {reason}");
            }
            _ => assert_eq!(output.stdout, "", "{what}"),
        }
        assert_eq!(everything(&project.repo), before, "{what}");
        assert!(project.agent.briefs().is_empty(), "{what}");
    }
}

#[test]
fn a_run_that_was_not_trusted_leaves_nothing_that_starts_by_itself_later() {
    let project = Project::new(fixer());
    let before = everything(&project.repo);
    project.repo.fix_loop(["run"]).expect(3);
    project.repo.fix_loop(["trust"]).expect(0);
    assert_eq!(everything(&project.repo), before);
    assert!(project.agent.briefs().is_empty());
    assert_eq!(project.stands("f1"), "open");
    let report = project.repo.fix_loop(["run", "--format", "json"]).expect(0).json();
    assert_eq!(report["resolved"], json!(["f1"]));
    // Other commands are other commands.
    project.repo.findings(&[finding("f2", "other.txt", 1, "another")]);
    let config = project.repo.read("fix-loop.toml").replace("\"check.sh\"", "\"-e\", \"check.sh\"");
    project.repo.config(&config);
    project.repo.fix_loop(["run"]).expect(3);
    assert_eq!(project.agent.briefs().len(), 1);
}

#[test]
fn without_a_work_tree_of_git_nothing_is_fixed() {
    let outside = Repo::with(&[("a.txt", "a\n")]);
    let plain = outside.outside().join("plain");
    let bare = outside.outside().join("bare.git");
    std::fs::create_dir_all(&plain).expect("a fresh folder");
    outside.git(["init", "--quiet", "--bare", &bare.display().to_string()]);
    outside.findings(&[finding("f1", "a.txt", 1, "first")]);
    let review = outside.path(".fix-loop/findings/review.json").display().to_string();
    for folder in [&plain, &bare] {
        let listing = || -> Vec<_> {
            let mut names: Vec<_> = std::fs::read_dir(folder)
                .expect("there")
                .map(|entry| entry.expect("there").file_name())
                .collect();
            names.sort();
            names
        };
        let before = listing();
        let output = outside.fix_loop(["run", "--trust", &review]).current_dir(folder).expect(3);
        assert!(output.stderr.contains("git"), "{output}");
        // Findings are shown all the same.
        outside.fix_loop(["status"]).current_dir(folder).expect(0);
        assert_eq!(listing(), before);
    }
}

#[test]
fn a_file_inside_a_submodule_is_refused_with_the_folder_to_open() {
    let project = Project::new(fixer());
    let inner = Repo::with(&[("a.txt", "a\n")]);
    let from = inner.root().display().to_string();
    project.repo.git(["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", &from, "sub"]);
    project.repo.commit("a submodule");
    project.repo.findings(&[finding("f1", "sub/a.txt", 1, "inside")]);
    let before = everything(&project.repo);
    let output = project.run(&[]).run();
    assert_eq!(output.code, Some(1), "{output}");
    let report = output.json();
    assert_report(&report);
    let told = format!("{}{}{}", report, output.stderr, project.status());
    assert!(told.contains("submodule") && told.contains("sub"), "{told}");
    assert_eq!(everything(&project.repo), before);
    assert!(project.agent.briefs().is_empty(), "nobody is dispatched to what cannot be staged");
}

#[test]
fn agents_that_fail_or_lie_are_found_out_and_the_tree_is_what_it_was() {
    let hang = "timeout = \"1s\"\n";
    let lie = || step::fixed("all done");
    let cases: [(&str, Script, &str, &[&str], &str); 9] = [
        ("crashes", Script::new().on("fixer", [step::exit(3)]), "", &[], "waiting"),
        ("is killed", Script::new().on("fixer", [step::kill(9)]), "", &[], "waiting"),
        (
            "crashes after an edit",
            Script::new().on("fixer", [step::append("app.txt", "half\n"), step::exit(3)]),
            "",
            &[],
            "waiting",
        ),
        ("hangs", Script::new().on("fixer", [step::hang()]), hang, &[], "waiting"),
        ("prints garbage", Script::new().on("fixer", [step::raw("I fixed it! {\"sum")]), "", &[], "waiting"),
        ("prints nothing", Script::new().on("fixer", [step::exit(0)]), "", &[], "waiting"),
        (
            "changes nothing",
            Script::new().on("fixer", [lie()]).on("verifier", [step::judge("confirmed", "still there")]),
            "",
            &["--answer", "recommended"],
            "unresolved",
        ),
        (
            "changes something else in the file",
            Script::new()
                .on_round("fixer", 1, [step::edit("app.txt", "seven", "SEVEN"), lie()])
                .on_round("fixer", 2, [step::edit("app.txt", "six", "SIX"), lie()])
                .on("verifier", [step::judge("confirmed", "BAD still stands there")]),
            "",
            &["--answer", "recommended"],
            "unresolved",
        ),
        (
            "changes another file",
            Script::new()
                .on("fixer", [step::write("other.txt", "mine now\n"), step::write("new.txt", "n\n"), lie()]),
            "",
            &[],
            "waiting",
        ),
    ];
    for (what, script, config, arguments, outcome) in cases {
        let project = Project::with(&[], script, config);
        project.repo.write("other.txt", "other, changed by me\n");
        project.repo.write("mine.txt", "untracked\n");
        let before = everything(&project.repo);
        let output = project.run(arguments).run();
        assert_eq!(output.code, Some(1), "{what}\n{output}");
        let report = output.json();
        assert_report(&report);
        assert_eq!(report["gate"]["outcome"], outcome, "{what}\n{output}");
        assert_eq!(report["resolved"], json!([]), "{what}");
        assert_eq!(report["gate"]["open_confirmed_findings"], 1, "{what}");
        let kept = if outcome == "waiting" { "waiting" } else { "deferred" };
        assert_eq!(report[kept], json!(["f1"]), "{what}\n{output}");
        assert_eq!(everything(&project.repo), before, "{what}\n{output}");
    }
}
