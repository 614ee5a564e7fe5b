//! The findings that are listed now: files of the inbox and of the command line, judged by intake, followed through edits.
//!
//! Owns reading the files and moving anchors. What became of a finding is the ledger's; nothing here says resolved. Absent
//! results never clear earlier ones, and a file that cannot be read keeps its last good set (R09): that rule is
//! `findings::Inbox`'s.

mod files;
mod listed;
mod places;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use globset::GlobSet;
use serde_json::Value;

use crate::findings::{self, DiskTree, Finding, Intake, Memory, MemoryTree, SourceName, SourceText};
use crate::workspace::ObjectId;

use super::api::InputError;
use super::entry_lines::EntryLines;
use super::found::Found;
use super::ledger::{Kept, LoopFinding};
use files::{compile, files_below};
pub(super) use listed::{Listed, Listing};
use places::lines_of;

/// Revision and path → the text there.
pub(super) type RevisionTexts = Arc<dyn Fn(&str, &str) -> Option<String> + Send + Sync>;

/// Path → why it cannot be worked on in this workspace, if so.
pub(super) type WhyNot = Arc<dyn Fn(&str) -> Option<String> + Send + Sync>;

pub(super) struct Inbox {
    root: PathBuf,
    patterns: GlobSet,
    folders: BTreeSet<PathBuf>,
    /// Files named on the command line.
    extra: Vec<PathBuf>,
    files: findings::Inbox,
    /// Names of the files that were there at the last look.
    present: BTreeSet<String>,
    /// A digest of their bytes, and the places of entries in them.
    contents: BTreeMap<String, (ObjectId, EntryLines)>,
    memory: Memory,
    intake: Intake,
    listed: Vec<Arc<Listed>>,
    /// Places in `listed`; of several with one fingerprint the first.
    by_file: HashMap<String, Vec<usize>>,
    by_fingerprint: HashMap<String, usize>,
    /// Text that the editor holds.
    buffers: BTreeMap<String, Arc<str>>,
    /// Text that the anchors stand on, for each file with one.
    anchored_on: BTreeMap<String, String>,
    /// Where the findings that workers brought up are now, by fingerprint.
    found: Found,
    confirmed: BTreeSet<String>,
    gaps_are_work: bool,
    revision_texts: RevisionTexts,
    why_not: WhyNot,
    /// `None` without a repository.
    kept: Option<Kept>,
}

impl Inbox {
    pub fn new(
        root: &Path,
        patterns: &[String],
        extra: Vec<PathBuf>,
        revision_texts: RevisionTexts,
        why_not: WhyNot,
        kept: Option<Kept>,
    ) -> Inbox {
        let (patterns, folders) = compile(patterns);
        Inbox {
            root: root.to_path_buf(),
            patterns,
            folders,
            extra,
            files: findings::Inbox::default(),
            present: BTreeSet::new(),
            contents: BTreeMap::new(),
            memory: Memory::default(),
            intake: Intake::default(),
            listed: Vec::new(),
            by_file: HashMap::new(),
            by_fingerprint: HashMap::new(),
            buffers: BTreeMap::new(),
            anchored_on: BTreeMap::new(),
            found: Found::default(),
            confirmed: BTreeSet::new(),
            gaps_are_work: false,
            revision_texts,
            why_not,
            kept,
        }
    }

    pub fn kept(&self) -> Option<&Kept> {
        self.kept.as_ref()
    }

    /// Takes over what processes saw that only looked, after the journal had this many bytes.
    pub fn recall(&mut self, journal: u64) {
        if let Some(memory) = self.kept.as_ref().and_then(|kept| kept.memory(journal)) {
            self.memory = memory;
        }
    }

    pub fn set_patterns(&mut self, patterns: &[String]) {
        (self.patterns, self.folders) = compile(patterns);
    }

    pub fn set_memory(&mut self, memory: Memory) {
        self.memory = memory;
    }

    /// What the latest intake repaired, clamped or left out.
    pub(super) fn notes(&self) -> &[findings::Note] {
        &self.intake.notes
    }

    pub fn memory(&self) -> &Memory {
        &self.memory
    }

