//! What the user types and saves while a loop is at work on the same file (DESIGN 9, R32).

use fix_loop_tests::{Agent, LspClient, Repo, Script, Step, finding, step};
use serde_json::{Value, json};

const BEFORE: &str = "one\nBAD line\nthree\nfour\nfive\n";
const FIXED: &str = "one\nGOOD line\nthree\nfour\nfive\n";
const MINE: &str = "one\nBAD line\nthree\nfour\nMINE\n";
const BOTH: &str = "one\nGOOD line\nthree\nfour\nMINE\n";

/// A repository with one finding on `a.txt`, opened in an editor, and a fixer that is told when to go on.
struct Desk {
    repo: Repo,
    agent: Agent,
    client: LspClient,
}

impl Desk {
    fn with(work: impl IntoIterator<Item = Step>) -> Desk {
        let repo = Repo::with(&[("a.txt", BEFORE), ("b.txt", "b\n"), ("check.sh", "! grep BAD a.txt\n")]);
        let steps = [step::mark("at work"), step::wait_for("go on")].into_iter().chain(work);
        let agent = Script::new().on("fixer", steps).install(&repo, "typist");
        repo.config(&format!(
            "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\n\n{}",
            agent.toml_for(&["fixer"])
        ));
        repo.findings(&[finding("f1", "a.txt", 2, "BAD must go")]);
        let mut client = LspClient::start(&repo);
        client.open(&repo, "a.txt", "plaintext");
        Desk { repo, agent, client }
    }

    fn start(&mut self) {
        let fix = self.client.code_action(&self.repo, "a.txt", 1, "Fix with loop");
        self.client.choose(&fix);
        self.agent.reached("at work");
    }

    /// The user changes a range, and saves it.
    fn save(&mut self, range: [u32; 4], text: &str, whole: &str) {
        self.client.change(&self.repo, "a.txt", range, text);
        self.repo.write("a.txt", whole);
        self.client.saved(&self.repo, "a.txt");
        self.taken_in();
    }

    /// Everything sent so far has been taken in: the answer comes after it.
    fn taken_in(&mut self) {
        self.client.execute("fix-loop.reload", json!({}));
    }

    fn resolved(&mut self) {
        self.client.status(|status| status["counts"]["resolved"] == 1 && at_rest(status));
        self.client.finished_progress();
    }

    fn undo(&mut self) {
        self.client.execute("fix-loop.undo", json!({"loop": "L1"}));
    }

    fn end(self) {
        self.client.shutdown();
    }
}

fn at_rest(status: &Value) -> bool {
    status["loops"].as_array().is_some_and(|loops| loops.iter().all(|known| known["state"] == "finished"))
}

#[test]
fn what_is_saved_while_a_worker_is_at_the_file_is_neither_staged_nor_undone_nor_overwritten() {
    for (what, work) in [
        ("it edits what it finds", step::edit("a.txt", "BAD", "GOOD")),
        ("it writes what it read before", step::write("a.txt", FIXED)),
    ] {
        let mut desk = Desk::with([work, step::fixed("replaced BAD")]);
        desk.start();
        desk.save([4, 0, 4, 4], "MINE", MINE);
        desk.agent.release("go on");
        desk.resolved();
        assert_eq!(desk.repo.read("a.txt"), BOTH, "{what}");
        assert_eq!(desk.repo.staged("a.txt"), FIXED, "{what}");
        desk.undo();
        assert_eq!(desk.repo.read("a.txt"), MINE, "{what}");
        assert_eq!(desk.repo.staged("a.txt"), BEFORE, "{what}");
        desk.end();
    }
}

#[test]
fn cancelling_leaves_what_was_saved_meanwhile() {
    let mut desk = Desk::with([step::edit("a.txt", "BAD", "GOOD"), step::mark("edited"), step::hang()]);
    desk.start();
    desk.save([4, 0, 4, 4], "MINE", MINE);
    desk.agent.release("go on");
    desk.agent.reached("edited");
    desk.client.execute("fix-loop.cancel", json!({}));
    desk.client.status(|status| status["counts"]["open"] == 1 && at_rest(status));
    assert_eq!(desk.repo.read("a.txt"), MINE);
    assert_eq!(desk.repo.staged("a.txt"), BEFORE);
    desk.client.finished_progress();
    desk.end();
}

