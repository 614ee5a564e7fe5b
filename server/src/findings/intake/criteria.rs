//! `AC-N: FAIL` in `checks_run`: what the review itself says is not met (DESIGN 5).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

static FAILED: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?i)\b(AC)[-_ ]?(\d+(?:\.\d+)*[a-z]?)\b[\s*`\])]*(?:[:=—–-]|->|→|\bis\b)?[\s*`\[(]*(?:FAIL(?:ED|S|ING|URE)?\b|✗|❌)")
        .expect("a constant pattern")
});

/// The names of the criteria that a review reports as failed, as `AC-3`.
pub fn failed_criteria(checks_run: &[String]) -> BTreeSet<String> {
    checks_run
        .iter()
        .flat_map(|line| FAILED.captures_iter(line))
        .map(|found| format!("AC-{}", found[2].to_ascii_uppercase()))
        .collect()
}

/// Says whether a criterion's text names the criterion `AC-3`: `AC-3`, `ac_3: …`, but not `AC-30`.
pub fn criterion_names(criterion: &str, name: &str) -> bool {
    static NAMED: LazyLock<Regex> =
        LazyLock::new(|| Regex::new(r"(?i)\bAC[-_ ]?(\d+(?:\.\d+)*[a-z]?)\b").expect("a constant pattern"));
    NAMED
        .captures_iter(criterion)
        .any(|found| format!("AC-{}", found[1].to_ascii_uppercase()).eq_ignore_ascii_case(name.trim()))
}
