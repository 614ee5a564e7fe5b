//! What one fix costs beside the agent's own work: the time to start it, memory, and the size of what it is told.
//!
//! Fix Loop asks no model anything by itself. That is shown by running the same program once more by hand, with the same
//! words: both come to the same requests. The table goes to `FIX_LOOP_COSTS`, where `tests/run` shows it. Times and memory
//! are told, not judged: they are the machine's and the programs' own.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{ChildStdin, ChildStdout, Command, Stdio};
use std::time::Instant;

use fix_loop::agents::{Brief, ProtocolName, prompt, schema};
use fix_loop_tests::{Replies, Repo, finding};
use serde_json::{Value, json};

use super::world::{CHECK, Program, Project, RIGHT, WRONG, World, mend};

/// The longest that a fixer may be told about one ordinary finding, in bytes; about 4 bytes are one token.
const LONGEST_BRIEF: usize = 8_000;
/// The most memory that Fix Loop itself may take, in MiB. Debug builds, which the tests run, take more than others.
const MOST_MEMORY: u64 = 200;

struct Row {
    agent: &'static str,
    /// From the dispatch to the first byte at the model, in ms, and the same without Fix Loop.
    start: Option<(u64, Option<u64>)>,
    /// What `--version` takes, in ms.
    version: Option<u64>,
    /// Peak memory in MiB: of Fix Loop, and of all that it started.
    memory: Option<(u64, u64)>,
    requests: Option<(usize, Option<usize>)>,
    brief: Option<usize>,
}

pub fn what_one_fix_costs() {
    let mut rows = vec![suggested(), command()];
    for program in [
        Program::Claude,
        Program::Codex,
        Program::ClaudeAcp,
        Program::Gemini,
        Program::Qwen,
        Program::Opencode,
    ] {
        // `tests/run` says which are missing.
        if std::env::var_os(program.variable()).is_some() {
            rows.push(with_model(program));
        }
    }
    let mut table = String::from(
        "| agent | start, ms | by hand, ms | ratio | `--version`, ms | fix-loop, MiB | agent, MiB | requests | by hand | brief, bytes |\n\
         |---|---|---|---|---|---|---|---|---|---|\n",
    );
    for row in &rows {
        let told = |value: Option<String>| value.unwrap_or_else(|| "–".to_owned());
        let hand = row.start.and_then(|(_, by_hand)| by_hand);
        let ratio =
            row.start.zip(hand).map(|((ours, _), hand)| format!("{:.2}", ours as f64 / hand.max(1) as f64));
        let _ = writeln!(
            table,
            "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
            row.agent,
            told(row.start.map(|(ours, _)| ours.to_string())),
            told(hand.map(|ms| ms.to_string())),
            told(ratio),
            told(row.version.map(|ms| ms.to_string())),
            told(row.memory.map(|(ours, _)| ours.to_string())),
            told(row.memory.map(|(_, agents)| agents.to_string())),
            told(row.requests.map(|(ours, _)| ours.to_string())),
            told(row.requests.and_then(|(_, hand)| hand).map(|count| count.to_string())),
            told(row.brief.map(|bytes| bytes.to_string())),
        );
        if let Some(brief) = row.brief {
            assert!(brief <= LONGEST_BRIEF, "the brief of {} has {brief} bytes", row.agent);
        }
        if let Some((ours, _)) = row.memory {
            assert!(ours <= MOST_MEMORY, "fix-loop took {ours} MiB with {}", row.agent);
        }
    }
    table.push_str(&briefs());
    match std::env::var_os("FIX_LOOP_COSTS") {
        Some(path) => std::fs::write(path, table).expect("the file can be written"),
        None => println!("{table}"),
    }
}

