//! `simplify`: the change is simplified first, which voids the review that the loop came with and is no attempt.

use super::*;

fn simplified(script: Script) -> (Repo, Agent) {
    let (repo, agent) = project(script, &PAIR, "");
    let toml = repo.read("fix-loop.toml");
    repo.config(&format!("simplify = true\n{toml}"));
    repo.fix_loop(["trust"]).expect(0);
    (repo, agent)
}

fn first_fixer(steps: impl IntoIterator<Item = Value>) -> Script {
    Script::new().when(json!({"role": "fixer", "says": "Simplify the change", "nth": 1}), steps)
}

#[test]
fn simplification_is_reviewed_anew_and_leaves_both_attempts() {
    let script = first_fixer([step::edit("app.txt", "three", "3"), step::fixed("shorter")])
        .on_round("fixer", 1, [step::edit("app.txt", "TWO", "Two"), step::fixed("first attempt")])
        .on_round("fixer", 2, [step::edit("app.txt", "Two", "two"), step::fixed("second attempt")])
        .on_nth("reviewer", 1, [verdict("FIX-FIRST", json!([gap("TWO is still in capitals")]))])
        .on_nth("reviewer", 2, [verdict("FIX-FIRST", json!([gap("Two has one capital")]))])
        .on("reviewer", [ship()]);
    let (repo, agent) = simplified(script);
    let output = run(&repo).expect(0);
    ends_as(&output, "done");
    let expected = ["fixer 1", "reviewer 1", "fixer 1", "reviewer 1", "fixer 2", "reviewer 2"];
    assert_eq!(agent.dispatches(), expected, "two attempts are left after the simplification");
    assert!(output.stderr.contains("simplified; the review before is void"), "{output}");
    assert_eq!(agent.briefs()[2]["previous"], json!([]), "it is no attempt");
}

#[test]
fn a_simplification_after_which_the_review_says_ship_is_done_without_an_attempt() {
    let script =
        first_fixer([step::edit("app.txt", "TWO", "two"), step::fixed("shorter")]).on("reviewer", [ship()]);
    let (repo, agent) = simplified(script);
    let report = outcome(&repo, 0);
    assert_eq!((&report["gate"]["outcome"], &report["resolved"]), (&json!("done"), &json!(["f1"])));
    assert_eq!(roles(&agent), ["fixer", "reviewer"]);
}

#[test]
fn a_simplification_that_changes_nothing_leaves_the_review_standing() {
    let script = first_fixer([step::fixed("nothing to simplify")])
        .on("fixer", [step::edit("app.txt", "TWO", "two"), step::fixed("lower case")])
        .on("reviewer", [ship()]);
    let (repo, agent) = simplified(script);
    ends_as(&run(&repo).expect(0), "done");
    assert_eq!(roles(&agent), ["fixer", "fixer", "reviewer"], "no review of nothing");
}
