//! The rules can fail: genuine traces with one thing changed, and the rule that has to notice.

use super::super::super::vocabulary::*;
use super::super::{ConvergeInput, world};
use super::rules::{self, Watcher};
use super::telling::*;

fn judge(input: &ConvergeInput, trace: &Trace) -> Result<(), String> {
    let mut watcher = Watcher::new(input);
    trace.iter().try_for_each(|(event, steps)| watcher.see(event, steps))
}

fn steps(trace: &mut Trace, mut change: impl FnMut(&mut Step)) {
    trace.iter_mut().flat_map(|(_, steps)| steps).for_each(&mut change);
}

fn dispatches(trace: &mut Trace, mut change: impl FnMut(&mut Dispatch)) {
    steps(trace, |step| {
        if let Action::Dispatch(dispatch) = &mut step.action {
            change(dispatch);
        }
    });
}

fn endings(trace: &mut Trace, mut change: impl FnMut(&mut Ending)) {
    steps(trace, |step| {
        if let Action::Finish(ending) = &mut step.action {
            change(ending);
        }
    });
}

fn events(trace: &mut Trace, mut change: impl FnMut(&mut Event)) {
    trace.iter_mut().for_each(|(event, _)| change(event));
}

fn closings(trace: &mut Trace, state: RootState) {
    events(trace, |event| {
        if let Event::Reported { report: Report::Closed { states, .. }, .. } = event {
            states.iter_mut().for_each(|(_, said, _)| *said = state);
        }
    });
}

