//! The one task that owns all state of a work tree.
//!
//! Owns the order of things: an entry is in the ledger before anything follows from it, a step is carried out by a task of
//! its own (`act`), and its answer comes back here as a message. Decides only what no protocol can know: which loop may
//! run, whether this process drives or follows, what the user has to be asked before a loop may start.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio::sync::{broadcast, mpsc, oneshot, watch};

use crate::config::Config;
use crate::process::Cancel;
use crate::protocol::{Action, ActionId, AnsweredBy, Event, FindingKey, Question, Step};
use crate::workspace::{DriverLock, Workspace};

use super::act::{self, Job, Tools};
use super::api::{
    EngineHandle, InputError, Message, Notice, NoticeLevel, Refusal, RefusalKind, Reply, Snapshot,
};
use super::buffers::Buffers;
use super::buffers::{Saved, SavedBytes};
use super::follow::Followed;
use super::inbox::Inbox;
use super::known_views::KnownViews;
use super::ledger::{Entry, Ledger, LoopId, Produced};
use super::own_questions::OwnQuestion;
use super::plan::Plan;
use super::report::RunReport;
use super::setup::{Answers, Setup};
use super::state::State;
use super::{requests, view, words};

/// What the engine's own tasks tell the driver.
#[allow(clippy::large_enum_variant, reason = "messages are moved once and never stored")]
pub(crate) enum Internal {
    /// Something has to be in the ledger before the action goes on.
    Produced {
        r#loop: LoopId,
        action: ActionId,
        produced: Box<Produced>,
        written: oneshot::Sender<()>,
    },
    /// An action ended with this event.
    Acted {
        r#loop: LoopId,
        action: ActionId,
        event: Box<Event>,
    },
    Activity {
        r#loop: LoopId,
        line: String,
    },
    /// What the user saved since this loop's latest checkpoint.
    Saves(LoopId, oneshot::Sender<Saved>),
    /// The bytes of the latest such save of each file.
    SavedBytes(LoopId, oneshot::Sender<SavedBytes>),
    /// What the user saved at this time (milliseconds since the epoch) or later.
    SavesSince(u64, oneshot::Sender<Saved>),
    /// A check run for `fromCheck` ended: this ReviewOutput goes into the inbox.
    FromCheck {
        name: String,
        result: Result<crate::findings::ReviewOutput, String>,
        answer: Option<oneshot::Sender<Result<Reply, Refusal>>>,
    },
    /// Of these findings only; none named: of all.
    Report(Vec<String>, oneshot::Sender<RunReport>),
    Plan(Vec<String>, oneshot::Sender<Result<Plan, Refusal>>),
    /// Answered once everything sent before is taken in and shown.
    Settled(oneshot::Sender<()>),
}

pub(super) struct Driver {
    pub setup: Setup,
    pub config: Arc<Config>,
    pub commands_hash: String,
    pub config_error: Option<InputError>,
    /// What loading the configuration had to say.
    pub notes: Vec<String>,
    pub workspace: Option<Arc<Workspace>>,
    /// Why nothing can be fixed here.
    pub fixing_off: Option<String>,
    /// Held while this process drives.
    pub lock: Option<DriverLock>,
    pub ledger: Option<Ledger>,
    pub followed: Option<Followed>,
    pub state: State,
    pub inbox: Inbox,
    pub known_views: KnownViews,
    pub buffers: Buffers,
    /// The number of the latest buffer event that was taken in.
    pub buffers_taken: u64,
    pub own_questions: Vec<OwnQuestion>,
    /// Commands of findings files that the user did not want to run, for one loop each.
    pub declined: BTreeSet<(LoopId, Vec<String>)>,
    /// The highest serial of an own question so far.
    pub asked_before: u32,
    /// The loop whose question this process was last given an answer to: what it reports is about that loop.
    pub answered: Option<LoopId>,
    /// Loops interrupted by the end of an earlier process, until the user has answered.
    pub interrupted: BTreeSet<LoopId>,
    /// Loops that had ended before this process began to drive: none of its work.
    pub ended_before: BTreeSet<LoopId>,
    pub running: HashMap<LoopId, Running>,
    /// What follows from an answer while another loop is at work in the user's tree: it waits for its turn.
    pub held: BTreeMap<LoopId, Vec<Step>>,
    pub activity: BTreeMap<LoopId, String>,
    pub questions_answered_by_us: BTreeSet<String>,
    pub messages: mpsc::UnboundedSender<Message>,
    pub snapshots: watch::Sender<Arc<Snapshot>>,
    pub notices: broadcast::Sender<Notice>,
    pub revision: u64,
    pub stopping: bool,
}

