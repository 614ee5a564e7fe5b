//! The rules of DESIGN 6, checked from outside: from events, actions and the view alone, never from the machine's fields.
//!
//! Each refusal begins with the name of its rule, so that a doctored history can be seen to break that one.

mod actions;

use std::{
    collections::{BTreeMap, BTreeSet},
    sync::Arc,
};

use crate::protocol::{
    Action, AnsweredBy, Changes, CheckVerdict, Choice, Event, FindingKey, FixerStatus, Grade, Judging, Path,
    Record, Report, RestorePoint, Role, Settled, Standing, Step, TreeId, View, When,
    bounded::{BoundedInput, LoopKind},
};

/// What an onlooker remembers of one history.
#[derive(Clone, Debug)]
pub struct Onlooker {
    input: Arc<BoundedInput>,
    actions: u32,
    workers: u32,
    questions: u32,
    /// The action that is awaited.
    given: Option<Action>,
    editors: BTreeSet<u32>,
    checkpointed: bool,
    checkpoint_holds: bool,
    /// The highest round that was judged or written down as an attempt.
    spent_round: u32,
    scope_questions: BTreeMap<u32, u32>,
    files_asked: BTreeSet<Path>,
    files_pending: BTreeSet<Path>,
    may_change: BTreeSet<Path>,
    trees: Vec<TreeId>,
    /// What counts as evidence in the present tree.
    grades: BTreeMap<FindingKey, BTreeSet<Grade>>,
    against: BTreeSet<FindingKey>,
    demoted: BTreeSet<FindingKey>,
    accepted: BTreeSet<FindingKey>,
    /// Open regressions, and whether a check found them.
    regressions: BTreeMap<FindingKey, bool>,
    weakened: bool,
    weakening_accepted: bool,
    breached: bool,
    automatic_retries: BTreeMap<u32, u32>,
    restored_to: Option<RestorePoint>,
    cancelled: bool,
    finished: bool,
    worked: u64,
    clock: u64,
    waiting: bool,
    cost: f64,
    inherit: bool,
    asked_different: bool,
    deferred: bool,
    settled: BTreeMap<FindingKey, Settled>,
}

impl Onlooker {
    pub fn new(input: &BoundedInput) -> Onlooker {
        Onlooker {
            input: Arc::new(input.clone()),
            actions: 0,
            workers: 0,
            questions: 0,
            given: None,
            editors: BTreeSet::new(),
            checkpointed: false,
            checkpoint_holds: false,
            spent_round: 0,
            scope_questions: BTreeMap::new(),
            files_asked: BTreeSet::new(),
            files_pending: BTreeSet::new(),
            may_change: input.scope.clone(),
            trees: input.inherited.seen.clone(),
            grades: BTreeMap::new(),
            against: BTreeSet::new(),
            demoted: BTreeSet::new(),
            accepted: BTreeSet::new(),
            regressions: BTreeMap::new(),
            weakened: false,
            weakening_accepted: false,
            breached: false,
            automatic_retries: BTreeMap::new(),
            restored_to: None,
            cancelled: false,
            finished: false,
            worked: 0,
            clock: 0,
            waiting: true,
            cost: 0.0,
            inherit: false,
            asked_different: false,
            deferred: false,
            settled: BTreeMap::new(),
        }
    }

    /// What of this memory tells two histories apart that end in the same state.
    pub fn shape(&self) -> String {
        format!(
            "{:?}",
            (
                (
                    self.checkpoint_holds,
                    self.spent_round,
                    self.weakened,
                    self.weakening_accepted,
                    self.breached
                ),
                (&self.grades, &self.against, &self.accepted, &self.regressions, self.restored_to),
                (self.scope_questions.values().max(), &self.automatic_retries, self.settled.len()),
            )
        )
    }

