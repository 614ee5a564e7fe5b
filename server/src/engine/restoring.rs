//! Restores outside of a running loop: `undo`, and what an interrupted worker left.

use crate::config::Config;
use crate::workspace::{OwnBytes, Place, Scope, Workspace, WorkspaceError};

use super::guard;
use super::ledger::Produced;
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
    let mut own: OwnBytes = traces.own.clone();
    let mut produced = Vec::new();
    loop {
        let mut seen = workspace.observe(checkpoint, &scope, &[])?;
        seen.changes.retain(|change| !guard::is_inbox(config, &change.path));
        own.record(&seen);
        produced.push(Produced::Own { own: own.clone(), fix: traces.fix.clone() });
        let changes: Vec<_> =
            seen.changes.iter().filter(|change| change.place != Place::Users).cloned().collect();
        let mut back = Vec::new();
        if !changes.is_empty() {
            let aside = workspace.set_aside(checkpoint, &changes)?;
            for left in &aside.left_alone {
                produced.push(Produced::Note(format!("{} stays as it is: {}", left.path, left.why)));
            }
            back.clone_from(&aside.restored);
            produced.push(Produced::SetAside(aside));
        }
        workspace.untake_index(&seen.index_taken)?;
        if !seen.breaches.is_empty() {
            let what: Vec<String> = seen.breaches.iter().map(ToString::to_string).collect();
            produced.push(Produced::Note(format!("the interrupted worker: {}", what.join("; "))));
        }
        // With the rules for what git ignores back, what they hid can be seen.
        if !back.iter().any(guard::are_rules) {
            return Ok(produced);
        }
    }
}

/// The same for a converging loop: its own worktree goes back to what it was when the worker began. The user's tree is none
/// of its business.
pub(super) fn interrupted_in_worktree(
    workspace: &Workspace,
    run: &LoopRun,
) -> Result<Vec<Produced>, WorkspaceError> {
    let traces = &run.traces;
    let Some(managed) = &traces.managed else { return Ok(Vec::new()) };
    let checkpoint = traces.last_checkpoint.and_then(|action| traces.checkpoints.get(&action));
    let head = checkpoint.and_then(|checkpoint| checkpoint.head.commit.as_ref()).map(ToString::to_string);
    workspace.reset_managed(&managed.worktree, head.as_deref().unwrap_or(&managed.head))?;
    Ok(Vec::new())
}
