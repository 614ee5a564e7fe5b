//! A bounded world for the loop: every kind of answer that a step can get, in a few examples each.
//!
//! Owns what can happen next in the walk over all states, and which states are the same. The tests walk it with the
//! rules; `fix-loop protocol rereview` walks it to draw the graph.

use std::collections::BTreeSet;

use super::super::View;
use super::super::explore::Graph;
use super::super::machine::Rules as _;
use super::super::vocabulary::*;
use super::diagnosis::Trouble;
use super::phase::{Asked, Job, Phase, Then};
use super::{GapSubject, Rereview, RereviewInput};

pub const FILE: &str = "src/a.py";
const OTHER: &str = "src/b.py";
/// The tree as the loop finds it.
pub const START: &str = "tree-0";

/// Two findings in one file, a reviewer, a final gate, a diagnoser, and a ladder of one step.
pub fn input() -> RereviewInput {
    let subject = |key: &str, severity: Severity, text: &str| GapSubject {
        subject: Subject {
            key: FindingKey(key.to_owned()),
            severity,
            files: BTreeSet::from([FILE.to_owned()]),
        },
        gap: Gap { severity, text: text.to_owned(), file: Some(FILE.to_owned()), line: Some(7) },
    };
    RereviewInput {
        subjects: vec![
            subject("f1", Severity::P0, "the total is wrong"),
            subject("f2", Severity::P1, "an empty list ends it"),
        ],
        verdict: Some(GateWord::FixFirst),
        scope: BTreeSet::from([FILE.to_owned()]),
        budget: Budget { workers: 0, minutes: 0, cost_usd: None },
        ladder_len: 1,
        has_final_gate: true,
        has_diagnoser: true,
        simplify: false,
        inherited: Inherited::default(),
    }
}

pub fn graph() -> Graph {
    let mut graph = Graph::default();
    graph.walk(Rereview::new(input()), attended, key, |view: &View| view.state.to_owned());
    graph
}

/// Everything that can happen next, but for automatic answers: they lead where a person's lead, or nowhere.
pub fn attended(machine: &Rereview) -> Vec<(u64, Event)> {
    let mut events = events(machine);
    events.retain(|(_, event)| !matches!(event, Event::Answered { by: AnsweredBy::Automatic, .. }));
    events
}

/// What makes two states the same: everything that a later decision depends on. Words do not, nor do the numbers of
/// actions and workers.
pub fn key(machine: &Rereview) -> String {
    let phase = match &machine.phase {
        Phase::Over => return format!("over {:?}", machine.ending.as_ref().map(|ending| ending.how)),
        Phase::Restoring(RestorePoint::Start, Then::Fail(_)) => return "failing".to_owned(),
        Phase::Restoring(to, then) => format!("{to:?} {}", then_key(then)),
        Phase::Asking(Asked::Stuck(stuck, _)) => format!("stuck {stuck:?}"),
        Phase::Asking(Asked::Appeal(review)) => format!("appeal {:?}", review.verdict),
        Phase::Asking(_) => machine.state().to_owned(),
        phase => format!("{phase:?}"),
    };
    let gaps: Vec<&str> = machine.open.iter().map(|gap| gap.text.as_str()).collect();
    let verdict = machine.verdict.filter(|_| machine.round == 0);
    format!(
        "{phase} {} {} {} {gaps:?} {verdict:?} {} {} {} {} {:?}",
        machine.round,
        machine.spent,
        machine.raises,
        machine.seen.len(),
        machine.automatic,
        machine.attempts.len(),
        std::mem::discriminant(&machine.trouble)
            == std::mem::discriminant(&Trouble::NoVerification(String::new())),
        [
            machine.draft.red.is_empty(),
            machine.supplied.is_some(),
            machine.trouble.is_fixable(),
            machine.has_baseline,
            machine.has_checkpoint,
            machine.simplifying,
            machine.in_tree.is_empty(),
            machine.weakened.is_empty(),
        ],
    )
}

fn then_key(then: &Then) -> String {
    match then {
        Then::Ask(stuck, _) => format!("ask {stuck:?}"),
        Then::GiveUp(_) => "give up".to_owned(),
        Then::Fail(_) => "fail".to_owned(),
        Then::AskBreach(_) => "breach".to_owned(),
        then => format!("{then:?}"),
    }
}

