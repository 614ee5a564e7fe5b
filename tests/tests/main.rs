//! End to end: the real program, real git, real editors, real agents.
//!
//! `tests/run` sorts these by the name of their module: `lsp`, `agents` and `editors` are tiers of their own, all others
//! are the tier `git` (`typing` belongs to `lsp`).

mod agents;
mod chaos;
mod cli;
mod converge;
mod crash;
mod docs;
mod editors;
mod harness;
mod headless;
mod lsp;
mod package;
mod rereview;
mod story;
mod truth;
mod typing;
mod unusual;
