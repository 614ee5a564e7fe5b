//! The converging loop from the user's side: `fix-loop review` and `run --protocol converge` on real repositories, with
//! scripted agents. The user's checkout is compared byte for byte around every run.

use std::collections::BTreeMap;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;

use fix_loop::protocol::converge::{Gate, Verdict, parse_gate};
use fix_loop_tests::{Agent, Entry, Output, Repo, Script, finding, step};
use serde_json::{Value, json};

const ROLES: [&str; 5] = ["reviewer", "checker", "fixer", "recoverer", "closer"];
const CHECK: &str = "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\nkind = \"test\"\n";

/// A repository whose last commit is to be reviewed: two words in capitals.
fn project(script: Script, spec: bool, extra: &str) -> (Repo, Agent) {
    let mut files = vec![
        ("app.txt", "one\n"),
        ("other.txt", "other\n"),
        ("CONTRIBUTING.md", "Words are lower case.\n"),
        ("check.sh", "! grep -q BROKEN app.txt\n"),
    ];
    if spec {
        files.push(("docs/spec.md", "The words are one, two and three.\n"));
    }
    let repo = Repo::with(&files);
    let agent = script.install(&repo, "scripted");
    repo.config(&format!("{extra}\n{CHECK}\n{}", agent.toml_for(&ROLES)));
    repo.write("app.txt", "one\nTWO\nTHREE\n");
    repo.commit("two more words");
    repo.fix_loop(["trust"]).expect(0);
    (repo, agent)
}

/// Everything of the user's that no run may touch.
#[derive(Debug, PartialEq)]
struct Checkout {
    tree: BTreeMap<PathBuf, Entry>,
    index: String,
    head: String,
    branch: String,
    refs: String,
    status: String,
}

fn checkout(repo: &Repo) -> Checkout {
    let refs = repo.git(["for-each-ref", "--format=%(refname) %(objectname)"]);
    let own = |line: &&str| !line.starts_with("refs/heads/fix-loop/") && !line.starts_with("refs/fix-loop/");
    Checkout {
        tree: repo.tree(),
        index: repo.git(["ls-files", "--stage", "-v"]),
        head: repo.head(),
        branch: repo.git(["symbolic-ref", "HEAD"]),
        refs: refs.lines().filter(own).collect::<Vec<_>>().join("\n"),
        status: repo.status(),
    }
}

fn said(title: &str, line: u32) -> Value {
    json!({
        "id": 1, "severity": "P1", "title": title, "body": title, "file": "app.txt", "line_start": line,
        "line_end": line, "confidence": 0.9, "criterion": "words are lower case", "verdict": "confirmed",
        "evidence": format!("line {line}"),
    })
}

fn axis(axis: &str) -> Value {
    json!({"role": "reviewer", "says": format!("along the {axis} axis")})
}

fn reviewed(findings: Value) -> Value {
    step::footer(json!({"schema_version": "v1", "findings": findings, "checks_run": []}))
}

/// Two reviewers with one finding each, and a checker that confirms both.
fn review() -> Script {
    Script::new()
        .when(axis("standards"), [reviewed(json!([said("TWO is in capitals", 2)]))])
        .when(axis("spec"), [reviewed(json!([said("THREE is in capitals", 3)]))])
        .on("checker", [step::consolidate(json!({}))])
}

fn fix_both() -> [Value; 5] {
    [
        step::edit("app.txt", "TWO", "two"),
        step::edit("app.txt", "THREE", "three"),
        step::commit("lower case"),
        step::footer(json!({"summary": "wrote both in lower case"})),
        json!({"stderr": ""}),
    ]
}

fn usual() -> Script {
    review().on("fixer", fix_both()).on("closer", [step::close(json!({}))])
}

fn roles(agent: &Agent) -> Vec<String> {
    agent.briefs().iter().map(|brief| brief["role"].as_str().expect("a role").to_owned()).collect()
}

fn run(repo: &Repo) -> fix_loop_tests::FixLoop {
    repo.fix_loop(["review"])
}

