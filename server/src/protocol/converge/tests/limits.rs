//! Scope, budgets, pauses and cancelling.

use super::super::super::Machine;
use super::super::super::vocabulary::*;
use super::super::{ConvergeInput, Source, Verdict, world};
use super::telling::Say::*;
use super::telling::*;

#[test]
fn a_wider_scope_is_asked_before_the_edit_and_costs_no_round() {
    let ask = || {
        let request = ScopeRequest { files: vec!["src/b.py".into()], justification: "it is there".into() };
        Says(Box::new(Report::NeedsScope(request)), Changes::default())
    };
    let start = [Check(&[]), ask()];
    let run = tell(attached(&["f1"]), &start);
    assert_eq!(run.question().kind, QuestionKind::Scope);
    assert_eq!(run.question().options[0].words(), "Approve expanded scope");
    let run = tell(attached(&["f1"]), &after(start.clone(), &[user(Choice::ApproveScope)]));
    let again = run.dispatches().pop().expect("the fixer again");
    assert_eq!((again.round, again.scope.len(), again.tier), (1, 2, Tier::CrossFile));
    let run = tell(
        attached(&["f1"]),
        &after(start.clone(), &[user(Choice::RejectScope), ask(), user(Choice::RejectScope), ask()]),
    );
    assert_eq!(run.machine.view().state, "paused: decision");
    assert_eq!(run.roles(), "checker, fixer 1, fixer 1, fixer 1");
    let run = tell(attached(&["f1"]), &after(start, &[user(Choice::Defer)]));
    assert_eq!(run.machine.view().state, "paused: decision");
}

#[test]
fn a_commit_outside_the_scope_is_asked_about_and_taken_back_when_rejected() {
    let outside = Changes { out_of_scope: vec!["src/b.py".into()], ..world::edits(world::FILE) };
    let commit = CommitsAs(Box::new(world::footer("fix", Some("commit1".into()))), outside);
    let run = tell(attached(&["f1"]), &[Check(&[]), commit.clone(), user(Choice::ApproveScope), Closes(0)]);
    assert_eq!(run.gate().verdict, Verdict::Pass);
    let run = tell(attached(&["f1"]), &[Check(&[]), commit, user(Choice::RejectScope)]);
    assert!(run.has(&Action::Restore { to: RestorePoint::BeforeWorker }));
    assert_eq!(run.roles(), "checker, fixer 1, fixer 1");
    let told = &run.dispatches()[2].answers[0];
    assert!(told.question.contains("src/b.py") && told.choice.starts_with("Reject"), "{told:?}");
}

#[test]
fn the_scope_is_the_files_of_what_was_confirmed() {
    let far =
        |key: &str, file: Option<&str>| NewFinding { file: file.map(str::to_owned), ..world::finding(key) };
    let source = |findings| ConvergeInput { source: Source::Attached(findings), ..world::input() };
    let run = tell(source(vec![far("f1", Some("src/x.py")), far("f2", Some("src/y.py"))]), &[Check(&[1])]);
    assert_eq!(Vec::from_iter(&run.dispatches()[1].scope), ["src/x.py"]);
    // Without a file, what the reviewed diff changes.
    let run = tell(source(vec![far("f1", None)]), &[Check(&[])]);
    assert_eq!(Vec::from_iter(&run.dispatches()[1].scope), [world::FILE]);
    // Nothing at all is asked for.
    let mut nothing = world::prepared(true, ValidationOutcome::Pass);
    nothing.changed.clear();
    let start = [Prepares(Box::new(nothing)), Check(&[])];
    let run = tell(source(vec![far("f1", None)]), &start);
    assert_eq!((run.question().kind, run.roles().as_str()), (QuestionKind::Scope, "checker"));
    let wrong = Answer(Choice::ApproveScope, AnsweredBy::User, Some("../x"));
    assert!(
        tell(source(vec![far("f1", None)]), &after(start.clone(), &[wrong]))
            .machine
            .view()
            .open_question
            .is_some()
    );
    let right = Answer(Choice::ApproveScope, AnsweredBy::User, Some("src/z.py"));
    let run = tell(source(vec![far("f1", None)]), &after(start, &[right]));
    assert_eq!(Vec::from_iter(&run.dispatches()[1].scope), ["src/z.py"]);
}

#[test]
fn only_p0_and_p1_are_worked_on() {
    let minor = NewFinding { severity: Severity::P2, ..world::finding("minor") };
    let source = Source::Attached(vec![minor, world::finding("f1"), world::finding("f1")]);
    let run = tell(ConvergeInput { source, ..world::input() }, &[]);
    assert_eq!(run.dispatches()[0].findings, [FindingKey("f1".into())]);
}

