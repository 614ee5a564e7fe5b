//! How the engine says things to people: grades, attempts, records, what became of a finding.
//!
//! Owns wording only. Never decides anything; what is shown where is `view`'s.

use crate::protocol::{Attempt, Record, Settled};

use super::running::LoopRun;
use super::status::{FindingState, StatusFinding};

/// An argument list as one would type it.
pub(super) fn command_in_words(command: &[String]) -> String {
    let plain = |word: &str| {
        !word.is_empty() && word.chars().all(|c| c.is_alphanumeric() || "-_./:=,@%+".contains(c))
    };
    let words: Vec<String> = command
        .iter()
        .map(|word| if plain(word) { word.clone() } else { format!("'{}'", word.replace('\'', "'\\''")) })
        .collect();
    words.join(" ")
}

pub(super) fn settled_in_words(how: &Settled) -> Option<(FindingState, String)> {
    match how {
        Settled::Resolved { grade, why, round } => Some((
            FindingState::Resolved,
            match round {
                0 => format!("resolved ({}): {why}", grade_in_words(*grade)),
                _ => format!("resolved in round {round} ({}): {why}", grade_in_words(*grade)),
            },
        )),
        Settled::Demoted { why } => Some((FindingState::Demoted, format!("demoted: {why}"))),
        Settled::Deferred { reason } => Some((FindingState::Deferred, format!("deferred: {reason}"))),
        Settled::Manual { still_broken } => {
            Some((FindingState::Manual, format!("yours to fix: {still_broken}")))
        }
        Settled::Disputed { why } => Some((FindingState::Disputed, format!("disputed: {why}"))),
        Settled::Open { .. } => None,
    }
}

pub(super) fn with_reason(what: &str, reason: Option<&str>) -> String {
    match reason {
        Some(reason) if !reason.trim().is_empty() => format!("{what}: {reason}"),
        _ => what.to_owned(),
    }
}

pub(super) fn grade_in_words(grade: crate::protocol::Grade) -> &'static str {
    use crate::protocol::Grade;
    match grade {
        Grade::Touched => "touched",
        Grade::Accepted => "accepted",
        Grade::Verified => "verified",
        Grade::Pattern => "pattern",
        Grade::Proven => "proven",
    }
}

pub(super) fn attempt_in_words(attempt: &Attempt) -> String {
    let mut text = format!("Round {} (worker {}): {}", attempt.round, attempt.worker.0, attempt.summary);
    if !attempt.files_changed.is_empty() {
        text.push_str(&format!(" Changed: {}.", attempt.files_changed.join(", ")));
    }
    text.push_str(&format!(" Outcome: {}", attempt.outcome));
    if !attempt.failing.is_empty() {
        text.push_str(&format!(" Failing: {}.", attempt.failing.join(", ")));
    }
    text
}

/// An id as text: a string without its quotes.
pub(super) fn id_text(id: &serde_json::Value) -> String {
    match id {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

pub(super) fn named(detail: &StatusFinding) -> String {
    format!("finding {} ({})", id_text(&detail.id), detail.title)
}

/// What a protocol recorded, as a line for people; `None` where a later line says it.
pub(super) fn record_in_words(run: &LoopRun, record: &Record) -> Option<String> {
    match record {
        Record::Settled { key, how } => {
            let shown = run.opened.findings.iter().find(|finding| finding.fingerprint == key.0).map_or_else(
                || "a new finding".into(),
                |finding| format!("finding {} ({})", id_text(&finding.shown), finding.finding.title),
            );
            let said = match how {
                Settled::Open { why } => format!("open: {why}"),
                other => settled_in_words(other).map(|(_, words)| words)?,
            };
            Some(format!("{shown}: {said}"))
        }
        Record::Found(found) => Some(format!("new {:?} finding: {}", found.severity, found.title)),
        Record::Attempt(attempt) => Some(attempt_in_words(attempt)),
        Record::Note(note) => Some(note.clone()),
        Record::Decision { about, old, new, reason } => {
            Some(format!("decided: {about}: {old} → {new} ({reason})"))
        }
        Record::Inherit(_) | Record::Roots(_) => None,
    }
}
