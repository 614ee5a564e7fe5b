//! The five causes, and where each leads.

use super::*;

#[test]
fn identical_gaps_twice_are_no_progress() {
    let script = attempts(Script::new())
        .on("reviewer", [verdict("FIX-FIRST", json!([gap("the same gap")]))])
        .on("diagnoser", [diagnosis("missing-context", json!({"needs": "the style guide"}))]);
    let (repo, agent) = project(script, &DIAGNOSED, "");
    let output = run(&repo).expect(1);
    ends_as(&output, "blocked");
    let block = exhausted(&output);
    assert_eq!((block.cause, block.route.as_str()), (Cause::MissingContext, "the route of missing-context"));
    assert_eq!(roles(&agent), ["diagnoser", "fixer", "reviewer", "fixer", "reviewer", "diagnoser"]);
}

#[test]
fn a_blocked_review_goes_to_the_diagnosis() {
    let script = attempts(Script::new())
        .on("reviewer", [verdict("BLOCKED", json!([gap("it cannot be built")]))])
        .on_nth("diagnoser", 1, [diagnosis("ambiguous-spec", json!({}))])
        .on("diagnoser", [diagnosis("overdesigned-plan", json!({}))]);
    let (repo, agent) = project(script, &DIAGNOSED, "");
    let output = run(&repo).expect(1);
    ends_as(&output, "blocked");
    assert_eq!(exhausted(&output).cause, Cause::OverdesignedPlan);
    assert_eq!(exhausted(&output).attempts, 1);
    assert_eq!(roles(&agent), ["diagnoser", "fixer", "reviewer", "diagnoser"]);
}

#[test]
fn an_overdesigned_plan_stops_without_an_attempt() {
    let script = Script::new().on("diagnoser", [diagnosis("overdesigned-plan", json!({}))]);
    let (repo, agent) = project(script, &DIAGNOSED, "");
    let output = run(&repo).expect(1);
    ends_as(&output, "blocked");
    assert_eq!(roles(&agent), ["diagnoser"]);
    assert_eq!((exhausted(&output).attempts, exhausted(&output).cause), (0, Cause::OverdesignedPlan));
    assert_eq!(repo.status(), "");
}

/// A first look that finds nothing in the way, a fixer, and BLOCKED after the first loop.
fn blocked_once(then: Value) -> Script {
    attempts(Script::new())
        .on_nth("reviewer", 1, [verdict("BLOCKED", json!([gap("cannot go on")]))])
        .on("reviewer", [ship()])
        .on_nth("diagnoser", 1, [diagnosis("ambiguous-spec", json!({}))])
        .on_nth("diagnoser", 2, [then])
}

#[test]
fn missing_context_is_supplied_to_the_next_fixer_at_the_same_model() {
    let script =
        blocked_once(diagnosis("missing-context", json!({"needs": "words are listed in docs/words.md"})));
    let (repo, agent) = project(script, &DIAGNOSED, "ladder = [{ model = \"opus\" }]\n");
    let output = run(&repo).expect(0);
    ends_as(&output, "done");
    let fixers = fixers(&agent);
    assert_eq!(fixers.len(), 2);
    assert!(
        instructions(&fixers[1])
            .contains("Supplied since the last attempt: words are listed in docs/words.md")
    );
    assert!(!instructions(&fixers[0]).contains("Supplied"));
}

#[test]
fn an_ambiguous_spec_is_asked_and_the_answer_reaches_the_fixer() {
    let script = blocked_once(diagnosis("ambiguous-spec", json!({"needs": "May a word be a digit?"})));
    let (repo, agent) = project(script, &DIAGNOSED, "");
    run(&repo).expect(1);
    let asked = question(&repo, "escalation");
    assert!(asked["text"].as_str().is_some_and(|text| text.contains("May a word be a digit?")), "{asked:#}");
    let output = answer(&repo, &asked, "Yes").args(["--text", "no digits, only letters"]).expect(0);
    ends_as(&output, "done");
    let second = &fixers(&agent)[1];
    assert!(instructions(second).contains("no digits, only letters"), "{second:#}");
    assert_eq!(second["questions_answered"][0]["choice"], "no digits, only letters");
}

