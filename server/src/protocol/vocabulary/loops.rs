//! What a loop is about and what bounds it: roles, severities, grades of evidence, subjects, budgets.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::identity::{FindingKey, Path};

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Role {
    Fixer,
    Verifier,
    Reviewer,
    Checker,
    Closer,
    Recoverer,
    Diagnoser,
    FinalGate,
}

impl Role {
    /// Roles that may change the tree; every other role's change is undone and voids its result (rule 3).
    pub fn may_edit(self) -> bool {
        matches!(self, Role::Fixer | Role::Recoverer)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Severity {
    P0,
    P1,
    P2,
    P3,
}

impl Severity {
    pub fn blocks(self) -> bool {
        matches!(self, Severity::P0 | Severity::P1)
    }
}

/// How well a resolution is supported (DESIGN 7.4), weakest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Grade {
    Touched,
    Accepted,
    Verified,
    Pattern,
    Proven,
}

/// What a loop is about: one finding of its batch.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Subject {
    pub key: FindingKey,
    pub severity: Severity,
    /// `file` and `related_files`; empty when the finding names none.
    pub files: BTreeSet<Path>,
}

/// Limits of one loop, checked before every dispatch (rule 1). `None` and 0 mean no limit.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Budget {
    pub workers: u32,
    pub minutes: u32,
    pub cost_usd: Option<f64>,
}

/// What a worker cost, as far as it said so.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Spent {
    pub cost_usd: Option<f64>,
    pub tokens: Option<u64>,
}
