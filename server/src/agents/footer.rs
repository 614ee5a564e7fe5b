//! The `WORKER_RESULT` footer of `converge` (DESIGN 6): YAML or JSON, the last block of what a worker writes.

use std::sync::LazyLock;

use regex::Regex;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::lenient;

/// What a worker says of the worktree it leaves. The engine looks for itself.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Footer {
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub phase: Option<String>,
    #[serde(default, deserialize_with = "lenient::maybe_word")]
    pub status: Option<FooterStatus>,
    /// The revision you started from.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub base: Option<String>,
    /// The revision you leave.
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub head: Option<String>,
    #[serde(default, deserialize_with = "lenient::maybe_word")]
    pub tree: Option<TreeState>,
    #[serde(default, deserialize_with = "lenient::maybe_word")]
    pub validation: Option<Validation>,
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub validation_command: Option<String>,
    #[serde(default, deserialize_with = "lenient::maybe_text")]
    pub blocked_by: Option<String>,
    /// How many findings of the Standards axis.
    #[serde(default, deserialize_with = "lenient::maybe_count")]
    pub findings_standards: Option<u32>,
    /// How many findings of the Spec axis.
    #[serde(default, deserialize_with = "lenient::maybe_count")]
    pub findings_spec: Option<u32>,
    #[serde(default, deserialize_with = "lenient::maybe_count")]
    pub open_root_causes: Option<u32>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "UPPERCASE")]
#[schemars(inline)]
pub enum FooterStatus {
    Done,
    Blocked,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
#[schemars(inline)]
pub enum TreeState {
    Clean,
    Dirty,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
#[schemars(inline)]
pub enum Validation {
    #[serde(alias = "PASSED")]
    Pass,
    #[serde(alias = "FAILED")]
    Fail,
    #[serde(alias = "SKIPPED")]
    NotRun,
}

/// A YAML parser expands aliases; a footer needs no such size.
const LONGEST: usize = 64 * 1024;

static MARK: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?m)^[ \t>*#`-]*"?WORKER_RESULT"?[ \t*`]*:?[ \t*]*"#).expect("a constant pattern")
});

/// Revisions are read from the text itself: YAML takes `1234567` and `12e45` for numbers.
static REVISION: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?m)^\s*(base|head)\s*:\s*["']?([0-9A-Za-z][0-9A-Za-z./_-]*)"#).expect("a constant pattern")
});

/// The last footer in a text, as a JSON object.
pub fn find(text: &str) -> Option<Map<String, Value>> {
    let mark = MARK.find_iter(text).last()?;
    let block = block_after(&text[mark.end()..]);
    if let Some(Value::Object(map)) = super::parse::objects(&block).into_iter().last()
        && block.trim_start().starts_with('{')
    {
        return Some(map);
    }
    let Value::Object(mut map) = serde_yaml_ng::from_str::<Value>(&dedent(&block)).ok()? else { return None };
    for found in REVISION.captures_iter(&block) {
        map.insert(found[1].to_owned(), Value::String(found[2].to_owned()));
    }
    Some(map)
}

/// The lines that belong to the mark: to the end of its fence, or to the first line that is less indented than its first.
fn block_after(text: &str) -> String {
    let text = super::excerpt::head(text, LONGEST);
    let mut block = String::new();
    let mut indent = None;
    for (number, line) in text.lines().enumerate() {
        if line.trim_start().starts_with("```") || line.trim_start().starts_with("~~~") {
            if block.trim().is_empty() && number <= 1 {
                continue; // the mark stood above its fence
            }
            break;
        }
        if line.trim().is_empty() {
            if indent == Some(0) {
                break; // unindented keys end with the paragraph
            }
            block.push('\n');
            continue;
        }
        let depth = line.len() - line.trim_start().len();
        if number > 0 || !line.trim().is_empty() {
            let first = *indent.get_or_insert(depth);
            if depth < first && !line.trim_start().starts_with('}') {
                break;
            }
        }
        block.push_str(line);
        block.push('\n');
    }
    block
}

fn dedent(block: &str) -> String {
    let depth = block
        .lines()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min()
        .unwrap_or(0);
    block.lines().map(|line| line.get(depth..).unwrap_or_default()).collect::<Vec<_>>().join("\n")
}
