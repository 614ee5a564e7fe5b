//! What a worker or a check did to the tree, as an event's `Changes` (DESIGN 7.2).
//!
//! Owns the order: look, write down whose bytes are whose, set aside what is out of scope, take back what was staged.
//! Nothing is touched before it is in the ledger or kept as objects.

use std::collections::BTreeSet;
use std::path::Path;

use crate::checks::weaken;
use crate::config::Config;
use crate::protocol::{Changes, Event, TreeId, Weakened};
use crate::workspace::{self, Change, Checkpoint, Observation, OwnBytes, Place, RepoPath, Scope, SetAside};

use super::act::{Failed, Job};
use super::ledger::Produced;
use super::running::NO_CHECKPOINT;
use super::saves::{self, Unknowing};

/// The longest diff that a question shows.
const LONGEST_DIFF: usize = 20_000;

/// Who is looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum By {
    Worker,
    /// A worker whose role may only read: whatever it changed is undone.
    Reader,
    Check,
}

/// The id of a tree that nothing has changed.
pub(super) fn unchanged() -> TreeId {
    TreeId(workspace::TreeId::of(&[]).as_str().to_owned())
}

/// The id of the present tree, against the loop's first checkpoint.
pub(super) fn tree_since(job: &Job, first: &Checkpoint) -> Result<TreeId, Failed> {
    let everything = job.scope(Vec::new())?;
    let seen = observe(job, first, &everything)?;
    Ok(TreeId(workspace::TreeId::of(&loops_own(&seen, &job.traces.own)).as_str().to_owned()))
}

/// What changed since a checkpoint. A save that comes while the tree is looked at may be on either side of the look: then it
/// is looked at once more.
fn observe(job: &Job, since: &Checkpoint, scope: &Scope) -> Result<Observation, Failed> {
    let workspace = &job.tools.workspace;
    let mut saved = job.saved();
    loop {
        let seen = workspace.observe(since, scope, &saved).map_err(|error| error.to_string())?;
        let now = job.saved();
        if now.len() == saved.len() {
            return Ok(seen);
        }
        saved = now;
    }
}

/// Only what this loop wrote: another loop's or the user's edits do not make a tree new.
fn loops_own(seen: &Observation, own: &OwnBytes) -> Vec<Change> {
    let paths: BTreeSet<&RepoPath> = own.paths().collect();
    seen.changes.iter().filter(|change| paths.contains(&change.path)).cloned().collect()
}

