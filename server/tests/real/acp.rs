//! Agents over the Agent Client Protocol: a real process that follows a recipe.

use std::fs;
use std::path::Path;
use std::time::Duration;

use fix_loop::agents::report::{FixReport, Verdict};
use fix_loop::agents::{
    AgentSpec, Failure, FailureClass, Kind, Outcome, Progress, ProtocolName, Report, Role, run,
};
use fix_loop::process::Cancel;
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::agents::{Place, brief, supervisor};

const BROKEN: &str = "def add(a, b):\n    return a - b\n";

struct World {
    place: Place,
    agent: AgentSpec,
}

/// A workspace, and an agent that follows this.
fn world(recipe: &Value) -> World {
    let place = Place::new();
    fs::write(place.repo().join("calc.py"), BROKEN).unwrap();
    let outside = place.root.path().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink(&outside, place.repo().join("link")).unwrap();
    let file = place.root.path().join("recipe.json");
    fs::write(&file, recipe.to_string()).unwrap();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/agents/scripted_acp.py");
    let command = ["python3".into(), script, file, place.root.path().join("log")];
    let command = command.iter().map(|word| word.display().to_string()).collect();
    World { agent: AgentSpec::new("mine", Kind::Acp { command }), place }
}

/// The same for a fixer who does this and nothing else.
fn doing(steps: &[Value]) -> World {
    world(&json!([{"do": steps}]))
}

fn fixed() -> Value {
    json!({"report": {"status": "fixed", "files_changed": ["calc.py"], "summary": "did it"}})
}

impl World {
    async fn dispatch(&self, role: Role) -> (Outcome, Vec<String>) {
        let job = self.place.job(brief(role, ProtocolName::Bounded, &self.place.repo()), self.agent.clone());
        let (sender, mut receiver) = mpsc::unbounded_channel();
        let outcome = run(job, &supervisor(), &Cancel::new(), Some(sender)).await;
        let mut progress = Vec::new();
        while let Some(step) = receiver.recv().await {
            progress.push(Progress::to_string(&step));
        }
        (outcome, progress)
    }

    async fn fix(&self) -> FixReport {
        let (outcome, _) = self.dispatch(Role::Fixer).await;
        let Ok(Report::Fix(report)) = outcome.result else {
            panic!("{outcome:?}\n{}", self.place.transcript());
        };
        report
    }

    async fn failure(&self) -> Failure {
        let (outcome, _) = self.dispatch(Role::Fixer).await;
        outcome.result.expect_err("it must fail")
    }

    /// What the client answered to each step: its text, or that it refused.
    fn answers(&self) -> Vec<Value> {
        let log = fs::read_to_string(self.place.root.path().join("log/answers.jsonl")).unwrap();
        let lines = log.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
        lines
            .map(|line| match (&line["mode"], line["error"].as_str()) {
                (Value::Null, Some(error)) => format!("refused: {error}").into(),
                (Value::Null, None) => line["text"].clone(),
                (mode, _) => mode.clone(),
            })
            .collect()
    }

    fn calc(&self) -> String {
        fs::read_to_string(self.place.repo().join("calc.py")).unwrap()
    }
}

