//! Whole runs, told as lists of answers: what is dispatched, asked and said at the end.

use super::super::super::vocabulary::*;
use super::super::super::{Machine, Standing};
use super::super::{Converge, ConvergeInput, Gate, Source, Verdict, parse_gate, world};
use super::rules::Watcher;

/// The next answer in a story. Checkpoints and restores answer themselves, and an inspection or a preparation that the
/// story does not tell is a good one.
#[derive(Clone)]
pub(super) enum Say {
    Prepares(Box<Prepared>),
    /// What the reviewers of both axes name, in the order in which they end.
    Reviews(Axis, &'static [&'static str]),
    Check(&'static [usize]),
    Commits,
    CommitsAs(Box<Footer>, Changes),
    Says(Box<Report>, Changes),
    Inspects(fn(&Converge) -> Inspected),
    /// This many of the confirmed root causes are open.
    Closes(usize),
    Regression,
    Fails(FailureClass),
    Interrupted,
    ActionFails,
    Answer(Choice, AnsweredBy, Option<&'static str>),
    Cancel,
}
use Say::*;

pub(super) fn user(choice: Choice) -> Say {
    Answer(choice, AnsweredBy::User, None)
}

pub(super) fn automatic(choice: Choice) -> Say {
    Answer(choice, AnsweredBy::Automatic, None)
}

pub(super) type Trace = Vec<(Event, Vec<Step>)>;

pub(super) struct Run {
    pub(super) machine: Converge,
    pub(super) trace: Trace,
}

impl Run {
    fn steps(&self) -> impl Iterator<Item = &Step> {
        self.trace.iter().flat_map(|(_, steps)| steps)
    }

    pub(super) fn dispatches(&self) -> Vec<&Dispatch> {
        self.steps()
            .filter_map(|step| match &step.action {
                Action::Dispatch(dispatch) => Some(dispatch),
                _ => None,
            })
            .collect()
    }

    fn roles(&self) -> String {
        let words = self.dispatches().into_iter().map(|dispatch| match (dispatch.role, &dispatch.focus) {
            (Role::Reviewer, Focus::Axis(Axis::Standards)) => "standards".to_owned(),
            (Role::Reviewer, _) => "spec".to_owned(),
            (Role::Checker, _) => "checker".to_owned(),
            (Role::Fixer, _) => format!("fixer {}", dispatch.round),
            (Role::Recoverer, _) => format!("recoverer {}", dispatch.round),
            _ => "closer".to_owned(),
        });
        words.collect::<Vec<_>>().join(", ")
    }

    fn ending(&self) -> Ending {
        self.machine.view().finished.expect("the loop has ended")
    }

    fn block(&self) -> String {
        self.ending().block.expect("a report")
    }

    fn gate(&self) -> Gate {
        parse_gate(&self.block()).expect("a whole gate")
    }

    fn question(&self) -> Question {
        self.machine.view().open_question.expect("a question")
    }

    fn has(&self, action: &Action) -> bool {
        self.steps().any(|step| step.action == *action)
    }
}

pub(super) fn tell(input: ConvergeInput, says: &[Say]) -> Run {
    let mut watcher = Watcher::new(&input);
    let mut run = Run { machine: Converge::new(input), trace: Vec::new() };
    let mut says = says.iter().cloned().peekable();
    let mut now = 0;
    let mut push = |run: &mut Run, event: Event| {
        now += 1000;
        let steps = run.machine.handle(now, event.clone());
        if let Err(rule) = watcher.see(&event, &steps) {
            panic!("{rule}, after {event:?}: {steps:?}");
        }
        run.trace.push((event, steps));
    };
    push(&mut run, Event::Started);
    loop {
        let outstanding = run.machine.view().outstanding;
        let Some(first) = outstanding.first().cloned() else { break };
        let event = match (&first.action, says.peek()) {
            (Action::Dispatch(_) | Action::Ask(_), Some(Cancel)) => {
                says.next();
                Event::Cancelled
            }
            (
                Action::Prepare | Action::Checkpoint | Action::Restore { .. } | Action::Inspect { .. },
                Some(ActionFails),
            ) => {
                says.next();
                Event::ActionFailed { action: first.id, reason: "the disk is full".into() }
            }
            (Action::Prepare, Some(Prepares(_))) | (Action::Inspect { .. }, Some(Inspects(_))) => {
                answer(&run.machine, &first, says.next().expect("peeked"))
            }
            (Action::Dispatch(_) | Action::Ask(_), None) => break,
            (Action::Dispatch(_), Some(Reviews(axis, _))) => {
                let reviews = |step: &&Step| matches!(&step.action, Action::Dispatch(d) if d.focus == Focus::Axis(*axis));
                let step = outstanding.iter().find(reviews).expect("that axis is reviewed").clone();
                answer(&run.machine, &step, says.next().expect("peeked"))
            }
            (Action::Dispatch(_) | Action::Ask(_), Some(_)) => {
                answer(&run.machine, &first, says.next().expect("peeked"))
            }
            _ => by_itself(&run.machine, &first),
        };
        push(&mut run, event);
    }
    assert!(says.peek().is_none(), "the story says more than the loop asked for: {}", run.roles());
    run
}

fn by_itself(machine: &Converge, step: &Step) -> Event {
    let action = step.id;
    match &step.action {
        Action::Prepare => {
            Event::Prepared { action, prepared: world::prepared(true, ValidationOutcome::Pass) }
        }
        Action::Checkpoint => Event::Checkpointed { action, tree: TreeId(world::START.to_owned()) },
        Action::Restore { .. } => Event::Restored { action, left_alone: Vec::new() },
        Action::Inspect { .. } => Event::Inspected { action, inspected: world::inspected(machine) },
        other => panic!("{other:?} does not answer itself"),
    }
}

fn answer(machine: &Converge, step: &Step, say: Say) -> Event {
    let action = step.id;
    let clean = Changes::default;
    let committed = |footer| Report::Committed { footer, summary: "fixed it".to_owned() };
    match say {
        Prepares(prepared) => Event::Prepared { action, prepared: *prepared },
        Reviews(axis, keys) => world::reported(action, world::axis_review(axis, keys), clean()),
        Check(disputed) => world::reported(action, world::consolidation(machine, disputed), clean()),
        Commits => {
            let footer = world::footer("fix", Some(world::commit(machine)));
            world::reported(action, committed(footer), world::edits(world::FILE))
        }
        CommitsAs(footer, changes) => world::reported(action, committed(*footer), changes),
        Says(report, changes) => world::reported(action, *report, changes),
        Inspects(inspection) => Event::Inspected { action, inspected: inspection(machine) },
        Closes(open) => world::reported(action, world::closing(machine, open), clean()),
        Regression => world::reported(action, world::regression(machine), clean()),
        Fails(class) => world::failure(action, class),
        Interrupted => Event::Interrupted { action },
        Answer(choice, by, text) => {
            let Action::Ask(question) = &step.action else { panic!("nothing is asked: {step:?}") };
            Event::Answered { question: question.number, choice, by, text: text.map(str::to_owned) }
        }
        ActionFails | Cancel => panic!("this answers no dispatch and no question: {step:?}"),
    }
}

pub(super) fn attached(keys: &[&str]) -> ConvergeInput {
    let source = Source::Attached(keys.iter().map(|key| world::finding(key)).collect());
    ConvergeInput { source, ..world::input() }
}

fn both(standards: &'static [&'static str], spec: &'static [&'static str]) -> [Say; 2] {
    [Reviews(Axis::Standards, standards), Reviews(Axis::Spec, spec)]
}

