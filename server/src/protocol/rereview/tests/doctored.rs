//! The rules can fail: genuine traces with one thing changed, and the rule that has to notice.

use super::super::super::vocabulary::*;
use super::super::{RereviewInput, world};
use super::rules::{self, Watcher};
use super::telling::*;

fn judge(input: &RereviewInput, trace: &Trace) -> Result<(), String> {
    let mut watcher = Watcher::new(input);
    trace.iter().try_for_each(|(event, steps)| watcher.see(event, steps))
}

type Doctor = fn(&mut Trace);

/// Changes every step that `change` finds.
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

#[test]
fn each_rule_notices_its_own_breach() {
    let retried = || tell(plain(), &[FIXED, first_gap(), FIXED, SHIP]).trace;
    let raised = || {
        let look = diagnosed(Cause::EnvToolFailure, None);
        let blocked = Say::Review(GateWord::Blocked, &["first"], "it ran");
        tell(with_diagnoser(), &[look, FIXED, blocked, evidenced(), FIXED, SHIP]).trace
    };
    let gated = RereviewInput { has_final_gate: true, ..plain() };
    let appeal = {
        let gated = gated.clone();
        move || {
            let gate = Say::Review(GateWord::FixFirst, &["g"], "it ran");
            tell(gated.clone(), &[FIXED, SHIP, gate, user(Choice::Yes)]).trace
        }
    };
    let flaky = || {
        let unclear = Say::Checks(CheckVerdict::Inconclusive { why: "flaky".into() });
        tell(plain(), &[FIXED, unclear, user(Choice::RetryVerification), SHIP]).trace
    };
    let breach = || tell(plain(), &[Say::Breach, user(Choice::KeepAndStop)]).trace;
    let stopped = || tell(with_diagnoser(), &[diagnosed(Cause::OverdesignedPlan, None)]).trace;
    let cancelled = || tell(plain(), &[FIXED, Say::Cancel]).trace;
    let table: Vec<(&str, RereviewInput, Trace, Doctor)> = vec![
        (rules::THREE_FIXES, plain(), retried(), |trace| {
            dispatches(trace, |dispatch| dispatch.round += u32::from(dispatch.round == 2));
        }),
        (rules::FRESH_WORKERS, plain(), retried(), |trace| {
            dispatches(trace, |dispatch| dispatch.worker = WorkerId(1));
        }),
        (rules::CHECKPOINT_FIRST, plain(), retried(), |trace| {
            trace.retain(|(event, _)| !matches!(event, Event::Checkpointed { action: ActionId(1), .. }));
            trace[0].1.push(Step { id: ActionId(90), action: Action::Dispatch(first_dispatch()) });
            trace[0].1.remove(0);
        }),
        (rules::ONE_AT_A_TIME, plain(), retried(), |trace| {
            trace[0].1.push(Step { id: ActionId(90), action: Action::Stage });
        }),
        (rules::RAISE_ON_EVIDENCE, with_diagnoser(), raised(), |trace| {
            events(trace, |event| {
                if let Event::Reported { report: Report::Diagnosis(diagnosis), .. } = event {
                    diagnosis.new_evidence_is_real = false;
                }
            });
        }),
        (rules::RAISE_ON_EVIDENCE, with_diagnoser(), raised(), |trace| {
            events(trace, |event| {
                if let Event::Reported { report: Report::Diagnosis(diagnosis), .. } = event
                    && diagnosis.cause == Cause::ModelCapacity
                {
                    diagnosis.cause = Cause::MissingContext;
                }
            });
        }),
        (rules::RAISE_CAP, RereviewInput { ladder_len: 0, ..with_diagnoser() }, raised(), |_| {}),
        (rules::EVIDENCE, plain(), retried(), |trace| {
            events(trace, |event| {
                if let Event::Reported { report: Report::Gaps(review), .. } = event {
                    review.evidence.clear();
                }
            });
        }),
        (rules::EVIDENCE, plain(), retried(), |trace| {
            events(trace, |event| {
                if let Event::Reported { report: Report::Gaps(_), changes, .. } = event {
                    changes.in_scope.push(world::FILE.into());
                }
            });
        }),
        (rules::RED, plain(), retried(), |trace| {
            events(trace, |event| {
                if let Event::Checked { checked, .. } = event {
                    let red = CheckVerdict::Persists { why: "red".into(), failing: Vec::new() };
                    checked.findings.push((FindingKey("f1".into()), red));
                }
            });
        }),
        (rules::REVIEW_AFTER_CHECKS, plain(), retried(), |trace| {
            steps(trace, |step| {
                if let Action::RunChecks { when, .. } = &mut step.action {
                    *when = When::Before;
                }
            });
        }),
        (rules::GATE, gated, retried(), |_| {}),
        (rules::PERSON, RereviewInput { has_final_gate: true, ..plain() }, appeal(), |trace| {
            events(trace, |event| {
                if let Event::Answered { by, .. } = event {
                    *by = AnsweredBy::Automatic;
                }
            });
        }),
        (rules::NO_SCOPE_QUESTION, plain(), flaky(), |trace| {
            steps(trace, |step| {
                if let Action::Ask(question) = &mut step.action {
                    question.kind = QuestionKind::Scope;
                }
            });
        }),
        (rules::BREACH, plain(), retried(), |trace| {
            events(trace, |event| {
                if let Event::Reported { changes, .. } = event {
                    changes.breaches.push("HEAD was moved".into());
                }
            });
        }),
        (rules::ONE_END, plain(), breach(), |trace| {
            endings(trace, |ending| ending.how = EndedHow::Stopped);
        }),
        (rules::ONE_END, plain(), retried(), |trace| {
            let last = trace.last_mut().expect("an end");
            let end = last.1.last().expect("an end").clone();
            last.1.push(end);
        }),
        (rules::ONE_END, plain(), retried(), |trace| {
            let more = trace[1].clone();
            trace.push(more);
        }),
        (rules::REASON, plain(), breach(), |trace| {
            endings(trace, |ending| ending.reason = "two\nlines".into());
        }),
        (rules::REASON, plain(), breach(), |trace| endings(trace, |ending| ending.reason.clear())),
        (rules::BLOCK, with_diagnoser(), stopped(), |trace| endings(trace, |ending| ending.block = None)),
        (rules::BLOCK, with_diagnoser(), stopped(), |trace| {
            endings(trace, |ending| {
                ending.block = ending.block.take().map(|block| block.replace("0/2", "1/2"))
            });
        }),
        (rules::CANCEL, plain(), cancelled(), |trace| {
            endings(trace, |ending| ending.how = EndedHow::Blocked);
        }),
        (rules::CANCEL, plain(), cancelled(), |trace| {
            steps(trace, |step| {
                if let Action::Restore { to } = &mut step.action {
                    *to = RestorePoint::BeforeWorker;
                }
            });
        }),
        (rules::OVERDESIGNED, with_diagnoser(), raised(), |trace| {
            events(trace, |event| {
                if let Event::Reported { report: Report::Diagnosis(diagnosis), .. } = event {
                    diagnosis.cause = Cause::OverdesignedPlan;
                }
            });
        }),
        (rules::READERS, plain(), retried(), |trace| {
            dispatches(trace, |dispatch| {
                dispatch.scope.insert(world::FILE.into());
            });
        }),
        (rules::OSCILLATION, plain(), retried(), |trace| {
            events(trace, |event| {
                if let Event::Reported { changes, .. } = event
                    && changes.tree.is_some()
                {
                    changes.tree = Some(world::tree(world::START));
                }
            });
        }),
    ];
    for (rule, input, mut trace, doctor) in table {
        doctor(&mut trace);
        assert_eq!(judge(&input, &trace), Err(rule.to_owned()), "the doctored trace of `{rule}`");
    }
}

#[test]
fn a_third_automatic_retry_is_noticed() {
    let retry = Say::Answer(Choice::RetryVerification, AnsweredBy::User, None);
    let says = [FIXED, Say::Fails, retry.clone(), Say::Fails, retry.clone(), Say::Fails, retry, SHIP];
    let mut trace = tell(plain(), &says).trace;
    assert_eq!(judge(&plain(), &trace), Ok(()));
    events(&mut trace, |event| {
        if let Event::Answered { by, .. } = event {
            *by = AnsweredBy::Automatic;
        }
    });
    assert_eq!(judge(&plain(), &trace), Err(rules::RETRIES.to_owned()));
}

fn first_dispatch() -> Dispatch {
    tell(plain(), &[FIXED, SHIP]).dispatches()[0].clone()
}
