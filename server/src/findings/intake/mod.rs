//! Which findings may be worked on, and why the others are not (DESIGN 5 "Intake").
//!
//! Owns the judgement of what comes in. It is pure: the tree is given to it. It never invents a verdict or a place, never
//! lets one invalid finding stop the others, and loses nothing: every entry of every file comes out as workable,
//! unconfirmed, ignored or refused. Only this module makes a [`ConfirmedFinding`], which is all that a loop accepts.

mod criteria;
mod placing;

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

use super::anchor::Anchor;
use super::finding::{Edit, Finding, FindingId, Note, Verdict};
use super::fingerprint::{Fingerprint, Identity, given_key, normal};
use super::review_output::ReviewOutput;
use super::tree::{ReadOnce, SourceText};

pub use criteria::{criterion_names, failed_criteria};
pub(super) use placing::settle;

/// Where a document comes from, as shown in `SOURCE#id`: a file name in the inbox, a check, a pull request.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct SourceName(pub String);

impl fmt::Display for SourceName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl From<&str> for SourceName {
    fn from(name: &str) -> Self {
        SourceName(name.to_owned())
    }
}

/// A finding that has been looked up in the tree.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Placed {
    /// With `file`, `related_files` and lines as they are in the tree now.
    pub finding: Finding,
    pub fingerprint: Fingerprint,
    /// The id as given, or `SOURCE#id` where several findings have it.
    pub shown_id: FindingId,
    pub source: SourceName,
    /// The paths that a fix may change, relative to the root. Empty: the user is asked before the first dispatch.
    pub scope: Vec<String>,
    /// `None` for findings about a whole file, or about a file that is not there.
    pub anchor: Option<Anchor>,
    /// The criterion that the review itself reports as failed (`AC-3: FAIL`), which prevents a resolution.
    pub failed_criterion: Option<String>,
}

/// A finding that may be worked on: P0 or P1, with a criterion, confirmed, inside the root.
///
/// Only [`intake`] makes one, or a user's or a checker's word. (It can be read back from the ledger, which only stores what
/// was made here.)
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct ConfirmedFinding(Placed);

/// A P0 or P1 that nobody has confirmed yet.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct UnconfirmedFinding(Placed);

impl Deref for ConfirmedFinding {
    type Target = Placed;

    fn deref(&self) -> &Placed {
        &self.0
    }
}

impl Deref for UnconfirmedFinding {
    type Target = Placed;

    fn deref(&self) -> &Placed {
        &self.0
    }
}

impl ConfirmedFinding {
    /// The user's own *Confirm this finding*.
    pub fn by_user(unconfirmed: UnconfirmedFinding) -> Self {
        let mut placed = unconfirmed.0;
        placed.finding.verdict = Some(Verdict::Confirmed);
        ConfirmedFinding(placed)
    }

    /// The checker's CONFIRMED, with its evidence (DESIGN 6 "converge").
    pub fn by_checker(unconfirmed: UnconfirmedFinding, evidence: &str) -> Self {
        let mut confirmed = ConfirmedFinding::by_user(unconfirmed);
        confirmed.0.finding.evidence = Some(evidence.to_owned());
        confirmed
    }

    /// Lets the anchor follow the code; nothing else of a confirmed finding ever changes.
    pub fn set_anchor(&mut self, anchor: Option<Anchor>) {
        self.0.anchor = anchor;
    }
}

impl UnconfirmedFinding {
    pub fn set_anchor(&mut self, anchor: Option<Anchor>) {
        self.0.anchor = anchor;
    }
}

/// Why a finding is not worked on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum IgnoredKind {
    Invalid,
    LowSeverity,
    Demoted,
    Rejected,
    SetAside,
    Duplicate,
    Refused,
    LeftOut,
}

