//! From what a subagent reported (`agents`) to what a protocol takes in (`protocol`), and back.
//!
//! Pure. Finding ids in a brief are 1…n in the dispatch's order; here they become keys again. What a report leaves unsaid
//! stays unsaid: nothing here fills in a verdict.

use sha2::{Digest, Sha256};

use crate::agents::footer::{self, FooterStatus, TreeState};
use crate::agents::report::{self, Report as Said};
use crate::findings::{failed_criteria, intake::criterion_names};
use crate::protocol::{
    Axis, Cause, Diagnosis, FailureClass, FindingKey, FixerReport, FixerStatus, Focus, Footer, Gap,
    GapReview, GateWord, Judged, Judgement, Judging, NewFinding, Report, RootCause, RootState, ScopeRequest,
    Severity, ValidationOutcome, WorkerFailure,
};

/// What a brief's ids stand for.
pub(super) struct Asked<'a> {
    pub focus: &'a Focus,
    /// In the order of the ids 1…n, with each one's criterion.
    pub findings: &'a [(FindingKey, String)],
    /// New evidence is real (DESIGN 6, `rereview`).
    pub output_is_new: bool,
    pub of_loop: &'a str,
    pub place: Place<'a>,
}

/// Where workers work, since they name files in all ways.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    /// The folder that the worker was in.
    pub cwd: &'a std::path::Path,
    /// The user's own checkout.
    pub root: &'a std::path::Path,
}

impl Place<'_> {
    /// The path of the repository that a worker means, or why there is none: what leaves the repository is refused.
    pub fn file(&self, named: Option<&str>) -> (Option<String>, Option<String>) {
        let Some(named) = named.map(str::trim).filter(|named| !named.is_empty()) else { return (None, None) };
        let path = std::path::Path::new(named);
        let inner = path.strip_prefix(self.cwd).or_else(|_| path.strip_prefix(self.root)).unwrap_or(path);
        let parts: Option<Vec<String>> = inner
            .components()
            .filter(|part| *part != std::path::Component::CurDir)
            .map(|part| match part {
                std::path::Component::Normal(name) if !name.eq_ignore_ascii_case(".git") => {
                    name.to_str().map(str::to_owned)
                }
                _ => None,
            })
            .collect();
        match parts {
            Some(parts) if !parts.is_empty() => (Some(parts.join("/")), None),
            _ => (None, Some(format!("It names {named}, which is no file of the repository."))),
        }
    }
}

impl Asked<'_> {
    fn key(&self, id: &serde_json::Value) -> Option<&(FindingKey, String)> {
        let number: usize = match id {
            serde_json::Value::Number(number) => number.as_u64()? as usize,
            serde_json::Value::String(text) => text.trim().parse().ok()?,
            _ => return None,
        };
        number.checked_sub(1).and_then(|index| self.findings.get(index))
    }
}

