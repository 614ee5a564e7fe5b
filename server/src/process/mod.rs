//! Starting programs so that none of their processes survives their end.
//!
//! This module owns every child process of Fix Loop: it starts a program under a small supervisor (the hidden command
//! `fix-loop supervise`), bounds its time and its output, and says how it ended. It never decides what a result means
//! and never knows whether the program is a check or a subagent: `checks` and `agents` do.
//!
//! The supervisor is a process of its own because agents start shells in their own sessions, so killing a process
//! group leaks (DESIGN 8). It is a child subreaper on Linux: whatever its program leaves behind is adopted by it and
//! ended before it reports. It ends everything when the socket to its parent closes, so `kill -9` of Fix Loop leaves
//! nothing behind either.
//!
//! ```text
//! fix-loop ── socket (spec, input, cancel → ← started, ended) ── supervise ── program ── its descendants
//!     ▲──────────────── stdout and stderr, read here directly ───────────────────┘
//! ```

mod captured;
mod descendants;
mod environment;
mod frame;
mod identity;
mod program;
mod supervise;
mod supervisor;

#[cfg(test)]
mod tests;

use std::path::PathBuf;
use std::time::Duration;

pub use captured::{Captured, Keep, clean};
pub use environment::{base_environment, environment_from, set_variable};
pub use identity::{Identity, end_leftover, is_alive};
pub use program::{NotStarted, resolve_program};
pub use supervise::supervise_main;
pub use supervisor::{Conversation, Supervisor};
pub use tokio_util::sync::CancellationToken as Cancel;

/// What to start, and the bounds it runs in.
#[derive(Clone, Debug)]
pub struct Spec {
    /// The program and its arguments; never a shell string.
    pub argv: Vec<String>,
    /// Where it runs. A relative program with a slash in it is looked up from here.
    pub cwd: PathBuf,
    /// The complete environment: nothing is inherited. [`base_environment`] makes one.
    pub env: Vec<(String, String)>,
    /// All of its standard input; the pipe is closed after it.
    pub stdin: Vec<u8>,
    /// Wall-clock limit, counted from the start of the program.
    pub limit: Duration,
    /// How long it may take to end after `SIGTERM`, before `SIGKILL`.
    pub grace: Duration,
    /// How much of each output stream is kept.
    pub keep: Keep,
}

/// What the caller wants to see while the program runs.
#[derive(Debug, Default)]
pub struct Watch {
    /// Told once, when the program has started: what recovery needs to find it again.
    pub started: Option<tokio::sync::oneshot::Sender<Identity>>,
    /// Told every line as it is written. Stops after 64 MiB of text, so that a slow reader cannot exhaust memory.
    pub lines: Option<tokio::sync::mpsc::UnboundedSender<Line>>,
}

/// One line of output, without its line end; cut after 1 MiB.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    pub stream: Stream,
    pub text: String,
}

/// Which of the two output streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stream {
    Stdout,
    Stderr,
}

/// How a program ended, and what it wrote.
#[derive(Clone, Debug)]
pub struct Ended {
    pub how: How,
    pub stdout: Captured,
    pub stderr: Captured,
    /// From the start of the program to its end, without the time its descendants needed to end.
    pub elapsed: Duration,
    /// Descendants that were still alive after the program itself had ended, and that were ended then.
    pub leftovers: u32,
}

/// The reason for the end. What we did is kept apart from what the program did: a program that exits with 0 after
/// being told to stop was cancelled, not successful.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum How {
    Exited(i32),
    Signalled(i32),
    OverLimit,
    Cancelled,
    NotStarted { kind: NotStarted, message: String },
}

impl How {
    /// Ended by itself, with exit code 0.
    pub fn is_success(&self) -> bool {
        *self == How::Exited(0)
    }
}
