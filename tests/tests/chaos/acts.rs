//! What the user and the agent do, one act at a time, in words that can be read after a failure.

use std::fmt;
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use fix_loop_tests::Repo;

use super::random::Random;
use super::seen::git_command;

/// Files that are there from the beginning, and some that are not.
pub const PATHS: [&str; 13] = [
    "app.txt",
    "lib.txt",
    "docs/readme.md",
    "src/a.rs",
    "src/b.rs",
    "tool.sh",
    "dos.txt",
    "bom.txt",
    "coded.up",
    "new/notes.txt",
    "odd \"name\"\n.txt",
    "local.log",
    "link",
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Adds a line somewhere, with the file's own line endings.
    Insert,
    /// Other text in place of the whole file.
    Overwrite,
    Delete,
    Chmod,
    SymlinkSwap,
    Rename,
    Add,
    AddHalf,
    AddAll,
    IntendToAdd,
    RemoveFromIndex,
    Commit,
    CommitAll,
    Stash,
    StashUntracked,
    StashPop,
    ResetMixed,
    ResetHard,
    Checkout,
    CheckoutAll,
    Clean,
    Tag,
    Branch,
    Unmerge,
    SkipWorktree,
    Lock,
    Unlock,
    /// The line that the finding is about.
    Fix,
    /// The same, with the bytes of the file read in the wrong encoding, or its line endings changed.
    Damage,
    IgnoreMore,
    Hook,
    HeadBack,
}

/// One act on one path.
#[derive(Clone, Debug)]
pub struct Act {
    pub what: What,
    pub path: &'static str,
    /// Where in a file, and to what other path.
    pub at: usize,
    /// What is written. A user's text holds a token of its own, an agent's none.
    pub text: String,
}

impl fmt::Display for Act {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?} {:?} at {} with {:?}", self.what, self.path, self.at, self.text)
    }
}

use What::*;

const USER_FREE: [(usize, What); 26] = [
    (26, Insert),
    (5, Overwrite),
    (5, Delete),
    (3, Chmod),
    (2, SymlinkSwap),
    (4, Rename),
    (14, Add),
    (8, AddHalf),
    (3, AddAll),
    (4, IntendToAdd),
    (2, RemoveFromIndex),
    (3, Commit),
    (2, CommitAll),
    (3, Stash),
    (1, StashUntracked),
    (2, StashPop),
    (2, ResetMixed),
    (1, ResetHard),
    (3, Checkout),
    (1, Clean),
    (1, Tag),
    (1, Branch),
    (1, Unmerge),
    (1, SkipWorktree),
    (1, Lock),
    (3, Unlock),
];

const USER_MEANWHILE: [(usize, What); 13] = [
    (20, Insert),
    (4, Overwrite),
    (4, Delete),
    (2, Chmod),
    (3, Rename),
    (8, Add),
    (4, AddHalf),
    (2, Commit),
    (2, Stash),
    (1, ResetHard),
    (2, Checkout),
    (1, Branch),
    (1, Tag),
];

const AGENT: [(usize, What); 26] = [
    (60, Fix),
    (22, Insert),
    (5, Overwrite),
    (4, Delete),
    (4, Chmod),
    (3, SymlinkSwap),
    (4, Rename),
    (5, Add),
    (4, AddAll),
    (2, IntendToAdd),
    (1, RemoveFromIndex),
    (2, Commit),
    (2, CommitAll),
    (2, Stash),
    (1, StashUntracked),
    (1, ResetMixed),
    (2, ResetHard),
    (2, Checkout),
    (2, CheckoutAll),
    (2, Clean),
    (1, Tag),
    (1, Branch),
    (3, Damage),
    (2, IgnoreMore),
    (1, Hook),
    (1, HeadBack),
];

/// Who acts, and when.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Who {
    /// While no program runs.
    User,
    /// While an agent or a check is at work.
    UserMeanwhile,
    Agent,
    /// An agent that may only read, or a check.
    Reader,
}

