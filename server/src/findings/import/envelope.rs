//! What agents and models wrap their answer in.
//!
//! An envelope that reports a failure is an error, never an empty review: exit 0 with an error inside is a known lie
//! (DESIGN 8).

use serde_json::{Map, Value};

/// The failure that an envelope reports.
pub fn failure(object: &Map<String, Value>) -> Option<String> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).filter(|text| !text.trim().is_empty());
    let is_result = text("type") == Some("result");
    if is_result {
        let failed = object.get("is_error") == Some(&Value::Bool(true))
            || text("subtype").is_some_and(|subtype| subtype.starts_with("error"));
        let empty = !has_answer(object);
        if failed || empty {
            let said =
                text("result").or_else(|| text("error")).or_else(|| text("subtype")).unwrap_or("no answer");
            return Some(format!("the agent failed and gave no review: {}", first_line(said)));
        }
    }
    let bare = !object
        .keys()
        .any(|key| matches!(key.as_str(), "findings" | "issues" | "result" | "review" | "response"));
    if bare && (object.contains_key("error") || text("type") == Some("error")) {
        let said = match object.get("error") {
            Some(Value::String(said)) => Some(said.as_str()),
            Some(Value::Object(error)) => error.get("message").and_then(Value::as_str),
            _ => text("message"),
        };
        if let Some(said) = said {
            return Some(format!("this is an error, not a review: {}", first_line(said)));
        }
    }
    None
}

fn has_answer(object: &Map<String, Value>) -> bool {
    ["structured_output", "result"].iter().any(|key| match object.get(*key) {
        Some(Value::String(text)) => !text.trim().is_empty(),
        Some(Value::Object(_) | Value::Array(_)) => true,
        _ => false,
    })
}

fn first_line(text: &str) -> String {
    text.trim().lines().next().unwrap_or_default().chars().take(200).collect()
}

/// What may be inside an envelope, the likeliest first.
pub fn contents(object: &Map<String, Value>) -> Vec<Value> {
    let mut found = Vec::new();
    let get = |key: &str| object.get(key).cloned();
    // `fix-loop import --format json`
    found.extend(get("review_output"));
    match object.get("type").and_then(Value::as_str) {
        Some("result") => {
            found.extend(get("structured_output").filter(|value| !value.is_null()));
            found.extend(get("result"));
        }
        // Codex: {"type":"item.completed","item":{"type":"agent_message","text":"…"}}
        Some("item.completed") => found.extend(object.get("item").and_then(|item| item.get("text")).cloned()),
        Some("assistant") => found.extend(get("message")),
        _ => {}
    }
    let is_review = |value: &&Value| value.get("schema_version").is_some() && value.get("findings").is_some();
    found.extend(object.values().filter(is_review).cloned());
    // OpenAI, Anthropic and Gemini interfaces.
    if let Some(message) =
        object.get("choices").and_then(|choices| choices.get(0)).and_then(|choice| choice.get("message"))
    {
        found.extend(message.get("content").cloned());
    }
    if let Some(parts) =
        object.get("candidates").and_then(|all| all.get(0)).and_then(|one| one.get("content"))
    {
        found.extend(joined_text(parts.get("parts")));
    }
    found.extend(joined_text(object.get("content")));
    if found.is_empty() {
        let is_wrapped = |value: &Value| match value {
            Value::Object(_) => true,
            Value::String(text) => text.contains('{') || text.contains("```"),
            _ => false,
        };
        for key in
            ["response", "result", "output", "answer", "text", "content", "last_message", "structured_output"]
        {
            found.extend(get(key).filter(is_wrapped));
        }
    }
    found.retain(|value| match value {
        Value::String(text) => text.contains(['{', '[']),
        Value::Object(_) | Value::Array(_) => true,
        _ => false,
    });
    found
}

/// The text of a list of content blocks: `[{"type": "text", "text": "…"}]`.
fn joined_text(blocks: Option<&Value>) -> Option<Value> {
    let texts: Vec<&str> =
        blocks?.as_array()?.iter().filter_map(|block| block.get("text").and_then(Value::as_str)).collect();
    (!texts.is_empty()).then(|| Value::String(texts.join("\n")))
}

/// The answer at the end of a list of messages (`--output-format stream-json`, `codex exec --json`); `None` where the list
/// is none of messages.
pub fn last_answer(items: &[Value]) -> Result<Option<Value>, String> {
    let kind = |item: &Value| item.get("type").and_then(Value::as_str).map(str::to_owned);
    let result = items.iter().rev().find(|item| kind(item).as_deref() == Some("result"));
    if let Some(Value::Object(result)) = result {
        return match failure(result) {
            Some(message) => Err(message),
            None => Ok(Some(Value::Object(result.clone()))),
        };
    }
    let is_message = |item: &&Value| {
        let is_agent = |item: &Value| item.get("type").and_then(Value::as_str) == Some("agent_message");
        kind(item).as_deref() == Some("item.completed") && item.get("item").is_some_and(is_agent)
    };
    let failed =
        items.iter().rev().find(|item| matches!(kind(item).as_deref(), Some("turn.failed" | "error")));
    match (items.iter().rev().find(is_message), failed) {
        (Some(message), _) => Ok(Some(message.clone())),
        (None, Some(failed)) if items.iter().all(|item| kind(item).is_some()) => {
            let said =
                failed.get("error").and_then(|error| error.get("message")).or_else(|| failed.get("message"));
            Err(format!(
                "the agent failed and gave no review: {}",
                said.and_then(Value::as_str).unwrap_or("no reason given")
            ))
        }
        _ => Ok(None),
    }
}
