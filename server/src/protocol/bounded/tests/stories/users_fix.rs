use super::*;

fn verify() -> BoundedInput {
    changed(one(), |input| input.kind = LoopKind::Verify)
}

#[test]
fn good_checks_resolve_it_without_any_agent() {
    let story = Story::tell(&verify(), &[checks(vec![check("one", proven())])]);
    assert_eq!(
        story.transcript,
        [
            "checkpoint",
            "checks Before: one",
            "checks After: one",
            "one resolved, Proven in round 1",
            "finish Done"
        ]
    );
}

#[test]
fn weak_checks_are_left_to_the_verifier() {
    let story = Story::tell(
        &verify(),
        &[checks(vec![check("one", touched())]), judges(vec![verdict("one", Judging::Gone)])],
    );
    assert!(story.transcript.contains(&"Verifier 1, round 1, UsersFix: one".to_owned()));
    assert!(story.transcript.contains(&"one resolved, Verified in round 1".to_owned()));
}

#[test]
fn what_still_fails_stays_with_the_user_and_nothing_is_reverted() {
    for replies in [
        vec![checks(vec![check("one", persists())])],
        vec![checks_break(vec![check("one", proven())], "other")],
        vec![checks(vec![check("one", cannot_say())]), Says(Choice::KeepAndStop)],
        vec![checks(vec![check("one", silent())]), judges(vec![verdict("one", Judging::Persists)])],
    ] {
        let story = Story::tell(&verify(), &replies);
        assert!(matches!(story.settled("one"), Some(Settled::Manual { .. })), "{:?}", story.transcript);
        assert!(!story.transcript.iter().any(|line| line.starts_with("restore") || line == "stage"));
        assert!(
            !story.steps.iter().any(
                |step| matches!(&step.action, Action::Dispatch(dispatch) if dispatch.role == Role::Fixer)
            )
        );
    }
}
