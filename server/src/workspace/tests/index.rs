//! The index: entries of others, locks, flags (R15, R17, R18).

use std::path::Path;

use super::fixture::*;
use crate::workspace::*;

#[test]
fn an_entry_that_the_user_added_meanwhile_is_not_lost() {
    let fix = Fixture::new(&[("a.txt", "a\n"), ("b.txt", "b\n")]);
    let start = fix.checkpoint("1", &["a.txt"]);
    fix.write("a.txt", "fixed\n");
    let observation = fix.observe(&start, &["a.txt"]);
    fix.write("b.txt", "user\n");
    fix.git(&["add", "b.txt"]);
    let target =
        observation.changes.iter().map(|change| (change.path.clone(), change.after.clone())).collect();
    let staged = fix.ws.stage(&start, &target, &StagedEntries::default()).unwrap();
    assert_eq!(staged.entries.len(), 1);
    assert_eq!(fix.status(), "M  a.txt\nM  b.txt\n");
}

#[test]
fn the_same_entry_changed_by_the_user_is_a_question_and_stays_the_users() {
    let fix = Fixture::new(&[("a.txt", "a\nb\nc\n")]);
    let start = fix.checkpoint("1", &["a.txt"]);
    fix.write("a.txt", "a\nb\nfixed\n");
    fix.git(&["add", "a.txt"]);
    match fix.stage(&start, &["a.txt"]) {
        // The entry is what the fix makes of it; a stage that is redone after a crash finds the same.
        Ok(staged) => assert_eq!(staged.entries.len(), 1),
        Err(StageRefused::Conflicts(conflicts)) => panic!("{conflicts:?}"),
        Err(error) => panic!("{error}"),
    }
    fix.write("a.txt", "user\nb\nfixed\n");
    fix.git(&["add", "a.txt"]);
    fix.write("a.txt", "a\nb\nfixed\n");
    match fix.stage(&start, &["a.txt"]) {
        Err(StageRefused::Conflicts(conflicts)) => {
            assert_eq!(conflicts[0].path.as_str(), "a.txt");
            assert!(conflicts[0].ours.contains("+fixed") && conflicts[0].theirs.contains("+user"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fix.staged("a.txt"), "user\nb\nfixed\n");
}

#[test]
fn two_writers_of_the_index_never_lose_an_entry_of_each_other() {
    let names: Vec<String> = (0..8).map(|n| format!("user{n}.txt")).collect();
    let fix = Fixture::new(&[("a.txt", "a\n")]);
    let start = fix.checkpoint("1", &["a.txt"]);
    fix.write("a.txt", "fixed\n");
    for name in &names {
        fix.write(name, "u\n");
    }
    let observation = fix.observe(&start, &["a.txt"]);
    let target = observation
        .placed(Place::InScope)
        .map(|change| (change.path.clone(), change.after.clone()))
        .collect();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for name in &names {
                // git itself does not wait for a lock.
                while !git_command(fix.dir.path(), &["add", name]).output().unwrap().status.success() {}
            }
        });
        // On a busy machine the other thread may have the lock at each of our attempts.
        let locked = |error: &WorkspaceError| matches!(error, WorkspaceError::IndexLocked { .. });
        for _ in 0..8 {
            let staged = loop {
                match fix.ws.stage(&start, &target, &StagedEntries::default()) {
                    Err(StageRefused::Workspace(error)) if locked(&error) => {}
                    other => break other.unwrap(),
                }
            };
            let missed = loop {
                match fix.ws.unstage(&staged) {
                    Err(error) if locked(&error) => {}
                    other => break other.unwrap(),
                }
            };
            assert_eq!(missed, []);
        }
    });
    let listed = fix.git(&["ls-files"]);
    assert!(names.iter().all(|name| listed.lines().any(|line| line == name)), "{listed}");
    assert_eq!(fix.git(&["diff", "--cached", "--name-only", "--", "a.txt"]), "");
}

#[test]
fn a_foreign_lock_is_waited_for_then_named_and_never_deleted() {
    let fix = Fixture::new(&[("a.txt", "a\n")]);
    let start = fix.checkpoint("1", &["a.txt"]);
    fix.write("a.txt", "fixed\n");
    let lock = fix.at(".git/index.lock");
    let held = std::fs::File::create(&lock).unwrap();
    match fix.stage(&start, &["a.txt"]) {
        Err(StageRefused::Workspace(WorkspaceError::IndexLocked { path, owner, .. })) => {
            assert_eq!(path, fix.ws.git_dir().join("index.lock"));
            if cfg!(target_os = "linux") {
                assert!(owner.contains(&format!("pid {}", std::process::id())), "{owner}");
            }
        }
        other => panic!("{other:?}"),
    }
    assert!(lock.exists());
    assert_eq!(leftovers(&fix), Vec::<String>::new());
    // Once it is gone, staging works.
    drop(held);
    std::fs::remove_file(&lock).unwrap();
    fix.stage(&start, &["a.txt"]).unwrap();
    assert_eq!(fix.status(), "M  a.txt\n");
    assert!(!lock.exists());
    assert_eq!(leftovers(&fix), Vec::<String>::new());
}

