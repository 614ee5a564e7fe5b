mod batch;
mod discover;
mod judge;
mod pattern;
mod readers;
mod select;
mod text;
mod weaken;