fn status(repo: &Repo) -> Value {
    repo.fix_loop(["status", "--format", "json"]).expect(0).json()
}

/// The one open question, which must be of this kind.
fn question(repo: &Repo, kind: &str) -> Value {
    let questions = status(repo)["questions"].clone();
    let all = questions.as_array().expect("a list");
    assert_eq!(all.len(), 1, "{questions:#}");
    assert_eq!(all[0]["kind"], kind, "{questions:#}");
    all[0].clone()
}

fn answer(repo: &Repo, question: &Value, choice: &str) -> fix_loop_tests::FixLoop {
    repo.fix_loop(["answer", question["id"].as_str().expect("an id"), choice])
}

/// Runs until the loop pauses, and gives its question, which holds every one of these.
#[track_caller]
fn pauses(repo: &Repo, holds: &[&str]) -> Value {
    let before = checkout(repo);
    let output = run(repo).expect(1);
    assert_eq!(checkout(repo), before);
    let question = question(repo, "pause");
    let detail = question["detail"].as_str().expect("a detail");
    for part in holds {
        assert!(detail.contains(part), "{part} is missing in\n{detail}\n{output}");
    }
    for part in ["Reason: ", "Worker: ", "Evidence: ", "Next action: "] {
        assert!(detail.contains(part), "{part} is missing in\n{detail}");
    }
    assert_eq!(parse_gate(detail).expect("a gate").verdict, Verdict::Paused);
    question
}

#[track_caller]
fn gate(output: &Output) -> Gate {
    parse_gate(&output.stderr).unwrap_or_else(|| panic!("no gate\n{output}"))
}

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
fn a_worker_that_lies_about_its_head_is_not_believed() {
    let script = review().on(
        "fixer",
        [
            step::edit("app.txt", "TWO", "two"),
            step::commit("two"),
            step::footer(json!({"head": "1234567123456712345671234567123456712345"})),
        ],
    );
    let (repo, _agent) = project(script, true, "");
    pauses(&repo, &["Pause: decision", "it says that the head is 1234567", "open_confirmed_findings: 2"]);
    let head = repo.git(["for-each-ref", "--format=%(objectname)", "refs/heads/fix-loop/"]);
    assert_eq!(head.trim(), repo.head(), "its commit is taken back");
}

#[test]
fn a_worker_that_leaves_a_dirty_tree_is_not_believed() {
    let script = review()
        .on_nth(
            "fixer",
            1,
            [
                step::edit("app.txt", "TWO", "two"),
                step::commit("two"),
                step::footer(json!({"tree": "clean"})),
                step::edit("app.txt", "THREE", "three"),
            ],
        )
        .on("fixer", fix_both())
        .on("closer", [step::close(json!({}))]);
    let (repo, _agent) = project(script, true, "");
    let paused = pauses(&repo, &["Pause: decision", "not clean"]);
    let output = answer(&repo, &paused, "Resume the loop").expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass, "{output}");
}

#[test]
fn a_worker_that_rewinds_the_branch_is_not_believed() {
    let script = review().on(
        "fixer",
        [
            step::run(&["git", "reset", "--quiet", "--hard", "HEAD~2"]),
            step::append("app.txt", "elsewhere\n"),
            step::commit("elsewhere"),
            step::footer(json!({})),
        ],
    );
    let (repo, _agent) = project(script, true, "");
    let before = checkout(&repo);
    run(&repo).expect(1);
    assert_eq!(checkout(&repo), before);
    // What it took away is asked about before anything is taken for a fix.
    let asked = question(&repo, "scope");
    assert!(asked["detail"].as_str().is_some_and(|text| text.contains("deleted file")), "{asked:#}");
}

