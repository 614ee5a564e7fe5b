//! The fix, and nothing else, into the index (DESIGN 7.3).
//!
//! Owns working out the entry that each changed path gets: the loop's hunks on top of what the user has there. Every
//! round is worked out anew from the loop's start. Never adds a file of the user's, an ignored file, or a path of
//! another repository; never resolves a conflict; never guesses where a hunk belongs. `index_lock` writes the entries.

use std::collections::{BTreeMap, BTreeSet};

use super::disk::Look;
use super::filter::{Conversions, is_lfs_pointer};
use super::hunks::is_binary;
use super::index::{self, IndexChange, IndexEntry};
use super::index_file::IndexFile;
use super::object::{FileKind, FileState, ObjectId};
use super::path::RepoPath;
use super::staged::{Conflict, NotStaged, StageRefused, Staged, StagedEntries, StagedEntry};
use super::transplant::transplant;
use super::{Checkpoint, Workspace, WorkspaceError, patch};

/// A path and how its bytes become a blob.
#[derive(Clone, Copy)]
struct Spot<'a> {
    path: &'a RepoPath,
    convert: Conversions,
}

/// What is to happen to one path.
enum Verdict {
    Entries(Vec<IndexEntry>),
    Skip(NotStaged),
    Ask(Conflict),
}

impl Workspace {
    /// Stages the loop's own hunks: those between the loop's start and `target` (the state of each path after the fix).
    /// `staged_before` are the entries from earlier rounds of this loop; a path among them that is not in `target` gets
    /// its entry from the start back. All or nothing.
    pub fn stage(
        &self,
        start: &Checkpoint,
        target: &BTreeMap<RepoPath, Option<FileState>>,
        staged_before: &StagedEntries,
    ) -> Result<Staged, StageRefused> {
        self.stage_announced(start, target, staged_before, &mut |_| {})
    }

    /// The same; `announce` is told what is about to be staged before the index is touched, so that a caller who is
    /// killed in between still knows these entries as the loop's own.
    pub fn stage_announced(
        &self,
        start: &Checkpoint,
        target: &BTreeMap<RepoPath, Option<FileState>>,
        staged_before: &StagedEntries,
        announce: &mut dyn FnMut(&Staged),
    ) -> Result<Staged, StageRefused> {
        let paths: BTreeSet<RepoPath> = target.keys().chain(staged_before.0.keys()).cloned().collect();
        let paths: Vec<RepoPath> = paths.into_iter().collect();
        let before = self.states_at(start, &paths)?;
        let index = self.read_index()?;
        let conversions = self.present_conversions(&paths)?;
        let (mut edits, mut conflicts, mut skipped) = (Vec::new(), Vec::new(), Vec::new());
        for (path, pre) in before {
            let post = target.get(&path).cloned().unwrap_or_else(|| pre.clone());
            let base = self.entries_at(start, &path)?;
            let present = staged_before.0.get(&path).unwrap_or(&base).clone();
            if pre == post {
                if present != base {
                    edits.push(IndexChange { path, before: present, after: base });
                }
                continue;
            }
            self.refuse(&path, &base, &index, post.as_ref())?;
            let convert = conversions.get(&path).copied().unwrap_or_default();
            let spot = Spot { path: &path, convert };
            match self.decide(spot, &base, pre.as_ref(), post.as_ref())? {
                Verdict::Entries(after) => edits.push(IndexChange { path, before: present, after }),
                Verdict::Skip(why) => {
                    if present != base {
                        edits.push(IndexChange { path: path.clone(), before: present, after: base });
                    }
                    skipped.push((path, why));
                }
                Verdict::Ask(conflict) => conflicts.push(conflict),
            }
        }
        if !conflicts.is_empty() {
            return Err(StageRefused::Conflicts(conflicts));
        }
        edits.sort_by(|a, b| a.path.cmp(&b.path));
        let entries = edits
            .iter()
            .filter(|edit| edit.before != edit.after)
            .map(|edit| StagedEntry {
                path: edit.path.clone(),
                old: edit.before.clone(),
                new: edit.after.clone(),
            })
            .collect();
        let staged = Staged { entries, skipped };
        announce(&staged);
        let foreign = match self.edit_index(&edits, true) {
            // A new file where the index has a folder, or the other way round: the user's entry would have to go.
            Err(WorkspaceError::IndexSideEffect(path)) => {
                let Ok(path) = RepoPath::new(&path) else {
                    return Err(WorkspaceError::IndexSideEffect(path).into());
                };
                let why = "the fix puts something else in place of an entry of yours";
                let entry = self.index_entries(&path)?.first().copied();
                return Err(StageRefused::Conflicts(vec![self.conflict(&path, why, None, None, entry)?]));
            }
            other => other?,
        };
        if !foreign.is_empty() {
            let asked =
                foreign.iter().map(|path| self.meanwhile(path, start, target.get(path).cloned().flatten()));
            return Err(StageRefused::Conflicts(asked.collect::<Result<_, WorkspaceError>>()?));
        }
        Ok(staged)
    }

