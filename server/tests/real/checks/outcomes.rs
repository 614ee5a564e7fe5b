//! What is not the code's doing: chance, a broken environment, hanging, noise, files and processes left behind.

use std::os::unix::fs::PermissionsExt as _;
use std::time::SystemTime;

use fix_loop::checks::{Failure, judge};

use super::*;

/// Fails on the runs whose numbers are given; counts in a file outside of the project.
fn failing_on_runs(project: &Project, counter: &Path, runs: &str) -> Check {
    project.write(
        "test_chance.py",
        "import os\nimport unittest\n\n\nclass Chance(unittest.TestCase):\n    def test_it(self):\n        path = os.environ['COUNTER']\n        with open(path, 'a') as file:\n            file.write('x')\n        run = str(os.path.getsize(path))\n        self.assertNotIn(run, os.environ['RUNS'].split())\n\n    def test_other(self):\n        pass\n",
    );
    let mut check = configured(&["python3", "-m", "unittest"]);
    if let What::Command(command) = &mut check.what {
        command.env.insert("COUNTER".into(), counter.display().to_string());
        command.env.insert("RUNS".into(), runs.into());
    }
    check
}

#[tokio::test]
async fn a_test_that_fails_once_and_passes_when_repeated_is_inconclusive() {
    let outside = tempfile::tempdir().unwrap();
    let test = "test_chance.Chance.test_it";
    let flaky = Outcome::Inconclusive(Why::Flaky(set(&[test])));

    // Before the fix: it would make any edit look like a fix.
    let project = Project::with(&[]);
    let check = failing_on_runs(&project, &outside.path().join("a"), "1");
    let before = project.run(&check).await;
    assert_eq!(before.outcome, flaky, "{}", before.output);
    assert_eq!(before.flaky, set(&[test]));
    let after = project.run_after(&check, &before).await;
    assert_eq!(after.outcome, Outcome::Passed);
    assert!(matches!(judge(&check, &before, &after, true), Judgement::Inconclusive(Why::NoBaseline(_))));

    // After the fix: it would be called a regression.
    let check = failing_on_runs(&project, &outside.path().join("b"), "2");
    let before = project.run(&check).await;
    assert_eq!(before.outcome, Outcome::Passed);
    let after = project.run_after(&check, &before).await;
    assert_eq!(after.outcome, flaky);
    assert_eq!(judge(&check, &before, &after, true), Judgement::Inconclusive(Why::Flaky(set(&[test]))));

    // Twice the same failure is a failure.
    let check = failing_on_runs(&project, &outside.path().join("c"), "2 3");
    let before = project.run(&check).await;
    let after = project.run_after(&check, &before).await;
    assert_eq!(judge(&check, &before, &after, true), Judgement::Regression { tests: set(&[test]) });
}

#[tokio::test]
async fn a_failure_that_was_there_before_is_not_run_again() {
    let outside = tempfile::tempdir().unwrap();
    let counter = outside.path().join("count");
    let project = Project::with(&[]);
    let check = failing_on_runs(&project, &counter, "1 2 3 4 5 6");
    let before = project.run(&check).await;
    assert_eq!(fs::read(&counter).unwrap().len(), 2);
    let after = project.run_after(&check, &before).await;
    assert_eq!(fs::read(&counter).unwrap().len(), 3);
    assert_eq!(before.failure().map(|it| &it.tests), after.failure().map(|it| &it.tests));
}

#[tokio::test]
async fn a_broken_environment_is_not_a_failure() {
    let project = Project::with(&[
        (
            "test_dependency.py",
            "import unittest\n\nimport a_dependency_that_nobody_has\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n",
        ),
        ("not_executable", "#!/bin/sh\n"),
        ("no_runner.sh", "exec a-runner-that-nobody-has --run\n"),
        ("empty/__init__.py", ""),
    ]);
    fs::set_permissions(project.root().join("not_executable"), fs::Permissions::from_mode(0o644)).unwrap();
    let table: [(&[&str], &str); 6] = [
        (&["a-program-that-nobody-has"], "not found on PATH"),
        (&["./not_executable"], "not_executable"),
        (&["sh", "no_runner.sh"], "a-runner-that-nobody-has"),
        (&["python3", "-m", "a_runner_that_nobody_has"], "a_runner_that_nobody_has"),
        (&["python3", "-m", "unittest", "test_dependency"], "a_dependency_that_nobody_has"),
        (&["cargo", "test", "--manifest-path", "nowhere/Cargo.toml"], "nowhere/Cargo.toml"),
    ];
    for (argv, reason) in table {
        let run = project.run(&configured(argv)).await;
        let Outcome::Inconclusive(Why::CannotStart(why)) = &run.outcome else {
            panic!("{argv:?}: {:?}\n{}", run.outcome, run.output)
        };
        assert!(why.contains(reason), "{argv:?}: {why}");
    }
}

