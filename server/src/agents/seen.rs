//! What an agent has shown of itself in one session: its words, its tools, its costs, and what it was not allowed.
//!
//! Speaks no protocol and decides nothing: it only keeps what was told in pieces, until it can be said as one thing.

use std::collections::{HashMap, HashSet};
use std::path::PathBuf;

use super::denials;
use super::excerpt;
use super::outcome::Usage;
use super::report::Report;
use super::run::KEEP;

#[derive(Default)]
pub(super) struct Seen {
    /// The agent's words since the last prompt; of many, the last.
    pub text: String,
    pub usage: Usage,
    /// What was refused here, as people are shown paths.
    pub refused: Vec<String>,
    /// What the agent's own settings did not allow.
    pub denied: Vec<String>,
    /// What a person can log in with.
    pub logins: Vec<String>,
    calls: HashMap<String, Call>,
    refused_calls: HashSet<String>,
}

/// A tool call under way, as far as it has been described. Some agents announce a call before they know what it is for.
#[derive(Clone, Default)]
pub(super) struct Call {
    /// The kind of tool.
    pub tool: String,
    /// Whether it is one that changes files.
    pub changes: bool,
    pub title: String,
    pub paths: Vec<PathBuf>,
    told: bool,
}

/// What one message says of a call.
#[derive(Default)]
pub(super) struct Said {
    pub tool: Option<String>,
    pub changes: Option<bool>,
    pub title: Option<String>,
    pub paths: Vec<PathBuf>,
    /// It says what the call is for, or that it runs.
    pub is_described: bool,
    pub ended: Option<End>,
}

pub(super) enum End {
    Well,
    /// With the reason.
    Failed(String),
}

impl Seen {
    /// Takes some of the agent's words. A report is the last that is said, so the last is what is kept.
    pub(super) fn say(&mut self, text: &str) {
        self.text.push_str(text);
        if self.text.len() > 2 * KEEP.tail {
            let mut from = self.text.len() - KEEP.tail;
            while !self.text.is_char_boundary(from) {
                from += 1;
            }
            self.text.drain(..from);
        }
    }

    /// Takes what is said of a call, and gives the call once it is known what it does.
    pub(super) fn tool(&mut self, id: &str, said: Said) -> Option<Call> {
        let call = self.calls.entry(id.to_owned()).or_default();
        if let Some(tool) = said.tool {
            call.tool = tool;
        }
        call.changes = said.changes.unwrap_or(call.changes);
        if let Some(title) = said.title.filter(|title| !title.trim().is_empty()) {
            call.title = title;
        }
        if !said.paths.is_empty() {
            call.paths = said.paths;
        }
        let news = !call.told && (said.is_described || said.ended.is_some() || !call.paths.is_empty());
        call.told |= news;
        let news = news.then(|| call.clone());
        if let Some(ended) = said.ended
            && let Some(call) = self.calls.remove(id)
            && let End::Failed(why) = ended
            && call.changes
            && !self.refused_calls.contains(id)
            && denials::reads_as_denial(&why)
        {
            let what = match call.paths.as_slice() {
                [] => vec![format!("a file ({})", call.title)],
                paths => paths.iter().map(|path| path.to_string_lossy().into_owned()).collect(),
            };
            self.deny(what);
        }
        news
    }

    /// What is known of a call that is asked about.
    pub(super) fn call(&self, id: &str) -> Option<&Call> {
        self.calls.get(id)
    }

    /// A call that was refused here: how it fails is no news.
    pub(super) fn refuse_call(&mut self, id: &str) {
        self.refused_calls.insert(id.to_owned());
    }

    /// What was refused here is told beside the agent's report.
    pub(super) fn with_refusals(&self, report: Report) -> Report {
        match report {
            Report::Fix(mut fix) if !self.refused.is_empty() => {
                let refused = format!("it was not allowed to change {}", self.refused.join(", "));
                fix.concerns =
                    Some(fix.concerns.map_or(refused.clone(), |concerns| format!("{concerns}\n{refused}")));
                Report::Fix(fix)
            }
            other => other,
        }
    }

    pub(super) fn deny(&mut self, what: impl IntoIterator<Item = String>) {
        for one in what {
            if !self.denied.contains(&one) {
                self.denied.push(one);
            }
        }
    }
}

impl Call {
    /// The title as one line of plain text.
    pub(super) fn heading(&self) -> String {
        let title = crate::process::clean(&self.title);
        excerpt::head(title.lines().next().unwrap_or_default().trim().trim_matches('`'), 160)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_behind_a_flood_of_words_is_kept() {
        let mut seen = Seen::default();
        for _ in 0..40 {
            seen.say(&"é".repeat(KEEP.tail / 16));
        }
        seen.say("{\"status\": \"fixed\"}");
        assert!(seen.text.ends_with("{\"status\": \"fixed\"}"));
        assert!(seen.text.len() <= 2 * KEEP.tail + 100, "{}", seen.text.len());
    }

    #[test]
    fn a_call_is_told_once_and_not_before_it_is_described() {
        let mut seen = Seen::default();
        let announced = Said {
            tool: Some("edit".into()),
            changes: Some(true),
            title: Some("Edit".into()),
            ..Said::default()
        };
        assert!(seen.tool("t1", announced).is_none());
        let described =
            Said { title: Some("Edit a.py".into()), paths: vec!["a.py".into()], ..Said::default() };
        let call = seen.tool("t1", described).expect("it is described now");
        assert_eq!((call.tool.as_str(), call.heading().as_str()), ("edit", "Edit a.py"));
        let failed = Said { ended: Some(End::Failed("Permission denied".into())), ..Said::default() };
        assert!(seen.tool("t1", failed).is_none());
        assert_eq!(seen.denied, ["a.py"]);
        // One that was refused here, and one that only failed, are no denials of the agent's own.
        for (id, why, refused) in [("t2", "User refused permission", true), ("t3", "no such text", false)] {
            if refused {
                seen.refuse_call(id);
            }
            let call = Said {
                changes: Some(true),
                paths: vec!["b.py".into()],
                ended: Some(End::Failed(why.into())),
                ..Said::default()
            };
            assert!(seen.tool(id, call).is_some());
        }
        assert_eq!(seen.denied, ["a.py"]);
    }
}
