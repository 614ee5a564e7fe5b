//! The Fix Loop (`bounded`): two rounds per finding, checks first, then a verifier, then the user.
//!
//! Owns the rules of DESIGN 6, common and `bounded`, for one batch. Must never do I/O, read a clock, or believe a worker
//! about its own effect: the guard, the checks and the verifier say what happened, and the engine carries out what is
//! decided here. The words of questions are in [`asking`], the judgement of an attempt in [`fixing`] and [`verifying`].
//!
//! One action is awaited at a time. In short:
//!
//! ```text
//! checkpoint → checks before → fixer → guard → stage → checkpoint → checks after → (verifier) → resolved
//!                                ↑                                                      │ persists, or something new
//!                                └───────────────── round 2 ────────────────────────────┴→ escalation question
//! ```

mod asking;
mod cause;
mod ending;
mod fixing;
mod holding;
mod input;
mod taking;
mod verifying;
pub mod world;

#[cfg(test)]
mod tests;

use std::{collections::BTreeSet, sync::Arc};

use holding::{Held, Regression, TreeFacts, Trying};
pub use input::{AlwaysAllowed, BoundedInput, EvidenceNeeded, LoopKind};

use super::docket::Docket;
use super::{
    Action, Attempt, Dispatch, Ending, FindingKey, Focus, Path, QuestionKind, RestorePoint, Role, Standing,
    Tier, Told, TreeId, Weakened, When,
};

/// Rounds of a loop (rule 1).
const ROUNDS: u32 = 2;
/// Questions about scope in one round (rule 6), and, apart from them, extensions that need no question.
const SCOPE_QUESTIONS: u32 = 2;
/// Automatic retries in one round before a question stays open (rule 4).
const AUTOMATIC_RETRIES: u32 = 2;

/// The machine. See [`Machine`] for how to drive it.
#[derive(Clone, Debug)]
pub struct Bounded {
    input: Arc<BoundedInput>,
    phase: Phase,
    /// One action is awaited at a time.
    docket: Docket,
    round: u32,
    scope: BTreeSet<Path>,
    /// Files that the user was asked about, whatever the answer was.
    asked: BTreeSet<Path>,
    scope_questions: u32,
    quiet_extensions: u32,
    automatic_retries: u32,
    /// Whether any checkpoint exists, and whether the latest still is what the tree looks like.
    protected: bool,
    fresh: bool,
    /// Whether the verifier has judged the present tree.
    verifier_spoke: bool,
    facts: TreeFacts,
    at_checkpoint: TreeFacts,
    /// The tree after the batch's last resolution.
    kept: TreeFacts,
    seen: Vec<TreeId>,
    accepted_edits: BTreeSet<Weakened>,
    trying: Option<Trying>,
    attempts: Vec<Attempt>,
    told: Vec<Told>,
    findings: Vec<Held>,
    regressions: Vec<Regression>,
    /// Why the loop cannot go on by itself, for the escalation question.
    stopped: String,
    diagnosed: bool,
    cause: Option<String>,
    /// What the engine infers a cause from, where no diagnoser named one.
    sign: cause::Sign,
    /// As the escalation question named it.
    cause_asked: Option<String>,
}

/// What the machine is doing.
#[derive(Clone, Debug)]
enum Phase {
    Fresh,
    Checkpointing(Then),
    CheckingBefore,
    Working(Role),
    PuttingBack(BTreeSet<Path>),
    Staging,
    /// *Manual fix* keeps the attempt staged.
    StagingForUser,
    CheckingAfter,
    Restoring {
        to: RestorePoint,
        then: Then,
    },
    Asking(Asked),
    Cancelling,
    Finished(Ending),
}

/// What follows an action that can stand before several things.
#[derive(Clone, Debug)]
enum Then {
    CheckBefore,
    Fix,
    Verify,
    Judge(Vec<FindingKey>),
    Decide,
    NextRound,
    Diagnose,
    FailRound { outcome: String },
    Escalate { why: String },
    AskEscalation,
    AskScope { files: BTreeSet<Path>, justification: String },
    AskInconclusive(Unsure),
    AskBreach(Vec<String>),
    EndDeferred { reason: String },
    EndDifferently { hint: Option<String> },
    EndOpen { why: String },
}

/// Something that could not be judged, and what *Retry verification* does about it.
#[derive(Clone, Debug)]
struct Unsure {
    findings: Vec<FindingKey>,
    what: String,
    detail: String,
    /// Whether there is an unjudged fix that the user can accept.
    acceptable: bool,
    retry: Retry,
}

#[derive(Clone, Debug)]
enum Retry {
    Fixer,
    Checks,
    /// These findings are judged again.
    Verifier(Vec<FindingKey>),
    /// An action could not be carried out: the same again.
    Again(Box<Phase>, Box<Action>),
}

/// The question that is open.
#[derive(Clone, Debug)]
enum Asked {
    /// No finding names a file.
    FirstScope,
    /// A fixer asks before it edits.
    MoreScope {
        files: BTreeSet<Path>,
    },
    /// A fixer has edited outside; the guard set that aside. `allowed` never needed asking.
    SetAside {
        files: BTreeSet<Path>,
        allowed: BTreeSet<Path>,
    },
    Inconclusive(Unsure),
    WeakenedTests,
    Breach,
    Conflict,
    RestoreFailed {
        to: RestorePoint,
        then: Box<Then>,
    },
    Escalation,
}

