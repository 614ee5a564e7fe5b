//! A bounded world for the loop: every kind of answer that a step can get, in a few examples each.
//!
//! Owns what can happen next in the walk over all states, and which states are the same. The tests walk it with the
//! rules; `fix-loop protocol converge` walks it to draw the graph.

use std::collections::BTreeSet;

use super::super::View;
use super::super::explore::Graph;
use super::super::vocabulary::*;
use super::phase::{Asked, Next, Pause, Phase, Then};
use super::{Converge, ConvergeInput, Source};

pub const FILE: &str = "src/a.py";
const OTHER: &str = "src/b.py";
pub const BASE: &str = "base000";
/// The tree and the commit that the loop starts from.
pub const START: &str = "start00";

pub fn input() -> ConvergeInput {
    ConvergeInput {
        source: Source::Review,
        budget: Budget { workers: 0, minutes: 0, cost_usd: None },
        scope: BTreeSet::new(),
        standards_only: false,
    }
}

pub fn graph() -> Graph {
    let mut graph = Graph::default();
    graph.walk(Converge::new(input()), attended, key, |view: &View| view.state.to_owned());
    graph
}

/// Everything that can happen next, but for automatic answers: they lead where a person's lead, or nowhere.
pub fn attended(machine: &Converge) -> Vec<(u64, Event)> {
    let mut events = events(machine);
    events.retain(|(_, event)| !matches!(event, Event::Answered { by: AnsweredBy::Automatic, .. }));
    events
}

/// What makes two states the same: everything that a later decision depends on. Words do not, nor do the numbers of
/// actions, workers and rounds.
pub fn key(machine: &Converge) -> String {
    let phase = match &machine.phase {
        Phase::Over => return format!("over {:?}", machine.ending.as_ref().map(|ending| ending.how)),
        Phase::Restoring(Then::Cancelled) => return "cancelling".to_owned(),
        Phase::Restoring(then) => format!("restoring {}", then_key(then)),
        Phase::Asking(Asked::Pause(pause)) => pause_key(pause),
        Phase::Asking(Asked::MoreScope(job, _)) => format!("scope {job:?}"),
        Phase::Asking(Asked::Committed(job, ..)) => format!("committed {job:?}"),
        Phase::Asking(Asked::Checkout(job, held)) => {
            let of: Vec<&Focus> = held.iter().filter_map(|(step, _)| focus_of(step)).collect();
            format!("checkout {job:?} {of:?}")
        }
        Phase::Inspecting { job, only_validation, .. } => format!("inspecting {job:?} {only_validation}"),
        phase => format!("{phase:?}"),
    };
    let prepared = machine.prepared.as_ref().map(|prepared| {
        (prepared.has_spec, prepared.validation.as_ref().map(|validation| validation.outcome))
    });
    let roots: Vec<_> =
        machine.ledger.roots.iter().map(|root| (root.id.as_str(), root.confirmed, root.is_open())).collect();
    let unusable: Vec<_> = machine.unusable.iter().map(|(_, kind, ..)| *kind).collect();
    format!(
        "{phase} {prepared:?} {:?} {unusable:?} {} {roots:?} {:?} {} {} {} {:?}",
        machine.axes.values(),
        machine.findings.len(),
        machine.best,
        machine.scope.len(),
        machine.scope_questions,
        machine.automatic,
        [
            machine.standards_only,
            machine.touched,
            machine.ledger.new_failures.is_empty(),
            machine.recovered,
            machine.has_disagreement,
        ],
    )
}

fn focus_of(step: &Step) -> Option<&Focus> {
    match &step.action {
        Action::Dispatch(dispatch) => Some(&dispatch.focus),
        _ => None,
    }
}

fn then_key(then: &Then) -> String {
    match then {
        Then::Pause(pause) => pause_key(pause),
        Then::AskScope(job, ..) => format!("ask scope {job:?}"),
        then => format!("{then:?}"),
    }
}

