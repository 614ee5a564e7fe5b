//! Finding the checks of a project that nobody has configured (DESIGN 7.4).
//!
//! Reads manifests, lock files and the names and imports of test files; runs nothing (DESIGN 11: opening a
//! repository runs nothing) and never enters ignored folders. Each check is narrowed to the tests that belong to
//! the given files where its runner can do that; where narrowing finds nothing, the wider run takes its place.

mod cargo;
mod go;
mod make;
mod node;
mod python;
mod tools;
pub(super) mod walk;

use std::path::{Path, PathBuf};
use std::time::Duration;

pub use tools::Tools;

use super::readers::reader_of;
use super::{Check, CheckName, Command, Kind, Origin, What};

/// A cold build is part of a discovered check, so it gets more time than a configured one.
const LIMIT: Duration = Duration::from_secs(600);

/// The language a file belongs to, as far as test runners are concerned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Language {
    Rust,
    Python,
    Node,
    Go,
    /// Templates, data, documents: whatever tests the project has may cover them.
    Other,
}

impl Language {
    fn of(file: &Path) -> Self {
        let name = file.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        match name {
            "Cargo.toml" | "Cargo.lock" => return Self::Rust,
            "package.json" => return Self::Node,
            "go.mod" | "go.sum" => return Self::Go,
            "pyproject.toml" | "setup.py" | "setup.cfg" => return Self::Python,
            _ => {}
        }
        match file.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
            "rs" => Self::Rust,
            "py" | "pyi" | "pyx" => Self::Python,
            "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" | "vue" | "svelte" => Self::Node,
            "go" => Self::Go,
            _ => Self::Other,
        }
    }
}

/// The checks that belong to `files` (relative to `root`).
pub fn discover(root: &Path, files: &[&Path], tools: &Tools) -> Vec<Check> {
    let of = |language: Language| -> Vec<&Path> {
        files.iter().copied().filter(|file| Language::of(file) == language).collect()
    };
    let mut found = Vec::new();
    found.extend(cargo::discover(root, &of(Language::Rust), tools));
    found.extend(python::discover(root, &of(Language::Python), tools));
    found.extend(node::discover(root, &of(Language::Node)));
    found.extend(go::discover(root, &of(Language::Go)));
    // Files of no language of their own are covered by the tests of any.
    let other = of(Language::Other);
    if files.is_empty() || !other.is_empty() {
        let at = other.first().copied().unwrap_or(Path::new("any"));
        let none_of = |language: Language| !files.iter().any(|file| Language::of(file) == language);
        if none_of(Language::Rust) {
            found.extend(cargo::wide(root, at, tools));
        }
        if none_of(Language::Python) {
            found.extend(python::wide(root, at, tools));
        }
        if none_of(Language::Node) {
            found.extend(node::wide(root, at));
        }
        if none_of(Language::Go) {
            found.extend(go::wide(root, at));
        }
    }
    if found.is_empty() {
        let at = files.first().copied().unwrap_or(Path::new("any"));
        found.extend(make::discover(root, at));
    }
    found
}

/// A command as discovery makes it. `cwd` is relative to the root.
struct Found {
    argv: Vec<String>,
    wider: Option<Vec<String>>,
    cwd: PathBuf,
    env: Vec<(String, String)>,
}

impl Found {
    fn new(argv: Vec<String>, cwd: &Path) -> Self {
        Self { argv, wider: None, cwd: cwd.to_owned(), env: Vec::new() }
    }

    fn wider(self, wider: Vec<String>) -> Self {
        Self { wider: (wider != self.argv).then_some(wider), ..self }
    }

    fn check(self) -> Check {
        let place = if self.cwd.as_os_str().is_empty() {
            String::new()
        } else {
            format!(" in {}", self.cwd.display())
        };
        let name = CheckName::new(format!("{}{place}", shown(&self.argv)));
        let reader = reader_of(&self.argv);
        let what = What::Command(Command {
            argv: self.argv,
            wider: self.wider,
            cwd: self.cwd,
            env: self.env.into_iter().collect(),
            limit: LIMIT,
            kind: Kind::Test,
        });
        Check { name, what, origin: Origin::Discovered, reader, focus: None }
    }
}

/// The command without the path of its program, and with few of many files.
fn shown(argv: &[String]) -> String {
    let mut words: Vec<&str> = argv.iter().map(String::as_str).collect();
    if let Some(first) = words.first_mut() {
        *first = first.rsplit('/').next().unwrap_or(first);
    }
    if words.len() > 10 {
        format!("{} … ({} more)", words[..10].join(" "), words.len() - 10)
    } else {
        words.join(" ")
    }
}

/// The nearest folder (relative to the root), from the file's own upwards, that holds one of `names`.
fn nearest(root: &Path, file: &Path, names: &[&str]) -> Option<PathBuf> {
    let mut folder = file.parent();
    while let Some(at) = folder {
        if names.iter().any(|name| root.join(at).join(name).is_file()) {
            return Some(at.to_owned());
        }
        folder = at.parent();
    }
    None
}

/// Reads a small text file of the project; nothing for a link that leads out of it.
pub(super) fn text(root: &Path, file: &Path) -> Option<String> {
    const LARGEST: u64 = 1024 * 1024;
    let path = root.join(file);
    let meta = path.metadata().ok()?;
    if !meta.is_file() || meta.len() > LARGEST {
        return None;
    }
    let real = path.canonicalize().ok()?;
    if !real.starts_with(root.canonicalize().ok()?) {
        return None;
    }
    std::fs::read(real).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

fn words(argv: &[&str]) -> Vec<String> {
    argv.iter().map(|word| (*word).to_owned()).collect()
}

/// A path as an argument, with forward slashes, and never taken for an option.
fn argument(path: &Path) -> String {
    let text = path.to_string_lossy().replace('\\', "/");
    if text.starts_with('-') { format!("./{text}") } else { text }
}
