//! Carries a protocol's actions out and feeds the events back; keeps the ledger; recovers.
//!
//! Owns the one task that owns all state of a work tree. Never decides what a protocol decides (that is `protocol`), never
//! runs git, a check or an agent itself (that is `workspace`, `checks`, `agents`), never knows an editor (that is `lsp`).
//!
//! | file | owns |
//! |---|---|
//! | [`api`] | what may be asked, what is seen |
//! | `driver`, `queue`, [`setup`] | the one task: messages in, ledger first, then actions; whose turn it is; what is fixed while it runs |
//! | `commands`, `input`, `opening`, `own_questions`, `interrupted` | what the user asks for; what comes in; opening loops; the engine's own questions; loops that were cut off |
//! | `act`, `guard`, `dispatching`, `checking`, `past`, `verifying`, `restoring`, `managed` | carrying one action out |
//! | `rebasing`, `saves` | what the user did to the tree between two rounds, and saved during one |
//! | `translate`, `roster`, `starting` | between the words of configuration, agents and protocols |
//! | `ledger`, `state`, `running` | the journal, and the fold over it |
//! | `inbox`, `found`, `buffers`, `merging` | the findings files, what workers found, and what the editor holds |
//! | `view`, `history`, [`report`], [`status`], `plan` | the state as people and scripts see it |
//! | `follow`, `requests` | a second process beside the driver |

mod act;
pub mod api;
mod batch;
mod buffers;
mod checking;
mod commands;
mod dispatching;
mod doctor;
mod driver;
mod entry_lines;
mod follow;
mod found;
mod guard;
mod history;
mod inbox;
mod input;
mod interrupted;
mod known_views;
mod ledger;
mod managed;
mod merging;
mod opening;
mod own_questions;
mod past;
mod plan;
mod pull_request;
mod queue;
mod rebasing;
mod report;
mod requests;
mod restoring;
mod roster;
mod running;
mod saves;
mod setup;
mod snapshots;
mod start;
mod starting;
mod state;
pub mod status;
mod translate;
mod verifying;
mod view;
mod words;

pub use api::*;
pub use doctor::{Examined, State as LineState, examine};
pub use plan::Plan;
pub use pull_request::{PullRequest, pull_request};
pub use report::RunReport;
pub use setup::{Answers, Setup};
pub use start::{StartError, start};
pub use status::{FindingState, Status};

pub use crate::protocol::QuestionKind;
