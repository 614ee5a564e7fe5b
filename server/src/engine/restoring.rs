//! Restores outside of a running loop: `undo`, and what an interrupted worker left.

use crate::config::Config;
use crate::workspace::{Checkpoint, Observation, OwnBytes, RepoPath, Scope, Workspace, WorkspaceError};

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

/// What a worker or a check that was at work when its driver died has left, as far as it can be told: everything since the
/// checkpoint. Looked at as soon as the next driver starts, since whatever changes later is the user's.
pub(super) fn left_behind(
    workspace: &Workspace,
    config: &Config,
    run: &LoopRun,
) -> Result<Vec<Produced>, WorkspaceError> {
    let Some(checkpoint) = last_checkpoint(&run.traces) else { return Ok(Vec::new()) };
    let mut seen = observe(workspace, checkpoint)?;
    seen.changes.retain(|change| !guard::is_inbox(config, &change.path));
    let mut own: OwnBytes = run.traces.own.clone();
    own.record(&seen);
    own.record_taken(&seen.index_taken);
    let mut produced = Vec::new();
    produced.push(Produced::LeftBehind(own));
    if !seen.breaches.is_empty() {
        let what: Vec<String> = seen.breaches.iter().map(ToString::to_string).collect();
        produced
            .push(Produced::Note(format!("while the interrupted worker was at work: {}", what.join("; "))));
    }
    Ok(produced)
}

/// Puts back what [`left_behind`] found, which is kept as objects first. Gives what has to go into the ledger.
pub(super) fn interrupted(
    workspace: &Workspace,
    config: &Config,
    run: &LoopRun,
) -> Result<Vec<Produced>, WorkspaceError> {
    let Some(checkpoint) = last_checkpoint(&run.traces) else { return Ok(Vec::new()) };
    let mut own: OwnBytes = run.traces.own.clone();
    // What the worker made of the fix is undone with it.
    let fix = run
        .traces
        .last_checkpoint
        .and_then(|action| run.traces.fix_at.get(&action))
        .cloned()
        .unwrap_or_default();
    let mut produced = vec![Produced::Own { own: own.clone(), fix: fix.clone() }];
    loop {
        let mut seen = observe(workspace, checkpoint)?;
        seen.changes.retain(|change| !guard::is_inbox(config, &change.path) && own.holds(change));
        seen.index_taken.retain(|change| own.holds_entry(change));
        let mut back = Vec::new();
        if !seen.changes.is_empty() {
            let aside = workspace.set_aside(checkpoint, &seen.changes)?;
            for left in &aside.left_alone {
                produced.push(Produced::Note(format!("{} stays as it is: {}", left.path, left.why)));
            }
            back.clone_from(&aside.restored);
            let paths: Vec<&str> = back.iter().map(RepoPath::as_str).collect();
            let kept = workspace.ref_name(&aside.name);
            produced.push(Produced::Note(format!(
                "changed while the interrupted worker was at work, undone, and kept as {kept}: {}",
                paths.join(", ")
            )));
            produced.push(Produced::SetAside(aside));
        }
        workspace.untake_index(&seen.index_taken)?;
        // With the rules for what git ignores back, what they hid can be seen.
        if !back.iter().any(guard::are_rules) {
            return Ok(produced);
        }
        let seen = observe(workspace, checkpoint)?;
        own.record(&seen);
        produced.push(Produced::Own { own: own.clone(), fix: fix.clone() });
    }
}

fn last_checkpoint(traces: &Traces) -> Option<&Checkpoint> {
    traces.last_checkpoint.and_then(|action| traces.checkpoints.get(&action))
}

fn observe(workspace: &Workspace, checkpoint: &Checkpoint) -> Result<Observation, WorkspaceError> {
    let nothing: [&str; 0] = [];
    let scope = Scope::new(workspace.root(), &nothing, &[]).expect("an empty scope is always valid");
    workspace.observe(checkpoint, &scope, &[])
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
