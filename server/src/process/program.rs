//! Finding the program of a command, with an error that says what is wrong.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

/// Why a program could not be started. None of these is the program's own failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NotStarted {
    /// No such program, neither as a path nor on `PATH`.
    NotFound,
    /// It is there and is not executable (or is a folder).
    NotExecutable,
    /// The folder to run it in is missing.
    NoFolder,
    /// The command is empty or holds a NUL.
    BadCommand,
    /// The system refused (memory, process limit, an unusable interpreter), or the supervisor could not be started.
    Refused,
}

/// The absolute path of the program that `name` means, seen from `cwd` with this `PATH`.
pub fn resolve_program(name: &str, cwd: &Path, path: Option<&str>) -> Result<PathBuf, (NotStarted, String)> {
    if name.is_empty() {
        return Err((
            NotStarted::BadCommand,
            "the command is empty; give a program and its arguments".into(),
        ));
    }
    if name.contains('/') {
        let full = cwd.join(name);
        return match executable(&full) {
            Some(true) => Ok(full),
            Some(false) => Err(not_executable(&full)),
            None => Err(broken_link(&full)
                .unwrap_or_else(|| (NotStarted::NotFound, format!("{} does not exist", full.display())))),
        };
    }
    let (mut present, mut broken) = (None, None);
    for folder in std::env::split_paths(path.unwrap_or_default()) {
        // An empty entry means the current folder by tradition; a program of the repository must never shadow a tool.
        if folder.as_os_str().is_empty() || folder.is_relative() {
            continue;
        }
        let full = folder.join(name);
        match executable(&full) {
            Some(true) => return Ok(full),
            Some(false) if present.is_none() && !full.is_dir() => present = Some(full),
            None if broken.is_none() => broken = broken_link(&full),
            _ => {}
        }
    }
    match (present, broken) {
        (Some(full), _) => Err(not_executable(&full)),
        (None, Some(broken)) => Err(broken),
        (None, None) => Err((
            NotStarted::NotFound,
            format!("{name} was not found on PATH; install it, or give its full path in fix-loop.toml"),
        )),
    }
}

fn not_executable(full: &Path) -> (NotStarted, String) {
    (NotStarted::NotExecutable, format!("{} is not an executable file; `chmod +x` it", full.display()))
}

/// What is wrong where a path is a link that leads nowhere.
fn broken_link(path: &Path) -> Option<(NotStarted, String)> {
    let target = std::fs::read_link(path).ok()?;
    let says = format!(
        "{} is a link to {}, which does not exist; install it again, or remove the link",
        path.display(),
        target.display()
    );
    Some((NotStarted::NotFound, says))
}

/// `None`: does not exist.
fn executable(path: &Path) -> Option<bool> {
    let meta = std::fs::metadata(path).ok()?;
    Some(meta.is_file() && rustix::fs::access(path, rustix::fs::Access::EXEC_OK).is_ok())
}
