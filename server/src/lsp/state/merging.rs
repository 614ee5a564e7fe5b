//! Unsaved buffers over files that a loop changed: the editor is asked to take what the engine made of both.

use lsp_types::{
    ApplyWorkspaceEditParams, DocumentChanges, OneOf, OptionalVersionedTextDocumentIdentifier,
    TextDocumentEdit, WorkspaceEdit, request,
};

use crate::engine::{BufferEdit, BufferEvent, EngineHandle, Snapshot};

use super::super::documents::Document;
use super::super::folders::FolderId;
use super::super::text::differences;
use super::{Inner, State};

impl State {
    /// Asks for every edit once. One that is made for a text that the editor no longer has comes again, made for the next.
    pub(super) fn offer_edits(&mut self, folder: FolderId, snapshot: &Snapshot) {
        self.edits_sent.retain(|(of, _), sent| *of != folder || snapshot.buffer_edits.contains(sent));
        let Some(handle) = self.handle_of(folder) else { return };
        for edit in &snapshot.buffer_edits {
            let key = (folder, edit.path.clone());
            if self.edits_sent.get(&key) == Some(edit) {
                continue;
            }
            let documents = self.documents.of_file(&snapshot.root.join(&edit.path));
            let fitting = documents.into_iter().find(|document| document.text.content() == &edit.before);
            let Some(document) = fitting else { continue };
            if self.capabilities.applies_edits {
                self.ask_for_edit(folder, edit, document);
            } else {
                handle.buffer(answer_to(edit, false));
            }
            self.edits_sent.insert(key, edit.clone());
        }
    }

    fn ask_for_edit(&self, folder: FolderId, edit: &BufferEdit, document: &Document) {
        let edits = differences(&document.text, &edit.after, self.capabilities.encoding);
        let uri = document.uri.clone();
        let whole = if self.capabilities.versioned_edits {
            let version = Some(document.version);
            let text_document = OptionalVersionedTextDocumentIdentifier { uri, version };
            let edits = edits.into_iter().map(OneOf::Left).collect();
            let changes = DocumentChanges::Edits(vec![TextDocumentEdit { text_document, edits }]);
            WorkspaceEdit { document_changes: Some(changes), ..WorkspaceEdit::default() }
        } else {
            WorkspaceEdit { changes: Some([(uri, edits)].into()), ..WorkspaceEdit::default() }
        };
        let label = Some("Fix Loop: the fix beside your unsaved edits".to_owned());
        let params = ApplyWorkspaceEditParams { label, edit: whole };
        let asked = self.client.request::<request::ApplyWorkspaceEdit>(params);
        let edit = edit.clone();
        self.spawn(async move {
            let applied = asked.await.is_ok_and(|answer| answer.applied);
            Inner::EditAnswered { folder, edit, applied }
        });
    }

    pub(super) fn edit_answered(&self, folder: FolderId, edit: &BufferEdit, applied: bool) {
        let Some(handle) = self.handle_of(folder) else { return };
        let file = handle.snapshot().root.join(&edit.path);
        // A text that was typed into meanwhile can't take it; the engine makes another for it.
        let is_as_it_was =
            self.documents.of_file(&file).iter().any(|document| document.text.content() == &edit.before);
        if applied || is_as_it_was {
            handle.buffer(answer_to(edit, applied));
        }
    }

    fn handle_of(&self, folder: FolderId) -> Option<EngineHandle> {
        let folder = self.folders.iter().find(|known| known.id == folder)?;
        Some(folder.running()?.handle.clone())
    }
}

fn answer_to(edit: &BufferEdit, done: bool) -> BufferEvent {
    BufferEvent::Merged { path: edit.path.clone(), text: edit.after.clone(), done }
}
