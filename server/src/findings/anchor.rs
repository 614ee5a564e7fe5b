//! Where a finding is now (DESIGN 5 "Anchors", R05, R06).
//!
//! An anchor stays on its code while the buffer is edited, while the file changes on disk and across restarts. It is pure:
//! the texts are given to it, `lsp` converts positions, and whether a finding is resolved is never decided here: an anchor
//! whose code is gone is stale, which says nothing about the problem.

use serde::{Deserialize, Serialize};
use similar::{Algorithm, DiffOp, capture_diff_slices};

use super::fingerprint::{Cited, TextLines};

/// The cited lines of a finding in a text that changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// From 1.
    pub line_start: u32,
    /// Inclusive, never before `line_start`.
    pub line_end: u32,
    /// The lines as the review cited them: the finding's identity.
    pub cited: Cited,
    /// The lines as they are now, after edits within them.
    pub current: Cited,
    /// The cited code is gone; the anchor stands at the nearest line.
    pub stale: bool,
}

/// A place in a buffer: line and column from 0. The column is only ever compared with 0, so its unit does not matter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BufferPlace {
    pub line: u32,
    pub column: u32,
}

/// One incremental change of a buffer: the text from `start` to `end` (exclusive) is replaced by `inserted`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BufferEdit {
    pub start: BufferPlace,
    pub end: BufferPlace,
    pub inserted: String,
}

/// The line diff between two versions of a text, made once for all anchors in it.
#[derive(Debug)]
pub struct LineDiff<'a> {
    old_lines: Vec<&'a str>,
    new_lines: Vec<&'a str>,
    ops: Vec<DiffOp>,
    new: &'a str,
}

impl<'a> LineDiff<'a> {
    pub fn between(old: &'a str, new: &'a str) -> Self {
        let old_lines: Vec<&str> = old.lines().map(str::trim_end).collect();
        let new_lines: Vec<&str> = new.lines().map(str::trim_end).collect();
        let ops = capture_diff_slices(Algorithm::Myers, &old_lines, &new_lines);
        LineDiff { old_lines, new_lines, ops, new }
    }
}

/// Where the untouched lines of one version of a text are in another; it holds no text.
#[derive(Clone, Debug)]
pub struct LineMap(Vec<DiffOp>);

impl LineMap {
    pub fn between(old: &str, new: &str) -> Self {
        LineMap(LineDiff::between(old, new).ops)
    }
}

/// How alike two lines must be for one to be the other after an edit.
const ALIKE: f64 = 0.6;

impl Anchor {
    /// An anchor on lines of the text that was reviewed. Lines outside the text are clamped.
    pub fn place(text: &str, line_start: u32, line_end: u32) -> Self {
        Anchor::place_in(&TextLines::of(text), line_start, line_end)
    }

    /// The same, where many are placed in one text.
    pub fn place_in(text: &TextLines, line_start: u32, line_end: u32) -> Self {
        let line_start = line_start.clamp(1, text.count());
        let line_end = line_end.clamp(line_start, text.count());
        let cited = text.cited(line_start, line_end);
        Anchor { line_start, line_end, current: cited.clone(), cited, stale: false }
    }

    /// The anchor in a text of which nothing is known but what it holds now: after a restart.
    pub fn refind(&self, text: &str) -> Self {
        self.refind_in(&TextLines::of(text))
    }

    /// The same, where many are looked for in one text.
    pub fn refind_in(&self, text: &TextLines) -> Self {
        let found = self.nearest(&self.current, text).or_else(|| self.nearest(&self.cited, text));
        if let Some(found) = found {
            return found;
        }
        let last = text.count();
        let mut anchor = self.clone();
        anchor.line_start = anchor.line_start.clamp(1, last);
        anchor.line_end = anchor.line_end.clamp(anchor.line_start, last);
        // Blank lines have no text by which they could be missed.
        anchor.stale = self.stale || !self.cited.is_empty();
        anchor
    }