    /// Reads every findings file again.
    pub fn read(&mut self) {
        let tree = DiskTree::new(&self.root);
        let mut found = BTreeMap::new();
        for path in files_below(&self.root, &self.folders, &self.patterns) {
            let name = path.strip_prefix(&self.root).unwrap_or(&path).to_string_lossy().replace('\\', "/");
            found.insert(name, path);
        }
        for path in &self.extra {
            let inside =
                path.strip_prefix(&self.root).map(|inner| inner.to_string_lossy().replace('\\', "/"));
            found.insert(inside.unwrap_or_else(|_| path.to_string_lossy().into_owned()), path.clone());
        }
        for (name, path) in &found {
            // Vanished between listing and reading: the next look tells.
            let Ok(bytes) = std::fs::read(path) else { continue };
            let new = !self.present.contains(name);
            self.files.update_with(name, findings::Content::Bytes(&bytes), Some(&tree));
            if let Some(kept) = self.kept.as_ref().filter(|_| !self.extra.contains(path)) {
                if self.files.is_whole(name) {
                    kept.keep_file(name, &bytes);
                } else if let Some(earlier) = kept.file(name).filter(|_| new) {
                    // As if this process had been there when the file was still good.
                    self.files.update_with(name, findings::Content::Bytes(&earlier), Some(&tree));
                    self.files.update_with(name, findings::Content::Bytes(&bytes), Some(&tree));
                }
            }
            let digest = ObjectId::of_bytes(&bytes);
            if self.contents.get(name).is_none_or(|(known, _)| *known != digest) {
                let lines = EntryLines::of(&bytes);
                self.contents.insert(name.clone(), (digest, lines));
            }
        }
        let gone: Vec<String> =
            self.present.iter().filter(|name| !found.contains_key(*name)).cloned().collect();
        for name in gone {
            self.files.update(&name, findings::Content::Gone);
            self.contents.remove(&name);
        }
        if let Some(kept) = &self.kept {
            kept.drop_all_but(found.keys().map(String::as_str));
        }
        self.present = found.into_keys().collect();
    }

    /// Judges what was read: what is workable, and where everything is now. `confirmed`: the user's own word.
    /// `gaps_are_work`: in `rereview` the CRITICAL and HIGH gaps of a FIX-FIRST or BLOCKED review are what it works on.
    pub fn judge(&mut self, confirmed: &BTreeSet<String>, gaps_are_work: bool) {
        self.confirmed = confirmed.clone();
        self.gaps_are_work = gaps_are_work;
        let disk = DiskTree::new(&self.root);
        let buffers = self.buffers.iter().map(|(path, text)| (path.clone(), text.to_string())).collect();
        let revision_texts = self.revision_texts.clone();
        let tree = Layered { over: MemoryTree::over(&disk, buffers), revision_texts: &*revision_texts };
        self.intake = findings::intake_with(&self.files.reviews(), &tree, &self.memory);
        self.memory = std::mem::take(&mut self.intake.memory);
        let before = std::mem::take(&mut self.anchored_on);
        self.list();
        for file in self.found.files() {
            let Some(text) = tree.text(&file) else { continue };
            if let Some(before) = before.get(&file) {
                self.found.moved(&file, |anchor| anchor.through_diff(before, &text));
            }
            self.anchored_on.insert(file, text);
        }
        let anchored: BTreeSet<String> = self
            .listed
            .iter()
            .filter(|listed| listed.lines.is_some())
            .filter_map(|listed| listed.finding.file.clone())
            .collect();
        for file in anchored {
            if let Some(text) = tree.text(&file) {
                self.anchored_on.insert(file, text);
            }
        }
    }

