use super::*;

#[test]
fn what_round_1_resolved_stays_so_when_the_rest_is_deferred() {
    let story = goes(
        &two(),
        &[
            fixes(&["a.rs"], "t1"),
            checks(vec![check("one", proven()), check("two", persists())]),
            fixes(&["a.rs"], "t2"),
            checks(vec![check("one", proven()), check("two", persists())]),
            judges(vec![verdict("one", Judging::Gone), verdict("two", Judging::Persists)]),
            Says(Choice::Defer),
        ],
        "Fixer 1, round 1, Ordinary: one two in a.rs
         stage
         checkpoint
         checks After: one two
         one resolved, Proven in round 1
         checkpoint
         Fixer 2, round 2, Ordinary: two in a.rs
         stage
         checkpoint
         checks After: one two
         Verifier 3, round 2, Ordinary: one two
         ask Escalation about two: Defer, ManualFix, TryDifferentApproach
         restore LastResolution
         two deferred
         finish Done",
    );
    assert!(matches!(story.settled("one"), Some(Settled::Resolved { round: 1, .. })));
}

#[test]
fn a_round_2_that_breaks_what_round_1_resolved_resolves_nothing() {
    let replies = [
        fixes(&["a.rs"], "t1"),
        checks(vec![check("one", proven()), check("two", persists())]),
        fixes(&["a.rs"], "t2"),
        checks(vec![check("one", persists()), check("two", proven())]),
        judges(vec![verdict("one", Judging::Persists), verdict("two", Judging::Gone)]),
    ];
    let mut deferred = Story::tell(&two(), &replies);
    deferred.goes_on(&[Says(Choice::Defer)]);
    assert!(matches!(deferred.settled("one"), Some(Settled::Resolved { round: 1, .. })));
    assert!(matches!(deferred.settled("two"), Some(Settled::Deferred { .. })));
    let mut manual = Story::tell(&two(), &replies);
    manual.goes_on(&[Says(Choice::ManualFix)]);
    assert!(matches!(manual.settled("one"), Some(Settled::Manual { .. })), "{:?}", manual.settled("one"));
    assert!(matches!(manual.settled("two"), Some(Settled::Manual { .. })));
}

#[test]
fn what_round_2_resolves_moves_the_tree_to_go_back_to() {
    let story = Story::tell(
        &two(),
        &[
            only_says(FixerStatus::Fixed),
            fixes(&["a.rs"], "t2"),
            checks(vec![check("one", proven()), check("two", persists())]),
            judges(vec![verdict("one", Judging::Gone), verdict("two", Judging::Persists)]),
        ],
    );
    let end = story.transcript.len() - 3;
    assert_eq!(
        story.transcript[end..],
        [
            "one resolved, Proven in round 2",
            "checkpoint",
            "ask Escalation about two: Defer, ManualFix, TryDifferentApproach"
        ]
    );
}

#[test]
fn a_regression_resolves_nothing_until_it_is_gone() {
    goes(
        &two(),
        &[
            fixes(&["a.rs"], "t1"),
            checks_break(vec![check("one", proven()), check("two", proven())], "other"),
            fixes(&["a.rs"], "t2"),
            checks(vec![check("one", proven()), check("two", proven())]),
            judges(vec![
                verdict("one", Judging::Gone),
                verdict("two", Judging::Gone),
                verdict("other", Judging::Gone),
            ]),
        ],
        "Fixer 1, round 1, Ordinary: one two in a.rs
         stage
         checkpoint
         checks After: one two
         found other
         Fixer 2, round 2, Ordinary: one two other in a.rs
         stage
         checkpoint
         checks After: one two other
         Verifier 3, round 2, Ordinary: one two other
         one resolved, Proven in round 2
         two resolved, Proven in round 2
         other resolved, Proven in round 2
         finish Done",
    );
}

#[test]
fn a_new_p0_of_the_verifier_opens_round_2_and_a_p3_is_only_noted() {
    let story = Story::tell(
        &one(),
        &[
            fixes(&["a.rs"], "t1"),
            checks(vec![check("one", silent())]),
            judges_and_finds(vec![verdict("one", Judging::Gone)], "new", Severity::P0),
        ],
    );
    assert_eq!(story.transcript.last().unwrap(), "Fixer 3, round 2, Ordinary: one new in a.rs");
    let story = Story::tell(
        &one(),
        &[
            fixes(&["a.rs"], "t1"),
            checks(vec![check("one", silent())]),
            judges_and_finds(vec![verdict("one", Judging::Gone)], "new", Severity::P3),
        ],
    );
    let end = story.transcript.len() - 3;
    assert_eq!(story.transcript[end..], ["found new", "one resolved, Verified in round 1", "finish Done"]);
}

#[test]
fn what_is_demoted_is_done_with() {
    let story = Story::tell(
        &two(),
        &[
            fixes(&["a.rs"], "t1"),
            checks(vec![check("one", silent()), check("two", silent())]),
            judges(vec![verdict("one", Judging::Demoted), verdict("two", Judging::Persists)]),
        ],
    );
    assert_eq!(story.transcript.last().unwrap(), "Fixer 3, round 2, Ordinary: two in a.rs");
    assert!(matches!(story.settled("one"), Some(Settled::Demoted { .. })));
}

#[test]
fn what_round_1_resolved_stays_so_when_the_rest_is_the_users() {
    let story = Story::tell(
        &two(),
        &[
            fixes(&["a.rs"], "t1"),
            checks(vec![check("one", proven()), check("two", persists())]),
            only_says(FixerStatus::Fixed),
            Says(Choice::ManualFix),
        ],
    );
    assert!(
        matches!(story.settled("one"), Some(Settled::Resolved { round: 1, .. })),
        "{:?}",
        story.transcript
    );
    assert!(matches!(story.settled("two"), Some(Settled::Manual { .. })));
}

/// Nobody is asked to retry what could not be judged next to something that is certainly broken.
#[test]
fn a_regression_fails_the_round_whatever_else_could_not_be_judged() {
    let story = Story::tell(
        &changed(one(), |input| input.has_verifier = false),
        &[
            fixes(&["a.rs"], "t1"),
            checks_break(vec![check("one", cannot_say())], "other"),
            fixes(&["a.rs"], "t2"),
            checks_break(vec![check("one", cannot_say())], "other"),
        ],
    );
    let asked = question(&story, QuestionKind::Escalation);
    assert_eq!(asked.findings.len(), 2, "{asked:?}");
}

#[test]
fn a_regression_goes_with_the_tree_that_had_it() {
    let story = Story::tell(
        &one(),
        &[
            fixes(&["a.rs"], "t1"),
            checks_break(vec![check("one", proven())], "other"),
            fixes(&["a.rs"], "t2"),
            checks(vec![check("one", cannot_say()), check("other", cannot_say())]),
            Says(Choice::RevertAndEscalate),
        ],
    );
    let asked = question(&story, QuestionKind::Escalation);
    assert_eq!(asked.findings, [FindingKey("one".into())]);
}
