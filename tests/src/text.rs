//! Where things are: the repository's root, and programs that the test runner installed.

use std::path::{Path, PathBuf};

/// The root of this repository.
pub fn repository_root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("tests/ stands in the repository's root")
}

/// A program or folder that `tests/run` announced in the environment.
///
/// # Panics
/// When it was not announced: `tests/run` leaves such tests out, so whoever gets here asked for them.
pub fn env_path(variable: &str) -> PathBuf {
    let value = std::env::var_os(variable);
    value.map(PathBuf::from).unwrap_or_else(|| panic!("{variable} is not set; run this by `tests/run`"))
}

/// Whether a test that needs something rare may be left out here: never in CI.
pub fn only_in_ci(present: bool, what: &str) -> bool {
    let ci = std::env::var("CI").is_ok_and(|value| value == "true");
    assert!(present || !ci, "{what} is missing, and nothing is skipped in CI");
    if !present {
        eprintln!("skipped: {what} is missing");
    }
    present
}