    /// What a file of the user's would be without the loop: `saved` is what the user saved over `fixed`, which the loop
    /// had made of the file at `start`. With it in place of the start's file ([`Checkpoint::with_file`]) the user's
    /// edits are not taken for the loop's when the next round is staged (R32). `None` when that cannot be told.
    pub fn without_fix(
        &self,
        start: &Checkpoint,
        path: &RepoPath,
        fixed: &FileState,
        saved: &FileState,
    ) -> Result<Option<FileState>, WorkspaceError> {
        let before = self.states_at(start, std::slice::from_ref(path))?.remove(path).flatten();
        let Some(before) = before else { return Ok(None) };
        if ![&before, fixed, saved].iter().all(|state| state.stored && state.kind.is_file()) {
            return Ok(None);
        }
        let [before_text, fixed_text, saved_text] =
            [&before, fixed, saved].map(|state| self.store.read(state.content));
        let Ok(text) = transplant(&fixed_text?, &before_text?, &saved_text?) else { return Ok(None) };
        let content = self.store.write(&text)?;
        Ok(Some(FileState { content, size: text.len() as u64, ..saved.clone() }))
    }

    /// Gives staged paths their old entries back where they still have the new ones. Returns the paths that do not.
    pub fn unstage(&self, staged: &Staged) -> Result<Vec<RepoPath>, WorkspaceError> {
        let edits: Vec<IndexChange> = staged
            .entries
            .iter()
            .map(|entry| IndexChange {
                path: entry.path.clone(),
                before: entry.new.clone(),
                after: entry.old.clone(),
            })
            .collect();
        self.edit_index(&edits, false)
    }

    /// Says before any dispatch whether a fix of `path` could be staged: an error names what stands in the way for good,
    /// `Some` why git will not take it though the fix itself can go on.
    pub fn stageable(&self, path: &RepoPath) -> Result<Option<NotStaged>, StageRefused> {
        let index = self.read_index()?;
        let present =
            self.disk.look(path).map_err(|source| WorkspaceError::File { path: path.clone(), source })?;
        if let Look::File(seen) = present
            && seen.kind == FileKind::Special
        {
            return Err(StageRefused::SpecialFile(path.clone()));
        }
        if self.disk.is_beyond_link(path) {
            return Err(StageRefused::BeyondLink(path.clone()));
        }
        self.refuse(path, &[], &index, None)?;
        let entries = index::entries_of(&index, path);
        Ok(match entries.first() {
            Some(entry) if entry.skip_worktree => Some(NotStaged::SkipWorktree),
            Some(entry) if !entry.intent_to_add => None,
            _ if present != Look::Absent => Some(NotStaged::Untracked),
            _ if self.is_ignored(path)? => Some(NotStaged::Ignored),
            _ => None,
        })
    }

    fn refuse(
        &self,
        path: &RepoPath,
        base: &[IndexEntry],
        index: &IndexFile,
        post: Option<&FileState>,
    ) -> Result<(), StageRefused> {
        let present = index::entries_of(index, path);
        if base.iter().chain(&present).any(|entry| entry.stage != 0) {
            return Err(StageRefused::Unmerged(path.clone()));
        }
        for folder in std::iter::once(path.clone()).chain(path.ancestors()) {
            let gitlink = index::entries_of(index, &folder).iter().any(IndexEntry::is_gitlink);
            let full = folder.under(&self.root);
            if gitlink || full.join(".git").symlink_metadata().is_ok() {
                return Err(StageRefused::OtherRepository {
                    path: path.clone(),
                    repository: folder,
                    folder: full,
                });
            }
        }
        if self.disk.is_beyond_link(path) && post.is_some() {
            return Err(StageRefused::BeyondLink(path.clone()));
        }
        match post.map(|state| state.kind) {
            Some(FileKind::Special | FileKind::Repository) => Err(StageRefused::SpecialFile(path.clone())),
            _ => Ok(()),
        }
    }

