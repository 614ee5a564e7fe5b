//! The questions that no protocol knows of: trust, unsaved buffers, what to do with an interrupted loop.
//!
//! Owns their words and options. They live only as long as the process; each comes up again by itself while its reason stands.

use super::ledger::LoopId;
use super::words;
use crate::protocol::QuestionKind;

/// A question of the engine's own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OwnQuestion {
    pub serial: u32,
    pub asked: Asked,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Asked {
    Trust,
    DirtyBuffer {
        r#loop: LoopId,
        paths: Vec<String>,
    },
    /// A loop changed the file of unsaved text, and the two could not be put together.
    Edited {
        r#loop: LoopId,
        path: String,
        /// The editor did not take what they are together; else both changed the same lines.
        refused: bool,
    },
    Resume {
        r#loop: LoopId,
        detail: String,
    },
    /// A findings file brought this command as a check.
    Command {
        r#loop: LoopId,
        command: Vec<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnChoice {
    TrustRoot,
    LeaveUntrusted,
    UseSaved,
    Cancel,
    Resume,
    Restore,
    GoWithout,
    Approve,
    KeepText,
    MarkBoth,
    MergeAgain,
}

impl OwnChoice {
    pub fn words(self) -> &'static str {
        match self {
            OwnChoice::TrustRoot => "Trust this workspace",
            OwnChoice::LeaveUntrusted => "Do not trust it",
            OwnChoice::UseSaved => "Go on with the saved file",
            OwnChoice::Cancel => "Cancel the loop",
            OwnChoice::Resume => "Resume the loop",
            OwnChoice::Restore => "Restore and stop",
            OwnChoice::GoWithout => "Go on without it",
            OwnChoice::Approve => "Approve this exact command",
            OwnChoice::KeepText => "Keep my text as it is",
            OwnChoice::MarkBoth => "Put both into the editor, marked",
            OwnChoice::MergeAgain => "Take the fix into my text",
        }
    }
}

impl OwnQuestion {
    pub fn id(&self) -> String {
        match &self.asked {
            Asked::Trust => format!("trust{}", self.serial),
            Asked::Edited { r#loop, .. } => format!("{loop}.edited{}", self.serial, loop = r#loop),
            Asked::DirtyBuffer { r#loop, .. } => format!("{loop}.buffer{}", self.serial, loop = r#loop),
            // The same in every process, so that it can be read in one and answered in another.
            Asked::Resume { r#loop, .. } => format!("{loop}.resume", loop = r#loop),
            Asked::Command { r#loop, .. } => format!("{loop}.command{}", self.serial, loop = r#loop),
        }
    }

    pub fn r#loop(&self) -> Option<LoopId> {
        match &self.asked {
            Asked::Trust => None,
            Asked::DirtyBuffer { r#loop, .. }
            | Asked::Edited { r#loop, .. }
            | Asked::Resume { r#loop, .. }
            | Asked::Command { r#loop, .. } => Some(*r#loop),
        }
    }

    pub fn kind(&self) -> QuestionKind {
        match &self.asked {
            Asked::Trust | Asked::Command { .. } => QuestionKind::Trust,
            Asked::DirtyBuffer { .. } => QuestionKind::DirtyBuffer,
            Asked::Edited { .. } => QuestionKind::Conflict,
            Asked::Resume { .. } => QuestionKind::Resume,
        }
    }

    /// The recommended one first.
    pub fn options(&self) -> [OwnChoice; 2] {
        match &self.asked {
            Asked::Trust => [OwnChoice::TrustRoot, OwnChoice::LeaveUntrusted],
            Asked::DirtyBuffer { .. } => [OwnChoice::Cancel, OwnChoice::UseSaved],
            Asked::Edited { refused: false, .. } => [OwnChoice::MarkBoth, OwnChoice::KeepText],
            Asked::Edited { refused: true, .. } => [OwnChoice::MergeAgain, OwnChoice::KeepText],
            Asked::Resume { .. } => [OwnChoice::Resume, OwnChoice::Restore],
            // Whoever wrote the findings file is not the user: what is recommended runs nothing.
            Asked::Command { .. } => [OwnChoice::GoWithout, OwnChoice::Approve],
        }
    }

    pub fn text(&self) -> String {
        match &self.asked {
            Asked::Trust => "Fix Loop is about to run commands in this workspace. Do you trust it?".into(),
            Asked::DirtyBuffer { r#loop, paths } => format!(
                "Loop {loop} may change {}, which has unsaved edits. Save to go on, or choose.",
                paths.join(", "),
                loop = r#loop
            ),
            Asked::Edited { r#loop, path, refused: false } => format!(
                "Loop {loop} and you changed the same lines of {path}, which has unsaved edits. What is to stand in the editor?",
                loop = r#loop
            ),
            Asked::Edited { r#loop, path, refused: true } => format!(
                "Loop {loop} changed {path}, which has unsaved edits, and the editor did not take the fix. Try again?",
                loop = r#loop
            ),
            Asked::Resume { r#loop, .. } => {
                format!("Loop {loop} was interrupted. Resume it, or restore what it changed?", loop = r#loop)
            }
            Asked::Command { command, .. } => {
                format!(
                    "A findings file asks to run {} as a check. Run it?",
                    words::command_in_words(command)
                )
            }
        }
    }
}
