//! The user's own checkout while workers are at work elsewhere: what the user does there is theirs, and what a worker does
//! there is found, asked about, and put back on their word.

use fix_loop_tests::LspClient;

use super::*;

/// The user's checkout, as a worker finds it from its own worktree.
const UP: &str = "../../..";

/// A first fixer that does its work, and something else besides; later ones only do their work.
fn trespassing(steps: Vec<Value>) -> Script {
    review()
        .on_nth("fixer", 1, steps.into_iter().chain(fix_both()))
        .on("fixer", fix_both())
        .on("closer", [step::close(json!({}))])
}

/// Runs until it is asked whose the change is.
#[track_caller]
fn asked_whose(repo: &Repo, files: &[&str]) -> Value {
    let output = run(repo).expect(1);
    let asked = question(repo, "breach");
    let text = asked["text"].as_str().expect("a text");
    for file in files {
        assert!(text.contains(file), "{text}\n{output}");
    }
    asked
}

#[test]
fn what_a_worker_did_in_the_users_checkout_is_put_back_on_the_users_word() {
    let up = |file: &str| format!("{UP}/{file}");
    let script = trespassing(vec![
        step::append(&up("other.txt"), "a worker was here\n"),
        step::write(&up("src/new.txt"), "a worker was here\n"),
        step::delete(&up("CONTRIBUTING.md")),
        step::mode(&up("check.sh"), "755"),
    ]);
    let (repo, agent) = project(script, true, "");
    let before = checkout(&repo);
    let asked = asked_whose(&repo, &["other.txt", "src/new.txt", "CONTRIBUTING.md", "check.sh"]);
    assert!(asked["detail"].as_str().is_some_and(|text| text.contains("+a worker was here")), "{asked:#}");
    assert_eq!(repo.read("other.txt"), "other\na worker was here\n", "nothing is touched before the answer");
    // Asking again changes nothing, and `--answer recommended` does not settle it either.
    run(&repo).args(["--answer", "recommended"]).expect(1);
    let output = answer(&repo, &asked, "Put my checkout back and send another worker").expect(0);
    assert_eq!(checkout(&repo), before);
    assert!(!repo.exists("src"), "the folder that it made is gone too");
    assert_eq!(gate(&output).verdict, Verdict::Pass);
    assert_eq!(roles(&agent), ["reviewer", "reviewer", "checker", "fixer", "fixer", "closer"]);
}

#[test]
fn what_the_user_did_in_their_checkout_stays_and_the_fix_counts() {
    let (repo, agent) = project(waiting(), true, "");
    let running = run(&repo).spawn();
    agent.reached("fixing");
    repo.write("other.txt", "somebody was here\n");
    agent.release("go");
    let output = running.wait();
    assert_eq!(output.code, Some(1), "{output}");
    let output = answer(&repo, &question(&repo, "breach"), "1").expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass, "{output}");
    assert_eq!(repo.read("other.txt"), "somebody was here\n");
    assert_eq!(
        roles(&agent),
        ["reviewer", "reviewer", "checker", "fixer", "closer"],
        "no worker is sent twice"
    );
}

#[test]
fn what_the_editor_saves_is_the_users_without_a_question() {
    let (repo, agent) = project(waiting(), true, "");
    let mut editor = LspClient::start(&repo);
    editor.open(&repo, "other.txt", "plaintext");
    editor.execute("fix-loop.review", json!({}));
    agent.reached("fixing");
    editor.change(&repo, "other.txt", [0, 0, 0, 0], "mine: ");
    repo.write("other.txt", "mine: other\n");
    editor.saved(&repo, "other.txt");
    // The server has taken the save in once it answers.
    editor.request("fixLoop/findings", json!({}));
    agent.release("go");
    let status = editor.status(|status| {
        let first = &status["loops"][0];
        first["state"] == "finished" || status["questions"].as_array().is_some_and(|all| !all.is_empty())
    });
    assert_eq!(status["questions"], json!([]), "{status:#}");
    assert_eq!(repo.read("other.txt"), "mine: other\n");
    editor.take_messages();
    editor.finished_progress();
    editor.shutdown();
}

