//! The loop works elsewhere: beside other loops, and beside the user, whose checkout it never touches.

use super::*;

#[test]
fn two_loops_run_side_by_side_in_two_worktrees() {
    let script = Script::new()
        .when(
            json!({"role": "fixer", "nth": 1}),
            [step::mark("first"), step::wait_for("go")].into_iter().chain(fix_both()),
        )
        .when(
            json!({"role": "fixer", "nth": 2}),
            [step::mark("second"), step::wait_for("go")].into_iter().chain(fix_both()),
        )
        .when(axis("standards"), [reviewed(json!([said("TWO is in capitals", 2)]))])
        .when(axis("spec"), [reviewed(json!([said("THREE is in capitals", 3)]))])
        .on("checker", [step::consolidate(json!({}))])
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let other = repo.outside().join("linked");
    repo.git(["worktree", "add", "--quiet", "-b", "feature", &other.display().to_string()]);
    repo.fix_loop(["trust"]).current_dir(&other).expect(0);
    let before = checkout(&repo);
    let one = run(&repo).spawn();
    agent.reached("first");
    let two = run(&repo).current_dir(&other).spawn();
    agent.reached("second");
    // Both are in the middle of their fix.
    agent.release("go");
    for output in [one.wait(), two.wait()] {
        assert_eq!(output.code, Some(0), "{output}");
        assert_eq!(gate(&output).verdict, Verdict::Pass);
    }
    assert_eq!(checkout(&repo), before);
    let branches = repo.git(["for-each-ref", "--format=%(refname)", "refs/heads/fix-loop/"]);
    assert_eq!(branches.lines().count(), 2, "{branches}");
}

#[test]
fn findings_are_shown_while_the_loop_runs() {
    let (repo, agent) = project(waiting(), true, "");
    let running = run(&repo).spawn();
    agent.reached("fixing");
    let seen = status(&repo);
    agent.release("go");
    let output = running.wait();
    assert_eq!(output.code, Some(0), "{output}");
    let details = seen["findings_detail"].as_array().expect("a list").clone();
    let titles: Vec<&str> = details.iter().filter_map(|one| one["title"].as_str()).collect();
    assert!(titles.contains(&"TWO is in capitals") && titles.contains(&"THREE is in capitals"), "{seen:#}");
    assert!(details.iter().all(|one| one["file"] == "app.txt" && one["state"] == "fixing"), "{seen:#}");
    assert_eq!(seen["loops"][0]["state"], "fixing");
    assert_eq!(seen["loops"][0]["protocol"], "converge");
}

#[test]
fn the_status_of_a_reviewing_loop_names_what_it_found() {
    let (repo, agent) = project(waiting(), true, "");
    let running = run(&repo).spawn();
    agent.reached("fixing");
    let seen = status(&repo);
    agent.release("go");
    running.wait();
    let of_loop = seen["loops"][0]["findings"].as_array().expect("a list").clone();
    let details = seen["findings_detail"].as_array().expect("a list").clone();
    let ids: Vec<Value> = details.iter().map(|one| one["id"].clone()).collect();
    assert_eq!(of_loop, ids, "{seen:#}");
    assert_eq!(of_loop.len(), 2, "{seen:#}");
    assert!(details.iter().all(|one| one["loop"] == seen["loops"][0]["id"]), "{seen:#}");
}

#[test]
fn findings_named_by_worktree_paths_are_shown_on_the_users_own_files_and_follow_their_edits() {
    let in_worktree = |title: &str, line: u32, file: &str| {
        let mut one = said(title, line);
        one["file"] = json!(file);
        one
    };
    let script = Script::new()
        .when(
            axis("standards"),
            [reviewed(json!([
                in_worktree("TWO is in capitals", 2, "./app.txt"),
                in_worktree("a file elsewhere", 3, "/etc/passwd"),
            ]))],
        )
        .when(axis("spec"), [reviewed(json!([in_worktree("THREE is in capitals", 3, "@worktree@/app.txt")]))])
        .on("checker", [step::consolidate(json!({}))])
        .on("fixer", [step::mark("fixing"), step::wait_for("go")].into_iter().chain(fix_both()))
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    // Models name files by the absolute path that they have seen.
    let worktree = repo.path(".fix-loop/worktrees/fix-loop-L1").display().to_string();
    let recipe = repo.outside().join("scripted.recipe.json");
    let text = std::fs::read_to_string(&recipe).expect("the recipe is there");
    std::fs::write(&recipe, text.replace("@worktree@", &worktree)).expect("it is ours");
    let mut editor = fix_loop_tests::LspClient::start(&repo);
    editor.open(&repo, "app.txt", "plaintext");
    editor.execute("fix-loop.review", json!({}));
    agent.reached("fixing");
    let line_of = |shown: &[Value], title: &str| {
        let one =
            shown.iter().find(|one| one["message"].as_str().is_some_and(|text| text.starts_with(title)));
        one.map(|one| one["range"]["start"]["line"].as_u64().expect("a line"))
    };
    editor.diagnostics(&repo, "app.txt", |shown| {
        line_of(shown, "TWO") == Some(1) && line_of(shown, "THREE") == Some(2)
    });
    editor.change(&repo, "app.txt", [0, 0, 0, 0], "zero\n");
    let shown = editor.diagnostics(&repo, "app.txt", |shown| {
        line_of(shown, "TWO") == Some(2) && line_of(shown, "THREE") == Some(3)
    });
    assert_eq!(shown.len(), 2, "{shown:#?}");
    let brief = agent.briefs().into_iter().find(|brief| brief["role"] == "fixer").expect("a fixer");
    assert_eq!(brief["scope"], json!(["app.txt"]), "nothing outside the repository is ever in a scope");
    agent.release("go");
    editor.status(|status| status["loops"][0]["state"] == "finished");
    editor.take_messages();
    editor.finished_progress();
    editor.shutdown();
}
