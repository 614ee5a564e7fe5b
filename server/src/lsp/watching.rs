//! Noticing that findings files, the configuration or cited files changed on disk.
//!
//! Owns the registration with editors that watch files, and a poll by metadata, once a second, for what they do not watch
//! (Neovim on Linux watches nothing; no editor is asked to watch every cited file). Never reads what a file says: that is
//! the engine's.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use lsp_types::{
    DidChangeWatchedFilesRegistrationOptions, FileSystemWatcher, GlobPattern, OneOf, Registration,
    RegistrationParams, RelativePattern, Url,
};
use serde_json::Value;
use tokio::sync::watch;

use crate::config::Config;

use super::folders::Folder;

pub(super) const CONFIGURATION: &str = "fix-loop.toml";
/// The inbox where the configuration names none.
pub(super) const INBOX: &str = ".fix-loop/findings";

const INTERVAL: Duration = Duration::from_secs(1);
/// An inbox with more entries than this is looked at only in part; no review has so many files.
const MOST_ENTRIES: usize = 2000;
const DEEPEST: usize = 8;

/// The globs of findings files that the workspace's configuration names.
pub(super) fn inbox(root: &Path, settings: Option<&Value>) -> Vec<String> {
    // A configuration that can't be read is shown by the engine; meanwhile the usual inbox is watched.
    Config::load(root, None, settings).map(|loaded| loaded.config).unwrap_or_default().findings
}

/// What the editor is asked to watch.
pub(super) fn registration(folders: &[Folder], relative: bool) -> RegistrationParams {
    let patterns = [CONFIGURATION.to_owned(), format!("{INBOX}/**")];
    let glob = |folder: Option<Url>, pattern: &String| match folder {
        Some(base_uri) => GlobPattern::Relative(RelativePattern {
            base_uri: OneOf::Right(base_uri),
            pattern: pattern.clone(),
        }),
        None => GlobPattern::String(format!("**/{pattern}")),
    };
    let bases: Vec<Option<Url>> = if relative {
        folders.iter().filter_map(|folder| Url::parse(&folder.uri).ok().map(Some)).collect()
    } else {
        vec![None]
    };
    let watchers = bases
        .iter()
        .flat_map(|base| patterns.iter().map(move |pattern| glob(base.clone(), pattern)))
        .map(|glob_pattern| FileSystemWatcher { glob_pattern, kind: None })
        .collect();
    let options = DidChangeWatchedFilesRegistrationOptions { watchers };
    RegistrationParams {
        registrations: vec![Registration {
            id: REGISTRATION.into(),
            method: WATCHED_FILES.into(),
            register_options: serde_json::to_value(options).ok(),
        }],
    }
}

pub(super) const REGISTRATION: &str = "fix-loop-watched-files";
pub(super) const WATCHED_FILES: &str = "workspace/didChangeWatchedFiles";

/// What one folder's poll looks at: files, and folders with what is in them down to a depth.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Targets {
    pub files: BTreeSet<PathBuf>,
    pub trees: BTreeMap<PathBuf, usize>,
}

/// The targets of a folder. Where the editor watches the configuration and the usual inbox, the rest is left.
pub(super) fn targets(folder: &Folder, editor_watches: bool) -> Targets {
    let mut targets = Targets::default();
    let Some(running) = folder.running() else { return targets };
    let listed = running.snapshot.findings.iter().filter_map(|finding| finding.listed_in.as_ref());
    let unreadable = running.snapshot.input_errors.iter().map(|error| &error.file);
    let cited = running.snapshot.findings.iter().filter_map(|finding| finding.detail.file.as_ref());
    let named = listed.map(|(file, _)| file).chain(unreadable).chain(cited);
    targets.files = named.map(|path| running.root.join(path)).collect();
    if !editor_watches {
        targets.files.insert(running.root.join(CONFIGURATION));
    }
    let usual = |glob: &&String| editor_watches && glob.starts_with(INBOX);
    for glob in running.inbox.iter().filter(|glob| !usual(glob)) {
        let (path, depth) = tree_of(glob);
        targets.trees.insert(running.root.join(path), depth);
    }
    targets
}

/// The folder that a glob looks into, and how deep. One that begins with a wildcard would mean the whole workspace, every
/// second; there only the top is looked at, and the findings files that are known already.
pub(super) fn tree_of(glob: &str) -> (String, usize) {
    let parts: Vec<&str> = glob.split('/').collect();
    let literal = parts.iter().take_while(|part| !part.contains(['*', '?', '[', '{'])).count();
    let path = parts[..literal.min(parts.len() - 1)].join("/");
    let deep = glob.contains("**") || literal + 1 < parts.len();
    let depth = if deep && !path.is_empty() { DEEPEST } else { 0 };
    (path, depth)
}

type Stamp = Option<(SystemTime, u64)>;
type Stamps = BTreeMap<PathBuf, Stamp>;

/// Calls `changed` whenever something at the targets looks different. Ends when the targets' owner has gone.
pub(super) async fn poll(targets: watch::Receiver<Targets>, changed: impl Fn()) {
    let mut last: Option<(Targets, Stamps)> = None;
    loop {
        let now = targets.borrow().clone();
        let scanned = now.clone();
        let Ok(stamps) = tokio::task::spawn_blocking(move || scan(&scanned)).await else { return };
        // The first look is reported too: something may have changed since the engine read it.
        if last.as_ref().is_none_or(|(before, earlier)| is_different(before, earlier, &now, &stamps)) {
            changed();
        }
        last = Some((now, stamps));
        tokio::time::sleep(INTERVAL).await;
        if targets.has_changed().is_err() {
            return;
        }
    }
}

/// Only what was looked at both times can have changed; a new target is none.
fn is_different(before: &Targets, earlier: &Stamps, now: &Targets, stamps: &Stamps) -> bool {
    let files = now.files.intersection(&before.files);
    let mut compared = files.map(|file| earlier.get(file) != stamps.get(file));
    let under = |stamps: &Stamps, tree: &Path| -> Vec<(PathBuf, Stamp)> {
        let from = stamps.range(tree.to_owned()..).take_while(|(path, _)| path.starts_with(tree));
        from.map(|(path, stamp)| (path.clone(), *stamp)).collect()
    };
    let mut trees = now.trees.keys().filter(|tree| before.trees.contains_key(*tree));
    compared.any(|different| different) || trees.any(|tree| under(earlier, tree) != under(stamps, tree))
}

fn scan(targets: &Targets) -> Stamps {
    let mut stamps = Stamps::new();
    for file in &targets.files {
        stamps.insert(file.clone(), stamp(file));
    }
    for (tree, depth) in &targets.trees {
        let mut left = MOST_ENTRIES;
        scan_tree(tree, *depth, &mut left, &mut stamps);
    }
    stamps
}

fn scan_tree(folder: &Path, depth: usize, left: &mut usize, stamps: &mut Stamps) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for entry in entries.flatten() {
        if *left == 0 {
            return;
        }
        *left -= 1;
        let path = entry.path();
        // A link to a folder is not followed, so that no cycle is walked.
        if entry.file_type().is_ok_and(|kind| kind.is_dir()) {
            if depth > 0 {
                scan_tree(&path, depth - 1, left, stamps);
            }
        } else {
            let stamp = stamp(&path);
            stamps.insert(path, stamp);
        }
    }
}

fn stamp(file: &Path) -> Stamp {
    let metadata = std::fs::metadata(file).ok()?;
    Some((metadata.modified().ok()?, metadata.len()))
}
