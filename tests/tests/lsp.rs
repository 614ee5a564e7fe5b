//! The main job over plain LSP, with a client that fails on anything it did not expect.

use fix_loop_tests::{Agent, LspClient, Repo, Script, finding, step};
use serde_json::{Value, json};

use crate::story::Story;

const INBOX: &str = ".fix-loop/findings/review.json";

fn opened(story: &Story) -> LspClient {
    let mut client = LspClient::start(&story.repo);
    client.open(&story.repo, "app.txt", "plaintext");
    let shown = client.diagnostics(&story.repo, "app.txt", |found| found.len() == 1);
    let diagnostic = &shown[0];
    assert_eq!(
        diagnostic["range"],
        json!({"start": {"line": 1, "character": 0}, "end": {"line": 1, "character": 8}}),
        "the first cited line"
    );
    assert_eq!(
        (&diagnostic["severity"], &diagnostic["source"], &diagnostic["code"], &diagnostic["data"]["id"]),
        (&json!(2), &json!("fix-loop"), &json!("AC-1"), &json!("f1"))
    );
    assert!(
        diagnostic["message"].as_str().is_some_and(|text| text.starts_with("BAD is a word that must go"))
    );
    client
}

/// Ended loops may stay in the list.
fn nothing_runs(status: &Value) -> bool {
    status["loops"].as_array().is_some_and(|loops| loops.iter().all(|known| known["state"] == "finished"))
}

/// After the answer: staged, no diagnostic, one whole progress, and the server ends in order.
fn fixed(mut client: LspClient, story: &Story) {
    client.status(|status| status["counts"]["resolved"] == 1 && nothing_runs(status));
    client.diagnostics(&story.repo, "app.txt", <[Value]>::is_empty);
    let progress = client.finished_progress();
    assert_eq!(
        (&progress[0]["kind"], &progress[0]["title"], &progress[0]["cancellable"]),
        (&json!("begin"), &json!("Fix with loop: BAD is a word that must go"), &json!(true))
    );
    story.assert_fixed();
    let page = client.request("fixLoop/findings", json!({"states": ["resolved"]}));
    assert_eq!((&page["items"][0]["id"], &page["items"][0]["evidence"]), (&json!("f1"), &json!("proven")));
    client.shutdown();
}

#[test]
fn a_finding_goes_from_diagnostic_to_staged_with_a_scope_question_answered_at_once() {
    let story = Story::new();
    let mut client = opened(&story);
    let action = client.code_action(&story.repo, "app.txt", 1, "Fix with loop: BAD is a word");
    assert_eq!(action["kind"], "quickfix");
    assert_eq!(action["isPreferred"], Value::Null, "saving a file must never start an agent");
    let reply = client.choose(&action);
    assert_eq!(reply["loops"].as_array().map(Vec::len), Some(1), "{reply}");
    let question = client.question();
    assert!(question.text.contains("lib.txt"), "{}", question.text);
    assert!(question.text.contains("Recommended: Approve expanded scope"), "{}", question.text);
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
    let answer =
        client.code_action(&story.repo, "app.txt", 1, "Answer: Approve expanded scope (recommended)");
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
    client.status(|status| status["counts"]["open"] == 1 && nothing_runs(status));
    client.diagnostics(&story.repo, "app.txt", |found| found.len() == 1);
    client.finished_progress();
    assert_eq!((story.repo.tree(), story.repo.git_state()), before);
    client.shutdown();
}

/// A repository whose agent stops half way through its edit and never ends by itself.
fn half_way() -> (Repo, Agent) {
    let repo = Repo::with(&[("app.txt", "one\nBAD line\nthree\n"), ("check.sh", "! grep BAD app.txt\n")]);
    let agent = Script::new()
        .on("fixer", [step::edit("app.txt", "BAD", "HALF"), step::mark("half way"), step::hang()])
        .install(&repo, "slow");
    repo.config(&format!(
        "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\n\n{}",
        agent.toml_for(&["fixer", "verifier"])
    ));
    repo.findings(&[finding("f1", "app.txt", 2, "BAD must go")]);
    (repo, agent)
}

#[test]
fn cancelling_the_progress_ends_the_agent_and_restores_the_tree() {
    let (repo, agent) = half_way();
    let before = (repo.tree(), repo.git_state());
    let mut client = LspClient::start(&repo);
    let action = client.code_action(&repo, "app.txt", 1, "Fix with loop");
    client.choose(&action);
    agent.reached("half way");
    let token = client.until("a progress", |client| client.progress().keys().next().cloned());
    client.notify("window/workDoneProgress/cancel", json!({"token": token}));
    client.finished_progress();
    client.status(|status| status["counts"]["open"] == 1 && nothing_runs(status));
    assert_eq!((repo.tree(), repo.git_state()), before);
    client.code_action(&repo, "app.txt", 1, "Fix with loop");
    client.shutdown();
}

#[test]
fn after_a_kill_the_next_server_asks_and_restores_what_the_interrupted_loop_changed() {
    let (repo, agent) = half_way();
    let before = (repo.tree(), repo.git_state());
    let mut client = LspClient::start(&repo);
    let action = client.code_action(&repo, "app.txt", 1, "Fix with loop");
    client.choose(&action);
    agent.reached("half way");
    assert_ne!(repo.tree(), before.0);
    client.kill();

    let mut client = LspClient::start(&repo);
    let question = client.question();
    assert_eq!(question.options, ["Resume the loop", "Restore and stop"], "{question:?}");
    client.answer(&question, Some("Restore"));
    client.status(|status| status["counts"]["open"] == 1 && nothing_runs(status));
    assert_eq!((repo.tree(), repo.git_state()), before);
    client.take_messages();
    client.shutdown();
}

