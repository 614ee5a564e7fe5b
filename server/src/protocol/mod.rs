//! The three loops as pure state machines.
//!
//! Owns every rule of DESIGN 6. Must never do I/O, read a clock, or wait: a machine takes an event and the time and gives
//! actions; the engine carries them out and feeds the answers back. It never names a fix good on a worker's word.
//!
//! How to drive a machine: `handle(now, Event::Started)` once, then one call per answer. Every action for which
//! [`Action::is_answered`] holds is answered exactly once (a question may stay open for days). Events that answer nothing
//! awaited are ignored, so that a late or repeated event can never change a decision. After [`Action::Finish`] nothing
//! follows. Folding the same events with the same times gives the same state, which is how the ledger brings it back.

pub mod bounded;
pub mod converge;
mod docket;
pub mod explore;
pub mod rereview;
pub mod vocabulary;
#[cfg(test)]
mod walking;

pub use vocabulary::*;

/// What the engine, the editor and the tests see of a machine between two events.
#[derive(Clone, Debug, PartialEq, serde::Serialize)]
pub struct View {
    /// The name of the state in the state graph, for people too: `fixing`, `verifying`, `waiting` …
    pub state: &'static str,
    pub round: u32,
    /// 0: no cap (`converge`).
    pub max_rounds: u32,
    pub open_question: Option<Question>,
    /// Given out and not yet answered, the open question's `Ask` included.
    pub outstanding: Vec<Step>,
    pub workers_used: u32,
    pub cost_usd: f64,
    pub finished: Option<Ending>,
    /// How each finding of the loop stands.
    pub findings: Vec<(FindingKey, Standing)>,
}

/// How one finding stands inside a running loop.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Working,
    Verifying,
    Waiting,
    Settled(Settled),
}

/// One protocol over one batch.
pub trait Machine {
    /// Takes one event and gives the actions that follow from it. `now` is in milliseconds and never goes back.
    fn handle(&mut self, now: u64, event: Event) -> Vec<Step>;
    fn view(&self) -> View;
}

/// The state graph of a protocol as a Mermaid diagram, from a walk over everything that it can reach. `None`: no such
/// protocol.
pub fn graph(protocol: &str) -> Option<String> {
    match protocol {
        "bounded" => Some(bounded::world::graph().mermaid()),
        "converge" => Some(converge::world::graph().mermaid()),
        "rereview" => Some(rereview::world::graph().mermaid()),
        _ => None,
    }
}
