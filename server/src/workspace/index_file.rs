//! The index file as git writes it: versions 2 to 4, without extensions (gitformat-index(5)).
//!
//! Owns the format. An index of a hundred thousand entries is looked at several times in each round, for a handful of paths:
//! so it is read in one pass that copies nothing, and what is not asked for is not decoded. Never writes; and never reads an
//! index whose entries are not all in it (a split or sparse one), which `open` refuses.

use std::io;
use std::ops::Range;
use std::path::Path;

use super::index::IndexEntry;
use super::object::ObjectId;

const HEADER: usize = 12;
/// Up to the two bytes of flags: times, device, inode, mode, owner, size, object.
const FIXED: usize = 60;
const EXTENDED: u16 = 0x4000;
const NAME_LENGTH: u16 = 0x0fff;
const LONG: usize = 0x0fff;

/// One version of the index, read.
#[derive(Debug, Default)]
pub(super) struct IndexFile {
    bytes: Vec<u8>,
    /// Names, where the file holds them shortened (version 4).
    names: Vec<u8>,
    /// In the order of the file: by name, then by stage.
    entries: Vec<Raw>,
    shortened: bool,
}

#[derive(Debug, Clone)]
struct Raw {
    at: usize,
    name: Range<usize>,
}

/// An entry that is not decoded yet.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen<'a> {
    bytes: &'a [u8],
    pub(super) name: &'a [u8],
}

impl IndexFile {
    /// A file that is not there is an index without entries.
    pub(super) fn read(path: &Path) -> io::Result<IndexFile> {
        match std::fs::read(path) {
            Ok(bytes) => IndexFile::parse(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(IndexFile::default()),
            Err(error) => Err(error),
        }
    }

    pub(super) fn parse(bytes: Vec<u8>) -> io::Result<IndexFile> {
        if bytes.is_empty() {
            return Ok(IndexFile::default());
        }
        let short = || io::Error::new(io::ErrorKind::InvalidData, "the index is cut off or damaged");
        let (Some(b"DIRC"), Some(version), Some(count)) =
            (bytes.get(..4), number(&bytes, 4), number(&bytes, 8))
        else {
            return Err(short());
        };
        if !(2..=4).contains(&version) {
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the index has version {version}, which is not known here"),
            ));
        }
        let mut file = IndexFile { shortened: version == 4, ..IndexFile::default() };
        file.entries.reserve(usize::try_from(count).unwrap_or(0).min(bytes.len() / FIXED));
        let (mut at, mut previous) = (HEADER, 0..0);
        for _ in 0..count {
            let flags = flags_at(&bytes, at).ok_or_else(short)?;
            let mut name_at = at + FIXED + 2;
            if version >= 3 && flags & EXTENDED != 0 {
                name_at += 2;
            }
            if version == 4 {
                let (strip, after) = variable(&bytes, name_at).ok_or_else(short)?;
                let rest = bytes.get(after..).ok_or_else(short)?;
                let length = rest.iter().position(|byte| *byte == 0).ok_or_else(short)?;
                let kept: Range<usize> = previous;
                let keep = kept.len().checked_sub(strip).ok_or_else(short)?;
                let start = file.names.len();
                file.names.extend_from_within(kept.start..kept.start + keep);
                file.names.extend_from_slice(&rest[..length]);
                previous = start..file.names.len();
                file.entries.push(Raw { at, name: previous.clone() });
                at = after + length + 1;
            } else {
                let rest = bytes.get(name_at..).ok_or_else(short)?;
                let length = match usize::from(flags & NAME_LENGTH) {
                    // So many bytes or more.
                    LONG => rest.iter().position(|byte| *byte == 0).ok_or_else(short)?,
                    length => length,
                };
                if rest.get(length) != Some(&0) {
                    return Err(short());
                }
                file.entries.push(Raw { at, name: name_at..name_at + length });
                // Padded with one to eight zeros to a multiple of eight.
                at += (name_at + length - at + 8) & !7;
            }
        }
        if at > bytes.len() {
            return Err(short());
        }
        refuse_extensions(&bytes, at)?;
        file.bytes = bytes;
        Ok(file)
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = Seen<'_>> {
        self.entries.iter().map(|raw| self.seen(raw))
    }

    /// All entries of one path, by stage.
    pub(super) fn of(&self, path: &str) -> impl Iterator<Item = Seen<'_>> {
        let first = self.entries.partition_point(|raw| self.name(raw) < path.as_bytes());
        let entries = self.entries[first..].iter();
        entries.take_while(move |raw| self.name(raw) == path.as_bytes()).map(|raw| self.seen(raw))
    }

    fn name(&self, raw: &Raw) -> &[u8] {
        let names = if self.shortened { &self.names } else { &self.bytes };
        &names[raw.name.clone()]
    }

    fn seen(&self, raw: &Raw) -> Seen<'_> {
        Seen { bytes: &self.bytes[raw.at..], name: self.name(raw) }
    }
}

