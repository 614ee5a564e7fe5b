//! What a world can answer to a bounded loop, small enough to try everything.
//!
//! Used to draw the state graph and to test. Owns no rule: it gives lies, failures and breaches as readily as good fixes.

use std::{
    collections::BTreeSet,
    hash::{DefaultHasher, Hash, Hasher},
};

use super::{Asked, Bounded, BoundedInput, Phase, Retry, Then, Unsure};
use crate::protocol::{
    Action, ActionId, AnsweredBy, Cause, Changes, CheckVerdict, Checked, Choice, Diagnosis, Dispatch, Event,
    FailureClass, FindingKey, FixerReport, FixerStatus, GapReview, GateWord, Grade, Judged, Judgement,
    Judging, Machine, NewFinding, Report, Role, ScopeRequest, Severity, Spent, Subject, TreeId, Weakened,
    When, WorkerFailure,
    explore::{Graph, NEW},
};

/// What can happen, beside the ordinary: fixes that hold, do not, or change nothing; checks and verifiers that say so or
/// cannot say; a user who gives every answer, and cancels.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct World {
    /// Fixers need, ask for, or change files outside the scope.
    pub scope: bool,
    /// Workers and actions fail, the index conflicts, answers come automatically.
    pub failures: bool,
    /// Checks and verifiers say everything that they can: mixed, weak, demoted, regressions.
    pub judgements: bool,
    /// Workers weaken tests, move HEAD, go in circles, decline, write where they may only read.
    pub lies: bool,
}

impl World {
    /// One at a time: everything that goes wrong goes wrong next to ordinary days. All at once has too many states to
    /// walk over each time; the random histories of the tests mix them.
    pub const EACH: [World; 4] = [
        World { scope: true, failures: false, judgements: false, lies: false },
        World { scope: false, failures: true, judgements: false, lies: false },
        World { scope: false, failures: false, judgements: true, lies: false },
        World { scope: false, failures: false, judgements: false, lies: true },
    ];
    pub const WHOLE: World = World { scope: true, failures: true, judgements: true, lies: true };
    pub const ORDINARY: World = World { scope: false, failures: false, judgements: false, lies: false };
}

/// A file that no question is ever asked about, where the input allows it.
pub const ALLOWED: &str = "allowed.rs";
const MINUTE: u64 = 60_000;

/// Every event that can follow, each a minute after the one before.
pub fn events(machine: &Bounded, world: World) -> Vec<(u64, Event)> {
    let view = machine.view();
    if view.finished.is_some() {
        return Vec::new();
    }
    let mut events = Vec::new();
    if view.state == NEW {
        events.push(Event::Started);
    }
    for step in view.outstanding {
        answers(machine, step.id, &step.action, world, &mut events);
    }
    if !matches!(machine.phase, Phase::Cancelling) {
        events.push(Event::Cancelled);
    }
    events.into_iter().map(|event| (MINUTE, event)).collect()
}

