//! Agents over the Agent Client Protocol: a real process that plays each part.

use std::path::Path;
use std::time::Duration;

use fix_loop::agents::report::Verdict;
use fix_loop::agents::{AgentSpec, FailureClass, Kind, Outcome, Progress, ProtocolName, Report, Role, run};
use fix_loop::process::Cancel;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::agents::{Place, brief, supervisor};

const BROKEN: &str = "def add(a, b):\n    return a - b\n";

fn agent(part: &str) -> AgentSpec {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real/acp_agent.py");
    let command = ["python3", script.to_str().unwrap(), part].map(str::to_owned).to_vec();
    AgentSpec::new("mine", Kind::Acp { command })
}

fn prepared() -> Place {
    let place = Place::new();
    std::fs::write(place.repo().join("calc.py"), BROKEN).unwrap();
    let outside = place.root.path().join("outside");
    std::fs::create_dir(&outside).unwrap();
    std::fs::write(outside.join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink(&outside, place.repo().join("link")).unwrap();
    place
}

async fn dispatch(place: &Place, part: &str, role: Role) -> (Outcome, Vec<String>) {
    let job = place.job(brief(role, ProtocolName::Bounded, &place.repo()), agent(part));
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let outcome = run(job, &supervisor(), &Cancel::new(), Some(sender)).await;
    let mut progress = Vec::new();
    while let Some(step) = receiver.recv().await {
        progress.push(Progress::to_string(&step));
    }
    (outcome, progress)
}

#[tokio::test]
async fn a_fixer_reads_and_writes_through_the_client_within_its_scope() {
    let place = prepared();
    let (outcome, progress) = dispatch(&place, "fix", Role::Fixer).await;
    let Ok(Report::Fix(report)) = &outcome.result else { panic!("{outcome:?}\n{}", place.transcript()) };
    assert_eq!(std::fs::read_to_string(place.repo().join("calc.py")).unwrap(), BROKEN.replace('-', "+"));
    let seen: Value = serde_json::from_str(&report.summary).unwrap();
    assert_eq!(
        seen,
        json!([["yes", "yes", "no", "no"], [true, true, true, true], true, "    return a - b\n"]),
        "in scope, a command, out of scope, the network; four writes outside; a read outside; one line"
    );
    assert!(report.concerns.as_deref().is_some_and(|text| text.contains("other.py")), "{report:?}");
    assert!(!place.repo().join("other.py").exists() && !place.root.path().join("x").exists());
    assert!(!place.root.path().join("outside/x").exists());
    assert_eq!(progress, ["edit calc.py", "write calc.py"]);
    assert_eq!(outcome.usage.cost_usd, Some(0.25));
    assert!(
        place.transcript().contains("session/prompt") || place.transcript().contains("agent_message_chunk")
    );
}

#[tokio::test]
async fn a_role_that_only_reads_may_neither_edit_nor_run() {
    let place = prepared();
    let (outcome, _) = dispatch(&place, "read", Role::Verifier).await;
    let Ok(Report::Review(review)) = &outcome.result else { panic!("{outcome:?}\n{}", place.transcript()) };
    assert_eq!(review.findings[0].verdict, Some(Verdict::Confirmed));
    let seen: Value = serde_json::from_str(review.findings[0].evidence.as_deref().unwrap()).unwrap();
    assert_eq!(seen, json!([["yes", "no", "no"], true]));
    assert_eq!(std::fs::read_to_string(place.repo().join("calc.py")).unwrap(), BROKEN);
}

#[tokio::test]
async fn a_missing_report_is_asked_for_once_in_the_same_session() {
    let place = prepared();
    let (outcome, _) = dispatch(&place, "late", Role::Fixer).await;
    assert!(matches!(outcome.result, Ok(Report::Fix(_))), "{outcome:?}\n{}", place.transcript());
    let (outcome, _) = dispatch(&place, "never", Role::Fixer).await;
    assert_eq!(outcome.result.unwrap_err().class, FailureClass::NoReport);
}

#[tokio::test]
async fn failures_are_classed() {
    for (part, class, says) in [
        ("login", FailureClass::Account, "Authentication required"),
        ("broken", FailureClass::Service, "503"),
        ("apology", FailureClass::Service, "529"),
        ("crash", FailureClass::Agent, "boom"),
    ] {
        let place = prepared();
        let (outcome, _) = dispatch(&place, part, Role::Fixer).await;
        let failure = outcome.result.expect_err(part);
        assert_eq!(failure.class, class, "{part}: {failure:?}\n{}", place.transcript());
        assert!(failure.message.contains(says), "{part}: {failure:?}");
    }
}

#[tokio::test]
async fn a_program_that_is_no_agent_is_not_waited_for() {
    let place = prepared();
    for command in
        [vec!["true".to_owned()], vec!["sh".to_owned(), "-c".to_owned(), "echo not json; exit 0".to_owned()]]
    {
        let job = place.job(
            brief(Role::Fixer, ProtocolName::Bounded, &place.repo()),
            AgentSpec::new("mine", Kind::Acp { command }),
        );
        let outcome = run(job, &supervisor(), &Cancel::new(), None).await;
        assert!(outcome.result.is_err());
    }
    let job = place.job(
        brief(Role::Fixer, ProtocolName::Bounded, &place.repo()),
        AgentSpec::new("mine", Kind::Acp { command: vec!["no-such-agent-here".into()] }),
    );
    let failure = run(job, &supervisor(), &Cancel::new(), None).await.result.unwrap_err();
    assert_eq!(failure.class, FailureClass::Environment, "{failure:?}");
}

#[tokio::test]
async fn cancelling_and_the_limit_end_an_agent_with_all_it_started() {
    for cancelled in [true, false] {
        let place = prepared();
        let mut job = place.job(brief(Role::Fixer, ProtocolName::Bounded, &place.repo()), agent("hang"));
        if !cancelled {
            job.limit = Duration::from_secs(2);
        }
        let cancel = Cancel::new();
        let (sender, mut receiver) = mpsc::unbounded_channel::<Progress>();
        let stop = async {
            let step = receiver.recv().await;
            if cancelled && step.is_some() {
                cancel.cancel();
            }
        };
        let supervisor = supervisor();
        let (outcome, ()) = tokio::join!(run(job, &supervisor, &cancel, Some(sender)), stop);
        let class = if cancelled { FailureClass::Cancelled } else { FailureClass::OverLimit };
        assert_eq!(outcome.result.unwrap_err().class, class);
    }
}
