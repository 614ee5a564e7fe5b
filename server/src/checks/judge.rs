//! The judgement table of DESIGN 7.4: what a run before and a run after the fix say together.
//!
//! Pure. Never asks how a check is run; never decides what the loop does next (`protocol` does).

use std::collections::BTreeSet;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::outcome::{listed, stands_for_no_test};
use super::{Check, CheckName, CheckRun, Failure, Origin, Outcome, TestsRun, Why};

/// How well a resolution is supported, weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Grade {
    /// The user accepted.
    Accepted,
    /// Nothing broke, and the cited lines are different.
    Touched,
    /// A verifier, closer or reviewer says so, with evidence.
    Verified,
    /// The pattern check says so.
    Pattern,
    /// The finding's check turned from red to green.
    Proven,
}

/// How much round 1 needs (`round1_evidence`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Round1Evidence {
    #[default]
    Proven,
    Touched,
}

impl Grade {
    /// Whether this grade lets round 1 end without a verifier.
    pub fn satisfies(self, needed: Round1Evidence) -> bool {
        match needed {
            Round1Evidence::Proven => self != Self::Touched,
            Round1Evidence::Touched => true,
        }
    }

    pub fn as_str(self) -> &'static str {
        match self {
            Self::Accepted => "accepted",
            Self::Touched => "touched",
            Self::Verified => "verified",
            Self::Pattern => "pattern",
            Self::Proven => "proven",
        }
    }
}

