//! What changed since a checkpoint, and which of it a worker was not allowed to do.
//!
//! Owns the comparison of work tree, index and refs with a checkpoint (DESIGN 7.2). Reports and judges; never changes
//! anything. `restore` sets changes aside and puts them back, when the engine says so.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

use super::breach::{Breach, RefChange, index_reset, other_refs, ref_breaches};
use super::checkpoint::{Checkpoint, listed_paths};
use super::index::IndexChange;
use super::object::{FileKind, FileState, ObjectId};
use super::path::{RepoPath, Scope};
use super::status;
use super::{Result, Workspace};

/// Whose a change is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Place {
    /// The loop's own, where it may write.
    InScope,
    /// The loop's own, where it may not.
    OutOfScope,
    /// The user's: the editor saved exactly these bytes, or keeps its own books there (swap and lock files).
    Users,
}

/// In which way a path changed. A rename is a `Deleted` and an `Added`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ChangeKind {
    /// It was absent.
    Added,
    /// It is absent.
    Deleted,
    /// Other bytes, perhaps another mode as well.
    Modified,
    /// The same bytes, executable or no longer.
    ModeChanged,
    /// File, symlink, repository or special file became another of these.
    TypeChanged,
}

/// One changed path.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Change {
    /// The path.
    pub path: RepoPath,
    /// In which way.
    pub kind: ChangeKind,
    /// Whose it is.
    pub place: Place,
    /// The state at the checkpoint; `None`: absent.
    pub before: Option<FileState>,
    /// The state now; `None`: absent.
    pub after: Option<FileState>,
}

impl Change {
    pub(super) fn between(
        path: RepoPath,
        before: Option<FileState>,
        after: Option<FileState>,
        place: Place,
    ) -> Option<Change> {
        let kind = match (&before, &after) {
            (None, None) => return None,
            (None, Some(_)) => ChangeKind::Added,
            (Some(_), None) => ChangeKind::Deleted,
            (Some(before), Some(after)) if before == after => return None,
            (Some(before), Some(after)) if before.kind == after.kind => ChangeKind::Modified,
            (Some(before), Some(after)) if !(before.kind.is_file() && after.kind.is_file()) => {
                ChangeKind::TypeChanged
            }
            (Some(before), Some(after)) if before.content == after.content => ChangeKind::ModeChanged,
            _ => ChangeKind::Modified,
        };
        Some(Change { path, kind, place, before, after })
    }
}

/// Names the state of the changed paths relative to one checkpoint. Equal states have equal ids, whatever way led there;
/// compare only ids that were taken against the same checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct TreeId(String);

impl TreeId {
    /// The id of these changes. Changes of the user do not count.
    pub fn of(changes: &[Change]) -> TreeId {
        let mut text = String::new();
        let counted = changes.iter().filter(|change| change.place != Place::Users);
        let sorted: BTreeMap<_, _> = counted.map(|change| (&change.path, &change.after)).collect();
        for (path, after) in sorted {
            match after {
                Some(state) => write!(text, "{:?} {} {path}\0", state.kind, state.content),
                None => write!(text, "gone {path}\0"),
            }
            .expect("writing to a string cannot fail");
        }
        TreeId(ObjectId::of_bytes(text.as_bytes()).to_string())
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// All that changed since a checkpoint.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Observation {
    /// Changed paths of the work tree that git does not ignore, by path.
    pub changes: Vec<Change>,
    /// What must stop the loop.
    pub breaches: Vec<Breach>,
    /// Entries of the index that are not those of the checkpoint. [`Workspace::untake_index`] takes them back.
    pub index_taken: Vec<IndexChange>,
    /// Other refs.
    pub refs_changed: Vec<RefChange>,
    /// Ignored files outside ignored folders, such as `.env`, that changed. They are reported, and never staged.
    pub ignored_changed: Vec<Change>,
    /// Files in the git folder (configuration, exclusions, hooks) that changed. They are only reported: an editor
    /// changes some of them too.
    #[serde(default)]
    pub git_files_changed: Vec<String>,
    /// The state of `changes`.
    pub tree: TreeId,
}

impl Observation {
    /// The changes of one place.
    pub fn placed(&self, place: Place) -> impl Iterator<Item = &Change> {
        self.changes.iter().filter(move |change| change.place == place)
    }

