//! How stories are told: replies go in, a transcript of what the machine did comes out.

use std::collections::VecDeque;

use super::rules::Onlooker;
use crate::protocol::{
    Action, ActionId, AnsweredBy, Changes, CheckVerdict, Checked, Choice, Event, FailureClass, FindingKey,
    FixerReport, FixerStatus, Grade, Judged, Judgement, Judging, Machine, NewFinding, Record, Report,
    ScopeRequest, Settled, Severity, Spent, Step, TreeId, View, Weakened, When, WorkerFailure,
    bounded::{Bounded, BoundedInput},
};

/// What the world says next. Checkpoints, checks before, staging, restoring and putting back go well by themselves.
#[derive(Clone, Debug)]
pub enum Reply {
    Worker(Report, Changes),
    Fails(FailureClass),
    Interrupted,
    Checks(Checked, Changes),
    Says(Choice),
    SaysWith(Choice, &'static str),
    Automatic(Choice),
    Refuses {
        conflict: bool,
    },
    /// The awaited action, whatever it is, cannot be carried out.
    CannotDo,
    Cancel,
}

pub use Reply::{Automatic, Cancel, CannotDo, Fails, Interrupted, Says, SaysWith};

fn paths(files: &[&str]) -> Vec<String> {
    files.iter().map(|file| (*file).to_owned()).collect()
}

fn fixer(status: FixerStatus) -> Report {
    Report::Fixer(FixerReport {
        status,
        summary: "did it".into(),
        concerns: None,
        blocked_by: None,
        claimed: Vec::new(),
    })
}

/// A fix of `files` that gives this tree.
pub fn fixes(files: &[&str], tree: &str) -> Reply {
    outside(files, &[], tree)
}

pub fn outside(files: &[&str], beyond: &[&str], tree: &str) -> Reply {
    let changes = Changes {
        in_scope: paths(files),
        out_of_scope: paths(beyond),
        out_of_scope_diff: beyond.iter().map(|file| format!("diff of {file}")).collect(),
        tree: Some(TreeId(tree.into())),
        ..Changes::default()
    };
    Reply::Worker(fixer(FixerStatus::Fixed), changes)
}

pub fn weakens(files: &[&str], tree: &str) -> Reply {
    let Reply::Worker(report, mut changes) = fixes(files, tree) else { unreachable!() };
    changes.weakened =
        vec![Weakened { path: "tests/t.rs".into(), line: Some(3), what: "one assertion less".into() }];
    Reply::Worker(report, changes)
}

pub fn breaches(tree: &str) -> Reply {
    let Reply::Worker(report, mut changes) = fixes(&["a.rs"], tree) else { unreachable!() };
    changes.breaches = vec!["The worker committed.".into()];
    Reply::Worker(report, changes)
}

/// Ends with this status and changes nothing.
pub fn only_says(status: FixerStatus) -> Reply {
    Reply::Worker(fixer(status), Changes::default())
}

pub fn needs(files: &[&str]) -> Reply {
    let request = ScopeRequest { files: paths(files), justification: "the caller is there".into() };
    Reply::Worker(Report::NeedsScope(request), Changes::default())
}

pub fn verdict(key: &str, verdict: Judging) -> Judgement {
    Judgement { key: FindingKey(key.into()), verdict, evidence: format!("read {key}") }
}

pub fn judges(findings: Vec<Judgement>) -> Reply {
    Reply::Worker(Report::Judged(Judged { findings, new: Vec::new() }), Changes::default())
}

pub fn judges_and_finds(findings: Vec<Judgement>, new: &str, severity: Severity) -> Reply {
    let new = vec![NewFinding { severity, ..found(new) }];
    Reply::Worker(Report::Judged(Judged { findings, new }), Changes::default())
}

pub fn judges_and_writes(findings: Vec<Judgement>) -> Reply {
    let changes = Changes { in_scope: paths(&["a.rs"]), ..Changes::default() };
    Reply::Worker(Report::Judged(Judged { findings, new: Vec::new() }), changes)
}

pub fn found(key: &str) -> NewFinding {
    NewFinding {
        key: FindingKey(key.into()),
        severity: Severity::P1,
        title: format!("{key} broke"),
        body: String::new(),
        file: None,
        line: None,
        evidence: "it passed before".into(),
        criterion: "no regressions".into(),
        caused_by: None,
    }
}

pub fn check(key: &str, verdict: CheckVerdict) -> (FindingKey, CheckVerdict) {
    (FindingKey(key.into()), verdict)
}

pub fn proven() -> CheckVerdict {
    CheckVerdict::Supported { grade: Grade::Proven, why: "test_a turned green".into() }
}

pub fn touched() -> CheckVerdict {
    CheckVerdict::Supported { grade: Grade::Touched, why: "nothing broke".into() }
}

pub fn silent() -> CheckVerdict {
    CheckVerdict::Silent { why: "none exists".into() }
}

pub fn persists() -> CheckVerdict {
    CheckVerdict::Persists { why: "test_a still fails".into(), failing: vec!["test_a".into()] }
}

pub fn cannot_say() -> CheckVerdict {
    CheckVerdict::Inconclusive { why: "it timed out".into() }
}

pub fn checks(findings: Vec<(FindingKey, CheckVerdict)>) -> Reply {
    Reply::Checks(Checked { findings, ..Checked::default() }, Changes::default())
}

pub fn checks_break(findings: Vec<(FindingKey, CheckVerdict)>, broken: &str) -> Reply {
    Reply::Checks(
        Checked { findings, regressions: vec![found(broken)], notes: Vec::new() },
        Changes::default(),
    )
}

pub fn checks_write(findings: Vec<(FindingKey, CheckVerdict)>) -> Reply {
    let changes = Changes { in_scope: paths(&["a.rs"]), ..Changes::default() };
    Reply::Checks(Checked { findings, ..Checked::default() }, changes)
}

/// A loop that is told, under the eyes of the onlooker.
pub struct Story {
    pub machine: Bounded,
    onlooker: Onlooker,
    now: u64,
    pub events: Vec<Event>,
    pub transcript: Vec<String>,
    pub steps: Vec<Step>,
}

impl Story {
    pub fn begin(input: &BoundedInput) -> Story {
        let mut story = Story {
            machine: Bounded::new(input.clone()),
            onlooker: Onlooker::new(input),
            now: 0,
            events: Vec::new(),
            transcript: Vec::new(),
            steps: Vec::new(),
        };
        story.happens(Event::Started);
        story
    }

