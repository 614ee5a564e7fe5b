//! Agents that speak the Agent Client Protocol, version 1 (DESIGN 8). The only file that names the protocol's crate.
//!
//! Reads and writes that the agent asks for go through here, and permission is given by kind and by scope. None of that is
//! relied on: most agents write straight to disk, and the scope guard of the engine is what enforces. A follow-up for a
//! missing report is a second prompt in the same session.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema as acp;
use agent_client_protocol::{Agent, ByteStreams, Client, Error};
use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::time::timeout;
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

use super::buffers::Buffers;
use super::excerpt;
use super::failure::{FailureClass, classify};
use super::follow_up::{follow_up, missing_from};
use super::parse::{ReportProblem, parse_report};
use super::report::Report;
use super::run::{Dispatch, GRACE, KEEP, LEAST, Outcome};
use super::stream::Progress;
use crate::process::{Conversation, How, Spec, Watch};

/// How long an agent may take to end by itself once nothing more is asked of it.
const FAREWELL: Duration = Duration::from_secs(2);
/// A file that an agent reads through the client.
const LONGEST_READ: u64 = 16 * 1024 * 1024;

/// What may be done in the agent's name, and what has been seen of it.
struct Desk {
    /// Canonical.
    workspace: PathBuf,
    /// Paths that may be written, relative to the workspace; empty for roles that only read.
    scope: Vec<String>,
    may_edit: bool,
    buffers: Buffers,
    progress: Option<UnboundedSender<Progress>>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    /// The agent's words since the last prompt.
    text: String,
    cost_usd: Option<f64>,
    denied: Vec<String>,
    /// Texts that are in no file, as the agent was last shown or has last written them.
    unsaved: HashMap<String, String>,
}

/// How the conversation ended.
enum Talk {
    Report(Box<Report>),
    Problem(ReportProblem),
    Failed { message: String, account: bool },
}

