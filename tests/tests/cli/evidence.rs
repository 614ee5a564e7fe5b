//! How well a resolution is supported: said before the run, during it, and wherever the resolution is shown.

use fix_loop_tests::{Repo, Script, Step, finding, step};
use serde_json::json;

use super::{APP, Project, everything, fixer};

#[test]
fn a_run_says_how_findings_were_read_and_what_each_is_verified_with() {
    let project = Project::new(fixer());
    let mut beyond = finding("f1", "app.txt", 2, "BAD is a word that must go");
    beyond["line_end"] = json!(99);
    let vague = finding("f2", "other.txt", 1, "other is vague");
    project.repo.findings(&[beyond, vague]);
    let plan = project.repo.fix_loop(["run", "--dry-run"]).expect(0);
    for words in [
        "note: finding f1: line_end: 99 became 7",
        "check words (configured): sh check.sh",
        "no check covers it",
    ] {
        assert!(plan.stderr.contains(words), "{words}\n{plan}");
    }
    let plan = project.repo.fix_loop(["run", "--dry-run", "--format", "json"]).expect(0).json();
    assert_eq!(
        (&plan["notes"][0]["field"], &plan["notes"][0]["became"]),
        (&json!("line_end"), &json!(7)),
        "{plan:#}"
    );
    let run = project.repo.fix_loop(["run", "--trust", "--only", "f1"]).expect(0);
    for words in ["note: finding f1: line_end: 99 became 7", "finding f1: verified with words (configured)"] {
        assert!(run.stderr.contains(words), "{words}\n{run}");
    }
    assert!(!run.stderr.contains("finding f2: verified"), "only what is worked on\n{run}");
}

#[test]
fn evidence_is_shown_wherever_the_resolution_is() {
    let project = Project::new(fixer());
    let run = project.repo.fix_loop(["run", "--trust"]).expect(0);
    assert!(run.stderr.contains("f1") && run.stderr.contains("proven"), "{run}");
    let status = project.repo.fix_loop(["status"]).expect(0);
    assert!(status.stderr.contains("resolved in round 1 (proven"), "{status}");
    assert_eq!(project.status()["findings_detail"][0]["evidence"], "proven");
    let ledger = project.repo.read(".git/fix-loop/ledger.jsonl");
    assert!(ledger.contains("\"proven\""), "{ledger}");
}

/// A project with a test of `add`, which is wrong, and of `sub`, which is right.
fn by_hand(check: bool, verifier: Option<&str>) -> Repo {
    let repo = Repo::with(&[
        (
            "calc.py",
            "def add(a, b):\n    return a - b\n\n\ndef sub(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a\n",
        ),
        (
            "test_calc.py",
            "import unittest\n\nimport calc\n\n\nclass CalcTest(unittest.TestCase):\n    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n\n    def test_sub(self):\n        self.assertEqual(calc.sub(3, 2), 1)\n",
        ),
    ]);
    let mut script = Script::new();
    if let Some(verdict) = verifier {
        script = script.on("verifier", [step::judge(verdict, "looked at the diff")]);
    }
    let agent = script.install(&repo, "scripted");
    let mut config = String::new();
    if check {
        config.push_str("[[check]]\nname = \"unit\"\ncommand = [\"python3\", \"-m\", \"unittest\"]\n");
    }
    let roles: &[&str] = if verifier.is_some() { &["fixer", "verifier"] } else { &["fixer"] };
    config.push_str(&agent.toml_for(roles));
    repo.config(&config);
    repo.findings(&[finding("f1", "calc.py", 2, "add subtracts")]);
    repo.fix_loop(["trust"]).expect(0);
    repo
}