#[test]
fn a_save_on_the_lines_of_the_fix_is_a_question_and_can_be_had_back() {
    let mut desk = Desk::with([step::write("a.txt", FIXED), step::fixed("replaced BAD")]);
    let mine = BEFORE.replace("BAD line", "BAD line of mine");
    desk.start();
    desk.save([1, 8, 1, 8], " of mine", &mine);
    desk.agent.release("go on");
    let question = desk.client.question();
    assert!(question.text.contains("a.txt"), "{question:?}");
    desk.client.answer(&question, Some("Restore and stop"));
    desk.client.status(|status| at_rest(status) && status["questions"] == json!([]));
    assert_eq!(desk.repo.read("a.txt"), mine);
    assert_eq!(desk.repo.staged("a.txt"), BEFORE);
    desk.client.finished_progress();
    desk.end();
}

#[test]
fn unsaved_keystrokes_get_the_fix_beside_them() {
    let mut desk = Desk::with([step::edit("a.txt", "BAD", "GOOD"), step::fixed("replaced BAD")]);
    desk.start();
    desk.client.change(&desk.repo, "a.txt", [4, 0, 4, 4], "MINE");
    desk.taken_in();
    desk.agent.release("go on");
    let edit = desk.client.edit();
    let changes = &edit["edit"]["documentChanges"];
    assert_eq!(
        changes,
        &json!([{
            "textDocument": {"uri": desk.repo.uri("a.txt"), "version": 2},
            "edits": [{
                "range": {"start": {"line": 1, "character": 0}, "end": {"line": 2, "character": 0}},
                "newText": "GOOD line\n",
            }],
        }])
    );
    desk.client.change(&desk.repo, "a.txt", [1, 0, 2, 0], "GOOD line\n");
    desk.resolved();
    assert_eq!(desk.repo.read("a.txt"), FIXED, "nobody but the user saves");
    desk.repo.write("a.txt", BOTH);
    desk.client.saved(&desk.repo, "a.txt");
    desk.taken_in();
    assert_eq!(desk.repo.staged("a.txt"), FIXED);
    desk.end();
}

#[test]
fn unsaved_keystrokes_on_the_lines_of_the_fix_are_a_question_that_loses_neither() {
    let mut desk = Desk::with([step::edit("a.txt", "BAD", "GOOD"), step::fixed("replaced BAD")]);
    desk.start();
    desk.client.change(&desk.repo, "a.txt", [1, 8, 1, 8], " of mine");
    desk.taken_in();
    desk.agent.release("go on");
    let question = desk.client.question();
    assert!(question.text.contains("a.txt"), "{question:?}");
    assert_eq!(question.options, ["Put both into the editor, marked", "Keep my text as it is"]);
    let status = desk.client.status(|status| status["questions"][0]["kind"] == "conflict");
    assert_eq!(status["questions"][0]["loop"], "L1");
    desk.client.answer(&question, Some("Put both"));
    let edit = desk.client.edit();
    let put = edit["edit"]["documentChanges"][0]["edits"].to_string();
    assert!(put.contains("GOOD line") && put.contains("<<<<<<<"), "{put}");
    desk.client.status(|status| status["questions"] == json!([]));
    desk.resolved();
    desk.end();
}

#[test]
fn a_file_that_the_editor_read_again_is_not_taken_for_unsaved_text() {
    let mut desk = Desk::with([step::edit("a.txt", "BAD", "GOOD"), step::fixed("replaced BAD")]);
    desk.start();
    desk.agent.release("go on");
    desk.resolved();
    // As an editor does it whose buffer was clean; it does not say that it saved.
    desk.client.change(&desk.repo, "a.txt", [1, 0, 1, 3], "GOOD");
    desk.repo.findings(&[finding("f2", "a.txt", 4, "four is odd")]);
    desk.client.watched(&desk.repo, ".fix-loop/findings/review.json", 2);
    let fix = desk.client.code_action(&desk.repo, "a.txt", 3, "Fix with loop: four is odd");
    desk.client.choose(&fix);
    let status = desk.client.status(|status| {
        let asked = status["questions"].as_array().is_some_and(|open| !open.is_empty());
        asked
            || status["loops"].as_array().is_some_and(|loops| {
                loops.len() == 2 && loops[1]["agent"] == "typist" && loops[1]["state"] == "fixing"
            })
    });
    assert_eq!(status["questions"], json!([]), "nothing is unsaved");
    desk.client.execute("fix-loop.cancel", json!({}));
    desk.client.status(at_rest);
    desk.client.take_messages();
    desk.client.finished_progress();
    desk.client.until("both ends", |client| {
        let ended = |values: &Vec<Value>| values.iter().any(|value| value["kind"] == "end");
        (client.progress().values().filter(|values| ended(values)).count() == 2).then_some(())
    });
    desk.end();
}

