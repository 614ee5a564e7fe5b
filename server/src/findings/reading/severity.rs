//! Severity words of reviewers and tools, mapped to P0–P3 (DESIGN 5).

use std::sync::LazyLock;

use regex::Regex;
use serde_json::Number;

use crate::findings::finding::Severity;

static TITLE_TAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)^\s*(?:\*\*)?\[\s*(p[0-4]|critical|blocker|high|major|medium|moderate|low|minor|nit)\s*\](?:\*\*)?[\s:—–-]*(.+)$")
        .expect("a constant pattern")
});

/// `P0` to `P3` as the schema writes them.
pub fn exact(word: &str) -> Option<Severity> {
    match word {
        "P0" => Some(Severity::P0),
        "P1" => Some(Severity::P1),
        "P2" => Some(Severity::P2),
        "P3" => Some(Severity::P3),
        _ => None,
    }
}

/// What a severity word means, in whatever decoration it comes (`🔴 Critical`, `_High_`, `p1 - must fix`).
pub fn severity_of(word: &str) -> Option<Severity> {
    word.split(|c: char| !c.is_alphanumeric())
        .filter(|part| !part.is_empty())
        .find_map(|part| of_word(&part.to_lowercase()))
}

fn of_word(word: &str) -> Option<Severity> {
    Some(match word {
        "p0" | "critical" | "crit" | "blocker" | "blocking" | "fatal" | "emergency" | "showstopper"
        | "catastrophic" => Severity::P0,
        "p1" | "high" | "major" | "error" | "severe" | "serious" | "important" | "urgent" | "must" => {
            Severity::P1
        }
        "p2" | "medium" | "moderate" | "med" | "warning" | "warn" | "normal" | "minor" | "should" => {
            Severity::P2
        }
        "p3" | "p4" | "p5" | "low" | "info" | "information" | "informational" | "note" | "notice" | "nit"
        | "nitpick" | "trivial" | "suggestion" | "style" | "cosmetic" | "hint" | "optional" | "none"
        | "negligible" | "unknown" | "recommendation" => Severity::P3,
        _ => return None,
    })
}

/// A bare number is a priority, as Codex writes it: 0 is P0.
pub fn of_number(number: &Number) -> Option<Severity> {
    match number.as_u64()? {
        0 => Some(Severity::P0),
        1 => Some(Severity::P1),
        2 => Some(Severity::P2),
        3..=5 => Some(Severity::P3),
        _ => None,
    }
}

/// `[P1] Guard against …` as the word and the rest.
pub fn title_tag(title: &str) -> Option<(String, String)> {
    let found = TITLE_TAG.captures(title)?;
    Some((found[1].to_owned(), found[2].trim().to_owned()))
}
