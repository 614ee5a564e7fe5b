//! What a real agent does in the rounds of a loop, and what comes of it.

use fix_loop_tests::Replies;
use serde_json::{Value, json};

use super::world::{
    CHECK, FACTOR, Program, RIGHT, WRONG, World, edit, fixed, judged, mend, miss, needs_signs,
};

fn everything(world: &World) -> impl PartialEq + std::fmt::Debug {
    (world.repo.tree(), world.repo.git_state(), world.repo.diff_cached())
}

pub fn a_fix_in_round_1_is_staged_beside_the_users_work(program: Program) {
    let world = World::new(program, Replies::new().to("fixer", mend()));
    let output = world.run(&[]).run();
    assert_eq!(output.code, Some(0), "{output}\n{}", world.transcripts());
    let report = output.json();
    assert_eq!((&report["resolved"], &report["evidence"]), (&json!(["f1"]), &json!({"f1": "proven"})));
    assert_eq!(world.model.workers(), ["fixer 1"], "a check that turned green needs no verifier");
    let worker = &report["workers"][0];
    assert_eq!(
        (&worker["agent"], &worker["role"], &worker["outcome"]),
        (&json!(program.name()), &json!("fixer"), &json!("reported"))
    );
    // Not every agent tells them over that protocol.
    let tokens = worker["tokens"].as_u64().is_some_and(|tokens| tokens > 0);
    assert!(tokens || (program.speaks_acp() && program != Program::ClaudeAcp), "{worker}");
    // What it does, and to which file, is told while it does it.
    assert!(output.stderr.contains("calc.py"), "{output}");
    if matches!(program, Program::Claude | Program::ClaudeAcp) {
        assert!(worker["cost_usd"].as_f64().is_some_and(|cost| cost > 0.0), "{worker}");
        let told = output.stderr.to_lowercase();
        for step in ["· read calc.py", "· edit calc.py", "python3 -c"] {
            assert!(told.contains(step), "{step}: {output}");
        }
    }
    world.assert_fixed();
}

pub fn wrong_then_right_is_resolved_in_round_2(program: Program) {
    let mend_again = [
        json!({"read": "calc.py"}),
        edit("    return a - 2 * b", RIGHT),
        json!({"report": fixed("added instead of subtracting")}),
    ];
    // The verifier tries to edit and is stopped; its verdict stands, for the tree is as it was.
    let mut judge = vec![
        edit(RIGHT, "    return 3"),
        json!({"write": "new.py", "text": "x = 1\n"}),
        json!({"shell": "touch made; echo 'x = 1' > made.py"}),
        json!({"report": judged("rejected", "calc.py:5 adds now")}),
    ];
    if program == Program::QwenAcp {
        // It ends its turn at a refusal, and is asked for its report once.
        judge.remove(2);
    }
    let replies = Replies::new().to_round(1, miss()).to_round(2, mend_again).to("verifier", judge);
    let world = World::with(program, replies, CHECK, |_| {});
    let output = world.run(&[]).run();
    assert_eq!(output.code, Some(0), "{output}\n{}", world.transcripts());
    let report = output.json();
    assert_eq!(report["resolved"], json!(["f1"]), "{report:#}");
    assert_eq!(world.model.workers(), ["fixer 1", "fixer 2", "verifier"]);
    let second = asked(&world, "This is round 2");
    assert!(second.contains("doubled the difference"), "round 2 is told what round 1 tried: {second}");
    assert!(second.contains("test_add"), "and why it failed: {second}");
    let verifier = asked(&world, "You verify fixes");
    assert!(verifier.contains(&format!("+{RIGHT}")), "the verifier judges the exact diff: {verifier}");
    assert!(!["new.py", "made", "made.py"].iter().any(|path| world.repo.exists(path)));
    world.assert_fixed();
    if program.offers_by_role() {
        let requests = world.model.requests();
        let judging = requests.iter().filter(|request| request["role"] == "verifier");
        let offered: Vec<&str> = judging
            .flat_map(|request| request["tools"].as_array().into_iter().flatten())
            .filter_map(Value::as_str)
            .collect();
        assert!(!offered.is_empty());
        let too_much: Vec<&&str> = offered.iter().filter(|tool| CHANGING.contains(tool)).collect();
        assert!(too_much.is_empty(), "a verifier is offered {too_much:?} of {offered:?}");
    }
}

