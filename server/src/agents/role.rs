//! The roles of subagents (DESIGN 2).

pub use crate::config::{Protocol as ProtocolName, RoleName as Role};

impl Role {
    /// Only these may change the tree. A change by any other role is undone and voids its result (DESIGN 6, rule 3).
    pub fn may_edit(self) -> bool {
        matches!(self, Role::Fixer | Role::Recoverer)
    }
}
