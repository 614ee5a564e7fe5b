//! Two loops, and what the reviewer says.

use super::*;

#[test]
fn ship_in_the_first_loop_is_done_and_staged() {
    let script = attempts(Script::new()).on("reviewer", [ship()]);
    let (repo, agent) = project(script, &PAIR, "");
    let head = repo.head();
    let output = run(&repo).expect(0);
    ends_as(&output, "done");
    assert_eq!(roles(&agent), ["fixer", "reviewer"]);
    assert_eq!((repo.head(), repo.status()), (head, "M  app.txt\n".to_owned()), "staged, not committed");
    let briefs = agent.briefs();
    assert_ne!(briefs[0]["worker"], briefs[1]["worker"]);
    assert!(briefs[1]["diff"].as_str().expect("a diff").contains("+Two"));
    assert_eq!(briefs[0]["criteria"], json!(["AC-1"]));
    assert_eq!(briefs[0]["checks"][0]["name"], "words");
}

#[test]
fn the_json_report_says_done() {
    let script = attempts(Script::new()).on("reviewer", [ship()]);
    let (repo, _agent) = project(script, &PAIR, "");
    let report = outcome(&repo, 0);
    assert_eq!(report["gate"]["outcome"], "done");
    assert_eq!(report["gate"]["verdict"], "PASS");
    assert_eq!((&report["resolved"], &report["protocol"]), (&json!(["f1"]), &json!("rereview")));
}

#[test]
fn fix_first_and_then_ship_is_done_in_two_loops() {
    let script = attempts(Script::new())
        .on_nth("reviewer", 1, [verdict("FIX-FIRST", json!([gap("Two still has a capital")]))])
        .on("reviewer", [ship()]);
    let (repo, agent) = project(script, &PAIR, "");
    let output = run(&repo).expect(0);
    ends_as(&output, "done");
    assert_eq!(agent.dispatches(), ["fixer 1", "reviewer 1", "fixer 2", "reviewer 2"]);
    let briefs = agent.briefs();
    assert!(briefs[2]["previous"][0]["outcome"].as_str().expect("text").contains("Two still has a capital"));
    let mut workers: Vec<&str> = briefs.iter().filter_map(|brief| brief["worker"].as_str()).collect();
    workers.sort_unstable();
    workers.dedup();
    assert_eq!(workers.len(), 4, "every dispatch is a fresh worker");
    assert_eq!(repo.read("app.txt"), "one\ntwo\nthree\n");
}

#[test]
fn fix_first_twice_is_diagnosed_and_blocked() {
    let script = attempts(Script::new())
        .on_nth("reviewer", 1, [verdict("FIX-FIRST", json!([gap("a capital is left")]))])
        .on("reviewer", [verdict("FIX-FIRST", json!([gap("the word is missing")]))]);
    let (repo, agent) = project(script, &PAIR, "");
    let output = run(&repo).expect(1);
    ends_as(&output, "blocked");
    let block = exhausted(&output);
    assert_eq!((block.attempts, block.raises, block.new_evidence), (2, 0, None));
    assert_eq!(block.gaps.len(), 1, "{output}");
    assert_eq!((block.gaps[0].severity, block.gaps[0].text.as_str()), (Severity::P0, "the word is missing"));
    assert_eq!(block.gaps[0].file.as_deref(), Some("app.txt"));
    assert_eq!(fixers(&agent).len(), 2, "never a third fix");
    assert!(output.stderr.contains("Fix loop exhausted (2/2). Group remains in progress."));
}

#[test]
fn the_json_report_says_blocked_with_a_reason() {
    let script = attempts(Script::new())
        .on_nth("reviewer", 1, [verdict("FIX-FIRST", json!([gap("a capital is left")]))])
        .on("reviewer", [verdict("FIX-FIRST", json!([gap("the word is missing")]))]);
    let (repo, _agent) = project(script, &PAIR, "");
    let report = outcome(&repo, 1);
    assert_eq!((&report["gate"]["outcome"], &report["gate"]["verdict"]), (&json!("blocked"), &json!("FAIL")));
    let reason = report["gate"]["reason"].as_str().expect("a reason");
    assert!(!reason.is_empty() && !reason.contains('\n'), "{reason}");
    assert_eq!(report["resolved"], json!([]));
    assert_eq!(report["escalated"][0]["attempts"].as_array().map(Vec::len), Some(2), "{report:#}");
}

/// The loop is started from a gap list instead of the inbox.
fn from_gaps(name: &str, text: &str) -> (Repo, Agent, Output) {
    let script = attempts(Script::new()).on("reviewer", [ship()]);
    let (repo, agent) = project(script, &PAIR, "");
    repo.remove(".fix-loop/findings/review.json");
    let file = repo.outside().join(name);
    std::fs::write(&file, text).expect("the folder can be written");
    let output = run(&repo).args([file]).run();
    (repo, agent, output)
}

#[test]
fn a_gap_list_in_text_is_what_the_loop_works_on() {
    let (repo, agent, output) = from_gaps(
        "review.txt",
        "## Review\n\nVerdict: FIX-FIRST\n\n- [CRITICAL] TWO is in capitals — app.txt:2\n- [LOW] a nicety — app.txt:3\n",
    );
    assert_eq!(output.code, Some(0), "{output}");
    ends_as(&output, "done");
    let briefs = agent.briefs();
    assert_eq!(roles(&agent), ["fixer", "reviewer"]);
    assert_eq!(briefs[0]["findings"].as_array().map(Vec::len), Some(1), "only what blocks");
    assert_eq!(briefs[0]["findings"][0]["file"], "app.txt");
    assert_eq!(briefs[0]["findings"][0]["line_start"], 2);
    assert_eq!(repo.status(), "M  app.txt\n");
}

#[test]
fn a_gap_list_in_json_is_what_the_loop_works_on() {
    let review = json!({"verdict": "FIX-FIRST", "gaps": [gap("TWO is in capitals")], "evidence": "read it"});
    let (_repo, agent, output) = from_gaps("review.json", &review.to_string());
    assert_eq!(output.code, Some(0), "{output}");
    ends_as(&output, "done");
    assert_eq!(agent.briefs()[0]["scope"], json!(["app.txt"]));
}

#[test]
fn a_review_that_says_ship_has_nothing_to_fix() {
    let (repo, agent, output) = from_gaps("review.json", "{\"verdict\": \"SHIP\", \"gaps\": []}");
    assert_eq!(output.code, Some(0), "{output}");
    assert!(agent.briefs().is_empty());
    assert_eq!(repo.status(), "");
}

#[test]
fn a_breach_is_failed_when_the_user_restores() {
    let script = Script::new().on(
        "fixer",
        [
            step::edit("app.txt", "TWO", "two"),
            step::run(&["git", "commit", "--quiet", "--all", "-m", "not asked for"]),
            step::fixed("and committed"),
        ],
    );
    let (repo, _agent) = project(script, &PAIR, "");
    run(&repo).expect(1);
    let output = answer(&repo, &question(&repo, "breach"), "1").expect(1);
    ends_as(&output, "failed");
}

#[test]
fn a_needed_file_is_blocked_and_no_question() {
    let script = Script::new().on("fixer", [step::needs(&["other.txt"], "the word is listed in other.txt")]);
    let (repo, agent) = project(script, &PAIR, "");
    let output = run(&repo).expect(1);
    ends_as(&output, "blocked");
    let block = exhausted(&output);
    assert_eq!(block.cause, Cause::MissingContext);
    assert!(block.route.contains("other.txt"), "{output}");
    assert_eq!(roles(&agent), ["fixer"]);
    assert_eq!(repo.status(), "");
}
