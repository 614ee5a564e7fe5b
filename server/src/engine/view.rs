//! The state as people see it: ledger, inbox and editor put together into one snapshot.
//!
//! Pure: reads the driver, changes nothing. Where several things could be said of a finding, the order here decides.

use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::Arc;

use crate::protocol::{EndedHow, Settled, Severity, Standing};

use super::api::{FindingView, Offers, QuestionView, Show, Snapshot};
use super::driver::{Driver, now};
use super::history::history;
use super::inbox::{Listed, Listing};
use super::known_views::Stamps;
use super::ledger::Decision;
use super::running::LoopRun;
use super::state::Life;
use super::status::{
    Counts, Driver as DriverShown, FindingState, Status, StatusFinding, StatusLoop, StatusQuestion,
};
use super::words;

/// Ended loops shown in the status, newest kept.
const ENDED_SHOWN: usize = 50;

pub(super) fn empty() -> Snapshot {
    Snapshot {
        revision: 0,
        root: PathBuf::new(),
        status: Status::default(),
        findings: Vec::new(),
        questions: Vec::new(),
        buffer_edits: Vec::new(),
        input_errors: Vec::new(),
        fixing_off: None,
        show: Show::Unconfirmed,
        busy: false,
        driving: false,
        buffers_taken: 0,
    }
}

/// Whether two snapshots show the same, times that only grow left aside.
pub(super) fn same(one: &Snapshot, other: &Snapshot) -> bool {
    let still = |status: &Status| {
        let mut status = status.clone();
        status.revision = 0;
        for shown in &mut status.loops {
            shown.seconds = 0.0;
        }
        status
    };
    let rest = |of: &Snapshot| (of.fixing_off.clone(), of.show, of.busy, of.driving, of.root.clone());
    let same_findings = || {
        let mut pairs = one.findings.iter().zip(&other.findings);
        one.findings.len() == other.findings.len()
            && pairs.all(|(one, other)| Arc::ptr_eq(one, other) || one == other)
    };
    rest(one) == rest(other)
        && one.questions == other.questions
        && one.buffer_edits == other.buffer_edits
        && one.input_errors == other.input_errors
        && still(&one.status) == still(&other.status)
        && same_findings()
}

pub(super) fn snapshot(driver: &Driver) -> Snapshot {
    let findings = findings(driver);
    let questions = questions(driver);
    let mut counts = Counts::default();
    for finding in &findings {
        *count_of(&mut counts, finding.detail.state) += 1;
    }
    let id_of = |fingerprint: &String| {
        findings
            .iter()
            .find(|finding| finding.detail.fingerprint == *fingerprint)
            .map_or_else(|| fingerprint.clone().into(), |finding| finding.detail.id.clone())
    };
    let status = Status {
        revision: driver.revision,
        driver: driver.shown_driver(),
        counts,
        loops: loops(driver),
        questions: questions
            .iter()
            .map(|question| StatusQuestion {
                id: question.id.clone(),
                kind: question.kind,
                r#loop: question.r#loop.clone(),
                findings: question.findings.iter().map(id_of).collect(),
                text: question.text.clone(),
                detail: question.detail.clone(),
                options: question.options.clone(),
                recommended: question.recommended.clone(),
            })
            .collect(),
        findings_detail: Vec::new(),
    };
    let mut input_errors = driver.inbox.errors();
    input_errors.extend(driver.config_error.clone());
    Snapshot {
        revision: driver.revision,
        root: driver.setup.root.clone(),
        status,
        findings,
        questions,
        buffer_edits: driver.buffers.edits(),
        input_errors,
        fixing_off: driver.fixing_off.clone(),
        show: match driver.config.show {
            crate::config::Show::Confirmed => Show::Confirmed,
            crate::config::Show::Unconfirmed => Show::Unconfirmed,
            crate::config::Show::All => Show::All,
        },
        busy: driver.is_busy(),
        driving: driver.lock.is_some(),
        buffers_taken: driver.buffers_taken,
    }
}

fn count_of(counts: &mut Counts, state: FindingState) -> &mut u32 {
    match state {
        FindingState::Open => &mut counts.open,
        FindingState::Fixing => &mut counts.fixing,
        FindingState::Verifying => &mut counts.verifying,
        FindingState::Waiting => &mut counts.waiting,
        FindingState::Manual => &mut counts.manual,
        FindingState::Resolved => &mut counts.resolved,
        FindingState::Deferred => &mut counts.deferred,
        FindingState::Disputed => &mut counts.disputed,
        FindingState::Demoted => &mut counts.demoted,
        FindingState::Stale => &mut counts.stale,
        FindingState::Ignored => &mut counts.ignored,
    }
}

