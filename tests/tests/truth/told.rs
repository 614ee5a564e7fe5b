//! What the loop told in the end: exit code, the run's own report and the status have to agree.

use std::fmt;

use fix_loop_tests::Output;
use serde_json::Value;

#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Told {
    Resolved {
        grade: &'static str,
        round: u64,
    },
    Deferred,
    /// A question of this kind is open.
    Waiting(&'static str),
    /// Nothing that a cell expects.
    Other(String),
}

const GRADES: [&str; 5] = ["proven", "pattern", "verified", "touched", "accepted"];
const KINDS: [&str; 5] = ["inconclusive", "scope", "escalation", "conflict", "breach"];

impl Told {
    /// From how the last command ended, and from `status --format json` after it.
    pub fn read(last: &Output, status: &Value) -> Told {
        let finding = &status["findings_detail"][0];
        let state = finding["state"].as_str().unwrap_or_default();
        let known = |words: &[&'static str], word: &Value| {
            words.iter().copied().find(|known| word.as_str() == Some(known))
        };
        let told = match state {
            "resolved" => known(&GRADES, &finding["evidence"])
                .zip(finding["round"].as_u64())
                .map(|(grade, round)| Told::Resolved { grade, round }),
            "deferred" => Some(Told::Deferred),
            "waiting" => known(&KINDS, &status["questions"][0]["kind"]).map(Told::Waiting),
            _ => None,
        };
        let told = told.unwrap_or_else(|| Told::Other(finding.to_string()));
        // Exit codes of DESIGN 4: 0 only if the finding is resolved.
        let code = i32::from(!matches!(told, Told::Resolved { .. }));
        if last.code == Some(code) {
            told
        } else {
            Told::Other(format!("{told} and exit code {:?}", last.code))
        }
    }

    /// What `run --format json` says has to be the same.
    pub fn contradicts(&self, report: &Value) -> Option<String> {
        let id = Value::from("f1");
        let lists = |key: &str| report[key].as_array().is_some_and(|list| list.contains(&id));
        let (wanted, evidence) = match self {
            Told::Resolved { grade, .. } => ("resolved", Some(*grade)),
            Told::Deferred => ("deferred", None),
            Told::Waiting(_) => ("waiting", None),
            Told::Other(_) => return None,
        };
        for key in ["resolved", "deferred", "waiting", "demoted", "dropped"] {
            if lists(key) != (key == wanted) {
                return Some(format!("status says {self}, and the report's {key} is {}", report[key]));
            }
        }
        let said = report["evidence"]["f1"].as_str();
        (evidence.is_some() && said != evidence)
            .then(|| format!("status says {self}, and the report's evidence is {said:?}"))
    }
}

impl fmt::Display for Told {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Told::Resolved { grade, round } => write!(f, "{grade} in {round}"),
            Told::Deferred => f.write_str("deferred"),
            Told::Waiting(kind) => write!(f, "asks: {kind}"),
            Told::Other(what) => write!(f, "?! {what}"),
        }
    }
}
