//! The one task that owns the server's state.
//!
//! Owns documents, folders, dialogs, progress and what was last shown; takes one event after the other and never waits
//! inside one: what takes time is spawned and comes back as an event. A panic while an event is handled costs that event
//! its answer and nothing else. Never keeps state of its own about findings, loops or questions: the engine's snapshot is
//! the only source.

mod asking;
mod editing;
mod engines;
mod merging;
mod reading;

use std::collections::HashMap;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::future::{BoxFuture, Shared};
use lsp_types::{
    CodeActionParams, CodeActionResponse, CodeLens, CodeLensParams, DidChangeTextDocumentParams,
    DidChangeWatchedFilesParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DidSaveTextDocumentParams, ExecuteCommandParams, Hover, HoverParams, InitializeParams, InitializeResult,
    NumberOrString, WorkspaceFoldersChangeEvent,
};
use serde_json::Value;
use tokio::sync::{mpsc, oneshot};
use tower_lsp::jsonrpc::{Error, Result};

use crate::engine::{BufferEdit, EngineHandle, Notice};
use crate::process;

use super::anchors::Anchors;
use super::capabilities::{Capabilities, offer};
use super::client::Client;
use super::diagnostics::Published;
use super::documents::Documents;
use super::folders::{Engine, Folder, FolderId, initial};
use super::progress::Loops;
use super::questions::{PromptNumber, Questions};
use super::report::Reports;
use super::status;

/// How often it is looked whether the editor's process is still there.
const EDITOR_INTERVAL: Duration = Duration::from_secs(3);

pub(super) type Reply<T> = oneshot::Sender<Result<T>>;

/// Opens an engine: root, the editor's settings, the editor's idea of trust.
pub(super) type Open = Arc<
    dyn Fn(
            PathBuf,
            Option<Value>,
            Option<bool>,
        ) -> BoxFuture<'static, std::result::Result<EngineHandle, String>>
        + Send
        + Sync,
>;

pub(super) enum Event {
    Initialize(Box<InitializeParams>, Reply<InitializeResult>),
    Initialized,
    Opened(DidOpenTextDocumentParams),
    Changed(DidChangeTextDocumentParams),
    Saved(DidSaveTextDocumentParams),
    Closed(DidCloseTextDocumentParams),
    Hover(HoverParams, Reply<Option<Hover>>),
    Lenses(CodeLensParams, Reply<Option<Vec<CodeLens>>>),
    Actions(CodeActionParams, Reply<Option<CodeActionResponse>>),
    Command(ExecuteCommandParams, Reply<Option<Value>>),
    Status(Value, Reply<Value>),
    Findings(Value, Reply<Value>),
    Settings(Value),
    Folders(WorkspaceFoldersChangeEvent),
    FilesChanged(DidChangeWatchedFilesParams),
    CancelProgress(NumberOrString),
    Shutdown(oneshot::Sender<()>),
    Inner(Inner),
    #[cfg(test)]
    Panic(Reply<()>),
}

/// What the state's own tasks tell it.
pub(super) enum Inner {
    EngineOpened {
        folder: FolderId,
        settings: Option<Value>,
        engine: std::result::Result<EngineHandle, String>,
    },
    SnapshotChanged(FolderId),
    EngineGone(FolderId),
    Noticed(FolderId, Notice),
    /// The editor answered the dialog; `None`: dismissed, or it can't show dialogs.
    Answered(PromptNumber, Option<String>),
    PatienceOver(PromptNumber),
    ProgressCreated {
        token: String,
        agreed: bool,
    },
    LensesRefreshed,
    ShowReport {
        fingerprint: String,
        report: String,
    },
    Configured(Value),
    EditAnswered {
        folder: FolderId,
        edit: BufferEdit,
        applied: bool,
    },
}

