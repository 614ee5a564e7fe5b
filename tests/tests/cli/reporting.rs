//! What scripts read: the run report, the status, exit codes.

use fix_loop_tests::{Script, finding, step};
use serde_json::{Value, json};

use super::{APP, Project, assert_keys, assert_report, everything, fix, fixer};

#[test]
fn a_resolved_finding_is_reported_with_its_evidence_and_its_worker() {
    let project = Project::new(fixer());
    let report = project.run(&[]).expect(0).json();
    assert_report(&report);
    assert_eq!(report["schema_version"], "v1");
    assert_eq!(report["protocol"], "bounded");
    assert_eq!((&report["gate"]["verdict"], &report["gate"]["outcome"]), (&json!("PASS"), &json!("done")));
    assert_eq!(report["gate"]["final_head"], json!(project.repo.head()));
    assert_eq!((&report["resolved"], &report["evidence"]), (&json!(["f1"]), &json!({"f1": "proven"})));
    let workers = report["workers"].as_array().expect("a list");
    assert_eq!(workers.len(), 1);
    assert_eq!(
        (&workers[0]["role"], &workers[0]["agent"], &workers[0]["round"]),
        (&json!("fixer"), &json!("scripted"), &json!(1))
    );
    // Once more: nothing to do, by nobody, and it is said that it is resolved.
    let again = project.run(&[]).expect(0).json();
    assert_report(&again);
    assert_eq!((&again["resolved"], &again["workers"]), (&json!(["f1"]), &json!([])));
    assert_eq!(project.agent.dispatches(), ["fixer 1"]);
}

#[test]
fn the_status_has_every_key_before_and_after() {
    let project = Project::new(Script::new().on("fixer", [step::needs(&["other.txt"], "it is there, too")]));
    let keys = ["revision", "driver", "counts", "loops", "questions", "findings_detail"];
    let counts = [
        "open",
        "fixing",
        "verifying",
        "waiting",
        "manual",
        "resolved",
        "deferred",
        "disputed",
        "demoted",
        "stale",
        "ignored",
    ];
    project.repo.findings(&[]);
    let empty = project.status();
    assert_keys(&empty, &keys);
    assert_keys(&empty["counts"], &counts);
    assert_eq!((&empty["driver"], &empty["findings_detail"]), (&Value::Null, &json!([])));
    project.repo.findings(&[finding("f1", "app.txt", 2, "BAD is a word that must go")]);
    project.run(&[]).expect(1);
    let status = project.status();
    assert_keys(&status, &keys);
    assert_eq!(status["counts"]["waiting"], 1, "{status:#}");
    let detail = &status["findings_detail"][0];
    assert_keys(
        detail,
        &[
            "id",
            "fingerprint",
            "severity",
            "title",
            "file",
            "line_start",
            "line_end",
            "state",
            "evidence",
            "round",
            "loop",
        ],
    );
    assert_eq!(
        (&detail["id"], &detail["state"], &detail["loop"]),
        (&json!("f1"), &json!("waiting"), &json!("L1"))
    );
    let shown = &status["loops"][0];
    assert_keys(
        shown,
        &["id", "protocol", "state", "round", "max_rounds", "findings", "agent", "seconds", "cost_usd"],
    );
    let question = &status["questions"][0];
    assert_keys(question, &["id", "kind", "loop", "findings", "text", "detail", "options", "recommended"]);
    assert_eq!((&question["kind"], &question["findings"]), (&json!("scope"), &json!(["f1"])));
    assert_eq!(
        question["options"],
        json!(["Approve expanded scope", "Reject — fix within original scope only", "Defer this finding"])
    );
    assert_eq!(question["recommended"], question["options"][0]);
    assert!(
        question["detail"].as_str().is_some_and(|text| text.contains("it is there, too")),
        "{question:#}"
    );
}

#[test]
fn the_exit_code_says_how_a_run_ended() {
    let unconfirmed = |mut one: Value| {
        one["verdict"] = Value::Null;
        one
    };
    let minor = |mut one: Value| {
        one["severity"] = "P2".into();
        one
    };
    let bad = || finding("f1", "app.txt", 2, "BAD is a word that must go");
    let cases: [(&str, Vec<Value>, i32, &str, &str); 5] = [
        ("resolved", vec![bad()], 0, "done", "resolved"),
        ("nothing", vec![], 0, "nothing_to_do", ""),
        ("not confirmed", vec![unconfirmed(bad())], 0, "nothing_to_do", "ignored"),
        ("minor", vec![minor(bad())], 0, "nothing_to_do", "ignored"),
        ("outside of the root", vec![finding("f1", "../app.txt", 2, "outside")], 1, "refused", "ignored"),
    ];
    for (what, findings, code, outcome, list) in cases {
        let project = Project::new(fixer());
        project.repo.findings(&findings);
        let output = project.run(&[]).run();
        assert_eq!(output.code, Some(code), "{what}\n{output}");
        let report = output.json();
        assert_report(&report);
        assert_eq!(report["gate"]["outcome"], outcome, "{what}\n{output}");
        for key in ["resolved", "ignored", "waiting", "deferred", "dropped"] {
            let length = report[key].as_array().expect("a list").len();
            assert_eq!(length, usize::from(key == list), "{what}: {key}\n{output}");
        }
    }
}

