//! What the user decides: answers, deferrals, disputes, fixes of their own, undo, cancelling.

use fix_loop_tests::{Script, finding, step};
use serde_json::json;

use super::{APP, Project, assert_report, everything, fix, fixer, gone};

fn asks_first() -> Script {
    Script::new().on_nth("fixer", 1, [step::needs(&["other.txt"], "there, too")]).on("fixer", fix())
}

#[test]
fn an_answer_by_number_or_text_drives_on_where_nobody_drives() {
    for choice in ["1", "approve expanded scope", "Reject - fix within original scope only"] {
        let project = Project::new(asks_first());
        let report = project.run(&[]).expect(1).json();
        assert_eq!((&report["waiting"], &report["gate"]["outcome"]), (&json!(["f1"]), &json!("waiting")));
        for (wrong, question) in [("7", "L1.q1"), ("yes", "L1.q1"), ("1", "L1.q2")] {
            project.repo.fix_loop(["answer", question, wrong]).expect(2);
        }
        let report = project.repo.fix_loop(["answer", "L1.q1", choice, "--format", "json"]).expect(0).json();
        assert_report(&report);
        assert_eq!(report["resolved"], json!(["f1"]), "{choice}");
        assert_eq!(project.agent.dispatches(), ["fixer 1", "fixer 1"]);
        assert_eq!(project.repo.status(), "M  app.txt\n");
        project.repo.fix_loop(["answer", "L1.q1", "1"]).expect(2);
    }
}

#[test]
fn a_changed_command_is_not_run_by_an_answer() {
    let project = Project::new(asks_first());
    project.run(&[]).expect(1);
    let config = project.repo.read("fix-loop.toml").replace("\"check.sh\"", "\"-e\", \"check.sh\"");
    project.repo.config(&config);
    let output = project.repo.fix_loop(["answer", "L1.q1", "1"]).expect(3);
    assert!(output.stderr.contains("fix-loop trust"), "{output}");
    assert_eq!(project.agent.briefs().len(), 1);
    project.repo.fix_loop(["trust"]).expect(0);
    project.repo.fix_loop(["answer", "L1.q1", "1"]).expect(0);
}

#[test]
fn an_answer_reaches_the_process_that_drives() {
    let script = Script::new()
        .when(
            json!({"role": "fixer", "title": "second"}),
            [
                step::mark("second"),
                step::wait_for("go"),
                step::edit("other.txt", "other", "better"),
                step::fixed("better"),
            ],
        )
        .when(json!({"role": "fixer", "answered": true}), fix())
        .on("fixer", [step::needs(&["new.txt"], "there, too")]);
    let project = Project::new(script);
    let mut second = finding("f2", "other.txt", 1, "second");
    second["checks"] = json!([{"absent": "other"}]);
    project.repo.findings(&[finding("f1", "app.txt", 2, "BAD is a word that must go"), second]);
    let driver = project.run(&[]).spawn();
    project.agent.reached("second");
    let status = project.status();
    assert_eq!(status["driver"]["pid"], driver.pid(), "{status:#}");
    assert_eq!(status["driver"]["read_only"], true);
    assert_eq!(project.stands("f1"), "waiting");
    assert_eq!(project.stands("f2"), "fixing");
    // A second one that wants to drive is told who does.
    let refused = project.run(&[]).expect(3);
    assert!(refused.stderr.contains(&driver.pid().to_string()), "{refused}");
    let told = project.repo.fix_loop(["answer", "L1.q1", "1"]).expect(0);
    assert!(told.stderr.contains("Approve expanded scope"), "{told}");
    project.repo.fix_loop(["answer", "L1.q1", "1"]).expect(2);
    project.agent.release("go");
    let output = driver.wait();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(output.json()["resolved"], json!(["f1", "f2"]));
    assert_eq!(project.repo.status(), "M  app.txt\nM  other.txt\n");
}

