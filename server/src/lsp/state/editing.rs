//! What the editor does to its documents.

use std::collections::{BTreeSet, HashSet};
use std::path::{Path, PathBuf};

use lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DidSaveTextDocumentParams, TextDocumentContentChangeEvent,
};

use crate::engine::BufferEvent;

use super::super::anchors::Edit;
use super::super::documents::Document;
use super::super::folders::{FolderId, folder_of};
use super::super::text::{Text, line_breaks};
use super::super::watching::{CONFIGURATION, INBOX};
use super::State;

impl State {
    pub(super) fn opened(&mut self, params: DidOpenTextDocumentParams) {
        let document = params.text_document;
        let Some(document) = self.documents.open(document.uri, document.version, &document.text) else {
            return;
        };
        let (uri, file) = (document.uri.clone(), document.canonical.clone());
        if let Some(document) = self.documents.get(&uri) {
            self.introduce(document);
        }
        self.refresh_file(file);
    }

    pub(super) fn changed(&mut self, params: DidChangeTextDocumentParams) {
        let uri = params.text_document.uri;
        let encoding = self.capabilities.encoding;
        let Some(document) = self.documents.get_mut(&uri) else {
            tracing::warn!("a change of {uri}, which is not open, is ignored");
            return;
        };
        document.version = params.text_document.version;
        let mut changes = Vec::new();
        for change in &params.content_changes {
            changes.push((document.text.clone(), change));
            document.text.apply(change, encoding);
        }
        let (file, text) = (document.canonical.clone(), document.text.content().clone());
        let told = self.forward(&file, |path| BufferEvent::Changed { path, text });
        for (before, change) in changes {
            self.move_findings(&file, &before, change, told);
        }
        self.refresh_file(file);
    }

    pub(super) fn saved(&mut self, params: DidSaveTextDocumentParams) {
        let Some(document) = self.documents.get_mut(&params.text_document.uri) else { return };
        document.saved = document.text.content().clone();
        let (canonical, text) = (document.canonical.clone(), document.text.content().clone());
        let is_input = canonical.ends_with(CONFIGURATION)
            || canonical.to_string_lossy().replace('\\', "/").contains(&format!("/{INBOX}/"));
        self.forward(&canonical, |path| BufferEvent::Saved { path, text });
        let folder = folder_of(&self.folders, &canonical).and_then(|folder| folder.running());
        if let (true, Some(running)) = (is_input, folder) {
            running.handle.files_changed();
        }
    }

    pub(super) fn closed(&mut self, params: DidCloseTextDocumentParams) {
        let Some(document) = self.documents.close(&params.text_document.uri) else { return };
        if self.documents.of_file(&document.canonical).is_empty() {
            self.forward(&document.canonical, |path| BufferEvent::Closed { path });
        }
        // What was not saved is gone, and with it the places that it had moved.
        for folder in &self.folders {
            let cited = folder.cited_in(&document.canonical);
            let gone: HashSet<&str> = cited.iter().map(|(finding, _)| &*finding.detail.fingerprint).collect();
            self.anchors.forget(folder.id, |fingerprint| !gone.contains(fingerprint));
        }
        self.refresh_file(document.canonical);
    }

    /// Takes the engine's word for where findings are, as far as it has seen what was typed. Gives the files in which
    /// something is shown elsewhere now.
    pub(super) fn agree_with_engine(&mut self, id: FolderId) -> BTreeSet<PathBuf> {
        let mut moved = BTreeSet::new();
        let folder = self.folders.iter().find(|folder| folder.id == id);
        let Some((folder, running)) = folder.and_then(|folder| Some((folder, folder.running()?))) else {
            return moved;
        };
        if self.anchors.is_empty(id) {
            return moved;
        }
        let mut still = HashSet::new();
        for document in self.documents.all() {
            for (finding, lines) in folder.cited_in(&document.canonical) {
                let fingerprint = finding.detail.fingerprint.as_str();
                still.insert(fingerprint);
                if self.anchors.told((id, fingerprint), lines, running.snapshot.buffers_taken) {
                    moved.insert(document.canonical.clone());
                }
            }
        }
        self.anchors.forget(id, |fingerprint| still.contains(fingerprint));
        moved
    }

    /// Tells a folder's engine about every document that was opened before it.
    pub(super) fn introduce_documents(&self, folder: FolderId) {
        for document in self.documents.all() {
            if folder_of(&self.folders, &document.canonical).is_some_and(|owner| owner.id == folder) {
                self.introduce(document);
            }
        }
    }

    /// The engine takes the text of an opened buffer as saved.
    fn introduce(&self, document: &Document) {
        let (saved, text) = (document.saved.clone(), document.text.content().clone());
        let changed = (saved != text).then_some(text);
        self.forward(&document.canonical, |path| BufferEvent::Opened { path, text: saved });
        if let Some(text) = changed {
            self.forward(&document.canonical, |path| BufferEvent::Changed { path, text });
        }
    }

    /// Which folder's engine was told, and the number of the event.
    fn forward(&self, file: &Path, event: impl FnOnce(String) -> BufferEvent) -> Option<(FolderId, u64)> {
        let folder = folder_of(&self.folders, file)?;
        let (running, path) = (folder.running()?, folder.repository_path(file)?);
        Some((folder.id, running.handle.buffer(event(path))))
    }

    /// Keeps findings on their code until the engine has seen the change.
    fn move_findings(
        &mut self,
        file: &Path,
        before: &Text,
        change: &TextDocumentContentChangeEvent,
        told: Option<(FolderId, u64)>,
    ) {
        let encoding = self.capabilities.encoding;
        let edit = change.range.map(|range| Edit {
            range,
            breaks: line_breaks(&change.text),
            starts_at_line_end: encoding.units(before.line(range.start.line)) <= range.start.character,
        });
        for folder in &self.folders {
            for (finding, lines) in folder.cited_in(file) {
                let key = (folder.id, finding.detail.fingerprint.as_str());
                let first = self.anchors.shown(key, lines).first;
                let indent = before.visible(first, encoding).start.character;
                // An entry of a findings file is looked up in the file, not in its unsaved text.
                let told = told.filter(|(to, _)| *to == folder.id && finding.detail.file.is_some());
                self.anchors.edited(key, lines, told.map(|(_, event)| event), edit, indent);
            }
        }
    }
}
