//! GitHub pull-request review comments: REST, GraphQL and what `gh` prints (DESIGN 5).
//!
//! A comment whose line is `null` is outdated: it is kept and listed, and not worked on; so is one in a resolved thread. The
//! diff hunk is believed only about what was reviewed, never about where the code is now.

use std::sync::LazyLock;

use regex::Regex;
use serde_json::{Map, Value};

use super::markdown;
use crate::findings::finding::{Edit, Finding, FindingId, Note, Position, Severity};
use crate::findings::reading::{LineSpan, UNSTATED_CONFIDENCE, resolved_criterion};
use crate::findings::review_output::{LeftOut, ReviewOutput};
use crate::findings::tree::SourceText;

type Object = Map<String, Value>;

static HUNK: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"^@@ -\d+(?:,\d+)? \+(\d+)(?:,\d+)? @@").expect("a constant pattern"));

/// Fields that only review comments have.
const OWN_KEYS: &[&str] = &[
    "diff_hunk",
    "diffHunk",
    "pull_request_review_id",
    "pullRequestReview",
    "original_position",
    "originalPosition",
    "original_line",
    "originalLine",
    "in_reply_to_id",
    "subject_type",
    "subjectType",
];

/// Reads comments; `None` where the document is none of GitHub's, an error where GitHub answered with one.
pub fn read(value: &Value, tree: Option<&dyn SourceText>) -> Result<Option<ReviewOutput>, String> {
    let mut gathered = Gathered::default();
    match value {
        Value::Array(items) => {
            if items.is_empty() || !items.iter().any(|item| is_comment(item) || is_thread(item)) {
                return Ok(None);
            }
            gathered.list(items);
        }
        Value::Object(object) => {
            if !gathered.object(object, 0) {
                return match api_error(object) {
                    Some(message) => {
                        Err(format!("GitHub answered with an error, not with comments: {message}"))
                    }
                    None => Ok(None),
                };
            }
            if let Some(message) = api_error(object) {
                gathered.notes.push(Note::new(
                    None,
                    "errors",
                    message,
                    Value::Null,
                    "GitHub's answer is incomplete",
                ));
                gathered.incomplete = true;
            }
        }
        _ => return Ok(None),
    }
    Ok(Some(gathered.into_review(tree)))
}

fn get<'a>(object: &'a Object, keys: &[&str]) -> Option<&'a Value> {
    keys.iter().find_map(|key| object.get(*key)).filter(|value| !value.is_null())
}

fn text<'a>(object: &'a Object, keys: &[&str]) -> Option<&'a str> {
    get(object, keys)?.as_str().filter(|text| !text.is_empty())
}

fn number(object: &Object, keys: &[&str]) -> Option<i64> {
    get(object, keys)?.as_i64()
}

fn is_comment(value: &Value) -> bool {
    let Some(object) = value.as_object() else { return false };
    let said = object.get("body").is_some_and(Value::is_string);
    let placed = object.get("path").is_some_and(Value::is_string);
    let who = object.contains_key("user") || object.contains_key("author") || object.contains_key("html_url");
    // GitHub has no severities: whoever gives one has written a review of their own.
    let who = who && !object.contains_key("severity") && !object.contains_key("priority");
    said && placed && (who || OWN_KEYS.iter().any(|key| object.contains_key(*key)))
}

fn is_thread(value: &Value) -> bool {
    value.get("comments").is_some_and(|comments| nodes(comments).is_some())
        && value.get("isResolved").is_some()
}

/// The items of a GraphQL connection, in any of the forms in which they are saved.
fn nodes(connection: &Value) -> Option<Vec<Value>> {
    if let Value::Array(items) = connection {
        return Some(items.clone());
    }
    if let Some(Value::Array(items)) = connection.get("nodes") {
        return Some(items.clone());
    }
    let edges = connection.get("edges")?.as_array()?;
    Some(edges.iter().filter_map(|edge| edge.get("node").cloned()).collect())
}