fn answers(machine: &Bounded, id: ActionId, action: &Action, world: World, events: &mut Vec<Event>) {
    match action {
        Action::Checkpoint => {
            events.push(Event::Checkpointed { action: id, tree: tree(machine.facts.edit) });
        }
        Action::Dispatch(dispatch) => {
            let reports = match dispatch.role {
                Role::Fixer => fixer_reports(machine, dispatch, world),
                Role::Verifier => verifier_reports(dispatch, world),
                _ => vec![(Report::Diagnosis(diagnosis()), Changes::default())],
            };
            for (report, changes) in reports {
                let spent = Spent { cost_usd: Some(1.0), tokens: None };
                events.push(Event::Reported { action: id, report, changes, spent });
            }
            if world.failures {
                let failure = WorkerFailure {
                    class: FailureClass::Service,
                    message: "the service is down".into(),
                    advice: "Wait a little.".into(),
                };
                events.push(Event::WorkerFailed {
                    action: id,
                    failure,
                    changes: edit(dispatch.worker.0, &["src/a.rs"], &[]),
                    spent: Spent::default(),
                });
                events.push(Event::Interrupted { action: id });
            }
        }
        Action::RunChecks { when: When::Before, .. } => {
            events.push(Event::Checked {
                action: id,
                checked: Checked::default(),
                changes: Changes::default(),
            });
            if world.lies {
                let changes = edit(99, &["src/a.rs"], &[]);
                events.push(Event::Checked { action: id, checked: Checked::default(), changes });
            }
        }
        Action::RunChecks { when: When::After, findings } => {
            for (checked, changes) in check_results(machine, findings, world) {
                events.push(Event::Checked { action: id, checked, changes });
            }
        }
        Action::Stage => {
            events.push(Event::Staged { action: id });
            events.push(Event::StageRefused {
                action: id,
                reason: "a line that both changed".into(),
                conflict: true,
            });
            if world.failures {
                events.push(Event::StageRefused {
                    action: id,
                    reason: "inside a submodule".into(),
                    conflict: false,
                });
            }
        }
        Action::Restore { .. } => {
            events.push(Event::Restored { action: id, left_alone: Vec::new() });
            if world.failures {
                events.push(Event::Restored { action: id, left_alone: vec!["src/a.rs".into()] });
            }
        }
        Action::PutBack { paths } => {
            let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
            let mut changes = edit(machine.docket.workers_used() + 100, &paths, &[]);
            if let Some(trying) = &machine.trying {
                changes.in_scope.extend(trying.in_scope.iter().cloned());
            }
            events.push(Event::Changed { action: id, changes });
        }
        Action::Ask(question) => {
            for choice in &question.options {
                let text = (matches!(machine.phase, Phase::Asking(Asked::FirstScope))
                    && *choice == Choice::ApproveScope)
                    .then(|| "src/a.rs".to_owned());
                let question = question.number;
                events.push(Event::Answered { question, choice: *choice, by: AnsweredBy::User, text });
                if world.failures {
                    events.push(Event::Answered {
                        question,
                        choice: *choice,
                        by: AnsweredBy::Automatic,
                        text: None,
                    });
                }
            }
        }
        _ => {}
    }
    if world.failures && !matches!(action, Action::Ask(_) | Action::Dispatch(_)) {
        events.push(Event::ActionFailed { action: id, reason: "the disk is full".into() });
    }
}

fn tree(edit: u32) -> TreeId {
    TreeId(format!("tree {edit}"))
}

/// What the guard sees of worker `n`.
fn edit(n: u32, in_scope: &[&str], out_of_scope: &[&str]) -> Changes {
    let own = |paths: &[&str]| paths.iter().map(|path| (*path).to_owned()).collect();
    Changes {
        in_scope: own(in_scope),
        out_of_scope: own(out_of_scope),
        out_of_scope_diff: if out_of_scope.is_empty() { String::new() } else { "-old\n+new".into() },
        tree: Some(tree(n)),
        ..Changes::default()
    }
}

