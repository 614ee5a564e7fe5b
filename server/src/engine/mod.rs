//! Carries a protocol's actions out and feeds the events back; keeps the ledger; recovers.
//!
//! Owns the one task that owns all state of a work tree. Never decides what a protocol decides (that is `protocol`), never
//! runs git, a check or an agent itself (that is `workspace`, `checks`, `agents`), never knows an editor (that is `lsp`).

pub mod api;
pub mod status;

pub use api::*;

/// What the engine's own tasks tell it.
pub(crate) enum Internal {}
