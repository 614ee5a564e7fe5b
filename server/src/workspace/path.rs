//! Paths and sets of paths that are known to lie inside the work tree.
//!
//! Owns the two types that keep a path of a finding or a worker from leaving the root: [`RepoPath`] and [`Scope`].
//! Never opens a file for writing; `disk` does, and walks again without following links.

use std::collections::BTreeSet;
use std::fmt;
use std::path::{Component, Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use serde::{Deserialize, Serialize};

/// Why a path or a glob was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum PathError {
    /// The path is empty or names the root itself.
    #[error("`{0}` names no file inside the workspace")]
    NoFile(String),
    /// The path leaves the root, itself or through a symlink.
    #[error("`{0}` leads out of the workspace; name a file inside it")]
    Outside(String),
    /// The path is inside a `.git` folder.
    #[error("`{0}` is inside a .git folder, which is never changed")]
    GitFolder(String),
    /// The path is not UTF-8 or has a NUL byte.
    #[error("`{0}` is not a UTF-8 path")]
    NotText(String),
    /// A glob of `always_allow` does not parse.
    #[error("`{glob}` is not a valid glob: {why}")]
    Glob {
        /// As given.
        glob: String,
        /// What the parser said.
        why: String,
    },
}

/// A path relative to the root of the work tree: UTF-8, separated by `/`, never empty, never with `.`, `..` or `.git`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct RepoPath(String);

impl RepoPath {
    /// Checks a path that is already relative to the root, without looking at the disk. `a/./b` becomes `a/b`.
    pub fn new(path: &str) -> Result<RepoPath, PathError> {
        if path.contains('\0') {
            return Err(PathError::NotText(path.replace('\0', "\\0")));
        }
        if path.starts_with('/') {
            return Err(PathError::Outside(path.to_owned()));
        }
        let mut parts = Vec::new();
        for part in path.split('/') {
            match part {
                "" | "." => {}
                ".." => return Err(PathError::Outside(path.to_owned())),
                part if is_git_folder(part) => return Err(PathError::GitFolder(path.to_owned())),
                part => parts.push(part),
            }
        }
        if parts.is_empty() {
            return Err(PathError::NoFile(path.to_owned()));
        }
        Ok(RepoPath(parts.join("/")))
    }

    /// Finds the path that `given` (relative to `root`, or absolute in any spelling) really names.
    ///
    /// Symlinked folders on the way are resolved, so that the result is the name git knows; a link that leads out of
    /// `root` is refused. The last component is not followed: a symlink is itself a file of the repository. The file
    /// does not need to exist.
    pub fn resolve(root: &Path, given: &Path) -> Result<RepoPath, PathError> {
        let shown = || given.to_string_lossy().into_owned();
        let root = root.canonicalize().unwrap_or_else(|_| root.to_path_buf());
        let mut at = if given.is_absolute() { PathBuf::new() } else { root.clone() };
        let mut parts: Vec<Component<'_>> = given.components().collect();
        let last = loop {
            match parts.pop() {
                Some(Component::Normal(name)) => break name,
                Some(Component::CurDir) => {}
                Some(Component::ParentDir) => return Err(PathError::Outside(shown())),
                _ => return Err(PathError::NoFile(shown())),
            }
        };
        for part in parts {
            match part {
                Component::ParentDir => {
                    at.pop();
                }
                Component::CurDir => {}
                part => {
                    at.push(part);
                    if let Ok(real) = at.canonicalize() {
                        at = real;
                    } else if at.is_symlink() {
                        // A dangling link may come to point anywhere.
                        return Err(PathError::Outside(shown()));
                    }
                }
            }
        }
        at.push(last);
        if at == root {
            return Err(PathError::NoFile(shown()));
        }
        let inside = at.strip_prefix(&root).map_err(|_| PathError::Outside(shown()))?;
        RepoPath::new(inside.to_str().ok_or_else(|| PathError::NotText(shown()))?)
    }

    /// The path as git writes it.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The path on this machine.
    pub fn under(&self, root: &Path) -> PathBuf {
        root.join(&self.0)
    }

    /// Whether `self` lies in the folder `folder`, or is it.
    pub fn is_within(&self, folder: &RepoPath) -> bool {
        self.0.strip_prefix(folder.0.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }

    /// The folders above this path, nearest first.
    pub(super) fn ancestors(&self) -> impl Iterator<Item = RepoPath> + '_ {
        self.0.rmatch_indices('/').map(|(at, _)| RepoPath(self.0[..at].to_owned()))
    }

    /// The components in order.
    pub(super) fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.split('/')
    }
}

impl fmt::Display for RepoPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl TryFrom<String> for RepoPath {
    type Error = PathError;

    fn try_from(path: String) -> Result<RepoPath, PathError> {
        RepoPath::new(&path)
    }
}

impl From<RepoPath> for String {
    fn from(path: RepoPath) -> String {
        path.0
    }
}

