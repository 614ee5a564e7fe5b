//! The program is ended, as by `kill -9`, at every write that it makes (ledger lines, also half written, objects, files, index
//! entries) and between every two of its actions. Afterwards nothing of the user's may be missing, whether they resume or
//! restore.

use std::collections::BTreeMap;
use std::path::PathBuf;

use fix_loop_tests::{Agent, DEADLINE, Entry, Output, Repo, Script, finding, step};
use serde_json::json;

/// Every byte; the index with its flags; status; staged and unstaged diff.
type Seen = (BTreeMap<PathBuf, Entry>, String, String, String, String);

const APP: &str = "one\nBAD line\nthree\nfour\nfive\nsix\nseven\n";

struct Project {
    repo: Repo,
    agent: Agent,
    protocol: &'static str,
}

/// Finding and tree of the user's, by a script: they have a staged and an unstaged hunk of their own in the very file, and one
/// in another, and files that git was never told of.
fn project(script: Script, check: &str, protocol: &'static str) -> Project {
    let repo =
        Repo::with(&[("app.txt", APP), ("other.txt", "other\n"), ("tool.sh", "tool\n"), ("check.sh", check)]);
    let agent = script.install(&repo, "scripted");
    let table = "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\n\n";
    repo.config(&format!("{table}{}", agent.toml_for(&["fixer", "verifier", "reviewer"])));
    repo.write("app.txt", APP.replace("five", "five, staged by me"));
    repo.git(["add", "app.txt"]);
    repo.write("app.txt", APP.replace("five", "five, staged by me").replace("seven", "seven, not staged"));
    repo.write("other.txt", "other\nmine\n");
    repo.write("mine.txt", "untracked\n");
    repo.findings(&[finding("f1", "app.txt", 2, "BAD is a word that must go")]);
    Project { repo, agent, protocol }
}

const CHECK: &str = "! grep -q BAD app.txt\n";

/// The first attempt is not enough.
fn two_rounds() -> Project {
    let script = Script::new()
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
        .on("verifier", [step::judge("rejected", "the word is gone")]);
    project(script, CHECK, "bounded")
}

/// The fix reaches beyond its scope, which is asked about and approved; git is told of it, which is taken back.
fn beyond_the_scope() -> Project {
    let script = Script::new().on(
        "fixer",
        [
            step::edit("app.txt", "BAD line", "GOOD line"),
            step::append("other.txt", "GOOD here, too\n"),
            step::mode("tool.sh", "755"),
            step::run(&["git", "add", "other.txt"]),
            step::fixed("in both"),
        ],
    );
    project(script, CHECK, "bounded")
}

/// Neither attempt is enough, so that everything is put back.
fn put_back() -> Project {
    let script = Script::new()
        .on_round("fixer", 1, [step::edit("app.txt", "three", "three, touched"), step::fixed("a try")])
        .on_round("fixer", 2, [step::edit("app.txt", "four", "four, touched"), step::fixed("another")])
        .on("verifier", [step::judge("confirmed", "it is there")]);
    project(script, CHECK, "bounded")
}

fn reviewed() -> Project {
    let ship = json!({"verdict": "SHIP", "gaps": [], "evidence": "read it", "validation": []});
    let script = Script::new()
        .on("fixer", [step::edit("app.txt", "BAD line", "GOOD line"), step::fixed("the word is gone")])
        .on("reviewer", [step::report(ship)]);
    project(script, CHECK, "rereview")
}

impl Project {
    fn run(&self, variables: &[(&str, String)]) -> Output {
        let arguments =
            ["run", "--trust", "--protocol", self.protocol, "--answer", "recommended", "--format", "json"];
        let program = self.repo.fix_loop(arguments);
        variables.iter().fold(program, |program, (name, value)| program.env(name, value.clone())).run()
    }

    fn seen(&self) -> Seen {
        let repo = &self.repo;
        // The configuration names a folder of its own in each project.
        let mut tree = repo.tree();
        tree.remove(std::path::Path::new("fix-loop.toml"));
        let (index, _, _) = repo.git_state();
        let index =
            index.lines().filter(|line| !line.ends_with("fix-loop.toml")).collect::<Vec<_>>().join("\n");
        (tree, index, repo.status(), repo.diff_cached(), repo.diff())
    }

