//! The way to the editor.
//!
//! Owns the numbers of the server's own requests and who waits for which answer. Never blocks and never panics: an answer
//! that nobody waits for any more is dropped (tower-lsp's own client panics on it, DESIGN 9), and a message for an editor
//! that has gone is lost in silence, since [`super::wire`] ends the server then.

use std::collections::HashMap;
use std::future::Future;
use std::sync::{Arc, Mutex, PoisonError};

use lsp_types::{MessageType, ShowMessageParams, notification, request};
use serde::Serialize;
use serde_json::{Value, json};
use tokio::sync::{mpsc, oneshot};
use tower_lsp::jsonrpc::{Error, ErrorCode};

type Answer = Result<Value, Error>;

#[derive(Clone)]
pub(super) struct Client {
    out: mpsc::UnboundedSender<String>,
    waiting: Arc<Mutex<Waiting>>,
}

#[derive(Default)]
struct Waiting {
    last: i64,
    answers: HashMap<i64, oneshot::Sender<Answer>>,
}

impl Client {
    /// The client and the messages it wants written, in order.
    pub fn new() -> (Client, mpsc::UnboundedReceiver<String>) {
        let (out, messages) = mpsc::unbounded_channel();
        (Client { out, waiting: Arc::default() }, messages)
    }

    pub fn notify<N: notification::Notification>(&self, params: N::Params) {
        #[derive(Serialize)]
        struct Notification<P> {
            jsonrpc: &'static str,
            method: &'static str,
            params: P,
        }
        match serde_json::to_string(&Notification { jsonrpc: "2.0", method: N::METHOD, params }) {
            Ok(message) => drop(self.out.send(message)),
            Err(error) => tracing::error!("{} can't be written as JSON: {error}", N::METHOD),
        }
    }

    /// Sends at once; the future only waits for the answer and may be dropped at any time.
    pub fn request<R: request::Request>(
        &self,
        params: R::Params,
    ) -> impl Future<Output = Result<R::Result, Error>> + Send + use<R> {
        let (answer, answered) = oneshot::channel();
        let params = serde_json::to_value(params);
        if let Ok(params) = &params {
            let id = self.wait(answer);
            self.send(json!({"jsonrpc": "2.0", "id": id, "method": R::METHOD, "params": params}));
        }
        async move {
            params.map_err(|_| Error::internal_error())?;
            let value = answered.await.map_err(|_| Error::internal_error())??;
            serde_json::from_value(value).map_err(|error| Error {
                code: ErrorCode::InvalidParams,
                message: format!("the answer to {} can't be read: {error}", R::METHOD).into(),
                data: None,
            })
        }
    }

    /// An answer came in. Unknown ids and waiters that have gone are no errors.
    pub fn answered(&self, id: &Value, answer: Answer) {
        let waiting = id.as_i64().and_then(|id| self.waiting().answers.remove(&id));
        match waiting {
            Some(waiting) => drop(waiting.send(answer)),
            None => tracing::debug!("an answer to no request of ours: {id}"),
        }
    }

    pub fn show(&self, typ: MessageType, message: impl Into<String>) {
        self.notify::<notification::ShowMessage>(ShowMessageParams { typ, message: message.into() });
    }

    pub fn log(&self, typ: MessageType, message: impl Into<String>) {
        let message = message.into();
        self.notify::<notification::LogMessage>(lsp_types::LogMessageParams { typ, message });
    }

    /// A message as it is, such as a response.
    pub fn send(&self, message: Value) {
        let _ = self.out.send(message.to_string());
    }

    fn wait(&self, answer: oneshot::Sender<Answer>) -> i64 {
        let mut waiting = self.waiting();
        waiting.last += 1;
        let id = waiting.last;
        waiting.answers.retain(|_, waiter| !waiter.is_closed());
        waiting.answers.insert(id, answer);
        id
    }

    fn waiting(&self) -> std::sync::MutexGuard<'_, Waiting> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
