//! Which files of the project a test file uses directly, by its imports.
//!
//! A guess for scopes and nothing else: a file that is missed becomes a scope question later.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use regex::Regex;

use super::discover::text;
use super::weaken::is_test_path;

/// More files than this are no scope.
const MOST: usize = 12;

static PYTHON: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r"(?m)^\s*(?:from\s+(\.*[\w.]*)\s+import\s+\(?([^\n#)]*)|import\s+([\w., ]+))")
        .expect("constant")
});
static SCRIPT: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(r#"(?:from|require\(|import\(?)\s*['"](\.{1,2}/[^'"\n]*)['"]"#).expect("constant")
});
static RUST_USE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^\s*(?:pub )?use (\w+)::([\w:]*)").expect("constant"));

/// Existing files, relative to the root; test files are left out.
pub(super) fn imported_files(root: &Path, test: &Path) -> Vec<PathBuf> {
    let Some(content) = text(root, test) else { return Vec::new() };
    let mut found: BTreeSet<PathBuf> = BTreeSet::new();
    match test.extension().and_then(|extension| extension.to_str()).unwrap_or_default() {
        "py" => python(root, test, &content, &mut found),
        "js" | "mjs" | "cjs" | "jsx" | "ts" | "mts" | "cts" | "tsx" => {
            script(root, test, &content, &mut found)
        }
        "rs" => rust(root, test, &content, &mut found),
        "go" => go(root, test, &mut found),
        _ => {}
    }
    found.retain(|path| path != test && !is_test_path(path));
    if found.len() > MOST { Vec::new() } else { found.into_iter().collect() }
}

fn python(root: &Path, test: &Path, content: &str, found: &mut BTreeSet<PathBuf>) {
    let folder = test.parent().unwrap_or(Path::new(""));
    let mut bases: Vec<PathBuf> = folder.ancestors().map(Path::to_owned).collect();
    bases.extend(folder.ancestors().map(|base| base.join("src")).collect::<Vec<_>>());
    let mut look = |bases: &[PathBuf], dotted: &str| -> bool {
        let path: PathBuf = dotted.split('.').filter(|part| !part.is_empty()).collect();
        if path.as_os_str().is_empty() {
            return false;
        }
        let candidates = bases
            .iter()
            .flat_map(|base| [base.join(&path).with_extension("py"), base.join(&path).join("__init__.py")]);
        let hit = candidates.into_iter().find(|candidate| root.join(candidate).is_file());
        let is_found = hit.is_some();
        found.extend(hit);
        is_found
    };
    for hit in PYTHON.captures_iter(content) {
        if let Some(modules) = hit.get(3) {
            for module in modules.as_str().split(',') {
                look(&bases, module.split_whitespace().next().unwrap_or_default());
            }
            continue;
        }
        let module = hit.get(1).map_or("", |module| module.as_str());
        let dots = module.chars().take_while(|c| *c == '.').count();
        let relative: Vec<PathBuf> =
            folder.ancestors().skip(dots.saturating_sub(1)).take(1).map(Path::to_owned).collect();
        let bases = if dots > 0 { &relative } else { &bases };
        let name = &module[dots..];
        for item in hit.get(2).map_or("", |items| items.as_str()).split(',') {
            let item = item.split_whitespace().next().unwrap_or_default();
            // `from package import module` before `from module import name`.
            if item.is_empty() || item == "*" || !look(bases, &format!("{name}.{item}")) {
                look(bases, name);
            }
        }
    }
}

fn script(root: &Path, test: &Path, content: &str, found: &mut BTreeSet<PathBuf>) {
    const ENDS: [&str; 9] = ["", ".js", ".ts", ".mjs", ".cjs", ".tsx", ".jsx", "/index.js", "/index.ts"];
    let folder = test.parent().unwrap_or(Path::new(""));
    for hit in SCRIPT.captures_iter(content) {
        let Some(base) = joined(folder, &hit[1]) else { continue };
        let base = base.to_string_lossy().into_owned();
        // TypeScript imports the `.js` that a `.ts` will become.
        let written = base.strip_suffix(".js").map(|stem| format!("{stem}.ts"));
        let candidates = ENDS.iter().map(|end| format!("{base}{end}")).chain(written);
        found.extend(candidates.map(PathBuf::from).find(|candidate| root.join(candidate).is_file()));
    }
}

fn rust(root: &Path, test: &Path, content: &str, found: &mut BTreeSet<PathBuf>) {
    let Some(package) =
        test.ancestors().skip(1).find(|folder| root.join(folder).join("Cargo.toml").is_file())
    else {
        return;
    };
    let source = package.join("src");
    for hit in RUST_USE.captures_iter(content) {
        if matches!(&hit[1], "std" | "core" | "alloc") {
            continue;
        }
        let parts: Vec<&str> = hit[2].split("::").filter(|part| !part.is_empty()).collect();
        let deepest = (1..=parts.len()).rev().find_map(|length| {
            let path: PathBuf = source.join(parts[..length].iter().collect::<PathBuf>());
            [path.with_extension("rs"), path.join("mod.rs")]
                .into_iter()
                .find(|path| root.join(path).is_file())
        });
        found.extend(deepest);
    }
    if found.is_empty() {
        found.extend(
            [source.join("lib.rs"), source.join("main.rs")]
                .into_iter()
                .find(|path| root.join(path).is_file()),
        );
    }
}

fn go(root: &Path, test: &Path, found: &mut BTreeSet<PathBuf>) {
    let name = test.to_string_lossy();
    if let Some(stem) = name.strip_suffix("_test.go") {
        let code = PathBuf::from(format!("{stem}.go"));
        if root.join(&code).is_file() {
            found.insert(code);
            return;
        }
    }
    let folder = test.parent().unwrap_or(Path::new(""));
    let Ok(entries) = std::fs::read_dir(root.join(folder)) else { return };
    for entry in entries.flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        if name.ends_with(".go") && !name.ends_with("_test.go") {
            found.insert(folder.join(name));
        }
    }
}

fn joined(folder: &Path, relative: &str) -> Option<PathBuf> {
    let mut path = folder.to_owned();
    for part in relative.split('/') {
        match part {
            "" | "." => {}
            ".." => {
                if !path.pop() {
                    return None;
                }
            }
            part => path.push(part),
        }
    }
    Some(path)
}
