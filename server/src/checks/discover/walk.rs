//! Walking a project's own folders, bounded, without entering ignored ones.

use std::path::{Path, PathBuf};

/// Folders that hold dependencies, build output or caches.
const IGNORED: [&str; 16] = [
    "node_modules",
    "target",
    "venv",
    "env",
    "__pycache__",
    "site-packages",
    "dist",
    "build",
    "vendor",
    "bower_components",
    "coverage",
    "htmlcov",
    "eggs",
    "Pods",
    "DerivedData",
    "third_party",
];
/// More folders than this are not looked at: discovery has to stay cheap, and the wider run needs no list.
const MOST_FOLDERS: usize = 4_000;
const MOST_FILES: usize = 20_000;

/// The project's folders, `root` first, breadth first.
pub fn folders(root: &Path) -> Vec<PathBuf> {
    let mut folders = vec![root.to_owned()];
    let mut next = 0;
    while next < folders.len() && folders.len() < MOST_FOLDERS {
        let Ok(entries) = std::fs::read_dir(&folders[next]) else {
            next += 1;
            continue;
        };
        let mut inner: Vec<PathBuf> = entries
            .flatten()
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter(|entry| entry.file_name().to_str().is_some_and(enters))
            .map(|entry| entry.path())
            .filter(|folder| !folder.join("pyvenv.cfg").exists())
            .collect();
        inner.sort();
        folders.extend(inner);
        next += 1;
    }
    folders.truncate(MOST_FOLDERS);
    folders
}

fn enters(name: &str) -> bool {
    !name.starts_with('.') && !IGNORED.contains(&name)
}

/// The files below `root` whose name `wanted` accepts, relative to `root`, sorted.
pub fn files(root: &Path, wanted: impl Fn(&str) -> bool) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for folder in folders(root) {
        let Ok(entries) = std::fs::read_dir(&folder) else { continue };
        for entry in entries.flatten() {
            let name = entry.file_name();
            if !name.to_str().is_some_and(&wanted) || !entry.file_type().is_ok_and(|kind| kind.is_file()) {
                continue;
            }
            if let Ok(path) = entry.path().strip_prefix(root) {
                found.push(path.to_owned());
            }
        }
        if found.len() >= MOST_FILES {
            break;
        }
    }
    found.sort();
    found.truncate(MOST_FILES);
    found
}
