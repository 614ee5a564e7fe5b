//! `command` agents: real programs, small scripts, every way to end.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fix_loop::agents::brief::SchemaVersion;
use fix_loop::agents::report::{FixStatus, Verdict};
use fix_loop::agents::{
    AgentSpec, Brief, FailureClass, Job, Kind, Outcome, ProtocolName, Report, Role, preset, probe,
    probe_within, run, schema,
};
use fix_loop::process::{Cancel, Identity, Supervisor, is_alive};
use serde_json::json;
use tokio::sync::oneshot;

pub fn supervisor() -> Supervisor {
    Supervisor::new(env!("CARGO_BIN_EXE_fix-loop"))
}

pub fn brief(role: Role, protocol: ProtocolName, workspace: &Path) -> Brief {
    Brief {
        schema_version: SchemaVersion::V1,
        role,
        protocol,
        loop_id: "loop-1".into(),
        round: 1,
        worker: "w1".into(),
        workspace: workspace.display().to_string(),
        findings: vec![
            json!({"id":1,"severity":"P1","title":"add subtracts","body":"add(1, 2) is -1","file":"calc.py",
            "line_start":2,"line_end":2,"confidence":0.9,"criterion":"add(1, 2) == 3","verdict":"confirmed","evidence":null}),
        ],
        scope: vec!["calc.py".into()],
        criteria: vec!["add(1, 2) == 3".into()],
        checks: Vec::new(),
        previous: Vec::new(),
        diff: None,
        base: None,
        questions_answered: Vec::new(),
        instructions: String::new(),
        report_schema: schema(role, protocol),
    }
}

/// A workspace, and a folder beside it for transcripts.
pub struct Place {
    pub root: tempfile::TempDir,
}

impl Place {
    pub fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("repo")).unwrap();
        Place { root }
    }

    pub fn repo(&self) -> PathBuf {
        self.root.path().join("repo")
    }

    pub fn transcript(&self) -> String {
        std::fs::read_to_string(self.root.path().join("workers/w1.log")).unwrap_or_default()
    }

    pub fn job(&self, brief: Brief, agent: AgentSpec) -> Job {
        Job {
            brief,
            agent,
            model: None,
            effort: None,
            cwd: self.repo(),
            also_writes: Vec::new(),
            transcript_dir: self.root.path().join("workers"),
            limit: Duration::from_secs(300),
            buffers: fix_loop::agents::Buffers::none(),
            started: None,
        }
    }
}

fn shell(script: &str) -> AgentSpec {
    AgentSpec::command("mine", vec!["sh".into(), "-c".into(), script.into()])
}

async fn dispatch(place: &Place, role: Role, script: &str) -> Outcome {
    let job = place.job(brief(role, ProtocolName::Bounded, &place.repo()), shell(script));
    run(job, &supervisor(), &Cancel::new(), None).await
}

const FIXED: &str = r#"echo '{"files_changed":["calc.py"],"summary":"did it"}'"#;

#[tokio::test]
async fn a_command_gets_the_brief_as_json_and_gives_its_report() {
    let place = Place::new();
    let script = "
import json, os, sys
brief = json.load(sys.stdin)
assert brief['role'] == 'fixer' and brief['loop'] == 'loop-1' and brief['findings'][0]['id'] == 1
assert os.getcwd() == os.path.realpath(brief['workspace'])
assert not [name for name in os.environ if name.startswith('GIT_') and name != 'GIT_TERMINAL_PROMPT']
open('calc.py', 'w').write('fixed')
print('some chatter', file=sys.stderr)
print(json.dumps({'status': 'fixed', 'files_changed': ['calc.py'], 'summary': 'did it'}))
";
    let agent = AgentSpec::command("mine", vec!["python3".into(), "-c".into(), script.into()]);
    let job = place.job(brief(Role::Fixer, ProtocolName::Bounded, &place.repo()), agent);
    let outcome = run(job, &supervisor(), &Cancel::new(), None).await;
    let Report::Fix(report) = outcome.result.unwrap() else { panic!() };
    assert_eq!((report.status, report.summary.as_str()), (FixStatus::Fixed, "did it"));
    assert_eq!(std::fs::read_to_string(place.repo().join("calc.py")).unwrap(), "fixed");
    assert!(place.transcript().contains("! some chatter"), "{}", place.transcript());
}

