//! Make: the `test` or `check` target, where nothing more exact is known.

use std::path::Path;
use std::sync::LazyLock;

use regex::Regex;

use super::{Check, Found, nearest, text, words};

const NAMES: [&str; 3] = ["GNUmakefile", "makefile", "Makefile"];
/// `a test: deps`, but not the assignment `test := x`.
static RULE: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"(?m)^([\w./ -]+?)\s*::?(?:[^=:]|$)").expect("constant"));

pub(super) fn discover(root: &Path, at: &Path) -> Option<Check> {
    let folder = nearest(root, at, &NAMES)?;
    let makefile = NAMES.iter().find_map(|name| text(root, &folder.join(name)))?;
    let targets: Vec<&str> = RULE
        .captures_iter(&makefile)
        .filter_map(|hit| hit.get(1))
        .flat_map(|declared| declared.as_str().split_whitespace())
        .collect();
    let target = ["test", "check"].into_iter().find(|target| targets.contains(target))?;
    Some(Found::new(words(&["make", target]), &folder).check())
}
