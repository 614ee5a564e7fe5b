//! Which finding is which (DESIGN 5 "Identity", R10).
//!
//! A finding is recognised by what it says about which code: file, criterion, title and the cited lines with their white
//! space normalised, and by an ordinal where the same lines stand in several places. The id that the review gave is for
//! display only. The title tells findings apart only where the place does not: a re-run that words it differently, at the
//! same place and for the same criterion, is the same finding.

use std::collections::HashMap;
use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sha2::{Digest, Sha256};

use super::finding::Finding;

/// The identity of a finding: 16 hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct Fingerprint(String);

impl Fingerprint {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl AsRef<str> for Fingerprint {
    fn as_ref(&self) -> &str {
        &self.0
    }
}

/// A fingerprint that was written down before (the ledger, a request). It is not computed, so it may match nothing.
impl From<String> for Fingerprint {
    fn from(digits: String) -> Self {
        Fingerprint(digits)
    }
}

impl From<&str> for Fingerprint {
    fn from(digits: &str) -> Self {
        Fingerprint(digits.to_owned())
    }
}

/// The cited lines, one hash a line, white space normalised and blank lines at both ends left out.
///
/// Empty where nothing is cited: the whole file, or blank lines only.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Cited(Vec<u64>);

impl Cited {
    /// Lines `start` to `end` of the text, from 1 and inclusive. Lines outside the text are not cited.
    pub fn lines(text: &str, start: u32, end: u32) -> Self {
        let start = start.max(1);
        let skipped = start as usize - 1;
        let count = end.saturating_sub(start) as usize + 1;
        Cited(trimmed(text.lines().skip(skipped).take(count).map(line_hash).collect()))
    }

    /// No lines.
    pub const fn nothing() -> Self {
        Cited(Vec::new())
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// How many lines are cited.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// The first lines (from 1) of all places where these lines stand in the text.
    pub fn places_in(&self, text: &str) -> Vec<u32> {
        if self.0.is_empty() {
            return Vec::new();
        }
        let hashes: Vec<u64> = text.lines().map(line_hash).collect();
        hashes
            .windows(self.0.len())
            .enumerate()
            .filter(|(_, window)| *window == self.0)
            .map(|(at, _)| u32::try_from(at + 1).unwrap_or(u32::MAX))
            .collect()
    }
}

/// The lines of one text, hashed once: hundreds of findings are often about one file.
#[derive(Clone, Debug)]
pub struct TextLines {
    hashes: Vec<u64>,
    /// From a hash to the lines with it, from 0.
    at: HashMap<u64, Vec<usize>>,
}

impl TextLines {
    pub fn of(text: &str) -> Self {
        let hashes: Vec<u64> = text.lines().map(line_hash).collect();
        let mut at: HashMap<u64, Vec<usize>> = HashMap::new();
        for (line, hash) in hashes.iter().enumerate() {
            at.entry(*hash).or_default().push(line);
        }
        TextLines { hashes, at }
    }

    /// At least one.
    pub fn count(&self) -> u32 {
        u32::try_from(self.hashes.len()).unwrap_or(u32::MAX).max(1)
    }

    /// As [`Cited::lines`].
    pub fn cited(&self, start: u32, end: u32) -> Cited {
        let from = (start.max(1) as usize - 1).min(self.hashes.len());
        let to = (end.max(start.max(1)) as usize).min(self.hashes.len());
        Cited(trimmed(self.hashes[from..to].to_vec()))
    }

    /// As [`Cited::places_in`].
    pub fn places_of(&self, cited: &Cited) -> Vec<u32> {
        let Some(first) = cited.0.first() else { return Vec::new() };
        let starts = self.at.get(first).map(Vec::as_slice).unwrap_or_default();
        let here = |at: &&usize| self.hashes[**at..].starts_with(&cited.0);
        starts.iter().filter(here).map(|at| u32::try_from(at + 1).unwrap_or(u32::MAX)).collect()
    }
}

impl Serialize for Cited {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let digits: String = self.0.iter().map(|hash| format!("{hash:016x}")).collect();
        serializer.serialize_str(&digits)
    }
}

impl<'de> Deserialize<'de> for Cited {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let digits = String::deserialize(deserializer)?;
        let bytes = hex::decode(&digits).map_err(serde::de::Error::custom)?;
        let (hashes, rest) = bytes.as_chunks::<8>();
        if !rest.is_empty() {
            return Err(serde::de::Error::custom("cited lines are 16 digits each"));
        }
        Ok(Cited(hashes.iter().map(|hash| u64::from_be_bytes(*hash)).collect()))
    }
}

fn trimmed(mut hashes: Vec<u64>) -> Vec<u64> {
    let blank = line_hash("");
    let last = hashes.iter().rposition(|hash| *hash != blank).map_or(0, |at| at + 1);
    hashes.truncate(last);
    let first = hashes.iter().position(|hash| *hash != blank).unwrap_or(0);
    hashes.drain(..first);
    hashes
}

/// FNV-1a over the words of a line: every edit looks for cited lines in the whole buffer, so this has to be cheap, and it
/// has to give the same value in every run. A byte order mark is not part of the first line.
fn line_hash(line: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for word in line.trim_start_matches('\u{feff}').split_whitespace() {
        for byte in word.bytes().chain([b' ']) {
            hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }
    hash
}

/// What identifies one finding of one review.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity<'a> {
    pub file: Option<&'a str>,
    pub criterion: Option<&'a str>,
    pub title: &'a str,
    pub cited: &'a Cited,
    /// Which of the places with these lines it is, from 0.
    pub ordinal: u32,
    /// The line as given, where the cited lines could not be read.
    pub unread_line: Option<u32>,
}

impl Identity<'_> {
    /// Says whether file, criterion and cited lines alone identify the finding.
    pub fn has_place(&self) -> bool {
        self.file.is_some() && self.criterion.is_some() && !self.cited.is_empty()
    }

    /// The identity by place, or by place and title. Without a place the title always counts.
    pub fn fingerprint(&self, titled: bool) -> Fingerprint {
        let mut hasher = Sha256::new();
        let mut part = |bytes: &[u8]| {
            hasher.update((bytes.len() as u64).to_be_bytes());
            hasher.update(bytes);
        };
        part(self.file.unwrap_or_default().as_bytes());
        part(normal(self.criterion.unwrap_or_default()).as_bytes());
        for hash in &self.cited.0 {
            part(&hash.to_be_bytes());
        }
        part(&self.ordinal.to_be_bytes());
        part(&self.unread_line.unwrap_or_default().to_be_bytes());
        if titled || !self.has_place() {
            part(normal(self.title).as_bytes());
        }
        short(hasher)
    }
}

/// Words in lower case, without punctuation: what stays when a text is only laid out differently.
pub(super) fn normal(text: &str) -> String {
    let words: Vec<String> = text
        .split(|c: char| !c.is_alphanumeric())
        .filter(|word| !word.is_empty())
        .map(str::to_lowercase)
        .collect();
    if words.is_empty() { text.trim().to_owned() } else { words.join(" ") }
}

/// Recognises a finding that was read before, word for word, whatever has become of the code since.
pub(super) fn given_key(finding: &Finding) -> String {
    let given = serde_json::json!([
        finding.id,
        finding.severity,
        finding.title,
        finding.body,
        finding.file,
        finding.line_start,
        finding.line_end,
        finding.criterion,
    ]);
    let mut hasher = Sha256::new();
    hasher.update(given.to_string().as_bytes());
    short(hasher).0
}

fn short(hasher: Sha256) -> Fingerprint {
    Fingerprint(hex::encode(&hasher.finalize()[..8]))
}
