//! Hover: everything about a finding that is worth reading before deciding.
//!
//! Owns the wording. Text from findings is data: it is bounded and stripped of control codes, and no link in it becomes a
//! command.

use lsp_types::{Hover, HoverContents, MarkupContent, MarkupKind, Range};

use crate::engine::{FindingView, Snapshot};

use super::text::{head, printable};

const BODY_LINES: usize = 40;
const BODY_CHARACTERS: usize = 4000;
const ATTEMPT_CHARACTERS: usize = 800;

pub(super) struct Shown<'a> {
    pub finding: &'a FindingView,
    pub snapshot: &'a Snapshot,
    /// Where the finding is listed, as a URI.
    pub listed: Option<String>,
}

pub(super) fn hover(shown: &[Shown<'_>], range: Option<Range>, markdown: bool) -> Option<Hover> {
    if shown.is_empty() {
        return None;
    }
    let texts: Vec<String> = shown.iter().map(|shown| text(shown, markdown)).collect();
    let (kind, rule) =
        if markdown { (MarkupKind::Markdown, "\n\n---\n\n") } else { (MarkupKind::PlainText, "\n\n") };
    let value = printable(&texts.join(rule));
    Some(Hover { contents: HoverContents::Markup(MarkupContent { kind, value }), range })
}

fn text(shown: &Shown<'_>, markdown: bool) -> String {
    let Shown { finding, snapshot, listed } = shown;
    let detail = &finding.detail;
    let label = |name: &str| if markdown { format!("**{name}:**") } else { format!("{name}:") };
    let title = head(&detail.title, 1, 200);
    let mut parts = vec![if markdown {
        format!("### {:?}: {title}", detail.severity)
    } else {
        format!("{:?}: {title}", detail.severity)
    }];
    if !finding.standing.is_empty() {
        parts.push(format!("{} {}", label("State"), finding.standing));
    }
    let body = head(&finding.body, BODY_LINES, BODY_CHARACTERS);
    if !body.is_empty() {
        parts.push(body);
    }
    let mut facts = Vec::new();
    if !finding.criterion.trim().is_empty() {
        facts.push(format!("{} {}", label("Criterion"), finding.criterion.trim()));
    }
    if let Some(evidence) = detail.evidence {
        facts.push(format!("{} {}", label("Evidence"), word(&evidence)));
    }
    if let Some(round) = detail.round.filter(|&round| round > 0) {
        facts.push(format!("{} {round}", label("Round")));
    }
    if let Some(cost) = finding.cost_usd {
        facts.push(format!("{} ${cost:.2}", label("Cost")));
    }
    if finding.stale {
        facts.push("The cited code has changed so much that it can't be found any more.".into());
    }
    if let (Some(listed), Some((file, line))) = (listed, &finding.listed_in) {
        let place = format!("{file}:{line}");
        let link = if markdown { format!("[{place}]({listed}#L{line})") } else { place };
        facts.push(format!("{} {link}", label("Listed in")));
    }
    if !facts.is_empty() {
        parts.push(facts.join(if markdown { "  \n" } else { "\n" }));
    }
    for attempt in &finding.attempts {
        parts.push(head(attempt, BODY_LINES, ATTEMPT_CHARACTERS));
    }
    let question = finding.offers.question.as_deref();
    if let Some(question) = snapshot.questions.iter().find(|open| Some(open.id.as_str()) == question) {
        parts.push(format!("{} {}", label("Question"), question.text.trim()));
        let detail = head(&question.detail, BODY_LINES, BODY_CHARACTERS);
        if !detail.is_empty() {
            // What it tells is line by line, and may hold a diff.
            parts.push(if markdown { fenced(&detail) } else { detail });
        }
        let option = |option: &String| match *option == question.recommended {
            true => format!("- {option} (recommended)"),
            false => format!("- {option}"),
        };
        parts.push(question.options.iter().map(option).collect::<Vec<_>>().join("\n"));
    }
    let can = possible(finding);
    if !can.is_empty() {
        parts.push(format!("{} {}", label("You can"), can.join(" · ")));
    } else if let Some(reason) = &snapshot.fixing_off {
        parts.push(format!("{} {reason}", label("Fixing is off")));
    }
    parts.join("\n\n")
}

/// As it is, in a fence that nothing in it can end.
fn fenced(text: &str) -> String {
    let longest = text.lines().map(|line| line.trim_start().bytes().take_while(|&byte| byte == b'`').count());
    let fence = "`".repeat(longest.max().unwrap_or(0).max(2) + 1);
    format!("{fence}text\n{text}\n{fence}")
}

fn possible(finding: &FindingView) -> Vec<&'static str> {
    let offers = &finding.offers;
    [
        (offers.question.is_some(), "Answer"),
        (offers.fix, "Fix with loop"),
        (offers.verify, "Verify my fix"),
        (offers.confirm, "Confirm this finding"),
        (offers.defer, "Defer…"),
        (offers.dispute, "Dispute…"),
        (offers.reopen, "Reopen"),
        (offers.undo.is_some(), "Undo this fix"),
        (offers.cancel.is_some(), "Cancel loop"),
    ]
    .into_iter()
    .filter_map(|(offered, name)| offered.then_some(name))
    .collect()
}

/// The word that stands for a value on the wire.
fn word(value: &impl serde::Serialize) -> String {
    match serde_json::to_value(value) {
        Ok(serde_json::Value::String(word)) => word,
        _ => String::new(),
    }
}