/// One whole run with a real program, and the same program by hand.
fn with_model(program: Program) -> Row {
    let replies = || Replies::new().to("fixer", mend());
    let world = World::started(program, |repo| replies().start_watching(repo), CHECK, |_| {});
    let running = world.run(&[]).spawn();
    world.model.watch(running.pid());
    let output = running.wait();
    assert_eq!(output.code, Some(0), "{program:?}: {output}\n{}", world.transcripts());
    let all = world.model.all_requests();
    let first = world.model.requests()[0].clone();
    let brief = brief_in(first["said"].as_str().expect("the brief reached the model"));
    let dispatched = dispatched_at(&world.repo);
    let arrived = all.iter().filter_map(|request| request["at"].as_u64()).min().expect("it asked");
    let peak =
        |of: &str| all.iter().filter_map(|request| request["memory"][of].as_u64()).max().unwrap_or(0) / 1024;

    let by_hand = by_hand(program, &brief, replies());
    if let Some((_, requests)) = &by_hand {
        assert_eq!(
            asked(&all),
            asked(requests),
            "{program:?}: every request is the agent's own, so orchestration takes no tokens"
        );
    }
    Row {
        agent: match program {
            Program::Claude => "Claude Code",
            Program::Codex => "Codex",
            Program::ClaudeAcp => "Claude Code over ACP",
            Program::Gemini => "Gemini CLI",
            Program::Qwen => "qwen-code",
            Program::Opencode => "opencode",
            Program::GeminiAcp | Program::QwenAcp | Program::OpencodeAcp => program.name(),
        },
        start: Some((arrived.saturating_sub(dispatched), by_hand.as_ref().map(|(start, _)| *start))),
        version: (program != Program::ClaudeAcp).then(|| version(&world, program)),
        memory: Some((peak("fix_loop"), peak("started"))),
        requests: Some((all.len(), by_hand.map(|(_, requests)| requests.len()))),
        brief: Some(brief.len()),
    }
}

/// The requests by who asked and where, with how often.
fn asked(requests: &[Value]) -> BTreeMap<String, usize> {
    let mut asked = BTreeMap::new();
    for request in requests {
        let agent = request["agent"].as_str().unwrap_or("nobody");
        let path = request["path"].as_str().unwrap_or_default();
        // `claude-cli/2.1 (…)`: what stands after the version tells how it was started.
        let agent = agent.split([' ', '(']).next().unwrap_or_default();
        let tools = request["tools"].as_array().map_or(0, Vec::len);
        let offers = if tools > 0 { "with tools" } else { "without" };
        *asked.entry(format!("{agent} {path} {offers}")).or_insert(0) += 1;
    }
    asked
}

/// The brief inside what the user is told to have said.
fn brief_in(said: &str) -> String {
    let from = said.find("You fix review findings").expect("a fixer's brief");
    let last = "a claim changes nothing.";
    let to = said.rfind(last).expect("its end") + last.len();
    said[from..to].to_owned()
}

/// When the ledger says that the worker was dispatched, in ms since the epoch.
fn dispatched_at(repo: &Repo) -> u64 {
    let ledger = repo.read(".git/fix-loop/ledger.jsonl");
    let lines = ledger.lines().map(|line| serde_json::from_str::<Value>(line).expect("each line is JSON"));
    lines
        .into_iter()
        .find(|line| line.pointer("/entry/produced/produced/worker").is_some())
        .and_then(|line| line["at"].as_u64())
        .expect("a worker was dispatched")
}

