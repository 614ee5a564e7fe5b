//! `fix-loop run` and what goes with it: the main job without an editor, bad input, agents that misbehave, `kill -9`.

use fix_loop_tests::{Agent, Repo, Script, Step, finding, step};
use serde_json::{Value, json};

use crate::story::Story;

const WORDS: &str = "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\n\n";

/// A repository with one finding in app.txt, a check that says whether it is fixed, and work of the user's own.
fn prepared(script: Script) -> (Repo, Agent) {
    prepared_with(script, "")
}

fn prepared_with(script: Script, more: &str) -> (Repo, Agent) {
    let repo = Repo::with(&[
        ("app.txt", "one\nBAD line\nthree\n"),
        ("other.txt", "nobody named me\n"),
        ("check.sh", "if grep BAD app.txt; then exit 1; fi\n"),
    ]);
    let agent = script.install(&repo, "scripted");
    repo.config(&format!("{WORDS}{}{more}", agent.toml_for(&["fixer", "verifier"])));
    repo.write("other.txt", "nobody named me\nmy own line, not staged\n");
    repo.write("mine.txt", "untracked, and mine\n");
    repo.findings(&[finding("f1", "app.txt", 2, "BAD is a word that must go")]);
    (repo, agent)
}

fn run(repo: &Repo, more: &[&str]) -> fix_loop_tests::FixLoop {
    repo.fix_loop(["run", "--trust", "--format", "json"]).args(more)
}

#[test]
fn a_finding_whose_fix_needs_a_second_file_is_staged_beside_the_users_work() {
    let story = Story::new();
    let report = run(&story.repo, &["--answer", "recommended"]).expect(0).json();
    story.assert_fixed();
    assert_eq!(report["schema_version"], "v1");
    assert_eq!(report["protocol"], "bounded");
    assert_eq!(report["resolved"], json!(["f1"]));
    assert_eq!(report["evidence"], json!({"f1": "proven"}));
    assert_eq!(report["gate"]["open_confirmed_findings"], 0);
    assert_eq!(report["workers"].as_array().map(Vec::len), Some(2));
    for key in ["escalated", "deferred", "demoted", "dropped", "ignored", "waiting"] {
        assert_eq!(report[key], json!([]), "{key}");
    }
}

#[test]
fn a_question_that_nobody_answers_ends_the_run_as_waiting_and_is_answered_later() {
    let story = Story::new();
    let report = run(&story.repo, &["--answer", "none"]).expect(1).json();
    assert_eq!(report["waiting"], json!(["f1"]));
    assert_eq!(report["gate"]["verdict"], "PAUSED");
    let status = story.repo.fix_loop(["status", "--format", "json"]).expect(0).json();
    let question = &status["questions"][0];
    assert_eq!(
        (&question["kind"], &question["recommended"]),
        (&json!("scope"), &json!("Approve expanded scope"))
    );
    let id = question["id"].as_str().expect("a question has an id");
    let wrong = story.repo.fix_loop(["answer", id, "Perhaps"]).run();
    assert_eq!(wrong.code, Some(2), "{wrong}");
    story.repo.fix_loop(["answer", id, "1"]).expect(0);
    story.assert_fixed();
}

#[test]
fn a_dry_run_starts_nothing_and_changes_nothing() {
    let (repo, agent) = prepared(Script::new());
    let before = (repo.tree(), repo.git_state());
    let plan = repo.fix_loop(["run", "--dry-run", "--format", "json"]).expect(0);
    assert!(plan.stdout.contains("app.txt") && plan.stdout.contains("words"), "{plan}");
    assert_eq!((repo.tree(), repo.git_state()), before);
    assert!(agent.briefs().is_empty());
}

#[test]
fn without_trust_nothing_is_started() {
    let (repo, agent) = prepared(Script::new());
    let before = (repo.tree(), repo.git_state());
    let output = repo.fix_loop(["run"]).expect(3);
    assert!(output.stderr.contains("trust"), "{output}");
    assert_eq!((repo.tree(), repo.git_state()), before);
    assert!(agent.briefs().is_empty());
}

