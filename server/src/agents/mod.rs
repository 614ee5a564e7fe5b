//! See the crate's first page.