fn api_error(object: &Object) -> Option<String> {
    if let Some(Value::Array(errors)) = object.get("errors") {
        let is_api = object.contains_key("data")
            || errors.iter().all(|error| error.get("message").is_some()) && object.len() <= 3;
        let message = errors.first().and_then(|error| error.get("message")?.as_str());
        if is_api && let Some(message) = message {
            return Some(message.to_owned());
        }
    }
    let documented = object.contains_key("documentation_url");
    documented.then(|| text(object, &["message"]).unwrap_or("no message").to_owned())
}

#[derive(Default)]
struct Gathered {
    /// A comment, the thread it stands in, and the replies to it.
    comments: Vec<(Object, Option<Object>, Vec<Object>)>,
    left_out: Vec<(Value, &'static str)>,
    notes: Vec<Note>,
    incomplete: bool,
}

impl Gathered {
    /// Says whether the object is one of GitHub's.
    fn object(&mut self, object: &Object, depth: usize) -> bool {
        if depth > 6 {
            return false;
        }
        let value = Value::Object(object.clone());
        if is_thread(&value)
            || is_comment(&value) && depth > 0
            || OWN_KEYS.iter().any(|key| object.contains_key(*key)) && is_comment(&value)
        {
            self.list(std::slice::from_ref(&value));
            return true;
        }
        // A webhook's payload.
        if let Some(comment) = object.get("comment").filter(|comment| is_comment(comment)) {
            self.list(std::slice::from_ref(comment));
            return true;
        }
        let mut found = false;
        if let Some(threads) = get(object, &["reviewThreads", "review_threads"]).and_then(nodes) {
            self.list(&threads);
            found = true;
        }
        for key in ["data", "repository", "pullRequest", "node", "viewer", "pull_request"] {
            if let Some(Value::Object(inner)) = object.get(key) {
                found |= self.object(inner, depth + 1);
            }
        }
        for key in ["nodes", "comments", "reviewComments", "review_comments", "latestReviews", "reviews"] {
            let Some(items) = object.get(key).and_then(nodes) else { continue };
            let ours = items.iter().any(|item| is_comment(item) || is_thread(item));
            let nested: Vec<&Object> = items
                .iter()
                .filter_map(Value::as_object)
                .filter(|item| {
                    item.get("comments").and_then(nodes).is_some_and(|inner| inner.iter().any(is_comment))
                })
                .collect();
            if ours {
                self.list(&items);
                found = true;
            } else if !nested.is_empty() {
                for review in nested {
                    found |= self.object(review, depth + 1);
                }
            } else if is_discussion(&items)
                && (object.contains_key("reviews") || object.contains_key("latestReviews"))
            {
                // `gh pr view --json comments,reviews`: talk about the whole, without a file.
                for item in items {
                    self.left_out.push((item, "a comment on the whole pull request, not on a file"));
                }
                found = true;
            }
        }
        found
    }

    fn list(&mut self, items: &[Value]) {
        for item in items {
            if let (true, Some(thread)) = (is_thread(item), item.as_object()) {
                let comments = thread.get("comments").and_then(nodes).unwrap_or_default();
                let mut comments = comments.into_iter().filter_map(|comment| match comment {
                    Value::Object(object) => Some(object),
                    _ => None,
                });
                match comments.next() {
                    Some(first) => self.comments.push((first, Some(thread.clone()), comments.collect())),
                    None => self.left_out.push((item.clone(), "a thread without comments")),
                }
                continue;
            }
            match item {
                Value::Object(object) if object.get("body").is_some_and(Value::is_string) => {
                    self.comments.push((object.clone(), None, Vec::new()));
                }
                other => self.left_out.push((other.clone(), "invalid: this is no review comment")),
            }
        }
    }