#[test]
fn a_lock_that_is_released_in_time_is_no_trouble() {
    let fix = Fixture::new(&[("a.txt", "a\n")]);
    let lock = fix.at(".git/index.lock");
    std::fs::write(&lock, "").unwrap();
    let mut waits = 0;
    let outcome = fix.ws.take_index_lock(&mut |_| {
        waits += 1;
        if waits == 3 {
            std::fs::remove_file(&lock).unwrap();
        }
    });
    assert!(outcome.is_ok());
    assert_eq!(waits, 3);
    drop(outcome);
    assert!(!lock.exists());
}

#[test]
fn our_own_lock_of_a_crashed_process_is_removed_at_the_next_start_and_no_other() {
    let fix = Fixture::new(&[("a.txt", "a\n")]);
    let state = fix.ws.state_dir();
    std::fs::create_dir_all(&state).unwrap();
    let (lock, claim) = (fix.at(".git/index.lock"), state.join("index-claim.1.0"));
    // Given what a crash leaves behind: nobody holds the claim's own lock.
    std::fs::write(&claim, "").unwrap();
    std::fs::hard_link(&claim, &lock).unwrap();
    std::fs::write(state.join("index-draft.1.0"), "half").unwrap();
    Workspace::open(fix.dir.path()).unwrap();
    assert!(!lock.exists() && !claim.exists());
    assert_eq!(leftovers(&fix), Vec::<String>::new());
    // But a lock of somebody else stays, though there is an abandoned claim.
    std::fs::write(&claim, "").unwrap();
    std::fs::write(&lock, "").unwrap();
    Workspace::open(fix.dir.path()).unwrap();
    assert!(lock.exists() && !claim.exists());
    std::fs::remove_file(&lock).unwrap();
    // And one that is in use stays as well.
    let held = fix.ws.take_index_lock(&mut |_| {}).unwrap();
    Workspace::open(fix.dir.path()).unwrap();
    assert!(lock.exists());
    drop(held);
    assert!(!lock.exists());
}

fn leftovers(fix: &Fixture) -> Vec<String> {
    let entries = std::fs::read_dir(fix.ws.state_dir()).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name.starts_with("index-")).collect()
}

#[test]
fn a_sparse_checkout_keeps_its_files_and_flags() {
    let fix = Fixture::new(&[("in/a", "a\n"), ("out/b", "b\n"), ("out/c", "c\n")]);
    fix.git(&["sparse-checkout", "set", "--cone", "--no-sparse-index", "in"]);
    assert!(!fix.at("out").exists());
    // Without the setting, ls-files itself takes the flag off a file that is there.
    let listing = ["-c", "sparse.expectFilesOutsideOfPatterns=true", "ls-files", "-t"];
    let flags = fix.git(&listing);
    let start = fix.checkpoint("1", &["in/a", "out/b"]);
    assert_eq!(told(&fix.observe(&start, &["in/a", "out/b"])), Vec::<String>::new());
    // A file that a worker makes outside the cone is seen, and not staged.
    fix.write("in/a", "fixed\n");
    fix.write("out/b", "made\n");
    assert_eq!(
        told(&fix.observe(&start, &["in/a", "out/b"])),
        ["Modified InScope in/a", "Added InScope out/b"]
    );
    let staged = fix.stage(&start, &["in/a", "out/b"]).unwrap();
    assert_eq!(staged.skipped, [(repo_path("out/b"), NotStaged::SkipWorktree)]);
    assert_eq!(fix.git(&listing), flags);
    assert_eq!(fix.git(&["diff", "--cached", "--name-only"]), "in/a\n");
}

#[test]
fn flags_that_a_worker_or_a_fix_touches_come_back() {
    let fix = Fixture::new(&[("assumed", "a\n"), ("skipped", "s\n"), ("f", "f\n")]);
    fix.write("intended", "i\n");
    fix.git(&["add", "-N", "intended"]);
    fix.git(&["update-index", "--assume-unchanged", "assumed"]);
    fix.git(&["update-index", "--skip-worktree", "skipped"]);
    fix.write("assumed", "user's, unseen by git\n");
    let before = fix.git(&["ls-files", "-t", "-v", "-s", "--debug"]);
    let flags = |text: &str| -> Vec<String> {
        let told = |line: &str| !line.starts_with("  ") || line.contains("flags");
        text.lines()
            .filter(|line| told(line))
            .map(|line| {
                line.split("size: ")
                    .last()
                    .map_or(line, |rest| rest.split_once('\t').map_or(rest, |(_, flags)| flags))
                    .to_owned()
            })
            .collect()
    };
    let start = fix.checkpoint("1", &["assumed"]);

    // A worker clears all flags, adds everything, and overwrites what git does not look at.
    fix.git(&["update-index", "--no-assume-unchanged", "assumed"]);
    fix.git(&["update-index", "--no-skip-worktree", "skipped"]);
    fix.write("assumed", "worker\n");
    fix.git(&["add", "-A"]);
    let seen = fix.observe(&start, &[]);
    assert_eq!(told(&seen), ["Modified OutOfScope assumed"]);
    let mut taken = strings(&seen.index_taken.iter().map(|change| change.path.clone()).collect::<Vec<_>>());
    taken.sort();
    assert_eq!(taken, ["assumed", "intended", "skipped"]);
    fix.ws.set_aside(&start, &seen.changes).unwrap();
    assert_eq!(fix.ws.untake_index(&seen.index_taken).unwrap(), []);
    assert_eq!(flags(&fix.git(&["ls-files", "-t", "-v", "-s", "--debug"])), flags(&before));
    assert_eq!(fix.text("assumed"), "user's, unseen by git\n");

    // A fix of an assume-unchanged file keeps the flag, and leaves the user's line out.
    fix.git(&["update-index", "--no-assume-unchanged", "assumed"]);
    fix.write("assumed", "a\nmore\n");
    fix.git(&["update-index", "--assume-unchanged", "assumed"]);
    let start = fix.checkpoint("2", &["assumed"]);
    fix.write("assumed", "fixed\nmore\n");
    fix.stage(&start, &["assumed"]).unwrap();
    assert_eq!(fix.staged("assumed"), "fixed\n");
    assert!(fix.git(&["ls-files", "-v"]).contains("h assumed"));
}