/// Looks at everything since the latest checkpoint, and puts right what was not allowed.
pub(super) fn look(job: &Job, scope: &Scope, by: By) -> Result<Changes, Failed> {
    let workspace = &job.tools.workspace;
    let failed = |error: workspace::WorkspaceError| error.to_string();
    let saves::TakenIn { traces, unknowing } = saves::take_in(job).map_err(failed)?;
    let since = traces.last_checkpoint().ok_or(NO_CHECKPOINT)?;
    let mut seen = observe(job, since, scope)?;
    let mut own = traces.own.clone();
    let mut fix = traces.fix.clone();
    let unknowing: Vec<&Unknowing> = unknowing.iter().filter(|one| scope.contains(&one.path)).collect();
    if !unknowing.is_empty() {
        own.record(&seen);
        own.record_changes(&unknowing.iter().map(|one| one.change()).collect::<Vec<_>>());
        job.keep_blocking(Produced::Own { own: own.clone(), fix: fix.clone() });
        for one in &unknowing {
            if workspace.replace_file(&one.path, &one.left, &one.both).map_err(failed)? {
                let path = &one.path;
                job.keep_blocking(Produced::Note(format!(
                    "{path}: you saved it while a worker was at it; your edit and the worker's both stand in it now"
                )));
            }
        }
        seen = observe(job, since, scope)?;
    }
    let mut out = Vec::new();
    let mut asides = Vec::new();
    // Rules for what git ignores may hide what else was written: they go back first.
    let rules: Vec<Change> =
        seen.placed(Place::OutOfScope).filter(|one| are_rules(&one.path)).cloned().collect();
    if !rules.is_empty() {
        own.record(&seen);
        job.keep_blocking(Produced::Own { own: own.clone(), fix: fix.clone() });
        asides.push(set_aside(job, since, &rules)?);
        let hidden = seen;
        seen = observe(job, since, scope)?;
        seen.breaches.extend(
            hidden.breaches.into_iter().filter(|breach| !seen.breaches.contains(breach)).collect::<Vec<_>>(),
        );
        seen.changes.retain(|change| !rules.iter().any(|one| one.path == change.path));
        out = rules;
    }
    // Reviews may well arrive while a worker is at it: the inbox is nobody's scope and is left as it is.
    let (reviews, rest): (Vec<Change>, Vec<Change>) = std::mem::take(&mut seen.changes)
        .into_iter()
        .partition(|change| change.place == Place::OutOfScope && is_inbox(&job.tools.config, &change.path));
    seen.changes = rest;
    own.record(&seen);
    for change in seen.placed(Place::InScope) {
        fix.insert(change.path.clone(), change.after.clone());
    }
    // On disk before anything is moved: a restore after a crash has to know these bytes as the loop's.
    job.keep_blocking(Produced::Own { own: own.clone(), fix });

    let mut changes = Changes {
        breaches: seen.breaches.iter().map(ToString::to_string).collect(),
        notes: notes(&seen),
        ..Changes::default()
    };
    // Also after a breach: what the user had staged is put back exactly, and nothing else is touched.
    if !seen.index_taken.is_empty() {
        let stuck = workspace.untake_index(&seen.index_taken).map_err(failed)?;
        let what: Vec<&str> = seen.index_taken.iter().map(|taken| taken.path.as_str()).collect();
        changes.notes.push(format!("taken back from the index: {}", what.join(", ")));
        if !stuck.is_empty() {
            let stuck: Vec<&str> = stuck.iter().map(RepoPath::as_str).collect();
            changes
                .notes
                .push(format!("left in the index, since it has changed again: {}", stuck.join(", ")));
        }
    }
    if !reviews.is_empty() {
        changes.notes.push(format!("findings files changed meanwhile: {}", listed(&reviews)));
    }
    let rest: Vec<Change> = seen.placed(Place::OutOfScope).cloned().collect();
    if !rest.is_empty() {
        asides.push(set_aside(job, since, &rest)?);
        out.extend(rest);
    }
    if !out.is_empty() {
        let diff: String = asides.iter().map(|aside| aside.diff.as_str()).collect();
        changes.out_of_scope_diff = shorten(&diff);
        for left in asides.iter().flat_map(|aside| &aside.left_alone) {
            changes.notes.push(format!("{} could not be put back: {}", left.path, left.why));
        }
        let kept: Vec<String> = asides.iter().map(|aside| workspace.ref_name(&aside.name)).collect();
        let what = format!("{}; this was undone and is kept as {}", listed(&out), kept.join(", "));
        match by {
            By::Worker | By::Reader => {
                changes.out_of_scope = out.iter().map(|change| change.path.to_string()).collect();
                // Not every one of these leads to a question: a worker may have failed, or only had to read.
                changes.notes.push(format!("a worker wrote {what}"));
            }
            By::Check => changes.notes.push(format!("a check wrote {what}")),
        }
    }
    changes.in_scope = seen.placed(Place::InScope).map(|change| change.path.to_string()).collect();
    let mine = if traces.first_checkpoint == traces.last_checkpoint {
        seen.placed(Place::InScope).cloned().collect()
    } else {
        loops_own(&observe(job, traces.first_checkpoint().ok_or(NO_CHECKPOINT)?, scope)?, &own)
    };
    changes.tree = Some(TreeId(workspace::TreeId::of(&mine).as_str().to_owned()));
    changes.weakened = weakened(job, &mine);
    Ok(changes)
}

/// Tests that the loop's whole change weakens.
fn weakened(job: &Job, changes: &[Change]) -> Vec<Weakened> {
    let workspace = &job.tools.workspace;
    let text = |state: &Option<workspace::FileState>| {
        state
            .as_ref()
            .filter(|state| state.stored)
            .and_then(|state| workspace.object(state.content).ok())
            .map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
    };
    let texts: Vec<(&Change, Option<String>, Option<String>)> =
        changes.iter().map(|change| (change, text(&change.before), text(&change.after))).collect();
    let edits: Vec<weaken::Edit<'_>> = texts
        .iter()
        .map(|(change, before, after)| weaken::Edit {
            path: Path::new(change.path.as_str()),
            before: before.as_deref(),
            after: after.as_deref(),
        })
        .collect();
    weaken::find_weakened(&edits)
        .into_iter()
        .map(|one| Weakened {
            path: one.path.to_string_lossy().into_owned(),
            line: Some(one.line),
            what: one.what,
        })
        .collect()
}