/// `Err`: the report is valid, but not one that this role gives.
pub(super) fn report(said: Said, asked: &Asked) -> Result<Report, String> {
    Ok(match said {
        Said::Fix(fix) => match fix.footer {
            // Nothing was committed, by its own word.
            Some(footer)
                if !matches!(
                    fix.status,
                    report::FixStatus::AlreadyResolved | report::FixStatus::Declined
                ) =>
            {
                Report::Committed { footer: of_footer(&footer), summary: fix.summary }
            }
            _ => Report::Fixer(FixerReport {
                status: match fix.status {
                    report::FixStatus::Fixed => FixerStatus::Fixed,
                    report::FixStatus::AlreadyResolved => FixerStatus::AlreadyResolved,
                    report::FixStatus::Declined => FixerStatus::Declined,
                    report::FixStatus::Blocked => FixerStatus::Blocked,
                },
                summary: fix.summary,
                concerns: fix.concerns,
                blocked_by: fix.blocked_by,
                claimed: fix.files_changed,
            }),
        },
        Said::Scope(scope) => Report::NeedsScope(ScopeRequest {
            files: scope
                .additional_files
                .into_iter()
                .map(|file| asked.place.file(Some(&file)).0.unwrap_or(file))
                .collect(),
            justification: scope.justification,
        }),
        Said::Review(review) => match (&review.footer, asked.focus) {
            (Some(footer), Focus::Axis(axis)) => {
                let axis = *axis;
                let counted = match axis {
                    Axis::Standards => footer.findings_standards,
                    Axis::Spec => footer.findings_spec,
                };
                if let Some(counted) = counted.filter(|counted| *counted > 0 && review.findings.is_empty()) {
                    return Err(format!("the footer counts {counted} findings and the review lists none"));
                }
                let findings = review
                    .findings
                    .iter()
                    .filter(|finding| finding.verdict != Some(report::Verdict::Rejected))
                    .map(|finding| new_finding(finding, axis_word(axis), None, asked))
                    .collect();
                Report::AxisReviewed { axis, findings, footer: of_footer(footer) }
            }
            (None, Focus::Axis(_)) => return Err("the review ends without its WORKER_RESULT footer".into()),
            _ => Report::Judged(judged(&review, asked)),
        },
        Said::Gate(gate) => Report::Gaps(GapReview {
            verdict: match gate.verdict {
                report::GateVerdict::Ship => GateWord::Ship,
                report::GateVerdict::FixFirst => GateWord::FixFirst,
                report::GateVerdict::Blocked => GateWord::Blocked,
            },
            gaps: gate
                .gaps
                .into_iter()
                .map(|gap| Gap {
                    severity: match gap.severity {
                        report::GapSeverity::Critical => Severity::P0,
                        report::GapSeverity::High => Severity::P1,
                        report::GapSeverity::Medium => Severity::P2,
                        report::GapSeverity::Low => Severity::P3,
                    },
                    text: gap.text,
                    file: asked.place.file(gap.file.as_deref()).0,
                    line: gap.line,
                })
                .collect(),
            evidence: gate.evidence,
        }),
        Said::Check(check) => {
            let footer = check.footer.as_ref().map(of_footer).ok_or("the check ends without its footer")?;
            Report::Consolidated {
                roots: check
                    .findings
                    .into_iter()
                    .map(|cause| RootCause {
                        from: cause
                            .from
                            .iter()
                            .filter_map(|id| asked.key(&serde_json::json!(id)).map(|(key, _)| key.clone()))
                            .collect(),
                        id: cause.id,
                        confirmed: cause.verdict == report::CheckVerdict::Confirmed,
                        root_cause: cause.root_cause,
                        evidence: cause.evidence,
                    })
                    .collect(),
                footer,
            }
        }
        Said::Close(close) => {
            let footer = close.footer.as_ref().map(of_footer).ok_or("the closing ends without its footer")?;
            let regressions = close
                .findings
                .iter()
                .filter(|cause| cause.state == report::CloseState::ConfirmedFixRegression)
                .map(|cause| (cause.id.clone(), regression(cause, asked)))
                .collect();
            let states = close.findings.into_iter().map(|cause| {
                let state = match cause.state {
                    report::CloseState::Resolved => RootState::Resolved,
                    report::CloseState::Open => RootState::Open,
                    report::CloseState::ConfirmedFixRegression => RootState::ConfirmedFixRegression,
                };
                (cause.id, state, cause.evidence)
            });
            Report::Closed { states: states.collect(), regressions, footer }
        }
        Said::Diagnosis(diagnosis) => Report::Diagnosis(Diagnosis {
            cause: cause(diagnosis.cause),
            evidence: diagnosis.evidence,
            new_evidence_is_real: asked.output_is_new
                && diagnosis.new_evidence.as_ref().is_some_and(|text| !text.trim().is_empty()),
            new_evidence: diagnosis.new_evidence,
            rules_out: diagnosis
                .rules_out
                .into_iter()
                .filter_map(|(name, reason)| {
                    let name = name.trim().to_lowercase().replace('_', "-");
                    Cause::ALL.into_iter().find(|cause| cause.words() == name).map(|cause| (cause, reason))
                })
                .filter(|(_, reason)| !reason.trim().is_empty())
                .collect(),
            route: diagnosis.route,
            needs: diagnosis.needs,
        }),
    })
}

/// A regression as a finding of its own. Its key is of this loop: another one may well have a `regression-1` too.
fn regression(cause: &report::ClosedCause, asked: &Asked) -> NewFinding {
    let mut hasher = Sha256::new();
    for part in ["regression", asked.of_loop, &cause.id, &cause.evidence] {
        hasher.update(part.as_bytes());
        hasher.update(b"\0");
    }
    let first = cause.evidence.lines().next().unwrap_or_default().trim();
    let (file, refused) = asked.place.file(cause.file.as_deref());
    NewFinding {
        key: FindingKey(hex::encode(&hasher.finalize()[..8])),
        severity: Severity::P1,
        title: if first.is_empty() { cause.id.clone() } else { first.to_owned() },
        body: [Some(cause.evidence.clone()), refused].into_iter().flatten().collect::<Vec<_>>().join("\n"),
        line: cause.line.filter(|_| file.is_some()),
        file,
        evidence: cause.evidence.clone(),
        criterion: "the fix breaks nothing".into(),
        caused_by: asked.findings.first().map(|(key, _)| key.clone()),
    }
}

pub(super) fn axis_word(axis: Axis) -> &'static str {
    match axis {
        Axis::Standards => "standards",
        Axis::Spec => "spec",
    }
}

fn cause(said: report::Cause) -> Cause {
    match said {
        report::Cause::ModelCapacity => Cause::ModelCapacity,
        report::Cause::MissingContext => Cause::MissingContext,
        report::Cause::AmbiguousSpec => Cause::AmbiguousSpec,
        report::Cause::EnvToolFailure => Cause::EnvToolFailure,
        report::Cause::OverdesignedPlan => Cause::OverdesignedPlan,
    }
}

