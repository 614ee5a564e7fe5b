use super::*;

#[test]
fn a_file_outside_the_scope_is_asked_for_before_any_edit_and_costs_no_round() {
    let story = goes(
        &one(),
        &[
            needs(&["b.rs"]),
            Says(Choice::ApproveScope),
            fixes(&["a.rs", "b.rs"], "t1"),
            checks(vec![check("one", proven())]),
        ],
        "Fixer 1, round 1, Ordinary: one in a.rs
         ask Scope about one: ApproveScope, RejectScope, Defer
         checkpoint
         Fixer 2, round 1, Ordinary: one in a.rs b.rs
         stage
         checkpoint
         checks After: one
         one resolved, Proven in round 1
         finish Done",
    );
    let Some(Action::Ask(asked)) =
        story.steps.iter().map(|step| &step.action).find(|action| matches!(action, Action::Ask(_)))
    else {
        panic!("asked")
    };
    assert!(asked.text.contains("b.rs"));
    assert!(asked.detail.contains("the caller is there"));
}

#[test]
fn changes_outside_are_put_back_when_approved_and_verified_too() {
    goes(
        &one(),
        &[
            outside(&["a.rs"], &["b.rs"], "t1"),
            Says(Choice::ApproveScope),
            checks(vec![check("one", proven())]),
        ],
        "Fixer 1, round 1, Ordinary: one in a.rs
         ask Scope about one: ApproveScope, RejectScope, Defer
         put back b.rs
         stage
         checkpoint
         checks After: one
         one resolved, Proven in round 1
         finish Done",
    );
}

#[test]
fn rejected_changes_leave_what_is_in_scope_to_be_verified() {
    goes(
        &one(),
        &[
            outside(&["a.rs"], &["b.rs"], "t1"),
            Says(Choice::RejectScope),
            checks(vec![check("one", proven())]),
        ],
        "Fixer 1, round 1, Ordinary: one in a.rs
         ask Scope about one: ApproveScope, RejectScope, Defer
         stage
         checkpoint
         checks After: one
         one resolved, Proven in round 1
         finish Done",
    );
}

#[test]
fn rejected_changes_with_nothing_in_scope_repeat_the_round_once_told() {
    let story = goes(
        &one(),
        &[outside(&[], &["b.rs"], "t1"), Says(Choice::RejectScope), outside(&[], &["b.rs"], "t1")],
        "Fixer 1, round 1, Ordinary: one in a.rs
         ask Scope about one: ApproveScope, RejectScope, Defer
         checkpoint
         Fixer 2, round 1, Ordinary: one in a.rs
         checkpoint
         Fixer 3, round 2, Ordinary: one in a.rs",
    );
    let Some(Action::Dispatch(again)) =
        story.steps.iter().map(|step| &step.action).rfind(|action| matches!(action, Action::Dispatch(_)))
    else {
        panic!("dispatched")
    };
    assert_eq!(again.answers[0].choice, "Reject — fix within original scope only");
}

#[test]
fn only_what_was_approved_comes_back() {
    let mut story = Story::tell(&one(), &[needs(&["b.rs"]), Says(Choice::RejectScope)]);
    story.goes_on(&[outside(&["a.rs"], &["b.rs", "c.rs"], "t1")]);
    let asked = question(&story, QuestionKind::Scope);
    assert!(asked.text.contains("c.rs") && !asked.text.contains("b.rs"), "{}", asked.text);
    story.goes_on(&[Says(Choice::ApproveScope), checks(vec![check("one", proven())])]);
    assert!(story.transcript.contains(&"put back c.rs".to_owned()), "{:?}", story.transcript);
}

#[test]
fn a_third_question_in_a_round_is_not_asked_and_neither_is_one_twice() {
    let story = Story::tell(
        &one(),
        &[
            needs(&["b.rs"]),
            Says(Choice::ApproveScope),
            needs(&["c.rs"]),
            Says(Choice::RejectScope),
            needs(&["d.rs"]),
        ],
    );
    assert_eq!((story.view().state, story.view().round), ("fixing", 2));
    let story = Story::tell(&one(), &[needs(&["b.rs"]), Says(Choice::RejectScope), needs(&["b.rs"])]);
    assert_eq!((story.view().state, story.view().round), ("fixing", 2));
    let story = Story::tell(&one(), &[needs(&["a.rs"])]);
    assert_eq!((story.view().state, story.view().round), ("fixing", 2));
}

#[test]
fn what_is_always_allowed_is_not_asked() {
    let allowed: Path = crate::protocol::bounded::world::ALLOWED.into();
    let story = Story::tell(&one(), &[needs(&[&allowed])]);
    assert_eq!(story.transcript.last().unwrap(), "Fixer 2, round 1, Ordinary: one in a.rs allowed.rs");
    let story = Story::tell(&one(), &[outside(&["a.rs"], &[&allowed], "t1")]);
    assert!(story.transcript.contains(&"put back allowed.rs".to_owned()));
    assert!(!story.transcript.iter().any(|line| line.starts_with("ask")));
}

#[test]
fn an_empty_scope_is_asked_for_before_anything_else() {
    let input = changed(one(), |input| {
        input.scope.clear();
        input.subjects[0].files.clear();
    });
    let mut story = Story::tell(&input, &[]);
    assert_eq!(story.transcript, ["ask Scope about one: ApproveScope, Defer"]);
    story.goes_on(&[SaysWith(Choice::ApproveScope, "./src/x.rs, ../y.rs\n.git/config\nz y.rs")]);
    assert_eq!(story.transcript.last().unwrap(), "Fixer 1, round 1, Ordinary: one in src/x.rs z y.rs");
    let story = Story::tell(&input, &[Says(Choice::Defer)]);
    assert_eq!(story.transcript[1..], ["one deferred", "finish Done"]);
}

#[test]
fn deferring_at_a_scope_question_restores() {
    let story = Story::tell(&one(), &[outside(&["a.rs"], &["b.rs"], "t1"), Says(Choice::Defer)]);
    let end = story.transcript.len() - 3;
    assert_eq!(story.transcript[end..], ["restore LastResolution", "one deferred", "finish Done"]);
}

#[test]
fn round_2_may_ask_again() {
    let story = Story::tell(
        &one(),
        &[
            needs(&["b.rs"]),
            Says(Choice::ApproveScope),
            needs(&["c.rs"]),
            Says(Choice::RejectScope),
            only_says(FixerStatus::Fixed),
            needs(&["d.rs"]),
        ],
    );
    question(&story, QuestionKind::Scope);
    assert_eq!(story.view().round, 2);
}