    /// The anchor after one change of the buffer.
    pub fn edited(&self, edit: &BufferEdit, before: &str, after: &str) -> Self {
        let (first, last) = (edit.start.line + 1, edit.end.line.max(edit.start.line) + 1);
        let inserted = newlines(&edit.inserted);
        let shift = i64::from(inserted) - i64::from(last - first);
        let moved = |line: u32| u32::try_from(i64::from(line) + shift).unwrap_or(1).max(1);

        if self.stale {
            let mut anchor = self.clone();
            if last < self.line_start {
                anchor.line_start = moved(self.line_start);
                anchor.line_end = moved(self.line_end);
            }
            // Undo brings the code back.
            return anchor.refind(after);
        }
        if first > self.line_end {
            return self.clone();
        }
        if last < self.line_start
            || (last == self.line_start && edit.end.column == 0) && self.starts_after(edit)
        {
            let mut anchor = self.clone();
            anchor.line_start = moved(self.line_start);
            anchor.line_end = moved(self.line_end);
            return anchor;
        }
        if first == last && inserted == 0 {
            return self.retyped(after);
        }
        // Lines of the anchor itself were joined, split, removed or replaced.
        let anchor = self.through_diff(before, after);
        if anchor.stale && !self.current.is_empty() {
            return anchor.refind(after);
        }
        anchor
    }

    /// Where the text between two versions of a file is known: lines are followed through a line diff.
    pub fn through_diff(&self, old: &str, new: &str) -> Self {
        if old == new { self.clone() } else { self.through(&LineDiff::between(old, new)) }
    }

    /// The same, where many are followed through one diff.
    pub fn through(&self, diff: &LineDiff<'_>) -> Self {
        let LineDiff { old_lines, new_lines, ops, new } = diff;
        if let Some(moved) = self.carried(ops) {
            return moved;
        }
        let wanted = (self.line_start as usize - 1)..(self.line_end as usize);

        let mut kept: Option<(usize, usize)> = None;
        let mut replaced: Option<(usize, usize)> = None;
        let mut nearest = new_lines.len().saturating_sub(1);
        let widen = |range: &mut Option<(usize, usize)>, line: usize| {
            *range = Some(range.map_or((line, line), |(from, to)| (from.min(line), to.max(line))));
        };
        for op in ops {
            let (old_range, new_range) = (op.old_range(), op.new_range());
            let overlap = wanted.start.max(old_range.start)..wanted.end.min(old_range.end);
            if overlap.is_empty() {
                continue;
            }
            if overlap.start == wanted.start {
                nearest = new_range.start
                    + if matches!(op, DiffOp::Equal { .. }) { overlap.start - old_range.start } else { 0 };
            }
            for line in overlap {
                let offset = line - old_range.start;
                match op {
                    DiffOp::Equal { .. } => {
                        // A blank line that survives does not show that the code did.
                        if !old_lines[line].trim().is_empty() || self.current.is_empty() {
                            widen(&mut kept, new_range.start + offset);
                        }
                    }
                    DiffOp::Replace { .. } => {
                        let last = new_range.end - 1;
                        widen(&mut replaced, (new_range.start + offset).min(last));
                    }
                    DiffOp::Delete { .. } | DiffOp::Insert { .. } => {}
                }
            }
        }
        if let Some((from, to)) = kept {
            let (from, to) = replaced.map_or((from, to), |(first, last)| (from.min(first), to.max(last)));
            return self.at(new, from, to);
        }
        if let Some(anchor) = self.moved_block(ops, new) {
            return anchor;
        }
        if let Some(line) = alike_line(ops, old_lines, new_lines, wanted.clone()) {
            let length = replaced.map_or(0, |(from, to)| to - from);
            let block = ops.iter().map(DiffOp::new_range).find(|range| range.contains(&line));
            let end = block.map_or(line, |range| (line + length).min(range.end - 1));
            return self.at(new, line, end);
        }
        let line = line_number(nearest.min(new_lines.len().saturating_sub(1)));
        Anchor { line_start: line, line_end: line, stale: true, ..self.clone() }
    }

    /// The anchor where its lines were not touched at all.
    pub fn mapped(&self, map: &LineMap) -> Option<Self> {
        self.carried(&map.0)
    }