/// The same brief given to the program as a person would, in a fresh project: ms to its first request, and all of them.
fn by_hand(program: Program, brief: &str, replies: Replies) -> Option<(u64, Vec<Value>)> {
    let schema = schema(fix_loop::agents::Role::Fixer, ProtocolName::Bounded).to_string();
    let world = World::started(program, |repo| replies.start(repo), CHECK, |_| {});
    let arguments: Vec<&str> = match program {
        Program::ClaudeAcp => vec![],
        Program::Claude => vec![
            "-p",
            "--output-format=json",
            "--permission-mode=acceptEdits",
            "--allowedTools=Read,Edit,Bash",
            "--json-schema",
            &schema,
        ],
        Program::Codex => vec!["exec", "--skip-git-repo-check", "-s", "workspace-write", "-"],
        Program::Gemini => vec!["--yolo", "--skip-trust"],
        Program::Qwen => vec!["--yolo", "--json-schema", &schema],
        Program::Opencode => vec!["run"],
        _ => return None,
    };
    let over_acp = program == Program::ClaudeAcp;
    let mut command = if over_acp { Command::new("node") } else { Command::new(program.path()) };
    if over_acp {
        command.arg(program.path()).stdout(Stdio::piped());
    } else {
        command.stdout(Stdio::null());
    }
    command.args(arguments).current_dir(world.repo.root()).stdin(Stdio::piped()).stderr(Stdio::null());
    world.repo.isolate(&mut command);
    let began = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).expect("after 1970");
    let mut child = command.spawn().expect("it is installed");
    let moved = brief.replace(&workspace_of(brief), &world.repo.root().display().to_string());
    let stdin = child.stdin.take().expect("it is piped");
    match child.stdout.take() {
        Some(stdout) => ask_over_acp(stdin, stdout, &world.repo.root().display().to_string(), &moved),
        None => { stdin }.write_all(moved.as_bytes()).expect("it reads"),
    }
    assert!(child.wait().expect("it is our child").success());
    assert!(world.repo.read("calc.py").contains(RIGHT), "by hand the same is done");
    let requests = world.model.all_requests();
    let first = requests.iter().filter_map(|request| request["at"].as_u64()).min().expect("it asked");
    Some((first.saturating_sub(began.as_millis() as u64), requests))
}

/// What the smallest client says, who allows everything.
fn ask_over_acp(mut stdin: ChildStdin, stdout: ChildStdout, cwd: &str, prompt: &str) {
    let mut lines = BufReader::new(stdout).lines();
    let mut say = |message: Value| writeln!(stdin, "{message}").expect("it reads");
    let request = |id: u32, method: &str, params: Value| json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params});
    let files = json!({"readTextFile": false, "writeTextFile": false});
    say(request(1, "initialize", json!({"protocolVersion": 1, "clientCapabilities": {"fs": files}})));
    say(request(2, "session/new", json!({"cwd": cwd, "mcpServers": []})));
    loop {
        let line = lines.next().expect("it goes on").expect("it is text");
        let message: Value = serde_json::from_str(&line).expect("each line is JSON");
        if message["method"] == "session/request_permission" {
            let outcome = json!({"outcome": "selected", "optionId": "allow"});
            say(json!({"jsonrpc": "2.0", "id": message["id"], "result": {"outcome": outcome}}));
        } else if message["id"] == 2 {
            let prompt = json!([{"type": "text", "text": prompt}]);
            let session = &message["result"]["sessionId"];
            say(request(3, "session/prompt", json!({"sessionId": session, "prompt": prompt})));
        } else if message["id"] == 3 {
            assert_eq!(message["result"]["stopReason"], "end_turn", "{message}");
            return;
        }
    }
}

fn workspace_of(brief: &str) -> String {
    let rest = brief.split_once("in the repository at ").expect("it says where").1;
    rest.split_once(". This is").expect("it goes on").0.to_owned()
}

/// The best of three.
fn version(world: &World, program: Program) -> u64 {
    let once = |_| {
        let mut command = Command::new(program.path());
        command.arg("--version").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        world.repo.isolate(&mut command);
        let began = Instant::now();
        assert!(command.status().expect("it is installed").success());
        began.elapsed().as_millis() as u64
    };
    (0..3).map(once).min().expect("three times")
}

