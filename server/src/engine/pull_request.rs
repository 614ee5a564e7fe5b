//! The review comments of a pull request, by the `gh` program (DESIGN 6, `--from-pr`).
//!
//! Owns the call and its failures. What comes back is untrusted text; `findings` imports it.

use std::path::Path;
use std::time::Duration;

use regex::Regex;

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

/// The comments as `gh api --paginate` prints them.
pub async fn pull_request_comments(
    url: &str,
    root: &Path,
    supervisor: &Supervisor,
) -> Result<Vec<u8>, Refusal> {
    let (host, owner, repository, number) = parts(url).ok_or_else(|| Refusal {
        kind: RefusalKind::Unknown,
        message: format!(
            "{url} is no address of a pull request; it looks like https://HOST/OWNER/REPOSITORY/pull/NUMBER"
        ),
    })?;
    let mut env = base_environment(&["GH_*".to_owned(), "GITHUB_TOKEN".to_owned()]);
    set_variable(&mut env, "GH_PROMPT_DISABLED", "1");
    let spec = Spec {
        argv: [
            "gh",
            "api",
            "--paginate",
            "--hostname",
            &host,
            &format!("repos/{owner}/{repository}/pulls/{number}/comments?per_page=100"),
        ]
        .map(str::to_owned)
        .to_vec(),
        cwd: root.to_path_buf(),
        env,
        stdin: Vec::new(),
        limit: LIMIT,
        grace: GRACE,
        keep: KEEP,
    };
    let ended = supervisor.run(spec, &Cancel::new(), Watch::default()).await;
    let comments = match ended.how {
        How::Exited(0) => match ended.stdout.bytes() {
            Some(bytes) => Ok(bytes.to_vec()),
            None => Err(format!("the comments of {url} are too long to be read")),
        },
        How::Exited(code) => {
            Err(format!("`gh` exited with {code}: {}; try `gh auth status`", ended.stderr.text().trim()))
        }
        How::NotStarted { message, .. } => {
            Err(format!("`gh` cannot be started: {message}; install the GitHub CLI"))
        }
        How::OverLimit => Err(format!("`gh` did not answer within {} s", LIMIT.as_secs())),
        How::Signalled(signal) => Err(format!("`gh` was ended by signal {signal}")),
        How::Cancelled => Err("cancelled".into()),
    };
    comments.map_err(|message| Refusal { kind: RefusalKind::Environment, message })
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
}