#[test]
fn a_budget_of_twelve_workers_pauses_at_the_thirteenth() {
    let budget = Budget { workers: 12, minutes: 360, cost_usd: None };
    let keys = ["a", "b", "c", "d", "e", "f", "g", "h"];
    let mut says = vec![Check(&[])];
    for open in [7, 6, 5, 4, 3] {
        says.extend([Commits, Closes(open)]);
    }
    says.push(Commits);
    let run = tell(ConvergeInput { budget, ..attached(&keys) }, &says);
    assert_eq!((run.machine.view().workers_used, run.machine.view().state), (12, "paused: decision"));
    assert!(run.question().text.contains("the budget of 12 workers is spent"));
    // The user's word allows it once more.
    says.extend([user(Choice::ResumeLoop), Closes(0)]);
    let run = tell(ConvergeInput { budget, ..attached(&keys) }, &says);
    assert_eq!((run.machine.view().workers_used, run.gate().verdict), (13, Verdict::Pass));
}

#[test]
fn two_axes_need_two_workers_of_the_budget() {
    let budget = Budget { workers: 1, minutes: 0, cost_usd: None };
    let run = tell(ConvergeInput { budget, ..world::input() }, &[]);
    assert_eq!((run.machine.view().state, run.dispatches().len()), ("paused: decision", 0));
}

#[test]
fn a_transient_pause_is_resumed_automatically_twice_at_most() {
    let fail = || Fails(FailureClass::Service);
    let resume = || automatic(Choice::ResumeLoop);
    let run = tell(attached(&["f1"]), &[fail(), resume(), fail(), resume(), fail(), resume()]);
    assert_eq!(
        (run.roles().as_str(), run.machine.view().state),
        ("checker, checker, checker", "paused: transient")
    );
}

#[test]
fn a_blocked_worker_is_a_decision_and_an_account_too() {
    let blocked = Report::Committed { footer: world::blocked("fix"), summary: String::new() };
    let run = tell(attached(&["f1"]), &[Check(&[]), Says(Box::new(blocked), world::edits(world::FILE))]);
    assert_eq!(run.machine.view().state, "paused: decision");
    assert!(run.question().detail.contains("Evidence: BLOCKED: a decision"));
    assert!(run.has(&Action::Restore { to: RestorePoint::BeforeWorker }));
    let run = tell(attached(&["f1"]), &[Fails(FailureClass::Account)]);
    assert_eq!(run.machine.view().state, "paused: decision");
}

#[test]
fn what_the_user_says_when_resuming_reaches_the_next_worker() {
    let says = [
        Check(&[]),
        Commits,
        Closes(1),
        Commits,
        Closes(1),
        Answer(Choice::ResumeLoop, AnsweredBy::User, Some("look at the lock")),
    ];
    let run = tell(attached(&["f1"]), &says);
    assert_eq!(run.dispatches().last().expect("a recoverer").answers[0].choice, "look at the lock");
}

#[test]
fn a_cancel_takes_the_running_worker_back_and_keeps_what_was_judged() {
    let run = tell(attached(&["f1", "f2"]), &[Check(&[]), Commits, Closes(1), Cancel]);
    assert!(run.has(&Action::Restore { to: RestorePoint::BeforeWorker }));
    assert_eq!((run.gate().verdict, run.gate().final_head.as_str()), (Verdict::Paused, "commit1"));
    assert_eq!(run.gate().open_confirmed_findings, 1);
    // Nothing is under way while a question is open.
    let run = tell(attached(&["f1"]), &[Fails(FailureClass::Service), Cancel]);
    assert!(!run.has(&Action::Restore { to: RestorePoint::BeforeWorker }));
    assert!(run.steps().any(|step| matches!(step.action, Action::Withdraw { .. })));
}

#[test]
fn a_breach_is_undone_and_the_users_to_decide() {
    let breach = || Changes { breaches: vec!["the stash was dropped".into()], ..Changes::default() };
    let review = Says(Box::new(world::axis_review(Axis::Standards, &[])), breach());
    let check = Says(
        Box::new(Report::Consolidated { roots: Vec::new(), footer: world::footer("check", None) }),
        breach(),
    );
    let fix = CommitsAs(Box::new(world::footer("fix", Some("commit1".into()))), breach());
    for (input, says) in [
        (world::input(), vec![review, Reviews(Axis::Spec, &[])]),
        (attached(&["f1"]), vec![check]),
        (attached(&["f1"]), vec![Check(&[]), fix]),
    ] {
        let run = tell(input, &says);
        assert_eq!(run.machine.view().state, "paused: decision", "{}", run.roles());
        assert!(run.question().detail.contains("the stash was dropped"), "{}", run.question().detail);
        assert!(run.has(&Action::Restore { to: RestorePoint::BeforeWorker }), "{}", run.roles());
    }
}
