//! The one review: its axes, the spec, what replaces it, and that it is never made twice.

use fix_loop_tests::finding;

use super::*;

#[test]
fn two_axes_a_checker_a_fixer_and_a_closer_pass() {
    let (repo, agent) = project(usual(), true, "");
    let (before, base) = (checkout(&repo), repo.git(["rev-parse", "HEAD~1"]).trim().to_owned());
    let output = run(&repo).expect(0);
    assert_eq!(checkout(&repo), before);
    let gate = gate(&output);
    assert_eq!((gate.verdict, gate.open_confirmed_findings), (Verdict::Pass, 0), "{output}");
    assert_eq!(gate.review_base, base);
    let branch =
        repo.git(["for-each-ref", "--format=%(refname:short) %(objectname)", "refs/heads/fix-loop/"]);
    let (branch, head) = branch.trim().split_once(' ').expect("one branch").to_owned();
    assert_eq!(gate.final_head, head);
    assert!(output.stderr.contains(&format!("Branch: {branch}")), "{output}");
    assert_eq!(repo.git(["show", &format!("{head}:app.txt")]), "one\ntwo\nthree\n");
    assert_eq!(
        repo.git(["rev-parse", &format!("{head}^")]).trim(),
        repo.head(),
        "one commit on the user's head"
    );
    assert_eq!(roles(&agent), ["reviewer", "reviewer", "checker", "fixer", "closer"]);
    let briefs = agent.briefs();
    assert_ne!(briefs[0]["workspace"], repo.root().display().to_string());
    assert!(briefs[0]["diff"].as_str().expect("a diff").contains("+TWO"));
    assert_eq!(briefs[0]["base"], base);
    for brief in &briefs[..2] {
        let text = brief["instructions"].as_str().expect("text");
        assert!(text.contains("one, two and three") && text.contains("Words are lower case"), "{text}");
    }
    assert_eq!(briefs[2]["findings"].as_array().map(Vec::len), Some(2));
    assert_eq!(briefs[4]["findings"][0]["id"], "standards-1");
    assert!(briefs[4]["diff"].as_str().expect("a diff").contains("+three"));
    assert!(output.stderr.contains("`sh check.sh` PASS"), "{output}");
}

#[test]
fn the_json_report_carries_the_gate() {
    let (repo, _agent) = project(usual(), true, "");
    let report = run(&repo).args(["--format", "json"]).expect(0).json();
    assert_eq!(report["protocol"], "converge");
    let gate = &report["gate"];
    let keys: Vec<&str> = gate.as_object().expect("an object").keys().map(String::as_str).collect();
    for key in ["verdict", "outcome", "reason", "review_base", "final_head", "open_confirmed_findings"] {
        assert!(keys.contains(&key), "{keys:?}");
    }
    assert_eq!((&gate["verdict"], &gate["outcome"]), (&json!("PASS"), &json!("done")));
    assert_eq!(gate["review_base"], repo.git(["rev-parse", "HEAD~1"]).trim());
    assert_eq!(gate["open_confirmed_findings"], 0);
    assert_eq!(report["resolved"].as_array().map(Vec::len), Some(2), "{report:#}");
    let workers = report["workers"].as_array().expect("a list");
    let worked: Vec<&str> = workers.iter().filter_map(|worker| worker["role"].as_str()).collect();
    assert_eq!(worked, ["reviewer", "reviewer", "checker", "fixer", "closer"]);
}

#[test]
fn a_run_of_the_protocol_without_findings_reviews_too() {
    let (repo, agent) = project(usual(), true, "");
    let output = repo.fix_loop(["run", "--protocol", "converge"]).expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass);
    assert_eq!(roles(&agent).iter().filter(|role| *role == "reviewer").count(), 2);
}

#[test]
fn without_a_spec_standards_only_is_asked_and_said() {
    let (repo, agent) = project(usual(), false, "");
    let output = run(&repo).expect(1);
    assert!(agent.briefs().is_empty(), "nothing is reviewed before the answer\n{output}");
    let asked = question(&repo, "standards_only");
    let output = answer(&repo, &asked, "1").expect(0);
    let gate = gate(&output);
    assert_eq!((gate.verdict, gate.open_confirmed_findings), (Verdict::PassStandardsOnly, 0), "{output}");
    assert_eq!(roles(&agent), ["reviewer", "checker", "fixer", "closer"]);
}

#[test]
fn a_refused_standards_only_review_pauses() {
    let (repo, agent) = project(usual(), false, "");
    run(&repo).expect(1);
    let output = answer(&repo, &question(&repo, "standards_only"), "No").expect(1);
    assert!(agent.briefs().is_empty());
    let paused = question(&repo, "pause");
    assert!(paused["detail"].as_str().is_some_and(|text| text.contains("name one with `spec`")), "{output}");
    let output = answer(&repo, &paused, "Stay paused").expect(1);
    assert_eq!(gate(&output).verdict, Verdict::Paused);
}

#[test]
fn all_disputed_is_a_pass_with_a_disagreement_note() {
    let script = Script::new()
        .when(axis("standards"), [reviewed(json!([said("TWO is in capitals", 2)]))])
        .when(axis("spec"), [reviewed(json!([]))])
        .on("checker", [step::consolidate(json!({"1": "DISPUTED"}))]);
    let (repo, agent) = project(script, true, "");
    let before = checkout(&repo);
    let output = run(&repo).expect(0);
    assert_eq!(checkout(&repo), before);
    assert_eq!(gate(&output).verdict, Verdict::Pass);
    assert!(output.stderr.contains("disagreement: "), "{output}");
    assert!(output.stderr.contains("standards-1: DISPUTED"), "{output}");
    assert_eq!(roles(&agent), ["reviewer", "reviewer", "checker"]);
    assert_eq!(gate(&output).final_head, repo.head());
}

#[test]
fn attached_findings_skip_the_review() {
    let (repo, agent) = project(usual(), true, "");
    repo.findings(&[
        finding("a", "app.txt", 2, "TWO is in capitals"),
        finding("b", "app.txt", 3, "THREE too"),
    ]);
    let before = checkout(&repo);
    let output = repo.fix_loop(["run", "--protocol", "converge", "--format", "json"]).expect(0);
    assert_eq!(checkout(&repo), before);
    let report = output.json();
    assert_eq!(report["gate"]["verdict"], "PASS", "{report:#}");
    assert_eq!(report["resolved"], json!(["a", "b"]));
    assert_eq!(report["evidence"]["a"], "verified");
    assert_eq!(roles(&agent), ["checker", "fixer", "closer"]);
}

#[test]
fn a_paused_loop_is_not_reviewed_anew_by_a_second_run() {
    let script = review()
        .on("fixer", [step::footer(json!({"status": "BLOCKED", "blocked_by": "the spec is unclear"}))]);
    let (repo, agent) = project(script, true, "");
    pauses(&repo, &["Pause: decision", "the spec is unclear"]);
    let dispatched = agent.briefs().len();
    run(&repo).expect(1);
    assert_eq!(agent.briefs().len(), dispatched, "a user's stop is not undone by a restart");
    question(&repo, "pause");
}
