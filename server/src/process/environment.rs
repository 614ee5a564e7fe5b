//! The environment that programs are given.
//!
//! Starts from the user's own, since a test or an agent needs their tool paths and settings, and leaves out what must
//! not leak: git's variables (a hook or an editor sets `GIT_DIR` and the like), secrets (DESIGN 11), and the traces of
//! an editor or agent that Fix Loop itself runs in.

use std::ffi::OsString;

/// What never passes, whoever lists it: a hook or an editor sets these, and they would point at another repository.
const NEVER: &[&str] = &["GIT_*"];

/// Traces of what Fix Loop itself runs in. They pass only to an agent whose preset lists exactly that name: some of them
/// are settings that it needs.
const TRACES: &[&str] = &[
    "VSCODE_*",
    "ELECTRON_*",
    "NVIM",
    "NVIM_LISTEN_ADDRESS",
    "CLAUDECODE",
    "CLAUDE_CODE_*",
    "CODEX_SANDBOX*",
];

/// Words that mark a variable as a secret when they are a whole part of its name.
const SECRET_PARTS: &[&str] = &[
    "TOKEN",
    "TOKENS",
    "KEY",
    "KEYS",
    "APIKEY",
    "SECRET",
    "SECRETS",
    "PASSWORD",
    "PASSWD",
    "PASS",
    "PASSPHRASE",
    "PWD",
    "CREDENTIAL",
    "CREDENTIALS",
    "CREDS",
    "AUTH",
    "COOKIE",
    "SESSION",
    "PAT",
    "DSN",
    "PRIVATE",
    "SIGNATURE",
    "BEARER",
    "JWT",
];

/// Names that hold such a word, or access, without being spelled like one, and names that look like one but are not.
const SECRET_NAMES: &[&str] = &[
    "AWS_*",
    "SSH_AUTH_SOCK",
    "SSH_AGENT_PID",
    "DATABASE_URL",
    "REDIS_URL",
    "MONGODB_URI",
    "KUBECONFIG",
    "NETRC",
];
const HARMLESS: &[&str] = &[
    "PWD",
    "OLDPWD",
    "XDG_SESSION_ID",
    "XDG_SESSION_TYPE",
    "XDG_SESSION_CLASS",
    "XDG_SESSION_DESKTOP",
    "DESKTOP_SESSION",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
];

/// The environment of this process without git's variables and without secrets, with `CI=1` and no terminal.
/// `allow` names variables (or prefixes, `ANTHROPIC_*`) that pass although they look like secrets.
pub fn base_environment<A: AsRef<str>>(allow: &[A]) -> Vec<(String, String)> {
    environment_from(std::env::vars_os(), allow)
}

/// [`base_environment`] from a given parent environment. Entries that are not UTF-8 are left out.
pub fn environment_from<A: AsRef<str>>(
    parent: impl IntoIterator<Item = (OsString, OsString)>,
    allow: &[A],
) -> Vec<(String, String)> {
    let mut environment: Vec<(String, String)> = parent
        .into_iter()
        .filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)))
        .filter(|(name, _)| !matches_any(name, NEVER))
        .filter(|(name, _)| !matches_any(name, TRACES) || allow.iter().any(|listed| listed.as_ref() == name))
        .filter(|(name, _)| !is_secret(name) || allow.iter().any(|pattern| matches(name, pattern.as_ref())))
        .collect();
    for (name, value) in
        [("CI", "1"), ("TERM", "dumb"), ("NO_COLOR", "1"), ("GIT_TERMINAL_PROMPT", "0"), ("PAGER", "cat")]
    {
        set_variable(&mut environment, name, value);
    }
    environment
}

/// Sets one variable, replacing what was there.
pub fn set_variable(environment: &mut Vec<(String, String)>, name: &str, value: impl Into<String>) {
    environment.retain(|(existing, _)| existing != name);
    environment.push((name.to_owned(), value.into()));
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_uppercase();
    if matches_any(&name, HARMLESS) {
        return false;
    }
    matches_any(&name, SECRET_NAMES) || name.split('_').any(|part| SECRET_PARTS.contains(&part))
}

fn matches_any(name: &str, patterns: &[&str]) -> bool {
    patterns.iter().any(|pattern| matches(name, pattern))
}

fn matches(name: &str, pattern: &str) -> bool {
    match pattern.strip_suffix('*') {
        Some(prefix) => name.starts_with(prefix),
        None => name == pattern,
    }
}