/// A finding that is listed and not worked on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Ignored {
    /// The id as shown.
    pub id: FindingId,
    pub kind: IgnoredKind,
    pub reason: String,
    pub source: SourceName,
    /// `None` where the entry could not be read as a finding.
    pub finding: Option<Finding>,
    pub fingerprint: Option<Fingerprint>,
    pub anchor: Option<Anchor>,
    /// The finding in its place, where the user may still confirm it (a comment that was set aside).
    pub confirmable: Option<UnconfirmedFinding>,
}

/// Everything that came in, sorted.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Intake {
    pub workable: Vec<ConfirmedFinding>,
    /// P0 and P1 without a verdict: shown as hints.
    pub unconfirmed: Vec<UnconfirmedFinding>,
    pub ignored: Vec<Ignored>,
    /// Confirmed P0 and P1 that may not be worked on, which makes a run exit with 1.
    pub refused: Vec<Ignored>,
    pub notes: Vec<Note>,
    /// The criteria that the reviews report as failed, by name.
    pub blocked_criteria: BTreeSet<String>,
    /// To be kept and given to the next [`intake_with`].
    pub memory: Memory,
}

/// What earlier intakes saw, so that a file which is read again after its code was fixed is not taken for a new review.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Memory(BTreeMap<String, Remembered>);

#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Remembered {
    fingerprint: Fingerprint,
    file: Option<String>,
    anchor: Option<Anchor>,
    /// With what it deletes, which cannot be looked up any more once the code has changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    suggestion: Vec<Edit>,
}

impl Memory {
    /// Keeps where findings are now, so that they are found again after a restart.
    pub fn update(&mut self, places: &HashMap<Fingerprint, Anchor>) {
        for remembered in self.0.values_mut() {
            if let Some(anchor) = places.get(&remembered.fingerprint) {
                remembered.anchor = Some(anchor.clone());
            }
        }
    }

    /// Drops what no kept fingerprint needs any more.
    pub fn retain(&mut self, kept: impl Fn(&Fingerprint) -> bool) {
        self.0.retain(|_, remembered| kept(&remembered.fingerprint));
    }
}

/// Sorts what came in. See [`intake_with`] for a second time.
pub fn intake(files: &[(SourceName, ReviewOutput)], tree: &dyn SourceText) -> Intake {
    intake_with(files, tree, &Memory::default())
}

/// Sorts what came in, recognising what was there before.
pub fn intake_with(files: &[(SourceName, ReviewOutput)], tree: &dyn SourceText, memory: &Memory) -> Intake {
    let tree = &ReadOnce::new(tree);
    let mut intake = Intake { memory: memory.clone(), ..Intake::default() };
    let mut shown = ShownIds::of(files);
    let mut entries = Vec::new();
    for (source, review) in files {
        let failed = failed_criteria(&review.checks_run);
        intake.blocked_criteria.extend(failed.iter().cloned());
        intake.notes.extend(review.unread.notes.iter().cloned());
        let first = entries.len();
        let artifacts = placing::artifact_paths(review, tree, &mut intake.notes);
        for finding in &review.findings {
            let shown_id = shown.next(source, &finding.id);
            let remembered = memory.0.get(&given_key(finding));
            let mut entry =
                placing::place(finding, source, review, &artifacts, tree, remembered, &mut intake.notes);
            entry.placed.shown_id = shown_id;
            entry.placed.failed_criterion = finding
                .criterion
                .as_ref()
                .and_then(|text| failed.iter().find(|name| criterion_names(text, name)).cloned());
            entries.push(entry);
        }
        let unmapped = entries[first..].iter().filter(|entry| entry.base_unknown).count();
        if let Some(base) = review.review_base.as_ref().filter(|_| unmapped > 0) {
            let why = format!(
                "{source}: the reviewed texts are not known, so the lines of {unmapped} findings are taken as they are now"
            );
            intake.notes.push(Note::new(None, "review_base", base.clone(), serde_json::Value::Null, why));
        }
        identify(&mut entries[first..]);
        for left_out in &review.unread.left_out {
            intake.ignored.push(Ignored {
                id: shown.next(source, &left_out.id),
                kind: if left_out.finding.is_some() { IgnoredKind::LeftOut } else { IgnoredKind::Invalid },
                reason: left_out.reason.clone(),
                source: source.clone(),
                finding: left_out.finding.clone(),
                fingerprint: None,
                anchor: None,
                confirmable: None,
            });
        }
    }
    for entry in &entries {
        intake.memory.0.insert(
            entry.given_key.clone(),
            Remembered {
                fingerprint: entry.placed.fingerprint.clone(),
                file: entry.placed.finding.file.clone(),
                anchor: entry.placed.anchor.clone(),
                suggestion: entry.placed.finding.suggestion.clone(),
            },
        );
    }
    sort(entries, &mut intake);
    intake
}

