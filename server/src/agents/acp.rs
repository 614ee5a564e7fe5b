//! Agents that speak the Agent Client Protocol, version 1 (DESIGN 8). The only file that names the protocol's crate.
//!
//! Reads and writes that the agent asks for go to the `desk`, and permission is given by kind and by scope. None of that is
//! relied on: most agents write straight to disk, and the scope guard of the engine is what enforces. A follow-up for a
//! missing report is a second prompt in the same session.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::Duration;

use agent_client_protocol::schema::ProtocolVersion;
use agent_client_protocol::v1::ConnectionTo;
use agent_client_protocol::v1::schema as acp;
use agent_client_protocol::{Agent, ByteStreams, Client, Error};
use tokio::sync::mpsc::UnboundedSender;
use tokio::time::timeout;
use tokio_util::compat::{TokioAsyncReadCompatExt as _, TokioAsyncWriteCompatExt as _};

use super::desk::Desk;
use super::failure::{FailureClass, reads_as_error};
use super::follow_up::{follow_up, missing_from};
use super::outcome::Usage;
use super::parse::{ReportProblem, parse_report};
use super::run::{Dispatch, LEAST};
use super::seen::{End, Said, Seen};
use super::stream::Progress;
use super::talking::{FAREWELL, Talk, messages_only};
use crate::process::Conversation;

/// How long one may take to say hello. Some are fetched and started by the command that names them; a program that speaks
/// something else would be waited for until its limit.
const GREETING: Duration = Duration::from_secs(180);

/// The client's side of one conversation.
pub(super) struct Table {
    desk: Desk,
    progress: Option<UnboundedSender<Progress>>,
    session: OnceLock<acp::SessionId>,
    seen: Mutex<Seen>,
}

