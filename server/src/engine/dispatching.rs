//! One dispatch: the brief, the subagent, and what it really did.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::json;

use crate::agents::{self, Brief, ProtocolName};
use crate::protocol::{Dispatch, Event, FindingKey, Focus, Role, Severity, Spent};
use crate::workspace::RepoPath;

use super::act::{Failed, Job};
use super::checking;
use super::guard::{self, By};
use super::ledger::Produced;
use super::roster::{self, Chosen};
use super::translate::{self, Asked, Place};

/// The longest diff that a brief shows.
const LONGEST_DIFF: usize = 200_000;

/// A finding as a brief needs it.
pub(super) struct Briefed {
    pub key: FindingKey,
    pub finding: serde_json::Value,
    pub criterion: String,
}

pub(super) async fn dispatch(job: &Arc<Job>, dispatch: &Dispatch) -> Result<Event, Failed> {
    let action = job.step.id;
    let chosen = job.agent_for(dispatch)?;
    let briefed = briefed(job, &dispatch.findings);
    let root = job.tools.workspace.root().to_path_buf();
    let diff = if dispatch.with_diff { Some(job.blocking(diff).await?) } else { None };
    let brief = brief(job, dispatch, &briefed, &root.to_string_lossy(), diff, None);
    let may_edit = dispatch.role.may_edit();
    let scope: Vec<String> = dispatch.scope.iter().cloned().collect();
    // Before the worker begins: made afterwards, it would be resolved through the links that the worker left.
    let scope = job.blocking(move |job| job.scope(scope)).await?;
    let outcome = work(job, dispatch, chosen, brief, &root, Vec::new()).await;
    let changes = job
        .blocking(move |job| {
            let by = if may_edit { By::Worker } else { By::Reader };
            guard::look(job, &scope, by)
        })
        .await?;
    Ok(event(job, action, dispatch, &briefed, &root, outcome, changes))
}

/// Runs the subagent; the ledger knows of it before, while and after.
pub(super) async fn work(
    job: &Arc<Job>,
    dispatch: &Dispatch,
    chosen: Chosen,
    brief: Brief,
    cwd: &std::path::Path,
    also_writes: Vec<std::path::PathBuf>,
) -> agents::Outcome {
    job.keep(Produced::Worker {
        worker: dispatch.worker,
        role: dispatch.role,
        round: dispatch.round,
        tier: dispatch.tier,
        agent: chosen.spec.name.clone(),
        model: chosen.model.clone(),
        effort: chosen.effort.clone(),
    })
    .await;
    job.tell(format!(
        "round {}: {} ({}{})",
        dispatch.round,
        roster::role_name(dispatch.role),
        chosen.spec.name,
        chosen.model.as_ref().map(|model| format!(", {model}")).unwrap_or_default()
    ));
    let (started, wait) = tokio::sync::oneshot::channel();
    let following = {
        let job = job.clone();
        tokio::spawn(async move {
            if let Ok(identity) = wait.await {
                job.keep(Produced::Process(identity)).await;
            }
        })
    };
    let (progress, mut lines) = tokio::sync::mpsc::unbounded_channel::<agents::Progress>();
    let telling = {
        let job = job.clone();
        tokio::spawn(async move {
            while let Some(line) = lines.recv().await {
                job.tell(line.to_string());
            }
        })
    };
    let transcript_dir = job
        .tools
        .workspace
        .state_dir()
        .join("workers")
        .join(job.id.to_string())
        .join(dispatch.worker.0.to_string());
    let limit = chosen.limit(&job.opened.start, super::driver::now().saturating_sub(job.started_at));
    // The editor's buffers are those of the user's own tree.
    let buffers = match cwd == job.tools.workspace.root() {
        true => job.tools.buffers.clone(),
        false => agents::Buffers::none(),
    };
    let outcome = agents::run(
        agents::Job {
            brief,
            agent: chosen.spec,
            model: chosen.model,
            effort: chosen.effort,
            cwd: cwd.to_path_buf(),
            also_writes,
            transcript_dir,
            limit,
            buffers,
            started: Some(started),
        },
        &job.tools.supervisor,
        &job.cancel,
        Some(progress),
    )
    .await;
    // Dropped senders end both; the identity is in the ledger before the worker's end is.
    let _ = following.await;
    let _ = telling.await;
    job.keep(Produced::WorkerEnded {
        worker: dispatch.worker,
        seconds: outcome.elapsed.as_secs_f64(),
        cost_usd: outcome.usage.cost_usd,
        tokens: outcome.usage.tokens,
        outcome: match &outcome.result {
            Ok(_) => "reported".into(),
            Err(failure) => failure.message.clone(),
        },
    })
    .await;
    if outcome.leftovers > 0 {
        job.keep(Produced::Note(format!(
            "worker {} left {} processes behind; they were ended",
            dispatch.worker.0, outcome.leftovers
        )))
        .await;
    }
    outcome
}