fn no_spec() -> Say {
    Prepares(Box::new(world::prepared(false, ValidationOutcome::Pass)))
}

fn after(first: impl IntoIterator<Item = Say>, then: &[Say]) -> Vec<Say> {
    first.into_iter().chain(then.iter().cloned()).collect()
}

#[test]
fn who_is_dispatched_and_how_it_ends() {
    let two = || attached(&["f1", "f2"]);
    let resume = || user(Choice::ResumeLoop);
    let table: Vec<(&str, ConvergeInput, Vec<Say>, &str, EndedHow)> = vec![
        ("no finding on both axes", world::input(), both(&[], &[]).into(), "standards, spec", EndedHow::Pass),
        (
            "fixed at once",
            world::input(),
            after(both(&["f1"], &["f2"]), &[Check(&[]), Commits, Closes(0)]),
            "standards, spec, checker, fixer 1, closer",
            EndedHow::Pass,
        ),
        (
            "all disputed",
            world::input(),
            after(both(&["f1"], &[]), &[Check(&[0])]),
            "standards, spec, checker",
            EndedHow::Pass,
        ),
        (
            "the spec ends first",
            world::input(),
            vec![Reviews(Axis::Spec, &["f2"]), Reviews(Axis::Standards, &[]), Check(&[]), Commits, Closes(0)],
            "standards, spec, checker, fixer 1, closer",
            EndedHow::Pass,
        ),
        (
            "standards only, approved",
            world::input(),
            vec![no_spec(), user(Choice::Yes), Reviews(Axis::Standards, &[])],
            "standards",
            EndedHow::PassStandardsOnly,
        ),
        (
            "attached findings skip the review",
            two(),
            vec![Check(&[]), Commits, Closes(0)],
            "checker, fixer 1, closer",
            EndedHow::Pass,
        ),
        (
            "attached findings without a spec",
            two(),
            vec![no_spec(), Check(&[]), Commits, Closes(0)],
            "checker, fixer 1, closer",
            EndedHow::PassStandardsOnly,
        ),
        ("nothing attached", attached(&[]), vec![], "", EndedHow::Pass),
        (
            "the burden falls step by step",
            attached(&["f1", "f2", "f3"]),
            vec![Check(&[]), Commits, Closes(2), Commits, Closes(1), Commits, Closes(0)],
            "checker, fixer 1, closer, fixer 2, closer, fixer 3, closer",
            EndedHow::Pass,
        ),
        (
            "a plateau has one recovery, and a new best another",
            attached(&["f1", "f2", "f3"]),
            vec![Check(&[]), Commits, Closes(3), Commits, Closes(2), Commits, Closes(2), Commits, Closes(0)],
            "checker, fixer 1, closer, recoverer 2, closer, fixer 3, closer, recoverer 4, closer",
            EndedHow::Pass,
        ),
        (
            "a regression counts: no new best, so a recovery",
            attached(&["f1"]),
            vec![Check(&[]), Commits, Regression, Commits, Closes(0)],
            "checker, fixer 1, closer, recoverer 2, closer",
            EndedHow::Pass,
        ),
        (
            "a crash repeats its round",
            two(),
            vec![Interrupted, Check(&[]), Interrupted, Commits, Interrupted, Closes(0)],
            "checker, checker, fixer 1, fixer 1, closer, closer",
            EndedHow::Pass,
        ),
        (
            "no footer pauses and is resumed in its round",
            two(),
            vec![Check(&[]), Fails(FailureClass::NoReport), resume(), Commits, Closes(0)],
            "checker, fixer 1, fixer 1, closer",
            EndedHow::Pass,
        ),
        (
            "already resolved, and the closer agrees",
            two(),
            vec![
                Check(&[]),
                Says(Box::new(world::fixer(FixerStatus::AlreadyResolved)), Changes::default()),
                Closes(0),
            ],
            "checker, fixer 1, closer",
            EndedHow::Pass,
        ),
        (
            "staying paused ends it",
            two(),
            vec![Fails(FailureClass::Account), user(Choice::StayPaused)],
            "checker",
            EndedHow::Blocked,
        ),
        ("cancelled", two(), vec![Check(&[]), Cancel], "checker, fixer 1", EndedHow::Cancelled),
    ];
    for (name, input, says, roles, how) in table {
        let run = tell(input, &says);
        assert_eq!(run.roles(), roles, "{name}");
        assert_eq!(run.ending().how, how, "{name}: {:?}", run.ending());
    }
}

