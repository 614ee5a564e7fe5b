//! What the editor holds, so that no worker is sent at unsaved text and a save is told from a worker's write (R32).

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::workspace::{ObjectId, RepoPath};

use super::api::BufferEvent;
use super::ledger::LoopId;
use crate::agents;
use crate::workspace::transplant;

#[derive(Debug)]
pub(super) struct Buffers {
    open: BTreeMap<String, Buffer>,
    /// Every save of this session, with its time.
    saves: Vec<(u64, RepoPath, ObjectId)>,
    /// Loops for which the user said to use the saved files.
    accepted: BTreeSet<LoopId>,
    /// The same for agents that read through the client.
    for_agents: agents::Buffers,
}

impl Default for Buffers {
    fn default() -> Self {
        Buffers {
            open: BTreeMap::new(),
            saves: Vec::new(),
            accepted: BTreeSet::new(),
            for_agents: agents::Buffers::new(|before, after, onto| transplant(before, after, onto).ok()),
        }
    }
}

/// What the user saved in the editor: path and exact bytes.
pub(super) type Saved = Vec<(RepoPath, ObjectId)>;

#[derive(Debug)]
struct Buffer {
    text: Arc<str>,
    /// The text as last opened or saved.
    saved: Arc<str>,
}

impl Buffers {
    pub fn take(&mut self, event: BufferEvent) {
        let path = match &event {
            BufferEvent::Opened { path, .. }
            | BufferEvent::Changed { path, .. }
            | BufferEvent::Saved { path, .. }
            | BufferEvent::Closed { path } => path.clone(),
        };
        match event {
            BufferEvent::Opened { path, text } => {
                self.open.insert(path, Buffer { saved: text.clone(), text });
            }
            BufferEvent::Changed { path, text } => {
                let buffer = self
                    .open
                    .entry(path)
                    .or_insert_with(|| Buffer { saved: text.clone(), text: text.clone() });
                buffer.text = text;
            }
            BufferEvent::Saved { path, text } => {
                if let Ok(saved) = RepoPath::new(&path) {
                    self.saves.push((super::driver::now(), saved, ObjectId::of_bytes(text.as_bytes())));
                }
                self.open.insert(path, Buffer { saved: text.clone(), text });
            }
            BufferEvent::Closed { path } => {
                self.open.remove(&path);
            }
        }
        match self.open.get(&path) {
            Some(buffer) => self.for_agents.set(&path, buffer.saved.clone(), buffer.text.clone()),
            None => self.for_agents.remove(&path),
        }
    }

    /// The unsaved texts as they are at any time from now on.
    pub fn for_agents(&self) -> agents::Buffers {
        self.for_agents.clone()
    }

    /// The editor shows text that is in no file.
    pub fn is_dirty(&self, path: &str) -> bool {
        self.open.get(path).is_some_and(|buffer| buffer.text != buffer.saved)
    }

    /// What was saved at `since` (milliseconds since the epoch) or later.
    pub fn saved_since(&self, since: u64) -> Saved {
        let late = self.saves.iter().filter(|(at, ..)| *at >= since);
        late.map(|(_, path, blob)| (path.clone(), *blob)).collect()
    }

    pub fn accept_for(&mut self, id: LoopId) {
        self.accepted.insert(id);
    }

    pub fn is_accepted_for(&self, id: LoopId) -> bool {
        self.accepted.contains(&id)
    }

    pub fn forget(&mut self, id: LoopId) {
        self.accepted.remove(&id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_buffer_is_dirty_while_it_differs_from_what_was_saved() {
        let text = |text: &str| -> Arc<str> { text.into() };
        let mut buffers = Buffers::default();
        let path = || "a.py".to_string();
        assert!(!buffers.is_dirty("a.py"));
        buffers.take(BufferEvent::Opened { path: path(), text: text("x") });
        assert!(!buffers.is_dirty("a.py"));
        buffers.take(BufferEvent::Changed { path: path(), text: text("y") });
        assert!(buffers.is_dirty("a.py"));
        buffers.take(BufferEvent::Changed { path: path(), text: text("x") });
        assert!(!buffers.is_dirty("a.py"));
        buffers.take(BufferEvent::Changed { path: path(), text: text("z") });
        buffers.take(BufferEvent::Saved { path: path(), text: text("z") });
        assert!(!buffers.is_dirty("a.py"));
        buffers.take(BufferEvent::Saved { path: path(), text: text("w") });
        assert_eq!(buffers.saved_since(0).len(), 2);
        assert!(buffers.saved_since(u64::MAX).is_empty());
        buffers.take(BufferEvent::Closed { path: path() });
        assert!(!buffers.is_dirty("a.py"));
    }

    #[test]
    fn agents_see_unsaved_text_with_what_was_changed_on_disk_and_none_that_is_saved() {
        let text = |text: &str| -> Arc<str> { text.into() };
        let mut buffers = Buffers::default();
        let path = || "a.py".to_string();
        let agents = buffers.for_agents();
        let saved = "one\ntwo\nthree\nfour\n";
        buffers.take(BufferEvent::Opened { path: path(), text: text(saved) });
        assert_eq!(agents.shown("a.py", saved), None);
        buffers.take(BufferEvent::Changed { path: path(), text: text("mine\ntwo\nthree\nfour\n") });
        assert_eq!(agents.shown("a.py", saved).as_deref(), Some("mine\ntwo\nthree\nfour\n"));
        let fixed = "one\ntwo\nTHREE\nfour\n";
        assert_eq!(agents.shown("a.py", fixed).as_deref(), Some("mine\ntwo\nTHREE\nfour\n"));
        assert_eq!(agents.shown("b.py", saved), None);
        let (shown, written) = ("mine\ntwo\nthree\nfour\n", "mine\ntwo\nthree\nFOUR\n");
        assert_eq!(agents.to_file(shown, written, fixed).as_deref(), Some("one\ntwo\nTHREE\nFOUR\n"));
        assert_eq!(agents.to_file(shown, "theirs\ntwo\nthree\nfour\n", fixed), None, "the user's own line");
        buffers.take(BufferEvent::Saved { path: path(), text: text("mine\ntwo\nthree\nfour\n") });
        assert_eq!(agents.shown("a.py", saved), None);
        buffers.take(BufferEvent::Changed { path: path(), text: text("more\n") });
        buffers.take(BufferEvent::Closed { path: path() });
        assert_eq!(agents.shown("a.py", saved), None, "what was not saved is gone with its buffer");
    }
}