#[test]
fn decisions_are_kept_and_can_be_taken_back() {
    let project = Project::new(fixer());
    let repo = &project.repo;
    let mut unsure = finding("f2", "other.txt", 1, "perhaps");
    unsure["verdict"] = serde_json::Value::Null;
    repo.findings(&[finding("f1", "app.txt", 2, "BAD is a word that must go"), unsure]);
    let before = everything(repo);
    repo.fix_loop(["defer", "f1", "--reason", "not now"]).expect(0);
    assert_eq!(project.stands("f1"), "deferred");
    repo.fix_loop(["defer", "f1"]).expect(2);
    let report = project.run(&[]).expect(1).json();
    assert_eq!((&report["deferred"], &report["workers"]), (&json!(["f1"]), &json!([])));
    repo.fix_loop(["reopen", "f1"]).expect(0);
    assert_eq!(project.stands("f1"), "open");
    repo.fix_loop(["dispute", "f1", "--reason", "it is a quotation"]).expect(0);
    assert_eq!(project.stands("f1"), "disputed");
    let report = project.run(&[]).expect(0).json();
    assert_eq!(report["dropped"], json!(["f1"]));
    repo.fix_loop(["reopen", "f1"]).expect(0);
    assert_eq!(project.stands("f2"), "ignored");
    repo.fix_loop(["confirm", "f2"]).expect(0);
    assert_eq!(project.stands("f2"), "open");
    for command in ["confirm", "defer", "dispute", "reopen", "verify"] {
        repo.fix_loop([command, "f9"]).expect(2);
    }
    assert_eq!(everything(repo), before);
    assert!(project.agent.briefs().is_empty());
    let report = project.run(&["--only", "f1"]).expect(0).json();
    assert_eq!(report["resolved"], json!(["f1"]));
}

#[test]
fn a_fix_of_the_users_own_is_proven_by_a_check_that_was_red_at_head() {
    let project = Project::new(Script::new());
    project.repo.fix_loop(["trust"]).expect(0);
    project.repo.write("app.txt", APP.replace("BAD", "GOOD"));
    let before = everything(&project.repo);
    let report = project.repo.fix_loop(["verify", "f1", "--format", "json"]).expect(0).json();
    assert_eq!(report["evidence"], json!({"f1": "proven"}));
    assert_eq!(everything(&project.repo), before, "what the user wrote is theirs to stage");
    assert!(project.agent.briefs().is_empty());
}

#[test]
fn a_fix_of_the_users_own_that_no_check_shows_is_judged_by_the_verifier() {
    for (verdict, code, state) in [("rejected", 0, "resolved"), ("confirmed", 1, "manual")] {
        let project = Project::new(Script::new().on("verifier", [step::judge(verdict, "looked")]));
        project.repo.fix_loop(["trust"]).expect(0);
        project.repo.findings(&[finding("f1", "other.txt", 1, "other is vague")]);
        project.repo.write("other.txt", "precise\n");
        let before = everything(&project.repo);
        let output = project.repo.fix_loop(["verify", "f1", "--format", "json"]).expect(code);
        assert_eq!(project.stands("f1"), state, "{output}");
        assert_eq!(project.agent.dispatches(), ["verifier 1"]);
        assert!(project.agent.briefs()[0]["diff"].as_str().is_some_and(|diff| diff.contains("+precise")));
        assert_eq!(everything(&project.repo), before);
    }
}

#[test]
fn undo_brings_back_every_byte_and_the_index() {
    let project = Project::new(fixer());
    project.repo.write("app.txt", APP.replace("five", "mine"));
    let before = everything(&project.repo);
    project.run(&[]).expect(0);
    assert_ne!(everything(&project.repo), before);
    project.repo.fix_loop(["undo", "L1"]).expect(0);
    assert_eq!(everything(&project.repo), before);
    assert_eq!(project.stands("f1"), "open");
    project.repo.fix_loop(["undo", "L1"]).expect(2);
}

#[test]
fn undo_leaves_alone_what_the_user_changed_since_and_names_it() {
    let project = Project::new(fixer());
    project.run(&[]).expect(0);
    project.repo.write("app.txt", "written by me since\n");
    let output = project.repo.fix_loop(["undo", "L1"]).expect(0);
    assert!(output.stderr.contains("app.txt"), "{output}");
    assert_eq!(project.repo.read("app.txt"), "written by me since\n");
}

#[test]
fn a_signal_cancels_ends_the_workers_and_restores_the_tree() {
    for signal in ["INT", "TERM"] {
        let project = Project::new(Script::new().on(
            "fixer",
            [
                step::append("app.txt", "half done\n"),
                step::write("new.txt", "half\n"),
                step::spawn(&["sleep", "1000"]),
                step::mark("deep"),
                step::hang(),
            ],
        ));
        project.repo.write("app.txt", APP.replace("five", "mine"));
        let before = everything(&project.repo);
        let run = project.run(&[]).spawn();
        project.agent.reached("deep");
        run.signal(signal);
        let output = run.wait();
        assert_eq!(output.code, Some(1), "{output}");
        let report = output.json();
        assert_report(&report);
        assert_eq!(report["resolved"], json!([]));
        assert_eq!(everything(&project.repo), before, "{output}");
        for pid in project.agent.spawned() {
            gone(pid);
        }
        assert_eq!(project.stands("f1"), "open");
        assert_eq!(project.status()["questions"], json!([]));
    }
}

