//! tower-lsp's view of the server: every method hands its message to the state task before it waits for anything.
//!
//! Owns nothing but the way to that task. What a method answers is decided in the file named after its subject.

use std::future::Future;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use lsp_types::{
    CodeActionParams, CodeActionResponse, CodeLens, CodeLensParams, DidChangeConfigurationParams,
    DidChangeTextDocumentParams, DidChangeWatchedFilesParams, DidChangeWorkspaceFoldersParams,
    DidCloseTextDocumentParams, DidOpenTextDocumentParams, DidSaveTextDocumentParams, ExecuteCommandParams,
    Hover, HoverParams, InitializeParams, InitializeResult, InitializedParams, WorkDoneProgressCancelParams,
};
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::{mpsc, oneshot};
use tower_lsp::jsonrpc::{Error, Result};
use tower_lsp::{LanguageServer, LspService};

use crate::engine::EngineHandle;

use super::client::Client;
use super::state::{Event, Reply, State};
use super::{status, wire};

/// How long the engines may take to end what runs.
const FAREWELL: Duration = Duration::from_secs(10);

/// Opens an engine for a workspace folder.
pub trait EngineFactory: Send + Sync + 'static {
    /// `settings` are the editor's (`fixLoop`), `trusted` is the editor's own idea of trust, if it has one. The error is
    /// shown to the user.
    fn open(
        &self,
        root: PathBuf,
        settings: Option<Value>,
        trusted: Option<bool>,
    ) -> impl Future<Output = std::result::Result<EngineHandle, String>> + Send;
}

/// Serves one editor until it says `exit`, closes the pipe, or goes away. Gives the exit code of the process: 0 after a
/// proper `shutdown`, else 1 (LSP, `exit`).
///
/// The caller ends the process with that code: a reader of the real stdin may still be blocked in a thread of the runtime.
pub async fn serve<I, O>(stdin: I, stdout: O, engines: impl EngineFactory) -> i32
where
    I: AsyncRead + Unpin,
    O: AsyncWrite + Unpin + Send + 'static,
{
    let engines = Arc::new(engines);
    let open = move |root, settings, trusted| {
        let engines = Arc::clone(&engines);
        async move { engines.open(root, settings, trusted).await }.boxed()
    };
    let (client, messages) = Client::new();
    let (events, received) = mpsc::unbounded_channel();
    let (editor_gone, gone) = mpsc::channel(1);
    let writer_gone = editor_gone.clone();
    let state = State::new(client.clone(), events.clone(), Arc::new(open), editor_gone);
    let state = tokio::spawn(state.run(received));
    let writer = tokio::spawn(async move {
        let written = wire::write_all(messages, stdout).await;
        let _ = writer_gone.try_send(());
        written
    });

    let (service, _socket) = service(events.clone());
    let ending = wire::run(service, stdin, &client, gone).await;

    let (done, ended) = oneshot::channel();
    if events.send(Event::Shutdown(done)).is_ok() && tokio::time::timeout(FAREWELL, ended).await.is_err() {
        tracing::warn!("the engines did not end in time");
    }
    state.abort();
    let _ = state.await;
    drop(client);
    // Answers to the last requests are still on their way.
    let _ = tokio::time::timeout(Duration::from_secs(1), writer).await;
    if ending.shutdown { 0 } else { 1 }
}

fn service(events: mpsc::UnboundedSender<Event>) -> (LspService<Server>, tower_lsp::ClientSocket) {
    let builder = LspService::build(|_| Server { events })
        .custom_method("window/workDoneProgress/cancel", Server::cancel_progress)
        .custom_method(status::STATUS, Server::status)
        .custom_method(status::FINDINGS, Server::findings);
    #[cfg(test)]
    let builder = builder
        .custom_method("test/panic", Server::panic)
        .custom_method("test/panicInState", Server::panic_in_state)
        .custom_method("test/never", Server::never);
    builder.finish()
}

struct Server {
    events: mpsc::UnboundedSender<Event>,
}

impl Server {
    fn tell(&self, event: Event) {
        let _ = self.events.send(event);
    }

    /// Sends before the first wait, then waits for the state task's answer.
    async fn ask<T>(&self, event: impl FnOnce(Reply<T>) -> Event) -> Result<T> {
        let (reply, answer) = oneshot::channel();
        self.tell(event(reply));
        answer.await.unwrap_or_else(|_| Err(Error::internal_error()))
    }

    async fn cancel_progress(&self, params: WorkDoneProgressCancelParams) {
        self.tell(Event::CancelProgress(params.token));
    }

    async fn status(&self, params: Value) -> Result<Value> {
        self.ask(|reply| Event::Status(params, reply)).await
    }

    async fn findings(&self, params: Value) -> Result<Value> {
        self.ask(|reply| Event::Findings(params, reply)).await
    }
}

#[cfg(test)]
impl Server {
    async fn panic(&self) -> Result<()> {
        panic!("a handler that panics, for a test");
    }

    async fn panic_in_state(&self) -> Result<()> {
        self.ask(Event::Panic).await
    }

    async fn never(&self) -> Result<()> {
        std::future::pending().await
    }
}

#[tower_lsp::async_trait]
impl LanguageServer for Server {
    async fn initialize(&self, params: InitializeParams) -> Result<InitializeResult> {
        self.ask(|reply| Event::Initialize(Box::new(params), reply)).await
    }

    async fn initialized(&self, _: InitializedParams) {
        self.tell(Event::Initialized);
    }

    async fn shutdown(&self) -> Result<()> {
        let (done, ended) = oneshot::channel();
        self.tell(Event::Shutdown(done));
        let _ = ended.await;
        Ok(())
    }

    async fn did_open(&self, params: DidOpenTextDocumentParams) {
        self.tell(Event::Opened(params));
    }

    async fn did_change(&self, params: DidChangeTextDocumentParams) {
        self.tell(Event::Changed(params));
    }

    async fn did_save(&self, params: DidSaveTextDocumentParams) {
        self.tell(Event::Saved(params));
    }

    async fn did_close(&self, params: DidCloseTextDocumentParams) {
        self.tell(Event::Closed(params));
    }

    async fn hover(&self, params: HoverParams) -> Result<Option<Hover>> {
        self.ask(|reply| Event::Hover(params, reply)).await
    }

    async fn code_lens(&self, params: CodeLensParams) -> Result<Option<Vec<CodeLens>>> {
        self.ask(|reply| Event::Lenses(params, reply)).await
    }

    async fn code_action(&self, params: CodeActionParams) -> Result<Option<CodeActionResponse>> {
        self.ask(|reply| Event::Actions(params, reply)).await
    }

    async fn execute_command(&self, params: ExecuteCommandParams) -> Result<Option<Value>> {
        self.ask(|reply| Event::Command(params, reply)).await
    }

    async fn did_change_configuration(&self, params: DidChangeConfigurationParams) {
        self.tell(Event::Settings(params.settings));
    }

    async fn did_change_workspace_folders(&self, params: DidChangeWorkspaceFoldersParams) {
        self.tell(Event::Folders(params.event));
    }

    async fn did_change_watched_files(&self, params: DidChangeWatchedFilesParams) {
        self.tell(Event::FilesChanged(params));
    }
}
