//! A real git repository in a folder of its own, with a home folder and a git configuration of its own.

use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::FixLoop;

/// Removed with everything in it when it is dropped.
pub struct Repo {
    folder: TempDir,
    root: PathBuf,
    variables: BTreeMap<String, OsString>,
}

/// What stands at a path, to compare byte for byte.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Entry {
    File { bytes: Vec<u8>, executable: bool },
    Link(PathBuf),
}

impl Repo {
    /// A repository without a commit.
    pub fn empty() -> Repo {
        let folder = tempfile::Builder::new().prefix("fix-loop-e2e-").tempdir().expect("a temporary folder");
        // Links in the path of the temporary folder would make paths differ from what the server reports.
        let base = folder.path().canonicalize().expect("the folder was just made");
        let root = base.join("repo");
        fs::create_dir_all(&root).expect("a fresh folder");
        fs::create_dir_all(base.join("home")).expect("a fresh folder");
        let repo = Repo { folder, root, variables: BTreeMap::new() };
        repo.git(["init", "--quiet", "--initial-branch=main"]);
        repo.git(["config", "user.name", "Test"]);
        repo.git(["config", "user.email", "test@example.invalid"]);
        repo.git(["config", "commit.gpgsign", "false"]);
        // The inbox is nobody's change.
        fs::write(repo.root.join(".git/info/exclude"), ".fix-loop/\n").expect("git init made the folder");
        repo
    }

    /// A repository with one commit that holds these files.
    pub fn with(files: &[(&str, &str)]) -> Repo {
        let repo = Repo::empty();
        for (path, text) in files {
            repo.write(path, text);
        }
        repo.commit("start");
        repo
    }

    /// The same repository once more, in a folder of its own: cheaper than to make it again.
    pub fn copy(&self) -> Repo {
        let folder = tempfile::Builder::new().prefix("fix-loop-e2e-").tempdir().expect("a temporary folder");
        let base = folder.path().canonicalize().expect("the folder was just made");
        copy_folder(&self.root, &base.join("repo"));
        fs::create_dir_all(base.join("home")).expect("a fresh folder");
        Repo { folder, root: base.join("repo"), variables: self.variables.clone() }
    }

    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Beside the repository: what belongs to a test but not to the project.
    pub fn outside(&self) -> PathBuf {
        self.folder.path().canonicalize().expect("lives as long as self")
    }

    /// Sets a variable of everything that is started for this repository from now on.
    pub fn set_env(&mut self, name: &str, value: impl Into<OsString>) {
        self.variables.insert(name.to_owned(), value.into());
    }

    /// The `HOME` of every program that is started for this repository.
    pub fn home(&self) -> PathBuf {
        self.outside().join("home")
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root.join(path)
    }

