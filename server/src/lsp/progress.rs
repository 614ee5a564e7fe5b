//! `$/progress`: one per loop, from the moment the editor has made room for it until the loop's end.
//!
//! Owns the tokens (text, since one editor rejects numbers). Exactly one begin and one end are sent for a token whose
//! creation succeeded: [`Shown`] sends the end when it is dropped. Never keeps a loop alive or ends one.

use std::collections::HashMap;

use lsp_types::{
    NumberOrString, ProgressParams, ProgressParamsValue, WorkDoneProgress, WorkDoneProgressBegin,
    WorkDoneProgressEnd, WorkDoneProgressReport, notification,
};

use crate::engine::Snapshot;
use crate::engine::status::StatusLoop;

use super::actions::short;
use super::client::Client;
use super::folders::FolderId;
use super::text::{head, printable};

const MESSAGE_CHARACTERS: usize = 120;

/// Loops that are listed but do not run: ended ones, and those that an earlier process left and nobody resumed yet.
const AT_REST: [&str; 2] = ["finished", "interrupted"];

type Key = (FolderId, String);

#[derive(Default)]
pub(super) struct Loops {
    last: u64,
    loops: HashMap<Key, Entry>,
    /// Loops that ended before the editor answered; shown for a moment when it does, so that each loop that an editor
    /// made room for has its one begin and one end.
    late: Vec<Entry>,
}

struct Entry {
    token: String,
    title: String,
    message: String,
    phase: Phase,
}

enum Phase {
    /// `window/workDoneProgress/create` is under way.
    Creating,
    Shown(Shown),
    /// The editor refused, or the loop's end was shown.
    Hidden,
}

/// A progress that the editor shows. Dropping it ends it.
struct Shown {
    token: String,
    client: Client,
}

impl Shown {
    fn begin(client: &Client, token: &str, title: &str, message: &str) -> Shown {
        let shown = Shown { token: token.to_owned(), client: client.clone() };
        shown.send(WorkDoneProgress::Begin(WorkDoneProgressBegin {
            title: title.to_owned(),
            cancellable: Some(true),
            message: Some(message.to_owned()),
            percentage: None,
        }));
        shown
    }

    fn report(&self, message: &str) {
        self.send(WorkDoneProgress::Report(WorkDoneProgressReport {
            cancellable: Some(true),
            message: Some(message.to_owned()),
            percentage: None,
        }));
    }

    fn send(&self, progress: WorkDoneProgress) {
        self.client.notify::<notification::Progress>(ProgressParams {
            token: NumberOrString::String(self.token.clone()),
            value: ProgressParamsValue::WorkDone(progress),
        });
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.send(WorkDoneProgress::End(WorkDoneProgressEnd { message: None }));
    }
}

impl Loops {
    /// Follows the folder's loops. Gives the tokens that the editor has to be asked to create.
    pub fn update(&mut self, folder: FolderId, snapshot: &Snapshot) -> Vec<String> {
        let mut create = Vec::new();
        for running in &snapshot.status.loops {
            let key = (folder, running.id.clone());
            if AT_REST.contains(&running.state.as_str()) {
                self.end(&key);
                continue;
            }
            let message = message(running);
            let entry = self.loops.entry(key).or_insert_with(|| {
                self.last += 1;
                let token = format!("fix-loop/{folder}/{}/{}", running.id, self.last);
                create.push(token.clone());
                Entry {
                    token,
                    title: title(running, snapshot),
                    message: message.clone(),
                    phase: Phase::Creating,
                }
            });
            if entry.message != message {
                if let Phase::Shown(shown) = &entry.phase {
                    shown.report(&message);
                }
                entry.message = message;
            }
        }
        let listed = |id: &str| snapshot.status.loops.iter().any(|running| running.id == id);
        let gone: Vec<Key> =
            self.loops.keys().filter(|(of, id)| *of == folder && !listed(id)).cloned().collect();
        for key in gone {
            self.end(&key);
        }
        create
    }

    /// What the editor answered to the request to create `token`.
    pub fn created(&mut self, token: &str, agreed: bool, client: &Client) {
        if let Some(late) = self.late.iter().position(|entry| entry.token == token) {
            let entry = self.late.swap_remove(late);
            if agreed {
                drop(Shown::begin(client, token, &entry.title, &entry.message));
            }
            return;
        }
        let Some(entry) = self.loops.values_mut().find(|entry| entry.token == token) else { return };
        entry.phase = if agreed {
            Phase::Shown(Shown::begin(client, token, &entry.title, &entry.message))
        } else {
            Phase::Hidden
        };
    }

    /// The loop whose progress the user cancelled.
    pub fn of_token(&self, token: &str) -> Option<(FolderId, String)> {
        self.loops.iter().find(|(_, entry)| entry.token == token).map(|(key, _)| key.clone())
    }

    pub fn busy(&self, folder: FolderId) -> bool {
        self.loops.keys().any(|(of, _)| *of == folder)
    }

    pub fn forget(&mut self, folder: FolderId) {
        self.loops.retain(|(of, _), _| *of != folder);
    }

    fn end(&mut self, key: &Key) {
        if let Some(entry) = self.loops.remove(key)
            && matches!(entry.phase, Phase::Creating)
        {
            self.late.push(entry);
        }
    }

    pub fn end_all(&mut self) {
        self.loops.clear();
    }
}

fn title(running: &StatusLoop, snapshot: &Snapshot) -> String {
    let in_loop = |id: &serde_json::Value| snapshot.findings.iter().find(|finding| finding.detail.id == *id);
    match running.findings.as_slice() {
        [id] => match in_loop(id) {
            Some(finding) => format!("Fix with loop: {}", short(&finding.detail.title)),
            None => "Fix with loop".into(),
        },
        [] => format!("Fix Loop: {}", running.protocol),
        several => format!("Fix with loop: {} findings", several.len()),
    }
}

fn message(running: &StatusLoop) -> String {
    let mut message = match (running.round, running.max_rounds) {
        (0, _) => running.state.clone(),
        (round, 0) => format!("round {round}: {}", running.state),
        (round, max) => format!("round {round} of {max}: {}", running.state),
    };
    if let Some(activity) = running.activity.as_deref().filter(|activity| !activity.trim().is_empty()) {
        message.push_str(" · ");
        message.push_str(&head(activity, 1, MESSAGE_CHARACTERS));
    }
    printable(&message)
}
