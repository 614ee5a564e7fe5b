use super::*;

#[test]
fn a_check_that_turns_green_resolves_in_round_1_without_any_other_agent() {
    let story = Story::tell(&one(), &[fixes(&["a.rs"], "t1"), checks(vec![check("one", proven())])]);
    assert_eq!(
        story.transcript,
        [
            "checkpoint",
            "checks Before: one",
            "Fixer 1, round 1, Ordinary: one in a.rs",
            "stage",
            "checkpoint",
            "checks After: one",
            "one resolved, Proven in round 1",
            "finish Done",
        ]
    );
}

#[test]
fn touched_needs_the_verifier_unless_the_config_is_content_with_it() {
    goes(
        &one(),
        &[
            fixes(&["a.rs"], "t1"),
            checks(vec![check("one", touched())]),
            judges(vec![verdict("one", Judging::Gone)]),
        ],
        "Fixer 1, round 1, Ordinary: one in a.rs
         stage
         checkpoint
         checks After: one
         Verifier 2, round 1, FirstLook: one
         one resolved, Verified in round 1
         finish Done",
    );
    goes(
        &changed(one(), |input| input.evidence_needed = EvidenceNeeded::Touched),
        &[fixes(&["a.rs"], "t1"), checks(vec![check("one", touched())])],
        "Fixer 1, round 1, Ordinary: one in a.rs
         stage
         checkpoint
         checks After: one
         one resolved, Touched in round 1
         finish Done",
    );
}

#[test]
fn what_the_first_look_confirms_opens_round_2_which_ends_with_checks_and_verifier() {
    let story = goes(
        &one(),
        &[
            fixes(&["a.rs"], "t1"),
            checks(vec![check("one", silent())]),
            judges(vec![verdict("one", Judging::Persists)]),
            fixes(&["a.rs"], "t2"),
            checks(vec![check("one", proven())]),
            judges(vec![verdict("one", Judging::Gone)]),
        ],
        "Fixer 1, round 1, Ordinary: one in a.rs
         stage
         checkpoint
         checks After: one
         Verifier 2, round 1, FirstLook: one
         checkpoint
         Fixer 3, round 2, Ordinary: one in a.rs
         stage
         checkpoint
         checks After: one
         Verifier 4, round 2, Ordinary: one
         one resolved, Proven in round 2
         finish Done",
    );
    let told = story.steps.iter().find_map(|step| match &step.action {
        Action::Dispatch(dispatch) if dispatch.worker.0 == 3 => Some(dispatch.clone()),
        _ => None,
    });
    let told = told.unwrap();
    assert!(told.with_diff);
    assert_eq!(told.previous.len(), 1);
    assert_eq!(told.previous[0].files_changed, ["a.rs"]);
    assert!(told.previous[0].outcome.contains("read one"), "{:?}", told.previous[0]);
}

#[test]
fn a_good_check_does_not_stand_against_the_verifier_of_round_2() {
    goes(
        &one(),
        &[
            only_says(FixerStatus::Fixed),
            fixes(&["a.rs"], "t2"),
            checks(vec![check("one", proven())]),
            judges(vec![verdict("one", Judging::Persists)]),
        ],
        "Fixer 1, round 1, Ordinary: one in a.rs
         checkpoint
         Fixer 2, round 2, Ordinary: one in a.rs
         stage
         checkpoint
         checks After: one
         Verifier 3, round 2, Ordinary: one
         ask Escalation about one: Defer, ManualFix, TryDifferentApproach",
    );
}

#[test]
fn a_verifier_does_not_stand_against_a_failing_check() {
    let story = Story::tell(
        &one(),
        &[
            fixes(&["a.rs"], "t1"),
            checks(vec![check("one", persists())]),
            fixes(&["a.rs"], "t2"),
            checks(vec![check("one", persists())]),
            judges(vec![verdict("one", Judging::Gone)]),
        ],
    );
    let asked = question(&story, QuestionKind::Escalation);
    assert_eq!(asked.recommended, Choice::Defer);
    for part in
        ["Off by one — a.rs:3", "Round 1: did it", "Round 2: did it", "test_a still fails", "failing: test_a"]
    {
        assert!(asked.detail.contains(part), "{part} is missing in\n{}", asked.detail);
    }
}

