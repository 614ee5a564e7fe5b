//! Messages on the pipe.
//!
//! Owns framing, the loop that reads until `exit` or the end of the pipe, and the task that writes. Stands in for
//! tower-lsp's own transport, which ends at the first message that is not JSON, stays after `exit`, panics when the editor
//! has closed its end, and lets four slow handlers stop all others. Never looks at what a message means beyond whether it
//! is a request or an answer.

use std::time::Duration;

use futures::FutureExt;
use serde_json::{Value, json};
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt, AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, BufReader,
};
use tokio::sync::mpsc;
use tokio::task::JoinSet;
use tower::Service;
use tower_lsp::ExitedError;
use tower_lsp::jsonrpc::{Error, ErrorCode, Request, Response};

use super::client::Client;
use super::guard::{Ending, Guard};

/// How long answers that are still being made may take once the editor has said `exit`.
const GRACE: Duration = Duration::from_secs(2);
/// A header line longer than this is not LSP.
const LONGEST_HEADER: u64 = 8 * 1024;

/// One frame, or why what came is none.
enum Frame {
    Body(Vec<u8>),
    Bad(String),
}

/// Reads and answers until the editor says `exit`, closes its end, or can no longer be written to.
pub(super) async fn run<S, I>(service: S, stdin: I, client: &Client, mut gone: mpsc::Receiver<()>) -> Ending
where
    S: Service<Request, Response = Option<Response>, Error = ExitedError>,
    S::Future: Send + 'static,
    I: AsyncRead + Unpin,
{
    let mut guard = Guard::new(service);
    let mut input = BufReader::new(stdin);
    let mut answers = JoinSet::new();
    while !guard.ending().exit {
        let frame = tokio::select! {
            frame = read_frame(&mut input) => frame,
            _ = gone.recv() => break,
        };
        let message = match frame {
            Ok(Some(Frame::Body(body))) => serde_json::from_slice(&body).map_err(|error| error.to_string()),
            Ok(Some(Frame::Bad(reason))) => Err(reason),
            Ok(None) => break,
            Err(error) => {
                tracing::error!("the editor's messages can't be read any more: {error}");
                break;
            }
        };
        match message {
            Ok(message) => take(&mut guard, message, client, &mut answers),
            Err(reason) => client.send(refused(Value::Null, ErrorCode::ParseError, &reason)),
        }
        while answers.try_join_next().is_some() {}
    }
    let _ = tokio::time::timeout(GRACE, async { while answers.join_next().await.is_some() {} }).await;
    guard.ending()
}

fn take<S>(guard: &mut Guard<S>, message: Value, client: &Client, answers: &mut JoinSet<()>)
where
    S: Service<Request, Response = Option<Response>, Error = ExitedError>,
    S::Future: Send + 'static,
{
    let id = message.get("id").cloned().unwrap_or(Value::Null);
    if message.get("method").is_none() {
        return answer_of_editor(message, &id, client);
    }
    let request = match serde_json::from_value::<Request>(message) {
        Ok(request) => request,
        Err(error) => return client.send(refused(id, ErrorCode::InvalidRequest, &error.to_string())),
    };
    let mut answer = guard.call(request);
    // Most answers are there at once; giving them out here keeps their order.
    match (&mut answer).now_or_never() {
        Some(Ok(response)) => write(response, client),
        None => {
            let client = client.clone();
            answers.spawn(async move {
                let Ok(response) = answer.await;
                write(response, &client);
            });
        }
    }
}

fn answer_of_editor(message: Value, id: &Value, client: &Client) {
    if let Some(error) = message.get("error").filter(|error| !error.is_null()) {
        let error = serde_json::from_value(error.clone()).unwrap_or_else(|_| Error::internal_error());
        client.answered(id, Err(error));
    } else if let Some(result) = message.get("result") {
        client.answered(id, Ok(result.clone()));
    } else if message.is_array() {
        client.send(refused(Value::Null, ErrorCode::InvalidRequest, "LSP has no batches of messages"));
    } else {
        client.send(refused(id.clone(), ErrorCode::InvalidRequest, "neither a request nor an answer"));
    }
}

fn write(response: Option<Response>, client: &Client) {
    match response.map(serde_json::to_value) {
        Some(Ok(response)) => client.send(response),
        Some(Err(error)) => tracing::error!("an answer can't be written as JSON: {error}"),
        None => {}
    }
}

fn refused(id: Value, code: ErrorCode, reason: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code.code(), "message": reason}})
}

/// `None` at the end of the pipe, also in the middle of a message.
async fn read_frame(input: &mut (impl AsyncBufRead + Unpin)) -> std::io::Result<Option<Frame>> {
    let mut length: Option<Result<u64, String>> = None;
    let mut read_any = false;
    loop {
        let mut line = Vec::new();
        if input.take(LONGEST_HEADER).read_until(b'\n', &mut line).await? == 0 {
            return Ok(None);
        }
        let line = String::from_utf8_lossy(&line);
        let line = line.trim();
        if line.is_empty() && !read_any {
            continue; // Stray line ends between messages.
        }
        if line.is_empty() {
            break;
        }
        read_any = true;
        if let Some((name, value)) = line.split_once(':')
            && name.trim().eq_ignore_ascii_case("content-length")
        {
            let value = value.trim();
            length = Some(value.parse().map_err(|_| format!("`Content-Length: {value}` is no length")));
        }
    }
    let length = match length {
        Some(Ok(length)) => length,
        Some(Err(reason)) => return Ok(Some(Frame::Bad(reason))),
        None => return Ok(Some(Frame::Bad("a message without `Content-Length`".into()))),
    };
    let mut body = Vec::new();
    input.take(length).read_to_end(&mut body).await?;
    Ok((body.len() as u64 == length).then_some(Frame::Body(body)))
}

/// Writes messages until all senders have gone or the editor has.
pub(super) async fn write_all(
    mut messages: mpsc::UnboundedReceiver<String>,
    mut stdout: impl AsyncWrite + Unpin,
) -> std::io::Result<()> {
    while let Some(body) = messages.recv().await {
        stdout.write_all(format!("Content-Length: {}\r\n\r\n{body}", body.len()).as_bytes()).await?;
        if messages.is_empty() {
            stdout.flush().await?;
        }
    }
    stdout.flush().await
}
