//! Python: pytest or unittest, narrowed to the test files that are named after a module or import it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::{Check, Found, Tools, argument, nearest, text, walk, words};

/// Files that mark the top of a Python project, in order of how sure they are.
const MANIFESTS: [&[&str]; 2] = [
    &["pyproject.toml", "setup.py", "setup.cfg", "pytest.ini", "tox.ini"],
    &["requirements.txt", "Pipfile", "manage.py"],
];
/// More narrowed files than this are no narrowing.
const MOST_NARROWED: usize = 50;

/// What only pytest understands: test functions outside of classes, and its own imports.
static PYTEST_ONLY: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^(?:async )?def test|^\s*(?:import|from) pytest\b").expect("constant"));

#[derive(Clone, Copy, PartialEq, Eq)]
enum Runner {
    Pytest,
    Unittest,
}

/// A Python project: its folder (relative to the root) and its test files (relative to the folder).
struct Package<'a> {
    root: &'a Path,
    folder: PathBuf,
    tests: Vec<PathBuf>,
    runner: Runner,
}

pub(super) fn discover(root: &Path, files: &[&Path], tools: &Tools) -> Vec<Check> {
    let folders: BTreeSet<PathBuf> = files.iter().map(|file| home(root, file)).collect();
    let mut checks = Vec::new();
    for folder in folders {
        let Some(package) = Package::open(root, &folder) else { continue };
        let mine: Vec<PathBuf> = files
            .iter()
            .filter(|file| home(root, file) == folder)
            .map(|file| file.strip_prefix(&folder).unwrap_or(file).to_owned())
            .collect();
        checks.push(package.check(&package.narrowed(&mine), tools));
    }
    checks
}

pub(super) fn wide(root: &Path, at: &Path, tools: &Tools) -> Option<Check> {
    let package = Package::open(root, &home(root, at))?;
    Some(package.check(&[], tools))
}

fn home(root: &Path, file: &Path) -> PathBuf {
    MANIFESTS.iter().find_map(|names| nearest(root, file, names)).unwrap_or_default()
}

impl<'a> Package<'a> {
    /// `None` when it has no tests at all.
    fn open(root: &'a Path, folder: &Path) -> Option<Self> {
        let base = root.join(folder);
        let tests = walk::files(&base, is_test_name);
        if tests.is_empty() {
            return None;
        }
        let has = |file: &str, word: &str| {
            text(root, &folder.join(file)).is_some_and(|content| content.contains(word))
        };
        let configured = base.join("pytest.ini").is_file()
            || has("pyproject.toml", "[tool.pytest")
            || has("setup.cfg", "[tool:pytest]")
            || has("tox.ini", "[pytest]")
            || ["conftest.py", "tests/conftest.py", "test/conftest.py"]
                .iter()
                .any(|at| base.join(at).is_file());
        let needs_pytest = || {
            tests.iter().take(500).any(|test| {
                text(root, &folder.join(test)).is_some_and(|content| PYTEST_ONLY.is_match(&content))
            })
        };
        let runner = if configured || needs_pytest() { Runner::Pytest } else { Runner::Unittest };
        Some(Self { root, folder: folder.to_owned(), tests, runner })
    }

    /// The test files that belong to `files`; empty when none do, or too many.
    fn narrowed(&self, files: &[PathBuf]) -> Vec<PathBuf> {
        let mut found: BTreeSet<PathBuf> = BTreeSet::new();
        for file in files {
            let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
            if self.tests.contains(file) {
                found.insert(file.clone());
                continue;
            }
            if name == "conftest.py" || !name.ends_with(".py") {
                // Concerns more tests than names and imports can tell.
                return Vec::new();
            }
            let module = Module::of(file);
            let mut direct = BTreeSet::new();
            let mut through_package = BTreeSet::new();
            for test in &self.tests {
                let stem = test.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
                let content = || text(self.root, &self.folder.join(test)).unwrap_or_default();
                if module.is_named_by(stem) || module.import.is_match(&content()) {
                    direct.insert(test.clone());
                } else if module.package.as_ref().is_some_and(|package| package.is_match(&content())) {
                    through_package.insert(test.clone());
                }
            }
            // A package may re-export what the module defines; that counts where nothing is closer.
            found.extend(if direct.is_empty() { through_package } else { direct });
        }
        if found.len() > MOST_NARROWED { Vec::new() } else { found.into_iter().collect() }
    }

    fn check(&self, tests: &[PathBuf], tools: &Tools) -> Check {
        let mut found = match self.runner {
            Runner::Pytest => self.pytest(tests, tools),
            Runner::Unittest => self.unittest(tests, tools),
        };
        if self.root.join(&self.folder).join("src").is_dir() {
            found.env.push(("PYTHONPATH".to_owned(), source_path()));
        }
        found.check()
    }

    fn pytest(&self, tests: &[PathBuf], tools: &Tools) -> Found {
        let whole = pytest_command(&self.root.join(&self.folder), tools);
        let mut argv = whole.clone();
        argv.extend(tests.iter().map(|test| argument(test)));
        Found::new(argv, &self.folder).wider(whole)
    }