#[test]
fn a_recovery_that_stays_at_the_best_pauses_for_a_decision() {
    let says = [Check(&[]), Commits, Closes(2), Commits, Closes(2)];
    let run = tell(attached(&["f1", "f2"]), &says);
    assert_eq!(run.machine.view().state, "paused_decision");
    let question = run.question();
    assert!(question.text.contains("burden (2)"), "{}", question.text);
    let gate = parse_gate(&question.detail).expect("the gate as it stands");
    assert_eq!((gate.verdict, gate.open_confirmed_findings), (Verdict::Paused, 2));
    assert_eq!((gate.review_base.as_str(), gate.final_head.as_str()), (world::BASE, "commit2"));

    // Nobody but the user goes on from here, with one more recovery and no new review.
    let run = tell(
        attached(&["f1", "f2"]),
        &after(says.clone(), &[automatic(Choice::ResumeLoop), automatic(Choice::StayPaused)]),
    );
    assert_eq!(run.machine.view().state, "paused_decision");
    let run = tell(
        attached(&["f1", "f2"]),
        &after(says, &[user(Choice::ResumeLoop), Commits, Closes(1), Commits, Closes(0)]),
    );
    assert_eq!(run.ending().how, EndedHow::Pass);
    assert!(
        run.roles().ends_with("recoverer 2, closer, recoverer 3, closer, fixer 4, closer"),
        "{}",
        run.roles()
    );
}

