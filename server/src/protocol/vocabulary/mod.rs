//! The words in which a machine and the engine talk: events in, actions out.
//!
//! The same events and actions carry all three protocols. A machine numbers every action that it gives out; the event
//! that answers an action names that number, so a late or repeated answer can be told from the awaited one. Nothing here
//! does anything: the engine is the only interpreter, and a fold over the events gives a machine's state back.
//!
//! Paths are the repository's own (`/`-separated, relative to its root). Times are milliseconds of the engine's clock.

mod actions;
mod converge;
mod endings;
mod events;
mod identity;
mod loops;
mod questions;
mod reports;
mod rereview;

pub use actions::*;
pub use converge::*;
pub use endings::*;
pub use events::*;
pub use identity::*;
pub use loops::*;
pub use questions::*;
pub use reports::*;
pub use rereview::*;
