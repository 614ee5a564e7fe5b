//! What a fixer says of its commit, and what git and the validation say.

use super::*;

#[test]
fn a_worker_that_lies_about_its_head_is_not_believed() {
    let script = review().on(
        "fixer",
        [
            step::edit("app.txt", "TWO", "two"),
            step::commit("two"),
            step::footer(json!({"head": "1234567123456712345671234567123456712345"})),
        ],
    );
    let (repo, _agent) = project(script, true, "");
    pauses(&repo, &["Pause: decision", "it says that the head is 1234567", "open_confirmed_findings: 2"]);
    let head = repo.git(["for-each-ref", "--format=%(objectname)", "refs/heads/fix-loop/"]);
    assert_eq!(head.trim(), repo.head(), "its commit is taken back");
}

#[test]
fn a_worker_that_leaves_a_dirty_tree_is_not_believed() {
    let script = review()
        .on_nth(
            "fixer",
            1,
            [
                step::edit("app.txt", "TWO", "two"),
                step::commit("two"),
                step::footer(json!({"tree": "clean"})),
                step::edit("app.txt", "THREE", "three"),
            ],
        )
        .on("fixer", fix_both())
        .on("closer", [step::close(json!({}))]);
    let (repo, _agent) = project(script, true, "");
    let paused = pauses(&repo, &["Pause: decision", "not clean"]);
    let output = answer(&repo, &paused, "Resume the loop").expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass, "{output}");
}

#[test]
fn a_worker_that_rewinds_the_branch_is_not_believed() {
    let script = review().on(
        "fixer",
        [
            step::run(&["git", "reset", "--quiet", "--hard", "HEAD~2"]),
            step::append("app.txt", "elsewhere\n"),
            step::commit("elsewhere"),
            step::footer(json!({})),
        ],
    );
    let (repo, _agent) = project(script, true, "");
    let before = checkout(&repo);
    run(&repo).expect(1);
    assert_eq!(checkout(&repo), before);
    // What it took away is asked about before anything is taken for a fix.
    let asked = question(&repo, "scope");
    assert!(asked["detail"].as_str().is_some_and(|text| text.contains("deleted file")), "{asked:#}");
}

#[test]
fn a_missing_footer_is_a_pause_and_never_a_pass() {
    let script = review()
        .on_nth(
            "fixer",
            1,
            [step::edit("app.txt", "TWO", "two"), step::commit("two"), step::fixed("all done")],
        )
        .on("fixer", fix_both())
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let paused = pauses(&repo, &["Pause: transient"]);
    let output = answer(&repo, &paused, "1").expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass, "{output}");
    assert_eq!(roles(&agent).iter().filter(|role| *role == "reviewer").count(), 2);
}

#[test]
fn red_at_the_base_is_neither_blamed_on_the_fix_nor_called_green() {
    let (repo, _agent) = project(usual(), true, "");
    repo.write("check.sh", "exit 1\n");
    repo.commit("red");
    repo.write("app.txt", "one\nTWO\nTHREE\nand more\n");
    repo.commit("more words");
    let output = run(&repo).expect(0);
    assert_eq!(
        (gate(&output).verdict, gate(&output).open_confirmed_findings),
        (Verdict::Pass, 0),
        "{output}"
    );
    assert!(
        output.stderr.contains("FAIL, as at the base: not caused by the fixes, and not green"),
        "{output}"
    );
}

#[test]
fn a_validation_that_the_fix_breaks_counts_as_open() {
    let script = review()
        .on_nth(
            "fixer",
            1,
            [
                step::edit("app.txt", "TWO", "two BROKEN"),
                step::edit("app.txt", "THREE", "three"),
                step::commit("oops"),
                step::footer(json!({"validation": "PASS"})),
            ],
        )
        .on("fixer", [step::edit("app.txt", " BROKEN", ""), step::commit("mended"), step::footer(json!({}))])
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let output = run(&repo).expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass, "{output}");
    assert_eq!(roles(&agent).iter().filter(|role| *role == "fixer").count(), 2, "{output}");
}

fn git(arguments: &[&str]) -> Value {
    let mut all = vec!["git", "-c", "user.name=w", "-c", "user.email=w@example.com"];
    all.extend(arguments);
    step::run(&all)
}