#[test]
fn the_review_runs_once_whatever_happens_to_its_reviewers() {
    use Axis::*;
    // One axis fails, the other is kept.
    let run = tell(
        world::input(),
        &[
            Reviews(Spec, &["f2"]),
            Fails(FailureClass::Service),
            user(Choice::ResumeLoop),
            Reviews(Standards, &[]),
        ],
    );
    assert_eq!(run.roles(), "standards, spec, standards, checker");
    // Both are interrupted by a restart, and both dispatched again, together.
    let run = tell(world::input(), &[Interrupted, Interrupted]);
    assert_eq!(
        (run.roles().as_str(), run.machine.view().outstanding.len()),
        ("standards, spec, standards, spec", 2)
    );
    // After the check nothing is reviewed again, not even after a pause.
    let says = after(
        both(&["f1"], &[]),
        &[Check(&[]), Fails(FailureClass::Agent), user(Choice::ResumeLoop), Commits, Closes(1)],
    );
    let run = tell(world::input(), &says);
    assert_eq!(run.roles(), "standards, spec, checker, fixer 1, fixer 1, closer, recoverer 2");
}

#[test]
fn nothing_else_runs_while_an_axis_is_still_out() {
    let run = tell(world::input(), &[Fails(FailureClass::Service)]);
    assert_eq!(run.machine.view().state, "reviewing");
    assert_eq!(run.machine.view().outstanding.len(), 1);
    let run = tell(world::input(), &[Reviews(Axis::Standards, &["f1"])]);
    assert_eq!(run.roles(), "standards, spec");
}

#[test]
fn what_git_contradicts_is_undone_and_paused() {
    type Lie = fn(&Converge) -> Inspected;
    let lies: [(&str, Lie); 4] = [
        ("not clean", |machine| Inspected { clean: false, ..world::inspected(machine) }),
        ("the head is", |machine| Inspected { head: "other".into(), ..world::inspected(machine) }),
        ("not on the loop's branch", |machine| Inspected { on_branch: false, ..world::inspected(machine) }),
        ("not an ancestor", |machine| Inspected { base_is_ancestor: false, ..world::inspected(machine) }),
    ];
    for (words, lie) in lies {
        let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(lie)]);
        assert_eq!(run.machine.view().state, "paused_decision");
        assert!(run.question().detail.contains(words), "{}", run.question().detail);
        assert!(run.has(&Action::Restore { to: RestorePoint::BeforeWorker }), "{words}");
        assert_eq!(parse_gate(&run.question().detail).expect("a gate").final_head, world::START, "{words}");
    }
    // A footer that names no head is no claim that holds.
    let footer = Box::new(world::footer("fix", None));
    let run = tell(attached(&["f1"]), &[Check(&[]), CommitsAs(footer, Changes::default())]);
    assert!(run.question().detail.contains("names no head"));
}

