//! What the editor reads: diagnostics, actions, lenses, hovers, status.

use std::path::PathBuf;

use lsp_types::{CodeActionParams, CodeActionResponse, CodeLens, Hover, HoverParams, Range, Url, request};
use serde_json::Value;
use tower_lsp::jsonrpc::Result;

use crate::engine::status::FindingState;
use crate::engine::{FindingView, Snapshot};

use super::super::actions::{self, AtRange};
use super::super::anchors::Lines;
use super::super::commands::invalid;
use super::super::diagnostics::severity;
use super::super::documents::canonical;
use super::super::folders::{Folder, FolderId, Touched, place};
use super::super::status::{self, Listed, Query};
use super::super::text::Text;
use super::super::{hover, lens};
use super::{Inner, State, no_folder};

/// A finding that is shown in a document.
struct Found<'a> {
    folder: &'a Folder,
    snapshot: &'a Snapshot,
    finding: &'a FindingView,
    path: &'a str,
    /// `None`: the whole file.
    lines: Option<Lines>,
}

impl State {
    pub(super) fn refresh_diagnostics(&mut self, touched: &Touched) {
        let encoding = self.capabilities.encoding;
        let (folders, documents) = (&self.folders, &self.documents);
        self.published.refresh(touched, folders, documents, &self.anchors, encoding, &self.client);
    }

    /// Something about this file's document changed, and nothing else.
    pub(super) fn refresh_file(&mut self, file: PathBuf) {
        self.refresh_diagnostics(&Touched::Files([file].into()));
    }

