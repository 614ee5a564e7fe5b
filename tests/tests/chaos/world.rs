//! One sequence's repository, the pipes by which its agent and its check hand over to the test, and what is known of whose
//! bytes are whose.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use fix_loop_tests::{Entry, Repo, finding};
use serde_json::{Value, json};

use super::acts::{Act, What};
use super::seen::{self, Blobs, Seen, tokens_at};

pub const APP: &str = "one\ntwo\nthree\nBAD line\nfive\nsix\nseven\neight\n";

pub struct World {
    pub repo: Repo,
    /// A request is one line; the end of a program is one, too.
    asked: BufReader<File>,
    go: File,
    blobs: Blobs,
    /// The whole story, for whoever has to find out what went wrong.
    pub story: Vec<String>,
    /// Paths that the loop may change.
    pub scope: BTreeSet<PathBuf>,
    /// As it was when no program ran, for the last time.
    pub base: Seen,
    /// The same at the start of the loop.
    pub origin: Seen,
    /// What the user did while an agent or a check was at work: nobody can tell that from the worker's, so that either the
    /// user's new bytes or the earlier ones may stand there.
    pub allowed: BTreeMap<PathBuf, Vec<Option<Entry>>>,
    pub allowed_index: BTreeMap<PathBuf, Vec<Vec<String>>>,
    /// Refs as whoever acted last left them: the program itself never changes any.
    pub refs: String,
    /// Every token that must be somewhere.
    alive: BTreeSet<String>,
    /// Tokens that a worker, or the user beside it, removed from the path: a fix may do so.
    pub removed: BTreeMap<PathBuf, BTreeSet<String>>,
    /// Tokens written beside a worker: what cannot be told from the fix may be staged with it.
    pub beside: BTreeSet<String>,
    /// Where the user wrote each token: elsewhere it may go with whatever brought it there.
    homes: BTreeSet<(PathBuf, String)>,
    /// Paths that the user touched since the loop began; in the index, too.
    pub touched: BTreeSet<PathBuf>,
}

impl World {
    pub fn new(related: bool, filtered: bool) -> World {
        let attributes = if filtered { "*.up filter=code\n" } else { "*.x text\n" };
        let repo = Repo::empty();
        for (path, text) in [
            ("app.txt", APP),
            ("lib.txt", "lib one\nlib two\nlib three\n"),
            ("docs/readme.md", "# readme\n\ntext\n"),
            ("src/a.rs", "fn a() {}\n"),
            ("src/b.rs", "fn b() {}\nno newline"),
            ("tool.sh", "#!/bin/sh\necho tool\n"),
            ("dos.txt", "dos one\r\ndos two\r\n"),
            ("bom.txt", "\u{feff}bom one\nbom two\n"),
            ("coded.up", "PLAIN one\nPLAIN two\n"),
            (".gitignore", "*.log\n"),
            (".gitattributes", attributes),
        ] {
            repo.write(path, text);
        }
        repo.make_executable("tool.sh");
        std::os::unix::fs::symlink("src/a.rs", repo.path("link")).expect("its place is free");
        if filtered {
            repo.git(["config", "filter.code.clean", "sed s/PLAIN/CODED/"]);
            repo.git(["config", "filter.code.smudge", "sed s/CODED/PLAIN/"]);
        }
        let outside = repo.outside();
        let at = |name: &str| outside.join(name).display().to_string();
        std::fs::write(
            outside.join("agent.sh"),
            "cat >\"$3/brief\"\necho agent >\"$1\"\nread code <\"$2\"\ncat \"$3/answer\"\nexit \"$code\"\n",
        )
        .expect("a file");
        std::fs::write(
            outside.join("check.sh"),
            "echo check >\"$1\"\nread code <\"$2\"\nif grep -q BAD app.txt; then echo 'it is BAD'; exit 1; fi\n",
        )
        .expect("a file");
        let made = Command::new("mkfifo").args([at("asked"), at("go")]).status();
        assert!(made.is_ok_and(|status| status.success()), "mkfifo");
        repo.write(
            "fix-loop.toml",
            format!(
                "[[check]]\nname = \"words\"\ncommand = {}\npaths = [\"app.txt\"]\n[agents.pen]\nkind = \"command\"\n\
                 command = {}\n[roles.fixer]\nagent = \"pen\"\n[roles.verifier]\nagent = \"pen\"\n",
                json!(["sh", at("check.sh"), at("asked"), at("go")]),
                json!(["sh", at("agent.sh"), at("asked"), at("go"), outside.display().to_string()]),
            ),
        );
        repo.commit("before");
        repo.write("docs/readme.md", "# readme\n\ntext\nmore\n");
        repo.commit("start");
        let mut one = finding("f1", "app.txt", 4, "BAD is a word that must go");
        if related {
            one["related_files"] = json!(["lib.txt"]);
        }
        repo.findings(&[one]);
        // Opened for both, so that neither side waits for the other to open its end, or sees the end of it.
        let open =
            |name: &str| OpenOptions::new().read(true).write(true).open(outside.join(name)).expect("made");
        let mut scope = BTreeSet::from([PathBuf::from("app.txt")]);
        if related {
            scope.insert("lib.txt".into());
        }
        let base = seen::look(&repo);
        World {
            asked: BufReader::new(open("asked")),
            go: open("go"),
            blobs: Blobs::default(),
            story: Vec::new(),
            scope,
            origin: base.clone(),
            refs: base.refs.clone(),
            base,
            allowed: BTreeMap::new(),
            allowed_index: BTreeMap::new(),
            alive: BTreeSet::new(),
            removed: BTreeMap::new(),
            beside: BTreeSet::new(),
            homes: BTreeSet::new(),
            touched: BTreeSet::new(),
            repo,
        }
    }

