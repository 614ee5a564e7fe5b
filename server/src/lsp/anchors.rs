//! Lines of findings between a keystroke and the engine's next snapshot.
//!
//! The engine moves findings with the code. It answers a moment later, and meanwhile the squiggle has to stay on its code
//! (R05). So lines are moved here too on every change, and given up as soon as the engine says something that is not
//! merely an echo of an earlier keystroke. Never decides whether a finding is stale.

use std::collections::HashMap;

use lsp_types::Range;

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

/// One finding's lines as moved here.
#[derive(Debug)]
struct Anchor {
    /// What the engine said last.
    engine: Lines,
    shown: Lines,
    /// Where it was shown since the engine last agreed, oldest first.
    passed: Vec<Lines>,
}

/// The findings that were moved here, by the key the caller gives them.
#[derive(Debug, Default)]
pub(super) struct Anchors {
    moved: HashMap<String, Anchor>,
}

impl Anchors {
    pub fn shown(&self, key: &str, engine: Lines) -> Lines {
        self.moved.get(key).map_or(engine, |anchor| anchor.shown)
    }

    /// Says whether the edit went into the finding's lines and changed how many there are: then it is a guess where they
    /// are now.
    pub fn edited(&mut self, key: &str, engine: Lines, edit: Edit, indent: u32) -> bool {
        let shown = self.shown(key, engine);
        let after = shown.after(edit, indent);
        let doubtful = edit.delta() != 0 && shown.touches(edit.range);
        if after == shown {
            return doubtful && self.moved.contains_key(key);
        }
        let anchor = self.moved.entry(key.to_owned()).or_insert(Anchor { engine, shown, passed: Vec::new() });
        anchor.passed.push(shown);
        anchor.shown = after;
        doubtful
    }

    pub fn is_empty(&self) -> bool {
        self.moved.is_empty()
    }

    /// The engine says where the finding is.
    pub fn told(&mut self, key: &str, engine: Lines) {
        let Some(anchor) = self.moved.get_mut(key) else { return };
        if engine == anchor.engine {
            return;
        }
        anchor.engine = engine;
        if engine == anchor.shown {
            self.moved.remove(key);
        } else if let Some(at) = anchor.passed.iter().rposition(|lines| *lines == engine) {
            anchor.passed.drain(..at);
        } else {
            self.moved.remove(key);
        }
    }

    /// The document was closed without being saved, or the finding has gone.
    pub fn forget(&mut self, keep: impl Fn(&str) -> bool) {
        self.moved.retain(|key, _| keep(key));
    }
}
