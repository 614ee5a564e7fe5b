//! Diagnostics: what is shown inline, and when it is sent.
//!
//! Owns what was last published under each URI, so that nothing is sent twice and a file whose last finding went gets an
//! empty set. Push only: an editor that gets both kinds shows them twice (DESIGN 9). Never decides how a finding stands.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use lsp_types::{
    Diagnostic, DiagnosticSeverity, NumberOrString, PublishDiagnosticsParams, Range, Url, notification,
};
use serde_json::json;

use crate::engine::status::FindingState;
use crate::engine::{FindingView, InputError, Show};
use crate::protocol::Severity;

use super::anchors::{Anchors, Lines};
use super::client::Client;
use super::documents::Documents;
use super::folders::{Folder, FolderId, Touched, place};
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
    file: PathBuf,
    /// Enough to know, without reading the file again, that the same would come out. One for each diagnostic.
    made_from: Vec<MadeFrom>,
    version: Option<i32>,
    diagnostics: Vec<Diagnostic>,
    /// Made when it is first asked for.
    by_finding: OnceCell<HashMap<(FolderId, String), usize>>,
}

#[derive(Clone, Debug)]
enum MadeFrom {
    Finding {
        folder: FolderId,
        finding: Arc<FindingView>,
        lines: Option<Lines>,
        severity: DiagnosticSeverity,
    },
    Input(InputError),
}

impl PartialEq for MadeFrom {
    fn eq(&self, other: &MadeFrom) -> bool {
        match (self, other) {
            (MadeFrom::Finding { lines, .. }, MadeFrom::Finding { lines: others, .. }) => {
                lines == others && self.says_the_same(other)
            }
            (MadeFrom::Input(one), MadeFrom::Input(other)) => one == other,
            _ => false,
        }
    }
}

impl MadeFrom {
    /// The same diagnostic, its range left aside.
    fn says_the_same(&self, other: &MadeFrom) -> bool {
        match (self, other) {
            (
                MadeFrom::Finding { folder, finding, severity, .. },
                MadeFrom::Finding { folder: in_folder, finding: known, severity: as_loud, .. },
            ) => {
                (folder, severity) == (in_folder, as_loud)
                    && (Arc::ptr_eq(finding, known)
                        || (finding.generation == known.generation
                            && finding.detail.fingerprint == known.detail.fingerprint))
            }
            _ => false,
        }
    }

    fn range(&self, text: &Text, encoding: Encoding) -> Range {
        match self {
            MadeFrom::Finding { lines, .. } => text.visible(lines.map_or(0, |lines| lines.first), encoding),
            MadeFrom::Input(error) => text.range_from(error.line, error.column, encoding),
        }
    }

    fn diagnostic(&self, range: Range) -> Diagnostic {
        match self {
            MadeFrom::Finding { finding, severity, .. } => Diagnostic {
                range,
                severity: Some(*severity),
                code: Some(finding.criterion.trim())
                    .filter(|criterion| !criterion.is_empty())
                    .map(|criterion| NumberOrString::String(printable(criterion))),
                source: Some(SOURCE.into()),
                message: message(finding),
                data: Some(data(finding)),
                ..Diagnostic::default()
            },
            MadeFrom::Input(error) => Diagnostic {
                range,
                severity: Some(DiagnosticSeverity::ERROR),
                source: Some(SOURCE.into()),
                message: printable(&error.message),
                ..Diagnostic::default()
            },
        }
    }
}

struct Wanted {
    file: PathBuf,
    made_from: Vec<MadeFrom>,
}

