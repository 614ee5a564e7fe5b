//! Which files are findings files.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};

/// The patterns, and the folders below which something can match.
pub(super) fn compile(patterns: &[String]) -> (GlobSet, BTreeSet<PathBuf>) {
    let mut set = GlobSetBuilder::new();
    for pattern in patterns {
        // The configuration refuses a pattern that is none.
        if let Ok(glob) = Glob::new(pattern) {
            set.add(glob);
        }
    }
    (set.build().unwrap_or_default(), patterns.iter().map(|pattern| fixed_part(pattern)).collect())
}

/// The part of a pattern before its first wildcard: the only folder that has to be walked for it.
fn fixed_part(pattern: &str) -> PathBuf {
    let fixed =
        pattern.split('/').take_while(|part| !part.contains(['*', '?', '[', '{'])).collect::<Vec<_>>();
    let whole = fixed.len() == pattern.split('/').count();
    fixed[..fixed.len() - usize::from(whole)].iter().collect()
}

/// The files that a pattern names, below the folders that the patterns can reach into.
pub(super) fn files_below(root: &Path, folders: &BTreeSet<PathBuf>, patterns: &GlobSet) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut folders: Vec<PathBuf> = folders.iter().map(|folder| root.join(folder)).collect();
    while let Some(folder) = folders.pop() {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.filter_map(Result::ok) {
            let path = entry.path();
            let Ok(kind) = entry.file_type() else { continue };
            if kind.is_dir() && entry.file_name() != ".git" {
                folders.push(path);
            } else if path.strip_prefix(root).is_ok_and(|inside| patterns.is_match(inside))
                && !is_passing(&entry.file_name().to_string_lossy())
            {
                found.insert(path);
            }
        }
    }
    found
}

/// Hidden files, and what editors and writers leave beside a file while they are at it.
fn is_passing(name: &str) -> bool {
    name.starts_with('.') || ["~", ".tmp", ".part", ".swp"].iter().any(|end| name.ends_with(end))
}
