//! What agents write while they work, as the programs themselves wrote it.

use serde_json::json;

use super::prompts::brief;
use crate::agents::agent::{AgentError, AgentSpec, Kind, Retrying, SchemaVia};
use crate::agents::command_line::arguments;
use crate::agents::failure::{FailureClass, classify};
use crate::agents::presets::{NAMES, detect, preset};
use crate::agents::role::{ProtocolName, Role};
use crate::agents::run::Job;
use crate::agents::stream::{Output, Progress, Reading};
use crate::config::{AgentConfig, AgentKind, BriefInput, ReportFormat};

fn read(output: Output, lines: &[&str]) -> (Reading, Vec<String>) {
    let mut reading = Reading::new(output, "/repo");
    let mut seen = Vec::new();
    for line in lines {
        seen.extend(reading.line(line).iter().map(Progress::to_string));
    }
    reading.finish(&lines.join("\n"), "");
    (reading, seen)
}

#[test]
fn claude_code_tells_session_tools_cost_and_structured_report() {
    let (reading, seen) = read(
        Output::Claude,
        &[
            r#"{"type":"system","subtype":"init","cwd":"/repo","session_id":"s1","tools":["Read"]}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"hm"},{"type":"tool_use","id":"t1","name":"Read","input":{"file_path":"/repo/calc.py"}}]},"session_id":"s1"}"#,
            "not json at all",
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t2","name":"Edit","input":{"file_path":"/repo/calc.py"}}]},"session_id":"s1"}"#,
            r#"{"type":"user","message":{"content":[{"tool_use_id":"t2","type":"tool_result","content":"updated"}]},"session_id":"s1"}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t3","name":"Bash","input":{"command":"python3 test.py\necho"}}]}}"#,
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t4","name":"StructuredOutput","input":{}}]}}"#,
            r#"{"type":"result","subtype":"success","is_error":false,"api_error_status":null,"result":"{\"status\":\"fixed\"}","session_id":"s1","total_cost_usd":0.004,"usage":{"input_tokens":400,"cache_creation_input_tokens":1,"cache_read_input_tokens":2,"output_tokens":80},"permission_denials":[],"structured_output":{"status":"fixed"}}"#,
        ],
    );
    assert_eq!(seen, ["Read calc.py", "Edit calc.py", "Bash python3 test.py"]);
    assert_eq!(reading.session.as_deref(), Some("s1"));
    assert_eq!(reading.structured, Some(json!({"status":"fixed"})));
    assert_eq!((reading.usage.cost_usd, reading.usage.tokens), (Some(0.004), Some(483)));
    assert_eq!((reading.edits, reading.tools, reading.error), (1, 3, None));
}

