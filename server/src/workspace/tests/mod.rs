//! Tests against real git repositories; the real git is the judge.

mod fixture;
mod staging;
mod tree;