#[test]
fn a_change_of_the_users_checkout_while_a_worker_works_is_named_and_left() {
    let script = review()
        .on("fixer", [step::mark("fixing"), step::wait_for("go")].into_iter().chain(fix_both()))
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let running = run(&repo).spawn();
    agent.reached("fixing");
    repo.write("other.txt", "somebody was here\n");
    agent.release("go");
    let output = running.wait();
    assert_eq!(gate(&output).verdict, Verdict::Pass, "{output}");
    assert!(output.stderr.contains("changed in your own checkout: other.txt"), "{output}");
    assert_eq!(repo.read("other.txt"), "somebody was here\n");
}

#[test]
fn a_missing_footer_is_a_pause_and_never_a_pass() {
    let script = review()
        .on_nth(
            "fixer",
            1,
            [step::edit("app.txt", "TWO", "two"), step::commit("two"), step::fixed("all done")],
        )
        .on("fixer", fix_both())
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let paused = pauses(&repo, &["Pause: transient"]);
    let output = answer(&repo, &paused, "1").expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass, "{output}");
    assert_eq!(roles(&agent).iter().filter(|role| *role == "reviewer").count(), 2);
}

#[test]
fn red_at_the_base_is_neither_blamed_on_the_fix_nor_called_green() {
    let (repo, _agent) = project(usual(), true, "");
    repo.write("check.sh", "exit 1\n");
    repo.commit("red");
    repo.write("app.txt", "one\nTWO\nTHREE\nand more\n");
    repo.commit("more words");
    let output = run(&repo).expect(0);
    assert_eq!(
        (gate(&output).verdict, gate(&output).open_confirmed_findings),
        (Verdict::Pass, 0),
        "{output}"
    );
    assert!(
        output.stderr.contains("FAIL, as at the base: not caused by the fixes, and not green"),
        "{output}"
    );
}

#[test]
fn a_validation_that_the_fix_breaks_counts_as_open() {
    let script = review()
        .on_nth(
            "fixer",
            1,
            [
                step::edit("app.txt", "TWO", "two BROKEN"),
                step::edit("app.txt", "THREE", "three"),
                step::commit("oops"),
                step::footer(json!({"validation": "PASS"})),
            ],
        )
        .on("fixer", [step::edit("app.txt", " BROKEN", ""), step::commit("mended"), step::footer(json!({}))])
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let output = run(&repo).expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass, "{output}");
    assert_eq!(roles(&agent).iter().filter(|role| *role == "fixer").count(), 2, "{output}");
}

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

/// The id of the question that asks whether to resume.
fn resume_id(output: &Output) -> String {
    let mut words = output.stderr.split([' ', ':', '\n']);
    words.find(|word| word.contains(".resume")).expect("a resume question").to_owned()
}

/// Kills the program while `role` works (its first dispatch waits), resumes, and passes.
fn killed_in(role: &str) {
    let mut script = Script::new();
    let gate_steps = [step::mark("there"), step::wait_for("never")];
    script = script.on_nth(role, 1, gate_steps);
    script = script
        .when(axis("standards"), [reviewed(json!([said("TWO is in capitals", 2)]))])
        .when(axis("spec"), [reviewed(json!([said("THREE is in capitals", 3)]))])
        .on("checker", [step::consolidate(json!({}))])
        .on("fixer", fix_both())
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let before = checkout(&repo);
    let running = run(&repo).spawn();
    agent.reached("there");
    running.kill();
    // Starting again reviews nothing: the interrupted loop is asked about.
    let output = run(&repo).expect(1);
    let asked = output
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("question ").or(line.split("question ").nth(1)));
    let id = asked.and_then(|rest| rest.split(':').next()).expect("a resume question").to_owned();
    assert!(id.contains("resume"), "{output}");
    let output = repo.fix_loop(["answer", &id, "1"]).expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass, "{output}");
    assert_eq!(checkout(&repo), before);
    let axes = agent
        .briefs()
        .iter()
        .filter(|brief| brief["role"] == "reviewer")
        .filter(|brief| brief["instructions"].as_str().is_some_and(|text| text.contains("standards axis")))
        .count();
    if role != "reviewer" {
        assert_eq!(axes, 1, "{:?}", roles(&agent));
    }
    assert_eq!(
        roles(&agent).iter().filter(|one| *one == role).count(),
        if role == "reviewer" { 4 } else { 2 }
    );
}