impl Bounded {
    pub fn new(input: BoundedInput) -> Bounded {
        let mut scope = input.scope.clone();
        if scope.is_empty() {
            scope = input.subjects.iter().flat_map(|subject| subject.files.iter().cloned()).collect();
        }
        Bounded {
            findings: input.subjects.iter().map(Held::new).collect(),
            attempts: input.inherited.attempts.clone(),
            told: input.inherited.answers.clone(),
            seen: input.inherited.seen.clone(),
            phase: Phase::Fresh,
            docket: Docket::new(input.budget),
            round: 1,
            scope,
            asked: BTreeSet::new(),
            scope_questions: 0,
            quiet_extensions: 0,
            automatic_retries: 0,
            protected: false,
            fresh: false,
            verifier_spoke: false,
            facts: TreeFacts::default(),
            at_checkpoint: TreeFacts::default(),
            kept: TreeFacts::default(),
            accepted_edits: BTreeSet::new(),
            trying: None,
            regressions: Vec::new(),
            stopped: String::new(),
            diagnosed: false,
            sign: cause::Sign::default(),
            cause_asked: None,
            cause: None,
            input: Arc::new(input),
        }
    }

    /// Goes on with `then`, taking a checkpoint first where it needs one that the latest no longer is.
    fn go(&mut self, then: Then) {
        let guarded =
            matches!(then, Then::CheckBefore | Then::Fix | Then::Verify | Then::Judge(_) | Then::Diagnose);
        if guarded && !self.fresh {
            self.phase = Phase::Checkpointing(then);
            return self.docket.give(Action::Checkpoint);
        }
        match then {
            Then::CheckBefore => {
                self.phase = Phase::CheckingBefore;
                let findings = self.findings.iter().map(|held| held.key.clone()).collect();
                self.docket.give(Action::RunChecks { when: When::Before, findings });
            }
            Then::Fix => self.dispatch_fixer(),
            Then::Verify => self.run_checks(),
            Then::Judge(findings) => self.dispatch_verifier(findings),
            Then::Diagnose => self.dispatch_diagnoser(),
            Then::Decide => self.decide(),
            Then::NextRound => self.next_round(),
            Then::FailRound { outcome } => self.fail_round(outcome),
            Then::Escalate { why } => self.escalate(why),
            Then::AskEscalation => self.ask_escalation(),
            Then::AskScope { files, justification } => self.ask_more_scope(files, &justification),
            Then::AskInconclusive(unsure) => self.ask_inconclusive(unsure),
            Then::AskBreach(what) => self.ask_breach(&what),
            Then::EndDeferred { reason } => self.end_deferred(&reason),
            Then::EndDifferently { hint } => self.end_differently(hint),
            Then::EndOpen { why } => self.end_open(why),
        }
    }

    /// Restores, then goes on. Before the first checkpoint nothing was changed, so there is nothing to restore.
    fn restore(&mut self, to: RestorePoint, then: Then) {
        if !self.protected {
            return self.go(then);
        }
        self.fresh = false;
        self.phase = Phase::Restoring { to, then };
        self.docket.give(Action::Restore { to });
    }

    /// Starts a worker, or says that the budget is spent (rule 1). The checkpoint before it has just been taken.
    fn dispatch(&mut self, role: Role, findings: Vec<FindingKey>, focus: Focus, with_diff: bool) {
        if let Some(spent) = self.docket.over_budget(1) {
            let before = match role {
                Role::Fixer => format!("round {} could begin", self.round),
                _ => format!("round {} was verified", self.round),
            };
            self.sign = cause::Sign::Budget;
            let why = format!("The budget of {spent} was spent before {before}.");
            return self.escalate(why);
        }
        let worker = self.docket.next_worker();
        self.fresh = false;
        self.phase = Phase::Working(role);
        let tier = if self.scope.len() > 1 { Tier::CrossFile } else { Tier::Scoped };
        // A role that may only read has no path that it may change.
        let scope = if role.may_edit() { self.scope.clone() } else { BTreeSet::new() };
        self.docket.give(Action::Dispatch(Dispatch {
            worker,
            role,
            round: self.round,
            tier,
            findings,
            scope,
            previous: self.attempts.clone(),
            with_diff,
            answers: self.told.clone(),
            focus,
        }));
    }
}

impl Bounded {
    fn rounds(&self) -> u32 {
        match self.input.kind {
            LoopKind::Fix if self.input.second_round => ROUNDS,
            _ => 1,
        }
    }

    fn state_and_standing(&self) -> (&'static str, Standing) {
        match &self.phase {
            Phase::Fresh => ("new", Standing::Working),
            Phase::Checkpointing(_) => ("checkpointing", Standing::Working),
            Phase::CheckingBefore => ("checking before", Standing::Working),
            Phase::Working(Role::Fixer) => ("fixing", Standing::Working),
            Phase::Working(Role::Diagnoser) => ("diagnosing", Standing::Working),
            Phase::Working(_) => ("verifying", Standing::Verifying),
            Phase::PuttingBack(_) => ("putting back", Standing::Working),
            Phase::Staging | Phase::StagingForUser => ("staging", Standing::Verifying),
            Phase::CheckingAfter => ("checking", Standing::Verifying),
            Phase::Restoring { .. } => ("restoring", Standing::Working),
            Phase::Asking(asked) => {
                let state = match asked {
                    Asked::FirstScope | Asked::MoreScope { .. } | Asked::SetAside { .. } => "waiting: scope",
                    Asked::Inconclusive(_) => "waiting: inconclusive",
                    Asked::WeakenedTests | Asked::Breach => "waiting: breach",
                    Asked::Conflict | Asked::RestoreFailed { .. } => "waiting: conflict",
                    Asked::Escalation => "waiting: escalation",
                };
                (state, Standing::Waiting)
            }
            Phase::Cancelling => ("cancelling", Standing::Working),
            Phase::Finished(_) => ("finished", Standing::Working),
        }
    }
}
