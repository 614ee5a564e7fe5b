//! Checks of a loop: chosen and run before the fix, the very same ones run after it, and judged (DESIGN 7.4).

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use crate::checks::weaken;
use crate::checks::{
    self, Check, CheckRun, ConfiguredCheck, Doubts, FindingChecks, Judged, Kind, Origin, Standing,
};
use crate::config::{CheckKind, Config};
use crate::findings;
use crate::protocol::{CheckVerdict, Checked, Event, FindingKey, Grade, NewFinding, Severity, When};
use crate::workspace::RepoPath;

use super::act::{Failed, Job, Tools};
use super::guard::{self, By};
use super::ledger::{LoopFinding, Produced};
use super::past::{Past, cited, cited_changed};

/// A check as it ran before the fix, and the findings that it belongs to.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct BeforeRun {
    /// Fingerprints.
    pub findings: Vec<String>,
    pub check: Check,
    pub run: CheckRun,
}

/// Everything known from before the fix.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Before {
    pub runs: Vec<BeforeRun>,
    /// Fingerprint → the text that it cites (or its whole file).
    pub cited: BTreeMap<String, String>,
    /// Checks that may not run, with the reason.
    pub refused: Vec<String>,
}

pub(super) fn configured(config: &Config) -> Vec<ConfiguredCheck> {
    config
        .checks
        .iter()
        .map(|check| ConfiguredCheck {
            name: check.name.clone(),
            command: check.command.clone(),
            paths: check.paths.clone(),
            kind: match check.kind {
                CheckKind::Test => Kind::Test,
                CheckKind::Lint => Kind::Lint,
                CheckKind::Typecheck => Kind::Typecheck,
                CheckKind::Build => Kind::Build,
            },
            cwd: PathBuf::from(&check.cwd),
            env: check.env.clone(),
            timeout: check.timeout,
        })
        .collect()
}

/// A finding without a file belongs to the files that it may be fixed in.
fn of_loop_finding(finding: &LoopFinding) -> FindingChecks {
    let mut of = of_finding(&finding.finding);
    of.related_files.extend(finding.artifact_paths.iter().map(PathBuf::from));
    of
}

fn of_finding(finding: &findings::Finding) -> FindingChecks {
    FindingChecks {
        file: finding.file.as_ref().map(PathBuf::from),
        related_files: finding.related_files.iter().map(PathBuf::from).collect(),
        criterion: finding.criterion.clone().unwrap_or_default(),
        checks: finding
            .checks
            .iter()
            .map(|check| match check {
                findings::FindingCheck::Named { check } => checks::FindingCheck::Named(check.clone()),
                findings::FindingCheck::Command { command } => checks::FindingCheck::Command(command.clone()),
                findings::FindingCheck::Absent { absent } => checks::FindingCheck::Absent(absent.clone()),
                findings::FindingCheck::Present { present } => checks::FindingCheck::Present(present.clone()),
            })
            .collect(),
    }
}

/// The commands that these findings bring and that the user has not approved, each once (DESIGN 11).
pub(super) fn to_approve<'a>(
    config: &Config,
    findings: impl IntoIterator<Item = &'a findings::Finding>,
    approved: &[Vec<String>],
) -> Vec<Vec<String>> {
    let configured = configured(config);
    let mut open: Vec<Vec<String>> = Vec::new();
    for finding in findings {
        for command in checks::to_approve(&of_finding(finding), &configured, approved) {
            if !open.contains(&command) {
                open.push(command);
            }
        }
    }
    open
}

/// The checks of some findings, each once, with the findings that it belongs to.
pub(super) fn chosen(
    tools: &Tools,
    findings: &[&LoopFinding],
    approved: &[Vec<String>],
) -> (Vec<(Check, Vec<String>)>, Vec<String>) {
    let configured = configured(&tools.config);
    let programs = checks::Tools::from_environment();
    let mut chosen: Vec<(Check, Vec<String>)> = Vec::new();
    let mut refused = Vec::new();
    for finding in findings {
        let selection = checks::select(
            &of_loop_finding(finding),
            &configured,
            approved,
            tools.workspace.root(),
            &programs,
        );
        for check in selection.checks {
            match chosen
                .iter_mut()
                .find(|(known, _)| known.key() == check.key() && known.origin == check.origin)
            {
                Some((_, of)) => of.push(finding.fingerprint.clone()),
                None => chosen.push((check, vec![finding.fingerprint.clone()])),
            }
        }
        refused.extend(selection.refused.into_iter().map(|one| format!("check {}: {}", one.what, one.why)));
    }
    refused.sort();
    refused.dedup();
    (chosen, refused)
}