    pub fn tell(input: &BoundedInput, replies: &[Reply]) -> Story {
        let mut story = Story::begin(input);
        story.goes_on(replies);
        story
    }

    pub fn view(&self) -> View {
        self.machine.view()
    }

    pub fn happens(&mut self, event: Event) -> Vec<Step> {
        self.now += 1_000;
        let before = self.machine.view();
        let steps = self.machine.handle(self.now, event.clone());
        let after = self.machine.view();
        self.events.push(event.clone());
        self.transcript.extend(steps.iter().filter_map(line));
        self.steps.extend(steps.iter().cloned());
        if let Err(rule) = self.onlooker.see(self.now, &event, &steps, &before, &after) {
            panic!("{rule}\n{}", self.transcript.join("\n"));
        }
        steps
    }

    /// Goes on until the replies are used up and the machine waits for something that does not go well by itself.
    pub fn goes_on(&mut self, replies: &[Reply]) {
        let mut replies: VecDeque<Reply> = replies.to_vec().into();
        while let Some(step) = self.view().outstanding.first().cloned() {
            let reply = replies.front().and_then(|reply| answer(&step, reply));
            if let Some(event) = reply {
                replies.pop_front();
                self.happens(event);
            } else if let Some(event) = well(&step) {
                self.happens(event);
            } else {
                break;
            }
        }
        assert!(replies.is_empty(), "nobody waited for {replies:?}\n{}", self.transcript.join("\n"));
    }

