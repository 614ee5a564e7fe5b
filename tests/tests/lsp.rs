//! The main job over plain LSP, with a client that fails on anything it did not expect.

use fix_loop_tests::{LspClient, Repo, finding};
use serde_json::{Value, json};

use crate::story::Story;

fn opened(story: &Story) -> LspClient {
    let mut client = LspClient::start(&story.repo);
    client.open(&story.repo, "app.txt", "plaintext");
    let shown = client.diagnostics(&story.repo, "app.txt", |found| found.len() == 1);
    let diagnostic = &shown[0];
    assert_eq!(diagnostic["range"]["start"], json!({"line": 1, "character": 0}), "the first cited line");
    assert_eq!(
        (&diagnostic["severity"], &diagnostic["source"], &diagnostic["code"]),
        (&json!(2), &json!("fix-loop"), &json!("AC-1"))
    );
    assert!(
        diagnostic["message"].as_str().is_some_and(|text| text.starts_with("BAD is a word that must go"))
    );
    client
}

/// Loops that have ended stay listed, to be undone.
fn idle(status: &Value) -> bool {
    status["loops"].as_array().is_some_and(|loops| loops.iter().all(|one| one["state"] == "finished"))
}

/// After the answer: staged, no diagnostic, one whole progress, and the server ends in order.
fn fixed(mut client: LspClient, story: &Story) {
    client.status(|status| status["counts"]["resolved"] == 1 && idle(status));
    client.diagnostics(&story.repo, "app.txt", <[Value]>::is_empty);
    let progress = client.finished_progress();
    assert_eq!(progress[0]["kind"], "begin");
    story.assert_fixed();
    client.take_messages();
    client.shutdown();
}

#[test]
fn a_finding_goes_from_diagnostic_to_staged_with_a_scope_question_answered_at_once() {
    let story = Story::new();
    let mut client = opened(&story);
    let action = client.code_action(&story.repo, "app.txt", 1, "Fix with loop: BAD is a word");
    assert_eq!(action["kind"], "quickfix");
    assert_ne!(action["isPreferred"], true, "saving a file must never start an agent");
    client.choose(&action);
    let question = client.question();
    assert!(question.text.contains("lib.txt"), "{}", question.text);
    assert_eq!(question.options[0], "Approve expanded scope", "the recommended option is the first");
    client.answer(&question, Some("Approve expanded scope"));
    fixed(client, &story);
}

#[test]
fn a_dismissed_question_stays_open_and_is_answered_by_code_action() {
    let story = Story::new();
    let mut client = opened(&story);
    let action = client.code_action(&story.repo, "app.txt", 1, "Fix with loop: ");
    client.choose(&action);
    let question = client.question();
    client.answer(&question, None);
    let status = client.status(|status| status["questions"].as_array().is_some_and(|open| open.len() == 1));
    assert_eq!(status["questions"][0]["kind"], "scope");
    let answer = client.code_action(&story.repo, "app.txt", 1, "Answer: Approve expanded scope");
    client.choose(&answer);
    fixed(client, &story);
}

#[test]
fn cancelling_restores_the_tree_and_leaves_the_finding_open() {
    let story = Story::new();
    let before = (story.repo.tree(), story.repo.git_state());
    let mut client = opened(&story);
    let action = client.code_action(&story.repo, "app.txt", 1, "Fix with loop: ");
    client.choose(&action);
    let question = client.question();
    client.answer(&question, None);
    let cancel = client.code_action(&story.repo, "app.txt", 1, "Cancel loop");
    client.choose(&cancel);
    client.status(|status| status["counts"]["open"] == 1 && idle(status));
    client.diagnostics(&story.repo, "app.txt", |found| found.len() == 1);
    client.finished_progress();
    assert_eq!((story.repo.tree(), story.repo.git_state()), before);
    client.take_messages();
    client.shutdown();
}

#[test]
fn an_untrusted_workspace_shows_findings_and_starts_nothing() {
    let story = Story::new();
    let mut client = LspClient::start_with(&story.repo, json!({"trusted": false}));
    client.open(&story.repo, "app.txt", "plaintext");
    client.diagnostics(&story.repo, "app.txt", |found| found.len() == 1);
    let asked = client.try_request(
        "workspace/executeCommand",
        json!({"command": "fix-loop.fix", "arguments": [{"findings": ["f1"]}]}),
    );
    // It is refused, or it waits for the user's trust; either way it says so.
    match asked {
        Err(error) => {
            assert!(error["message"].as_str().is_some_and(|text| text.contains("trust")), "{error}");
        }
        Ok(_) => {
            let question = client.question();
            assert!(question.text.contains("trust"), "{question:?}");
            client.answer(&question, None);
            client.status(|status| status["questions"][0]["kind"] == "trust");
        }
    }
    assert!(story.agent.briefs().is_empty());
    client.take_messages();
    client.shutdown();
}

#[test]
fn findings_files_are_followed_and_a_broken_one_keeps_the_last_good_set() {
    let story = Story::new();
    let mut client = opened(&story);
    let both = [
        finding("f1", "app.txt", 2, "BAD is a word that must go"),
        finding("f2", "lib.txt", 1, "BAD stands here too"),
    ];
    let inbox = ".fix-loop/findings/review.json";
    story.repo.findings(&both);
    client.watched(&story.repo, inbox, 2);
    client.diagnostics(&story.repo, "lib.txt", |found| found.len() == 1);
    let path = story.repo.findings(&[]);
    std::fs::write(&path, "{\"schema_version\": \"v1\", \"findings\": [").expect("the inbox can be written");
    client.watched(&story.repo, inbox, 2);
    let broken = client.diagnostics(&story.repo, inbox, |found| !found.is_empty());
    assert_eq!(broken[0]["severity"], 1, "{broken:?}");
    assert_eq!(client.shown_diagnostics(&story.repo, "lib.txt").len(), 1, "the last good set is kept");
    story.repo.findings(&both[1..]);
    client.watched(&story.repo, inbox, 2);
    client.diagnostics(&story.repo, inbox, <[Value]>::is_empty);
    client.diagnostics(&story.repo, "app.txt", <[Value]>::is_empty);
    client.take_messages();
    client.shutdown();
}

#[test]
fn a_diagnostic_moves_with_the_text_while_it_is_typed() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\n")]);
    repo.findings(&[finding("f1", "a.txt", 2, "two is wrong")]);
    let mut client = LspClient::start(&repo);
    client.open(&repo, "a.txt", "plaintext");
    client.diagnostics(&repo, "a.txt", |found| found.len() == 1 && found[0]["range"]["start"]["line"] == 1);
    client.change(&repo, "a.txt", [0, 0, 0, 0], "a new line\nand another\n");
    client.diagnostics(&repo, "a.txt", |found| found.len() == 1 && found[0]["range"]["start"]["line"] == 3);
    client.take_messages();
    client.shutdown();
}
