//! What one `bounded` loop is started with.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

use crate::protocol::{Budget, FindingKey, Grade, Inherited, Path, Subject};

/// Everything that a loop depends on. It is data, so that the ledger can hold it and a fold over the events gives the
/// same decisions whatever the config says by then.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct BoundedInput {
    pub kind: LoopKind,
    pub subjects: Vec<Subject>,
    /// What people call each finding, for questions: its title and place. The key stands in where it is absent.
    pub names: BTreeMap<FindingKey, String>,
    /// Empty, and no subject names a file: the user is asked first (rule 6).
    pub scope: BTreeSet<Path>,
    /// Files that join the scope without a question.
    pub always_allowed: AlwaysAllowed,
    pub budget: Budget,
    pub evidence_needed: EvidenceNeeded,
    pub has_verifier: bool,
    /// A diagnoser is configured: it names the cause in the escalation question.
    pub diagnose: bool,
    /// Whether the fixer's agent takes a second round; `suggested` declines it.
    pub second_round: bool,
    /// Whether an edit that weakens a test needs the user's word before anything counts as resolved.
    pub weakened_tests_are_asked: bool,
    pub inherited: Inherited,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LoopKind {
    /// *Fix with loop*.
    Fix,
    /// *Verify my fix*: no fixer. Checks before run on the review base or HEAD, and nothing is ever staged or reverted.
    Verify,
}

/// `round1_evidence`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum EvidenceNeeded {
    /// `pattern` satisfies it too.
    Proven,
    Touched,
}

impl EvidenceNeeded {
    pub fn is_met_by(self, grade: Grade) -> bool {
        match self {
            EvidenceNeeded::Proven => matches!(grade, Grade::Proven | Grade::Pattern),
            EvidenceNeeded::Touched => matches!(grade, Grade::Proven | Grade::Pattern | Grade::Touched),
        }
    }
}

/// The globs of `scope.always_allow`. A glob that does not parse allows nothing; the config refuses it long before.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct AlwaysAllowed(pub Vec<String>);

impl AlwaysAllowed {
    pub fn allows(&self, path: &str) -> bool {
        self.0.iter().any(|glob| {
            let glob = globset::GlobBuilder::new(glob).literal_separator(true).build();
            glob.is_ok_and(|glob| glob.compile_matcher().is_match(path))
        })
    }
}

impl BoundedInput {
    /// A loop over `subjects` within their files, with every default of the config.
    pub fn fix(subjects: Vec<Subject>) -> BoundedInput {
        BoundedInput {
            kind: LoopKind::Fix,
            scope: subjects.iter().flat_map(|subject| subject.files.iter().cloned()).collect(),
            subjects,
            names: BTreeMap::new(),
            always_allowed: AlwaysAllowed::default(),
            budget: Budget { workers: 8, minutes: 60, cost_usd: None },
            evidence_needed: EvidenceNeeded::Proven,
            has_verifier: true,
            diagnose: false,
            second_round: true,
            weakened_tests_are_asked: true,
            inherited: Inherited::default(),
        }
    }
}