fn pause_key(pause: &Pause) -> String {
    let next = match &pause.next {
        Next::Inspect(job, _) => format!("inspect {job:?}"),
        Next::Restore(then) => format!("restore {}", then_key(then)),
        next => format!("{next:?}"),
    };
    format!("pause {:?} {next}", pause.kind)
}

/// Everything that can happen next.
pub fn events(machine: &Converge) -> Vec<(u64, Event)> {
    if machine.phase == Phase::Over {
        return Vec::new();
    }
    let outstanding = machine.docket.outstanding();
    let mut events: Vec<Event> = outstanding.iter().flat_map(|step| answers(machine, step)).collect();
    if outstanding.is_empty() {
        events.push(Event::Started);
    }
    events.push(Event::Cancelled);
    events.into_iter().map(|event| (1000, event)).collect()
}

fn answers(machine: &Converge, step: &Step) -> Vec<Event> {
    let action = step.id;
    let failed = Event::ActionFailed { action, reason: "the disk is full".to_owned() };
    match &step.action {
        Action::Prepare => vec![
            Event::Prepared { action, prepared: prepared(true, ValidationOutcome::Pass) },
            Event::Prepared { action, prepared: prepared(false, ValidationOutcome::Fail) },
            failed,
        ],
        Action::Checkpoint => vec![Event::Checkpointed { action, tree: TreeId(START.to_owned()) }, failed],
        Action::Restore { .. } | Action::PutBackCheckout => {
            vec![Event::Restored { action, left_alone: Vec::new() }, failed]
        }
        Action::Inspect { claimed_head, .. } => {
            let mut events: Vec<Event> = inspections(machine, claimed_head.as_deref())
                .into_iter()
                .map(|inspected| Event::Inspected { action, inspected })
                .collect();
            events.push(failed);
            events
        }
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
            let mut events: Vec<Event> = reports(machine, dispatch)
                .into_iter()
                .map(|(report, changes)| reported(action, report, changes))
                .collect();
            // The first report is the ordinary one: the same, while the user's checkout changes.
            if let Some(Event::Reported { mut changes, report, spent, .. }) = events.first().cloned() {
                changes.checkout = Some(checkout());
                events.push(Event::Reported { action, report, changes, spent });
            }
            events.push(failure(action, FailureClass::NoReport));
            events.push(Event::Interrupted { action });
            events
        }
        _ => Vec::new(),
    }
}

pub fn prepared(has_spec: bool, outcome: ValidationOutcome) -> Prepared {
    Prepared {
        review_base: BASE.to_owned(),
        head: START.to_owned(),
        branch: "fix-loop/1".to_owned(),
        worktree: "worktrees/1".to_owned(),
        changed: vec![FILE.to_owned()],
        has_spec,
        has_standards: true,
        validation: Some(validation(outcome)),
    }
}

pub fn validation(outcome: ValidationOutcome) -> Validation {
    let failing = if outcome == ValidationOutcome::Fail { vec!["test_old".to_owned()] } else { Vec::new() };
    Validation { command: "make check".to_owned(), outcome, failing }
}

/// The commit that the fixer of a round makes.
pub fn commit(machine: &Converge) -> String {
    format!("commit{}", machine.commits.len() + 1)
}

/// An inspection in which everything is as it should be.
pub fn inspected(machine: &Converge) -> Inspected {
    let head = commit(machine);
    Inspected {
        clean: true,
        on_branch: true,
        base_is_ancestor: true,
        new_commits: vec![head.clone()],
        tree: TreeId(format!("tree of {head}")),
        validation: machine.prepared.as_ref().and_then(|prepared| prepared.validation.clone()),
        new_failures: Vec::new(),
        regressions: Vec::new(),
        head,
    }
}

