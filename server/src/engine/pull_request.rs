//! The review comments of a pull request, by the `gh` program (DESIGN 6, `--from-pr`).
//!
//! Owns the call and its failures. What comes back is untrusted text; `findings` imports it.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use regex::Regex;
use serde_json::Value;

use super::api::{Refusal, RefusalKind};
use crate::process::{Cancel, How, Keep, Spec, Supervisor, Watch, base_environment, set_variable};

const LIMIT: Duration = Duration::from_secs(120);
const GRACE: Duration = Duration::from_secs(2);
const KEEP: Keep = Keep { head: 64 * 1024 * 1024, tail: 1024 };

/// Host, owner, repository and number of a pull request's address.
fn parts(url: &str) -> Option<(String, String, String, String)> {
    let pattern = Regex::new(
        r"^https?://([A-Za-z0-9.-]+(?::\d+)?)/([A-Za-z0-9_.-]+)/([A-Za-z0-9_.-]+)/pull/(\d+)(?:[/?#].*)?$",
    )
    .expect("a constant pattern");
    let found = pattern.captures(url.trim())?;
    Some((found[1].into(), found[2].into(), found[3].into(), found[4].into()))
}

/// What a pull request's reviewers wrote.
pub struct PullRequest {
    /// The comments as GitHub's REST interface gives them. Those of closed threads say so.
    pub comments: Vec<u8>,
    /// What could not be learned.
    pub note: Option<String>,
}

/// Which threads are closed is told by the GraphQL interface only; a thread is known by its first comment.
const THREADS: &str = "query($owner: String!, $name: String!, $number: Int!, $endCursor: String) { repository(owner: $owner, \
                       name: $name) { pullRequest(number: $number) { reviewThreads(first: 100, after: $endCursor) { \
                       nodes { isResolved comments(first: 1) { nodes { databaseId } } } \
                       pageInfo { hasNextPage endCursor } } } } }";

/// The review comments of the pull request at this address.
pub async fn pull_request(url: &str, root: &Path, supervisor: &Supervisor) -> Result<PullRequest, Refusal> {
    let (host, owner, repository, number) = parts(url).ok_or_else(|| Refusal {
        kind: RefusalKind::Unknown,
        message: format!(
            "{url} is no address of a pull request; it looks like https://HOST/OWNER/REPOSITORY/pull/NUMBER"
        ),
    })?;
    let of_threads = [
        "graphql".to_owned(),
        "-f".to_owned(),
        format!("query={THREADS}"),
        "-f".to_owned(),
        format!("owner={owner}"),
        "-f".to_owned(),
        format!("name={repository}"),
        "-F".to_owned(),
        format!("number={number}"),
    ];
    let of_comments = [format!("repos/{owner}/{repository}/pulls/{number}/comments?per_page=100")];
    let closed = match api(&host, &of_threads, root, supervisor).await {
        Ok(threads) => closed_threads(&threads).ok_or_else(|| "GitHub's answer names no threads".to_owned()),
        Err(why) => Err(why),
    };
    let comments = api(&host, &of_comments, root, supervisor)
        .await
        .map_err(|message| Refusal { kind: RefusalKind::Environment, message })?;
    Ok(match closed {
        Ok(closed) => PullRequest { comments: marked(comments, &closed), note: None },
        Err(why) => {
            let note =
                format!("which threads of {url} are closed is not known, so all are taken for open: {why}");
            PullRequest { comments, note: Some(note) }
        }
    })
}

/// What `gh api --paginate` prints: one JSON document after the other.
async fn api(
    host: &str,
    arguments: &[String],
    root: &Path,
    supervisor: &Supervisor,
) -> Result<Vec<u8>, String> {
    let mut env = base_environment(&["GH_*".to_owned(), "GITHUB_TOKEN".to_owned()]);
    set_variable(&mut env, "GH_PROMPT_DISABLED", "1");
    let fixed = ["gh", "api", "--paginate", "--hostname", host].map(str::to_owned);
    let spec = Spec {
        argv: fixed.into_iter().chain(arguments.iter().cloned()).collect(),
        cwd: root.to_path_buf(),
        env,
        stdin: Vec::new(),
        limit: LIMIT,
        grace: GRACE,
        keep: KEEP,
    };
    let ended = supervisor.run(spec, &Cancel::new(), Watch::default()).await;
    match ended.how {
        How::Exited(0) => ended.stdout.bytes().ok_or_else(|| "the answer is too long to be read".to_owned()),
        How::Exited(code) => {
            Err(format!("`gh` exited with {code}: {}; try `gh auth status`", ended.stderr.text().trim()))
        }
        How::NotStarted { message, .. } => {
            Err(format!("`gh` cannot be started: {message}; install the GitHub CLI"))
        }
        How::OverLimit => Err(format!("`gh` did not answer within {} s", LIMIT.as_secs())),
        How::Signalled(signal) => Err(format!("`gh` was ended by signal {signal}")),
        How::Cancelled => Err("cancelled".into()),
    }
}

