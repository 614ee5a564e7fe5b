//! The Fix-Review Loop against its rules: stories, every reachable state, random orders, and rules that can fail.

mod blocks;
mod doctored;
mod enumeration;
mod random;
mod routes;
mod rules;
mod stories;
mod telling;
