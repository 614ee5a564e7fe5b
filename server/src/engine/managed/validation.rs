//! Validation of a managed worktree: which commands, once at the base, again after every fix (DESIGN 6, `converge`).
//!
//! Owns what is blamed on a fix: only what did not fail at the base. Must never run in the user's checkout.

use std::path::Path;
use std::sync::Arc;

use crate::checks::{self, Check, CheckRun, Origin};
use crate::protocol::{Event, FindingKey, Inspected, TreeId, Validation, ValidationOutcome};
use crate::workspace::Worktree;

use super::super::act::{Failed, Job};
use super::super::checking;
use super::super::ledger::Produced;
use super::{managed, opened, text};

/// The finding source's own checks, else the project's configured tests, else what is discovered.
pub(super) fn commands(job: &Job, root: &Path) -> Vec<Check> {
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
pub(super) async fn run_at_base(
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
    let place = job
        .blocking(move |job| {
            let place = job.tools.workspace.add_worktree(&name, &at).map_err(text)?;
            // A crash may have left it in the middle of these very checks.
            job.tools.workspace.reset_managed(&place, &at).map_err(text)?;
            Ok(place)
        })
        .await?;
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

pub(super) fn of(runs: &[(&Check, &CheckRun)]) -> Option<Validation> {
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
pub(super) fn failing(check: &Check, run: &CheckRun) -> Vec<String> {
    match &run.outcome {
        checks::Outcome::Passed => Vec::new(),
        checks::Outcome::Failed(failure) if failure.tests.is_empty() => vec![check.name.to_string()],
        checks::Outcome::Failed(failure) => failure.tests.iter().cloned().collect(),
        checks::Outcome::Inconclusive(why) => vec![format!("{} {why}", check.name)],
    }
}

pub(super) async fn inspect(job: &Arc<Job>, validate: bool) -> Result<Event, Failed> {
    let action = job.step.id;
    let known = managed(job)?.clone();
    let (worktree, base) = (known.worktree.clone(), known.review_base.clone());
    let state = job
        .blocking(move |job| {
            opened(job)?;
            job.tools.workspace.commit_state(&worktree, &base).map_err(text)
        })
        .await?;
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
    let mut new_failures = Vec::new();
    let mut regressions = Vec::new();
    for (check, run) in runs.iter().filter(|(_, run)| matches!(run.outcome, checks::Outcome::Failed(_))) {
        let fresh: Vec<String> =
            failing(check, run).into_iter().filter(|name| !at_base.contains(name)).collect();
        if !fresh.is_empty() {
            let tests = fresh.iter().filter(|name| *name != check.name.as_str()).cloned().collect();
            let caused_by = job.opened.findings.first().map(|one| one.fingerprint.clone());
            let caused_by = caused_by.or_else(|| job.traces.found.first().map(|found| found.key.0.clone()));
            let salt = format!("loop {} {}", job.id, check.name);
            regressions.extend(checking::regressions(
                (check.name.as_str(), &salt),
                &tests,
                Some(run),
                &FindingKey(caused_by.unwrap_or_default()),
            ));
        }
        new_failures.extend(fresh);
    }
    // The commit before the worker: what is new came after it, also when this is done again after a crash. A worker that
    // amends, or resets the branch and commits anew, has thrown away what was there.
    let before = job.last_checkpoint()?.head.commit.map(|id| id.to_string());
    let previous = before.unwrap_or_else(|| known.initial_head.clone());
    let keeps_history = {
        let (previous, head) = (previous.clone(), state.head.to_string());
        job.blocking(move |job| job.tools.workspace.is_ancestor(&previous, &head).map_err(text)).await?
    };
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
            validation: of(&runs.iter().map(|(check, run)| (check, run)).collect::<Vec<_>>()),
            new_failures,
            regressions,
        },
    })
}
