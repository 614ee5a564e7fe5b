//! Carries out one action of one loop, and says what came of it.
//!
//! Owns no state: it is given a copy of what it needs, tells the driver what has to be in the ledger before it goes on
//! ([`Job::keep`]), and ends with exactly one event. Never decides what follows; whatever cannot be carried out is
//! `ActionFailed`, which no protocol takes for a failed attempt.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::UNIX_EPOCH;

use tokio::sync::{mpsc, oneshot};

use crate::config::Config;
use crate::process::{Cancel, Supervisor};
use crate::protocol::{
    Action, Changes, Dispatch, Event, FailureClass, RestorePoint, Spent, Step, WorkerFailure,
};
use crate::workspace::{
    Checkpoint, CheckpointName, NotStaged, OwnBytes, RepoPath, Scope, StageRefused, Staged, Workspace, fault,
};

use super::api::Message;
use super::buffers::{Saved, SavedBytes};
use super::driver::Internal;
use super::guard;
use super::ledger::{LoopId, Opened, Produced};
use super::running::NO_CHECKPOINT;
use super::running::Traces;
use super::{checking, dispatching, managed, rebasing, roster};

/// What actions are carried out with.
#[derive(Clone)]
pub(super) struct Tools {
    pub workspace: Arc<Workspace>,
    pub supervisor: Supervisor,
    pub config: Arc<Config>,
    /// What the editor holds unsaved in the user's tree.
    pub buffers: crate::agents::Buffers,
    /// `--agent`: the fixer's agent.
    pub agent: Option<String>,
}

/// One action to carry out.
pub(super) struct Job {
    pub id: LoopId,
    pub step: Step,
    pub opened: Opened,
    pub traces: Traces,
    /// Milliseconds since the epoch.
    pub started_at: u64,
    pub cancel: Cancel,
    pub approved: Vec<Vec<String>>,
    pub tools: Tools,
    pub driver: mpsc::UnboundedSender<Message>,
}

/// Why an action could not be carried out.
pub(super) type Failed = String;

pub(super) async fn carry_out(job: Job) {
    let job = Arc::new(job);
    let name = name_of(&job.step.action);
    fault::point(&format!("{name} begins"));
    let performed = perform(&job).await;
    fault::point(&format!("{name} ended"));
    let event = match performed {
        Ok(event) => event,
        // A dispatch that could not be carried out is a worker that failed, through no fault of its own.
        Err(reason) if matches!(job.step.action, Action::Dispatch(_)) => Event::WorkerFailed {
            action: job.step.id,
            failure: WorkerFailure {
                class: FailureClass::Environment,
                message: reason,
                advice: "Mend what is named, then retry.".into(),
            },
            changes: Changes::default(),
            spent: Spent::default(),
        },
        Err(reason) => Event::ActionFailed { action: job.step.id, reason },
    };
    let _ = job.driver.send(Message::Internal(Internal::Acted {
        r#loop: job.id,
        action: job.step.id,
        event: Box::new(event),
    }));
}

fn name_of(action: &Action) -> &'static str {
    match action {
        Action::Checkpoint => "checkpoint",
        Action::Dispatch(_) => "dispatch",
        Action::RunChecks { .. } => "checks",
        Action::Stage => "stage",
        Action::Restore { .. } => "restore",
        Action::PutBack { .. } => "put-back",
        Action::PutBackCheckout => "put-back-checkout",
        Action::Prepare => "prepare",
        Action::Inspect { .. } => "inspect",
        Action::Ask(_) | Action::Withdraw { .. } | Action::Record(_) | Action::Finish(_) => "driver",
    }
}

async fn perform(job: &Arc<Job>) -> Result<Event, Failed> {
    let action = job.step.id;
    if job.opened.start.protocol() == "converge" {
        return managed::perform(job).await;
    }
    match &job.step.action {
        Action::Checkpoint => job.blocking(checkpoint).await,
        Action::Dispatch(dispatch) => dispatching::dispatch(job, dispatch).await,
        Action::RunChecks { when, findings } => checking::run(job, *when, findings).await,
        Action::Stage => job.blocking(stage).await,
        Action::Restore { to } => {
            let to = *to;
            job.blocking(move |job| restore(job, to)).await
        }
        Action::PutBack { paths } => {
            let paths = paths.clone();
            job.blocking(move |job| guard::put_back(job, &paths)).await
        }
        Action::Prepare | Action::Inspect { .. } | Action::PutBackCheckout => {
            Err(format!("action {} belongs to the converge protocol", action.0))
        }
        Action::Ask(_) | Action::Withdraw { .. } | Action::Record(_) | Action::Finish(_) => {
            unreachable!("carried out by the driver")
        }
    }
}