/// A program of the user's own that does the same, and says how much memory its grandparent took.
fn command() -> Row {
    let text = format!(
        "cat > /dev/null; sed -i '5s/.*/{RIGHT}/' calc.py; \
         above=$(sed -n 's/^PPid:\\t//p' /proc/$PPID/status); \
         sed -n 's/^VmHWM: *//p' /proc/$above/status > ../memory; echo '{{\"status\": \"fixed\", \"summary\": \"added\"}}'"
    );
    let words = text.replace('\\', "\\\\").replace('"', "\\\"");
    let config = format!(
        "{CHECK}[agents.mine]\ncommand = [\"sh\", \"-c\", \"{words}\"]\n[roles.fixer]\nagent = \"mine\"\n"
    );
    let project = Project::new(&config, |_| {});
    let report = project.run(&[]).expect(0).json();
    let peak = std::fs::read_to_string(project.repo.outside().join("memory")).expect("it was told");
    let ours =
        peak.split_whitespace().next().and_then(|kib| kib.parse::<u64>().ok()).expect("a number") / 1024;
    let once = |_| {
        let mut by_hand = Command::new("sh");
        by_hand
            .args(["-c", &text])
            .current_dir(project.repo.root())
            .stdin(Stdio::null())
            .stdout(Stdio::null());
        project.repo.isolate(&mut by_hand);
        let began = Instant::now();
        assert!(by_hand.status().expect("there is a shell").success());
        began.elapsed().as_millis() as u64
    };
    let by_hand = (0..3).map(once).min();
    Row {
        agent: "`command` (a shell line, whole)",
        start: Some((seconds(&report), by_hand)),
        version: None,
        memory: Some((ours, 0)),
        requests: None,
        brief: None,
    }
}

/// The built-in agent, which applies what the finding carries.
fn suggested() -> Row {
    let config = format!("{CHECK}[roles.fixer]\nagent = \"suggested\"\n");
    let project = Project::new(&config, |wrong| {
        let end = WRONG.chars().count() + 1;
        wrong["suggestion"] = json!([{
            "file": "calc.py", "start": {"line": 5, "column": 1}, "end": {"line": 5, "column": end},
            "replacement": RIGHT,
        }]);
    });
    let report = project.run(&[]).expect(0).json();
    project.assert_fixed();
    Row {
        agent: "`suggested` (built in, whole)",
        start: Some((seconds(&report), None)),
        version: None,
        memory: None,
        requests: None,
        brief: None,
    }
}

/// What the one worker of a run took, in ms.
fn seconds(report: &Value) -> u64 {
    (report["workers"][0]["seconds"].as_f64().expect("a number") * 1000.0).round() as u64
}

/// The size of what each role is told about one ordinary finding.
fn briefs() -> String {
    let mut table = String::from("\n| role | protocol | brief, bytes | about tokens |\n|---|---|---|---|\n");
    for protocol in ProtocolName::ALL {
        for &role in fix_loop::agents::schema::roles(protocol) {
            let judges = !role.may_edit();
            let brief: Brief = serde_json::from_value(json!({
                "schema_version": "v1", "role": role, "protocol": protocol, "loop": "L1", "round": 1, "worker": "L1.w1",
                "workspace": "/home/me/project", "findings": [numbered()], "scope": ["calc.py"],
                "criteria": ["add(1, 2) == 3"], "checks": [{"name": "unit", "command": ["pytest", "-q"]}],
                "previous": [], "diff": judges.then(|| format!("@@ -5 +5 @@\n-{WRONG}\n+{RIGHT}\n")), "base": null,
                "questions_answered": [], "instructions": "", "report_schema": schema(role, protocol),
            }))
            .expect("a brief");
            let bytes = prompt(&brief).len();
            assert!(bytes <= LONGEST_BRIEF, "{role:?} in {protocol:?}: {bytes} bytes");
            let _ = writeln!(table, "| {} | {protocol} | {bytes} | {} |", role.as_str(), bytes.div_ceil(4));
        }
    }
    table
}

fn numbered() -> Value {
    let mut one = finding("f1", "calc.py", 5, "add subtracts");
    one["id"] = 1.into();
    one
}