pub(super) async fn run(job: &Arc<Job>, when: When, keys: &[FindingKey]) -> Result<Event, Failed> {
    let checked = match when {
        When::Before => run_before(job).await?,
        When::After => run_after(job, keys).await?,
    };
    if job.cancel.is_cancelled() {
        return Err("cancelled".into());
    }
    let changes = job
        .blocking(|job| {
            let nothing = job.scope(Vec::new())?;
            guard::look(job, &nothing, By::Check)
        })
        .await?;
    Ok(Event::Checked { action: job.step.id, checked, changes })
}

async fn run_before(job: &Arc<Job>) -> Result<Checked, Failed> {
    let findings: Vec<&LoopFinding> = job.opened.findings.iter().collect();
    let (chosen, refused) = chosen(&job.tools, &findings, &job.approved);
    let place = super::verifying::place_of_before(job).await?;
    let mut before = Before { refused: refused.clone(), ..Before::default() };
    for (check, of) in chosen {
        job.tell(format!("running {} before the fix", check.name));
        let run = checks::run_before(&check, place.root(), &job.tools.supervisor, &job.cancel).await;
        before.runs.push(BeforeRun { findings: of, check, run });
        if job.cancel.is_cancelled() {
            break;
        }
    }
    for finding in &findings {
        if let Some(text) = place.text_of(job, finding) {
            before.cited.insert(finding.fingerprint.clone(), cited(&finding.finding, &text));
        }
    }
    let notes = before
        .runs
        .iter()
        .filter(|before| !matches!(before.run.outcome, checks::Outcome::Passed))
        .map(|before| format!("before the fix: {}", before.run.summary()))
        .chain(refused)
        .collect();
    place.leave(job).await;
    let said: String = before
        .runs
        .iter()
        .map(|one| {
            let tail = one.run.failure().map(|failure| failure.tail.as_str()).unwrap_or_default();
            format!("{}{tail}", one.run.summary())
        })
        .collect();
    job.keep(output(When::Before, &said)).await;
    job.keep(Produced::Before(before)).await;
    Ok(Checked { findings: Vec::new(), regressions: Vec::new(), notes })
}

fn output(when: When, said: &str) -> Produced {
    Produced::Output { when, digest: hex::encode(Sha256::digest(said.as_bytes())) }
}