fn loops(driver: &Driver) -> Vec<StatusLoop> {
    let ended = driver.state.loops.values().filter(|run| run.is_ended()).count();
    let mut skip = ended.saturating_sub(ENDED_SHOWN);
    driver
        .state
        .loops
        .values()
        .filter(|run| {
            if run.is_ended() && skip > 0 {
                skip -= 1;
                return false;
            }
            true
        })
        .map(|run| StatusLoop {
            id: run.id().to_string(),
            protocol: run.opened.start.protocol().into(),
            state: loop_state(driver, run),
            round: run.view.round,
            max_rounds: run.view.max_rounds,
            findings: ids(driver, run),
            agent: run
                .traces
                .workers
                .last()
                .map(|worker| worker.agent.clone())
                .or_else(|| run.opened.agent.clone()),
            seconds: run.seconds(now()),
            cost_usd: run.cost_usd(),
            activity: driver.activity.get(&run.id()).cloned(),
        })
        .collect()
}

/// What a loop is about: the findings that it was opened with, and those that it came upon.
fn ids(driver: &Driver, run: &LoopRun) -> Vec<serde_json::Value> {
    let mut ids = run.shown_ids();
    let found =
        run.traces.found.iter().filter(|found| !is_gone(driver, run, found) && !run.has(&found.key.0));
    ids.extend(found.map(|found| Listed::found_id(found, &run.id().to_string()).into()));
    ids
}

fn loop_state(driver: &Driver, run: &LoopRun) -> String {
    if run.is_queued() {
        "queued".into()
    } else if driver.interrupted.contains(&run.id()) {
        "interrupted".into()
    } else {
        run.view.state.into()
    }
}

pub(super) fn questions(driver: &Driver) -> Vec<QuestionView> {
    let own = driver.own_questions.iter().map(|question| {
        let options: Vec<String> = question.options().iter().map(|option| option.words().to_owned()).collect();
        let detail = match &question.asked {
            super::own_questions::Asked::Resume { detail, .. } => detail.clone(),
            super::own_questions::Asked::Trust => driver.trust_detail(),
            super::own_questions::Asked::Command { .. } => {
                "A findings file is data: it may come from anybody. Approved, this exact command is run before and after \
                 each fix of the findings that bring it, now and later. Without it the other checks and the verifier judge."
                    .into()
            }
            super::own_questions::Asked::DirtyBuffer { .. } => {
                "A fix made now would not know of the unsaved text. The loop goes on by itself once the file is saved."
                    .into()
            }
            super::own_questions::Asked::Edited { refused: false, .. } => {
                "The fix stands in the file, your text only in the editor. Saving your text as it is overwrites the fix. \
                 With both in the editor, marked, nothing is lost, and you choose line by line."
                    .into()
            }
            super::own_questions::Asked::Edited { refused: true, .. } => {
                "The fix stands in the file, your text only in the editor. Saving your text as it is overwrites the fix."
                    .into()
            }
        };
        QuestionView {
            id: question.id(),
            kind: question.kind(),
            r#loop: question.r#loop().map(|id| id.to_string()),
            findings: question
                .r#loop()
                .and_then(|id| driver.state.loops.get(&id))
                .map(|run| run.keys().map(str::to_owned).collect())
                .unwrap_or_default(),
            text: question.text(),
            detail,
            recommended: options[0].clone(),
            options,
        }
    });
    let asked =
        driver.state.loops.values().filter(|run| !driver.interrupted.contains(&run.id())).filter_map(|run| {
            let question = run.open_question()?;
            Some(QuestionView {
                id: run.question_id(question.number),
                kind: question.kind,
                r#loop: Some(run.id().to_string()),
                findings: question.findings.iter().map(|key| key.0.clone()).collect(),
                text: question.text.clone(),
                detail: question.detail.clone(),
                options: question.options.iter().map(|choice| choice.words().to_owned()).collect(),
                recommended: question.recommended.words().to_owned(),
            })
        });
    own.chain(asked).collect()
}

