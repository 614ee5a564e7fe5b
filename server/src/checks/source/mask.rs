//! Blanking comments and the insides of strings, so that structure can be seen with simple means.
//!
//! The mask has the same bytes per line as the text, so positions in one are positions in the other.

use super::Language;

/// What can be seen of a text.
pub(in crate::checks) struct Masked {
    /// Comments and string contents replaced by spaces; quotes and line breaks stay.
    pub mask: String,
    /// Only comments replaced.
    pub code: String,
}

pub(in crate::checks) fn mask(language: Language, text: &str) -> Masked {
    let bytes = text.as_bytes();
    let (mut mask, mut code) = (bytes.to_vec(), bytes.to_vec());
    let mut at = 0;
    while at < bytes.len() {
        let rest = &bytes[at..];
        let span = match language {
            Language::Python => python(rest),
            Language::Script => script(rest, &bytes[..at]),
            Language::Rust => rust(rest, &bytes[..at]),
            Language::Go => go(rest),
        };
        match span {
            Some((length, edge)) => {
                let length = length.min(rest.len());
                blank(&mut mask[at..at + length], edge);
                if edge == 0 {
                    blank(&mut code[at..at + length], 0);
                }
                at += length.max(1);
            }
            None => at += 1,
        }
    }
    // Whole characters were blanked byte by byte, so what is left is valid.
    let text = |bytes: Vec<u8>| {
        String::from_utf8(bytes)
            .unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
    };
    Masked { mask: text(mask), code: text(code) }
}

/// Replaces all but line breaks, leaving `edge` bytes at both ends (the quotes).
fn blank(bytes: &mut [u8], edge: usize) {
    let length = bytes.len();
    for (index, byte) in bytes.iter_mut().enumerate() {
        if *byte != b'\n' && index >= edge && index + edge < length {
            *byte = b' ';
        }
    }
}

/// Length of what starts here and how much of its ends stays; `None` for ordinary code.
type Span = Option<(usize, usize)>;

fn python(rest: &[u8]) -> Span {
    match rest[0] {
        b'#' => Some((line(rest), 0)),
        quote @ (b'"' | b'\'') => {
            let triple = [quote; 3];
            if rest.starts_with(&triple) {
                Some((closing(rest, &triple, 3, true), 3))
            } else {
                Some((quoted(rest, quote, false), 1))
            }
        }
        _ => None,
    }
}

fn script(rest: &[u8], before: &[u8]) -> Span {
    match rest[0] {
        b'/' if rest.starts_with(b"//") => Some((line(rest), 0)),
        b'/' if rest.starts_with(b"/*") => Some((closing(rest, b"*/", 2, false), 0)),
        // A slash after an operator or an opening bracket begins a regular expression.
        b'/' => {
            let previous = before.iter().rev().find(|byte| !byte.is_ascii_whitespace());
            let begins = previous.is_none_or(|byte| b"(,=:[!&|?{};+-*%<>~^".contains(byte));
            let one_line = &rest[..line(rest)];
            (begins && one_line[1..].contains(&b'/')).then(|| (quoted(rest, b'/', false), 1))
        }
        quote @ (b'"' | b'\'') => Some((quoted(rest, quote, false), 1)),
        b'`' => Some((quoted(rest, b'`', true), 1)),
        _ => None,
    }
}

fn rust(rest: &[u8], before: &[u8]) -> Span {
    match rest[0] {
        b'/' if rest.starts_with(b"//") => Some((line(rest), 0)),
        b'/' if rest.starts_with(b"/*") => Some((nested(rest), 0)),
        b'"' => Some((quoted(rest, b'"', true), 1)),
        b'r' if !before.last().is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_') => {
            let hashes = rest[1..].iter().take_while(|byte| **byte == b'#').count();
            if rest.get(1 + hashes) != Some(&b'"') {
                return None;
            }
            let mut end = vec![b'"'];
            end.extend(std::iter::repeat_n(b'#', hashes));
            Some((closing(rest, &end, hashes + 2, false), hashes + 1))
        }
        // A character, not a lifetime.
        b'\'' => match rest {
            [_, b'\\', ..] => Some((quoted(rest, b'\'', false), 1)),
            [_, _, b'\'', ..] => Some((3, 1)),
            _ => None,
        },
        _ => None,
    }
}

fn go(rest: &[u8]) -> Span {
    match rest[0] {
        b'/' if rest.starts_with(b"//") => Some((line(rest), 0)),
        b'/' if rest.starts_with(b"/*") => Some((closing(rest, b"*/", 2, false), 0)),
        b'`' => Some((closing(rest, b"`", 1, false), 1)),
        quote @ (b'"' | b'\'') => Some((quoted(rest, quote, false), 1)),
        _ => None,
    }
}

fn line(rest: &[u8]) -> usize {
    rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len())
}

/// A quoted string with backslash escapes. One that may not span lines ends with its line if it is never closed.
fn quoted(rest: &[u8], quote: u8, spans_lines: bool) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 1,
            b'\n' if !spans_lines => return at,
            byte if byte == quote => return at + 1,
            _ => {}
        }
        at += 1;
    }
    rest.len()
}

fn closing(rest: &[u8], end: &[u8], from: usize, escapes: bool) -> usize {
    let mut at = from;
    while at < rest.len() {
        if escapes && rest[at] == b'\\' {
            at += 2;
            continue;
        }
        if rest[at..].starts_with(end) {
            return at + end.len();
        }
        at += 1;
    }
    rest.len()
}

fn nested(rest: &[u8]) -> usize {
    let mut depth = 0usize;
    let mut at = 0;
    while at < rest.len() {
        if rest[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if rest[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    rest.len()
}