#[test]
fn each_rule_notices_its_own_breach() {
    let axes = [Say::Reviews(Axis::Standards, &["f1"]), Say::Reviews(Axis::Spec, &[])];
    let reviewed = || {
        tell(
            world::input(),
            &[axes[0].clone(), axes[1].clone(), Say::Check(&[]), Say::Commits, Say::Closes(0)],
        )
        .trace
    };
    let two = || attached(&["f1", "f2"]);
    let falling =
        || tell(two(), &[Say::Check(&[]), Say::Commits, Say::Closes(1), Say::Commits, Say::Closes(0)]).trace;
    let recovering =
        || tell(two(), &[Say::Check(&[]), Say::Commits, Say::Closes(2), Say::Commits, Say::Closes(0)]).trace;
    let no_spec = Say::Prepares(Box::new(world::prepared(false, ValidationOutcome::Pass)));
    let standards = || {
        let alone = Say::Reviews(Axis::Standards, &[]);
        tell(world::input(), &[no_spec.clone(), user(Choice::Yes), alone]).trace
    };
    let decided = || {
        let stop = Say::Fails(FailureClass::Account);
        tell(two(), &[stop, user(Choice::ResumeLoop), Say::Check(&[])]).trace
    };
    let stopped = || tell(two(), &[Say::Fails(FailureClass::Account), user(Choice::StayPaused)]).trace;
    let scoped = || {
        let request = ScopeRequest { files: vec!["src/b.py".into()], justification: "there".into() };
        let ask = Say::Says(Box::new(Report::NeedsScope(request)), Changes::default());
        tell(two(), &[Say::Check(&[]), ask.clone(), user(Choice::RejectScope), ask]).trace
    };
    let foreign =
        || tell(two(), &[Say::Check(&[]), Say::Trespasses, user(Choice::KeepCheckout), Say::Closes(0)]).trace;
    type Doctor = fn(&mut Trace);
    let table: Vec<(&str, ConvergeInput, Trace, Doctor)> = vec![
        (rules::REVIEW_ONCE, world::input(), reviewed(), |trace| {
            dispatches(trace, |dispatch| {
                if dispatch.role == Role::Checker {
                    dispatch.role = Role::Reviewer;
                    dispatch.focus = Focus::Axis(Axis::Standards);
                }
            });
        }),
        (rules::ONE_WORKER, world::input(), reviewed(), |trace| {
            dispatches(trace, |dispatch| {
                if dispatch.role == Role::Reviewer {
                    dispatch.focus = Focus::Axis(Axis::Standards);
                }
            });
        }),
        (rules::ONE_WORKER, two(), falling(), |trace| {
            trace[1].1.push(Step { id: ActionId(90), action: Action::Checkpoint });
        }),
        (rules::FRESH_WORKERS, two(), falling(), |trace| {
            dispatches(trace, |dispatch| dispatch.worker = WorkerId(1));
        }),
        (rules::CHECKPOINT_FIRST, two(), falling(), |trace| {
            for (event, steps) in trace {
                steps.retain(|step| step.action != Action::Checkpoint);
                if let Event::Checkpointed { action, .. } = event {
                    *action = ActionId(900);
                }
            }
        }),
        (rules::FALLS, two(), recovering(), |trace| {
            dispatches(trace, |dispatch| {
                if dispatch.role == Role::Recoverer {
                    dispatch.role = Role::Fixer;
                }
            });
        }),
        (rules::FALLS, two(), falling(), |trace| closings(trace, RootState::Open)),
        (rules::RECOVERY, two(), recovering(), |trace| {
            dispatches(trace, |dispatch| {
                if dispatch.role == Role::Fixer {
                    dispatch.role = Role::Recoverer;
                }
            });
        }),
        (rules::INSPECTED, two(), falling(), |trace| {
            events(trace, |event| {
                if let Event::Inspected { inspected, .. } = event {
                    inspected.clean = false;
                }
            });
        }),
        (rules::ZERO, two(), recovering(), |trace| closings(trace, RootState::Open)),
        (rules::ZERO, world::input(), reviewed(), |trace| closings(trace, RootState::ConfirmedFixRegression)),
        (rules::ZERO, world::input(), reviewed(), |trace| {
            events(trace, |event| {
                if let Event::Inspected { inspected, .. } = event {
                    inspected.validation = Some(world::validation(ValidationOutcome::Fail));
                }
            });
        }),
        (rules::AXES, world::input(), standards(), |trace| {
            endings(trace, |ending| {
                ending.how = EndedHow::Pass;
                ending.block = ending.block.take().map(|block| block.replace("PASS_STANDARDS_ONLY", "PASS"));
            });
        }),
        (rules::AXES, two(), falling(), |trace| {
            events(trace, |event| {
                if let Event::Prepared { prepared, .. } = event {
                    prepared.has_spec = false;
                }
            });
        }),
        (rules::APPROVED, world::input(), standards(), |trace| {
            events(trace, |event| {
                if let Event::Answered { choice, .. } = event {
                    *choice = Choice::No;
                }
            });
        }),
        (rules::DECISION, two(), decided(), |trace| {
            events(trace, |event| {
                if let Event::Answered { by, .. } = event {
                    *by = AnsweredBy::Automatic;
                }
            });
        }),
        (rules::DECISION, two(), stopped(), |trace| {
            events(trace, |event| {
                if let Event::Answered { by, .. } = event {
                    *by = AnsweredBy::Automatic;
                }
            });
        }),
        (rules::GATE, two(), falling(), |trace| {
            endings(trace, |ending| {
                ending.block = ending.block.take().map(|block| block.replace("commit2", "commit1"))
            });
        }),
        (rules::GATE, two(), falling(), |trace| {
            endings(trace, |ending| {
                ending.block = ending.block.take().map(|block| block.replace("findings: 0", "findings: 1"))
            });
        }),
        (rules::GATE, two(), falling(), |trace| endings(trace, |ending| ending.block = None)),
        (rules::GATE, two(), stopped(), |trace| {
            endings(trace, |ending| {
                ending.block = ending.block.take().map(|block| block.replace("PAUSED", "PASS"))
            });
        }),
        (rules::ONE_END, two(), falling(), |trace| endings(trace, |ending| ending.how = EndedHow::Done)),
        (rules::ONE_END, two(), falling(), |trace| {
            let last = trace.last_mut().expect("an end");
            let end = last.1.last().expect("an end").clone();
            last.1.push(end);
        }),
        (rules::PAUSE_SAYS, two(), stopped(), |trace| {
            steps(trace, |step| {
                if let Action::Ask(question) = &mut step.action {
                    question.detail = question.detail.replace("Next action", "Next");
                }
            });
        }),
        (rules::PAUSE_SAYS, two(), stopped(), |trace| {
            steps(trace, |step| {
                if let Action::Ask(question) = &mut step.action {
                    question.detail = question.detail.replace("LOOP_GATE", "GATE");
                }
            });
        }),
        (
            rules::BUDGET,
            ConvergeInput { budget: Budget { workers: 3, minutes: 0, cost_usd: None }, ..two() },
            falling(),
            |_| {},
        ),
        (rules::STOP, two(), decided(), |trace| {
            events(trace, |event| {
                if let Event::Answered { choice, .. } = event {
                    *choice = Choice::StayPaused;
                }
            });
        }),
        (rules::CHECKOUT, two(), falling(), |trace| {
            events(trace, |event| {
                if let Event::Reported { report: Report::Committed { .. }, changes, .. } = event {
                    changes.checkout = Some(world::checkout());
                }
            });
        }),
        (rules::CHECKOUT, two(), foreign(), |trace| {
            events(trace, |event| {
                if let Event::Answered { by, .. } = event {
                    *by = AnsweredBy::Automatic;
                }
            });
        }),
        (rules::READERS, two(), falling(), |trace| {
            dispatches(trace, |dispatch| {
                dispatch.scope.insert(world::FILE.into());
            });
        }),
        (rules::SCOPE_QUESTIONS, two(), scoped(), |trace| {
            let again = trace.last().expect("a question").clone();
            let (Event::Reported { .. }, [.., ask]) = (&again.0, again.1.as_slice()) else {
                panic!("{again:?}")
            };
            let ask = ask.clone();
            trace.last_mut().expect("a question").1.push(ask);
        }),
    ];
    for (rule, input, mut trace, doctor) in table {
        doctor(&mut trace);
        assert_eq!(judge(&input, &trace), Err(rule.to_owned()), "the doctored trace of `{rule}`");
    }
}

#[test]
fn a_third_automatic_resume_is_noticed() {
    let fail = || Say::Fails(FailureClass::Service);
    let resume = || user(Choice::ResumeLoop);
    let says = [fail(), resume(), fail(), resume(), fail(), resume()];
    let mut trace = tell(attached(&["f1"]), &says).trace;
    assert_eq!(judge(&attached(&["f1"]), &trace), Ok(()));
    events(&mut trace, |event| {
        if let Event::Answered { by, .. } = event {
            *by = AnsweredBy::Automatic;
        }
    });
    assert_eq!(judge(&attached(&["f1"]), &trace), Err(rules::RETRIES.to_owned()));
}
