//! The editor's open documents.
//!
//! Owns their text, version and spelling of the URI. Compares files by canonical path and always answers with the URI as
//! the editor spelled it (R07). Never reads a document from disk while the editor has it open.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_types::Url;

use super::text::Text;

#[derive(Debug)]
pub(super) struct Document {
    pub uri: Url,
    pub version: i32,
    pub text: Text,
    /// The text as it was last opened or saved; what the file holds where the editor opened it with unsaved text.
    pub saved: Arc<str>,
    /// With symbolic links resolved; the path as given where that is not possible (a new file).
    pub canonical: PathBuf,
}

#[derive(Debug, Default)]
pub(super) struct Documents {
    open: HashMap<Url, Document>,
}

impl Documents {
    /// Opening twice takes the newer text: some editors reload so. Documents that are no files are not kept.
    pub fn open(&mut self, uri: Url, version: i32, text: &str) -> Option<&Document> {
        let canonical = canonical(&uri.to_file_path().ok()?);
        let text = Text::new(text);
        let saved = unlike(text.content(), &canonical).unwrap_or_else(|| text.content().clone());
        self.open.insert(uri.clone(), Document { uri: uri.clone(), version, text, saved, canonical });
        self.open.get(&uri)
    }

    pub fn close(&mut self, uri: &Url) -> Option<Document> {
        self.open.remove(uri)
    }

    pub fn get(&self, uri: &Url) -> Option<&Document> {
        self.open.get(uri)
    }

    pub fn get_mut(&mut self, uri: &Url) -> Option<&mut Document> {
        self.open.get_mut(uri)
    }

    pub fn all(&self) -> impl Iterator<Item = &Document> {
        self.open.values()
    }

    /// Every open document of this file: an editor may have it open under two spellings.
    pub fn of_file(&self, file: &Path) -> Vec<&Document> {
        if self.open.is_empty() {
            return Vec::new();
        }
        let file = canonical(file);
        let mut documents: Vec<_> =
            self.open.values().filter(|document| document.canonical == file).collect();
        documents.sort_by(|a, b| a.uri.cmp(&b.uri));
        documents
    }
}

/// What the file holds, where that is other text than the editor's. An editor may come back with text that was never
/// saved. A byte order mark, line ends and files in other encodings are the editor's business and no difference.
fn unlike(text: &str, file: &Path) -> Option<Arc<str>> {
    let held = std::fs::read_to_string(file).ok()?;
    let held = held.strip_prefix('\u{feff}').unwrap_or(&held);
    let same = held.split('\n').map(end_trimmed).eq(text.split('\n').map(end_trimmed));
    (!same).then(|| held.into())
}

fn end_trimmed(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// The path with symbolic links resolved as far as it exists.
pub(super) fn canonical(path: &Path) -> PathBuf {
    if let Ok(resolved) = path.canonicalize() {
        return resolved;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => canonical(parent).join(name),
        _ => path.to_owned(),
    }
}
