mod judge;
mod select;
mod weaken;
