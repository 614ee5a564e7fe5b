//! git's own conversions between the work tree and the object store.
//!
//! Owns running the clean filter (into the index) and the smudge filter (out of it): line endings, LFS and other
//! filters, `working-tree-encoding`, `ident`. libgit2 gets several of them wrong (R11–R13), so git does all of it.
//! Never looks at what the bytes mean.

use std::collections::BTreeMap;

use super::git::{Git, GitError};
use super::index_file::IndexFile;
use super::object::{FileKind, FileState, ObjectId};
use super::path::RepoPath;
use super::{Checkpoint, Result, Workspace, index};

/// Which conversions a path has.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Conversions {
    /// Line endings are converted only if the content looks like text and the index has no CRLF yet.
    automatic_line_endings: bool,
    line_endings: bool,
    /// A filter, an encoding or `ident`.
    other: bool,
    /// The filter is git-lfs.
    lfs: bool,
}

impl Conversions {
    fn any(self) -> bool {
        self.line_endings || self.other
    }
}

impl Workspace {
    /// Writes the blob that `git add` would make of `bytes` at `path`, when the index has `in_index` there.
    pub(super) fn clean(
        &self,
        path: &RepoPath,
        kind: FileKind,
        bytes: &[u8],
        in_index: Option<ObjectId>,
        conversions: Conversions,
    ) -> Result<ObjectId> {
        if kind == FileKind::Symlink {
            return Ok(self.store.write(bytes)?);
        }
        let pointer = |id: ObjectId| self.store.read(id).is_ok_and(|blob| is_lfs_pointer(&blob));
        if conversions.lfs && in_index.is_none_or(pointer) && !is_lfs_pointer(bytes) && !self.has_lfs()? {
            return Err(GitError::Failed {
                command: "hash-object".into(),
                message: "the file is kept by git-lfs, which is not set up here; run `git lfs install`"
                    .into(),
            }
            .into());
        }
        let keeps_crlf = conversions.automatic_line_endings
            && !conversions.other
            && in_index.and_then(|id| self.store.read(id).ok()).is_some_and(|blob| has_crlf_text(&blob));
        // git leaves a file alone whose CRLFs are in the index already, which `hash-object` does not look at.
        if keeps_crlf || !conversions.any() {
            return Ok(self.store.write(bytes)?);
        }
        super::fault::point("object.before");
        let option = format!("--path={path}");
        // An empty stdin would be /dev/null, which reads the same.
        let out = self.git.feed(&["hash-object", "-w", "--stdin", &option], bytes)?;
        super::fault::point("object.after");
        let text = String::from_utf8_lossy(&out);
        text.trim().parse().map_err(|_| {
            GitError::Failed { command: "hash-object".into(), message: format!("it printed `{text}`") }.into()
        })
    }

    /// The bytes that a path had at a checkpoint; `None`: absent, or not kept.
    pub fn bytes_at(&self, checkpoint: &Checkpoint, path: &RepoPath) -> Result<Option<Vec<u8>>> {
        let states = self.states_at(checkpoint, std::slice::from_ref(path))?;
        match states.into_values().next().flatten() {
            Some(state) if state.stored => Ok(Some(self.object(state.content)?)),
            _ => Ok(None),
        }
    }

    /// The states that paths had at a checkpoint. Bytes of a path that was clean then are made from its blob, and
    /// written as an object.
    pub fn states_at(
        &self,
        checkpoint: &Checkpoint,
        paths: &[RepoPath],
    ) -> Result<BTreeMap<RepoPath, Option<FileState>>> {
        let mut states = BTreeMap::new();
        let mut clean = Vec::new();
        for path in paths {
            if let Some(state) = checkpoint.files.get(path) {
                states.insert(path.clone(), state.clone());
            } else if let Some(state) = checkpoint.ignored.get(path) {
                states.insert(path.clone(), Some(state.clone()));
            } else {
                clean.push(path.clone());
            }
        }
        states.extend(self.clean_states(checkpoint, &clean)?);
        Ok(states)
    }

    /// What a checkout of the index of a checkpoint would write at these paths.
    pub(super) fn clean_states(
        &self,
        checkpoint: &Checkpoint,
        paths: &[RepoPath],
    ) -> Result<BTreeMap<RepoPath, Option<FileState>>> {
        let mut states = BTreeMap::new();
        if paths.is_empty() {
            return Ok(states);
        }
        // Attributes are those of the checkpoint's commit where a worker has changed them since.
        let attributes_changed =
            paths.iter().any(|path| path.as_str().rsplit('/').next() == Some(".gitattributes"));
        let git = match (attributes_changed, checkpoint.head.commit) {
            (true, Some(commit)) => self.git.with_env("GIT_ATTR_SOURCE", commit.to_string()),
            _ => self.git.clone(),
        };
        let conversions = self.conversions(&git, paths)?;
        let converted = |path: &RepoPath| conversions.get(path).is_some_and(|conversions| conversions.any());
        let index = match paths.iter().any(converted) {
            true => index::read(&self.kept_index(&checkpoint.name))?,
            false => IndexFile::default(),
        };
        for path in paths {
            let entries = self.entries_at(checkpoint, path)?;
            let state = match entries.first() {
                Some(entry) if !entry.skip_worktree => {
                    let convert = conversions.get(path).copied().unwrap_or_default();
                    Some(self.checked_out(&git, path, entry, convert, &index)?)
                }
                _ => None,
            };
            states.insert(path.clone(), state);
        }
        Ok(states)
    }

