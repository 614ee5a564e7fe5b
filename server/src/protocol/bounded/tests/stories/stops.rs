use super::*;
use crate::protocol::{Cause, CheckVerdict};

#[test]
fn a_weakened_test_needs_the_users_word_before_anything_is_resolved() {
    let replies = [weakens(&["a.rs"], "t1"), checks(vec![check("one", proven())])];
    let mut story = Story::tell(&one(), &replies);
    let asked = question(&story, QuestionKind::Breach);
    assert_eq!(asked.recommended, Choice::RevertAndEscalate);
    assert!(asked.detail.contains("tests/t.rs:3: one assertion less"), "{}", asked.detail);
    story.goes_on(&[Says(Choice::AcceptTestEdit)]);
    assert_eq!(story.transcript.last().unwrap(), "finish Done");

    let mut story = Story::tell(&one(), &replies);
    story.goes_on(&[Says(Choice::RevertAndEscalate)]);
    question(&story, QuestionKind::Escalation);

    let told = changed(one(), |input| input.weakened_tests_are_asked = false);
    let story = Story::tell(&told, &replies);
    assert_eq!(story.transcript.last().unwrap(), "finish Done");
    let noted = |action: &Action| matches!(action, Action::Record(Record::Note(note)) if note.contains("tests/t.rs:3"));
    assert!(story.steps.iter().any(|step| noted(&step.action)));
}

#[test]
fn a_breach_is_undone_and_stops_the_loop() {
    let mut story = goes(
        &one(),
        &[breaches("t1")],
        "Fixer 1, round 1, Ordinary: one in a.rs
         restore BeforeWorker
         ask Breach about one: RestoreAndStop, KeepAndStop",
    );
    assert!(question(&story, QuestionKind::Breach).text.contains("The worker committed."));
    story.goes_on(&[Says(Choice::RestoreAndStop)]);
    let ending = story.view().finished.unwrap();
    assert_eq!(ending.how, EndedHow::Stopped);
    assert!(matches!(story.settled("one"), Some(Settled::Open { .. })));
}

#[test]
fn a_staging_conflict_is_the_users_to_settle() {
    let refused = || Reply::Refuses { conflict: true };
    let begin = [fixes(&["a.rs"], "t1"), refused()];
    let story = Story::tell(&one(), &begin);
    assert_eq!(question(&story, QuestionKind::Conflict).recommended, Choice::TryAgain);
    for (choice, end) in [
        (Choice::TryAgain, "checks After: one"),
        (Choice::LeaveUnstaged, "checks After: one"),
        (Choice::RestoreAndStop, "finish Stopped"),
    ] {
        let mut story = Story::tell(&one(), &begin);
        story.goes_on(&[Says(choice)]);
        assert_eq!(story.transcript.last().unwrap(), end, "{choice:?}");
    }
    let story = Story::tell(&one(), &[fixes(&["a.rs"], "t1"), Reply::Refuses { conflict: false }]);
    assert_eq!(question(&story, QuestionKind::Conflict).recommended, Choice::LeaveUnstaged);
}

#[test]
fn manual_fix_keeps_the_attempt_staged() {
    let mut story = Story::tell(
        &one(),
        &[
            fixes(&["a.rs"], "t1"),
            checks(vec![check("one", persists())]),
            only_says(FixerStatus::Declined),
            Says(Choice::ManualFix),
        ],
    );
    story.goes_on(&[]);
    let end = story.transcript.len() - 2;
    assert_eq!(story.transcript[end..], ["one manual", "finish Done"]);
    assert!(!story.transcript.iter().any(|line| line.starts_with("restore")));
    let Some(Settled::Manual { still_broken }) = story.settled("one") else { panic!("manual") };
    assert!(still_broken.contains("test_a still fails"), "{still_broken}");
}

#[test]
fn a_different_approach_is_a_new_loop_that_is_told_everything() {
    let earlier = changed(one(), |input| {
        let mut attempt = Inherited::default();
        attempt.seen.push(TreeId("t0".into()));
        input.inherited = attempt;
    });
    let story = Story::tell(
        &earlier,
        &[
            fixes(&["a.rs"], "t1"),
            checks(vec![check("one", persists())]),
            only_says(FixerStatus::Fixed),
            SaysWith(Choice::TryDifferentApproach, "use the other parser"),
        ],
    );
    let end = story.transcript.len() - 4;
    assert_eq!(
        story.transcript[end..],
        ["restore LastResolution", "inherit", "one open", "finish Done, then a new loop over one"]
    );
    let inherited = story.steps.iter().find_map(|step| match &step.action {
        Action::Record(Record::Inherit(inherited)) => Some(inherited.clone()),
        _ => None,
    });
    let inherited = inherited.unwrap();
    assert_eq!(inherited.attempts.len(), 2);
    assert_eq!(inherited.seen, ["t0", "start", "t1"].map(|tree| TreeId(tree.into())));
    assert_eq!(inherited.supplied.as_deref(), Some("use the other parser"));
    let follower = changed(one(), |input| input.inherited = inherited);
    let story = Story::tell(&follower, &[]);
    let Some(Action::Dispatch(first)) =
        story.steps.iter().map(|step| &step.action).rfind(|action| matches!(action, Action::Dispatch(_)))
    else {
        panic!("dispatched")
    };
    assert_eq!((first.previous.len(), first.round), (2, 1));
}

