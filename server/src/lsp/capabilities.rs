//! What the editor can do, folded once into flat booleans, and what this server offers.
//!
//! Nobody else reads the nested capability objects.

use lsp_types::{
    ClientCapabilities, CodeActionKind, CodeActionOptions, CodeActionProviderCapability, CodeLensOptions,
    ExecuteCommandOptions, HoverProviderCapability, InitializeResult, MarkupKind, OneOf, SaveOptions,
    ServerCapabilities, ServerInfo, TextDocumentSyncCapability, TextDocumentSyncKind,
    TextDocumentSyncOptions, TextDocumentSyncSaveOptions, WorkDoneProgressOptions,
    WorkspaceFoldersServerCapabilities, WorkspaceServerCapabilities,
};
use serde_json::Value;

use super::commands::COMMANDS;
use super::text::Encoding;

#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Capabilities {
    pub encoding: Encoding,
    /// Takes `CodeAction` objects; otherwise plain commands are sent.
    pub action_literals: bool,
    pub disabled_actions: bool,
    pub progress: bool,
    pub show_document: bool,
    /// The client shows the report that `fix-loop.report` returns by itself (`experimental.fixLoop.report`).
    pub shows_reports: bool,
    pub watches_files: bool,
    pub relative_patterns: bool,
    pub refreshes_lenses: bool,
    pub gives_configuration: bool,
    pub applies_edits: bool,
    /// Takes edits of one version of a document only.
    pub versioned_edits: bool,
    pub markdown_hover: bool,
}

impl Capabilities {
    pub fn fold(client: &ClientCapabilities) -> Capabilities {
        let text = client.text_document.as_ref();
        let window = client.window.as_ref();
        let workspace = client.workspace.as_ref();
        let action = text.and_then(|text| text.code_action.as_ref());
        let watching = workspace.and_then(|workspace| workspace.did_change_watched_files);
        let encodings = client.general.as_ref().and_then(|general| general.position_encodings.as_deref());
        let experimental = |pointer| client.experimental.as_ref().and_then(|value| value.pointer(pointer));
        Capabilities {
            encoding: Encoding::negotiate(encodings),
            action_literals: action.is_some_and(|action| action.code_action_literal_support.is_some()),
            disabled_actions: action.and_then(|action| action.disabled_support).unwrap_or(false),
            progress: window.and_then(|window| window.work_done_progress).unwrap_or(false),
            show_document: window
                .and_then(|window| window.show_document.as_ref())
                .is_some_and(|show| show.support),
            shows_reports: experimental("/fixLoop/report").and_then(Value::as_bool).unwrap_or(false),
            watches_files: watching.and_then(|watching| watching.dynamic_registration).unwrap_or(false),
            relative_patterns: watching
                .and_then(|watching| watching.relative_pattern_support)
                .unwrap_or(false),
            refreshes_lenses: workspace
                .and_then(|workspace| workspace.code_lens.as_ref())
                .and_then(|lens| lens.refresh_support)
                .unwrap_or(false),
            applies_edits: workspace.and_then(|workspace| workspace.apply_edit).unwrap_or(false),
            versioned_edits: workspace
                .and_then(|workspace| workspace.workspace_edit.as_ref())
                .and_then(|edit| edit.document_changes)
                .unwrap_or(false),
            gives_configuration: workspace.and_then(|workspace| workspace.configuration).unwrap_or(false),
            markdown_hover: text
                .and_then(|text| text.hover.as_ref())
                .and_then(|hover| hover.content_format.as_ref())
                .is_some_and(|formats| formats.contains(&MarkupKind::Markdown)),
        }
    }
}

/// The answer to `initialize`.
pub(super) fn offer(client: &Capabilities) -> InitializeResult {
    let capabilities = ServerCapabilities {
        position_encoding: Some(client.encoding.kind()),
        text_document_sync: Some(TextDocumentSyncCapability::Options(TextDocumentSyncOptions {
            open_close: Some(true),
            change: Some(TextDocumentSyncKind::INCREMENTAL),
            save: Some(TextDocumentSyncSaveOptions::SaveOptions(SaveOptions { include_text: Some(false) })),
            ..TextDocumentSyncOptions::default()
        })),
        hover_provider: Some(HoverProviderCapability::Simple(true)),
        code_action_provider: Some(CodeActionProviderCapability::Options(CodeActionOptions {
            code_action_kinds: Some(vec![CodeActionKind::QUICKFIX]),
            resolve_provider: Some(false),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        })),
        code_lens_provider: Some(CodeLensOptions { resolve_provider: Some(false) }),
        execute_command_provider: Some(ExecuteCommandOptions {
            commands: COMMANDS.iter().map(|command| (*command).to_owned()).collect(),
            work_done_progress_options: WorkDoneProgressOptions::default(),
        }),
        workspace: Some(WorkspaceServerCapabilities {
            workspace_folders: Some(WorkspaceFoldersServerCapabilities {
                supported: Some(true),
                change_notifications: Some(OneOf::Left(true)),
            }),
            file_operations: None,
        }),
        ..ServerCapabilities::default()
    };
    let server_info =
        Some(ServerInfo { name: "fix-loop".into(), version: Some(env!("CARGO_PKG_VERSION").into()) });
    InitializeResult { capabilities, server_info }
}