/// Everything that can happen next.
pub fn events(machine: &Rereview) -> Vec<(u64, Event)> {
    if machine.phase == Phase::Over {
        return Vec::new();
    }
    let mut events = match machine.docket.outstanding().first() {
        None => vec![Event::Started],
        Some(step) => answers(machine, step),
    };
    events.push(Event::Cancelled);
    events.into_iter().map(|event| (1000, event)).collect()
}

fn answers(machine: &Rereview, step: &Step) -> Vec<Event> {
    let action = step.id;
    let failed = Event::ActionFailed { action, reason: "the disk is full".to_owned() };
    match &step.action {
        Action::Checkpoint => {
            let tree = tree(if machine.seen.is_empty() { START } else { "tree-now" });
            vec![Event::Checkpointed { action, tree }, failed]
        }
        Action::RunChecks { when: When::Before, .. } => {
            let clean = Changes::default();
            vec![
                checked(action, Checked::default(), clean.clone()),
                checked(action, Checked::default(), edits(FILE, "x")),
                failed,
            ]
        }
        Action::RunChecks { findings, .. } => {
            after_checks(action, findings).into_iter().chain([failed]).collect()
        }
        Action::Stage => vec![
            Event::Staged { action },
            Event::StageRefused { action, reason: "line 7 is yours too".to_owned(), conflict: true },
            Event::StageRefused { action, reason: "it is in a submodule".to_owned(), conflict: false },
            failed,
        ],
        Action::Restore { .. } => vec![Event::Restored { action, left_alone: Vec::new() }, failed],
        Action::Ask(question) => question
            .options
            .iter()
            .map(|choice| (*choice, AnsweredBy::User))
            // `--answer recommended` gives this one.
            .chain([(question.recommended, AnsweredBy::Automatic)])
            .map(|(choice, by)| Event::Answered {
                question: question.number,
                choice,
                by,
                text: (by == AnsweredBy::User).then(|| FILE.to_owned()),
            })
            .collect(),
        Action::Dispatch(dispatch) => {
            let mut events = reports(machine, dispatch)
                .into_iter()
                .map(|(report, changes)| reported(action, report, changes))
                .collect::<Vec<_>>();
            let failure = WorkerFailure {
                class: FailureClass::NoReport,
                message: "it ended without a report".to_owned(),
                advice: String::new(),
            };
            events.push(Event::WorkerFailed {
                action,
                failure,
                changes: Changes::default(),
                spent: Spent::default(),
            });
            events.push(Event::Interrupted { action });
            events
        }
        _ => Vec::new(),
    }
}

pub fn reported(action: ActionId, report: Report, changes: Changes) -> Event {
    Event::Reported { action, report, changes, spent: Spent { cost_usd: Some(0.1), tokens: None } }
}

pub fn checked(action: ActionId, checked: Checked, changes: Changes) -> Event {
    Event::Checked { action, checked, changes }
}

pub fn tree(name: &str) -> TreeId {
    TreeId(name.to_owned())
}

/// An edit of `file` that leads to the tree called `name`.
pub fn edits(file: &str, name: &str) -> Changes {
    Changes { in_scope: vec![file.to_owned()], tree: Some(tree(name)), ..Changes::default() }
}

fn after_checks(action: ActionId, findings: &[FindingKey]) -> Vec<Event> {
    let all = |verdict: CheckVerdict| Checked {
        findings: findings.iter().map(|key| (key.clone(), verdict.clone())).collect(),
        ..Checked::default()
    };
    let why = || "what the check says".to_owned();
    let clean = Changes::default();
    vec![
        checked(action, all(CheckVerdict::Silent { why: why() }), clean.clone()),
        checked(action, all(CheckVerdict::Supported { grade: Grade::Proven, why: why() }), clean.clone()),
        checked(
            action,
            all(CheckVerdict::Persists { why: why(), failing: vec!["test_a".to_owned()] }),
            clean.clone(),
        ),
        checked(action, all(CheckVerdict::Inconclusive { why: why() }), clean.clone()),
        checked(action, all(CheckVerdict::Silent { why: why() }), edits(FILE, "written-by-a-test")),
    ]
}