#[test]
fn a_fix_without_a_commit_is_no_progress() {
    let nothing: fn(&Converge) -> Inspected = |machine| Inspected {
        new_commits: Vec::new(),
        head: world::commit(machine),
        ..world::inspected(machine)
    };
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(nothing)]);
    assert_eq!(run.roles(), "checker, fixer 1, recoverer 2");
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(nothing), Commits, Inspects(nothing)]);
    assert_eq!(run.machine.view().state, "paused_decision");
}

#[test]
fn a_tree_seen_before_is_oscillation() {
    let back: fn(&Converge) -> Inspected =
        |machine| Inspected { tree: TreeId(world::START.into()), ..world::inspected(machine) };
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(back)]);
    assert_eq!(run.machine.view().state, "paused_decision");
    assert!(run.question().text.contains("oscillation"));
}

#[test]
fn a_red_validation_counts_unless_it_was_red_before() {
    let red_now: fn(&Converge) -> Inspected = |machine| Inspected {
        validation: Some(world::validation(ValidationOutcome::Fail)),
        new_failures: vec!["test_new".into()],
        ..world::inspected(machine)
    };
    // Everything is closed, and still the fix broke something.
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(red_now), Closes(0)]);
    assert_eq!(run.roles(), "checker, fixer 1, closer, recoverer 2");
    assert_eq!(run.dispatches().last().expect("a recoverer").previous[0].failing, ["test_new"]);
    let run =
        tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(red_now), Closes(0), Commits, Closes(0)]);
    assert_eq!(run.ending().how, EndedHow::Pass);

    // No list of failures, but it passed at the base.
    let red_untold: fn(&Converge) -> Inspected = |machine| Inspected {
        validation: Some(world::validation(ValidationOutcome::Fail)),
        ..world::inspected(machine)
    };
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Inspects(red_untold), Closes(0)]);
    assert_eq!(run.roles(), "checker, fixer 1, closer, recoverer 2");

    let red_base = Prepares(Box::new(world::prepared(true, ValidationOutcome::Fail)));
    let run = tell(attached(&["f1"]), &[red_base, Check(&[]), Commits, Closes(0)]);
    assert_eq!(run.ending().how, EndedHow::Pass);
    assert!(run.block().contains("Validation: `make check` FAIL, as at the base"), "{}", run.block());
}

#[test]
fn a_validation_that_could_not_run_is_run_again_and_nothing_else() {
    let not_run: fn(&Converge) -> Inspected = |machine| Inspected {
        validation: Some(world::validation(ValidationOutcome::NotRun)),
        ..world::inspected(machine)
    };
    let again: fn(&Converge) -> Inspected =
        |machine| Inspected { head: "commit1".into(), new_commits: Vec::new(), ..world::inspected(machine) };
    let start = [Check(&[]), Commits, Inspects(not_run)];
    let run = tell(attached(&["f1"]), &start);
    assert_eq!(run.machine.view().state, "paused_transient");
    let run = tell(attached(&["f1"]), &after(start, &[user(Choice::ResumeLoop), Inspects(again), Closes(0)]));
    assert_eq!(run.roles(), "checker, fixer 1, closer");
    assert_eq!(run.gate().final_head, "commit1");
}

#[test]
fn the_final_report_says_everything_and_ends_in_the_gate() {
    let run = tell(attached(&["f1", "f2"]), &[Check(&[1]), Commits, Closes(0)]);
    assert_eq!(
        run.block(),
        "Environment: managed worktree worktrees/1\n\
         Branch: fix-loop/1\n\
         Review: skipped: the findings were attached\n\
         Workers: 1 checker, 2 fixer, 3 closer\n\
         Fix commits: commit1\n\
         Validation: `make check` PASS\n\
         Dispositions:\n\
         - standards-1: RESOLVED — what the diff shows\n\
         - standards-2: DISPUTED — the cited lines\n\
         Unresolved evidence:\n\
         - none\n\
         \n\
         LOOP_GATE:\n  verdict: PASS\n  review_base: base000\n  final_head: commit1\n  open_confirmed_findings: 0"
    );
    let standing = run.machine.view().findings;
    assert!(matches!(standing[0].1, Standing::Settled(Settled::Resolved { grade: Grade::Verified, .. })));
    assert!(matches!(standing[1].1, Standing::Settled(Settled::Disputed { .. })));
}