#[tokio::test]
async fn a_run_without_a_test_has_shown_nothing() {
    let project = Project::with(&[
        ("empty/__init__.py", ""),
        (
            "skips/test_skipped.py",
            "import unittest\n\n\n@unittest.skip('x')\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n",
        ),
    ]);
    for folder in ["empty", "skips"] {
        let run = project.run(&configured(&["python3", "-m", "unittest", "discover", "-s", folder])).await;
        assert_eq!(run.outcome, Outcome::Inconclusive(Why::NothingRan), "{folder}: {}", run.output);
    }
}

#[tokio::test]
async fn a_check_that_never_ends_is_ended_and_inconclusive() {
    // A watch mode, as far as anybody can tell from outside.
    let project = Project::with(&[(
        "watch.py",
        "import os\nprint('watching', flush=True)\nr, w = os.pipe()\nos.read(r, 1)\n",
    )]);
    let mut check = configured(&["python3", "watch.py"]);
    let limit = Duration::from_millis(1500);
    if let What::Command(command) = &mut check.what {
        command.limit = limit;
    }
    let run = project.run(&check).await;
    assert_eq!(run.outcome, Outcome::Inconclusive(Why::TimeLimit(limit)), "{}", run.output);
}

#[tokio::test]
async fn a_check_that_a_signal_ends_is_inconclusive() {
    let project = Project::with(&[]);
    let run = project.run(&configured(&["sh", "-c", "kill -9 $$"])).await;
    assert_eq!(run.outcome, Outcome::Inconclusive(Why::Signal(9)));
}

#[tokio::test]
async fn a_cancelled_check_says_nothing() {
    let project = Project::with(&[]);
    let cancel = Cancel::new();
    cancel.cancel();
    let run = run(&configured(&["cat", "/dev/zero"]), project.root(), &supervisor(), &cancel).await;
    assert_eq!(run.outcome, Outcome::Inconclusive(Why::Cancelled));
}

#[tokio::test]
async fn endless_noise_is_kept_in_bounds_and_cleaned() {
    let project = Project::with(&[(
        "noise.py",
        "import sys\nout = sys.stdout.buffer\nout.write(b'the first words\\n')\nblock = b'\\x1b[31mred\\x1b[0m\\x00\\xff\\xfe no newline ' * 40000\nfor _ in range(120 * 1024 * 1024 // len(block) + 1):\n    out.write(block)\nout.write(b'\\nthe last words\\n')\nsys.exit(1)\n",
    )]);
    let run = project.run(&configured(&["python3", "noise.py"])).await;
    let Some(Failure { exit, tests, .. }) = run.failure() else { panic!("{:?}", run.outcome) };
    assert_eq!((*exit, tests.len()), (Some(1), 0));
    assert!(run.output.starts_with("the first words\n"), "{:?}", &run.output[..40]);
    assert!(run.output.ends_with("the last words"));
    assert!(run.output.len() < 32 * 1024, "{}", run.output.len());
    assert!(run.output.chars().all(|c| !c.is_control() || c == '\n' || c == '\t'));
}

#[tokio::test]
async fn a_check_gets_no_input_no_terminal_and_no_git_variables() {
    let project = Project::with(&[
        (
            "look.py",
            "import os, sys\nassert sys.stdin.read() == ''\nassert not any(os.isatty(fd) for fd in (0, 1, 2))\nassert os.environ['CI'] == '1'\ngit = [name for name in os.environ if name.startswith('GIT_') and name != 'GIT_TERMINAL_PROMPT']\nassert not git, git\nassert os.environ['MINE'] == 'set'\nassert os.path.basename(os.getcwd()) == 'inner', os.getcwd()\n",
        ),
        ("inner/x", ""),
    ]);
    let mut check = configured(&["python3", "../look.py"]);
    if let What::Command(command) = &mut check.what {
        command.env.insert("MINE".into(), "set".into());
        command.cwd = "inner".into();
    }
    let run = project.run(&check).await;
    assert_eq!(run.outcome, Outcome::Passed, "{}", run.output);
}

#[tokio::test]
async fn a_folder_outside_of_the_workspace_is_refused() {
    let project = Project::with(&[("a", "")]);
    std::os::unix::fs::symlink("/", project.root().join("link")).unwrap();
    for cwd in ["..", "link", "nowhere"] {
        let mut check = configured(&["true"]);
        if let What::Command(command) = &mut check.what {
            command.cwd = cwd.into();
        }
        let run = project.run(&check).await;
        assert!(
            matches!(run.outcome, Outcome::Inconclusive(Why::CannotStart(_))),
            "{cwd}: {:?}",
            run.outcome
        );
    }
}