impl Dispatch<'_> {
    pub(super) async fn talk(&self, conversation: Conversation, table: Arc<Table>) -> Talk {
        let (clean, output) = tokio::io::duplex(64 * 1024);
        let cleaning = messages_only(conversation.output, clean);
        let io = ByteStreams::new(conversation.input.compat_write(), output.compat());
        let (updates, permissions, reads, writes) =
            (table.clone(), table.clone(), table.clone(), table.clone());
        let talking = Client
            .v1()
            .name("fix-loop")
            .on_receive_notification(
                async move |notification: acp::SessionNotification, _connection| {
                    updates.update(notification);
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
            .connect_with(io, async |connection: ConnectionTo<Agent>| {
                self.session(&connection, &table).await
            });
        let outcome = tokio::select! {
            outcome = talking => outcome,
            never = cleaning => match never {},
        };
        outcome.unwrap_or_else(|error| {
            let account = error.code == acp::ErrorCode::AuthRequired;
            let message = match table.seen().logins.as_slice() {
                logins @ [_, ..] if account => format!("{}; it offers: {}", words(&error), logins.join(", ")),
                _ => words(&error),
            };
            Talk::Failed { message, class: account.then_some(FailureClass::Account) }
        })
    }

    async fn session(&self, connection: &ConnectionTo<Agent>, table: &Table) -> Result<Talk, Error> {
        let may_edit = table.desk.may_edit();
        let files = acp::FileSystemCapabilities::new().read_text_file(true).write_text_file(may_edit);
        let hello = acp::InitializeRequest::new(ProtocolVersion::V1)
            .client_capabilities(acp::ClientCapabilities::new().fs(files));
        let Ok(greeting) = timeout(GREETING, connection.send_request(hello).block_task()).await else {
            let seconds = GREETING.as_secs();
            let message =
                format!("it did not answer within {seconds} seconds; does this command speak the protocol?");
            return Ok(Talk::Failed { message, class: Some(FailureClass::Environment) });
        };
        let greeting = match greeting {
            // The crate compares the versions.
            Err(error) if words(&error).contains("protocol version") => {
                let message =
                    format!("it speaks another version of the Agent Client Protocol ({})", words(&error));
                return Ok(Talk::Failed { message, class: Some(FailureClass::Environment) });
            }
            greeting => greeting?,
        };
        table.seen().logins = greeting.auth_methods.iter().map(|one| one.name().to_owned()).collect();
        let session =
            connection.send_request(acp::NewSessionRequest::new(self.job.cwd.clone())).block_task().await?;
        let _ = table.session.set(session.session_id.clone());
        self.choose_mode(connection, &session, may_edit).await?;
        self.choose_model(connection, &session).await?;
        let talk = self.report(connection, &session.session_id, table).await?;
        if greeting.agent_capabilities.session_capabilities.close.is_some() {
            // So that it ends what it started itself. What it answers changes nothing.
            let close = acp::CloseSessionRequest::new(session.session_id);
            let _ = timeout(FAREWELL, connection.send_request(close).block_task()).await;
        }
        Ok(talk)
    }

    async fn report(
        &self,
        connection: &ConnectionTo<Agent>,
        session: &acp::SessionId,
        table: &Table,
    ) -> Result<Talk, Error> {
        let mut talk = self.ask(connection, session, table, self.prompt()).await?;
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
            match self.ask(connection, session, table, text).await? {
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
        table: &Table,
        text: String,
    ) -> Result<Talk, Error> {
        table.seen().text.clear();
        let content = vec![acp::ContentBlock::Text(acp::TextContent::new(text))];
        let answer =
            connection.send_request(acp::PromptRequest::new(session.clone(), content)).block_task().await?;
        let said = {
            let mut seen = table.seen();
            let tokens = answer.usage.map(|usage| usage.total_tokens).filter(|tokens| *tokens > 0);
            seen.usage.add(Usage { cost_usd: None, tokens });
            seen.text.clone()
        };
        let early =
            |why: &str| Ok(Talk::Problem(ReportProblem::Invalid(format!("the turn ended early: {why}"))));
        // A session that has forgotten what it was asked is not asked for a report about it.
        let over = |message: &str| {
            Ok(Talk::Failed { message: message.to_owned(), class: Some(FailureClass::NoReport) })
        };
        match answer.stop_reason {
            acp::StopReason::EndTurn => {
                Ok(match parse_report(self.job.brief.role, self.job.brief.protocol, &said) {
                    Ok(report) => Talk::Report(Box::new(report)),
                    // Some agents end their turn in good order and say in prose that the service failed.
                    Err(ReportProblem::NoReport(_)) if said.len() < 2_000 && reads_as_error(&said) => {
                        Talk::Failed { message: said.trim().to_owned(), class: None }
                    }
                    Err(problem) => Talk::Problem(problem),
                })
            }
            acp::StopReason::MaxTokens => early("the model came to its limit of tokens"),
            acp::StopReason::MaxTurnRequests => early("the agent came to its limit of requests"),
            acp::StopReason::Refusal => over("the model refused to go on"),
            acp::StopReason::Cancelled => over("the agent cancelled its turn by itself"),
            _ => early("for a reason that is not known here"),
        }
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

fn refusal(reason: &str) -> Error {
    Error::invalid_params().data(reason.to_owned())
}

fn words(error: &Error) -> String {
    match &error.data {
        Some(data) => format!("{}: {}", error.message, super::lenient::as_text(data)),
        None => error.message.clone(),
    }
}

/// Why a call failed, in the agent's words.
fn why(fields: &acp::ToolCallUpdateFields) -> String {
    let mut why = fields.raw_output.as_ref().map(super::lenient::as_text).unwrap_or_default();
    for content in fields.content.iter().flatten() {
        if let acp::ToolCallContent::Content(content) = content
            && let acp::ContentBlock::Text(text) = &content.content
        {
            why.push_str(&text.text);
        }
    }
    why
}

fn name_of(kind: acp::ToolKind) -> String {
    format!("{kind:?}").to_lowercase()
}

fn changes_files(kind: acp::ToolKind) -> bool {
    matches!(kind, acp::ToolKind::Edit | acp::ToolKind::Delete | acp::ToolKind::Move)
}

impl Table {
    pub(super) fn new(dispatch: &Dispatch<'_>) -> Self {
        Table {
            desk: Desk::new(&dispatch.job.cwd, &dispatch.job.brief, &dispatch.job.buffers),
            progress: dispatch.progress.clone(),
            session: OnceLock::new(),
            seen: Mutex::default(),
        }
    }

    pub(super) fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What an agent does in other sessions is no part of this dispatch.
    fn is_ours(&self, session: &acp::SessionId) -> bool {
        self.session.get().is_none_or(|ours| ours == session)
    }

    fn update(&self, notification: acp::SessionNotification) {
        if !self.is_ours(&notification.session_id) {
            return;
        }
        match notification.update {
            acp::SessionUpdate::AgentMessageChunk(chunk) => {
                if let acp::ContentBlock::Text(text) = chunk.content {
                    self.seen().say(&text.text);
                }
            }
            acp::SessionUpdate::ToolCall(call) => self.tool(call.into()),
            acp::SessionUpdate::ToolCallUpdate(call) => self.tool(call),
            acp::SessionUpdate::UsageUpdate(usage) => {
                if let Some(cost) = usage.cost.filter(|cost| cost.currency.eq_ignore_ascii_case("usd")) {
                    // The session's sum so far.
                    self.seen().usage.cost_usd = Some(cost.amount);
                }
            }
            _ => {}
        }
    }

    fn tool(&self, update: acp::ToolCallUpdate) {
        let fields = update.fields;
        let is_described = fields
            .raw_input
            .as_ref()
            .is_some_and(|input| input.as_object().map_or(!input.is_null(), |object| !object.is_empty()));
        let said = Said {
            tool: fields.kind.map(name_of),
            changes: fields.kind.map(changes_files),
            is_described: is_described || fields.status == Some(acp::ToolCallStatus::InProgress),
            ended: match fields.status {
                Some(acp::ToolCallStatus::Completed) => Some(End::Well),
                Some(acp::ToolCallStatus::Failed) => Some(End::Failed(why(&fields))),
                _ => None,
            },
            title: fields.title,
            paths: fields
                .locations
                .into_iter()
                .flatten()
                .map(|location| self.desk.relative(&location.path).into())
                .collect(),
        };
        if let Some(call) = self.seen().tool(&update.tool_call_id.0, said) {
            let target = match call.paths.first() {
                Some(path) => self.desk.short(path),
                None => call.heading(),
            };
            self.tell(Progress { tool: call.tool, target: Some(target) });
        }
    }

    fn tell(&self, progress: Progress) {
        if let Some(sender) = &self.progress {
            let _ = sender.send(progress);
        }
    }

    /// Reading and searching is always allowed; changing only in scope, and running only to those who may edit.
    fn permission(&self, request: &acp::RequestPermissionRequest) -> acp::RequestPermissionResponse {
        let fields = &request.tool_call.fields;
        let id = &request.tool_call.tool_call_id.0;
        // It may have been described before it is asked about.
        let known = self.seen().call(id).cloned();
        let mut paths: Vec<PathBuf> =
            fields.locations.iter().flatten().map(|location| location.path.clone()).collect();
        if paths.is_empty() {
            paths = known.as_ref().map(|call| call.paths.clone()).unwrap_or_default();
        }
        let changes = fields.kind.map_or(known.as_ref().is_some_and(|call| call.changes), changes_files);
        let tool = fields.kind.map(name_of).or(known.map(|call| call.tool)).unwrap_or_default();
        let allowed = match tool.as_str() {
            _ if changes => self.desk.may_edit() && paths.iter().all(|path| self.desk.writable(path).is_ok()),
            "read" | "search" | "think" => true,
            "execute" | "other" | "" => self.desk.may_edit(),
            _ => false,
        };
        let allowed = allowed && self.is_ours(&request.session_id);
        let choose = |kinds: &[acp::PermissionOptionKind]| {
            kinds.iter().find_map(|kind| request.options.iter().find(|option| option.kind == *kind))
        };
        // Never "always" to allow: every request is decided by itself, and some agents keep it in the user's settings.
        let yes = choose(&[acp::PermissionOptionKind::AllowOnce]).filter(|_| allowed);
        let no = choose(&[acp::PermissionOptionKind::RejectOnce, acp::PermissionOptionKind::RejectAlways]);
        if yes.is_none() {
            let mut seen = self.seen();
            seen.refuse_call(id);
            let shown = paths.iter().filter(|_| changes).map(|path| self.desk.short(path));
            if allowed {
                seen.deny(shown.map(|path| format!("{path} (it can only be allowed for ever)")));
            } else {
                seen.refused.extend(shown);
            }
        }
        let outcome = match yes.or(no) {
            Some(option) => acp::RequestPermissionOutcome::Selected(acp::SelectedPermissionOutcome::new(
                option.option_id.clone(),
            )),
            None => acp::RequestPermissionOutcome::Cancelled,
        };
        acp::RequestPermissionResponse::new(outcome)
    }

    fn read(&self, request: &acp::ReadTextFileRequest) -> Result<String, String> {
        self.known(&request.session_id)?;
        self.desk.read(&request.path, request.line, request.limit)
    }

    fn write(&self, request: &acp::WriteTextFileRequest) -> Result<(), String> {
        self.known(&request.session_id)?;
        if let Err(reason) = self.desk.writable(&request.path) {
            self.seen().refused.push(self.desk.short(&request.path));
            return Err(reason);
        }
        self.tell(Progress { tool: "write".to_owned(), target: Some(self.desk.short(&request.path)) });
        self.desk.write(&request.path, &request.content)
    }

    fn known(&self, session: &acp::SessionId) -> Result<(), String> {
        if self.is_ours(session) { Ok(()) } else { Err(format!("there is no session {session}")) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::agents::{AgentSpec, Kind, Role};
    use crate::process::{Cancel, Supervisor};

    #[tokio::test(start_paused = true)]
    async fn a_program_that_never_answers_is_not_waited_for_until_its_limit() {
        let agent = AgentSpec::new("mine", Kind::Acp { command: vec!["cat".into()] });
        let (supervisor, cancel) = (Supervisor::new("fix-loop"), Cancel::new());
        let mut job = crate::agents::tests::job(Role::Fixer, agent);
        let folder = tempfile::tempdir().expect("a temporary folder");
        job.transcript_dir = folder.path().to_owned();
        let dispatch = Dispatch::new(job, &supervisor, &cancel, None);
        let (input, _silent) = tokio::io::duplex(1 << 20);
        let (_open, output) = tokio::io::duplex(1 << 20);
        let began = tokio::time::Instant::now();
        let talk = dispatch.talk(Conversation { input, output }, Arc::new(Table::new(&dispatch))).await;
        let Talk::Failed { message, class } = talk else { panic!("nobody answered") };
        assert_eq!(class, Some(FailureClass::Environment));
        assert!(message.contains("does this command speak the protocol?"), "{message}");
        assert_eq!(began.elapsed(), GREETING);
    }
}