impl Published {
    /// Sends what changed since the last time, in these files.
    pub fn refresh(
        &mut self,
        touched: &Touched,
        folders: &[Folder],
        documents: &Documents,
        anchors: &Anchors,
        encoding: Encoding,
        client: &Client,
    ) {
        let wanted = wanted(touched, folders, documents, anchors);
        let gone: Vec<Url> = self
            .sent
            .iter()
            .filter(|(uri, sent)| touched.has(&sent.file) && !wanted.contains_key(uri))
            .map(|(uri, _)| uri.clone())
            .collect();
        for uri in gone {
            self.sent.remove(&uri);
            let version = documents.get(&uri).map(|document| document.version);
            publish(client, uri, Vec::new(), version);
        }
        for (uri, Wanted { file, made_from }) in wanted {
            let document = documents.get(&uri);
            let version = document.map(|document| document.version);
            let last = self.sent.get_mut(&uri);
            if last.as_ref().is_some_and(|last| last.made_from == made_from && last.version == version) {
                continue;
            }
            let read;
            let text = match document {
                Some(document) => &document.text,
                None => {
                    read = read_text(&file);
                    &read
                }
            };
            let known = last.as_ref().map_or(0, |last| last.diagnostics.len());
            let mut same =
                last.as_ref().is_some_and(|last| last.version == version) && known == made_from.len();
            let mut before = last.map(|last| std::mem::take(&mut last.diagnostics)).unwrap_or_default();
            let made_before = self.sent.get(&uri).map(|sent| sent.made_from.as_slice()).unwrap_or_default();
            let diagnostics: Vec<Diagnostic> = made_from
                .iter()
                .enumerate()
                .map(|(at, made)| {
                    let range = made.range(text, encoding);
                    // A keystroke moves diagnostics; what they say need not be made again.
                    if made_before.get(at).is_some_and(|before| before.says_the_same(made)) {
                        let mut diagnostic = std::mem::take(&mut before[at]);
                        same &= diagnostic.range == range;
                        diagnostic.range = range;
                        return diagnostic;
                    }
                    let diagnostic = made.diagnostic(range);
                    same = same && before.get(at) == Some(&diagnostic);
                    diagnostic
                })
                .collect();
            if !same {
                publish(client, uri.clone(), diagnostics.clone(), version);
            }
            let by_finding = OnceCell::new();
            self.sent.insert(uri, Sent { file, made_from, version, diagnostics, by_finding });
        }
    }

    /// What the editor shows for this finding of this file now.
    pub fn of_finding(&self, uri: &Url, folder: FolderId, finding: &FindingView) -> Option<Diagnostic> {
        let sent = self.sent.get(uri)?;
        let by_finding = sent.by_finding.get_or_init(|| {
            let made = sent.made_from.iter().enumerate();
            made.filter_map(|(at, made)| match made {
                MadeFrom::Finding { folder, finding, .. } => {
                    Some(((*folder, finding.detail.fingerprint.clone()), at))
                }
                MadeFrom::Input(_) => None,
            })
            .collect()
        });
        let at = *by_finding.get(&(folder, finding.detail.fingerprint.clone()))?;
        let shown = sent.diagnostics.get(at)?;
        (shown.data.as_ref() == Some(&data(finding))).then(|| shown.clone())
    }
}

fn wanted(
    touched: &Touched,
    folders: &[Folder],
    documents: &Documents,
    anchors: &Anchors,
) -> BTreeMap<Url, Wanted> {
    let mut wanted: BTreeMap<Url, Wanted> = BTreeMap::new();
    for folder in folders {
        let Some(running) = folder.running() else { continue };
        let snapshot = &running.snapshot;
        let errors = snapshot.input_errors.iter().map(|error| error.file.as_str());
        let paths: BTreeSet<String> = match touched {
            Touched::Everything => running.shown_on().chain(errors).map(str::to_owned).collect(),
            Touched::Files(files) => files.iter().flat_map(|file| running.paths_of(file)).collect(),
        };
        for path in paths {
            let findings = running.findings_on(&path).filter_map(|finding| {
                let severity = severity(finding, snapshot.show)?;
                let place = place(finding)?;
                let lines = Lines::of_finding(place.start, place.end)
                    .map(|lines| anchors.shown((folder.id, &finding.detail.fingerprint), lines));
                Some(MadeFrom::Finding { folder: folder.id, finding: finding.clone(), lines, severity })
            });
            let errors = snapshot.input_errors.iter().filter(|error| error.file == path);
            let made: Vec<MadeFrom> = findings.chain(errors.cloned().map(MadeFrom::Input)).collect();
            if made.is_empty() {
                continue;
            }
            for uri in folder.uris(&path, documents) {
                let file = running.root.join(&path);
                let entry = wanted.entry(uri).or_insert_with(|| Wanted { file, made_from: Vec::new() });
                entry.made_from.extend(made.iter().cloned());
            }
        }
    }
    wanted
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