#[test]
fn killed_while_the_checker_works_it_resumes() {
    killed_in("checker");
}

#[test]
fn killed_while_the_fixer_works_it_resumes() {
    killed_in("fixer");
}

#[test]
fn killed_while_the_closer_works_it_resumes() {
    killed_in("closer");
}

#[test]
fn killed_during_the_review_both_axes_are_done_once_to_their_end() {
    let script = Script::new()
        .when(json!({"role": "reviewer", "nth": 1}), [step::mark("one"), step::wait_for("never")])
        .when(json!({"role": "reviewer", "nth": 2}), [step::mark("two"), step::wait_for("never")])
        .when(axis("standards"), [reviewed(json!([said("TWO is in capitals", 2)]))])
        .when(axis("spec"), [reviewed(json!([said("THREE is in capitals", 3)]))])
        .on("checker", [step::consolidate(json!({}))])
        .on("fixer", fix_both())
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let running = run(&repo).spawn();
    agent.reached("one");
    agent.reached("two");
    running.kill();
    let output = run(&repo).expect(1);
    assert_eq!(agent.briefs().len(), 2, "{output}");
    let output = repo.fix_loop(["answer", &resume_id(&output), "1"]).run();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(roles(&agent), ["reviewer", "reviewer", "reviewer", "reviewer", "checker", "fixer", "closer"]);
}

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
    let script = review()
        .on("fixer", [step::mark("fixing"), step::wait_for("go")].into_iter().chain(fix_both()))
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
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
fn a_pull_requests_comments_are_checked_before_they_are_fixed() {
    let (repo, agent) = project(usual(), true, "");
    let comment = |id: u32, body: &str, line: Value| {
        json!({
            "id": id, "path": "app.txt", "line": line, "original_line": 2, "side": "RIGHT", "body": body,
            "user": {"login": "someone"}, "html_url": format!("https://github.com/o/r/pull/7#discussion_r{id}"),
            "diff_hunk": "@@ -1 +1,3 @@\n one\n+TWO\n+THREE", "subject_type": "line",
        })
    };
    let payload = json!([
        comment(1, "**P1** TWO is in capitals", json!(2)),
        comment(2, "**P1** an old comment", Value::Null),
    ]);
    let bin = repo.outside().join("bin");
    std::fs::create_dir_all(&bin).expect("a fresh folder");
    std::fs::write(bin.join("payload.json"), payload.to_string()).expect("the folder can be written");
    let gh = bin.join("gh");
    let shell = format!("#!/bin/sh\necho \"$@\" > '{0}/called'\ncat '{0}/payload.json'\n", bin.display());
    std::fs::write(&gh, shell).expect("the folder can be written");
    std::fs::set_permissions(&gh, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").expect("a PATH"));
    let before = checkout(&repo);
    let output = repo
        .fix_loop([
            "run",
            "--protocol",
            "converge",
            "--from-pr",
            "https://github.com/o/r/pull/7",
            "--format",
            "json",
        ])
        .env("PATH", path)
        .run();
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(checkout(&repo), before);
    let called = std::fs::read_to_string(bin.join("called")).expect("gh was called");
    assert!(called.contains("repos/o/r/pulls/7/comments"), "{called}");
    assert_eq!(roles(&agent), ["checker", "fixer", "closer"], "the comments replace the review\n{output}");
    let given = agent.briefs()[0]["findings"].clone();
    assert_eq!(given.as_array().map(Vec::len), Some(1), "outdated ones are not worked on: {given:#}");
    assert_eq!(given[0]["verdict"], Value::Null, "nobody has confirmed it yet");
    let report = output.json();
    assert_eq!(report["gate"]["verdict"], "PASS");
    assert_eq!(report["resolved"].as_array().map(Vec::len), Some(1), "{report:#}");
}
