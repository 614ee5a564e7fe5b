//! The server over a pipe with a strict little editor and an engine that the test plays.

mod acting;
mod asking;
mod commands;
mod diagnosing;
mod editor;
mod lifecycle;
mod merging;
mod progress;
mod reading;
mod text;
mod watching;