/// Tools that edit, run something, or start others that do.
const CHANGING: [&str; 20] = [
    "Edit",
    "Write",
    "NotebookEdit",
    "MultiEdit",
    "Bash",
    "Task",
    "Agent",
    "edit",
    "write",
    "multiedit",
    "patch",
    "apply_patch",
    "bash",
    "task",
    "agent",
    "invoke_agent",
    "write_file",
    "replace",
    "run_shell_command",
    "save_memory",
];

/// What the first request with these words was told.
fn asked(world: &World, words: &str) -> String {
    let requests = world.model.requests();
    let said = requests.iter().filter_map(|request| request["said"].as_str());
    said.into_iter()
        .find(|said| said.contains(words))
        .unwrap_or_else(|| panic!("nobody was told {words}"))
        .to_owned()
}

pub fn wrong_twice_is_escalated_with_both_attempts(program: Program) {
    let miss_again = [
        json!({"read": "calc.py"}),
        edit("    return a - 2 * b", "    return a - 3 * b"),
        json!({"report": fixed("tripled it")}),
    ];
    let still = [json!({"report": judged("confirmed", "calc.py:5 still subtracts")})];
    let replies = Replies::new().to_round(1, miss()).to_round(2, miss_again).to("verifier", still);
    let world = World::with(program, replies, CHECK, |_| {});
    let before = everything(&world);
    let output = world.run(&[]).run();
    assert_eq!(output.code, Some(1), "{output}\n{}", world.transcripts());
    let report = output.json();
    assert_eq!((&report["resolved"], &report["waiting"]), (&json!([]), &json!(["f1"])), "{report:#}");
    let escalated = &report["escalated"][0];
    assert_eq!(escalated["id"], "f1", "{report:#}");
    let attempts = escalated["attempts"].as_array().expect("a list");
    let told: Vec<&Value> = attempts.iter().map(|attempt| &attempt["summary"]).collect();
    assert_eq!(told, ["doubled the difference", "tripled it"], "{report:#}");
    assert!(escalated["still_broken"].to_string().contains("test_add"), "{report:#}");
    assert_eq!(world.repo.read("calc.py").matches("3 * b").count(), 1, "a waiting loop leaves its bytes");
    let question = world.question("escalation");
    assert_eq!(question["recommended"], "Defer this finding");
    world.answer(question["id"].as_str().expect("an id"), "Defer this finding").expect(1);
    assert_eq!(everything(&world), before, "deferring restores every byte");
}

pub fn a_second_file_that_is_asked_for_and_approved_is_staged_too(program: Program) {
    let replies = Replies::new()
        .when(
            json!({"role": "fixer", "says": ["What the user decided", "Approve expanded scope"]}),
            [
                json!({"read": FACTOR.0}),
                json!({"edit": FACTOR.0, "old": FACTOR.1, "new": FACTOR.2}),
                json!({"report": fixed("turned the sign")}),
            ],
        )
        .to("fixer", [json!({"read": "calc.py"}), json!({"report": needs_signs()})]);
    let world = World::new(program, replies);
    let output = world.run(&["--answer", "recommended"]).run();
    assert_eq!(output.code, Some(0), "{output}\n{}", world.transcripts());
    assert_eq!(world.model.workers(), ["fixer 1", "fixer 1"], "the answer repeats the round");
    let report = output.json();
    assert_eq!((&report["resolved"], &report["evidence"]), (&json!(["f1"]), &json!({"f1": "proven"})));
    world.assert_staged(
        "",
        "diff --git a/signs.py b/signs.py\n--- a/signs.py\n+++ b/signs.py\n@@ -1 +1 @@\n-FACTOR = -1\n+FACTOR = 1\n",
    );
}

