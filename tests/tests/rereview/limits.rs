//! What is never done: a raise that nothing supports, a third fix, a SHIP that something contradicts.

use super::routes::models;
use super::*;

const LADDER: &str = "ladder = [{ model = \"large\" }]";

/// The fixer has a small model, and the group a reviewer and a diagnoser.
fn with_models(script: Script, ladder: &str) -> (Repo, Agent) {
    let (repo, agent) = project(script, &["reviewer", "diagnoser"], "");
    let toml = repo.read("fix-loop.toml");
    let fixer = format!("[roles.fixer]\nagent = \"scripted\"\nscoped = {{ model = \"small\" }}\n{ladder}\n");
    repo.config(&format!("{toml}\n{fixer}"));
    repo.fix_loop(["trust"]).expect(0);
    (repo, agent)
}

/// BLOCKED after an attempt that changed what the check says, then this diagnosis.
fn blocked_then(said: Value) -> Script {
    Script::new()
        .on_round("fixer", 1, [step::edit("app.txt", "TWO", "BROKEN"), step::fixed("first attempt")])
        .on_round("fixer", 2, [step::edit("app.txt", "BROKEN", "two"), step::fixed("second attempt")])
        .on_nth("reviewer", 1, [verdict("BLOCKED", json!([gap("cannot go on")]))])
        .on("reviewer", [ship()])
        .on_nth("diagnoser", 1, [diagnosis("ambiguous-spec", json!({}))])
        .on_nth("diagnoser", 2, [said])
}

#[test]
fn a_raise_needs_every_other_cause_ruled_out_and_a_step_that_is_left() {
    let without = |left_out: &str| {
        let others = CAUSES[1..].iter().filter(|cause| **cause != left_out);
        let reasons: serde_json::Map<String, Value> =
            others.map(|cause| ((*cause).to_owned(), json!("looked: it is not"))).collect();
        diagnosis("model-capacity", json!({"new_evidence": "another line fails", "rules_out": reasons}))
    };
    let unnamed = diagnosis("model-capacity", json!({"new_evidence": null}));
    let mut table = vec![
        ("all ruled out", capacity(), LADDER, Some("large")),
        ("no ladder", capacity(), "", None),
        ("no new evidence named", unnamed, LADDER, None),
    ];
    table.extend(CAUSES[1..].iter().map(|cause| (*cause, without(cause), LADDER, None)));
    for (name, said, ladder, raised_to) in table {
        let (repo, agent) = with_models(blocked_then(said), ladder);
        let output = run(&repo).args(["--format", "json"]).run();
        let models = models(&output.json());
        match raised_to {
            Some(model) => assert_eq!(models, [json!("small"), json!(model)], "{name}: {output}"),
            None => {
                assert!(models.iter().all(|model| *model == "small"), "{name}: {models:?}");
                assert_eq!(output.code, Some(1), "{name}: {output}");
                assert_eq!(exhausted(&output).raises, 0, "{name}");
                assert_eq!(fixers(&agent).len(), 1, "{name}");
            }
        }
    }
}

/// Two loops that do not suffice, this diagnosis, and a third fix for whoever allows one.
fn exhausted_then(said: Value) -> Script {
    Script::new()
        .when(
            json!({"role": "fixer", "round": 1, "nth": 1}),
            [step::edit("app.txt", "TWO", "Two"), step::fixed("first")],
        )
        .on_round("fixer", 2, [step::edit("app.txt", "Two", "BROKEN"), step::fixed("second")])
        .on("fixer", [step::edit("app.txt", "BROKEN", "two"), step::fixed("third, in a loop of its own")])
        .on_nth("reviewer", 1, [verdict("FIX-FIRST", json!([gap("a capital")]))])
        .on_nth("reviewer", 2, [verdict("FIX-FIRST", json!([gap("it is broken")]))])
        .on("reviewer", [ship()])
        .on_nth("diagnoser", 1, [diagnosis("env-tool-failure", json!({}))])
        .on("diagnoser", [said])
}

#[test]
fn at_the_end_of_both_loops_what_is_the_users_to_allow_is_asked_and_a_yes_opens_a_new_loop() {
    let ambiguous = diagnosis("ambiguous-spec", json!({"needs": "Digits?"}));
    for (name, said, kind, model) in [
        ("ambiguous-spec", ambiguous, "escalation", "small"),
        ("model-capacity", capacity(), "model_raise", "large"),
    ] {
        let (repo, agent) = with_models(exhausted_then(said), LADDER);
        run(&repo).args(["--answer", "recommended"]).run();
        assert_eq!(fixers(&agent).len(), 2, "{name}: nobody but a person allows more");
        if name == "model-capacity" {
            // The recommended answer is no, and it ends the loop.
            let (repo, agent) = with_models(exhausted_then(capacity()), LADDER);
            run(&repo).expect(1);
            allowed(&repo, &agent, kind, model);
            continue;
        }
        allowed(&repo, &agent, kind, model);
    }
}

