//! Burden, plateau and recovery.

use super::*;

#[test]
fn the_burden_falls_over_two_rounds() {
    let script = review()
        .on_nth(
            "fixer",
            1,
            [
                step::edit("app.txt", "TWO", "two"),
                step::commit("two"),
                step::footer(json!({"summary": "two"})),
            ],
        )
        .on_nth(
            "fixer",
            2,
            [step::edit("app.txt", "THREE", "three"), step::commit("three"), step::footer(json!({}))],
        )
        .on_nth("closer", 1, [step::close(json!({"standards-2": "OPEN"}))])
        .on_nth("closer", 2, [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let output = run(&repo).expect(0);
    assert_eq!((gate(&output).verdict, gate(&output).open_confirmed_findings), (Verdict::Pass, 0));
    assert_eq!(roles(&agent), ["reviewer", "reviewer", "checker", "fixer", "closer", "fixer", "closer"]);
    let second = &agent.briefs()[5];
    assert_eq!(second["findings"].as_array().map(Vec::len), Some(1), "only what is open");
    assert_eq!(second["previous"][0]["summary"], "two");
    assert_eq!(agent.briefs()[6]["findings"].as_array().map(Vec::len), Some(2), "the whole ledger");
}

#[test]
fn a_plateau_has_one_recovery_and_then_pauses() {
    let change = |n: u32| {
        vec![
            step::append("app.txt", &format!("more {n}\n")),
            step::commit(&format!("more {n}")),
            step::footer(json!({"summary": format!("attempt {n}")})),
        ]
    };
    let script = review()
        .on_nth("fixer", 1, change(1))
        .on_nth("recoverer", 1, change(2))
        .on_nth("recoverer", 2, fix_both())
        .on_nth("closer", 3, [step::close(json!({}))])
        .on("closer", [step::close(json!({"standards-1": "OPEN", "standards-2": "OPEN"}))]);
    let (repo, agent) = project(script, true, "");
    let paused = pauses(&repo, &["Pause: decision", "standards-2", "open_confirmed_findings: 2"]);
    assert_eq!(roles(&agent), ["reviewer", "reviewer", "checker", "fixer", "closer", "recoverer", "closer"]);
    // A person may allow another recovery.
    let output =
        answer(&repo, &paused, "Resume the loop").args(["--text", "write them in lower case"]).expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass);
    let last = &agent.briefs()[7];
    assert_eq!(last["role"], "recoverer");
    assert_eq!(last["questions_answered"][0]["choice"], "write them in lower case");
}

#[test]
fn a_regression_of_the_fix_counts_as_open() {
    let script = usual_until_closing()
        .on_nth("closer", 1, [step::close(json!({"regression-1": "CONFIRMED_FIX_REGRESSION"}))])
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let output = run(&repo).expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass, "{output}");
    let briefs = agent.briefs();
    let fixers: Vec<&Value> = briefs.iter().filter(|brief| brief["role"] == "fixer").collect();
    assert_eq!(fixers.len(), 2);
    assert_eq!(fixers[1]["findings"][0]["origin"], "regression", "{:#}", fixers[1]["findings"]);
}

fn usual_until_closing() -> Script {
    review()
        .on_nth("fixer", 1, fix_both())
        .on("fixer", [step::append("app.txt", "four\n"), step::commit("four"), step::footer(json!({}))])
}

#[test]
fn a_closer_that_leaves_one_out_or_resolves_it_without_evidence_leaves_it_open() {
    let states = |said: Value| step::footer(json!({"findings": said}));
    let one = json!([{"id": "standards-1", "state": "RESOLVED", "evidence": "line 2"}]);
    let script = review()
        .on("fixer", [step::append("app.txt", "more\n"), step::commit("more"), step::footer(json!({}))])
        .on("recoverer", fix_both())
        .on_nth("closer", 1, [states(one)])
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let output = run(&repo).expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass, "{output}");
    let second = agent.briefs()[5].clone();
    let open: Vec<&str> = second["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["title"].as_str())
        .collect();
    assert_eq!(open, ["THREE is in capitals"], "what was left out is open");
}

