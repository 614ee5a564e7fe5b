//! What a machine keeps of its dealings with the engine: numbers, open actions, workers, time and cost.
//!
//! Owns the numbering of actions, workers and questions, the list of what is awaited, and the budget. Must never decide
//! what happens next: the machines do that. An event that answers nothing awaited is turned away here, so that a late
//! or repeated one cannot change a decision.

use std::collections::BTreeSet;

use super::vocabulary::*;

#[derive(Clone, Debug)]
pub(super) struct Docket {
    budget: Budget,
    started: bool,
    actions: u32,
    workers: u32,
    questions: u32,
    outstanding: Vec<Step>,
    out: Vec<Step>,
    cost_usd: f64,
    /// Time in which the loop did not wait for a person.
    active_ms: u64,
    last_ms: Option<u64>,
    /// What was already spent when the user last allowed the budget once more.
    granted: (u32, u64, f64),
}

impl Docket {
    pub(super) fn new(budget: Budget) -> Self {
        Docket {
            budget,
            started: false,
            actions: 0,
            workers: 0,
            questions: 0,
            outstanding: Vec::new(),
            out: Vec::new(),
            cost_usd: 0.0,
            active_ms: 0,
            last_ms: None,
            granted: (0, 0, 0.0),
        }
    }

    /// Whether nobody has asked this before: a loop starts once.
    pub(super) fn is_first_start(&mut self) -> bool {
        !std::mem::replace(&mut self.started, true)
    }

    /// Notes the time. Waiting for an answer does not use up the minutes: a question may stay open for days.
    pub(super) fn tick(&mut self, now: u64) {
        if let Some(last) = self.last_ms
            && self.question().is_none()
        {
            self.active_ms += now.saturating_sub(last);
        }
        self.last_ms = Some(self.last_ms.map_or(now, |last| last.max(now)));
    }

    /// Gives an action out under the next number.
    pub(super) fn give(&mut self, action: Action) {
        self.actions += 1;
        let step = Step { id: ActionId(self.actions), action };
        if step.action.is_answered() {
            self.outstanding.push(step.clone());
        }
        self.out.push(step);
    }

    pub(super) fn record(&mut self, record: Record) {
        self.give(Action::Record(record));
    }

    pub(super) fn note(&mut self, note: impl Into<String>) {
        self.record(Record::Note(note.into()));
    }

    /// A person's decision, with the setting before and after it.
    pub(super) fn decided(&mut self, about: &str, old: &str, new: &str, reason: Option<String>) {
        self.record(Record::Decision {
            about: about.to_owned(),
            old: old.to_owned(),
            new: new.to_owned(),
            reason: reason
                .filter(|text| !text.trim().is_empty())
                .unwrap_or_else(|| "no reason given".to_owned()),
        });
    }

    /// The first option is the recommended one.
    pub(super) fn ask(
        &mut self,
        kind: QuestionKind,
        findings: Vec<FindingKey>,
        text: String,
        detail: String,
        options: &[Choice],
    ) {
        self.questions += 1;
        self.give(Action::Ask(Question {
            number: QuestionNumber(self.questions),
            kind,
            findings,
            text,
            detail,
            options: options.to_vec(),
            recommended: options[0],
        }));
    }

    pub(super) fn next_worker(&mut self) -> WorkerId {
        self.workers += 1;
        WorkerId(self.workers)
    }

    /// What was given out since the last call.
    pub(super) fn drain(&mut self) -> Vec<Step> {
        std::mem::take(&mut self.out)
    }

    pub(super) fn outstanding(&self) -> &[Step] {
        &self.outstanding
    }

    pub(super) fn question(&self) -> Option<&Question> {
        self.outstanding.iter().find_map(|step| match &step.action {
            Action::Ask(question) => Some(question),
            _ => None,
        })
    }

    /// The awaited action that `event` answers; it is awaited no longer. `None` for everything late, repeated or unfit.
    pub(super) fn take(&mut self, event: &Event) -> Option<Step> {
        let at = self.outstanding.iter().position(|step| answers(event, step))?;
        Some(self.outstanding.remove(at))
    }

