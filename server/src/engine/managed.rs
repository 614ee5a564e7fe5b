//! Carries out the actions of `converge`, in a worktree of its own (DESIGN 6).
//!
//! Owns the pinned base, the managed worktree, the snapshots of spec and standards, and validation. The user's checkout is
//! only read, and only for what is committed. A worker is never believed about its commit: git is asked.

use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::agents::Brief;
use crate::checks::{self, Check, CheckRun, Origin};
use crate::protocol::{
    Action, Changes, Dispatch, Event, Inspected, Prepared, RestorePoint, Role, TreeId, Validation,
    ValidationOutcome,
};
use crate::workspace::{Breach, CheckpointName, Place, Scope, Workspace, Worktree};

use super::act::{Failed, Job};
use super::ledger::Produced;
use super::{checking, dispatching, roster, snapshots};

/// What was pinned when the loop was prepared, and where its worktree is now.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Managed {
    pub worktree: Worktree,
    pub review_base: String,
    pub initial_head: String,
    /// As last inspected.
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
        Action::Dispatch(dispatch) => dispatch_in_worktree(job, dispatch).await,
        Action::Inspect { validate, .. } => inspect(job, *validate).await,
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

/// The worktree as a workspace of its own.
fn opened(job: &Job) -> Result<Workspace, Failed> {
    let managed = managed(job)?;
    job.tools.workspace.open_worktree(&managed.worktree).map_err(text)
}

// ---------------------------------------------------------------- prepare

