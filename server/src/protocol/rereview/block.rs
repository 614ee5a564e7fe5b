//! The exhaustion block: the fixed text with which a loop that found no way ends (DESIGN 6, `rereview`).
//!
//! Owns its words and reading them back. Must never decide anything: the machine fills it in.

use std::fmt::Write as _;

use super::super::docket::one_line;
use super::super::vocabulary::*;
use super::{LOOPS, RAISES};

const NO_EVIDENCE: &str = "none — model/effort escalation prohibited";
const NO_FILE: &str = "(no file)";
const GAPS: &str = "Remaining gaps:";

/// What the block says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Exhaustion {
    pub attempts: u32,
    /// Severity, text and file; lines are not printed.
    pub gaps: Vec<Gap>,
    pub cause: Cause,
    /// `None`: no new evidence, so that a raise is prohibited.
    pub new_evidence: Option<String>,
    pub route: String,
    pub raises: u32,
    pub appeal: Option<String>,
}

/// The review's own word for a severity.
pub fn severity_word(severity: Severity) -> &'static str {
    match severity {
        Severity::P0 => "CRITICAL",
        Severity::P1 => "HIGH",
        Severity::P2 => "MEDIUM",
        Severity::P3 => "LOW",
    }
}

impl Exhaustion {
    /// The block, without a newline at its end.
    pub fn text(&self) -> String {
        let mut text =
            format!("Fix loop exhausted ({}/{LOOPS}). Group remains in progress.\n{GAPS}\n", self.attempts);
        for gap in &self.gaps {
            let file = gap.file.as_deref().unwrap_or(NO_FILE);
            let word = severity_word(gap.severity);
            let _ = writeln!(text, "- [{word}] {} — {}", one_line(&gap.text), one_line(file));
        }
        let evidence = self.new_evidence.as_deref().map_or(NO_EVIDENCE.to_owned(), one_line);
        let appeal = self.appeal.as_deref().map_or("none".to_owned(), one_line);
        let _ = write!(
            text,
            "Cause: {}\nNew evidence: {evidence}\nCorrective route: {}\nBudget: attempts={}/{LOOPS}; \
             effort_escalations={}/{RAISES}\nAppeal: {appeal}",
            self.cause.words(),
            one_line(&self.route),
            self.attempts,
            self.raises,
        );
        text
    }
}

/// Reads the last exhaustion block in `text`. `None` when there is none or it is not complete.
pub fn parse_exhaustion(text: &str) -> Option<Exhaustion> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let start = lines.iter().rposition(|line| line.starts_with("Fix loop exhausted ("))?;
    let mut lines = lines[start..].iter().copied();

    let head = lines.next()?.strip_prefix("Fix loop exhausted (")?;
    let attempts = head.strip_suffix("). Group remains in progress.").and_then(of(LOOPS))?;
    if lines.next()? != GAPS {
        return None;
    }
    let mut gaps = Vec::new();
    let mut line = lines.next()?;
    while let Some(gap) = line.strip_prefix("- [") {
        gaps.push(parse_gap(gap)?);
        line = lines.next()?;
    }
    let cause = line.strip_prefix("Cause: ")?;
    let cause = Cause::ALL.into_iter().find(|known| known.words() == cause)?;
    let evidence = lines.next()?.strip_prefix("New evidence: ")?;
    let route = lines.next()?.strip_prefix("Corrective route: ")?;
    let budget = lines.next()?.strip_prefix("Budget: attempts=")?;
    let (spent, raises) = budget.split_once("; effort_escalations=")?;
    if of(LOOPS)(spent)? != attempts {
        return None;
    }
    let raises = of(RAISES)(raises)?;
    let appeal = lines.next()?.strip_prefix("Appeal: ")?;
    Some(Exhaustion {
        attempts,
        gaps,
        cause,
        new_evidence: (evidence != NO_EVIDENCE).then(|| evidence.to_owned()),
        route: route.to_owned(),
        raises,
        appeal: (appeal != "none").then(|| appeal.to_owned()),
    })
}

/// Reads `used/cap` for a known cap.
fn of(cap: u32) -> impl Fn(&str) -> Option<u32> {
    move |text| {
        let (used, of) = text.split_once('/')?;
        (of.parse::<u32>().ok()? == cap).then(|| used.parse().ok())?
    }
}

fn parse_gap(text: &str) -> Option<Gap> {
    let (word, rest) = text.split_once("] ")?;
    let severity = [Severity::P0, Severity::P1, Severity::P2, Severity::P3]
        .into_iter()
        .find(|severity| severity_word(*severity) == word)?;
    let (text, file) = rest.rsplit_once(" — ")?;
    let file = (file != NO_FILE).then(|| file.to_owned());
    Some(Gap { severity, text: text.to_owned(), file, line: None })
}