/// What is being carried out for a loop right now.
pub(super) struct Running {
    pub cancel: Cancel,
    pub actions: BTreeSet<ActionId>,
    /// `Cancelled` is fed once the last action has ended.
    pub cancelling: bool,
}

pub(super) fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_millis() as u64)
}

impl Driver {
    pub(super) async fn run(mut self, mut inbox: mpsc::UnboundedReceiver<Message>) {
        let mut tick = tokio::time::interval(Duration::from_millis(200));
        tick.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        self.publish();
        loop {
            tokio::select! {
                message = inbox.recv() => {
                    let Some(message) = message else { break };
                    if let Message::Shutdown(done) = message {
                        self.stop(&mut inbox).await;
                        let _ = done.send(());
                        break;
                    }
                    self.take(message);
                    // Everything that waits is taken in before people are shown anything.
                    while let Ok(message) = inbox.try_recv() {
                        if let Message::Shutdown(done) = message {
                            self.stop(&mut inbox).await;
                            let _ = done.send(());
                            return;
                        }
                        self.take(message);
                    }
                    self.publish();
                }
                _ = tick.tick() => {
                    if self.tick() {
                        self.publish();
                    }
                }
            }
        }
    }

    /// Ends what runs, so that no worker outlives this process; the loops stay interrupted in the ledger.
    async fn stop(&mut self, inbox: &mut mpsc::UnboundedReceiver<Message>) {
        self.stopping = true;
        for running in self.running.values() {
            running.cancel.cancel();
        }
        while self.running.values().any(|running| !running.actions.is_empty()) {
            match inbox.recv().await {
                Some(Message::Internal(Internal::Acted { r#loop, action, .. })) => {
                    if let Some(running) = self.running.get_mut(&r#loop) {
                        running.actions.remove(&action);
                    }
                }
                Some(Message::Internal(Internal::Produced { r#loop, action, produced, written })) => {
                    self.keep(r#loop, action, *produced);
                    let _ = written.send(());
                }
                Some(Message::Internal(Internal::Saves(id, answer))) => drop(answer.send(self.saves(id))),
                Some(Message::Internal(Internal::SavedBytes(id, answer))) => {
                    drop(answer.send(self.saved_bytes(id)));
                }
                Some(Message::Internal(Internal::SavesSince(since, answer))) => {
                    drop(answer.send(self.buffers.saved_since(since)));
                }
                Some(Message::Buffer(_, event)) => self.buffers.take(event, self.state.revision),
                Some(Message::Command(_, answer)) => {
                    let _ = answer.send(Err(Refusal {
                        kind: RefusalKind::NotNow,
                        message: "the engine is stopping".into(),
                    }));
                }
                Some(Message::Shutdown(done)) => {
                    let _ = done.send(());
                }
                Some(_) => {}
                None => break,
            }
        }
        self.lock = None;
    }

    fn take(&mut self, message: Message) {
        match message {
            Message::Command(command, answer) => self.take_command(command, Some(answer)),
            Message::Buffer(number, event) => self.take_buffer(number, event),
            Message::FilesChanged => self.reload(),
            Message::Internal(internal) => self.take_internal(internal),
            Message::Shutdown(_) => unreachable!("taken by the caller"),
        }
        self.pump();
    }

    fn take_internal(&mut self, internal: Internal) {
        match internal {
            Internal::Produced { r#loop, action, produced, written } => {
                self.keep(r#loop, action, *produced);
                let _ = written.send(());
            }
            Internal::Acted { r#loop, action, event } => self.acted(r#loop, action, *event),
            Internal::Activity { r#loop, line } => {
                self.notice(NoticeLevel::Worker, Some(r#loop), line.clone());
                self.activity.insert(r#loop, line);
            }
            Internal::Saves(id, answer) => drop(answer.send(self.saves(id))),
            Internal::SavedBytes(id, answer) => drop(answer.send(self.saved_bytes(id))),
            Internal::SavesSince(since, answer) => drop(answer.send(self.buffers.saved_since(since))),
            Internal::FromCheck { name, result, answer } => {
                let reply = self.take_failures(&name, result);
                match answer {
                    Some(answer) => drop(answer.send(reply)),
                    None => match reply {
                        Ok(reply) => self.notice(NoticeLevel::Info, None, reply.message),
                        Err(refusal) => self.notice(NoticeLevel::Error, None, refusal.message),
                    },
                }
            }
            Internal::Report(only, answer) => {
                let report = RunReport::of(self, &only);
                let _ = answer.send(report);
            }
            Internal::Plan(only, answer) => {
                let _ = answer.send(Plan::of(self, &only));
            }
            Internal::Settled(answer) => {
                self.pump();
                self.publish();
                let _ = answer.send(());
            }
        }
    }

    fn saves(&self, id: LoopId) -> Saved {
        self.state
            .loops
            .get(&id)
            .map(|run| self.buffers.saved_since(run.traces.last_checkpoint_at))
            .unwrap_or_default()
    }

    fn saved_bytes(&self, id: LoopId) -> SavedBytes {
        let run = self.state.loops.get(&id);
        run.map(|run| self.buffers.saved_bytes_since(run.traces.last_checkpoint_at)).unwrap_or_default()
    }

    fn tick(&mut self) -> bool {
        if self.lock.is_none() {
            return self.follow();
        }
        let Some(workspace) = &self.workspace else { return false };
        let state_dir = workspace.state_dir();
        let taken = requests::take(&state_dir);
        let any = !taken.is_empty();
        for request in taken {
            let (answer, reply) = oneshot::channel();
            match request.command {
                Ok(command) => self.take_command(command, Some(answer)),
                Err(error) => {
                    let _ = answer.send(Err(Refusal {
                        kind: RefusalKind::Unknown,
                        message: format!("the request {} cannot be understood: {error}", request.name),
                    }));
                }
            }
            let (name, state_dir) = (request.name, state_dir.clone());
            tokio::spawn(async move {
                if let Ok(result) = reply.await {
                    let _ = requests::answer(&state_dir, &name, &result);
                }
            });
            self.pump();
        }
        any
    }

    // ------------------------------------------------------------ ledger

    /// Writes an entry and takes it in. Where the ledger cannot be written, nothing more is started.
    pub(super) fn write(&mut self, entry: Entry) -> Vec<Step> {
        let Some(ledger) = &mut self.ledger else { return Vec::new() };
        match ledger.append(now(), entry) {
            Ok(line) => self.state.apply(line),
            Err(error) => {
                self.notice(NoticeLevel::Error, None, error.to_string());
                self.fixing_off = Some(error.to_string());
                self.ledger = None;
                for running in self.running.values() {
                    running.cancel.cancel();
                }
                Vec::new()
            }
        }
    }

    /// Writes down what an action brought about, and tells what people have to know.
    pub(super) fn keep(&mut self, r#loop: LoopId, action: ActionId, produced: Produced) {
        if let Produced::Note(note) = &produced {
            self.notice(NoticeLevel::Warning, Some(r#loop), note.clone());
        }
        self.write(Entry::Produced { r#loop, action, produced: Box::new(produced) });
    }

    /// Feeds one event to a loop and carries out what follows.
    pub(super) fn feed(&mut self, id: LoopId, event: Event) {
        let mut steps: VecDeque<Step> =
            self.write(Entry::Event { r#loop: id, event: Box::new(event) }).into();
        while let Some(step) = steps.pop_front() {
            self.carry_out(id, step);
        }
    }

    fn carry_out(&mut self, id: LoopId, step: Step) {
        match step.action {
            Action::Record(record) => self.tell_record(id, &record),
            Action::Withdraw { .. } => {}
            Action::Finish(ending) => self.finished(id, ending),
            Action::Ask(question) => self.asked(id, &question),
            _ => self.start_action(id, step),
        }
    }

    pub(super) fn start_action(&mut self, id: LoopId, step: Step) {
        let Some(workspace) = self.workspace.clone() else { return };
        if self.must_wait_its_turn(id) || self.waits_with(id, &step) {
            self.held.entry(id).or_default().push(step);
            return;
        }
        self.write(Entry::Begun { r#loop: id, action: step.id });
        let Some(run) = self.state.loops.get(&id) else { return };
        let running = self.running.entry(id).or_insert_with(|| Running {
            cancel: Cancel::new(),
            actions: BTreeSet::new(),
            cancelling: false,
        });
        running.actions.insert(step.id);
        let job = Job {
            id,
            step,
            opened: run.opened.clone(),
            traces: run.traces.clone(),
            started_at: run.started_at.unwrap_or_default(),
            cancel: running.cancel.clone(),
            approved: self.state.approved.clone(),
            tools: Tools {
                workspace,
                supervisor: self.setup.supervisor.clone(),
                config: self.config.clone(),
                buffers: self.buffers.for_agents(),
                agent: self.setup.agent.clone(),
            },
            driver: self.messages.clone(),
        };
        tokio::spawn(act::carry_out(job));
    }

    fn acted(&mut self, id: LoopId, action: ActionId, event: Event) {
        let Some(running) = self.running.get_mut(&id) else { return };
        running.actions.remove(&action);
        self.activity.remove(&id);
        if self.stopping {
            return;
        }
        let idle = running.actions.is_empty();
        if running.cancelling {
            if idle {
                self.running.remove(&id);
                self.feed(id, Event::Cancelled);
            }
            return;
        }
        if idle {
            self.running.remove(&id);
        }
        self.feed(id, event);
    }

    fn asked(&mut self, id: LoopId, question: &Question) {
        let shown = format!("{id}.q{}", question.number.0);
        self.notice(NoticeLevel::Info, Some(id), format!("question {shown}: {}", question.text));
        if self.setup.answers == Answers::Recommended {
            self.answer_by_itself(id, question);
        }
    }

    /// Takes the recommended option, once for each question.
    pub(super) fn answer_by_itself(&mut self, id: LoopId, question: &Question) {
        if self.questions_answered_by_us.insert(format!("{id}.q{}", question.number.0)) {
            self.feed(
                id,
                Event::Answered {
                    question: question.number,
                    choice: question.recommended,
                    by: AnsweredBy::Automatic,
                    text: None,
                },
            );
        }
    }

    fn finished(&mut self, id: LoopId, ending: crate::protocol::Ending) {
        self.activity.remove(&id);
        self.notice(NoticeLevel::Info, Some(id), format!("loop {id} ended: {}", ending.reason));
        if !ending.follow_up.is_empty() {
            self.follow_up(id, &ending.follow_up);
        }
        self.after_end(id);
    }

    // ------------------------------------------------------------ people

    pub(super) fn notice(&self, level: NoticeLevel, id: Option<LoopId>, message: String) {
        tracing::info!(?level, r#loop = ?id, "{message}");
        let _ = self.notices.send(Notice { level, r#loop: id.map(|id| id.to_string()), message });
    }

    fn tell_record(&self, id: LoopId, record: &crate::protocol::Record) {
        if let Some(text) = words::record_in_words(&self.state.loops[&id], record) {
            self.notice(NoticeLevel::Info, Some(id), text);
        }
    }

    /// What workers brought up is shown in the user's own files, on the code that it is about.
    fn follow_found(&mut self) {
        for run in self.state.loops.values() {
            for found in &run.traces.found {
                // A regression is in what the loop has committed so far, the rest in what it began with.
                let revision = run.traces.managed.as_ref().map(|managed| match &found.caused_by {
                    Some(_) => managed.head.as_str(),
                    None => managed.initial_head.as_str(),
                });
                self.inbox.follow_found(found, revision);
            }
        }
    }

    pub(super) fn publish(&mut self) {
        self.follow_found();
        self.merge_buffers();
        let mut fresh = view::snapshot(self);
        let (changed, taken) = {
            let last = self.snapshots.borrow();
            (!view::same(&last, &fresh), last.buffers_taken != fresh.buffers_taken)
        };
        if changed {
            self.revision += 1;
        }
        if changed || taken {
            fresh.revision = self.revision;
            fresh.status.revision = self.revision;
            self.snapshots.send_replace(Arc::new(fresh));
        }
    }

    pub(super) fn is_trusted(&self) -> bool {
        self.setup.trusted || self.state.trusted.contains(&self.commands_hash)
    }

    /// The loop of a settled or running finding, for keys that only loops know.
    pub(super) fn key(fingerprint: &str) -> FindingKey {
        FindingKey(fingerprint.to_owned())
    }
}

/// Makes the handle and the channels of a driver.
pub(super) fn channels() -> (EngineHandle, mpsc::UnboundedReceiver<Message>, watch::Sender<Arc<Snapshot>>) {
    let (messages, inbox) = mpsc::unbounded_channel();
    let (snapshots, seen) = watch::channel(Arc::new(view::empty()));
    let (notices, first) = broadcast::channel(4096);
    let first_notices = Arc::new(Mutex::new(Some(first)));
    let buffers_sent = Arc::default();
    (EngineHandle { messages, snapshots: seen, notices, first_notices, buffers_sent }, inbox, snapshots)
}