#[test]
fn an_ambiguous_spec_that_nobody_clarifies_is_blocked() {
    let script = blocked_once(diagnosis("ambiguous-spec", json!({"needs": "May a word be a digit?"})));
    let (repo, _agent) = project(script, &DIAGNOSED, "");
    run(&repo).expect(1);
    let output = answer(&repo, &question(&repo, "escalation"), "No").expect(1);
    ends_as(&output, "blocked");
    assert_eq!(exhausted(&output).cause, Cause::AmbiguousSpec);
}

#[test]
fn an_environment_is_repaired_by_the_user_and_then_retried() {
    let script = blocked_once(diagnosis("env-tool-failure", json!({"needs": "start the database"})));
    let (repo, agent) = project(script, &DIAGNOSED, "");
    run(&repo).expect(1);
    let asked = question(&repo, "inconclusive");
    assert!(asked["text"].as_str().is_some_and(|text| text.contains("start the database")), "{asked:#}");
    let output = answer(&repo, &asked, "Retry verification").expect(0);
    ends_as(&output, "done");
    assert_eq!(fixers(&agent).len(), 2);
}

#[test]
fn an_environment_that_needs_nobody_is_retried_at_once() {
    let script = blocked_once(diagnosis("env-tool-failure", json!({})));
    let (repo, agent) = project(script, &DIAGNOSED, "");
    let output = run(&repo).expect(0);
    ends_as(&output, "done");
    assert_eq!(roles(&agent), ["diagnoser", "fixer", "reviewer", "diagnoser", "fixer", "reviewer"]);
}

pub(super) fn models(report: &Value) -> Vec<Value> {
    let workers = report["workers"].as_array().expect("a list");
    workers.iter().filter(|one| one["role"] == "fixer").map(|one| one["model"].clone()).collect()
}

#[test]
fn new_evidence_raises_the_model_by_one_step_of_the_ladder() {
    // The check's output differs after the first attempt: that is the new evidence.
    let script = Script::new()
        .on_nth("fixer", 1, [step::edit("app.txt", "TWO", "BROKEN"), step::fixed("first attempt")])
        .on_nth("fixer", 2, [step::edit("app.txt", "BROKEN", "two"), step::fixed("second attempt")])
        .on_nth("reviewer", 1, [verdict("BLOCKED", json!([gap("cannot go on")]))])
        .on("reviewer", [ship()])
        .on_nth("diagnoser", 1, [diagnosis("ambiguous-spec", json!({}))])
        .on_nth("diagnoser", 2, [capacity()]);
    let (repo, agent) = project(script, &["reviewer", "diagnoser"], "");
    let fixer = "[roles.fixer]\nagent = \"scripted\"\nscoped = { model = \"small\" }\n\
                 ladder = [{ model = \"large\", effort = \"high\" }]\n";
    let toml = repo.read("fix-loop.toml");
    repo.config(&format!("{toml}\n{fixer}"));
    repo.write("check.sh", "cat app.txt; ! grep -q BROKEN app.txt\n");
    repo.commit("the check tells more");
    repo.fix_loop(["trust"]).expect(0);
    let output = run(&repo).args(["--format", "json"]).expect(0);
    assert_eq!(models(&output.json()), [json!("small"), json!("large")], "{output}");
    assert_eq!(fixers(&agent).len(), 2);
}

#[test]
fn without_new_evidence_no_model_is_raised() {
    let script = attempts(Script::new())
        .on("reviewer", [verdict("FIX-FIRST", json!([gap("the same gap")]))])
        .on_nth("diagnoser", 1, [diagnosis("ambiguous-spec", json!({}))])
        .on("diagnoser", [capacity()]);
    let (repo, agent) = project(script, &["reviewer", "diagnoser"], "");
    let toml = repo.read("fix-loop.toml");
    let fixer = "[roles.fixer]\nagent = \"scripted\"\nscoped = { model = \"small\" }\nladder = [{ model = \"large\" }]\n";
    repo.config(&format!("{toml}\n{fixer}"));
    repo.fix_loop(["trust"]).expect(0);
    let output = run(&repo).args(["--format", "json"]).expect(1);
    assert_eq!(models(&output.json()), [json!("small"), json!("small")]);
    let block = exhausted(&output);
    assert_eq!((block.new_evidence, block.raises), (None, 0));
    assert!(output.stderr.contains("New evidence: none — model/effort escalation prohibited"), "{output}");
    assert_eq!(fixers(&agent).len(), 2);
}
