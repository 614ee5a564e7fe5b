//! Diagnostics: what is shown inline, and when it is sent.
//!
//! Owns what was last published under each URI, so that nothing is sent twice and a file whose last finding went gets an
//! empty set. Push only: an editor that gets both kinds shows them twice (DESIGN 9). Never decides how a finding stands.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;

use lsp_types::{
    Diagnostic, DiagnosticSeverity, NumberOrString, PublishDiagnosticsParams, Url, notification,
};
use serde_json::json;

use crate::engine::status::FindingState;
use crate::engine::{FindingView, InputError, Show};
use crate::protocol::Severity;

use super::anchors::{Anchors, Lines};
use super::client::Client;
use super::documents::Documents;
use super::folders::{Folder, FolderId, place};
use super::text::{Encoding, Text, head, printable};

pub(super) const SOURCE: &str = "fix-loop";
/// Editors written in JavaScript count no further exactly.
const LARGEST_NUMBER: u64 = 1 << 53;
const BODY_LINES: usize = 4;
const BODY_CHARACTERS: usize = 600;

/// What was sent, and from what it was made.
#[derive(Default)]
pub(super) struct Published {
    sent: HashMap<Url, Sent>,
}

struct Sent {
    /// Enough to know, without reading the file again, that the same would come out.
    made_from: Vec<MadeFrom>,
    version: Option<i32>,
    diagnostics: Vec<Diagnostic>,
}

#[derive(Clone, Debug, PartialEq)]
enum MadeFrom {
    Finding {
        folder: FolderId,
        fingerprint: String,
        generation: u64,
        lines: Option<Lines>,
        severity: DiagnosticSeverity,
    },
    Input(InputError),
}

/// What a diagnostic is made of, before positions are counted.
enum Item<'a> {
    Finding { finding: &'a FindingView, lines: Option<Lines>, severity: DiagnosticSeverity },
    Input(&'a InputError),
}

#[derive(Default)]
struct Wanted<'a> {
    made_from: Vec<MadeFrom>,
    items: Vec<Item<'a>>,
    file: Option<std::path::PathBuf>,
}

impl Published {
    /// Sends what changed since the last time.
    pub fn refresh(
        &mut self,
        folders: &[Folder],
        documents: &Documents,
        anchors: &Anchors,
        encoding: Encoding,
        client: &Client,
    ) {
        let wanted = wanted(folders, documents, anchors);
        let gone: Vec<Url> = self.sent.keys().filter(|uri| !wanted.contains_key(uri)).cloned().collect();
        for uri in gone {
            self.sent.remove(&uri);
            publish(client, uri.clone(), Vec::new(), documents.get(&uri).map(|document| document.version));
        }
        for (uri, wanted) in wanted {
            let document = documents.get(&uri);
            let version = document.map(|document| document.version);
            let last = self.sent.get(&uri);
            if last.is_some_and(|last| last.made_from == wanted.made_from && last.version == version) {
                continue;
            }
            let read;
            let text = match (document, &wanted.file) {
                (Some(document), _) => &document.text,
                (None, file) => {
                    read = file.as_deref().map_or_else(|| Text::new(""), read_text);
                    &read
                }
            };
            let diagnostics: Vec<_> =
                wanted.items.iter().map(|item| item.diagnostic(text, encoding)).collect();
            if last.is_none_or(|last| last.diagnostics != diagnostics || last.version != version) {
                publish(client, uri.clone(), diagnostics.clone(), version);
            }
            self.sent.insert(uri, Sent { made_from: wanted.made_from, version, diagnostics });
        }
    }

    /// What the editor shows for this finding of this file now.
    pub fn of_finding(&self, uri: &Url, finding: &FindingView) -> Option<Diagnostic> {
        let data = data(finding);
        let sent = self.sent.get(uri)?;
        sent.diagnostics.iter().find(|diagnostic| diagnostic.data.as_ref() == Some(&data)).cloned()
    }
}