    fn unittest(&self, tests: &[PathBuf], tools: &Tools) -> Found {
        let python = python(&self.root.join(&self.folder), tools);
        let discover = |start: &Path, pattern: &str| {
            let start = if start.as_os_str().is_empty() { ".".to_owned() } else { argument(start) };
            let mut argv = vec![python.clone()];
            argv.extend(words(&["-m", "unittest", "discover", "-v", "-s", &start, "-p", pattern]));
            // Tests in a package import each other through it; others find each other in their own folder.
            if start != "." && self.root.join(&self.folder).join(&start).join("__init__.py").is_file() {
                argv.extend(words(&["-t", "."]));
            }
            argv
        };
        let whole = discover(&self.common_folder(), self.pattern());
        let argv = match tests {
            [] => whole.clone(),
            [one] => {
                let name = one.file_name().and_then(|name| name.to_str()).unwrap_or("test*.py");
                discover(one.parent().unwrap_or(Path::new("")), name)
            }
            many => {
                let mut argv = vec![python.clone()];
                argv.extend(words(&["-m", "unittest", "-v"]));
                argv.extend(many.iter().map(|test| argument(test)));
                argv
            }
        };
        Found::new(argv, &self.folder).wider(whole)
    }

    /// The deepest folder that holds all tests.
    fn common_folder(&self) -> PathBuf {
        let mut common: Option<PathBuf> = None;
        for test in &self.tests {
            let folder = test.parent().unwrap_or(Path::new(""));
            common = Some(match common {
                None => folder.to_owned(),
                Some(known) => known
                    .ancestors()
                    .find(|ancestor| folder.starts_with(ancestor))
                    .unwrap_or(Path::new(""))
                    .to_owned(),
            });
        }
        common.unwrap_or_default()
    }

    fn pattern(&self) -> &'static str {
        let prefixed = |test: &PathBuf| {
            test.file_name().and_then(|name| name.to_str()).is_some_and(|name| name.starts_with("test"))
        };
        if self.tests.iter().any(prefixed) { "test*.py" } else { "*_test.py" }
    }
}

fn source_path() -> String {
    match std::env::var("PYTHONPATH") {
        Ok(inherited) if !inherited.is_empty() => format!("src:{inherited}"),
        _ => "src".to_owned(),
    }
}

fn is_test_name(name: &str) -> bool {
    name.ends_with(".py")
        && (name.starts_with("test_") || name.ends_with("_test.py") || matches!(name, "tests.py" | "test.py"))
}

/// The project's own interpreter, else the one on `PATH`.
fn python(base: &Path, tools: &Tools) -> String {
    for venv in [".venv", "venv"] {
        if base.join(venv).join("bin/python").exists() {
            return format!("{venv}/bin/python");
        }
    }
    if tools.has("python3") || !tools.has("python") { "python3".to_owned() } else { "python".to_owned() }
}

fn pytest_command(base: &Path, tools: &Tools) -> Vec<String> {
    let python = python(base, tools);
    if python.contains('/') {
        return words(&[&python, "-m", "pytest"]);
    }
    for (lock, program, command) in [
        ("uv.lock", "uv", &["uv", "run", "--frozen", "pytest"][..]),
        ("poetry.lock", "poetry", &["poetry", "run", "pytest"][..]),
        ("Pipfile.lock", "pipenv", &["pipenv", "run", "pytest"][..]),
    ] {
        if base.join(lock).is_file() && tools.has(program) {
            return words(command);
        }
    }
    // A pytest that was installed on its own lies elsewhere than the interpreter, which then cannot import it.
    match (tools.find("pytest"), tools.find(&python)) {
        (Some(pytest), interpreter) if interpreter != Some(pytest) => words(&["pytest"]),
        _ => words(&[&python, "-m", "pytest"]),
    }
}

/// How a module may be called in the names and imports of tests.
struct Module {
    name: String,
    import: Regex,
    package: Option<Regex>,
}

impl Module {
    fn of(file: &Path) -> Self {
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let parent =
            file.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
        let name = match stem {
            "__init__" | "__main__" if !parent.is_empty() => parent,
            _ => stem,
        };
        let escaped = regex::escape(name);
        // `import a.name`, `from a.name import x`, `from a import name`, `import_module("a.name")`.
        let import = Regex::new(&format!(
            r"(?m)^\s*(?:from|import)\s+[\w., ]*\b{escaped}\b|^\s*from\s+[\w.]+\s+import\s+[^\n]*\b{escaped}\b|['\x22](?:\w+\.)*{escaped}(?:\.\w+)*['\x22]"
        ))
        .expect("the name in it is escaped");
        let package = (!matches!(parent, "" | "src" | "lib")).then(|| {
            Regex::new(&format!(r"(?m)^\s*(?:from|import)\s+(?:[\w.]+\.)?{}(?:\s|$)", regex::escape(parent)))
                .expect("the name in it is escaped")
        });
        Self { name: name.trim_start_matches('_').to_owned(), import, package }
    }

    fn is_named_by(&self, test_stem: &str) -> bool {
        let core =
            test_stem.strip_prefix("test_").or_else(|| test_stem.strip_suffix("_test")).unwrap_or(test_stem);
        core == self.name || core.strip_prefix(&self.name).is_some_and(|rest| rest.starts_with('_'))
    }
}