/// Everything known: listed in a findings file, found by a worker, or only in a loop any more.
pub(super) fn findings(driver: &Driver) -> Vec<Arc<FindingView>> {
    let questions = questions(driver);
    let stamps = Stamps::of(driver, &questions);
    let make = |listed: &Listed| of_listed(driver, listed, &questions);
    let mut shown = driver.known_views.of(driver.inbox.listed(), &stamps, make);
    let mut seen: HashSet<String> = match driver.state.loops.is_empty() {
        true => HashSet::new(),
        false => shown.iter().map(|view| view.detail.fingerprint.clone()).collect(),
    };
    for run in driver.state.loops.values() {
        for finding in &run.opened.findings {
            let is_over = run.is_ended() && driver.answered != Some(run.id());
            if is_over || !seen.insert(finding.fingerprint.clone()) {
                continue;
            }
            let listed = Listed::only_in_a_loop(&finding.fingerprint, &finding.shown, &finding.finding);
            shown.push(Arc::new(of_listed(driver, &listed, &questions)));
        }
        for found in &run.traces.found {
            if is_gone(driver, run, found) || !seen.insert(found.key.0.clone()) {
                continue;
            }
            let mut listed = Listed::found(found, &run.id().to_string());
            listed.lines = driver.inbox.lines_of_found(&found.key.0).or(listed.lines);
            shown.push(Arc::new(of_listed(driver, &listed, &questions)));
        }
    }
    shown
}

/// A regression that was never settled ended with the bytes that caused it: fixed in a later round, restored, or fixed by
/// the loop that followed.
fn is_gone(driver: &Driver, run: &LoopRun, found: &crate::protocol::NewFinding) -> bool {
    let ended = |run: &LoopRun| run.view.finished.as_ref().map(|ending| ending.how);
    let without_it = matches!(ended(run), Some(EndedHow::Done | EndedHow::Cancelled | EndedHow::Stopped));
    let mut after = driver.state.follower(run.id());
    let mut followed_up = false;
    while let Some(follower) = after {
        followed_up |= ended(follower) == Some(EndedHow::Done);
        after = driver.state.follower(follower.id());
    }
    found.caused_by.is_some() && (without_it || followed_up) && !run.traces.settled.contains_key(&found.key)
}

fn of_listed(driver: &Driver, listed: &Listed, questions: &[QuestionView]) -> FindingView {
    let fingerprint = &listed.fingerprint;
    let nothing = Life::default();
    let life = driver.state.lives.get(fingerprint).unwrap_or(&nothing);
    let live = driver.state.live_loop(fingerprint).or_else(|| {
        // Found by a loop that works on it.
        let mut loops = driver.state.loops.values();
        loops.find(|run| !run.is_ended() && run.standing(&Driver::key(fingerprint)).is_some())
    });
    let last = driver.state.last_loop(fingerprint);
    let question = questions.iter().find(|question| question.findings.contains(fingerprint));
    let (state, standing) = stands(driver, listed, life, live);
    let evidence = match &life.settled {
        Some((_, Settled::Resolved { grade, .. })) if state == FindingState::Resolved => Some(*grade),
        _ => None,
    };
    let detail = StatusFinding {
        id: listed.shown.clone(),
        fingerprint: fingerprint.clone(),
        severity: severity(listed.finding.severity),
        title: listed.finding.title.clone(),
        file: listed.finding.file.clone(),
        line_start: listed.lines.map(|(start, _)| start),
        line_end: listed.lines.map(|(_, end)| end),
        state,
        evidence,
        round: last.map(|run| run.view.round).filter(|round| *round > 0),
        r#loop: last.map(|run| run.id().to_string()),
    };
    let can_act = driver.fixing_off.is_none() && live.is_none();
    let workable = matches!(listed.listing, Listing::Workable);
    let unsettled = matches!(state, FindingState::Open | FindingState::Stale | FindingState::Manual);
    let undoable = last.filter(|run| {
        run.is_ended()
            && !run.undone
            && run.writes_in_the_users_tree()
            && run.traces.own.paths().next().is_some()
            && live.is_none()
    });
    let offers = Offers {
        fix: can_act && workable && unsettled,
        verify: can_act && workable && unsettled,
        defer: can_act && workable && unsettled,
        confirm: can_act && matches!(listed.listing, Listing::Unconfirmed),
        dispute: can_act
            && (workable || matches!(listed.listing, Listing::Unconfirmed))
            && state != FindingState::Disputed,
        reopen: can_act
            && matches!(
                state,
                FindingState::Deferred
                    | FindingState::Disputed
                    | FindingState::Resolved
                    | FindingState::Demoted
            ),
        undo: undoable.map(|run| run.id().to_string()),
        cancel: live.map(|run| run.id().to_string()),
        question: question.map(|question| question.id.clone()),
    };
    let attempts: Vec<String> =
        last.map(|run| run.traces.attempts.iter().map(words::attempt_in_words).collect()).unwrap_or_default();
    let mut view = FindingView {
        generation: 0,
        body: listed.finding.body.clone(),
        criterion: listed.finding.criterion.clone().unwrap_or_default(),
        listed_in: listed.listed_in.clone(),
        unconfirmed: matches!(listed.listing, Listing::Unconfirmed),
        stale: listed.stale,
        standing,
        attempts,
        cost_usd: last.and_then(LoopRun::cost_usd),
        history: String::new(),
        offers,
        detail,
    };
    view.history = history(driver, &view, last, life);
    view.generation = generation(&view);
    view
}

