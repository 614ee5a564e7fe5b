//! The result of a run (DESIGN 4): one object for scripts, and the exit code.
//!
//! Pure: what the state says now about everything that was to be worked on. Nothing is said to be resolved that the ledger
//! does not call resolved.

use serde::Serialize;
use serde_json::{Map, Value};

use crate::config::Protocol;
use crate::protocol::{EndedHow, Settled};

use super::api::FindingView;
use super::driver::Driver;
use super::inbox::Listing;
use super::running::{LoopRun, MachineStart};
use super::status::FindingState;
use super::{view, words};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunReport {
    pub schema_version: &'static str,
    pub protocol: String,
    pub gate: Gate,
    /// Ids as given.
    pub resolved: Vec<Value>,
    pub escalated: Vec<Escalated>,
    pub deferred: Vec<Value>,
    pub demoted: Vec<Value>,
    /// Disputed: by the user, or by the checker with evidence.
    pub dropped: Vec<Value>,
    pub ignored: Vec<Ignored>,
    pub waiting: Vec<Value>,
    pub workers: Vec<Worker>,
    /// Id (as a string) → grade.
    pub evidence: Map<String, Value>,
    /// The blocks of `converge` and `rereview`, for people.
    #[serde(skip)]
    pub blocks: Vec<String>,
    #[serde(skip)]
    pub exit: u8,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Gate {
    /// `PASS`, `PASS_STANDARDS_ONLY`, `PAUSED`, `FAIL`.
    pub verdict: &'static str,
    /// In a word: `done`, `nothing_to_do`, `waiting`, `unresolved`, `cancelled`, `blocked`, `failed`, `refused`, `paused`;
    /// `stopped` where the run could not be made at all.
    pub outcome: &'static str,
    pub reason: String,
    pub review_base: Option<String>,
    pub final_head: Option<String>,
    pub open_confirmed_findings: usize,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Escalated {
    pub id: Value,
    pub attempts: Vec<Value>,
    pub evidence: Option<String>,
    pub still_broken: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ignored {
    pub id: Value,
    pub reason: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Worker {
    pub id: String,
    pub r#loop: String,
    pub role: &'static str,
    pub agent: String,
    pub model: Option<String>,
    pub round: u32,
    pub seconds: f64,
    pub cost_usd: Option<f64>,
    pub tokens: Option<u64>,
    pub outcome: String,
}

impl RunReport {
    fn empty(protocol: &str) -> RunReport {
        RunReport {
            schema_version: "v1",
            protocol: protocol.to_owned(),
            gate: Gate {
                verdict: "PASS",
                outcome: "done",
                reason: String::new(),
                review_base: None,
                final_head: None,
                open_confirmed_findings: 0,
            },
            resolved: Vec::new(),
            escalated: Vec::new(),
            deferred: Vec::new(),
            demoted: Vec::new(),
            dropped: Vec::new(),
            ignored: Vec::new(),
            waiting: Vec::new(),
            workers: Vec::new(),
            evidence: Map::new(),
            blocks: Vec::new(),
            exit: 0,
        }
    }

    /// A run that could not be made: unreadable input, or the environment. `exit` is the caller's.
    pub fn stopped(protocol: Protocol, why: &str) -> RunReport {
        let mut report = RunReport::empty(protocol.as_str());
        (report.gate.verdict, report.gate.outcome) = ("FAIL", "stopped");
        report.gate.reason = why.to_owned();
        report
    }

    /// `only`: the findings that the run was told to work on; the others are listed as ignored.
    pub(super) fn of(driver: &Driver, only: &[String]) -> RunReport {
        let findings = view::findings(driver);
        let mut report = RunReport::empty(protocol(driver));
        let mut refused = 0;
        let mut workable = 0;
        for finding in &findings {
            let named = |name: &String| {
                *name == finding.detail.fingerprint || *name == words::id_text(&finding.detail.id)
            };
            if !only.is_empty() && !only.iter().any(named) {
                let reason = match finding.detail.state {
                    FindingState::Ignored => finding.standing.clone(),
                    _ => format!("not named by --only ({})", finding.standing),
                };
                report.ignored.push(Ignored { id: finding.detail.id.clone(), reason });
                continue;
            }
            let listing = driver.inbox.listing(&finding.detail.fingerprint);
            if matches!(listing, Some(Listing::Refused(_))) {
                refused += 1;
            }
            if !matches!(finding.detail.state, FindingState::Ignored) {
                workable += 1;
            }
            report.place(driver, finding);
        }
        for (id, reason) in driver.inbox.duplicates() {
            report.ignored.push(Ignored { id, reason: format!("ignored: {reason}") });
        }
        let mut blocks: Vec<(bool, String)> = Vec::new();
        for run in driver.state.loops.values().filter(|run| !driver.ended_before.contains(&run.id())) {
            report.workers.extend(run.traces.workers.iter().map(|worker| Worker {
                id: format!("{}.w{}", run.id(), worker.worker.0),
                r#loop: run.id().to_string(),
                role: super::roster::role_name(worker.role),
                agent: worker.agent.clone(),
                model: worker.model.clone(),
                round: worker.round,
                seconds: worker.seconds,
                cost_usd: worker.cost_usd,
                tokens: worker.tokens,
                outcome: worker.outcome.clone().unwrap_or_else(|| "interrupted".into()),
            }));
            let is_subject = subject(driver).is_some_and(|subject| subject.id() == run.id());
            let block = run.view.finished.as_ref().and_then(|ending| ending.block.clone());
            if let Some(block) = block.or_else(|| run.paused_gate().map(|gate| gate.text())) {
                blocks.push((is_subject, block));
            }
        }
        // The loop that this is about has the last word.
        blocks.sort_by_key(|(is_subject, _)| *is_subject);
        report.blocks = blocks.into_iter().map(|(_, block)| block).collect();
        report.judge(driver, refused, workable);
        report
    }

    fn place(&mut self, driver: &Driver, finding: &FindingView) {
        let id = finding.detail.id.clone();
        let last = driver.state.last_loop(&finding.detail.fingerprint);
        match finding.detail.state {
            FindingState::Resolved => {
                if let Some(grade) = finding.detail.evidence {
                    self.evidence.insert(words::id_text(&id), words::grade_in_words(grade).into());
                }
                self.resolved.push(id);
            }
            FindingState::Demoted => self.demoted.push(id),
            FindingState::Disputed => self.dropped.push(id),
            FindingState::Ignored => self.ignored.push(Ignored { id, reason: finding.standing.clone() }),
            FindingState::Deferred => {
                // A deferral by the escalation was an escalation first: what was tried is worth showing.
                if let Some(run) = last.filter(|run| !run.traces.attempts.is_empty()) {
                    self.escalated.push(escalated(finding, run));
                }
                self.deferred.push(id);
            }
            FindingState::Waiting => {
                if let Some(run) = last.filter(|run| {
                    run.open_question()
                        .is_some_and(|open| open.kind == crate::protocol::QuestionKind::Escalation)
                }) {
                    self.escalated.push(escalated(finding, run));
                }
                self.waiting.push(id);
            }
            FindingState::Fixing | FindingState::Verifying => self.waiting.push(id),
            FindingState::Open | FindingState::Stale | FindingState::Manual => {
                if let Some(run) = last {
                    self.escalated.push(escalated(finding, run));
                }
            }
        }
        if matches!(
            finding.detail.state,
            FindingState::Open
                | FindingState::Stale
                | FindingState::Manual
                | FindingState::Waiting
                | FindingState::Fixing
                | FindingState::Verifying
                | FindingState::Deferred
        ) {
            self.gate.open_confirmed_findings += 1;
        }
    }

    fn judge(&mut self, driver: &Driver, refused: usize, workable: usize) {
        let open = self.gate.open_confirmed_findings;
        let gate = &mut self.gate;
        // The gate of `converge` is its machine's own.
        let converge = subject(driver);
        let rereview = driver
            .state
            .loops
            .values()
            .rev()
            .filter(|run| matches!(run.opened.start, MachineStart::Rereview(_)))
            // The user let another loop go on with it: that one says how it ended.
            .filter(|run| driver.state.follower(run.id()).is_none())
            .filter_map(|run| run.view.finished.as_ref())
            .find(|ending| matches!(ending.how, EndedHow::Blocked | EndedHow::Failed));
        if let Some(run) = converge.filter(|_| protocol(driver) == "converge") {
            if let Some(managed) = &run.traces.managed {
                gate.review_base = Some(managed.review_base.clone());
                gate.final_head = Some(managed.head.clone());
            }
            match run.view.finished.as_ref().map(|ending| (ending.how, ending.reason.clone())) {
                Some((EndedHow::Pass, reason)) => {
                    (gate.verdict, gate.outcome, gate.reason) = ("PASS", "done", reason)
                }
                Some((EndedHow::PassStandardsOnly, reason)) => {
                    (gate.verdict, gate.outcome, gate.reason) = ("PASS_STANDARDS_ONLY", "done", reason)
                }
                Some((EndedHow::Cancelled, reason)) => {
                    (gate.verdict, gate.outcome, gate.reason) = ("PAUSED", "cancelled", reason)
                }
                Some((_, reason)) => (gate.verdict, gate.outcome, gate.reason) = ("PAUSED", "paused", reason),
                None => {
                    let reason =
                        run.open_question().map_or_else(|| "at work".into(), |open| open.text.clone());
                    (gate.verdict, gate.outcome, gate.reason) = ("PAUSED", "paused", reason)
                }
            }
            // The machine counts root causes, regressions of the fix included; its own block says how many.
            let block = run.view.finished.as_ref().and_then(|ending| ending.block.as_deref());
            let told = block.and_then(crate::protocol::converge::parse_gate).or(run.paused_gate());
            if let Some(told) = told {
                gate.open_confirmed_findings = told.open_confirmed_findings as usize;
            }
            self.exit = u8::from(gate.verdict == "PAUSED" || refused > 0);
            return;
        }
        if let Some(ending) = rereview.filter(|_| open > 0 && self.waiting.is_empty()) {
            gate.outcome = if ending.how == EndedHow::Blocked { "blocked" } else { "failed" };
            gate.verdict = "FAIL";
            gate.reason = ending.reason.clone();
        } else if !self.waiting.is_empty() {
            (gate.verdict, gate.outcome) = ("PAUSED", "waiting");
            gate.reason = match self.waiting.len() {
                1 => "1 finding waits for an answer".into(),
                many => format!("{many} findings wait for an answer"),
            };
        } else if open > 0 {
            (gate.verdict, gate.outcome) = ("FAIL", "unresolved");
            gate.reason = format!("{open} of {workable} confirmed findings are not resolved");
        } else if refused > 0 {
            (gate.verdict, gate.outcome) = ("FAIL", "refused");
            gate.reason = format!("{refused} confirmed P0/P1 findings were refused; see `ignored`");
        } else if workable == 0 {
            (gate.verdict, gate.outcome) = ("PASS", "nothing_to_do");
            gate.reason = "there is no confirmed P0/P1 finding to work on".into();
        } else {
            (gate.verdict, gate.outcome) = ("PASS", "done");
            gate.reason = format!("{} resolved, {} demoted", self.resolved.len(), self.demoted.len());
        }
        // A run of `rereview` that is over ends with one of three words.
        if protocol(driver) == "rereview" {
            gate.outcome = match gate.outcome {
                "nothing_to_do" => "done",
                "unresolved" | "refused" => "failed",
                other => other,
            };
        }
        self.exit = u8::from(gate.verdict != "PASS" || refused > 0);
        gate.final_head = driver.workspace.as_ref().and_then(|workspace| workspace.head_id());
        gate.review_base = driver.inbox.review_base();
    }
}

/// The converging loop that the report is about: the one that was answered, else the newest one of this branch that this
/// process had to do with.
fn subject(driver: &Driver) -> Option<&LoopRun> {
    let converging = || driver.state.loops.values().rev().filter(|run| !run.writes_in_the_users_tree());
    let ours = || converging().filter(|run| !driver.ended_before.contains(&run.id()));
    let branch = driver.workspace.as_ref().and_then(|workspace| workspace.branch());
    let is_here =
        |run: &&LoopRun| run.traces.managed.as_ref().is_none_or(|managed| managed.users_branch == branch);
    ours()
        .find(|run| driver.answered == Some(run.id()))
        .or_else(|| ours().find(is_here))
        .or_else(|| ours().next())
        .or_else(|| converging().next())
}

/// The protocol that the report is about: an answer goes on with the loop that asked, whatever the configuration says.
fn protocol(driver: &Driver) -> &'static str {
    let answered = driver.answered.and_then(|id| driver.state.loops.get(&id));
    answered.map_or_else(|| driver.protocol().as_str(), |run| run.opened.start.protocol())
}

fn escalated(finding: &FindingView, run: &LoopRun) -> Escalated {
    let still_broken = match run.traces.settled.get(&Driver::key(&finding.detail.fingerprint)) {
        Some(Settled::Manual { still_broken }) => still_broken.clone(),
        Some(Settled::Open { why }) => why.clone(),
        Some(Settled::Deferred { reason }) => reason.clone(),
        _ => run.open_question().map_or_else(|| finding.standing.clone(), |open| open.detail.clone()),
    };
    Escalated {
        id: finding.detail.id.clone(),
        attempts: run
            .traces
            .attempts
            .iter()
            .map(|attempt| serde_json::to_value(attempt).expect("attempts are plain data"))
            .collect(),
        evidence: finding.detail.evidence.map(|grade| words::grade_in_words(grade).to_owned()),
        still_broken,
    }
}
