//! The fix and re-review loop from the user's side: `run --protocol rereview` on real repositories, with scripted agents
//! whose briefs show which route was taken.

use fix_loop::protocol::rereview::{Exhaustion, parse_exhaustion};
use fix_loop::protocol::{Cause, Severity};
use fix_loop_tests::{Agent, FixLoop, Output, Repo, Script, finding, step};
use serde_json::{Value, json};

const CHECK: &str = "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\nkind = \"test\"\n";
const CAUSES: [&str; 5] =
    ["model-capacity", "missing-context", "ambiguous-spec", "env-tool-failure", "overdesigned-plan"];

/// One confirmed finding in `app.txt`, which nobody else has touched.
fn project(script: Script, roles: &[&str], extra: &str) -> (Repo, Agent) {
    let repo = Repo::with(&[
        ("app.txt", "one\nTWO\nthree\n"),
        ("other.txt", "other\n"),
        ("check.sh", "! grep -q BROKEN app.txt\n"),
    ]);
    let agent = script.install(&repo, "scripted");
    repo.config(&format!("{CHECK}\n{}\n{extra}", agent.toml_for(roles)));
    repo.findings(&[finding("f1", "app.txt", 2, "TWO is in capitals")]);
    repo.fix_loop(["trust"]).expect(0);
    (repo, agent)
}

const PAIR: [&str; 2] = ["fixer", "reviewer"];
const DIAGNOSED: [&str; 3] = ["fixer", "reviewer", "diagnoser"];

fn run(repo: &Repo) -> FixLoop {
    repo.fix_loop(["run", "--protocol", "rereview"])
}

fn verdict(word: &str, gaps: Value) -> Value {
    step::report(json!({
        "verdict": word, "gaps": gaps, "evidence": format!("read app.txt: {word}"),
        "validation": [{"command": "sh check.sh", "outcome": "PASS"}],
    }))
}

fn gap(text: &str) -> Value {
    json!({"severity": "CRITICAL", "text": text, "file": "app.txt", "line": 2, "fix": "write it in lower case"})
}

fn ship() -> Value {
    verdict("SHIP", json!([]))
}

fn diagnosis(cause: &str, over: Value) -> Value {
    let mut said = json!({
        "cause": cause, "evidence": format!("the attempts show {cause}"), "new_evidence": null,
        "rules_out": {}, "route": format!("the route of {cause}"), "needs": null,
    });
    for (key, value) in over.as_object().expect("an object") {
        said[key] = value.clone();
    }
    step::report(said)
}

/// Everything that a raise needs but for what the engine sees itself.
fn capacity() -> Value {
    let others: serde_json::Map<String, Value> =
        CAUSES[1..].iter().map(|cause| ((*cause).to_owned(), json!("looked: it is not"))).collect();
    diagnosis(
        "model-capacity",
        json!({"new_evidence": "the check now fails in another line", "rules_out": others}),
    )
}

/// A fixer whose every attempt differs.
fn attempts(script: Script) -> Script {
    script
        .on_nth("fixer", 1, [step::edit("app.txt", "TWO", "Two"), step::fixed("first attempt")])
        .on_nth("fixer", 2, [step::edit("app.txt", "Two", "two"), step::fixed("second attempt")])
        .on_nth("fixer", 3, [step::edit("app.txt", "two", "2"), step::fixed("third attempt")])
}

fn roles(agent: &Agent) -> Vec<String> {
    agent.briefs().iter().map(|brief| brief["role"].as_str().expect("a role").to_owned()).collect()
}

fn fixers(agent: &Agent) -> Vec<Value> {
    agent.briefs().into_iter().filter(|brief| brief["role"] == "fixer").collect()
}

fn instructions(brief: &Value) -> &str {
    brief["instructions"].as_str().expect("a text")
}

#[track_caller]
fn question(repo: &Repo, kind: &str) -> Value {
    let status = repo.fix_loop(["status", "--format", "json"]).expect(0).json();
    let all = status["questions"].as_array().expect("a list").clone();
    assert_eq!(all.len(), 1, "{status:#}");
    assert_eq!(all[0]["kind"], kind, "{status:#}");
    all[0].clone()
}

