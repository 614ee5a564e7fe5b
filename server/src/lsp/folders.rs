//! The workspace folders and their engines.
//!
//! Owns which folder a document belongs to and how a path of the repository is spelled as a URI. Never compares URIs as
//! text: the editor may open `/link/ws` while git says `/real/ws` (R07).

use std::collections::{BTreeSet, HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_types::{InitializeParams, Url, WorkspaceFolder};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::Value;

use crate::engine::{EngineHandle, FindingView, Snapshot};

use super::anchors::Lines;
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
    /// From the path on which findings are shown to their places in the snapshot.
    shown_on: HashMap<String, Vec<usize>>,
}

/// The files whose diagnostics may have changed.
pub(super) enum Touched {
    Everything,
    /// With links resolved.
    Files(BTreeSet<PathBuf>),
}

impl Touched {
    pub fn also(&mut self, others: BTreeSet<PathBuf>) {
        if let Touched::Files(files) = self {
            files.extend(others);
        }
    }

    pub fn has(&self, file: &Path) -> bool {
        match self {
            Touched::Everything => true,
            Touched::Files(files) => files.contains(file),
        }
    }
}

impl Running {
    pub fn new(handle: EngineHandle, root: PathBuf, settings: Option<Value>) -> Running {
        let snapshot = handle.snapshot();
        let mut running =
            Running { handle, snapshot, root, settings, inbox: Vec::new(), shown_on: HashMap::new() };
        running.index();
        running
    }

    fn index(&mut self) {
        self.shown_on.clear();
        for (at, finding) in self.snapshot.findings.iter().enumerate() {
            let Some(place) = place(finding) else { continue };
            match self.shown_on.get_mut(place.path) {
                Some(known) => known.push(at),
                None => drop(self.shown_on.insert(place.path.to_owned(), vec![at])),
            }
        }
    }

    /// Takes in the engine's latest snapshot. Gives the files in which it shows something otherwise.
    pub fn follow(&mut self) -> Touched {
        let before = std::mem::replace(&mut self.snapshot, self.handle.snapshot());
        // Most keystrokes change no finding.
        let same = before.findings.len() == self.snapshot.findings.len()
            && before
                .findings
                .iter()
                .zip(&self.snapshot.findings)
                .all(|(one, other)| Arc::ptr_eq(one, other));
        if !same {
            self.index();
        }
        let now = &self.snapshot;
        if before.show != now.show || before.root != now.root {
            return Touched::Everything;
        }
        let mut files = BTreeSet::new();
        if !same {
            let address = |finding: &Arc<FindingView>| Arc::as_ptr(finding) as usize;
            let known: HashSet<usize> = before.findings.iter().map(address).collect();
            let kept: HashSet<usize> = now.findings.iter().map(address).collect();
            let fresh = now.findings.iter().filter(|finding| !known.contains(&address(finding)));
            let gone = before.findings.iter().filter(|finding| !kept.contains(&address(finding)));
            let paths: HashSet<&str> =
                fresh.chain(gone).filter_map(|finding| Some(place(finding)?.path)).collect();
            files.extend(paths.into_iter().map(|path| self.root.join(path)));
        }
        if before.input_errors != now.input_errors {
            let errors = before.input_errors.iter().chain(&now.input_errors);
            files.extend(errors.map(|error| self.root.join(&error.file)));
        }
        Touched::Files(files)
    }

    /// Every path on which a finding is shown.
    pub fn shown_on(&self) -> impl Iterator<Item = &str> {
        self.shown_on.keys().map(String::as_str)
    }

    /// The findings that are shown on a path as the engine gave it, in order.
    pub fn findings_on(&self, path: &str) -> impl Iterator<Item = &Arc<FindingView>> {
        let places = self.shown_on.get(path).map(Vec::as_slice).unwrap_or_default();
        places.iter().map(|at| &self.snapshot.findings[*at])
    }

    /// The paths by which the engine may call a file: from the root of the repository, or in full where it lies outside.
    pub fn paths_of(&self, file: &Path) -> impl Iterator<Item = String> + use<> {
        let inside = file.strip_prefix(&self.root).ok().and_then(|path| path.to_str());
        let whole = file.to_str();
        [inside, whole].into_iter().flatten().map(str::to_owned).collect::<Vec<_>>().into_iter()
    }
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

    /// Every finding with lines in this file (given with links resolved), and where the engine has it.
    pub fn cited_in(&self, file: &Path) -> Vec<(&FindingView, Lines)> {
        let Some(running) = self.running() else { return Vec::new() };
        let mut cited = Vec::new();
        for path in running.paths_of(file) {
            for finding in running.findings_on(&path) {
                let lines = place(finding).and_then(|place| Lines::of_finding(place.start, place.end));
                cited.extend(lines.map(|lines| (&**finding, lines)));
            }
        }
        cited
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
