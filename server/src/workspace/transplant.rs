//! Moving the hunks of a fix onto another version of the same text (DESIGN 7.3). Pure: bytes in, bytes out.
//!
//! Owns the rule of what is unambiguous. `pre` is the file before the fix, with whatever unstaged hunks the user has in
//! it; `post` is the file after; `onto` is the index entry. A hunk is transplanted where every line that it replaces
//! stands in `onto`, side by side. Lines next to it may differ. Never guesses: where the answer depends on how the texts
//! are aligned (repeated lines), or where both sides changed a line, it is a [`Clash`].

use super::hunks::{Hunk, hunks, lines};

/// A hunk of the fix that has no certain place.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Clash {
    /// The fix replaces lines that are not all in the index as they were before the fix.
    #[error("the lines {first}–{last} that the fix replaced are not in the index as they were")]
    BothChanged {
        /// First replaced line of the file before the fix, from 1.
        first: usize,
        /// Last of them.
        last: usize,
    },
    /// The place between two lines, at which the fix inserts, is not one place in the index.
    #[error("there is no single place in the index for what the fix inserted after line {after}")]
    NoPlace {
        /// The line before the insertion in the file before the fix; 0 at the top.
        after: usize,
    },
    /// It fits at several places, with different results.
    #[error("the fix fits into the index in more than one way")]
    Ambiguous,
}

/// Applies the hunks `pre` → `post` to `onto`.
///
/// On success the result has exactly the lines of `onto`, less those the fix removed, plus those it added.
pub fn transplant(pre: &[u8], post: &[u8], onto: &[u8]) -> Result<Vec<u8>, Clash> {
    if pre == onto {
        return Ok(post.to_vec());
    }
    if pre == post {
        return Ok(onto.to_vec());
    }
    let (old, new, target) = (lines(pre), lines(post), lines(onto));
    let users = hunks(pre, onto);
    let fix = hunks(pre, post);
    let mut answer: Option<Vec<u8>> = None;
    // Among repeated lines a diff may sit at several places. Both ends of each slide are tried on both sides. For the
    // user's hunks each alignment must give the answer; for the fix's, each alignment that gives one must give the
    // same, since they all describe the same text.
    for users in [slid(&users, &old, &target, Slide::Up), slid(&users, &old, &target, Slide::Down)] {
        let mut first_clash = None;
        let mut found = false;
        for fix in [slid(&fix, &old, &new, Slide::Up), slid(&fix, &old, &new, Slide::Down)] {
            match apply(&users, &fix, &new, &target, old.len()) {
                Ok(text) => {
                    found = true;
                    if answer.as_ref().is_some_and(|known| *known != text) {
                        return Err(Clash::Ambiguous);
                    }
                    answer = Some(text);
                }
                Err(clash) => first_clash = first_clash.or(Some(clash)),
            }
        }
        if !found {
            return Err(match (first_clash, &answer) {
                (Some(clash), None) => clash,
                _ => Clash::Ambiguous,
            });
        }
    }
    answer.ok_or(Clash::Ambiguous)
}

/// Places every hunk of the fix and builds the text.
fn apply(
    users: &[Hunk],
    fix: &[Hunk],
    new: &[&[u8]],
    target: &[&[u8]],
    old_len: usize,
) -> Result<Vec<u8>, Clash> {
    let alignment = Alignment { users, old_len };
    let mut result: Vec<&[u8]> = Vec::with_capacity(target.len() + new.len());
    let mut at = 0;
    for hunk in fix {
        let (from, to) = alignment.place(hunk)?;
        if from < at {
            return Err(Clash::Ambiguous);
        }
        result.extend_from_slice(&target[at..from]);
        result.extend_from_slice(&new[hunk.b.0..hunk.b.1]);
        at = to;
    }
    result.extend_from_slice(&target[at..]);
    // A last line without a newline may not come to stand before another line.
    let glued = result.iter().rev().skip(1).any(|line| !line.ends_with(b"\n"));
    if glued {
        return Err(Clash::NoPlace { after: fix.last().map_or(0, |hunk| hunk.a.0) });
    }
    Ok(result.concat())
}