    /// Replies belong to what they answer; one whose thread is not here stands for it.
    fn gather_replies(&mut self) {
        let ids: Vec<Option<i64>> =
            self.comments.iter().map(|(comment, ..)| number(comment, &["id", "databaseId"])).collect();
        let mut kept: Vec<(Object, Option<Object>, Vec<Object>)> = Vec::new();
        let mut places: std::collections::HashMap<i64, usize> = std::collections::HashMap::new();
        let mut replies = Vec::new();
        for ((comment, thread, more), id) in std::mem::take(&mut self.comments).into_iter().zip(&ids) {
            let parent = number(&comment, &["in_reply_to_id", "inReplyToId"])
                .filter(|parent| ids.contains(&Some(*parent)) && Some(*parent) != *id);
            match parent {
                Some(parent) => replies.push((parent, *id, comment)),
                None => {
                    if let Some(id) = id {
                        places.insert(*id, kept.len());
                    }
                    kept.push((comment, thread, more));
                }
            }
        }
        for (parent, id, comment) in replies {
            match places.get(&parent).copied() {
                Some(at) => {
                    kept[at].2.push(comment);
                    if let Some(id) = id {
                        places.insert(id, at);
                    }
                }
                // The parent answers something as well, or they answer each other.
                None => kept.push((comment, None, Vec::new())),
            }
        }
        self.comments = kept;
    }

    fn into_review(mut self, tree: Option<&dyn SourceText>) -> ReviewOutput {
        self.gather_replies();
        let mut review = ReviewOutput::default();
        review.unread.notes.append(&mut self.notes);
        let mut revisions: Vec<String> = Vec::new();
        for (number, (comment, thread, replies)) in (1_u64..).zip(self.comments) {
            let reading = Reading { comment: &comment, thread: thread.as_ref(), tree };
            let finding = reading.finding(number, &replies, &mut review.unread.notes);
            if finding.title.is_empty() {
                let reason = "invalid: the comment says nothing".to_owned();
                review.unread.notes.push(Note::new(
                    Some(&finding.id),
                    "body",
                    finding.body.clone(),
                    Value::Null,
                    reason.clone(),
                ));
                review.unread.left_out.push(LeftOut { id: finding.id, finding: None, reason });
                continue;
            }
            if finding.set_aside.is_none()
                && let Some(revision) = text(&comment, &["commit_id"])
                && !revisions.iter().any(|known| known == revision)
            {
                revisions.push(revision.to_owned());
            }
            review.findings.push(finding);
        }
        if let [revision] = revisions.as_slice() {
            review.review_base = Some(revision.clone());
        }
        for (value, why) in self.left_out {
            let number = review.findings.len() + review.unread.left_out.len() + 1;
            let id = value
                .get("id")
                .and_then(FindingId::from_value)
                .unwrap_or_else(|| FindingId::from(number as u64));
            review.unread.notes.push(Note::new(Some(&id), "comment", value, Value::Null, why));
            review.unread.left_out.push(LeftOut { id, finding: None, reason: why.to_owned() });
        }
        if self.incomplete {
            review.unread.not_scanned.push(String::new());
        }
        if !review.findings.is_empty() {
            let why = "review comments give no confidence";
            review.unread.notes.push(Note::new(None, "confidence", Value::Null, UNSTATED_CONFIDENCE, why));
        }
        review.source = Some("github".to_owned());
        review
    }
}

fn is_discussion(items: &[Value]) -> bool {
    !items.is_empty()
        && items.iter().all(|item| {
            item.get("body").is_some() && item.get("author").is_some() && item.get("path").is_none()
        })
}

struct Reading<'a> {
    comment: &'a Object,
    thread: Option<&'a Object>,
    tree: Option<&'a dyn SourceText>,
}

