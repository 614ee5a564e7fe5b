//! JavaScript and TypeScript: the `test` script of package.json, called directly and narrowed where its runner is
//! node's own, vitest or jest, else through the package manager that the lock file names.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use regex::Regex;
use serde_json::Value;

use super::{Check, Found, argument, nearest, text, walk, words};

const MOST_NARROWED: usize = 50;
const MOST_WITHOUT_SCRIPT: usize = 200;

/// What the `test` script runs, with the words that are kept.
enum Script {
    Vitest(Vec<String>),
    Jest(Vec<String>),
    Node(Vec<String>),
    /// Something else, or more than one command.
    Opaque,
}

pub(super) fn discover(root: &Path, files: &[&Path]) -> Vec<Check> {
    let mut packages: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
    for file in files {
        let folder = nearest(root, file, &["package.json"]).unwrap_or_default();
        let inside = file.strip_prefix(&folder).unwrap_or(file).to_owned();
        packages.entry(folder).or_default().push(inside);
    }
    packages.iter().filter_map(|(folder, files)| in_package(root, folder, files)).collect()
}

pub(super) fn wide(root: &Path, at: &Path) -> Option<Check> {
    let folder = nearest(root, at, &["package.json"])?;
    in_package(root, &folder, &[])
}

fn in_package(root: &Path, folder: &Path, files: &[PathBuf]) -> Option<Check> {
    let manifest: Value = text(root, &folder.join("package.json"))
        .and_then(|text| serde_json::from_str(&text).ok())
        .unwrap_or(Value::Null);
    let script = manifest["scripts"]["test"].as_str().map(str::trim);
    let script = script.filter(|script| !script.is_empty() && !script.contains("no test specified"));
    let Some(script) = script else {
        return without_script(root, folder, files);
    };
    let sources: Vec<String> =
        files.iter().filter(|file| !file.ends_with("package.json")).map(|file| argument(file)).collect();
    let found = match parse(script) {
        Script::Vitest(flags) => {
            let command = |inner: &[&str]| {
                let mut argv = program(root, folder, "vitest");
                argv.extend(words(inner));
                argv.extend(flags.iter().cloned());
                argv
            };
            let whole = command(&["run"]);
            if sources.is_empty() {
                Found::new(whole, folder)
            } else {
                let mut argv = command(&["related", "--run"]);
                argv.extend(sources);
                Found::new(argv, folder).wider(whole)
            }
        }
        Script::Jest(flags) => {
            let mut whole = program(root, folder, "jest");
            whole.extend(flags);
            whole.push("--ci".to_owned());
            if sources.is_empty() {
                Found::new(whole, folder)
            } else {
                let mut argv = whole.clone();
                argv.push("--findRelatedTests".to_owned());
                argv.extend(sources);
                Found::new(argv, folder).wider(whole)
            }
        }
        Script::Node(rest) => {
            let mut whole = words(&["node", "--test"]);
            whole.extend(rest.iter().cloned());
            let tests = related_tests(root, folder, files);
            if tests.is_empty() {
                Found::new(whole, folder)
            } else {
                let mut argv = words(&["node", "--test"]);
                argv.extend(rest.into_iter().filter(|word| word.starts_with('-')));
                argv.extend(tests.iter().map(|test| argument(test)));
                Found::new(argv, folder).wider(whole)
            }
        }
        Script::Opaque => match manager(root, folder, &manifest) {
            "bun" => Found::new(words(&["bun", "run", "test"]), folder),
            manager => Found::new(words(&[manager, "test"]), folder),
        },
    };
    Some(found.check())
}

/// Without a script: the files that use node's own runner.
fn without_script(root: &Path, folder: &Path, files: &[PathBuf]) -> Option<Check> {
    let all: Vec<PathBuf> = walk::files(&root.join(folder), is_test_name)
        .into_iter()
        .filter(|test| text(root, &folder.join(test)).is_some_and(|text| text.contains("node:test")))
        .collect();
    if all.is_empty() || all.len() > MOST_WITHOUT_SCRIPT {
        return None;
    }
    let command = |tests: &[PathBuf]| {
        let mut argv = words(&["node", "--test"]);
        argv.extend(tests.iter().map(|test| argument(test)));
        argv
    };
    let mut narrowed = related_tests(root, folder, files);
    narrowed.retain(|test| all.contains(test));
    let whole = command(&all);
    let found = if narrowed.is_empty() {
        Found::new(whole, folder)
    } else {
        Found::new(command(&narrowed), folder).wider(whole)
    };
    Some(found.check())
}