#[test]
fn what_a_worker_does_to_history_or_leaves_behind_is_found_and_taken_back() {
    let edit = || step::edit("app.txt", "TWO", "two");
    let table: Vec<(&str, Vec<Value>, &str)> = vec![
        (
            "amends the user's commit",
            vec![
                edit(),
                git(&["commit", "--quiet", "--all", "--amend", "--no-edit"]),
                step::footer(json!({})),
            ],
            "is not an ancestor",
        ),
        (
            "commits on another branch",
            vec![
                git(&["switch", "--quiet", "-c", "elsewhere"]),
                edit(),
                step::commit("two"),
                step::footer(json!({})),
            ],
            "HEAD was switched",
        ),
        (
            "detaches HEAD",
            vec![
                git(&["checkout", "--quiet", "--detach"]),
                edit(),
                step::commit("two"),
                step::footer(json!({})),
            ],
            "HEAD was switched",
        ),
        (
            "leaves an untracked file",
            vec![edit(), step::commit("two"), step::footer(json!({})), step::write("notes.txt", "mine\n")],
            "",
        ),
        (
            "names no head",
            vec![edit(), step::commit("two"), step::footer(json!({"head": null}))],
            "it names no head",
        ),
        (
            "is blocked and does not say by what",
            vec![edit(), step::footer(json!({"status": "BLOCKED"}))],
            "it does not say by what",
        ),
        ("stashes", vec![edit(), git(&["stash", "--quiet"]), step::footer(json!({}))], "stash"),
        (
            "says something malformed",
            vec![edit(), step::commit("two"), step::raw("WORKER_RESULT:\n  phase: [fix\n  status: DONE\n")],
            "Pause: transient",
        ),
        ("says nothing", vec![edit(), step::commit("two")], "Pause: transient"),
    ];
    for (name, steps, says) in table {
        let script =
            review().on_nth("fixer", 1, steps).on("fixer", fix_both()).on("closer", [step::close(json!({}))]);
        let (repo, agent) = project(script, true, "");
        let before = checkout(&repo);
        let refs = |repo: &Repo| repo.git(["for-each-ref", "--format=%(objectname)", "refs/heads/fix-loop/"]);
        let output = run(&repo).expect(1);
        if says.is_empty() {
            // A file outside the scope is asked about first.
            let asked = question(&repo, "scope");
            answer(&repo, &asked, "Approve expanded scope").expect(1);
        }
        let paused = question(&repo, "pause");
        let detail = paused["detail"].as_str().expect("a detail");
        let says = if says.is_empty() { "not clean" } else { says };
        assert!(detail.contains(says), "{name}: {detail}\n{output}");
        assert_eq!(refs(&repo).trim(), repo.head(), "{name}: nothing of it stays on the branch");
        let output = answer(&repo, &paused, "Resume the loop").expect(0);
        assert_eq!(gate(&output).verdict, Verdict::Pass, "{name}: {output}");
        assert_eq!(roles(&agent).iter().filter(|role| *role == "fixer").count(), 2, "{name}");
        let now = checkout(&repo);
        assert_eq!(
            (&now.tree, &now.index, &now.head, &now.branch),
            (&before.tree, &before.index, &before.head, &before.branch),
            "{name}"
        );
    }
}

#[test]
fn a_recovery_that_amends_the_commit_before_it_is_not_believed() {
    let script = review()
        .on("fixer", [step::edit("app.txt", "TWO", "two"), step::commit("two"), step::footer(json!({}))])
        .on_nth(
            "recoverer",
            1,
            [
                step::edit("app.txt", "THREE", "three"),
                git(&["commit", "--quiet", "--all", "--amend", "--no-edit"]),
                step::footer(json!({})),
            ],
        )
        .on(
            "recoverer",
            [step::edit("app.txt", "THREE", "three"), step::commit("three"), step::footer(json!({}))],
        )
        .on_nth("closer", 1, [step::close(json!({"standards-1": "OPEN", "standards-2": "OPEN"}))])
        .on("closer", [step::close(json!({}))]);
    let (repo, _agent) = project(script, true, "");
    let paused = pauses(&repo, &["a commit that was there before, is not an ancestor"]);
    let output = answer(&repo, &paused, "Resume the loop").expect(0);
    let head = gate(&output).final_head;
    assert_eq!(repo.git(["rev-list", &format!("HEAD..{head}")]).lines().count(), 2);
}

#[test]
fn the_last_footer_counts_in_yaml_too_and_one_of_another_word_does_not() {
    let script = review()
        .on(
            "fixer",
            [
                step::edit("app.txt", "TWO", "two"),
                step::edit("app.txt", "THREE", "three"),
                step::commit("lower case"),
                step::prose(json!({})),
            ],
        )
        .on("closer", [step::close(json!({}))]);
    let (repo, _agent) = project(script, true, "");
    let output = run(&repo).expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass, "{output}");
}

#[test]
fn a_file_outside_the_scope_is_asked_about_and_a_rejected_commit_is_taken_back() {
    let wide = || {
        [
            step::edit("app.txt", "TWO", "two"),
            step::append("other.txt", "more\n"),
            step::commit("two and more"),
            step::footer(json!({})),
        ]
    };
    for (choice, other) in
        [("Approve expanded scope", "other\nmore\n"), ("Reject — fix within original scope only", "other\n")]
    {
        let script = review()
            .on_nth("fixer", 1, wide())
            .on("fixer", fix_both())
            .on("closer", [step::close(json!({}))]);
        let (repo, agent) = project(script, true, "");
        let before = checkout(&repo);
        run(&repo).expect(1);
        let asked = question(&repo, "scope");
        assert!(asked["detail"].as_str().is_some_and(|text| text.contains("+more")), "{asked:#}");
        let output = answer(&repo, &asked, choice).expect(0);
        let head = gate(&output).final_head;
        assert_eq!(repo.git(["show", &format!("{head}:other.txt")]), other, "{choice}");
        let fixers = agent.briefs().into_iter().filter(|brief| brief["role"] == "fixer").collect::<Vec<_>>();
        assert!(fixers.iter().all(|brief| brief["round"] == 1), "{choice}: it costs no round");
        assert_eq!(checkout(&repo), before, "{choice}");
    }
}

#[test]
fn a_fixer_that_commits_nothing_is_followed_by_one_recovery() {
    let script = review()
        .on("fixer", [step::footer(json!({"summary": "did nothing"}))])
        .on("recoverer", fix_both())
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let output = run(&repo).expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass);
    assert_eq!(roles(&agent), ["reviewer", "reviewer", "checker", "fixer", "recoverer", "closer"]);
}

#[test]
fn a_fixer_that_says_that_nothing_is_left_is_judged_by_the_closer_alone() {
    let gone = || [step::footer(json!({"status": "already_resolved", "summary": "nothing to do"}))];
    let script = review().on("fixer", gone()).on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let output = run(&repo).expect(0);
    assert_eq!((gate(&output).verdict, gate(&output).final_head), (Verdict::Pass, repo.head()));
    assert_eq!(roles(&agent), ["reviewer", "reviewer", "checker", "fixer", "closer"]);
}
