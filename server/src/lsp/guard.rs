//! A service around tower-lsp's that repairs what was measured to be wrong there (DESIGN 9).
//!
//! Owns these repairs: `null` or missing parameters where the method needs none or has only optional ones; requests that
//! begin with `$/` are answered; a handler that panics answers with an internal error instead of ending the server; `exit` is noticed; handlers run up to their first
//! wait before the next message is looked at, so that the state task sees messages in the order in which they came.
//! Late answers and the end of the process are repaired in [`super::client`] and [`super::wire`]. Never answers a request of
//! its own accord.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::task::{Context, Poll, Waker};

use futures::FutureExt;
use futures::future::{self, BoxFuture};
use serde_json::{Value, json};
use tower::Service;
use tower_lsp::ExitedError;
use tower_lsp::jsonrpc::{Error, ErrorCode, Id, Request, Response};

pub(super) struct Guard<S> {
    inner: S,
    ending: Ending,
}

/// How the editor has said goodbye so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ending {
    pub shutdown: bool,
    pub exit: bool,
}

impl<S> Guard<S> {
    pub fn new(inner: S) -> Guard<S> {
        Guard { inner, ending: Ending::default() }
    }

    pub fn ending(&self) -> Ending {
        self.ending
    }
}

impl<S> Service<Request> for Guard<S>
where
    S: Service<Request, Response = Option<Response>, Error = ExitedError>,
    S::Future: Send + 'static,
{
    type Response = Option<Response>;
    type Error = Infallible;
    type Future = BoxFuture<'static, Result<Option<Response>, Infallible>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        self.inner.poll_ready(cx).map(|_| Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        let request = with_parameters(request);
        let id = request.id().cloned();
        match request.method() {
            "shutdown" => self.ending.shutdown = id.is_some() || self.ending.shutdown,
            "exit" => self.ending.exit = true,
            _ => {}
        }
        if self.ending.exit {
            // tower-lsp would cancel the answer to a `shutdown` that is still under way; `wire` ends the server.
            return future::ready(Ok(id.map(|id| Response::from_error(id, Error::invalid_request()))))
                .boxed();
        }
        let method = request.method().to_owned();
        if method.starts_with("$/")
            && let Some(id) = id
        {
            // tower-lsp says nothing at all to one; LSP wants an error.
            return future::ready(Ok(Some(Response::from_error(id, Error::method_not_found())))).boxed();
        }
        let inner = &mut self.inner;
        let Ok(answer) = std::panic::catch_unwind(AssertUnwindSafe(|| inner.call(request))) else {
            return future::ready(Ok(panicked(id, &method))).boxed();
        };
        let mut answer = AssertUnwindSafe(answer)
            .catch_unwind()
            .map(move |answer| match answer {
                Ok(Ok(response)) => response,
                Ok(Err(ExitedError { .. })) => {
                    id.map(|id| Response::from_error(id, Error::invalid_request()))
                }
                Err(_) => panicked(id, &method),
            })
            .boxed();
        match answer.poll_unpin(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(response) => future::ready(Ok(response)).boxed(),
            Poll::Pending => answer.map(Ok).boxed(),
        }
    }
}

fn panicked(id: Option<Id>, method: &str) -> Option<Response> {
    let message = format!("fix-loop made a mistake while answering {method}; its log on stderr says more");
    id.map(|id| {
        Response::from_error(
            id,
            Error { code: ErrorCode::InternalError, message: message.into(), data: None },
        )
    })
}

/// tower-lsp refuses `null` where a method has no parameters, and refuses to call a method whose parameters are all
/// optional when they are absent.
fn with_parameters(request: Request) -> Request {
    let absent = matches!(request.params(), None | Some(Value::Null));
    let is_without_arguments =
        || request.params().and_then(|params| params.get("arguments")).is_some_and(Value::is_null);
    if request.method() == "workspace/executeCommand" && is_without_arguments() {
        let (method, id, params) = request.into_parts();
        let mut params = params.unwrap_or_default();
        if let Some(params) = params.as_object_mut() {
            params.shift_remove("arguments");
        }
        return rebuilt(method, id, Some(params));
    }
    let parameters = match request.method() {
        "shutdown" | "exit" => None,
        "initialized" | "fixLoop/status" | "fixLoop/findings" if absent => Some(json!({})),
        "workspace/didChangeConfiguration" if absent => Some(json!({"settings": null})),
        _ => return request,
    };
    if parameters.is_some() && !absent {
        return request;
    }
    let (method, id, _) = request.into_parts();
    rebuilt(method, id, parameters)
}

fn rebuilt(method: std::borrow::Cow<'static, str>, id: Option<Id>, parameters: Option<Value>) -> Request {
    let mut repaired = Request::build(method);
    if let Some(id) = id {
        repaired = repaired.id(id);
    }
    if let Some(parameters) = parameters {
        repaired = repaired.params(parameters);
    }
    repaired.finish()
}
