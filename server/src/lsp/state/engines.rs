//! Opening and closing engines, and following what they say.

use std::path::Path;

use futures::FutureExt;
use lsp_types::{MessageType, Url, WorkspaceFoldersChangeEvent, request};
use serde_json::Value;
use tokio::sync::{broadcast, oneshot, watch};
use tokio::task::JoinSet;

use crate::engine::{EngineHandle, Notice, NoticeLevel};

use super::super::documents::canonical;
use super::super::folders::{Engine, Folder, FolderId, Running, Touched};
use super::super::text::printable;
use super::super::watching::{self, Targets};
use super::{Event, Inner, Phase, State};

/// The tasks that follow one engine. Dropping them ends them.
pub(super) struct Followers {
    _tasks: JoinSet<()>,
    targets: watch::Sender<Targets>,
}

impl State {
    /// The same folder under two spellings is one folder.
    pub(super) fn add_folder(&mut self, uri: &Url) -> Option<FolderId> {
        self.last_folder += 1;
        let folder = Folder::new(self.last_folder, uri)?;
        if self.folders.iter().any(|known| known.canonical == folder.canonical) {
            return None;
        }
        let id = folder.id;
        self.folders.push(folder);
        Some(id)
    }

    /// Opens the folder's engine with the present settings, after `before` has ended.
    pub(super) fn open_engine(&mut self, id: FolderId, before: Option<EngineHandle>) {
        let Some(folder) = self.folders.iter_mut().find(|folder| folder.id == id) else { return };
        folder.engine = Engine::Opening;
        let settings = self.settings.clone();
        let opening = (self.open)(folder.path.clone(), settings.clone(), self.trusted);
        self.spawn(async move {
            if let Some(before) = before {
                before.shutdown().await;
            }
            // On a task of its own, so that a panic in it is an error and not a folder that never opens.
            let engine = tokio::spawn(opening).await.unwrap_or_else(|error| Err(error.to_string()));
            Inner::EngineOpened { folder: id, settings, engine }
        });
    }

    pub(super) fn engine_opened(
        &mut self,
        id: FolderId,
        settings: Option<Value>,
        engine: Result<EngineHandle, String>,
    ) {
        let folder = self.folders.iter_mut().find(|folder| folder.id == id);
        let Some(folder) = folder.filter(|_| self.phase != Phase::Ended) else {
            return self.leave(engine.ok());
        };
        match engine {
            Ok(handle) => {
                let root = canonical(&handle.snapshot().root);
                let followers = follow(id, &handle, &self.events);
                folder.engine = Engine::Open(Box::new(Running::new(handle, root, settings)));
                self.followers.retain(|(of, _)| *of != id);
                self.followers.push((id, followers));
                self.anchors.forget(id, |_| false);
                self.introduce_documents(id);
                self.snapshot_changed(id);
                self.refresh_diagnostics(&Touched::Everything);
            }
            Err(reason) => {
                self.client.show(MessageType::ERROR, printable(&format!("Fix Loop: {reason}")));
                folder.engine = Engine::Failed { reason, settings };
                self.refresh_diagnostics(&Touched::Everything);
            }
        }
        if !self.is_opening() {
            for event in std::mem::take(&mut self.early) {
                self.handle(event);
            }
        }
    }

    pub(super) fn snapshot_changed(&mut self, id: FolderId) {
        let workspace = self.workspace_name(id);
        let Some(folder) = self.folders.iter_mut().find(|folder| folder.id == id) else { return };
        let Engine::Open(running) = &mut folder.engine else { return };
        let mut touched = running.follow();
        running.inbox = watching::inbox(&running.root, running.settings.as_ref());
        let snapshot = running.snapshot.clone();
        touched.also(self.agree_with_engine(id));
        self.refresh_diagnostics(&touched);
        self.refresh_lenses();
        self.offer_edits(id, &snapshot);
        self.statuses.refresh(id, &snapshot.status, workspace.as_deref(), &self.client);
        for token in self.loops.update(id, &snapshot) {
            self.create_progress(token);
        }
        let prompt = self.questions.update(id, &snapshot.questions);
        self.prompt(prompt);
        self.retarget(id);
        self.apply_settings();
    }