#[tokio::test]
async fn a_fixer_reads_and_writes_through_the_client_within_its_scope() {
    let modes = json!({"currentModeId": "yolo", "availableModes": [{"id": "yolo", "name": "Yolo"}, {"id": "default", "name": "Default"}]});
    let world = world(&json!({"session": {"sessionId": "s1", "modes": modes}, "rules": [{"do": [
        {"update": {"sessionUpdate": "tool_call", "toolCallId": "t", "title": "Edit", "kind": "edit", "status": "pending",
            "rawInput": {}}},
        {"update": {"sessionUpdate": "tool_call_update", "toolCallId": "t", "title": "Edit calc.py",
            "locations": [{"path": "calc.py"}]}},
        {"update": {"sessionUpdate": "tool_call", "toolCallId": "u", "title": "`ls\n-l`", "kind": "execute", "status": "in_progress"}},
        {"read": ["calc.py", 2, 1]},
        {"may": ["edit", "calc.py"]}, {"may": ["execute"]}, {"may": ["edit", "other.py"]}, {"may": ["fetch"]},
        {"replace": ["calc.py", "-", "+"]},
        {"write": ["other.py", "x"]}, {"write": ["link/x", "x"]}, {"write": ["/etc/fix-loop-test", "x"]},
        {"write": ["../x", "x"]}, {"write": ["link/../calc.py", "x"]},
        {"read": "link/secret"},
        {"update": {"sessionUpdate": "usage_update", "used": 10, "size": 100, "cost": {"amount": 0.25, "currency": "USD"}}},
        {"say": "Working.\n"}, fixed(),
        {"stop": "end_turn", "usage": {"totalTokens": 120, "inputTokens": 100, "outputTokens": 20}},
    ]}]}));
    let (outcome, progress) = world.dispatch(Role::Fixer).await;
    let Ok(Report::Fix(report)) = &outcome.result else {
        panic!("{outcome:?}\n{}", world.place.transcript())
    };
    assert_eq!(world.calc(), BROKEN.replace('-', "+"));
    let answers = world.answers();
    assert_eq!(answers[0], "default", "the careful mode is chosen");
    assert_eq!(answers[4], "    return a - b\n");
    assert_eq!(answers[5..9], ["allow_once", "allow_once", "reject_once", "reject_once"]);
    for answer in &answers[10..16] {
        assert!(answer.as_str().is_some_and(|text| text.starts_with("refused: ")), "{answer}");
    }
    assert!(report.concerns.as_deref().is_some_and(|text| text.contains("other.py")), "{report:?}");
    assert!(!world.place.repo().join("other.py").exists() && !world.place.root.path().join("x").exists());
    assert!(!world.place.root.path().join("outside/x").exists());
    assert_eq!(progress, ["edit calc.py", "execute ls", "write calc.py"]);
    assert_eq!((outcome.usage.cost_usd, outcome.usage.tokens), (Some(0.25), Some(120)));
    assert!(world.place.transcript().contains("agent_message_chunk"));
}

#[tokio::test]
async fn a_role_that_only_reads_may_neither_edit_nor_run() {
    let world = world(&json!([{"when": {"role": "verifier"}, "do": [
        {"may": ["read", "calc.py"]}, {"may": ["edit", "calc.py"]}, {"may": ["execute"]}, {"may": ["other"]},
        {"write": ["calc.py", "x"]},
        {"report": {"findings": [{"id": 1, "verdict": "confirmed", "severity": "P1", "evidence": "calc.py:2"}]}},
    ]}]));
    let (outcome, _) = world.dispatch(Role::Verifier).await;
    let Ok(Report::Review(review)) = &outcome.result else {
        panic!("{outcome:?}\n{}", world.place.transcript())
    };
    assert_eq!(review.findings[0].verdict, Some(Verdict::Confirmed));
    let answers = world.answers();
    assert_eq!(answers[..4], ["allow_once", "reject_once", "reject_once", "reject_once"]);
    assert!(answers[4].as_str().is_some_and(|text| text.contains("only read")), "{answers:?}");
    assert_eq!(world.calc(), BROKEN);
}

#[tokio::test]
async fn a_missing_report_is_asked_for_once_in_the_same_session() {
    let says = json!({"says": "There is no valid report yet"});
    let prose = json!({"say": "I have fixed it."});
    let late = world(&json!([{"when": says, "do": [fixed()]}, {"when": {"role": "fixer"}, "do": [prose]}]));
    assert_eq!(late.fix().await.summary, "did it");
    let never = doing(&[prose]);
    let failure = never.failure().await;
    assert_eq!(failure.class, FailureClass::NoReport);
    assert_eq!(never.answers().len(), 2, "it was asked twice");
}

