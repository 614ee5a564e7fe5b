//! Opening loops, and what has to be asked before one may start or go on.
//!
//! Owns the questions that no protocol knows of: trust, unsaved buffers, what to do with an interrupted loop. They live only
//! as long as the process; each comes up again by itself while its reason stands.

use std::collections::BTreeSet;

use crate::config::Protocol;
use crate::protocol::{Action, EndedHow, Event, FindingKey, QuestionKind, Step};

use super::api::{FindingView, NoticeLevel, Refusal, RefusalKind, Reply};
use super::commands::{done, refuse};
use super::driver::{Answers, Driver};
use super::ledger::{Entry, LoopFinding, LoopId, Opened, Produced};
use super::running::{LoopRun, MachineStart};
use super::status::FindingState;
use super::{batch, checking, restoring, starting, view, words};
use crate::workspace::RepoPath;

/// A question of the engine's own.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OwnQuestion {
    pub serial: u32,
    pub asked: Asked,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Asked {
    Trust,
    DirtyBuffer {
        r#loop: LoopId,
        paths: Vec<String>,
    },
    Resume {
        r#loop: LoopId,
        detail: String,
    },
    /// A findings file brought this command as a check.
    Command {
        r#loop: LoopId,
        command: Vec<String>,
    },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnChoice {
    TrustRoot,
    LeaveUntrusted,
    UseSaved,
    Cancel,
    Resume,
    Restore,
    GoWithout,
    Approve,
}

impl OwnChoice {
    pub fn words(self) -> &'static str {
        match self {
            OwnChoice::TrustRoot => "Trust this workspace",
            OwnChoice::LeaveUntrusted => "Do not trust it",
            OwnChoice::UseSaved => "Go on with the saved file",
            OwnChoice::Cancel => "Cancel the loop",
            OwnChoice::Resume => "Resume the loop",
            OwnChoice::Restore => "Restore and stop",
            OwnChoice::GoWithout => "Go on without it",
            OwnChoice::Approve => "Approve this exact command",
        }
    }
}