fn fixer_reports(machine: &Bounded, dispatch: &Dispatch, world: World) -> Vec<(Report, Changes)> {
    let n = dispatch.worker.0;
    let says = |status| {
        Report::Fixer(FixerReport {
            status,
            summary: "did what was asked".into(),
            concerns: None,
            blocked_by: None,
            claimed: Vec::new(),
        })
    };
    let needs = |file: &str| {
        Report::NeedsScope(ScopeRequest {
            files: vec![file.to_owned()],
            justification: "the caller is there".into(),
        })
    };
    let beyond = format!("beyond/{}.rs", machine.asked.len() + 1);
    let unchanged = || Changes { tree: Some(tree(machine.facts.edit)), ..Changes::default() };
    // Without a scope there is nothing that a worker could change within it.
    let inside: &[&str] = if dispatch.scope.is_empty() { &[] } else { &["src/a.rs"] };
    let mut reports =
        vec![(says(FixerStatus::Fixed), edit(n, inside, &[])), (says(FixerStatus::Fixed), unchanged())];
    if world.scope {
        reports.extend([
            (needs(&beyond), unchanged()),
            (says(FixerStatus::Fixed), edit(n, inside, &[&beyond])),
            (says(FixerStatus::Fixed), edit(n, &[], &[&beyond])),
            (says(FixerStatus::Fixed), edit(n, &[], &["beyond/1.rs", ALLOWED])),
            (needs(ALLOWED), unchanged()),
            (needs("beyond/1.rs"), unchanged()),
            (needs("src/a.rs"), unchanged()),
        ]);
    }
    if world.lies {
        let mut weakened = edit(n, inside, &[]);
        weakened.weakened =
            vec![Weakened { path: "tests/a.rs".into(), line: Some(7), what: "asserts less".into() }];
        let mut breach = edit(n, inside, &[]);
        breach.breaches = vec!["HEAD moved.".into()];
        let mut circle = edit(0, inside, &[]);
        circle.tree = Some(tree(0));
        let wrong =
            Report::Gaps(GapReview { verdict: GateWord::Ship, gaps: Vec::new(), evidence: String::new() });
        reports.extend([
            (says(FixerStatus::AlreadyResolved), unchanged()),
            (says(FixerStatus::Declined), unchanged()),
            (says(FixerStatus::Blocked), edit(n, inside, &[])),
            (says(FixerStatus::Fixed), weakened),
            (says(FixerStatus::Fixed), breach),
            (says(FixerStatus::Fixed), circle),
            (wrong, edit(n, inside, &[])),
        ]);
    }
    reports
}

fn verifier_reports(dispatch: &Dispatch, world: World) -> Vec<(Report, Changes)> {
    use Judging::{Demoted, Gone, Persists, Unsaid};
    let say = |first: Judging, others: Judging, new: Vec<NewFinding>| {
        let judge = |(i, key): (usize, &FindingKey)| Judgement {
            key: key.clone(),
            verdict: if i == 0 { first } else { others },
            evidence: "looked at the diff".into(),
        };
        Report::Judged(Judged { findings: dispatch.findings.iter().enumerate().map(judge).collect(), new })
    };
    let mut reports: Vec<Report> =
        [Gone, Persists, Unsaid].into_iter().map(|verdict| say(verdict, verdict, Vec::new())).collect();
    if world.judgements {
        reports.push(say(Demoted, Demoted, Vec::new()));
        reports.push(say(Gone, Gone, vec![new_finding("new", Severity::P0)]));
        reports.push(say(Gone, Gone, vec![new_finding("small", Severity::P3)]));
        reports.push(Report::Judged(Judged { findings: Vec::new(), new: Vec::new() }));
        if dispatch.findings.len() > 1 {
            reports.push(say(Gone, Persists, Vec::new()));
            reports.push(say(Persists, Gone, Vec::new()));
            reports.push(say(Unsaid, Gone, Vec::new()));
            reports.push(say(Demoted, Persists, Vec::new()));
        }
    }
    let mut reports: Vec<_> = reports.into_iter().map(|report| (report, Changes::default())).collect();
    if world.lies {
        reports.push((say(Gone, Gone, Vec::new()), edit(dispatch.worker.0, &["src/a.rs"], &[])));
        let mut breach = Changes::default();
        breach.breaches.push("a tag was moved.".into());
        reports.push((say(Gone, Gone, Vec::new()), breach));
    }
    reports
}