    /// The question about what was interrupted, if it is asked.
    fn resume_question(&self) -> Option<String> {
        self.open_question().filter(|(kind, _)| kind == "resume").map(|(_, id)| id)
    }

    /// Kind and id of the first open question.
    fn open_question(&self) -> Option<(String, String)> {
        let status = self.repo.fix_loop(["status", "--format", "json"]).expect(0).json();
        let open = status["questions"].as_array().expect("a list").first()?;
        let word = |key: &str| open[key].as_str().expect("text").to_owned();
        Some((word("kind"), word("id")))
    }
}

/// A run from its beginning to its end, and the points that it passed.
struct Whole {
    make: fn() -> Project,
    points: Vec<String>,
    start: Seen,
    end: Seen,
    code: Option<i32>,
}

fn whole(make: fn() -> Project) -> Whole {
    let project = make();
    let start = project.seen();
    let log = project.repo.outside().join("points");
    let output = project.run(&[("FIX_LOOP_FAULT_COUNT", log.display().to_string())]);
    let points = std::fs::read_to_string(&log).expect("points were passed");
    let points = points.lines().map(str::to_owned).collect();
    Whole { make, points, start, end: project.seen(), code: output.code }
}

/// What differs, where it is not known at once from where.
fn differences(one: &Seen, other: &Seen) -> String {
    let mut said = String::new();
    for path in one.0.keys().chain(other.0.keys()).collect::<std::collections::BTreeSet<_>>() {
        let shown = |entry: Option<&Entry>| match entry {
            Some(Entry::File { bytes, executable }) => {
                format!("{:?} {executable}", String::from_utf8_lossy(bytes))
            }
            other => format!("{other:?}"),
        };
        if one.0.get(path) != other.0.get(path) {
            said.push_str(&format!(
                "{path:?}: {} but {}\n",
                shown(one.0.get(path)),
                shown(other.0.get(path))
            ));
        }
    }
    for (one, other) in [(&one.1, &other.1), (&one.2, &other.2), (&one.3, &other.3), (&one.4, &other.4)] {
        if one != other {
            said.push_str(&format!("{one}\nbut\n{other}\n"));
        }
    }
    said
}

/// What the user does afterwards.
#[derive(Clone, Copy, PartialEq)]
enum Then {
    Resume,
    Restore,
}

#[derive(Default)]
struct Counts {
    killed: usize,
    resumed: usize,
    restored: usize,
}

impl Whole {
    /// Kills a run at a point, resumes or restores, and compares.
    fn kill_at(&self, index: usize, then: Then, counts: &mut Counts) {
        let project = (self.make)();
        let (_, refs, head) = project.repo.git_state();
        let at = format!("point {} of {} ({})", index + 1, self.points.len(), self.points[index]);
        let output = project.run(&[("FIX_LOOP_FAULT", (index + 1).to_string())]);
        if output.code.is_some() {
            // Two writers may pass their points in another order; a run that passed fewer ended well.
            let differs = differences(&project.seen(), &self.end);
            assert_eq!((output.code, differs.as_str()), (self.code, ""), "{at}: {output}");
            return;
        }
        counts.killed += 1;
        assert_eq!(project.repo.git(["fsck", "--no-dangling"]), "", "{at}");
        if then == Then::Resume {
            let mut output = project.run(&[]);
            // Killed while it was asking: what is open is then the user's to answer.
            while let Some((_, id)) = project.open_question() {
                output = project.repo.fix_loop(["answer", &id, "1", "--format", "json"]).run();
            }
            let differs = differences(&project.seen(), &self.end);
            assert_eq!((output.code, differs.as_str()), (self.code, ""), "{at}, resumed: {output}");
            counts.resumed += 1;
        } else if let Some(id) = project.resume_question() {
            let output = project.repo.fix_loop(["answer", &id, "Restore and stop"]).run();
            let differs = differences(&project.seen(), &self.start);
            assert_eq!((output.code, differs.as_str()), (Some(1), ""), "{at}, restored: {output}");
            counts.restored += 1;
        } else if project.open_question().is_none() {
            // Killed before anything was begun, or after everything had ended. (While a question is open, what was done
            // stays where it is.)
            let seen = project.seen();
            assert!([&self.start, &self.end].contains(&&seen), "{at}: {}", differences(&seen, &self.end));
        }
        assert!(!project.repo.exists(".git/index.lock"), "{at}");
        let (_, refs_now, head_now) = project.repo.git_state();
        assert_eq!((refs_now, head_now), (refs, head), "{at}");
    }
}