/// An entry on its way through intake.
struct Entry {
    placed: Placed,
    given_key: String,
    /// The fingerprint is known from an earlier intake.
    remembered: bool,
    /// The cited lines, which of their places it is, and the line as given where they could not be read.
    ordinal: u32,
    unread_line: Option<u32>,
    /// Its lines could not be mapped from the reviewed revision.
    base_unknown: bool,
    /// Why its paths are refused.
    refusal: Option<String>,
}

impl Entry {
    fn identity(&self) -> Identity<'_> {
        static NOTHING: super::fingerprint::Cited = super::fingerprint::Cited::nothing();
        let finding = &self.placed.finding;
        Identity {
            file: finding.file.as_deref(),
            criterion: finding.criterion.as_deref().filter(|text| !text.trim().is_empty()),
            title: &finding.title,
            cited: self.placed.anchor.as_ref().map_or(&NOTHING, |anchor| &anchor.cited),
            ordinal: self.ordinal,
            unread_line: self.unread_line,
        }
    }
}

/// Gives the entries of one review their fingerprints: by place, and by title too where one review reports several
/// findings with different titles for one place and criterion.
fn identify(entries: &mut [Entry]) {
    let mut titles: HashMap<Fingerprint, HashSet<String>> = HashMap::new();
    for entry in entries.iter() {
        let identity = entry.identity();
        titles.entry(identity.fingerprint(false)).or_default().insert(normal(identity.title));
    }
    for entry in entries.iter_mut().filter(|entry| !entry.remembered) {
        let by_place = entry.identity().fingerprint(false);
        let shared = titles.get(&by_place).is_some_and(|titles| titles.len() > 1);
        entry.placed.fingerprint = if shared { entry.identity().fingerprint(true) } else { by_place };
    }
}

enum Judgement {
    Workable,
    Unconfirmed,
    Refused(String),
    Ignored(IgnoredKind, String),
}

fn judge(entry: &Entry) -> Judgement {
    let finding = &entry.placed.finding;
    let worked_on = finding.severity.is_worked_on();
    if worked_on && finding.criterion.as_deref().is_none_or(|text| text.trim().is_empty()) {
        let reason = format!("invalid: a {} finding needs a criterion", finding.severity);
        return Judgement::Ignored(IgnoredKind::Invalid, reason);
    }
    match finding.verdict {
        Some(Verdict::Demoted) => {
            return Judgement::Ignored(IgnoredKind::Demoted, "demoted by its reviewer".to_owned());
        }
        Some(Verdict::Rejected) => {
            return Judgement::Ignored(IgnoredKind::Rejected, "rejected by its reviewer".to_owned());
        }
        Some(Verdict::Confirmed) | None => {}
    }
    if !worked_on {
        let reason = format!("{}: only P0 and P1 are worked on", finding.severity);
        return Judgement::Ignored(IgnoredKind::LowSeverity, reason);
    }
    let confirmed = finding.verdict == Some(Verdict::Confirmed);
    if let Some(refusal) = &entry.refusal {
        return if confirmed {
            Judgement::Refused(refusal.clone())
        } else {
            Judgement::Ignored(IgnoredKind::Refused, refusal.clone())
        };
    }
    if let Some(reason) = &finding.set_aside {
        return Judgement::Ignored(IgnoredKind::SetAside, reason.clone());
    }
    if confirmed { Judgement::Workable } else { Judgement::Unconfirmed }
}

