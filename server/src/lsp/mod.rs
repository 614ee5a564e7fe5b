//! The language server: what an editor sees of Fix Loop, and what it may ask.
//!
//! Owns every LSP type, all conversions between an editor's positions and the lines of findings, the one task in which
//! all of the server's own state lives ([`state`]), dialogs and progress. Must never decide anything about a finding, run
//! git, a check or an agent, or write state: it sends commands to the `engine` and shows its snapshots.
//!
//! A message's way: [`wire`] takes it off the pipe → [`guard`] repairs what tower-lsp gets wrong → [`server`] sends it to the
//! state task → the file named after its subject answers it ([`actions`], [`commands`], [`diagnostics`], [`hover`],
//! [`lens`], [`questions`], [`progress`], [`status`], [`watching`]).

mod actions;
mod anchors;
mod capabilities;
mod client;
mod commands;
mod diagnostics;
mod documents;
mod folders;
mod guard;
mod hover;
mod lens;
mod progress;
mod questions;
mod report;
mod server;
mod state;
mod status;
#[cfg(test)]
mod tests;
mod text;
mod watching;
mod wire;

pub use server::{EngineFactory, serve};