#[test]
fn a_second_round_gets_what_the_first_one_tried_and_why_it_failed() {
    let script = Script::new()
        .on_round(
            "fixer",
            1,
            [step::edit("app.txt", "BAD line", "BAD, but nicer"), step::fixed("made it nicer")],
        )
        .on_round("fixer", 2, [step::edit("app.txt", "BAD, but nicer", "GOOD"), step::fixed("replaced it")])
        .on("verifier", [step::judge("rejected", "the word is gone")]);
    let (repo, agent) = prepared(script);
    let report = run(&repo, &[]).expect(0).json();
    assert_eq!(report["resolved"], json!(["f1"]));
    assert_eq!(agent.dispatches(), ["fixer 1", "fixer 2", "verifier 2"]);
    let briefs = agent.briefs();
    assert_eq!(briefs[0]["previous"], json!([]));
    assert_eq!(briefs[1]["previous"][0]["summary"], "made it nicer");
    assert!(!briefs[1]["previous"][0]["failing"].as_array().expect("a list").is_empty(), "{}", briefs[1]);
    assert!(briefs[2]["diff"].as_str().is_some_and(|diff| diff.contains("+GOOD")), "{}", briefs[2]["diff"]);
    assert_eq!(repo.staged("app.txt"), "one\nGOOD\nthree\n");
    assert_eq!(repo.status(), "M  app.txt\n M other.txt\n?? mine.txt\n");
}

/// Whatever a fixer does in both rounds that is no fix, the tree is what it was and the finding is not resolved.
fn comes_to_nothing(steps: &[Step]) -> Value {
    let script = Script::new()
        .on("fixer", steps.to_vec())
        .on("verifier", [step::judge("confirmed", "the word is still there")]);
    let (repo, _) = prepared_with(script, "[budget]\nworkers = 6\n");
    let before = (repo.tree(), repo.git_state());
    let report = run(&repo, &["--answer", "recommended"]).expect(1).json();
    assert_eq!(report["resolved"], json!([]), "{report:#}");
    assert_eq!((repo.tree(), repo.git_state()), before, "{report:#}");
    report
}

#[test]
fn a_fixer_that_claims_success_and_changes_nothing_is_not_believed() {
    let report = comes_to_nothing(&[step::fixed("all good now")]);
    assert_eq!(report["deferred"], json!(["f1"]), "{report:#}");
}

#[test]
fn a_fixer_that_does_not_fix_is_escalated_after_two_rounds() {
    let report = comes_to_nothing(&[step::append("app.txt", "more\n"), step::fixed("done")]);
    assert_eq!(report["deferred"], json!(["f1"]), "{report:#}");
}

#[test]
fn a_fixer_that_crashes_leaves_nothing() {
    comes_to_nothing(&[step::append("app.txt", "half\n"), step::kill(11)]);
}

#[test]
fn a_fixer_that_prints_garbage_leaves_nothing() {
    comes_to_nothing(&[step::append("app.txt", "half\n"), step::raw("{\"summary\": ")]);
}

#[test]
fn a_fixer_that_ends_with_an_error_leaves_nothing() {
    comes_to_nothing(&[step::append("app.txt", "half\n"), step::stderr("out of tokens"), step::exit(1)]);
}

#[test]
fn files_that_nobody_named_are_taken_back() {
    let script = Script::new().on(
        "fixer",
        [
            step::edit("app.txt", "BAD line", "GOOD line"),
            step::append("other.txt", "an agent was here\n"),
            step::write("new.txt", "and here\n"),
            step::fixed("fixed, and tidied up a little"),
        ],
    );
    let (repo, _) = prepared(script);
    run(&repo, &["--answer", "none"]).expect(1);
    assert_eq!(repo.read("other.txt"), "nobody named me\nmy own line, not staged\n");
    assert!(!repo.exists("new.txt"));
    assert_eq!(repo.read("mine.txt"), "untracked, and mine\n");
    let status = repo.fix_loop(["status", "--format", "json"]).expect(0).json();
    assert_eq!(status["questions"][0]["kind"], "scope", "{status:#}");
}