    /// Looks at one transition and refuses it when it breaks a rule.
    pub fn see(
        &mut self,
        now: u64,
        event: &Event,
        steps: &[Step],
        before: &View,
        after: &View,
    ) -> Result<(), String> {
        if !self.waiting {
            self.worked += now - self.clock;
        }
        self.clock = now;
        if self.finished {
            return rule("finished: nothing follows the end", steps.is_empty() && before == after);
        }
        let awaited = is_awaited(event, before);
        if !awaited {
            return rule(
                "stray: what answers nothing awaited changes nothing",
                steps.is_empty() && before == after,
            );
        }
        if let Event::Answered { by, choice, .. } = event
            && steps.is_empty()
        {
            // Only an automatic answer may be left unheard, and then the question stays open.
            rule("answers: the user is always heard", *by == AnsweredBy::Automatic)?;
            rule("answers: an unheard answer changes nothing", before == after)?;
            let recommended = before.open_question.as_ref().map(|question| question.recommended);
            let retries = self.automatic_retries.get(&before.round).copied().unwrap_or(0);
            let heard = Some(*choice) == recommended
                && (retries < 2 || !matches!(choice, Choice::RetryVerification | Choice::TryAgain));
            return rule("answers: the recommendation is heard, retries twice", !heard);
        }
        let role = match &self.given {
            Some(Action::Dispatch(dispatch)) => Some(dispatch.role),
            _ => None,
        };
        self.take_in(event, before)?;
        for step in steps {
            self.look_at(step, event, after)?;
        }
        self.look_at_the_whole(role, event, steps, before, after)
    }

    // ------------------------------------------------------------ events

    fn take_in(&mut self, event: &Event, before: &View) -> Result<(), String> {
        match event {
            Event::Checkpointed { tree, .. } => {
                if !self.checkpointed {
                    self.trees.push(tree.clone());
                }
                self.checkpointed = true;
                self.checkpoint_holds = true;
            }
            Event::Reported { report, changes, spent, .. } => {
                self.cost += spent.cost_usd.unwrap_or(0.0);
                self.take_changes(changes);
                match report {
                    Report::NeedsScope(request) => {
                        self.files_pending = request.files.iter().cloned().collect();
                    }
                    Report::Judged(judged) => {
                        let Some(Action::Dispatch(dispatch)) = self.given.clone() else {
                            return rule("workers: a report belongs to a dispatch", false);
                        };
                        if changes.in_scope.is_empty() && changes.out_of_scope.is_empty() {
                            for judgement in &judged.findings {
                                if dispatch.findings.contains(&judgement.key) {
                                    self.take_judgement(&judgement.key, judgement.verdict);
                                }
                            }
                            for new in judged.new.iter().filter(|new| new.severity.blocks()) {
                                self.regressions.insert(new.key.clone(), false);
                            }
                        }
                    }
                    Report::Fixer(_) => self.tree_changed(changes),
                    _ => {}
                }
            }
            Event::WorkerFailed { changes, spent, .. } => {
                self.cost += spent.cost_usd.unwrap_or(0.0);
                self.take_changes(changes);
            }
            Event::Checked { checked, changes, .. } => {
                self.breached |= !changes.breaches.is_empty();
                if let Some(Action::RunChecks { when: When::After, .. }) = &self.given {
                    self.grades.clear();
                    self.against.clear();
                    self.demoted.clear();
                    self.accepted.clear();
                    for (key, verdict) in &checked.findings {
                        match verdict {
                            CheckVerdict::Supported { grade, .. } => {
                                self.grades.entry(key.clone()).or_default().insert(*grade);
                            }
                            CheckVerdict::Persists { .. } => {
                                self.against.insert(key.clone());
                            }
                            _ => {}
                        }
                    }
                    self.regressions.retain(|_, by_check| !*by_check);
                    self.regressions.extend(checked.regressions.iter().map(|new| (new.key.clone(), true)));
                }
            }
            Event::Changed { changes, .. } => self.tree_changed(changes),
            Event::Answered { choice, by, text, .. } => {
                if self.workers == 0 && *choice == Choice::ApproveScope {
                    let files = text.iter().flat_map(|text| text.split(['\n', ',']));
                    self.may_change.extend(files.map(|file| file.trim().trim_start_matches("./").to_owned()));
                }
                self.take_answer(*choice, *by, before)?;
            }
            Event::Cancelled => self.cancelled = true,
            _ => {}
        }
        Ok(())
    }

    fn take_changes(&mut self, changes: &Changes) {
        self.breached |= !changes.breaches.is_empty();
        if !changes.out_of_scope.is_empty() {
            self.files_pending = changes.out_of_scope.iter().cloned().collect();
        }
    }