    // ------------------------------------------------------------ the pipes

    /// Waits for what comes next: `agent`, `check`, or `ended`.
    pub fn next(&mut self) -> String {
        let mut line = String::new();
        self.asked.read_line(&mut line).expect("the pipe is ours");
        line.trim().to_owned()
    }

    /// How the end of a program is told to [`World::next`].
    pub fn end_of_program(&self) -> impl FnOnce() + Send + 'static {
        let pipe = self.repo.outside().join("asked");
        move || {
            let mut pipe = OpenOptions::new().write(true).open(pipe).expect("it is there");
            pipe.write_all(b"ended\n").expect("somebody reads");
        }
    }

    pub fn brief(&self) -> Value {
        let text = std::fs::read_to_string(self.repo.outside().join("brief")).expect("the agent wrote it");
        serde_json::from_str(&text).expect("a brief is JSON")
    }

    /// Lets the agent or the check go on.
    pub fn go(&mut self, answer: &str, code: u8) {
        std::fs::write(self.repo.outside().join("answer"), answer).expect("a file");
        writeln!(self.go, "{code}").expect("somebody reads");
    }

    pub fn tell(&mut self, line: impl Into<String>) {
        self.story.push(line.into());
    }

    // ------------------------------------------------------------ acting

    /// The user, while no program runs.
    pub fn users_act(&mut self, act: &Act) {
        self.tell(format!("user: {act}"));
        let before = self.present(act);
        act.perform(&self.repo);
        self.bury(before);
        self.rest();
    }

    /// The user, while an agent or a check is at work.
    pub fn users_act_meanwhile(&mut self, act: &Act) {
        self.tell(format!("  user meanwhile: {act}"));
        let (before, seen) = (self.present(act), seen::look(&self.repo));
        act.perform(&self.repo);
        self.bury(before);
        let now = seen::look(&self.repo);
        for path in paths(&seen, &now) {
            let (was, is) = (seen.tree.get(&path), now.tree.get(&path));
            if was != is {
                self.allowed.entry(path.clone()).or_default().push(is.cloned());
                let gone = &tokens_at(&seen.tree, &path) - &tokens_at(&now.tree, &path);
                self.removed.entry(path.clone()).or_default().extend(gone);
                self.touched.insert(path.clone());
            }
            let (was, is) = (seen.index.get(&path), now.index.get(&path));
            if was != is {
                self.allowed_index.entry(path.clone()).or_default().push(is.cloned().unwrap_or_default());
                self.touched.insert(path);
            }
        }
        let fresh: BTreeSet<String> = now.tree.keys().flat_map(|path| tokens_at(&now.tree, path)).collect();
        let fresh: BTreeSet<String> = fresh
            .into_iter()
            .chain(self.index_tokens(&now.index))
            .filter(|token| act.text.contains(token))
            .collect();
        self.alive.extend(fresh.iter().cloned());
        self.beside.extend(fresh);
        self.refs = now.refs;
    }

    /// A worker or a check. Gives what it left of refs and files.
    pub fn workers_act(&mut self, act: &Act) {
        self.tell(format!("  worker: {act}"));
        let before = self.repo.tree();
        act.perform(&self.repo);
        let now = self.repo.tree();
        // What the user wrote beside a worker, and the worker destroyed before anybody could look, nobody can keep.
        if act.destroys() && self.beside.iter().any(|token| self.alive.contains(token)) {
            let after = self.durable();
            let beside = self.beside.clone();
            self.alive.retain(|token| !beside.contains(token) || after.contains(token));
        }
        for path in before.keys() {
            let gone = &tokens_at(&before, path) - &tokens_at(&now, path);
            if !gone.is_empty() {
                self.removed.entry(path.clone()).or_default().extend(gone);
            }
        }
        if act.what == What::Lock {
            unreachable!("workers hold no lock here: each would cost the two seconds of the back-off");
        }
        self.refs = seen::refs(&self.repo);
    }

    /// Takes the present state for what the user wants.
    fn rest(&mut self) {
        let now = seen::look(&self.repo);
        for path in paths(&self.base, &now) {
            if self.base.tree.get(&path) != now.tree.get(&path)
                || self.base.index.get(&path) != now.index.get(&path)
            {
                self.homes.extend(tokens_at(&now.tree, &path).into_iter().map(|token| (path.clone(), token)));
                self.touched.insert(path);
            }
        }
        let all: BTreeSet<String> = now.tree.keys().flat_map(|path| tokens_at(&now.tree, path)).collect();
        self.alive.extend(all);
        let staged = self.index_tokens(&now.index);
        self.alive.extend(staged);
        self.refs.clone_from(&now.refs);
        self.base = now;
        self.allowed.clear();
        self.allowed_index.clear();
    }

    /// The loop begins (or has ended) here.
    pub fn begin_loop(&mut self) {
        self.rest();
        self.origin = self.base.clone();
        self.touched.clear();
        self.removed.clear();
    }

    /// After the program ended and everything was judged: this is the state to go on from.
    pub fn settle(&mut self, now: Seen) {
        self.base = now;
        self.allowed.clear();
        self.allowed_index.clear();
    }

    // ------------------------------------------------------------ tokens

    /// What is anywhere, before an act that may destroy something.
    fn present(&mut self, act: &Act) -> Option<BTreeSet<String>> {
        act.destroys().then(|| self.durable())
    }

    /// What the user destroyed need not be anywhere.
    fn bury(&mut self, before: Option<BTreeSet<String>>) {
        if let Some(before) = before {
            let after = self.durable();
            self.alive.retain(|token| !before.contains(token) || after.contains(token));
        }
    }

    /// Every token in tree, index, history, stash, and what Fix Loop keeps.
    pub fn durable(&mut self) -> BTreeSet<String> {
        let tree = self.repo.tree();
        let mut found = self.blobs.kept(&self.repo);
        found.extend(tree.keys().flat_map(|path| tokens_at(&tree, path)));
        found
    }

    /// Tokens of the user's that are nowhere though they should be.
    pub fn lost(&mut self) -> Vec<String> {
        let durable = self.durable();
        self.alive.iter().filter(|token| !durable.contains(*token)).cloned().collect()
    }

    pub fn is_at_home(&self, path: &Path, token: &str) -> bool {
        self.homes.contains(&(path.to_path_buf(), token.to_owned()))
    }

    pub fn is_alive(&self, token: &str) -> bool {
        self.alive.contains(token)
    }

    fn index_tokens(&mut self, index: &BTreeMap<PathBuf, Vec<String>>) -> BTreeSet<String> {
        index.values().flat_map(|entries| self.tokens_of(entries)).collect::<Vec<_>>().into_iter().collect()
    }

    /// Tokens of a path's index entries.
    pub fn tokens_of(&mut self, entries: &[String]) -> BTreeSet<String> {
        entries
            .iter()
            .filter_map(|entry| entry.split_whitespace().nth(2).map(str::to_owned))
            .flat_map(|id| self.blobs.of(&self.repo, &id))
            .collect()
    }
}

/// Every path of both.
pub fn paths(one: &Seen, other: &Seen) -> BTreeSet<PathBuf> {
    let of = |seen: &Seen| seen.tree.keys().chain(seen.index.keys()).cloned().collect::<Vec<_>>();
    of(one).into_iter().chain(of(other)).collect()
}
