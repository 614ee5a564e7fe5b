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
mod machine;
pub mod rereview;
pub mod vocabulary;
#[cfg(test)]
mod walking;

pub use machine::{Machine, Standing, View};
pub use vocabulary::*;

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
