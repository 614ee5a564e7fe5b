//! What the editor and the command line may ask of the engine, and what they see of it.
//!
//! Data flows one way: commands go in, snapshots and notices come out. A snapshot is the whole small state at one
//! revision; nobody outside the engine keeps state of its own about findings, loops or questions.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use tokio::sync::{broadcast, mpsc, oneshot, watch};

use super::status::{Status, StatusFinding};

/// A finding as people name it: its shown id (`7`, `SOURCE#7`) or its fingerprint.
pub type FindingRef = String;

/// A request to change something. Each is validated against the present state and answered at once; what it sets going
/// shows up in later snapshots.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "command")]
pub enum Command {
    Fix {
        findings: Vec<FindingRef>,
    },
    /// All workable findings of one file (a path of the repository).
    FixFile {
        path: String,
    },
    FixAll,
    /// `choice`: the option's text, or its 1-based number.
    Answer {
        question: String,
        choice: String,
        #[serde(default)]
        text: Option<String>,
    },
    Defer {
        finding: FindingRef,
        #[serde(default)]
        reason: Option<String>,
    },
    Confirm {
        finding: FindingRef,
    },
    Dispute {
        finding: FindingRef,
        #[serde(default)]
        reason: Option<String>,
    },
    Reopen {
        finding: FindingRef,
    },
    Verify {
        finding: FindingRef,
    },
    /// `None`: every running loop.
    Cancel {
        #[serde(default)]
        r#loop: Option<String>,
    },
    Undo {
        r#loop: String,
    },
    /// A findings file or pull-request URL is read and its ReviewOutput written into the inbox.
    Import {
        source: String,
    },
    /// Run this check; each failing test becomes a confirmed P1 finding.
    FromCheck {
        name: String,
    },
    /// Start a `converge` loop that reviews the committed diff.
    Review,
    /// Read configuration and findings again.
    Reload,
    /// The user trusts this root with its present commands.
    Trust,
    /// The user lets the commands run that this finding brings as its checks.
    Approve {
        finding: FindingRef,
    },
}

/// Done, in words for people.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Reply {
    pub message: String,
    /// Loops that the command started or queued.
    pub loops: Vec<String>,
}

/// Not done: what is wrong and what to do next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    pub kind: RefusalKind,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RefusalKind {
    /// No such finding, question, loop, or choice.
    Unknown,
    /// It exists, but this can't be done to it now.
    NotNow,
    /// Git repository missing or unsupported, locked by another driver, untrusted, no agent: exit code 3.
    Environment,
}

/// What the editor knows of its buffers, so that unsaved text is never overwritten (DESIGN 9, R32).
#[derive(Clone, Debug, PartialEq)]
pub enum BufferEvent {
    Opened {
        path: String,
        text: Arc<str>,
    },
    /// The buffer's whole text after the change.
    Changed {
        path: String,
        text: Arc<str>,
    },
    Saved {
        path: String,
        text: Arc<str>,
    },
    /// The answer to a [`BufferEdit`]: whether the buffer holds `text` now.
    Merged {
        path: String,
        text: Arc<str>,
        done: bool,
    },
    Closed {
        path: String,
    },
}

/// A buffer with unsaved text whose file a loop changed meanwhile: with both, it would read `after`. It stands in the
/// snapshots until the editor has answered, or the text is no longer `before`.
#[derive(Clone, Debug, PartialEq)]
pub struct BufferEdit {
    pub path: String,
    pub before: Arc<str>,
    pub after: Arc<str>,
}

/// A line for people: progress of a worker, a result, a problem. Never needed to follow the state.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Notice {
    pub level: NoticeLevel,
    pub r#loop: Option<String>,
    pub message: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum NoticeLevel {
    /// Live output of a worker (which tool, which file).
    Worker,
    Info,
    Warning,
    Error,
}