/// Changes whenever anything shown changes.
fn generation(view: &FindingView) -> u64 {
    use std::hash::{Hash, Hasher};
    let mut hasher = std::collections::hash_map::DefaultHasher::new();
    format!("{view:?}").hash(&mut hasher);
    hasher.finish()
}

fn stands(driver: &Driver, listed: &Listed, life: &Life, live: Option<&LoopRun>) -> (FindingState, String) {
    if let Some(run) = live {
        return stands_in_loop(driver, run, listed);
    }
    match &life.decision {
        Some(Decision::Disputed { reason }) => {
            return (FindingState::Disputed, words::with_reason("disputed", reason.as_deref()));
        }
        Some(Decision::Deferred { reason }) => {
            return (FindingState::Deferred, words::with_reason("deferred", reason.as_deref()));
        }
        Some(Decision::Confirmed | Decision::Reopened) | None => {}
    }
    if let Some((_, how)) = &life.settled
        && let Some(said) = words::settled_in_words(how)
    {
        return said;
    }
    match &listed.listing {
        Listing::Workable if listed.stale => {
            (FindingState::Stale, "stale: the code that it cites is gone; look at it again".into())
        }
        Listing::Workable => match &life.settled {
            Some((_, Settled::Open { why })) => (FindingState::Open, format!("open: {why}")),
            _ => (FindingState::Open, "open".into()),
        },
        Listing::Unconfirmed => (FindingState::Ignored, "not confirmed by anybody yet".into()),
        Listing::Ignored(reason) => (FindingState::Ignored, format!("ignored: {reason}")),
        Listing::Refused(reason) => (FindingState::Ignored, format!("refused: {reason}")),
    }
}

fn stands_in_loop(driver: &Driver, run: &LoopRun, listed: &Listed) -> (FindingState, String) {
    if run.is_queued() {
        return (FindingState::Open, "queued".into());
    }
    if driver.interrupted.contains(&run.id()) {
        return (FindingState::Waiting, format!("loop {} was interrupted: resume it or restore", run.id()));
    }
    let round = match (run.view.round, run.view.max_rounds) {
        (0, _) => String::new(),
        (round, 0) => format!("round {round}: "),
        (round, of) => format!("round {round} of {of}: "),
    };
    match run.standing(&Driver::key(&listed.fingerprint)) {
        Some(Standing::Settled(how)) => {
            words::settled_in_words(how).unwrap_or_else(|| (FindingState::Open, "open".into()))
        }
        Some(Standing::Waiting) => (FindingState::Waiting, format!("{round}waiting for your answer")),
        Some(Standing::Verifying) => (FindingState::Verifying, format!("{round}verifying")),
        Some(Standing::Working) if run.is_waiting() => {
            (FindingState::Waiting, format!("{round}waiting for your answer"))
        }
        Some(Standing::Working) | None => (FindingState::Fixing, format!("{round}{}", run.view.state)),
    }
}

pub(super) fn severity(severity: crate::findings::Severity) -> Severity {
    match severity {
        crate::findings::Severity::P0 => Severity::P0,
        crate::findings::Severity::P1 => Severity::P1,
        crate::findings::Severity::P2 => Severity::P2,
        crate::findings::Severity::P3 => Severity::P3,
    }
}

impl Driver {
    fn shown_driver(&self) -> Option<DriverShown> {
        if let Some(lock) = &self.lock {
            let me = lock.me();
            return Some(DriverShown { pid: me.pid, host: me.host.clone(), read_only: false });
        }
        self.followed.as_ref().and_then(|followed| followed.driver())
    }
}