async fn run_after(job: &Arc<Job>, keys: &[FindingKey]) -> Result<Checked, Failed> {
    let before = job.traces.before.clone().unwrap_or_default();
    let root = job.tools.workspace.root().to_path_buf();
    let mut checked = Checked::default();
    let mut judged: BTreeMap<String, Vec<(Judged, CheckRun)>> = BTreeMap::new();
    let changed: BTreeMap<&str, bool> = job
        .opened
        .findings
        .iter()
        .map(|finding| {
            let now = finding
                .finding
                .file
                .as_ref()
                .and_then(|file| RepoPath::new(file).ok())
                .and_then(|path| job.tools.workspace.file_text(&path).ok().flatten())
                .unwrap_or_default();
            let was = before.cited.get(&finding.fingerprint);
            (finding.fingerprint.as_str(), was.is_some_and(|was| cited_changed(&finding.finding, was, &now)))
        })
        .collect();
    let past = Past::of(job);
    let read = |path: &Path| past.text(path);
    let texts = past.edits();
    let edits: Vec<weaken::Edit<'_>> = texts
        .iter()
        .map(|(path, before, after)| weaken::Edit {
            path,
            before: before.as_deref(),
            after: after.as_deref(),
        })
        .collect();
    let earlier: Vec<&CheckRun> = before.runs.iter().map(|known| &known.run).collect();
    let doubts = Doubts::of(&edits, &earlier, &read);
    let mut said = String::new();
    for known in &before.runs {
        job.tell(format!("running {}", known.check.name));
        let run =
            checks::run_after(&known.check, &root, &job.tools.supervisor, &job.cancel, &known.run).await;
        if job.cancel.is_cancelled() {
            return Err("cancelled".into());
        }
        said.push_str(&run.summary());
        said.push_str(run.failure().map(|failure| failure.tail.as_str()).unwrap_or_default());
        let of: Vec<&LoopFinding> =
            job.opened.findings.iter().filter(|one| known.findings.contains(&one.fingerprint)).collect();
        let asked: Vec<checks::Asked<'_>> = of
            .iter()
            .map(|one| checks::Asked {
                criterion: one.finding.criterion.as_deref().unwrap_or_default(),
                cited: checks::Cited {
                    file: one.finding.file.as_deref().map(Path::new),
                    lines: one.finding.line_start.map(|start| (start, one.finding.line_end.unwrap_or(start))),
                },
                cited_lines_changed: changed.get(one.fingerprint.as_str()).copied().unwrap_or(false),
            })
            .collect();
        let judgements = checks::judge_batch(&known.check, &known.run, &run, &asked, &read);
        for (one, judgement) in of.iter().zip(judgements) {
            let judgement = doubts.apply(judgement);
            let judged_now =
                Judged { check: known.check.name.clone(), origin: known.check.origin, judgement };
            judged.entry(one.fingerprint.clone()).or_default().push((judged_now, run.clone()));
        }
    }
    checked.notes.extend(doubts.lines());
    job.keep(output(When::After, &said)).await;
    for key in keys {
        let known = judged.get(&key.0).cloned().unwrap_or_default();
        let all: Vec<Judged> = known.iter().map(|(one, _)| one.clone()).collect();
        let evidence = checks::combine(&all);
        let why = match evidence.lines() {
            lines if lines.is_empty() => {
                known.iter().map(|(_, run)| run.summary()).collect::<Vec<_>>().join("; ")
            }
            lines => lines.join("; "),
        };
        for (check, tests) in &evidence.regressions {
            let run = known.iter().find(|(one, _)| one.check == *check).map(|(_, run)| run);
            for found in regressions((check.as_str(), check.as_str()), tests, run, key) {
                if !checked.regressions.iter().any(|one| one.key == found.key) {
                    checked.regressions.push(found);
                }
            }
        }
        for (check, note) in &evidence.neutral {
            let note = format!("{check}: {note}");
            if !checked.notes.contains(&note) {
                checked.notes.push(note);
            }
        }
        let failing = || {
            evidence
                .persists
                .iter()
                .flat_map(|(check, tests)| {
                    if tests.is_empty() { vec![check.to_string()] } else { tests.iter().cloned().collect() }
                })
                .collect::<Vec<_>>()
        };
        let verdict = match evidence.standing() {
            Standing::Persists => {
                CheckVerdict::Persists { why: with_output(&why, &known), failing: failing() }
            }
            Standing::Inconclusive => CheckVerdict::Inconclusive { why },
            Standing::Supported(grade) => CheckVerdict::Supported { grade: grade_of(grade), why },
            // The new failure is a finding of its own; about this one the checks say what they say without it.
            Standing::Regressed => match evidence.grade {
                Some(grade) if evidence.persists.is_empty() && evidence.inconclusive.is_empty() => {
                    CheckVerdict::Supported { grade: grade_of(grade), why }
                }
                _ if !evidence.persists.is_empty() => {
                    CheckVerdict::Persists { why: with_output(&why, &known), failing: failing() }
                }
                _ => CheckVerdict::Silent { why },
            },
            Standing::Unsupported => {
                CheckVerdict::Silent { why: if known.is_empty() { "no check covers it".into() } else { why } }
            }
        };
        checked.findings.push((key.clone(), verdict));
    }
    Ok(checked)
}

/// The failing check's own words belong to why it persists.
fn with_output(why: &str, known: &[(Judged, CheckRun)]) -> String {
    let tail = known
        .iter()
        .filter(|(one, _)| matches!(one.judgement, checks::Judgement::Persists { .. }))
        .filter_map(|(_, run)| run.failure())
        .map(|failure| failure.tail.trim().to_owned())
        .find(|tail| !tail.is_empty());
    match tail {
        Some(tail) => {
            let last: Vec<&str> = tail.lines().rev().take(8).collect();
            format!("{why}\n{}", last.into_iter().rev().collect::<Vec<_>>().join("\n"))
        }
        None => why.to_owned(),
    }
}