/// The whole state at one revision.
#[derive(Clone, Debug, PartialEq)]
pub struct Snapshot {
    pub revision: u64,
    pub root: PathBuf,
    pub status: Status,
    /// Every finding the engine knows, also ignored and settled ones, in a stable order.
    /// Each is the same allocation from one snapshot to the next for as long as it shows the same.
    pub findings: Vec<Arc<FindingView>>,
    pub questions: Vec<QuestionView>,
    /// What the editor is asked to make of buffers that it has not saved.
    pub buffer_edits: Vec<BufferEdit>,
    /// Findings files and configuration that could not be read, at the exact place.
    pub input_errors: Vec<InputError>,
    /// Why nothing can be fixed here, if so, and what would turn it on.
    pub fixing_off: Option<String>,
    /// What `show` in the configuration asks for.
    pub show: Show,
    /// Something is under way that does not wait for a person.
    pub busy: bool,
    /// This process drives the work tree; else it only follows.
    pub driving: bool,
    /// The number of the latest buffer event that is taken in; see [`EngineHandle::buffer`].
    pub buffers_taken: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Show {
    Confirmed,
    Unconfirmed,
    All,
}

#[derive(Clone, Debug, PartialEq)]
pub struct InputError {
    /// Path of the repository, or absolute where it lies outside.
    pub file: String,
    /// 1-based; column in code points.
    pub line: u32,
    pub column: u32,
    pub message: String,
}

/// One finding as it stands now.
#[derive(Clone, Debug, PartialEq)]
pub struct FindingView {
    /// `id`, `fingerprint`, `severity`, `title`, `file`, `line_start`, `line_end` (moved with the code), `state`,
    /// `evidence`, `round`, `loop`.
    pub detail: StatusFinding,
    /// Changes whenever anything shown of it changes; a late answer or action with an older one is refused.
    pub generation: u64,
    pub body: String,
    pub criterion: String,
    /// Where it is listed: findings file (path of the repository) and 1-based line.
    pub listed_in: Option<(String, u32)>,
    /// P0/P1 without a verdict: shown as a hint until the user or the checker confirms it.
    pub unconfirmed: bool,
    /// The cited code is gone.
    pub stale: bool,
    /// `round 1 of 2: verifying`, `waiting for your answer`, or why it is ignored.
    pub standing: String,
    /// What was tried, round by round, each a paragraph.
    pub attempts: Vec<String>,
    pub cost_usd: Option<f64>,
    /// What the report tells of the latest loop, in Markdown; empty where no loop ever had it.
    pub history: String,
    pub offers: Offers,
}

/// What can be done to a finding now.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Offers {
    pub fix: bool,
    pub verify: bool,
    pub defer: bool,
    pub confirm: bool,
    pub dispute: bool,
    pub reopen: bool,
    /// The finished loop whose fix can be undone.
    pub undo: Option<String>,
    /// The running or queued loop that can be cancelled.
    pub cancel: Option<String>,
    /// The open question about it.
    pub question: Option<String>,
}

/// An open question, as shown.
#[derive(Clone, Debug, PartialEq)]
pub struct QuestionView {
    pub id: String,
    pub kind: crate::protocol::QuestionKind,
    pub r#loop: Option<String>,
    /// Fingerprints.
    pub findings: Vec<String>,
    pub text: String,
    pub detail: String,
    /// Recommended first.
    pub options: Vec<String>,
    pub recommended: String,
}

#[allow(clippy::large_enum_variant, reason = "messages are moved once and never stored")]
pub(crate) enum Message {
    Command(Command, oneshot::Sender<Result<Reply, Refusal>>),
    Buffer(u64, BufferEvent),
    /// Something on disk changed that may be a findings file or the configuration.
    FilesChanged,
    Shutdown(oneshot::Sender<()>),
    Internal(super::driver::Internal),
}

/// A cheap, cloneable way to one running engine.
#[derive(Clone)]
pub struct EngineHandle {
    pub(super) messages: mpsc::UnboundedSender<Message>,
    pub(super) snapshots: watch::Receiver<Arc<Snapshot>>,
    pub(super) notices: broadcast::Sender<Notice>,
    /// With what was said before anybody could listen.
    pub(super) first_notices: Arc<Mutex<Option<broadcast::Receiver<Notice>>>>,
    /// Held while one is sent, so that numbers arrive in their order.
    pub(super) buffers_sent: Arc<Mutex<u64>>,
}