    /// Puts an action back that `take` gave: its answer did not settle it.
    pub(super) fn put_back(&mut self, step: Step) {
        self.outstanding.push(step);
    }

    /// Awaits nothing any more; an open question is withdrawn.
    pub(super) fn drop_everything(&mut self) {
        if let Some(number) = self.question().map(|question| question.number) {
            self.give(Action::Withdraw { question: number });
        }
        self.outstanding.clear();
    }

    pub(super) fn spend(&mut self, spent: &Spent) {
        self.cost_usd += spent.cost_usd.unwrap_or(0.0).max(0.0);
    }

    /// The latest worker's, 0 before the first.
    pub(super) fn worker(&self) -> WorkerId {
        WorkerId(self.workers)
    }

    pub(super) fn workers_used(&self) -> u32 {
        self.workers
    }

    pub(super) fn cost_usd(&self) -> f64 {
        self.cost_usd
    }

    /// What is spent of the budget so that `wanted` more workers are not within it (DESIGN 6, rule 1): `8 workers`.
    pub(super) fn over_budget(&self, wanted: u32) -> Option<String> {
        let (workers, active_ms, cost) = self.granted;
        let Budget { workers: cap, minutes, cost_usd } = self.budget;
        if cap > 0 && self.workers - workers + wanted > cap {
            return Some(format!("{cap} workers"));
        }
        if minutes > 0 && self.active_ms - active_ms >= u64::from(minutes) * 60_000 {
            return Some(format!("{minutes} minutes"));
        }
        match cost_usd {
            Some(limit) if limit > 0.0 && self.cost_usd - cost >= limit => Some(format!("{limit} USD")),
            _ => None,
        }
    }

    /// The user allows the whole budget once more.
    pub(super) fn grant_again(&mut self) {
        self.granted = (self.workers, self.active_ms, self.cost_usd);
    }
}

fn answers(event: &Event, step: &Step) -> bool {
    let (id, action) = (step.id, &step.action);
    match event {
        Event::Checkpointed { action: to, .. } => *to == id && matches!(action, Action::Checkpoint),
        Event::Reported { action: to, .. }
        | Event::WorkerFailed { action: to, .. }
        | Event::Interrupted { action: to } => *to == id && matches!(action, Action::Dispatch(_)),
        Event::Checked { action: to, .. } => *to == id && matches!(action, Action::RunChecks { .. }),
        Event::Staged { action: to } | Event::StageRefused { action: to, .. } => {
            *to == id && matches!(action, Action::Stage)
        }
        Event::Restored { action: to, .. } => {
            *to == id && matches!(action, Action::Restore { .. } | Action::PutBackCheckout)
        }
        Event::Changed { action: to, .. } => *to == id && matches!(action, Action::PutBack { .. }),
        Event::Prepared { action: to, .. } => *to == id && matches!(action, Action::Prepare),
        Event::Inspected { action: to, .. } => *to == id && matches!(action, Action::Inspect { .. }),
        Event::Answered { question, choice, .. } => {
            matches!(action, Action::Ask(asked) if asked.number == *question && asked.options.contains(choice))
        }
        Event::ActionFailed { action: to, .. } => {
            *to == id && !matches!(action, Action::Dispatch(_) | Action::Ask(_))
        }
        Event::Started | Event::Cancelled => false,
    }
}

/// A text on one line, for blocks that are read line by line.
pub(super) fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Paths that a person typed, one a line. `None` when there is none, or one is not a path inside the repository.
pub(super) fn named_paths(text: &str) -> Option<BTreeSet<Path>> {
    let paths: BTreeSet<Path> =
        text.lines().map(str::trim).filter(|line| !line.is_empty()).map(str::to_owned).collect();
    let inside = |path: &Path| {
        !path.contains('\\') && path.split('/').all(|part| !matches!(part, "" | "." | ".." | ".git"))
    };
    (!paths.is_empty() && paths.iter().all(inside)).then_some(paths)
}