    fn found<'a>(&'a self, uri: &Url) -> Vec<Found<'a>> {
        let Some(file) = self.file_of(uri) else { return Vec::new() };
        let mut found = Vec::new();
        for folder in &self.folders {
            let Some(running) = folder.running() else { continue };
            for path in running.paths_of(&file) {
                for finding in running.findings_on(&path) {
                    let Some(place) = place(finding) else { continue };
                    let lines = Lines::of_finding(place.start, place.end)
                        .map(|lines| self.anchors.shown((folder.id, &finding.detail.fingerprint), lines));
                    let snapshot = &running.snapshot;
                    found.push(Found { folder, snapshot, finding, path: place.path, lines });
                }
            }
        }
        found.sort_by_key(|found| found.lines.map_or((1, 0), |lines| (0, lines.first)));
        found
    }

    fn file_of(&self, uri: &Url) -> Option<std::path::PathBuf> {
        match self.documents.get(uri) {
            Some(document) => Some(document.canonical.clone()),
            None => Some(canonical(&uri.to_file_path().ok()?)),
        }
    }

    pub(super) fn code_actions(&self, params: &CodeActionParams) -> Option<CodeActionResponse> {
        if !actions::wanted(params) {
            return Some(Vec::new());
        }
        let uri = &params.text_document.uri;
        let found = self.found(uri);
        let at_range: Vec<AtRange<'_>> = found
            .iter()
            .filter(|found| found.lines.is_none_or(|lines| lines.touches(params.range)) && is_offered(found))
            .map(|found| AtRange {
                workspace: self.several_folders().then_some(found.folder.uri.as_str()),
                snapshot: found.snapshot,
                finding: found.finding,
                diagnostic: self.published.of_finding(uri, found.folder.id, found.finding),
                path: found.path,
            })
            .collect();
        Some(actions::actions(&at_range, &self.capabilities))
    }

    pub(super) fn code_lenses(&self, uri: &Url) -> Vec<CodeLens> {
        let found = self.found(uri);
        if found.is_empty() {
            return Vec::new();
        }
        let read;
        let text = match self.documents.get(uri) {
            Some(document) => &document.text,
            None => {
                let content = self.file_of(uri).and_then(|file| std::fs::read_to_string(file).ok());
                read = Text::new(content.unwrap_or_default());
                &read
            }
        };
        let mut lenses = Vec::new();
        for found in found.iter().filter(|found| is_shown(found)) {
            let line = found.lines.map_or(0, |lines| lines.first);
            let range = text.visible(line, self.capabilities.encoding);
            let workspace = self.several_folders().then_some(found.folder.uri.as_str());
            lenses.extend(lens::lenses(
                found.finding,
                found.snapshot.fixing_off.as_deref(),
                range,
                workspace,
            ));
        }
        lenses
    }

    pub(super) fn hover(&self, params: &HoverParams) -> Option<Hover> {
        let uri = &params.text_document_position_params.text_document.uri;
        let position = params.text_document_position_params.position;
        let point = Range::new(position, position);
        // A finding about the whole file is shown on its first line only, else it would cover every other hover.
        let at = |found: &&Found<'_>| found.lines.map_or(position.line == 0, |lines| lines.touches(point));
        let found = self.found(uri);
        let shown: Vec<_> = found
            .iter()
            .filter(at)
            .filter(|found| is_offered(found))
            .map(|found| hover::Shown {
                finding: found.finding,
                snapshot: found.snapshot,
                listed: found.finding.listed_in.as_ref().and_then(|(path, _)| {
                    found.folder.uris(path, &self.documents).into_iter().next().map(String::from)
                }),
            })
            .collect();
        hover::hover(&shown, None, self.capabilities.markdown_hover)
    }

    pub(super) fn refresh_lenses(&mut self) {
        if !self.capabilities.refreshes_lenses {
            return;
        }
        if self.lenses.refreshing {
            self.lenses.again = true;
            return;
        }
        self.lenses.refreshing = true;
        let refreshed = self.client.request::<request::CodeLensRefresh>(());
        self.spawn(async move {
            let _ = refreshed.await;
            Inner::LensesRefreshed
        });
    }

    pub(super) fn status(&self, params: &Value) -> Result<Value> {
        let wanted = match params.get("workspace") {
            None | Some(Value::Null) => None,
            Some(Value::String(uri)) => Some(uri.as_str()),
            Some(other) => {
                return Err(invalid(format!(
                    "`workspace` of `{}` must be the URI of a workspace folder, not {other}",
                    status::STATUS
                )));
            }
        };
        let folder = self.folders.iter().find(|folder| match wanted {
            Some(uri) => folder.is_named(uri),
            None => folder.snapshot().is_some(),
        });
        let folder = folder.or_else(|| wanted.is_none().then(|| self.folders.first()).flatten());
        let snapshot = folder.ok_or_else(no_folder)?.snapshot().ok_or_else(|| self.why_not(folder))?;
        let workspace = folder.and_then(|folder| self.workspace_name(folder.id));
        Ok(status::small(&snapshot.status, workspace.as_deref()))
    }

    pub(super) fn findings(&self, params: Value) -> Result<Value> {
        let query = Query::read(params)?;
        let mut listed = Vec::new();
        for folder in &self.folders {
            if query.workspace.as_ref().is_some_and(|uri| !folder.is_named(uri)) {
                continue;
            }
            let Some(snapshot) = folder.snapshot() else { continue };
            let path = match &query.uri {
                Some(uri) => match self.file_of(uri).and_then(|file| folder.repository_path(&file)) {
                    Some(path) => Some(path),
                    None => continue,
                },
                None => None,
            };
            let workspace = self.workspace_name(folder.id);
            for finding in &snapshot.findings {
                let in_state =
                    query.states.as_ref().is_none_or(|states| states.contains(&finding.detail.state));
                let in_file = path.is_none() || finding.detail.file == path;
                if in_state && in_file {
                    let name = format!("{}/{}", folder.id, finding.detail.fingerprint);
                    listed.push(Listed { name, finding: &finding.detail, workspace: workspace.clone() });
                }
            }
        }
        Ok(status::page(&listed, &query))
    }

    pub(super) fn several_folders(&self) -> bool {
        self.folders.len() > 1
    }

    /// The folder's URI, where it has to be told apart from others.
    pub(super) fn workspace_name(&self, id: FolderId) -> Option<String> {
        let folder = self.folders.iter().find(|folder| folder.id == id)?;
        self.several_folders().then(|| folder.uri.clone())
    }
}

fn is_shown(found: &Found<'_>) -> bool {
    severity(found.finding, found.snapshot.show).is_some()
}

/// Also findings that no diagnostic shows any more, where something can still be done to them.
fn is_offered(found: &Found<'_>) -> bool {
    use FindingState::{Deferred, Demoted, Disputed, Resolved};
    let settled = matches!(found.finding.detail.state, Resolved | Deferred | Disputed | Demoted);
    let offers = &found.finding.offers;
    is_shown(found) || (settled && (offers.reopen || offers.undo.is_some()))
}
