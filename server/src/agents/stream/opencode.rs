//! Reading opencode: JSON lines of parts (`run --format json`).

use serde_json::Value;

use super::super::lenient::as_text;
use super::super::outcome::Usage;
use super::{Progress, Reading, StreamError, denials, is_edit, target_of};

impl Reading {
    pub(super) fn opencode(&mut self, event: &Value) -> Vec<Progress> {
        if let Some(session) = event.get("sessionID").and_then(Value::as_str) {
            self.session = Some(session.to_owned());
        }
        let part = event.get("part");
        match event.get("type").and_then(Value::as_str) {
            Some("text") => {
                self.text = part.and_then(|part| part.get("text")).and_then(Value::as_str).map(str::to_owned);
            }
            Some("tool_use") => return self.opencode_tool(part),
            Some("step_finish") => {
                // It asks again for ever when its service answers with what it cannot read.
                let reason = part.and_then(|part| part.get("reason")).and_then(Value::as_str);
                let said = part.and_then(|part| part.pointer("/tokens/output")).and_then(Value::as_u64);
                if reason == Some("unknown") && said == Some(0) {
                    self.tried_again("an answer of the service was incomplete");
                }
                let cost = part.and_then(|part| part.get("cost")).and_then(Value::as_f64);
                self.usage.add(Usage {
                    cost_usd: cost,
                    tokens: part.and_then(|part| part.get("tokens")).map(|tokens| {
                        ["/input", "/output", "/reasoning", "/cache/read", "/cache/write"]
                            .iter()
                            .filter_map(|path| tokens.pointer(path).and_then(Value::as_u64))
                            .sum()
                    }),
                });
            }
            Some("error") => {
                let error = event.get("error");
                let data = error.and_then(|error| error.get("data"));
                let message = [
                    data.and_then(|data| data.get("message")),
                    error.and_then(|error| error.get("message")),
                    error,
                ]
                .into_iter()
                .flatten()
                .map(as_text)
                .find(|text| !text.is_empty());
                self.error = Some(StreamError {
                    status: data.and_then(|data| data.get("statusCode")).and_then(Value::as_u64),
                    message: message.unwrap_or_default(),
                });
            }
            _ => {}
        }
        Vec::new()
    }

    /// A tool that has ended.
    fn opencode_tool(&mut self, part: Option<&Value>) -> Vec<Progress> {
        let name = part.and_then(|part| part.get("tool")).and_then(Value::as_str).unwrap_or("tool");
        let state = part.and_then(|part| part.get("state"));
        let field = |key: &str| state.and_then(|state| state.get(key));
        let input = field("input");
        // A call of a tool that is not offered is turned into one of the tool `invalid`.
        let asked = match name {
            "invalid" => input.and_then(|input| input.get("tool")).and_then(Value::as_str).unwrap_or(name),
            _ => name,
        };
        let target = target_of(input);
        if is_edit(asked) {
            let failed = match (name, field("status").and_then(Value::as_str)) {
                ("invalid", _) => field("output").map(as_text),
                (_, Some("error")) => field("error").map(as_text),
                _ => None,
            };
            match failed {
                None => self.edits += 1,
                Some(why) if denials::reads_as_denial(&why) => {
                    self.deny(target.as_deref().unwrap_or_default())
                }
                Some(_) => {}
            }
        }
        vec![self.progress(asked, target)]
    }
}
