use super::*;

#[test]
fn a_check_that_cannot_say_is_asked_and_run_again() {
    let mut story = Story::tell(&one(), &[fixes(&["a.rs"], "t1"), checks(vec![check("one", cannot_say())])]);
    let asked = question(&story, QuestionKind::Inconclusive);
    let words: Vec<&str> = asked.options.iter().map(|option| option.words()).collect();
    assert_eq!(words, ["Retry verification", "Accept fix without verification", "Revert and escalate"]);
    assert!(asked.detail.contains("it timed out"), "{}", asked.detail);
    story.goes_on(&[Says(Choice::RetryVerification), checks(vec![check("one", proven())])]);
    assert_eq!(story.transcript.last().unwrap(), "finish Done");
    assert_eq!(story.view().workers_used, 1);
}

#[test]
fn the_user_may_accept_what_nothing_verified() {
    let story = Story::tell(
        &one(),
        &[
            fixes(&["a.rs"], "t1"),
            checks(vec![check("one", cannot_say())]),
            Says(Choice::AcceptWithoutVerification),
        ],
    );
    assert!(story.transcript.contains(&"one resolved, Accepted in round 1".to_owned()));
}

#[test]
fn revert_and_escalate_restores_before_it_asks() {
    let story = Story::tell(
        &one(),
        &[fixes(&["a.rs"], "t1"), checks(vec![check("one", cannot_say())]), Says(Choice::RevertAndEscalate)],
    );
    let end = story.transcript.len() - 2;
    assert_eq!(
        story.transcript[end..],
        ["restore LastResolution", "ask Escalation about one: Defer, ManualFix, TryDifferentApproach"]
    );
}

#[test]
fn automatic_answers_retry_twice_and_then_the_question_stays_open() {
    let unsure = || checks(vec![check("one", cannot_say())]);
    let again = || Automatic(Choice::RetryVerification);
    let story = Story::tell(
        &one(),
        &[fixes(&["a.rs"], "t1"), unsure(), again(), unsure(), again(), unsure(), again()],
    );
    let asked = question(&story, QuestionKind::Inconclusive);
    assert_eq!(asked.number.0, 3);
    assert!(asked.detail.contains("2 of 2"), "{}", asked.detail);
    assert!(story.view().finished.is_none());
}

#[test]
fn a_fixer_that_fails_is_put_back_and_spends_no_round() {
    use FailureClass::*;
    for class in [Agent, Service, Account, Environment, NoReport, OverLimit] {
        let story = goes(
            &one(),
            &[Fails(class), Says(Choice::RetryVerification)],
            "Fixer 1, round 1, Ordinary: one in a.rs
             restore BeforeWorker
             ask Inconclusive about one: RetryVerification, RevertAndEscalate
             checkpoint
             Fixer 2, round 1, Ordinary: one in a.rs",
        );
        assert!(!story.steps.iter().any(|step| matches!(step.action, Action::Record(Record::Attempt(_)))));
    }
}

#[test]
fn a_verifier_that_fails_or_writes_is_undone_and_asked_about() {
    for reply in [Fails(FailureClass::Service), judges_and_writes(vec![verdict("one", Judging::Gone)])] {
        goes(
            &one(),
            &[
                fixes(&["a.rs"], "t1"),
                checks(vec![check("one", silent())]),
                reply,
                Says(Choice::RetryVerification),
                judges(vec![verdict("one", Judging::Gone)]),
            ],
            "Fixer 1, round 1, Ordinary: one in a.rs
             stage
             checkpoint
             checks After: one
             Verifier 2, round 1, FirstLook: one
             restore BeforeWorker
             ask Inconclusive about one: RetryVerification, AcceptWithoutVerification, RevertAndEscalate
             checkpoint
             Verifier 3, round 1, FirstLook: one
             one resolved, Verified in round 1
             finish Done",
        );
    }
}

#[test]
fn a_verdict_that_is_missing_unfounded_or_contradictory_is_none() {
    let mut unfounded = verdict("one", Judging::Gone);
    unfounded.evidence = " ".into();
    for judged in [
        vec![],
        vec![verdict("other", Judging::Gone)],
        vec![verdict("one", Judging::Unsaid)],
        vec![unfounded],
        vec![verdict("one", Judging::Gone), verdict("one", Judging::Persists)],
    ] {
        let story = Story::tell(
            &one(),
            &[fixes(&["a.rs"], "t1"), checks(vec![check("one", silent())]), judges(judged.clone())],
        );
        question(&story, QuestionKind::Inconclusive);
    }
}

#[test]
fn without_a_verifier_weak_evidence_is_inconclusive() {
    let alone = changed(one(), |input| input.has_verifier = false);
    let story = Story::tell(&alone, &[fixes(&["a.rs"], "t1"), checks(vec![check("one", touched())])]);
    let asked = question(&story, QuestionKind::Inconclusive);
    assert!(asked.detail.contains("no verifier is configured"), "{}", asked.detail);
}

#[test]
fn without_a_verifier_good_checks_end_round_2() {
    let alone = changed(one(), |input| input.has_verifier = false);
    let story = Story::tell(
        &alone,
        &[only_says(FixerStatus::Fixed), fixes(&["a.rs"], "t2"), checks(vec![check("one", proven())])],
    );
    assert!(story.transcript.contains(&"one resolved, Proven in round 2".to_owned()));
}

#[test]
fn an_action_that_cannot_be_carried_out_never_resolves() {
    let story = Story::tell(&one(), &[CannotDo]);
    question(&story, QuestionKind::Inconclusive);
    let mut story = Story::tell(&one(), &[fixes(&["a.rs"], "t1"), CannotDo]);
    question(&story, QuestionKind::Conflict);
    story.goes_on(&[Says(Choice::TryAgain), checks(vec![check("one", persists())])]);
    assert_eq!(story.view().round, 2);
}

#[test]
fn what_checks_write_is_undone() {
    goes(
        &one(),
        &[fixes(&["a.rs"], "t1"), checks_write(vec![check("one", proven())])],
        "Fixer 1, round 1, Ordinary: one in a.rs
         stage
         checkpoint
         checks After: one
         restore BeforeWorker
         one resolved, Proven in round 1
         finish Done",
    );
}