    pub(super) fn engine_gone(&mut self, id: FolderId) {
        let Some(folder) = self.folders.iter_mut().find(|folder| folder.id == id) else { return };
        let reason =
            format!("the engine of {} has stopped; `fix-loop.reload` opens it again", folder.path.display());
        self.client.show(MessageType::ERROR, format!("Fix Loop: {reason}"));
        folder.engine = Engine::Failed { reason, settings: self.settings.clone() };
        self.forget(id);
        self.refresh_diagnostics(&Touched::Everything);
    }

    pub(super) fn noticed(&mut self, _folder: FolderId, notice: &Notice) {
        let message = printable(&notice.message);
        match notice.level {
            // Live output is part of the loop's progress, by way of the snapshot.
            NoticeLevel::Worker => self.client.log(MessageType::LOG, message),
            NoticeLevel::Info => self.client.log(MessageType::INFO, message),
            NoticeLevel::Warning => self.client.log(MessageType::WARNING, message),
            NoticeLevel::Error => self.client.show(MessageType::ERROR, format!("Fix Loop: {message}")),
        }
    }

    pub(super) fn change_folders(&mut self, change: &WorkspaceFoldersChangeEvent) {
        for removed in &change.removed {
            let Some(at) = self.folders.iter().position(|folder| folder.is_named(removed.uri.as_str()))
            else {
                continue;
            };
            let folder = self.folders.remove(at);
            self.forget(folder.id);
            self.leave(folder.running().map(|running| running.handle.clone()));
        }
        self.refresh_diagnostics(&Touched::Everything);
        let added: Vec<FolderId> =
            change.added.iter().filter_map(|added| self.add_folder(&added.uri)).collect();
        for &folder in &added {
            self.open_engine(folder, None);
        }
        if !added.is_empty() && self.capabilities.relative_patterns {
            self.register_watchers();
        }
    }

    /// What was shown for a folder that has no engine any more.
    fn forget(&mut self, id: FolderId) {
        self.followers.retain(|(of, _)| *of != id);
        self.anchors.forget(id, |_| false);
        self.loops.forget(id);
        self.statuses.forget(id);
        self.edits_sent.retain(|(of, _), _| *of != id);
        let next = self.questions.update(id, &[]);
        self.prompt(next);
    }

    /// `workspace/didChangeConfiguration`. Editors that keep their settings to themselves send `null` and are asked.
    pub(super) fn configure(&mut self, settings: Value) {
        if settings.is_null() {
            return self.ask_for_settings();
        }
        match settings.get("fixLoop") {
            Some(Value::Null) => self.configure_with(serde_json::json!({})),
            Some(own) => self.configure_with(own.clone()),
            None => self.configure_with(settings),
        }
    }

    /// An editor that hands out its settings only when it is asked.
    pub(super) fn ask_for_settings(&self) {
        if !self.capabilities.gives_configuration {
            return;
        }
        let item = lsp_types::ConfigurationItem { scope_uri: None, section: Some("fixLoop".into()) };
        let params = lsp_types::ConfigurationParams { items: vec![item] };
        let asked = self.client.request::<request::WorkspaceConfiguration>(params);
        self.spawn(async move {
            let first = asked.await.ok().and_then(|values| values.into_iter().next());
            Inner::Configured(first.unwrap_or(Value::Null))
        });
    }

    pub(super) fn configure_with(&mut self, settings: Value) {
        let empty = settings.as_object().is_some_and(serde_json::Map::is_empty);
        if !settings.is_object() || (empty && self.settings.is_none()) {
            return;
        }
        self.settings = Some(settings);
        self.apply_settings();
    }

    /// Engines are opened anew with other settings, but never under a loop or an open question.
    fn apply_settings(&mut self) {
        let mut reopen = Vec::new();
        for folder in &self.folders {
            if let Engine::Failed { settings, .. } = &folder.engine
                && *settings != self.settings
            {
                reopen.push((folder.id, None));
            }
            let Engine::Open(running) = &folder.engine else { continue };
            let busy = self.loops.busy(folder.id) || !running.snapshot.questions.is_empty();
            if running.settings != self.settings && !busy {
                reopen.push((folder.id, Some(running.handle.clone())));
            }
        }
        for (id, handle) in reopen {
            self.followers.retain(|(of, _)| *of != id);
            self.open_engine(id, handle);
        }
    }

