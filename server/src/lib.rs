//! Fix Loop: takes confirmed review findings, shows them in the editor and fixes them in a bounded loop.
//!
//! Where things live, in the order in which data flows:
//!
//! | module | owns |
//! |---|---|
//! | [`findings`] | what comes in: ReviewOutput, intake, importers, fingerprints, anchors |
//! | [`protocol`] | the three loops as pure state machines |
//! | [`workspace`] | git: checkpoint, scope guard, exact-hunk staging, worktrees |
//! | [`checks`] | discovering, running and judging deterministic checks |
//! | [`agents`] | briefs, reports, and the programs that act as subagents |
//! | [`process`] | starting programs so that none of them survives its end |
//! | [`engine`] | carries a protocol's actions out, feeds the events back, keeps the ledger |
//! | [`lsp`] | the only module that knows LSP |
//! | [`config`] | `fix-loop.toml` |
//!
//! Dependencies point one way: `lsp` → `engine` → {`protocol`, `workspace`, `checks`, `agents`} → `findings`.

pub mod agents;
pub mod checks;
pub mod config;
pub mod engine;
pub mod findings;
pub mod lsp;
pub mod process;
pub mod protocol;
pub mod workspace;
