//! What a loop holds about its findings, its regressions, its tree and the attempt under judgement.

use std::collections::BTreeSet;

use super::{Bounded, BoundedInput, LoopKind};
use crate::protocol::{
    CheckVerdict, FindingKey, FixerStatus, Grade, Judging, NewFinding, Path, Settled, Subject, TreeId,
    Weakened, WorkerId,
};

/// What is known of the loop's own changes in the tree. Restoring brings the facts of a checkpoint back with the bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct TreeFacts {
    /// Number of the accepted edit that made this tree; 0 is the loop's start.
    pub edit: u32,
    /// Paths that differ from the loop's start.
    pub changed: BTreeSet<Path>,
    pub staged: bool,
    /// The user left the fix unstaged.
    pub unstaged_by_choice: bool,
    pub weakened: Vec<Weakened>,
}

/// The attempt of this round, from the fixer's report until it is judged.
#[derive(Clone, Debug)]
pub(super) struct Trying {
    pub worker: WorkerId,
    pub status: FixerStatus,
    pub summary: String,
    pub in_scope: BTreeSet<Path>,
    pub tree: Option<TreeId>,
    pub weakened: Vec<Weakened>,
}

/// One finding of the batch.
#[derive(Clone, Debug)]
pub(super) struct Held {
    pub key: FindingKey,
    /// Resolved or demoted in the tree of the last resolution; after the end, how it ended.
    pub settled: Option<Settled>,
    pub said: Said,
    /// Accepted by the user in an earlier round.
    pub accepted_before: bool,
}

/// What check, verifier and user said of a finding since the tree was last verified.
#[derive(Clone, Debug, Default)]
pub(super) struct Said {
    pub check: Option<CheckVerdict>,
    pub judged: Option<(Judging, String)>,
    pub accepted: bool,
}

/// A finding that a fix of this loop caused (rule 7).
#[derive(Clone, Debug)]
pub(super) struct Regression {
    pub finding: NewFinding,
    pub by_check: bool,
    /// By check: still failing at the latest run.
    pub failing: bool,
    pub said: Said,
}

/// Where a finding stands after verification.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Outcome {
    Resolved { grade: Grade, why: String },
    Demoted { why: String },
    Persists { why: String, failing: Vec<String> },
    NeedsJudge { why: String },
    Inconclusive { why: String },
}

impl Held {
    pub fn new(subject: &Subject) -> Held {
        Held { key: subject.key.clone(), settled: None, said: Said::default(), accepted_before: false }
    }

    pub fn is_demoted(&self) -> bool {
        matches!(self.settled, Some(Settled::Demoted { .. }))
    }

    pub fn is_resolved(&self) -> bool {
        matches!(self.settled, Some(Settled::Resolved { .. }))
    }

    /// The table of DESIGN 7.4 with the order of `bounded`: round 1 is content with good checks, round 2 wants the
    /// verifier too. A failing check outweighs a verifier that says the problem is gone; nothing outweighs the user.
    pub fn outcome(&self, input: &BoundedInput, round: u32) -> Outcome {
        if let Some(Settled::Demoted { why }) = &self.settled {
            return Outcome::Demoted { why: why.clone() };
        }
        let said = &self.said;
        if said.accepted {
            return Outcome::Resolved { grade: Grade::Accepted, why: "accepted by the user".into() };
        }
        if let Some((Judging::Demoted, why)) = &said.judged {
            return Outcome::Demoted { why: why.clone() };
        }
        if let Some(CheckVerdict::Persists { why, failing }) = &said.check {
            return Outcome::Persists { why: why.clone(), failing: failing.clone() };
        }
        let unsure = |why: &str| match self.accepted_before {
            true => Outcome::Resolved { grade: Grade::Accepted, why: "accepted by the user".into() },
            false => Outcome::Inconclusive { why: why.to_owned() },
        };
        let (met, weak) = match &said.check {
            Some(CheckVerdict::Inconclusive { why }) => return unsure(why),
            Some(CheckVerdict::Supported { grade, why }) if input.evidence_needed.is_met_by(*grade) => {
                (Some((*grade, why.clone())), String::new())
            }
            Some(CheckVerdict::Supported { why, .. }) => (None, format!("the checks say too little: {why}")),
            Some(CheckVerdict::Silent { why }) => (None, format!("no check says anything of it: {why}")),
            _ => (None, "no check says anything of it".into()),
        };
        let first_look = round == 1 || input.kind == LoopKind::Verify;
        if let Some((grade, why)) = &met
            && (first_look || !input.has_verifier)
        {
            return Outcome::Resolved { grade: *grade, why: why.clone() };
        }
        match &said.judged {
            Some((Judging::Persists, why)) => Outcome::Persists { why: why.clone(), failing: Vec::new() },
            Some((Judging::Unsaid, _)) => unsure("the verifier gave no verdict with evidence on it"),
            Some((_, why)) => match met {
                Some((grade, by_check)) => Outcome::Resolved { grade, why: format!("{by_check}; {why}") },
                None => Outcome::Resolved { grade: Grade::Verified, why: why.clone() },
            },
            None if input.has_verifier => Outcome::NeedsJudge { why: weak },
            None => unsure(&format!("{weak}, and no verifier is configured")),
        }
    }
}