#[test]
fn a_fix_that_changed_nothing_fails_at_once() {
    let story = Story::tell(&one(), &[only_says(FixerStatus::Fixed), only_says(FixerStatus::Fixed)]);
    assert!(!story.transcript.iter().any(|line| line == "stage" || line.starts_with("checks After")));
    let asked = question(&story, QuestionKind::Escalation);
    assert!(asked.detail.contains("changed nothing"), "{}", asked.detail);
}

#[test]
fn a_claim_that_the_problem_is_gone_is_verified_and_stages_nothing() {
    goes(
        &one(),
        &[
            only_says(FixerStatus::AlreadyResolved),
            checks(vec![check("one", silent())]),
            judges(vec![verdict("one", Judging::Gone)]),
        ],
        "Fixer 1, round 1, Ordinary: one in a.rs
         checkpoint
         checks After: one
         Verifier 2, round 1, FirstLook: one
         one resolved, Verified in round 1
         finish Done",
    );
}

#[test]
fn a_tree_that_was_there_before_stops_the_loop() {
    for tree in ["start", "t1"] {
        let story = Story::tell(
            &one(),
            &[fixes(&["a.rs"], "t1"), checks(vec![check("one", persists())]), fixes(&["a.rs"], tree)],
        );
        assert_eq!(story.transcript.iter().filter(|line| *line == "stage").count(), 1, "{tree}");
        let asked = question(&story, QuestionKind::Escalation);
        assert!(asked.text.contains("circle"), "{}", asked.text);
    }
    let follower = changed(one(), |input| input.inherited.seen = vec![TreeId("t9".into())]);
    let story = Story::tell(&follower, &[fixes(&["a.rs"], "t9")]);
    question(&story, QuestionKind::Escalation);
}

#[test]
fn an_agent_without_a_second_round_escalates_after_the_first() {
    let suggested = changed(one(), |input| input.second_round = false);
    for replies in [
        vec![only_says(FixerStatus::Declined)],
        vec![only_says(FixerStatus::Fixed)],
        vec![fixes(&["a.rs"], "t1"), checks(vec![check("one", persists())])],
    ] {
        let story = Story::tell(&suggested, &replies);
        question(&story, QuestionKind::Escalation);
        assert_eq!(story.view().workers_used, 1);
        assert_eq!((story.view().round, story.view().max_rounds), (1, 1));
    }
}

#[test]
fn an_interrupted_worker_is_replaced_in_the_same_round() {
    goes(
        &one(),
        &[Interrupted, fixes(&["a.rs"], "t1"), checks(vec![check("one", proven())])],
        "Fixer 1, round 1, Ordinary: one in a.rs
         checkpoint
         Fixer 2, round 1, Ordinary: one in a.rs
         stage
         checkpoint
         checks After: one
         one resolved, Proven in round 1
         finish Done",
    );
}

#[test]
fn a_budget_that_is_spent_is_a_question_before_the_dispatch() {
    let budgets = [
        Budget { workers: 1, minutes: 0, cost_usd: None },
        Budget { workers: 0, minutes: 0, cost_usd: Some(0.5) },
    ];
    for budget in budgets {
        let input = changed(one(), |input| input.budget = budget);
        let story = Story::tell(&input, &[fixes(&["a.rs"], "t1"), checks(vec![check("one", persists())])]);
        let asked = question(&story, QuestionKind::Escalation);
        assert!(asked.text.contains("budget of"), "{}", asked.text);
        assert_eq!(story.view().workers_used, 1);
    }
}

#[test]
fn the_time_that_a_question_is_open_is_not_on_the_budget() {
    let input = changed(one(), |input| input.budget.minutes = 1);
    let mut story = Story::tell(&input, &[needs(&["b.rs"])]);
    let asked = question(&story, QuestionKind::Scope);
    let days = 3 * 24 * 60 * 60 * 1_000;
    let answer = Event::Answered {
        question: asked.number,
        choice: Choice::ApproveScope,
        by: crate::protocol::AnsweredBy::User,
        text: None,
    };
    crate::protocol::Machine::handle(&mut story.machine, days, answer);
    assert!(story.view().open_question.is_none());
    let checkpoint = story.view().outstanding[0].id;
    let tree = TreeId("start".into());
    let event = Event::Checkpointed { action: checkpoint, tree };
    crate::protocol::Machine::handle(&mut story.machine, days + 1, event);
    assert_eq!(story.view().state, "fixing");
}