impl Act {
    pub fn random(random: &mut Random, who: Who, serial: &mut u32) -> Act {
        let what = match who {
            Who::User => random.weighted(&USER_FREE),
            Who::UserMeanwhile => random.weighted(&USER_MEANWHILE),
            Who::Agent => random.weighted(&AGENT),
            Who::Reader => random.weighted(&AGENT[1..]),
        };
        // The files of the finding are in everybody's way most often.
        let path = if random.percent(45) { PATHS[random.below(2)] } else { *random.pick(&PATHS) };
        *serial += 1;
        let text = match who {
            Who::User | Who::UserMeanwhile => format!("<<u{serial}>> mine"),
            Who::Agent | Who::Reader => format!("agent {serial}"),
        };
        Act { what, path, at: random.below(64), text }
    }

    /// Does it as far as it can be done; what git or the file system refuses is no matter.
    pub fn perform(&self, repo: &Repo) {
        let git = |arguments: &[&str]| {
            git_command(repo, arguments).output().expect("git is installed");
        };
        let (path, full) = (self.path, repo.path(self.path));
        match self.what {
            Insert => self.insert(repo),
            Overwrite => self.overwrite(repo, format!("{}\nBAD line\n", self.text).as_bytes()),
            Delete => drop(fs::remove_file(&full)),
            Chmod => {
                let Ok(meta) = full.symlink_metadata() else { return };
                if meta.is_file() {
                    let mode = meta.permissions().mode() ^ 0o111;
                    fs::set_permissions(&full, fs::Permissions::from_mode(mode)).expect("it is ours");
                }
            }
            SymlinkSwap => {
                let target = ["docs/readme.md", "app.txt", "/etc/hostname", "nowhere"][self.at % 4];
                if full.is_file() && target != path {
                    fs::remove_file(&full).expect("it is there");
                    symlink(target, &full).expect("its place is free");
                }
            }
            Rename => {
                let to = repo.path(PATHS[self.at % PATHS.len()]);
                if full.symlink_metadata().is_ok() && to.symlink_metadata().is_err() {
                    fs::create_dir_all(to.parent().expect("inside")).expect("folders can be made");
                    fs::rename(&full, &to).expect("both are inside");
                }
            }
            Add => git(&["add", "--", path]),
            AddHalf => self.add_half(repo),
            AddAll => git(&["add", "--all"]),
            IntendToAdd => git(&["add", "--intent-to-add", "--", path]),
            RemoveFromIndex => git(&["rm", "--cached", "--quiet", "--", path]),
            Commit => git(&["commit", "--quiet", "--no-verify", "-m", &self.text]),
            CommitAll => git(&["commit", "--quiet", "--no-verify", "--all", "-m", &self.text]),
            Stash => git(&["stash", "push", "--quiet"]),
            StashUntracked => git(&["stash", "push", "--quiet", "--include-untracked"]),
            StashPop => git(&["stash", "pop", "--quiet"]),
            ResetMixed => git(&["reset", "--quiet"]),
            ResetHard => git(&["reset", "--quiet", "--hard"]),
            Checkout => git(&["checkout", "--quiet", "--", path]),
            CheckoutAll => git(&["checkout", "--quiet", "--", "."]),
            Clean => git(&["clean", "--quiet", "-fd", "-e", ".fix-loop"]),
            Tag => git(&["tag", &format!("t{}", self.at)]),
            Branch => git(&["branch", &format!("b{}", self.at)]),
            Unmerge => self.unmerge(repo),
            SkipWorktree => git(&["update-index", "--skip-worktree", "--", path]),
            Lock => {
                let lock = repo.path(".git/index.lock");
                if !lock.exists() {
                    fs::write(lock, "somebody else's").expect("the git folder can be written");
                }
            }
            Unlock => drop(fs::remove_file(repo.path(".git/index.lock"))),
            Fix => {
                let app = repo.path("app.txt");
                if app.is_file() && !app.is_symlink() {
                    let text = fs::read(&app).expect("it is a file");
                    let text = String::from_utf8_lossy(&text).replace("BAD", "GOOD");
                    fs::write(&app, text).expect("it is a file");
                }
            }
            Damage => {
                let Ok(text) = fs::read_to_string(&full) else { return };
                let text = text.replace("\r\n", "\n");
                self.overwrite(repo, text.trim_start_matches('\u{feff}').as_bytes());
            }
            IgnoreMore => {
                let ignored = fs::read_to_string(repo.path(".gitignore")).unwrap_or_default();
                fs::write(repo.path(".gitignore"), format!("{ignored}*.txt\nnew/\n")).expect("a file");
            }
            Hook => {
                fs::create_dir_all(repo.path(".git/hooks")).expect("a folder");
                fs::write(repo.path(".git/hooks/pre-commit"), "#!/bin/sh\nexit 1\n").expect("a file");
            }
            HeadBack => git(&["reset", "--quiet", "HEAD~1"]),
        }
    }

