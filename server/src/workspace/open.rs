//! Finding the repository, and saying before any dispatch what cannot work in it.
//!
//! Owns the questions that are asked once. Never repairs a repository; the message names the command that does
//! (faults R14, R19).

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use super::disk::Disk;
use super::git::{Git, GitError};
use super::object::Store;
use super::path::RepoPath;
use super::{Workspace, index, index_lock};

/// Why fixing is off in a folder. Its findings can still be shown.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder is in no repository.
    #[error("{} is not in a git repository; run `git init` there and commit once", .0.display())]
    NotARepository(PathBuf),
    /// The repository has no work tree.
    #[error("{} is a bare repository; open a work tree of it", .0.display())]
    Bare(PathBuf),
    /// The folder is a submodule that is not checked out, so git takes it for a part of the outer repository.
    #[error("the folder is inside the submodule {submodule}; run `git submodule update --init {submodule}` and open {}", .folder.display())]
    InsideSubmodule {
        /// Path of the submodule in the outer repository.
        submodule: RepoPath,
        /// The folder to open.
        folder: PathBuf,
    },
    /// The repository uses something that exact staging cannot deal with.
    #[error("fixing is off here: the repository uses {feature}; {remedy}")]
    Unsupported {
        /// What it is.
        feature: String,
        /// What would turn fixing on.
        remedy: String,
    },
    /// git itself failed.
    #[error(transparent)]
    Git(#[from] GitError),
    /// The folder could not be looked at.
    #[error("{}: {source}", .path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
}

fn unsupported(feature: &str, remedy: &str) -> OpenError {
    OpenError::Unsupported { feature: feature.to_owned(), remedy: remedy.to_owned() }
}

impl Workspace {
    /// Opens the work tree that `folder` lies in. Nothing in the repository is changed, except that an `index.lock`
    /// is removed which a crashed Fix Loop (and nobody else) left behind.
    pub fn open(folder: &Path) -> Result<Workspace, OpenError> {
        let folder = folder
            .canonicalize()
            .map_err(|source| OpenError::Folder { path: folder.to_path_buf(), source })?;
        let git = Git::new(&folder);
        let found = discover(&git, &folder)?;
        let config = configuration(&git)?;
        refuse_by_configuration(&config)?;

        let root = PathBuf::from(git.line(&["rev-parse", "--show-toplevel"])?);
        let root = root.canonicalize().map_err(|source| OpenError::Folder { path: root, source })?;
        let prefix = folder.strip_prefix(&root).ok().and_then(Path::to_str).filter(|text| !text.is_empty());
        let prefix = prefix.and_then(|text| RepoPath::new(text).ok());
        let common_dir = PathBuf::from(git.line(&["rev-parse", "--git-common-dir"])?);
        let common_dir = folder.join(common_dir);
        let common_dir = common_dir.canonicalize().unwrap_or(common_dir);

        let repository = git2::Repository::open_ext(
            &root,
            git2::RepositoryOpenFlags::NO_SEARCH,
            std::iter::empty::<&std::ffi::OsStr>(),
        )
        .map_err(|error| {
            unsupported(
                &format!("a format that libgit2 cannot read ({})", error.message()),
                "see `git config --list --local`",
            )
        })?;
        refuse_by_index(&found)?;

        let workspace = Workspace {
            git: Git::new(&root),
            store: Store::new(repository),
            disk: Disk::new(&root, found.join("fix-loop").join("scratch")),
            root,
            prefix,
            common_dir,
            git_dir: found,
            seen: Mutex::new(HashMap::new()),
        };
        index_lock::release_abandoned(&workspace);
        workspace.refuse_gitlink()?;
        Ok(workspace)
    }

    /// The submodule or other repository inside this one that a path lies in: nothing of it can be staged here.
    pub fn nested_repository(&self, path: &RepoPath) -> Option<RepoPath> {
        path.ancestors().find(|folder| folder.under(&self.root).join(".git").exists())
    }

    /// A folder below a gitlink of this very repository is a submodule that is not checked out.
    fn refuse_gitlink(&self) -> Result<(), OpenError> {
        let Some(prefix) = &self.prefix else { return Ok(()) };
        let Ok(index) = index::read(&self.git_dir.join("index")) else { return Ok(()) };
        let above = std::iter::once(prefix.clone()).chain(prefix.ancestors());
        for submodule in above {
            if index::entries_of(&index, &submodule).iter().any(index::IndexEntry::is_gitlink) {
                let folder = submodule.under(&self.root);
                return Err(OpenError::InsideSubmodule { submodule, folder });
            }
        }
        Ok(())
    }
}

