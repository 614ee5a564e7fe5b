//! Carries out the actions of `converge`, in a worktree of its own (DESIGN 6).
//!
//! Owns the pinned base, the managed worktree and the snapshots of spec and standards; `workers` sends subagents into the
//! worktree, `validation` runs the commands there, `checkout` watches the user's own. That one is only read, but for
//! `PutBackCheckout`, which the user asks for. A worker is never believed about its commit: git is asked.

pub(super) mod checkout;
mod validation;
mod workers;

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::checks::{Check, CheckRun};
use crate::protocol::{Action, Event, Prepared, RestorePoint, TreeId};
use crate::workspace::{CheckpointName, Workspace, Worktree};

use super::act::{Failed, Job};
use super::ledger::Produced;
use super::snapshots;

/// What was pinned when the loop was prepared, and where its worktree is now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Managed {
    pub worktree: Worktree,
    pub review_base: String,
    pub initial_head: String,
    /// The branch that the user's checkout was on, in full.
    #[serde(default)]
    pub users_branch: Option<String>,
    /// As last inspected or restored.
    pub head: String,
    /// The same text for every worker of the loop.
    pub spec: Vec<Snapshot>,
    pub standards: Vec<Snapshot>,
    /// Validation as it ran at the base.
    pub baseline: Vec<(Check, CheckRun)>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Snapshot {
    pub path: String,
    pub text: String,
}

pub(super) async fn perform(job: &Arc<Job>) -> Result<Event, Failed> {
    match &job.step.action {
        Action::Prepare => prepare(job).await,
        Action::Checkpoint => job.blocking(checkpoint).await,
        Action::Dispatch(dispatch) => workers::dispatch(job, dispatch).await,
        Action::Inspect { validate, .. } => validation::inspect(job, *validate).await,
        Action::PutBackCheckout => job.blocking(checkout::put_back).await,
        Action::Restore { to } => {
            let to = *to;
            job.blocking(move |job| restore(job, to)).await
        }
        other => Err(format!("the converge protocol has no action {other:?}")),
    }
}

fn text(error: impl ToString) -> Failed {
    error.to_string()
}

fn managed(job: &Job) -> Result<&Managed, Failed> {
    job.traces.managed.as_ref().ok_or_else(|| "the worktree of the loop was not prepared".to_owned())
}

/// The worktree as a workspace of its own. Somebody who tidied up may have removed it, or its branch: both are made again
/// where the loop left them.
fn opened(job: &Job) -> Result<Workspace, Failed> {
    let Managed { worktree, head, .. } = managed(job)?;
    let workspace = &job.tools.workspace;
    let branch = format!("refs/heads/{}", worktree.branch);
    let is_there = worktree.path.join(".git").exists();
    if !is_there || workspace.resolve(&branch).is_err() {
        if is_there {
            workspace.reset_managed(worktree, head).map_err(text)?;
        } else {
            workspace.add_worktree(&worktree.branch, head).map_err(text)?;
        }
        job.keep_blocking(Produced::Note(format!(
            "the worktree or the branch {} was gone; it is there again, at {head}",
            worktree.branch
        )));
    }
    workspace.open_worktree(worktree).map_err(text)
}

// ---------------------------------------------------------------- prepare

async fn prepare(job: &Arc<Job>) -> Result<Event, Failed> {
    let action = job.step.id;
    let (review_base, head, worktree, changed) = job.blocking(pin).await?;
    let (base, at) = (review_base.clone(), head.clone());
    let (spec, standards) = job
        .blocking(move |job| Ok(snapshots::look_up(&job.tools.workspace, &job.tools.config, &base, &at)))
        .await?;
    let checks = validation::commands(job, &worktree.path);
    let baseline = validation::run_at_base(job, &review_base, &worktree, &checks).await?;
    let managed = Managed {
        worktree,
        review_base: review_base.clone(),
        initial_head: head.clone(),
        users_branch: job.blocking(|job| Ok(job.tools.workspace.branch())).await?,
        head: head.clone(),
        spec,
        standards,
        baseline,
    };
    let prepared = Prepared {
        review_base,
        head,
        branch: managed.worktree.branch.clone(),
        has_spec: !managed.spec.is_empty(),
        has_standards: !managed.standards.is_empty(),
        validation: validation::of(
            &managed.baseline.iter().map(|(check, run)| (check, run)).collect::<Vec<_>>(),
        ),
        worktree: managed.worktree.path.display().to_string(),
        changed,
    };
    job.keep(Produced::Managed(managed)).await;
    if job.cancel.is_cancelled() {
        return Err("cancelled".into());
    }
    Ok(Event::Prepared { action, prepared })
}