impl EngineHandle {
    /// Sends a command and waits for its reply (which comes at once, before the work it sets going).
    pub async fn command(&self, command: Command) -> Result<Reply, Refusal> {
        let (answer, reply) = oneshot::channel();
        let gone = || Refusal { kind: RefusalKind::Environment, message: "the engine has stopped".into() };
        self.messages.send(Message::Command(command, answer)).map_err(|_| gone())?;
        reply.await.map_err(|_| gone())?
    }

    /// Gives the number of the event. Findings of a snapshot stand where they are after the event that it names, and the
    /// caller knows which events are still under way.
    pub fn buffer(&self, event: BufferEvent) -> u64 {
        let mut sent = self.buffers_sent.lock().unwrap_or_else(PoisonError::into_inner);
        *sent += 1;
        let _ = self.messages.send(Message::Buffer(*sent, event));
        *sent
    }

    pub fn files_changed(&self) {
        let _ = self.messages.send(Message::FilesChanged);
    }

    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.snapshots.borrow().clone()
    }

    pub fn watch(&self) -> watch::Receiver<Arc<Snapshot>> {
        self.snapshots.clone()
    }

    pub fn notices(&self) -> broadcast::Receiver<Notice> {
        self.notices.subscribe()
    }

    /// The same for the first who asks, from the very start of the engine.
    pub fn notices_from_the_start(&self) -> broadcast::Receiver<Notice> {
        let first = self.first_notices.lock().unwrap_or_else(PoisonError::into_inner).take();
        first.unwrap_or_else(|| self.notices.subscribe())
    }

    pub fn is_driving(&self) -> bool {
        self.snapshots.borrow().driving
    }

    /// What a run did (DESIGN 4).
    pub async fn report(&self) -> Result<super::RunReport, Refusal> {
        self.report_on(Vec::new()).await
    }

    /// The same of a run that was about these findings only; none named: all.
    pub async fn report_on(&self, only: Vec<FindingRef>) -> Result<super::RunReport, Refusal> {
        self.ask(|answer| super::driver::Internal::Report(only, answer)).await
    }

    /// What a run would do (`--dry-run`).
    pub async fn plan(&self, only: Vec<FindingRef>) -> Result<super::Plan, Refusal> {
        self.ask(|answer| super::driver::Internal::Plan(only, answer)).await?
    }

    /// Returns once everything sent so far is taken in and shown.
    pub async fn settled(&self) {
        let _ = self.ask(super::driver::Internal::Settled).await;
    }

    async fn ask<T>(
        &self,
        question: impl FnOnce(oneshot::Sender<T>) -> super::driver::Internal,
    ) -> Result<T, Refusal> {
        let (answer, reply) = oneshot::channel();
        let gone = || Refusal { kind: RefusalKind::Environment, message: "the engine has stopped".into() };
        self.messages.send(Message::Internal(question(answer))).map_err(|_| gone())?;
        reply.await.map_err(|_| gone())
    }

    /// Ends what runs (a running worker is ended, its loop stays interrupted in the ledger) and gives the lock back.
    pub async fn shutdown(&self) {
        let (done, wait) = oneshot::channel();
        if self.messages.send(Message::Shutdown(done)).is_ok() {
            let _ = wait.await;
        }
    }
}

#[cfg(test)]
impl EngineHandle {
    /// A handle whose other end the test plays: it sends the snapshots and takes the messages.
    pub(crate) fn for_tests(
        first: Snapshot,
    ) -> (EngineHandle, watch::Sender<Arc<Snapshot>>, mpsc::UnboundedReceiver<Message>) {
        let (messages, received) = mpsc::unbounded_channel();
        let (publish, snapshots) = watch::channel(Arc::new(first));
        let (notices, first) = broadcast::channel(64);
        let first_notices = Arc::new(Mutex::new(Some(first)));
        let buffers_sent = Arc::default();
        (EngineHandle { messages, snapshots, notices, first_notices, buffers_sent }, publish, received)
    }

    pub(crate) fn notice_for_tests(&self, notice: Notice) {
        let _ = self.notices.send(notice);
    }
}