#[test]
fn a_worker_that_commits_is_a_breach_and_history_is_not_touched() {
    let script = Script::new().on(
        "fixer",
        [
            step::edit("app.txt", "BAD line", "GOOD line"),
            step::run(&["git", "-c", "user.name=a", "-c", "user.email=a@a", "commit", "-qam", "done"]),
            step::fixed("committed"),
        ],
    );
    let (repo, _) = prepared(script);
    run(&repo, &["--answer", "none"]).expect(1);
    let status = repo.fix_loop(["status", "--format", "json"]).expect(0).json();
    assert_eq!(status["questions"][0]["kind"], "breach", "{status:#}");
    // The commit is shown, not reset.
    assert_eq!(repo.git(["log", "-1", "--format=%s"]).trim(), "done");
    assert!(repo.read("other.txt").contains("my own line"));
}

#[test]
fn programs_that_an_agent_leaves_behind_are_ended() {
    let script = Script::new().on(
        "fixer",
        [
            step::spawn(&["sleep", "3600"]),
            step::edit("app.txt", "BAD line", "GOOD line"),
            step::fixed("and left a server running"),
        ],
    );
    let (repo, agent) = prepared(script);
    run(&repo, &[]).expect(0);
    let left = agent.spawned();
    assert_eq!(left.len(), 1);
    assert!(!std::path::Path::new(&format!("/proc/{}", left[0])).exists(), "{left:?} is still there");
}

#[test]
fn what_is_killed_while_an_agent_runs_is_reported_and_restored() {
    let script = Script::new()
        .on_nth("fixer", 1, [step::append("app.txt", "half\n"), step::mark("half"), step::hang()])
        .on("fixer", [step::edit("app.txt", "BAD line", "GOOD line"), step::fixed("the second time")]);
    let (repo, agent) = prepared(script);
    let before = repo.tree();
    let running = run(&repo, &[]).spawn();
    agent.reached("half");
    running.kill();
    let status = repo.fix_loop(["status", "--format", "json"]).expect(0).json();
    assert_eq!(status["loops"].as_array().map(Vec::len), Some(1), "{status:#}");
    let output = run(&repo, &["--answer", "none"]).expect(1);
    assert_eq!(output.json()["waiting"], json!(["f1"]), "{output}");
    repo.fix_loop(["answer", "L1.resume1", "Restore and stop"]).expect(1);
    assert_eq!(repo.tree(), before);
}

#[test]
fn bad_input_gets_a_clear_message_and_its_exit_code() {
    let nowhere = Repo::with(&[("a.txt", "a\n")]);
    std::fs::remove_dir_all(nowhere.path(".git")).expect("it is there");
    nowhere.findings(&[finding("f1", "a.txt", 1, "t")]);
    let output = nowhere.fix_loop(["run", "--trust", "--workspace", "."]).expect(3);
    assert!(output.stderr.contains("git"), "{output}");

    let (repo, _) = prepared(Script::new());
    repo.write("broken.json", "{\"schema_version\": \"v1\", \"findings\": [\n  {\"id\": ");
    let output = repo.fix_loop(["run", "--trust", "broken.json"]).expect(2);
    assert!(output.stderr.contains("broken.json"), "{output}");
    let output = repo.fix_loop(["run", "--trust", "absent.json"]).expect(2);
    assert!(output.stderr.contains("absent.json"), "{output}");
    let output = repo.fix_loop(["run", "--no-such-flag"]).expect(2);
    assert!(output.stderr.contains("--no-such-flag"), "{output}");

    repo.write("fix-loop.toml", "protocl = \"bounded\"\n");
    let output = repo.fix_loop(["run", "--trust"]).expect(2);
    let wanted = "fix-loop.toml:1:1: unknown key `protocl`";
    assert!(output.stderr.contains(wanted) && output.stderr.contains("`protocol`?"), "{output}");
}