#[tokio::test]
async fn permission_is_never_given_for_ever_and_what_cannot_be_given_is_denied() {
    for (kinds, in_scope, answer) in [
        (json!(["allow_always", "reject_once"]), true, "reject_once"),
        (json!(["allow_always"]), true, "cancelled"),
        (json!(["allow_always", "allow_once"]), false, "cancelled"),
        (json!(["reject_always", "allow_once"]), false, "reject_always"),
        (json!([]), true, "cancelled"),
    ] {
        let file = if in_scope { "calc.py" } else { "other.py" };
        let world = doing(&[json!({"may": ["edit", file, kinds]}), fixed()]);
        let (outcome, _) = world.dispatch(Role::Fixer).await;
        assert_eq!(world.answers()[0], answer, "{kinds} in scope: {in_scope}");
        // Where nothing was changed, that it was not let is the environment's failure; that it left its scope is not.
        let denied = outcome.without_changes().result.err().map(|failure| (failure.class, failure.message));
        match in_scope {
            true => {
                let (class, message) = denied.expect("it was denied");
                assert_eq!(class, FailureClass::Environment);
                assert!(message.contains("not allowed to edit calc.py"), "{message}");
            }
            false => assert_eq!(denied, None),
        }
    }
}

#[tokio::test]
async fn what_the_client_does_not_know_is_refused_and_the_work_goes_on() {
    let world = doing(&[
        json!({"ask": ["terminal/create", {"command": "ls"}]}),
        json!({"ask": ["session/elicit_everything", {}]}),
        json!({"ask": ["fs/read_text_file", {}]}),
        json!({"ask": ["fs/read_text_file", {"sessionId": "another", "path": "calc.py"}]}),
        json!({"update": {"sessionUpdate": "telepathy", "content": {"type": "thought"}}}),
        json!({"update": {"sessionUpdate": "agent_message_chunk", "content": {"type": "hologram"}}}),
        json!({"update": {}}),
        json!({"raw": "Loading plugins…"}),
        json!({"raw": "{\"jsonrpc\": \"2.0\""}),
        json!({"raw": "[1, 2]"}),
        json!({"raw": ""}),
        json!({"bytes": "6e6f697365ff00fe"}),
        json!({"raw": "{\"jsonrpc\": \"2.0\", \"method\": \"_agent/notice\", \"params\": {\"a\": 1}}"}),
        json!({"raw": "{\"jsonrpc\": \"2.0\", \"id\": \"nobody\", \"result\": {}}"}),
        json!({"say": "{\"status\": \"blocked\", \"summary\": \"another's\"}", "session": "another"}),
        fixed(),
        json!({"say": "{\"status\": \"blocked\", \"summary\": \"another's\"}", "session": "another"}),
    ]);
    assert_eq!(world.fix().await.summary, "did it", "{}", world.place.transcript());
    let answers = world.answers();
    for answer in &answers[..2] {
        assert!(answer.as_str().is_some_and(|text| text.contains("-32601")), "{answer}");
    }
    for answer in &answers[2..4] {
        assert!(answer.as_str().is_some_and(|text| text.starts_with("refused: ")), "{answer}");
    }
}

#[tokio::test]
async fn files_are_read_as_they_are_or_not_at_all() {
    let world = doing(&[
        json!({"read": ["calc.py", 3, 5]}),
        json!({"read": ["calc.py", 0, 1]}),
        json!({"read": ["calc.py", 2, 0]}),
        json!({"read": ["calc.py", null, 1]}),
        json!({"ask": ["fs/read_text_file", {"path": "calc.py"}]}),
        json!({"read": "bytes.bin"}),
        json!({"read": "missing.py"}),
        json!({"read": "pipe"}),
        json!({"read": "."}),
        json!({"read": "../outside/secret"}),
        json!({"read": "/proc/self/environ"}),
        json!({"read": "big.txt"}),
        fixed(),
    ]);
    let repo = world.place.repo();
    fs::write(repo.join("bytes.bin"), b"caf\xe9\n").unwrap();
    fs::File::create(repo.join("big.txt")).unwrap().set_len(17 * 1024 * 1024).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(repo.join("pipe")).status().unwrap().success());
    world.fix().await;
    let answers = world.answers();
    let first = "def add(a, b):\n";
    assert_eq!(answers[..4], ["", first, "", first]);
    let outcome = json!({"content": BROKEN});
    assert_eq!(answers[4]["content"], outcome["content"], "a relative path is one of the workspace");
    for (answer, words) in answers[5..12].iter().zip([
        "not UTF-8",
        "missing.py",
        "ordinary file",
        "ordinary file",
        "outside",
        "outside",
        "readable size",
    ]) {
        assert!(answer.as_str().is_some_and(|text| text.contains(words)), "{words}: {answer}");
    }
}