fn report(what: &str, whole: &Whole, counts: &Counts) {
    println!(
        "kill points, {what}: {} passed, {} killed, {} resumed, {} restored",
        whole.points.len(),
        counts.killed,
        counts.resumed,
        counts.restored
    );
}

fn is_action(name: &str) -> bool {
    name.ends_with(" begins") || name.ends_with(" ended")
}

#[test]
fn a_run_killed_at_any_write_resumes_to_the_same_end() {
    let whole = whole(two_rounds);
    assert_eq!(whole.code, Some(0));
    let mut counts = Counts::default();
    for index in (0..whole.points.len()).filter(|index| index % 2 == 0 || is_action(&whole.points[*index])) {
        whole.kill_at(index, Then::Resume, &mut counts);
    }
    report("two rounds", &whole, &counts);
    assert!(counts.resumed > whole.points.len() / 3);
}

#[test]
fn a_run_killed_at_any_write_restores_to_the_same_start() {
    let whole = whole(two_rounds);
    let mut counts = Counts::default();
    for index in (0..whole.points.len()).filter(|index| index % 2 == 1 || is_action(&whole.points[*index])) {
        whole.kill_at(index, Then::Restore, &mut counts);
    }
    report("two rounds", &whole, &counts);
    assert!(counts.restored > whole.points.len() / 3);
}

/// Between any two actions both ways; at each third of the writes to files, index and refs one of them by turns.
fn kill_between_actions(what: &str, make: fn() -> Project, code: i32, writes: bool) {
    let whole = whole(make);
    assert_eq!(whole.code, Some(code));
    let mut counts = Counts::default();
    let writes = |name: &str| {
        writes
            && (["file.", "index.", "restore."].iter().any(|start| name.starts_with(start))
                || name == "keep.after")
    };
    for (index, name) in whole.points.iter().enumerate() {
        if is_action(name) {
            whole.kill_at(index, Then::Resume, &mut counts);
            whole.kill_at(index, Then::Restore, &mut counts);
        } else if writes(name) && index % 3 == 0 {
            let then = if index % 2 == 0 { Then::Resume } else { Then::Restore };
            whole.kill_at(index, then, &mut counts);
        }
    }
    report(what, &whole, &counts);
    assert!(counts.resumed > 5 && counts.restored > 5, "{:?}", whole.points);
}

#[test]
fn a_run_that_asks_for_more_scope_is_killed_between_any_two_actions() {
    kill_between_actions("scope question", beyond_the_scope, 0, true);
}

#[test]
fn a_run_that_puts_everything_back_is_killed_between_any_two_actions() {
    kill_between_actions("restore", put_back, 1, true);
}

#[test]
fn a_rereview_run_is_killed_between_any_two_actions() {
    kill_between_actions("rereview", reviewed, 0, false);
}

/// A check that writes into the tree and, the first time, waits to be killed.
fn writing_check() -> Project {
    let script = Script::new()
        .on("fixer", [step::edit("app.txt", "BAD line", "GOOD line"), step::fixed("the word is gone")]);
    let check = "echo checked >>other.txt\necho made >made.txt\n\
                 if ! grep -q BAD app.txt && [ ! -e ../waited ]; then : >../waited; exec sleep 1000; fi\n\
                 ! grep -q BAD app.txt\n";
    project(script, check, "bounded")
}

