//! Killed at every point, and resumed: it ends as it would have, and nothing that was done is done again.

use fix_loop_tests::HeldCheck;

use super::*;

/// Where the loop is when the program is killed.
#[derive(Clone, Copy, Debug)]
enum At {
    /// The n-th run of the check: before the fix, and after each attempt.
    Check(u32),
    /// The n-th worker of this role, after it has done everything but report.
    Worker(&'static str, u32),
}

const FOUR: [&str; 4] = ["fixer", "reviewer", "diagnoser", "final_gate"];

/// What the workers of an undisturbed loop are: a diagnosis first, one that follows a BLOCKED, and a gate at the end.
const USUAL: [&str; 7] = ["diagnoser", "fixer", "reviewer", "diagnoser", "fixer", "reviewer", "final_gate"];

/// Every phase of the machine in which something is under way for longer than a moment.
const POINTS: [(&str, At); 10] = [
    ("looking first", At::Worker("diagnoser", 1)),
    ("checking before", At::Check(1)),
    ("fixing", At::Worker("fixer", 1)),
    ("checking", At::Check(2)),
    ("reviewing", At::Worker("reviewer", 1)),
    ("diagnosing", At::Worker("diagnoser", 2)),
    ("fixing", At::Worker("fixer", 2)),
    ("checking", At::Check(3)),
    ("reviewing", At::Worker("reviewer", 2)),
    ("final gate", At::Worker("final_gate", 1)),
];

fn work_of(role: &str, nth: u32) -> Vec<Value> {
    match (role, nth) {
        ("fixer", 1) => vec![step::edit("app.txt", "TWO", "Two")],
        ("fixer", _) => vec![step::edit("app.txt", "Two", "two")],
        _ => vec![],
    }
}

fn script(at: At) -> Script {
    let script = match at {
        At::Worker(role, nth) => {
            let stop = [step::mark("there"), step::wait_for("never")];
            Script::new().on_nth(role, nth, work_of(role, nth).into_iter().chain(stop))
        }
        At::Check(_) => Script::new(),
    };
    let fix = |nth| work_of("fixer", nth).into_iter().chain([step::fixed("an attempt")]);
    script
        .on_round("fixer", 1, fix(1))
        .on_round("fixer", 2, fix(2))
        .on_round("reviewer", 1, [verdict("BLOCKED", json!([gap("cannot go on")]))])
        .on("reviewer", [ship()])
        .on("final_gate", [ship()])
        .when(
            json!({"role": "diagnoser", "says": "before the first attempt"}),
            [diagnosis("ambiguous-spec", json!({}))],
        )
        .on("diagnoser", [diagnosis("missing-context", json!({"needs": "the list of words"}))])
}

/// A loop that was killed at a point.
fn killed(at: At) -> (Repo, Agent, HeldCheck) {
    let (repo, agent, check) = project_with(script(at), &FOUR, "", |repo| {
        let check = HeldCheck::install(repo);
        (check.toml(), check)
    });
    if let At::Check(run) = at {
        check.hold(run);
    }
    let running = run(&repo).spawn();
    match at {
        At::Check(run) => check.reached(run),
        At::Worker(..) => agent.reached("there"),
    }
    running.kill();
    (repo, agent, check)
}

#[test]
fn killed_in_every_phase_it_resumes_and_ends_as_it_would_have() {
    for (phase, at) in POINTS {
        let (repo, agent, check) = killed(at);
        let dispatched = agent.briefs().len();
        let output = run(&repo).expect(1);
        assert_eq!(agent.briefs().len(), dispatched, "{phase} {at:?}: {output}");
        let asked = question(&repo, "resume");
        assert!(
            asked["detail"].as_str().is_some_and(|text| text.contains(phase)),
            "{phase} {at:?}: {asked:#}"
        );
        if let At::Check(run) = at {
            check.release(run);
        }
        let output = answer(&repo, &asked, "Resume the loop").run();
        assert_eq!(output.code, Some(0), "{phase} {at:?}: {output}");
        ends_as(&output, "done");
        let mut expected: Vec<&str> = USUAL.to_vec();
        if let At::Worker(role, nth) = at {
            let place = expected.iter().enumerate().filter(|(_, one)| **one == role);
            let at = place.map(|(at, _)| at).nth(nth as usize - 1).expect("it is there");
            expected.insert(at, role);
        }
        assert_eq!(roles(&agent), expected, "{phase} {at:?}: only what was interrupted is done again");
        assert_eq!(check.runs(), if matches!(at, At::Check(_)) { 4 } else { 3 }, "{phase} {at:?}");
        assert_eq!(repo.read("app.txt"), "one\ntwo\nthree\n", "{phase} {at:?}");
        assert_eq!(repo.status(), "M  app.txt\n", "{phase} {at:?}: staged, and nothing else");
        assert_eq!(fixers(&agent).last().expect("a fixer")["round"], 2, "{phase} {at:?}");
    }
    println!("killed and resumed at {} points", POINTS.len());
}
