//! The Review Fix Loop against its rules: stories, every reachable state, random orders, and rules that can fail.

mod blocks;
mod claims;
mod doctored;
mod enumeration;
mod limits;
mod random;
mod rules;
mod stories;
mod telling;