/// The git folder of the work tree that `folder` lies in.
fn discover(git: &Git, folder: &Path) -> Result<PathBuf, OpenError> {
    let args = ["rev-parse", "--is-bare-repository", "--is-inside-work-tree", "--absolute-git-dir"];
    let (code, out, err) = git.status(&args, b"")?;
    let said = String::from_utf8_lossy(&err);
    if code != Some(0) {
        return Err(match said.trim() {
            said if said.contains("not a git repository") => OpenError::NotARepository(folder.to_path_buf()),
            said if said.contains("dubious ownership") => unsupported(
                "files of another user",
                &format!(
                    "if you trust it, run `git config --global --add safe.directory {}`",
                    folder.display()
                ),
            ),
            said if said.contains("extension") || said.contains("repo version") => {
                unsupported(&format!("a format this git cannot read ({said})"), "install a newer git")
            }
            said => {
                OpenError::Git(GitError::Failed { command: "rev-parse".into(), message: said.to_owned() })
            }
        });
    }
    let out = String::from_utf8_lossy(&out);
    let mut lines = out.lines();
    let (bare, inside) = (lines.next() == Some("true"), lines.next() == Some("true"));
    if bare {
        return Err(OpenError::Bare(folder.to_path_buf()));
    }
    if !inside {
        return Err(OpenError::NotARepository(folder.to_path_buf()));
    }
    let git_dir = PathBuf::from(lines.next().unwrap_or_default());
    git_dir.canonicalize().map_err(|source| OpenError::Folder { path: git_dir, source })
}

fn configuration(git: &Git) -> Result<HashMap<String, String>, OpenError> {
    let out = git.run(&["config", "--list", "-z"])?;
    let text = String::from_utf8_lossy(&out);
    let pairs = text.split('\0').filter(|pair| !pair.is_empty());
    Ok(pairs
        .map(|pair| match pair.split_once('\n') {
            Some((key, value)) => (key.to_owned(), value.to_owned()),
            None => (pair.to_owned(), "true".to_owned()),
        })
        .collect())
}

fn refuse_by_configuration(config: &HashMap<String, String>) -> Result<(), OpenError> {
    let get = |key: &str| config.get(key).map(|value| value.to_ascii_lowercase()).unwrap_or_default();
    let on = |key: &str| matches!(get(key).as_str(), "true" | "yes" | "on" | "1");
    if get("extensions.objectformat") == "sha256" {
        return Err(unsupported(
            "sha256 objects",
            "use a clone with SHA-1 objects (`git init --object-format=sha1`)",
        ));
    }
    if get("extensions.refstorage") == "reftable" {
        return Err(unsupported("reftable", "run `git refs migrate --ref-format=files`"));
    }
    let promisor = |key: &String| key.starts_with("remote.") && key.ends_with(".promisor");
    if !get("extensions.partialclone").is_empty() || config.keys().any(|key| promisor(key) && on(key)) {
        return Err(unsupported("a partial clone", "use a full clone (`git clone` without `--filter`)"));
    }
    if on("extensions.relativeworktrees") {
        return Err(unsupported(
            "relative worktrees",
            "run `git config worktree.useRelativePaths false`, `git worktree repair` and \
             `git config --unset extensions.relativeWorktrees`",
        ));
    }
    if on("index.sparse") && on("core.sparsecheckout") {
        return Err(sparse_index());
    }
    if on("core.splitindex") {
        return Err(split_index());
    }
    Ok(())
}

fn sparse_index() -> OpenError {
    unsupported("a sparse index", "run `git sparse-checkout reapply --no-sparse-index`")
}

fn split_index() -> OpenError {
    unsupported(
        "a split index",
        "run `git config core.splitIndex false` and `git update-index --no-split-index`",
    )
}

fn refuse_by_index(git_dir: &Path) -> Result<(), OpenError> {
    match git2::Index::open(&git_dir.join("index")) {
        Ok(index) if index.iter().any(|entry| entry.mode == 0o040_000) => Err(sparse_index()),
        Ok(_) => Ok(()),
        Err(error) if error.message().contains("sdir") => Err(sparse_index()),
        Err(error) if error.message().contains("link") => Err(split_index()),
        Err(error) => Err(unsupported(
            &format!("an index that libgit2 cannot read ({})", error.message()),
            "run `git fsck` and `git status`",
        )),
    }
}
