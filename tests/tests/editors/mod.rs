//! Real editors, driven as a person drives them.

mod nvim;
mod vscode;