/// *Verify my fix* without any loop before it: what was before is at HEAD, so a check can have turned green.
#[test]
fn verifying_what_the_user_did_by_hand() {
    const RIGHT: &str = "def add(a, b):\n    return a + b\n\n\ndef sub(a, b):\n    return a - b\n\n\ndef mul(a, b):\n    return a\n";
    let wrong = RIGHT.replace("a + b", "a * b");
    let broken = RIGHT.replace("def sub(a, b):\n    return a - b", "def sub(a, b):\n    return b - a");
    let elsewhere = RIGHT.replace("a + b", "a - b").replace("    return a\n", "    return a * b\n");
    type Row<'a> = (&'a str, &'a str, bool, Option<&'a str>, i32, &'a str, Option<&'a str>);
    let rows: [Row<'_>; 9] = [
        ("fixed, and a test was red at HEAD", RIGHT, true, None, 0, "resolved", Some("proven")),
        (
            "fixed, and a verifier is not needed",
            RIGHT,
            true,
            Some("confirmed"),
            0,
            "resolved",
            Some("proven"),
        ),
        ("not fixed", &wrong, true, None, 1, "manual", None),
        ("not fixed, whatever the verifier believes", &wrong, true, Some("rejected"), 1, "manual", None),
        ("fixed, and something else broke", &broken, true, None, 1, "manual", None),
        ("another place was changed", &elsewhere, true, Some("rejected"), 1, "manual", None),
        ("committed", RIGHT, true, None, 1, "waiting", None),
        ("no check is configured, one is found", RIGHT, false, None, 0, "resolved", Some("proven")),
        ("no check that is red, no verifier", "", true, None, 1, "waiting", None),
    ];
    for (what, text, check, verifier, code, state, evidence) in rows {
        let repo = by_hand(check, verifier);
        if text.is_empty() {
            // What no test covers.
            repo.findings(&[finding("f1", "calc.py", 10, "mul does not multiply")]);
            repo.write(
                "calc.py",
                RIGHT.replace("a + b", "a - b").replace("    return a\n", "    return a * b\n"),
            );
            let mut only_mul = repo.read("test_calc.py");
            only_mul = only_mul
                .replace("    def test_add(self):\n        self.assertEqual(calc.add(1, 2), 3)\n\n", "");
            let changed = repo.read("calc.py");
            repo.git(["checkout", "--quiet", "--", "calc.py"]);
            repo.write("test_calc.py", &only_mul);
            repo.commit("no test of add");
            repo.write("calc.py", changed);
        } else {
            repo.write("calc.py", text);
        }
        if what == "committed" {
            // Before and after are the same then: nothing can have turned green, and nobody is there to judge.
            repo.commit("fixed by hand");
        }
        let before = everything(&repo);
        let output = repo.fix_loop(["verify", "f1", "--format", "json"]).run();
        let status = repo.fix_loop(["status", "--format", "json"]).expect(0).json();
        let detail = &status["findings_detail"][0];
        let found = (output.code, detail["state"].as_str(), detail["evidence"].as_str());
        assert_eq!(found, (Some(code), Some(state), evidence), "{what}\n{output}\n{status:#}");
        assert_eq!(everything(&repo), before, "{what}: what the user did is the user's");
    }
}

/// The finding stays the user's, and everything is still offered: to verify again, and to leave it to the loop.
#[test]
fn a_fix_that_was_not_borne_out_can_be_verified_again_or_left_to_the_loop() {
    let fix: [Step; 2] = [step::edit("app.txt", "BAD line", "GOOD line"), step::fixed("replaced the word")];
    let project = Project::new(Script::new().on("fixer", fix));
    project.repo.fix_loop(["trust"]).expect(0);
    project.repo.write("app.txt", APP.replace("seven", "mine"));
    let output = project.repo.fix_loop(["verify", "f1"]).expect(1);
    assert!(output.stderr.contains("yours to fix"), "{output}");
    assert_eq!(project.stands("f1"), "manual");
    project.repo.write("app.txt", APP.replace("BAD", "GOOD"));
    project.repo.fix_loop(["verify", "f1"]).expect(0);
    assert_eq!(project.stands("f1"), "resolved");

    let project = Project::new(fixer());
    project.repo.fix_loop(["trust"]).expect(0);
    project.repo.fix_loop(["verify", "f1"]).expect(1);
    assert_eq!(project.stands("f1"), "manual");
    let report = project.run(&[]).expect(0).json();
    assert_eq!(report["evidence"], json!({"f1": "proven"}));
}
