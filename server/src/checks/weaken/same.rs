//! Edits of a test that change its words and not what it demands: another name for a local variable, a message, the same
//! comparison in another style.
//!
//! Pure, and narrow on purpose: what is not recognised here is shown to people, which costs them a look.

use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::LazyLock;

use regex::Regex;

use crate::checks::source::{Source, Unit};

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("the pattern is a constant")
}

/// Calls that compare two values, with the first of its arguments that is one.
static CALL: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r"^(?:(self\.assertEqual|assert_eq!|assert\.(?:strictEqual|deepStrictEqual|equal|deepEqual)|t\.(?:is|deepEqual))\(|((?:assert|require)\.Equal)\(t, )",
    )
});
static EXPECT: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(?:await )?expect\(.*\)\.(toBe|toEqual|toStrictEqual)\(.*\)$"));

/// What a comparison demands: its kind and its two sides in either order.
fn demand(text: &str) -> Option<(&str, Vec<&str>)> {
    if let Some(hit) = CALL.captures(text) {
        let arguments = arguments(text, hit.get(0)?.end())?;
        let kind = match hit.get(1).or(hit.get(2))?.as_str() {
            "assert.strictEqual" | "t.is" => "same",
            "assert.deepStrictEqual" => "deep",
            "self.assertEqual" => "==",
            "assert_eq!" | "assert.Equal" | "require.Equal" => "equal",
            other => other,
        };
        return two(kind, arguments);
    }
    if let Some(hit) = EXPECT.captures(text) {
        let open = text.find("expect(")? + "expect(".len();
        let first = arguments(text, open)?;
        let second = arguments(text, hit.get(1)?.end() + 1)?;
        let kind = match &hit[1] {
            "toBe" => "same",
            "toStrictEqual" => "deep",
            _ => "toEqual",
        };
        return two(kind, vec![*first.first()?, *second.first()?]);
    }
    let condition = text.strip_prefix("assert ")?;
    let condition = *split(condition, ',')?.first()?;
    if [" and ", " or ", " not ", " if "].iter().any(|word| condition.contains(word)) {
        return Some(("truth", vec![condition]));
    }
    match condition.split_once(" == ") {
        Some((left, right)) if !right.contains(" == ") => two("==", vec![left, right]),
        _ => Some(("truth", vec![condition])),
    }
}

fn two<'a>(kind: &'a str, sides: Vec<&'a str>) -> Option<(&'a str, Vec<&'a str>)> {
    let mut sides: Vec<&str> = sides.into_iter().take(2).collect();
    sides.sort_unstable();
    (sides.len() == 2).then_some((kind, sides))
}

/// The arguments from `from` to the bracket that closes their call.
fn arguments(text: &str, from: usize) -> Option<Vec<&str>> {
    let mut depth = 1;
    let mut quote = None;
    for (offset, c) in text.get(from..)?.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => {
                depth -= 1;
                if depth == 0 {
                    return split(&text[from..from + offset], ',');
                }
            }
            _ => {}
        }
    }
    None
}

/// Splits outside of brackets and strings.
fn split(text: &str, at: char) -> Option<Vec<&str>> {
    let (mut depth, mut quote, mut start) = (0i32, None, 0);
    let mut parts = Vec::new();
    for (offset, c) in text.char_indices() {
        match (quote, c) {
            (Some(open), c) if c == open => quote = None,
            (Some(_), _) => {}
            (None, '"' | '\'' | '`') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth -= 1,
            (None, c) if c == at && depth == 0 => {
                parts.push(text[start..offset].trim());
                start = offset + c.len_utf8();
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    (depth == 0 && quote.is_none()).then_some(parts)
}

/// Whether two assertions demand the same in other words.
pub(super) fn same_demand(before: &str, after: &str) -> bool {
    matches!((demand(before), demand(after)), (Some(was), Some(now)) if was == now)
}

static TOKEN: LazyLock<Regex> = LazyLock::new(|| regex(r"[\p{L}_][\p{L}\p{N}_]*|[0-9][\w.]*|[^\s\w]"));

/// Whether a test differs by the names of its local variables (and its own) alone.
pub(super) fn is_renamed(was: &Source<'_>, old: &Unit, now: &Source<'_>, new: &Unit) -> bool {
    let (before, after) = (whole(old), whole(new));
    let (was_mask, now_mask) = (&was.mask[before.clone()], &now.mask[after.clone()]);
    if strings(was, before) != strings(now, after) {
        return false;
    }
    let tokens = |text: &'_ str| -> Vec<String> {
        TOKEN.find_iter(text).map(|token| token.as_str().to_owned()).collect()
    };
    let (was_tokens, now_tokens) = (tokens(was_mask), tokens(now_mask));
    if was_tokens.len() != now_tokens.len() {
        return false;
    }
    let mut names: BTreeMap<&str, &str> = BTreeMap::new();
    let mut back: BTreeMap<&str, &str> = BTreeMap::new();
    for (from, to) in was_tokens.iter().zip(&now_tokens) {
        if *names.entry(from).or_insert(to) != to || *back.entry(to).or_insert(from) != from {
            return false;
        }
    }
    let own = |unit: &Unit| unit.name.rsplit(['.', ' ']).next().unwrap_or_default().to_owned();
    names.iter().filter(|(from, to)| from != to).all(|(from, to)| {
        (own(old) == **from && own(new) == **to) || is_local(was_mask, from) && is_local(now_mask, to)
    })
}

fn whole(unit: &Unit) -> Range<usize> {
    unit.header.start.min(unit.body.start)..unit.body.end
}

/// What stands in strings, which the mask does not show.
fn strings(source: &Source<'_>, range: Range<usize>) -> Vec<u8> {
    let (code, mask) = (source.code.as_bytes(), source.mask.as_bytes());
    range.filter(|&at| code[at] != mask[at]).map(|at| code[at]).collect()
}

/// Whether a name is given a value, or is a parameter, in this text.
fn is_local(text: &str, name: &str) -> bool {
    let is_name = name.chars().next().is_some_and(|c| c.is_alphabetic() || c == '_');
    if !is_name {
        return false;
    }
    let name = regex::escape(name);
    Regex::new(&format!(
        r"\b(?:let|const|var|mut|for|as)\s+(?:mut\s+)?{name}\b|\b{name}\s*(?::[^=\n]*)?(?::=|=[^=>])|\b(?:def|fn|func)\s+\w+\([^)]*\b{name}\b|\([^()]*\b{name}\b[^()]*\)\s*=>|\b{name}\s*=>"
    ))
    .is_ok_and(|bound| bound.is_match(text))
}
