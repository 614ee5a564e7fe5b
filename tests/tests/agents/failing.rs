//! Agents that cannot do their work: whose fault it is, what to do, and that it is never an attempt.

use fix_loop_tests::{DEADLINE, Replies, finding};
use serde_json::{Value, json};

use super::world::{Program, RIGHT, WRONG, World, edit, fixed};

/// Lines of the agent's own table: its own patience is ended early, and the limit is for the hanging one.
fn impatient(program: Program, limit: &str) -> String {
    let retries = match program {
        Program::Claude | Program::ClaudeAcp => "env = { CLAUDE_CODE_MAX_RETRIES = \"1\" }\n",
        _ => "",
    };
    format!("{retries}{limit}")
}

/// Runs once, and gives the report and the question that is open in the end. The tree is as it was.
#[track_caller]
fn comes_to_a_question(world: &World) -> (Value, Value) {
    let before = (world.repo.tree(), world.repo.git_state());
    // qwen-code tries seven times by itself, and gives no way to make that fewer.
    let output = world.run(&[]).spawn().wait_within(4 * DEADLINE);
    assert_eq!(output.code, Some(1), "{output}\n{}", world.transcripts());
    let report = output.json();
    assert_eq!((&report["resolved"], &report["waiting"]), (&json!([]), &json!(["f1"])), "{report:#}");
    assert_eq!(report["escalated"], json!([]), "it is not a failed attempt: {report:#}");
    assert_eq!((world.repo.tree(), world.repo.git_state()), before, "{output}");
    (report, world.question("inconclusive"))
}

#[track_caller]
fn says(question: &Value, all: &[&str]) {
    let text = format!("{} {}", question["text"], question["detail"]);
    for words in all {
        assert!(text.contains(words), "`{words}` is not in {question:#}");
    }
}

/// The model fails so at once, and the question says what to do.
#[track_caller]
fn is_no_attempt(program: Program, step: &Value, words: [&str; 2]) {
    let replies = Replies::new().to("fixer", [step.clone()]);
    let world = World::about(program, replies, &impatient(program, ""));
    let (report, question) = comes_to_a_question(&world);
    says(&question, &words);
    assert_eq!(report["workers"].as_array().map(Vec::len), Some(1), "{step}: {report:#}");
    assert_ne!(report["workers"][0]["outcome"], "reported", "{step}");
}

const SERVICE: [&str; 2] = ["could not reach its service", "try again"];

pub fn a_refused_account_is_no_attempt(program: Program) {
    is_no_attempt(program, &json!({"http": 401}), ["was refused by its account", "log in"]);
}

pub fn a_rate_limit_is_no_attempt(program: Program) {
    is_no_attempt(program, &json!({"http": 429}), SERVICE);
}

pub fn an_error_of_the_service_is_no_attempt(program: Program) {
    is_no_attempt(program, &json!({"http": 500}), SERVICE);
}

pub fn garbage_from_the_service_is_no_attempt(program: Program) {
    is_no_attempt(program, &json!({"garbage": true}), SERVICE);
}

pub fn an_answer_that_is_cut_is_no_attempt(program: Program) {
    is_no_attempt(program, &json!({"cut": true}), SERVICE);
}

/// Older programs end so, and wrappers make it so.
pub fn an_error_beside_exit_code_0_is_an_error(program: Program) {
    let wrapper = format!(
        "{}command = [\"sh\", \"-c\", \"{} \\\"$@\\\"; exit 0\", \"it\"]\n",
        impatient(program, ""),
        match program {
            Program::ClaudeAcp => "claude-agent-acp",
            _ => program.name(),
        },
    );
    let half = [edit(WRONG, "    return a - 2 * b"), json!({"http": 401})];
    let world = World::about(program, Replies::new().to("fixer", half), &wrapper);
    let (_, question) = comes_to_a_question(&world);
    says(&question, &["was refused by its account"]);
}

pub fn an_agent_that_hangs_is_ended_at_its_limit(program: Program) {
    let config = impatient(program, "timeout = \"3s\"\n");
    let world = World::about(program, Replies::new().to("fixer", [json!({"hang": true})]), &config);
    let (report, question) = comes_to_a_question(&world);
    says(&question, &["ran into its limit", "raise `timeout`"]);
    let seconds = report["workers"][0]["seconds"].as_f64().expect("a number");
    assert!((3.0..30.0).contains(&seconds), "our own clock ends it: {report:#}");
}

