//! Which programs are there. Looks at files on `PATH`; starts none.

use std::path::{Path, PathBuf};

/// The folders in which programs are looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tools {
    folders: Vec<PathBuf>,
}

impl Tools {
    /// As the running program would find them.
    pub fn from_environment() -> Self {
        std::env::var_os("PATH")
            .map(|path| Self::in_folders(std::env::split_paths(&path)))
            .unwrap_or_default()
    }

    pub fn in_folders(folders: impl IntoIterator<Item = PathBuf>) -> Self {
        Self { folders: folders.into_iter().filter(|folder| folder.is_absolute()).collect() }
    }

    pub fn has(&self, program: &str) -> bool {
        self.find(program).is_some()
    }

    /// The folder of the first program of that name.
    pub fn find(&self, program: &str) -> Option<&Path> {
        self.folders.iter().map(PathBuf::as_path).find(|folder| folder.join(program).is_file())
    }
}
