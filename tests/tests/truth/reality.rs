//! What was really so, measured without a word of the loop.
//!
//! Owns the hidden truth and the look at tree, index, refs and processes. A program is asked once about a text, however
//! many cells end with it.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Arc, Mutex, OnceLock};

use fix_loop_tests::{Entry, Repo};

use super::bugs::{self, Bug};

/// Whether the bug is gone, and whether the other function still works.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truth {
    pub fixed: bool,
    pub other_works: bool,
}

type Answers<K, V> = Mutex<HashMap<K, Arc<OnceLock<V>>>>;

/// Where the hidden truth lives, and what it has answered already.
pub struct Oracle {
    folder: tempfile::TempDir,
    pub python: String,
    rust: PathBuf,
    truths: Answers<(&'static str, Vec<u8>), Truth>,
    visible: Answers<(&'static str, Vec<u8>, Vec<u8>), bool>,
}

fn once<K: std::hash::Hash + Eq, V: Copy>(answers: &Answers<K, V>, key: K, ask: impl FnOnce() -> V) -> V {
    let slot = answers.lock().expect("no one panics with it").entry(key).or_default().clone();
    *slot.get_or_init(ask)
}

impl Oracle {
    pub fn new() -> Oracle {
        let folder = tempfile::Builder::new().prefix("fix-loop-truth-").tempdir().expect("a folder");
        for bug in bugs::ALL {
            fs::write(folder.path().join(bug.truth.0), bug.truth.1).expect("a fresh folder");
        }
        // Past any wrapper, which would take longer than the tests.
        let output = Command::new("python3").args(["-c", "import sys; print(sys.executable)"]).output();
        let python = String::from_utf8(output.expect("python3 is installed").stdout).expect("a path");
        let python = python.trim().to_owned();
        let rust = Command::new("rustc").args(["--print", "sysroot"]).output().expect("rustc is installed");
        let rust = PathBuf::from(String::from_utf8(rust.stdout).expect("a path").trim());
        let oracle = Oracle { folder, python, rust, truths: Mutex::default(), visible: Mutex::default() };
        let node = Command::new("sh").args(["-c", "command -v node"]).output().expect("sh is there").stdout;
        let node = String::from_utf8(node).expect("a path");
        fs::create_dir_all(oracle.runners()).expect("a fresh folder");
        for (name, real, tests) in
            [("python3", oracle.python.as_str(), "-m unittest"), ("node", node.trim(), "--test")]
        {
            let memory = oracle.folder.path().join("memory");
            let text = RUN_ONCE
                .replace("{real}", real)
                .replace("{tests}", tests)
                .replace("{memory}", &memory.display().to_string());
            let path = oracle.runners().join(name);
            fs::write(&path, text).expect("a fresh folder");
            fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).expect("it was just written");
        }
        // Written before anything runs: a script that is written while another cell reads it is an empty one.
        for bug in bugs::ALL {
            let script = oracle.verifier_script(bug);
            let text = JUDGE_ONCE
                .replace("{judge}", &oracle.judge(bug).join(" "))
                .replace("{memory}", &script.display().to_string());
            fs::write(script, text).expect("the folder is there");
        }
        oracle
    }

    /// The runners that the loop finds.
    fn runners(&self) -> PathBuf {
        self.folder.path().join("bin")
    }

    /// For what the cells share, such as compiled programs.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// `PATH` with the real python and compiler first: no wrapper of theirs finds its settings in the home of a test.
    fn own_path(&self) -> String {
        let python = Path::new(&self.python).parent().expect("a program has a folder").display();
        let path = std::env::var("PATH").unwrap_or_default();
        format!("{python}:{}:{path}", self.rust.join("bin").display())
    }

    /// The `PATH` of the loop.
    pub fn path(&self) -> String {
        format!("{}:{}", self.runners().display(), self.own_path())
    }

    fn judge(&self, bug: &Bug) -> Vec<String> {
        bug.judge(&self.python, self.folder.path())
    }

    fn verifier_script(&self, bug: &Bug) -> PathBuf {
        self.folder.path().join(format!("{}.verifier", bug.truth.0))
    }

    /// The same for the verifier, which asks once about a text too.
    pub fn verifier(&self, bug: &Bug) -> Vec<String> {
        let script = self.verifier_script(bug);
        vec!["sh".to_owned(), script.display().to_string(), bug.source.to_owned()]
    }

    fn program(&self, argv: &[String], cwd: &Path) -> Option<i32> {
        let status = Command::new(&argv[0])
            .args(&argv[1..])
            .current_dir(cwd)
            .env("PATH", self.own_path())
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .env("TRUTH_CACHE", self.folder.path())
            .env_remove("NODE_TEST_CONTEXT")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .status();
        status.expect("the runner is installed").code()
    }

    /// The hidden truth about a source.
    pub fn truth(&self, bug: &'static Bug, source: &[u8]) -> Truth {
        once(&self.truths, (bug.name, source.to_vec()), || {
            let scratch = tempfile::tempdir().expect("a folder");
            let file = scratch.path().join(Path::new(bug.source).file_name().expect("a file name"));
            fs::write(&file, source).expect("a fresh folder");
            let mut argv = self.judge(bug);
            argv.push(file.display().to_string());
            let code = self.program(&argv, scratch.path());
            Truth { fixed: matches!(code, Some(0 | 11)), other_works: matches!(code, Some(0 | 10)) }
        })
    }

    /// Whether the project's own tests pass, run without the loop.
    pub fn tests_pass(&self, bug: &'static Bug, source: &[u8], tests: &[u8]) -> bool {
        once(&self.visible, (bug.name, source.to_vec(), tests.to_vec()), || {
            let scratch = tempfile::tempdir().expect("a folder");
            let write = |path: &str, bytes: &[u8]| {
                let path = scratch.path().join(path);
                fs::create_dir_all(path.parent().expect("in the folder")).expect("a fresh folder");
                fs::write(path, bytes).expect("a fresh folder");
            };
            write(bug.source, source);
            write(bug.tests, tests);
            bug.more.iter().for_each(|(path, text)| write(path, text.as_bytes()));
            let argv: Vec<String> = bug.command.iter().map(|word| (*word).to_owned()).collect();
            self.program(&argv, scratch.path()) == Some(0)
        })
    }
}

/// A test runner that really runs the same tests on the same files once, and after that says the same again. The matrix
/// needs a few hundred different runs and starts a few thousand.
const RUN_ONCE: &str = r#"#!/bin/sh
case "$*" in
  "{tests}"*) ;;
  *) exec {real} "$@" ;;