impl Regression {
    pub fn outcome(&self, input: &BoundedInput, round: u32) -> Outcome {
        let gone = |grade, why: &str| Outcome::Resolved { grade, why: why.to_owned() };
        let persists = |why: &str| Outcome::Persists { why: why.to_owned(), failing: Vec::new() };
        if self.said.accepted {
            return gone(Grade::Accepted, "accepted by the user");
        }
        if self.failing {
            return persists(&self.finding.title);
        }
        match (&self.said.check, &self.said.judged) {
            (_, Some((Judging::Persists, why))) => persists(why),
            (Some(CheckVerdict::Persists { why, .. }), _) => persists(why),
            (Some(CheckVerdict::Inconclusive { why }), _) => Outcome::Inconclusive { why: why.clone() },
            (_, Some((Judging::Demoted, why))) => Outcome::Demoted { why: why.clone() },
            (_, Some((Judging::Gone, why))) => {
                gone(if self.by_check { Grade::Proven } else { Grade::Verified }, why)
            }
            (_, None) if input.has_verifier && round > 1 => {
                Outcome::NeedsJudge { why: "a fix of this loop caused it".into() }
            }
            // The check that found it ran again and passes.
            _ if self.by_check => gone(Grade::Proven, "the check that failed passes again"),
            (Some(CheckVerdict::Supported { grade, why }), _) if input.evidence_needed.is_met_by(*grade) => {
                gone(*grade, why)
            }
            _ => Outcome::Inconclusive { why: "the verifier gave no verdict with evidence on it".into() },
        }
    }
}

impl Bounded {
    /// How people call a finding.
    pub(super) fn name(&self, key: &FindingKey) -> String {
        if let Some(name) = self.input.names.get(key) {
            return name.clone();
        }
        if let Some(regression) = self.regressions.iter().find(|regression| regression.finding.key == *key) {
            return regression.finding.title.clone();
        }
        let files =
            self.input.subjects.iter().find(|subject| subject.key == *key).map(|subject| &subject.files);
        match files.and_then(|files| files.first()) {
            Some(file) => format!("{} ({file})", key.0),
            None => key.0.clone(),
        }
    }

    pub(super) fn outcome_of(&self, key: &FindingKey) -> Option<Outcome> {
        let held = self.findings.iter().find(|held| held.key == *key);
        held.map(|held| held.outcome(&self.input, self.round)).or_else(|| {
            let regression = self.regressions.iter().find(|regression| regression.finding.key == *key);
            regression.map(|regression| regression.outcome(&self.input, self.round))
        })
    }

    /// The tree that this was said of is gone, and with it what its fix had caused.
    pub(super) fn forget_what_was_undone(&mut self) {
        self.regressions.clear();
        for held in &mut self.findings {
            held.said = Said::default();
        }
    }

    /// Findings of the batch that no tree of this loop has settled.
    pub(super) fn unresolved(&self) -> Vec<FindingKey> {
        self.findings.iter().filter(|held| held.settled.is_none()).map(|held| held.key.clone()).collect()
    }

    pub(super) fn open_regressions(&self) -> Vec<FindingKey> {
        let open = |regression: &&Regression| {
            !matches!(
                regression.outcome(&self.input, self.round),
                Outcome::Resolved { .. } | Outcome::Demoted { .. }
            )
        };
        self.regressions.iter().filter(open).map(|regression| regression.finding.key.clone()).collect()
    }

    /// Everything that is verified: findings that are not demoted, and what this loop's fixes caused.
    pub(super) fn under_verification(&self) -> Vec<FindingKey> {
        let findings = self.findings.iter().filter(|held| !held.is_demoted()).map(|held| held.key.clone());
        findings.chain(self.regressions.iter().map(|regression| regression.finding.key.clone())).collect()
    }

    pub(super) fn said_mut(&mut self, key: &FindingKey) -> Option<&mut Said> {
        let held = self.findings.iter_mut().find(|held| held.key == *key).map(|held| &mut held.said);
        held.or_else(|| {
            let regression = self.regressions.iter_mut().find(|regression| regression.finding.key == *key);
            regression.map(|regression| &mut regression.said)
        })
    }
}