    fn tree_changed(&mut self, changes: &Changes) {
        if !changes.in_scope.is_empty() {
            self.grades.clear();
            self.accepted.clear();
            self.weakened = !changes.weakened.is_empty();
        }
    }

    fn take_judgement(&mut self, key: &FindingKey, verdict: Judging) {
        match verdict {
            Judging::Gone => {
                self.grades.entry(key.clone()).or_default().insert(Grade::Verified);
                self.regressions.remove(key);
            }
            Judging::Demoted => {
                self.demoted.insert(key.clone());
                self.regressions.remove(key);
            }
            Judging::Persists => {
                self.against.insert(key.clone());
            }
            Judging::Unsaid => {}
        }
    }

    fn take_answer(&mut self, choice: Choice, by: AnsweredBy, before: &View) -> Result<(), String> {
        let Some(question) = &before.open_question else {
            return rule("answers: only an open question is answered", false);
        };
        match choice {
            Choice::ApproveScope => self.may_change.extend(std::mem::take(&mut self.files_pending)),
            Choice::AcceptWithoutVerification => {
                rule("answers: only the user accepts", by == AnsweredBy::User)?;
                self.accepted.extend(question.findings.iter().cloned());
                for key in &question.findings {
                    self.regressions.remove(key);
                }
            }
            Choice::AcceptTestEdit => {
                rule("weakened: only the user accepts", by == AnsweredBy::User)?;
                self.weakening_accepted = true;
            }
            Choice::TryDifferentApproach => {
                rule("cap: a different approach is never chosen automatically", by == AnsweredBy::User)?;
                self.asked_different = true;
            }
            Choice::Defer => self.deferred = true,
            Choice::RetryVerification | Choice::TryAgain if by == AnsweredBy::Automatic => {
                let retries = self.automatic_retries.entry(before.round).or_default();
                *retries += 1;
                rule("inconclusive: automatic answers retry at most twice a round", *retries <= 2)?;
            }
            _ => {}
        }
        Ok(())
    }

    // ------------------------------------------------------------ the whole transition

    fn look_at_the_whole(
        &mut self,
        role: Option<Role>,
        event: &Event,
        steps: &[Step],
        before: &View,
        after: &View,
    ) -> Result<(), String> {
        let has = |wanted: &dyn Fn(&Action) -> bool| steps.iter().any(|step| wanted(&step.action));
        let asks = has(&|action| matches!(action, Action::Ask(_)));
        let stages = has(&|action| matches!(action, Action::Stage));
        let restores = |to: RestorePoint| has(&|action| *action == Action::Restore { to });
        let first = steps.iter().find(|step| step.action.is_answered()).map(|step| &step.action);
        self.waiting = after.open_question.is_some();

        let awaited = steps.iter().filter(|step| step.action.is_answered()).count();
        rule("awaited: one action at a time", awaited <= 1 && after.outstanding.len() <= 1)?;
        rule(
            "awaited: a loop that has not ended waits for something",
            after.outstanding.is_empty() == after.finished.is_some(),
        )?;
        rule(
            "view: the question is open exactly while it is asked",
            asks == (after.open_question.is_some()),
        )?;
        rule("view: it counts the workers", after.workers_used == self.workers)?;
        rule("cap: the round never goes back", after.round >= before.round && after.round <= 2)?;
        if let Some(ending) = &after.finished {
            rule("finished: says why", !ending.reason.is_empty())?;
            for (key, standing) in &after.findings {
                let recorded = self.settled.get(key);
                let same = matches!(standing, Standing::Settled(how) if Some(how) == recorded);
                rule("finished: what is shown is what was recorded", same)?;
            }
        }
        match event {
            Event::Cancelled => {
                let expected =
                    if self.checkpointed { restores(RestorePoint::Start) } else { after.finished.is_some() };
                rule("cancel: restores the start", expected)?;
                if let Some(question) = &before.open_question {
                    let number = question.number;
                    rule(
                        "cancel: takes the question back",
                        has(&|action| *action == Action::Withdraw { question: number }),
                    )?;
                }
            }
            Event::Started if self.input.kind == LoopKind::Fix && self.input.scope.is_empty() => {
                rule("scope: an empty one is asked for first", asks)?;
            }
            Event::WorkerFailed { .. } => {
                rule(
                    "inconclusive: what a failed worker did is undone",
                    restores(RestorePoint::BeforeWorker),
                )?;
                rule("inconclusive: no round is spent on it", after.round == before.round)?;
            }
            Event::Interrupted { .. } => {
                rule("cap: an interrupted round is repeated", after.round == before.round)?
            }
            Event::Reported { report, changes, .. } => {
                let Some(role) = role else { return rule("workers: a report belongs to a dispatch", false) };
                if !changes.breaches.is_empty() {
                    rule(
                        "breach: the first answer is to undo it",
                        first == Some(&Action::Restore { to: RestorePoint::BeforeWorker }),
                    )?;
                }
                let edited = !changes.in_scope.is_empty() || !changes.out_of_scope.is_empty();
                if !role.may_edit() && edited {
                    rule(
                        "readers: what they changed is undone and voids their word",
                        restores(RestorePoint::BeforeWorker),
                    )?;
                    let settles = has(&|action| matches!(action, Action::Record(Record::Settled { .. })));
                    rule("readers: what they changed is undone and voids their word", !settles)?;
                }
                if let Report::Fixer(fixer) = report
                    && role == Role::Fixer
                    && !edited
                    && changes.breaches.is_empty()
                {
                    rule("no-op: nothing to stage", !stages)?;
                    let verifies =
                        has(&|action| matches!(action, Action::RunChecks { .. } | Action::Checkpoint));
                    let next_round = after.round > before.round;
                    let again = fixer.status != FixerStatus::AlreadyResolved;
                    rule(
                        "no-op: fails at once",
                        !again
                            || next_round
                            || !verifies
                            || after.finished.is_some()
                            || diagnoses(steps, &self.input),
                    )?;
                }
                if role == Role::Fixer && matches!(report, Report::NeedsScope(_)) {
                    rule("scope: nothing is staged before the question", !stages)?;
                }
            }
            _ => {}
        }
        if after.finished.is_none() && asks {
            let waits = after
                .findings
                .iter()
                .all(|(_, standing)| matches!(standing, Standing::Waiting | Standing::Settled(_)));
            rule("view: findings wait while a question is open", waits)?;
        }
        Ok(())
    }
}