#[track_caller]
fn allowed(repo: &Repo, agent: &Agent, kind: &str, model: &str) {
    let asked = question(repo, kind);
    let output = answer(repo, &asked, "Yes").args(["--text", "letters only", "--format", "json"]).expect(0);
    assert_eq!(fixers(agent).len(), 3, "{kind}: {output}");
    let third = fixers(agent)[2].clone();
    assert_eq!((third["loop"].as_str(), third["round"].as_u64()), (Some("L2"), Some(1)), "{kind}");
    assert_eq!(third["previous"].as_array().map(Vec::len), Some(2), "{kind}: it is told what was tried");
    assert!(output.stderr.contains("decided: "), "{kind}: the decision is recorded\n{output}");
    assert_eq!(models(&output.json()).pop(), Some(json!(model)), "{kind}");
}

#[test]
fn at_the_end_of_both_loops_every_other_cause_is_reported_with_its_route() {
    for cause in ["missing-context", "env-tool-failure", "overdesigned-plan"] {
        let script = exhausted_then(diagnosis(cause, json!({"needs": "something"})));
        let (repo, agent) = with_models(script, "");
        let output = run(&repo).expect(1);
        ends_as(&output, "blocked");
        let block = exhausted(&output);
        assert_eq!((block.cause.words(), block.attempts), (cause, 2), "{output}");
        assert_eq!(block.route, format!("the route of {cause}"));
        assert_eq!(fixers(&agent).len(), 2, "{cause}: never a third fix");
        assert!(
            output.stderr.contains("Budget: attempts=2/2; effort_escalations=0/2\nAppeal: none"),
            "{output}"
        );
    }
}

#[test]
fn ship_beside_a_check_that_fails_now_is_no_ship() {
    let breaks = [step::edit("app.txt", "TWO", "BROKEN"), step::fixed("broke the check")];
    let mends = [step::edit("app.txt", "BROKEN", "two"), step::fixed("mended it")];
    let script =
        Script::new().on_round("fixer", 1, breaks).on_round("fixer", 2, mends).on("reviewer", [ship()]);
    let (repo, agent) = project(script, &PAIR, "");
    let output = run(&repo).expect(0);
    ends_as(&output, "done");
    assert_eq!(agent.dispatches(), ["fixer 1", "reviewer 1", "fixer 2", "reviewer 2"], "{output}");
    let outcome = fixers(&agent)[1]["previous"][0]["outcome"].as_str().expect("a text").to_owned();
    assert!(outcome.contains("the reviewer said SHIP, but"), "{outcome}");
}

#[test]
fn ship_beside_a_gap_that_blocks_is_no_report_and_never_done() {
    let script = attempts(Script::new())
        .on_nth("reviewer", 1, [verdict("SHIP", json!([gap("but a capital is left")]))])
        .on("reviewer", [ship()]);
    let (repo, agent) = project(script, &PAIR, "");
    run(&repo).expect(1);
    let output = answer(&repo, &question(&repo, "inconclusive"), "Retry verification").expect(0);
    ends_as(&output, "done");
    assert_eq!(
        agent.dispatches(),
        ["fixer 1", "reviewer 1", "reviewer 1"],
        "another reviewer, and no attempt"
    );
}

#[test]
fn small_gaps_do_not_keep_a_ship_and_a_fix_first_that_names_nothing_bigger_is_no_progress() {
    let small = json!([{"severity": "LOW", "text": "a nicety", "file": "app.txt", "line": 1, "fix": ""}]);
    let script = attempts(Script::new()).on("reviewer", [verdict("SHIP", small.clone())]);
    let (repo, _agent) = project(script, &PAIR, "");
    let output = run(&repo).expect(0);
    ends_as(&output, "done");
    assert!(output.stderr.contains("[LOW] a nicety"), "it is told: {output}");
    let script = attempts(Script::new()).on("reviewer", [verdict("FIX-FIRST", small)]);
    let (repo, agent) = project(script, &PAIR, "");
    let output = run(&repo).expect(1);
    ends_as(&output, "blocked");
    assert!(fixers(&agent).len() <= 2);
    assert_eq!(exhausted(&output).gaps[0].text, "TWO is in capitals", "what was open stays open");
}

#[test]
fn a_fixer_that_says_blocked_is_diagnosed_and_never_asked_about() {
    let blocked = step::report(json!({"status": "blocked", "summary": "stuck", "blocked_by": "no database"}));
    let script = Script::new()
        .on_round("fixer", 1, [blocked])
        .on("fixer", [step::edit("app.txt", "TWO", "two"), step::fixed("with the dump")])
        .on("reviewer", [ship()])
        .on_nth("diagnoser", 1, [diagnosis("ambiguous-spec", json!({}))])
        .on("diagnoser", [diagnosis("missing-context", json!({"needs": "the dump is in dump.sql"}))]);
    let (repo, agent) = project(script, &DIAGNOSED, "");
    let output = run(&repo).expect(0);
    ends_as(&output, "done");
    assert_eq!(roles(&agent), ["diagnoser", "fixer", "diagnoser", "fixer", "reviewer"]);
    assert!(instructions(&fixers(&agent)[1]).contains("the dump is in dump.sql"));
}
