//! What git says differs from HEAD: `git status --porcelain=v2`, parsed.
//!
//! Owns the listing of changed paths. Never reads a file; the listing says which ones need reading.

use super::git::{Git, GitError};
use super::path::RepoPath;

/// One listed path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Listed {
    pub(super) path: RepoPath,
    /// The index entry differs from HEAD.
    pub(super) in_index: bool,
    /// The path is a submodule; the four letters say what changed in it.
    pub(super) submodule: Option<String>,
}

/// All that one run of `git status` tells.
#[derive(Debug, Default)]
pub(super) struct Status {
    /// Tracked and changed, against HEAD or against the index, and unmerged paths.
    pub(super) tracked: Vec<Listed>,
    pub(super) untracked: Vec<RepoPath>,
    /// Untracked folders that are repositories of their own.
    pub(super) nested: Vec<RepoPath>,
    pub(super) ignored: Vec<RepoPath>,
    pub(super) ignored_folders: Vec<RepoPath>,
    /// Paths that are no UTF-8 and so can be neither protected nor in a scope.
    pub(super) unreadable: Vec<String>,
}

/// Runs `git status`. Renames are two paths here; the user's own `status.*` settings do not matter.
pub(super) fn read(git: &Git, with_ignored: bool) -> Result<Status, GitError> {
    // What git remembers about unchanged folders may be fooled by whoever sets timestamps back.
    let mut settings: Vec<String> =
        ["-c", "core.fsmonitor=false", "-c", "core.untrackedCache=false"].map(String::from).to_vec();
    let out = loop {
        let mut args = settings.clone();
        args.extend(
            [
                "status",
                "--porcelain=v2",
                "-z",
                "--no-renames",
                "--no-ahead-behind",
                "--untracked-files=all",
                "--ignore-submodules=none",
                if with_ignored { "--ignored=matching" } else { "--ignored=no" },
            ]
            .map(String::from),
        );
        match git.run(&args) {
            // A required filter that cannot clean a file must not blind us to all others: without it, the file's own
            // bytes are compared. Staging the file still fails, and says why.
            Err(GitError::Failed { message, .. }) if settings.len() < 20 => match failed_filter(&message) {
                Some(name) => settings.extend(["-c".into(), format!("filter.{name}.required=false")]),
                None => return Err(GitError::Failed { command: "status".into(), message }),
            },
            other => break other?,
        }
    };
    Ok(parse(&out))
}

/// The filter's name in "clean filter 'NAME' failed".
fn failed_filter(message: &str) -> Option<&str> {
    let (_, rest) = message.split_once("clean filter '")?;
    rest.split_once("' failed").map(|(name, _)| name)
}

fn parse(out: &[u8]) -> Status {
    let mut status = Status::default();
    for record in out.split(|byte| *byte == 0).filter(|record| record.len() > 2) {
        let (sort, rest) = (record[0], &record[2..]);
        // Fields before the path: "1" has 7 of them, "u" has 9, "?" and "!" none.
        let fields = match sort {
            b'1' => 7,
            b'u' => 9,
            b'?' | b'!' => 0,
            _ => continue,
        };
        let mut split = rest.splitn(fields + 1, |byte| *byte == b' ');
        let head: Vec<&[u8]> = split.by_ref().take(fields).collect();
        let Some(raw) = split.next() else { continue };
        let folder = raw.ends_with(b"/");
        let Some(path) = std::str::from_utf8(raw).ok().and_then(|text| RepoPath::new(text).ok()) else {
            status.unreadable.push(String::from_utf8_lossy(raw).into_owned());
            continue;
        };
        match (sort, folder) {
            (b'?', false) => status.untracked.push(path),
            (b'?', true) => status.nested.push(path),
            (b'!', false) => status.ignored.push(path),
            (b'!', true) => status.ignored_folders.push(path),
            _ => {
                // ".A" is an intent-to-add entry: git shows it as absent from the index, but it is there.
                let in_index =
                    sort == b'u' || head[0].first() != Some(&b'.') || head[0].get(1) == Some(&b'A');
                let submodule =
                    (head[1].first() == Some(&b'S')).then(|| String::from_utf8_lossy(head[1]).into_owned());
                status.tracked.push(Listed { path, in_index, submodule });
            }
        }
    }
    status
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_record_is_told_apart_and_paths_may_hold_spaces() {
        let text = "1 .M N... 100644 100644 100644 aa aa a b.txt\0\
                    1 A. N... 000000 100644 100644 00 bb new\0\
                    1 .A N... 000000 000000 100644 00 00 intent\0\
                    1 .M S.M. 160000 160000 160000 cc cc sub\0\
                    u UU N... 100644 100644 100644 100644 aa bb cc both\0\
                    ? loose\nname\0? nested/\0! .env\0! target/\0";
        let mut bytes = text.as_bytes().to_vec();
        bytes.extend_from_slice(b"? caf\xe9\0");
        let status = parse(&bytes);
        let tracked: Vec<_> =
            status.tracked.iter().map(|l| (l.path.as_str(), l.in_index, l.submodule.as_deref())).collect();
        assert_eq!(
            tracked,
            [
                ("a b.txt", false, None),
                ("new", true, None),
                ("intent", true, None),
                ("sub", false, Some("S.M.")),
                ("both", true, None)
            ]
        );
        let names = |paths: &[RepoPath]| paths.iter().map(ToString::to_string).collect::<Vec<_>>();
        assert_eq!(names(&status.untracked), ["loose\nname"]);
        assert_eq!(names(&status.nested), ["nested"]);
        assert_eq!(names(&status.ignored), [".env"]);
        assert_eq!(names(&status.ignored_folders), ["target"]);
        assert_eq!(status.unreadable, ["caf\u{fffd}"]);
    }
}
