//! Secrets of the user's environment reach only the agents whose preset lists them (DESIGN 11).

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt as _;

use fix_loop_tests::{Repo, finding};

/// What a person may have in the environment, all at once.
const SECRETS: [&str; 20] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "AWS_BEARER_TOKEN_BEDROCK",
    "AWS_SECRET_ACCESS_KEY",
    "OPENAI_API_KEY",
    "CODEX_API_KEY",
    "AZURE_OPENAI_API_KEY",
    "GEMINI_API_KEY",
    "GOOGLE_API_KEY",
    "DASHSCOPE_API_KEY",
    "OPENROUTER_API_KEY",
    "OPENCODE_API_KEY",
    "GITHUB_TOKEN",
    "NPM_TOKEN",
    "DATABASE_URL",
    "MY_PASSWORD",
    "SSH_AUTH_SOCK",
    "GIT_DIR_TOKEN",
    "CLAUDECODE",
];

#[test]
fn each_preset_sees_its_own_secrets_and_no_other() {
    let anthropic = ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"];
    let openai = ["OPENAI_API_KEY"];
    let google = ["GEMINI_API_KEY", "GOOGLE_API_KEY"];
    let cases: [(&str, Vec<&str>); 7] = [
        ("claude", [&anthropic[..], &["CLAUDE_CODE_OAUTH_TOKEN", "AWS_BEARER_TOKEN_BEDROCK"]].concat()),
        ("codex", [&openai[..], &["CODEX_API_KEY", "AZURE_OPENAI_API_KEY"]].concat()),
        ("gemini", google.to_vec()),
        ("qwen", [&openai[..], &["DASHSCOPE_API_KEY"]].concat()),
        (
            "opencode",
            [&anthropic[..], &openai[..], &google[..], &["OPENROUTER_API_KEY", "OPENCODE_API_KEY"]].concat(),
        ),
        ("mine", vec!["MY_PASSWORD"]),
        ("other", vec![]),
    ];
    for (name, expected) in cases {
        let seen = seen_by(name);
        let seen: BTreeSet<&str> = seen.lines().filter(|variable| SECRETS.contains(variable)).collect();
        assert_eq!(seen, expected.into_iter().collect(), "{name}");
    }
}

/// The names of the variables that a stand-in for this agent's program is given.
fn seen_by(name: &str) -> String {
    let mut repo = Repo::with(&[("app.txt", "one\n")]);
    let bin = repo.outside().join("bin");
    std::fs::create_dir_all(&bin).expect("a fresh folder");
    let (program, seen) = (bin.join(name), bin.join("seen"));
    let script = format!("#!/bin/sh\nenv | cut -d= -f1 > '{}'\ncat > /dev/null\n", seen.display());
    std::fs::write(&program, script).expect("a fresh folder");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).expect("it is ours");
    repo.config(
        "[agents.mine]\ncommand = [\"mine\"]\npass_env = [\"MY_PASSWORD\"]\n[agents.other]\ncommand = [\"other\"]\n",
    );
    repo.findings(&[finding("f1", "app.txt", 1, "one must go")]);
    repo.set_env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").expect("a PATH")));
    for secret in SECRETS {
        repo.set_env(secret, "secret");
    }
    let output = repo.fix_loop(["run", "--trust", "--agent", name, "--format", "json"]).run();
    std::fs::read_to_string(seen).unwrap_or_else(|error| panic!("{name} was not started: {error}\n{output}"))
}