    pub fn settled(&self, key: &str) -> Option<Settled> {
        self.steps.iter().rev().find_map(|step| match &step.action {
            Action::Record(Record::Settled { key: of, how }) if of.0 == key => Some(how.clone()),
            _ => None,
        })
    }
}

fn answer(step: &Step, reply: &Reply) -> Option<Event> {
    let action = step.id;
    let spent = Spent { cost_usd: Some(0.5), tokens: None };
    match (&step.action, reply.clone()) {
        (_, Reply::Cancel) => Some(Event::Cancelled),
        (Action::Ask(question), Reply::Says(choice)) => {
            Some(Event::Answered { question: question.number, choice, by: AnsweredBy::User, text: None })
        }
        (Action::Ask(question), Reply::SaysWith(choice, text)) => Some(Event::Answered {
            question: question.number,
            choice,
            by: AnsweredBy::User,
            text: Some(text.to_owned()),
        }),
        (Action::Ask(question), Reply::Automatic(choice)) => {
            Some(Event::Answered { question: question.number, choice, by: AnsweredBy::Automatic, text: None })
        }
        (Action::Ask(_), _) => None,
        (Action::Dispatch(_), Reply::Worker(report, changes)) => {
            Some(Event::Reported { action, report, changes, spent })
        }
        (Action::Dispatch(_), Reply::Fails(class)) => {
            let failure = WorkerFailure { class, message: "it broke".into(), advice: "Look at it.".into() };
            Some(Event::WorkerFailed { action, failure, changes: Changes::default(), spent })
        }
        (Action::Dispatch(_), Reply::Interrupted) => Some(Event::Interrupted { action }),
        (Action::RunChecks { when: When::After, .. }, Reply::Checks(checked, changes)) => {
            Some(Event::Checked { action, checked, changes })
        }
        (Action::Stage, Reply::Refuses { conflict }) => {
            Some(Event::StageRefused { action, reason: "line 3 is yours, too".into(), conflict })
        }
        (_, Reply::CannotDo) => Some(Event::ActionFailed { action, reason: "the disk is full".into() }),
        _ => None,
    }
}

fn well(step: &Step) -> Option<Event> {
    let action: ActionId = step.id;
    Some(match &step.action {
        Action::Checkpoint => Event::Checkpointed { action, tree: TreeId("start".into()) },
        Action::RunChecks { when: When::Before, .. } => {
            Event::Checked { action, checked: Checked::default(), changes: Changes::default() }
        }
        Action::Stage => Event::Staged { action },
        Action::Restore { .. } => Event::Restored { action, left_alone: Vec::new() },
        Action::PutBack { paths } => {
            let in_scope = paths.iter().cloned().collect();
            let tree = Some(TreeId(format!("with {paths:?}")));
            Event::Changed { action, changes: Changes { in_scope, tree, ..Changes::default() } }
        }
        _ => return None,
    })
}

fn keys(keys: &[FindingKey]) -> String {
    keys.iter().map(|key| key.0.as_str()).collect::<Vec<_>>().join(" ")
}

/// One line for what a reader of a story wants to know.
fn line(step: &Step) -> Option<String> {
    Some(match &step.action {
        Action::Checkpoint => "checkpoint".into(),
        Action::Dispatch(dispatch) => {
            let scope: Vec<&str> = dispatch.scope.iter().map(String::as_str).collect();
            let scope = if scope.is_empty() { String::new() } else { format!(" in {}", scope.join(" ")) };
            format!(
                "{:?} {}, round {}, {:?}: {}{scope}",
                dispatch.role,
                dispatch.worker.0,
                dispatch.round,
                dispatch.focus,
                keys(&dispatch.findings)
            )
        }
        Action::RunChecks { when, findings } => format!("checks {when:?}: {}", keys(findings)),
        Action::Stage => "stage".into(),
        Action::Restore { to } => format!("restore {to:?}"),
        Action::PutBack { paths } => {
            format!("put back {}", paths.iter().cloned().collect::<Vec<_>>().join(" "))
        }
        Action::Ask(question) => {
            let options: Vec<String> = question.options.iter().map(|option| format!("{option:?}")).collect();
            format!("ask {:?} about {}: {}", question.kind, keys(&question.findings), options.join(", "))
        }
        Action::Withdraw { .. } => "withdraw".into(),
        Action::Record(Record::Settled { key, how }) => match how {
            Settled::Resolved { grade, round, .. } => {
                format!("{} resolved, {grade:?} in round {round}", key.0)
            }
            Settled::Demoted { .. } => format!("{} demoted", key.0),
            Settled::Deferred { .. } => format!("{} deferred", key.0),
            Settled::Manual { .. } => format!("{} manual", key.0),
            Settled::Open { .. } => format!("{} open", key.0),
            Settled::Disputed { .. } => format!("{} disputed", key.0),
        },
        Action::Record(Record::Found(new)) => format!("found {}", new.key.0),
        Action::Record(Record::Inherit(_)) => "inherit".into(),
        Action::Record(_) => return None,
        Action::Finish(ending) => match ending.follow_up.is_empty() {
            true => format!("finish {:?}", ending.how),
            false => format!("finish {:?}, then a new loop over {}", ending.how, keys(&ending.follow_up)),
        },
        other => format!("{other:?}"),
    })
}