fn inspections(machine: &Converge, claimed: Option<&str>) -> Vec<Inspected> {
    let good = inspected(machine);
    let fail = Some(validation(ValidationOutcome::Fail));
    let not_run = Some(validation(ValidationOutcome::NotRun));
    if matches!(machine.phase, Phase::Inspecting { only_validation: true, .. }) {
        let again = Inspected { head: claimed.unwrap_or(START).to_owned(), new_commits: Vec::new(), ..good };
        return vec![
            Inspected { clean: false, ..again.clone() },
            Inspected { validation: fail, new_failures: vec!["test_new".to_owned()], ..again.clone() },
            Inspected { validation: not_run, ..again.clone() },
            again,
        ];
    }
    vec![
        Inspected { clean: false, ..good.clone() },
        Inspected { head: "another".to_owned(), ..good.clone() },
        Inspected {
            head: claimed.unwrap_or(START).to_owned(),
            new_commits: Vec::new(),
            tree: TreeId(START.to_owned()),
            ..good.clone()
        },
        Inspected { tree: TreeId(START.to_owned()), ..good.clone() },
        Inspected { validation: fail, new_failures: vec!["test_new".to_owned()], ..good.clone() },
        Inspected { validation: not_run, ..good.clone() },
        good,
    ]
}

pub fn reported(action: ActionId, report: Report, changes: Changes) -> Event {
    Event::Reported { action, report, changes, spent: Spent { cost_usd: Some(0.1), tokens: None } }
}

pub fn failure(action: ActionId, class: FailureClass) -> Event {
    Event::WorkerFailed {
        action,
        failure: WorkerFailure {
            class,
            message: "it ended without a footer".to_owned(),
            advice: String::new(),
        },
        changes: Changes::default(),
        spent: Spent::default(),
    }
}

pub fn checkout() -> CheckoutChange {
    CheckoutChange { paths: vec!["notes.txt".to_owned()], diff: "+somebody was here".to_owned() }
}

pub fn edits(file: &str) -> Changes {
    Changes { in_scope: vec![file.to_owned()], ..Changes::default() }
}

pub fn footer(phase: &str, head: Option<String>) -> Footer {
    Footer {
        phase: phase.to_owned(),
        done: true,
        base: Some(BASE.to_owned()),
        head,
        clean: Some(true),
        validation: ValidationOutcome::Pass,
        validation_command: None,
        blocked_by: None,
        open_root_causes: None,
    }
}

pub fn blocked(phase: &str) -> Footer {
    Footer { done: false, blocked_by: Some("a decision".to_owned()), ..footer(phase, None) }
}

pub fn finding(key: &str) -> NewFinding {
    NewFinding {
        key: FindingKey(key.to_owned()),
        severity: Severity::P1,
        title: format!("the finding {key}"),
        body: String::new(),
        file: Some(FILE.to_owned()),
        line: Some(3),
        evidence: "the lines".to_owned(),
        criterion: "correctness".to_owned(),
        caused_by: None,
    }
}

pub fn axis_review(axis: Axis, keys: &[&str]) -> Report {
    let findings = keys.iter().map(|key| finding(key)).collect();
    Report::AxisReviewed { axis, findings, footer: footer("review", None) }
}

/// One root cause for each finding, `standards-1` and so on; those at `disputed` are.
pub fn consolidation(machine: &Converge, disputed: &[usize]) -> Report {
    let roots = machine.findings.iter().enumerate().map(|(at, finding)| RootCause {
        id: format!("standards-{}", at + 1),
        confirmed: !disputed.contains(&at),
        from: vec![finding.key.clone()],
        root_cause: finding.title.clone(),
        evidence: "the cited lines".to_owned(),
    });
    Report::Consolidated { roots: roots.collect(), footer: footer("check", None) }
}