    fn decide(
        &self,
        spot: Spot<'_>,
        base: &[IndexEntry],
        pre: Option<&FileState>,
        post: Option<&FileState>,
    ) -> Result<Verdict, StageRefused> {
        let entry = base.first().copied();
        if entry.is_some_and(|entry| entry.skip_worktree) {
            return Ok(Verdict::Skip(NotStaged::SkipWorktree));
        }
        if pre.into_iter().chain(post).any(|state| !state.stored) {
            return Ok(Verdict::Skip(NotStaged::TooLarge));
        }
        let Some(entry) = entry.filter(|entry| !entry.intent_to_add) else {
            return self.decide_new(spot, pre, post, entry.is_some());
        };
        let Some(post) = post else {
            // Removing the file removes every line of it, so all of them have to be the index's too.
            let same = match pre {
                Some(pre) => self.cleaned(spot, pre, entry.id)? == entry.id,
                None => false,
            };
            return if same {
                Ok(Verdict::Entries(Vec::new()))
            } else {
                self.ask(spot.path, "the fix deletes the file, which has changes of yours", pre, None, entry)
            };
        };
        let Some(pre) = pre else {
            // The user had deleted it without staging that, and the fix made it anew.
            let new = self.cleaned(spot, post, entry.id)?;
            return if new == entry.id {
                Ok(Verdict::Entries(vec![IndexEntry { mode: self.mode(None, post, entry.mode), ..entry }]))
            } else {
                self.ask(spot.path, "the fix makes a file anew that you had deleted", None, Some(post), entry)
            };
        };
        self.decide_modified(spot, entry, pre, post)
    }

    /// The path is not in the index, or is there by intent only.
    fn decide_new(
        &self,
        spot: Spot<'_>,
        pre: Option<&FileState>,
        post: Option<&FileState>,
        intended: bool,
    ) -> Result<Verdict, StageRefused> {
        match (pre, post) {
            (Some(_), Some(_)) => Ok(Verdict::Skip(NotStaged::Untracked)),
            (Some(_), None) if intended => Ok(Verdict::Skip(NotStaged::Untracked)),
            (_, None) => Ok(Verdict::Entries(Vec::new())),
            (None, Some(_)) if intended => Ok(Verdict::Skip(NotStaged::Untracked)),
            (None, Some(post)) => {
                if self.is_ignored(spot.path)? {
                    return Ok(Verdict::Skip(NotStaged::Ignored));
                }
                let id = self.cleaned(spot, post, ObjectId::zero())?;
                let mode = self.mode(None, post, FileKind::Regular.git_mode());
                Ok(Verdict::Entries(vec![IndexEntry::plain(mode, id)]))
            }
        }
    }

