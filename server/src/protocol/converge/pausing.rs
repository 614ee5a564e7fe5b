//! The questions and pauses of the loop, and what each answer leads to.
//!
//! A decision pause is resumed by the user and nobody else; a transient one twice at most by `--answer recommended`.

use std::collections::BTreeSet;

use super::super::docket::{named_paths, one_line};
use super::super::machine::Rules as _;
use super::super::vocabulary::*;
use super::gate::Verdict;
use super::machine::{Converge, checkout_change};
use super::phase::{Asked, AxisState, Job, Next, Pause, Phase, Then};

/// Automatic resumes of one loop (rule 4).
const AUTOMATIC_RESUMES: u32 = 2;

impl Converge {
    fn ask(&mut self, asked: Asked, kind: QuestionKind, text: String, detail: String, options: &[Choice]) {
        self.phase = Phase::Asking(asked);
        let keys = self.keys();
        self.docket.ask(kind, keys, text, detail, options);
    }

    pub(super) fn pause(
        &mut self,
        kind: PauseKind,
        reason: String,
        worker: Option<u32>,
        evidence: String,
        next: Next,
    ) {
        self.ask_pause(Pause { kind, reason, worker, evidence, next });
    }

    /// Says the reason, worker, evidence and next action, and how the gate stands meanwhile.
    pub(super) fn ask_pause(&mut self, pause: Pause) {
        let (kind, options) = match pause.kind {
            PauseKind::Transient => ("transient", [Choice::ResumeLoop, Choice::StayPaused]),
            PauseKind::Decision => ("decision", [Choice::StayPaused, Choice::ResumeLoop]),
        };
        let worker = pause.worker.map_or("none".to_owned(), |worker| worker.to_string());
        let detail = format!(
            "Pause: {kind}\nReason: {}\nWorker: {worker}\nEvidence: {}\nNext action: {}\n\n{}",
            pause.reason,
            if pause.evidence.trim().is_empty() { "none" } else { pause.evidence.trim() },
            pause.next.words(),
            self.report(Verdict::Paused),
        );
        let text = format!("Paused ({kind}): {}", one_line(&pause.reason));
        self.ask(Asked::Pause(pause), QuestionKind::Pause, text, detail, &options);
    }

    pub(super) fn ask_standards_only(&mut self) {
        self.ask(
            Asked::StandardsOnly,
            QuestionKind::StandardsOnly,
            "No spec was found. Review along the Standards axis only?".to_owned(),
            "A Standards-only run never counts as a two-axis pass: its gate is PASS_STANDARDS_ONLY. A spec can be named \
             with `spec` in fix-loop.toml."
                .to_owned(),
            &[Choice::Yes, Choice::No],
        );
    }

    pub(super) fn ask_first_scope(&mut self) {
        self.scope_questions += 1;
        self.ask(
            Asked::FirstScope,
            QuestionKind::Scope,
            "The confirmed findings name no file: which files may change?".to_owned(),
            "Answer with the files, one a line. Approved without files, the fixer starts with none and has to name each \
             file it needs, which is asked before any edit."
                .to_owned(),
            &[Choice::ApproveScope, Choice::Defer],
        );
    }

    pub(super) fn ask_more_scope(&mut self, job: Job, files: BTreeSet<Path>, why: &str) {
        let detail = format!("Why: {why}");
        self.ask_scope(Asked::MoreScope(job, files.clone()), &files, "needs to change", detail);
    }

    pub(super) fn ask_committed(
        &mut self,
        job: Job,
        files: BTreeSet<Path>,
        head: Option<String>,
        diff: &str,
    ) {
        let detail =
            format!("They are committed on the loop's branch. Rejected, the commit is taken back.\n{diff}");
        self.ask_scope(Asked::Committed(job, files.clone(), head), &files, "has changed", detail);
    }

    fn ask_scope(&mut self, asked: Asked, files: &BTreeSet<Path>, what: &str, detail: String) {
        self.scope_questions += 1;
        let list: Vec<&str> = files.iter().map(String::as_str).collect();
        let list = list.join(", ");
        let text =
            format!("The fixer of round {} {what} files outside its scope: {list}. Approve?", self.round);
        let options = [Choice::ApproveScope, Choice::RejectScope, Choice::Defer];
        self.ask(asked, QuestionKind::Scope, text, format!("Files: {list}\n{detail}"), &options);
    }

    /// Whether a worker changed the user's own checkout can't be told from outside: the editor saved nothing of the kind.
    pub(super) fn ask_checkout(&mut self, job: Job, held: Vec<(Step, Event)>) {
        let changes: Vec<&CheckoutChange> =
            held.iter().filter_map(|(_, event)| checkout_change(event)).collect();
        let paths: BTreeSet<&str> =
            changes.iter().flat_map(|change| change.paths.iter().map(String::as_str)).collect();
        let paths = paths.into_iter().collect::<Vec<_>>().join(", ");
        let diff = changes.last().map_or(String::new(), |change| change.diff.clone());
        let text = format!(
            "While worker {} was at work, your own checkout changed: {paths}. Was it you?",
            self.last_worker
        );
        let detail = format!(
            "The loop works in a worktree of its own, and nothing of it belongs into your checkout. What is there now is \
             kept, and stays as it is until you answer. Put back, the worker's result is void.\nFiles: {paths}\n{diff}"
        );
        self.ask(
            Asked::Checkout(job, held),
            QuestionKind::Breach,
            text,
            detail,
            &[Choice::KeepCheckout, Choice::PutBackCheckout, Choice::StayPaused],
        );
    }

    pub(super) fn put_checkout_back(&mut self, job: Job) {
        self.phase = Phase::PuttingBack(job);
        self.docket.give(Action::PutBackCheckout);
    }