impl OwnQuestion {
    pub fn id(&self) -> String {
        match &self.asked {
            Asked::Trust => format!("trust{}", self.serial),
            Asked::DirtyBuffer { r#loop, .. } => format!("{loop}.buffer{}", self.serial, loop = r#loop),
            // The same in every process, so that it can be read in one and answered in another.
            Asked::Resume { r#loop, .. } => format!("{loop}.resume", loop = r#loop),
            Asked::Command { r#loop, .. } => format!("{loop}.command{}", self.serial, loop = r#loop),
        }
    }

    pub fn r#loop(&self) -> Option<LoopId> {
        match &self.asked {
            Asked::Trust => None,
            Asked::DirtyBuffer { r#loop, .. }
            | Asked::Resume { r#loop, .. }
            | Asked::Command { r#loop, .. } => Some(*r#loop),
        }
    }

    pub fn kind(&self) -> QuestionKind {
        match &self.asked {
            Asked::Trust | Asked::Command { .. } => QuestionKind::Trust,
            Asked::DirtyBuffer { .. } => QuestionKind::DirtyBuffer,
            Asked::Resume { .. } => QuestionKind::Resume,
        }
    }

    /// The recommended one first.
    pub fn options(&self) -> [OwnChoice; 2] {
        match &self.asked {
            Asked::Trust => [OwnChoice::TrustRoot, OwnChoice::LeaveUntrusted],
            Asked::DirtyBuffer { .. } => [OwnChoice::Cancel, OwnChoice::UseSaved],
            Asked::Resume { .. } => [OwnChoice::Resume, OwnChoice::Restore],
            // Whoever wrote the findings file is not the user: what is recommended runs nothing.
            Asked::Command { .. } => [OwnChoice::GoWithout, OwnChoice::Approve],
        }
    }

    pub fn text(&self) -> String {
        match &self.asked {
            Asked::Trust => "Fix Loop is about to run commands in this workspace. Do you trust it?".into(),
            Asked::DirtyBuffer { r#loop, paths } => format!(
                "Loop {loop} may change {}, which has unsaved edits. Save to go on, or choose.",
                paths.join(", "),
                loop = r#loop
            ),
            Asked::Resume { r#loop, .. } => {
                format!("Loop {loop} was interrupted. Resume it, or restore what it changed?", loop = r#loop)
            }
            Asked::Command { command, .. } => {
                format!(
                    "A findings file asks to run {} as a check. Run it?",
                    words::command_in_words(command)
                )
            }
        }
    }
}

impl Driver {
    fn next_serial(&self) -> u32 {
        self.own_questions.iter().map(|question| question.serial).max().unwrap_or(0).max(self.asked_before)
            + 1
    }

    fn ask_own(&mut self, asked: Asked) {
        if self.own_questions.iter().any(|open| open.asked == asked) {
            return;
        }
        let question = OwnQuestion { serial: self.next_serial(), asked };
        self.asked_before = question.serial;
        self.notice(
            NoticeLevel::Info,
            question.r#loop(),
            format!("question {}: {}", question.id(), question.text()),
        );
        self.own_questions.push(question);
    }

    pub(super) fn ask_for_trust(&mut self) {
        self.ask_own(Asked::Trust);
    }

    /// Whether a loop has to wait because the editor holds unsaved text of its files (R32).
    pub(super) fn waits_for_buffers(&mut self, id: LoopId) -> bool {
        if self.buffers.is_accepted_for(id) {
            return false;
        }
        let run = &self.state.loops[&id];
        if !run.writes_in_the_users_tree() {
            return false;
        }
        let files: BTreeSet<&String> = run
            .opened
            .findings
            .iter()
            .flat_map(|finding| finding.finding.file.iter().chain(&finding.finding.related_files))
            .collect();
        let dirty: Vec<String> =
            files.into_iter().filter(|file| self.buffers.is_dirty(file)).cloned().collect();
        if dirty.is_empty() {
            return false;
        }
        self.ask_own(Asked::DirtyBuffer { r#loop: id, paths: dirty });
        true
    }

    /// Whether a loop has to wait for the user's word about a command that a findings file brought (DESIGN 11). Where nobody
    /// is there to be asked, it goes on without the command, and says so.
    pub(super) fn waits_for_approval(&mut self, id: LoopId) -> bool {
        if !self.setup.someone_answers {
            return false;
        }
        let run = &self.state.loops[&id];
        let brought = run.opened.findings.iter().map(|finding| &finding.finding);
        let open = checking::to_approve(&self.config, brought, &self.state.approved);
        let next = open.into_iter().find(|command| !self.declined.contains(&(id, command.clone())));
        match next {
            Some(command) => {
                self.ask_own(Asked::Command { r#loop: id, command });
                true
            }
            None => false,
        }
    }

    /// `fix-loop trust --command-of ID`: approves what this finding brings.
    pub(super) fn approve_of(&mut self, name: &str) -> Result<Reply, Refusal> {
        self.can_write()?;
        let found = self.find(name)?;
        let Some(finding) = self.inbox.attached_finding(&found.detail.fingerprint) else {
            return refuse(RefusalKind::Unknown, "the finding is no longer in any findings file");
        };
        let brought = checking::to_approve(&self.config, [&finding.finding], &self.state.approved);
        if brought.is_empty() {
            return done(format!(
                "finding {} brings no command that needs approval",
                words::id_text(&finding.shown)
            ));
        }
        let named: Vec<String> = brought.iter().map(|command| words::command_in_words(command)).collect();
        for command in brought {
            self.approve(command);
        }
        done(format!("approved: {}", named.join(", ")))
    }

    pub(super) fn approve(&mut self, command: Vec<String>) {
        self.own_questions.retain(
            |question| !matches!(&question.asked, Asked::Command { command: asked, .. } if *asked == command),
        );
        self.write(Entry::Approved { command });
    }

    // ------------------------------------------------------------ opening

    /// Opens one loop per batch.
    pub(super) fn fix(&mut self, fingerprints: Vec<String>) -> Result<Reply, Refusal> {
        self.can_write()?;
        let protocol = self.protocol();
        if protocol == Protocol::Converge {
            let attached = fingerprints.iter().filter_map(|one| self.inbox.attached_finding(one)).collect();
            return self.open_converge(attached);
        }
        let findings: Vec<LoopFinding> =
            fingerprints.iter().filter_map(|fingerprint| self.inbox.loop_finding(fingerprint)).collect();
        let findings = self.only_stageable(findings)?;
        let files: Vec<BTreeSet<String>> =
            findings.iter().map(|finding| self.inbox.scope_of(finding)).collect();
        let mut opened = Vec::new();
        for batch in batch::batches(&files) {
            let members: Vec<LoopFinding> = batch.iter().map(|&index| findings[index].clone()).collect();
            let start = match protocol {
                Protocol::Rereview => starting::rereview(self, &members, None),
                _ => starting::bounded(self, &members, None),
            }
            .map_err(|message| Refusal { kind: RefusalKind::Environment, message })?;
            opened.push(self.open(members, start, None));
        }
        let named: Vec<String> = opened.iter().map(LoopId::to_string).collect();
        Ok(Reply {
            message: format!(
                "{} in {}: {}",
                count(fingerprints.len(), "finding"),
                count(named.len(), "loop"),
                named.join(", ")
            ),
            loops: named,
        })
    }

    /// Leaves out what could not be staged in the end (a submodule, an unmerged file, a FIFO), before anybody works on it.
    fn only_stageable(&self, findings: Vec<LoopFinding>) -> Result<Vec<LoopFinding>, Refusal> {
        let Some(workspace) = &self.workspace else { return Ok(findings) };
        let mut refused = Vec::new();
        let mut stageable = Vec::new();
        for finding in findings {
            let why = self
                .inbox
                .scope_of(&finding)
                .iter()
                .filter_map(|path| RepoPath::new(path).ok())
                .find_map(|path| workspace.stageable(&path).err());
            match why {
                Some(why) => refused.push(format!("finding {}: {why}", words::id_text(&finding.shown))),
                None => stageable.push(finding),
            }
        }
        for why in &refused {
            self.notice(NoticeLevel::Error, None, why.clone());
        }
        if stageable.is_empty() && !refused.is_empty() {
            return refuse(RefusalKind::Environment, refused.join("\n"));
        }
        Ok(stageable)
    }

    pub(super) fn protocol(&self) -> Protocol {
        self.setup.protocol.unwrap_or(self.config.protocol)
    }

    pub(super) fn open(
        &mut self,
        findings: Vec<LoopFinding>,
        start: MachineStart,
        follows: Option<LoopId>,
    ) -> LoopId {
        let id = self.state.next_loop();
        let agent = starting::fixer_name(self);
        let base = self.inbox.review_base();
        self.write(Entry::Opened(Box::new(Opened {
            id,
            findings,
            start,
            agent,
            follows,
            base,
            commands: self.commands_hash.clone(),
        })));
        id
    }

    pub(super) fn verify(&mut self, found: &FindingView) -> Result<Reply, Refusal> {
        self.can_write()?;
        // Where nobody is there to be asked, nothing is left queued that would start by itself some day.
        if !self.is_trusted() && !self.setup.someone_answers {
            return refuse(
                RefusalKind::Environment,
                format!(
                    "this workspace is not trusted, so nothing was started. {}\nTrust it with `fix-loop trust`.",
                    self.trust_detail()
                ),
            );
        }
        let Some(finding) = self.inbox.loop_finding(&found.detail.fingerprint) else {
            return refuse(RefusalKind::Unknown, "the finding is no longer in any findings file");
        };
        let start = starting::verify(self, &finding)
            .map_err(|message| Refusal { kind: RefusalKind::Environment, message })?;
        let id = self.open(vec![finding], start, None);
        Ok(Reply { message: format!("verifying in loop {id}"), loops: vec![id.to_string()] })
    }

    /// Everything that can be fixed now. A converging loop takes along what nobody has confirmed yet, for its checker to
    /// judge; with no findings at all it reviews.
    pub(super) fn fix_all(&mut self, mut fingerprints: Vec<String>) -> Result<Reply, Refusal> {
        if self.protocol() == Protocol::Converge {
            // Not those that a loop has, had, or the user put away.
            let untouched: BTreeSet<String> = view::findings(self)
                .into_iter()
                .filter(|finding| finding.offers.confirm && finding.detail.state == FindingState::Ignored)
                .map(|finding| finding.detail.fingerprint.clone())
                .collect();
            fingerprints.extend(self.inbox.unconfirmed().into_iter().filter(|one| untouched.contains(one)));
            if fingerprints.is_empty() && self.inbox.listed().is_empty() {
                return self.review();
            }
        }
        if fingerprints.is_empty() {
            return done("there is nothing to fix");
        }
        self.fix(fingerprints)
    }

    /// What goes on is what was trusted when the loop opened, or what is trusted now (DESIGN 11).
    pub(super) fn may_go_on(&self, id: LoopId) -> Result<(), Refusal> {
        if self.is_trusted() || self.state.loops[&id].opened.commands == self.commands_hash {
            return Ok(());
        }
        refuse(
            RefusalKind::Environment,
            "the commands that the configuration names have changed and are not trusted; look at them, then `fix-loop trust`",
        )
    }

    /// Whether a queued loop may start. One that goes on from another, at the user's word, needs no more trust than that one
    /// had while the commands are the same.
    pub(super) fn may_start(&self, id: LoopId) -> bool {
        let opened = &self.state.loops[&id].opened;
        self.is_trusted() || opened.follows.is_some() && opened.commands == self.commands_hash
    }

    /// Reviews what is committed. A loop that is open already on this branch is the one to go on with: a review runs once,
    /// and a pause is ended by its answer only. On another branch it is another matter.
    pub(super) fn review(&mut self) -> Result<Reply, Refusal> {
        self.can_write()?;
        let branch = self.workspace.as_ref().and_then(|workspace| workspace.branch());
        let open = self.state.loops.values().find(|run| {
            let is_of_here = run.traces.managed.as_ref().is_none_or(|managed| managed.users_branch == branch);
            !run.is_ended() && !run.writes_in_the_users_tree() && is_of_here
        });
        if let Some(run) = open {
            let id = run.id().to_string();
            return Ok(Reply {
                message: format!("loop {id} is open already; answer its question, or cancel it first"),
                loops: vec![id],
            });
        }
        self.open_converge(Vec::new())
    }

    fn open_converge(&mut self, findings: Vec<LoopFinding>) -> Result<Reply, Refusal> {
        let start = starting::converge(self, &findings)
            .map_err(|message| Refusal { kind: RefusalKind::Environment, message })?;
        let id = self.open(findings, start, None);
        Ok(Reply { message: format!("the converging loop {id}"), loops: vec![id.to_string()] })
    }

    /// *Try a different approach*, or an allowed raise: a new loop that is told everything tried so far.
    pub(super) fn follow_up(&mut self, id: LoopId, keys: &[FindingKey]) {
        let run = &self.state.loops[&id];
        let members: Vec<LoopFinding> = run
            .opened
            .findings
            .iter()
            .filter(|finding| keys.iter().any(|key| key.0 == finding.fingerprint))
            .cloned()
            .collect();
        let inherited = run.traces.inherit.clone();
        let started = match &run.opened.start {
            MachineStart::Rereview(_) => starting::rereview(self, &members, inherited),
            _ => starting::bounded(self, &members, inherited),
        };
        match started {
            Ok(start) if !members.is_empty() => {
                let next = self.open(members, start, Some(id));
                self.notice(NoticeLevel::Info, Some(next), format!("loop {next} follows loop {id}"));
            }
            Ok(_) => {}
            Err(message) => self.notice(NoticeLevel::Error, Some(id), message),
        }
    }

    /// What a finished loop leaves to do: its checkpoints stay for `undo`. The worktree of a converging one goes when nothing
    /// is in it that is not on its branch; a loop that stays paused keeps it, for whoever takes over.
    pub(super) fn after_end(&mut self, id: LoopId) {
        self.buffers.forget(id);
        self.remove_worktree(id);
        self.judge_inbox();
    }

    fn remove_worktree(&self, id: LoopId) {
        let (Some(workspace), Some(run)) = (&self.workspace, self.state.loops.get(&id)) else { return };
        let Some(how) = run.view.finished.as_ref().map(|ending| ending.how) else { return };
        if run.writes_in_the_users_tree() || how == EndedHow::Blocked {
            return;
        }
        let removed = match &run.traces.managed {
            Some(managed) => match workspace.commit_state(&managed.worktree, &managed.review_base) {
                Ok(state) if state.clean => {
                    let has_commits = state.head.to_string() != managed.initial_head;
                    if how == EndedHow::Cancelled && !has_commits {
                        workspace.discard_worktree(&managed.worktree)
                    } else {
                        workspace.remove_worktree(&managed.worktree)
                    }
                }
                _ => Ok(()),
            },
            // Cancelled before it was prepared: what is there of it holds nothing.
            None => {
                let mine = format!("fix-loop/{id}");
                let is_mine = |branch: &str| branch.strip_suffix("-base").unwrap_or(branch) == mine;
                let all = workspace.managed_worktrees().unwrap_or_default();
                let mut mine = all.iter().filter(|one| is_mine(&one.branch));
                mine.try_for_each(|one| workspace.discard_worktree(one))
            }
        };
        if let Err(error) = removed {
            tracing::warn!("a worktree of loop {id} stays: {error}");
        }
    }

    // ------------------------------------------------------------ interrupted loops

    /// At the start of a driver: every loop that an earlier process left in the middle of something. Its workers are ended.
    pub(super) fn find_interrupted(&mut self) {
        for run in self.state.loops.values().filter(|run| run.is_working()) {
            for worker in run.traces.workers.iter().filter(|worker| worker.outcome.is_none()) {
                if let Some(process) = &worker.process {
                    crate::process::end_leftover(process);
                }
            }
        }
        self.record_leftovers();
        self.mark_interrupted();
        if self.setup.answers == Answers::Recommended {
            for id in self.interrupted.clone() {
                self.own_questions.retain(|question| question.r#loop() != Some(id));
                let went = self.resume(id, true);
                let (level, said) = match went {
                    Ok(reply) => (NoticeLevel::Info, reply.message),
                    Err(refusal) => (NoticeLevel::Error, refusal.message),
                };
                self.notice(level, Some(id), said);
            }
        }
    }

    /// Questions that an earlier process left open: one that ended as waiting, or between a question and its answer. The
    /// machine refuses the answers that are a person's to give, and those that were given too often.
    pub(super) fn answer_what_is_open(&mut self) {
        let open: Vec<(LoopId, crate::protocol::Question)> = self
            .state
            .loops
            .values()
            .filter(|run| !self.interrupted.contains(&run.id()))
            .filter_map(|run| Some((run.id(), run.open_question()?.clone())))
            .collect();
        for (id, question) in open {
            match self.may_go_on(id) {
                Ok(()) => self.answer_by_itself(id, &question),
                Err(refusal) => self.notice(NoticeLevel::Error, Some(id), refusal.message),
            }
        }
    }

    /// What the interrupted workers and checks left is the loop's own; what changes from now on is the user's.
    fn record_leftovers(&mut self) {
        let Some(workspace) = self.workspace.clone() else { return };
        let left: Vec<(LoopId, Step)> = self
            .state
            .loops
            .values()
            .filter(|run| run.is_working() && run.writes_in_the_users_tree())
            .filter_map(|run| Some((run.id(), was_at_work(run).into_iter().next()?)))
            .filter(|(id, step)| !self.state.loops[id].left_behind.contains(&step.id))
            .collect();
        for (id, step) in left {
            match restoring::left_behind(&workspace, &self.config, &self.state.loops[&id]) {
                Ok(produced) => {
                    for produced in produced {
                        self.keep(id, step.id, produced);
                    }
                }
                Err(error) => self.notice(NoticeLevel::Error, Some(id), error.to_string()),
            }
        }
    }

    /// The same for a process that only looks, while nobody drives.
    pub(super) fn mark_interrupted(&mut self) {
        let left: Vec<LoopId> =
            self.state.loops.values().filter(|run| run.is_working()).map(|run| run.id()).collect();
        for id in left {
            let run = &self.state.loops[&id];
            let detail = format!(
                "It was {} when the process that drove it ended. Resuming repeats what was under way; restoring puts back \
                 the loop's own bytes and leaves its findings open.",
                run.view.state
            );
            self.interrupted.insert(id);
            if self.setup.resume {
                self.ask_own(Asked::Resume { r#loop: id, detail });
            }
        }
    }

    pub(super) fn resume(&mut self, id: LoopId, go_on: bool) -> Result<Reply, Refusal> {
        self.can_write()?;
        if go_on {
            self.may_go_on(id)?;
        }
        self.answered = Some(id);
        self.interrupted.remove(&id);
        self.write(Entry::Resumed { r#loop: id });
        let run = &self.state.loops[&id];
        let outstanding: Vec<Step> = run
            .view
            .outstanding
            .iter()
            .filter(|step| !matches!(step.action, Action::Ask(_)))
            .cloned()
            .collect();
        let at_work = was_at_work(run);
        let mut undone = String::new();
        if let Some(first) = at_work.first().cloned()
            && let Some(workspace) = self.workspace.clone()
        {
            // Whatever the interrupted worker or check left is set aside as objects before it is undone.
            let run = &self.state.loops[&id];
            let produced = if run.writes_in_the_users_tree() {
                restoring::interrupted(&workspace, &self.config, run)
            } else {
                restoring::interrupted_in_worktree(&workspace, &self.config, run)
            }
            .map_err(|error| Refusal { kind: RefusalKind::Environment, message: error.to_string() })?;
            for produced in produced {
                if let Produced::Note(note) = &produced {
                    undone.push_str("; ");
                    undone.push_str(note);
                }
                self.keep(id, first.id, produced);
            }
        }
        if !go_on {
            self.feed(id, Event::Cancelled);
            return done(format!("loop {id} is restored and ended; its findings are open{undone}"));
        }
        for step in outstanding {
            if matches!(step.action, Action::Dispatch(_)) && at_work.iter().any(|begun| begun.id == step.id) {
                self.feed(id, Event::Interrupted { action: step.id });
            } else {
                self.start_action(id, step);
            }
        }
        done(format!("loop {id} goes on{undone}"))
    }
}

/// What was begun, not ended, and may have written into the tree by programs of others.
fn was_at_work(run: &LoopRun) -> Vec<Step> {
    let writes = |step: &&Step| match step.action {
        Action::Dispatch(_) => true,
        Action::RunChecks { .. } => run.writes_in_the_users_tree(),
        _ => false,
    };
    let outstanding = run.view.outstanding.iter().filter(writes);
    outstanding.filter(|step| run.begun.contains(&step.id)).cloned().collect()
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
