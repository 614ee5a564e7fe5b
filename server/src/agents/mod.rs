//! Subagents: what they are told, what they answer, and the programs that act as them.
//!
//! This module owns briefs, reports and agents: it turns a [`Brief`] into what a coding agent understands, runs the
//! agent under the supervisor of `process`, and turns what comes back into a [`Report`] or a classed [`Failure`]. It
//! never believes a report about its effect and never looks at the tree: the engine compares the tree with its
//! checkpoint, and `checks` say what holds. It never decides what happens next: `protocol` does.
//!
//! | file | owns |
//! |---|---|
//! | [`role`] | the roles, and which may edit |
//! | [`brief`], [`prompt`] | what a subagent is given, as JSON and as text |
//! | [`report`], [`parse`], [`footer`], [`schema`] | what it must return, how that is found in what models write |
//! | [`agent`], [`presets`], `command_line` | agents as data: command lines, environments, limits |
//! | `mentions` | prompts for programs that take `@name` as an order |
//! | [`stream`] | reading what agents write while they work |
//! | [`failure`] | whose fault a failure is, and what to do |
//! | [`run`], [`suggested`], [`acp`] | running one dispatch |
//! | `buffers` | unsaved text of the editor, for agents that read through the client |

pub mod acp;
pub mod agent;
pub mod brief;
mod buffers;
mod command_line;
mod denials;
mod desk;
mod excerpt;
pub mod failure;
mod follow_up;
pub mod footer;
mod lenient;
mod mentions;
pub mod outcome;
pub mod parse;
pub mod presets;
pub mod probe;
pub mod prompt;
pub mod report;
pub mod role;
pub mod run;
pub mod schema;
mod seen;
pub mod stream;
pub mod suggested;
mod talking;
mod transcript;

#[cfg(test)]
mod tests;

pub use agent::{AgentSpec, Kind};
pub use brief::Brief;
pub use buffers::Buffers;
pub use failure::{Failure, FailureClass};
pub use outcome::{Outcome, Usage};
pub use parse::{ReportProblem, parse_report};
pub use presets::{detect, preset};
pub use probe::{Probe, probe, probe_within};
pub use prompt::prompt;
pub use report::Report;
pub use role::{ProtocolName, Role};
pub use run::{Job, run};
pub use schema::schema;
pub use stream::Progress;
