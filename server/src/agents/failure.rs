//! Whose fault a failed dispatch is, and what to do about it. A failure of the service, the account or the environment is
//! never a failed attempt (DESIGN 6, rule 4).

use std::sync::LazyLock;

use regex::Regex;
use serde::{Deserialize, Serialize};

use super::excerpt;
use crate::process::NotStarted;

/// A dispatch that gave no valid report.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, thiserror::Error)]
#[error("{message}")]
pub struct Failure {
    pub class: FailureClass,
    /// What happened, in one sentence.
    pub message: String,
    /// What to do next, in one sentence.
    pub advice: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum FailureClass {
    /// The agent crashed, or did something it must not do.
    Agent,
    /// The model service failed or was not reached.
    Service,
    /// The service refused this user: no login, no credit.
    Account,
    /// This machine: program missing, disk full, permission denied.
    Environment,
    /// The agent ended well and gave no valid report, also when asked again: inconclusive.
    NoReport,
    /// Fix Loop was told to stop it.
    Cancelled,
    /// It was stopped at its time limit.
    OverLimit,
}

impl Failure {
    /// A failure with the ordinary advice for its class.
    pub fn new(class: FailureClass, agent: &str, message: impl Into<String>) -> Self {
        let advice = match class {
            FailureClass::Agent => {
                format!(
                    "look at the transcript; if it happens again, update {agent} or choose another agent in [roles]"
                )
            }
            FailureClass::Service => {
                "nothing was decided; try again when the model service answers".to_owned()
            }
            FailureClass::Account => {
                format!(
                    "run {agent} once by hand to log in, or check its key, plan and credit; then try again"
                )
            }
            FailureClass::Environment => {
                format!("put this right, then run `fix-loop doctor` to see that {agent} starts")
            }
            FailureClass::NoReport => {
                format!(
                    "look at the transcript; try again, or give the role a model or agent that {agent}'s briefs suit better"
                )
            }
            FailureClass::Cancelled => "start it again when you want it".to_owned(),
            FailureClass::OverLimit => {
                format!("try again, or raise `timeout` under [agents.{agent}] in fix-loop.toml")
            }
        };
        Failure { class, message: excerpt::head(message.into().trim(), 600), advice }
    }

    /// An agent that may not do what it was asked to.
    pub(super) fn not_allowed(agent: &str, denied: &[String]) -> Self {
        let message = format!("it was not allowed to edit {}", denied.join(", "));
        let advice =
            format!("allow {agent} to edit files here (its own permission settings or its sandbox deny it)");
        Failure { advice, ..Failure::new(FailureClass::Environment, agent, message) }
    }

    /// A program that could not be started.
    pub(super) fn not_started(agent: &str, kind: NotStarted, message: &str) -> Self {
        let failure = Failure::new(FailureClass::Environment, agent, message);
        let advice = match kind {
            NotStarted::NotFound => {
                format!(
                    "install {agent}, or give its program as `command` under [agents.{agent}] in fix-loop.toml"
                )
            }
            NotStarted::NotExecutable => {
                format!("make the program of {agent} executable, or correct its `command`")
            }
            NotStarted::NoFolder | NotStarted::BadCommand | NotStarted::Refused => failure.advice.clone(),
        };
        Failure { advice, ..failure }
    }
}

static ACCOUNT_CODE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b40[123]\b").expect("a constant pattern"));
static SERVICE_CODE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"\b(408|429|5\d\d)\b").expect("a constant pattern"));

const ACCOUNT: &[&str] = &[
    "unauthorized",
    "authenticat",
    "authoriz",
    "auth method",
    "api key",
    "api_key",
    "x-api-key",
    "not logged in",
    "log in",
    "login",
    "credit",
    "billing",
    "quota",
    "payment",
    "usage limit",
    "subscription",
    "forbidden",
];
const SERVICE: &[&str] = &[
    "rate limit",
    "rate_limit",
    "too many requests",
    "overloaded",
    "server error",
    "server-side",
    "bad gateway",
    "unavailable",
    "high demand",
    "econnreset",
    "econnrefused",
    "enotfound",
    "eai_again",
    "etimedout",
    "socket hang up",
    "fetch failed",
    "network",
    "connection",
    "connect to",
    "stream disconnected",
    "stream closed",
    "stream ended",
    "incomplete",
    "timed out",
    "timeout",
    "failed to parse json",
    "invalid json",
    "unexpected token",
    "api error",
    "error decoding",
    "premature close",
    "terminated",
];
const ENVIRONMENT: &[&str] = &[
    "no space left",
    "enospc",
    "permission denied",
    "eacces",
    "eperm",
    "read-only file system",
    "erofs",
    "out of memory",
    "enomem",
    "too many open files",
    "cannot be used with root",
    "sandbox",
    "node.js version",
    "requires node",
];

/// The class of an error in an agent's own words, or by the status that its service answered with. Only for texts that
/// are known to be errors: what a model says about the code is none.
pub(super) fn classify(status: Option<u64>, text: &str) -> FailureClass {
    let text = text.to_lowercase();
    let says = |words: &[&str]| words.iter().any(|word| text.contains(word));
    let out_of_credit = says(&["quota", "credit", "billing", "usage limit"]);
    match status {
        Some(401..=403) => return FailureClass::Account,
        Some(429) if out_of_credit => return FailureClass::Account,
        Some(408 | 429 | 500..=599) => return FailureClass::Service,
        _ => {}
    }
    if says(ENVIRONMENT) {
        FailureClass::Environment
    } else if ACCOUNT_CODE.is_match(&text) || out_of_credit {
        FailureClass::Account
    } else if SERVICE_CODE.is_match(&text) {
        FailureClass::Service
    } else if says(ACCOUNT) {
        FailureClass::Account
    } else if says(SERVICE) {
        FailureClass::Service
    } else {
        FailureClass::Agent
    }
}

/// Prose that is an agent's error message and not a model's.
pub(super) fn reads_as_error(text: &str) -> bool {
    let text = text.trim_start().to_lowercase();
    ["api error", "error:", "failed to authenticate", "invalid api key", "request failed", "stream error"]
        .iter()
        .any(|start| text.starts_with(start))
}