#[test]
fn a_run_killed_while_a_check_writes_loses_what_the_check_wrote_and_nothing_else() {
    let resumed = || {
        let project = writing_check();
        std::fs::write(project.repo.outside().join("waited"), "").expect("a file");
        let output = project.run(&[]);
        assert_eq!(output.code, Some(0), "{output}");
        project.seen()
    };
    for then in [Then::Resume, Then::Restore] {
        let project = writing_check();
        let start = project.seen();
        let arguments = ["run", "--trust", "--answer", "recommended", "--format", "json"];
        let running = project.repo.fix_loop(arguments).spawn();
        let began = std::time::Instant::now();
        while !project.repo.outside().join("waited").exists() {
            assert!(began.elapsed() < DEADLINE, "the check never ran");
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        running.kill();
        assert_ne!(project.seen(), start);
        if then == Then::Resume {
            let output = project.run(&[]);
            assert_eq!((output.code, project.seen()), (Some(0), resumed()), "{output}");
        } else {
            let id = project.resume_question().expect("it was interrupted");
            let output = project.repo.fix_loop(["answer", &id, "Restore and stop"]).run();
            assert_eq!((output.code, project.seen()), (Some(1), start), "{output}");
            assert!(output.stderr.contains("made.txt"), "what was undone is named: {output}");
        }
    }
}

#[test]
fn what_the_user_does_while_the_question_about_an_interrupted_loop_is_open_stays() {
    let project = writing_check();
    let running = project.repo.fix_loop(["run", "--trust", "--answer", "none", "--format", "json"]).spawn();
    let began = std::time::Instant::now();
    while !project.repo.outside().join("waited").exists() {
        assert!(began.elapsed() < DEADLINE, "the check never ran");
        std::thread::sleep(std::time::Duration::from_millis(5));
    }
    running.kill();
    let asked = project.repo.fix_loop(["run", "--answer", "none", "--format", "json"]).expect(1).json();
    assert_eq!(asked["waiting"], json!(["f1"]));
    project.repo.write("later.txt", "written afterwards\n");
    project.repo.write("tool.sh", "tool, changed afterwards\n");
    project.repo.git(["add", "tool.sh"]);
    let id = project.resume_question().expect("it was interrupted");
    let output = project.repo.fix_loop(["answer", &id, "Restore and stop"]).run();
    assert_eq!(project.repo.read("later.txt"), "written afterwards\n", "{output}");
    assert_eq!(project.repo.staged("tool.sh"), "tool, changed afterwards\n", "{output}");
    assert!(!project.repo.exists("made.txt"), "{output}");
    assert_eq!(project.repo.read("other.txt"), "other\nmine\n", "{output}");
}

#[test]
fn an_undo_killed_at_any_write_is_done_by_the_next_one() {
    let fixed = || {
        let project = two_rounds();
        let start = project.seen();
        let output = project.run(&[]);
        assert_eq!(output.code, Some(0), "{output}");
        (project, start)
    };
    let (project, start) = fixed();
    let log = project.repo.outside().join("points");
    project.repo.fix_loop(["undo", "L1"]).env("FIX_LOOP_FAULT_COUNT", log.display().to_string()).expect(0);
    assert_eq!(project.seen(), start);
    let points = std::fs::read_to_string(&log).expect("points were passed");
    let points: Vec<&str> = points.lines().collect();
    let mut killed = 0;
    for (index, name) in points.iter().enumerate() {
        let (project, start) = fixed();
        let at = format!("point {} of {} ({name})", index + 1, points.len());
        let output =
            project.repo.fix_loop(["undo", "L1"]).env("FIX_LOOP_FAULT", (index + 1).to_string()).run();
        assert_eq!(output.code, None, "{at}: {output}");
        killed += 1;
        let output = project.repo.fix_loop(["undo", "L1"]).run();
        // Killed when all was written, there is nothing left to undo.
        let done = output.stderr.contains("undone already");
        assert_eq!((output.code == Some(0) || done, project.seen()), (true, start), "{at}: {output}");
        assert_eq!(project.agent.dispatches().len(), 3, "{at}: nothing is dispatched by an undo");
    }
    println!("kill points, undo: {killed} killed and undone");
    assert!(killed > 10, "{points:?}");
}