#[test]
fn what_a_worker_staged_is_taken_back_and_what_the_user_staged_stays() {
    let fix = Fixture::new(&[("a", "1\n2\n3\n"), ("b", "b\n")]);
    fix.write("a", "user\n2\n3\n");
    fix.git(&["add", "a"]);
    fix.write("a", "user\n2\nunstaged\n");
    fix.write("loose", "l\n");
    let before = fix.git(&["ls-files", "-s"]);
    let start = fix.checkpoint("1", &["b"]);
    fix.write("b", "fixed\n");
    fix.git(&["add", "-A"]);
    let seen = fix.observe(&start, &["b"]);
    assert_eq!(told(&seen), ["Modified InScope b"]);
    assert_eq!(
        strings(&seen.index_taken.iter().map(|c| c.path.clone()).collect::<Vec<_>>()),
        ["a", "b", "loose"]
    );
    assert_eq!(seen.breaches, []);
    assert_eq!(fix.ws.untake_index(&seen.index_taken).unwrap(), []);
    assert_eq!(fix.git(&["ls-files", "-s"]), before);
    assert_eq!(fix.status(), "MM a\n M b\n?? loose\n");
}

#[test]
fn an_unmerged_path_is_refused_and_its_stages_come_back_after_a_worker_added_it() {
    let fix = Fixture::new(&[("f", "base\n"), ("g", "g\n")]);
    fix.git(&["checkout", "-q", "-b", "other"]);
    fix.write("f", "theirs\n");
    fix.git(&["commit", "-q", "-a", "-m", "theirs"]);
    fix.git(&["checkout", "-q", "main"]);
    fix.write("f", "ours\n");
    fix.git(&["commit", "-q", "-a", "-m", "ours"]);
    assert!(!git_command(fix.dir.path(), &["merge", "-q", "other"]).output().unwrap().status.success());
    let before = fix.git(&["ls-files", "-s"]);
    let markers = fix.read("f");
    let start = fix.checkpoint("1", &["f"]);
    fix.write("f", "resolved\n");
    assert!(matches!(fix.stage(&start, &["f"]), Err(StageRefused::Unmerged(path)) if path.as_str() == "f"));
    fix.git(&["add", "f"]);
    let seen = fix.observe(&start, &["f"]);
    assert_eq!(seen.index_taken.len(), 1);
    assert_eq!(fix.ws.untake_index(&seen.index_taken).unwrap(), []);
    assert_eq!(fix.git(&["ls-files", "-s"]), before);
    let mut ours = OwnBytes::default();
    ours.record(&seen);
    fix.ws.restore(&start, &ours).unwrap();
    assert_eq!(fix.read("f"), markers);
    // Ending the merge is a breach, though HEAD does not move.
    fix.git(&["merge", "--abort"]);
    let seen = fix.observe(&start, &["f"]);
    assert!(
        seen.breaches.iter().any(|breach| matches!(breach, Breach::OperationChanged { .. })),
        "{:?}",
        seen.breaches
    );
}

#[test]
fn racily_clean_entries_stay_visible_after_we_wrote_the_index() {
    // A file that changes within the tick in which the index was written, keeping its length, is seen by git only
    // through the timestamps of the index. Many files make it likely that some are in that state.
    let files: Vec<(String, String)> = (0..20).map(|n| (format!("f{n}"), "old\n".to_owned())).collect();
    let borrowed: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    let fix = Fixture::new(&borrowed);
    let start = fix.checkpoint("1", &["f0"]);
    fix.write("f0", "fix\n");
    fix.git(&["add", "-A"]);
    fix.git(&["reset", "-q"]);
    for (path, _) in &files {
        fix.write(path, "new\n");
    }
    fix.stage(&start, &["f0"]).unwrap();
    assert_eq!(fix.git(&["diff", "--name-only"]).lines().count(), 19);
    assert!(Path::new(&fix.at(".git/index")).exists());
}