    /// Only a person knows whether it was them.
    fn checkout_answered(
        &mut self,
        job: Job,
        held: Vec<(Step, Event)>,
        choice: Choice,
        by: AnsweredBy,
        text: Option<String>,
    ) -> bool {
        if by == AnsweredBy::Automatic {
            return false;
        }
        self.docket.decided("changed checkout", "not known whose", choice.words(), text);
        match choice {
            Choice::KeepCheckout if job == Job::Review => {
                self.phase = Phase::Reviewing;
                // Each is out again until its own result is taken.
                for (step, _) in &held {
                    if let Action::Dispatch(Dispatch { focus: Focus::Axis(axis), .. }) = &step.action {
                        self.axes.insert(*axis, AxisState::Reviewing);
                    }
                }
                for (step, event) in held {
                    self.axis_answered(&step, without_checkout(event));
                }
            }
            Choice::KeepCheckout => {
                for (step, event) in held {
                    self.phase = Phase::Working(job);
                    self.answer(step, without_checkout(event));
                }
            }
            Choice::PutBackCheckout => {
                for (step, event) in &held {
                    self.spend_of(event);
                    if let Action::Dispatch(Dispatch { focus: Focus::Axis(axis), .. }) = &step.action {
                        self.axes.insert(*axis, AxisState::Pending);
                    }
                }
                // What another axis gave meanwhile stays; what it changed in the worktree goes with the restore.
                self.unusable.clear();
                self.touched = false;
                self.put_checkout_back(job);
            }
            _ => {
                held.iter().for_each(|(_, event)| self.spend_of(event));
                self.finish_paused("your own checkout changed while a worker was at work");
            }
        }
        true
    }

    fn spend_of(&mut self, event: &Event) {
        if let Event::Reported { spent, .. } | Event::WorkerFailed { spent, .. } = event {
            self.docket.spend(spent);
        }
    }

    /// Carries an answer out. False: it does not settle the question, which stays open.
    pub(super) fn answered(
        &mut self,
        asked: Asked,
        choice: Choice,
        by: AnsweredBy,
        text: Option<String>,
    ) -> bool {
        match (asked, choice) {
            (Asked::StandardsOnly, Choice::Yes) => {
                self.docket.decided("review axes", "standards and spec", "standards only", text);
                self.review(true);
            }
            (Asked::StandardsOnly, _) => {
                let why = "a review without a spec was not approved".to_owned();
                let evidence = "name one with `spec` in fix-loop.toml, or approve Standards only".to_owned();
                self.pause(PauseKind::Decision, why, None, evidence, Next::Prepare);
            }
            (Asked::FirstScope, Choice::ApproveScope) => {
                let typed = text.as_deref().map(str::trim).filter(|text| !text.is_empty());
                if let Some(typed) = typed {
                    let Some(paths) = named_paths(typed) else { return false };
                    self.scope.extend(paths);
                }
                self.next_round(Job::Fix);
            }
            (Asked::MoreScope(job, files), Choice::ApproveScope) => {
                self.told(&files, choice);
                self.scope.extend(files);
                self.dispatch(job);
            }
            (Asked::MoreScope(job, files), Choice::RejectScope) => {
                self.told(&files, choice);
                self.dispatch(job);
            }
            (Asked::Committed(job, files, head), Choice::ApproveScope) => {
                self.told(&files, choice);
                self.scope.extend(files);
                self.inspect(job, head, false);
            }
            (Asked::Committed(job, files, _), Choice::RejectScope) => {
                self.told(&files, choice);
                self.restore(Then::Dispatch(job));
            }
            (Asked::FirstScope, _) => self.deferred(Job::Fix, false),
            (Asked::MoreScope(job, _), _) => self.deferred(job, false),
            (Asked::Committed(job, ..), _) => self.deferred(job, true),
            (Asked::Checkout(job, held), choice) => {
                return self.checkout_answered(job, held, choice, by, text);
            }
            (Asked::Pause(pause), choice) => return self.pause_answered(pause, choice, by, text),
        }
        true
    }

    fn pause_answered(&mut self, pause: Pause, choice: Choice, by: AnsweredBy, text: Option<String>) -> bool {
        if by == AnsweredBy::Automatic {
            let may_resume = pause.kind == PauseKind::Transient
                && choice == Choice::ResumeLoop
                && self.automatic < AUTOMATIC_RESUMES;
            if !may_resume {
                return false;
            }
            self.automatic += 1;
        }
        if choice == Choice::StayPaused {
            self.finish_paused(&pause.reason);
            return true;
        }
        if pause.kind == PauseKind::Decision {
            self.docket.decided("pause", &pause.reason, pause.next.words(), text.clone());
            if let Some(choice) = text.filter(|text| !text.trim().is_empty()) {
                self.answers.push(Told { question: pause.reason, choice });
            }
        }
        self.go(pause.next);
        true
    }

    fn deferred(&mut self, job: Job, is_committed: bool) {
        let pause = Pause {
            kind: PauseKind::Decision,
            reason: "the wider scope was deferred".to_owned(),
            worker: Some(self.last_worker),
            evidence: String::new(),
            next: Next::Dispatch(job),
        };
        if is_committed { self.restore(Then::Pause(pause)) } else { self.ask_pause(pause) }
    }

    fn told(&mut self, files: &BTreeSet<Path>, choice: Choice) {
        let list: Vec<&str> = files.iter().map(String::as_str).collect();
        self.answers.push(Told {
            question: format!("May files outside the scope be changed: {}?", list.join(", ")),
            choice: choice.words().to_owned(),
        });
    }
}

fn without_checkout(mut event: Event) -> Event {
    if let Event::Reported { changes, .. } | Event::WorkerFailed { changes, .. } = &mut event {
        changes.checkout = None;
    }
    event
}