fn reports(machine: &Rereview, dispatch: &Dispatch) -> Vec<(Report, Changes)> {
    let clean = Changes::default;
    match dispatch.role {
        Role::Fixer => {
            let name = match machine.phase {
                Phase::Working(Job::Simplify) => "tree-simple".to_owned(),
                _ => format!("tree-{}", dispatch.round),
            };
            let breach = Changes { breaches: vec!["HEAD was moved".to_owned()], ..edits(FILE, &name) };
            let weakened = Weakened {
                path: "tests/test_a.py".to_owned(),
                line: Some(3),
                what: "an assert is gone".to_owned(),
            };
            let weakening = Changes { weakened: vec![weakened], ..edits(FILE, &name) };
            let outside = Changes { out_of_scope: vec![OTHER.to_owned()], ..clean() };
            let request =
                ScopeRequest { files: vec![OTHER.to_owned()], justification: "it is there".to_owned() };
            vec![
                (fixer(FixerStatus::Fixed), edits(FILE, &name)),
                (fixer(FixerStatus::Fixed), edits(FILE, START)),
                (fixer(FixerStatus::Fixed), clean()),
                (fixer(FixerStatus::Fixed), outside),
                (fixer(FixerStatus::Fixed), breach),
                (fixer(FixerStatus::Fixed), weakening),
                (fixer(FixerStatus::AlreadyResolved), clean()),
                (fixer(FixerStatus::Blocked), edits(FILE, &name)),
                (Report::NeedsScope(request), clean()),
            ]
        }
        Role::Reviewer | Role::FinalGate => vec![
            (gaps(GateWord::Ship, &[], "the pipeline ran"), clean()),
            (gaps(GateWord::Ship, &[], ""), clean()),
            (gaps(GateWord::Ship, &["still wrong"], "it ran"), clean()),
            (gaps(GateWord::FixFirst, &["another one"], "it ran"), clean()),
            (gaps(GateWord::FixFirst, &[], "it ran"), clean()),
            (gaps(GateWord::Blocked, &["cannot be built"], "it ran"), clean()),
            (gaps(GateWord::Ship, &[], "it ran"), edits(FILE, "edited-by-the-reviewer")),
        ],
        _ => Cause::ALL
            .into_iter()
            .flat_map(|cause| match cause {
                Cause::ModelCapacity => {
                    vec![evidenced(cause), Diagnosis { new_evidence_is_real: false, ..evidenced(cause) }]
                }
                Cause::EnvToolFailure => {
                    vec![diagnosis(cause, None), diagnosis(cause, Some("install pytest"))]
                }
                _ => vec![diagnosis(cause, Some("the file docs/spec.md"))],
            })
            .map(|diagnosis| (Report::Diagnosis(diagnosis), clean()))
            .collect(),
    }
}

pub fn fixer(status: FixerStatus) -> Report {
    Report::Fixer(FixerReport {
        status,
        summary: "changed the sum".to_owned(),
        concerns: None,
        blocked_by: (status == FixerStatus::Blocked).then(|| "it needs src/b.py".to_owned()),
        claimed: vec![FILE.to_owned()],
    })
}

/// A review whose gaps are all CRITICAL, in [`FILE`].
pub fn gaps(verdict: GateWord, texts: &[&str], evidence: &str) -> Report {
    let gaps = texts.iter().map(|text| Gap {
        severity: Severity::P0,
        text: (*text).to_owned(),
        file: Some(FILE.to_owned()),
        line: Some(9),
    });
    Report::Gaps(GapReview { verdict, gaps: gaps.collect(), evidence: evidence.to_owned() })
}

pub fn diagnosis(cause: Cause, needs: Option<&str>) -> Diagnosis {
    Diagnosis {
        cause,
        evidence: "the output says so".to_owned(),
        new_evidence: None,
        new_evidence_is_real: false,
        rules_out: Vec::new(),
        route: format!("the route of {}", cause.words()),
        needs: needs.map(str::to_owned),
    }
}

/// A diagnosis with everything that a raise needs.
pub fn evidenced(cause: Cause) -> Diagnosis {
    Diagnosis {
        new_evidence: Some("a trace that is new".to_owned()),
        new_evidence_is_real: true,
        rules_out: Cause::ALL
            .into_iter()
            .filter(|other| *other != cause)
            .map(|other| (other, "checked".to_owned()))
            .collect(),
        ..diagnosis(cause, None)
    }
}
