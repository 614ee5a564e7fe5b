//! What a check is: a command or a pattern, where it came from, and how its output is read.
//!
//! Pure data. Running it is [`super::run`]'s, choosing it is [`super::select`]'s.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

/// The wall-clock limit of a check that names none (DESIGN 10, `timeout = "5m"`).
pub const DEFAULT_LIMIT: Duration = Duration::from_secs(300);

/// The name under which a check is shown, configured and referred to by findings.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct CheckName(String);

impl CheckName {
    pub fn new(name: impl Into<String>) -> Self {
        Self(name.into())
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for CheckName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// What a configured check looks at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    #[default]
    Test,
    Lint,
    Typecheck,
    Build,
}

/// Where a check comes from. The order is the order in which checks are run and believed (DESIGN 7.4).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Origin {
    /// The finding names it.
    Finding,
    /// A `[[check]]` whose `paths` match.
    Configured,
    /// Found in the project.
    Discovered,
}

/// How the failing tests of a check are read from its output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reader {
    /// pytest, through JUnit XML, else its short summary.
    Pytest,
    /// Python's unittest, text.
    Unittest,
    /// `cargo test`: libtest text or JSON.
    Libtest,
    /// `cargo nextest run`, text.
    Nextest,
    /// `go test -json`.
    Go,
    /// TAP, as `node --test` and others write it.
    Tap,
    /// jest and vitest, through their JSON report.
    Jest,
    /// Several runners may be behind it (`make test`, `npm test`): whichever format is recognised.
    Any,
    /// No test names; only the exit code and the text.
    Plain,
}

/// A command, its place and its bounds.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Command {
    /// Program and arguments; never a shell string.
    pub argv: Vec<String>,
    /// What to run instead when `argv` was narrowed and finds no test at all.
    pub wider: Option<Vec<String>>,
    /// Relative to the root; empty or `.` is the root.
    pub cwd: PathBuf,
    /// Set on top of the inherited environment.
    pub env: BTreeMap<String, String>,
    /// Wall clock.
    pub limit: Duration,
    pub kind: Kind,
}

/// What a check does.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum What {
    Command(Command),
    /// The pattern must not be found in the file.
    Absent {
        pattern: String,
        file: PathBuf,
    },
    /// The pattern must be found in the file.
    Present {
        pattern: String,
        file: PathBuf,
    },
}

/// One deterministic check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Check {
    pub name: CheckName,
    pub what: What,
    pub origin: Origin,
    pub reader: Reader,
    /// The one test of this check that the finding is about (findings made from failing tests). Other tests of
    /// the check that failed before are then no business of this finding.
    pub focus: Option<String>,
}

impl Check {
    pub fn is_pattern(&self) -> bool {
        !matches!(self.what, What::Command(_))
    }

    /// The command as it is shown in briefs and questions; empty for a pattern.
    pub fn argv(&self) -> &[String] {
        match &self.what {
            What::Command(command) => &command.argv,
            What::Absent { .. } | What::Present { .. } => &[],
        }
    }

    /// The same key means: the same run on the same tree. Name, origin and focus do not matter for that, so that
    /// findings of one batch share a run.
    pub fn key(&self) -> String {
        let text = serde_json::to_string(&(&self.what, self.reader)).expect("plain data is always JSON");
        hex::encode(Sha256::digest(text.as_bytes()))
    }
}
