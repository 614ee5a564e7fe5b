//! What the user did to the tree between two rounds (R26, R32).
//!
//! Owns telling it: whatever differs, at a checkpoint, from how the loop last saw it was done by nobody of the loop's, since
//! no worker and no check was at it. The checkpoints before then get the user's new bytes, without the fix, so that neither
//! staging takes them for the loop's nor a restore puts older ones in their place. Never writes a file.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::protocol::ActionId;
use crate::workspace::{Checkpoint, FileState, RepoPath, WorkspaceError};

use super::act::Job;
use super::running::{FixStates, Traces};

/// The user's own changes, as the loop's records of earlier have to know them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Rebased {
    /// What paths would have been at each earlier checkpoint, had the user changed them before.
    pub checkpoints: BTreeMap<ActionId, FixStates>,
    /// What the paths of the fix are now.
    pub fix: FixStates,
}

impl Rebased {
    pub fn is_empty(&self) -> bool {
        self.checkpoints.is_empty() && self.fix.is_empty()
    }

    /// Takes the changes into the records of a loop.
    pub fn apply(self, traces: &mut Traces) {
        for (action, files) in self.checkpoints {
            if let Some(fix) = traces.fix_at.get_mut(&action) {
                for (path, state) in &files {
                    if let Some(known) = fix.get_mut(path) {
                        known.clone_from(state);
                    }
                }
            }
            if let Some(checkpoint) = traces.checkpoints.get_mut(&action) {
                for (path, state) in files {
                    *checkpoint = checkpoint.with_file(&path, state);
                }
            }
        }
        traces.fix.extend(self.fix);
    }
}

/// Compares a new checkpoint with how the loop left the tree.
pub(super) fn since_last_seen(job: &Job, new: &Checkpoint) -> Result<Rebased, WorkspaceError> {
    let (workspace, traces) = (&job.tools.workspace, &job.traces);
    let Some(last) = traces.last_checkpoint.and_then(|action| traces.checkpoints.get(&action)) else {
        return Ok(Rebased::default());
    };
    let listed = new.files().chain(last.files()).map(|(path, _)| path).chain(traces.fix.keys());
    let paths: Vec<RepoPath> = listed.cloned().collect::<BTreeSet<_>>().into_iter().collect();
    let (now, then) = (workspace.states_at(new, &paths)?, workspace.states_at(last, &paths)?);
    let mut rebased = Rebased::default();
    let mut changed: Vec<(&RepoPath, &Option<FileState>)> = Vec::new();
    for (path, state) in &now {
        let known = traces.fix.get(path).or_else(|| then.get(path));
        if known.is_some_and(|known| known != state) {
            changed.push((path, state));
            if traces.fix.contains_key(path) {
                rebased.fix.insert(path.clone(), state.clone());
            }
        }
    }
    if changed.is_empty() {
        return Ok(rebased);
    }
    for (action, checkpoint) in traces.checkpoints.iter().filter(|(action, _)| **action != job.step.id) {
        let mut files = FixStates::new();
        for (path, state) in &changed {
            let fixed = traces.fix.get(*path);
            files.insert((*path).clone(), without_fix(job, checkpoint, path, fixed, state)?);
        }
        rebased.checkpoints.insert(*action, files);
    }
    Ok(rebased)
}

/// The user's bytes at a path as they would be without what the loop did there since a checkpoint. Where the two cannot be
/// told apart, everything is taken for the user's: then nothing of it is staged, and nothing of it is put back.
pub(super) fn without_fix(
    job: &Job,
    checkpoint: &Checkpoint,
    path: &RepoPath,
    fixed: Option<&Option<FileState>>,
    saved: &Option<FileState>,
) -> Result<Option<FileState>, WorkspaceError> {
    let (Some(Some(fixed)), Some(saved)) = (fixed, saved) else { return Ok(saved.clone()) };
    let without = job.tools.workspace.without_fix(checkpoint, path, fixed, saved)?;
    Ok(Some(without.unwrap_or_else(|| saved.clone())))
}
