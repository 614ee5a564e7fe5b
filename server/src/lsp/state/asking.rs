//! Commands from the user, and questions to them.

use lsp_types::{ExecuteCommandParams, MessageType, NumberOrString, WorkDoneProgressCreateParams, request};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Error;

use crate::engine::{Command, EngineHandle, FindingView, Refusal, RefusalKind, Snapshot};

use super::super::commands::{Request, Subject, What, failed, invalid, refused};
use super::super::documents::canonical;
use super::super::folders::{Engine, Folder};
use super::super::questions::{PATIENCE, Prompt, PromptNumber, dialog};
use super::super::text::printable;
use super::{Event, Inner, Reply, State, answer, no_folder};

impl State {
    pub(super) fn command(&mut self, params: ExecuteCommandParams, reply: Reply<Option<Value>>) {
        let request = match Request::read(&params.command, params.arguments) {
            Ok(request) => request,
            Err(error) => return answer(reply, Err(error)),
        };
        if request.what == What::Engine(Command::Reload) && self.open_failed() {
            return answer(reply, Ok(Some(json!({"message": "opening the folder again", "loops": []}))));
        }
        let folders = match self.folders_for(&request) {
            Ok(folders) => folders,
            Err(error) => return answer(reply, Err(error)),
        };
        let command = match request.what {
            What::Report(finding) => return answer(reply, self.report(&folders, &finding)),
            What::Engine(command) => command,
            What::FixFile(uri) => {
                let file = uri.to_file_path().ok().map(|file| canonical(&file));
                let path =
                    file.and_then(|file| folders.iter().find_map(|folder| folder.repository_path(&file)));
                match path {
                    Some(path) => Command::FixFile { path },
                    None => return answer(reply, Err(failed(format!("{uri} is in no workspace folder")))),
                }
            }
        };
        let engines: Vec<EngineHandle> =
            folders.iter().filter_map(|folder| Some(folder.running()?.handle.clone())).collect();
        tokio::spawn(async move {
            let done = tell_all(&engines, &command).await;
            answer(reply, done.map(Some));
        });
    }

    fn report(&self, folders: &[&Folder], name: &str) -> Result<Option<Value>, Error> {
        let finding = folders.iter().find_map(|folder| named(folder.snapshot()?, name));
        let Some(finding) = finding else {
            return Err(invalid(format!("there is no finding `{name}`")));
        };
        let report = finding.report();
        // The reports' folder is made on first use; that is the only thing here that changes.
        let _ = self.events.send(Event::Inner(Inner::ShowReport {
            fingerprint: finding.detail.fingerprint.clone(),
            report: report.clone(),
        }));
        Ok(Some(Value::String(report)))
    }

    /// The folders that a command is for.
    fn folders_for(&self, request: &Request) -> Result<Vec<&Folder>, Error> {
        if self.folders.is_empty() {
            return Err(no_folder());
        }
        if let Some(uri) = &request.workspace {
            let named = self.folders.iter().find(|folder| folder.is_named(uri));
            let folder = named.ok_or_else(|| invalid(format!("`workspace`: {uri} is no open folder")))?;
            return if folder.running().is_some() {
                Ok(vec![folder])
            } else {
                Err(self.why_not(Some(folder)))
            };
        }
        let running: Vec<&Folder> = self.folders.iter().filter(|folder| folder.running().is_some()).collect();
        if running.is_empty() {
            return Err(self.why_not(self.folders.first()));
        }
        let subject = request.subject();
        if running.len() == 1 || subject == Subject::Everything {
            return Ok(running);
        }
        let mut knowing = running.into_iter().filter(|folder| knows(folder, &subject));
        match (knowing.next(), knowing.next()) {
            (Some(folder), None) => Ok(vec![folder]),
            (None, _) if subject != Subject::One => {
                Err(invalid("no workspace folder knows what the command is about".to_owned()))
            }
            _ => Err(invalid(
                "several workspace folders are open; say which with the key `workspace`".to_owned(),
            )),
        }
    }

    pub(super) fn why_not(&self, folder: Option<&Folder>) -> Error {
        match folder.map(|folder| &folder.engine) {
            Some(Engine::Failed { reason, .. }) => failed(printable(reason)),
            Some(Engine::Opening) => {
                failed("the workspace folder is still being opened; try again in a moment")
            }
            Some(Engine::Open(_)) | None => no_folder(),
        }
    }