pub(super) fn event(
    job: &Job,
    action: crate::protocol::ActionId,
    dispatch: &Dispatch,
    briefed: &[Briefed],
    cwd: &std::path::Path,
    outcome: agents::Outcome,
    changes: crate::protocol::Changes,
) -> Event {
    let outcome = match changes.in_scope.is_empty() && changes.out_of_scope.is_empty() {
        true => outcome.without_changes(),
        false => outcome,
    };
    let spent = Spent { cost_usd: outcome.usage.cost_usd, tokens: outcome.usage.tokens };
    let asked_of: Vec<(FindingKey, String)> =
        briefed.iter().map(|one| (one.key.clone(), one.criterion.clone())).collect();
    let of_loop = job.id.to_string();
    let asked = Asked {
        focus: &dispatch.focus,
        findings: &asked_of,
        output_is_new: output_is_new(&job.traces.outputs, dispatch.round),
        of_loop: &of_loop,
        place: Place { cwd, root: job.tools.workspace.root() },
    };
    let result = outcome.result.map_err(|failure| translate::failure(&failure)).and_then(|said| {
        translate::report(said, &asked).map_err(|message| crate::protocol::WorkerFailure {
            class: crate::protocol::FailureClass::NoReport,
            message,
            advice: "Look at the transcript; another agent or model may keep to the report better.".into(),
        })
    });
    match result {
        Ok(report) => Event::Reported { action, report, changes, spent },
        Err(failure) => Event::WorkerFailed { action, failure, changes, spent },
    }
}

/// New evidence (DESIGN 6, `rereview`): the attempt of this round gave output, and it differs from that of the attempt
/// before, or of the tree as the loop found it. An attempt that never came to its checks brings none.
fn output_is_new(outputs: &BTreeMap<u32, String>, round: u32) -> bool {
    let before = outputs.range(..round).next_back();
    outputs.get(&round).is_some_and(|last| before.is_some_and(|(_, before)| before != last))
}

/// The findings that a worker is asked about, as briefs show them: with the ids 1…n.
pub(super) fn briefed(job: &Job, keys: &[FindingKey]) -> Vec<Briefed> {
    keys.iter()
        .enumerate()
        .filter_map(|(index, key)| {
            let known = job.opened.findings.iter().find(|finding| finding.fingerprint == key.0);
            let found = job.traces.found.iter().find(|found| found.key == *key);
            let (mut finding, criterion) = match (known, found) {
                (Some(known), _) => {
                    let criterion = known.finding.criterion.clone().unwrap_or_default();
                    (serde_json::to_value(&known.finding).ok()?, criterion)
                }
                (None, Some(found)) => (
                    json!({
                        "severity": severity_word(found.severity), "title": found.title, "body": found.body,
                        "file": found.file, "line_start": found.line, "line_end": found.line, "confidence": 1.0,
                        "criterion": found.criterion, "verdict": "confirmed", "evidence": found.evidence,
                        "origin": found.caused_by.as_ref().map(|_| "regression"),
                    }),
                    found.criterion.clone(),
                ),
                (None, None) => return None,
            };
            finding["id"] = json!(index + 1);
            Some(Briefed { key: key.clone(), finding, criterion })
        })
        .collect()
}

fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::P0 => "P0",
        Severity::P1 => "P1",
        Severity::P2 => "P2",
        Severity::P3 => "P3",
    }
}

pub(super) fn protocol_name(job: &Job) -> ProtocolName {
    match job.opened.start.protocol() {
        "converge" => ProtocolName::Converge,
        "rereview" => ProtocolName::Rereview,
        _ => ProtocolName::Bounded,
    }
}

