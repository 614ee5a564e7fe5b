//! The managed worktree of a `converge` loop.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::protocol::Event;
use crate::workspace::Worktree;

use super::act::{Failed, Job};

/// What was pinned when the loop was prepared, and where its worktree is now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Managed {
    pub worktree: Worktree,
    pub review_base: String,
    pub head: String,
}

pub(super) async fn perform(_job: &Arc<Job>) -> Result<Event, Failed> {
    Err("not yet".into())
}
