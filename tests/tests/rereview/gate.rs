//! The final gate, and appeals that only a person resolves.

use super::*;

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
