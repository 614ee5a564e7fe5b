//! Damage to a text that a fix never needs: a lost byte order mark, other line endings, another encoding (R33).
//!
//! Owns the judgement on the bytes before and after. Pure; never reads a file.

use std::borrow::Cow;

use super::breach::Breach;
use super::hunks::{hunks, is_binary, lines};
use super::path::RepoPath;

const UTF8_BOM: &[u8] = b"\xef\xbb\xbf";
const UTF16_BOMS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];
const REPLACEMENT: &str = "\u{fffd}";

/// Everything that is damaged in `after`.
pub(super) fn find(path: &RepoPath, before: &[u8], after: &[u8]) -> Vec<Breach> {
    if after.is_empty() {
        return Vec::new();
    }
    let mut found = Vec::new();
    let bom = |text: &[u8]| {
        [UTF8_BOM].into_iter().chain(UTF16_BOMS).find(|bom| text.starts_with(bom)).map(<[u8]>::len)
    };
    if bom(before).is_some() && bom(after) != bom(before) {
        found.push(Breach::LostBom { path: path.clone() });
    }
    if let Some(what) = encoding_damage(before, after) {
        found.push(Breach::Encoding { path: path.clone(), what: what.to_owned() });
    }
    if !is_binary(before) && !is_binary(after) {
        let lines = flipped_endings(before, after);
        if lines > 0 {
            found.push(Breach::LineEndings { path: path.clone(), lines });
        }
    }
    found
}

/// Lines that are the same but for `\n` against `\r\n`. A missing newline at the end of the file is neither.
fn flipped_endings(before: &[u8], after: &[u8]) -> usize {
    let ending = |line: &&[u8]| match line {
        [.., b'\r', b'\n'] => Some(true),
        [.., b'\n'] => Some(false),
        _ => None,
    };
    let plain = |text: &[u8]| -> Vec<u8> {
        let mut out = Vec::with_capacity(text.len());
        for line in lines(text) {
            out.extend_from_slice(line.strip_suffix(b"\r\n").or(line.strip_suffix(b"\n")).unwrap_or(line));
            out.push(b'\n');
        }
        out
    };
    let (old, new) = (lines(before), lines(after));
    if old.iter().chain(&new).all(|line| ending(line) != Some(true)) {
        return 0;
    }
    let mut flipped = 0;
    let (mut a, mut b) = (0, 0);
    let differing = hunks(&plain(before), &plain(after));
    let ends = differing.iter().map(|hunk| (hunk.a, hunk.b)).chain([((old.len(), 0), (new.len(), 0))]);
    for ((a_start, a_end), (_, b_end)) in ends {
        while a < a_start && a < old.len() && b < new.len() {
            let (was, is) = (ending(&old[a]), ending(&new[b]));
            // An empty line says nothing about the file; it matches anything.
            flipped += usize::from(was.is_some() && is.is_some() && was != is);
            (a, b) = (a + 1, b + 1);
        }
        (a, b) = (a_end, b_end);
    }
    flipped
}

fn encoding_damage(before: &[u8], after: &[u8]) -> Option<&'static str> {
    let replacements =
        |text: &[u8]| text.windows(3).filter(|window| *window == REPLACEMENT.as_bytes()).count();
    if replacements(after) > replacements(before) {
        return Some("characters were replaced by U+FFFD; the file was read in the wrong encoding");
    }
    let utf16 = |text: &[u8]| UTF16_BOMS.iter().any(|bom| text.starts_with(bom));
    if utf16(before) || utf16(after) {
        return None;
    }
    match (std::str::from_utf8(before), std::str::from_utf8(after)) {
        (Ok(text), Err(_)) if !text.is_ascii() => Some("the file is no longer UTF-8"),
        (Err(_), _) => reencoded(before, after).then_some("lines that are not UTF-8 were re-encoded"),
        _ => None,
    }
}

/// Whether a line with bytes that are no UTF-8 came back as the UTF-8 of the same Latin-1 or Windows-1252 text.
fn reencoded(before: &[u8], after: &[u8]) -> bool {
    let now: std::collections::HashSet<Cow<'_, str>> =
        lines(after).into_iter().map(|line| String::from_utf8_lossy(trimmed(line))).collect();
    let kept: std::collections::HashSet<&[u8]> = lines(after).into_iter().map(trimmed).collect();
    lines(before)
        .into_iter()
        .map(trimmed)
        .filter(|line| std::str::from_utf8(line).is_err() && !kept.contains(line))
        .any(|line| {
            let latin: String = line.iter().map(|byte| char::from(*byte)).collect();
            let windows: String = line.iter().map(|byte| windows_1252(*byte)).collect();
            let dropped: String =
                line.iter().filter(|byte| byte.is_ascii()).map(|byte| char::from(*byte)).collect();
            [latin, windows, dropped].iter().any(|text| now.contains(text.as_str()))
        })
}

fn trimmed(line: &[u8]) -> &[u8] {
    line.trim_ascii_end()
}

/// Windows-1252 is Latin-1 with printable characters in 0x80–0x9f.
fn windows_1252(byte: u8) -> char {
    const HIGH: [char; 32] = [
        '€', '\u{81}', '‚', 'ƒ', '„', '…', '†', '‡', 'ˆ', '‰', 'Š', '‹', 'Œ', '\u{8d}', 'Ž', '\u{8f}',
        '\u{90}', '‘', '’', '“', '”', '•', '–', '—', '˜', '™', 'š', '›', 'œ', '\u{9d}', 'ž', 'Ÿ',
    ];
    match byte {
        0x80..=0x9f => HIGH[usize::from(byte - 0x80)],
        byte => char::from(byte),
    }
}