impl Seen<'_> {
    pub(super) fn mode(&self) -> u32 {
        number(self.bytes, 24).expect("the entry was read whole")
    }

    /// Length of the file when it was last found to be the entry's; 0 when git does not know.
    pub(super) fn size(&self) -> u32 {
        number(self.bytes, 36).expect("the entry was read whole")
    }

    fn flags(&self) -> (u16, u16) {
        let flags = flags_at(self.bytes, 0).expect("the entry was read whole");
        let extended = if flags & EXTENDED == 0 { None } else { flags_at(self.bytes, 2) };
        (flags, extended.unwrap_or(0))
    }

    /// Whether one of the flags is set that a person or a command sets.
    pub(super) fn is_flagged(&self) -> bool {
        let (flags, extended) = self.flags();
        flags & 0x8000 != 0 || extended & 0x6000 != 0
    }

    pub(super) fn entry(&self) -> IndexEntry {
        let (flags, extended) = self.flags();
        let mut id = [0; 20];
        id.copy_from_slice(&self.bytes[40..60]);
        IndexEntry {
            mode: self.mode(),
            id: ObjectId::from_bytes(id),
            stage: ((flags >> 12) & 3) as u8,
            intent_to_add: extended & (1 << 13) != 0,
            skip_worktree: extended & (1 << 14) != 0,
            assume_unchanged: flags & 0x8000 != 0,
        }
    }

    /// Whether two entries say the same, the cached times and sizes aside.
    pub(super) fn says_the_same(&self, other: &Seen<'_>) -> bool {
        let told = |seen: &Seen<'_>| {
            let (flags, extended) = seen.flags();
            (flags & !NAME_LENGTH & !EXTENDED, extended)
        };
        self.name == other.name
            && self.bytes[24..28] == other.bytes[24..28]
            && self.bytes[40..60] == other.bytes[40..60]
            && told(self) == told(other)
    }
}

/// An extension whose name begins in lower case has to be understood: with one of the two that git knows, the entries are not
/// all of the index.
fn refuse_extensions(bytes: &[u8], mut at: usize) -> io::Result<()> {
    // The checksum follows them.
    while at + 8 + 20 <= bytes.len() {
        let name = &bytes[at..at + 4];
        if name[0].is_ascii_lowercase() {
            let name = String::from_utf8_lossy(name);
            return Err(io::Error::new(
                io::ErrorKind::InvalidData,
                format!("the index is split or sparse by now (`{name}`)"),
            ));
        }
        let size = number(bytes, at + 4).and_then(|size| usize::try_from(size).ok()).unwrap_or(usize::MAX);
        at = at.saturating_add(8).saturating_add(size);
    }
    Ok(())
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let four = bytes.get(at..at + 4)?;
    Some(u32::from_be_bytes(four.try_into().ok()?))
}

fn flags_at(bytes: &[u8], entry: usize) -> Option<u16> {
    let two = bytes.get(entry + FIXED..entry + FIXED + 2)?;
    Some(u16::from_be_bytes(two.try_into().ok()?))
}

/// git's number of variable length, and where it ends.
fn variable(bytes: &[u8], mut at: usize) -> Option<(usize, usize)> {
    let mut byte = *bytes.get(at)?;
    let mut value = usize::from(byte & 0x7f);
    while byte & 0x80 != 0 {
        at += 1;
        byte = *bytes.get(at)?;
        value = value.checked_add(1)?.checked_mul(128)? | usize::from(byte & 0x7f);
    }
    Some((value, at + 1))
}