pub fn a_report_that_never_fits_its_schema_is_asked_for_once_and_then_inconclusive(program: Program) {
    let world = World::new(program, Replies::new().to("fixer", [json!({"say": "I have fixed everything."})]));
    let (report, question) = comes_to_a_question(&world);
    says(&question, &["gave no valid report", "transcript"]);
    assert_eq!(report["workers"].as_array().map(Vec::len), Some(1), "{report:#}");
    let requests = world.model.requests();
    let last = requests.last().and_then(|request| request["said"].as_str()).expect("it asked");
    assert_eq!(last.matches("There is no valid report yet").count(), 1, "the follow-up is one: {last}");
}

/// Its own settings forbid what the brief asks for, and the model says that it is done all the same.
pub fn fixed_beside_denied_edits_is_the_environments_failure(program: Program) {
    let steps = [json!({"read": "calc.py"}), edit(WRONG, RIGHT), json!({"report": fixed("add added")})];
    let world = World::new(program, Replies::new().to("fixer", steps));
    forbid_edits(&world, program);
    let (_, question) = comes_to_a_question(&world);
    says(&question, &["could not run here", "not allowed to edit"]);
}

/// As a person does who lets this agent only read.
fn forbid_edits(world: &World, program: Program) {
    let home = world.repo.home();
    let (file, text) = match program {
        Program::Claude | Program::ClaudeAcp => {
            (".claude/settings.json", json!({"permissions": {"deny": ["Edit", "Write"]}}).to_string())
        }
        Program::Codex => {
            // A hook that the person has looked at and trusts: Codex keeps that by what the hook is.
            let config = home.join(".codex/config.toml");
            let before = std::fs::read_to_string(&config).expect("it is configured");
            let hook = "[[hooks.PreToolUse]]\nmatcher = \"apply_patch\"\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\n\
                        command = \"echo no edits here >&2; exit 2\"\n";
            let trust = format!(
                "[hooks.state.\"{}:pre_tool_use:0:0\"]\n\
                 trusted_hash = \"sha256:6aeccba1c209e99e4ad6666465cb89c3a3881b0a1b802780a431c298d69f95ff\"\n",
                config.display()
            );
            (".codex/config.toml", format!("{before}{hook}{trust}"))
        }
        Program::Gemini | Program::GeminiAcp => {
            let rule =
                "[[rule]]\ntoolName = [\"replace\", \"write_file\"]\ndecision = \"deny\"\npriority = 100\n";
            (".gemini/policies/mine.toml", rule.to_owned())
        }
        Program::Qwen | Program::QwenAcp => {
            (".qwen/settings.json", json!({"permissions": {"deny": ["Edit", "Write"]}}).to_string())
        }
        Program::Opencode | Program::OpencodeAcp => {
            (".config/opencode/opencode.json", json!({"permission": {"edit": "deny"}}).to_string())
        }
    };
    let path = home.join(file);
    std::fs::create_dir_all(path.parent().expect("it has a folder")).expect("the home can be written");
    std::fs::write(path, text).expect("a fresh folder");
}

/// Ways in which Codex denies edits without a word in what it reports.
pub fn codex_is_denied_edits_by_its_sandbox() {
    // What a workplace's wrapper does that gives nobody more than this.
    let only_reads = "command = [\"sh\", \"-c\", 'exec codex $(echo \"$@\" | sed s/workspace-write/read-only/)', \"it\"]\n";
    let agents = ".agents/notes.txt";
    for (file, about, step) in [
        // A folder that it protects, as `.git` and `.codex`.
        (agents, "", json!({"edit": agents, "old": "one", "new": "two"})),
        ("calc.py", only_reads, edit(WRONG, RIGHT)),
    ] {
        let claim = [step.clone(), json!({"report": fixed("did it")})];
        let world = World::about(Program::Codex, Replies::new().to("fixer", claim), about);
        if file == agents {
            world.repo.write(file, "one\n");
            world.repo.git(["add", file]);
            world.repo.git(["commit", "--quiet", "-m", "notes for agents", "--", file]);
            world.repo.findings(&[finding("f1", file, 1, "one must be two")]);
        }
        let (_, question) = comes_to_a_question(&world);
        says(&question, &["could not run here", "not allowed to edit", "its sandbox"]);
        assert_eq!(world.model.workers(), ["fixer 1"], "{step}");
    }
}