esac
files() { find . -path ./.git -prune -o -path ./.fix-loop -prune -o -type f -exec sha1sum {} +; }
key=$({ echo "$*"; files; } | sort | sha1sum)
known={memory}/${key%% *}
if [ ! -d "$known" ]; then
  mkdir -p "$known.$$"
  {real} "$@" >"$known.$$/out" 2>"$known.$$/err"
  echo $? >"$known.$$/code"
  pwd >"$known.$$/root"
  mv -T "$known.$$" "$known" 2>/dev/null || rm -r "$known.$$"
fi
read -r root <"$known/root"
read -r code <"$known/code"
sed "s#$root#$PWD#g" "$known/out"
sed "s#$root#$PWD#g" "$known/err" >&2
exit "$code"
"#;

const JUDGE_ONCE: &str = r#"key=$(sha1sum <"$1")
known={memory}-${key%% *}
if [ ! -e "$known" ]; then
  {judge} "$1"
  echo $? >"$known.$$"
  mv "$known.$$" "$known"
fi
read -r code <"$known"
exit "$code"
"#;

/// Everything that an agent and the loop could change.
pub struct Snapshot {
    pub tree: BTreeMap<PathBuf, Entry>,
    /// Path → mode and object.
    pub index: BTreeMap<String, String>,
    pub history: (String, String),
}

impl Snapshot {
    pub fn of(repo: &Repo) -> Snapshot {
        let entries = repo.git(["ls-files", "--stage"]);
        let index = entries
            .lines()
            .filter_map(|line| line.split_once('\t'))
            .map(|(entry, path)| (path.to_owned(), entry.to_owned()))
            .collect();
        let refs =
            ["for-each-ref", "--format=%(refname) %(objectname)", "refs/heads", "refs/tags", "refs/stash"];
        let head = fs::read_to_string(repo.path(".git/HEAD")).expect("every repository has one");
        Snapshot { tree: repo.tree(), index, history: (repo.git(refs), head) }
    }

    pub fn bytes(&self, path: &str) -> Option<&[u8]> {
        match self.tree.get(Path::new(path))? {
            Entry::File { bytes, .. } => Some(bytes),
            Entry::Link(_) => None,
        }
    }

    /// Paths of tree and index that are not as they were in `before`.
    pub fn changed_since(&self, before: &Snapshot) -> Vec<String> {
        let mut changed: Vec<String> = Vec::new();
        let paths = self.tree.keys().chain(before.tree.keys());
        changed.extend(
            paths
                .filter(|path| self.tree.get(*path) != before.tree.get(*path))
                .map(|path| path.display().to_string()),
        );
        let paths = self.index.keys().chain(before.index.keys());
        changed.extend(
            paths
                .filter(|path| self.index.get(*path) != before.index.get(*path))
                .map(|path| format!("index:{path}")),
        );
        changed.sort();
        changed.dedup();
        changed
    }
}

/// Processes that still work in a folder.
pub fn survivors(folder: &Path) -> Vec<String> {
    let me = fs::metadata("/proc/self").map(|meta| meta.uid()).unwrap_or_default();
    let Ok(processes) = fs::read_dir("/proc") else { return Vec::new() };
    processes
        .flatten()
        .filter(|entry| entry.metadata().is_ok_and(|meta| meta.uid() == me))
        .filter(|entry| fs::read_link(entry.path().join("cwd")).is_ok_and(|cwd| cwd.starts_with(folder)))
        .map(|entry| {
            let words = fs::read(entry.path().join("cmdline")).unwrap_or_default();
            String::from_utf8_lossy(&words).replace('\0', " ")
        })
        .collect()
}
