//! Files that an agent reads and writes through Fix Loop: which are meant, and which it may have (DESIGN 8).
//!
//! Owns paths and texts, and speaks no protocol. What it refuses keeps honest mistakes from costing a round; it is not
//! what enforces a scope, since most agents write straight to disk: that is the engine's guard.

use std::collections::HashMap;
use std::path::{Component, Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use super::brief::Brief;
use super::buffers::Buffers;
use super::excerpt;

/// The longest file that is read for an agent.
const LONGEST_READ: u64 = 16 * 1024 * 1024;

/// One dispatch's view of the workspace.
pub(super) struct Desk {
    /// Canonical.
    workspace: PathBuf,
    /// Paths that may be written, relative to the workspace; empty for roles that only read.
    scope: Vec<String>,
    may_edit: bool,
    buffers: Buffers,
    /// Texts that are in no file, as the agent was last shown or has last written them.
    unsaved: Mutex<HashMap<String, String>>,
}

impl Desk {
    pub(super) fn new(cwd: &Path, brief: &Brief, buffers: &Buffers) -> Self {
        Desk {
            workspace: cwd.canonicalize().unwrap_or_else(|_| cwd.to_owned()),
            scope: brief.scope.iter().map(|path| normal(path)).collect(),
            may_edit: brief.role.may_edit(),
            buffers: buffers.clone(),
            unsaved: Mutex::default(),
        }
    }

    pub(super) fn may_edit(&self) -> bool {
        self.may_edit
    }

    /// A path as people are shown it.
    pub(super) fn short(&self, path: &Path) -> String {
        let path =
            crate::process::clean(&path.strip_prefix(&self.workspace).unwrap_or(path).to_string_lossy());
        excerpt::head(&path.replace('\n', " "), 160)
    }

    /// The text of a file, or some of its lines: from a line counted from 1, and how many.
    pub(super) fn read(&self, path: &Path, line: Option<u32>, limit: Option<u32>) -> Result<String, String> {
        let path = self.inside(path)?;
        let meta = std::fs::metadata(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        if !meta.is_file() || meta.len() > LONGEST_READ {
            return Err(format!("{} is not an ordinary file of readable size", path.display()));
        }
        let bytes = std::fs::read(&path).map_err(|error| format!("{}: {error}", path.display()))?;
        // A text with other bytes replaced would be written back with them lost.
        let in_file = String::from_utf8(bytes).map_err(|_| format!("{} is not UTF-8", path.display()))?;
        let relative = self.relative(&path);
        let mut unsaved = self.unsaved.lock().unwrap_or_else(PoisonError::into_inner);
        let text = match self.buffers.shown(&relative, &in_file) {
            Some(text) => {
                unsaved.insert(relative, text.clone());
                text
            }
            None => {
                // Saved meanwhile: what the agent sees and what stands in the file are one again.
                unsaved.remove(&relative);
                in_file
            }
        };
        drop(unsaved);
        if line.is_none() && limit.is_none() {
            return Ok(text);
        }
        let skip = line.map_or(0, |line| line.saturating_sub(1) as usize);
        let take = limit.map_or(usize::MAX, |limit| limit as usize);
        Ok(text.split_inclusive('\n').skip(skip).take(take).collect())
    }

    /// Writes a file of the scope, with the folders above it.
    pub(super) fn write(&self, path: &Path, content: &str) -> Result<(), String> {
        let path = self.writable(path)?;
        let failed = |path: &Path, error: std::io::Error| format!("{}: {error}", path.display());
        if let Some(folder) = path.parent() {
            std::fs::create_dir_all(folder).map_err(|error| failed(folder, error))?;
        }
        // A pipe would hold the writer for ever.
        if std::fs::metadata(&path).is_ok_and(|meta| !meta.is_file()) {
            return Err(format!("{} is not an ordinary file", path.display()));
        }
        let text = self.to_file(&path, content)?;
        std::fs::write(&path, text).map_err(|error| failed(&path, error))
    }

    /// What a write means for the file: all of it, or the change of the unsaved text that the agent was shown.
    fn to_file(&self, path: &Path, written: &str) -> Result<String, String> {
        let relative = self.relative(path);
        let mut unsaved = self.unsaved.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(shown) = unsaved.get_mut(&relative) else { return Ok(written.to_owned()) };
        let in_file =
            std::fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let text = self.buffers.to_file(shown, written, &in_file).ok_or_else(|| {
            format!("{relative} has unsaved changes in the editor on the lines that this would change; report it as blocked")
        })?;
        written.clone_into(shown);
        Ok(text)
    }

    pub(super) fn relative(&self, path: &Path) -> String {
        path.strip_prefix(&self.workspace).unwrap_or(path).to_string_lossy().into_owned()
    }

    /// The path inside the workspace that is really meant, whether it exists yet or not.
    fn inside(&self, path: &Path) -> Result<PathBuf, String> {
        let outside = || format!("{} is outside of the workspace", path.display());
        let full = self.workspace.join(path);
        if full.components().any(|part| matches!(part, Component::ParentDir)) {
            return Err(outside());
        }
        let mut existing = full.as_path();
        while existing.symlink_metadata().is_err() {
            existing = existing.parent().ok_or_else(outside)?;
        }
        let rest = full.strip_prefix(existing).map_err(|_| outside())?;
        let real = existing.canonicalize().map_err(|error| format!("{}: {error}", existing.display()))?;
        let real = if rest.as_os_str().is_empty() { real } else { real.join(rest) };
        if real.starts_with(&self.workspace) { Ok(real) } else { Err(outside()) }
    }

    /// A path that the role may change.
    pub(super) fn writable(&self, path: &Path) -> Result<PathBuf, String> {
        if !self.may_edit {
            return Err("this role may only read".to_owned());
        }
        let real = self.inside(path)?;
        let relative = self.relative(&real);
        if self.scope.contains(&relative) {
            return Ok(real);
        }
        Err(format!(
            "{relative} is outside of the scope; report needs_scope_expansion instead of changing it"
        ))
    }
}

fn normal(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<_>>().join("/")
}
