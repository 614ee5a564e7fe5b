//! Killed at every point, and resumed: it ends as it would have, and nothing that was done is done again.

use fix_loop_tests::HeldCheck;

use super::*;

/// Where the loop is when the program is killed.
#[derive(Clone, Copy, Debug)]
enum At {
    /// The n-th run of the validation.
    Validation(u32),
    /// The n-th worker of this role, after it has done everything but report.
    Worker(&'static str, u32),
    /// Both axes are out.
    Review,
}

/// What the workers of an undisturbed loop are, one fix that does not suffice included.
const USUAL: [&str; 7] = ["reviewer", "reviewer", "checker", "fixer", "closer", "recoverer", "closer"];

/// Every phase of the machine in which something is under way.
const POINTS: [(&str, At); 9] = [
    ("preparing", At::Validation(1)),
    ("reviewing", At::Review),
    ("checking findings", At::Worker("checker", 1)),
    ("fixing", At::Worker("fixer", 1)),
    ("inspecting", At::Validation(2)),
    ("closing", At::Worker("closer", 1)),
    ("recovering", At::Worker("recoverer", 1)),
    ("inspecting", At::Validation(3)),
    ("closing", At::Worker("closer", 2)),
];

fn work_of(role: &str) -> Vec<Value> {
    match role {
        "fixer" => vec![step::edit("app.txt", "TWO", "two"), step::commit("two")],
        "recoverer" => vec![step::edit("app.txt", "THREE", "three"), step::commit("three")],
        _ => vec![],
    }
}

fn script(at: At) -> Script {
    let stop = [step::mark("there"), step::wait_for("never")];
    let script = match at {
        At::Worker(role, nth) => Script::new().on_nth(role, nth, work_of(role).into_iter().chain(stop)),
        At::Review => Script::new()
            .on_nth("reviewer", 1, [step::mark("there"), step::wait_for("never")])
            .on_nth("reviewer", 2, [step::mark("both"), step::wait_for("never")]),
        At::Validation(_) => Script::new(),
    };
    let reports = |role| work_of(role).into_iter().chain([step::footer(json!({"summary": role}))]);
    script
        .when(axis("standards"), [reviewed(json!([said("TWO is in capitals", 2)]))])
        .when(axis("spec"), [reviewed(json!([said("THREE is in capitals", 3)]))])
        .on("checker", [step::consolidate(json!({}))])
        .on("fixer", reports("fixer"))
        .on("recoverer", reports("recoverer"))
        .on_round("closer", 1, [step::close(json!({"standards-1": "OPEN", "standards-2": "OPEN"}))])
        .on("closer", [step::close(json!({}))])
}

/// A loop that was killed at a point, and its program.
fn killed(at: At) -> (Repo, Agent, HeldCheck) {
    let (repo, agent, check) = project_with(script(at), true, "", |repo| {
        let check = HeldCheck::install(repo);
        (check.toml(), check)
    });
    if let At::Validation(run) = at {
        check.hold(run);
    }
    let running = run(&repo).spawn();
    match at {
        At::Validation(run) => check.reached(run),
        At::Worker(..) => agent.reached("there"),
        At::Review => {
            agent.reached("there");
            agent.reached("both");
        }
    }
    running.kill();
    (repo, agent, check)
}

/// Everything but the loop's own branches, and what is not there any more when a loop has passed.
fn leftovers(repo: &Repo) -> String {
    let worktrees = repo.git(["worktree", "list", "--porcelain"]);
    let branches = repo.git(["for-each-ref", "--format=%(refname:short)", "refs/heads/fix-loop/"]);
    format!("{} worktrees; {}", worktrees.matches("worktree ").count(), branches.trim())
}

#[test]
fn killed_in_every_phase_it_resumes_and_ends_as_it_would_have() {
    for (phase, at) in POINTS {
        let (repo, agent, check) = killed(at);
        let before = checkout(&repo);
        let status = status(&repo);
        assert_eq!(status["loops"][0]["state"], "interrupted", "{phase} {at:?}: {status:#}");
        let dispatched = agent.briefs().len();
        // Starting again does nothing by itself: what was interrupted is asked about.
        let output = run(&repo).expect(1);
        assert_eq!(agent.briefs().len(), dispatched, "{phase} {at:?}: {output}");
        let asked = question(&repo, "resume");
        assert!(
            asked["detail"].as_str().is_some_and(|text| text.contains(phase)),
            "{phase} {at:?}: {asked:#}"
        );
        let output = answer(&repo, &asked, "Resume the loop").run();
        assert_eq!(output.code, Some(0), "{phase} {at:?}: {output}");
        let gate = gate(&output);
        assert_eq!((gate.verdict, gate.open_confirmed_findings), (Verdict::Pass, 0), "{phase} {at:?}");
        assert_eq!(repo.git(["show", &format!("{}:app.txt", gate.final_head)]), "one\ntwo\nthree\n");
        let commits = repo.git(["rev-list", &format!("HEAD..{}", gate.final_head)]);
        assert_eq!(commits.lines().count(), 2, "{phase} {at:?}: each fix is committed once");
        assert_eq!(checkout(&repo), before, "{phase} {at:?}");
        assert_eq!(leftovers(&repo), "1 worktrees; fix-loop/L1", "{phase} {at:?}");
        let mut expected: Vec<&str> = USUAL.to_vec();
        match at {
            At::Validation(_) => {}
            At::Worker(role, nth) => {
                let place = expected.iter().enumerate().filter(|(_, one)| **one == role);
                let at = place.map(|(at, _)| at).nth(nth as usize - 1).expect("it is there");
                expected.insert(at, role);
            }
            At::Review => drop(expected.splice(0..0, ["reviewer", "reviewer"])),
        }
        assert_eq!(roles(&agent), expected, "{phase} {at:?}: only what was interrupted is done again");
        let runs = if matches!(at, At::Validation(_)) { 4 } else { 3 };
        assert_eq!(check.runs(), runs, "{phase} {at:?}");
    }
    println!("killed and resumed at {} points", POINTS.len());
}

#[test]
fn killed_in_a_phase_and_given_up_the_checkout_is_as_it_was_and_the_loop_is_over() {
    for (phase, at) in [POINTS[0], POINTS[3], POINTS[4]] {
        let (repo, agent, _check) = killed(at);
        let before = checkout(&repo);
        let dispatched = agent.briefs().len();
        run(&repo).expect(1);
        let output = answer(&repo, &question(&repo, "resume"), "Restore and stop").expect(1);
        assert_eq!(gate(&output).verdict, Verdict::Paused, "{phase}");
        assert_eq!(checkout(&repo), before, "{phase}");
        assert_eq!(agent.briefs().len(), dispatched, "{phase}");
        assert_eq!(leftovers(&repo), "1 worktrees; ", "{phase}: nothing of it stays");
        assert!(!repo.exists(".fix-loop/worktrees"), "{phase}");
    }
}

#[test]
fn an_axis_that_has_reported_is_not_reviewed_again() {
    let script = Script::new()
        .when(
            json!({"role": "reviewer", "says": "along the spec axis", "nth": 1}),
            [step::mark("spec"), step::wait_for("never")],
        )
        .when(
            json!({"role": "reviewer", "says": "along the spec axis", "nth": 2}),
            [step::mark("spec"), step::wait_for("never")],
        )
        .when(axis("standards"), [reviewed(json!([said("TWO is in capitals", 2)]))])
        .when(axis("spec"), [reviewed(json!([said("THREE is in capitals", 3)]))])
        .on("checker", [step::consolidate(json!({}))])
        .on("fixer", fix_both())
        .on("closer", [step::close(json!({}))]);
    let (repo, agent) = project(script, true, "");
    let running = run(&repo).spawn();
    agent.reached("spec");
    // Its own report is in the ledger: nothing but that says that it counts.
    let ledger = repo.path(".git/fix-loop/ledger.jsonl");
    let began = std::time::Instant::now();
    while !std::fs::read_to_string(&ledger).unwrap_or_default().contains("axis_reviewed") {
        assert!(began.elapsed() < fix_loop_tests::DEADLINE, "the standards axis never reported");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    running.kill();
    run(&repo).expect(1);
    let output = answer(&repo, &question(&repo, "resume"), "1").expect(0);
    assert_eq!(gate(&output).verdict, Verdict::Pass);
    let along = |axis: &str| {
        let text = format!("along the {axis} axis");
        let briefs = agent.briefs();
        briefs
            .iter()
            .filter(|brief| brief["instructions"].as_str().is_some_and(|said| said.contains(&text)))
            .count()
    };
    assert_eq!((along("standards"), along("spec")), (1, 2));
}

#[test]
fn what_an_interrupted_worker_did_in_the_users_checkout_is_named_when_the_loop_goes_on() {
    let trespass = [
        step::append("../../../other.txt", "a worker was here\n"),
        step::mark("there"),
        step::wait_for("never"),
    ];
    let (repo, agent) = project(Script::new().on_nth("fixer", 1, trespass).and(usual()), true, "");
    let running = run(&repo).spawn();
    agent.reached("there");
    running.kill();
    run(&repo).expect(1);
    let output = answer(&repo, &question(&repo, "resume"), "1").expect(0);
    assert!(output.stderr.contains("this changed in your own checkout: other.txt"), "{output}");
    assert_eq!(
        repo.read("other.txt"),
        "other\na worker was here\n",
        "whose it is only the user knows by now"
    );
}