#[tokio::test]
async fn what_a_check_leaves_behind_is_ended_and_what_it_writes_stays() {
    let project = Project::with(&[("leave.sh", "sleep 100000 &\necho junk > junk.txt\n")]);
    let run = project.run(&configured(&["sh", "leave.sh"])).await;
    assert_eq!(run.outcome, Outcome::Passed, "{}", run.output);
    assert_eq!(run.leftovers, 1);
    // Putting the tree in order is the scope guard's business, which sees this file.
    assert_eq!(fs::read_to_string(project.root().join("junk.txt")).unwrap(), "junk\n");
}

#[tokio::test]
async fn a_fix_within_the_second_of_the_last_run_is_not_checked_against_a_stale_cache() {
    let project = Project::with(&[
        ("calc.py", "def add(a, b):\n    return a - b\n"),
        (
            "test_calc.py",
            "import unittest\n\nimport calc\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n",
        ),
    ]);
    let second = SystemTime::UNIX_EPOCH + Duration::from_secs(1_700_000_000);
    let touch = |path: &Path, millis: u64| {
        let file = fs::File::options().write(true).open(path).unwrap();
        file.set_modified(second + Duration::from_millis(millis)).unwrap();
    };
    let source = project.root().join("calc.py");
    touch(&source, 100);
    let compiled = Program::new("python3")
        .args(["-m", "py_compile", "calc.py"])
        .current_dir(project.root())
        .env_remove("PYTHONPYCACHEPREFIX")
        .status()
        .unwrap();
    assert!(compiled.success());
    let cached = fs::read_dir(project.root().join("__pycache__")).unwrap().next().unwrap().unwrap().path();
    touch(&cached, 500);
    project.replace("calc.py", "a - b", "a + b");
    touch(&source, 900);

    let run = project.run(&configured(&["python3", "-m", "unittest"])).await;
    assert_eq!(run.outcome, Outcome::Passed, "{}", run.output);
}

/// Runners that end well and have shown nothing: the code under test ended them, or nothing was there to run.
#[tokio::test]
async fn a_runner_that_is_ended_from_inside_has_not_passed() {
    let project = Project::with(&[
        ("leaves.py", "import os\n\nos._exit(0)\n"),
        (
            "test_leaves.py",
            "import unittest\n\nimport leaves\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertTrue(False)\n",
        ),
        ("leaves.mjs", "process.exit(0);\n"),
        (
            "leaves.test.mjs",
            "import { test } from 'node:test';\nimport assert from 'node:assert';\nimport './leaves.mjs';\ntest('it', () => assert.ok(false));\n",
        ),
        ("conftest.py", "import sys\n"),
    ]);
    let mut table: Vec<&[&str]> = vec![&["python3", "-m", "unittest", "test_leaves"]];
    if has("node", &["--test", "--version"], "node 20 or newer") {
        table.push(&["node", "--test", "leaves.test.mjs"]);
    }
    if has_pytest() {
        table.push(&["python3", "-m", "pytest", "test_leaves.py"]);
    }
    for argv in table {
        let run = project.run(&configured(argv)).await;
        assert_eq!(run.outcome, Outcome::Inconclusive(Why::NothingRan), "{argv:?}: {}", run.output);
    }
}

/// Expected to fail, and fails: that is no test that passed, so marking the failing test so proves nothing.
#[tokio::test]
async fn a_test_that_is_expected_to_fail_is_not_one_that_passes() {
    let python = "import unittest\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        self.assertEqual(1, 2)\n\n    def test_other(self):\n        pass\n";
    let project = Project::with(&[("test_it.py", python)]);
    let mut table = vec![configured(&["python3", "-m", "unittest"])];
    if has_pytest() {
        table.push(configured(&["python3", "-m", "pytest", "-q"]));
    }
    for check in table {
        project.write("test_it.py", python);
        let before = project.run(&check).await;
        project.replace("test_it.py", "    def test_it", "    @unittest.expectedFailure\n    def test_it");
        let after = project.run_after(&check, &before).await;
        assert_eq!(after.outcome, Outcome::Passed, "{}", after.output);
        let judged = judge(&check, &before, &after, true);
        assert!(matches!(judged, Judgement::Neutral(_)), "{:?}: {judged:?}\n{}", check.argv(), after.output);
    }
}

