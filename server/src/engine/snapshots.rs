//! Spec and standards of a `converge` loop: looked up once, and the same text for every worker (DESIGN 6).

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

use crate::config::Config;
use crate::workspace::{RepoPath, Workspace};

use super::managed::Snapshot;

/// The longest text of one file that is snapshotted, in bytes.
const LONGEST: usize = 100_000;
/// Files that say how things are done in a project.
const STANDARDS: [&str; 7] = [
    "AGENTS.md",
    "CLAUDE.md",
    "CONTRIBUTING.md",
    ".github/CONTRIBUTING.md",
    "docs/CONTRIBUTING.md",
    "docs/standards.md",
    "STYLE.md",
];

static REFERENCE: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?:docs?|specs?)/[A-Za-z0-9_./-]+\.(?:md|txt|rst|adoc)").expect("a constant pattern")
});

/// Spec and standards at `head`: as configured; else the spec that the commits name, else what lies under `docs/` or
/// `specs/`.
pub(super) fn look_up(
    workspace: &Workspace,
    config: &Config,
    base: &str,
    head: &str,
) -> (Vec<Snapshot>, Vec<Snapshot>) {
    let read = |path: &str| -> Option<Snapshot> {
        let bytes = workspace.read_at(head, &RepoPath::new(path).ok()?).ok()??;
        let mut text = String::from_utf8(bytes).ok()?;
        if text.len() > LONGEST {
            let cut = (0..=LONGEST).rev().find(|&at| text.is_char_boundary(at)).unwrap_or(0);
            text.truncate(cut);
            text.push_str("\n… (cut)\n");
        }
        (!text.trim().is_empty()).then(|| Snapshot { path: path.to_owned(), text })
    };
    let spec: Vec<Snapshot> = match &config.spec {
        Some(path) => read(path).into_iter().collect(),
        None => {
            let named = named_by_commits(workspace, base, head);
            let from_commits: Vec<Snapshot> = named.iter().filter_map(|path| read(path)).collect();
            if from_commits.is_empty() {
                usual_specs(workspace, head).iter().filter_map(|path| read(path)).take(1).collect()
            } else {
                from_commits
            }
        }
    };
    let standards: Vec<Snapshot> = if config.standards.is_empty() {
        STANDARDS.iter().filter_map(|path| read(path)).collect()
    } else {
        config.standards.iter().filter_map(|path| read(path)).collect()
    };
    (spec, standards)
}

fn named_by_commits(workspace: &Workspace, base: &str, head: &str) -> BTreeSet<String> {
    let commits = workspace.commits_between(base, head).unwrap_or_default();
    commits
        .iter()
        .filter_map(|commit| workspace.commit_message(*commit).ok())
        .flat_map(|message| {
            REFERENCE.find_iter(&message).map(|found| found.as_str().to_owned()).collect::<Vec<_>>()
        })
        .collect()
}

/// A file called like a spec, the shortest path first.
fn usual_specs(workspace: &Workspace, head: &str) -> Vec<String> {
    let mut found: Vec<String> = workspace
        .paths_at(head)
        .unwrap_or_default()
        .into_iter()
        .map(|path| path.to_string())
        .filter(|path| {
            let lower = path.to_lowercase();
            let text = [".md", ".txt", ".rst", ".adoc"].iter().any(|end| lower.ends_with(end));
            let folder = lower.starts_with("specs/") || lower.starts_with("spec/");
            let name = lower.rsplit('/').next().unwrap_or_default();
            let called = name.starts_with("spec") || name.ends_with("-spec.md") || name.starts_with("prd");
            text && (folder || called && (lower.starts_with("docs/") || !lower.contains('/')))
        })
        .collect();
    found.sort_by_key(|path| (path.matches('/').count(), path.clone()));
    found
}