fn check_results(machine: &Bounded, findings: &[FindingKey], world: World) -> Vec<(Checked, Changes)> {
    let proven = || CheckVerdict::Supported { grade: Grade::Proven, why: "its test turned green".into() };
    let touched = || CheckVerdict::Supported { grade: Grade::Touched, why: "nothing broke".into() };
    let silent = || CheckVerdict::Silent { why: "there is none".into() };
    let persists = || CheckVerdict::Persists { why: "its test fails".into(), failing: vec!["test_a".into()] };
    let unsure = || CheckVerdict::Inconclusive { why: "it timed out".into() };
    let say = |first: CheckVerdict, others: CheckVerdict, regressions: Vec<NewFinding>| Checked {
        findings: machine
            .input
            .subjects
            .iter()
            .filter(|subject| findings.contains(&subject.key))
            .enumerate()
            .map(|(i, subject)| (subject.key.clone(), if i == 0 { first.clone() } else { others.clone() }))
            .collect(),
        regressions,
        notes: Vec::new(),
    };
    let regression = || vec![new_finding("regression", Severity::P1)];
    let mut results: Vec<(Checked, Changes)> = [proven(), silent(), persists(), unsure()]
        .into_iter()
        .map(|verdict| (say(verdict.clone(), verdict, Vec::new()), Changes::default()))
        .collect();
    if world.judgements {
        results.push((say(touched(), touched(), Vec::new()), Changes::default()));
        results.push((say(proven(), proven(), regression()), Changes::default()));
        results.push((say(silent(), silent(), regression()), Changes::default()));
        results.push((say(unsure(), unsure(), regression()), Changes::default()));
        if machine.input.subjects.len() > 1 {
            for (first, others) in [
                (proven(), persists()),
                (persists(), proven()),
                (proven(), silent()),
                (silent(), persists()),
                (proven(), unsure()),
            ] {
                results.push((say(first, others, Vec::new()), Changes::default()));
            }
        }
    }
    if world.lies {
        results.push((say(proven(), proven(), Vec::new()), edit(99, &["src/a.rs"], &[])));
        let mut breach = Changes::default();
        breach.breaches.push("HEAD moved.".into());
        results.push((say(proven(), proven(), Vec::new()), breach));
    }
    results
}

fn new_finding(key: &str, severity: Severity) -> NewFinding {
    NewFinding {
        key: FindingKey(key.into()),
        severity,
        title: format!("{key} problem"),
        body: String::new(),
        file: Some("src/a.rs".into()),
        line: Some(1),
        evidence: "it fails now".into(),
        criterion: "no regressions".into(),
        caused_by: Some(FindingKey("one".into())),
    }
}

fn diagnosis() -> Diagnosis {
    Diagnosis {
        cause: Cause::MissingContext,
        evidence: "the schema was never shown".into(),
        new_evidence: None,
        new_evidence_is_real: false,
        rules_out: Vec::new(),
        route: "supply it".into(),
        needs: None,
    }
}

/// What a machine will do next depends on nothing else: numbers, texts that only people read, and which of several
/// files it was are left out.
pub fn shape(machine: &Bounded) -> u64 {
    let mut shape = DefaultHasher::new();
    match &machine.phase {
        Phase::Finished(ending) => format!("finished {:?}", ending.how).hash(&mut shape),
        Phase::Cancelling => "cancelling".hash(&mut shape),
        phase => {
            phase_shape(phase).hash(&mut shape);
            rest_of_shape(machine).hash(&mut shape);
        }
    }
    shape.finish()
}

fn phase_shape(phase: &Phase) -> String {
    match phase {
        Phase::Checkpointing(then) => format!("checkpointing, then {}", then_shape(then)),
        Phase::Restoring { to, then } => format!("restoring {to:?}, then {}", then_shape(then)),
        Phase::PuttingBack(_) => "putting back".into(),
        Phase::Asking(asked) => match asked {
            Asked::Inconclusive(unsure) => format!("asking, inconclusive {}", unsure_shape(unsure)),
            Asked::RestoreFailed { to, then } => {
                format!("asking, not restored {to:?}, then {}", then_shape(then))
            }
            Asked::MoreScope { .. } => "asking, more scope".into(),
            Asked::SetAside { allowed, .. } => format!("asking, set aside {}", allowed.is_empty()),
            asked => format!("asking {asked:?}"),
        },
        phase => format!("{phase:?}"),
    }
}