fn documents(bytes: &[u8]) -> Option<Vec<Value>> {
    serde_json::Deserializer::from_slice(bytes).into_iter().collect::<Result<_, _>>().ok()
}

/// The first comments of the threads that are closed; `None` where no page has threads.
fn closed_threads(bytes: &[u8]) -> Option<BTreeSet<u64>> {
    let pages = documents(bytes)?;
    let threads: Vec<&Value> = pages
        .iter()
        .filter_map(|page| page.pointer("/data/repository/pullRequest/reviewThreads/nodes")?.as_array())
        .flatten()
        .collect();
    let any =
        pages.iter().any(|page| page.pointer("/data/repository/pullRequest/reviewThreads/nodes").is_some());
    let closed = threads.into_iter().filter(|thread| thread["isResolved"] == true);
    any.then(|| {
        closed.filter_map(|thread| thread.pointer("/comments/nodes/0/databaseId")?.as_u64()).collect()
    })
}

/// The comments, with those of closed threads marked as such. What is no list of comments stays as it is, for the importer to
/// say so.
fn marked(bytes: Vec<u8>, closed: &BTreeSet<u64>) -> Vec<u8> {
    let Some(mut pages) = documents(&bytes).filter(|_| !closed.is_empty()) else { return bytes };
    for comment in pages.iter_mut().filter_map(Value::as_array_mut).flatten().filter_map(Value::as_object_mut)
    {
        let first = ["in_reply_to_id", "id"].iter().find_map(|key| comment.get(*key)?.as_u64());
        if first.is_some_and(|first| closed.contains(&first)) {
            comment.insert("isResolved".to_owned(), Value::Bool(true));
        }
    }
    pages.iter().map(Value::to_string).collect::<Vec<_>>().join("\n").into_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_pull_requests_are_taken() {
        for (url, expected) in [
            ("https://github.com/a/b/pull/7", Some(("github.com", "a", "b", "7"))),
            ("https://github.com/a/b/pull/7/files#x", Some(("github.com", "a", "b", "7"))),
            (
                "https://git.example.com:8443/a-1/b.c/pull/12?w=1",
                Some(("git.example.com:8443", "a-1", "b.c", "12")),
            ),
            ("https://github.com/a/b/issues/7", None),
            ("https://github.com/a/b/pull/x", None),
            ("github.com/a/b/pull/7", None),
            ("https://github.com/a/b;rm/pull/7", None),
        ] {
            let found = parts(url);
            let found = found.as_ref().map(|(h, o, r, n)| (h.as_str(), o.as_str(), r.as_str(), n.as_str()));
            assert_eq!(found, expected, "{url}");
        }
    }

    #[test]
    fn comments_of_closed_threads_are_marked_with_all_their_replies() {
        let page = |nodes: &str| {
            format!(
                r#"{{"data":{{"repository":{{"pullRequest":{{"reviewThreads":{{"nodes":{nodes}}}}}}}}}}}"#
            )
        };
        let thread = |resolved: bool, id: u64| {
            format!(r#"{{"isResolved":{resolved},"comments":{{"nodes":[{{"databaseId":{id}}}]}}}}"#)
        };
        let pages = [
            page(&format!("[{},{}]", thread(true, 1), thread(false, 2))),
            page(&format!("[{}]", thread(true, 3))),
        ];
        let closed = closed_threads(pages.join("\n").as_bytes()).expect("there are threads");
        assert_eq!(closed, BTreeSet::from([1, 3]));
        let comments = r#"[{"id":1},{"id":2},{"id":4,"in_reply_to_id":1}][{"id":3,"body":"ü"},{"id":5,"in_reply_to_id":2}]"#;
        let marked = marked(comments.into(), &closed);
        let all: Vec<Value> = documents(&marked)
            .expect("JSON again")
            .into_iter()
            .flat_map(|page| page.as_array().expect("a list").clone())
            .collect();
        let said: Vec<bool> = all.iter().map(|comment| comment["isResolved"] == true).collect();
        assert_eq!(said, [true, false, true, true, false]);
        for strange in ["", "[]", "{\"data\":null}", "not json", "{\"message\":\"Not Found\"}"] {
            assert_eq!(closed_threads(strange.as_bytes()), None, "{strange}");
            assert_eq!(super::marked(strange.into(), &closed), strange.as_bytes(), "{strange}");
        }
    }
}
