//! Any state of the user's tree survives any worker.

use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::fixture::*;
use crate::workspace::*;

const PATHS: [&str; 6] = ["a", "b", "dir/c", "dir/d", "other/e", "ignored.log"];

/// What user or worker do, one step at a time.
#[derive(Debug, Clone, Copy)]
enum Act {
    Write(usize, u8),
    Delete(usize),
    Executable(usize),
    Link(usize),
    Folder(usize),
    Add(usize),
    AddAll,
    Unstage(usize),
    Stash,
    ResetHard,
    Clean,
    Commit,
    Intend(usize),
}

fn acts(worker: bool) -> impl Strategy<Value = Vec<Act>> {
    let path = 0..PATHS.len();
    let tame = prop_oneof![
        4 => (path.clone(), 0u8..6).prop_map(|(at, text)| Act::Write(at, text)),
        2 => path.clone().prop_map(Act::Delete),
        1 => path.clone().prop_map(Act::Executable),
        1 => path.clone().prop_map(Act::Link),
        // Not the ignored one: what an ignored folder holds is unknown, so nothing is put in its place.
        1 => (0..PATHS.len() - 1).prop_map(Act::Folder),
        2 => path.clone().prop_map(Act::Add),
        1 => path.clone().prop_map(Act::Intend),
        1 => path.clone().prop_map(Act::Unstage),
    ];
    let wild = prop_oneof![
        Just(Act::AddAll),
        Just(Act::Stash),
        Just(Act::ResetHard),
        Just(Act::Clean),
        Just(Act::Commit)
    ];
    let wild_weight = if worker { 2 } else { 0 };
    let act = if wild_weight == 0 { tame.boxed() } else { prop_oneof![5 => tame, 2 => wild].boxed() };
    proptest::collection::vec(act, 1..8)
}

impl Act {
    /// Does it, as far as it can be done; a command that git refuses is no matter.
    fn perform(self, fix: &Fixture) {
        let git = |args: &[&str]| {
            git_command(fix.dir.path(), args).output().unwrap();
        };
        let clear = |at: usize| {
            let path = fix.at(PATHS[at]);
            if path.is_dir() && !path.is_symlink() {
                std::fs::remove_dir_all(&path).ok();
            } else {
                std::fs::remove_file(&path).ok();
            }
            std::fs::create_dir_all(path.parent().unwrap()).ok();
            path
        };
        match self {
            Act::Write(at, text) => {
                const TEXTS: [&[u8]; 6] =
                    [b"", b"one\n", b"one\ntwo\n", b"\r\n\xff", b"one\nthree\nfour", b"\0"];
                std::fs::write(clear(at), TEXTS[usize::from(text)]).unwrap();
            }
            Act::Delete(at) => {
                clear(at);
            }
            Act::Executable(at) if fix.at(PATHS[at]).is_file() && !fix.at(PATHS[at]).is_symlink() => {
                super::tree::make_executable(fix, PATHS[at]);
            }
            Act::Executable(_) => {}
            Act::Link(at) => std::os::unix::fs::symlink("elsewhere.txt", clear(at)).unwrap(),
            Act::Folder(at) => {
                let path = clear(at);
                std::fs::create_dir_all(path.join("in")).unwrap();
                std::fs::write(path.join("in/side"), "deep\n").unwrap();
            }
            Act::Add(at) => git(&["add", "-A", "--", PATHS[at]]),
            Act::AddAll => git(&["add", "-A"]),
            Act::Intend(at) => git(&["add", "-N", "--", PATHS[at]]),
            Act::Unstage(at) => git(&["reset", "-q", "--", PATHS[at]]),
            Act::Stash => git(&["stash", "-q", "-u"]),
            Act::ResetHard => git(&["reset", "-q", "--hard"]),
            Act::Clean => git(&["clean", "-qfdx"]),
            Act::Commit => git(&["commit", "-q", "-a", "-m", "worker"]),
        }
    }
}

/// All files with type, mode and bytes, and all index entries.
fn everything(fix: &Fixture) -> (Vec<String>, String) {
    let mut found = Vec::new();
    let mut folders = vec![fix.dir.path().to_path_buf()];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).unwrap().flatten() {
            let path = entry.path();
            let meta = path.symlink_metadata().unwrap();
            let name = path.strip_prefix(fix.dir.path()).unwrap().display().to_string();
            if name == ".git" {
                continue;
            }
            if meta.is_dir() {
                folders.push(path);
            } else if meta.is_symlink() {
                found.push(format!("{name} -> {}", std::fs::read_link(&path).unwrap().display()));
            } else {
                use std::os::unix::fs::PermissionsExt;
                let mode = meta.permissions().mode() & 0o111;
                found.push(format!("{name} {mode:o} {:?}", std::fs::read(&path).unwrap()));
            }
        }
    }
    found.sort();
    (found, fix.git(&["ls-files", "-s", "-t"]))
}

