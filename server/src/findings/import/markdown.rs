//! The Markdown of review comments: suggestion blocks, severities and titles.

use std::sync::LazyLock;

use regex::Regex;

use crate::findings::finding::Severity;
use crate::findings::reading::{severity_of, title_of};

static BADGE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)!\[\s*(p[0-3]|critical|high|medium|low)\b[^\]]*\]\(").expect("a constant pattern")
});
/// CodeRabbit: `_⚠️ Potential issue_ | _🔴 Critical_`.
static LABEL: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?im)^\s*_[^_\n]+_\s*\|\s*_[^_\n]*?\b(critical|major|minor|trivial|info)_")
        .expect("a constant pattern")
});
static TAG: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?i)^\s*(?:\*\*|__)?\s*[\[(]?\s*(p[0-3]|critical|blocker|blocking|high|major|medium|moderate|low|minor|nit|nitpick|trivial)(?:\s+(?:severity|priority))?\s*(?:[\])]|:|\*\*)",
    )
    .expect("a constant pattern")
});
static IMAGE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"!\[[^\]]*\]\([^)]*\)").expect("a constant pattern"));
static ELEMENT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?is)<!--.*?-->|</?(?:sub|sup|br|b|i|em|strong|p|a|img|h[1-6]|details|summary|span|div)\b[^>\n]*>",
    )
    .expect("a constant pattern")
});
static DETAILS: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?s)<details>.*?</details>").expect("a constant pattern"));
static BOLD: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^\*\*(.+?)\*\*[.:]?$").expect("a constant pattern"));

/// The severity that a comment states at its beginning, and the word for it.
pub fn severity(body: &str) -> Option<(Severity, String)> {
    let head: String = body.trim_start().chars().take(400).collect();
    let word = BADGE
        .captures(&head)
        .or_else(|| LABEL.captures(&head))
        .or_else(|| TAG.captures(&head))
        .map(|found| found[1].to_owned())?;
    severity_of(&word).map(|severity| (severity, word))
}

/// A title from the comment: its bold heading, else its first sentence.
pub fn title(body: &str) -> String {
    let body = DETAILS.replace_all(body, "");
    let body = IMAGE.replace_all(&body, "");
    let body = ELEMENT.replace_all(&body, "");
    let mut prose = Vec::new();
    let mut fenced = false;
    for line in body.lines() {
        let line = line.trim();
        if line.starts_with("```") || line.starts_with("~~~") {
            fenced = !fenced;
        } else if !fenced && !LABEL.is_match(line) && line.chars().any(char::is_alphanumeric) {
            prose.push(line);
        }
    }
    if let Some(bold) = prose.iter().take(3).find_map(|line| BOLD.captures(line)) {
        return title_of(&bold[1]);
    }
    let first = prose.first().map_or("", |line| *line).replace("**", "");
    let first = TAG
        .find(&first)
        .map_or(first.as_str(), |tag| first[tag.end()..].trim_start_matches([' ', ':', '*', ']', ')']));
    title_of(first)
}

/// The contents of the suggestion blocks, each as lines.
pub fn suggestions(body: &str) -> Vec<Vec<String>> {
    let mut found = Vec::new();
    let mut open: Option<(char, usize, Option<Vec<String>>)> = None;
    for line in body.lines() {
        let bare = line.trim();
        let marker = bare.chars().next().filter(|c| *c == '`' || *c == '~').unwrap_or(' ');
        let length = bare.chars().take_while(|c| *c == marker).count();
        match &mut open {
            None if marker != ' ' && length >= 3 => {
                let info = bare.trim_start_matches(marker).trim();
                let is_suggestion = info.split_whitespace().next() == Some("suggestion");
                open = Some((marker, length, is_suggestion.then(Vec::new)));
            }
            Some((kind, needed, lines)) => {
                if marker == *kind && length >= *needed && bare.chars().all(|c| c == marker) {
                    found.extend(lines.take());
                    open = None;
                } else if let Some(lines) = lines {
                    lines.push(line.to_owned());
                }
            }
            None => {}
        }
    }
    found
}
