//! What a machine is started with, from the configuration and what is installed here.

use std::collections::{BTreeMap, BTreeSet};

use crate::config::{Protocol, Round1Evidence};
use crate::protocol::bounded::{AlwaysAllowed, BoundedInput, EvidenceNeeded, LoopKind};
use crate::protocol::converge::{ConvergeInput, Source};
use crate::protocol::rereview::{GapSubject, RereviewInput};
use crate::protocol::{Budget, Gap, GateWord, Inherited, NewFinding, Role, Subject, Tier};

use super::driver::Driver;
use super::ledger::LoopFinding;
use super::running::MachineStart;
use super::{roster, view, words};

fn subject(driver: &Driver, finding: &LoopFinding) -> Subject {
    Subject {
        key: Driver::key(&finding.fingerprint),
        severity: view::severity(finding.finding.severity),
        files: driver.inbox.scope_of(finding),
    }
}

fn name(finding: &LoopFinding) -> String {
    let place = match (&finding.finding.file, finding.finding.line_start) {
        (Some(file), Some(line)) => format!(" ({file}:{line})"),
        (Some(file), None) => format!(" ({file})"),
        _ => String::new(),
    };
    format!("{}: {}{place}", words::id_text(&finding.shown), finding.finding.title)
}

fn budget(driver: &Driver, protocol: Protocol) -> Budget {
    let budget = driver.config.budget_for(protocol);
    Budget { workers: budget.workers, minutes: budget.minutes, cost_usd: budget.cost_usd }
}

/// The fixer's agent has to be there before a loop opens.
fn must_have_fixer(driver: &Driver) -> Result<roster::Chosen, String> {
    roster::choose(
        &driver.setup.root,
        &driver.config,
        driver.setup.agent.as_deref(),
        Role::Fixer,
        Tier::Scoped,
    )
}

pub(super) fn fixer_name(driver: &Driver) -> Option<String> {
    must_have_fixer(driver).ok().map(|chosen| chosen.spec.name)
}

fn has(driver: &Driver, role: Role) -> bool {
    roster::can_play(&driver.setup.root, &driver.config, driver.setup.agent.as_deref(), role)
}

/// A role that only runs when it is asked for in the configuration.
fn is_configured(driver: &Driver, role: Role) -> bool {
    driver.config.roles.contains_key(&roster::role(role)) && has(driver, role)
}

pub(super) fn bounded(
    driver: &Driver,
    findings: &[LoopFinding],
    inherited: Option<Inherited>,
) -> Result<MachineStart, String> {
    let fixer = must_have_fixer(driver)?;
    Ok(MachineStart::Bounded(bounded_input(
        driver,
        findings,
        LoopKind::Fix,
        !roster::is_suggested(&fixer.spec),
        inherited,
    )))
}

pub(super) fn verify(driver: &Driver, finding: &LoopFinding) -> Result<MachineStart, String> {
    Ok(MachineStart::Bounded(bounded_input(
        driver,
        std::slice::from_ref(finding),
        LoopKind::Verify,
        false,
        None,
    )))
}

fn bounded_input(
    driver: &Driver,
    findings: &[LoopFinding],
    kind: LoopKind,
    second_round: bool,
    inherited: Option<Inherited>,
) -> BoundedInput {
    let subjects: Vec<Subject> = findings.iter().map(|finding| subject(driver, finding)).collect();
    let names: BTreeMap<_, _> =
        findings.iter().map(|finding| (Driver::key(&finding.fingerprint), name(finding))).collect();
    let mut input = BoundedInput::fix(subjects);
    input.kind = kind;
    input.names = names;
    input.always_allowed = AlwaysAllowed(driver.config.always_allow.clone());
    input.budget = budget(driver, Protocol::Bounded);
    input.evidence_needed = match driver.config.round1_evidence {
        Round1Evidence::Proven => EvidenceNeeded::Proven,
        Round1Evidence::Touched => EvidenceNeeded::Touched,
    };
    input.has_verifier = has(driver, Role::Verifier);
    input.diagnose = is_configured(driver, Role::Diagnoser);
    input.second_round = second_round;
    input.inherited = inherited.unwrap_or_default();
    input
}

pub(super) fn rereview(
    driver: &Driver,
    findings: &[LoopFinding],
    inherited: Option<Inherited>,
) -> Result<MachineStart, String> {
    must_have_fixer(driver)?;
    if !has(driver, Role::Reviewer) {
        roster::choose(&driver.setup.root, &driver.config, None, Role::Reviewer, Tier::Scoped)?;
    }
    let subjects: Vec<GapSubject> = findings
        .iter()
        .map(|finding| GapSubject {
            subject: subject(driver, finding),
            gap: Gap {
                severity: view::severity(finding.finding.severity),
                text: finding.finding.title.clone(),
                file: finding.finding.file.clone(),
                line: finding.finding.line_start,
            },
        })
        .collect();
    let scope: BTreeSet<String> = subjects.iter().flat_map(|one| one.subject.files.iter().cloned()).collect();
    let ladder = driver.config.role(roster::role(Role::Fixer)).ladder.map_or(0, |ladder| ladder.len() as u32);
    Ok(MachineStart::Rereview(RereviewInput {
        subjects,
        verdict: driver.inbox.gate_word().and_then(|word| match word.as_str() {
            "SHIP" => Some(GateWord::Ship),
            "FIX-FIRST" => Some(GateWord::FixFirst),
            "BLOCKED" => Some(GateWord::Blocked),
            _ => None,
        }),
        scope,
        budget: budget(driver, Protocol::Rereview),
        ladder_len: ladder,
        has_final_gate: is_configured(driver, Role::FinalGate),
        has_diagnoser: has(driver, Role::Diagnoser),
        // A loop that follows another one has its own attempts behind it: their evidence is not voided.
        simplify: driver.config.simplify && inherited.is_none(),
        inherited: inherited.unwrap_or_default(),
    }))
}

/// With findings the review is skipped; without, the committed difference is reviewed.
pub(super) fn converge(driver: &Driver, findings: &[LoopFinding]) -> Result<MachineStart, String> {
    must_have_fixer(driver)?;
    let mut needed = vec![Role::Checker, Role::Closer];
    if findings.is_empty() {
        needed.push(Role::Reviewer);
    }
    for role in needed {
        roster::choose(
            &driver.setup.root,
            &driver.config,
            driver.setup.agent.as_deref(),
            role,
            Tier::Scoped,
        )?;
    }
    let attached: Vec<NewFinding> = findings
        .iter()
        .map(|finding| NewFinding {
            key: Driver::key(&finding.fingerprint),
            severity: view::severity(finding.finding.severity),
            title: finding.finding.title.clone(),
            body: finding.finding.body.clone(),
            file: finding.finding.file.clone(),
            line: finding.finding.line_start,
            evidence: finding.finding.evidence.clone().unwrap_or_default(),
            criterion: finding.finding.criterion.clone().unwrap_or_default(),
            caused_by: None,
        })
        .collect();
    let scope = findings.iter().flat_map(|finding| driver.inbox.scope_of(finding)).collect();
    Ok(MachineStart::Converge(ConvergeInput {
        source: if attached.is_empty() { Source::Review } else { Source::Attached(attached) },
        budget: budget(driver, Protocol::Converge),
        scope,
        standards_only: false,
    }))
}
