//! What the user saved in the editor while a worker or a check was at it (R32).
//!
//! Owns keeping the user's lines the user's: the loop's records of earlier get them, so that they are neither staged with
//! the fix nor put back with it, and a worker that wrote the file without knowing of them is no reason for them to go. Where
//! both changed the same lines nothing is decided here: staging meets the clash and asks. Saves that are still what stands
//! in the file are the scope guard's matter.

use std::collections::BTreeMap;

use crate::workspace::{Change, ChangeKind, FileState, Place, RepoPath, WorkspaceError};

use super::act::Job;
use super::ledger::Produced;
use super::rebasing::{self, Rebased};
use super::running::Traces;

/// The loop's records, with what was saved since the latest checkpoint in them.
pub(super) struct TakenIn {
    pub traces: Traces,
    /// Files that the worker wrote without knowing of the user's save.
    pub unknowing: Vec<Unknowing>,
}

pub(super) struct Unknowing {
    pub path: RepoPath,
    pub left: FileState,
    /// In which the user's edit and the worker's both stand.
    pub both: FileState,
}

impl Unknowing {
    pub fn change(&self) -> Change {
        Change {
            path: self.path.clone(),
            kind: ChangeKind::Modified,
            place: Place::InScope,
            before: Some(self.left.clone()),
            after: Some(self.both.clone()),
        }
    }
}

pub(super) fn take_in(job: &Job) -> Result<TakenIn, WorkspaceError> {
    let workspace = &job.tools.workspace;
    let mut taken = TakenIn { traces: job.traces.clone(), unknowing: Vec::new() };
    let Some((last, checkpoint)) =
        job.traces.last_checkpoint.and_then(|action| Some((action, job.traces.checkpoints.get(&action)?)))
    else {
        return Ok(taken);
    };
    let mut rebased = Rebased::default();
    for (path, bytes) in job.saved_bytes() {
        let before = workspace.states_at(checkpoint, std::slice::from_ref(&path))?.remove(&path).flatten();
        let now = workspace.file_state(&path)?;
        let saved = workspace.file_of(&bytes, before.as_ref().or(now.as_ref()))?;
        if now.as_ref() == Some(&saved) || before.as_ref() == Some(&saved) {
            continue;
        }
        if let (Some(before), Some(now)) = (&before, now)
            && let Some(both) = workspace.with_save(before, &saved, &now)?
        {
            taken.unknowing.push(Unknowing { path: path.clone(), left: now, both });
        }
        let left_by_loop = Some(before);
        for (action, earlier) in &job.traces.checkpoints {
            let state = match *action == last {
                true => Some(saved.clone()),
                false => {
                    rebasing::without_fix(job, earlier, &path, left_by_loop.as_ref(), &Some(saved.clone()))?
                }
            };
            let files: &mut BTreeMap<_, _> = rebased.checkpoints.entry(*action).or_default();
            files.insert(path.clone(), state);
        }
    }
    if !rebased.is_empty() {
        job.keep_blocking(Produced::Rebased(rebased.clone()));
        rebased.apply(&mut taken.traces);
    }
    Ok(taken)
}
