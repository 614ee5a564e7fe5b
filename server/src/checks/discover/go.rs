//! Go: the tests of the file's package, else of the module.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use super::{Check, Found, argument, nearest, walk, words};

pub(super) fn discover(root: &Path, files: &[&Path]) -> Vec<Check> {
    let mut modules: BTreeMap<PathBuf, BTreeSet<String>> = BTreeMap::new();
    for file in files {
        let Some(module) = nearest(root, file, &["go.mod"]) else { continue };
        let package = file.parent().unwrap_or(Path::new(""));
        let relative = package.strip_prefix(&module).unwrap_or(package);
        let packages = modules.entry(module).or_default();
        if has_tests(&root.join(package)) {
            packages.insert(if relative.as_os_str().is_empty() {
                ".".to_owned()
            } else {
                format!("./{}", argument(relative))
            });
        }
    }
    let mut checks = Vec::new();
    for (module, packages) in modules {
        if packages.is_empty() {
            checks.extend(whole_module(root, &module));
            continue;
        }
        let mut argv = words(&["go", "test", "-json"]);
        argv.extend(packages);
        checks.push(Found::new(argv, &module).wider(words(&["go", "test", "-json", "./..."])).check());
    }
    checks
}

pub(super) fn wide(root: &Path, at: &Path) -> Option<Check> {
    whole_module(root, &nearest(root, at, &["go.mod"])?)
}

fn whole_module(root: &Path, module: &Path) -> Option<Check> {
    let any = !walk::files(&root.join(module), |name| name.ends_with("_test.go")).is_empty();
    any.then(|| Found::new(words(&["go", "test", "-json", "./..."]), module).check())
}

fn has_tests(folder: &Path) -> bool {
    std::fs::read_dir(folder).is_ok_and(|entries| {
        entries.flatten().any(|entry| entry.file_name().to_string_lossy().ends_with("_test.go"))
    })
}
