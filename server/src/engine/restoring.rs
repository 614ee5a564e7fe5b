//! Restores outside of a running loop: `undo`, and what an interrupted worker left.

use crate::config::Config;
use crate::workspace::{OwnBytes, Place, Scope, Workspace, WorkspaceError};

use super::guard;
use super::ledger::Produced;
use super::managed::checkout;
use super::running::{LoopRun, Traces};

/// Restores what a finished loop changed, where the bytes are still its own. Gives the paths left alone.
pub(super) fn undo(workspace: &Workspace, traces: &Traces) -> Result<Vec<String>, WorkspaceError> {
    let Some(start) = traces.first_checkpoint.and_then(|action| traces.checkpoints.get(&action)) else {
        return Ok(Vec::new());
    };
    let restored = workspace.undo(start, &traces.own)?;
    Ok(restored.left_alone.iter().map(|left| format!("{} ({})", left.path, left.why)).collect())
}

/// A worker that was at work when its driver died: everything since its checkpoint is kept as objects and put back. Gives
/// what has to go into the ledger first.
pub(super) fn interrupted(
    workspace: &Workspace,
    config: &Config,
    run: &LoopRun,
) -> Result<Vec<Produced>, WorkspaceError> {
    let traces = &run.traces;
    let Some(checkpoint) = traces.last_checkpoint.and_then(|action| traces.checkpoints.get(&action)) else {
        return Ok(Vec::new());
    };
    let nothing: [&str; 0] = [];
    let Ok(scope) = Scope::new(workspace.root(), &nothing, &[]) else { return Ok(Vec::new()) };
    let mut seen = workspace.observe(checkpoint, &scope, &[])?;
    seen.changes.retain(|change| !guard::is_inbox(config, &change.path));
    let mut own: OwnBytes = traces.own.clone();
    own.record(&seen);
    let changes: Vec<_> =
        seen.changes.iter().filter(|change| change.place != Place::Users).cloned().collect();
    let mut produced = vec![Produced::Own { own, fix: traces.fix.clone() }];
    if !changes.is_empty() {
        let aside = workspace.set_aside(checkpoint, &changes)?;
        for left in &aside.left_alone {
            produced.push(Produced::Note(format!("{} stays as it is: {}", left.path, left.why)));
        }
        produced.push(Produced::SetAside(aside));
    }
    workspace.untake_index(&seen.index_taken)?;
    if !seen.breaches.is_empty() {
        let what: Vec<String> = seen.breaches.iter().map(ToString::to_string).collect();
        produced.push(Produced::Note(format!("the interrupted worker: {}", what.join("; "))));
    }
    Ok(produced)
}

/// The same for a converging loop: its own worktree goes back to what it was when the worker began. In the user's tree
/// nothing is put back; what changed there is named.
pub(super) fn interrupted_in_worktree(
    workspace: &Workspace,
    config: &Config,
    run: &LoopRun,
) -> Result<Vec<Produced>, WorkspaceError> {
    let traces = &run.traces;
    let Some(managed) = &traces.managed else { return Ok(Vec::new()) };
    let checkpoint = traces.last_checkpoint.and_then(|action| traces.checkpoints.get(&action));
    let head = checkpoint.and_then(|checkpoint| checkpoint.head.commit.as_ref()).map(ToString::to_string);
    let head = head.as_deref().unwrap_or(&managed.head);
    if !managed.worktree.path.join(".git").exists() {
        workspace.add_worktree(&managed.worktree.branch, head)?;
    }
    workspace.reset_managed(&managed.worktree, head)?;
    checkout::since_interrupted(workspace, config, traces)
}