    fn decide_modified(
        &self,
        spot: Spot<'_>,
        entry: IndexEntry,
        pre: &FileState,
        post: &FileState,
    ) -> Result<Verdict, StageRefused> {
        let mode = self.mode(Some(pre), post, entry.mode);
        let old = self.cleaned(spot, pre, entry.id)?;
        let new = if pre.content == post.content && pre.kind.is_file() && post.kind.is_file() {
            old
        } else {
            self.cleaned(spot, post, entry.id)?
        };
        if old == entry.id || old == new {
            let id = if old == entry.id { new } else { entry.id };
            return Ok(Verdict::Entries(vec![IndexEntry { mode, id, ..entry }]));
        }
        if new == entry.id {
            // The user has staged exactly what the fix makes of it.
            return Ok(Verdict::Entries(vec![IndexEntry { mode, ..entry }]));
        }
        if !pre.kind.is_file() || !post.kind.is_file() || entry.mode & 0o170_000 != 0o100_000 {
            return self.ask(
                spot.path,
                "its type changed, and the index has another version",
                Some(pre),
                Some(post),
                entry,
            );
        }
        let texts = [old, new, entry.id].map(|id| self.store.read(id));
        let [pre_text, post_text, onto] = texts;
        let (pre_text, post_text, onto) = (
            pre_text.map_err(WorkspaceError::from)?,
            post_text.map_err(WorkspaceError::from)?,
            onto.map_err(WorkspaceError::from)?,
        );
        if [&pre_text, &post_text, &onto].iter().any(|text| is_binary(text) || is_lfs_pointer(text)) {
            return self.ask(
                spot.path,
                "it has no lines, and the index has another version",
                Some(pre),
                Some(post),
                entry,
            );
        }
        match transplant(&pre_text, &post_text, &onto) {
            Ok(text) => {
                let id = self.store.write(&text).map_err(WorkspaceError::from)?;
                Ok(Verdict::Entries(vec![IndexEntry { mode, id, ..entry }]))
            }
            Err(clash) => self.ask(spot.path, &clash.to_string(), Some(pre), Some(post), entry),
        }
    }

    /// The blob of a state, by git's clean filter.
    fn cleaned(
        &self,
        spot: Spot<'_>,
        state: &FileState,
        in_index: ObjectId,
    ) -> Result<ObjectId, StageRefused> {
        let bytes = self.store.read(state.content).map_err(WorkspaceError::from)?;
        let in_index = (!in_index.is_zero()).then_some(in_index);
        self.clean(spot.path, state.kind, &bytes, in_index, spot.convert).map_err(|error| match error {
            WorkspaceError::Git(super::GitError::Failed { message, .. }) => {
                StageRefused::Filter { path: spot.path.clone(), message }
            }
            error => error.into(),
        })
    }

    /// The mode of the new entry: the present one, unless the fix changed it.
    fn mode(&self, pre: Option<&FileState>, post: &FileState, present: u32) -> u32 {
        if pre.is_some_and(|pre| pre.kind == post.kind) {
            return present;
        }
        let trusted =
            self.store.repo().config().and_then(|config| config.get_bool("core.filemode")).unwrap_or(true);
        if trusted || !post.kind.is_file() { post.kind.git_mode() } else { FileKind::Regular.git_mode() }
    }

    fn ask(
        &self,
        path: &RepoPath,
        why: &str,
        pre: Option<&FileState>,
        post: Option<&FileState>,
        entry: IndexEntry,
    ) -> Result<Verdict, StageRefused> {
        Ok(Verdict::Ask(self.conflict(path, why, pre, post, Some(entry))?))
    }

    fn conflict(
        &self,
        path: &RepoPath,
        why: &str,
        pre: Option<&FileState>,
        post: Option<&FileState>,
        entry: Option<IndexEntry>,
    ) -> Result<Conflict, WorkspaceError> {
        let text = |state: Option<&FileState>| -> Result<Vec<u8>, WorkspaceError> {
            match state {
                Some(state) if state.stored => Ok(self.store.read(state.content)?),
                _ => Ok(Vec::new()),
            }
        };
        let (pre, post) = (text(pre)?, text(post)?);
        let present = match entry {
            Some(entry) if !entry.is_gitlink() => self.store.read(entry.id)?,
            _ => Vec::new(),
        };
        let hunks = |old: &[u8], new: &[u8]| {
            let mut out = Vec::new();
            patch::write_hunks(&mut out, old, new);
            String::from_utf8_lossy(&out).into_owned()
        };
        Ok(Conflict {
            path: path.clone(),
            why: why.to_owned(),
            ours: hunks(&pre, &post),
            theirs: hunks(&pre, &present),
        })
    }

    /// The entry is not the one that the loop left there (R17, R26).
    fn meanwhile(
        &self,
        path: &RepoPath,
        start: &Checkpoint,
        post: Option<FileState>,
    ) -> Result<Conflict, WorkspaceError> {
        let pre = self.states_at(start, std::slice::from_ref(path))?.remove(path).flatten();
        let entry = self.index_entries(path)?.first().copied();
        self.conflict(
            path,
            "its index entry was changed while the loop ran",
            pre.as_ref(),
            post.as_ref(),
            entry,
        )
    }
}