#[test]
fn findings_that_are_not_to_be_worked_on_are_listed_with_their_reasons() {
    let (repo, agent) = prepared(Script::new());
    let with = |id: &str, key: &str, value: Value| {
        let mut one = finding(id, "app.txt", 2, &format!("title {id}"));
        one[key] = value;
        one
    };
    repo.findings(&[
        with("p2", "severity", json!("P2")),
        with("unconfirmed", "verdict", Value::Null),
        with("rejected", "verdict", json!("rejected")),
        with("no criterion", "criterion", json!("")),
    ]);
    let report = run(&repo, &[]).run().json();
    let ignored: Vec<&str> =
        report["ignored"].as_array().expect("a list").iter().filter_map(|one| one["id"].as_str()).collect();
    for id in ["p2", "unconfirmed", "rejected", "no criterion"] {
        assert!(ignored.contains(&id), "{id}: {report:#}");
    }
    assert!(agent.briefs().is_empty());
}

#[test]
fn a_path_that_leaves_the_root_is_refused_and_counts() {
    let (repo, agent) = prepared(Script::new());
    repo.findings(&[finding("out", "../outside.txt", 1, "not yours")]);
    let report = run(&repo, &[]).expect(1).json();
    assert!(report.to_string().contains("out"), "{report:#}");
    assert!(agent.briefs().is_empty());
}

#[test]
fn a_finished_loop_is_undone_where_its_bytes_are_still_its_own() {
    let script =
        Script::new().on("fixer", [step::edit("app.txt", "BAD line", "GOOD line"), step::fixed("ok")]);
    let (repo, _) = prepared(script);
    let before = (repo.tree(), repo.git_state());
    run(&repo, &[]).expect(0);
    let status = repo.fix_loop(["status", "--format", "json"]).expect(0).json();
    let id = status["loops"][0]["id"].as_str().expect("a loop has an id").to_owned();
    repo.fix_loop(["undo", &id]).expect(0);
    assert_eq!((repo.tree(), repo.git_state()), before);
}

#[test]
fn the_suggested_agent_applies_the_fix_that_a_finding_carries() {
    let repo = Repo::with(&[
        ("app.txt", "one\nBAD line\nthree\n"),
        ("check.sh", "if grep BAD app.txt; then exit 1; fi\n"),
    ]);
    repo.config(&format!("{WORDS}[roles.fixer]\nagent = \"suggested\"\n"));
    let mut one = finding("f1", "app.txt", 2, "BAD is a word that must go");
    one["suggestion"] = json!([{
        "file": "app.txt", "start": {"line": 2, "column": 1}, "end": {"line": 2, "column": 4},
        "replacement": "GOOD", "deleted": "BAD",
    }]);
    repo.findings(&[one]);
    let report = run(&repo, &[]).expect(0).json();
    assert_eq!(report["evidence"], json!({"f1": "proven"}));
    assert_eq!(repo.staged("app.txt"), "one\nGOOD line\nthree\n");
    assert_eq!(repo.status(), "M  app.txt\n");
}

#[test]
fn the_demo_shows_all_five_outcomes() {
    let repo = Repo::empty();
    let folder = repo.outside().join("demo");
    let output = repo.fix_loop(["demo"]).args([&folder]).expect(0);
    let said = format!("{}{}", output.stdout, output.stderr);
    for number in 1..=5 {
        assert!(said.contains(&format!("ok   finding {number}: ")), "{output}");
    }
    assert!(folder.join(".git").is_dir());
}

#[test]
fn doctor_and_init_work_in_a_fresh_repository() {
    let repo = Repo::with(&[("a.txt", "a\n")]);
    let output = repo.fix_loop(["doctor"]).run();
    assert!(output.code.is_some_and(|code| code == 0 || code == 1 || code == 3), "{output}");
    assert!(format!("{}{}", output.stdout, output.stderr).contains("git"), "{output}");
    repo.fix_loop(["init"]).expect(0);
    assert!(fix_loop::config::Config::load(repo.root(), None, None).is_ok());
    let mine = repo.read("fix-loop.toml");
    repo.fix_loop(["init"]).run();
    assert_eq!(repo.read("fix-loop.toml"), mine, "a file that is there is never written over");
}
