//! The whole state of a repository as git and the file system tell it.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use fix_loop_tests::{Entry, Repo};

/// One look at everything that is the user's.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Seen {
    pub tree: BTreeMap<PathBuf, Entry>,
    /// Per path its entries: tag, mode, blob, stage, and whether it is there by intent only.
    pub index: BTreeMap<PathBuf, Vec<String>>,
    /// HEAD, branches, tags and the stash with all of its entries.
    pub refs: String,
}

impl Seen {
    /// Whether git ignores a path, by the rules that are there from the beginning and those that an agent adds.
    pub fn ignores(&self, path: &Path) -> bool {
        if self.index.contains_key(path) {
            return false;
        }
        let more = match self.tree.get(Path::new(".gitignore")) {
            Some(Entry::File { bytes, .. }) => bytes.windows(5).any(|part| part == b"*.txt"),
            _ => false,
        };
        let ends = |end: &str| path.extension().is_some_and(|extension| extension == end);
        ends("log") || (more && (ends("txt") || path.starts_with("new")))
    }
}

/// git in a repository, whatever it says.
pub fn git_command(repo: &Repo, arguments: &[&str]) -> Command {
    let mut command = Command::new("git");
    command.args(arguments).current_dir(repo.root()).stdin(Stdio::null());
    repo.isolate(&mut command);
    command
}

fn output(repo: &Repo, arguments: &[&str]) -> Vec<u8> {
    let output = git_command(repo, arguments).output().expect("git is installed");
    assert!(output.status.success(), "git {arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    output.stdout
}

fn path_of(bytes: &[u8]) -> PathBuf {
    use std::os::unix::ffi::OsStrExt;
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

pub fn refs(repo: &Repo) -> String {
    let all = output(repo, &["for-each-ref", "--format=%(refname) %(objectname)"]);
    let all = String::from_utf8_lossy(&all).into_owned();
    let mut refs: String = all
        .lines()
        .filter(|line| !line.starts_with("refs/fix-loop/"))
        .map(|line| format!("{line}\n"))
        .collect();
    refs.push_str(&std::fs::read_to_string(repo.path(".git/HEAD")).unwrap_or_default());
    refs.push_str(&std::fs::read_to_string(repo.path(".git/logs/refs/stash")).unwrap_or_default());
    refs
}

pub fn index(repo: &Repo) -> BTreeMap<PathBuf, Vec<String>> {
    let mut index: BTreeMap<PathBuf, Vec<String>> = BTreeMap::new();
    for record in output(repo, &["ls-files", "-s", "-t", "-z"]).split(|byte| *byte == 0) {
        let Some(tab) = record.iter().position(|byte| *byte == b'\t') else { continue };
        let said = String::from_utf8_lossy(&record[..tab]).into_owned();
        index.entry(path_of(&record[tab + 1..])).or_default().push(said);
    }
    let empty = "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391";
    if index.values().flatten().any(|entry| entry.contains(empty)) {
        // An entry that is there by intent only looks like an empty file but for this.
        for record in output(repo, &["diff", "--name-only", "--diff-filter=A", "-z"]).split(|byte| *byte == 0)
        {
            if let Some(entries) = index.get_mut(&path_of(record)) {
                entries.push("intended".to_owned());
            }
        }
    }
    index
}

pub fn look(repo: &Repo) -> Seen {
    Seen { tree: repo.tree(), index: index(repo), refs: refs(repo) }
}

/// Everything that each blob says of the user's, remembered since blobs never change.
#[derive(Default)]
pub struct Blobs(HashMap<String, BTreeSet<String>>);

impl Blobs {
    /// The tokens in whatever git keeps: index, refs, reflogs, and what Fix Loop keeps under its own refs.
    pub fn kept(&mut self, repo: &Repo) -> BTreeSet<String> {
        let listed = output(repo, &["rev-list", "--objects", "--all", "--reflog", "--indexed-objects"]);
        let listed = String::from_utf8_lossy(&listed).into_owned();
        let ids: Vec<&str> = listed.lines().filter_map(|line| line.split(' ').next()).collect();
        self.read(repo, &ids);
        ids.iter().filter_map(|id| self.0.get(*id)).flatten().cloned().collect()
    }

    /// The tokens of one blob.
    pub fn of(&mut self, repo: &Repo, id: &str) -> BTreeSet<String> {
        self.read(repo, &[id]);
        self.0.get(id).cloned().unwrap_or_default()
    }

    fn read(&mut self, repo: &Repo, ids: &[&str]) {
        let fresh: Vec<&str> = ids.iter().copied().filter(|id| !self.0.contains_key(*id)).collect();
        if fresh.is_empty() {
            return;
        }
        let mut command = git_command(repo, &["cat-file", "--batch"]);
        let mut child =
            command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("git is installed");
        let mut stdin = child.stdin.take().expect("it is piped");
        let input = fresh.join("\n") + "\n";
        let writing = std::thread::spawn(move || stdin.write_all(input.as_bytes()));
        let out = child.wait_with_output().expect("git ends").stdout;
        writing.join().expect("writing does not panic").expect("git reads everything");
        let mut rest: &[u8] = &out;
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let head = String::from_utf8_lossy(&rest[..end]).into_owned();
            let words: Vec<&str> = head.split(' ').collect();
            let [id, sort, size] = words[..] else { panic!("git said `{head}`") };
            let size: usize = size.parse().expect("a size");
            let body = &rest[end + 1..end + 1 + size];
            let found = if sort == "blob" { tokens(body) } else { BTreeSet::new() };
            self.0.insert(id.to_owned(), found);
            rest = &rest[end + 2 + size..];
        }
    }
}

/// The user's tokens in some bytes: each stands for what the user wrote once.
pub fn tokens(bytes: &[u8]) -> BTreeSet<String> {
    let text = String::from_utf8_lossy(bytes);
    text.split("<<")
        .skip(1)
        .filter_map(|rest| rest.split_once(">>"))
        .map(|(token, _)| token.to_owned())
        .collect()
}

pub fn tokens_at(tree: &BTreeMap<PathBuf, Entry>, path: &Path) -> BTreeSet<String> {
    match tree.get(path) {
        Some(Entry::File { bytes, .. }) => tokens(bytes),
        _ => BTreeSet::new(),
    }
}

/// A look, where one is wanted.
pub fn look_if(repo: &Repo, wanted: bool) -> Option<Seen> {
    wanted.then(|| look(repo))
}