fn wanted<'a>(folders: &'a [Folder], documents: &Documents, anchors: &Anchors) -> BTreeMap<Url, Wanted<'a>> {
    let mut wanted: BTreeMap<Url, Wanted<'a>> = BTreeMap::new();
    for folder in folders {
        let Some(snapshot) = folder.snapshot() else { continue };
        let mut spelled: HashMap<&str, Vec<Url>> = HashMap::new();
        for finding in &snapshot.findings {
            let Some(severity) = severity(finding, snapshot.show) else { continue };
            let Some(place) = place(finding) else { continue };
            let lines = Lines::of_finding(place.start, place.end)
                .map(|lines| anchors.shown(&anchor_key(folder.id, finding), lines));
            for uri in spelled.entry(place.path).or_insert_with(|| folder.uris(place.path, documents)) {
                let entry = wanted.entry(uri.clone()).or_default();
                entry.file = folder.file(place.path);
                entry.made_from.push(MadeFrom::Finding {
                    folder: folder.id,
                    fingerprint: finding.detail.fingerprint.clone(),
                    generation: finding.generation,
                    lines,
                    severity,
                });
                entry.items.push(Item::Finding { finding, lines, severity });
            }
        }
        for error in &snapshot.input_errors {
            for uri in spelled.entry(&error.file).or_insert_with(|| folder.uris(&error.file, documents)) {
                let entry = wanted.entry(uri.clone()).or_default();
                entry.file = folder.file(&error.file);
                entry.made_from.push(MadeFrom::Input(error.clone()));
                entry.items.push(Item::Input(error));
            }
        }
    }
    wanted
}

impl Item<'_> {
    fn diagnostic(&self, text: &Text, encoding: Encoding) -> Diagnostic {
        match self {
            Item::Finding { finding, lines, severity } => Diagnostic {
                range: text.visible(lines.map_or(0, |lines| lines.first), encoding),
                severity: Some(*severity),
                code: Some(finding.criterion.trim())
                    .filter(|criterion| !criterion.is_empty())
                    .map(|criterion| NumberOrString::String(printable(criterion))),
                source: Some(SOURCE.into()),
                message: message(finding),
                data: Some(data(finding)),
                ..Diagnostic::default()
            },
            Item::Input(error) => Diagnostic {
                range: text.range_from(error.line, error.column, encoding),
                severity: Some(DiagnosticSeverity::ERROR),
                source: Some(SOURCE.into()),
                message: printable(&error.message),
                ..Diagnostic::default()
            },
        }
    }
}

/// The key of a finding in [`Anchors`].
pub(super) fn anchor_key(folder: FolderId, finding: &FindingView) -> String {
    format!("{folder}/{}", finding.detail.fingerprint)
}

/// How loud a finding is; `None`: not shown inline.
pub(super) fn severity(finding: &FindingView, show: Show) -> Option<DiagnosticSeverity> {
    let minor = !finding.detail.severity.blocks();
    match finding.detail.state {
        FindingState::Resolved | FindingState::Deferred | FindingState::Disputed => None,
        _ if finding.unconfirmed => (show != Show::Confirmed).then_some(DiagnosticSeverity::HINT),
        FindingState::Demoted => (show == Show::All).then_some(DiagnosticSeverity::INFORMATION),
        FindingState::Ignored => (show == Show::All && minor).then_some(DiagnosticSeverity::INFORMATION),
        _ if minor => (show == Show::All).then_some(DiagnosticSeverity::INFORMATION),
        _ if finding.detail.severity == Severity::P0 => Some(DiagnosticSeverity::ERROR),
        _ => Some(DiagnosticSeverity::WARNING),
    }
}

fn message(finding: &FindingView) -> String {
    let mut parts = vec![finding.detail.title.trim().to_owned()];
    let body = head(&finding.body, BODY_LINES, BODY_CHARACTERS);
    if !body.is_empty() && body != parts[0] {
        parts.push(body);
    }
    if !finding.standing.is_empty() {
        parts.push(finding.standing.clone());
    }
    printable(&parts.join("\n"))
}

fn data(finding: &FindingView) -> serde_json::Value {
    json!({"id": finding.detail.id, "generation": finding.generation % LARGEST_NUMBER})
}

fn read_text(file: &Path) -> Text {
    let bytes = std::fs::read(file).unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    Text::new(text.strip_prefix('\u{feff}').unwrap_or(&text))
}

fn publish(client: &Client, uri: Url, diagnostics: Vec<Diagnostic>, version: Option<i32>) {
    client.notify::<notification::PublishDiagnostics>(PublishDiagnosticsParams { uri, diagnostics, version });
}
