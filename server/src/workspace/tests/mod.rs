//! Tests against real git repositories; the real git is the judge.

mod chaos;
mod crash;
mod filters;
mod fixture;
mod index;
mod index_file;
mod injury;
mod opening;
mod paths;
mod refs;
mod staging;
mod transplanting;
mod tree;
mod trees_apart;