#[test]
fn all_disputed_is_a_pass_with_a_disagreement_note() {
    let run = tell(attached(&["f1", "f2"]), &[Check(&[0, 1])]);
    assert_eq!(run.gate().verdict, Verdict::Pass);
    assert!(run.block().contains("\ndisagreement: the review named 2 findings"), "{}", run.block());
    assert!(run.ending().reason.starts_with("disagreement"));
}

#[test]
fn a_pause_before_anything_was_prepared_still_has_a_gate() {
    let run = tell(world::input(), &[ActionFails, user(Choice::StayPaused)]);
    let unknown = Gate {
        verdict: Verdict::Paused,
        review_base: "unknown".into(),
        final_head: "unknown".into(),
        open_confirmed_findings: 0,
    };
    assert_eq!(run.gate(), unknown);
}

#[test]
fn without_a_spec_the_user_is_asked_and_a_no_pauses() {
    let run = tell(world::input(), &[no_spec()]);
    assert_eq!(run.question().kind, QuestionKind::StandardsOnly);
    assert!(run.dispatches().is_empty());
    let run = tell(world::input(), &[no_spec(), user(Choice::No)]);
    assert_eq!(run.machine.view().state, "paused_decision");
    // Resumed, the spec is looked for again.
    let run = tell(
        world::input(),
        &[no_spec(), user(Choice::No), user(Choice::ResumeLoop), Reviews(Axis::Spec, &[])],
    );
    assert_eq!(run.roles(), "standards, spec");
}

#[test]
fn an_empty_diff_is_nothing_to_review() {
    let mut prepared = world::prepared(true, ValidationOutcome::Pass);
    prepared.head = prepared.review_base.clone();
    let run = tell(world::input(), &[Prepares(Box::new(prepared))]);
    assert!(run.question().text.contains("nothing to review"));
}

#[test]
fn an_unfinished_check_is_never_a_dispute() {
    let root = |id: &str, confirmed: bool, from: &str, evidence: &str| RootCause {
        id: id.into(),
        confirmed,
        from: vec![FindingKey(from.into())],
        root_cause: "why".into(),
        evidence: evidence.into(),
    };
    let table = [
        ("1 of 2 findings were not judged", vec![root("spec-1", false, "f1", "seen")]),
        (
            "disputed without evidence",
            vec![root("spec-1", false, "f1", " "), root("spec-2", true, "f2", "seen")],
        ),
        (
            "not an id of its own",
            vec![root("spec-1", true, "f1", "seen"), root("spec-1", true, "f2", "seen")],
        ),
        ("not an id of its own", vec![root("first", true, "f1", "seen"), root("spec-1", true, "f2", "seen")]),
        ("2 of 2 findings were not judged", vec![root("spec-1", true, "invented", "seen")]),
    ];
    for (words, roots) in table {
        let report = Report::Consolidated { roots, footer: world::footer("check", None) };
        let run = tell(attached(&["f1", "f2"]), &[Says(Box::new(report), Changes::default())]);
        assert_eq!(run.machine.view().state, "paused_transient", "{words}");
        assert!(run.question().detail.contains(words), "{words}: {}", run.question().detail);
    }
}

#[test]
fn what_the_closer_leaves_unsaid_is_open() {
    let close = |states: Vec<(&str, RootState, &str)>| {
        let states =
            states.into_iter().map(|(id, state, evidence)| (id.into(), state, evidence.into())).collect();
        let report = Report::Closed { states, regressions: Vec::new(), footer: world::footer("close", None) };
        tell(attached(&["f1", "f2"]), &[Check(&[]), Commits, Says(Box::new(report), Changes::default())])
    };
    let resolved = ("standards-1", RootState::Resolved, "seen");
    let open = |run: &Run| run.machine.roots().iter().filter(|root| root.is_open()).count();
    assert_eq!(open(&close(vec![resolved])), 1);
    assert_eq!(open(&close(vec![resolved, ("standards-2", RootState::Resolved, " ")])), 1);
    let both_ways = ("standards-1", RootState::Open, "no");
    assert_eq!(open(&close(vec![resolved, both_ways, ("standards-2", RootState::Resolved, "seen")])), 1);
    // Nothing judged at all is no result.
    let run = close(vec![("spec-7", RootState::Resolved, "seen")]);
    assert_eq!(run.machine.view().state, "paused_transient");
}