    pub fn uri(&self, path: &str) -> String {
        format!("file://{}", self.path(path).display())
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path(path);
        fs::create_dir_all(path.parent().expect("inside the repository")).expect("folders can be made");
        fs::write(&path, text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    }

    pub fn make_executable(&self, path: &str) {
        fs::set_permissions(self.path(path), fs::Permissions::from_mode(0o755)).expect("the file is there");
    }

    pub fn read(&self, path: &str) -> String {
        let path = self.path(path);
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    pub fn exists(&self, path: &str) -> bool {
        fs::symlink_metadata(self.path(path)).is_ok()
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).expect("the file is there");
    }

    /// Commits everything and gives the new HEAD.
    pub fn commit(&self, message: &str) -> String {
        self.git(["add", "--all"]);
        self.git(["commit", "--quiet", "--allow-empty", "-m", message]);
        self.head()
    }

    pub fn head(&self) -> String {
        self.git(["rev-parse", "HEAD"]).trim().to_owned()
    }

    /// What git prints; the command must succeed.
    pub fn git<I, S>(&self, arguments: I) -> String
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = Command::new("git");
        command.args(arguments).current_dir(&self.root);
        self.isolate(&mut command);
        let output = command.output().expect("git is installed");
        assert!(output.status.success(), "{command:?}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// `git status --porcelain`, each untracked file by itself. Empty: clean.
    pub fn status(&self) -> String {
        self.git(["status", "--porcelain", "--untracked-files=all"])
    }

    /// What is staged, without context and without the lines that hold object names.
    pub fn diff_cached(&self) -> String {
        strip_index_lines(&self.git(["diff", "--cached", "--no-color", "--no-ext-diff", "-U0"]))
    }

    /// What is changed and not staged, in the same form.
    pub fn diff(&self) -> String {
        strip_index_lines(&self.git(["diff", "--no-color", "--no-ext-diff", "-U0"]))
    }

    /// What is staged for a path.
    pub fn staged(&self, path: &str) -> String {
        self.git(["show".to_owned(), format!(":{path}")])
    }

    /// Every file outside `.git` and the inbox, with its bytes.
    pub fn tree(&self) -> BTreeMap<PathBuf, Entry> {
        let mut tree = BTreeMap::new();
        collect(&self.root, &self.root, &mut tree);
        tree
    }

    /// Index, refs and stash, to compare before and after.
    pub fn git_state(&self) -> (String, String, String) {
        (
            self.git(["ls-files", "--stage", "-v"]),
            // The loop's own refs hold its checkpoints.
            self.git([
                "for-each-ref",
                "--format=%(refname) %(objectname)",
                "refs/heads",
                "refs/tags",
                "refs/stash",
            ]),
            self.git(["rev-parse", "--abbrev-ref", "HEAD"]),
        )
    }

    /// Writes the workspace's `fix-loop.toml` and commits it alone, so that it is nobody's change.
    pub fn config(&self, toml: &str) {
        self.write("fix-loop.toml", toml);
        self.git(["add", "fix-loop.toml"]);
        self.git(["commit", "--quiet", "--allow-empty", "-m", "configure", "--", "fix-loop.toml"]);
    }

    /// Writes a ReviewOutput v1 into the inbox, whole at once, and gives its path.
    pub fn findings(&self, findings: &[Value]) -> PathBuf {
        self.findings_named("review", findings)
    }

    /// The same under another name: `.fix-loop/findings/NAME.json`.
    pub fn findings_named(&self, name: &str, findings: &[Value]) -> PathBuf {
        let path = self.path(&format!(".fix-loop/findings/{name}.json"));
        let review = json!({"schema_version": "v1", "findings": findings, "checks_run": []});
        let text = serde_json::to_string_pretty(&review).expect("JSON can be written");
        fs::create_dir_all(path.parent().expect("in the inbox")).expect("folders can be made");
        let half = path.with_file_name(format!(".{name}.part"));
        fs::write(&half, text).expect("the inbox can be written");
        fs::rename(&half, &path).expect("both are in the inbox");
        path
    }

    /// The `fix-loop` program, about to be started in this repository.
    pub fn fix_loop<I, S>(&self, arguments: I) -> FixLoop
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        FixLoop::new(self, arguments)
    }

    /// Gives a program this repository's home and git configuration and nothing else of the machine's but its `PATH`.
    pub fn isolate(&self, command: &mut Command) {
        command.env_clear();
        for name in ["PATH", "TMPDIR", "LLVM_PROFILE_FILE", "RUSTUP_HOME", "CARGO_HOME", "PYENV_ROOT"] {
            if let Some(value) = std::env::var_os(name) {
                command.env(name, value);
            }
        }
        command.envs([
            ("LANG", "C.UTF-8"),
            ("TERM", "dumb"),
            ("GIT_CONFIG_NOSYSTEM", "1"),
            ("GIT_CONFIG_GLOBAL", "/dev/null"),
            ("GIT_TERMINAL_PROMPT", "0"),
            ("GIT_AUTHOR_DATE", "2026-01-02T03:04:05Z"),
            ("GIT_COMMITTER_DATE", "2026-01-02T03:04:05Z"),
            ("PYTHONDONTWRITEBYTECODE", "1"),
        ]);
        command.env("HOME", self.home());
        command.envs(&self.variables);
    }
}

/// A confirmed P1 finding on one line, whole. Tests change what matters to them: `finding["severity"] = "P0".into()`.
pub fn finding(id: &str, file: &str, line: u32, title: &str) -> Value {
    json!({
        "id": id, "severity": "P1", "title": title, "body": format!("{title}, in {file}."),
        "file": file, "line_start": line, "line_end": line, "confidence": 0.9,
        "criterion": "AC-1", "verdict": "confirmed", "evidence": "seen in the code",
    })
}

fn strip_index_lines(diff: &str) -> String {
    diff.lines().filter(|line| !line.starts_with("index ")).map(|line| format!("{line}\n")).collect()
}

fn copy_folder(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a fresh folder");
    for entry in fs::read_dir(from).expect("the folder is there") {
        let entry = entry.expect("the folder is there");
        let (kind, to) = (entry.file_type().expect("the entry is there"), to.join(entry.file_name()));
        if kind.is_dir() {
            copy_folder(&entry.path(), &to);
        } else if kind.is_symlink() {
            let target = fs::read_link(entry.path()).expect("it is a link");
            std::os::unix::fs::symlink(target, to).expect("a fresh folder");
        } else {
            fs::copy(entry.path(), to).expect("a fresh folder");
        }
    }
}

fn collect(root: &Path, folder: &Path, tree: &mut BTreeMap<PathBuf, Entry>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("the folder is there").path();
        let name = path.strip_prefix(root).expect("below the root").to_path_buf();
        if name == Path::new(".git") || name == Path::new(".fix-loop") {
            continue;
        }
        let metadata = fs::symlink_metadata(&path).expect("the entry is there");
        if metadata.is_dir() {
            collect(root, &path, tree);
        } else if metadata.is_symlink() {
            tree.insert(name, Entry::Link(fs::read_link(&path).expect("it is a link")));
        } else {
            let executable = metadata.permissions().mode() & 0o100 != 0;
            tree.insert(name, Entry::File { bytes: fs::read(&path).expect("it is a file"), executable });
        }
    }
}
