//! Where the findings that workers brought up are, in the user's own files.
//!
//! Owns their anchors. Must never read a file: the inbox gives the texts, as it does for what is listed there.

use std::collections::{BTreeMap, BTreeSet};

use crate::findings::Anchor;
use crate::protocol::NewFinding;

/// By fingerprint.
#[derive(Default)]
pub(super) struct Found(BTreeMap<String, At>);

struct At {
    file: String,
    /// `None`: it names no line there.
    anchor: Option<Anchor>,
}

impl Found {
    pub fn has(&self, fingerprint: &str) -> bool {
        self.0.contains_key(fingerprint)
    }

    /// The finding named a line of `then`; the user's file is `now`.
    pub fn add(&mut self, found: &NewFinding, file: &str, then: Option<&str>, now: Option<&str>) {
        let anchor = match (found.line, then, now) {
            (Some(line), Some(then), Some(now)) if line > 0 => {
                Some(Anchor::place(then, line, line).through_diff(then, now))
            }
            _ => None,
        };
        self.0.insert(found.key.0.clone(), At { file: file.to_owned(), anchor });
    }

    pub fn files(&self) -> BTreeSet<String> {
        self.0.values().map(|at| at.file.clone()).collect()
    }

    /// The text of a file changed.
    pub fn moved(&mut self, file: &str, moved: impl Fn(&Anchor) -> Anchor) {
        for at in self.0.values_mut().filter(|at| at.file == file) {
            at.anchor = at.anchor.as_ref().map(&moved);
        }
    }

    pub fn lines(&self, fingerprint: &str) -> Option<(u32, u32)> {
        let anchor = self.0.get(fingerprint)?.anchor.as_ref()?;
        Some((anchor.line_start, anchor.line_end))
    }
}