impl Dispatch<'_> {
    pub(super) async fn acp(mut self, command: Vec<String>) -> Outcome {
        let desk = Arc::new(Desk {
            workspace: self.job.cwd.canonicalize().unwrap_or_else(|_| self.job.cwd.clone()),
            scope: self.job.brief.scope.iter().map(|path| normal(path)).collect(),
            may_edit: self.job.brief.role.may_edit(),
            buffers: self.job.buffers.clone(),
            progress: self.progress.clone(),
            seen: Mutex::default(),
        });
        let spec = Spec {
            argv: command,
            cwd: self.job.cwd.clone(),
            env: self.environment(&[]),
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
        let talk = self.talk(conversation, desk.clone());
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
        let seen = std::mem::take(&mut *desk.seen.lock().unwrap_or_else(PoisonError::into_inner));
        self.usage.cost_usd = seen.cost_usd;
        let last_words = excerpt::last_line(&ended.stderr.text(), 300);
        let result = match (&ended.how, talk) {
            (How::Cancelled, _) if self.cancel.is_cancelled() => {
                Err(self.failure(FailureClass::Cancelled, "cancelled"))
            }
            (How::OverLimit | How::NotStarted { .. }, _) => Err(self
                .not_its_own(&ended.how, &last_words)
                .unwrap_or_else(|| self.failure(FailureClass::Agent, "it ended early"))),
            (_, Some(Talk::Report(report))) => Ok(with_denials(*report, &seen.denied)),
            (_, Some(Talk::Problem(problem))) => Err(self.unreported(problem)),
            (how, Some(Talk::Failed { message, account })) => Err(match (how, account) {
                (_, true) => self.failure(FailureClass::Account, message),
                (How::Exited(code), _) if *code != 0 && !last_words.is_empty() => {
                    let message = format!("it ended with exit code {code}: {last_words}");
                    self.failure(classify(None, &last_words), message)
                }
                _ => self.failure(classify(None, &message), message),
            }),
            (how, None) => {
                let message =
                    format!("it ended ({how:?}) in the middle of the conversation; last: {last_words}");
                Err(self.failure(classify(None, &last_words), message))
            }
        };
        self.end(result)
    }

    async fn talk(&self, conversation: Conversation, desk: Arc<Desk>) -> Talk {
        let io = ByteStreams::new(conversation.input.compat_write(), conversation.output.compat());
        let (updates, permissions, reads, writes) = (desk.clone(), desk.clone(), desk.clone(), desk.clone());
        let outcome = Client
            .v1()
            .name("fix-loop")
            .on_receive_notification(
                async move |notification: acp::SessionNotification, _connection| {
                    updates.update(notification.update);
                    Ok(())
                },
                agent_client_protocol::on_receive_notification!(),
            )
            .on_receive_request(
                async move |request: acp::RequestPermissionRequest, responder, _connection| {
                    responder.respond(permissions.permission(&request))
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |request: acp::ReadTextFileRequest, responder, _connection| match reads
                    .read(&request)
                {
                    Ok(content) => responder.respond(acp::ReadTextFileResponse::new(content)),
                    Err(reason) => responder.respond_with_error(refusal(&reason)),
                },
                agent_client_protocol::on_receive_request!(),
            )
            .on_receive_request(
                async move |request: acp::WriteTextFileRequest, responder, _connection| match writes
                    .write(&request)
                {
                    Ok(()) => responder.respond(acp::WriteTextFileResponse::new()),
                    Err(reason) => responder.respond_with_error(refusal(&reason)),
                },
                agent_client_protocol::on_receive_request!(),
            )
            .connect_with(io, async |connection: ConnectionTo<Agent>| self.session(&connection, &desk).await)
            .await;
        outcome.unwrap_or_else(|error| Talk::Failed {
            message: words(&error),
            account: error.code == acp::ErrorCode::AuthRequired,
        })
    }

    async fn session(&self, connection: &ConnectionTo<Agent>, desk: &Desk) -> Result<Talk, Error> {
        let files = acp::FileSystemCapabilities::new().read_text_file(true).write_text_file(desk.may_edit);
        let hello = acp::InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(acp::ClientCapabilities::new().fs(files));
        connection.send_request(hello).block_task().await?;
        let session =
            connection.send_request(acp::NewSessionRequest::new(self.job.cwd.clone())).block_task().await?;
        self.choose_mode(connection, &session, desk.may_edit).await?;
        self.choose_model(connection, &session).await?;
        let mut talk = self.ask(connection, &session.session_id, desk, self.prompt()).await?;
        let problem = match &talk {
            Talk::Problem(problem) => Some(problem.clone()),
            Talk::Report(report) => missing_from(report, &self.job.brief)
                .map(|missing| ReportProblem::Incomplete(format!("the findings {missing}"))),
            Talk::Failed { .. } => None,
        };
        if let Some(problem) = problem
            && self.remaining() > LEAST
        {
            let text = follow_up(&problem, &self.job.brief.report_schema);
            match self.ask(connection, &session.session_id, desk, text).await? {
                // An incomplete report counts for what it says when nothing better comes.
                Talk::Problem(_) if matches!(talk, Talk::Report(_)) => {}
                better => talk = better,
            }
        }
        Ok(talk)
    }

    async fn ask(
        &self,
        connection: &ConnectionTo<Agent>,
        session: &acp::SessionId,
        desk: &Desk,
        text: String,
    ) -> Result<Talk, Error> {
        desk.seen.lock().unwrap_or_else(PoisonError::into_inner).text.clear();
        let content = vec![acp::ContentBlock::Text(acp::TextContent::new(text))];
        let answer =
            connection.send_request(acp::PromptRequest::new(session.clone(), content)).block_task().await?;
        let said = desk.seen.lock().unwrap_or_else(PoisonError::into_inner).text.clone();
        Ok(match answer.stop_reason {
            acp::StopReason::EndTurn => {
                match parse_report(self.job.brief.role, self.job.brief.protocol, &said) {
                    Ok(report) => Talk::Report(Box::new(report)),
                    // Some agents end their turn in good order and say in prose that the service failed.
                    Err(ReportProblem::NoReport(_)) if said.len() < 2_000 && reads_as_error(&said) => {
                        Talk::Failed { message: said.trim().to_owned(), account: false }
                    }
                    Err(problem) => Talk::Problem(problem),
                }
            }
            acp::StopReason::Refusal => Talk::Problem(ReportProblem::Invalid("the model refused".to_owned())),
            reason => Talk::Problem(ReportProblem::Invalid(format!("the turn ended early ({reason:?})"))),
        })
    }

    /// The most careful mode that lets the role work: what an agent asks about in it is decided here.
    async fn choose_mode(
        &self,
        connection: &ConnectionTo<Agent>,
        session: &acp::NewSessionResponse,
        may_edit: bool,
    ) -> Result<(), Error> {
        let wanted: &[&str] = if may_edit { &["default", "auto"] } else { &["read-only", "default"] };
        let Some(modes) = &session.modes else { return Ok(()) };
        let has = |id: &str| modes.available_modes.iter().any(|mode| mode.id.0.as_ref() == id);
        let Some(mode) = wanted.iter().find(|id| has(id)) else { return Ok(()) };
        if modes.current_mode_id.0.as_ref() == *mode {
            return Ok(());
        }
        let request = acp::SetSessionModeRequest::new(session.session_id.clone(), *mode);
        connection.send_request(request).block_task().await.map(drop)
    }

    /// Sets model and effort where the agent offers them. A model that it does not know is an error of the agent's, told.
    async fn choose_model(
        &self,
        connection: &ConnectionTo<Agent>,
        session: &acp::NewSessionResponse,
    ) -> Result<(), Error> {
        let wanted = [
            (acp::SessionConfigOptionCategory::Model, &self.job.model),
            (acp::SessionConfigOptionCategory::ThoughtLevel, &self.job.effort),
        ];
        for (category, value) in wanted {
            let Some(value) = value else { continue };
            let options = session.config_options.iter().flatten();
            let Some(option) = options.into_iter().find(|option| option.category.as_ref() == Some(&category))
            else {
                tracing::warn!("the agent {} does not let its {category:?} be chosen", self.job.agent.name);
                continue;
            };
            let value = acp::SessionConfigOptionValue::value_id(value.clone());
            let request =
                acp::SetSessionConfigOptionRequest::new(session.session_id.clone(), option.id.clone(), value);
            connection.send_request(request).block_task().await?;
        }
        Ok(())
    }
}

/// What the agent was not allowed to change is told beside its report.
fn with_denials(report: Report, denied: &[String]) -> Report {
    match report {
        Report::Fix(mut fix) if !denied.is_empty() => {
            let denied = format!("it was not allowed to change {}", denied.join(", "));
            fix.concerns =
                Some(fix.concerns.map_or(denied.clone(), |concerns| format!("{concerns}\n{denied}")));
            Report::Fix(fix)
        }
        other => other,
    }
}

fn refusal(reason: &str) -> Error {
    Error::invalid_params().data(reason.to_owned())
}

fn words(error: &Error) -> String {
    match &error.data {
        Some(data) => format!("{}: {}", error.message, super::lenient::as_text(data)),
        None => error.message.clone(),
    }
}

/// Prose that is an agent's error message and not a model's.
fn reads_as_error(text: &str) -> bool {
    let text = text.trim_start().to_lowercase();
    ["api error", "error:", "failed to authenticate", "invalid api key", "request failed", "stream error"]
        .iter()
        .any(|start| text.starts_with(start))
}

fn normal(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<_>>().join("/")
}

impl Desk {
    fn update(&self, update: acp::SessionUpdate) {
        match update {
            acp::SessionUpdate::AgentMessageChunk(chunk) => {
                if let acp::ContentBlock::Text(text) = chunk.content {
                    let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
                    if seen.text.len() < KEEP.tail {
                        seen.text.push_str(&text.text);
                    }
                }
            }
            acp::SessionUpdate::ToolCall(call) => {
                let target = call.locations.first().map(|location| self.short(&location.path));
                let title = call.title;
                let tool = format!("{:?}", call.kind).to_lowercase();
                self.tell(Progress { tool, target: target.or(Some(excerpt::head(&title, 160))) });
            }
            acp::SessionUpdate::UsageUpdate(usage) => {
                if let Some(cost) = usage.cost.filter(|cost| cost.currency.eq_ignore_ascii_case("usd")) {
                    self.seen.lock().unwrap_or_else(PoisonError::into_inner).cost_usd = Some(cost.amount);
                }
            }
            _ => {}
        }
    }

    fn tell(&self, progress: Progress) {
        if let Some(sender) = &self.progress {
            let _ = sender.send(progress);
        }
    }

    fn short(&self, path: &Path) -> String {
        excerpt::head(&path.strip_prefix(&self.workspace).unwrap_or(path).to_string_lossy(), 160)
    }

    /// Reading and searching is always allowed; changing only in scope, and running only to those who may edit.
    fn permission(&self, request: &acp::RequestPermissionRequest) -> acp::RequestPermissionResponse {
        let fields = &request.tool_call.fields;
        let kind = fields.kind.unwrap_or_default();
        let locations = fields.locations.as_deref().unwrap_or_default();
        let in_scope = || locations.iter().all(|location| self.writable(&location.path).is_ok());
        let allowed = match kind {
            acp::ToolKind::Read | acp::ToolKind::Search | acp::ToolKind::Think => true,
            acp::ToolKind::Edit | acp::ToolKind::Delete | acp::ToolKind::Move => self.may_edit && in_scope(),
            acp::ToolKind::Execute | acp::ToolKind::Other => self.may_edit,
            _ => false,
        };
        if !allowed && matches!(kind, acp::ToolKind::Edit | acp::ToolKind::Delete | acp::ToolKind::Move) {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.denied.extend(locations.iter().map(|location| self.short(&location.path)));
        }
        // Never "always": every request is decided by itself.
        let wanted = if allowed {
            acp::PermissionOptionKind::AllowOnce
        } else {
            acp::PermissionOptionKind::RejectOnce
        };
        let outcome = match request.options.iter().find(|option| option.kind == wanted) {
            Some(option) => acp::RequestPermissionOutcome::Selected(acp::SelectedPermissionOutcome::new(
                option.option_id.clone(),
            )),
            None => acp::RequestPermissionOutcome::Cancelled,
        };
        acp::RequestPermissionResponse::new(outcome)
    }

    fn read(&self, request: &acp::ReadTextFileRequest) -> Result<String, String> {
        let path = self.inside(&request.path)?;
        let meta = std::fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if !meta.is_file() || meta.len() > LONGEST_READ {
            return Err(format!("{} is not an ordinary file of readable size", path.display()));
        }
        let in_file =
            std::fs::read_to_string(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        let relative = self.relative(&path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match self.buffers.shown(&relative, &in_file) {
            Some(text) => {
                seen.unsaved.insert(relative, text.clone());
                text
            }
            None => {
                // Saved meanwhile: what the agent sees and what stands in the file are one again.
                seen.unsaved.remove(&relative);
                in_file
            }
        };
        drop(seen);
        if request.line.is_none() && request.limit.is_none() {
            return Ok(text);
        }
        let skip = request.line.map_or(0, |line| line.saturating_sub(1) as usize);
        let take = request.limit.map_or(usize::MAX, |limit| limit as usize);
        Ok(text.split_inclusive('\n').skip(skip).take(take).collect())
    }

    fn write(&self, request: &acp::WriteTextFileRequest) -> Result<(), String> {
        let path = self.writable(&request.path).inspect_err(|_| {
            let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
            seen.denied.push(self.short(&request.path));
        })?;
        self.tell(Progress { tool: "write".to_owned(), target: Some(self.short(&path)) });
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
        }
        let text = self.to_file(&path, &request.content)?;
        std::fs::write(&path, text).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// What a write means for the file: all of it, or the change of the unsaved text that the agent was shown.
    fn to_file(&self, path: &Path, written: &str) -> Result<String, String> {
        let relative = self.relative(path);
        let mut seen = self.seen.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(shown) = seen.unsaved.get_mut(&relative) else { return Ok(written.to_owned()) };
        let in_file =
            std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let text = self.buffers.to_file(shown, written, &in_file).ok_or_else(|| {
            format!("{relative} has unsaved changes in the editor on the lines that this would change; report it as blocked")
        })?;
        written.clone_into(shown);
        Ok(text)
    }

    fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.workspace).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// The path inside the workspace that is really meant, whether it exists yet or not.
    fn inside(&self, path: &Path) -> Result<PathBuf, String> {
        let outside = || format!("{} is outside of the workspace", path.display());
        let full = self.workspace.join(path);
        if full.components().any(|part| matches!(part, Component::ParentDir)) {
            return Err(outside());
        }
        let mut existing = full.as_path();
        while existing.symlink_metadata().is_err() {
            existing = existing.parent().ok_or_else(outside)?;
        }
        let rest = full.strip_prefix(existing).map_err(|_| outside())?;
        let real = existing.canonicalize().map_err(|error| format!("{}: {error}", existing.display()))?;
        let real = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        if real.starts_with(&self.workspace) { Ok(real) } else { Err(outside()) }
    }

    /// A path that the role may change.
    fn writable(&self, path: &Path) -> Result<PathBuf, String> {
        if !self.may_edit {
            return Err("this role may only read".to_owned());
        }
        let real = self.inside(path)?;
        let relative = self.relative(&real);
        if self.scope.contains(&relative) {
            return Ok(real);
        }
        Err(format!(
            "{relative} is outside of the scope; report needs_scope_expansion instead of changing it"
        ))
    }
}
