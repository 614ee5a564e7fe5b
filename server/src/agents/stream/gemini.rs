//! Reading Gemini CLI: JSON lines (`--output-format stream-json`), and the one object of `json`, which it also falls back
//! to when it cannot begin.

use serde_json::Value;

use super::super::lenient::as_text;
use super::super::parse;
use super::{Progress, Reading, StreamError, is_edit, target_of};

impl Reading {
    pub(super) fn gemini(&mut self, event: &Value) -> Vec<Progress> {
        let field = |key: &str| event.get(key).and_then(Value::as_str);
        match field("type") {
            Some("init") => self.session = field("session_id").map(str::to_owned),
            // The last message comes in pieces, and begins after the last tool.
            Some("message") if field("role") == Some("assistant") => {
                let piece = field("content").unwrap_or_default();
                self.text.get_or_insert_default().push_str(piece);
            }
            Some("tool_use") => {
                self.text = None;
                let name = field("tool_name").unwrap_or("tool");
                let target = target_of(event.get("parameters"));
                if let Some(id) = field("tool_id").filter(|_| is_edit(name)) {
                    self.open_edits.push((id.to_owned(), target.clone().unwrap_or_default()));
                }
                return vec![self.progress(name, target)];
            }
            Some("tool_result") => {
                let failed = field("status") == Some("error");
                let why = failed.then(|| event.pointer("/error/message").map(as_text).unwrap_or_default());
                self.edit_ended(field("tool_id").unwrap_or_default(), why.as_deref());
            }
            Some("error") if field("severity") == Some("error") => {
                self.complaint = field("message").map(str::to_owned)
            }
            Some("result") => self.gemini_result(event),
            _ => {}
        }
        Vec::new()
    }

    fn gemini_result(&mut self, event: &Value) {
        let tokens = event.pointer("/stats/total_tokens").and_then(Value::as_u64);
        self.usage.tokens = tokens.filter(|tokens| *tokens > 0);
        if event.get("status").and_then(Value::as_str) == Some("error") {
            let message = event.pointer("/error/message").map(as_text).or_else(|| self.complaint.take());
            let message = message.unwrap_or_else(|| "it ended with an error".to_owned());
            self.error = Some(StreamError { status: None, message });
        }
    }

    /// One object on either output instead of lines.
    pub(super) fn gemini_whole(&mut self, stdout: &str, stderr: &str) {
        let is_answer =
            |object: &Value| ["response", "error", "stats"].iter().any(|key| object.get(key).is_some());
        let answer = parse::objects(stdout).into_iter().rfind(is_answer);
        let Some(answer) = answer.or_else(|| parse::objects(stderr).into_iter().rfind(is_answer)) else {
            return;
        };
        self.session =
            answer.get("session_id").and_then(Value::as_str).map(str::to_owned).or(self.session.take());
        self.text = answer.get("response").and_then(Value::as_str).map(str::to_owned);
        let models = answer.pointer("/stats/models").and_then(Value::as_object);
        let tokens: u64 = models
            .into_iter()
            .flat_map(serde_json::Map::values)
            .filter_map(|model| model.pointer("/tokens/total").and_then(Value::as_u64))
            .sum();
        self.usage.tokens = (tokens > 0).then_some(tokens).or(self.usage.tokens);
        let calls = answer.pointer("/stats/tools/totalCalls").and_then(Value::as_u64);
        self.tools = calls.and_then(|calls| u32::try_from(calls).ok()).unwrap_or(self.tools);
        if let Some(error) = answer.get("error").filter(|error| !error.is_null()) {
            let message = error.get("message").map_or_else(|| as_text(error), as_text);
            self.error = Some(StreamError { status: error.get("code").and_then(Value::as_u64), message });
        }
    }
}