fn answer(repo: &Repo, question: &Value, choice: &str) -> FixLoop {
    repo.fix_loop(["answer", question["id"].as_str().expect("an id"), choice])
}

#[track_caller]
fn exhausted(output: &Output) -> Exhaustion {
    parse_exhaustion(&output.stderr).unwrap_or_else(|| panic!("no block\n{output}"))
}

/// Exactly one terminal word, on a line of its own.
#[track_caller]
fn ends_as(output: &Output, word: &str) {
    let words: Vec<&str> = output
        .stderr
        .lines()
        .filter(|line| {
            ["done", "blocked", "failed"]
                .iter()
                .any(|known| line == known || line.starts_with(&format!("{known}: ")))
        })
        .collect();
    assert_eq!(words.len(), 1, "{words:?}\n{output}");
    assert!(words[0] == word || words[0].starts_with(&format!("{word}: ")), "{words:?}\n{output}");
    if word != "done" {
        assert!(words[0].len() > word.len() + 2, "a reason is given: {words:?}");
    }
}

fn outcome(repo: &Repo, code: i32) -> Value {
    run(repo).args(["--format", "json"]).expect(code).json()
}

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

fn models(report: &Value) -> Vec<Value> {
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

fn gated() -> Script {
    attempts(Script::new())
        .on("reviewer", [ship()])
        .on_nth("final_gate", 1, [verdict("FIX-FIRST", json!([gap("the gate sees a capital")]))])
        .on("final_gate", [ship()])
}

#[test]
fn a_final_gate_that_agrees_is_done() {
    let script = attempts(Script::new()).on("reviewer", [ship()]).on("final_gate", [ship()]);
    let (repo, agent) = project(script, &["fixer", "reviewer", "final_gate"], "");
    ends_as(&run(&repo).expect(0), "done");
    assert_eq!(roles(&agent), ["fixer", "reviewer", "final_gate"]);
}

#[test]
fn an_appeal_is_resolved_by_a_person_and_nobody_else() {
    let (repo, agent) = project(gated(), &["fixer", "reviewer", "final_gate"], "");
    run(&repo).args(["--answer", "recommended"]).expect(1);
    let asked = question(&repo, "appeal");
    assert_eq!(asked["recommended"], "No");
    let output = answer(&repo, &asked, "Yes").args(["--text", "the capital is wanted"]).expect(0);
    ends_as(&output, "done");
    assert_eq!(roles(&agent), ["fixer", "reviewer", "final_gate"]);
}

#[test]
fn a_final_gate_that_is_upheld_opens_the_second_loop() {
    let (repo, agent) = project(gated(), &["fixer", "reviewer", "final_gate"], "");
    run(&repo).expect(1);
    let output = answer(&repo, &question(&repo, "appeal"), "No").expect(0);
    ends_as(&output, "done");
    assert_eq!(roles(&agent), ["fixer", "reviewer", "final_gate", "fixer", "reviewer", "final_gate"]);
    assert!(
        fixers(&agent)[1]["previous"][0]["outcome"]
            .as_str()
            .expect("text")
            .contains("the gate sees a capital")
    );
}

#[test]
fn the_appeal_is_recorded_in_the_block() {
    let script = attempts(Script::new())
        .on("reviewer", [ship()])
        .on_nth("final_gate", 1, [verdict("FIX-FIRST", json!([gap("the gate sees a capital")]))])
        .on("final_gate", [verdict("FIX-FIRST", json!([gap("it still does")]))]);
    let (repo, _agent) = project(script, &["fixer", "reviewer", "final_gate"], "");
    run(&repo).expect(1);
    answer(&repo, &question(&repo, "appeal"), "No").expect(1);
    let output = answer(&repo, &question(&repo, "appeal"), "No").expect(1);
    ends_as(&output, "blocked");
    let appeal = exhausted(&output).appeal.expect("a record");
    assert!(appeal.contains("resolved by the user"), "{appeal}");
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