#[test]
fn one_bad_finding_does_not_hold_up_the_others_and_both_are_told() {
    let project = Project::new(fixer());
    let mut without = finding("f2", "other.txt", 1, "no criterion");
    without.as_object_mut().expect("an object").remove("criterion");
    project.repo.findings(&[finding("f1", "app.txt", 2, "BAD is a word that must go"), without]);
    let report = project.run(&[]).expect(0).json();
    assert_eq!((&report["resolved"], &report["ignored"][0]["id"]), (&json!(["f1"]), &json!("f2")));
}

#[test]
fn ids_that_several_files_use_are_told_apart() {
    let project = Project::new(fixer());
    project.repo.findings_named("one", &[finding("f1", "app.txt", 2, "BAD is a word that must go")]);
    project.repo.findings_named("two", &[finding("f1", "other.txt", 1, "something else")]);
    std::fs::remove_file(project.repo.path(".fix-loop/findings/review.json")).expect("it is there");
    let status = project.status();
    let mut ids: Vec<&str> = status["findings_detail"]
        .as_array()
        .expect("a list")
        .iter()
        .map(|one| one["id"].as_str().expect("text"))
        .collect();
    ids.sort_unstable();
    assert_eq!(ids.len(), 2);
    assert!(ids[0].contains("one") && ids[0].ends_with("#f1"), "{ids:?}");
    assert!(ids[1].contains("two") && ids[1].ends_with("#f1"), "{ids:?}");
    let report = project.run(&["--only", ids[0]]).expect(0).json();
    assert_eq!((&report["resolved"], &report["evidence"][ids[0]]), (&json!([ids[0]]), &json!("proven")));
}

#[test]
fn only_the_named_findings_are_worked_on_and_count() {
    let project = Project::new(fixer());
    project.repo.findings(&[
        finding("f1", "app.txt", 2, "BAD is a word that must go"),
        finding("f2", "other.txt", 1, "something else"),
    ]);
    let report = project.run(&["--only", "f1"]).expect(0).json();
    assert_report(&report);
    assert_eq!(report["resolved"], json!(["f1"]));
    assert_eq!(report["ignored"][0]["id"], "f2");
    assert_eq!(project.agent.dispatches(), ["fixer 1"]);
    assert_eq!(project.stands("f2"), "open");
}

#[test]
fn a_dry_run_starts_nothing_and_writes_nothing() {
    let project = Project::new(fixer());
    let before = everything(&project.repo);
    let refs = project.repo.git(["for-each-ref"]);
    let plan = project.repo.fix_loop(["run", "--dry-run", "--format", "json"]).expect(0).json();
    assert_eq!(plan["batches"][0]["findings"], json!(["f1"]));
    assert_eq!(plan["batches"][0]["scope"], json!(["app.txt"]));
    assert_eq!(plan["batches"][0]["checks"][0]["name"], "words");
    assert_eq!(
        (&plan["agents"][0]["role"], &plan["agents"][0]["agent"]),
        (&json!("fixer"), &json!("scripted"))
    );
    assert_eq!(everything(&project.repo), before);
    assert_eq!(project.repo.git(["for-each-ref"]), refs);
    assert!(!project.repo.exists(".git/fix-loop"), "no state either");
    assert!(project.agent.briefs().is_empty());
}

#[test]
fn recommended_answers_need_nobody_and_one_that_is_told_no_report_is_asked_of_nobody_else() {
    let script =
        Script::new().on_nth("fixer", 1, [step::needs(&["other.txt"], "the same is there")]).on("fixer", {
            let mut steps = vec![step::append("other.txt", "too\n")];
            steps.extend(fix());
            steps
        });
    let project = Project::new(script);
    let report = project.run(&["--answer", "recommended"]).expect(0).json();
    assert_eq!((&report["resolved"], &report["evidence"]["f1"]), (&json!(["f1"]), &json!("proven")));
    assert_eq!(project.agent.dispatches(), ["fixer 1", "fixer 1"]);
    assert_eq!(project.repo.staged("app.txt"), APP.replace("BAD", "GOOD"));
    assert_eq!(project.repo.staged("other.txt"), "other\ntoo\n");
}

#[test]
fn text_goes_to_stderr_and_names_what_was_done() {
    let project = Project::new(fixer());
    let output = project.repo.fix_loop(["run", "--trust"]).expect(0);
    assert_eq!(output.stdout, "");
    assert!(output.stderr.contains("f1") && output.stderr.contains("proven"), "{output}");
}
