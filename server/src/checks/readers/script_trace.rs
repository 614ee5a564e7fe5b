//! Frames of JavaScript stacks, as node, jest and vitest print them.

use std::sync::LazyLock;

use regex::Regex;

use super::Project;
use crate::checks::Place;

static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    Regex::new(
        r"(?m)^[ \t]*(?:at |❯ )?(?:async )?(?:.*\()?([^()\n]+?\.(?:[cm]?[jt]sx?|vue|svelte)):(\d+):\d+\)?[ \t]*$",
    )
    .expect("constant")
});

/// The project's own frames, outermost first (the text has them the other way round).
pub(super) fn frames(text: &str, project: &Project) -> Vec<Place> {
    let mut places: Vec<Place> = FRAME
        .captures_iter(text)
        .filter_map(|hit| {
            let (path, line) = (hit.get(1)?.as_str(), hit[2].parse().ok()?);
            // `boom calc.js:2:35` names the function before the file; a path may have spaces as well.
            project.place(path, line).or_else(|| project.place(path.rsplit(' ').next()?, line))
        })
        .collect();
    places.reverse();
    places.dedup();
    places
}
