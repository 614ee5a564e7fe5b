//! The words in which a machine and the engine talk: events in, actions out.
//!
//! The same events and actions carry all three protocols. A machine numbers every action that it gives out; the event
//! that answers an action names that number, so a late or repeated answer can be told from the awaited one. Nothing here
//! does anything: the engine is the only interpreter, and a fold over the events gives a machine's state back.
//!
//! Paths are the repository's own (`/`-separated, relative to its root). Times are milliseconds of the engine's clock.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Identity of a finding inside the protocols: its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FindingKey(pub String);

/// A path of the repository, as the workspace spells it.
pub type Path = String;

/// Number of an action in its loop, from 1, in the order given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ActionId(pub u32);

/// Number of a subagent in its loop, from 1. Every dispatch has a new one: workers are never reused (DESIGN 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerId(pub u32);

/// Number of a question in its loop, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionNumber(pub u32);

/// Content identity of a whole work tree state: equal ids mean equal bytes (oscillation, rule 5).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreeId(pub String);

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Fixer,
    Verifier,
    Reviewer,
    Checker,
    Closer,
    Recoverer,
    Diagnoser,
    FinalGate,
}

impl Role {
    /// Roles that may change the tree; every other role's change is undone and voids its result (rule 3).
    pub fn may_edit(self) -> bool {
        matches!(self, Role::Fixer | Role::Recoverer)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    P0,
    P1,
    P2,
    P3,
}

impl Severity {
    pub fn blocks(self) -> bool {
        matches!(self, Severity::P0 | Severity::P1)
    }
}

/// How well a resolution is supported (DESIGN 7.4), weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    Touched,
    Accepted,
    Verified,
    Pattern,
    Proven,
}

/// What a loop is about: one finding of its batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub key: FindingKey,
    pub severity: Severity,
    /// `file` and `related_files`; empty when the finding names none.
    pub files: BTreeSet<Path>,
}

/// Limits of one loop, checked before every dispatch (rule 1). `None` and 0 mean no limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    pub workers: u32,
    pub minutes: u32,
    pub cost_usd: Option<f64>,
}

/// What a worker cost, as far as it said so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    pub cost_usd: Option<f64>,
    pub tokens: Option<u64>,
}

// ---------------------------------------------------------------- actions

/// An action with the number under which its answer comes back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Step {
    pub id: ActionId,
    pub action: Action,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Action {
    /// Record the exact state before a dispatch. Answer: `Checkpointed` or `ActionFailed`.
    Checkpoint,
    /// Start one subagent. Answer: `Reported`, `WorkerFailed` or `Interrupted`.
    /// A checkpoint of this loop always exists before.
    Dispatch(Dispatch),
    /// Run the checks that belong to `findings`. Answer: `Checked` or `ActionFailed`.
    RunChecks { when: When, findings: Vec<FindingKey> },
    /// Stage exactly what this loop changed since its start. Answer: `Staged`, `StageRefused` or `ActionFailed`.
    Stage,
    /// Bring the loop's own bytes (tree and index) back to a recorded state. Answer: `Restored` or `ActionFailed`.
    Restore { to: RestorePoint },
    /// Put those changes of the latest worker that the guard set aside back into the tree, for these paths only (scope
    /// approved; the others stay set aside). Answer: `Changed`, with everything since the latest checkpoint, or
    /// `ActionFailed`.
    PutBack { paths: BTreeSet<Path> },
    /// Ask the user. Answer: `Answered`. The question stays open until then; the machine waits.
    Ask(Question),
    /// The question is settled otherwise; no answer follows.
    Withdraw { question: QuestionNumber },
    /// Write something into the ledger for people and reports; no answer follows.
    Record(Record),
    /// `converge`: pin the base, make the managed worktree, snapshot spec and standards, run validation at the base.
    /// Answer: `Prepared` or `ActionFailed`.
    Prepare,
    /// `converge`: look at the worktree in git and rerun validation. Answer: `Inspected` or `ActionFailed`.
    Inspect { claimed_head: Option<String>, validate: bool },
    /// The loop is over; no answer follows and nothing comes after it.
    Finish(Ending),
}

