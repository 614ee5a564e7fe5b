//! Exit codes (DESIGN 4), and the failures that lead to them.

use std::fmt;
use std::process::ExitCode;

use fix_loop::engine::{Refusal, RefusalKind};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Everything that was to be done is done.
    Done,
    /// Something is unresolved, deferred, waiting, paused or refused.
    Unresolved,
    /// Usage, or unreadable input.
    Input,
    /// No git repository, locked, untrusted, no agent.
    Environment,
}

impl Exit {
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Unresolved => 1,
            Exit::Input => 2,
            Exit::Environment => 3,
        }
    }

    pub fn of_report(code: u8) -> Exit {
        match code {
            0 => Exit::Done,
            1 => Exit::Unresolved,
            2 => Exit::Input,
            _ => Exit::Environment,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> ExitCode {
        ExitCode::from(exit.code())
    }
}

/// What stopped a command, in words for people, with what to do next.
#[derive(Debug)]
pub struct Failure {
    pub exit: Exit,
    pub message: String,
}

impl Failure {
    pub fn input(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Input, message: message.into() }
    }

    pub fn environment(message: impl Into<String>) -> Failure {
        Failure { exit: Exit::Environment, message: message.into() }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Failure {
        let exit = match refusal.kind {
            RefusalKind::Unknown | RefusalKind::NotNow => Exit::Input,
            RefusalKind::Environment => Exit::Environment,
        };
        Failure { exit, message: refusal.message }
    }
}

pub type Outcome = Result<Exit, Failure>;