pub(super) struct State {
    client: Client,
    events: mpsc::UnboundedSender<Event>,
    open: Open,
    capabilities: Capabilities,
    phase: Phase,
    settings: Option<Value>,
    trusted: Option<bool>,
    folders: Vec<Folder>,
    last_folder: FolderId,
    /// Tasks that follow a folder's engine; dropping them ends them.
    followers: Vec<(FolderId, engines::Followers)>,
    documents: Documents,
    anchors: Anchors,
    published: Published,
    questions: Questions,
    loops: Loops,
    statuses: status::Sent,
    reports: Reports,
    lenses: Lenses,
    /// What the editor was asked to make of unsaved buffers, by folder and path, until the engine has seen its answer.
    edits_sent: HashMap<(FolderId, String), BufferEdit>,
    /// Ends the server: the editor has gone.
    gone: mpsc::Sender<()>,
    /// Requests that came while an engine was being opened, in order.
    early: Vec<Event>,
    /// Engines of removed folders that are still ending.
    leaving: Vec<tokio::task::JoinHandle<()>>,
    /// The end of all engines, once it was asked for.
    farewell: Option<Shared<BoxFuture<'static, ()>>>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    New,
    /// `initialize` was answered; the editor may not be sent anything yet.
    Initialized,
    Started,
    Ended,
}

/// At most one refresh of the lenses is under way.
#[derive(Default)]
struct Lenses {
    refreshing: bool,
    again: bool,
}

impl State {
    pub fn new(
        client: Client,
        events: mpsc::UnboundedSender<Event>,
        open: Open,
        gone: mpsc::Sender<()>,
    ) -> State {
        State {
            client,
            events,
            open,
            capabilities: Capabilities::default(),
            phase: Phase::New,
            settings: None,
            trusted: None,
            folders: Vec::new(),
            last_folder: 0,
            followers: Vec::new(),
            documents: Documents::default(),
            anchors: Anchors::default(),
            published: Published::default(),
            questions: Questions::default(),
            loops: Loops::default(),
            statuses: status::Sent::default(),
            reports: Reports::default(),
            lenses: Lenses::default(),
            edits_sent: HashMap::new(),
            gone,
            early: Vec::new(),
            leaving: Vec::new(),
            farewell: None,
        }
    }

    pub async fn run(mut self, mut events: mpsc::UnboundedReceiver<Event>) {
        while let Some(event) = events.recv().await {
            let handled = std::panic::catch_unwind(AssertUnwindSafe(|| self.handle(event)));
            if handled.is_err() {
                tracing::error!("an event could not be handled; the panic above says where");
            }
        }
    }

    fn handle(&mut self, event: Event) {
        let is_request = matches!(
            event,
            Event::Hover(..)
                | Event::Lenses(..)
                | Event::Actions(..)
                | Event::Command(..)
                | Event::Status(..)
                | Event::Findings(..)
        );
        // Some editors forget `initialized`; what they send next says as much.
        if self.phase == Phase::Initialized && !matches!(event, Event::Shutdown(_) | Event::Inner(_)) {
            self.start();
        }
        if is_request && self.is_opening() && self.phase != Phase::Ended {
            return self.early.push(event);
        }
        match event {
            Event::Initialize(params, reply) => self.initialize(*params, reply),
            Event::Initialized => {}
            Event::Opened(params) => self.opened(params),
            Event::Changed(params) => self.changed(params),
            Event::Saved(params) => self.saved(params),
            Event::Closed(params) => self.closed(params),
            Event::Hover(params, reply) => answer(reply, Ok(self.hover(&params))),
            Event::Lenses(params, reply) => {
                answer(reply, Ok(Some(self.code_lenses(&params.text_document.uri))))
            }
            Event::Actions(params, reply) => answer(reply, Ok(self.code_actions(&params))),
            Event::Command(params, reply) => self.command(params, reply),
            Event::Status(params, reply) => answer(reply, self.status(&params)),
            Event::Findings(params, reply) => answer(reply, self.findings(params)),
            Event::Settings(settings) => self.configure(settings),
            Event::Folders(change) => self.change_folders(&change),
            Event::FilesChanged(params) => self.files_changed(&params),
            Event::CancelProgress(token) => self.cancel_progress(&token),
            Event::Shutdown(done) => self.shutdown(done),
            Event::Inner(inner) => self.inner(inner),
            #[cfg(test)]
            Event::Panic(_reply) => panic!("an event that can't be handled, for a test"),
        }
    }