#[test]
fn a_resolved_root_cause_can_open_again() {
    let reopened = Report::Closed {
        states: vec![
            ("standards-1".into(), RootState::Open, "back".into()),
            ("standards-2".into(), RootState::Open, "still".into()),
            ("standards-3".into(), RootState::Open, "still".into()),
        ],
        regressions: Vec::new(),
        footer: world::footer("close", None),
    };
    let run = tell(
        attached(&["f1", "f2", "f3"]),
        &[Check(&[]), Commits, Closes(2), Commits, Says(Box::new(reopened), Changes::default())],
    );
    assert_eq!(run.roles(), "checker, fixer 1, closer, fixer 2, closer, recoverer 3");
    assert_eq!(run.dispatches().last().expect("a recoverer").findings.len(), 3);
}

#[test]
fn regressions_are_findings_of_their_own_and_counted_once() {
    let run = tell(attached(&["f1", "f2"]), &[Check(&[]), Commits, Regression]);
    let regression = run.machine.roots().last().expect("a regression");
    assert_eq!((regression.id.as_str(), regression.is_regression), ("standards-9", true));
    assert_eq!(regression.from, [FindingKey("caused".into())]);
    // Two root causes became one: a new best, and the fixer is told of the regression alone.
    assert_eq!(run.dispatches().last().expect("a fixer").findings, [FindingKey("caused".into())]);

    // The same one, told without an id of its own.
    let told = Report::Closed {
        states: vec![("standards-1".into(), RootState::Resolved, "seen".into())],
        regressions: vec![world::finding("caused")],
        footer: world::footer("close", None),
    };
    let run = tell(attached(&["f1"]), &[Check(&[]), Commits, Says(Box::new(told), Changes::default())]);
    let ids: Vec<&str> = run.machine.roots().iter().map(|root| root.id.as_str()).collect();
    assert_eq!(ids, ["standards-1", "regression-1"]);
}

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
    assert_eq!(run.machine.view().state, "paused_decision");
    assert_eq!(run.roles(), "checker, fixer 1, fixer 1, fixer 1");
    let run = tell(attached(&["f1"]), &after(start, &[user(Choice::Defer)]));
    assert_eq!(run.machine.view().state, "paused_decision");
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
    assert_eq!((run.machine.view().workers_used, run.machine.view().state), (12, "paused_decision"));
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
    assert_eq!((run.machine.view().state, run.dispatches().len()), ("paused_decision", 0));
}

#[test]
fn a_transient_pause_is_resumed_automatically_twice_at_most() {
    let fail = || Fails(FailureClass::Service);
    let resume = || automatic(Choice::ResumeLoop);
    let run = tell(attached(&["f1"]), &[fail(), resume(), fail(), resume(), fail(), resume()]);
    assert_eq!(
        (run.roles().as_str(), run.machine.view().state),
        ("checker, checker, checker", "paused_transient")
    );
}

#[test]
fn a_blocked_worker_is_a_decision_and_an_account_too() {
    let blocked = Report::Committed { footer: world::blocked("fix"), summary: String::new() };
    let run = tell(attached(&["f1"]), &[Check(&[]), Says(Box::new(blocked), world::edits(world::FILE))]);
    assert_eq!(run.machine.view().state, "paused_decision");
    assert!(run.question().detail.contains("Evidence: BLOCKED: a decision"));
    assert!(run.has(&Action::Restore { to: RestorePoint::BeforeWorker }));
    let run = tell(attached(&["f1"]), &[Fails(FailureClass::Account)]);
    assert_eq!(run.machine.view().state, "paused_decision");
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
