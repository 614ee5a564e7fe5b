//! What the texts were before the fix, and whether the cited code is still what a finding is about.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::findings;
use crate::workspace::RepoPath;

use super::act::Job;

/// The texts of before the fix.
pub(super) struct Past<'a> {
    job: &'a Job,
}

impl Past<'_> {
    pub fn of(job: &Job) -> Past<'_> {
        Past { job }
    }

    pub fn text(&self, path: &Path) -> Option<String> {
        let path = RepoPath::new(path.to_str()?).ok()?;
        let workspace = &self.job.tools.workspace;
        let bytes = if super::verifying::is_users_fix(self.job) {
            workspace.read_at(&super::verifying::base(self.job), &path).ok()?
        } else {
            workspace.bytes_at(self.job.first_checkpoint().ok()?, &path).ok()?
        };
        String::from_utf8(bytes?).ok()
    }

    /// Every file that the fix changed, before and now.
    pub fn edits(&self) -> Vec<(PathBuf, Option<String>, Option<String>)> {
        let mut paths: BTreeSet<String> = self.job.traces.fix.keys().map(ToString::to_string).collect();
        if super::verifying::is_users_fix(self.job) {
            paths.extend(
                self.job
                    .opened
                    .findings
                    .iter()
                    .flat_map(|one| one.finding.file.iter().chain(&one.finding.related_files))
                    .cloned(),
            );
        }
        paths
            .into_iter()
            .map(|path| {
                let now = RepoPath::new(&path)
                    .ok()
                    .and_then(|path| self.job.tools.workspace.file_text(&path).ok().flatten());
                let path = PathBuf::from(path);
                (path.clone(), self.text(&path), now)
            })
            .filter(|(_, before, now)| before != now)
            .collect()
    }
}

/// The cited lines, white space at the ends left aside; the whole text where no lines are cited.
pub(super) fn cited(finding: &findings::Finding, text: &str) -> String {
    match finding.line_start {
        Some(start) if start > 0 => {
            let end = finding.line_end.unwrap_or(start).max(start);
            let lines: Vec<&str> = text
                .lines()
                .skip(start as usize - 1)
                .take((end - start) as usize + 1)
                .map(str::trim)
                .collect();
            lines.join("\n")
        }
        _ => text.to_owned(),
    }
}

/// Whether the cited text is no longer there as it was.
pub(super) fn cited_changed(finding: &findings::Finding, before: &str, now: &str) -> bool {
    if finding.line_start.is_none_or(|start| start == 0) {
        return before != now;
    }
    let wanted: Vec<&str> = before.lines().collect();
    if wanted.is_empty() {
        return before != now;
    }
    let lines: Vec<&str> = now.lines().map(str::trim).collect();
    !lines.windows(wanted.len()).any(|window| window == wanted.as_slice())
}
