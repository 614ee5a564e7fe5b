//! What a run would do (`--dry-run`): batches, scopes, checks, agents. Starts nothing.

use std::collections::BTreeSet;
use std::fmt;

use serde::Serialize;
use serde_json::Value;

use crate::findings;
use crate::protocol::{Role, Tier};

use super::act::Tools;
use super::api::Refusal;
use super::driver::Driver;
use super::ledger::LoopFinding;
use super::{batch, checking, roster, view, words};

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Plan {
    pub protocol: String,
    pub batches: Vec<PlannedBatch>,
    pub agents: Vec<PlannedAgent>,
    pub ignored: Vec<PlannedIgnored>,
    /// What intake repaired, clamped or left out.
    pub notes: Vec<findings::Note>,
    /// Why nothing would be fixed, if so.
    pub fixing_off: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedBatch {
    pub findings: Vec<Value>,
    pub scope: Vec<String>,
    pub checks: Vec<PlannedCheck>,
    /// Checks that would not run, and why.
    pub refused: Vec<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedCheck {
    pub name: String,
    pub command: Vec<String>,
    /// `finding`, `configured`, `discovered`.
    pub origin: String,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedAgent {
    pub role: &'static str,
    pub agent: Option<String>,
    pub model: Option<String>,
    /// Why nobody plays it.
    pub missing: Option<String>,
}

#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PlannedIgnored {
    pub id: Value,
    pub reason: String,
}

impl Plan {
    pub(super) fn of(driver: &Driver, only: &[String]) -> Result<Plan, Refusal> {
        let all = view::findings(driver);
        let mut chosen: Vec<LoopFinding> = Vec::new();
        if only.is_empty() {
            for finding in &all {
                let open = matches!(
                    finding.detail.state,
                    super::FindingState::Open | super::FindingState::Stale | super::FindingState::Manual
                );
                if open && let Some(found) = driver.inbox.loop_finding(&finding.detail.fingerprint) {
                    chosen.push(found);
                }
            }
        } else {
            for name in only {
                let finding = driver.find(name)?;
                if let Some(found) = driver.inbox.loop_finding(&finding.detail.fingerprint) {
                    chosen.push(found);
                }
            }
        }
        let files: Vec<BTreeSet<String>> =
            chosen.iter().map(|finding| driver.inbox.scope_of(finding)).collect();
        let batches = batch::batches(&files)
            .into_iter()
            .map(|members| {
                let findings: Vec<&LoopFinding> = members.iter().map(|&index| &chosen[index]).collect();
                let scope: BTreeSet<String> =
                    members.iter().flat_map(|&index| files[index].iter().cloned()).collect();
                let (checks, refused) = match &driver.workspace {
                    Some(workspace) => {
                        let tools = Tools {
                            workspace: workspace.clone(),
                            supervisor: driver.setup.supervisor.clone(),
                            config: driver.config.clone(),
                            buffers: crate::agents::Buffers::none(),
                            agent: None,
                        };
                        checking::chosen(&tools, &findings, &driver.state.approved)
                    }
                    None => Default::default(),
                };
                PlannedBatch {
                    findings: findings.iter().map(|finding| finding.shown.clone()).collect(),
                    scope: scope.into_iter().collect(),
                    checks: checks
                        .into_iter()
                        .map(|(check, _)| PlannedCheck {
                            name: check.name.to_string(),
                            command: check.argv().to_vec(),
                            origin: format!("{:?}", check.origin).to_lowercase(),
                        })
                        .collect(),
                    refused,
                }
            })
            .collect();
        let roles: &[Role] = match driver.protocol() {
            crate::config::Protocol::Bounded => &[Role::Fixer, Role::Verifier],
            crate::config::Protocol::Converge => {
                &[Role::Reviewer, Role::Checker, Role::Fixer, Role::Closer, Role::Recoverer]
            }
            crate::config::Protocol::Rereview => &[Role::Fixer, Role::Reviewer, Role::Diagnoser],
        };
        Ok(Plan {
            protocol: driver.protocol().as_str().to_owned(),
            batches,
            agents: roles.iter().map(|&role| planned_agent(driver, role)).collect(),
            ignored: all
                .iter()
                .filter(|finding| finding.detail.state == super::FindingState::Ignored)
                .map(|finding| PlannedIgnored {
                    id: finding.detail.id.clone(),
                    reason: finding.standing.clone(),
                })
                .chain(
                    driver
                        .inbox
                        .duplicates()
                        .map(|(id, reason)| PlannedIgnored { id, reason: format!("ignored: {reason}") }),
                )
                .collect(),
            notes: driver.inbox.notes().to_vec(),
            fixing_off: driver.fixing_off.clone(),
        })
    }
}

fn planned_agent(driver: &Driver, role: Role) -> PlannedAgent {
    match roster::choose(
        &driver.setup.root,
        &driver.config,
        driver.setup.agent.as_deref(),
        role,
        Tier::Scoped,
    ) {
        Ok(chosen) => PlannedAgent {
            role: roster::role_name(role),
            agent: Some(chosen.spec.name),
            model: chosen.model,
            missing: None,
        },
        Err(why) => {
            PlannedAgent { role: roster::role_name(role), agent: None, model: None, missing: Some(why) }
        }
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(why) = &self.fixing_off {
            writeln!(f, "{why}")?;
        }
        writeln!(f, "protocol {}", self.protocol)?;
        for (index, batch) in self.batches.iter().enumerate() {
            let findings: Vec<String> = batch.findings.iter().map(words::id_text).collect();
            writeln!(f, "batch {}: findings {}", index + 1, findings.join(", "))?;
            if batch.checks.is_empty() {
                writeln!(f, "  no check covers it")?;
            }
            writeln!(
                f,
                "  scope: {}",
                if batch.scope.is_empty() { "asked for first".into() } else { batch.scope.join(", ") }
            )?;
            for check in &batch.checks {
                writeln!(f, "  check {} ({}): {}", check.name, check.origin, check.command.join(" "))?;
            }
            for refused in &batch.refused {
                writeln!(f, "  not run: {refused}")?;
            }
        }
        for agent in &self.agents {
            match (&agent.agent, &agent.missing) {
                (Some(name), _) => {
                    let model = agent.model.as_ref().map(|model| format!(" ({model})")).unwrap_or_default();
                    writeln!(f, "{}: {name}{model}", agent.role)?;
                }
                (None, why) => writeln!(f, "{}: {}", agent.role, why.as_deref().unwrap_or("nobody"))?,
            }
        }
        for ignored in &self.ignored {
            writeln!(f, "finding {}: {}", words::id_text(&ignored.id), ignored.reason)?;
        }
        for note in &self.notes {
            writeln!(f, "note: {note}")?;
        }
        Ok(())
    }
}

impl Plan {
    /// What a run says before it starts: how the findings were read, and what each is verified with.
    pub fn beginning(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.notes.iter().map(|note| format!("note: {note}")).collect();
        for batch in &self.batches {
            let ids: Vec<String> = batch.findings.iter().map(words::id_text).collect();
            let names: Vec<String> =
                batch.checks.iter().map(|check| format!("{} ({})", check.name, check.origin)).collect();
            let which = if ids.len() == 1 { "finding" } else { "findings" };
            lines.push(match names.is_empty() {
                true => format!("{which} {}: no check covers it", ids.join(", ")),
                false => format!("{which} {}: verified with {}", ids.join(", "), names.join(", ")),
            });
            lines.extend(batch.refused.iter().map(|refused| format!("not run: {refused}")));
        }
        lines
    }
}