pub(super) fn brief(
    job: &Job,
    dispatch: &Dispatch,
    briefed: &[Briefed],
    workspace: &str,
    diff: Option<String>,
    base: Option<String>,
) -> Brief {
    let protocol = protocol_name(job);
    let role = roster::role(dispatch.role);
    let mut criteria: Vec<String> =
        briefed.iter().map(|one| one.criterion.clone()).filter(|text| !text.trim().is_empty()).collect();
    if dispatch.role == Role::Verifier {
        criteria.push("no new P0/P1 regressions".into());
    }
    criteria.dedup();
    let wanted: Vec<&super::ledger::LoopFinding> = job
        .opened
        .findings
        .iter()
        .filter(|finding| dispatch.findings.iter().any(|key| key.0 == finding.fingerprint))
        .collect();
    let checks = match &job.traces.before {
        Some(before) => before
            .runs
            .iter()
            .filter(|run| run.findings.iter().any(|of| dispatch.findings.iter().any(|key| key.0 == *of)))
            .map(|run| &run.check)
            .cloned()
            .collect(),
        None => checking::chosen(&job.tools, &wanted, &job.approved)
            .0
            .into_iter()
            .map(|(check, _)| check)
            .collect::<Vec<_>>(),
    };
    Brief {
        schema_version: Default::default(),
        role,
        protocol,
        loop_id: job.id.to_string(),
        round: dispatch.round,
        worker: format!("{}.w{}", job.id, dispatch.worker.0),
        workspace: workspace.to_owned(),
        findings: briefed.iter().map(|one| one.finding.clone()).collect(),
        scope: dispatch.scope.iter().cloned().collect(),
        criteria,
        checks: checks
            .iter()
            .filter(|check| !check.argv().is_empty())
            .map(|check| agents::brief::NamedCheck {
                name: check.name.to_string(),
                command: check.argv().to_vec(),
            })
            .collect(),
        previous: dispatch
            .previous
            .iter()
            .map(|attempt| agents::brief::Previous {
                round: attempt.round,
                worker: format!("{}.w{}", job.id, attempt.worker.0),
                summary: attempt.summary.clone(),
                files_changed: attempt.files_changed.clone(),
                outcome: attempt.outcome.clone(),
                failing: attempt.failing.clone(),
            })
            .collect(),
        diff,
        base,
        questions_answered: dispatch
            .answers
            .iter()
            .map(|told| agents::brief::Answered {
                question: told.question.clone(),
                choice: told.choice.clone(),
            })
            .collect(),
        instructions: instructions(job, dispatch),
        report_schema: agents::schema(role, protocol),
    }
}

/// What is asked beyond the ordinary work of the role. Never text from a finding.
fn instructions(job: &Job, dispatch: &Dispatch) -> String {
    let mut said: Vec<String> = Vec::new();
    match &dispatch.focus {
        Focus::Ordinary => {}
        Focus::Axis(axis) => said.push(format!(
            "Review the committed difference along the {} axis only. Review directly: start no other agents.",
            translate::axis_word(*axis)
        )),
        Focus::FirstLook if dispatch.role == Role::Diagnoser => said.push(
            "This is the diagnosis before the first attempt. Say whether the plan itself is over-designed; if not, name what \
             is most likely to stand in the way."
                .into(),
        ),
        Focus::FirstLook => said.push("Judge this round's diff only.".into()),
        Focus::Diagnosis => said.push("The attempts below did not suffice. Name exactly one cause.".into()),
        Focus::Supplied(text) => said.push(format!("Supplied since the last attempt: {text}")),
        Focus::Simplify => said.push("Simplify the change without changing what it does.".into()),
        Focus::UsersFix => said.push("The user made this fix; judge it as you would any other.".into()),
    }
    if dispatch.role == Role::Fixer
        && job.opened.findings.iter().any(|finding| {
            finding
                .finding
                .criterion
                .as_deref()
                .is_some_and(|criterion| crate::checks::from_failures::test_of_criterion(criterion).is_some())
        })
    {
        said.push(
            "The finding is a failing test: say in your summary first whether the code or the test is wrong, then fix that one."
                .into(),
        );
    }
    said.join("\n")
}

/// The exact diff of this loop.
fn diff(job: &Job) -> Result<String, Failed> {
    let paths: Vec<RepoPath> = job.traces.fix.keys().cloned().collect();
    let whole = if paths.is_empty() {
        super::verifying::users_diff(job)?
    } else {
        job.tools.workspace.diff(job.first_checkpoint()?, &paths).map_err(|error| error.to_string())?
    };
    Ok(bounded(&whole))
}

/// A diff that fits into a brief.
pub(super) fn bounded(whole: &str) -> String {
    if whole.len() <= LONGEST_DIFF {
        return whole.to_owned();
    }
    let cut = (0..=LONGEST_DIFF).rev().find(|&at| whole.is_char_boundary(at)).unwrap_or(0);
    format!("{}\n… ({} more bytes)\n", &whole[..cut], whole.len() - cut)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn output_is_new_only_since_the_last_attempt() {
        let outputs = |said: &[(u32, &str)]| said.iter().map(|(n, text)| (*n, (*text).to_owned())).collect();
        for (said, round, expected) in [
            (&[(0, "red"), (1, "redder")][..], 1, true),
            (&[(0, "red"), (1, "red")], 1, false),
            (&[(0, "red"), (1, "redder"), (2, "redder")], 2, false),
            (&[(0, "red"), (1, "redder"), (2, "red")], 2, true),
            // The second attempt was blocked before its checks.
            (&[(0, "red"), (1, "redder")], 2, false),
            (&[(0, "red")], 1, false),
            (&[], 1, false),
        ] {
            let outputs: BTreeMap<u32, String> = outputs(said);
            assert_eq!(output_is_new(&outputs, round), expected, "{said:?} in round {round}");
        }
    }
}
