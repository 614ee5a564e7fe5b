use std::sync::Arc;

use serde_json::{Value, json};

use super::super::text::{Encoding, Text, differences};
use super::editor::{Received, Session, Setup, finding};
use crate::engine::{BufferEdit, BufferEvent};

const PATH: &str = "src/a.py";
const UNSAVED: &str = "import os\n\ndef a():\n    return 1  # mine\n";
const BOTH: &str = "import sys\n\ndef a():\n    return 1  # mine\n";

fn wanted(before: &str, after: &str) -> BufferEdit {
    BufferEdit { path: PATH.into(), before: before.into(), after: after.into() }
}

/// A session in which the editor holds unsaved text, and the engine wants `BOTH` of it.
async fn session(workspace: Value) -> Session {
    let mut session =
        Session::start(Setup { capabilities: json!({"workspace": workspace}), ..Setup::default() }).await;
    session.open(PATH, 1).await;
    session.edit(PATH, 2, [3, 12, 3, 12], "  # mine").await;
    for _ in 0..2 {
        session.engine.buffer().await;
    }
    session.engine.change(|snapshot| snapshot.buffer_edits = vec![wanted(UNSAVED, BOTH)]);
    session.sync().await;
    session
}

async fn asked(session: &mut Session) -> Received {
    session.editor.next("workspace/applyEdit").await
}

fn told(path: &str, text: &str, done: bool) -> BufferEvent {
    BufferEvent::Merged { path: path.into(), text: Arc::from(text), done }
}

#[tokio::test]
async fn the_editor_is_asked_once_to_put_a_fix_beside_unsaved_text_of_just_that_version() {
    let mut session = session(json!({"applyEdit": true, "workspaceEdit": {"documentChanges": true}})).await;
    let request = asked(&mut session).await;
    let range = json!({"start": {"line": 0, "character": 0}, "end": {"line": 1, "character": 0}});
    assert_eq!(
        request.params["edit"],
        json!({"documentChanges": [{
            "textDocument": {"uri": session.uri(PATH), "version": 2},
            "edits": [{"range": range, "newText": "import sys\n"}],
        }]})
    );
    session.engine.change(|snapshot| snapshot.status.counts.open = 7);
    session.sync().await;
    session.editor.assert_quiet().await;
    session.editor.respond(&request, json!({"applied": true})).await;
    assert_eq!(session.engine.buffer().await, told(PATH, BOTH, true));
    // Asked for again after the engine took it back in between.
    session.engine.change(|snapshot| snapshot.buffer_edits.clear());
    session.sync().await;
    session.engine.change(|snapshot| snapshot.buffer_edits = vec![wanted(UNSAVED, BOTH)]);
    session.sync().await;
    asked(&mut session).await;
    session.finish().await;
}

#[tokio::test]
async fn an_editor_that_does_not_take_the_edit_is_no_end_of_it() {
    for answer in [json!({"applied": false}), Value::Null] {
        let mut session = session(json!({"applyEdit": true})).await;
        let request = asked(&mut session).await;
        assert!(request.params["edit"]["changes"].is_object(), "it knows no versions: {}", request.params);
        match answer {
            Value::Null => session.editor.respond_error(&request, -32603).await,
            answer => session.editor.respond(&request, answer).await,
        }
        assert_eq!(session.engine.buffer().await, told(PATH, BOTH, false));
        session.finish().await;
    }
    // One that knows no such request is not asked.
    let mut session = session(json!({})).await;
    assert_eq!(session.engine.buffer().await, told(PATH, BOTH, false));
    session.finish().await;
}

#[tokio::test]
async fn an_edit_for_a_text_that_was_typed_into_is_neither_sent_nor_given_up() {
    let mut session = session(json!({"applyEdit": true})).await;
    let request = asked(&mut session).await;
    session.edit(PATH, 3, [3, 20, 3, 20], "!").await;
    let typed = UNSAVED.replace("mine", "mine!");
    assert!(matches!(session.engine.buffer().await, BufferEvent::Changed { text, .. } if *text == *typed));
    session.editor.respond(&request, json!({"applied": false})).await;
    // The engine has not seen the keystroke yet, and wants the same again.
    session.engine.change(|snapshot| snapshot.status.counts.open = 7);
    session.sync().await;
    session.editor.assert_quiet().await;
    let both = BOTH.replace("mine", "mine!");
    session.engine.change(|snapshot| snapshot.buffer_edits = vec![wanted(&typed, &both)]);
    session.sync().await;
    let request = asked(&mut session).await;
    session.editor.respond(&request, json!({"applied": true})).await;
    assert_eq!(session.engine.buffer().await, told(PATH, &both, true));
    session.finish().await;
}

#[test]
fn the_edits_between_two_texts_touch_only_what_differs() {
    let applied = |before: &str, after: &str, encoding: Encoding| {
        let text = Text::new(before);
        let mut changed = text.clone();
        // From the last one on, each still stands where it was said to be.
        for edit in differences(&text, after, encoding).into_iter().rev() {
            changed.apply(
                &lsp_types::TextDocumentContentChangeEvent {
                    range: Some(edit.range),
                    range_length: None,
                    text: edit.new_text,
                },
                encoding,
            );
        }
        changed.content().to_string()
    };
    let texts = [
        "",
        "a",
        "a\n",
        "a\nb\nc\n",
        "a\nB\nc",
        "x\na\nb\nc\nd",
        "a\r\nb\r\n",
        "\u{1f600}\na\n\u{1f600}",
        "\u{1f600}\n\u{e9}\n\u{1f600}!\n",
    ];
    for before in texts {
        for after in texts {
            for encoding in [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32] {
                assert_eq!(applied(before, after, encoding), after, "{before:?} to {after:?}");
            }
        }
    }
    let touched = differences(&Text::new("a\nb\nc\nd\n"), "A\nb\nc\nD\n", Encoding::Utf16);
    assert_eq!(touched.len(), 2, "the lines between are the user's: {touched:?}");
}

/// The first line of the only finding, as it was shown last.
async fn shown(session: &mut Session) -> Value {
    session.editor.diagnostics().await["diagnostics"][0]["range"]["start"]["line"].clone()
}

#[tokio::test]
async fn where_an_edit_leaves_a_place_in_doubt_the_engines_word_is_waited_for() {
    let mut session = Session::start(Setup { findings: vec![finding(1, 3, 4)], ..Setup::default() }).await;
    shown(&mut session).await;
    session.open(PATH, 1).await;
    assert_eq!(shown(&mut session).await, 2);
    let text = std::fs::read_to_string(session.folder.path().join(PATH)).unwrap();
    // As some editors read a file again: everything is taken out and put in. The engine sees no difference at all.
    let everything = json!({"start": {"line": 0, "character": 0}, "end": {"line": 4, "character": 0}});
    let nowhere = json!({"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}});
    let changes = json!([{"range": everything, "text": ""}, {"range": nowhere, "text": text}]);
    let document = json!({"uri": session.uri(PATH), "version": 2});
    let params = json!({"textDocument": document, "contentChanges": changes});
    session.editor.notify("textDocument/didChange", params).await;
    shown(&mut session).await;
    // Opened and changed: seen, and no finding moved.
    session.engine.change(|snapshot| snapshot.buffers_taken = 2);
    assert_eq!(shown(&mut session).await, 2, "back where the engine knows it");
    session.finish().await;
}