    fn list(&mut self) {
        let mut listed = Vec::new();
        // A review that says FIX-FIRST or BLOCKED stands behind the gaps that it lists.
        let gated: BTreeSet<String> = self
            .files
            .reviews()
            .into_iter()
            .filter(|(_, review)| gate_word(review).is_some_and(|word| word != "SHIP"))
            .map(|(name, _)| name.0)
            .collect();
        let entry = |source: &SourceName, title: &str| {
            let (_, lines) = self.contents.get(&source.0)?;
            Some((source.0.clone(), lines.line_of(title)))
        };
        let placed = |placed: &findings::Placed, listing: Listing| Listed {
            fingerprint: placed.fingerprint.to_string(),
            shown: placed.shown_id.to_value(),
            finding: placed.finding.clone(),
            listing,
            lines: lines_of(placed.anchor.as_ref(), &placed.finding),
            stale: placed.anchor.as_ref().is_some_and(|anchor| anchor.stale),
            listed_in: entry(&placed.source, &placed.finding.title),
            scope: placed.scope.iter().cloned().collect(),
        };
        for finding in &self.intake.workable {
            listed.push(placed(finding, Listing::Workable));
        }
        for finding in &self.intake.unconfirmed {
            let fingerprint = finding.fingerprint.to_string();
            let is_gap = self.gaps_are_work && gated.contains(&finding.source.0);
            let listing = if is_gap || self.confirmed.contains(&fingerprint) {
                Listing::Workable
            } else {
                Listing::Unconfirmed
            };
            listed.push(placed(finding, listing));
        }
        for (ignored, refused) in self
            .intake
            .ignored
            .iter()
            .map(|one| (one, false))
            .chain(self.intake.refused.iter().map(|one| (one, true)))
        {
            if let Some(confirmable) = &ignored.confirmable
                && self.confirmed.contains(&confirmable.fingerprint.to_string())
            {
                listed.push(placed(confirmable, Listing::Workable));
                continue;
            }
            let finding = ignored.finding.clone().unwrap_or_else(|| {
                Finding::new(ignored.id.clone(), findings::Severity::P3, "an entry that is no finding")
            });
            let fingerprint = ignored
                .fingerprint
                .as_ref()
                .map_or_else(|| format!("{}#{}", ignored.source, ignored.id), ToString::to_string);
            let reason = ignored.reason.clone();
            listed.push(Listed {
                fingerprint,
                shown: ignored.id.to_value(),
                lines: lines_of(ignored.anchor.as_ref(), &finding),
                stale: false,
                listed_in: entry(&ignored.source, &finding.title),
                scope: BTreeSet::new(),
                listing: match (refused, &ignored.confirmable) {
                    (true, _) => Listing::Refused(reason),
                    (false, Some(_)) => Listing::Unconfirmed,
                    (false, None) => Listing::Ignored(reason),
                },
                finding,
            });
        }
        // Two entries of one fingerprint are one finding, shown once; the workable one wins.
        let mut seen = BTreeSet::new();
        listed.retain(|one: &Listed| {
            matches!(one.listing, Listing::Ignored(_)) && one.fingerprint.contains('#')
                || seen.insert(one.fingerprint.clone())
        });
        for one in listed.iter_mut().filter(|one| one.listing == Listing::Workable) {
            let files = one.finding.file.iter().chain(&one.finding.related_files);
            if let Some(reason) = files.map(String::as_str).find_map(|path| (self.why_not)(path)) {
                one.listing = Listing::Refused(reason);
            }
        }
        self.by_file.clear();
        for (at, one) in listed.iter().enumerate() {
            if let Some(file) = &one.finding.file {
                self.by_file.entry(file.clone()).or_default().push(at);
            }
        }
        self.by_fingerprint =
            listed.iter().enumerate().rev().map(|(at, one)| (one.fingerprint.clone(), at)).collect();
        self.listed = listed.into_iter().map(Arc::new).collect();
    }

    /// Each is the same allocation for as long as nothing of it changes.
    pub fn listed(&self) -> &[Arc<Listed>] {
        &self.listed
    }

    pub fn listing(&self, fingerprint: &str) -> Option<&Listing> {
        self.by_fingerprint.get(fingerprint).map(|at| &self.listed[*at].listing)
    }

    /// The verdict of a gap list, which `rereview` starts from.
    pub fn gate_word(&self) -> Option<String> {
        self.files.reviews().iter().rev().find_map(|(_, review)| gate_word(review))
    }

    pub fn review_base(&self) -> Option<String> {
        self.files.reviews().into_iter().find_map(|(_, review)| review.review_base.clone())
    }