    /// All its lines stand in one block that the diff does not touch: they only move.
    fn carried(&self, ops: &[DiffOp]) -> Option<Self> {
        let (from, to) = (self.line_start as usize - 1, self.line_end as usize);
        let at = ops.partition_point(|op| op.old_range().end <= from);
        let DiffOp::Equal { old_index, new_index, len } = *ops.get(at)? else { return None };
        if self.stale || self.current.is_empty() || from < old_index || to > old_index + len {
            return None;
        }
        let (from, to) = (from - old_index + new_index, to - old_index + new_index);
        Some(Anchor { line_start: line_number(from), line_end: line_number(to - 1), ..self.clone() })
    }

    /// The cited lines, word for word, among the lines that the diff calls new: the block was moved.
    fn moved_block(&self, ops: &[DiffOp], new: &str) -> Option<Self> {
        let fresh = |line: u32| {
            let at = line as usize - 1;
            ops.iter().any(|op| !matches!(op, DiffOp::Equal { .. }) && op.new_range().contains(&at))
        };
        let line = self
            .current
            .places_in(new)
            .into_iter()
            .filter(|line| fresh(*line))
            .min_by_key(|line| line.abs_diff(self.line_start))?;
        Some(self.found_at(line, self.current.len()))
    }

    fn nearest(&self, lines: &Cited, text: &TextLines) -> Option<Self> {
        let line =
            text.places_of(lines).into_iter().min_by_key(|line| (line.abs_diff(self.line_start), *line))?;
        let mut anchor = self.found_at(line, lines.len());
        anchor.current = lines.clone();
        Some(anchor)
    }

    fn found_at(&self, line: u32, length: usize) -> Self {
        let last = line.saturating_add(u32::try_from(length.saturating_sub(1)).unwrap_or(0));
        Anchor { line_start: line, line_end: last, stale: false, ..self.clone() }
    }

    /// On these lines of the new text, counted from 0.
    fn at(&self, new: &str, from: usize, to: usize) -> Self {
        let (line_start, line_end) = (line_number(from), line_number(to));
        let current = Cited::lines(new, line_start, line_end);
        Anchor { line_start, line_end, current, stale: false, ..self.clone() }
    }

    /// Something was typed within one line of the anchor.
    fn retyped(&self, after: &str) -> Self {
        let current = Cited::lines(after, self.line_start, self.line_end);
        let emptied = current.is_empty() && !self.current.is_empty();
        let current = if emptied { self.current.clone() } else { current };
        Anchor { current, stale: emptied, ..self.clone() }
    }

    /// Says whether an edit that ends at the beginning of the first cited line leaves that line whole.
    fn starts_after(&self, edit: &BufferEdit) -> bool {
        let joined = edit.start.column != 0 && !edit.inserted.ends_with(['\n', '\r']);
        let typed_before =
            edit.start.column == 0 && !edit.inserted.is_empty() && !edit.inserted.ends_with(['\n', '\r']);
        !joined && !typed_before
    }
}

/// The line of a changed block that most looks like the first cited line which has text.
fn alike_line(ops: &[DiffOp], old: &[&str], new: &[&str], wanted: std::ops::Range<usize>) -> Option<usize> {
    let first = wanted.clone().find(|line| old.get(*line).is_some_and(|text| !text.trim().is_empty()))?;
    let block = ops
        .iter()
        .find(|op| matches!(op, DiffOp::Replace { .. }) && op.old_range().contains(&first))
        .map(DiffOp::new_range)?;
    block
        .map(|line| (line, strsim::normalized_levenshtein(old[first].trim(), new[line].trim())))
        .filter(|(_, alike)| *alike >= ALIKE)
        .max_by(|(line, alike), (other, other_alike)| alike.total_cmp(other_alike).then(other.cmp(line)))
        .map(|(line, _)| line)
}

fn line_number(from_zero: usize) -> u32 {
    u32::try_from(from_zero + 1).unwrap_or(u32::MAX)
}

/// Line breaks as editors count them: `\n`, `\r\n` and a lone `\r`.
fn newlines(text: &str) -> u32 {
    let bytes = text.as_bytes();
    let count = bytes
        .iter()
        .enumerate()
        .filter(|(at, byte)| **byte == b'\n' || (**byte == b'\r' && bytes.get(at + 1) != Some(&b'\n')))
        .count();
    u32::try_from(count).unwrap_or(u32::MAX)
}