impl Job {
    /// Puts something into the ledger and waits until it is there.
    pub async fn keep(&self, produced: Produced) {
        let (written, wait) = oneshot::channel();
        let message = Internal::Produced {
            r#loop: self.id,
            action: self.step.id,
            produced: Box::new(produced),
            written,
        };
        if self.driver.send(Message::Internal(message)).is_ok() {
            let _ = wait.await;
        }
    }

    /// The same from a blocking thread.
    pub fn keep_blocking(&self, produced: Produced) {
        let (written, wait) = oneshot::channel();
        let message = Internal::Produced {
            r#loop: self.id,
            action: self.step.id,
            produced: Box::new(produced),
            written,
        };
        if self.driver.send(Message::Internal(message)).is_ok() {
            let _ = wait.blocking_recv();
        }
    }

    pub fn tell(&self, line: String) {
        let _ = self.driver.send(Message::Internal(Internal::Activity { r#loop: self.id, line }));
    }

    /// Git work, on a thread that may block.
    pub async fn blocking<T: Send + 'static>(
        self: &Arc<Job>,
        work: impl FnOnce(&Job) -> Result<T, Failed> + Send + 'static,
    ) -> Result<T, Failed> {
        let job = self.clone();
        tokio::task::spawn_blocking(move || work(&job))
            .await
            .unwrap_or_else(|error| Err(format!("an internal error: {error}")))
    }

    pub fn first_checkpoint(&self) -> Result<&Checkpoint, Failed> {
        self.traces.first_checkpoint().ok_or_else(|| NO_CHECKPOINT.to_owned())
    }

    pub fn last_checkpoint(&self) -> Result<&Checkpoint, Failed> {
        self.traces.last_checkpoint().ok_or_else(|| NO_CHECKPOINT.to_owned())
    }

    /// The scope that these paths stand for. What a path leads to is settled when it is first asked for, before any worker
    /// could put a link in its place.
    pub fn scope(&self, paths: impl IntoIterator<Item = String>) -> Result<Scope, Failed> {
        let root = self.tools.workspace.root();
        let nothing: [&str; 0] = [];
        let mut scope = Scope::new(root, &nothing, &[]).map_err(|error| error.to_string())?;
        let mut fresh = BTreeMap::new();
        for path in paths {
            match self.traces.scopes.get(&path) {
                Some(known) => scope.merge(known),
                None => {
                    let one = Scope::new(root, &[&path], &[]).map_err(|error| error.to_string())?;
                    scope.merge(&one);
                    fresh.insert(path, one);
                }
            }
        }
        if !fresh.is_empty() {
            self.keep_blocking(Produced::Scoped(fresh));
        }
        Ok(scope)
    }

    /// Who carries a dispatch out.
    pub fn agent_for(&self, dispatch: &Dispatch) -> Result<roster::Chosen, Failed> {
        let Tools { workspace, config, agent, .. } = &self.tools;
        roster::choose(workspace.root(), config, agent.as_deref(), dispatch.role, dispatch.tier)
    }

    /// What the user saved in the editor since the latest checkpoint, up to now.
    pub fn saved(&self) -> Saved {
        self.ask_blocking(|answer| Internal::Saves(self.id, answer))
    }

    /// The bytes of the latest save of each file since the latest checkpoint.
    pub fn saved_bytes(&self) -> SavedBytes {
        self.ask_blocking(|answer| Internal::SavedBytes(self.id, answer))
    }

    /// The same since another checkpoint began.
    pub fn saved_since(&self, checkpoint: &Checkpoint) -> Saved {
        let since = checkpoint.taken_at.duration_since(UNIX_EPOCH).unwrap_or_default();
        self.ask_blocking(|answer| Internal::SavesSince(since.as_millis() as u64, answer))
    }

    /// Through the driver's one queue, so that every save sent before is in the answer.
    fn ask_blocking<T: Default>(&self, question: impl FnOnce(oneshot::Sender<T>) -> Internal) -> T {
        let (answer, wait) = oneshot::channel();
        let asked = self.driver.send(Message::Internal(question(answer)));
        asked.ok().and_then(|()| wait.blocking_recv().ok()).unwrap_or_default()
    }

    /// The files that the loop is about, which are recorded though they are clean.
    fn about(&self) -> Vec<RepoPath> {
        self.opened
            .findings
            .iter()
            .flat_map(|finding| finding.finding.file.iter().chain(&finding.finding.related_files))
            .filter_map(|path| RepoPath::new(path).ok())
            .chain(self.traces.own.paths().cloned())
            .collect()
    }
}

fn checkpoint(job: &Job) -> Result<Event, Failed> {
    let name = CheckpointName::new(&job.id.to_string(), &job.step.id.0.to_string())
        .map_err(|error| error.to_string())?;
    let checkpoint =
        job.tools.workspace.checkpoint(&name, &job.about()).map_err(|error| error.to_string())?;
    if !checkpoint.unprotected.is_empty() && job.traces.first_checkpoint.is_none() {
        let paths: Vec<String> =
            checkpoint.unprotected.iter().map(|one| format!("{} ({})", one.path, one.why)).collect();
        job.keep_blocking(Produced::Note(format!("not protected while the loop runs: {}", paths.join(", "))));
    }
    let rebased = rebasing::since_last_seen(job, &checkpoint).map_err(|error| error.to_string())?;
    if !rebased.is_empty() {
        job.keep_blocking(Produced::Rebased(rebased.clone()));
    }
    let mut traces = job.traces.clone();
    rebased.apply(&mut traces);
    let first = traces.first_checkpoint.and_then(|action| traces.checkpoints.get(&action));
    let tree = match first {
        Some(first) => guard::tree_since(job, first)?,
        None => guard::unchanged(),
    };
    job.keep_blocking(Produced::Checkpoint(checkpoint));
    Ok(Event::Checkpointed { action: job.step.id, tree })
}

fn stage(job: &Job) -> Result<Event, Failed> {
    let action = job.step.id;
    let start = job.first_checkpoint()?;
    // In the ledger before they are in the index: a restore after a crash has to know these entries as the loop's.
    let mut announce = |staged: &Staged| {
        let mut own: OwnBytes = job.traces.own.clone();
        own.record_staged(staged);
        job.keep_blocking(Produced::Own { own, fix: job.traces.fix.clone() });
    };
    let workspace = &job.tools.workspace;
    match workspace.stage_announced(start, &job.traces.fix, &job.traces.staged, &mut announce) {
        Ok(staged) => {
            for (path, why) in &staged.skipped {
                job.keep_blocking(Produced::Note(format!("{path} is not staged: {}", skipped(*why))));
            }
            job.keep_blocking(Produced::Staged(staged));
            Ok(Event::Staged { action })
        }
        Err(StageRefused::Conflicts(conflicts)) => {
            let reason: Vec<String> = conflicts
                .iter()
                .map(|one| {
                    format!("{}: {}\nThe fix:\n{}\nYours:\n{}", one.path, one.why, one.ours, one.theirs)
                })
                .collect();
            Ok(Event::StageRefused { action, reason: reason.join("\n\n"), conflict: true })
        }
        Err(StageRefused::Workspace(error)) => Err(error.to_string()),
        Err(error) => Ok(Event::StageRefused { action, reason: error.to_string(), conflict: false }),
    }
}

fn skipped(why: NotStaged) -> &'static str {
    match why {
        NotStaged::Ignored => "git ignores it",
        NotStaged::SkipWorktree => "it is outside of the sparse checkout or marked skip-worktree",
        NotStaged::Untracked => "it is a new file of yours that was never added",
        NotStaged::TooLarge => "it is over 50 MiB",
    }
}

fn restore(job: &Job, to: RestorePoint) -> Result<Event, Failed> {
    let action = job.step.id;
    let traces = &job.traces;
    let point = match to {
        RestorePoint::Start => traces.first_checkpoint,
        RestorePoint::BeforeWorker => traces.last_checkpoint,
        RestorePoint::LastResolution if traces.resolution_pending => traces.last_checkpoint,
        RestorePoint::LastResolution => traces.after_resolution.or(traces.first_checkpoint),
    };
    let Some((point, checkpoint)) = point.and_then(|point| Some((point, traces.checkpoints.get(&point)?)))
    else {
        // Nothing was changed before the first checkpoint.
        return Ok(Event::Restored { action, left_alone: Vec::new() });
    };
    let restored = job.tools.workspace.restore(checkpoint, &traces.own).map_err(|error| error.to_string())?;
    let fix = traces.fix_at.get(&point).cloned().unwrap_or_default();
    let mut own = traces.own.clone();
    own.forget_entries(&restored.index_restored);
    job.keep_blocking(Produced::Own { own, fix });
    if let Some(mut aside) = restored.set_aside {
        aside.restored.clone_from(&restored.restored);
        if !restored.restored.is_empty() {
            let paths: Vec<&str> = restored.restored.iter().map(RepoPath::as_str).collect();
            let kept = job.tools.workspace.ref_name(&aside.name);
            let note = format!("put back: {}; what stood there is kept as {kept}", paths.join(", "));
            job.keep_blocking(Produced::Note(note));
        }
        job.keep_blocking(Produced::SetAside(aside));
    }
    // Paths that this loop never touched are none of its business.
    let mine = |path: &RepoPath| traces.own.paths().any(|own| own == path);
    let mut left_alone = Vec::new();
    for left in restored.left_alone.iter().filter(|left| mine(&left.path)) {
        job.keep_blocking(Produced::Note(format!("{} stays as it is: {}", left.path, left.why)));
        left_alone.push(left.path.to_string());
    }
    Ok(Event::Restored { action, left_alone })
}