    /// The entries that are the same finding as another one, which is shown: id and reason.
    pub fn duplicates(&self) -> impl Iterator<Item = (Value, &str)> {
        let is_one = |ignored: &&findings::Ignored| ignored.kind == findings::IgnoredKind::Duplicate;
        self.intake.ignored.iter().filter(is_one).map(|one| (one.id.to_value(), one.reason.as_str()))
    }

    /// What a loop is opened with.
    pub fn loop_finding(&self, fingerprint: &str) -> Option<LoopFinding> {
        let mut opened = self.as_opened(fingerprint, |listing| *listing == Listing::Workable)?;
        opened.finding.verdict = Some(findings::Verdict::Confirmed);
        Some(opened)
    }

    /// What a converging loop is opened with: a finding that nobody has confirmed keeps having no verdict, and its
    /// checker gives one.
    pub fn attached_finding(&self, fingerprint: &str) -> Option<LoopFinding> {
        self.loop_finding(fingerprint)
            .or_else(|| self.as_opened(fingerprint, |listing| *listing == Listing::Unconfirmed))
    }

    /// P0/P1 that nobody has judged. Outdated and resolved comments are listed, and not worked on.
    pub fn unconfirmed(&self) -> Vec<String> {
        let fingerprints = self.intake.unconfirmed.iter().map(|finding| finding.fingerprint.to_string());
        fingerprints
            .filter(|fingerprint| {
                self.by_fingerprint.get(fingerprint).is_some_and(|at| {
                    let listed = &self.listed[*at];
                    listed.listing == Listing::Unconfirmed
                        && !["outdated", "resolved"]
                            .iter()
                            .any(|word| listed.finding.extra.get(*word) == Some(&Value::Bool(true)))
                })
            })
            .collect()
    }

    fn as_opened(&self, fingerprint: &str, fits: impl Fn(&Listing) -> bool) -> Option<LoopFinding> {
        let listed = &self.listed[*self.by_fingerprint.get(fingerprint)?];
        if !fits(&listed.listing) {
            return None;
        }
        let mut finding = listed.finding.clone();
        if let Some((start, end)) = listed.lines {
            finding.line_start = Some(start);
            finding.line_end = Some(end);
        }
        let artifact_paths = match &finding.file {
            Some(_) => Vec::new(),
            None => {
                listed.scope.iter().filter(|path| !finding.related_files.contains(path)).cloned().collect()
            }
        };
        let (fingerprint, shown) = (fingerprint.to_owned(), listed.shown.clone());
        Some(LoopFinding { fingerprint, shown, finding, artifact_paths })
    }

    /// The paths that a fix of it may change.
    pub fn scope_of(&self, finding: &LoopFinding) -> BTreeSet<String> {
        let known = self.by_fingerprint.get(&finding.fingerprint);
        known.map(|at| self.listed[*at].scope.clone()).unwrap_or_default()
    }

    pub fn errors(&self) -> Vec<InputError> {
        self.files
            .errors()
            .map(|(name, error)| InputError {
                file: name.to_owned(),
                line: error.line,
                column: error.column,
                message: error.message.clone(),
            })
            .collect()
    }
}

/// The editor's text over the disk's, and git's text of revisions.
struct Layered<'a> {
    over: MemoryTree<'a>,
    revision_texts: &'a (dyn Fn(&str, &str) -> Option<String> + Send + Sync),
}

impl SourceText for Layered<'_> {
    fn resolve(&self, path: &str) -> Result<String, findings::PathRefused> {
        self.over.resolve(path)
    }

    fn text(&self, path: &str) -> Option<String> {
        self.over.text(path)
    }

    fn text_at(&self, revision: &str, path: &str) -> Option<String> {
        (self.revision_texts)(revision, path)
    }
}

/// The verdict of a gap list, in its one spelling.
fn gate_word(review: &findings::ReviewOutput) -> Option<String> {
    let word = review.extra.get("verdict")?.as_str()?.trim().to_uppercase().replace(['_', ' '], "-");
    ["SHIP", "FIX-FIRST", "BLOCKED"].contains(&word.as_str()).then_some(word)
}
