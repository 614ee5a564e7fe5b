//! Opening loops, and what has to be asked before one may start or go on.
//!
//! Owns when a loop is opened and with what, and when a question of `own_questions` stands in its way.

use std::collections::BTreeSet;

use crate::config::Protocol;
use crate::protocol::{Action, EndedHow, FindingKey, Step};

use super::api::{FindingView, NoticeLevel, Refusal, RefusalKind, Reply};
use super::commands::{done, refuse};
use super::driver::Driver;
use super::ledger::{Entry, LoopFinding, LoopId, Opened};
use super::own_questions::{Asked, OwnQuestion};
use super::running::MachineStart;
use super::status::FindingState;
use super::{batch, checking, starting, view, words};
use crate::workspace::RepoPath;

impl Driver {
    fn next_serial(&self) -> u32 {
        self.own_questions.iter().map(|question| question.serial).max().unwrap_or(0).max(self.asked_before)
            + 1
    }

    pub(super) fn ask_own(&mut self, asked: Asked) {
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
        let files: BTreeSet<String> = run
            .opened
            .findings
            .iter()
            .flat_map(|finding| finding.finding.file.iter().chain(&finding.finding.related_files))
            .cloned()
            .collect();
        self.ask_about_unsaved(id, files.into_iter())
    }

    /// The same before each dispatch of a worker that may edit: its scope may be wider by now, and the user types on.
    pub(super) fn waits_with(&mut self, id: LoopId, step: &Step) -> bool {
        let Action::Dispatch(dispatch) = &step.action else { return false };
        if !dispatch.role.may_edit()
            || self.buffers.is_accepted_for(id)
            || !self.state.loops[&id].writes_in_the_users_tree()
        {
            return false;
        }
        self.ask_about_unsaved(id, dispatch.scope.iter().cloned())
    }

    fn ask_about_unsaved(&mut self, id: LoopId, files: impl Iterator<Item = String>) -> bool {
        let dirty: Vec<String> = files.filter(|file| self.buffers.is_dirty(file)).collect();
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
}

fn count(number: usize, what: &str) -> String {
    if number == 1 { format!("1 {what}") } else { format!("{number} {what}s") }
}
