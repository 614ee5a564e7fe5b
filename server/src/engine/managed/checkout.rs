//! The user's own checkout while workers of `converge` are at work elsewhere.
//!
//! Owns the comparison before and after each worker. What the editor saved is the user's; whose anything else is cannot be
//! told from outside, so it is kept as objects, left exactly as it is, and asked about. Must never write there but when the
//! user has said that it was the worker.

use std::collections::BTreeMap;

use crate::config::Config;
use crate::protocol::{ActionId, Changes, CheckoutChange, Event};
use crate::workspace::{Breach, Change, CheckpointName, Place, RepoPath, Scope, Workspace, WorkspaceError};

use super::super::act::{Failed, Job};
use super::super::guard;
use super::super::ledger::Produced;
use super::super::running::Traces;
use super::text;

/// Before a worker.
pub(super) fn record(job: &Job) -> Result<(), Failed> {
    let label = format!("{}-checkout", job.step.id.0);
    let name = CheckpointName::new(&job.id.to_string(), &label).map_err(text)?;
    let checkpoint = job.tools.workspace.checkpoint(&name, &[]).map_err(text)?;
    job.keep_blocking(Produced::Checkout(checkpoint));
    Ok(())
}

/// After a worker: adds what changed to what it did in its worktree.
pub(super) fn look(job: &Job, changes: &mut Changes) -> Result<(), Failed> {
    let workspace = &job.tools.workspace;
    let label = format!("{}-checkout", job.step.id.0);
    let name = CheckpointName::new(&job.id.to_string(), &label).map_err(text)?;
    let since = workspace.load_checkpoint(&name).map_err(text)?;
    let nothing: [&str; 0] = [];
    let scope = Scope::new(workspace.root(), &nothing, &[]).map_err(text)?;
    let seen = workspace.observe(&since, &scope, &job.saved_since(&since)).map_err(text)?;
    for breach in &seen.breaches {
        // Whoever commits or switches in the checkout: history is never put back for them.
        if matches!(breach, Breach::HeadMoved { .. } | Breach::BranchSwitched { .. }) {
            changes.notes.push(format!("in your own checkout, {breach}"));
        }
    }
    for ignored in seen.ignored_changed.iter().filter(|change| change.place != Place::Users) {
        changes.notes.push(format!("in your own checkout, the ignored file {} was changed", ignored.path));
    }
    if !seen.index_taken.is_empty() {
        let paths: Vec<&str> = seen.index_taken.iter().map(|taken| taken.path.as_str()).collect();
        changes.notes.push(format!("in your own checkout, the index was changed: {}", paths.join(", ")));
    }
    // What is committed there was the user's to commit; only what lies about uncommitted is asked about.
    let committed = seen.breaches.iter().any(|breach| matches!(breach, Breach::HeadMoved { .. }));
    let unclean = if committed { workspace.unclean_paths().map_err(text)? } else { Vec::new() };
    let lies_about = |path: &str| !committed || unclean.iter().any(|unclean| unclean == path);
    let foreign: Vec<Change> = seen
        .changes
        .into_iter()
        .filter(|change| change.place != Place::Users && !is_ours(&job.tools.config, change))
        .filter(|change| lies_about(change.path.as_str()))
        .collect();
    if foreign.is_empty() {
        return Ok(());
    }
    let kept = workspace.keep(&since, &foreign).map_err(text)?;
    changes.checkout = Some(CheckoutChange {
        paths: foreign.iter().map(|change| change.path.to_string()).collect(),
        diff: guard::shorten(&kept.diff),
    });
    job.keep_blocking(Produced::CheckoutChanged(kept));
    Ok(())
}

/// Findings files may well arrive meanwhile.
fn is_ours(config: &Config, change: &Change) -> bool {
    change.path.as_str().starts_with(".fix-loop/") || guard::is_inbox(config, &change.path)
}

/// The same after a crash. Hours may have gone by, so that it is only kept and named.
pub(in crate::engine) fn since_interrupted(
    workspace: &Workspace,
    config: &Config,
    traces: &Traces,
) -> Result<Vec<Produced>, WorkspaceError> {
    let Some(since) = traces.checkout.values().next() else { return Ok(Vec::new()) };
    let nothing: [&str; 0] = [];
    let Ok(scope) = Scope::new(workspace.root(), &nothing, &[]) else { return Ok(Vec::new()) };
    let seen = workspace.observe(since, &scope, &[])?;
    let foreign: Vec<Change> = seen
        .changes
        .into_iter()
        .filter(|change| change.place != Place::Users && !is_ours(config, change))
        .collect();
    if foreign.is_empty() {
        return Ok(Vec::new());
    }
    let paths: Vec<&str> = foreign.iter().map(|change| change.path.as_str()).collect();
    let note = format!(
        "since the interrupted worker began, this changed in your own checkout: {}; if it was not you, undo it",
        paths.join(", ")
    );
    Ok(vec![Produced::SetAside(workspace.keep(since, &foreign)?), Produced::Note(note)])
}

/// The user said that it was the worker. Two reviewers may have been at it at once: what stood before the first of them
/// comes back, where it is still as it was last seen.
pub(super) fn put_back(job: &Job) -> Result<Event, Failed> {
    let traces = &job.traces;
    let Some(since) = traces.checkout.values().next() else {
        return Err("nothing is known of it from before the worker".into());
    };
    let mut merged: BTreeMap<RepoPath, (ActionId, Change)> = BTreeMap::new();
    for (action, kept) in &traces.checkout_changed {
        for change in &kept.changes {
            match merged.get_mut(&change.path) {
                Some((first, known)) => {
                    if action < first {
                        (*first, known.before) = (*action, change.before.clone());
                    }
                    known.after = change.after.clone();
                }
                None => drop(merged.insert(change.path.clone(), (*action, change.clone()))),
            }
        }
    }
    let changes: Vec<Change> = merged.into_values().map(|(_, change)| change).collect();
    let aside = job.tools.workspace.set_aside(since, &changes).map_err(text)?;
    let left_alone = aside.left_alone.iter().map(|left| format!("{} ({})", left.path, left.why)).collect();
    job.keep_blocking(Produced::SetAside(aside));
    Ok(Event::Restored { action: job.step.id, left_alone })
}
