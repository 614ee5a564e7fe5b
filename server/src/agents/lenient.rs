//! Reading single fields as models write them: numbers as text, words in any case, a list where a text was asked for.
//! Lenient about form only: a word that is not one of those asked for is an error, never a default.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// One of an enum's words, in any case, with spaces, `_` or `-`.
pub(super) fn word<'de, D: Deserializer<'de>, T: DeserializeOwned>(from: D) -> Result<T, D::Error> {
    let value = Value::deserialize(from)?;
    read_word(&value).map_err(D::Error::custom)
}

/// Like [`word`]; null is absent.
pub(super) fn maybe_word<'de, D: Deserializer<'de>, T: DeserializeOwned>(
    from: D,
) -> Result<Option<T>, D::Error> {
    match Value::deserialize(from)? {
        Value::Null => Ok(None),
        value => read_word(&value).map(Some).map_err(D::Error::custom),
    }
}

fn read_word<T: DeserializeOwned>(value: &Value) -> Result<T, serde_json::Error> {
    let Value::String(text) = value else { return serde_json::from_value(value.clone()) };
    let plain = text.trim().trim_matches(['[', ']', '*', '`', '"', '.']).trim();
    let (lower, upper) = (plain.to_lowercase(), plain.to_uppercase());
    let join = |text: &str, with: &str| text.replace([' ', '-', '_'], with);
    let spellings = [
        plain.to_owned(),
        lower.clone(),
        upper.clone(),
        join(&lower, "_"),
        join(&lower, "-"),
        join(&upper, "_"),
        join(&upper, "-"),
    ];
    spellings
        .into_iter()
        .find_map(|spelling| serde_json::from_value(Value::String(spelling)).ok())
        .map_or_else(|| serde_json::from_value(value.clone()), Ok)
}

/// A text; lists are joined by lines, other values keep their JSON form, null is empty.
pub(super) fn text<'de, D: Deserializer<'de>>(from: D) -> Result<String, D::Error> {
    Ok(as_text(&Value::deserialize(from)?))
}

/// Like [`text`]; null, blank and "none" are absent.
pub(super) fn maybe_text<'de, D: Deserializer<'de>>(from: D) -> Result<Option<String>, D::Error> {
    let text = as_text(&Value::deserialize(from)?);
    let said = !matches!(text.trim().to_lowercase().as_str(), "" | "none" | "null" | "n/a" | "-");
    Ok(said.then_some(text))
}

pub(super) fn as_text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.trim().to_owned(),
        Value::Array(items) => items.iter().map(as_text).collect::<Vec<_>>().join("\n"),
        other => other.to_string(),
    }
}

/// A list of texts; a single text is a list of one, null is empty.
pub(super) fn texts<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<String>, D::Error> {
    let texts = match Value::deserialize(from)? {
        Value::Null => Vec::new(),
        Value::Array(items) => items.iter().map(as_text).collect(),
        Value::String(text) => vec![text.trim().to_owned()],
        other => return Err(D::Error::custom(format!("expected a list of strings, found {other}"))),
    };
    Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
}

/// A line number or the like: `7`, `7.0`, `"7"`, `"7-8"` (its start); null, 0 and below are absent.
pub(super) fn maybe_line<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let value = Value::deserialize(from)?;
    let number = match &value {
        Value::Null => return Ok(None),
        Value::Number(number) => number.as_f64(),
        Value::String(text) if text.trim().is_empty() => return Ok(None),
        Value::String(text) => {
            let digits = text.trim().trim_start_matches(['L', 'l']);
            let end = digits.find(|char: char| !char.is_ascii_digit()).unwrap_or(digits.len());
            digits[..end].parse().ok()
        }
        _ => None,
    };
    match number {
        Some(number) if number >= 1.0 && number <= f64::from(u32::MAX) => Ok(Some(number as u32)),
        Some(_) => Ok(None),
        None => Err(D::Error::custom(format!("expected a line number, found {value}"))),
    }
}

/// A count, or a list that is counted.
pub(super) fn maybe_count<'de, D: Deserializer<'de>>(from: D) -> Result<Option<u32>, D::Error> {
    let value = Value::deserialize(from)?;
    match &value {
        Value::Null => Ok(None),
        Value::Array(items) => Ok(u32::try_from(items.len()).ok()),
        Value::Number(number) => {
            number.as_u64().and_then(|number| u32::try_from(number).ok()).map(Some).ok_or(())
        }
        Value::String(text) => text.trim().parse().map(Some).map_err(drop),
        _ => Err(()),
    }
    .map_err(|()| D::Error::custom(format!("expected a count, found {value}")))
}

/// Ids of the brief: `1`, `"1"`, `"#1"`.
pub(super) fn ids<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<u32>, D::Error> {
    let items = match Value::deserialize(from)? {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        single => vec![single],
    };
    items
        .iter()
        .map(|item| {
            as_text(item)
                .trim_start_matches('#')
                .parse()
                .map_err(|_| D::Error::custom(format!("{item} is no id of the brief")))
        })
        .collect()
}

/// Reasons by cause; also as a list of objects with `cause` and `reason`.
pub(super) fn reasons<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<indexmap::IndexMap<String, String>, D::Error> {
    let pairs: Vec<(String, String)> = match Value::deserialize(from)? {
        Value::Null => Vec::new(),
        Value::Object(map) => map.iter().map(|(cause, reason)| (cause.clone(), as_text(reason))).collect(),
        Value::Array(items) => items
            .iter()
            .map(|item| {
                (
                    item.get("cause").map(as_text).unwrap_or_default(),
                    item.get("reason").map(as_text).unwrap_or_default(),
                )
            })
            .collect(),
        other => return Err(D::Error::custom(format!("expected reasons by cause, found {other}"))),
    };
    Ok(pairs
        .into_iter()
        .map(|(cause, reason)| (cause.trim().to_lowercase().replace([' ', '_'], "-"), reason))
        .filter(|(cause, reason)| !cause.is_empty() && !reason.is_empty())
        .collect())
}
