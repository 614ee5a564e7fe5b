//! One dispatch into the managed worktree: the brief, the subagent, and what it really did there.

use std::sync::Arc;

use serde_json::json;

use crate::agents::Brief;
use crate::protocol::{Changes, Dispatch, Event, Role, TreeId};
use crate::workspace::{Breach, Place, Scope};

use super::super::act::{Failed, Job};
use super::super::{dispatching, guard};
use super::validation::failing;
use super::{Managed, checkout, managed, opened, text};

pub(super) async fn dispatch(job: &Arc<Job>, dispatch: &Dispatch) -> Result<Event, Failed> {
    let action = job.step.id;
    let chosen = job.agent_for(dispatch)?;
    let managed = managed(job)?.clone();
    let briefed = dispatching::briefed(job, &dispatch.findings);
    let cwd = managed.worktree.path.clone();
    let (base, head) =
        (managed.review_base.clone(), job.last_checkpoint()?.head.commit.map(|id| id.to_string()));
    let head = head.unwrap_or_else(|| managed.head.clone());
    let diff = if dispatch.with_diff {
        let from = match dispatch.role {
            Role::Closer => managed.initial_head.clone(),
            _ => base.clone(),
        };
        Some(job.blocking(move |job| job.tools.workspace.diff_between(&from, &head).map_err(text)).await?)
    } else {
        None
    };
    let diff = diff.filter(|diff| !diff.trim().is_empty()).map(|diff| dispatching::bounded(&diff));
    let mut brief = dispatching::brief(job, dispatch, &briefed, &cwd.to_string_lossy(), diff, Some(base));
    complete(&mut brief, job, dispatch, &managed);
    job.blocking(checkout::record).await?;
    let commits = job.blocking(|job| Ok(opened(job)?.commit_folders())).await?;
    let outcome = dispatching::work(job, dispatch, chosen, brief, &cwd, commits).await;
    let may_edit = dispatch.role.may_edit();
    let scope: Vec<String> = dispatch.scope.iter().cloned().collect();
    let mut changes = job.blocking(move |job| look(job, &scope, may_edit)).await?;
    job.blocking(move |job| {
        checkout::look(job, &mut changes)?;
        Ok(changes)
    })
    .await
    .map(|changes| dispatching::event(job, action, dispatch, &briefed, &cwd, outcome, changes))
}

/// What every worker of this protocol is told beside the ordinary brief.
fn complete(brief: &mut Brief, job: &Job, dispatch: &Dispatch, managed: &Managed) {
    let mut said = vec![brief.instructions.clone()];
    said.push(format!(
        "You work in a worktree of your own on branch {}. The review base is {}. End with the WORKER_RESULT footer.",
        managed.worktree.branch, managed.review_base
    ));
    match dispatch.role {
        Role::Fixer | Role::Recoverer => {
            said.push(
                "Commit your fix on this branch with a clean tree; never amend, rebase, push or switch."
                    .into(),
            );
        }
        _ => said.push("Change nothing.".into()),
    }
    if dispatch.role == Role::Closer && !job.traces.roots.is_empty() {
        // The closer judges root causes, under their stable ids.
        brief.findings = job
                .traces
                .roots
                .iter()
                .filter(|root| root.confirmed)
                .map(|root| {
                    let first = dispatching::briefed(job, &root.from).into_iter().next();
                    let (file, line) = first
                        .map(|one| (one.finding["file"].clone(), one.finding["line_start"].clone()))
                        .unwrap_or_default();
                    json!({"id": root.id, "title": root.root_cause, "body": root.evidence, "file": file,
                        "line_start": line, "line_end": line, "verdict": "confirmed", "evidence": root.evidence})
                })
                .collect();
    }
    if dispatch.role == Role::Reviewer || dispatch.role == Role::Checker || dispatch.role == Role::Closer {
        for (what, snapshots) in [("Spec", &managed.spec), ("Standards", &managed.standards)] {
            for snapshot in snapshots {
                said.push(format!(
                    "{what} ({}), as it was when the loop began:\n\n{}",
                    snapshot.path, snapshot.text
                ));
            }
        }
    }
    let red: Vec<String> = managed.baseline.iter().flat_map(|(check, run)| failing(check, run)).collect();
    if !red.is_empty() {
        said.push(format!("Failing at the base already: {}.", red.join(", ")));
    }
    said.retain(|part| !part.trim().is_empty());
    brief.instructions = said.join("\n\n");
}

/// What a worker did to the worktree: committed or not.
fn look(job: &Job, scope: &[String], may_edit: bool) -> Result<Changes, Failed> {
    let workspace = opened(job)?;
    let since = job.last_checkpoint()?;
    let managed = managed(job)?;
    let allowed = Scope::new(workspace.root(), scope, &job.tools.config.always_allow).map_err(text)?;
    let seen = workspace.observe(since, &allowed, &[]).map_err(text)?;
    let mut changes = Changes::default();
    for breach in &seen.breaches {
        match breach {
            // Committing is the fixer's work here; whether the commit is good is for the inspection to say.
            Breach::HeadMoved { .. } if may_edit => {}
            // What it staged went into its commit.
            Breach::IndexReset { .. } if may_edit => {}
            other => changes.breaches.push(other.to_string()),
        }
    }
    let (from, to) = (since.head.commit.map(|id| id.to_string()), workspace.head_id());
    let mut paths: Vec<(String, bool)> = Vec::new();
    if let (Some(from), Some(to)) = (&from, &to)
        && from != to
    {
        for path in workspace.paths_between(from, to).map_err(text)? {
            paths.push((path.to_string(), allowed.contains(&path)));
        }
    }
    for change in seen.changes.iter().filter(|change| change.place != Place::Users) {
        paths.push((change.path.to_string(), allowed.contains(&change.path)));
    }
    paths.sort();
    paths.dedup();
    let (inside, outside): (Vec<_>, Vec<_>) = paths.into_iter().partition(|(_, inside)| *inside);
    changes.in_scope = inside.into_iter().map(|(path, _)| path).collect();
    changes.out_of_scope = outside.into_iter().map(|(path, _)| path).collect();
    if !changes.out_of_scope.is_empty()
        && let (Some(from), Some(to)) = (&from, &to)
    {
        changes.out_of_scope_diff = guard::shorten(&workspace.diff_between(from, to).map_err(text)?);
    }
    let own = format!("refs/heads/{}", managed.worktree.branch);
    for moved in seen.refs_changed.iter().filter(|moved| moved.name != own) {
        // Other loops have branches of their own here.
        if !moved.name.starts_with("refs/heads/fix-loop/") {
            changes.notes.push(format!("the ref {} was changed while a worker was at work", moved.name));
        }
    }
    let head = to.unwrap_or_else(|| managed.head.clone());
    let dirty = if seen.changes.is_empty() { String::new() } else { format!("+{}", seen.tree.as_str()) };
    changes.tree = Some(TreeId(format!("{head}{dirty}")));
    Ok(changes)
}
