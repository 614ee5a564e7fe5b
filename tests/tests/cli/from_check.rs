//! `run --from-check`: a failing test is the finding.

use fix_loop_tests::{Agent, Repo, Script, step};
use serde_json::json;

use super::assert_report;

const CALC: &str = "def add(a, b):\n    return a - b\n";
const TEST: &str = "import unittest\n\nfrom calc import add\n\n\nclass AddTest(unittest.TestCase):\n    def test_adds(self):\n        self.assertEqual(add(2, 2), 4)\n\n    def test_zero(self):\n        self.assertEqual(add(2, 0), 2)\n";

fn project(script: Script) -> (Repo, Agent) {
    let repo = Repo::with(&[("calc.py", CALC), ("test_calc.py", TEST)]);
    let agent = script.install(&repo, "scripted");
    repo.config(&format!(
        "[[check]]\nname = \"unit\"\nkind = \"test\"\ncommand = [\"python3\", \"-m\", \"unittest\", \"-v\"]\n{}",
        agent.toml_for(&["fixer", "verifier"])
    ));
    (repo, agent)
}

#[test]
fn a_failing_test_becomes_a_finding_and_its_fix_is_proven() {
    let (repo, agent) = project(
        Script::new()
            .on("fixer", [step::edit("calc.py", "a - b", "a + b"), step::fixed("the code was wrong")]),
    );
    let output = repo
        .fix_loop(["run", "--trust", "--format", "json", "--from-check", "unit", "--answer", "recommended"])
        .expect(0);
    let report = output.json();
    assert_report(&report);
    assert_eq!(report["resolved"].as_array().expect("a list").len(), 1, "{output}");
    assert_eq!(report["evidence"].as_object().expect("an object").values().collect::<Vec<_>>(), ["proven"]);
    let brief = &agent.briefs()[0];
    assert!(
        brief["findings"][0]["title"].as_str().is_some_and(|title| title.contains("test_adds")),
        "{brief:#}"
    );
    assert!(
        brief["instructions"]
            .as_str()
            .is_some_and(|text| text.contains("whether the code or the test is wrong")),
        "{brief:#}"
    );
    assert_eq!(repo.status(), "M  calc.py\n");
}

#[test]
fn a_check_that_passes_gives_nothing_to_do() {
    let (repo, agent) = project(Script::new());
    repo.write("calc.py", "def add(a, b):\n    return a + b\n");
    let output = repo.fix_loop(["run", "--trust", "--format", "json", "--from-check", "unit"]).expect(0);
    assert_eq!(output.json()["gate"]["outcome"], "nothing_to_do", "{output}");
    assert!(agent.briefs().is_empty());
}

#[test]
fn a_weakened_test_is_never_a_fix_without_the_user() {
    let (repo, _) = project(Script::new().on(
        "fixer",
        [
            step::edit("test_calc.py", "        self.assertEqual(add(2, 2), 4)", "        pass"),
            step::fixed("the test was wrong"),
        ],
    ));
    let output = repo
        .fix_loop(["run", "--trust", "--format", "json", "--from-check", "unit", "--answer", "none"])
        .expect(1);
    let report = output.json();
    assert_eq!(
        (&report["resolved"], &report["gate"]["outcome"]),
        (&json!([]), &json!("waiting")),
        "{output}"
    );
    let status = repo.fix_loop(["status", "--format", "json"]).expect(0).json();
    let question = &status["questions"][0];
    assert!(
        format!("{}{}", question["text"], question["detail"]).contains("test_calc.py"),
        "the user is shown what was weakened: {question:#}"
    );
}
