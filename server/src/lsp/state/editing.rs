//! What the editor does to its documents.

use lsp_types::{
    DidChangeTextDocumentParams, DidCloseTextDocumentParams, DidOpenTextDocumentParams,
    DidSaveTextDocumentParams, TextDocumentContentChangeEvent, Url,
};

use crate::engine::BufferEvent;

use super::super::anchors::{Edit, Lines};
use super::super::diagnostics::{anchor_key, anchor_prefix};
use super::super::documents::Document;
use super::super::folders::{FolderId, Touched, folder_of, place};
use super::super::text::line_breaks;
use super::super::watching::{CONFIGURATION, INBOX};
use super::{Inner, State};

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
        let Some(document) = self.documents.get_mut(&uri) else {
            tracing::warn!("a change of {uri}, which is not open, is ignored");
            return;
        };
        document.version = params.text_document.version;
        let mut doubtful = false;
        for change in &params.content_changes {
            doubtful |= self.move_findings(&uri, change);
            let encoding = self.capabilities.encoding;
            if let Some(document) = self.documents.get_mut(&uri) {
                document.text.apply(change, encoding);
            }
        }
        let Some(document) = self.documents.get(&uri) else { return };
        let (canonical, text) = (document.canonical.clone(), document.text.content().clone());
        self.forward(&canonical, |path| BufferEvent::Changed { path, text });
        if doubtful && let Some(folder) = folder_of(&self.folders, &canonical) {
            self.settle(folder.id);
        }
        self.refresh_file(canonical);
    }

    /// Where a change may have moved findings otherwise than it was taken here, the engine's word is waited for: it says
    /// nothing where it sees no difference to what it said last.
    fn settle(&mut self, folder: FolderId) {
        if let Some(again) = self.settling.get_mut(&folder) {
            *again = true;
            return;
        }
        let running = self.folders.iter().find(|known| known.id == folder).and_then(|known| known.running());
        let Some(handle) = running.map(|running| running.handle.clone()) else { return };
        self.settling.insert(folder, false);
        self.spawn(async move {
            handle.settled().await;
            Inner::Settled(folder)
        });
    }

    pub(super) fn settled(&mut self, folder: FolderId) {
        if self.settling.remove(&folder) == Some(true) {
            return self.settle(folder);
        }
        self.snapshot_changed(folder);
        let prefix = anchor_prefix(folder);
        self.anchors.forget(|key| !key.starts_with(&prefix));
        let files = self.documents.all().map(|document| document.canonical.clone()).collect();
        self.refresh_diagnostics(&Touched::Files(files));
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
        let gone: std::collections::HashSet<String> =
            self.findings_of(&document).into_iter().map(|(_, key, _)| key).collect();
        self.anchors.forget(|key| !gone.contains(key));
        self.refresh_file(document.canonical);
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

    fn forward(&self, canonical: &std::path::Path, event: impl FnOnce(String) -> BufferEvent) {
        let Some(folder) = folder_of(&self.folders, canonical) else { return };
        if let (Some(running), Some(path)) = (folder.running(), folder.repository_path(canonical)) {
            running.handle.buffer(event(path));
        }
    }

    /// Every finding with lines in this document: its folder, its key, and the engine's lines.
    fn findings_of(&self, document: &Document) -> Vec<(FolderId, String, Lines)> {
        let mut found = Vec::new();
        for folder in &self.folders {
            let Some(running) = folder.running() else { continue };
            for path in running.paths_of(&document.canonical) {
                for finding in running.findings_on(&path) {
                    if let Some(place) = place(finding)
                        && let Some(lines) = Lines::of_finding(place.start, place.end)
                    {
                        found.push((folder.id, anchor_key(folder.id, finding), lines));
                    }
                }
            }
        }
        found
    }

    /// Says whether it is in doubt where findings are now.
    fn move_findings(&mut self, uri: &Url, change: &TextDocumentContentChangeEvent) -> bool {
        // A whole new text says nothing about what moved; the engine compares.
        let (Some(range), Some(document)) = (change.range, self.documents.get(uri)) else {
            return !self.anchors.is_empty();
        };
        let encoding = self.capabilities.encoding;
        let at_end = encoding.units(document.text.line(range.start.line)) <= range.start.character;
        let edit = Edit { range, breaks: line_breaks(&change.text), starts_at_line_end: at_end };
        let moves: Vec<(String, Lines, u32)> = self
            .findings_of(document)
            .into_iter()
            .map(|(_, key, lines)| {
                let first = self.anchors.shown(&key, lines).first;
                (key, lines, document.text.visible(first, encoding).start.character)
            })
            .collect();
        let mut doubtful = false;
        for (key, lines, indent) in moves {
            doubtful |= self.anchors.edited(&key, lines, edit, indent);
        }
        doubtful
    }
}