    fn overwrite(&self, repo: &Repo, bytes: &[u8]) {
        let full = repo.path(self.path);
        if full.is_symlink() {
            fs::remove_file(&full).expect("it is there");
        }
        fs::create_dir_all(full.parent().expect("inside")).expect("folders can be made");
        fs::write(&full, bytes).expect("a file");
    }

    /// One more line, as an editor would add it.
    fn insert(&self, repo: &Repo) {
        let full = repo.path(self.path);
        if full.is_symlink() {
            return;
        }
        let bytes = fs::read(&full).unwrap_or_default();
        self.overwrite(repo, &inserted(&bytes, self.at, &self.text));
    }

    /// As `git add -p` would: one more line of the user's in the index than there was, and not all of the file.
    fn add_half(&self, repo: &Repo) {
        let entry =
            git_command(repo, &["ls-files", "-s", "--", self.path]).output().expect("git is installed");
        let entry = String::from_utf8_lossy(&entry.stdout).into_owned();
        let words: Vec<&str> = entry.split_whitespace().collect();
        let [mode, id, "0", ..] = words[..] else { return };
        if !mode.starts_with("100") {
            return;
        }
        let blob = git_command(repo, &["cat-file", "blob", id]).output().expect("git is installed").stdout;
        let part = repo.outside().join("half");
        fs::write(&part, inserted(&blob, self.at, &self.text)).expect("a file");
        let part = part.display().to_string();
        let made = git_command(repo, &["hash-object", "-w", "--no-filters", &part])
            .output()
            .expect("git is installed");
        let made = String::from_utf8_lossy(&made.stdout).trim().to_owned();
        git_command(repo, &["update-index", "--cacheinfo", mode, &made, self.path])
            .output()
            .expect("git is installed");
        // The line is in the file too, or it would be the user's deletion of it that is not staged.
        self.insert(repo);
    }

    fn unmerge(&self, repo: &Repo) {
        use std::io::Write;
        let entry =
            git_command(repo, &["ls-files", "-s", "--", self.path]).output().expect("git is installed");
        let entry = String::from_utf8_lossy(&entry.stdout).into_owned();
        let words: Vec<&str> = entry.split_whitespace().collect();
        let [mode, id, "0", ..] = words[..] else { return };
        let info: String = std::iter::once(format!("0 {} 0\t{}\0", "0".repeat(40), self.path))
            .chain((1..=3).map(|stage| format!("{mode} {id} {stage}\t{}\0", self.path)))
            .collect();
        let mut command = git_command(repo, &["update-index", "-z", "--index-info"]);
        let mut child = command.stdin(std::process::Stdio::piped()).spawn().expect("git is installed");
        child.stdin.take().expect("it is piped").write_all(info.as_bytes()).ok();
        child.wait().expect("git ends");
    }

    /// Whether the act can make something that was there be nowhere.
    pub fn destroys(&self) -> bool {
        !matches!(
            self.what,
            Insert
                | Chmod
                | Commit
                | Tag
                | Branch
                | Lock
                | Unlock
                | Hook
                | IntendToAdd
                | SkipWorktree
                | Rename
        )
    }
}

/// The bytes with one more line, by the line endings that are there, and never in front of a byte order mark.
fn inserted(bytes: &[u8], at: usize, line: &str) -> Vec<u8> {
    let ending: &[u8] = if bytes.windows(2).any(|pair| pair == b"\r\n") { b"\r\n" } else { b"\n" };
    let mut lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let marked = bytes.starts_with(b"\xef\xbb\xbf");
    let last_is_open = lines.last().is_some_and(|last| !last.ends_with(b"\n"));
    let room = lines.len() + usize::from(!last_is_open);
    let at = if room == 0 { 0 } else { (at % room).max(usize::from(marked)) };
    let mut new = line.as_bytes().to_vec();
    new.extend_from_slice(ending);
    lines.insert(at.min(lines.len()), &new);
    lines.concat()
}
