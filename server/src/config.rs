//! `fix-loop.toml`.