impl Reading<'_> {
    /// A field of the comment, else of its thread; the thread of a GraphQL answer often carries the place.
    fn either(&self, keys: &[&str]) -> Option<&Value> {
        get(self.comment, keys).or_else(|| get(self.thread?, keys))
    }

    fn has(&self, key: &str) -> bool {
        self.comment.contains_key(key) || self.thread.is_some_and(|thread| thread.contains_key(key))
    }

    fn finding(&self, number: u64, replies: &[Object], notes: &mut Vec<Note>) -> Finding {
        let id = get(self.comment, &["id", "databaseId"])
            .or_else(|| get(self.thread?, &["id"]))
            .and_then(FindingId::from_value)
            .unwrap_or_else(|| FindingId::from(number));
        let body = text(self.comment, &["body"]).unwrap_or_default();
        let title = markdown::title(body);
        let title = if title.is_empty() && !markdown::suggestions(body).is_empty() {
            "Apply the suggested change".to_owned()
        } else {
            title
        };
        let (severity, native) = match markdown::severity(body) {
            Some((severity, word)) => (severity, Some(word)),
            None => {
                let why = "a review comment gives no severity; it asks for a change until someone judges it";
                notes.push(Note::new(Some(&id), "severity", Value::Null, "P1", why));
                (Severity::P1, None)
            }
        };
        let mut finding = Finding::new(id, severity, title);
        finding.native_severity = native;
        finding.confidence = UNSTATED_CONFIDENCE;
        finding.criterion = Some(resolved_criterion(&finding.title));
        body.replace("\r\n", "\n").clone_into(&mut finding.body);
        for reply in replies {
            let who = author(reply).unwrap_or("someone");
            let said = text(reply, &["body"]).unwrap_or_default().trim();
            finding.body.push_str(&format!("\n\nReply by {who}: {said}"));
        }
        finding.file =
            self.either(&["path"]).and_then(Value::as_str).filter(|path| !path.is_empty()).map(|path| {
                self.tree.and_then(|tree| tree.resolve(path).ok()).unwrap_or_else(|| path.to_owned())
            });
        for (key, value) in [
            ("author", author(self.comment).map(Value::from)),
            ("url", text(self.comment, &["html_url", "url"]).map(Value::from)),
            ("commit_id", text(self.comment, &["commit_id"]).map(Value::from)),
        ] {
            if let Some(value) = value {
                finding.extra.insert(key.to_owned(), value);
            }
        }
        self.place(&mut finding, notes);
        self.suggest(body, &mut finding, notes);
        finding
    }

    fn place(&self, finding: &mut Finding, notes: &mut Vec<Note>) {
        let is = |key: &str| self.either(&[key]) == Some(&Value::Bool(true));
        let whole_file = self
            .either(&["subject_type", "subjectType"])
            .and_then(Value::as_str)
            .is_some_and(|kind| kind.eq_ignore_ascii_case("file"));
        let line = self.either(&["line"]).and_then(Value::as_i64);
        // Older payloads have no line at all; there a position that is null says that the code has gone.
        let gone = if self.has("line") {
            line.is_none()
        } else {
            self.has("position") && self.either(&["position"]).is_none()
        };
        let outdated = is("isOutdated") || is("outdated") || gone && !whole_file;
        if outdated {
            finding.extra.insert("outdated".to_owned(), Value::Bool(true));
            let original = self.either(&["original_line", "originalLine"]).cloned().unwrap_or(Value::Null);
            finding.extra.insert("original_line".to_owned(), original.clone());
            let reason = "outdated: the pull request's code has changed since this comment";
            finding.set_aside = Some(reason.to_owned());
            notes.push(Note::new(Some(&finding.id), "line_start", original, Value::Null, reason));
        }
        if is("isResolved") || is("is_resolved") || is("resolved") {
            finding.extra.insert("resolved".to_owned(), Value::Bool(true));
            let reason = "resolved: its thread was closed on GitHub";
            finding.set_aside = Some(reason.to_owned());
            notes.push(Note::new(Some(&finding.id), "thread", "resolved", Value::Null, reason));
        }
        if whole_file || outdated && line.is_none() {
            return;
        }
        let side = |keys: &[&str]| self.either(keys).and_then(Value::as_str).map(str::to_ascii_uppercase);
        if side(&["side", "diffSide"]).as_deref() == Some("LEFT") {
            let why =
                "the comment is on a line that the pull request removes, so it is on no line of the file now";
            notes.push(Note::new(Some(&finding.id), "line_start", line, Value::Null, why));
            finding.extra.insert("side".to_owned(), Value::from("LEFT"));
            return;
        }
        let mut start = self.either(&["start_line", "startLine"]).and_then(Value::as_i64);
        if start.is_some() && side(&["start_side", "startDiffSide"]).as_deref() == Some("LEFT") {
            let why = "the range begins on a line that the pull request removes";
            notes.push(Note::new(Some(&finding.id), "line_start", start, line, why));
            start = None;
        }
        let line = line.or_else(|| self.line_of_hunk(&finding.id, notes));
        let span = LineSpan { start: start.or(line), end: line, more: false };
        (finding.line_start, finding.line_end) = span.settle(notes, &finding.id);
    }

    /// The last line of the diff hunk, where the diff is still the one that was commented on.
    fn line_of_hunk(&self, id: &FindingId, notes: &mut Vec<Note>) -> Option<i64> {
        let position = self.either(&["position"]).and_then(Value::as_i64);
        let original = self.either(&["original_position", "originalPosition"]).and_then(Value::as_i64);
        let line = self
            .hunk_lines()
            .last()
            .map(|(line, _)| i64::from(*line))
            .filter(|_| position.is_some() && position == original);
        let why = match line {
            Some(_) => "the payload gives no line, so it is the last one of the diff hunk",
            None => "the payload gives no line, and the diff has changed since",
        };
        notes.push(Note::new(Some(id), "line_start", Value::Null, line, why));
        line
    }

    /// The lines of the new side that the diff hunk shows. The comment stands on the last one.
    fn hunk_lines(&self) -> Vec<(u32, &str)> {
        let Some(hunk) = text(self.comment, &["diff_hunk", "diffHunk"]) else { return Vec::new() };
        let mut lines = hunk.lines();
        let first = lines.next().and_then(|head| HUNK.captures(head)?[1].parse::<u32>().ok());
        let Some(mut next) = first else { return Vec::new() };
        let mut shown = Vec::new();
        for line in lines {
            match line.chars().next() {
                Some('-' | '\\') => continue,
                Some('+' | ' ') => shown.push((next, &line[1..])),
                // Some tools drop the space of an empty context line.
                None => shown.push((next, "")),
                Some(_) => continue,
            }
            next = next.saturating_add(1);
        }
        shown
    }

    /// A suggestion block replaces the commented lines. What it deletes is what the hunk shows there, if it does.
    fn suggest(&self, body: &str, finding: &mut Finding, notes: &mut Vec<Note>) {
        let blocks = markdown::suggestions(body);
        let Some(lines) = blocks.first() else { return };
        let placed = finding.file.clone().zip(finding.line_start).filter(|_| finding.set_aside.is_none());
        let Some((file, start)) = placed else {
            let why = "the lines that it would replace are not there any more";
            notes.push(Note::new(Some(&finding.id), "suggestion", lines.join("\n"), Value::Null, why));
            return;
        };
        if blocks.len() > 1 {
            let why = "several suggestions are given, and the first one is taken";
            notes.push(Note::new(Some(&finding.id), "suggestion", blocks.len(), 1, why));
        }
        let end = finding.line_end.unwrap_or(start);
        let replacement = lines.iter().map(|line| format!("{line}\n")).collect();
        let same_line = self
            .either(&["original_line", "originalLine"])
            .and_then(Value::as_i64)
            .is_none_or(|line| line == i64::from(end));
        let shown: Vec<&str> = self
            .hunk_lines()
            .into_iter()
            .filter(|(line, _)| (start..=end).contains(line))
            .map(|(_, text)| text)
            .collect();
        let complete = same_line && shown.len() as u64 == u64::from(end - start) + 1;
        let deleted = complete.then(|| shown.iter().map(|line| format!("{line}\n")).collect());
        finding.suggestion = vec![Edit {
            file,
            start: Position::new(start, 1),
            end: Position::new(end.saturating_add(1), 1),
            replacement,
            deleted,
        }];
    }
}

fn author(comment: &Object) -> Option<&str> {
    get(comment, &["user", "author"])?.get("login")?.as_str()
}