#[tokio::test]
async fn a_write_to_what_is_no_file_never_waits() {
    let world = doing(&[json!({"write": ["calc.py", "x"]}), fixed()]);
    let calc = world.place.repo().join("calc.py");
    fs::remove_file(&calc).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&calc).status().unwrap().success());
    world.fix().await;
    assert!(world.answers()[0].as_str().is_some_and(|text| text.contains("ordinary file")));
}

#[tokio::test]
async fn a_report_is_found_behind_a_flood_of_words_and_in_one_long_message() {
    let flood = "x".repeat(3 * 1024 * 1024);
    let say = json!({"say": flood});
    let long = format!("{}\n{}", "y".repeat(12 * 1024 * 1024), fixed()["report"]);
    for steps in [vec![say.clone(), say.clone(), say.clone(), say, fixed()], vec![json!({"say": long})]] {
        assert_eq!(doing(&steps).fix().await.summary, "did it");
    }
}

#[tokio::test]
async fn failures_are_classed() {
    use FailureClass::{Account, Agent, Environment, NoReport, Service};
    let rules = json!([{"do": [fixed()]}]);
    let refused = json!({"error": {"code": -32000, "message": "Authentication required"}});
    let broken =
        json!({"code": -32603, "message": "Internal error", "data": {"details": "503 Service Unavailable"}});
    let newer = json!({"protocolVersion": 2, "agentCapabilities": {}});
    let logins = json!({"protocolVersion": 1, "authMethods": [{"id": "a", "name": "Log in with Us"}]});
    for (recipe, class, says) in [
        (json!({"session": refused, "rules": rules}), Account, "Authentication required"),
        (json!({"hello": logins, "session": refused, "rules": rules}), Account, "it offers: Log in with Us"),
        (json!({"hello": newer, "rules": rules}), Environment, "another version"),
        (json!({"hello": {"error": broken}, "rules": rules}), Service, "503"),
        (json!([{"do": [{"error": broken}]}]), Service, "503"),
        (json!([{"do": [{"say": "API Error: 529 overloaded"}]}]), Service, "529"),
        (json!([{"do": [{"stderr": "boom"}, {"exit": 3}]}]), Agent, "boom"),
        (json!([{"do": [{"exit": 3}]}]), Agent, "exit code 3"),
        (json!([{"do": [fixed(), {"exit": 0}]}]), Agent, "exit code 0"),
        (json!([{"do": [fixed(), {"stop": "refusal"}]}]), NoReport, "refused"),
        (json!([{"do": [fixed(), {"stop": "cancelled"}]}]), NoReport, "cancelled"),
        (json!([{"do": [fixed(), {"stop": "max_tokens"}]}]), NoReport, "limit of tokens"),
        (json!([{"do": [fixed(), {"stop": "max_turn_requests"}]}]), NoReport, "limit of requests"),
    ] {
        let world = world(&recipe);
        let failure = world.failure().await;
        assert_eq!(failure.class, class, "{recipe}: {failure:?}\n{}", world.place.transcript());
        assert!(failure.message.contains(says), "{recipe}: {failure:?}");
        assert!(!failure.advice.is_empty());
    }
}

#[tokio::test]
async fn a_program_that_is_no_agent_is_not_waited_for() {
    let mut world = doing(&[]);
    for command in [&["true"][..], &["sh", "-c", "echo not json; exit 0"]] {
        let command = command.iter().map(|word| (*word).to_owned()).collect();
        world.agent = AgentSpec::new("mine", Kind::Acp { command });
        world.failure().await;
    }
    world.agent = AgentSpec::new("mine", Kind::Acp { command: vec!["no-such-agent-here".into()] });
    let failure = world.failure().await;
    assert_eq!(failure.class, FailureClass::Environment, "{failure:?}");
}

#[tokio::test]
async fn cancelling_and_the_limit_end_an_agent_with_all_it_started() {
    let call = json!({"sessionUpdate": "tool_call", "toolCallId": "t1", "title": "sleep", "kind": "execute",
        "status": "in_progress"});
    for cancelled in [true, false] {
        let world = doing(&[json!({"update": call}), json!({"hang": true})]);
        let mut job = world
            .place
            .job(brief(Role::Fixer, ProtocolName::Bounded, &world.place.repo()), world.agent.clone());
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
