//! Pauses and budgets.

use super::*;

#[test]
fn an_exhausted_budget_pauses() {
    // Always one less open than before, from more findings than the budget of 12 workers can reach.
    let many: Vec<Value> = (0..9).map(|n| said(&format!("problem {n}"), 1)).collect();
    let mut script = Script::new()
        .when(axis("standards"), [reviewed(json!(many))])
        .when(axis("spec"), [reviewed(json!([]))])
        .on("checker", [step::consolidate(json!({}))]);
    for round in 1..=5_u32 {
        let open: serde_json::Map<String, Value> =
            (round + 1..=9).map(|n| (format!("standards-{n}"), json!("OPEN"))).collect();
        script = script.on_nth("closer", round, [step::close(open.into())]).on_nth(
            "fixer",
            round,
            [
                step::append("app.txt", &format!("fix {round}\n")),
                step::commit(&format!("fix {round}")),
                step::footer(json!({})),
            ],
        );
    }
    let (repo, agent) = project(script, true, "");
    let paused = pauses(&repo, &["Pause: decision", "12 workers"]);
    assert_eq!(agent.briefs().len(), 12, "{:?}", roles(&agent));
    let output = answer(&repo, &paused, "Stay paused").expect(1);
    assert_eq!(gate(&output).verdict, Verdict::Paused);
    assert!(gate(&output).open_confirmed_findings >= 4, "{output}");
}

#[test]
fn an_unclean_checkout_pauses_and_says_what_to_do() {
    let (repo, agent) = project(usual(), true, "");
    repo.write("app.txt", "one\nTWO\nTHREE\nmine\n");
    let paused = pauses(&repo, &["Pause: transient", "app.txt", "commit or stash"]);
    assert!(agent.briefs().is_empty());
    repo.git(["checkout", "--quiet", "--", "app.txt"]);
    let output = answer(&repo, &paused, "Resume the loop").expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass, "{output}");
}

#[test]
fn a_spent_budget_of_workers_pauses_and_the_users_answer_allows_it_once_more() {
    let script = review().on("fixer", fix_both()).on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "[budget]\nworkers = 3\n");
    let paused = pauses(&repo, &["Pause: decision", "the budget of 3 workers is spent"]);
    assert_eq!(roles(&agent), ["reviewer", "reviewer", "checker"]);
    let output = answer(&repo, &paused, "Resume the loop").expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass, "the user allows the budget once more: {output}");
}

#[test]
fn a_worktree_or_branch_that_the_user_removed_is_made_again() {
    for removed in ["worktree", "both"] {
        let script = review()
            .on_nth("fixer", 1, [step::footer(json!({"status": "BLOCKED", "blocked_by": "a decision"}))])
            .on("fixer", fix_both())
            .on("closer", [step::close(json!({}))]);
        let (repo, _agent) = project(script, true, "");
        let before = checkout(&repo);
        let paused = pauses(&repo, &["a decision"]);
        let worktree = repo.path(".fix-loop/worktrees/fix-loop-L1");
        std::fs::remove_dir_all(&worktree).expect("it is there");
        if removed == "both" {
            repo.git(["worktree", "prune"]);
            repo.git(["branch", "--quiet", "-D", "fix-loop/L1"]);
        }
        let output = answer(&repo, &paused, "Resume the loop").expect(0);
        assert_eq!(gate(&output).verdict, Verdict::Pass, "{removed}: {output}");
        assert!(output.stderr.contains("was gone; it is there again"), "{removed}: {output}");
        assert_eq!(checkout(&repo), before, "{removed}");
    }
}

#[test]
fn a_second_loop_on_another_branch_of_the_same_checkout_is_a_loop_of_its_own() {
    let script = review()
        .on_nth("fixer", 1, [step::footer(json!({"status": "BLOCKED", "blocked_by": "a decision"}))])
        .on("fixer", fix_both())
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let first = pauses(&repo, &["a decision"]);
    // On the same branch the paused loop is the one to go on with.
    let dispatched = agent.briefs().len();
    run(&repo).expect(1);
    assert_eq!(agent.briefs().len(), dispatched);
    repo.git(["switch", "--quiet", "-c", "feature"]);
    let told = |output: &Output| output.json()["gate"]["verdict"].clone();
    let output = run(&repo).args(["--format", "json"]).expect(0);
    assert_eq!((gate(&output).verdict, told(&output)), (Verdict::Pass, json!("PASS")), "{output}");
    repo.git(["switch", "--quiet", "main"]);
    // Each run reports the loop of its branch.
    let output = run(&repo).args(["--format", "json"]).expect(1);
    assert_eq!((gate(&output).verdict, told(&output)), (Verdict::Paused, json!("PAUSED")), "{output}");
    let output = answer(&repo, &first, "Resume the loop").expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass, "{output}");
    let branches = repo.git(["for-each-ref", "--format=%(refname:short)", "refs/heads/fix-loop/"]);
    assert_eq!(branches, "fix-loop/L1\nfix-loop/L2\n");
}
