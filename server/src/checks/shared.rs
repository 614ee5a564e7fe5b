//! One run of a check before the fix, shared by all findings of a batch on the same tree.
//!
//! Keyed by what is run and by the tree it is run on; the caller knows the tree (`workspace`). Nothing is shared
//! across trees, and what says nothing about the code (cancelled, time limit, flaky) is not remembered.

use std::collections::HashMap;
use std::path::Path;

use super::{Check, CheckRun, Outcome, run_before};
use crate::process::{Cancel, Supervisor};

/// The runs of one loop.
#[derive(Clone, Debug, Default)]
pub struct SharedRuns {
    runs: HashMap<(String, String), CheckRun>,
}

impl SharedRuns {
    pub fn new() -> Self {
        Self::default()
    }

    /// The run of `check` on the tree named `tree`, from memory where it was run there already.
    pub async fn before(
        &mut self,
        check: &Check,
        tree: &str,
        root: &Path,
        supervisor: &Supervisor,
        cancel: &Cancel,
    ) -> CheckRun {
        if let Some(known) = self.known(check, tree) {
            return known;
        }
        let run = run_before(check, root, supervisor, cancel).await;
        self.remember(check, tree, &run);
        run
    }

    /// A remembered run under the check's own name.
    pub fn known(&self, check: &Check, tree: &str) -> Option<CheckRun> {
        let mut run = self.runs.get(&(check.key(), tree.to_owned()))?.clone();
        run.check = check.name.clone();
        Some(run)
    }

    /// Remembers a run, also one made after a fix: the tree of round 1 is the "before" of nothing, but a loop that
    /// comes back to it need not run it again.
    pub fn remember(&mut self, check: &Check, tree: &str, run: &CheckRun) {
        if !matches!(run.outcome, Outcome::Inconclusive(_)) {
            self.runs.insert((check.key(), tree.to_owned()), run.clone());
        }
    }
}