#[test]
fn a_commit_in_the_users_checkout_is_named_and_nothing_else() {
    let (repo, agent) = project(waiting(), true, "");
    let running = run(&repo).spawn();
    agent.reached("fixing");
    repo.write("other.txt", "committed meanwhile\n");
    let mine = repo.commit("mine");
    agent.release("go");
    let output = running.wait();
    assert_eq!(output.code, Some(0), "{output}");
    assert!(output.stderr.contains("in your own checkout, HEAD was moved"), "{output}");
    assert_eq!(
        (repo.head(), repo.read("other.txt").as_str()),
        (mine.trim().to_owned(), "committed meanwhile\n")
    );
}

#[test]
fn a_reviewer_that_writes_into_the_users_checkout_is_void_and_the_other_axis_stays() {
    let script = Script::new()
        .when(
            json!({"role": "reviewer", "says": "along the spec axis"}),
            [
                step::mark("spec"),
                step::wait_for("standards done"),
                reviewed(json!([said("THREE is in capitals", 3)])),
            ],
        )
        .on("checker", [step::consolidate(json!({}))])
        .on("fixer", fix_both())
        .on("closer", [step::close(json!({}))]);
    let standards = |steps: Vec<Value>| {
        steps
            .into_iter()
            .chain([reviewed(json!([said("TWO is in capitals", 2)])), step::mark("standards done")])
    };
    let script = script
        .when(
            json!({"role": "reviewer", "says": "along the standards axis", "nth": 1}),
            standards(vec![step::append(&format!("{UP}/other.txt"), "a reviewer was here\n")]),
        )
        .when(
            json!({"role": "reviewer", "says": "along the standards axis", "nth": 2}),
            standards(vec![step::append(&format!("{UP}/other.txt"), "a reviewer was here\n")]),
        )
        .when(axis("standards"), standards(vec![]));
    let (repo, agent) = project(script, true, "");
    let before = checkout(&repo);
    let asked = asked_whose(&repo, &["other.txt"]);
    let output = answer(&repo, &asked, "2").expect(0);
    assert_eq!(checkout(&repo), before);
    assert_eq!(gate(&output).verdict, Verdict::Pass);
    assert!(roles(&agent).iter().filter(|role| *role == "reviewer").count() >= 3, "{:?}", roles(&agent));
}

#[test]
fn a_dirty_checkout_that_a_worker_sweeps_is_put_back_byte_for_byte() {
    let script = review()
        .on_nth(
            "fixer",
            1,
            [
                step::mark("fixing"),
                step::wait_for("go"),
                step::run(&["git", "-C", UP, "checkout", "--", "."]),
            ]
            .into_iter()
            .chain(fix_both()),
        )
        .on("fixer", fix_both())
        .on("checker", [step::consolidate(json!({}))])
        .on("closer", [step::close(json!({}))]);
    // The user edits while the checker works, which is asked about; then the fixer throws it away.
    let script = Script::new()
        .on_nth(
            "checker",
            1,
            [step::mark("checking"), step::wait_for("edited"), step::consolidate(json!({}))],
        )
        .and(script);
    let (repo, agent) = project(script, true, "");
    let running = run(&repo).spawn();
    agent.reached("checking");
    repo.write("other.txt", "mine\r\nhalf done");
    agent.release("edited");
    running.wait();
    let mine = checkout(&repo);
    agent.release("go");
    answer(&repo, &question(&repo, "breach"), "It was me: keep my checkout and go on").expect(1);
    assert_eq!(repo.read("other.txt"), "other\n", "the fixer threw it away");
    let output = answer(&repo, &question(&repo, "breach"), "2").expect(0);
    assert_eq!(checkout(&repo), mine);
    assert_eq!(gate(&output).verdict, Verdict::Pass);
}