/// All tests pass and the run fails: a threshold. Nobody knows whether it was met before, when tests failed too.
#[tokio::test]
async fn a_failure_without_a_failing_test_is_not_blamed_on_the_fix() {
    let project = Project::with(&[
        ("calc.py", "def add(a, b):\n    return a - b\n"),
        (
            "test_calc.py",
            "import unittest\n\nimport calc\n\n\nclass T(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n",
        ),
        ("check.sh", "python3 -m unittest -v || exit 1\necho 'coverage 71 % is below 80 %'\nexit 2\n"),
    ]);
    let check = configured(&["sh", "check.sh"]);
    let before = project.run(&check).await;
    assert_eq!(before.failure().map(|it| it.tests.clone()), Some(set(&["test_calc.T.test_add"])));
    project.replace("calc.py", "a - b", "a + b");
    let after = project.run_after(&check, &before).await;
    let judged = judge(&check, &before, &after, true);
    assert!(matches!(judged, Judgement::Neutral(_)), "{judged:?}\n{}", after.output);
    // Where it was met before, it is the fix's doing.
    project.write("check.sh", "python3 -m unittest -v\n");
    let green = project.run(&check).await;
    project.write("check.sh", "python3 -m unittest -v\nexit 2\n");
    let after = project.run_after(&check, &green).await;
    assert_eq!(judge(&check, &green, &after, true), Judgement::Regression { tests: set(&[]) });
}

/// What is missing is brought by the agent, not by the fix: the first green run has nothing to compare with.
#[tokio::test]
async fn a_check_that_runs_only_since_something_was_installed_proves_nothing() {
    let project = Project::with(&[(
        "test_it.py",
        "import unittest\n\nimport a_dependency_that_nobody_has\n\n\nclass T(unittest.TestCase):\n    def test_it(self):\n        pass\n",
    )]);
    let check = configured(&["python3", "-m", "unittest"]);
    let before = project.run(&check).await;
    project.write("a_dependency_that_nobody_has.py", "");
    let after = project.run_after(&check, &before).await;
    assert_eq!(after.outcome, Outcome::Passed, "{}", after.output);
    assert!(matches!(judge(&check, &before, &after, true), Judgement::Inconclusive(Why::NoBaseline(_))));
    let discovered = Check { origin: Origin::Discovered, ..check };
    assert!(matches!(judge(&discovered, &before, &after, true), Judgement::Neutral(_)));
}

/// The first run leaves a file with which the second one passes.
#[tokio::test]
async fn a_check_that_mends_itself_is_flaky() {
    let project = Project::with(&[("check.sh", "if [ -e cache ]; then exit 0; fi\n: >cache\nexit 1\n")]);
    let run = project.run(&configured(&["sh", "check.sh"])).await;
    assert!(matches!(run.outcome, Outcome::Inconclusive(Why::Flaky(_))), "{:?}", run.outcome);
}

#[tokio::test]
async fn go_that_runs_nothing_cannot_build_or_panics() {
    if !has("go", &["version"], "go") {
        return;
    }
    let module = ("go.mod", "module example.com/m\n\ngo 1.18\n");
    let test = |body: &str| format!("package m\n\nimport \"testing\"\n\n{body}");
    let red = test(
        "func TestA(t *testing.T) {\n\tvar list []int\n\tt.Log(list[3])\n}\n\nfunc TestB(t *testing.T) {}\n",
    );
    let skips = test("func TestA(t *testing.T) {\n\tt.Skip(\"later\")\n}\n");
    let leaves = test("import \"os\"\n\nfunc TestMain(m *testing.M) { os.Exit(0) }\n\nfunc TestA(t *testing.T) { t.Fatal() }\n")
        .replace("import \"testing\"\n\nimport \"os\"", "import (\n\t\"os\"\n\t\"testing\"\n)");
    let needs = test("import _ \"example.org/a-module-that-nobody-has\"\n\nfunc TestA(t *testing.T) {}\n");
    let table: [(&str, &str, &str); 5] = [
        ("a panic", &red, "failed: example.com/m TestA"),
        ("all skipped", &skips, "nothing ran"),
        ("none", "package m\n", "nothing ran"),
        ("TestMain leaves", &leaves, "nothing ran"),
        ("a module is missing", &needs, "cannot start"),
    ];
    for (what, text, expected) in table {
        let project = Project::with(&[module, ("m.go", "package m\n"), ("m_test.go", text)]);
        let run = project.run(&project.discovered("m.go")).await;
        let told = match &run.outcome {
            Outcome::Passed => "passed".to_owned(),
            Outcome::Failed(failure) => {
                format!("failed: {}", failure.tests.iter().cloned().collect::<Vec<_>>().join(", "))
            }
            Outcome::Inconclusive(Why::NothingRan) => "nothing ran".to_owned(),
            Outcome::Inconclusive(Why::CannotStart(_)) => "cannot start".to_owned(),
            Outcome::Inconclusive(why) => format!("{why:?}"),
        };
        assert_eq!(told, expected, "{what}: {}", run.output);
    }
}
