//! The cause that every escalation of the default loop names: a diagnoser's, else the engine's own inference, said to be one.

use fix_loop_tests::{Script, step};
use serde_json::{Value, json};

use super::{Project, assert_report};

fn declines() -> Script {
    let declined =
        json!({"status": "declined", "summary": "no", "blocked_by": "the format is not written down"});
    Script::new().on("fixer", [step::report(declined)])
}

fn escalation(project: &Project) -> Value {
    let status = project.repo.fix_loop(["status", "--format", "json"]).expect(0).json();
    let asked = status["questions"][0].clone();
    assert_eq!(asked["kind"], "escalation", "{status:#}");
    asked
}

#[test]
fn an_escalation_names_the_cause_that_the_engine_infers_and_the_report_keeps_it() {
    let project = Project::new(declines());
    let report = project.run(&[]).expect(1).json();
    assert_report(&report);
    let asked = escalation(&project);
    let text = |key: &str| asked[key].as_str().expect("a text").to_owned();
    assert!(text("text").contains("Likely cause, inferred from what happened: missing-context"), "{asked:#}");
    assert!(
        text("detail").contains("no diagnoser judged it") && text("detail").contains("route: "),
        "{asked:#}"
    );
    assert_eq!(project.agent.dispatches(), ["fixer 1", "fixer 2"], "no worker was sent for it");
    let report =
        project.repo.fix_loop(["answer", "L1.q1", "Defer this finding", "--format", "json"]).expect(1).json();
    let still = report["escalated"][0]["still_broken"].as_str().expect("a text");
    assert!(still.contains("missing-context"), "{report:#}");
}

#[test]
fn a_configured_diagnoser_names_it_instead() {
    let diagnosis = json!({
        "cause": "ambiguous-spec", "evidence": "two formats are in use", "new_evidence": null, "rules_out": {},
        "route": "say which", "needs": null,
    });
    let project = Project::new(declines().on("diagnoser", [step::report(diagnosis)]));
    let toml = project.repo.read("fix-loop.toml");
    project.repo.config(&format!("{toml}\n[roles.diagnoser]\nagent = \"scripted\"\n"));
    project.repo.fix_loop(["trust"]).expect(0);
    project.run(&[]).expect(1);
    let asked = escalation(&project);
    let text = asked["text"].as_str().expect("a text");
    assert!(text.contains("Diagnosed cause: ambiguous-spec") && !text.contains("inferred"), "{asked:#}");
    assert_eq!(project.agent.dispatches(), ["fixer 1", "fixer 2", "diagnoser 2"]);
}