/// Whether a path is a findings file of the inbox.
pub(super) fn is_inbox(config: &Config, path: &RepoPath) -> bool {
    config
        .findings
        .iter()
        .filter_map(|pattern| globset::Glob::new(pattern).ok())
        .any(|glob| glob.compile_matcher().is_match(path.as_str()))
}

fn set_aside(job: &Job, since: &Checkpoint, changes: &[Change]) -> Result<SetAside, Failed> {
    let aside = job.tools.workspace.set_aside(since, changes).map_err(|error| error.to_string())?;
    job.keep_blocking(Produced::SetAside(aside.clone()));
    Ok(aside)
}

/// Whether a file says what git ignores.
pub(super) fn are_rules(path: &RepoPath) -> bool {
    path.as_str().rsplit('/').next() == Some(".gitignore")
}

fn listed(changes: &[Change]) -> String {
    changes.iter().map(|change| change.path.as_str()).collect::<Vec<_>>().join(", ")
}

fn notes(seen: &Observation) -> Vec<String> {
    let mut notes = Vec::new();
    for change in &seen.refs_changed {
        notes.push(format!("the ref {} was changed", change.name));
    }
    for name in &seen.git_files_changed {
        notes.push(format!(
            "the file {name} of the git folder was changed; look at it before git runs what it says"
        ));
    }
    for change in &seen.ignored_changed {
        notes.push(format!("the ignored file {} was changed; it is never staged", change.path));
    }
    notes
}

pub(super) fn shorten(diff: &str) -> String {
    if diff.len() <= LONGEST_DIFF {
        return diff.to_owned();
    }
    let cut = (0..=LONGEST_DIFF).rev().find(|&at| diff.is_char_boundary(at)).unwrap_or(0);
    format!("{}\n… ({} more bytes)\n", &diff[..cut], diff.len() - cut)
}

/// Brings back what was set aside, for these paths (the user approved them). No worker was at it since they were set aside:
/// whatever else is different now is the user's, and none of it is looked at here.
pub(super) fn put_back(job: &Job, paths: &BTreeSet<String>) -> Result<Event, Failed> {
    let workspace = &job.tools.workspace;
    let failed = |error: workspace::WorkspaceError| error.to_string();
    let mut own = job.traces.own.clone();
    let mut fix = job.traces.fix.clone();
    for path in paths.iter().filter_map(|path| RepoPath::new(path).ok()) {
        let of_path = |aside: &&SetAside| aside.changes.iter().any(|change| change.path == path);
        let Some(aside) = job.traces.set_aside.iter().rev().find(of_path) else { continue };
        let mut wanted = aside.clone();
        wanted.changes.retain(|change| change.path == path);
        // The loop's own again, and known as that before they are in the tree.
        own.record_changes(&wanted.changes);
        job.keep_blocking(Produced::Own { own: own.clone(), fix: fix.clone() });
        let back = workspace.put_back(&wanted).map_err(failed)?;
        let present = workspace.file_state(&path).map_err(failed)?;
        // Also where an earlier try, which was interrupted, brought it back already.
        if let Some(change) = wanted.changes.iter().find(|change| change.after == present) {
            fix.insert(path, change.after.clone());
            continue;
        }
        for left in &back.left_alone {
            job.keep_blocking(Produced::Note(format!("{} was not put back: {}", left.path, left.why)));
        }
    }
    job.keep_blocking(Produced::Own { own: own.clone(), fix: fix.clone() });
    let changed: Vec<RepoPath> = fix.keys().cloned().collect();
    let then = workspace.states_at(job.last_checkpoint()?, &changed).map_err(failed)?;
    let in_scope = fix.iter().filter(|(path, state)| then.get(*path) != Some(*state));
    let everything = job.scope(Vec::new())?;
    let mine = loops_own(&observe(job, job.first_checkpoint()?, &everything)?, &own);
    let changes = Changes {
        in_scope: in_scope.map(|(path, _)| path.to_string()).collect(),
        tree: Some(TreeId(workspace::TreeId::of(&mine).as_str().to_owned())),
        weakened: weakened(job, &mine),
        ..Changes::default()
    };
    Ok(Event::Changed { action: job.step.id, changes })
}