/// The closer's word on every confirmed root cause: the first `open` of them are open, the others resolved.
pub fn closing(machine: &Converge, open: usize) -> Report {
    let confirmed = machine.ledger.roots.iter().filter(|root| root.confirmed);
    let states = confirmed.enumerate().map(|(at, root)| {
        let state = if at < open { RootState::Open } else { RootState::Resolved };
        (root.id.clone(), state, "what the diff shows".to_owned())
    });
    Report::Closed { states: states.collect(), regressions: Vec::new(), footer: footer("close", None) }
}

/// Everything resolved but for a regression.
pub fn regression(machine: &Converge) -> Report {
    let Report::Closed { mut states, footer, .. } = closing(machine, 0) else {
        unreachable!("a closing is one")
    };
    states.push(("standards-9".to_owned(), RootState::ConfirmedFixRegression, "a new crash".to_owned()));
    let caused = NewFinding { caused_by: machine.keys().first().cloned(), ..finding("caused") };
    Report::Closed { states, regressions: vec![("standards-9".to_owned(), caused)], footer }
}

fn reports(machine: &Converge, dispatch: &Dispatch) -> Vec<(Report, Changes)> {
    let clean = Changes::default;
    match (dispatch.role, &dispatch.focus) {
        (Role::Reviewer, Focus::Axis(axis)) => {
            let key = match axis {
                Axis::Standards => "f1",
                Axis::Spec => "f2",
            };
            let stuck = Report::AxisReviewed { axis: *axis, findings: Vec::new(), footer: blocked("review") };
            vec![
                (axis_review(*axis, &[key]), clean()),
                (axis_review(*axis, &[]), clean()),
                (axis_review(*axis, &[]), edits(FILE)),
                (stuck, clean()),
            ]
        }
        (Role::Checker, _) => {
            let all: Vec<usize> = (0..machine.findings.len()).collect();
            let nothing = Report::Consolidated { roots: Vec::new(), footer: footer("check", None) };
            vec![
                (consolidation(machine, &[]), clean()),
                (consolidation(machine, &[0]), clean()),
                (consolidation(machine, &all), clean()),
                (consolidation(machine, &[]), edits(FILE)),
                (nothing, clean()),
            ]
        }
        (Role::Closer, _) => {
            let confirmed = machine.ledger.roots.iter().filter(|root| root.confirmed).count();
            let nothing =
                Report::Closed { states: Vec::new(), regressions: Vec::new(), footer: footer("close", None) };
            let stuck =
                Report::Closed { states: Vec::new(), regressions: Vec::new(), footer: blocked("close") };
            let mut reports = vec![
                (closing(machine, 0), clean()),
                (closing(machine, 1), clean()),
                (nothing, clean()),
                (stuck, clean()),
            ];
            if confirmed > 1 {
                reports.push((closing(machine, confirmed), clean()));
            }
            if !machine.ledger.roots.iter().any(|root| root.is_regression) {
                reports.push((regression(machine), clean()));
            }
            reports
        }
        _ => {
            let committed = Report::Committed {
                footer: footer("fix", Some(commit(machine))),
                summary: "fixed it".to_owned(),
            };
            let stuck = Report::Committed { footer: blocked("fix"), summary: String::new() };
            let request =
                ScopeRequest { files: vec![OTHER.to_owned()], justification: "it is there".to_owned() };
            let outside = Changes { out_of_scope: vec![OTHER.to_owned()], ..edits(FILE) };
            let outside = if machine.scope.contains(OTHER) { edits(FILE) } else { outside };
            vec![
                (committed.clone(), edits(FILE)),
                (committed, outside),
                (stuck, edits(FILE)),
                (Report::NeedsScope(request), clean()),
                (fixer(FixerStatus::AlreadyResolved), clean()),
                (fixer(FixerStatus::Fixed), edits(FILE)),
            ]
        }
    }
}

pub fn fixer(status: FixerStatus) -> Report {
    Report::Fixer(FixerReport {
        status,
        summary: "nothing is left".to_owned(),
        concerns: None,
        blocked_by: None,
        claimed: Vec::new(),
    })
}