#[test]
fn unsaved_text_in_a_file_that_comes_into_the_scope_is_asked_about_before_the_next_dispatch() {
    let repo = Repo::with(&[("a.txt", BEFORE), ("b.txt", "b\n"), ("check.sh", "! grep BAD a.txt\n")]);
    let agent = Script::new()
        .when(json!({"role": "fixer", "answered": false}), [step::needs(&["b.txt"], "it stands there too")])
        .on(
            "fixer",
            [step::edit("a.txt", "BAD", "GOOD"), step::append("b.txt", "more\n"), step::fixed("done")],
        )
        .install(&repo, "wide");
    repo.config(&format!(
        "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"check.sh\"]\n\n{}",
        agent.toml_for(&["fixer"])
    ));
    repo.findings(&[finding("f1", "a.txt", 2, "BAD must go")]);
    let mut client = LspClient::start(&repo);
    client.open(&repo, "b.txt", "plaintext");
    client.change(&repo, "b.txt", [0, 0, 0, 0], "mine ");
    let fix = client.code_action(&repo, "a.txt", 1, "Fix with loop");
    client.choose(&fix);
    let question = client.question();
    client.answer(&question, Some("Approve expanded scope"));
    let question = client.question();
    assert!(question.text.contains("b.txt") && question.text.contains("unsaved"), "{question:?}");
    assert_eq!(agent.dispatches(), ["fixer 1"], "the second dispatch waits");
    client.answer(&question, None);
    repo.write("b.txt", "mine b\n");
    client.saved(&repo, "b.txt");
    client.status(|status| status["counts"]["resolved"] == 1 && at_rest(status));
    assert_eq!(repo.read("b.txt"), "mine b\nmore\n");
    client.finished_progress();
    client.shutdown();
}

#[test]
fn a_fix_of_the_users_own_is_verified_and_its_evidence_is_shown() {
    let repo = Repo::with(&[("a.txt", BEFORE), ("other.txt", "x\n")]);
    let agent = Script::new()
        .on("verifier", [step::judge("rejected", "looked: it says GOOD now")])
        .install(&repo, "judge");
    repo.config(&agent.toml_for(&["fixer", "verifier"]));
    repo.findings(&[finding("f1", "a.txt", 2, "BAD must go")]);
    let mut client = LspClient::start(&repo);
    client.open(&repo, "a.txt", "plaintext");
    client.change(&repo, "a.txt", [1, 0, 1, 3], "GOOD");
    repo.write("a.txt", FIXED);
    client.saved(&repo, "a.txt");
    let verify = client.code_action(&repo, "a.txt", 1, "Verify my fix");
    client.choose(&verify);
    client.status(|status| status["counts"]["resolved"] == 1 && at_rest(status));
    client.diagnostics(&repo, "a.txt", <[Value]>::is_empty);
    let hover = client.request(
        "textDocument/hover",
        json!({"textDocument": {"uri": repo.uri("a.txt")}, "position": {"line": 1, "character": 2}}),
    );
    let shown = hover["contents"]["value"].as_str().unwrap_or_default();
    for part in ["**Evidence:** verified", "looked: it says GOOD now", "**Criterion:** AC-1", "Reopen"] {
        assert!(shown.contains(part), "{part} in {shown}");
    }
    let report = client.execute("fix-loop.report", json!({"finding": "f1"}));
    assert!(report.as_str().is_some_and(|text| text.contains("verified")), "{report}");
    client.shown_document();
    let reopen = client.code_action(&repo, "a.txt", 1, "Reopen");
    client.choose(&reopen);
    client.diagnostics(&repo, "a.txt", |found| found.len() == 1);
    assert_eq!(repo.staged("a.txt"), BEFORE, "nothing of the user's was staged");
    client.finished_progress();
    client.shutdown();
}
