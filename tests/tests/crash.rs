//! The program is ended, as by `kill -9`, at every write that it makes: ledger lines (also half written), objects, files,
//! index entries. Afterwards nothing of the user's may be missing, whether they resume or restore.

use fix_loop_tests::{Agent, Output, Repo, Script, finding, step};

/// Status, staged diff, unstaged diff, and the file itself.
type Seen = (String, String, String, String);

const BEFORE: &str = "one\nBAD line\nthree\nfour\nfive, staged by me\nsix\nseven, not staged\n";

struct Project {
    repo: Repo,
    _agent: Agent,
}

/// A finding in a file where the user has a staged and an unstaged hunk of their own; the first attempt is not enough.
fn project() -> Project {
    let app = "one\nBAD line\nthree\nfour\nfive\nsix\nseven\n";
    let repo = Repo::with(&[("app.txt", app), ("check.sh", "! grep -q BAD app.txt\n")]);
    let agent = Script::new()
        .on_round(
            "fixer",
            1,
            [step::edit("app.txt", "three", "three, touched"), step::fixed("something else")],
        )
        .on_round(
            "fixer",
            2,
            [step::edit("app.txt", "BAD line", "GOOD line"), step::fixed("the word is gone")],
        )
        .on("verifier", [step::judge("rejected", "the word is gone")])
        .install(&repo, "scripted");
    repo.config(&format!(
        "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\n\n{}",
        agent.toml_for(&["fixer", "verifier"])
    ));
    repo.write("app.txt", app.replace("five", "five, staged by me"));
    repo.git(["add", "app.txt"]);
    repo.write("app.txt", BEFORE);
    repo.findings(&[finding("f1", "app.txt", 2, "BAD is a word that must go")]);
    Project { repo, _agent: agent }
}

impl Project {
    fn run(&self, variables: &[(&str, String)]) -> Output {
        let arguments = ["run", "--trust", "--answer", "recommended", "--format", "json"];
        let program = self.repo.fix_loop(arguments);
        variables.iter().fold(program, |program, (name, value)| program.env(name, value.clone())).run()
    }

    fn seen(&self) -> Seen {
        (self.repo.status(), self.repo.diff_cached(), self.repo.diff(), self.repo.read("app.txt"))
    }
}

/// Counts the writes of a whole run, and gives them with what was seen before and after it.
fn whole_run() -> (Vec<String>, Seen, Seen) {
    let whole = project();
    let start = whole.seen();
    let log = whole.repo.outside().join("points");
    let output = whole.run(&[("FIX_LOOP_FAULT_COUNT", log.display().to_string())]);
    assert_eq!(output.code, Some(0), "{output}");
    let points = std::fs::read_to_string(&log).expect("points were passed");
    (points.lines().map(str::to_owned).collect(), start, whole.seen())
}

/// Kills a run at each of the writes that `wanted` picks, and gives the project that is left.
fn kill_at_each(
    points: &[String],
    end: &Seen,
    wanted: impl Fn(usize) -> bool,
    mut left: impl FnMut(&Project, &str),
) -> usize {
    let mut killed = 0;
    for (index, name) in points.iter().enumerate().filter(|(index, _)| wanted(*index)) {
        let project = project();
        let at = format!("point {} of {} ({name})", index + 1, points.len());
        let output = project.run(&[("FIX_LOOP_FAULT", (index + 1).to_string())]);
        if output.code.is_some() {
            // Two writers may pass their points in another order; a run that passed fewer ended well.
            assert_eq!((output.code, &project.seen()), (Some(0), end), "{at}: {output}");
            continue;
        }
        killed += 1;
        assert_eq!(project.repo.git(["fsck", "--no-dangling"]), "", "{at}");
        left(&project, &at);
    }
    killed
}

#[test]
fn a_run_killed_at_any_write_resumes_to_the_same_end() {
    let (points, _, end) = whole_run();
    let killed = kill_at_each(
        &points,
        &end,
        |index| index % 2 == 0,
        |project, at| {
            let output = project.run(&[]);
            assert_eq!((output.code, &project.seen()), (Some(0), &end), "{at}, resumed: {output}");
        },
    );
    println!("{} kill points: {killed} killed and resumed", points.len());
    assert!(killed > points.len() / 3, "{killed} of {}", points.len());
}

#[test]
fn a_run_killed_at_any_write_restores_to_the_same_start() {
    let (points, start, end) = whole_run();
    let mut restored = 0;
    let killed = kill_at_each(
        &points,
        &end,
        |index| index % 2 == 1,
        |project, at| {
            let status = project.repo.fix_loop(["status", "--format", "json"]).expect(0).json();
            let questions = status["questions"].as_array().expect("a list").clone();
            if let Some(question) = questions.iter().find(|question| question["kind"] == "resume") {
                let id = question["id"].as_str().expect("an id");
                let output = project.repo.fix_loop(["answer", id, "Restore and stop"]).run();
                assert_eq!((output.code, &project.seen()), (Some(1), &start), "{at}, restored: {output}");
                restored += 1;
            } else {
                // Killed before anything was begun, or after everything had ended.
                assert!([&start, &end].contains(&&project.seen()), "{at}: {:?}", project.seen());
            }
        },
    );
    println!("{} kill points: {killed} killed, {restored} restored", points.len());
    assert!(restored > points.len() / 3, "{restored} of {}", points.len());
}