    fn checked_out(
        &self,
        git: &Git,
        path: &RepoPath,
        entry: &index::IndexEntry,
        conversions: Conversions,
        index: &IndexFile,
    ) -> Result<FileState> {
        let kind = FileKind::from_git_mode(entry.mode);
        let mut state = FileState { kind, content: entry.id, size: 0, permissions: None, stored: true };
        if kind == FileKind::Repository {
            state.stored = false;
            return Ok(state);
        }
        let raw = self.store.read(entry.id)?;
        state.size = raw.len() as u64;
        if kind == FileKind::Symlink || !conversions.any() {
            return Ok(state);
        }
        let option = format!("--path={path}");
        let made = git.run(&["cat-file", "--filters", &option, &entry.id.to_string()])?;
        // The index of the checkpoint remembers the length of a clean file. A file that was never checked out since the
        // filter was set up has the blob's own bytes.
        let now = index.of(path.as_str()).find(|seen| seen.entry().stage == 0 && seen.entry().id == entry.id);
        let length = now.map(|seen| seen.size() as usize).filter(|length| *length != 0);
        if length == Some(raw.len()) && made.len() != raw.len() {
            return Ok(state);
        }
        state.size = made.len() as u64;
        state.content = self.store.write(&made)?;
        Ok(state)
    }

    /// Without its driver git would take the raw file in place of the pointer, silently (R11).
    fn has_lfs(&self) -> Result<bool> {
        let (code, _, _) =
            self.git.status(&["config", "--get-regexp", r"^filter\.lfs\.(clean|process)$"], b"")?;
        Ok(code == Some(0))
    }

    /// The conversions of these paths, by the attributes of the present work tree.
    pub(super) fn present_conversions(&self, paths: &[RepoPath]) -> Result<BTreeMap<RepoPath, Conversions>> {
        self.conversions(&self.git, paths)
    }

    fn conversions(&self, git: &Git, paths: &[RepoPath]) -> Result<BTreeMap<RepoPath, Conversions>> {
        if paths.is_empty() {
            return Ok(BTreeMap::new());
        }
        let mut input = Vec::new();
        for path in paths {
            input.extend_from_slice(path.as_str().as_bytes());
            input.push(0);
        }
        const NAMES: [&str; 6] = ["text", "eol", "crlf", "ident", "filter", "working-tree-encoding"];
        let mut args = vec!["check-attr", "-z", "--stdin"];
        args.extend(NAMES);
        let out = git.feed(&args, &input)?;
        let (code, automatic, _) = git.status(&["config", "--get", "core.autocrlf"], b"")?;
        let automatic = String::from_utf8_lossy(&automatic).trim().to_ascii_lowercase();
        let automatic =
            code == Some(0) && matches!(automatic.as_str(), "true" | "yes" | "on" | "1" | "input" | "");
        let mut found: BTreeMap<RepoPath, BTreeMap<String, String>> = BTreeMap::new();
        let text = String::from_utf8_lossy(&out);
        let fields: Vec<&str> = text.split('\0').collect();
        for triple in fields.as_chunks::<3>().0 {
            if let Ok(path) = RepoPath::new(triple[0]) {
                found.entry(path).or_default().insert(triple[1].to_owned(), triple[2].to_owned());
            }
        }
        Ok(found
            .into_iter()
            .map(|(path, values)| {
                let get = |name: &str| values.get(name).map_or("unspecified", String::as_str);
                let is_set = |name: &str| !matches!(get(name), "unspecified" | "unset");
                let text = if get("text") == "unspecified" { get("crlf") } else { get("text") };
                let line_endings = match text {
                    "unset" => false,
                    "unspecified" => automatic || is_set("eol"),
                    _ => true,
                };
                let automatic_line_endings =
                    text == "auto" || (text == "unspecified" && automatic && !is_set("eol"));
                let other = is_set("ident") || is_set("filter") || is_set("working-tree-encoding");
                let lfs = get("filter") == "lfs";
                (path, Conversions { automatic_line_endings, line_endings, other, lfs })
            })
            .collect())
    }
}

/// Whether these bytes stand for a file that git-lfs keeps.
pub(super) fn is_lfs_pointer(bytes: &[u8]) -> bool {
    bytes.starts_with(b"version https://git-lfs.github.com/spec/")
}

/// What git calls text with CRLF: at least one CRLF, no NUL, no lone CR, and few other control characters.
fn has_crlf_text(blob: &[u8]) -> bool {
    let lone = |at: usize| blob[at] == b'\r' && blob.get(at + 1) != Some(&b'\n');
    blob.windows(2).any(|pair| pair == b"\r\n") && !blob.contains(&0) && !(0..blob.len()).any(lone)
}
