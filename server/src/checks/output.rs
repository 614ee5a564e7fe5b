//! Cutting a check's output to what is shown and to what is compared (R38).
//!
//! Works on text only. Capturing bytes within bounds and stripping control codes is [`crate::process`]'s.

use std::sync::LazyLock;

use regex::Regex;

/// How much of a run's output is kept for showing, in bytes.
const HEAD: usize = 4 * 1024;
const TAIL: usize = 16 * 1024;
/// How many lines at the end are compared when no test names are known.
const COMPARED_LINES: usize = 40;

/// Head and tail of a text within bounds, with what was left out said in between.
pub struct Excerpt;

impl Excerpt {
    /// As kept with a run.
    pub fn of_run(text: &str) -> String {
        Self::bounded(text, HEAD, TAIL)
    }

    /// At most about `head + tail` bytes, cut at character boundaries.
    pub fn bounded(text: &str, head: usize, tail: usize) -> String {
        if text.len() <= head + tail {
            return text.to_owned();
        }
        let mut end = head;
        while !text.is_char_boundary(end) {
            end -= 1;
        }
        let mut start = text.len() - tail;
        while !text.is_char_boundary(start) {
            start += 1;
        }
        format!("{}\n[… {} bytes left out …]\n{}", &text[..end], start - end, &text[start..])
    }
}

static VARYING: LazyLock<[(Regex, &'static str); 7]> = LazyLock::new(|| {
    let regex = |pattern| Regex::new(pattern).expect("the pattern is a constant");
    [
        (regex(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?Z?"), "<time>"),
        (regex(r"\b\d\d?:\d\d:\d\d(?:[.,]\d+)?\b"), "<time>"),
        (regex(r"0x[0-9a-fA-F]+"), "<address>"),
        (regex(r"(?:/private)?(?:/var/folders|/tmp|/var/tmp)/[^\s'\x22:)]+"), "<temporary>"),
        (regex(r"\b\d+(?:\.\d+)?\s?(?:ns|µs|us|ms|s|sec|secs|seconds?|minutes?|m)\b"), "<duration>"),
        (regex(r"(?i)\b(pid|process|thread)[ =:(]+\d+"), "$1 <id>"),
        (regex(r"-[0-9a-f]{16}\b"), "-<hash>"),
    ]
});

/// The last lines without what differs from run to run, for comparing two runs that name no tests.
pub(super) fn comparable_tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let mut tail = lines[lines.len().saturating_sub(COMPARED_LINES)..].join("\n");
    for (pattern, replacement) in VARYING.iter() {
        tail = pattern.replace_all(&tail, *replacement).into_owned();
    }
    tail
}
