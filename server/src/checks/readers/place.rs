//! Deciding which places named in a failure are places in the project.
//!
//! Asks the file system only whether a file is there; never reads one.

use std::path::{Component, Path, PathBuf};

use crate::checks::Place;

/// Folders that hold other people's code or generated files.
const FOREIGN: [&str; 9] =
    ["node_modules", "site-packages", "dist-packages", "target", ".venv", "venv", ".tox", ".git", "vendor"];

/// The root of the project and the folder (relative to it) in which the check ran.
#[derive(Clone, Debug)]
pub struct Project {
    root: PathBuf,
    real_root: PathBuf,
    cwd: PathBuf,
}

impl Project {
    pub fn new(root: &Path, cwd: &Path) -> Self {
        let real_root = root.canonicalize().unwrap_or_else(|_| root.to_owned());
        Self { root: root.to_owned(), real_root, cwd: cwd.to_owned() }
    }

    /// The place, if the file is the project's own. Relative paths are looked up where the check ran, then in its
    /// parents up to the root, since some runners print paths relative to their workspace.
    pub fn place(&self, path: &str, line: u32) -> Option<Place> {
        let decoded = path
            .strip_prefix("file://")
            .map(|path| percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned());
        let path = decoded.as_deref().unwrap_or(path).trim();
        if path.is_empty() || path.contains('\0') || line == 0 {
            return None;
        }
        let path = Path::new(path);
        let relative = if path.is_absolute() {
            path.strip_prefix(&self.root).or_else(|_| path.strip_prefix(&self.real_root)).ok()?.to_owned()
        } else {
            self.cwd
                .ancestors()
                .map(|folder| normal(&folder.join(path)))
                .find_map(|candidate| candidate.filter(|path| self.root.join(path).is_file()))?
        };
        let relative = normal(&relative)?;
        let foreign = relative
            .components()
            .any(|part| FOREIGN.iter().any(|folder| part.as_os_str().to_str() == Some(*folder)));
        (!foreign && self.root.join(&relative).is_file()).then(|| Place::new(relative, line))
    }

    pub fn has_module(&self, dotted: &str) -> bool {
        let top = dotted.split('.').next().unwrap_or(dotted);
        if top.is_empty() {
            return false;
        }
        let folders = [self.root.clone(), self.root.join(&self.cwd)];
        folders.iter().any(|folder| {
            [
                folder.clone(),
                folder.join("src"),
                folder.join("lib"),
                folder.join("tests"),
                folder.join("test"),
            ]
            .iter()
            .any(|base| base.join(top).is_dir() || base.join(format!("{top}.py")).is_file())
        })
    }
}

/// Without `.` and `..`; `None` if it leads out of the root.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut parts = PathBuf::new();
    for part in path.components() {
        match part {
            Component::Normal(name) => parts.push(name),
            Component::CurDir => {}
            Component::ParentDir => {
                if !parts.pop() {
                    return None;
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(parts)
}
