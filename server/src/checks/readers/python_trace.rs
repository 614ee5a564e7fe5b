//! Frames of Python tracebacks, in both notations, and import errors.

use std::sync::LazyLock;

use regex::Regex;

use super::Project;
use crate::checks::Place;

static FRAME: LazyLock<Regex> = LazyLock::new(|| {
    // `  File "a.py", line 3, in f` of Python itself and `a.py:3: in f` or `a.py:3: ValueError` of pytest.
    Regex::new(r#"(?m)^(?:E?\s*File "([^"\n]+)", line (\d+)|([^\s:"][^:"\n]*\.py):(\d+): )"#)
        .expect("constant")
});
static MISSING: LazyLock<Regex> =
    LazyLock::new(|| Regex::new(r"ModuleNotFoundError: No module named '([^']+)'").expect("constant"));

/// The project's own frames, outermost first.
pub(super) fn frames(text: &str, project: &Project) -> Vec<Place> {
    let mut places: Vec<Place> = Vec::new();
    for hit in FRAME.captures_iter(text) {
        let (path, line) = match (hit.get(1), hit.get(2), hit.get(3), hit.get(4)) {
            (Some(path), Some(line), _, _) | (_, _, Some(path), Some(line)) => (path.as_str(), line.as_str()),
            _ => continue,
        };
        let Some(place) = line.parse().ok().and_then(|line| project.place(path, line)) else { continue };
        if places.last() != Some(&place) {
            places.push(place);
        }
    }
    places
}

/// A module that could not be found and is none of the project's: the environment is not in order.
pub(super) fn missing_dependency(text: &str, project: &Project) -> Option<String> {
    MISSING
        .captures_iter(text)
        .filter_map(|hit| hit.get(1))
        .map(|module| module.as_str())
        .find(|module| !project.has_module(module))
        .map(|module| format!("the Python module `{module}` is not installed"))
}
