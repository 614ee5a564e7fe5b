//! The ledger of root causes under their stable ids, and the burden.
//!
//! Owns which consolidation and which closing count. What a worker leaves unsaid is never a resolution.

use std::collections::{BTreeMap, BTreeSet};

use super::super::vocabulary::*;

#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Ledger {
    pub(super) roots: Vec<Root>,
    /// Failures of the validation that the base did not have; together one open root cause.
    pub(super) new_failures: Vec<String>,
    /// Every finding that such a failure ever was; open while there are failures.
    red: Vec<FindingKey>,
}

impl Ledger {
    /// Takes the checker's consolidation. An error says what is missing in it; a note says what was left out.
    pub(super) fn consolidate(
        &mut self,
        roots: Vec<RootCause>,
        findings: &[FindingKey],
    ) -> Result<Vec<String>, String> {
        let mut notes = Vec::new();
        let mut ids = BTreeSet::new();
        let mut judged = BTreeSet::new();
        let mut taken = Vec::new();
        for root in roots {
            if !is_stable_id(&root.id) || !ids.insert(root.id.clone()) {
                return Err(format!("`{}` is not an id of its own of the form <axis>-<n>", root.id));
            }
            if !root.confirmed && root.evidence.trim().is_empty() {
                return Err(format!("{} is disputed without evidence", root.id));
            }
            let from: Vec<FindingKey> = root.from.into_iter().filter(|key| findings.contains(key)).collect();
            if from.is_empty() {
                notes.push(format!("{} names no finding of the review and is left out", root.id));
                continue;
            }
            judged.extend(from.iter().cloned());
            taken.push(Root {
                id: root.id,
                confirmed: root.confirmed,
                from,
                root_cause: root.root_cause,
                evidence: root.evidence,
                state: RootState::Open,
                is_regression: false,
            });
        }
        let missing = findings.iter().filter(|key| !judged.contains(*key)).count();
        if missing > 0 {
            return Err(format!("{missing} of {} findings were not judged", findings.len()));
        }
        self.roots = taken;
        Ok(notes)
    }

    /// Takes the closer's states. Unsaid, or resolved without evidence, is open. An error: it judged nothing at all, or
    /// its footer counts more open root causes than it names.
    pub(super) fn close(
        &mut self,
        states: Vec<(String, RootState, String)>,
        regressions: &[(String, NewFinding)],
        counted: Option<u32>,
    ) -> Result<Vec<String>, String> {
        let mut notes = Vec::new();
        let mut said: BTreeMap<String, (RootState, String)> = BTreeMap::new();
        let mut fresh = Vec::new();
        let named = states.iter().filter(|(_, state, _)| *state != RootState::Resolved).count() as u32;
        if let Some(counted) = counted.filter(|counted| *counted > 0 && named == 0) {
            return Err(format!("its footer counts {counted} open root causes and it names none"));
        }
        for (id, state, evidence) in states {
            let known = self.roots.iter().any(|root| root.confirmed && root.id == id);
            if known {
                // Two words on one root cause: the worse one counts.
                let entry = said.entry(id).or_insert((state, evidence.clone()));
                if entry.0 == RootState::Resolved && state != RootState::Resolved {
                    *entry = (state, evidence);
                }
            } else if state == RootState::ConfirmedFixRegression {
                fresh.push((id, evidence));
            } else {
                notes
                    .push(format!("the closer's word on {id} is left out: it is not a confirmed root cause"));
            }
        }
        if said.is_empty() && self.roots.iter().any(|root| root.confirmed) {
            return Err("it judged none of the root causes".to_owned());
        }
        for root in self.roots.iter_mut().filter(|root| root.confirmed) {
            let (state, evidence) = said
                .remove(&root.id)
                .unwrap_or((RootState::Open, "the closer did not say anything of it".to_owned()));
            root.state = state;
            root.evidence = evidence;
            if state == RootState::Resolved && root.evidence.trim().is_empty() {
                notes.push(format!("{} is called resolved without evidence, so it is open", root.id));
                root.state = RootState::Open;
            }
        }
        for (id, evidence) in fresh {
            let finding = regressions.iter().find(|(named, _)| *named == id).map(|(_, finding)| finding);
            self.add_regression(&id, evidence, finding);
        }
        Ok(notes)
    }

