//! Which lines differ between two texts.
//!
//! Owns splitting bytes into lines and finding hunks (with git's own diff, so that large files stay fast). Never decodes
//! text: a line is bytes up to and including its newline.

/// Lines `a.0..a.1` of the old text are replaced by lines `b.0..b.1` of the new one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Hunk {
    pub(super) a: (usize, usize),
    pub(super) b: (usize, usize),
}

/// The lines of a text, each with its newline.
pub(super) fn lines(text: &[u8]) -> Vec<&[u8]> {
    text.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The differences, in order, none of them touching the next.
pub(super) fn hunks(a: &[u8], b: &[u8]) -> Vec<Hunk> {
    if a == b {
        return Vec::new();
    }
    let mut options = git2::DiffOptions::new();
    options.context_lines(0).interhunk_lines(0).force_text(true).indent_heuristic(false);
    let whole = || {
        let hunk = Hunk { a: (0, lines(a).len()), b: (0, lines(b).len()) };
        vec![hunk]
    };
    // A text that is too large for git's diff differs as a whole.
    let Ok(patch) = git2::Patch::from_buffers(a, None, b, None, Some(&mut options)) else { return whole() };
    let mut found = Vec::with_capacity(patch.num_hunks());
    for at in 0..patch.num_hunks() {
        let Ok((hunk, _)) = patch.hunk(at) else { return whole() };
        // For an empty side git gives the line before it, counted from 1; that is the index of the one after it.
        let range = |start: u32, count: u32| {
            let start = if count == 0 { start } else { start.saturating_sub(1) } as usize;
            (start, start + count as usize)
        };
        found.push(Hunk {
            a: range(hunk.old_start(), hunk.old_lines()),
            b: range(hunk.new_start(), hunk.new_lines()),
        });
    }
    found
}

/// Whether git would call it binary: a NUL within the first 8000 bytes.
pub(super) fn is_binary(bytes: &[u8]) -> bool {
    bytes[..bytes.len().min(8000)].contains(&0)
}
