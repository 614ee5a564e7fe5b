//! The output of a program: its head and its tail in a bounded space, and the same as text that is safe to show.

use std::collections::VecDeque;

/// How many bytes of a stream are kept: the first `head` and the last `tail`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Keep {
    pub head: usize,
    pub tail: usize,
}

impl Default for Keep {
    fn default() -> Self {
        Keep { head: 64 * 1024, tail: 192 * 1024 }
    }
}

/// What was kept of one output stream.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Captured {
    pub head: Vec<u8>,
    pub tail: Vec<u8>,
    /// Bytes between head and tail that were read and not kept.
    pub dropped: u64,
}

impl Captured {
    /// All bytes, if all were kept.
    pub fn bytes(&self) -> Option<Vec<u8>> {
        (self.dropped == 0).then(|| [self.head.as_slice(), &self.tail].concat())
    }

    /// The number of bytes the program wrote.
    pub fn total(&self) -> u64 {
        self.head.len() as u64 + self.tail.len() as u64 + self.dropped
    }

    /// For people: invalid UTF-8 replaced, control codes removed, and the gap named.
    pub fn text(&self) -> String {
        clean(&self.lossy())
    }

    /// For parsers: invalid UTF-8 replaced, control codes kept, and the gap named on a line of its own.
    pub fn lossy(&self) -> String {
        if self.dropped == 0 {
            return String::from_utf8_lossy(&[self.head.as_slice(), &self.tail].concat()).into_owned();
        }
        let head = String::from_utf8_lossy(without_torn_end(&self.head));
        let tail = String::from_utf8_lossy(without_torn_start(&self.tail));
        format!("{head}\n… {} bytes left out …\n{tail}", self.dropped)
    }
}

/// A character cut in two by the gap is not invalid output, so it does not become U+FFFD.
fn without_torn_end(bytes: &[u8]) -> &[u8] {
    match std::str::from_utf8(bytes) {
        Err(error) if error.error_len().is_none() => &bytes[..error.valid_up_to()],
        _ => {
            // Invalid bytes earlier on hide a torn end from the check above, so the last three bytes are looked at.
            for back in 1..=3.min(bytes.len()) {
                let at = bytes.len() - back;
                let wants = match bytes[at] {
                    0xC2..=0xDF => 2,
                    0xE0..=0xEF => 3,
                    0xF0..=0xF4 => 4,
                    0x80..=0xBF => continue,
                    _ => break,
                };
                if back < wants {
                    return &bytes[..at];
                }
                break;
            }
            bytes
        }
    }
}

fn without_torn_start(bytes: &[u8]) -> &[u8] {
    let torn = bytes.iter().take(3).take_while(|byte| (0x80..=0xBF).contains(*byte)).count();
    &bytes[torn..]
}

/// Collects one stream in bounded space.
#[derive(Debug)]
pub(super) struct Collector {
    keep: Keep,
    head: Vec<u8>,
    tail: VecDeque<u8>,
    dropped: u64,
}

impl Collector {
    pub(super) fn new(keep: Keep) -> Self {
        Collector { keep, head: Vec::new(), tail: VecDeque::new(), dropped: 0 }
    }

    pub(super) fn push(&mut self, mut bytes: &[u8]) {
        let room = self.keep.head.saturating_sub(self.head.len());
        let (first, rest) = bytes.split_at(room.min(bytes.len()));
        self.head.extend_from_slice(first);
        bytes = rest;
        if bytes.len() > self.keep.tail {
            let cut = bytes.len() - self.keep.tail;
            self.dropped += (self.tail.len() + cut) as u64;
            self.tail.clear();
            bytes = &bytes[cut..];
        }
        let over = (self.tail.len() + bytes.len()).saturating_sub(self.keep.tail);
        self.tail.drain(..over);
        self.dropped += over as u64;
        self.tail.extend(bytes);
    }

    pub(super) fn finish(self) -> Captured {
        Captured { head: self.head, tail: self.tail.into(), dropped: self.dropped }
    }
}

/// Makes program output fit to be shown in a terminal, an editor or a log: escape sequences, NUL and other control
/// codes are removed, and so are the codes that reorder text; line ends become `\n`.
pub fn clean(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(char) = chars.next() {
        match char {
            '\n' | '\t' => out.push(char),
            // A lone carriage return is a progress display overwriting its line; each state becomes a line.
            '\r' => {
                if chars.peek() != Some(&'\n') {
                    out.push('\n');
                }
            }
            '\u{1b}' => skip_escape(&mut chars),
            '\u{9b}' => skip_control_sequence(&mut chars),
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {}
            char if char.is_control() => {}
            char => out.push(char),
        }
    }
    out
}

fn skip_escape(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    match chars.peek() {
        Some('[') => {
            chars.next();
            skip_control_sequence(chars);
        }
        // Operating system command, device control and the like: up to BEL or ST. An unterminated one ends with its
        // line, so that it cannot swallow the rest of the output.
        Some(']' | 'P' | 'X' | '^' | '_') => {
            chars.next();
            while let Some(&char) = chars.peek() {
                match char {
                    '\n' => return,
                    '\u{7}' => {
                        chars.next();
                        return;
                    }
                    '\u{1b}' => {
                        chars.next();
                        if chars.peek() == Some(&'\\') {
                            chars.next();
                        }
                        return;
                    }
                    _ => {
                        chars.next();
                    }
                }
            }
        }
        // Charset selection and the like: intermediates, then one final byte.
        Some(' '..='/') => {
            while matches!(chars.peek(), Some(' '..='/')) {
                chars.next();
            }
            if matches!(chars.peek(), Some('0'..='~')) {
                chars.next();
            }
        }
        Some('0'..='~') => {
            chars.next();
        }
        _ => {}
    }
}

fn skip_control_sequence(chars: &mut std::iter::Peekable<std::str::Chars<'_>>) {
    while matches!(chars.peek(), Some(' '..='?')) {
        chars.next();
    }
    if matches!(chars.peek(), Some('@'..='~')) {
        chars.next();
    }
}
