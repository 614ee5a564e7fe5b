//! Lengths of time as people write them: `90s`, `5m`, `1h30m`, `250ms`.

use std::time::Duration;

use serde::{Deserialize, Deserializer, Serializer, de::Error};

/// The longest that is taken: a week. Anything longer is a slip of the pen.
const LONGEST: Duration = Duration::from_secs(7 * 24 * 60 * 60);

/// Reads one or more numbers with units, greatest unit first not required, each unit at most once.
pub(super) fn parse(text: &str) -> Result<Duration, String> {
    let wrong = || format!("`{text}` is no length of time; write it like `90s`, `5m` or `1h30m`");
    let mut rest = text.trim();
    if rest.is_empty() {
        return Err(wrong());
    }
    let mut total = Duration::ZERO;
    let mut seen = Vec::new();
    while !rest.is_empty() {
        let digits = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_digit()).len();
        let number: u64 = rest[..digits].parse().map_err(|_| wrong())?;
        rest = &rest[digits..];
        let letters = rest.len() - rest.trim_start_matches(|c: char| c.is_ascii_alphabetic()).len();
        let milliseconds = match &rest[..letters] {
            "ms" => 1,
            "s" => 1_000,
            "m" => 60_000,
            "h" => 3_600_000,
            _ => return Err(wrong()),
        };
        if seen.contains(&milliseconds) {
            return Err(wrong());
        }
        seen.push(milliseconds);
        rest = rest[letters..].trim_start();
        let part = number.checked_mul(milliseconds).ok_or_else(wrong)?;
        total = total.checked_add(Duration::from_millis(part)).ok_or_else(wrong)?;
    }
    if total.is_zero() {
        return Err(format!("`{text}` leaves no time at all"));
    }
    if total > LONGEST {
        return Err(format!("`{text}` is longer than a week"));
    }
    Ok(total)
}

/// The shortest spelling that [`parse`] reads back.
pub(super) fn format(duration: Duration) -> String {
    let mut left = duration.as_millis();
    let mut text = String::new();
    for (unit, milliseconds) in [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)] {
        if left >= milliseconds {
            text.push_str(&format!("{}{unit}", left / milliseconds));
            left %= milliseconds;
        }
    }
    text
}

pub(super) fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Duration, D::Error> {
    parse(&String::deserialize(deserializer)?).map_err(D::Error::custom)
}

pub(super) fn serialize<S: Serializer>(duration: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&format(*duration))
}

pub(super) mod optional {
    use super::*;

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Duration>, D::Error> {
        Option::<String>::deserialize(deserializer)?
            .map(|text| super::parse(&text).map_err(D::Error::custom))
            .transpose()
    }

    pub fn serialize<S: Serializer>(duration: &Option<Duration>, serializer: S) -> Result<S::Ok, S::Error> {
        match duration {
            Some(duration) => super::serialize(duration, serializer),
            None => serializer.serialize_none(),
        }
    }
}
