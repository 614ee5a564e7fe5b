use serde_json::{Value, json};
use tokio::time::{Duration, Instant};

use super::super::questions::{Questions, dialog};
use super::editor::{Received, Session, Setup, finding, question};
use crate::engine::{Command, QuestionView, Refusal, RefusalKind};

async fn asked(questions: Vec<QuestionView>) -> Session {
    let session = Session::start(Setup::default()).await;
    session.engine.change(|snapshot| snapshot.questions = questions);
    session
}

async fn next_dialog(session: &mut Session) -> Received {
    session.editor.next("window/showMessageRequest").await
}

fn answer(question: &str) -> Command {
    Command::Answer { question: question.into(), choice: "Approve expanded scope".into(), text: None }
}

fn approve() -> Value {
    json!({"title": "Approve expanded scope"})
}

#[tokio::test]
async fn the_dialog_names_the_recommended_option_and_has_it_first() {
    let mut session = asked(vec![question("Q1")]).await;
    let shown = next_dialog(&mut session).await;
    assert_eq!(
        shown.params,
        json!({
            "type": 3,
            "message": "May Q1 change src/b.py too?\n\nThe caller lives there.\n\nRecommended: Approve expanded scope",
            "actions": [{"title": "Approve expanded scope"}, {"title": "Defer this finding"}],
        })
    );
    session.editor.respond(&shown, approve()).await;
    assert_eq!(session.engine.command_done("approved").await, answer("Q1"));
    session.finish().await;
}

#[test]
fn a_long_detail_is_cut() {
    let mut long = question("Q1");
    long.detail = "line\n".repeat(5000);
    assert!(dialog(&long).message.lines().count() < 30);
}

#[tokio::test]
async fn questions_are_asked_one_at_a_time_and_an_answer_brings_the_next() {
    let mut session = asked(vec![question("Q1"), question("Q2")]).await;
    let first = next_dialog(&mut session).await;
    session.editor.assert_quiet().await;
    session.editor.respond(&first, approve()).await;
    assert_eq!(session.engine.command_done("approved").await, answer("Q1"));
    let second = next_dialog(&mut session).await;
    assert!(second.params["message"].as_str().unwrap().contains("Q2"));
    session.finish().await;
}

#[tokio::test]
async fn null_an_error_and_an_unknown_option_leave_the_question_open_and_do_not_ask_again() {
    let mut session = asked(vec![question("Q1"), question("Q2"), question("Q3"), question("Q4")]).await;
    let dismissed = next_dialog(&mut session).await;
    session.editor.respond(&dismissed, Value::Null).await;
    let unsupported = next_dialog(&mut session).await;
    session.editor.respond_error(&unsupported, -32601).await;
    let nonsense = next_dialog(&mut session).await;
    session.editor.respond(&nonsense, json!({"title": "Whatever"})).await;
    let garbled = next_dialog(&mut session).await;
    session.editor.respond(&garbled, json!(42)).await;
    session.engine.change(|snapshot| snapshot.questions.reverse());
    session.sync().await;
    session.editor.assert_quiet().await;
    session.finish().await;
}

#[tokio::test(start_paused = true)]
async fn after_sixty_seconds_the_next_question_is_asked_and_the_late_answer_still_counts() {
    let mut session = asked(vec![question("Q1"), question("Q2")]).await;
    let first = next_dialog(&mut session).await;
    let shown = Instant::now();
    let second = next_dialog(&mut session).await;
    let waited = shown.elapsed();
    assert!(waited >= Duration::from_secs(60) && waited < Duration::from_secs(62), "{waited:?}");
    session.editor.respond(&first, approve()).await;
    assert_eq!(session.engine.command_done("approved").await, answer("Q1"));
    session.editor.respond(&second, approve()).await;
    assert_eq!(session.engine.command_done("approved").await, answer("Q2"));
    session.finish().await;
}