#[tokio::test]
async fn every_bad_ending_has_its_class_and_says_what_to_do() {
    use FailureClass::{Account, Agent, Environment, NoReport, Service};
    let cases = [
        ("", NoReport, "empty"),
        ("echo all fixed", NoReport, "no JSON object"),
        ("echo '{}'", NoReport, "no JSON object"),
        (r#"echo '{"status":"banana"}'"#, NoReport, "banana"),
        (r#"printf '{"status":"fixed","files_ch'"#, NoReport, "no JSON object"),
        (r"printf 'a\000b\377\033[31m{'", NoReport, "no JSON object"),
        ("echo oh no >&2; exit 3", Agent, "exit code 3: oh no"),
        (r#"echo '{"files_changed":[],"summary":"s"}'; exit 1"#, Agent, "exit code 1"),
        ("kill -SEGV $$", Agent, "signal 11"),
        (r#"echo '{"type":"result","is_error":true,"result":"API Error: 529 overloaded"}'"#, Service, "529"),
        (r#"echo '{"error":{"message":"invalid api key"}}'"#, Account, "api key"),
        (r#"echo '{"error":{"message":"invalid api key"}}'; exit 1"#, Account, "exit code 1"),
        ("exec /no/such/program", Environment, "exit code 127"),
    ];
    for (script, class, says) in cases {
        let place = Place::new();
        let failure = dispatch(&place, Role::Fixer, script).await.result.expect_err(script);
        assert_eq!(failure.class, class, "{script}: {failure:?}");
        assert!(failure.message.contains(says), "{script}: {failure:?}");
        assert!(!failure.advice.is_empty());
    }
}

#[tokio::test]
async fn a_program_that_is_not_there_is_the_environments_failure() {
    let place = Place::new();
    let job = place.job(
        brief(Role::Fixer, ProtocolName::Bounded, &place.repo()),
        AgentSpec::command("mine", vec!["no-such-agent-here".into()]),
    );
    let failure = run(job, &supervisor(), &Cancel::new(), None).await.result.unwrap_err();
    assert_eq!(failure.class, FailureClass::Environment);
    assert!(
        failure.message.contains("no-such-agent-here") && failure.advice.contains("install"),
        "{failure:?}"
    );
}

#[tokio::test]
async fn a_report_behind_a_flood_of_output_is_found() {
    let place = Place::new();
    let script = format!("head -c 50000000 /dev/zero | tr '\\0' x; echo; {FIXED}");
    let outcome = dispatch(&place, Role::Fixer, &script).await;
    assert!(matches!(outcome.result, Ok(Report::Fix(_))), "{:?}", outcome.result);
    let transcript = std::fs::metadata(place.root.path().join("workers/w1.log")).unwrap().len();
    assert!(transcript < 10_000_000, "{transcript}");
}

#[tokio::test]
async fn a_hanging_agent_is_stopped_at_its_limit_with_all_it_started() {
    let place = Place::new();
    let mut agent = shell("setsid sleep 1000 & echo waiting >&2; sleep 1000");
    agent.limit = Some(Duration::from_millis(200));
    let (sender, started) = oneshot::channel();
    let mut job = place.job(brief(Role::Fixer, ProtocolName::Bounded, &place.repo()), agent);
    job.started = Some(sender);
    let outcome = run(job, &supervisor(), &Cancel::new(), None).await;
    let failure = outcome.result.unwrap_err();
    assert_eq!(failure.class, FailureClass::OverLimit, "{failure:?}");
    assert!(failure.advice.contains("timeout"), "{failure:?}");
    let identity: Identity = started.await.unwrap();
    assert!(!is_alive(&identity));
}

#[tokio::test]
async fn a_cancelled_agent_is_cancelled_whatever_it_reports_on_its_way_out() {
    let place = Place::new();
    let cancel = Cancel::new();
    let script = format!(
        "trap '{{ {}; exit 0; }}' TERM; touch ready; while :; do sleep 1000 & wait; done",
        FIXED.replace('\'', "'\\''")
    );
    let (sender, started) = oneshot::channel();
    let mut job = place.job(brief(Role::Fixer, ProtocolName::Bounded, &place.repo()), shell(&script));
    job.started = Some(sender);
    let stop = async {
        started.await.unwrap();
        cancel.cancel();
    };
    let supervisor = supervisor();
    let (outcome, ()) = tokio::join!(run(job, &supervisor, &cancel, None), stop);
    assert_eq!(outcome.result.unwrap_err().class, FailureClass::Cancelled);
}

#[tokio::test]
async fn what_an_agent_leaves_running_is_ended_and_counted() {
    let place = Place::new();
    let script =
        format!("mkfifo up; (setsid sh -c 'echo up > up; exec sleep 1000' &); read -r line < up; {FIXED}");
    let outcome = dispatch(&place, Role::Fixer, &script).await;
    assert!(outcome.result.is_ok(), "{:?}", outcome.result);
    assert_eq!(outcome.leftovers, 1);
}

#[tokio::test]
async fn a_verifier_that_leaves_a_verdict_out_gives_no_report() {
    let place = Place::new();
    let outcome =
        dispatch(&place, Role::Verifier, r#"echo '{"findings":[{"id":1,"title":"looks good"}]}'"#).await;
    assert_eq!(outcome.result.unwrap_err().class, FailureClass::NoReport);
    let good = r#"echo '{"schema_version":"v1","findings":[{"id":1,"severity":"P1","verdict":"rejected","evidence":"calc.py:2"}],"checks_run":[]}'"#;
    let Report::Review(review) = dispatch(&place, Role::Verifier, good).await.result.unwrap() else {
        panic!()
    };
    assert_eq!(review.findings[0].verdict, Some(Verdict::Rejected));
}

#[tokio::test]
async fn an_empty_brief_starts_nothing() {
    let place = Place::new();
    let mut brief = brief(Role::Fixer, ProtocolName::Bounded, &place.repo());
    brief.findings.clear();
    brief.criteria.clear();
    let job = place.job(brief, shell("touch started"));
    let failure = run(job, &supervisor(), &Cancel::new(), None).await.result.unwrap_err();
    assert!(failure.message.contains("empty"), "{failure:?}");
    assert!(!place.repo().join("started").exists());
}

#[tokio::test]
async fn a_text_agent_of_the_users_own_gets_the_prompt() {
    use fix_loop::agents::agent::{Cli, Kind};
    let place = Place::new();
    let script = r#"cat > prompt.txt; echo 'Sure!'; echo '{"status":"declined","summary":"no"}'"#;
    let mut cli = Cli::plain(vec!["sh".into(), "-c".into(), script.into()]);
    cli.version = Vec::new();
    let agent = AgentSpec::new("own", Kind::Cli(Box::new(cli)));
    let job = place.job(brief(Role::Fixer, ProtocolName::Bounded, &place.repo()), agent);
    let Report::Fix(report) = run(job, &supervisor(), &Cancel::new(), None).await.result.unwrap() else {
        panic!()
    };
    assert_eq!(report.status, FixStatus::Declined);
    let prompt = std::fs::read_to_string(place.repo().join("prompt.txt")).unwrap();
    assert!(prompt.contains("add subtracts") && prompt.contains("## Report"));
}

#[tokio::test]
async fn a_missing_report_is_asked_for_once_in_the_same_session() {
    use fix_loop::agents::agent::{Cli, Kind};
    use fix_loop::agents::stream::Output;
    // A stand-in that speaks like Claude Code: no report at first, and one when its session is resumed.
    let script = r#"
        echo "$@" >> calls
        cat > prompt
        case "$*" in
            *--resume*) text='{\"status\":\"fixed\",\"files_changed\":[\"calc.py\"],\"summary\":\"s\"}' ;;
            *) text='I am done' ;;
        esac
        echo '{"type":"result","subtype":"success","is_error":false,"result":"'"$text"'","session_id":"s1","total_cost_usd":0.5,"usage":{"input_tokens":10,"output_tokens":1}}'
    "#;
    for (answers, calls) in [(true, 2), (false, 2)] {
        let place = Place::new();
        let script = if answers { script.to_owned() } else { script.replace("*--resume*)", "*--never*)") };
        let mut cli = Cli::plain(["sh", "-c", script.as_str(), "agent"].map(str::to_owned).to_vec());
        cli.output = Output::Claude;
        cli.resume = vec!["--resume".into(), "{session}".into()];
        cli.editing = vec!["--edit".into()];
        let agent = AgentSpec::new("own", Kind::Cli(Box::new(cli)));
        let job = place.job(brief(Role::Fixer, ProtocolName::Bounded, &place.repo()), agent);
        let outcome = run(job, &supervisor(), &Cancel::new(), None).await;
        let log = std::fs::read_to_string(place.repo().join("calls")).unwrap();
        assert_eq!(log.lines().count(), calls, "{log}");
        assert_eq!(log.lines().nth(1), Some("--resume s1"), "the follow-up may not edit");
        assert!(std::fs::read_to_string(place.repo().join("prompt")).unwrap().contains("no valid report"));
        match outcome.result {
            Ok(Report::Fix(_)) => assert!(answers),
            Err(failure) => assert_eq!((failure.class, answers), (FailureClass::NoReport, false)),
            other => panic!("{other:?}"),
        }
        assert_eq!((outcome.usage.cost_usd, outcome.usage.tokens), (Some(1.0), Some(22)));
    }
}

#[tokio::test]
async fn a_dispatch_that_the_service_refused_is_started_again_as_often_as_allowed() {
    use fix_loop::agents::agent::{Cli, Kind};
    use fix_loop::agents::stream::Output;
    let script = r#"
        echo call >> calls
        if [ "$(wc -l < calls)" -lt 3 ]; then
            echo '{"type":"result","is_error":true,"api_error_status":529,"result":"Overloaded"}'; exit 1
        fi
        echo '{"type":"result","is_error":false,"result":"{\"status\":\"fixed\",\"files_changed\":[]}"}'
    "#;
    for (retries, class) in [(2, None), (1, Some(FailureClass::Service))] {
        let place = Place::new();
        let mut cli = Cli::plain(["sh", "-c", script].map(str::to_owned).to_vec());
        cli.output = Output::Claude;
        let mut agent = AgentSpec::new("own", Kind::Cli(Box::new(cli)));
        agent.retries = retries;
        let job = place.job(brief(Role::Fixer, ProtocolName::Bounded, &place.repo()), agent);
        let outcome = run(job, &supervisor(), &Cancel::new(), None).await;
        assert_eq!(outcome.result.err().map(|failure| failure.class), class);
    }
}

#[tokio::test]
async fn a_probe_says_what_is_there_and_what_is_missing() {
    let place = Place::new();
    let program = place.repo().join("claude");
    std::fs::write(&program, "#!/bin/sh\n[ \"$1\" = --version ] && echo '9.9.9 (stand-in)'\n").unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let config = |path: &Path| fix_loop::config::AgentConfig {
        command: Some(vec![path.display().to_string()]),
        ..fix_loop::config::AgentConfig::default()
    };
    let there = AgentSpec::resolve("claude", Some(&config(&program))).unwrap();
    let probed = probe(&there, &supervisor(), &place.repo()).await;
    assert_eq!((probed.version.as_deref(), probed.is_usable()), (Some("9.9.9 (stand-in)"), true));
    let gone = AgentSpec::resolve("claude", Some(&config(&place.repo().join("gone")))).unwrap();
    let probed = probe(&gone, &supervisor(), &place.repo()).await;
    assert!(!probed.is_usable() && probed.problem.unwrap().contains("gone"));
    assert!(probe(&AgentSpec::suggested(), &supervisor(), &place.repo()).await.is_usable());
}

#[tokio::test]
async fn a_probe_does_not_wait_for_a_program_that_hangs_and_leaves_none() {
    let place = Place::new();
    let (program, held) = (place.repo().join("claude"), place.repo().join("held"));
    assert!(std::process::Command::new("mkfifo").arg(&held).status().unwrap().success());
    let script = format!("#!/bin/sh\nexec 9> {}\nsetsid sleep 1000 &\nsleep 1000\n", held.display());
    std::fs::write(&program, script).unwrap();
    std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let config = fix_loop::config::AgentConfig {
        command: Some(vec![program.display().to_string()]),
        ..fix_loop::config::AgentConfig::default()
    };
    let spec = AgentSpec::resolve("claude", Some(&config)).unwrap();
    // Comes to its end only when nobody holds it.
    let reading = std::thread::spawn(move || std::fs::read_to_string(held).unwrap());
    let probed = probe_within(Duration::from_millis(500), &spec, &supervisor(), &place.repo()).await;
    let problem = probed.problem.expect("it never answered");
    assert!(problem.contains("did not answer within 0.5 seconds"), "{problem}");
    assert_eq!(reading.join().unwrap(), "");
}

#[tokio::test]
async fn an_outdated_program_that_gives_no_report_is_the_environments_failure() {
    for (version, class) in
        [("codex-cli 0.43.9", FailureClass::Environment), ("codex-cli 0.44.0", FailureClass::NoReport)]
    {
        let place = Place::new();
        let program = place.root.path().join("codex");
        std::fs::write(
            &program,
            format!("#!/bin/sh\n[ \"$1\" = --version ] && echo '{version}'\ncat > /dev/null\n"),
        )
        .unwrap();
        std::fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
        let mut agent = preset("codex").unwrap();
        let Kind::Cli(cli) = &mut agent.kind else { panic!("it is a command line") };
        cli.program = vec![program.display().to_string()];
        let job = place.job(brief(Role::Fixer, ProtocolName::Bounded, &place.repo()), agent);
        let failure = run(job, &supervisor(), &Cancel::new(), None).await.result.unwrap_err();
        assert_eq!(failure.class, class, "{failure:?}");
        if class == FailureClass::Environment {
            assert!(failure.message.contains("0.43.9 is too old") && failure.message.contains("0.44.0"));
            assert!(failure.advice.contains("update codex"), "{failure:?}");
        }
    }
}