fn parse(script: &str) -> Script {
    // Anything that needs a shell is left to the package manager.
    if script.contains(['&', '|', ';', '$', '`', '>', '<', '(', '"', '\'', '*', '\\']) {
        return Script::Opaque;
    }
    let mut words = script.split_whitespace().map(str::to_owned);
    let program = words.by_ref().find(|word| !matches!(word.as_str(), "npx" | "bunx")).unwrap_or_default();
    let mut rest: Vec<String> = words.collect();
    match program.as_str() {
        "vitest" => {
            rest.retain(|word| {
                !matches!(word.as_str(), "run" | "watch" | "dev" | "--watch" | "-w" | "--run" | "--ui")
            });
            Script::Vitest(rest)
        }
        "jest" => {
            rest.retain(|word| !matches!(word.as_str(), "--watch" | "--watchAll" | "--ci"));
            Script::Jest(rest)
        }
        "node" if rest.iter().any(|word| word == "--test") => {
            rest.retain(|word| !matches!(word.as_str(), "--test" | "--watch"));
            Script::Node(rest)
        }
        _ => Script::Opaque,
    }
}

/// The program in the nearest `node_modules`, else through npx without installing anything.
fn program(root: &Path, folder: &Path, name: &str) -> Vec<String> {
    for (depth, ancestor) in folder.ancestors().enumerate() {
        let inside = Path::new("node_modules/.bin").join(name);
        if root.join(ancestor).join(&inside).exists() {
            return vec![format!("{}{}", "../".repeat(depth), inside.display())];
        }
    }
    words(&["npx", "--no-install", name])
}

fn manager(root: &Path, folder: &Path, manifest: &Value) -> &'static str {
    const LOCKS: [(&str, &str); 6] = [
        ("pnpm-lock.yaml", "pnpm"),
        ("yarn.lock", "yarn"),
        ("bun.lock", "bun"),
        ("bun.lockb", "bun"),
        ("package-lock.json", "npm"),
        ("npm-shrinkwrap.json", "npm"),
    ];
    let declared = manifest["packageManager"].as_str().unwrap_or_default();
    if let Some(name) = ["pnpm", "yarn", "bun", "npm"].into_iter().find(|name| declared.starts_with(name)) {
        return name;
    }
    for ancestor in folder.ancestors() {
        if let Some((_, name)) = LOCKS.iter().find(|(lock, _)| root.join(ancestor).join(lock).is_file()) {
            return name;
        }
    }
    "npm"
}

fn is_script(name: &str) -> bool {
    [".js", ".mjs", ".cjs", ".jsx", ".ts", ".mts", ".cts", ".tsx"].iter().any(|end| name.ends_with(end))
}

const TEST_ENDS: [&str; 5] = [".test", ".spec", "-test", "_test", ".tests"];

fn is_test_name(name: &str) -> bool {
    let stem = name.rsplit_once('.').map_or(name, |(stem, _)| stem);
    let marked =
        stem == "test" || stem.starts_with("test-") || TEST_ENDS.iter().any(|end| stem.ends_with(end));
    is_script(name) && marked
}

/// Test files for node's own runner: named after a file, or importing it.
fn related_tests(root: &Path, folder: &Path, files: &[PathBuf]) -> Vec<PathBuf> {
    if files.is_empty() {
        return Vec::new();
    }
    let in_test_folder = |path: &Path| {
        path.components()
            .any(|part| matches!(part.as_os_str().to_str(), Some("test" | "tests" | "__tests__")))
    };
    let mut tests = walk::files(&root.join(folder), is_script);
    tests.retain(|path| {
        path.file_name().and_then(|name| name.to_str()).is_some_and(is_test_name) || in_test_folder(path)
    });
    let mut found: BTreeSet<PathBuf> = BTreeSet::new();
    for file in files {
        if tests.contains(file) {
            found.insert(file.clone());
            continue;
        }
        let stem = file.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
        let parent =
            file.parent().and_then(Path::file_name).and_then(|name| name.to_str()).unwrap_or_default();
        let names = if stem == "index" && !parent.is_empty() { vec![stem, parent] } else { vec![stem] };
        let escaped = names.iter().map(|name| regex::escape(name)).collect::<Vec<_>>().join("|");
        let import = Regex::new(&format!(
            r#"(?:from|require\(|import\(?)\s*['"](?:[^'"\n]*/)?(?:{escaped})(?:\.[cm]?[jt]sx?)?/?['"]"#
        ))
        .expect("the names in it are escaped");
        for test in &tests {
            let test_stem = test.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            let core = TEST_ENDS
                .iter()
                .find_map(|end| test_stem.strip_suffix(end))
                .or_else(|| test_stem.strip_prefix("test-"))
                .unwrap_or(test_stem);
            if names.contains(&core)
                || text(root, &folder.join(test)).is_some_and(|text| import.is_match(&text))
            {
                found.insert(test.clone());
            }
        }
    }
    if found.len() > MOST_NARROWED { Vec::new() } else { found.into_iter().collect() }
}