fn then_shape(then: &Then) -> String {
    match then {
        Then::AskInconclusive(unsure) => format!("ask inconclusive {}", unsure_shape(unsure)),
        Then::FailRound { .. } => "fail the round".into(),
        Then::Escalate { .. } => "escalate".into(),
        Then::AskScope { .. } => "ask scope".into(),
        Then::AskBreach(_) => "ask breach".into(),
        Then::EndDeferred { .. } => "end deferred".into(),
        Then::EndDifferently { .. } => "end differently".into(),
        Then::EndOpen { .. } => "end open".into(),
        then => format!("{then:?}"),
    }
}

fn unsure_shape(unsure: &Unsure) -> String {
    let retry = match &unsure.retry {
        Retry::Again(phase, _) => phase_shape(phase),
        retry => format!("{retry:?}"),
    };
    format!("{:?} {} {retry}", unsure.findings, unsure.acceptable)
}

fn rest_of_shape(machine: &Bounded) -> String {
    let facts = |facts: &super::TreeFacts| {
        (facts.changed.is_empty(), facts.staged, facts.unstaged_by_choice, facts.weakened.is_empty())
    };
    let trying = machine.trying.as_ref().map(|trying| {
        let seen = trying.tree.as_ref().is_some_and(|tree| machine.seen.contains(tree));
        (trying.status, trying.in_scope.is_empty(), seen, trying.weakened.is_empty())
    });
    let said = |said: &super::holding::Said| {
        let check = match &said.check {
            Some(CheckVerdict::Supported { grade, .. }) => format!("{grade:?}"),
            Some(CheckVerdict::Persists { .. }) => "persists".into(),
            Some(CheckVerdict::Inconclusive { .. }) => "inconclusive".into(),
            Some(CheckVerdict::Silent { .. }) => "silent".into(),
            None => String::new(),
        };
        (check, said.judged.as_ref().map(|(verdict, _)| *verdict), said.accepted)
    };
    let findings: Vec<_> = machine
        .findings
        .iter()
        .map(|held| (held.is_resolved(), held.is_demoted(), held.accepted_before, said(&held.said)))
        .collect();
    let regressions: Vec<_> = machine
        .regressions
        .iter()
        .map(|regression| {
            (&regression.finding.key, regression.by_check, regression.failing, said(&regression.said))
        })
        .collect();
    let scope = (
        machine.scope.is_empty(),
        machine.scope.contains(ALLOWED),
        machine.scope.contains("beyond/1.rs"),
        machine.asked.is_empty(),
    );
    format!(
        "{:?}",
        (
            (
                machine.round,
                scope,
                machine.scope_questions,
                machine.quiet_extensions,
                machine.automatic_retries
            ),
            (machine.protected, machine.fresh, machine.verifier_spoke, machine.diagnosed),
            (facts(&machine.facts), facts(&machine.at_checkpoint), facts(&machine.kept)),
            (machine.facts.edit == machine.kept.edit, machine.facts.edit == machine.at_checkpoint.edit),
            (trying, machine.accepted_edits.is_empty(), findings, regressions),
            machine.docket.over_budget(1),
        )
    )
}

/// The state graph of a loop over one finding, by what can happen to it.
pub fn graph() -> Graph {
    let files = BTreeSet::from(["src/a.rs".to_owned()]);
    let subject = Subject { key: FindingKey("one".into()), severity: Severity::P1, files };
    let mut input = BoundedInput::fix(vec![subject]);
    input.diagnose = true;
    input.budget.minutes = 0;
    input.budget.workers = 0;
    let mut graph = Graph::default();
    let both = World { scope: true, failures: true, ..World::ORDINARY };
    for world in World::EACH.into_iter().chain([both]) {
        graph.walk(
            Bounded::new(input.clone()),
            |machine| events(machine, world),
            shape,
            |view| match view.state {
                "fixing" | "staging" | "checking" | "verifying" => {
                    format!("round {}: {}", view.round, view.state)
                }
                state => state.to_owned(),
            },
        );
    }
    graph
}