    /// Tries again what could not be opened. Says whether there was anything.
    pub(super) fn open_failed(&mut self) -> bool {
        let failed = self.folders.iter().filter(|folder| matches!(folder.engine, Engine::Failed { .. }));
        let failed: Vec<FolderId> = failed.map(|folder| folder.id).collect();
        for &folder in &failed {
            self.open_engine(folder, None);
        }
        !failed.is_empty()
    }

    /// Asked for by `shutdown` and again at the end of the process; both wait for the same end.
    pub(super) fn shutdown(&mut self, done: oneshot::Sender<()>) {
        self.phase = Phase::Ended;
        self.early.clear();
        self.followers.clear();
        self.loops.end_all();
        for folder in std::mem::take(&mut self.folders) {
            self.leave(folder.running().map(|running| running.handle.clone()));
        }
        let leaving = std::mem::take(&mut self.leaving);
        let earlier = self.farewell.take();
        let farewell = async move {
            if let Some(earlier) = earlier {
                earlier.await;
            }
            futures::future::join_all(leaving).await;
        };
        let farewell = farewell.boxed().shared();
        self.farewell = Some(farewell.clone());
        tokio::spawn(async move {
            farewell.await;
            let _ = done.send(());
        });
    }

    /// Ends an engine without waiting for it.
    fn leave(&mut self, engine: Option<EngineHandle>) {
        self.leaving.retain(|leaving| !leaving.is_finished());
        if let Some(engine) = engine {
            self.leaving.push(tokio::spawn(async move { engine.shutdown().await }));
        }
    }

    pub(super) fn register_watchers(&mut self) {
        if !self.capabilities.watches_files || self.folders.is_empty() {
            return;
        }
        let params = watching::registration(&self.folders, self.capabilities.relative_patterns);
        let asked = self.client.request::<request::RegisterCapability>(params);
        tokio::spawn(async move {
            if let Err(error) = asked.await {
                tracing::warn!("the editor does not watch files after all: {error}");
            }
        });
    }

    pub(super) fn files_changed(&self, params: &lsp_types::DidChangeWatchedFilesParams) {
        let files: Vec<_> =
            params.changes.iter().filter_map(|change| change.uri.to_file_path().ok()).collect();
        let is_under = |folder: &Folder, file: &Path| canonical(file).starts_with(&folder.canonical);
        for folder in &self.folders {
            if let Some(running) = folder.running()
                && files.iter().any(|file| is_under(folder, file))
            {
                running.handle.files_changed();
            }
        }
    }

    fn retarget(&self, id: FolderId) {
        let folder = self.folders.iter().find(|folder| folder.id == id);
        let followers = self.followers.iter().find(|(of, _)| *of == id);
        if let (Some(folder), Some((_, followers))) = (folder, followers) {
            let targets = watching::targets(folder, self.capabilities.watches_files);
            followers.targets.send_if_modified(|present| {
                let different = *present != targets;
                *present = targets;
                different
            });
        }
    }
}

fn follow(
    id: FolderId,
    handle: &EngineHandle,
    events: &tokio::sync::mpsc::UnboundedSender<Event>,
) -> Followers {
    let mut tasks = JoinSet::new();
    let mut snapshots = handle.watch();
    snapshots.mark_unchanged();
    let to_state = events.clone();
    tasks.spawn(async move {
        while snapshots.changed().await.is_ok() {
            let _ = to_state.send(Event::Inner(Inner::SnapshotChanged(id)));
        }
        let _ = to_state.send(Event::Inner(Inner::EngineGone(id)));
    });
    let mut notices = handle.notices_from_the_start();
    let to_state = events.clone();
    tasks.spawn(async move {
        loop {
            match notices.recv().await {
                Ok(notice) => drop(to_state.send(Event::Inner(Inner::Noticed(id, notice)))),
                Err(broadcast::error::RecvError::Lagged(_)) => {}
                Err(broadcast::error::RecvError::Closed) => return,
            }
        }
    });
    let (targets, watched) = watch::channel(Targets::default());
    let engine = handle.clone();
    tasks.spawn(watching::poll(watched, move || engine.files_changed()));
    Followers { _tasks: tasks, targets }
}
