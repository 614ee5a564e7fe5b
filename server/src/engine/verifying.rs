//! *Verify my fix*: the user has changed the code; what was there before is in git (DESIGN 6, 7.4).
//!
//! Owns where "before" is for such a loop: a worktree of our own at the review base, else at HEAD, in which the checks run
//! once. For every other loop, before is the tree as it stands.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::protocol::bounded::LoopKind;
use crate::workspace::{RepoPath, Worktree};

use super::act::{Failed, Job};
use super::ledger::LoopFinding;
use super::running::MachineStart;

/// Where the checks before the fix run.
pub(super) struct PlaceOfBefore {
    root: PathBuf,
    worktree: Option<Worktree>,
}

impl PlaceOfBefore {
    pub fn root(&self) -> &Path {
        &self.root
    }

    pub fn text_of(&self, job: &Job, finding: &LoopFinding) -> Option<String> {
        let path = RepoPath::new(finding.finding.file.as_ref()?).ok()?;
        match &self.worktree {
            Some(_) => {
                let bytes = job.tools.workspace.read_at(&base(job), &path).ok()??;
                Some(String::from_utf8_lossy(&bytes).into_owned())
            }
            None => job.tools.workspace.file_text(&path).ok()?,
        }
    }

    pub async fn leave(self, job: &Arc<Job>) {
        let Some(worktree) = self.worktree else { return };
        let gone = job
            .blocking(move |job| {
                job.tools.workspace.remove_worktree(&worktree).map_err(|error| error.to_string())
            })
            .await;
        if let Err(error) = gone {
            job.tell(format!("a worktree could not be removed: {error}"));
        }
    }
}

pub(super) fn is_users_fix(job: &Job) -> bool {
    matches!(&job.opened.start, MachineStart::Bounded(input) if input.kind == LoopKind::Verify)
}

pub(super) fn base(job: &Job) -> String {
    job.opened.base.clone().unwrap_or_else(|| "HEAD".into())
}

pub(super) async fn place_of_before(job: &Arc<Job>) -> Result<PlaceOfBefore, Failed> {
    let here = PlaceOfBefore { root: job.tools.workspace.root().to_path_buf(), worktree: None };
    if !is_users_fix(job) || job.tools.workspace.head_id().is_none() {
        return Ok(here);
    }
    let made = job
        .blocking(|job| {
            let branch = format!("fix-loop/before-{}", job.id);
            job.tools.workspace.add_worktree(&branch, &base(job)).map_err(|error| error.to_string())
        })
        .await?;
    let root = made.path.clone();
    Ok(PlaceOfBefore { root, worktree: Some(made) })
}

/// What the user changed since the base, in the files of the loop.
pub(super) fn users_diff(job: &Job) -> Result<String, Failed> {
    let paths: Vec<RepoPath> = job
        .opened
        .findings
        .iter()
        .flat_map(|finding| finding.finding.file.iter().chain(&finding.finding.related_files))
        .filter_map(|path| RepoPath::new(path).ok())
        .collect();
    job.tools.workspace.diff_from_revision(&base(job), &paths).map_err(|error| error.to_string())
}