impl fmt::Display for Grade {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What one check says about one finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Judgement {
    Proven,
    Pattern,
    Touched,
    /// The fix broke these tests; empty when the runner named none.
    Regression {
        tests: BTreeSet<String>,
    },
    /// The finding is still there; the tests that still fail, where named.
    Persists {
        tests: BTreeSet<String>,
    },
    /// Says nothing about the finding; what there is to report.
    Neutral(String),
    Inconclusive(Why),
}

/// Judges one check for one finding. `cited_lines_changed`: whether the lines that the finding cites (the whole
/// file for a finding without lines) differ from before the fix.
pub fn judge(check: &Check, before: &CheckRun, after: &CheckRun, cited_lines_changed: bool) -> Judgement {
    match (&before.outcome, &after.outcome) {
        (_, Outcome::Inconclusive(Why::Cancelled)) | (Outcome::Inconclusive(Why::Cancelled), _) => {
            Judgement::Inconclusive(Why::Cancelled)
        }
        // What could not be run before the fix either is no reason to ask the user, unless they asked for it.
        (Outcome::Inconclusive(why), Outcome::Inconclusive(_)) if check.origin == Origin::Discovered => {
            Judgement::Neutral(format!("{why}, before the fix as well"))
        }
        (_, Outcome::Inconclusive(why)) => Judgement::Inconclusive(why.clone()),
        (Outcome::Inconclusive(why), Outcome::Passed) if check.origin == Origin::Discovered => {
            Judgement::Neutral(format!("passes now; before the fix it {why}"))
        }
        (Outcome::Inconclusive(why), _) => Judgement::Inconclusive(Why::NoBaseline(why.to_string())),
        (Outcome::Passed, Outcome::Passed) => both_pass(before, after, cited_lines_changed),
        (Outcome::Passed, Outcome::Failed(now)) => Judgement::Regression { tests: now.tests.clone() },
        (Outcome::Failed(was), Outcome::Passed) => turned_green(check, was, after),
        (Outcome::Failed(was), Outcome::Failed(now)) => both_fail(check, was, now, after),
    }
}

fn both_pass(before: &CheckRun, after: &CheckRun, cited_lines_changed: bool) -> Judgement {
    if let (Some(was), Some(now)) = (before.ran, after.ran)
        && (before.tests.is_none() || after.tests.is_none())
        && now < was
    {
        return Judgement::Neutral(format!("passes, but only {now} of {was} tests ran"));
    }
    if before.ran.is_some() && after.ran.is_none() {
        return Judgement::Neutral("passes, but does not say any more that a test ran".to_owned());
    }
    if let (Some(was), Some(now)) = (&before.tests, &after.tests) {
        let gone: BTreeSet<String> = was.passed.difference(&now.passed).cloned().collect();
        if !gone.is_empty() {
            // A pass that needs fewer tests is no pass of the same check (R39).
            return Judgement::Neutral(format!("passes, but these tests no longer run: {}", listed(&gone)));
        }
    }
    if cited_lines_changed {
        Judgement::Touched
    } else {
        Judgement::Neutral("passes as before, and the cited lines are unchanged".to_owned())
    }
}

/// The tests among `wanted` that are known not to have passed now.
fn not_passing(wanted: &BTreeSet<String>, now: Option<&TestsRun>) -> BTreeSet<String> {
    let Some(now) = now else { return BTreeSet::new() };
    wanted.iter().filter(|test| !stands_for_no_test(test) && !now.passed.contains(*test)).cloned().collect()
}

fn turned_green(check: &Check, was: &Failure, after: &CheckRun) -> Judgement {
    if check.is_pattern() {
        return Judgement::Pattern;
    }
    if !was.tests.is_empty() && after.ran.is_none() && after.tests.is_none() {
        // The tests that failed were named. A pass that names and counts none may have run none.
        return Judgement::Neutral(format!(
            "passes, but does not say that {} ran",
            if was.tests.len() == 1 { "the test that failed before" } else { "the tests that failed before" }
        ));
    }
    let wanted = match &check.focus {
        Some(test) if was.tests.contains(test) => BTreeSet::from([test.clone()]),
        Some(test) if !was.tests.is_empty() => {
            return Judgement::Neutral(format!("passes now, but {test} was not among its failing tests"));
        }
        _ => was.tests.clone(),
    };
    let gone = not_passing(&wanted, after.tests.as_ref());
    if gone.is_empty() {
        Judgement::Proven
    } else {
        // Deleted, skipped or renamed: green without the test that was red proves nothing.
        Judgement::Neutral(format!("passes, but what failed before no longer runs: {}", listed(&gone)))
    }
}

fn both_fail(check: &Check, was: &Failure, now: &Failure, after: &CheckRun) -> Judgement {
    let passed = after.tests.as_ref();
    // Only where the tests of before are known can a failure be new.
    let known = !was.tests.is_empty() && !was.tests.iter().any(|test| stands_for_no_test(test));
    if known {
        if now.tests.is_empty() {
            // Tests ran and none failed: a threshold, a warning made an error, a teardown. Whether that was so before
            // cannot be seen, since the tests failed then; so it is nobody's fault, and no proof.
            if after.ran.is_some_and(|ran| ran > 0) {
                let exit = now.exit.map_or(String::new(), |code| format!(" with exit code {code}"));
                return Judgement::Neutral(format!("no test fails any more, and it still ends{exit}"));
            }
            return Judgement::Regression { tests: BTreeSet::new() };
        }
        let new: BTreeSet<String> = now.tests.difference(&was.tests).cloned().collect();
        if !new.is_empty() {
            return Judgement::Regression { tests: new };
        }
        if let Some(test) = check.focus.as_ref().filter(|test| was.tests.contains(*test)) {
            let wanted = BTreeSet::from([test.clone()]);
            return if now.tests.contains(test) {
                Judgement::Persists { tests: wanted }
            } else if not_passing(&wanted, passed).is_empty() {
                Judgement::Proven
            } else {
                Judgement::Neutral(format!("{test} no longer runs"))
            };
        }
    }
    let green: BTreeSet<String> = was.tests.difference(&now.tests).cloned().collect();
    match check.origin {
        Origin::Finding => Judgement::Persists { tests: now.tests.clone() },
        // Some of a whole suite turned green and the rest failed before: not the same failure, and no proof.
        Origin::Configured if known && !green.is_empty() => Judgement::Neutral(format!(
            "{} turned green; {} failed before the fix too",
            listed(&green),
            listed(&now.tests)
        )),
        Origin::Configured => Judgement::Persists { tests: now.tests.clone() },
        Origin::Discovered if !green.is_empty() && !now.tests.is_empty() => Judgement::Neutral(format!(
            "{} turned green; still failing: {}",
            listed(&green),
            listed(&now.tests)
        )),
        Origin::Discovered if now.same_as(was) => {
            Judgement::Neutral(format!("failed before the fix too{}", colon(&now.tests)))
        }
        Origin::Discovered => {
            Judgement::Neutral(format!("fails as before the fix, differently{}", colon(&now.tests)))
        }
    }
}

fn colon(tests: &BTreeSet<String>) -> String {
    if tests.is_empty() { String::new() } else { format!(": {}", listed(tests)) }
}

/// A judgement with the check that gave it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Judged {
    pub check: CheckName,
    pub origin: Origin,
    pub judgement: Judgement,
}