/// `.git` in any spelling that some file system takes for it (git refuses the same ones).
fn is_git_folder(part: &str) -> bool {
    let visible: String =
        part.chars().filter(|c| !matches!(c, '\u{200c}'..='\u{200f}' | '\u{feff}')).collect();
    let trimmed = visible.trim_end_matches([' ', '.']);
    trimmed.eq_ignore_ascii_case(".git") || trimmed.eq_ignore_ascii_case("git~1")
}

/// The set of paths a loop may change. Make it before the first dispatch and keep it (it serialises): made again later,
/// it would be resolved through whatever links a worker has left.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(try_from = "ScopeRecord", into = "ScopeRecord")]
pub struct Scope {
    paths: BTreeSet<RepoPath>,
    folders: BTreeSet<RepoPath>,
    globs: Vec<String>,
    always_allow: GlobSet,
}

/// A scope as it is stored.
#[derive(Serialize, Deserialize)]
struct ScopeRecord {
    paths: BTreeSet<RepoPath>,
    folders: BTreeSet<RepoPath>,
    always_allow: Vec<String>,
}

impl From<Scope> for ScopeRecord {
    fn from(scope: Scope) -> ScopeRecord {
        ScopeRecord { paths: scope.paths, folders: scope.folders, always_allow: scope.globs }
    }
}

impl TryFrom<ScopeRecord> for Scope {
    type Error = PathError;

    fn try_from(record: ScopeRecord) -> Result<Scope, PathError> {
        let always_allow = compiled(&record.always_allow)?;
        Ok(Scope { paths: record.paths, folders: record.folders, globs: record.always_allow, always_allow })
    }
}

fn compiled(always_allow: &[String]) -> Result<GlobSet, PathError> {
    let refused = |glob: &str, why: &globset::Error| PathError::Glob {
        glob: glob.to_owned(),
        why: why.kind().to_string(),
    };
    let mut globs = GlobSetBuilder::new();
    for glob in always_allow {
        let built = GlobBuilder::new(glob).literal_separator(true).build();
        globs.add(built.map_err(|why| refused(glob, &why))?);
    }
    globs.build().map_err(|why| refused(&always_allow.join(", "), &why))
}

impl Scope {
    /// Resolves `paths` against `root` (see [`RepoPath::resolve`]). A symlink to a file inside the root brings its
    /// target into the scope, since an editor writes through it; one that leads out is refused. A folder stands for
    /// everything in it. `always_allow` are globs over whole paths, in which `*` stays within one folder.
    pub fn new<P: AsRef<Path>>(
        root: &Path,
        paths: &[P],
        always_allow: &[String],
    ) -> Result<Scope, PathError> {
        let mut scope = Scope {
            paths: BTreeSet::new(),
            folders: BTreeSet::new(),
            globs: always_allow.to_vec(),
            always_allow: compiled(always_allow)?,
        };
        for path in paths {
            scope.allow(root, path.as_ref())?;
        }
        Ok(scope)
    }

    /// Adds one path, as when the user approves an expanded scope.
    pub fn allow(&mut self, root: &Path, path: &Path) -> Result<(), PathError> {
        let resolved = RepoPath::resolve(root, path)?;
        let full = resolved.under(root);
        if full.is_symlink() {
            let outside = || PathError::Outside(path.to_string_lossy().into_owned());
            // A link to nothing is followed by its text, as a write through it would be.
            let target = full.canonicalize().or_else(|_| {
                let target = full.read_link()?;
                Ok::<_, std::io::Error>(full.parent().unwrap_or(root).join(target))
            });
            let target = target.map_err(|_| outside())?;
            let target = RepoPath::resolve(root, &target).map_err(|_| outside())?;
            if target.under(root).is_symlink() {
                return Err(outside());
            }
            self.insert(root, target);
        }
        self.insert(root, resolved);
        Ok(())
    }

    /// Adds all that another scope allows.
    pub fn merge(&mut self, other: &Scope) {
        self.paths.extend(other.paths.iter().cloned());
        self.folders.extend(other.folders.iter().cloned());
    }

    fn insert(&mut self, root: &Path, path: RepoPath) {
        if path.under(root).symlink_metadata().is_ok_and(|meta| meta.is_dir()) {
            self.folders.insert(path);
        } else {
            self.paths.insert(path);
        }
    }

    /// Whether a change of `path` is allowed.
    pub fn contains(&self, path: &RepoPath) -> bool {
        self.paths.contains(path)
            || self.folders.iter().any(|folder| path.is_within(folder))
            || self.always_allow.is_match(path.as_str())
    }

    /// The paths that were named, files first. Globs are not expanded.
    pub fn paths(&self) -> impl Iterator<Item = &RepoPath> {
        self.paths.iter().chain(&self.folders)
    }

    /// The files that were named.
    pub fn files(&self) -> impl Iterator<Item = &RepoPath> {
        self.paths.iter()
    }

    /// Whether nothing was named at all (then the scope is asked for before the first dispatch).
    pub fn is_empty(&self) -> bool {
        self.paths.is_empty() && self.folders.is_empty()
    }
}