#[test]
fn unsaved_text_is_asked_about_and_the_loop_goes_on_once_it_is_saved() {
    let repo = Repo::with(&[("app.txt", "one\nBAD line\nthree\n"), ("check.sh", "! grep BAD app.txt\n")]);
    let agent = Script::new()
        .on("fixer", [step::edit("app.txt", "BAD line", "GOOD line"), step::fixed("replaced BAD")])
        .install(&repo, "quick");
    repo.config(&format!(
        "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\n\n{}",
        agent.toml_for(&["fixer", "verifier"])
    ));
    repo.findings(&[finding("f1", "app.txt", 2, "BAD must go")]);
    let mut client = LspClient::start(&repo);
    client.open(&repo, "app.txt", "plaintext");
    client.change(&repo, "app.txt", [2, 0, 2, 5], "THREE");
    let action = client.code_action(&repo, "app.txt", 1, "Fix with loop");
    client.choose(&action);
    let question = client.question();
    assert!(question.text.contains("app.txt"), "{question:?}");
    client.answer(&question, None);
    assert_eq!(agent.briefs(), Vec::<Value>::new(), "nothing is dispatched on text that is not saved");
    repo.write("app.txt", "one\nBAD line\nTHREE\n");
    client.saved(&repo, "app.txt");
    client.status(|status| status["counts"]["resolved"] == 1 && nothing_runs(status));
    client.finished_progress();
    assert_eq!(repo.read("app.txt"), "one\nGOOD line\nTHREE\n");
    assert_eq!(repo.staged("app.txt"), "one\nGOOD line\nthree\n", "the user's own line is not staged");
    client.shutdown();
}

#[test]
fn an_untrusted_workspace_shows_findings_and_starts_nothing() {
    let story = Story::new();
    let before = (story.repo.tree(), story.repo.git_state());
    let mut client = LspClient::start_with(&story.repo, json!({"trusted": false}));
    client.open(&story.repo, "app.txt", "plaintext");
    client.diagnostics(&story.repo, "app.txt", |found| found.len() == 1);
    let params = json!({"command": "fix-loop.fix", "arguments": [{"findings": ["f1"]}]});
    match client.try_request("workspace/executeCommand", params) {
        Err(error) => {
            assert!(error["message"].as_str().is_some_and(|text| text.contains("trust")), "{error}");
        }
        Ok(_) => {
            let question = client.question();
            assert!(question.text.contains("rust"), "{question:?}");
            client.answer(&question, None);
            client.code_action(&story.repo, "app.txt", 1, "Answer: Do not trust it");
        }
    }
    assert!(story.agent.briefs().is_empty());
    assert_eq!((story.repo.tree(), story.repo.git_state()), before);
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
    story.repo.findings(&both);
    client.watched(&story.repo, INBOX, 2);
    client.diagnostics(&story.repo, "lib.txt", |found| found.len() == 1);
    story.repo.write(INBOX, "{\n  \"schema_version\": \"v1\",\n  \"findings\": oops\n}\n");
    client.watched(&story.repo, INBOX, 2);
    let broken = client.diagnostics(&story.repo, INBOX, |found| !found.is_empty());
    assert_eq!(
        (&broken[0]["severity"], &broken[0]["range"]["start"]["line"]),
        (&json!(1), &json!(2)),
        "{broken:?}"
    );
    assert_eq!(client.shown_diagnostics(&story.repo, "lib.txt").len(), 1, "the last good set is kept");
    story.repo.findings(&both[1..]);
    client.watched(&story.repo, INBOX, 2);
    client.diagnostics(&story.repo, INBOX, <[Value]>::is_empty);
    client.diagnostics(&story.repo, "app.txt", <[Value]>::is_empty);
    client.shutdown();
}

#[test]
fn a_diagnostic_moves_with_the_text_while_it_is_typed_and_back_when_it_is_thrown_away() {
    let repo = Repo::with(&[("a.txt", "one\ntwo\nthree\nfour\n")]);
    repo.findings(&[finding("f1", "a.txt", 2, "two is wrong"), finding("f2", "a.txt", 4, "four is odd")]);
    let mut client = LspClient::start(&repo);
    client.open(&repo, "a.txt", "plaintext");
    let first = |found: &[Value]| found.first().map(|first| first["range"]["start"]["line"].clone());
    client.diagnostics(&repo, "a.txt", |found| found.len() == 2 && first(found) == Some(json!(1)));
    client.change(&repo, "a.txt", [0, 0, 0, 0], "a new line\nand another\n");
    client.diagnostics(&repo, "a.txt", |found| found.len() == 2 && first(found) == Some(json!(3)));
    client.code_action(&repo, "a.txt", 3, "Fix with loop: two is wrong");
    client.code_action(&repo, "a.txt", 5, "Fix all 2 findings in this file with loop");
    client.close(&repo, "a.txt");
    client.diagnostics(&repo, "a.txt", |found| found.len() == 2 && first(found) == Some(json!(1)));
    client.shutdown();
}