fn config() -> ProptestConfig {
    ProptestConfig {
        rng_seed: RngSeed::Fixed(1),
        failure_persistence: None,
        cases: 16,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn whatever_a_worker_does_the_checkpoint_comes_back(user in acts(false), worker in acts(true)) {
        let fix = Fixture::new(&[("a", "one\n"), ("b", "one\ntwo\n"), ("dir/c", "c\n"), (".gitignore", "*.log\n")]);
        for act in &user {
            act.perform(&fix);
        }
        let before = everything(&fix);
        let start = fix.checkpoint("1", &["a"]);
        for act in &worker {
            act.perform(&fix);
        }
        let seen = fix.observe(&start, &[]);
        let mut ours = OwnBytes::default();
        ours.record(&seen);
        let restored = fix.ws.restore(&start, &ours).unwrap();
        let missed = fix.ws.untake_index(&seen.index_taken).unwrap();
        prop_assert_eq!(missed, vec![]);
        let files_left: Vec<_> = restored.left_alone.iter().filter(|left| !left.why.contains("index")).collect();
        prop_assert_eq!(files_left, Vec::<&LeftAlone>::new());
        prop_assert_eq!(everything(&fix), before);
        prop_assert!(fix.observe(&start, &[]).changes.is_empty());
    }

    #[test]
    fn staging_is_exact_and_can_be_taken_back(user in acts(false), worker in acts(false)) {
        let fix = Fixture::new(&[("a", "one\n"), ("b", "one\ntwo\n"), ("dir/c", "c\n"), (".gitignore", "*.log\n")]);
        for act in &user {
            act.perform(&fix);
        }
        let before = everything(&fix);
        let pending: Vec<String> = fix.status().lines().map(|line| line[3..].to_owned()).collect();
        let scope = fix.scope(&["a", "b", "dir/c", "dir/d", "other/e", "ignored.log", "dir", "other"]);
        let start = fix.checkpoint("1", &PATHS.map(|path| path));
        for act in &worker {
            // Only the files: what a worker does to the index is taken back before anything is staged.
            if matches!(act, Act::Write(..) | Act::Delete(_) | Act::Executable(_) | Act::Link(_)) {
                act.perform(&fix);
            }
        }
        let seen = fix.ws.observe(&start, &scope, &[]).unwrap();
        let target = seen.placed(Place::InScope).map(|change| (change.path.clone(), change.after.clone())).collect();
        let index_before = fix.git(&["ls-files", "-s", "-t"]);
        prop_assert_eq!(&index_before, &before.1);
        let mut ours = OwnBytes::default();
        ours.record(&seen);
        match fix.ws.stage(&start, &target, &StagedEntries::default()) {
            Ok(staged) => {
                // A path that had nothing pending has nothing pending after its fix is staged.
                let skipped: Vec<&RepoPath> = staged.skipped.iter().map(|(path, _)| path).collect();
                for line in fix.git(&["diff", "--name-only"]).lines() {
                    let waiting = pending.iter().any(|path| line.starts_with(path.trim_end_matches('/')));
                    let left = skipped.iter().any(|path| path.as_str() == line);
                    prop_assert!(waiting || left, "{} is still unstaged", line);
                }
                // Nothing but changed paths was staged.
                let changed: Vec<&RepoPath> = seen.changes.iter().map(|change| &change.path).collect();
                prop_assert!(staged.entries.iter().all(|entry| changed.contains(&&entry.path)));
                prop_assert_eq!(fix.ws.unstage(&staged).unwrap(), vec![]);
                prop_assert_eq!(fix.git(&["ls-files", "-s", "-t"]), index_before);
                ours.record_staged(&fix.ws.stage(&start, &target, &StagedEntries::default()).unwrap());
            }
            Err(StageRefused::Conflicts(_) | StageRefused::Unmerged(_) | StageRefused::BeyondLink(_)) => {
                prop_assert_eq!(fix.git(&["ls-files", "-s", "-t"]), index_before);
            }
            Err(error) => prop_assert!(false, "{}", error),
        }
        let restored = fix.ws.restore(&start, &ours).unwrap();
        prop_assert_eq!(restored.left_alone, vec![]);
        prop_assert_eq!(everything(&fix), before);
    }
}
