//! The gap lists of the Fix-Review Loop: `[CRITICAL] text — file:line`, and `{verdict, gaps}` (DESIGN 5, 8).

use serde_json::{Map, Value};

use crate::findings::finding::{FindingId, Note};
use crate::findings::reading::{Inherited, Manner, from_line, leading_severity, severity_of};
use crate::findings::review_output::{LeftOut, ReviewOutput};

const VERDICTS: &[&str] = &["SHIP", "FIX-FIRST", "BLOCKED"];

/// `{verdict: SHIP|FIX-FIRST|BLOCKED, gaps: […]}`. The verdict is about the whole, so it confirms no single gap.
pub fn from_object(object: &Map<String, Value>) -> Option<ReviewOutput> {
    let Some(Value::Array(gaps)) = object.get("gaps") else { return None };
    object.get("verdict").and_then(Value::as_str).and_then(verdict_of)?;
    let mut review = ReviewOutput::default();
    review.read_findings(gaps, &Inherited::default(), Manner::Loose);
    review.read_top_level(object, &["gaps"]);
    Some(review)
}

fn verdict_of(text: &str) -> Option<&'static str> {
    let plain =
        text.trim().trim_matches(['*', '`', '#', ' ', '.']).to_ascii_uppercase().replace(['_', ' '], "-");
    VERDICTS.iter().copied().find(|verdict| *verdict == plain)
}

/// The verdict on a line of its own, `Verdict: SHIP` or just `SHIP`.
fn verdict_line(line: &str) -> Option<&'static str> {
    let bare = line.trim().trim_matches(['*', '`', '#', ' ']);
    let said = match bare.split_once(':') {
        Some((label, rest)) if label.trim_matches(['*', ' ']).eq_ignore_ascii_case("verdict") => rest,
        Some(_) => return None,
        None => bare,
    };
    verdict_of(said)
}

/// `[CRITICAL] text`, in a list or not.
fn is_gap(line: &str) -> bool {
    let bare = line.trim_start().trim_start_matches(['-', '*', '+', '•', ' ']);
    let numbered = bare.split_once(['.', ')']).filter(|(number, _)| number.parse::<u32>().is_ok());
    let bare = numbered.map_or(bare, |(_, rest)| rest.trim_start()).trim_start_matches('*');
    let Some(rest) = bare.strip_prefix('[') else { return false };
    let Some((word, text)) = rest.split_once(']') else { return false };
    severity_of(word).is_some()
        && word.trim().chars().all(|c| c.is_ascii_alphanumeric())
        && !text.trim().is_empty()
}

pub fn looks_like(text: &str) -> bool {
    text.lines().any(is_gap)
}

/// Reads a gap list from text; `None` where it has neither gaps nor a verdict.
pub fn from_text(text: &str) -> Option<ReviewOutput> {
    let mut review = ReviewOutput::default();
    let mut verdict = None;
    let mut gap: Option<(String, Vec<String>)> = None;
    let mut fenced = false;
    let mut number = 0;
    for line in text.lines() {
        if line.trim_start().starts_with("```") {
            fenced = !fenced;
        } else if is_gap(line) {
            finish(gap.take(), &mut number, &mut review);
            gap = Some((line.to_owned(), Vec::new()));
        } else if let Some(said) = verdict_line(line).filter(|_| !fenced) {
            verdict = Some(said);
        } else if line.trim().is_empty() || line.starts_with('#') {
            finish(gap.take(), &mut number, &mut review);
        } else if let Some((_, more)) = &mut gap
            && line.starts_with([' ', '\t'])
        {
            more.push(line.trim().trim_start_matches(['-', '*']).trim().to_owned());
        }
    }
    finish(gap, &mut number, &mut review);
    if number == 0 && verdict.is_none() {
        return None;
    }
    match verdict {
        Some(verdict) => {
            if number == 0 && verdict != "SHIP" {
                // A verdict that asks for work and names none is no clean review.
                let why = format!("the verdict is {verdict}, but no gap could be read");
                review.unread.notes.push(Note::new(None, "gaps", Value::Null, Value::Null, why));
                review.unread.not_scanned.push(String::new());
            }
            review.extra.insert("verdict".to_owned(), Value::from(verdict));
        }
        None if number == 0 => review.unread.not_scanned.push(String::new()),
        None => {}
    }
    Some(review)
}

fn finish(gap: Option<(String, Vec<String>)>, number: &mut u64, review: &mut ReviewOutput) {
    let Some((line, more)) = gap else { return };
    *number += 1;
    let id = FindingId::from(*number);
    if leading_severity(&line).is_none() {
        let reason = format!("no gap can be read from {line:?}");
        review.unread.left_out.push(LeftOut { id, finding: None, reason });
        return;
    }
    let mut read = from_line(&line, id, &Inherited::default());
    for line in more {
        read.finding.body.push('\n');
        read.finding.body.push_str(&line);
    }
    review.findings.push(read.finding);
    review.unread.notes.extend(read.notes);
}