#[test]
fn a_different_approach_is_never_chosen_automatically() {
    let mut story = Story::tell(&one(), &[only_says(FixerStatus::Fixed), only_says(FixerStatus::Fixed)]);
    story.goes_on(&[Automatic(Choice::TryDifferentApproach)]);
    question(&story, QuestionKind::Escalation);
    story.goes_on(&[Automatic(Choice::Defer)]);
    assert!(matches!(story.settled("one"), Some(Settled::Deferred { .. })));
}

#[test]
fn a_diagnoser_names_the_cause_in_the_escalation() {
    let input = changed(one(), |input| input.diagnose = true);
    let begin = [only_says(FixerStatus::Fixed), only_says(FixerStatus::Fixed)];
    let mut story = Story::tell(&input, &begin);
    assert_eq!(story.transcript.last().unwrap(), "Diagnoser 3, round 2, Diagnosis: one");
    let diagnosis = crate::protocol::Diagnosis {
        cause: crate::protocol::Cause::MissingContext,
        evidence: "the schema is not shown".into(),
        new_evidence: None,
        new_evidence_is_real: false,
        rules_out: Vec::new(),
        route: "show it".into(),
        needs: None,
    };
    story.goes_on(&[Reply::Worker(crate::protocol::Report::Diagnosis(diagnosis), Default::default())]);
    assert!(question(&story, QuestionKind::Escalation).text.contains("missing-context"));
    // A diagnoser that fails leaves the engine's own inference.
    let mut story = Story::tell(&input, &begin);
    story.goes_on(&[Fails(FailureClass::Service)]);
    assert!(question(&story, QuestionKind::Escalation).detail.contains("Cause, inferred"));
}

#[test]
fn without_a_diagnoser_the_escalation_infers_the_cause_from_what_happened() {
    let declines = || only_says(FixerStatus::Declined);
    let persists = || checks(vec![check("one", super::persists())]);
    let table = [
        ("declined twice", vec![declines(), declines()], Cause::MissingContext, "it lacks something"),
        (
            "changed nothing twice",
            vec![only_says(FixerStatus::Fixed), only_says(FixerStatus::Fixed)],
            Cause::MissingContext,
            "within the scope",
        ),
        (
            "went in a circle",
            vec![fixes(&["a.rs"], "t1"), persists(), fixes(&["a.rs"], "start")],
            Cause::AmbiguousSpec,
            "undo each other",
        ),
        (
            "could not be verified",
            vec![
                fixes(&["a.rs"], "t1"),
                checks(vec![check("one", CheckVerdict::Inconclusive { why: "no pytest".into() })]),
                Says(Choice::RevertAndEscalate),
            ],
            Cause::EnvToolFailure,
            "could not be carried out",
        ),
    ];
    for (name, replies, cause, because) in table {
        let story = Story::tell(&one(), &replies);
        let asked = question(&story, QuestionKind::Escalation);
        assert!(asked.text.contains(cause.words()), "{name}: {}", asked.text);
        assert!(asked.detail.contains(because), "{name}: {}", asked.detail);
    }
    // The reason of a deferral carries it on.
    let mut story = Story::tell(&one(), &[declines(), declines()]);
    story.goes_on(&[Says(Choice::Defer)]);
    let Some(Settled::Deferred { reason }) = story.settled("one") else { panic!("deferred") };
    assert!(reason.contains("missing-context"), "{reason}");
}

#[test]
fn cancelling_at_any_moment_restores_the_start_and_leaves_everything_open() {
    let whole = [
        outside(&["a.rs"], &["b.rs"], "t1"),
        Says(Choice::ApproveScope),
        checks(vec![check("one", proven()), check("two", persists())]),
        fixes(&["a.rs"], "t2"),
        checks(vec![check("one", proven()), check("two", persists())]),
        judges(vec![verdict("one", Judging::Gone), verdict("two", Judging::Persists)]),
    ];
    let events = Story::tell(&two(), &whole).events;
    for cut in 1..=events.len() {
        let mut story = Story::begin(&two());
        for event in &events[1..cut] {
            story.happens(event.clone());
        }
        story.goes_on(&[Cancel]);
        let ending = story.view().finished.unwrap();
        assert_eq!(ending.how, EndedHow::Cancelled, "after {cut} events");
        for key in ["one", "two"] {
            assert!(matches!(story.settled(key), Some(Settled::Open { .. })), "after {cut} events");
        }
        if cut > 2 {
            assert!(story.transcript.contains(&"restore Start".to_owned()), "after {cut} events");
        }
    }
}

#[test]
fn a_restore_that_fails_is_asked_about_and_tried_again() {
    let mut story = Story::tell(&one(), &[breaches("t1"), CannotDo]);
    let asked = question(&story, QuestionKind::Conflict);
    assert_eq!(asked.options, [Choice::TryAgain, Choice::KeepAndStop]);
    story.goes_on(&[Says(Choice::TryAgain)]);
    question(&story, QuestionKind::Breach);
}
