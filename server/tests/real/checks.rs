//! Real programs: checks.