#[tokio::test]
async fn a_question_answered_elsewhere_brings_the_next_and_its_late_answer_is_dropped() {
    let mut session = asked(vec![question("Q1"), question("Q2")]).await;
    let first = next_dialog(&mut session).await;
    session.engine.change(|snapshot| drop(snapshot.questions.remove(0)));
    let second = next_dialog(&mut session).await;
    assert!(second.params["message"].as_str().unwrap().contains("Q2"));
    session.editor.respond(&first, approve()).await;
    session.editor.settle().await;
    session.editor.respond(&second, approve()).await;
    assert_eq!(session.engine.command_done("approved").await, answer("Q2"), "not Q1");
    session.finish().await;
}

#[tokio::test]
async fn a_question_that_opens_again_is_asked_again_and_the_old_dialog_no_longer_answers_it() {
    let mut session = asked(vec![question("Q1")]).await;
    let old = next_dialog(&mut session).await;
    session.engine.change(|snapshot| snapshot.questions.clear());
    session.sync().await;
    session.engine.change(|snapshot| snapshot.questions = vec![question("Q1")]);
    let new = next_dialog(&mut session).await;
    session.editor.respond(&old, json!({"title": "Defer this finding"})).await;
    session.editor.settle().await;
    session.editor.respond(&new, approve()).await;
    assert_eq!(session.engine.command_done("approved").await, answer("Q1"));
    session.finish().await;
}

#[tokio::test]
async fn a_dismissed_question_can_be_answered_by_command_later() {
    let mut session = asked(vec![question("Q1")]).await;
    let shown = next_dialog(&mut session).await;
    session.editor.respond(&shown, Value::Null).await;
    let arguments = json!([{"question": "Q1", "choice": "Approve expanded scope"}]);
    let params = json!({"command": "fix-loop.answer", "arguments": arguments});
    let id = session.editor.ask("workspace/executeCommand", params).await;
    assert_eq!(session.engine.command_done("approved").await, answer("Q1"));
    assert_eq!(session.editor.answer_to(id).await, Ok(json!({"message": "approved", "loops": ["L1"]})));
    session.finish().await;
}

#[tokio::test]
async fn a_refused_answer_is_said_unless_it_only_came_too_late() {
    for (kind, method) in
        [(RefusalKind::NotNow, "window/showMessage"), (RefusalKind::Unknown, "window/logMessage")]
    {
        let mut session = asked(vec![question("Q1")]).await;
        let shown = next_dialog(&mut session).await;
        session.editor.respond(&shown, approve()).await;
        let (_, reply) = session.engine.command().await;
        reply.send(Err(Refusal { kind, message: "no such thing".into() })).unwrap();
        assert_eq!(session.editor.next(method).await.params["message"], "Fix Loop: no such thing");
        session.finish().await;
    }
}

#[test]
fn a_question_is_never_in_front_twice_whatever_the_order_of_events() {
    let mut questions = Questions::default();
    let (one, two) = (question("Q1"), question("Q2"));
    let first = questions.update(1, &[one.clone(), two.clone()]).unwrap();
    assert_eq!(questions.update(1, &[one.clone(), two.clone()]), None);
    assert_eq!(
        questions.update(2, std::slice::from_ref(&one)),
        None,
        "another folder's question waits its turn"
    );
    let second = questions.gave_up(first.number).unwrap();
    assert_eq!(second.question, two);
    assert_eq!(questions.gave_up(first.number), None, "a timer that fires twice changes nothing");
    let (settled, next) = questions.answered(first.number, Some("Defer this finding"));
    assert_eq!((settled.unwrap().question, next), (one.clone(), None), "the second is still in front");
    let (settled, next) = questions.answered(second.number, None);
    assert_eq!((settled, next.unwrap().folder), (None, 2));
    assert_eq!(questions.update(2, &[]), None);
    assert_eq!(questions.update(1, &[]), None);
}

#[tokio::test]
async fn a_question_found_at_the_start_is_asked_too() {
    let change = |snapshot: &mut crate::engine::Snapshot| snapshot.questions = vec![question("Q1")];
    let mut session =
        Session::start(Setup { findings: vec![finding(1, 3, 4)], change, ..Setup::default() }).await;
    session.editor.diagnostics().await;
    next_dialog(&mut session).await;
    session.finish().await;
}
