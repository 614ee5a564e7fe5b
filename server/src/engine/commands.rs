//! What the user may ask for, checked against the present state and answered at once.
//!
//! Owns the refusals: each says what is wrong and what to do next. Never waits for the work that a command sets going.

use std::sync::Arc;

use tokio::sync::oneshot;

use crate::protocol::{AnsweredBy, Choice, Event, QuestionNumber};

use super::api::{Command, FindingView, Refusal, RefusalKind, Reply};
use super::driver::Driver;
use super::ledger::{Decision, Entry, LoopId};
use super::own_questions::{Asked, OwnChoice};
use super::{requests, view, words};

pub(super) type Answer = Option<oneshot::Sender<Result<Reply, Refusal>>>;

pub(super) fn done(message: impl Into<String>) -> Result<Reply, Refusal> {
    Ok(Reply { message: message.into(), loops: Vec::new() })
}

pub(super) fn refuse<T>(kind: RefusalKind, message: impl Into<String>) -> Result<T, Refusal> {
    Err(Refusal { kind, message: message.into() })
}

impl Driver {
    pub(super) fn take_command(&mut self, command: Command, answer: Answer) {
        if self.lock.is_none()
            && self.workspace.is_some()
            && self.fixing_off.is_none()
            && !self.is_about_own_buffers(&command)
        {
            self.hand_on(command, answer);
            return;
        }
        // The one command that has to run something before it can say what came of it.
        if let Command::FromCheck { name } = &command {
            return self.run_for_failures(name.clone(), answer);
        }
        let reply = self.obey(command);
        if let Err(refusal) = &reply {
            tracing::info!("refused: {refusal}");
        }
        if let Some(answer) = answer {
            let _ = answer.send(reply);
        }
    }

    /// The answer to a question about this editor's unsaved text, of which another driver knows nothing.
    fn is_about_own_buffers(&self, command: &Command) -> bool {
        let Command::Answer { question, .. } = command else { return false };
        let mut open = self.own_questions.iter();
        open.any(|own| own.id() == *question && matches!(own.asked, Asked::Edited { .. }))
    }

    /// This process only follows: the driver gets the command as a request, and its reply is waited for elsewhere.
    fn hand_on(&mut self, command: Command, answer: Answer) {
        let Some(workspace) = &self.workspace else { return };
        let state_dir = workspace.state_dir().to_path_buf();
        let left = requests::leave(&state_dir, &command);
        let Some(answer) = answer else { return };
        tokio::spawn(async move {
            let reply = match left {
                Ok(name) => wait_for_reply(&state_dir, &name).await,
                Err(error) => refuse(
                    RefusalKind::Environment,
                    format!("the request could not be left in {}: {error}", state_dir.display()),
                ),
            };
            let _ = answer.send(reply);
        });
    }