    /// Whether nothing at all happened to work tree and index that is not the user's.
    pub fn is_quiet(&self) -> bool {
        self.breaches.is_empty()
            && self.index_taken.is_empty()
            && self.changes.iter().all(|change| change.place == Place::Users)
    }
}

impl Workspace {
    /// Compares everything with the checkpoint. `user_saved` are the blobs (see [`ObjectId::of_bytes`]) that the editor
    /// wrote since; a path that has exactly such bytes is the user's.
    pub fn observe(
        &self,
        since: &Checkpoint,
        scope: &Scope,
        user_saved: &[(RepoPath, ObjectId)],
    ) -> Result<Observation> {
        let status = status::read(&self.git, true)?;
        let refs = self.ref_state()?;
        let index = self.read_index()?;
        let same_head = refs.head.commit == since.head.commit;
        let notable = self.notable_entries(&index, &status);
        let index_taken = self.index_changes(since, &index, &notable, same_head)?;

        let place = |path: &RepoPath, after: Option<&FileState>| {
            let saved = after.is_some_and(|state| {
                user_saved.iter().any(|(saved, content)| saved == path && *content == state.content)
            });
            match (saved || is_editors_own(path), scope.contains(path)) {
                (true, _) => Place::Users,
                (false, true) => Place::InScope,
                (false, false) => Place::OutOfScope,
            }
        };
        let mut paths: BTreeSet<RepoPath> = since.files.keys().cloned().collect();
        paths.extend(scope.files().cloned());
        paths.extend(index_taken.iter().map(|change| change.path.clone()));
        paths.extend(listed_paths(&status, &notable));
        // What lay in an ignored folder is unknown, not new, should a worker have edited .gitignore.
        paths.retain(|path| since.files.contains_key(path) || !since.in_ignored_folder(path));
        let ignored_now = self.ignored_states(&status)?;
        let mut ignored: BTreeSet<RepoPath> =
            since.ignored.keys().chain(ignored_now.keys()).cloned().collect();
        // A path that is ignored now but was not at the checkpoint is not hidden by that.
        ignored.retain(|path| {
            !since.files.contains_key(path) && (!paths.contains(path) || since.ignored.contains_key(path))
        });
        paths.retain(|path| !ignored.contains(path));

        let mut changes = self.compare(since, paths, &place)?;
        changes.sort_by(|a, b| a.path.cmp(&b.path));
        let ignored_changed = self.compare_ignored(since, ignored, &ignored_now, &place)?;
        let mut breaches = ref_breaches(since, &refs, self.fetched_since(since));
        breaches.extend(index_reset(since, &index_taken, self)?);
        breaches.extend(self.discarded(since, &changes)?);
        breaches.extend(self.file_breaches(&changes)?);
        let tree = TreeId::of(&changes);
        Ok(Observation {
            changes,
            breaches,
            index_taken,
            refs_changed: other_refs(since, &refs),
            ignored_changed,
            git_files_changed: self.git_files_changed(since),
            tree,
        })
    }

    fn git_files_changed(&self, since: &Checkpoint) -> Vec<String> {
        let now = self.git_files();
        let names: BTreeSet<&String> = now.keys().chain(since.git_files.keys()).collect();
        names.into_iter().filter(|name| now.get(*name) != since.git_files.get(*name)).cloned().collect()
    }

    /// Every path of the work tree that differs from the checkpoint, whoever changed it.
    pub(super) fn changes_since(&self, since: &Checkpoint) -> Result<Observation> {
        let nothing: [&str; 0] = [];
        let scope = Scope::new(&self.root, &nothing, &[]).expect("an empty scope is always valid");
        self.observe(since, &scope, &[])
    }

    fn compare(
        &self,
        since: &Checkpoint,
        paths: BTreeSet<RepoPath>,
        place: &dyn Fn(&RepoPath, Option<&FileState>) -> Place,
    ) -> Result<Vec<Change>> {
        let paths: Vec<RepoPath> = paths.into_iter().collect();
        let before = self.states_at(since, &paths)?;
        let mut changes = Vec::new();
        for (path, mut before) in before {
            let mut after = self.present(&path)?;
            if let (Some(then), Some(now)) = (&before, &after)
                && then.kind == FileKind::Repository
                && now.kind == FileKind::Repository
                && !since.files.contains_key(&path)
            {
                // A submodule that was clean at the checkpoint and is listed now.
                before = Some(FileState { content: ObjectId::zero(), ..then.clone() });
            } else if before.as_ref().is_some_and(|then| then.kind == FileKind::Repository) && after.is_none()
            {
                // A submodule that is not checked out is not deleted.
                let gone = path.under(&self.root).symlink_metadata().is_err();
                after = if gone { None } else { before.clone() };
            }
            let whose = place(&path, after.as_ref());
            changes.extend(Change::between(path, before, after, whose));
        }
        Ok(changes)
    }

    fn compare_ignored(
        &self,
        since: &Checkpoint,
        paths: BTreeSet<RepoPath>,
        now: &BTreeMap<RepoPath, FileState>,
        place: &dyn Fn(&RepoPath, Option<&FileState>) -> Place,
    ) -> Result<Vec<Change>> {
        let mut changes = Vec::new();
        for path in paths {
            let after = match now.get(&path) {
                Some(state) => Some(state.clone()),
                // It may have come into an ignored folder, or out of the ignore rules.
                None => self.present(&path)?,
            };
            let whose = place(&path, after.as_ref());
            changes.extend(Change::between(path.clone(), since.ignored.get(&path).cloned(), after, whose));
        }
        Ok(changes)
    }
}

/// Files that an editor writes beside the ones it has open. Putting them back would harm the editor, and asking about
/// them would be noise.
fn is_editors_own(path: &RepoPath) -> bool {
    let name = path.as_str().rsplit('/').next().unwrap_or_default();
    let swap = |extension: &str| {
        extension.len() == 3 && extension.starts_with("sw") && extension.as_bytes()[2] >= b'a'
    };
    let vim = name.starts_with('.')
        && name.rsplit_once('.').is_some_and(|(stem, end)| !stem.is_empty() && swap(end));
    let emacs = name.starts_with(".#") || (name.len() > 2 && name.starts_with('#') && name.ends_with('#'));
    vim || emacs || name == "4913"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_editors_keep_beside_the_open_ones_are_known_by_name() {
        let table = [
            (".main.rs.swp", true),
            ("src/.main.rs.swo", true),
            ("src/4913", true),
            (".#main.rs", true),
            ("#main.rs#", true),
            ("main.swp", false),
            (".swp", false),
            (".env.sw1", false),
            ("#", false),
            ("4914", false),
            ("main.rs~", false),
        ];
        for (path, expected) in table {
            assert_eq!(is_editors_own(&RepoPath::new(path).unwrap()), expected, "{path}");
        }
    }
}
