mod judge;
mod select;
