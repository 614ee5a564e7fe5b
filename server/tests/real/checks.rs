//! Real programs: checks. Every row of the judgement table of DESIGN 7.4 through real test runners.

mod judgement;
mod outcomes;
mod projects;
mod suites;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command as Program, Stdio};
use std::time::Duration;

use fix_loop::checks::{
    Check, CheckName, CheckRun, Command, Judgement, Kind, Origin, Outcome, Tools, What, Why, discover,
    readers, run, run_after,
};
use fix_loop::process::{Cancel, Supervisor};

fn supervisor() -> Supervisor {
    Supervisor::new(env!("CARGO_BIN_EXE_fix-loop"))
}

/// A project in a folder of its own, which goes away with it.
struct Project {
    folder: tempfile::TempDir,
}

impl Project {
    fn with(files: &[(&str, &str)]) -> Self {
        let project = Self { folder: tempfile::tempdir().unwrap() };
        for (path, text) in files {
            project.write(path, text);
        }
        project
    }

    fn root(&self) -> &Path {
        self.folder.path()
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn replace(&self, path: &str, from: &str, to: &str) {
        let text = fs::read_to_string(self.root().join(path)).unwrap();
        assert!(text.contains(from), "{path} has no {from:?}");
        self.write(path, &text.replace(from, to));
    }

    /// The one check that is discovered for a file.
    fn discovered(&self, file: &str) -> Check {
        let mut found = discover::discover(self.root(), &[Path::new(file)], &Tools::from_environment());
        assert_eq!(found.len(), 1, "{found:?}");
        found.remove(0)
    }

    async fn run(&self, check: &Check) -> CheckRun {
        run(check, self.root(), &supervisor(), &Cancel::new()).await
    }

    async fn run_after(&self, check: &Check, before: &CheckRun) -> CheckRun {
        run_after(check, self.root(), &supervisor(), &Cancel::new(), before).await
    }
}

/// A configured check.
fn configured(argv: &[&str]) -> Check {
    let argv: Vec<String> = argv.iter().map(|word| (*word).to_owned()).collect();
    let reader = readers::reader_of(&argv);
    let what = What::Command(Command {
        argv,
        wider: None,
        cwd: PathBuf::new(),
        env: BTreeMap::new(),
        limit: Duration::from_secs(300),
        kind: Kind::Test,
    });
    Check { name: CheckName::new("unit"), what, origin: Origin::Configured, reader, focus: None }
}

fn set(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(|name| (*name).to_owned()).collect()
}

/// Whether a program answers; the test that needs it is skipped aloud where it is not installed.
fn has(program: &str, arguments: &[&str], package: &str) -> bool {
    let answers = Program::new(program)
        .args(arguments)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .is_ok_and(|status| status.success());
    if !answers {
        eprintln!("skipped: needs {package}");
    }
    answers
}

/// pytest has to be there in CI.
fn has_pytest() -> bool {
    let there = has("python3", &["-c", "import pytest"], "pytest (pip install pytest)");
    assert!(there || std::env::var_os("CI").is_none(), "CI has to install pytest");
    there
}
