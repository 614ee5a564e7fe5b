//! Edits that weaken a test, and which files are tests at all (R39).
//!
//! Pure: compares texts. Never judges whether a weakening is right; it is always shown to the user, who decides.

mod paths;

pub use paths::{is_ci_path, is_snapshot_path, is_test_path};
