//! What the editor holds and has not saved, for agents that read and write through the client (DESIGN 8).
//!
//! Owns the texts of the moment, shared between the engine, which keeps them, and a dispatch, which only looks. An agent
//! that asks is shown the user's unsaved text, and with it whatever was changed on disk since it was last saved. What it
//! writes is then a change of what it was shown: only that change goes into the file. Unsaved text never gets to the disk
//! this way, and is never taken for part of a fix. Never touches a file; how one change is carried over to another text is
//! `workspace`'s knowledge and is given by the engine.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

/// Carries the change from the first text to the second over to the third; nothing where they touch the same lines.
pub type CarryOver = fn(&[u8], &[u8], &[u8]) -> Option<Vec<u8>>;

/// The unsaved texts of one workspace. Clones share them.
#[derive(Clone)]
pub struct Buffers {
    unsaved: Arc<RwLock<BTreeMap<String, Unsaved>>>,
    carry_over: CarryOver,
}

#[derive(Clone)]
struct Unsaved {
    /// As last opened or saved.
    saved: Arc<str>,
    text: Arc<str>,
}

impl Buffers {
    pub fn new(carry_over: CarryOver) -> Self {
        Buffers { unsaved: Arc::default(), carry_over }
    }

    /// No editor, or none whose buffers are those of the folder that is worked in.
    pub fn none() -> Self {
        Buffers::new(|_, _, _| None)
    }

    /// The text of a path, relative to the workspace, as the editor holds it beside what was last saved.
    pub fn set(&self, path: &str, saved: Arc<str>, text: Arc<str>) {
        let mut unsaved = self.unsaved.write().unwrap_or_else(PoisonError::into_inner);
        if saved == text {
            unsaved.remove(path);
        } else {
            unsaved.insert(path.to_owned(), Unsaved { saved, text });
        }
    }

    pub fn remove(&self, path: &str) {
        self.unsaved.write().unwrap_or_else(PoisonError::into_inner).remove(path);
    }

    /// What an agent that asks for a path is shown in place of what stands in the file; nothing where nothing is unsaved.
    pub fn shown(&self, path: &str, in_file: &str) -> Option<String> {
        let unsaved = self.unsaved.read().unwrap_or_else(PoisonError::into_inner).get(path).cloned()?;
        let both = (self.carry_over)(unsaved.saved.as_bytes(), in_file.as_bytes(), unsaved.text.as_bytes());
        // Where both changed the same lines, the user's text is what the editor shows.
        Some(both.and_then(|both| String::from_utf8(both).ok()).unwrap_or_else(|| unsaved.text.to_string()))
    }

    /// What has to stand in the file when an agent that was shown one text writes another.
    pub fn to_file(&self, shown: &str, written: &str, in_file: &str) -> Option<String> {
        let text = (self.carry_over)(shown.as_bytes(), written.as_bytes(), in_file.as_bytes())?;
        String::from_utf8(text).ok()
    }
}

impl std::fmt::Debug for Buffers {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let unsaved = self.unsaved.read().unwrap_or_else(PoisonError::into_inner);
        f.debug_set().entries(unsaved.keys()).finish()
    }
}