#[test]
fn a_regression_keeps_its_id_from_one_closer_to_the_next() {
    let more = |n: u32| {
        [step::append("app.txt", &format!("more {n}\n")), step::commit("more"), step::footer(json!({}))]
    };
    let script = review()
        .on_nth("fixer", 1, fix_both())
        .on_nth("fixer", 2, more(2))
        .on_nth("recoverer", 1, more(3))
        .on_nth("closer", 1, [step::close(json!({"spec-7": "CONFIRMED_FIX_REGRESSION"}))])
        .on_nth("closer", 2, [step::close(json!({"spec-7": "CONFIRMED_FIX_REGRESSION"}))])
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let output = run(&repo).expect(0);
    assert_eq!(
        (gate(&output).verdict, gate(&output).open_confirmed_findings),
        (Verdict::Pass, 0),
        "{output}"
    );
    assert!(output.stderr.contains("- spec-7: RESOLVED"), "{output}");
    assert!(!output.stderr.contains("regression-1"), "one regression is one root cause: {output}");
    let closers: Vec<Value> = agent.briefs().into_iter().filter(|brief| brief["role"] == "closer").collect();
    assert_eq!(closers.len(), 3);
    let told = |brief: &Value| {
        brief["findings"].as_array().expect("a list").iter().map(|one| one["id"].clone()).collect::<Vec<_>>()
    };
    assert_eq!(told(&closers[1]), ["standards-1", "standards-2", "spec-7"]);
    assert_eq!(told(&closers[2]), told(&closers[1]));
}

#[test]
fn what_a_checker_merges_is_one_root_cause_and_what_it_invents_or_leaves_out_is_no_result() {
    let root = |id: &str, from: Value| json!({"id": id, "verdict": "CONFIRMED", "from": from, "root_cause": "capitals", "evidence": "lines 2 and 3"});
    let check = |roots: Value| step::footer(json!({"findings": roots}));
    let script = Script::new()
        .on_nth("checker", 1, [check(json!([root("standards-1", json!([1]))]))])
        .on_nth(
            "checker",
            2,
            [check(json!([root("standards-1", json!([1, 2, 9])), root("spec-1", json!([7]))]))],
        )
        .and(review())
        .on("fixer", fix_both())
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let paused = pauses(&repo, &["Pause: transient", "1 of 2 findings were not judged"]);
    let output = answer(&repo, &paused, "Resume the loop").args(["--format", "json"]).expect(0);
    assert_eq!(output.json()["resolved"].as_array().map(Vec::len), Some(2), "both findings: {output}");
    let closer = agent.briefs().pop().expect("a closer");
    assert_eq!(closer["findings"].as_array().map(Vec::len), Some(1), "one root cause: {closer:#}");
    assert!(output.stderr.contains("spec-1 names no finding of the review"), "{output}");
}

#[test]
fn a_new_best_gives_the_next_plateau_a_recovery_of_its_own() {
    let three = json!([said("one", 1), said("two", 2), said("three", 3)]);
    let more = |n: &str| [step::append("app.txt", n), step::commit(n), step::footer(json!({}))];
    let open = |ids: &[&str]| {
        let states: serde_json::Map<String, Value> =
            ids.iter().map(|id| ((*id).to_owned(), json!("OPEN"))).collect();
        [step::close(states.into())]
    };
    let script = Script::new()
        .when(axis("standards"), [reviewed(three)])
        .when(axis("spec"), [reviewed(json!([]))])
        .on("checker", [step::consolidate(json!({}))])
        .on_nth("fixer", 1, more("a\n"))
        .on_nth("recoverer", 1, more("b\n"))
        .on_nth("fixer", 2, more("c\n"))
        .on_nth("recoverer", 2, more("d\n"))
        .on_nth("closer", 1, open(&["standards-1", "standards-2", "standards-3"]))
        .on_nth("closer", 2, open(&["standards-1", "standards-2"]))
        .on_nth("closer", 3, open(&["standards-1", "standards-2"]))
        .on("closer", open(&["standards-1", "standards-2"]));
    let (repo, agent) = project(script, true, "");
    pauses(&repo, &["Pause: decision", "did not get the burden (2) below the lowest so far (2)"]);
    let editing: Vec<String> =
        roles(&agent).into_iter().filter(|role| role == "fixer" || role == "recoverer").collect();
    assert_eq!(editing, ["fixer", "recoverer", "fixer", "recoverer"]);
}
