//! What things are called inside a protocol: findings, actions, workers, questions and trees, each by its own type.

use serde::{Deserialize, Serialize};

/// Identity of a finding inside the protocols: its fingerprint.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FindingKey(pub String);

/// A path of the repository, as the workspace spells it.
pub type Path = String;

/// Number of an action in its loop, from 1, in the order given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ActionId(pub u32);

/// Number of a subagent in its loop, from 1. Every dispatch has a new one: workers are never reused (DESIGN 2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct WorkerId(pub u32);

/// Number of a question in its loop, from 1.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct QuestionNumber(pub u32);

/// Content identity of a whole work tree state: equal ids mean equal bytes (oscillation, rule 5).
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreeId(pub String);
