//! `fixLoop/status` and `fixLoop/findings`: this server's own messages (DESIGN 9 and 13).
//!
//! Owns paging and what was last sent. Never counts anything itself: the numbers are the engine's.

use std::collections::HashMap;

use lsp_types::{Url, notification};
use serde_json::{Value, json};
use tower_lsp::jsonrpc::Error;

use crate::engine::status::{FindingState, Status, StatusFinding};

use super::client::Client;
use super::commands::invalid;
use super::folders::FolderId;

pub(super) const STATUS: &str = "fixLoop/status";
pub(super) const FINDINGS: &str = "fixLoop/findings";

const PAGE: usize = 200;
const LARGEST_PAGE: u64 = 1000;

/// The notification. Its parameters are the status object of DESIGN 13, and `workspace` where there are several folders.
enum StatusChanged {}

impl notification::Notification for StatusChanged {
    type Params = Value;
    const METHOD: &'static str = STATUS;
}

#[derive(Default)]
pub(super) struct Sent {
    last: HashMap<FolderId, Value>,
}

impl Sent {
    pub fn refresh(&mut self, folder: FolderId, status: &Status, workspace: Option<&str>, client: &Client) {
        let status = small(status, workspace);
        if self.last.get(&folder) != Some(&status) {
            client.notify::<StatusChanged>(status.clone());
            self.last.insert(folder, status);
        }
    }

    pub fn forget(&mut self, folder: FolderId) {
        self.last.remove(&folder);
    }
}

/// The whole small state: without the findings, which are paged.
pub(super) fn small(status: &Status, workspace: Option<&str>) -> Value {
    let status = Status { findings_detail: Vec::new(), ..status.clone() };
    let mut status = serde_json::to_value(status).unwrap_or_else(|_| json!({}));
    if let (Some(workspace), Some(object)) = (workspace, status.as_object_mut()) {
        object.insert("workspace".into(), workspace.into());
    }
    status
}

/// What `fixLoop/findings` asks for.
#[derive(Debug, Default, PartialEq)]
pub(super) struct Query {
    pub cursor: Option<Cursor>,
    pub limit: usize,
    pub states: Option<Vec<FindingState>>,
    pub uri: Option<Url>,
    pub workspace: Option<String>,
}

/// Where a page ended. The name is looked up first, so that a page does not shift when findings come or go before it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Cursor {
    position: usize,
    last: String,
}

impl Cursor {
    fn read(text: &str) -> Option<Cursor> {
        let (position, last) = text.split_once(':')?;
        Some(Cursor { position: position.parse().ok()?, last: last.to_owned() })
    }
}

impl Query {
    pub fn read(params: Value) -> Result<Query, Error> {
        let Value::Object(object) = params else {
            return Err(invalid(format!("`{FINDINGS}` takes one JSON object, not {params}")));
        };
        let mut query = Query { limit: PAGE, ..Query::default() };
        for (key, value) in object {
            let wrong =
                |needs: &str| invalid(format!("`{key}` of `{FINDINGS}` must be {needs}, not {value}"));
            match (key.as_str(), &value) {
                ("cursor" | "limit" | "states" | "uri" | "workspace", Value::Null) => {}
                ("cursor", Value::String(cursor)) => {
                    let cursor =
                        Cursor::read(cursor).ok_or_else(|| wrong("the `next` of an earlier answer"))?;
                    query.cursor = Some(cursor);
                }
                ("limit", value) => {
                    let limit = value.as_u64().filter(|limit| *limit > 0);
                    let limit = limit.ok_or_else(|| wrong("a whole number from 1"))?;
                    // More than that in one answer helps nobody; `next` says that there is more.
                    query.limit = limit.min(LARGEST_PAGE) as usize;
                }
                ("states", value) => {
                    let states =
                        serde_json::from_value(value.clone()).map_err(|_| wrong("a list of states"))?;
                    query.states = Some(states);
                }
                ("uri", Value::String(uri)) => {
                    query.uri = Some(Url::parse(uri).map_err(|_| wrong("a URI"))?);
                }
                ("workspace", Value::String(workspace)) => query.workspace = Some(workspace.clone()),
                ("cursor", _) => return Err(wrong("the `next` of an earlier answer")),
                ("uri", _) => return Err(wrong("a URI")),
                ("workspace", _) => return Err(wrong("the URI of a workspace folder")),
                (unknown, _) => {
                    return Err(invalid(format!("`{FINDINGS}` does not know the key `{unknown}`")));
                }
            }
        }
        Ok(query)
    }
}

/// One finding that matches the query, under a name that no other one has.
pub(super) struct Listed<'a> {
    pub name: String,
    pub finding: &'a StatusFinding,
    pub workspace: Option<String>,
}

fn item(finding: &StatusFinding, workspace: Option<&str>) -> Value {
    let mut item = serde_json::to_value(finding).unwrap_or_else(|_| json!({}));
    if let (Some(workspace), Some(object)) = (workspace, item.as_object_mut()) {
        object.insert("workspace".into(), workspace.into());
    }
    item
}

pub(super) fn page(listed: &[Listed<'_>], query: &Query) -> Value {
    let start = query.cursor.as_ref().map_or(0, |cursor| {
        let known = listed.iter().position(|listed| listed.name == cursor.last).map(|position| position + 1);
        known.unwrap_or(cursor.position).min(listed.len())
    });
    let end = (start + query.limit).min(listed.len());
    let next = (end < listed.len() && end > start).then(|| format!("{end}:{}", listed[end - 1].name));
    let items: Vec<Value> =
        listed[start..end].iter().map(|one| item(one.finding, one.workspace.as_deref())).collect();
    json!({"items": items, "next": next})
}