pub(super) fn regressions(
    (check, salt): (&str, &str),
    tests: &BTreeSet<String>,
    run: Option<&CheckRun>,
    caused_by: &FindingKey,
) -> Vec<NewFinding> {
    let failure = run.and_then(CheckRun::failure);
    let names: Vec<String> =
        if tests.is_empty() { vec![String::new()] } else { tests.iter().cloned().collect() };
    names
        .into_iter()
        .map(|test| {
            let mut hasher = Sha256::new();
            hasher.update(b"regression\0");
            hasher.update(salt.as_bytes());
            hasher.update(b"\0");
            hasher.update(test.as_bytes());
            let detail = failure.and_then(|failure| failure.details.iter().find(|one| one.name == test));
            let place = detail.and_then(|detail| detail.places.last());
            NewFinding {
                key: FindingKey(hex::encode(&hasher.finalize()[..8])),
                severity: Severity::P1,
                title: if test.is_empty() {
                    format!("Check {check} passed before the fix and fails now")
                } else {
                    format!("{test} passed before the fix and fails now")
                },
                body: detail
                    .map(|detail| detail.excerpt.clone())
                    .or_else(|| failure.map(|failure| failure.tail.clone()))
                    .unwrap_or_default(),
                file: place.map(|place| place.file.to_string_lossy().into_owned()),
                line: place.map(|place| place.line),
                evidence: format!("check {check}"),
                criterion: if test.is_empty() || checks::stands_for_no_test(&test) {
                    format!("check {check} passes")
                } else {
                    checks::from_failures::criterion_of_test(&test)
                },
                caused_by: Some(caused_by.clone()),
            }
        })
        .collect()
}

fn grade_of(grade: checks::Grade) -> Grade {
    match grade {
        checks::Grade::Touched => Grade::Touched,
        checks::Grade::Accepted => Grade::Accepted,
        checks::Grade::Verified => Grade::Verified,
        checks::Grade::Pattern => Grade::Pattern,
        checks::Grade::Proven => Grade::Proven,
    }
}

/// `fromCheck`: runs one configured or discovered check; each failing test becomes a confirmed P1.
pub(super) async fn failures_as_findings(
    tools: &Tools,
    name: &str,
) -> Result<findings::ReviewOutput, String> {
    let configured = configured(&tools.config);
    let root = tools.workspace.root();
    let programs = checks::Tools::from_environment();
    let found = configured.iter().find(|check| check.name == name);
    let check = match found {
        Some(entry) => checks::configured_check(entry, Origin::Configured),
        None => {
            let discovered = checks::discover::discover(root, &[], &programs);
            let names: Vec<String> = configured
                .iter()
                .map(|check| check.name.clone())
                .chain(discovered.iter().map(|check| check.name.to_string()))
                .collect();
            discovered.into_iter().find(|check| check.name.as_str() == name).ok_or_else(|| {
                if names.is_empty() {
                    format!(
                        "there is no check {name}, and none was found here; add a [[check]] to fix-loop.toml"
                    )
                } else {
                    format!("there is no check {name}; there are: {}", names.join(", "))
                }
            })?
        }
    };
    let run = checks::run(&check, root, &tools.supervisor, &crate::process::Cancel::new()).await;
    if let checks::Outcome::Inconclusive(why) = &run.outcome {
        return Err(format!("check {name} {why}"));
    }
    let drafts = checks::from_failures::drafts(&run, root);
    let mut output = findings::ReviewOutput {
        source: Some(format!("check {name}")),
        checks_run: vec![run.summary()],
        ..findings::ReviewOutput::default()
    };
    for (index, draft) in drafts.into_iter().enumerate() {
        let mut finding = findings::Finding::new(index as u64 + 1, findings::Severity::P1, draft.title);
        finding.body = draft.body;
        finding.file = draft.file.map(|file| file.to_string_lossy().into_owned());
        finding.line_start = draft.line;
        finding.line_end = draft.line;
        finding.criterion = Some(draft.criterion);
        finding.verdict = Some(findings::Verdict::Confirmed);
        finding.evidence = Some(run.summary());
        finding.related_files =
            draft.related_files.into_iter().map(|file| file.to_string_lossy().into_owned()).collect();
        finding.checks = if found.is_some() {
            vec![findings::FindingCheck::Named { check: name.to_owned() }]
        } else {
            Vec::new()
        };
        output.findings.push(finding);
    }
    Ok(output)
}
