//! Cargo: `cargo test -p PACKAGE`, or nextest where the project is set up for it.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use super::{Check, Found, Tools, nearest, text, words};

pub(super) fn discover(root: &Path, files: &[&Path], tools: &Tools) -> Vec<Check> {
    let packages: BTreeSet<PathBuf> =
        files.iter().filter_map(|file| nearest(root, file, &["Cargo.toml"])).collect();
    packages.into_iter().map(|folder| in_folder(root, &folder, tools)).collect()
}

/// The whole workspace, for a file of another kind.
pub(super) fn wide(root: &Path, at: &Path, tools: &Tools) -> Option<Check> {
    let folder = nearest(root, at, &["Cargo.toml"])?;
    Some(Found::new(everything(root, &folder, tools), &folder).check())
}

fn in_folder(root: &Path, folder: &Path, tools: &Tools) -> Check {
    let wide = everything(root, folder, tools);
    match package_name(root, folder) {
        Some(name) => {
            let mut argv = runner(root, folder, tools);
            argv.extend(["-p".to_owned(), name]);
            Found::new(argv, folder).wider(wide).check()
        }
        // A workspace root without a package of its own.
        None => Found::new(wide, folder).check(),
    }
}

fn everything(root: &Path, folder: &Path, tools: &Tools) -> Vec<String> {
    let mut argv = runner(root, folder, tools);
    argv.push("--workspace".to_owned());
    argv
}

fn runner(root: &Path, folder: &Path, tools: &Tools) -> Vec<String> {
    let configured =
        folder.ancestors().any(|folder| root.join(folder).join(".config/nextest.toml").is_file());
    if configured && tools.has("cargo-nextest") {
        words(&["cargo", "nextest", "run", "--no-fail-fast"])
    } else {
        words(&["cargo", "test", "--no-fail-fast"])
    }
}

fn package_name(root: &Path, folder: &Path) -> Option<String> {
    let manifest: toml::Table = text(root, &folder.join("Cargo.toml"))?.parse().ok()?;
    let name = manifest.get("package")?.get("name")?.as_str()?;
    let plain = name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    (plain && !name.starts_with('-')).then(|| name.to_owned())
}