    /// A regression counts as an open root cause (rule 7), once. It keeps the closer's id where that is free, so that the
    /// next closer can be told of it by the same name.
    fn add_regression(&mut self, named: &str, evidence: String, finding: Option<&NewFinding>) {
        let of_finding = |root: &&mut Root| finding.is_some_and(|finding| root.from.contains(&finding.key));
        if let Some(root) = self.roots.iter_mut().find(of_finding) {
            root.confirmed = true;
            root.state = RootState::ConfirmedFixRegression;
            root.evidence = evidence;
            return;
        }
        let id =
            if is_stable_id(named) && !self.has(named) { named.to_owned() } else { self.next_regression() };
        self.roots.push(Root {
            root_cause: finding.map_or_else(|| id.clone(), |finding| finding.title.clone()),
            id,
            confirmed: true,
            from: finding.map(|finding| finding.key.clone()).into_iter().collect(),
            evidence,
            state: RootState::ConfirmedFixRegression,
            is_regression: true,
        });
    }

    /// Takes what the validation says now: failures that the base did not have, and the findings that they are.
    pub(super) fn validated(&mut self, new_failures: Vec<String>, findings: &[NewFinding]) {
        self.new_failures = new_failures;
        for finding in findings {
            if !self.red.contains(&finding.key) {
                self.red.push(finding.key.clone());
            }
        }
    }

    fn has(&self, id: &str) -> bool {
        self.roots.iter().any(|root| root.id == id)
    }

    fn next_regression(&self) -> String {
        let mut n = 1;
        while self.has(&format!("regression-{n}")) {
            n += 1;
        }
        format!("regression-{n}")
    }

    /// Open root causes including regressions; new failures of the validation are one of them.
    pub(super) fn burden(&self) -> u32 {
        let open = self.roots.iter().filter(|root| root.is_open()).count() as u32;
        open + u32::from(!self.new_failures.is_empty())
    }

    /// Findings of open root causes, once each, in the order of the ledger, and then those of the validation.
    pub(super) fn open_findings(&self) -> Vec<FindingKey> {
        let mut keys = self.findings_where(Root::is_open);
        if !self.new_failures.is_empty() {
            keys.extend(self.red.iter().cloned());
        }
        keys
    }

    pub(super) fn confirmed_findings(&self) -> Vec<FindingKey> {
        self.findings_where(|root| root.confirmed)
    }

    fn findings_where(&self, is_meant: impl Fn(&Root) -> bool) -> Vec<FindingKey> {
        let mut keys: Vec<FindingKey> = Vec::new();
        for key in self.roots.iter().filter(|root| is_meant(root)).flat_map(|root| &root.from) {
            if !keys.contains(key) {
                keys.push(key.clone());
            }
        }
        keys
    }

    /// How a finding stands at the end: open while any of its root causes is, disputed when all of them are.
    pub(super) fn settled(&self, key: &FindingKey, round: u32) -> Settled {
        if self.red.contains(key) {
            return match self.new_failures.as_slice() {
                [] => Settled::Resolved {
                    grade: Grade::Proven,
                    why: "the validation no longer fails there".to_owned(),
                    round,
                },
                failures => Settled::Open { why: format!("validation: {}", failures.join("; ")) },
            };
        }
        let of: Vec<&Root> = self.roots.iter().filter(|root| root.from.contains(key)).collect();
        if let Some(open) = of.iter().find(|root| root.is_open()) {
            return Settled::Open { why: format!("{}: {}", open.id, open.evidence) };
        }
        if let Some(resolved) = of.iter().find(|root| root.confirmed) {
            let why = format!("{}: {}", resolved.id, resolved.evidence);
            return Settled::Resolved { grade: Grade::Verified, why, round };
        }
        match of.first() {
            Some(disputed) => Settled::Disputed { why: format!("{}: {}", disputed.id, disputed.evidence) },
            None => Settled::Open { why: "it was not judged".to_owned() },
        }
    }
}

/// `<axis>-<n>`.
fn is_stable_id(id: &str) -> bool {
    id.rsplit_once('-').is_some_and(|(axis, number)| {
        !axis.is_empty()
            && axis.chars().all(|letter| letter.is_ascii_lowercase() || matches!(letter, '-' | '_'))
            && number.parse::<u32>().is_ok_and(|number| number > 0)
    })
}
