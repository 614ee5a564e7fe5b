//! Places in a TOML text: where a byte stands, and where the value of a key stands.

use std::ops::Range;

use toml::de::{DeTable, DeValue};

/// Line and column of a byte, from 1, the column in code points.
pub(super) fn of_byte(text: &str, byte: usize) -> (u32, u32) {
    let mut end = byte.min(text.len());
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let before = &text[..end];
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let line = before.matches('\n').count() + 1;
    let column = before[line_start..].chars().count() + 1;
    (saturate(line), saturate(column))
}

fn saturate(number: usize) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

/// The bytes of the value that the keys lead to (numbers are places in a list), or of the last part of the way that is
/// there.
pub(super) fn of_value(text: &str, keys: &[String]) -> Option<Range<usize>> {
    let table = DeTable::parse(text).ok()?;
    let (first, rest) = keys.split_first()?;
    let mut found = table.get_ref().get(first.as_str())?;
    for key in rest {
        let next = match found.get_ref() {
            DeValue::Table(table) => table.get(key.as_str()),
            DeValue::Array(array) => key.parse::<usize>().ok().and_then(|index| array.get(index)),
            _ => None,
        };
        let Some(next) = next else { break };
        found = next;
    }
    Some(found.span())
}
