//! The converging loop with one real agent in every role.

use fix_loop::protocol::converge::{Verdict, parse_gate};
use fix_loop_tests::{Replies, Repo};
use serde_json::{Value, json};

use super::world::{Program, use_model};

const WRONG: &str = "    return a - b";
const RIGHT: &str = "    return a + b";

/// The footer of a worker of this phase, with what it found.
fn footer(phase: &str, more: Value) -> Value {
    let mut report = json!({
        "phase": phase, "status": "DONE", "base": null, "head": "$HEAD", "tree": "clean", "validation": "NOT_RUN",
        "validation_command": null, "blocked_by": null,
    });
    let object = report.as_object_mut().expect("an object");
    object.extend(more.as_object().expect("an object").clone());
    json!({"report": report})
}

pub fn a_review_is_checked_fixed_in_the_worktree_and_closed_to_a_passing_gate(program: Program) {
    let mut repo = Repo::with(&[
        ("calc.py", "def one():\n    return 1\n"),
        ("test_calc.py", "import calc\n\n\ndef test_one():\n    assert calc.one() == 1\n"),
        ("pyproject.toml", "[tool.pytest.ini_options]\naddopts = \"-q -p no:cacheprovider\"\n"),
        (".gitignore", "__pycache__/\n"),
        ("CONTRIBUTING.md", "Every function has a test.\n"),
        ("docs/spec.md", "calc.add(a, b) gives the sum of both.\n"),
    ]);
    repo.write("calc.py", format!("def one():\n    return 1\n\n\ndef add(a, b):\n{WRONG}\n"));
    repo.commit("add two numbers");
    let found = json!({
        "id": 1, "severity": "P1", "title": "add subtracts", "body": "The spec wants the sum.", "file": "calc.py",
        "line_start": 6, "line_end": 6, "confidence": 0.9, "criterion": "add gives the sum", "verdict": "confirmed",
        "evidence": "calc.py:6", "origin": null, "caused_by": null,
    });
    let review = |axis: &str, findings: &[&Value]| {
        footer(
            "review",
            json!({
                "schema_version": "v1", "findings": findings, "checks_run": [],
                format!("findings_{axis}"): findings.len(),
            }),
        )
    };
    let replies = Replies::new()
        .when(json!({"role": "reviewer", "says": "along the spec axis"}), [
            json!({"read": "calc.py"}),
            review("spec", &[&found]),
        ])
        .when(json!({"role": "reviewer", "says": "along the standards axis"}), [
            json!({"read": "CONTRIBUTING.md"}),
            review("standards", &[]),
        ])
        .to("checker", [
            json!({"read": "calc.py"}),
            footer("check", json!({"findings": [{
                "id": "spec-1", "verdict": "CONFIRMED", "from": [1], "root_cause": "add subtracts",
                "evidence": "calc.py:6 subtracts",
            }]})),
        ])
        .to("fixer", [
            json!({"read": "calc.py"}),
            json!({"edit": "calc.py", "old": WRONG, "new": RIGHT}),
            json!({"shell": "git add calc.py && git -c user.name=Worker -c user.email=w@example.invalid commit -q -m 'Add, as the spec says'"}),
            footer("fix", json!({
                "status": "fixed", "files_changed": ["calc.py"], "summary": "adds now", "concerns": null,
                "needs_scope_expansion": false, "additional_files": [], "justification": "", "open_root_causes": 0,
            })),
        ])
        .to("closer", [
            json!({"read": "calc.py"}),
            footer("close", json!({
                "findings": [{"id": "spec-1", "state": "RESOLVED", "evidence": "calc.py:6 adds"}], "open_root_causes": 0,
            })),
        ]);
    let model = replies.start(&repo);
    use_model(&mut repo, program, model.port());
    repo.fix_loop(["trust"]).expect(0);
    let before = (repo.tree(), repo.head(), repo.status());

    let output = repo.fix_loop(["review"]).run();

    assert_eq!(output.code, Some(0), "{output}\n{:?}", model.workers());
    let gate = parse_gate(&output.stderr).unwrap_or_else(|| panic!("no LOOP_GATE\n{output}"));
    assert_eq!((gate.verdict, gate.open_confirmed_findings), (Verdict::Pass, 0), "{output}");
    let mut workers = model.workers();
    // Both axes are reviewed side by side.
    workers[..2].sort();
    let roles: Vec<&str> = workers.iter().map(|worker| worker.split(' ').next().expect("a word")).collect();
    assert_eq!(roles, ["reviewer", "reviewer", "checker", "fixer", "closer"], "{output}");
    assert_eq!((repo.tree(), repo.head(), repo.status()), before, "the user's checkout is not touched");
    let fixed = repo.git(["show".to_owned(), format!("{}:calc.py", gate.final_head)]);
    assert!(fixed.contains(RIGHT), "{fixed}");
    assert_eq!(repo.git(["rev-parse".to_owned(), format!("{}^", gate.final_head)]).trim(), repo.head());
}