    fn obey(&mut self, command: Command) -> Result<Reply, Refusal> {
        match command {
            Command::Reload => {
                self.reload();
                done("configuration and findings read again")
            }
            Command::Trust => self.trust(),
            Command::Approve { finding } => self.approve_of(&finding),
            Command::Answer { question, choice, text } => self.answer(&question, &choice, text),
            Command::Cancel { r#loop } => self.cancel(r#loop.as_deref()),
            Command::Undo { r#loop } => self.undo(&r#loop),
            Command::Fix { findings } => {
                let fingerprints = self.fixable(&findings)?;
                self.fix(fingerprints)
            }
            Command::FixFile { path } => {
                let all = self.all_fixable(|finding| finding.detail.file.as_deref() == Some(&path));
                if all.is_empty() {
                    return refuse(
                        RefusalKind::NotNow,
                        format!("{path} has no finding that can be fixed now"),
                    );
                }
                self.fix(all)
            }
            Command::FixAll => {
                let all = self.all_fixable(|_| true);
                self.fix_all(all)
            }
            Command::Defer { finding, reason } => {
                let found = self.find(&finding)?;
                if !found.offers.defer {
                    return refuse(RefusalKind::NotNow, cannot("deferred", &found));
                }
                self.decide(&found, Decision::Deferred { reason }, "deferred; reopen it to see it again")
            }
            Command::Confirm { finding } => {
                let found = self.find(&finding)?;
                if !found.offers.confirm {
                    return refuse(RefusalKind::NotNow, cannot("confirmed", &found));
                }
                self.decide(&found, Decision::Confirmed, "confirmed; it can be fixed now")
            }
            Command::Dispute { finding, reason } => {
                let found = self.find(&finding)?;
                if !found.offers.dispute {
                    return refuse(RefusalKind::NotNow, cannot("disputed", &found));
                }
                self.decide(&found, Decision::Disputed { reason }, "disputed; it is no longer worked on")
            }
            Command::Reopen { finding } => {
                let found = self.find(&finding)?;
                if !found.offers.reopen {
                    return refuse(RefusalKind::NotNow, cannot("reopened", &found));
                }
                self.decide(&found, Decision::Reopened, "open again")
            }
            Command::Verify { finding } => {
                let found = self.find(&finding)?;
                if !found.offers.verify {
                    return refuse(RefusalKind::NotNow, cannot("verified", &found));
                }
                self.verify(&found)
            }
            Command::Import { source } => self.import(&source),
            Command::Review => self.review(),
            Command::FromCheck { .. } => unreachable!("taken before"),
        }
    }

    fn decide(&mut self, found: &FindingView, decision: Decision, became: &str) -> Result<Reply, Refusal> {
        self.can_write()?;
        self.write(Entry::Decided { fingerprint: found.detail.fingerprint.clone(), decision });
        self.judge_inbox();
        done(format!("{}: {became}", words::named(&found.detail)))
    }

    pub(super) fn can_write(&self) -> Result<(), Refusal> {
        if let Some(why) = &self.fixing_off {
            return refuse(RefusalKind::Environment, why.clone());
        }
        Ok(())
    }

    /// The finding that somebody names by its shown id or fingerprint.
    pub(super) fn find(&self, name: &str) -> Result<FindingView, Refusal> {
        let findings = view::findings(self);
        let mut hits: Vec<Arc<FindingView>> =
            findings.iter().filter(|finding| finding.detail.fingerprint == name).cloned().collect();
        if hits.is_empty() {
            hits =
                findings.into_iter().filter(|finding| words::id_text(&finding.detail.id) == name).collect();
        }
        match hits.len() {
            0 => refuse(
                RefusalKind::Unknown,
                format!("there is no finding {name}; `fix-loop status` lists those that there are"),
            ),
            1 => Ok(FindingView::clone(&hits[0])),
            _ => refuse(
                RefusalKind::Unknown,
                format!(
                    "several findings are called {name}; name one by its fingerprint (`fix-loop status`)"
                ),
            ),
        }
    }

    fn fixable(&self, names: &[String]) -> Result<Vec<String>, Refusal> {
        self.can_write()?;
        if names.is_empty() {
            return refuse(RefusalKind::Unknown, "no finding is named");
        }
        let mut fingerprints = Vec::new();
        for name in names {
            let found = self.find(name)?;
            if !found.offers.fix {
                return refuse(RefusalKind::NotNow, cannot("fixed", &found));
            }
            if !fingerprints.contains(&found.detail.fingerprint) {
                fingerprints.push(found.detail.fingerprint);
            }
        }
        Ok(fingerprints)
    }

    fn all_fixable(&self, wanted: impl Fn(&FindingView) -> bool) -> Vec<String> {
        view::findings(self)
            .into_iter()
            .filter(|finding| finding.offers.fix && wanted(finding))
            .map(|finding| finding.detail.fingerprint.clone())
            .collect()
    }

    // ------------------------------------------------------------ questions

    fn answer(&mut self, id: &str, choice: &str, text: Option<String>) -> Result<Reply, Refusal> {
        if let Some(position) = self.own_questions.iter().position(|question| question.id() == id) {
            let options = self.own_questions[position].options();
            let words: Vec<&str> = options.iter().map(|option| option.words()).collect();
            let chosen = options[pick(&words, choice)?];
            let question = self.own_questions.remove(position);
            let kept = question.clone();
            let answered = self.answer_own(question, chosen);
            if answered.is_err() {
                self.own_questions.push(kept);
            }
            return answered;
        }
        let open = self.state.loops.values().find_map(|run| {
            let question = run.open_question()?;
            (run.question_id(question.number) == id).then(|| (run.id(), question.clone()))
        });
        let Some((r#loop, question)) = open else {
            return refuse(
                RefusalKind::Unknown,
                format!("the question {id} is not open (any more); `fix-loop status` lists the open ones"),
            );
        };
        self.can_write()?;
        if self.interrupted.contains(&r#loop) {
            return refuse(
                RefusalKind::NotNow,
                format!("loop {loop} was interrupted; say first whether to resume it", loop = r#loop),
            );
        }
        self.may_go_on(r#loop)?;
        let words: Vec<&str> = question.options.iter().map(|option| option.words()).collect();
        let chosen: Choice = question.options[pick(&words, choice)?];
        self.answered = Some(r#loop);
        self.feed(
            r#loop,
            Event::Answered {
                question: QuestionNumber(question.number.0),
                choice: chosen,
                by: AnsweredBy::User,
                text,
            },
        );
        done(format!("{id}: {}", chosen.words()))
    }

    fn answer_own(
        &mut self,
        question: super::own_questions::OwnQuestion,
        chosen: OwnChoice,
    ) -> Result<Reply, Refusal> {
        match (question.asked, chosen) {
            (Asked::Trust, OwnChoice::TrustRoot) => self.trust(),
            (Asked::Trust, _) => {
                self.cancel_queued();
                done("not trusted; nothing is started here")
            }
            (Asked::DirtyBuffer { r#loop, .. }, OwnChoice::UseSaved) => {
                self.buffers.accept_for(r#loop);
                done("going on with the saved files")
            }
            (Asked::Edited { path, .. }, OwnChoice::KeepText) => {
                self.buffers.keep_text(&path, self.state.revision);
                done(format!("{path} stays in the editor as it is"))
            }
            (Asked::Edited { path, .. }, OwnChoice::MarkBoth) => {
                self.buffers.mark_both(&path);
                done(format!("both texts of {path} are put into the editor"))
            }
            (Asked::Edited { path, .. }, _) => {
                self.buffers.offer_again(&path);
                done(format!("the editor is asked again to take the fix into {path}"))
            }
            (Asked::DirtyBuffer { r#loop, .. }, _) => {
                self.cancel_loop(r#loop);
                done(format!("loop {loop} is cancelled", loop = r#loop))
            }
            (Asked::Command { command, .. }, OwnChoice::Approve) => {
                let named = words::command_in_words(&command);
                self.approve(command);
                done(format!("approved: {named}"))
            }
            (Asked::Command { r#loop, command }, _) => {
                let named = words::command_in_words(&command);
                self.declined.insert((r#loop, command));
                done(format!("going on without {named}"))
            }
            (Asked::Resume { r#loop, .. }, OwnChoice::Resume) => self.resume(r#loop, true),
            (Asked::Resume { r#loop, .. }, _) => self.resume(r#loop, false),
        }
    }

    fn trust(&mut self) -> Result<Reply, Refusal> {
        self.can_write()?;
        self.write(Entry::Trusted { commands: self.commands_hash.clone() });
        self.own_questions.retain(|question| !matches!(question.asked, Asked::Trust));
        done(format!(
            "{} is trusted with the commands that its configuration names now",
            self.setup.root.display()
        ))
    }

    // ------------------------------------------------------------ running loops

    fn cancel(&mut self, name: Option<&str>) -> Result<Reply, Refusal> {
        let chosen: Vec<LoopId> = match name {
            Some(name) => match self.loop_named(name)? {
                id if self.state.loops[&id].is_ended() => {
                    return refuse(RefusalKind::NotNow, format!("loop {id} has ended already"));
                }
                id => vec![id],
            },
            None => self.state.loops.values().filter(|run| !run.is_ended()).map(|run| run.id()).collect(),
        };
        if chosen.is_empty() {
            return done("no loop runs");
        }
        let named: Vec<String> = chosen.iter().map(LoopId::to_string).collect();
        for id in chosen {
            self.cancel_loop(id);
        }
        Ok(Reply { message: format!("cancelled: {}", named.join(", ")), loops: named })
    }

    pub(super) fn cancel_loop(&mut self, id: LoopId) {
        self.own_questions.retain(|question| question.r#loop() != Some(id));
        self.interrupted.remove(&id);
        self.held.remove(&id);
        match self.running.get_mut(&id) {
            Some(running) => {
                running.cancelling = true;
                running.cancel.cancel();
            }
            None => self.feed(id, Event::Cancelled),
        }
    }

    fn cancel_queued(&mut self) {
        let queued: Vec<LoopId> =
            self.state.loops.values().filter(|run| run.is_queued()).map(|run| run.id()).collect();
        for id in queued {
            self.cancel_loop(id);
        }
    }

    pub(super) fn loop_named(&self, name: &str) -> Result<LoopId, Refusal> {
        name.parse::<LoopId>().ok().filter(|id| self.state.loops.contains_key(id)).ok_or_else(|| Refusal {
            kind: RefusalKind::Unknown,
            message: format!("there is no loop {name}; `fix-loop status` lists those that there are"),
        })
    }

    fn undo(&mut self, name: &str) -> Result<Reply, Refusal> {
        self.can_write()?;
        let id = self.loop_named(name)?;
        let run = &self.state.loops[&id];
        if !run.is_ended() {
            return refuse(RefusalKind::NotNow, format!("loop {id} has not ended; cancel it instead"));
        }
        if run.undone {
            return refuse(RefusalKind::NotNow, format!("loop {id} is undone already"));
        }
        if self.state.loops.values().any(|run| run.is_working() && run.writes_in_the_users_tree()) {
            return refuse(
                RefusalKind::NotNow,
                "another loop is at work in this tree; wait for it or cancel it",
            );
        }
        let Some(workspace) = self.workspace.clone() else {
            return refuse(RefusalKind::Environment, "there is no git repository here");
        };
        let left_alone = super::restoring::undo(&workspace, &run.traces)
            .map_err(|error| Refusal { kind: RefusalKind::Environment, message: error.to_string() })?;
        self.write(Entry::Undone { r#loop: id, left_alone: left_alone.clone() });
        if left_alone.is_empty() {
            done(format!("loop {id} is undone"))
        } else {
            done(format!(
                "loop {id} is undone, except where the bytes are no longer its own: {}",
                left_alone.join(", ")
            ))
        }
    }
}

/// The option named by its text (any case) or its 1-based number.
fn pick(options: &[&str], choice: &str) -> Result<usize, Refusal> {
    let choice = choice.trim();
    if let Ok(number) = choice.parse::<usize>()
        && (1..=options.len()).contains(&number)
    {
        return Ok(number - 1);
    }
    let fold = |text: &str| text.to_lowercase().replace(['—', '–'], "-");
    if let Some(index) = options.iter().position(|option| fold(option) == fold(choice)) {
        return Ok(index);
    }
    let listed: Vec<String> =
        options.iter().enumerate().map(|(index, option)| format!("{}. {option}", index + 1)).collect();
    refuse(RefusalKind::Unknown, format!("{choice:?} is none of the options: {}", listed.join(" · ")))
}

fn cannot(what: &str, found: &FindingView) -> String {
    format!("{} cannot be {what} now: it is {}", words::named(&found.detail), found.standing)
}

async fn wait_for_reply(state_dir: &std::path::Path, name: &str) -> Result<Reply, Refusal> {
    let started = std::time::Instant::now();
    let mut tick = tokio::time::interval(std::time::Duration::from_millis(50));
    loop {
        tick.tick().await;
        if let Some(reply) = requests::reply(state_dir, name) {
            return reply;
        }
        let waited = started.elapsed();
        // A request that nobody takes is not left lying about to be obeyed hours later.
        if waited.as_secs() >= 10 && requests::withdraw(state_dir, name) {
            return refuse(
                RefusalKind::Environment,
                "the process that drives this work tree does not answer",
            );
        }
        if waited.as_secs() >= 600 {
            return refuse(
                RefusalKind::Environment,
                "the process that drives this work tree took the request and has not answered",
            );
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_option_is_named_by_its_text_or_number() {
        let options =
            ["Approve expanded scope", "Reject — fix within original scope only", "Defer this finding"];
        for (choice, expected) in [
            ("1", Some(0)),
            (" 3 ", Some(2)),
            ("approve expanded scope", Some(0)),
            ("Reject - fix within original scope only", Some(1)),
            ("Reject — fix within original scope only", Some(1)),
            ("0", None),
            ("4", None),
            ("", None),
            ("Approve", None),
        ] {
            assert_eq!(pick(&options, choice).ok(), expected, "{choice:?}");
        }
    }
}