#[test]
fn claude_code_errors_are_errors_whatever_the_subtype_says() {
    let result = |rest: &str| format!(r#"{{"type":"result","subtype":"success","is_error":true,{rest}}}"#);
    let cases = [
        (
            result(r#""api_error_status":401,"result":"Failed to authenticate. API Error: 401 x""#),
            FailureClass::Account,
        ),
        (
            result(r#""api_error_status":429,"result":"API Error: Request rejected (429)""#),
            FailureClass::Service,
        ),
        (result(r#""api_error_status":429,"result":"You have hit your usage limit""#), FailureClass::Account),
        (
            result(r#""api_error_status":500,"result":"API Error: 500. usually temporary""#),
            FailureClass::Service,
        ),
        (result(r#""api_error_status":529,"result":"Overloaded""#), FailureClass::Service),
        (
            result(
                r#""api_error_status":null,"result":"API Error: Connection to the API was lost (ECONNRESET)""#,
            ),
            FailureClass::Service,
        ),
        (
            result(r#""api_error_status":null,"result":"API Error: Failed to parse JSON""#),
            FailureClass::Service,
        ),
        (result(r#""result":"Invalid API key · Please run /login""#), FailureClass::Account),
        (result(r#""result":"Credit balance is too low""#), FailureClass::Account),
    ];
    for (line, want) in cases {
        let (reading, _) = read(Output::Claude, &[&line]);
        let error = reading.error.expect(&line);
        assert_eq!(classify(error.status, &error.message), want, "{line}");
        assert_eq!((reading.text, reading.structured), (None, None));
    }
}

#[test]
fn claude_code_giving_up_on_its_schema_is_a_missing_report_and_denials_are_told() {
    let (reading, _) = read(
        Output::Claude,
        &[
            r#"{"type":"result","subtype":"error_max_structured_output_retries","is_error":true,"session_id":"s","errors":["Failed"]}"#,
        ],
    );
    assert!(reading.schema_unmet && reading.error.is_none());
    let (reading, _) = read(
        Output::Claude,
        &[
            r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Write","input":{"file_path":"/repo/a"}}]}}"#,
            r#"{"type":"user","message":{"content":[{"tool_use_id":"t1","type":"tool_result","content":"denied","is_error":true}]}}"#,
            r#"{"type":"result","subtype":"success","is_error":false,"result":"fixed","permission_denials":[{"tool_name":"Write","tool_input":{"file_path":"/repo/a"}},{"tool_name":"Bash","tool_input":{"command":"x"}}]}"#,
        ],
    );
    assert_eq!((reading.edits, reading.denied), (0, vec!["a".to_owned()]));
}

#[test]
fn edits_that_settings_forbid_are_denials_also_where_the_end_does_not_list_them() {
    for (answer, denied) in [
        (
            "<tool_use_error>Error: No such tool available: Edit. Edit is disabled for this session.</tool_use_error>",
            true,
        ),
        (
            "<tool_use_error>File is in a directory that is denied by your permission settings.</tool_use_error>",
            true,
        ),
        ("Permission to use Edit has been denied.", true),
        ("<tool_use_error>String to replace not found in file.</tool_use_error>", false),
    ] {
        let call = r#"{"type":"assistant","message":{"content":[{"type":"tool_use","id":"t1","name":"Edit","input":{"file_path":"/repo/a"}}]}}"#;
        let result = json!({"type": "user", "message": {"content": [
            {"tool_use_id": "t1", "type": "tool_result", "content": answer, "is_error": true}]}});
        let end = r#"{"type":"result","subtype":"success","is_error":false,"result":"fixed","permission_denials":[]}"#;
        let (reading, _) = read(Output::Claude, &[call, &result.to_string(), end]);
        let expected: &[&str] = if denied { &["a"] } else { &[] };
        assert_eq!(
            (reading.edits, reading.denied.as_slice()),
            (0, expected.iter().map(|path| (*path).to_owned()).collect::<Vec<_>>().as_slice()),
            "{answer}"
        );
    }
}

#[test]
fn codex_tells_thread_commands_tokens_and_its_last_message() {
    let (reading, seen) = read(
        Output::Codex,
        &[
            r#"{"type":"thread.started","thread_id":"th"}"#,
            r#"{"type":"item.completed","item":{"id":"item_0","type":"error","message":"Model metadata not found"}}"#,
            r#"{"type":"turn.started"}"#,
            r#"{"type":"item.started","item":{"id":"item_1","type":"command_execution","command":"/bin/bash -lc 'python3 test_calc.py'","status":"in_progress"}}"#,
            r#"{"type":"item.completed","item":{"id":"item_2","type":"file_change","changes":[{"path":"/repo/calc.py","kind":"update"}],"status":"completed"}}"#,
            r#"{"type":"error","message":"Reconnecting... 1/5"}"#,
            r#"{"type":"item.completed","item":{"id":"item_3","type":"agent_message","text":"thinking"}}"#,
            r#"{"type":"item.completed","item":{"id":"item_4","type":"agent_message","text":"{\"status\":\"fixed\"}"}}"#,
            r#"{"type":"turn.completed","usage":{"input_tokens":400,"cached_input_tokens":10,"output_tokens":80}}"#,
        ],
    );
    assert_eq!(seen, ["shell python3 test_calc.py", "edit calc.py"]);
    assert_eq!(reading.text.as_deref(), Some(r#"{"status":"fixed"}"#));
    assert_eq!((reading.usage.tokens, reading.edits), (Some(480), 1));
    assert_eq!(reading.error, None, "a retry that worked is no error");
}

#[test]
fn codex_tells_of_denied_edits_in_its_log_in_a_failed_change_or_in_a_commands_output() {
    let failed = json!({"type": "item.completed", "item": {"type": "command_execution", "status": "failed",
        "aggregated_output": "sed: couldn't open temporary file ./sedX: Read-only file system\n"}});
    let change = json!({"type": "item.completed", "item": {"type": "file_change", "status": "failed",
        "changes": [{"path": "/repo/a.py", "kind": "update"}]}});
    for (lines, log, denied) in [
        (
            vec![],
            "ERROR codex_core: error=patch rejected: writing outside of the project\n",
            "a file (writing outside",
        ),
        (vec![failed.to_string()], "", "a file (sed: couldn't"),
        (vec![change.to_string(), change.to_string()], "", "a.py"),
    ] {
        let mut reading = Reading::new(Output::Codex, "/repo");
        for line in &lines {
            reading.line(line);
        }
        reading.finish("", log);
        assert!(reading.denied.len() == 1 && reading.denied[0].starts_with(denied), "{:?}", reading.denied);
    }
}

#[test]
fn codex_failures_are_classed_by_their_words() {
    let cases = [
        ("unexpected status 401 Unauthorized: x, url: http://127.0.0.1:1/", FailureClass::Account),
        ("exceeded retry limit, last status: 429 Too Many Requests", FailureClass::Service),
        (
            "We’re currently experiencing high demand, which may cause temporary errors.",
            FailureClass::Service,
        ),
        ("stream disconnected before completion: Transport error: network error", FailureClass::Service),
        (
            "stream disconnected before completion: stream closed before response.completed",
            FailureClass::Service,
        ),
        (
            "You exceeded your current quota, please check your plan and billing details (429)",
            FailureClass::Account,
        ),
        ("something odd", FailureClass::Agent),
    ];
    for (message, want) in cases {
        let line = json!({"type":"turn.failed","error":{"message":message}}).to_string();
        let (reading, _) = read(Output::Codex, &[&line]);
        let error = reading.error.unwrap();
        assert_eq!(classify(error.status, &error.message), want, "{message}");
    }
    let (reading, _) = read(Output::Codex, &[r#"{"type":"error","message":"no more after this"}"#]);
    assert_eq!(reading.error.unwrap().message, "no more after this");
}

#[test]
fn gemini_cli_tells_tools_edits_denials_and_its_last_message_in_pieces() {
    let (reading, seen) = read(
        Output::Gemini,
        &[
            "YOLO mode is enabled.",
            r#"{"type":"init","session_id":"g1","model":"auto"}"#,
            r#"{"type":"message","role":"user","content":"the brief"}"#,
            r#"{"type":"message","role":"assistant","content":"I look.","delta":true}"#,
            r#"{"type":"tool_use","tool_name":"read_file","tool_id":"r","parameters":{"file_path":"/repo/calc.py"}}"#,
            r#"{"type":"tool_result","tool_id":"r","status":"success","output":""}"#,
            r#"{"type":"tool_use","tool_name":"replace","tool_id":"e","parameters":{"file_path":"calc.py"}}"#,
            r#"{"type":"tool_result","tool_id":"e","status":"success"}"#,
            r#"{"type":"tool_use","tool_name":"write_file","tool_id":"w","parameters":{"file_path":"b.py"}}"#,
            r#"{"type":"tool_result","tool_id":"w","status":"error","error":{"type":"policy_violation","message":"Tool execution denied by policy."}}"#,
            r#"{"type":"message","role":"assistant","content":"{\"status\":","delta":true}"#,
            r#"{"type":"message","role":"assistant","content":"\"fixed\"}","delta":true}"#,
            r#"{"type":"result","status":"success","stats":{"total_tokens":600,"tool_calls":3}}"#,
        ],
    );
    assert_eq!(seen, ["read_file calc.py", "replace calc.py", "write_file b.py"]);
    assert_eq!(
        (reading.session.as_deref(), reading.text.as_deref()),
        (Some("g1"), Some(r#"{"status":"fixed"}"#))
    );
    assert_eq!((reading.edits, reading.denied.as_slice()), (1, ["b.py".to_owned()].as_slice()));
    assert_eq!((reading.usage.tokens, reading.tools, reading.error), (Some(600), 3, None));

    let error = r#"{"type":"result","status":"error","error":{"type":"unknown","message":"[API Error: {\"code\":401}]"},"stats":{}}"#;
    let (reading, _) = read(Output::Gemini, &[error]);
    assert_eq!(classify(None, &reading.error.unwrap().message), FailureClass::Account);
    let (reading, _) = read(
        Output::Gemini,
        &[
            r#"{"type":"error","severity":"warning","message":"Loop detected"}"#,
            r#"{"type":"error","severity":"error","message":"The model returned an empty response"}"#,
            r#"{"type":"result","status":"error","stats":{}}"#,
        ],
    );
    assert_eq!(reading.error.unwrap().message, "The model returned an empty response");
}

#[test]
fn a_program_that_tries_again_and_again_is_given_up_unless_it_gets_on_in_between() {
    let retrying = || Some(Retrying { says: "retrying with".into(), most: 2 });
    let complaint = "Attempt 1 failed with status 429. Retrying with backoff...";
    let tool = r#"{"type":"tool_use","tool_name":"glob","tool_id":"t","parameters":{}}"#;
    let mut reading = Reading::new(Output::Gemini, "/repo").impatient(retrying());
    assert!(reading.complaint_line("Ripgrep is not available").is_empty());
    assert_eq!(reading.complaint_line(complaint)[0].to_string(), format!("retrying {complaint}"));
    reading.line(tool);
    reading.complaint_line(complaint);
    assert!(!reading.gave_up, "it got on in between");
    reading.complaint_line(complaint);
    assert!(reading.gave_up);
    assert_eq!(classify(None, &reading.error.unwrap().message), FailureClass::Service);
    let empty = r#"{"type":"step_finish","part":{"reason":"unknown","tokens":{"input":0,"output":0}}}"#;
    let mut reading = Reading::new(Output::Opencode, "/repo").impatient(retrying());
    reading.line(empty);
    reading.line(empty);
    assert_eq!(classify(None, &reading.error.expect("it gave up").message), FailureClass::Service);
    let mut other = Reading::new(Output::Claude, "/repo");
    assert!(other.complaint_line(complaint).is_empty());
}

#[test]
fn qwen_code_answering_in_prose_has_not_met_its_schema_and_what_it_said_is_kept() {
    let (reading, _) = read(
        Output::Claude,
        &[
            r#"{"type":"assistant","message":{"content":[{"type":"text","text":"{\"status\":\"fixed\"}"}]}}"#,
            r#"{"type":"result","subtype":"error_during_execution","is_error":true,"error":{"message":"Model produced plain text instead of calling the structured_output tool as required by --json-schema"}}"#,
        ],
    );
    assert!(reading.schema_unmet && reading.error.is_none());
    assert_eq!(reading.text.as_deref(), Some(r#"{"status":"fixed"}"#));
}

#[test]
fn a_tool_that_opencode_does_not_offer_is_a_denied_edit_and_a_failed_one_is_none() {
    let tool = |name: &str, state: &str| {
        format!(r#"{{"type":"tool_use","part":{{"tool":"{name}","state":{state}}}}}"#)
    };
    let invalid = r#"{"status":"completed","input":{"tool":"edit","error":"x"},"output":"Model tried to call unavailable tool 'edit'."}"#;
    let missed =
        r#"{"status":"error","input":{"filePath":"/repo/a.py"},"error":"oldString not found in content"}"#;
    let ruled = r#"{"status":"error","input":{"filePath":"/repo/a.py"},"error":"The user has specified a rule which prevents you from using this specific tool call."}"#;
    for (name, state, denied) in
        [("invalid", invalid, vec!["any file"]), ("edit", missed, vec![]), ("edit", ruled, vec!["a.py"])]
    {
        let (reading, _) = read(Output::Opencode, &[&tool(name, state)]);
        assert_eq!(
            (reading.edits, reading.denied),
            (0, denied.into_iter().map(str::to_owned).collect()),
            "{state}"
        );
    }
}

#[test]
fn gemini_and_opencode_and_plain_text_are_read() {
    let (reading, _) = read(
        Output::Gemini,
        &[
            "Loaded cached credentials.",
            r#"{"session_id":"g","response":"hi","#,
            r#""stats":{"models":{"m":{"tokens":{"total":120}}},"tools":{"totalCalls":2}}}"#,
        ],
    );
    assert_eq!((reading.text.as_deref(), reading.usage.tokens, reading.tools), (Some("hi"), Some(120), 2));
    let (reading, _) =
        read(Output::Gemini, &[r#"{"error":{"type":"ApiError","message":"quota exceeded","code":429}}"#]);
    let error = reading.error.unwrap();
    assert_eq!(classify(error.status, &error.message), FailureClass::Account);

    let (reading, seen) = read(
        Output::Opencode,
        &[
            r#"{"type":"step_start","sessionID":"ses","part":{}}"#,
            r#"{"type":"tool_use","sessionID":"ses","part":{"tool":"edit","state":{"status":"completed","input":{"filePath":"/repo/a.py"}}}}"#,
            r#"{"type":"tool_use","sessionID":"ses","part":{"tool":"write","state":{"status":"error","input":{"filePath":"/repo/b.py"},"error":"The user rejected permission to use this tool."}}}"#,
            r#"{"type":"step_finish","part":{"cost":0.5,"tokens":{"input":10,"output":5,"reasoning":0,"cache":{"read":1,"write":2}}}}"#,
            r#"{"type":"step_finish","part":{"cost":0.25,"tokens":{"input":1,"output":1}}}"#,
            r#"{"type":"text","part":{"text":"done"}}"#,
        ],
    );
    assert_eq!(seen, ["edit a.py", "write b.py"]);
    assert_eq!((reading.edits, reading.denied.as_slice()), (1, ["b.py".to_owned()].as_slice()));
    assert_eq!((reading.usage.cost_usd, reading.usage.tokens), (Some(0.75), Some(20)));
    assert_eq!((reading.session.as_deref(), reading.text.as_deref()), (Some("ses"), Some("done")));
    let (reading, _) = read(
        Output::Opencode,
        &[r#"{"type":"error","error":{"name":"APIError","data":{"message":"nope","statusCode":503}}}"#],
    );
    assert_eq!(reading.error.unwrap().status, Some(503));

    let (reading, _) = read(Output::Text, &["one", "{two"]);
    assert_eq!(reading.text.as_deref(), Some("one\n{two"));
}

#[test]
fn environment_errors_are_the_environments() {
    for text in [
        "ENOSPC: no space left on device, write",
        "EACCES: permission denied, mkdir '/root'",
        "Read-only file system (os error 30)",
    ] {
        assert_eq!(classify(None, text), FailureClass::Environment, "{text}");
    }
}

pub(in crate::agents) fn job(role: Role, agent: AgentSpec) -> Job {
    Job {
        brief: brief(role, ProtocolName::Bounded),
        agent,
        model: Some("big".into()),
        effort: Some("high".into()),
        cwd: "/repo".into(),
        also_writes: Vec::new(),
        transcript_dir: "/tmp".into(),
        limit: std::time::Duration::from_secs(1),
        buffers: crate::agents::Buffers::none(),
        started: None,
    }
}

fn argv(name: &str, role: Role, session: Option<&str>) -> String {
    let spec = preset(name).unwrap();
    let Kind::Cli(cli) = spec.kind.clone() else { panic!() };
    let job = job(role, spec);
    arguments(&cli, &job, role.may_edit() && session.is_none(), "the prompt", Some("SCHEMA"), session)
        .join(" ")
}

#[test]
fn command_lines_carry_model_effort_schema_and_what_the_role_may_do() {
    let fixer = argv("claude", Role::Fixer, None);
    assert!(fixer.starts_with("claude -p --output-format stream-json --verbose"), "{fixer}");
    for part in
        ["--tools=Read,Grep,Glob,Edit", "acceptEdits", "--model big", "--effort high", "--json-schema SCHEMA"]
    {
        assert!(fixer.contains(part), "{part}: {fixer}");
    }
    for role in
        [Role::Verifier, Role::Reviewer, Role::Checker, Role::Closer, Role::Diagnoser, Role::FinalGate]
    {
        let line = argv("claude", role, None);
        for tool in ["Edit", "Write", "Bash"] {
            assert!(!line.contains(tool), "{role:?}: {line}");
        }
    }
    assert!(argv("claude", Role::Fixer, Some("S1")).contains("--resume S1"));
    assert!(!argv("claude", Role::Fixer, Some("S1")).contains("Edit"), "a follow-up changes nothing");

    assert!(
        argv("codex", Role::Fixer, None).ends_with(
            "-s workspace-write -m big -c model_reasoning_effort=\"high\" --output-schema SCHEMA -"
        )
    );
    assert!(argv("codex", Role::Verifier, None).contains("-s read-only"));
    for (role, lets) in [(Role::Fixer, true), (Role::Closer, false)] {
        let spec = preset("codex").unwrap();
        let Kind::Cli(cli) = spec.kind.clone() else { panic!() };
        let commits = Job { also_writes: vec!["/a \"b\"/objects".into()], ..job(role, spec) };
        let line = arguments(&cli, &commits, role.may_edit(), "", None, None).join(" ");
        let root = r#"-c sandbox_workspace_write.writable_roots=["/a \"b\"/objects"]"#;
        assert_eq!(line.contains(root), lets, "{line}");
    }
    assert!(argv("codex", Role::Fixer, Some("T1")).ends_with("resume T1 -"));
    for name in ["gemini", "qwen", "opencode"] {
        assert!(
            argv(name, Role::Fixer, Some("S1")).contains("S1"),
            "{name}: the follow-up is in the same session"
        );
        for allowed in ["yolo", "--auto"] {
            assert!(!argv(name, Role::Verifier, None).contains(allowed), "{name}");
            assert!(
                !argv(name, Role::Fixer, Some("S1")).contains(allowed),
                "{name}: a follow-up changes nothing"
            );
        }
    }
    assert!(argv("gemini", Role::Verifier, None).contains("--admin-policy /tmp/"));
    assert!(
        NAMES.iter().all(|name| !argv(name, Role::Fixer, None).contains("the prompt")),
        "prompts go in by standard input"
    );
}

#[test]
fn agents_are_resolved_from_presets_and_configuration() {
    assert_eq!(AgentSpec::resolve("suggested", None).unwrap().kind, Kind::Suggested);
    assert_eq!(AgentSpec::resolve("nobody", None), Err(AgentError::Unknown("nobody".into())));
    assert_eq!(
        AgentSpec::resolve("mine", Some(&AgentConfig::default())),
        Err(AgentError::NoCommand("mine".into()))
    );
    let command =
        AgentConfig { command: Some(vec!["python3".into(), "agent.py".into()]), ..AgentConfig::default() };
    let spec = AgentSpec::resolve("mine", Some(&command)).unwrap();
    assert_eq!(spec.kind, Kind::Command { command: vec!["python3".into(), "agent.py".into()] });

    let moved = AgentConfig {
        command: Some(vec!["/opt/claude".into()]),
        pass_env: Some(vec!["MY_KEY".into()]),
        env: [("A".to_owned(), "b".to_owned())].into(),
        timeout: Some(std::time::Duration::from_secs(7)),
        retries: Some(2),
        model_args: Some(vec!["--m".into(), "{model}".into()]),
        ..AgentConfig::default()
    };
    let spec = AgentSpec::resolve("claude", Some(&moved)).unwrap();
    assert_eq!((spec.program(), spec.limit.unwrap().as_secs(), spec.retries), (Some("/opt/claude"), 7, 2));
    assert!(
        spec.pass_env.contains(&"ANTHROPIC_*".to_owned()) && spec.pass_env.contains(&"MY_KEY".to_owned())
    );
    assert!(spec.env.contains(&("A".into(), "b".into())));

    let other = AgentConfig { preset: Some("codex".into()), ..AgentConfig::default() };
    assert_eq!(AgentSpec::resolve("second", Some(&other)).unwrap().program(), Some("codex"));

    let own = AgentConfig {
        kind: Some(AgentKind::Cli),
        command: Some(vec!["aider".into()]),
        brief: Some(BriefInput::Argument),
        report: Some(ReportFormat::Text),
        ..AgentConfig::default()
    };
    let Kind::Cli(cli) = AgentSpec::resolve("aider", Some(&own)).unwrap().kind else { panic!() };
    assert!(cli.takes_argument() && cli.output == Output::Text && cli.schema == SchemaVia::PromptOnly);

    let acp = AgentConfig { kind: Some(AgentKind::Acp), ..AgentConfig::default() };
    assert_eq!(AgentSpec::resolve("gemini", Some(&acp)).unwrap().program(), Some("gemini"));
    // It asks nobody before it edits: what keeps its readers from that holds there, too.
    let opencode = AgentSpec::resolve("opencode", Some(&acp)).unwrap();
    assert!(
        opencode
            .reading_env
            .iter()
            .any(|(name, value)| name == "OPENCODE_PERMISSION" && value.contains("deny"))
    );
}

#[test]
fn the_first_installed_preset_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().to_str().unwrap();
    assert_eq!(detect(path), None);
    for name in ["opencode", "codex"] {
        let file = folder.path().join(name);
        std::fs::write(&file, "#!/bin/sh\n").unwrap();
        std::fs::set_permissions(&file, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    }
    assert_eq!(detect(path), Some("codex"));
}
