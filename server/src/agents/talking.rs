//! The process of an agent that is talked with: started, followed, said goodbye to, and how it ended.
//!
//! What is said is `acp`'s. An agent that ends by itself is told from one that was ended, and what it says on its way out
//! from what its silence looks like from here.

use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _, BufReader, DuplexStream};
use tokio::sync::mpsc;
use tokio::time::timeout;

use super::acp::Table;
use super::excerpt;
use super::failure::{FailureClass, classify};
use super::outcome::Outcome;
use super::parse::ReportProblem;
use super::report::Report;
use super::run::{Dispatch, GRACE, KEEP};
use crate::process::{How, Spec, Watch};

/// How long an agent may take to end by itself once nothing more is asked of it.
pub(super) const FAREWELL: Duration = Duration::from_secs(2);

/// How the conversation ended.
pub(super) enum Talk {
    Report(Box<Report>),
    Problem(ReportProblem),
    Failed {
        message: String,
        /// Where the protocol itself says whose it is.
        class: Option<FailureClass>,
    },
}

impl Dispatch<'_> {
    pub(super) async fn acp(mut self, command: Vec<String>) -> Outcome {
        let table = Arc::new(Table::new(&self));
        let spec = Spec {
            argv: command,
            cwd: self.job.cwd.clone(),
            env: self.environment(self.job.brief.role.may_edit()),
            stdin: Vec::new(),
            limit: self.remaining(),
            grace: GRACE,
            keep: KEEP,
        };
        let stop = self.cancel.child_token();
        let (sender, mut lines) = mpsc::unbounded_channel();
        let watch = Watch { started: self.job.started.take(), lines: Some(sender) };
        let (conversation, running) = self.supervisor.converse(spec, &stop, watch);
        let mut transcript = self.transcript.take();
        let follow = async {
            while let Some(line) = lines.recv().await {
                if let Some(transcript) = &mut transcript {
                    transcript.line(&line);
                }
            }
        };
        let talk = self.talk(conversation, table.clone());
        let both = async {
            tokio::pin!(running);
            tokio::pin!(talk);
            tokio::select! {
                // What the agent still said before it ended is on its way.
                ended = &mut running => (ended, timeout(FAREWELL, &mut talk).await.ok()),
                talk = &mut talk => {
                    // Its input is closed now, and most agents end by that; the others are ended. One that broke off is
                    // about to end with a code that says more.
                    let patience = if matches!(talk, Talk::Failed { .. }) { 5 * FAREWELL } else { FAREWELL };
                    if let Ok(ended) = timeout(patience, &mut running).await {
                        (ended, Some(talk))
                    } else {
                        stop.cancel();
                        ((&mut running).await, Some(talk))
                    }
                }
            }
        };
        let ((ended, talk), ()) = tokio::join!(both, follow);
        self.transcript = transcript;
        self.leftovers = ended.leftovers;
        let seen = std::mem::take(&mut *table.seen());
        self.usage = seen.usage;
        self.denied.clone_from(&seen.denied);
        let last_words = excerpt::last_line(&ended.stderr.text(), 300);
        let result = match (&ended.how, talk) {
            (How::Cancelled, _) if self.cancel.is_cancelled() => {
                Err(self.failure(FailureClass::Cancelled, "cancelled"))
            }
            (How::OverLimit | How::NotStarted { .. }, _) => Err(self
                .not_its_own(&ended.how, &last_words)
                .unwrap_or_else(|| self.failure(FailureClass::Agent, "it ended early"))),
            (_, Some(Talk::Report(report))) => Ok(seen.with_refusals(*report)),
            (_, Some(Talk::Problem(problem))) => Err(self.unreported(problem)),
            (_, Some(Talk::Failed { message, class: Some(class) })) => Err(self.failure(class, message)),
            // What it says on its way out tells more than what its silence looks like from here.
            (How::Exited(code), _) if *code != 0 && !last_words.is_empty() => {
                let message = format!("it ended with exit code {code}: {last_words}");
                Err(self.failure(classify(None, &last_words), message))
            }
            // The crate's words for an output that came to its end.
            (How::Exited(code), Some(Talk::Failed { message, class: None }))
                if message.contains("transport closed") =>
            {
                let message = format!("it ended with exit code {code} in the middle of the conversation");
                Err(self.failure(FailureClass::Agent, excerpt::with_last(message, &last_words)))
            }
            (_, Some(Talk::Failed { message, class: None })) => {
                Err(self.failure(classify(None, &message), message))
            }
            (How::Exited(code), None) => {
                let message = format!("it ended with exit code {code} in the middle of the conversation");
                Err(self.failure(FailureClass::Agent, excerpt::with_last(message, &last_words)))
            }
            (how, None) => {
                let failure = self.not_its_own(how, &last_words);
                Err(failure.unwrap_or_else(|| self.failure(FailureClass::Agent, "it ended early")))
            }
        };
        self.end(result)
    }
}

/// Passes on what can be a message, for ever. Agents and what starts them also print other things, in any bytes, and those
/// must not end the conversation.
pub(super) async fn messages_only(output: DuplexStream, mut to: DuplexStream) -> Infallible {
    let mut lines = BufReader::new(output);
    let mut line = Vec::new();
    while lines.read_until(b'\n', &mut line).await.is_ok_and(|read| read > 0) {
        let text = String::from_utf8_lossy(&line);
        if text.trim_start().starts_with('{') && to.write_all(text.as_bytes()).await.is_err() {
            break;
        }
        line.clear();
    }
    drop(to);
    std::future::pending().await
}
