//! What the end-to-end tests are written with: real git repositories, the real `fix-loop` program, agents that follow a
//! recipe, and a small language client.
//!
//! Nothing here knows how fix-loop works inside; it talks to it as a person, an editor or an agent would. Nothing waits
//! for time to pass, only for something to happen, with a deadline that is far beyond a slow machine.

mod agent;
mod check;
mod lsp;
mod model;
mod program;
mod repo;
mod text;

pub use agent::{Agent, Script, Step, step};
pub use check::HeldCheck;
pub use lsp::{LspClient, Question};
pub use model::{Model, Replies};
pub use program::{FixLoop, Output, Running, binary};
pub use repo::{Entry, Repo, finding};
pub use text::{env_path, only_in_ci, repository_root};

use std::time::Duration;

/// How long anything may take before a test gives up on it. Reached only when something is broken.
pub const DEADLINE: Duration = Duration::from_secs(60);