/// Sorts the entries. Of duplicates the confirmed one counts, then the more severe one, then the first one.
fn sort(entries: Vec<Entry>, intake: &mut Intake) {
    let judged: Vec<(Entry, Judgement)> = entries
        .into_iter()
        .map(|entry| {
            let judgement = judge(&entry);
            (entry, judgement)
        })
        .collect();
    let mut best: HashMap<Fingerprint, usize> = HashMap::new();
    let rank = |(entry, judgement): &(Entry, Judgement)| {
        let unconfirmed = matches!(judgement, Judgement::Unconfirmed);
        (unconfirmed, entry.placed.finding.severity)
    };
    for (at, item) in judged.iter().enumerate() {
        if matches!(item.1, Judgement::Workable | Judgement::Unconfirmed) {
            let chosen = best.entry(item.0.placed.fingerprint.clone()).or_insert(at);
            if rank(item) < rank(&judged[*chosen]) {
                *chosen = at;
            }
        }
    }
    let names: HashMap<Fingerprint, FindingId> = best
        .iter()
        .map(|(fingerprint, at)| (fingerprint.clone(), judged[*at].0.placed.shown_id.clone()))
        .collect();
    for (at, (entry, judgement)) in judged.into_iter().enumerate() {
        let placed = entry.placed;
        let duplicate = match judgement {
            Judgement::Workable | Judgement::Unconfirmed => best.get(&placed.fingerprint) != Some(&at),
            _ => false,
        };
        match judgement {
            _ if duplicate => {
                let reason = format!("the same finding as {}", names[&placed.fingerprint]);
                intake.ignored.push(listed(placed, IgnoredKind::Duplicate, reason));
            }
            Judgement::Workable => intake.workable.push(ConfirmedFinding(placed)),
            Judgement::Unconfirmed => intake.unconfirmed.push(UnconfirmedFinding(placed)),
            Judgement::Refused(reason) => intake.refused.push(listed(placed, IgnoredKind::Refused, reason)),
            Judgement::Ignored(kind, reason) => intake.ignored.push(listed(placed, kind, reason)),
        }
    }
}

fn listed(placed: Placed, kind: IgnoredKind, reason: String) -> Ignored {
    let confirmable = (kind == IgnoredKind::SetAside).then(|| UnconfirmedFinding(placed.clone()));
    Ignored {
        id: placed.shown_id,
        kind,
        reason,
        source: placed.source,
        finding: Some(placed.finding),
        fingerprint: Some(placed.fingerprint),
        anchor: placed.anchor,
        confirmable,
    }
}

/// Ids that stand for one finding each: `SOURCE#id` where several files give an id, `id~2` where one file gives it twice.
struct ShownIds {
    files_with: HashMap<String, usize>,
    given: HashMap<(SourceName, String), usize>,
}

impl ShownIds {
    fn of(files: &[(SourceName, ReviewOutput)]) -> Self {
        let mut files_with = HashMap::new();
        for (_, review) in files {
            let ids: HashSet<String> = review
                .findings
                .iter()
                .map(|finding| finding.id.to_string())
                .chain(review.unread.left_out.iter().map(|left_out| left_out.id.to_string()))
                .collect();
            for id in ids {
                *files_with.entry(id).or_insert(0) += 1;
            }
        }
        ShownIds { files_with, given: HashMap::new() }
    }

    fn next(&mut self, source: &SourceName, id: &FindingId) -> FindingId {
        let text = id.to_string();
        let count = self.given.entry((source.clone(), text.clone())).or_insert(0);
        *count += 1;
        let mut shown = id.clone();
        if self.files_with.get(&text).is_some_and(|files| *files > 1) {
            shown = FindingId::from(format!("{source}#{text}"));
        }
        if *count > 1 {
            shown = FindingId::from(format!("{shown}~{count}"));
        }
        shown
    }
}
