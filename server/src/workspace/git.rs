//! Starting `git` so that its answer depends on nothing but the repository and the user's own configuration.
//!
//! Owns the environment and the exit-code handling of every git process. Never decides which command to run; its
//! neighbours in this folder do.

use std::ffi::{OsStr, OsString};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// A git command that did not do what was asked.
#[derive(Debug, thiserror::Error)]
pub enum GitError {
    /// The program could not be started.
    #[error("git could not be started: {0}; install git or put it on PATH")]
    Start(#[source] std::io::Error),
    /// It ran and failed.
    #[error("`git {command}` failed: {message}")]
    Failed {
        /// The arguments, without paths and objects.
        command: String,
        /// What git said on stderr, or its exit status when it said nothing.
        message: String,
    },
}

/// Variables of the parent that say where the user's configuration lies; all others that begin with `GIT_` would
/// redirect git to another repository, index or work tree (a server started from a git hook inherits them).
const KEPT: [&str; 6] = [
    "GIT_CONFIG_GLOBAL",
    "GIT_CONFIG_SYSTEM",
    "GIT_CONFIG_NOSYSTEM",
    "GIT_EXEC_PATH",
    "GIT_SSL_CAINFO",
    "GIT_CEILING_DIRECTORIES",
];

/// Exit code (`None`: ended by a signal), stdout and stderr.
pub(super) type Ended = (Option<i32>, Vec<u8>, Vec<u8>);

/// git, bound to one work tree.
#[derive(Debug, Clone)]
pub(super) struct Git {
    root: PathBuf,
    extra: Vec<(OsString, OsString)>,
}

impl Git {
    pub(super) fn new(root: &Path) -> Git {
        Git { root: root.to_path_buf(), extra: Vec::new() }
    }

    /// The same git with one more environment variable.
    pub(super) fn with_env(&self, key: &str, value: impl AsRef<OsStr>) -> Git {
        let mut git = self.clone();
        git.extra.push((key.into(), value.as_ref().into()));
        git
    }

    fn command(&self) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(&self.root);
        for (key, _) in std::env::vars_os() {
            let name = key.to_string_lossy();
            if name.starts_with("GIT_") && !KEPT.contains(&name.as_ref()) {
                command.env_remove(&key);
            }
        }
        command
            .env("GIT_OPTIONAL_LOCKS", "0")
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_NO_REPLACE_OBJECTS", "1")
            .env("GIT_LITERAL_PATHSPECS", "1")
            .env("LC_ALL", "C")
            .env("LANGUAGE", "C");
        // Tests must not depend on the machine's git configuration.
        #[cfg(test)]
        command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
        for (key, value) in &self.extra {
            command.env(key, value);
        }
        command
    }

    /// Runs git without input and returns its stdout; anything but exit code 0 is an error.
    pub(super) fn run<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<Vec<u8>, GitError> {
        self.feed(args, b"")
    }

    /// Runs git with `input` on stdin.
    pub(super) fn feed<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<Vec<u8>, GitError> {
        let (code, stdout, stderr) = self.status(args, input)?;
        if code == Some(0) {
            return Ok(stdout);
        }
        let said = String::from_utf8_lossy(&stderr).trim().to_owned();
        let message = match (said.is_empty(), code) {
            (false, _) => said,
            (true, Some(code)) => format!("exit status {code}"),
            (true, None) => "ended by a signal".to_owned(),
        };
        let shown: Vec<_> = args.iter().take(2).map(|arg| arg.as_ref().to_string_lossy()).collect();
        Err(GitError::Failed { command: shown.join(" "), message })
    }

    /// Runs git and returns exit code, stdout and stderr, for commands whose exit code is an answer.
    pub(super) fn status<S: AsRef<OsStr>>(&self, args: &[S], input: &[u8]) -> Result<Ended, GitError> {
        let mut command = self.command();
        command.args(args).stdout(Stdio::piped()).stderr(Stdio::piped());
        command.stdin(if input.is_empty() { Stdio::null() } else { Stdio::piped() });
        let mut child = command.spawn().map_err(GitError::Start)?;
        let stdin = child.stdin.take();
        let output = std::thread::scope(|scope| {
            if let Some(mut stdin) = stdin {
                // A git that ends early closes the pipe; its exit code tells more than the write error.
                scope.spawn(move || stdin.write_all(input).ok());
            }
            child.wait_with_output()
        })
        .map_err(GitError::Start)?;
        Ok((output.status.code(), output.stdout, output.stderr))
    }

    /// Like [`Git::run`] for answers that are one line of text.
    pub(super) fn line<S: AsRef<OsStr>>(&self, args: &[S]) -> Result<String, GitError> {
        let out = self.run(args)?;
        Ok(String::from_utf8_lossy(&out).trim_end_matches(['\n', '\r']).to_owned())
    }
}