#[test]
fn what_the_user_does_while_a_question_waits_is_theirs() {
    let project = Project::new(fixer());
    let config = project.repo.read("fix-loop.toml").replace("[\"sh\", \"check.sh\"]", "[\"no-such-tool\"]");
    project.repo.config(&config);
    let report = project.run(&[]).expect(1).json();
    assert_eq!(report["waiting"], json!(["f1"]));
    assert_eq!(project.status()["questions"][0]["kind"], "inconclusive");
    project.repo.write("other.txt", "written while it waited\n");
    project.repo.write("new.txt", "new\n");
    project.repo.git(["add", "new.txt"]);
    project.repo.write("app.txt", APP.replace("BAD", "GOOD").replace("seven", "mine"));
    let before = everything(&project.repo);
    let output = project.repo.fix_loop(["answer", "L1.q1", "Retry verification"]).expect(1);
    assert_eq!(everything(&project.repo), before, "{output}");
    let question = project.status()["questions"][0].clone();
    let id = question["id"].as_str().expect("text");
    project.repo.fix_loop(["answer", id, "Accept fix without verification"]).expect(0);
    assert_eq!(everything(&project.repo), before);
    assert_eq!(project.stands("f1"), "resolved");
}

#[test]
fn automatic_answers_are_given_to_what_an_earlier_run_left_open() {
    let project = Project::new(asks_first());
    project.run(&[]).expect(1);
    let report = project.run(&["--answer", "recommended"]).expect(0).json();
    assert_eq!(report["resolved"], json!(["f1"]));
    assert_eq!(project.agent.dispatches(), ["fixer 1", "fixer 1"]);
    assert_eq!(project.repo.status(), "M  app.txt\n");
}

#[test]
fn automatic_answers_do_not_begin_to_count_anew_with_each_run() {
    // Nothing can verify this fix, and two retries are all that there are.
    let config = "[[check]]\nname = \"none\"\ncommand = [\"no-such-program\"]\n";
    let script = fixer().on("verifier", [step::exit(3)]);
    let project = Project::with(&[], script, config);
    project.repo.config(&project.repo.read("fix-loop.toml").replace("\"check.sh\"", "\"no-such-script.sh\""));
    project.run(&["--answer", "recommended"]).expect(1);
    let before = project.agent.dispatches();
    for _ in 0..2 {
        let report = project.run(&["--answer", "recommended"]).expect(1).json();
        assert_eq!(report["waiting"], json!(["f1"]));
        assert_eq!(project.agent.dispatches(), before);
    }
}

#[test]
fn another_approach_needs_no_more_trust_than_the_first_one_had() {
    let script = Script::new()
        .on_nth("fixer", 1, [step::edit("app.txt", "six", "SIX"), step::fixed("tried")])
        .on_nth("fixer", 2, [step::edit("app.txt", "five", "FIVE"), step::fixed("tried")])
        .on("fixer", fix())
        .on("verifier", [step::judge("confirmed", "it still stands there")]);
    let project = Project::new(script);
    project.run(&[]).expect(1);
    let different = ["answer", "L1.q1", "Try a different approach", "--format", "json"];
    let report = project.repo.fix_loop(different).expect(0).json();
    assert_eq!(report["resolved"], json!(["f1"]), "{report:#}");
}

#[test]
fn verifying_where_nothing_is_trusted_is_refused_and_leaves_nothing_behind() {
    let script = Script::new()
        .on_round("fixer", 1, [step::edit("app.txt", "six", "SIX"), step::fixed("tried")])
        .on_round("fixer", 2, [step::edit("app.txt", "five", "FIVE"), step::fixed("tried")])
        .on("verifier", [step::judge("confirmed", "it still stands there")]);
    let project = Project::new(script);
    project.run(&[]).expect(1);
    project.repo.fix_loop(["answer", "L1.q1", "Manual fix"]).expect(1);
    project.repo.write("app.txt", APP.replace("BAD", "GOOD"));
    for _ in 0..2 {
        let output = project.repo.fix_loop(["verify", "f1"]).expect(3);
        assert!(output.stderr.contains("fix-loop trust"), "{output}");
        assert_eq!(project.stands("f1"), "manual");
    }
    project.repo.fix_loop(["trust"]).expect(0);
    let report = project.repo.fix_loop(["verify", "f1", "--format", "json"]).expect(0).json();
    assert_eq!(report["evidence"], json!({"f1": "proven"}));
}
