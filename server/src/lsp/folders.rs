//! The workspace folders and their engines.
//!
//! Owns which folder a document belongs to and how a path of the repository is spelled as a URI. Never compares URIs as
//! text: the editor may open `/link/ws` while git says `/real/ws` (R07).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_types::{InitializeParams, Url, WorkspaceFolder};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::engine::{EngineHandle, FindingView, Snapshot};

use super::documents::{Documents, canonical};

/// What RFC 3986 calls unreserved stays as it is.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// Never used for two folders in one life of the server, so that late messages of a removed folder find nobody.
pub(super) type FolderId = u64;

pub(super) struct Folder {
    pub id: FolderId,
    /// As the editor spells it, without the last slash.
    pub uri: String,
    pub path: PathBuf,
    pub canonical: PathBuf,
    pub engine: Engine,
}

pub(super) enum Engine {
    Opening,
    Open(Box<Running>),
    Failed { reason: String, settings: Option<Value> },
}

pub(super) struct Running {
    pub handle: EngineHandle,
    pub snapshot: Arc<Snapshot>,
    /// The root of the repository with links resolved.
    pub root: PathBuf,
    pub settings: Option<Value>,
    /// Globs of findings files.
    pub inbox: Vec<String>,
}

impl Folder {
    pub fn new(id: FolderId, uri: &Url) -> Option<Folder> {
        let path = uri.to_file_path().ok()?;
        let canonical = canonical(&path);
        Some(Folder {
            id,
            uri: uri.as_str().trim_end_matches('/').to_owned(),
            path,
            canonical,
            engine: Engine::Opening,
        })
    }

    pub fn running(&self) -> Option<&Running> {
        match &self.engine {
            Engine::Open(running) => Some(running),
            Engine::Opening | Engine::Failed { .. } => None,
        }
    }

    pub fn snapshot(&self) -> Option<&Snapshot> {
        self.running().map(|running| &*running.snapshot)
    }

    /// The path of the repository that the engine knows this file by.
    pub fn repository_path(&self, file: &Path) -> Option<String> {
        let relative = file.strip_prefix(&self.running()?.root).ok()?;
        let parts: Option<Vec<_>> = relative.components().map(|part| part.as_os_str().to_str()).collect();
        parts.map(|parts| parts.join("/")).filter(|path| !path.is_empty())
    }

    /// Every URI under which a file is to be shown: those of its open documents, else the folder's own spelling.
    pub fn uris(&self, path: &str, documents: &Documents) -> Vec<Url> {
        let Some(running) = self.running() else { return Vec::new() };
        let file = running.root.join(path);
        let open = documents.of_file(&file);
        if open.is_empty() {
            self.closed_uri(&file).into_iter().collect()
        } else {
            open.into_iter().map(|document| document.uri.clone()).collect()
        }
    }

    fn closed_uri(&self, file: &Path) -> Option<Url> {
        let Ok(inside) = file.strip_prefix(&self.canonical) else {
            return Url::from_file_path(file).ok();
        };
        let mut uri = self.uri.clone();
        for part in inside.components() {
            uri.push('/');
            uri.extend(utf8_percent_encode(part.as_os_str().to_str()?, RESERVED));
        }
        Url::parse(&uri).ok()
    }

    /// The file of a path that the engine gave.
    pub fn file(&self, path: &str) -> Option<PathBuf> {
        Some(self.running()?.root.join(path))
    }

    pub fn is_named(&self, uri: &str) -> bool {
        self.uri == uri.trim_end_matches('/')
            || Url::parse(uri)
                .ok()
                .and_then(|uri| uri.to_file_path().ok())
                .is_some_and(|path| canonical(&path) == self.canonical)
    }
}

/// The innermost folder that holds the file (given with links resolved), or whose repository does.
pub(super) fn folder_of<'f>(folders: &'f [Folder], file: &Path) -> Option<&'f Folder> {
    let holds = |folder: &Folder| {
        file.starts_with(&folder.canonical)
            || folder.running().is_some_and(|running| file.starts_with(&running.root))
    };
    folders.iter().filter(|folder| holds(folder)).max_by_key(|folder| folder.canonical.components().count())
}

/// The folders of `initialize`: `workspaceFolders`, else `rootUri`, else `rootPath`.
pub(super) fn initial(params: &InitializeParams) -> Vec<Url> {
    match params.workspace_folders.as_deref() {
        Some(folders) if !folders.is_empty() => {
            folders.iter().map(|folder: &WorkspaceFolder| folder.uri.clone()).collect()
        }
        _ => {
            #[allow(deprecated, reason = "older editors send nothing else")]
            let path = params.root_path.as_deref().and_then(|path| Url::from_file_path(path).ok());
            params.root_uri.clone().or(path).into_iter().collect()
        }
    }
}

/// Where a finding is shown: on the code it cites, else on its entry in the findings file.
pub(super) struct Place<'a> {
    pub path: &'a str,
    /// 1-based; `None` for a whole file.
    pub start: Option<u32>,
    pub end: Option<u32>,
}

pub(super) fn place(finding: &FindingView) -> Option<Place<'_>> {
    if let Some(path) = &finding.detail.file {
        return Some(Place { path, start: finding.detail.line_start, end: finding.detail.line_end });
    }
    let (path, line) = finding.listed_in.as_ref()?;
    Some(Place { path, start: Some(*line), end: Some(*line) })
}
