//! The environment a check runs in (DESIGN 7.4): the user's own tools, `CI=1`, no git variables, no secrets.
//!
//! What is inherited at all is [`crate::process::base_environment`]'s decision; this adds what test runners need to
//! answer the same on every machine, and to look at the sources instead of at stale caches.

use std::path::{Path, PathBuf};
use std::time::SystemTime;

use super::Command;
use super::discover::walk;
use crate::process::{base_environment, set_variable};

/// Variables with which an outer test run or build would steer an inner one.
const OUTER_RUN: [&str; 12] = [
    "NODE_TEST_CONTEXT",
    "PYTEST_CURRENT_TEST",
    "PYTEST_XDIST_WORKER",
    "RUST_TEST_THREADS",
    "RUST_TEST_NOCAPTURE",
    "NEXTEST",
    "CARGO",
    "CARGO_MAKEFLAGS",
    "MAKEFLAGS",
    "MAKELEVEL",
    "FORCE_COLOR",
    "CLICOLOR_FORCE",
];
const OUTER_PREFIXES: [&str; 6] =
    ["CARGO_PKG_", "CARGO_MANIFEST_", "CARGO_BIN_", "CARGO_CRATE_", "NEXTEST_", "FIX_LOOP_"];

const QUIET: [(&str, &str); 7] = [
    ("RUST_BACKTRACE", "0"),
    ("CARGO_TERM_COLOR", "never"),
    ("CARGO_TERM_PROGRESS_WHEN", "never"),
    ("PYTHONDONTWRITEBYTECODE", "1"),
    ("PYTHONUNBUFFERED", "1"),
    ("PY_COLORS", "0"),
    ("npm_config_update_notifier", "false"),
];

/// The complete environment of a check. `scratch` is a fresh folder outside the workspace.
pub(super) fn of_check(command: &Command, root: &Path, scratch: &Path) -> Vec<(String, String)> {
    let mut environment = base_environment::<&str>(&[]);
    environment.retain(|(name, _)| {
        !OUTER_RUN.contains(&name.as_str()) && !OUTER_PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    });
    for (name, value) in QUIET {
        set_variable(&mut environment, name, value);
    }
    if python_cache_lies(root) {
        set_variable(&mut environment, "PYTHONPYCACHEPREFIX", scratch.join("pycache").display().to_string());
    }
    for (name, value) in &command.env {
        set_variable(&mut environment, name, value.clone());
    }
    environment
}

/// Whether Python would take a cached module for current that is older than its source.
///
/// Python compares whole seconds and the length. A fix made within a second of the last run, and of the same length
/// (`a - b` becomes `a + b`), would be checked against the code before it.
pub(super) fn python_cache_lies(root: &Path) -> bool {
    walk::folders(root).into_iter().any(|folder| {
        let Ok(entries) = std::fs::read_dir(folder.join("__pycache__")) else { return false };
        entries.flatten().any(|entry| lies(&folder, &entry.path()).unwrap_or(false))
    })
}

fn lies(folder: &Path, cached: &Path) -> Option<bool> {
    let module = cached.file_name()?.to_str()?.split('.').next()?;
    let source: PathBuf = folder.join(format!("{module}.py"));
    let source = source.metadata().ok()?;
    let cached_at = cached.metadata().ok()?.modified().ok()?;
    let changed_at = source.modified().ok()?;
    if cached_at > changed_at {
        return Some(false);
    }
    let header = header(cached)?;
    let number = |at: usize| Some(u32::from_le_bytes(header.get(at..at + 4)?.try_into().ok()?));
    let by_time = number(4)? == 0;
    let seconds = changed_at.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs();
    Some(by_time && u64::from(number(8)?) == seconds & 0xffff_ffff && u64::from(number(12)?) == source.len())
}

fn header(path: &Path) -> Option<[u8; 16]> {
    use std::io::Read as _;
    let mut header = [0; 16];
    std::fs::File::open(path).ok()?.read_exact(&mut header).ok()?;
    Some(header)
}