impl Action {
    /// Whether the machine waits for an answer to this action.
    pub fn is_answered(&self) -> bool {
        !matches!(self, Action::Withdraw { .. } | Action::Record(_) | Action::Finish(_))
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// On the tree as the loop found it (or, in `converge`, at the base).
    Before,
    After,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RestorePoint {
    /// The loop's first checkpoint: before its first check and dispatch.
    Start,
    /// After the batch's last resolution: the first checkpoint after the latest `Settled` record that says `Resolved` or
    /// `Demoted`; equals `Start` when there is none.
    LastResolution,
    /// The latest checkpoint: what the worker or the checks did since is undone.
    BeforeWorker,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Dispatch {
    pub worker: WorkerId,
    pub role: Role,
    /// From 1.
    pub round: u32,
    pub tier: Tier,
    /// What the worker is asked about, in the order of the brief's ids 1…n.
    pub findings: Vec<FindingKey>,
    /// The paths that it may change.
    pub scope: BTreeSet<Path>,
    /// What was tried before, in this loop and in those it follows.
    pub previous: Vec<Attempt>,
    /// Whether the brief shows the exact diff of this loop.
    pub with_diff: bool,
    /// What the user answered so far.
    pub answers: Vec<Told>,
    pub focus: Focus,
}

/// What, beyond its role, a worker is asked for.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Focus {
    /// The role's ordinary work.
    Ordinary,
    /// `converge`: review along one axis.
    Axis(Axis),
    /// `bounded`: judge round 1's diff only. `rereview`: the diagnosis before the first attempt.
    FirstLook,
    /// `bounded`: only name the cause for the escalation text. `rereview`: the diagnosis after an attempt.
    Diagnosis,
    /// `rereview`: the corrective route says what to supply (missing context, clarified question).
    Supplied(String),
    /// `rereview`: simplify without changing behaviour; earlier evidence is void afterwards.
    Simplify,
    /// *Verify my fix*: the user fixed it; nobody else did.
    UsersFix,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Axis {
    Standards,
    Spec,
}

/// Which model setting of the role is used (DESIGN 10).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Tier {
    /// One file.
    Scoped,
    /// Several files.
    CrossFile,
    /// The n-th step of the configured ladder, from 1.
    Raised(u32),
}

/// One earlier attempt, for the next brief and for the escalation text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Attempt {
    pub round: u32,
    pub worker: WorkerId,
    pub summary: String,
    pub files_changed: Vec<Path>,
    /// Why it did not suffice, in a sentence; for a good one, what resolved it.
    pub outcome: String,
    /// Names of checks or tests that still fail.
    pub failing: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Told {
    pub question: String,
    pub choice: String,
}

// ---------------------------------------------------------------- questions

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum QuestionKind {
    Inconclusive,
    Scope,
    Escalation,
    Conflict,
    DirtyBuffer,
    Breach,
    Resume,
    Trust,
    StandardsOnly,
    Pause,
    Appeal,
    ModelRaise,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Question {
    pub number: QuestionNumber,
    pub kind: QuestionKind,
    pub findings: Vec<FindingKey>,
    /// One sentence.
    pub text: String,
    /// Everything needed to decide: justification, files, what was tried, what is still broken and why.
    pub detail: String,
    pub options: Vec<Choice>,
    pub recommended: Choice,
}

/// Every answer that some question offers. The words are fixed (DESIGN 6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Choice {
    RetryVerification,
    AcceptWithoutVerification,
    RevertAndEscalate,
    ApproveScope,
    RejectScope,
    Defer,
    ManualFix,
    TryDifferentApproach,
    /// Breach, conflict: keep the tree as it is and end the loop with the finding open.
    KeepAndStop,
    /// Breach, conflict, resume: restore the loop's own bytes and end the loop.
    RestoreAndStop,
    /// Resume: go on where the loop was interrupted.
    ResumeLoop,
    /// Conflict: try to stage again after the user has changed the index or the tree.
    TryAgain,
    /// Conflict: leave the fix in the tree, unstaged, and go on.
    LeaveUnstaged,
    /// Weakened test: the user accepts the edit of the test as part of the fix.
    AcceptTestEdit,
    /// Standards-only review approved, or pause lifted, or the raise, or the appeal upheld.
    Yes,
    No,
    /// Pause: end here; the gate says PAUSED.
    StayPaused,
}

impl Choice {
    /// The option's words, as shown to people and taken by `answer`.
    pub fn words(self) -> &'static str {
        match self {
            Choice::RetryVerification => "Retry verification",
            Choice::AcceptWithoutVerification => "Accept fix without verification",
            Choice::RevertAndEscalate => "Revert and escalate",
            Choice::ApproveScope => "Approve expanded scope",
            Choice::RejectScope => "Reject — fix within original scope only",
            Choice::Defer => "Defer this finding",
            Choice::ManualFix => "Manual fix",
            Choice::TryDifferentApproach => "Try a different approach",
            Choice::KeepAndStop => "Keep the tree as it is and stop",
            Choice::RestoreAndStop => "Restore and stop",
            Choice::ResumeLoop => "Resume the loop",
            Choice::TryAgain => "Try again",
            Choice::LeaveUnstaged => "Leave the fix unstaged",
            Choice::AcceptTestEdit => "Accept the edit of the test",
            Choice::Yes => "Yes",
            Choice::No => "No",
            Choice::StayPaused => "Stay paused",
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AnsweredBy {
    User,
    /// `--answer recommended`. Bounded by the machine: at most two automatic retries (rule 4).
    Automatic,
}

// ---------------------------------------------------------------- events

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The first event of every loop.
    Started,
    Checkpointed {
        action: ActionId,
        tree: TreeId,
    },
    /// A worker gave a valid report. What it says of its effect is not believed: `changes` is what the guard saw.
    Reported {
        action: ActionId,
        report: Report,
        changes: Changes,
        spent: Spent,
    },
    /// A worker ended without a valid report (after the follow-up, where its agent takes one).
    WorkerFailed {
        action: ActionId,
        failure: WorkerFailure,
        changes: Changes,
        spent: Spent,
    },
    /// After a restart: the dispatch was begun and never ended. The engine has already undone what it did.
    Interrupted {
        action: ActionId,
    },
    Checked {
        action: ActionId,
        checked: Checked,
        changes: Changes,
    },
    Staged {
        action: ActionId,
    },
    /// Nothing was staged. `conflict`: the user can settle it (a line that both changed); else it can't be staged at all.
    StageRefused {
        action: ActionId,
        reason: String,
        conflict: bool,
    },
    Restored {
        action: ActionId,
        /// Paths that the user changed meanwhile; they stay as they are.
        left_alone: Vec<Path>,
    },
    /// The changes set aside are back in the tree.
    Changed {
        action: ActionId,
        changes: Changes,
    },
    Prepared {
        action: ActionId,
        prepared: Prepared,
    },
    Inspected {
        action: ActionId,
        inspected: Inspected,
    },
    Answered {
        question: QuestionNumber,
        choice: Choice,
        by: AnsweredBy,
        /// Free text of the user, for questions that take one (a clarified spec, a reason).
        text: Option<String>,
    },
    /// The action could not be carried out (disk full, lock held, git refused). Never a failed attempt (rule 4).
    ActionFailed {
        action: ActionId,
        reason: String,
    },
    Cancelled,
}

/// What the scope guard saw since the checkpoint (DESIGN 7.2). Out-of-scope changes are already set aside and restored,
/// index entries that a worker staged already taken back.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Changes {
    /// In scope and the loop's own; sorted. In `converge`, committed or not.
    pub in_scope: Vec<Path>,
    /// Set aside as objects; sorted. In `converge` nothing is set aside: these are committed paths, which
    /// `Restore { to: BeforeWorker }` takes back with the commit.
    pub out_of_scope: Vec<Path>,
    /// Unified diff of the set-aside changes, bounded.
    pub out_of_scope_diff: String,
    /// HEAD, branch, stash or tags moved, reset, encoding damage …: one sentence each. Empty means none.
    pub breaches: Vec<String>,
    /// Refs, ignored files, index entries: told to the user, nothing more.
    pub notes: Vec<String>,
    /// Identity of the tree after the guard; `None` when nothing could be observed.
    pub tree: Option<TreeId>,
    /// Tests that the loop's whole diff weakens so far.
    pub weakened: Vec<Weakened>,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Weakened {
    pub path: Path,
    pub line: Option<u32>,
    pub what: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Report {
    Fixer(FixerReport),
    NeedsScope(ScopeRequest),
    /// Verifier: one judgement per finding of the brief, plus what is new.
    Judged(Judged),
    /// `converge` reviewer: the findings of its own axis.
    AxisReviewed {
        axis: Axis,
        findings: Vec<NewFinding>,
        footer: Footer,
    },
    /// `converge` checker.
    Consolidated {
        roots: Vec<RootCause>,
        footer: Footer,
    },
    /// `converge` closer.
    Closed {
        states: Vec<(String, RootState, String)>,
        regressions: Vec<NewFinding>,
        footer: Footer,
    },
    /// `converge` fixer and recoverer.
    Committed {
        footer: Footer,
        summary: String,
    },
    /// `rereview` reviewer and final gate.
    Gaps(GapReview),
    Diagnosis(Diagnosis),
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FixerReport {
    pub status: FixerStatus,
    pub summary: String,
    pub concerns: Option<String>,
    pub blocked_by: Option<String>,
    /// What it says it changed; for display only.
    pub claimed: Vec<Path>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FixerStatus {
    Fixed,
    AlreadyResolved,
    Declined,
    Blocked,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ScopeRequest {
    pub files: Vec<Path>,
    pub justification: String,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judged {
    pub findings: Vec<Judgement>,
    pub new: Vec<NewFinding>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Judgement {
    pub key: FindingKey,
    pub verdict: Judging,
    pub evidence: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judging {
    /// `rejected`: no longer true.
    Gone,
    /// `confirmed`, or demoted to P0/P1.
    Persists,
    /// Demoted to P2/P3.
    Demoted,
    /// No verdict, or one without evidence: never a pass (rule 2).
    Unsaid,
}

/// A finding that a worker or a check brought up (rule 7).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct NewFinding {
    pub key: FindingKey,
    pub severity: Severity,
    pub title: String,
    pub body: String,
    pub file: Option<Path>,
    pub line: Option<u32>,
    pub evidence: String,
    pub criterion: String,
    /// The finding whose fix caused it, for `origin: regression`.
    pub caused_by: Option<FindingKey>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerFailure {
    pub class: FailureClass,
    pub message: String,
    pub advice: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// Crash, hang, garbage.
    Agent,
    Service,
    Account,
    Environment,
    /// Ended well and reported nothing valid.
    NoReport,
    OverLimit,
}

/// The outcome of the checks of each finding asked about.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Checked {
    pub findings: Vec<(FindingKey, CheckVerdict)>,
    /// Checks that passed before and fail now.
    pub regressions: Vec<NewFinding>,
    /// Failures that were there before, flaky runs of other checks: told, never blamed on the fix.
    pub notes: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CheckVerdict {
    /// Resolved as far as checks can say, this well.
    Supported { grade: Grade, why: String },
    /// The finding's own check fails as before.
    Persists { why: String, failing: Vec<String> },
    /// Could not run, timed out, was flaky, was stopped by a signal.
    Inconclusive { why: String },
    /// No check says anything of it (none exists, or the cited lines are unchanged and nothing else changed).
    Silent { why: String },
}

// ---------------------------------------------------------------- converge

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepared {
    pub review_base: String,
    pub head: String,
    pub branch: String,
    /// Where the managed worktree is, for people.
    #[serde(default)]
    pub worktree: String,
    /// Paths that differ between `review_base` and `head`: the scope of a finding that names no file.
    #[serde(default)]
    pub changed: Vec<Path>,
    pub has_spec: bool,
    pub has_standards: bool,
    pub validation: Option<Validation>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Validation {
    pub command: String,
    pub outcome: ValidationOutcome,
    /// Failing tests, or the bounded tail of the output.
    pub failing: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum ValidationOutcome {
    Pass,
    Fail,
    NotRun,
}

/// What git says of the managed worktree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Inspected {
    pub head: String,
    pub clean: bool,
    pub on_branch: bool,
    /// The base is an ancestor of head.
    pub base_is_ancestor: bool,
    /// Commits since the previous inspection (or the initial head), oldest first.
    pub new_commits: Vec<String>,
    pub tree: TreeId,
    pub validation: Option<Validation>,
    /// Failures that validation did not have at the base.
    pub new_failures: Vec<String>,
}

/// The `WORKER_RESULT` footer (DESIGN 6).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Footer {
    pub phase: String,
    pub done: bool,
    pub base: Option<String>,
    pub head: Option<String>,
    pub clean: Option<bool>,
    pub validation: ValidationOutcome,
    pub validation_command: Option<String>,
    pub blocked_by: Option<String>,
    pub open_root_causes: Option<u32>,
}

/// One consolidated root cause, under its stable `<axis>-<n>` id.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RootCause {
    pub id: String,
    pub confirmed: bool,
    /// The findings that it consolidates.
    pub from: Vec<FindingKey>,
    pub root_cause: String,
    pub evidence: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum RootState {
    Resolved,
    Open,
    ConfirmedFixRegression,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PauseKind {
    Transient,
    Decision,
}

// ---------------------------------------------------------------- rereview

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub enum GateWord {
    #[serde(rename = "SHIP")]
    Ship,
    #[serde(rename = "FIX-FIRST")]
    FixFirst,
    #[serde(rename = "BLOCKED")]
    Blocked,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct GapReview {
    pub verdict: GateWord,
    pub gaps: Vec<Gap>,
    pub evidence: String,
}

#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Gap {
    pub severity: Severity,
    pub text: String,
    pub file: Option<Path>,
    pub line: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cause {
    ModelCapacity,
    MissingContext,
    AmbiguousSpec,
    EnvToolFailure,
    OverdesignedPlan,
}

impl Cause {
    pub const ALL: [Cause; 5] = [
        Cause::ModelCapacity,
        Cause::MissingContext,
        Cause::AmbiguousSpec,
        Cause::EnvToolFailure,
        Cause::OverdesignedPlan,
    ];

    pub fn words(self) -> &'static str {
        match self {
            Cause::ModelCapacity => "model-capacity",
            Cause::MissingContext => "missing-context",
            Cause::AmbiguousSpec => "ambiguous-spec",
            Cause::EnvToolFailure => "env-tool-failure",
            Cause::OverdesignedPlan => "overdesigned-plan",
        }
    }
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Diagnosis {
    pub cause: Cause,
    pub evidence: String,
    pub new_evidence: Option<String>,
    /// Set by the engine, never by the worker: output that differs from the last attempt's and was produced since.
    pub new_evidence_is_real: bool,
    /// Reasons that rule out the other causes.
    pub rules_out: Vec<(Cause, String)>,
    pub route: String,
    pub needs: Option<String>,
}

// ---------------------------------------------------------------- records and endings

/// What the ledger keeps beside the events, for people and for the run report.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Record {
    /// A finding reached an end in this loop.
    Settled {
        key: FindingKey,
        how: Settled,
    },
    /// A finding came up (regression, review).
    Found(NewFinding),
    Attempt(Attempt),
    Note(String),
    /// A person's decision: what it was about, old and new setting, reason.
    Decision {
        about: String,
        old: String,
        new: String,
        reason: String,
    },
    /// What the next loop over these findings has to be told (*Try a different approach*, a permitted raise).
    Inherit(Inherited),
}

/// What a loop hands on to the one that follows it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Inherited {
    pub attempts: Vec<Attempt>,
    pub answers: Vec<Told>,
    /// Steps of the ladder already taken.
    pub raises: u32,
    pub supplied: Option<String>,
    /// Trees already seen, so that a follower does not oscillate back.
    pub seen: Vec<TreeId>,
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Settled {
    Resolved {
        grade: Grade,
        why: String,
        round: u32,
    },
    Demoted {
        why: String,
    },
    /// Hidden until reopened.
    Deferred {
        reason: String,
    },
    /// Left to the user, the attempt in the tree, staged.
    Manual {
        still_broken: String,
    },
    /// Open, nothing of this loop left in the tree.
    Open {
        why: String,
    },
    /// `converge`: the checker disputes it, with evidence.
    Disputed {
        why: String,
    },
}

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ending {
    pub how: EndedHow,
    pub reason: String,
    /// *Try a different approach* or an allowed raise: start a new loop over these findings, told the `Inherit` record.
    pub follow_up: Vec<FindingKey>,
    /// `converge`: the gate. `rereview`: the exhaustion block, if any.
    pub block: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EndedHow {
    /// Every finding settled (resolved, demoted, deferred, manual …).
    Done,
    Cancelled,
    /// Budget, breach, restore-and-stop.
    Stopped,
    /// `converge` PASS / PASS_STANDARDS_ONLY / PAUSED for good; `rereview` blocked, failed.
    Pass,
    PassStandardsOnly,
    Blocked,
    Failed,
}
