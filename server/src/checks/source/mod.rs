//! Seeing the structure of a source text with simple means: its tests, functions and statements.
//!
//! Pure, never fails, and guesses where a parser would know: what rests on it is shown to people or judged by a
//! verifier, never taken for proof.

mod functions;
mod mask;
mod units;

use std::path::Path;

pub(super) use functions::has_word;
pub(super) use units::{Source, Unit};

/// The languages that are understood.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Language {
    Python,
    Script,
    Rust,
    Go,
}

impl Language {
    pub(super) fn of(path: &Path) -> Option<Self> {
        match path.extension()?.to_str()? {
            "py" | "pyi" => Some(Self::Python),
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => Some(Self::Script),
            "rs" => Some(Self::Rust),
            "go" => Some(Self::Go),
            _ => None,
        }
    }
}