fn of_footer(said: &footer::Footer) -> Footer {
    Footer {
        phase: said.phase.clone().unwrap_or_default(),
        done: said.status == Some(FooterStatus::Done),
        base: said.base.clone(),
        head: said.head.clone(),
        clean: said.tree.map(|tree| tree == TreeState::Clean),
        validation: match said.validation {
            Some(footer::Validation::Pass) => ValidationOutcome::Pass,
            Some(footer::Validation::Fail) => ValidationOutcome::Fail,
            Some(footer::Validation::NotRun) | None => ValidationOutcome::NotRun,
        },
        validation_command: said.validation_command.clone(),
        blocked_by: said.blocked_by.clone(),
        open_root_causes: said.open_root_causes,
    }
}

/// A verifier's ReviewOutput (DESIGN 6): a verdict and evidence on every finding, or it is unsaid.
fn judged(review: &report::ReviewReport, asked: &Asked) -> Judged {
    let failed = failed_criteria(&review.checks_run);
    let mut findings: Vec<Judgement> = Vec::new();
    let mut new = Vec::new();
    for said in &review.findings {
        let Some((key, criterion)) = asked.key(&said.id) else {
            if said.verdict != Some(report::Verdict::Rejected) {
                let caused_by = asked
                    .key(&said.caused_by)
                    .or(asked.findings.first().filter(|_| said.origin.as_deref() == Some("regression")))
                    .map(|(key, _)| key.clone());
                new.push(new_finding(said, "new", caused_by, asked));
            }
            continue;
        };
        let evidence = said.evidence.clone().unwrap_or_default();
        let verdict = match said.verdict {
            _ if evidence.trim().is_empty() => Judging::Unsaid,
            Some(report::Verdict::Rejected) if failed.iter().any(|name| criterion_names(criterion, name)) => {
                Judging::Persists
            }
            Some(report::Verdict::Rejected) => Judging::Gone,
            Some(report::Verdict::Confirmed) => Judging::Persists,
            Some(report::Verdict::Demoted) => match said.severity.map(severity) {
                Some(severity) if severity.blocks() => Judging::Persists,
                Some(_) => Judging::Demoted,
                None => Judging::Unsaid,
            },
            None => Judging::Unsaid,
        };
        let judgement = Judgement { key: key.clone(), verdict, evidence };
        match findings.iter_mut().find(|known| known.key == *key) {
            // Said twice and differently: the worse word counts.
            Some(known) if rank(known.verdict) >= rank(judgement.verdict) => {}
            Some(known) => *known = judgement,
            None => findings.push(judgement),
        }
    }
    for (key, _) in asked.findings {
        if !findings.iter().any(|known| known.key == *key) {
            findings.push(Judgement { key: key.clone(), verdict: Judging::Unsaid, evidence: String::new() });
        }
    }
    Judged { findings, new }
}

fn rank(verdict: Judging) -> u8 {
    match verdict {
        Judging::Gone => 0,
        Judging::Demoted => 1,
        Judging::Unsaid => 2,
        Judging::Persists => 3,
    }
}

fn severity(said: report::Severity) -> Severity {
    match said {
        report::Severity::P0 => Severity::P0,
        report::Severity::P1 => Severity::P1,
        report::Severity::P2 => Severity::P2,
        report::Severity::P3 => Severity::P3,
    }
}

fn new_finding(
    said: &report::ReviewedFinding,
    kind: &str,
    caused_by: Option<FindingKey>,
    asked: &Asked,
) -> NewFinding {
    let criterion = said.criterion.clone().unwrap_or_default();
    let (file, refused) = asked.place.file(said.file.as_deref());
    let mut hasher = Sha256::new();
    for part in [kind, file.as_deref().unwrap_or_default(), &said.title, &criterion] {
        hasher.update(part.trim().to_lowercase().as_bytes());
        hasher.update(b"\0");
    }
    hasher.update(said.line_start.unwrap_or_default().to_be_bytes());
    let body = [Some(said.body.clone()).filter(|body| !body.is_empty()), refused];
    NewFinding {
        key: FindingKey(hex::encode(&hasher.finalize()[..8])),
        // A problem without a severity is not taken for a small one.
        severity: said.severity.map_or(Severity::P1, severity),
        title: said.title.clone(),
        body: body.into_iter().flatten().collect::<Vec<_>>().join("\n\n"),
        line: said.line_start.filter(|_| file.is_some()),
        file,
        evidence: said.evidence.clone().unwrap_or_default(),
        criterion,
        caused_by,
    }
}

pub(super) fn failure(failure: &crate::agents::Failure) -> WorkerFailure {
    use crate::agents::FailureClass as Said;
    WorkerFailure {
        class: match failure.class {
            Said::Agent | Said::Cancelled => FailureClass::Agent,
            Said::Service => FailureClass::Service,
            Said::Account => FailureClass::Account,
            Said::Environment => FailureClass::Environment,
            Said::NoReport => FailureClass::NoReport,
            Said::OverLimit => FailureClass::OverLimit,
        },
        message: failure.message.clone(),
        advice: failure.advice.clone(),
    }
}