/// Pins base and head, and makes the worktree.
fn pin(job: &Job) -> Result<(String, String, Worktree, Vec<String>), Failed> {
    let workspace = &job.tools.workspace;
    let unclean = workspace.unclean_paths().map_err(text)?;
    // Our own findings files are no part of what is reviewed.
    let unclean: Vec<String> =
        unclean.iter().map(ToString::to_string).filter(|path| !path.starts_with(".fix-loop/")).collect();
    if !unclean.is_empty() {
        let named: Vec<&str> = unclean.iter().take(5).map(String::as_str).collect();
        return Err(format!(
            "the work tree is not clean ({}{}); commit or stash first, then resume",
            named.join(", "),
            if unclean.len() > 5 { ", …" } else { "" }
        ));
    }
    let head = workspace.head_id().ok_or("there is no commit yet; commit once, then resume")?;
    let base = match &job.opened.base {
        Some(base) => merge_base(workspace, base, &head)
            .ok_or_else(|| format!("the review base {base} has nothing in common with HEAD"))?,
        None => fixed_point(workspace, &head),
    };
    let branch = workspace.free_branch(&format!("fix-loop/{}", job.id)).map_err(text)?;
    let worktree = workspace.add_worktree(&branch, &head).map_err(text)?;
    // A crash in between may have left it from an earlier head.
    workspace.reset_managed(&worktree, &head).map_err(text)?;
    let changed =
        workspace.paths_between(&base, &head).map_err(text)?.iter().map(ToString::to_string).collect();
    Ok((base, head, worktree, changed))
}

fn merge_base(workspace: &Workspace, one: &str, head: &str) -> Option<String> {
    let one = workspace.resolve(one).ok()?.to_string();
    workspace.merge_base(&one, head).ok()?.map(|id| id.to_string())
}

/// Where the branch left the line that it will go back to: its upstream, the remote's or the local main line. Without any
/// of them, the commit before HEAD.
fn fixed_point(workspace: &Workspace, head: &str) -> String {
    ["@{upstream}", "refs/remotes/origin/HEAD", "origin/main", "origin/master", "main", "master"]
        .iter()
        .filter_map(|name| merge_base(workspace, name, head))
        .find(|base| base != head)
        .or_else(|| workspace.resolve("HEAD~1").ok().map(|id| id.to_string()))
        .unwrap_or_else(|| head.to_owned())
}

// ---------------------------------------------------------------- checkpoints

fn checkpoint(job: &Job) -> Result<Event, Failed> {
    let workspace = opened(job)?;
    let name = CheckpointName::new(&job.id.to_string(), &job.step.id.0.to_string()).map_err(text)?;
    let checkpoint = workspace.checkpoint(&name, &[]).map_err(text)?;
    let tree = TreeId(checkpoint.head.commit.map(|id| id.to_string()).unwrap_or_default());
    job.keep_blocking(Produced::Checkpoint(checkpoint));
    Ok(Event::Checkpointed { action: job.step.id, tree })
}

fn restore(job: &Job, to: RestorePoint) -> Result<Event, Failed> {
    let managed = managed(job)?;
    let head = match to {
        RestorePoint::Start => Some(managed.initial_head.clone()),
        RestorePoint::BeforeWorker | RestorePoint::LastResolution => {
            job.last_checkpoint()?.head.commit.map(|id| id.to_string())
        }
    };
    let head = head.unwrap_or_else(|| managed.initial_head.clone());
    opened(job)?;
    job.tools.workspace.reset_managed(&managed.worktree, &head).map_err(text)?;
    job.keep_blocking(Produced::Managed(Managed { head, ..managed.clone() }));
    Ok(Event::Restored { action: job.step.id, left_alone: Vec::new() })
}