/// Which line of the old text is which line of the target.
struct Alignment<'a> {
    users: &'a [Hunk],
    old_len: usize,
}

impl Alignment<'_> {
    /// The line of the target that is old line `line`; `None` when the user's hunks hold it. The ends of both texts
    /// correspond to each other.
    fn of(&self, line: usize) -> Option<usize> {
        let before = self.users.partition_point(|hunk| hunk.a.1 <= line && hunk.a.0 <= line);
        if self.users.get(before).is_some_and(|hunk| hunk.a.0 <= line && line < hunk.a.1) {
            return None;
        }
        match before.checked_sub(1).map(|at| self.users[at]) {
            Some(hunk) => Some(line - hunk.a.1 + hunk.b.1),
            None => Some(line),
        }
    }

    /// Lines of the target that the hunk replaces.
    fn place(&self, hunk: &Hunk) -> Result<(usize, usize), Clash> {
        let (start, end) = hunk.a;
        if start == end {
            return self.place_insertion(start);
        }
        let clash = Clash::BothChanged { first: start + 1, last: end };
        let Some(first) = self.of(start) else { return Err(clash) };
        for (offset, line) in (start..end).enumerate() {
            if self.of(line) != Some(first + offset) {
                return Err(clash);
            }
        }
        Ok((first, first + end - start))
    }

    /// The place before old line `line`.
    fn place_insertion(&self, line: usize) -> Result<(usize, usize), Clash> {
        let before = match line.checked_sub(1) {
            Some(previous) => self.of(previous).map(|at| at + 1),
            None => Some(0),
        };
        let after = self.of_end(line);
        match (before, after) {
            (Some(before), Some(after)) if before == after => Ok((before, before)),
            // The user's hunk stands on one side only, and has an end here.
            (Some(place), None) | (None, Some(place)) => Ok((place, place)),
            _ => Err(Clash::NoPlace { after: line }),
        }
    }

    /// Like [`Alignment::of`], for the end of the text too.
    fn of_end(&self, line: usize) -> Option<usize> {
        if line < self.old_len {
            return self.of(line);
        }
        match self.users.last() {
            Some(hunk) => Some(self.old_len - hunk.a.1 + hunk.b.1),
            None => Some(self.old_len),
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Slide {
    Up,
    Down,
}

/// Moves every pure insertion and deletion as far as repeated lines let it go, without touching its neighbours.
fn slid(hunks: &[Hunk], a: &[&[u8]], b: &[&[u8]], slide: Slide) -> Vec<Hunk> {
    let mut moved = hunks.to_vec();
    let order: Vec<usize> = match slide {
        Slide::Up => (0..moved.len()).collect(),
        Slide::Down => (0..moved.len()).rev().collect(),
    };
    for at in order {
        let (floor, ceiling) = match slide {
            Slide::Up => (at.checked_sub(1).map_or(0, |previous| moved[previous].a.1 + 1), a.len()),
            Slide::Down => (0, moved.get(at + 1).map_or(a.len(), |next| next.a.0.saturating_sub(1))),
        };
        let hunk = &mut moved[at];
        let insertion = hunk.a.0 == hunk.a.1;
        if !insertion && hunk.b.0 != hunk.b.1 {
            continue;
        }
        loop {
            let (side, range) = if insertion { (b, hunk.b) } else { (a, hunk.a) };
            let can = match slide {
                Slide::Up => hunk.a.0 > floor && range.0 > 0 && side[range.0 - 1] == side[range.1 - 1],
                Slide::Down => hunk.a.1 < ceiling && range.1 < side.len() && side[range.0] == side[range.1],
            };
            if !can {
                break;
            }
            let step = |range: (usize, usize)| match slide {
                Slide::Up => (range.0 - 1, range.1 - 1),
                Slide::Down => (range.0 + 1, range.1 + 1),
            };
            (hunk.a, hunk.b) = (step(hunk.a), step(hunk.b));
        }
    }
    moved
}
