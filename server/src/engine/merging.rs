//! Unsaved text in the editor over files that a loop changed meanwhile (DESIGN 9).
//!
//! Owns when the two are put together: as soon as nobody is writing. The editor is asked to take both; where it does not, or
//! where both changed the same lines, the user is. What the user typed stays in the buffer in any case. Never writes a file.

use crate::protocol::Action;
use crate::workspace::RepoPath;

use super::buffers::Merge;
use super::driver::Driver;
use super::ledger::LoopId;
use super::own_questions::Asked;
use super::running::LoopRun;

impl Driver {
    pub(super) fn merge_buffers(&mut self) {
        let unsaved = self.buffers.unsaved();
        let mut open = Vec::new();
        if !unsaved.is_empty() && !self.stopping && !self.state.loops.values().any(is_writing) {
            for (path, since) in unsaved {
                let Some(r#loop) = self.changed_by(&path, since) else { continue };
                match self.buffers.merge(&path, self.state.revision) {
                    Merge::Nothing | Merge::Offered => {}
                    Merge::Refused => open.push(Asked::Edited { r#loop, path, refused: true }),
                    Merge::Clash => open.push(Asked::Edited { r#loop, path, refused: false }),
                }
            }
            self.own_questions
                .retain(|known| !matches!(known.asked, Asked::Edited { .. }) || open.contains(&known.asked));
        } else if unsaved.is_empty() {
            self.own_questions.retain(|known| !matches!(known.asked, Asked::Edited { .. }));
        }
        for asked in open {
            self.ask_own(asked);
        }
    }

    /// The latest loop that changed something since that revision and ever wrote this file.
    fn changed_by(&self, path: &str, since: u64) -> Option<LoopId> {
        let path = RepoPath::new(path).ok()?;
        let wrote = |run: &&LoopRun| {
            run.changed > since
                && run.writes_in_the_users_tree()
                && run.traces.own.paths().any(|own| *own == path)
        };
        self.state.loops.values().rev().find(wrote).map(LoopRun::id)
    }
}

/// Whether bytes in the user's tree may be half way to what they will be.
fn is_writing(run: &LoopRun) -> bool {
    let writes = |action: &Action| match action {
        Action::Dispatch(dispatch) => dispatch.role.may_edit(),
        Action::Restore { .. } | Action::PutBack { .. } => true,
        _ => false,
    };
    run.writes_in_the_users_tree()
        && run.view.outstanding.iter().any(|step| run.begun.contains(&step.id) && writes(&step.action))
}