/// What all checks of a finding say together.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FindingEvidence {
    /// The best grade that any check supports. Meaningful only while [`FindingEvidence::standing`] is `Supported`.
    pub grade: Option<Grade>,
    pub regressions: Vec<(CheckName, BTreeSet<String>)>,
    pub persists: Vec<(CheckName, BTreeSet<String>)>,
    pub inconclusive: Vec<(CheckName, Why)>,
    pub neutral: Vec<(CheckName, String)>,
}

/// Where a finding stands after its checks, worst news first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Standing {
    Regressed,
    Persists,
    Inconclusive,
    Supported(Grade),
    /// No check says anything: someone has to judge.
    Unsupported,
}

impl FindingEvidence {
    /// A regression outweighs everything; then a check that still fails; then one that could not be run. Good
    /// news counts only when there is no bad news.
    pub fn standing(&self) -> Standing {
        if !self.regressions.is_empty() {
            Standing::Regressed
        } else if !self.persists.is_empty() {
            Standing::Persists
        } else if !self.inconclusive.is_empty() {
            Standing::Inconclusive
        } else {
            self.grade.map_or(Standing::Unsupported, Standing::Supported)
        }
    }

    /// Whether round 1 may end resolved on these checks alone.
    pub fn satisfies(&self, needed: Round1Evidence) -> bool {
        matches!(self.standing(), Standing::Supported(grade) if grade.satisfies(needed))
    }

    /// One line per check that had anything to say, for reports and questions.
    pub fn lines(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for (check, tests) in &self.regressions {
            lines.push(format!("{check}: the fix broke it{}", colon(tests)));
        }
        for (check, tests) in &self.persists {
            lines.push(format!("{check}: still fails{}", colon(tests)));
        }
        lines.extend(self.inconclusive.iter().map(|(check, why)| format!("{check} {why}")));
        lines.extend(self.neutral.iter().map(|(check, note)| format!("{check}: {note}")));
        lines
    }
}

/// Folds the judgements of all checks of one finding.
pub fn combine(judged: &[Judged]) -> FindingEvidence {
    let mut evidence = FindingEvidence::default();
    for Judged { check, judgement, .. } in judged {
        let grade = match judgement {
            Judgement::Proven => Some(Grade::Proven),
            Judgement::Pattern => Some(Grade::Pattern),
            Judgement::Touched => Some(Grade::Touched),
            Judgement::Regression { tests } => {
                evidence.regressions.push((check.clone(), tests.clone()));
                None
            }
            Judgement::Persists { tests } => {
                evidence.persists.push((check.clone(), tests.clone()));
                None
            }
            Judgement::Neutral(note) => {
                evidence.neutral.push((check.clone(), note.clone()));
                None
            }
            Judgement::Inconclusive(why) => {
                evidence.inconclusive.push((check.clone(), why.clone()));
                None
            }
        };
        evidence.grade = evidence.grade.max(grade);
    }
    evidence
}
