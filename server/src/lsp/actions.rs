//! Code actions.
//!
//! Owns their titles (fixed in DESIGN 9), order and arguments. They come from the range and the engine's snapshot, never
//! from `context.diagnostics`, which may be old. Never preferred and never `source.fixAll`: nothing may start an agent
//! merely because a file is saved.

use std::sync::Arc;

use lsp_types::{
    CodeAction, CodeActionDisabled, CodeActionKind, CodeActionOrCommand, CodeActionParams, Command,
    Diagnostic,
};
use serde_json::{Value, json};

use crate::engine::status::FindingState;
use crate::engine::{FindingView, QuestionView, Snapshot};

use super::capabilities::Capabilities;
use super::text::{head, printable};

const TITLE_CHARACTERS: usize = 80;

/// A finding at the range, with what the editor shows of it.
pub(super) struct AtRange<'a> {
    /// The folder's URI, where there are several folders.
    pub workspace: Option<&'a str>,
    pub snapshot: &'a Snapshot,
    pub finding: &'a FindingView,
    pub diagnostic: Option<Diagnostic>,
    /// The file's path as the engine knows it.
    pub path: &'a str,
}

/// Whether the editor asks for quick fixes at all (LSP: kinds are hierarchical).
pub(super) fn wanted(params: &CodeActionParams) -> bool {
    let only = params.context.only.as_deref();
    only.is_none_or(|only| {
        only.is_empty() || only.iter().any(|kind| matches!(kind.as_str(), "" | "quickfix"))
    })
}

pub(super) fn actions(found: &[AtRange<'_>], capabilities: &Capabilities) -> Vec<CodeActionOrCommand> {
    let mut list = List { actions: Vec::new(), capabilities, several: found.len() > 1 };
    let mut asked: Vec<(Option<&str>, &str)> = Vec::new();
    for at in found {
        for question in questions(at) {
            if !asked.contains(&(at.workspace, &question.id)) {
                asked.push((at.workspace, &question.id));
                list.answers(at, question);
            }
        }
    }
    for at in found {
        list.fix(at);
    }
    list.fix_file(found);
    for at in found {
        list.others(at);
    }
    list.actions
}

/// The open questions about a finding, and those about nothing in particular, such as trust: a dismissed prompt is never
/// lost.
fn questions<'a>(at: &AtRange<'a>) -> impl Iterator<Item = &'a QuestionView> {
    let finding = at.finding;
    at.snapshot.questions.iter().filter(|question| {
        question.findings.is_empty()
            || question.findings.contains(&finding.detail.fingerprint)
            || finding.offers.question.as_ref() == Some(&question.id)
    })
}

struct List<'c> {
    actions: Vec<CodeActionOrCommand>,
    capabilities: &'c Capabilities,
    /// Several findings at the range: titles that would be the same say which finding they mean.
    several: bool,
}

impl List<'_> {
    fn answers(&mut self, at: &AtRange<'_>, question: &QuestionView) {
        let recommended_first = question
            .options
            .iter()
            .filter(|option| **option == question.recommended)
            .chain(question.options.iter().filter(|option| **option != question.recommended));
        for option in recommended_first {
            let mark = if *option == question.recommended { " (recommended)" } else { "" };
            let arguments = json!({"question": question.id, "choice": option});
            self.push(at, format!("Answer: {option}{mark}"), "fix-loop.answer", arguments);
        }
    }

    fn fix(&mut self, at: &AtRange<'_>) {
        let title = format!("Fix with loop: {}", short(&at.finding.detail.title));
        if at.finding.offers.fix {
            return self.push(
                at,
                title,
                "fix-loop.fix",
                json!({"findings": [at.finding.detail.fingerprint]}),
            );
        }
        let open = matches!(at.finding.detail.state, FindingState::Open | FindingState::Stale);
        if let Some(reason) = &at.snapshot.fixing_off
            && open
            && !at.finding.unconfirmed
            && self.capabilities.disabled_actions
            && self.capabilities.action_literals
        {
            self.actions.push(CodeActionOrCommand::CodeAction(CodeAction {
                title,
                kind: Some(CodeActionKind::QUICKFIX),
                disabled: Some(CodeActionDisabled { reason: printable(reason) }),
                ..CodeAction::default()
            }));
        }
    }

    fn fix_file(&mut self, found: &[AtRange<'_>]) {
        let Some(at) = found.iter().find(|at| at.finding.detail.file.is_some()) else { return };
        let in_file = |finding: &&Arc<FindingView>| {
            finding.detail.file.as_deref() == Some(at.path) && finding.offers.fix
        };
        let count = at.snapshot.findings.iter().filter(in_file).count();
        if count >= 2 {
            let title = format!("Fix all {count} findings in this file with loop");
            let arguments = with_workspace(json!({"file": at.path}), at.workspace);
            self.push_command(title, "fix-loop.fixFile", arguments, None);
        }
    }

    fn others(&mut self, at: &AtRange<'_>) {
        let offers = &at.finding.offers;
        let finding = json!({"finding": at.finding.detail.fingerprint});
        let simple = [
            (offers.verify, "Verify my fix", "fix-loop.verify"),
            (offers.confirm, "Confirm this finding", "fix-loop.confirm"),
            (offers.defer, "Defer…", "fix-loop.defer"),
            (offers.dispute, "Dispute…", "fix-loop.dispute"),
            (offers.reopen, "Reopen", "fix-loop.reopen"),
            (true, "Show report", "fix-loop.report"),
        ];
        for (offered, title, command) in simple {
            if offered {
                self.push(at, self.which(title, at), command, finding.clone());
            }
        }
        if let Some(id) = &offers.undo {
            self.push(at, self.which("Undo this fix", at), "fix-loop.undo", json!({"loop": id}));
        }
        if let Some(id) = &offers.cancel {
            self.push(at, self.which("Cancel loop", at), "fix-loop.cancel", json!({"loop": id}));
        }
    }

    fn which(&self, title: &str, at: &AtRange<'_>) -> String {
        if self.several { format!("{title}: {}", short(&at.finding.detail.title)) } else { title.to_owned() }
    }

    fn push(&mut self, at: &AtRange<'_>, title: String, command: &str, arguments: Value) {
        let arguments = with_workspace(arguments, at.workspace);
        self.push_command(title, command, arguments, at.diagnostic.clone());
    }

    fn push_command(
        &mut self,
        title: String,
        command: &str,
        arguments: Value,
        diagnostic: Option<Diagnostic>,
    ) {
        let command =
            Command { title: title.clone(), command: command.to_owned(), arguments: Some(vec![arguments]) };
        self.actions.push(if self.capabilities.action_literals {
            CodeActionOrCommand::CodeAction(CodeAction {
                title,
                kind: Some(CodeActionKind::QUICKFIX),
                diagnostics: diagnostic.map(|diagnostic| vec![diagnostic]),
                command: Some(command),
                ..CodeAction::default()
            })
        } else {
            CodeActionOrCommand::Command(command)
        });
    }
}

/// One folder's ids may be another's too.
pub(super) fn with_workspace(mut arguments: Value, workspace: Option<&str>) -> Value {
    if let (Some(workspace), Some(object)) = (workspace, arguments.as_object_mut()) {
        object.insert("workspace".into(), workspace.into());
    }
    arguments
}

pub(super) fn short(title: &str) -> String {
    printable(&head(title, 1, TITLE_CHARACTERS))
}