pub fn a_second_file_that_is_refused_leaves_the_round_to_be_repeated_in_its_scope(program: Program) {
    let replies = Replies::new()
        .when(json!({"role": "fixer", "says": ["What the user decided", "Reject"]}), mend())
        .to("fixer", [json!({"report": needs_signs()})]);
    let world = World::new(program, replies);
    let before = everything(&world);
    let output = world.run(&[]).run();
    assert_eq!((output.code, everything(&world) == before), (Some(1), true), "{output}");
    let question = world.question("scope");
    let detail = format!("{} {}", question["text"], question["detail"]);
    assert!(detail.contains("signs.py") && detail.contains("the sign is kept there"), "{question:#}");
    let output = world.answer(question["id"].as_str().expect("an id"), "2").run();
    assert_eq!(output.code, Some(0), "{output}\n{}", world.transcripts());
    assert_eq!(output.json()["resolved"], json!(["f1"]));
    assert_eq!(world.model.workers(), ["fixer 1", "fixer 1"]);
    world.assert_fixed();
}

pub fn a_second_file_edited_without_asking_is_set_aside_and_asked_about(program: Program) {
    let replies = Replies::new().to(
        "fixer",
        [
            json!({"read": FACTOR.0}),
            without_asking(program),
            json!({"shell": "echo 'left behind' > notes.txt"}),
            json!({"report": fixed("turned the sign")}),
        ],
    );
    let world = World::new(program, replies);
    let output = world.run(&[]).run();
    assert_eq!(output.code, Some(1), "{output}\n{}", world.transcripts());
    assert_eq!(
        world.repo.read("signs.py"),
        "FACTOR = -1\n",
        "it is not in the tree while nobody has allowed it"
    );
    assert!(!world.repo.exists("notes.txt"));
    let question = world.question("scope");
    let detail = format!("{} {}", question["text"], question["detail"]);
    for shown in ["signs.py", "+FACTOR = 1", "notes.txt"] {
        assert!(detail.contains(shown), "{shown}: {question:#}");
    }
    let output = world.answer(question["id"].as_str().expect("an id"), "Approve expanded scope").run();
    assert_eq!(output.code, Some(0), "{output}\n{}", world.transcripts());
    assert_eq!(output.json()["evidence"], json!({"f1": "proven"}));
    assert_eq!(world.repo.read("signs.py"), "FACTOR = 1\n");
    assert_eq!(world.model.workers(), ["fixer 1"], "what was set aside is put back, not made again");
}

/// An edit that nobody is asked about.
fn without_asking(program: Program) -> Value {
    match program {
        // Its own tool asks the client, who refuses; a command is not asked about file by file.
        Program::ClaudeAcp => json!({"shell": format!("sed -i 's/{}/{}/' {}", FACTOR.1, FACTOR.2, FACTOR.0)}),
        _ => json!({"edit": FACTOR.0, "old": FACTOR.1, "new": FACTOR.2}),
    }
}

/// What an agent writes through the client is refused there, and what it writes by itself is set aside.
pub fn a_second_file_edited_over_acp_is_never_in_the_tree(program: Program) {
    let steps = [
        json!({"read": FACTOR.0}),
        json!({"edit": FACTOR.0, "old": FACTOR.1, "new": FACTOR.2}),
        json!({"shell": "echo 'left behind' > notes.txt"}),
        json!({"report": fixed("turned the sign")}),
    ];
    let world = World::new(program, Replies::new().to("fixer", steps));
    let output = world.run(&[]).run();
    assert_eq!(output.code, Some(1), "{output}\n{}", world.transcripts());
    assert_eq!(world.repo.read("signs.py"), "FACTOR = -1\n");
    assert!(!world.repo.exists("notes.txt"));
    let question = world.question("scope");
    let detail = format!("{} {}", question["text"], question["detail"]);
    assert!(detail.contains("notes.txt"), "{question:#}");
}

pub fn fixed_without_a_difference_is_never_resolved(program: Program) {
    let claim = [json!({"read": "calc.py"}), json!({"report": fixed("all good now")})];
    let world = World::new(program, Replies::new().to("fixer", claim));
    let before = everything(&world);
    let report = world.run(&[]).expect(1).json();
    assert_eq!(report["resolved"], json!([]), "{report:#}");
    assert_eq!(report["escalated"][0]["attempts"].as_array().map(Vec::len), Some(2), "{report:#}");
    assert_eq!(world.model.workers(), ["fixer 1", "fixer 2"]);
    assert_eq!(everything(&world), before);
    assert!(world.repo.read("calc.py").contains(WRONG));
}