/// With a diagnoser, a checkpoint for it follows the last failure.
fn diagnoses(steps: &[Step], input: &BoundedInput) -> bool {
    input.diagnose
        && matches!(steps.last().map(|step| &step.action), Some(Action::Checkpoint | Action::Dispatch(_)))
}

fn rule(name: &str, holds: bool) -> Result<(), String> {
    if holds { Ok(()) } else { Err(name.to_owned()) }
}

/// Whether an event is the answer that the machine waits for.
fn is_awaited(event: &Event, before: &View) -> bool {
    let outstanding =
        |wanted: &crate::protocol::ActionId| before.outstanding.iter().find(|step| step.id == *wanted);
    let answers = |id, fits: fn(&Action) -> bool| outstanding(id).is_some_and(|step| fits(&step.action));
    match event {
        Event::Started => before.state == "new",
        Event::Cancelled => before.state != "cancelling",
        Event::Checkpointed { action, .. } => answers(action, |a| matches!(a, Action::Checkpoint)),
        Event::Reported { action, .. }
        | Event::WorkerFailed { action, .. }
        | Event::Interrupted { action } => answers(action, |a| matches!(a, Action::Dispatch(_))),
        Event::Checked { action, .. } => answers(action, |a| matches!(a, Action::RunChecks { .. })),
        Event::Staged { action } | Event::StageRefused { action, .. } => {
            answers(action, |a| matches!(a, Action::Stage))
        }
        Event::Restored { action, .. } => answers(action, |a| matches!(a, Action::Restore { .. })),
        Event::Changed { action, .. } => answers(action, |a| matches!(a, Action::PutBack { .. })),
        Event::ActionFailed { action, .. } => {
            answers(action, |a| !matches!(a, Action::Ask(_) | Action::Dispatch(_)))
        }
        Event::Answered { question, choice, .. } => before
            .open_question
            .as_ref()
            .is_some_and(|open| open.number == *question && open.options.contains(choice)),
        Event::Prepared { .. } | Event::Inspected { .. } => false,
    }
}
