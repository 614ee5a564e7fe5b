//! Judging one check for several findings that share it.
//!
//! The judgement table speaks of "the finding's check". A suite that covers a batch is the check of all its findings,
//! and one test that turned green does not prove its neighbour's fix; nor does one that stays red condemn it. Pure.

use std::collections::BTreeSet;
use std::path::Path;

use super::coverage::{About, Cited, Reach};
use super::from_failures::test_of_criterion;
use super::outcome::{listed, stands_for_no_test};
use super::{Check, CheckRun, Failure, Judgement, Origin, Outcome, judge};

/// One finding, as far as judging needs it.
#[derive(Clone, Copy, Debug, Default)]
pub struct Asked<'a> {
    /// `test NAME passes` makes that test the one that counts, of a check that the finding names.
    pub criterion: &'a str,
    pub cited: Cited<'a>,
    pub cited_lines_changed: bool,
}

/// The judgement of `check` for each of the findings, in their order. `read` gives the text of a file, source or test,
/// as it was before the fix. The check's own `focus` is left aside: each finding brings its own.
pub fn judge_batch(
    check: &Check,
    before: &CheckRun,
    after: &CheckRun,
    findings: &[Asked<'_>],
    read: &dyn Fn(&Path) -> Option<String>,
) -> Vec<Judgement> {
    let plain = |asked: &Asked<'_>| {
        let focus = match check.origin {
            Origin::Finding => test_of_criterion(asked.criterion).map(str::to_owned),
            Origin::Configured | Origin::Discovered => None,
        };
        let check = Check { focus, ..check.clone() };
        judge(&check, before, after, asked.cited_lines_changed)
    };
    // A check that a finding names itself is its check; so is one that belongs to a single finding.
    let own =
        findings.len() < 2 || check.origin == Origin::Finding || check.focus.is_some() || check.is_pattern();
    let Some(was) = before.failure().filter(|_| !own) else {
        let told = |asked: &Asked<'_>| not_blamed(check, plain(asked), asked, before, read);
        return findings.iter().map(told).collect();
    };
    let about: Vec<BTreeSet<&str>> = findings.iter().map(|asked| tests_about(asked, was, read)).collect();
    let assigned: BTreeSet<&str> = about.iter().flatten().copied().collect();
    let still: BTreeSet<String> = after.failure().map(|now| now.tests.clone()).unwrap_or_default();
    findings
        .iter()
        .zip(&about)
        .map(|(asked, mine)| match plain(asked) {
            Judgement::Proven if mine.is_empty() => unassigned(was, findings.len()),
            Judgement::Persists { .. } | Judgement::Neutral(_)
                if matches!(after.outcome, Outcome::Failed(_)) && !still.is_empty() =>
            {
                share(check, mine, &still, &assigned, after)
            }
            judgement => judgement,
        })
        .collect()
}

/// A configured suite that fails as before, with tests that are certainly not about the finding, says nothing of it.
fn not_blamed(
    check: &Check,
    judgement: Judgement,
    asked: &Asked<'_>,
    before: &CheckRun,
    read: &dyn Fn(&Path) -> Option<String>,
) -> Judgement {
    let Judgement::Persists { tests } = &judgement else { return judgement };
    if check.origin != Origin::Configured || tests.is_empty() {
        return judgement;
    }
    let reach = Reach::of(asked.cited, read);
    let details = before.failure().map(|was| was.details.as_slice()).unwrap_or_default();
    let foreign =
        |name: &String| details.iter().any(|test| test.name == *name && reach.about(test, read) == About::No);
    if tests.iter().all(foreign) {
        Judgement::Neutral(format!(
            "failed before the fix too, and not about this finding: {}",
            listed(tests)
        ))
    } else {
        judgement
    }
}

fn tests_about<'a>(
    asked: &Asked<'_>,
    was: &'a Failure,
    read: &dyn Fn(&Path) -> Option<String>,
) -> BTreeSet<&'a str> {
    let reach = Reach::of(asked.cited, read);
    was.details
        .iter()
        .filter(|test| !stands_for_no_test(&test.name) && reach.about(test, read) == About::Yes)
        .map(|test| test.name.as_str())
        .collect()
}

fn unassigned(was: &Failure, findings: usize) -> Judgement {
    let which = if was.tests.is_empty() { "the check".to_owned() } else { listed(&was.tests) };
    Judgement::Neutral(format!(
        "{which} turned green, but {findings} findings share it, and it may be about another one"
    ))
}

/// The check fails as before, wholly or in part: what does that say about the finding whose tests are `mine`?
fn share(
    check: &Check,
    mine: &BTreeSet<&str>,
    still: &BTreeSet<String>,
    assigned: &BTreeSet<&str>,
    after: &CheckRun,
) -> Judgement {
    let red: BTreeSet<String> = still.iter().filter(|test| mine.contains(test.as_str())).cloned().collect();
    if !red.is_empty() {
        return match check.origin {
            Origin::Discovered => Judgement::Neutral(format!("failed before the fix too: {}", listed(&red))),
            Origin::Finding | Origin::Configured => Judgement::Persists { tests: red },
        };
    }
    let runs = |test: &&str| after.tests.as_ref().is_none_or(|tests| tests.passed.contains(*test));
    let others = still.iter().all(|test| assigned.contains(test.as_str()));
    if !mine.is_empty() && others && mine.iter().all(runs) {
        return Judgement::Proven;
    }
    Judgement::Neutral(format!(
        "failed before the fix too, but not clearly for this finding: {}",
        listed(still)
    ))
}
