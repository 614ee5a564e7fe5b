//! Showing a finding's report.
//!
//! Owns the temporary files that an editor opens to show Markdown; they go when the server does. An editor that shows the
//! answer of `fix-loop.report` itself says so in its capabilities, and gets no second copy. Never writes into the workspace.

use std::path::PathBuf;

use lsp_types::{MessageType, ShowDocumentParams, Url, request};
use tempfile::TempDir;

use super::capabilities::Capabilities;
use super::client::Client;
use super::text::{head, printable};

const MESSAGE_LINES: usize = 30;
const MESSAGE_CHARACTERS: usize = 2000;

#[derive(Default)]
pub(super) struct Reports {
    folder: Option<TempDir>,
}

impl Reports {
    pub fn show(&mut self, fingerprint: &str, report: &str, capabilities: &Capabilities, client: &Client) {
        if capabilities.shows_reports {
            return;
        }
        let file = capabilities.show_document.then(|| self.write(fingerprint, report)).and_then(Result::ok);
        let Some(uri) = file.and_then(|file| Url::from_file_path(file).ok()) else {
            return client
                .show(MessageType::INFO, printable(&head(report, MESSAGE_LINES, MESSAGE_CHARACTERS)));
        };
        let shown = client.request::<request::ShowDocument>(ShowDocumentParams {
            uri,
            external: Some(false),
            take_focus: Some(true),
            selection: None,
        });
        drop(shown); // Sent already; whether the editor really shows it changes nothing here.
    }

    fn write(&mut self, fingerprint: &str, report: &str) -> std::io::Result<PathBuf> {
        let folder = match &self.folder {
            Some(folder) => folder,
            None => self.folder.insert(tempfile::Builder::new().prefix("fix-loop-report-").tempdir()?),
        };
        let name: String = fingerprint.chars().filter(char::is_ascii_alphanumeric).take(40).collect();
        let file = folder.path().join(format!("{name}.md"));
        std::fs::write(&file, report)?;
        Ok(file)
    }
}
