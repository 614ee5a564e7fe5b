//! Where listed findings are now: their anchors follow the editor's text, and the disk's where the editor holds none.

use std::collections::HashMap;
use std::sync::Arc;

use crate::findings::{Anchor, DiskTree, Finding, Fingerprint, LineDiff, SourceText};
use crate::protocol::NewFinding;

use super::super::api::BufferEvent;
use super::{Inbox, Listing};

impl Inbox {
    /// Takes up a finding that a worker brought up. It named a line of the file as it is at `revision` (a worktree's head);
    /// from here on the finding stays on that code in the user's own file.
    pub fn follow_found(&mut self, found: &NewFinding, revision: Option<&str>) {
        let Some(file) = found.file.as_ref().filter(|_| !self.found.has(&found.key.0)) else { return };
        let now = match self.buffers.get(file) {
            Some(text) => Some(text.to_string()),
            None => DiskTree::new(&self.root).text(file),
        };
        let then = match revision {
            Some(revision) => (self.revision_texts)(revision, file),
            None => now.clone(),
        };
        self.found.add(found, file, then.as_deref(), now.as_deref());
        if let Some(now) = now {
            self.anchored_on.entry(file.clone()).or_insert(now);
        }
    }

    /// Where a finding of a worker's is now, after edits.
    pub fn lines_of_found(&self, fingerprint: &str) -> Option<(u32, u32)> {
        self.found.lines(fingerprint)
    }

    /// The editor's text moves the anchors of its file.
    pub fn buffer(&mut self, event: &BufferEvent) {
        let (path, text) = match event {
            BufferEvent::Opened { path, text }
            | BufferEvent::Changed { path, text }
            | BufferEvent::Saved { path, text } => {
                self.buffers.insert(path.clone(), text.clone());
                (path, text.to_string())
            }
            BufferEvent::Merged { .. } => return,
            BufferEvent::Closed { path } => {
                self.buffers.remove(path);
                let Some(text) = DiskTree::new(&self.root).text(path) else { return };
                (path, text)
            }
        };
        self.follow(path, &text);
    }

    /// The disk's text moves the anchors of files that the editor does not hold.
    pub fn files_moved(&mut self) {
        let disk = DiskTree::new(&self.root);
        let names: Vec<String> =
            self.anchored_on.keys().filter(|name| !self.buffers.contains_key(*name)).cloned().collect();
        for name in names {
            let text = disk.text(&name).unwrap_or_default();
            self.follow(&name, &text);
        }
    }

    fn follow(&mut self, path: &str, text: &str) {
        let Some(before) = self.anchored_on.get(path) else { return };
        if before == text {
            return;
        }
        let diff = LineDiff::between(before, text);
        let moved = |anchor: &Anchor| anchor.through(&diff);
        let mut places: HashMap<Fingerprint, Anchor> = HashMap::new();
        for finding in &mut self.intake.workable {
            if finding.finding.file.as_deref() == Some(path)
                && let Some(anchor) = finding.anchor.as_ref().map(moved)
            {
                places.insert(finding.fingerprint.clone(), anchor.clone());
                finding.set_anchor(Some(anchor));
            }
        }
        for finding in &mut self.intake.unconfirmed {
            if finding.finding.file.as_deref() == Some(path)
                && let Some(anchor) = finding.anchor.as_ref().map(moved)
            {
                places.insert(finding.fingerprint.clone(), anchor.clone());
                finding.set_anchor(Some(anchor));
            }
        }
        self.memory.update(&places);
        self.found.moved(path, moved);
        for ignored in self.intake.ignored.iter_mut().chain(&mut self.intake.refused) {
            if ignored.finding.as_ref().and_then(|finding| finding.file.as_deref()) == Some(path) {
                ignored.anchor = ignored.anchor.as_ref().map(moved);
                if let (Some(fingerprint), Some(anchor)) = (&ignored.fingerprint, &ignored.anchor) {
                    places.entry(fingerprint.clone()).or_insert_with(|| anchor.clone());
                }
            }
        }
        self.anchored_on.insert(path.to_owned(), text.to_owned());
        for &at in self.by_file.get(path).map(Vec::as_slice).unwrap_or_default() {
            let one = &self.listed[at];
            let Some(anchor) = places.get(&Fingerprint::from(one.fingerprint.as_str())) else { continue };
            let lines = lines_of(Some(anchor), &one.finding);
            let workable = matches!(one.listing, Listing::Workable | Listing::Unconfirmed);
            let stale = if workable { anchor.stale } else { one.stale };
            if (lines, stale) != (one.lines, one.stale) {
                let one = Arc::make_mut(&mut self.listed[at]);
                (one.lines, one.stale) = (lines, stale);
            }
        }
    }
}

pub(super) fn lines_of(anchor: Option<&Anchor>, finding: &Finding) -> Option<(u32, u32)> {
    match anchor {
        Some(anchor) => Some((anchor.line_start, anchor.line_end)),
        None => finding.line_start.map(|start| (start, finding.line_end.unwrap_or(start).max(start))),
    }
}
