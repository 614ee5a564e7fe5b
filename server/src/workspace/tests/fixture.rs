//! A real repository in a temporary folder, and questions to the real git about it.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::workspace::*;

pub(super) struct Fixture {
    pub(super) dir: tempfile::TempDir,
    pub(super) ws: Workspace,
}

/// Runs git in `dir` with nothing of the machine's configuration.
pub(super) fn git_in(dir: &Path, args: &[&str]) -> String {
    let output = git_command(dir, args).stdin(Stdio::null()).output().unwrap();
    assert!(
        output.status.success(),
        "git {args:?} failed: {}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    String::from_utf8_lossy(&output.stdout).into_owned()
}

pub(super) fn git_command(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("git");
    for (key, _) in std::env::vars_os() {
        if key.to_string_lossy().starts_with("GIT_") {
            command.env_remove(key);
        }
    }
    command
        .current_dir(dir)
        .args(args)
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_AUTHOR_NAME", "A")
        .env("GIT_AUTHOR_EMAIL", "a@example.com")
        .env("GIT_COMMITTER_NAME", "A")
        .env("GIT_COMMITTER_EMAIL", "a@example.com")
        .env("GIT_AUTHOR_DATE", "2024-01-01T00:00:00Z")
        .env("GIT_COMMITTER_DATE", "2024-01-01T00:00:00Z")
        .env("LC_ALL", "C");
    command
}

impl Fixture {
    /// A repository with one commit of `files`.
    pub(super) fn new(files: &[(&str, &str)]) -> Fixture {
        Fixture::configured(&[], files)
    }

    /// The same, with configuration set before the files are added.
    pub(super) fn configured(config: &[(&str, &str)], files: &[(&str, &str)]) -> Fixture {
        let dir = tempfile::tempdir().unwrap();
        git_in(dir.path(), &["init", "-q", "-b", "main", "."]);
        for (key, value) in config {
            git_in(dir.path(), &["config", key, value]);
        }
        for (path, text) in files {
            write(&dir.path().join(path), text.as_bytes());
        }
        git_in(dir.path(), &["add", "-A"]);
        git_in(dir.path(), &["commit", "-q", "--allow-empty", "-m", "start"]);
        let ws = Workspace::open(dir.path()).unwrap();
        Fixture { dir, ws }
    }

    pub(super) fn git(&self, args: &[&str]) -> String {
        git_in(self.dir.path(), args)
    }

    pub(super) fn at(&self, path: &str) -> PathBuf {
        self.dir.path().join(path)
    }

    pub(super) fn write(&self, path: &str, bytes: impl AsRef<[u8]>) {
        write(&self.at(path), bytes.as_ref());
    }

    pub(super) fn read(&self, path: &str) -> Vec<u8> {
        std::fs::read(self.at(path)).unwrap()
    }

    pub(super) fn text(&self, path: &str) -> String {
        String::from_utf8(self.read(path)).unwrap()
    }

    pub(super) fn status(&self) -> String {
        self.git(&["status", "--porcelain=v1", "--no-renames", "--untracked-files=all"])
    }

    /// What is staged for `path`.
    pub(super) fn staged(&self, path: &str) -> String {
        self.git(&["show", &format!(":{path}")])
    }

    pub(super) fn checkpoint(&self, label: &str, also: &[&str]) -> Checkpoint {
        let also: Vec<RepoPath> = also.iter().map(|path| repo_path(path)).collect();
        self.ws.checkpoint(&CheckpointName::new("L1", label).unwrap(), &also).unwrap()
    }

    pub(super) fn scope(&self, paths: &[&str]) -> Scope {
        Scope::new(self.ws.root(), paths, &[]).unwrap()
    }

    pub(super) fn observe(&self, since: &Checkpoint, scope: &[&str]) -> Observation {
        self.ws.observe(since, &self.scope(scope), &[]).unwrap()
    }

    /// Stages everything in scope that changed since `start`, as the engine does after a round.
    pub(super) fn stage(&self, start: &Checkpoint, scope: &[&str]) -> Result<Staged, StageRefused> {
        self.stage_again(start, scope, &StagedEntries::default())
    }

    pub(super) fn stage_again(
        &self,
        start: &Checkpoint,
        scope: &[&str],
        before: &StagedEntries,
    ) -> Result<Staged, StageRefused> {
        let observation = self.observe(start, scope);
        let target = observation
            .placed(Place::InScope)
            .chain(observation.ignored_changed.iter().filter(|change| change.place == Place::InScope))
            .map(|change| (change.path.clone(), change.after.clone()))
            .collect();
        self.ws.stage(start, &target, before)
    }

    pub(super) fn fsck(&self) {
        self.git(&["fsck", "--strict", "--no-dangling", "--no-progress"]);
    }
}

pub(super) fn write(path: &Path, bytes: &[u8]) {
    std::fs::create_dir_all(path.parent().unwrap()).unwrap();
    std::fs::write(path, bytes).unwrap();
}

pub(super) fn repo_path(path: &str) -> RepoPath {
    RepoPath::new(path).unwrap()
}

/// `kind place path` of each change, to compare at a glance.
pub(super) fn told(observation: &Observation) -> Vec<String> {
    observation
        .changes
        .iter()
        .map(|change| format!("{:?} {:?} {}", change.kind, change.place, change.path))
        .collect()
}

pub(super) fn strings<T: std::fmt::Display>(all: &[T]) -> Vec<String> {
    all.iter().map(ToString::to_string).collect()
}

/// Adds and commits `library` as the submodule `sub`.
pub(super) fn add_submodule(fix: &Fixture, library: &Fixture) {
    let url = library.dir.path().to_str().unwrap();
    fix.git(&["-c", "protocol.file.allow=always", "submodule", "--quiet", "add", url, "sub"]);
    fix.git(&["commit", "-q", "-m", "submodule"]);
}