    pub(super) fn cancel_progress(&self, token: &NumberOrString) {
        let NumberOrString::String(token) = token else { return };
        let Some((folder, id)) = self.loops.of_token(token) else { return };
        let Some(handle) = self.engine(folder) else { return };
        self.tell_engine(handle, Command::Cancel { r#loop: Some(id) });
    }

    pub(super) fn create_progress(&self, token: String) {
        if !self.capabilities.progress {
            return;
        }
        let params = WorkDoneProgressCreateParams { token: NumberOrString::String(token.clone()) };
        let created = self.client.request::<request::WorkDoneProgressCreate>(params);
        self.spawn(async move { Inner::ProgressCreated { agreed: created.await.is_ok(), token } });
    }

    pub(super) fn prompt(&self, prompt: Option<Prompt>) {
        let Some(Prompt { number, question, .. }) = prompt else { return };
        let asked = self.client.request::<request::ShowMessageRequest>(dialog(&question));
        let events = self.events.clone();
        tokio::spawn(async move {
            tokio::pin!(asked);
            let chosen = tokio::select! {
                chosen = &mut asked => chosen,
                () = tokio::time::sleep(PATIENCE) => {
                    let _ = events.send(Event::Inner(Inner::PatienceOver(number)));
                    asked.await
                }
            };
            let chosen = chosen.ok().flatten().map(|item| item.title);
            let _ = events.send(Event::Inner(Inner::Answered(number, chosen)));
        });
    }

    pub(super) fn answered(&mut self, number: PromptNumber, chosen: Option<&str>) {
        let (settled, next) = self.questions.answered(number, chosen);
        if let (Some(prompt), Some(choice)) = (settled, chosen)
            && let Some(handle) = self.engine(prompt.folder)
        {
            let command =
                Command::Answer { question: prompt.question.id, choice: choice.to_owned(), text: None };
            self.tell_engine(handle, command);
        }
        self.prompt(next);
    }

    fn engine(&self, id: u64) -> Option<EngineHandle> {
        let folder = self.folders.iter().find(|folder| folder.id == id)?;
        Some(folder.running()?.handle.clone())
    }

    /// A command that no request waits for: a refusal is told, unless it only came too late.
    fn tell_engine(&self, engine: EngineHandle, command: Command) {
        let client = self.client.clone();
        tokio::spawn(async move {
            if let Err(refusal) = engine.command(command).await {
                let message = format!("Fix Loop: {}", printable(&refusal.message));
                match refusal.kind {
                    RefusalKind::Unknown => client.log(MessageType::INFO, message),
                    RefusalKind::NotNow | RefusalKind::Environment => {
                        client.show(MessageType::WARNING, message)
                    }
                }
            }
        });
    }
}

async fn tell_all(engines: &[EngineHandle], command: &Command) -> Result<Value, Error> {
    let mut done: Option<crate::engine::Reply> = None;
    let mut refusal: Option<Refusal> = None;
    for engine in engines {
        match (engine.command(command.clone()).await, &mut done) {
            (Ok(reply), None) => done = Some(reply),
            (Ok(reply), Some(done)) => {
                done.message = format!("{}\n{}", done.message, reply.message);
                done.loops.extend(reply.loops);
            }
            (Err(refused), _) => refusal = Some(refusal.unwrap_or(refused)),
        }
    }
    match (done, refusal) {
        (Some(reply), _) => serde_json::to_value(reply).map_err(|_| Error::internal_error()),
        (None, Some(refusal)) => Err(refused(refusal)),
        (None, None) => Err(no_folder()),
    }
}

/// The finding that goes by this name: its shown id or its fingerprint.
fn named<'a>(snapshot: &'a Snapshot, name: &str) -> Option<&'a FindingView> {
    snapshot.findings.iter().map(|finding| &**finding).find(|finding| {
        finding.detail.fingerprint == name
            || match &finding.detail.id {
                Value::String(id) => id == name,
                id => {
                    let shown = id.to_string();
                    shown == name
                }
            }
    })
}

fn knows(folder: &Folder, subject: &Subject<'_>) -> bool {
    let Some(snapshot) = folder.snapshot() else { return false };
    match subject {
        Subject::Findings(names) => names.iter().all(|name| named(snapshot, name).is_some()),
        Subject::Question(id) => snapshot.questions.iter().any(|question| question.id == *id),
        Subject::Loop(id) => {
            let offered = |finding: &FindingView| {
                let offers = &finding.offers;
                [&offers.undo, &offers.cancel].into_iter().any(|offered| offered.as_deref() == Some(*id))
            };
            snapshot.status.loops.iter().any(|known| known.id == *id)
                || snapshot.findings.iter().any(|finding| offered(finding))
        }
        Subject::File(name) => match lsp_types::Url::parse(name).ok().and_then(|uri| uri.to_file_path().ok())
        {
            Some(file) => folder.repository_path(&canonical(&file)).is_some(),
            None => snapshot.findings.iter().any(|finding| finding.detail.file.as_deref() == Some(*name)),
        },
        Subject::Everything => true,
        Subject::One => false,
    }
}