    fn inner(&mut self, inner: Inner) {
        match inner {
            Inner::EngineOpened { folder, settings, engine } => self.engine_opened(folder, settings, engine),
            Inner::SnapshotChanged(folder) => self.snapshot_changed(folder),
            Inner::EngineGone(folder) => self.engine_gone(folder),
            Inner::Noticed(folder, notice) => self.noticed(folder, &notice),
            Inner::Answered(number, chosen) => self.answered(number, chosen.as_deref()),
            Inner::PatienceOver(number) => {
                let next = self.questions.gave_up(number);
                self.prompt(next);
            }
            Inner::ProgressCreated { token, agreed } => self.loops.created(&token, agreed, &self.client),
            Inner::LensesRefreshed => {
                self.lenses.refreshing = false;
                if std::mem::take(&mut self.lenses.again) {
                    self.refresh_lenses();
                }
            }
            Inner::ShowReport { fingerprint, report } => {
                self.reports.show(&fingerprint, &report, &self.capabilities, &self.client);
            }
            Inner::Configured(settings) => self.configure_with(settings),
            Inner::EditAnswered { folder, edit, applied } => self.edit_answered(folder, &edit, applied),
        }
    }

    fn initialize(&mut self, params: InitializeParams, reply: Reply<InitializeResult>) {
        self.capabilities = Capabilities::fold(&params.capabilities);
        if let Some(editor) = params.process_id {
            self.watch_editor(editor);
        }
        if let Some(options) = &params.initialization_options {
            self.trusted = options.get("trusted").and_then(Value::as_bool);
            // Some editors hand on the section with its name.
            let settings =
                options.get("settings").map(|settings| settings.get("fixLoop").unwrap_or(settings));
            self.settings = settings.filter(|settings| settings.is_object()).cloned();
        }
        for uri in initial(&params) {
            self.add_folder(&uri);
        }
        self.phase = Phase::Initialized;
        answer(reply, Ok(offer(&self.capabilities)));
    }

    /// The pipe of an editor that was killed may be held open by its children.
    fn watch_editor(&self, pid: u32) {
        let Some(editor) = process::Identity::of(pid) else { return };
        let gone = self.gone.clone();
        tokio::spawn(async move {
            while process::is_alive(&editor) {
                tokio::time::sleep(EDITOR_INTERVAL).await;
            }
            let _ = gone.send(()).await;
        });
    }

    fn start(&mut self) {
        self.phase = Phase::Started;
        let folders: Vec<FolderId> = self.folders.iter().map(|folder| folder.id).collect();
        for folder in folders {
            self.open_engine(folder, None);
        }
        self.register_watchers();
        if self.settings.is_none() {
            self.ask_for_settings();
        }
    }

    fn is_opening(&self) -> bool {
        self.folders.iter().any(|folder| matches!(folder.engine, Engine::Opening))
    }

    /// Sends a task's result back as an event, where the state is still there to take it.
    fn spawn(&self, task: impl Future<Output = Inner> + Send + 'static) {
        let events = self.events.clone();
        tokio::spawn(async move {
            let _ = events.send(Event::Inner(task.await));
        });
    }
}

/// The asker may have cancelled meanwhile.
fn answer<T>(reply: Reply<T>, answer: Result<T>) {
    let _ = reply.send(answer);
}

fn no_folder() -> Error {
    super::commands::failed("no workspace folder is open; open the folder that holds the code")
}