async fn prepare(job: &Arc<Job>) -> Result<Event, Failed> {
    let action = job.step.id;
    let (review_base, head, worktree, changed) = job.blocking(pin).await?;
    let (base, at) = (review_base.clone(), head.clone());
    let (spec, standards) = job
        .blocking(move |job| Ok(snapshots::look_up(&job.tools.workspace, &job.tools.config, &base, &at)))
        .await?;
    let checks = validation_checks(job, &worktree.path);
    let baseline = run_at_base(job, &review_base, &worktree, &checks).await?;
    let managed = Managed {
        worktree,
        review_base: review_base.clone(),
        initial_head: head.clone(),
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
        validation: validation(&managed.baseline.iter().map(|(check, run)| (check, run)).collect::<Vec<_>>()),
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

// ---------------------------------------------------------------- validation

/// The finding source's own checks, else the project's configured tests, else what is discovered.
fn validation_checks(job: &Job, root: &Path) -> Vec<Check> {
    let configured = checking::configured(&job.tools.config);
    let own: Vec<Check> = job
        .opened
        .findings
        .iter()
        .flat_map(|finding| &finding.finding.checks)
        .filter_map(|check| match check {
            crate::findings::FindingCheck::Named { check } => {
                configured.iter().find(|one| one.name == *check)
            }
            crate::findings::FindingCheck::Command { command } => {
                configured.iter().find(|one| one.command == *command)
            }
            _ => None,
        })
        .map(|entry| checks::configured_check(entry, Origin::Finding))
        .collect();
    let mut chosen = own;
    if chosen.is_empty() {
        chosen = configured.iter().map(|entry| checks::configured_check(entry, Origin::Configured)).collect();
    }
    if chosen.is_empty() {
        chosen = checks::discover::discover(root, &[], &checks::Tools::from_environment());
    }
    let mut seen = Vec::new();
    chosen.retain(|check| {
        let key = check.key();
        let fresh = !seen.contains(&key);
        seen.push(key);
        fresh
    });
    chosen
}

/// Runs validation once at the base, so that what was red there is never blamed on the fix.
async fn run_at_base(
    job: &Arc<Job>,
    base: &str,
    worktree: &Worktree,
    checks: &[Check],
) -> Result<Vec<(Check, CheckRun)>, Failed> {
    if checks.is_empty() {
        return Ok(Vec::new());
    }
    let branch = format!("{}-base", worktree.branch);
    let (name, at) = (branch.clone(), base.to_owned());
    let place = job.blocking(move |job| job.tools.workspace.add_worktree(&name, &at).map_err(text)).await?;
    let mut runs = Vec::new();
    for check in checks {
        job.tell(format!("running {} at the base", check.name));
        let run = checks::run_before(check, &place.path, &job.tools.supervisor, &job.cancel).await;
        runs.push((check.clone(), run));
    }
    job.blocking(move |job| job.tools.workspace.discard_worktree(&place).map_err(text)).await?;
    // What the checks wrote into the worktree of the loop is nothing: they ran elsewhere.
    debug_assert!(worktree.path.exists());
    Ok(runs)
}

fn validation(runs: &[(&Check, &CheckRun)]) -> Option<Validation> {
    if runs.is_empty() {
        return None;
    }
    let command = runs
        .iter()
        .map(
            |(check, _)| {
                if check.argv().is_empty() { check.name.to_string() } else { check.argv().join(" ") }
            },
        )
        .collect::<Vec<_>>()
        .join(" && ");
    let failed = runs.iter().any(|(_, run)| matches!(run.outcome, checks::Outcome::Failed(_)));
    let unclear = runs.iter().any(|(_, run)| matches!(run.outcome, checks::Outcome::Inconclusive(_)));
    let outcome = if failed {
        ValidationOutcome::Fail
    } else if unclear {
        ValidationOutcome::NotRun
    } else {
        ValidationOutcome::Pass
    };
    Some(Validation {
        command,
        outcome,
        failing: runs.iter().flat_map(|(check, run)| failing(check, run)).collect(),
    })
}

/// What fails or cannot be run, by name.
fn failing(check: &Check, run: &CheckRun) -> Vec<String> {
    match &run.outcome {
        checks::Outcome::Passed => Vec::new(),
        checks::Outcome::Failed(failure) if failure.tests.is_empty() => vec![check.name.to_string()],
        checks::Outcome::Failed(failure) => failure.tests.iter().cloned().collect(),
        checks::Outcome::Inconclusive(why) => vec![format!("{} {why}", check.name)],
    }
}

async fn inspect(job: &Arc<Job>, validate: bool) -> Result<Event, Failed> {
    let action = job.step.id;
    let known = managed(job)?.clone();
    let (worktree, base) = (known.worktree.clone(), known.review_base.clone());
    let state =
        job.blocking(move |job| job.tools.workspace.commit_state(&worktree, &base).map_err(text)).await?;
    let mut runs: Vec<(Check, CheckRun)> = Vec::new();
    if validate {
        for (check, before) in &known.baseline {
            job.tell(format!("running {}", check.name));
            let run =
                checks::run_after(check, &known.worktree.path, &job.tools.supervisor, &job.cancel, before)
                    .await;
            runs.push((check.clone(), run));
        }
        if job.cancel.is_cancelled() {
            return Err("cancelled".into());
        }
        // Whatever validation wrote is not part of the fix.
        let (worktree, head) = (known.worktree.clone(), state.head.to_string());
        if state.clean {
            job.blocking(move |job| job.tools.workspace.reset_managed(&worktree, &head).map_err(text))
                .await?;
        }
    }
    let at_base: Vec<String> = known.baseline.iter().flat_map(|(check, run)| failing(check, run)).collect();
    let new_failures = runs
        .iter()
        .filter(|(_, run)| matches!(run.outcome, checks::Outcome::Failed(_)))
        .flat_map(|(check, run)| failing(check, run))
        .filter(|name| !at_base.contains(name))
        .collect();
    // A worker that resets the branch and commits anew has thrown away what was to be fixed.
    let keeps_history = {
        let (initial, head) = (known.initial_head.clone(), state.head.to_string());
        job.blocking(move |job| job.tools.workspace.is_ancestor(&initial, &head).map_err(text)).await?
    };
    let previous = known.head.clone();
    let head = state.head.to_string();
    let at = head.clone();
    let new_commits = job
        .blocking(move |job| job.tools.workspace.commits_between(&previous, &at).map_err(text))
        .await?
        .iter()
        .map(ToString::to_string)
        .collect();
    let wanted = format!("refs/heads/{}", known.worktree.branch);
    let mut updated = known.clone();
    updated.head = head.clone();
    job.keep(Produced::Managed(updated)).await;
    Ok(Event::Inspected {
        action,
        inspected: Inspected {
            tree: TreeId(head.clone()),
            head,
            clean: state.clean,
            on_branch: state.branch.as_deref() == Some(wanted.as_str()),
            base_is_ancestor: state.descends_from_base && keeps_history,
            new_commits,
            validation: validation(&runs.iter().map(|(check, run)| (check, run)).collect::<Vec<_>>()),
            new_failures,
        },
    })
}

// ---------------------------------------------------------------- workers

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
    job.tools.workspace.reset_managed(&managed.worktree, &head).map_err(text)?;
    Ok(Event::Restored { action: job.step.id, left_alone: Vec::new() })
}

async fn dispatch_in_worktree(job: &Arc<Job>, dispatch: &Dispatch) -> Result<Event, Failed> {
    let action = job.step.id;
    let chosen = roster::choose(
        job.tools.workspace.root(),
        &job.tools.config,
        job.tools.agent.as_deref(),
        dispatch.role,
        dispatch.tier,
    )?;
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
    let users = job.blocking(users_checkout).await?;
    let outcome = dispatching::work(job, dispatch, chosen, brief, &cwd).await;
    let may_edit = dispatch.role.may_edit();
    let scope: Vec<String> = dispatch.scope.iter().cloned().collect();
    let mut changes = job.blocking(move |job| look(job, &scope, may_edit)).await?;
    // Whether the user or the worker did it cannot be told, so nothing is put back: it is named.
    let now = job.blocking(users_checkout).await?;
    let changed: Vec<&str> = now.difference(&users).map(String::as_str).collect();
    if !changed.is_empty() {
        changes.notes.push(format!(
            "while worker {} was at work, this changed in your own checkout: {}; if it was not you, undo it",
            dispatch.worker.0,
            changed.join(", ")
        ));
    }
    Ok(dispatching::event(job, action, dispatch, &briefed, outcome, changes))
}

/// What is not committed in the user's checkout, and its HEAD.
fn users_checkout(job: &Job) -> Result<BTreeSet<String>, Failed> {
    let workspace = &job.tools.workspace;
    let mut seen: BTreeSet<String> =
        workspace.unclean_paths().map_err(text)?.iter().map(ToString::to_string).collect();
    seen.extend(workspace.head_id().map(|head| format!("HEAD (now {head})")));
    Ok(seen)
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
        changes.out_of_scope_diff = super::guard::shorten(&workspace.diff_between(from, to).map_err(text)?);
    }
    let head = to.unwrap_or_else(|| managed.head.clone());
    let dirty = if seen.changes.is_empty() { String::new() } else { format!("+{}", seen.tree.as_str()) };
    changes.tree = Some(TreeId(format!("{head}{dirty}")));
    Ok(changes)
}
