//! Lines of findings between a keystroke and the engine's next snapshot.
//!
//! The engine moves findings with the code. It answers a moment later, and meanwhile the squiggle has to stay on its code
//! (R05). Every change has the number of the buffer event that tells the engine of it, and every snapshot says up to which
//! number it was made: a finding is shown where the engine has it, moved by the changes that the engine has not seen. So
//! nothing is guessed twice, and where the engine knows better its word counts. Never decides whether a finding is stale.

use std::collections::HashMap;

use lsp_types::Range;

use super::folders::FolderId;

/// First and last line, 0-based.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Lines {
    pub first: u32,
    pub last: u32,
}

impl Lines {
    /// From 1-based lines; `None` where the finding is about the whole file.
    pub fn of_finding(start: Option<u32>, end: Option<u32>) -> Option<Lines> {
        let first = start.filter(|&line| line > 0)? - 1;
        Some(Lines { first, last: end.map_or(first, |end| end.saturating_sub(1)).max(first) })
    }

    pub fn touches(self, range: Range) -> bool {
        self.first <= range.end.line && range.start.line <= self.last
    }

    /// Where the lines are after `edit`. `indent` is the indentation of the first line before the edit, in the units of
    /// the edit's range: text put in before the code of that line moves the code.
    pub fn after(self, edit: Edit, indent: u32) -> Lines {
        let Edit { range: Range { start, end }, breaks, .. } = edit;
        let moved = |line: u32| (i64::from(line) + edit.delta()).max(0) as u32;
        let replaced_until = start.line + breaks;
        if end.line < self.first || (end.line == self.first && end.character <= indent) {
            return Lines { first: moved(self.first), last: moved(self.last) };
        }
        if start.line > self.last || (start.line == self.last && edit.starts_at_line_end) {
            return self;
        }
        let first = match () {
            () if start.line >= self.first => self.first,
            () if end.line <= self.last => replaced_until,
            // The cited code was replaced as a whole; the engine will find out whether it is still there.
            () => self.first.min(replaced_until),
        };
        let last = if end.line <= self.last { moved(self.last) } else { self.last.min(replaced_until) };
        Lines { first, last: last.max(first) }
    }
}

/// One change of a document, as far as lines matter.
#[derive(Clone, Copy, Debug)]
pub(super) struct Edit {
    pub range: Range,
    /// Line breaks in the text put in.
    pub breaks: u32,
    /// Nothing of the range's first line comes after its start.
    pub starts_at_line_end: bool,
}

impl Edit {
    fn delta(self) -> i64 {
        i64::from(self.breaks) - i64::from(self.range.end.line - self.range.start.line)
    }
}

/// One change that the engine has not seen, as it moves one finding.
#[derive(Debug)]
struct Pending {
    /// `None`: the engine is not told, and sees the change once the file is saved.
    event: Option<u64>,
    /// `None`: the whole text was replaced, which says nothing about what moved.
    edit: Option<Edit>,
    /// The indentation of the finding's first line before the edit.
    indent: u32,
}

/// One finding's lines as moved here.
#[derive(Debug)]
struct Anchor {
    /// What the engine said last.
    engine: Lines,
    pending: Vec<Pending>,
    shown: Lines,
}

/// Folder and fingerprint.
type Key<'a> = (FolderId, &'a str);

/// The findings that are shown elsewhere than where the engine has them, by folder and fingerprint.
#[derive(Debug, Default)]
pub(super) struct Anchors {
    moved: HashMap<FolderId, HashMap<String, Anchor>>,
}

impl Anchors {
    /// `engine`: where the engine has it.
    pub fn shown(&self, (folder, fingerprint): Key<'_>, engine: Lines) -> Lines {
        let anchor = self.moved.get(&folder).and_then(|moved| moved.get(fingerprint));
        anchor.map_or(engine, |anchor| anchor.shown)
    }

    /// The document of a finding changed. The engine is told with the buffer event `event`; `None`: not at all.
    pub fn edited(
        &mut self,
        (folder, fingerprint): Key<'_>,
        engine: Lines,
        event: Option<u64>,
        edit: Option<Edit>,
        indent: u32,
    ) {
        let shown = self.shown((folder, fingerprint), engine);
        let after = edit.map_or(shown, |edit| shown.after(edit, indent));
        let moved = self.moved.entry(folder).or_default();
        if after == shown && !moved.contains_key(fingerprint) {
            return;
        }
        let anchor = || Anchor { engine, pending: Vec::new(), shown };
        let anchor = moved.entry(fingerprint.to_owned()).or_insert_with(anchor);
        anchor.pending.push(Pending { event, edit, indent });
        anchor.shown = after;
    }

    /// The engine has the finding at `engine`, `event` being the last buffer event that it has seen. Says whether the
    /// finding is shown elsewhere now.
    pub fn told(&mut self, (folder, fingerprint): Key<'_>, engine: Lines, event: u64) -> bool {
        let Some(moved) = self.moved.get_mut(&folder) else { return false };
        let Some(anchor) = moved.get_mut(fingerprint) else { return false };
        let read_again = std::mem::replace(&mut anchor.engine, engine) != engine;
        anchor.pending.retain(|pending| match pending.event {
            Some(own) => own > event,
            None => !read_again,
        });
        let lines = anchor.pending.iter().fold(engine, |lines, pending| {
            pending.edit.map_or(lines, |edit| lines.after(edit, pending.indent))
        });
        let elsewhere = std::mem::replace(&mut anchor.shown, lines) != lines;
        if anchor.pending.is_empty() {
            moved.remove(fingerprint);
        }
        elsewhere
    }

    pub fn is_empty(&self, folder: FolderId) -> bool {
        self.moved.get(&folder).is_none_or(HashMap::is_empty)
    }

    /// The document was closed without being saved, or the finding has gone.
    pub fn forget(&mut self, folder: FolderId, keep: impl Fn(&str) -> bool) {
        if let Some(moved) = self.moved.get_mut(&folder) {
            moved.retain(|fingerprint, _| keep(fingerprint));
        }
    }
}
