//! Records that outlive a process: checkpoints, set-asides, rounds, undo, and the driver's lock.

use std::time::Duration;

use super::fixture::*;
use crate::workspace::*;

#[test]
fn names_that_cannot_be_refs_are_refused() {
    for (of_loop, label) in [("", "1"), ("a/b", "1"), ("a", ".."), ("a b", "1"), ("-a", "1"), ("a@{", "1")] {
        assert!(CheckpointName::new(of_loop, label).is_err(), "{of_loop} {label}");
    }
}

#[test]
fn a_checkpoint_survives_the_process_and_a_garbage_collection() {
    let fix = Fixture::new(&[("f", "f\n")]);
    fix.write("f", "user\n");
    fix.git(&["add", "f"]);
    fix.write("f", "user again\n");
    let taken = fix.checkpoint("1", &[]);
    // The worker resets, and collects everything that nothing refers to.
    fix.git(&["reset", "-q", "--hard"]);
    fix.git(&["reflog", "expire", "--expire=now", "--all"]);
    fix.git(&["gc", "-q", "--prune=now"]);
    let reopened = Workspace::open(fix.dir.path()).unwrap();
    let loaded = reopened.load_checkpoint(&taken.name).unwrap();
    assert_eq!(serde_json::to_value(&loaded).unwrap(), serde_json::to_value(&taken).unwrap());
    let seen = reopened.observe(&loaded, &fix.scope(&[]), &[]).unwrap();
    let mut ours = OwnBytes::default();
    ours.record(&seen);
    reopened.untake_index(&seen.index_taken).unwrap();
    reopened.restore(&loaded, &ours).unwrap();
    assert_eq!((fix.text("f"), fix.staged("f")), ("user again\n".to_owned(), "user\n".to_owned()));
    // Such refs do not show where people look at their history.
    assert_eq!(fix.git(&["log", "--all", "--oneline"]).lines().count(), 1);
}

#[test]
fn checkpoints_of_finished_loops_expire_and_others_stay() {
    let fix = Fixture::new(&[("f", "f\n")]);
    let (done, open) = (CheckpointName::new("done", "1").unwrap(), CheckpointName::new("open", "1").unwrap());
    fix.ws.checkpoint(&open, &[]).unwrap();
    let start = fix.ws.checkpoint(&done, &[]).unwrap();
    fix.write("f", "g\n");
    let aside = fix.ws.set_aside(&start, &fix.observe(&start, &[]).changes).unwrap();
    let finished = |name: &str| name == "done";
    assert_eq!(fix.ws.expire_checkpoints(Duration::from_secs(3600), &finished).unwrap(), 0);
    assert!(fix.ws.load_set_aside(&aside.name).is_ok());
    assert_eq!(fix.ws.expire_checkpoints(Duration::ZERO, &finished).unwrap(), 2);
    assert!(matches!(fix.ws.load_checkpoint(&done), Err(WorkspaceError::NoSuchRecord(_))));
    assert!(fix.ws.load_checkpoint(&open).is_ok());
}

#[test]
fn what_is_set_aside_can_be_looked_at_and_brought_back() {
    let fix = Fixture::new(&[("in", "i\n"), ("test.txt", "expect 1\n"), ("run", "r\n")]);
    let start = fix.checkpoint("1", &["in"]);
    fix.write("in", "fixed\n");
    fix.write("test.txt", "expect 2\n");
    fix.write("helper.txt", "new\n");
    super::tree::make_executable(&fix, "run");
    let seen = fix.observe(&start, &["in"]);
    let outside: Vec<Change> = seen.placed(Place::OutOfScope).cloned().collect();
    let aside = fix.ws.set_aside(&start, &outside).unwrap();
    assert_eq!(fix.status(), " M in\n");
    assert_eq!(
        aside.diff,
        "diff --git a/helper.txt b/helper.txt\nnew file mode 100644\n--- /dev/null\n+++ b/helper.txt\n@@ -0,0 +1 @@\n+new\n\
         diff --git a/run b/run\nold mode 100644\nnew mode 100755\n\
         diff --git a/test.txt b/test.txt\n--- a/test.txt\n+++ b/test.txt\n@@ -1 +1 @@\n-expect 1\n+expect 2\n"
    );
    let loaded = fix.ws.load_set_aside(&aside.name).unwrap();
    assert_eq!(loaded.changes, outside);
    let back = fix.ws.put_back(&loaded).unwrap();
    assert_eq!((back.restored.len(), back.left_alone.len()), (3, 0));
    assert_eq!(fix.observe(&start, &["in"]).tree, seen.tree);
    // A path that the user has taken for something else meanwhile is left alone.
    let aside = fix.ws.set_aside(&start, &outside).unwrap();
    fix.write("helper.txt", "mine\n");
    let back = fix.ws.put_back(&aside).unwrap();
    assert_eq!(
        strings(&back.left_alone.iter().map(|left| left.path.clone()).collect::<Vec<_>>()),
        ["helper.txt"]
    );
    assert_eq!(fix.text("helper.txt"), "mine\n");
}

#[test]
fn the_diff_is_one_that_git_applies() {
    let long: String = (0..40).map(|n| format!("line {n}\n")).collect();
    let fix = Fixture::new(&[
        ("long", &long),
        ("gone", "g\n"),
        ("no newline", "a\nb"),
        ("kind", "k\n"),
        ("raw", "a\n"),
    ]);
    let start = fix.checkpoint("1", &[]);
    let edited =
        long.replace("line 3\n", "three\n").replace("line 9\n", "").replace("line 30\n", "line 30\nmore\n");
    fix.write("long", edited);
    std::fs::remove_file(fix.at("gone")).unwrap();
    fix.write("no newline", "a\nc");
    fix.write("new \"file\"", "n\n");
    fix.write("empty", "");
    fix.write("raw", b"\xff\n");
    std::fs::remove_file(fix.at("kind")).unwrap();
    std::os::unix::fs::symlink("long", fix.at("kind")).unwrap();
    let paths: Vec<RepoPath> =
        fix.observe(&start, &[]).changes.into_iter().map(|change| change.path).collect();
    let diff = fix.ws.diff_bytes(&start, &paths).unwrap();
    fix.git(&["add", "-A"]);
    let wanted = fix.git(&["write-tree"]);
    fix.git(&["reset", "-q", "--hard"]);
    std::fs::write(fix.at(".git/patch"), diff).unwrap();
    fix.git(&["apply", "--index", ".git/patch"]);
    assert_eq!(fix.git(&["write-tree"]), wanted);
}

#[test]
fn each_round_is_staged_from_the_start_of_the_loop() {
    let fix = Fixture::new(&[("f", "1\n2\n3\n4\n5\n"), ("g", "g\n")]);
    fix.write("f", "1\n2\n3\n4\nuser\n");
    let start = fix.checkpoint("1", &["f", "g"]);
    let (scope, mut staged) = (["f", "g"], StagedEntries::default());
    fix.write("f", "one\n2\n3\n4\nuser\n");
    fix.write("g", "G\n");
    let first = fix.stage_again(&start, &scope, &staged).unwrap();
    staged.record(&first);
    assert_eq!((fix.staged("f"), fix.staged("g")), ("one\n2\n3\n4\n5\n".to_owned(), "G\n".to_owned()));
    // Round 2 takes back one of round 1's hunks and the other file.
    fix.write("f", "1\ntwo\n3\n4\nuser\n");
    fix.write("g", "g\n");
    let second = fix.stage_again(&start, &scope, &staged).unwrap();
    staged.record(&second);
    assert_eq!((fix.staged("f"), fix.staged("g")), ("1\ntwo\n3\n4\n5\n".to_owned(), "g\n".to_owned()));
    // Should the user stage something between rounds, they are asked.
    fix.git(&["add", "f"]);
    fix.write("f", "1\nzwei\n3\n4\nuser\n");
    assert!(matches!(fix.stage_again(&start, &scope, &staged), Err(StageRefused::Conflicts(_))));
    assert_eq!(fix.staged("f"), "1\ntwo\n3\n4\nuser\n");
}

#[test]
fn what_the_user_saved_between_two_rounds_is_not_taken_for_the_fix() {
    let fix = Fixture::new(&[("f", "1\n2\n3\n4\n5\n")]);
    let path = repo_path("f");
    let (start, mut staged) = (fix.checkpoint("1", &["f"]), StagedEntries::default());
    fix.write("f", "1\n2 fixed\n3\n4\n5\n");
    let fixed = fix.ws.file_state(&path).unwrap().unwrap();
    staged.record(&fix.stage(&start, &["f"]).unwrap());
    // The user saves an edit of their own over it, and round 2 fixes another line.
    fix.write("f", "1\n2 fixed\n3\n4\n5 mine\n");
    let saved = fix.ws.file_state(&path).unwrap().unwrap();
    let theirs = fix.ws.without_fix(&start, &path, &fixed, &saved).unwrap().unwrap();
    assert_eq!(fix.ws.object(theirs.content).unwrap(), b"1\n2\n3\n4\n5 mine\n");
    fix.write("f", "1\n2 fixed\n3 fixed\n4\n5 mine\n");
    fix.stage_again(&start.with_file(&path, Some(theirs)), &["f"], &staged).unwrap();
    assert_eq!(fix.staged("f"), "1\n2 fixed\n3 fixed\n4\n5\n");
    // Where the user edited the very line that the loop had fixed, nobody can tell.
    fix.write("f", "1\n2 fixed and mine\n3\n4\n5\n");
    let saved = fix.ws.file_state(&path).unwrap().unwrap();
    assert_eq!(fix.ws.without_fix(&start, &path, &fixed, &saved).unwrap(), None);
}

#[test]
fn restoring_after_staging_brings_file_and_entry_back_and_leaves_the_user_alone() {
    let fix = Fixture::new(&[("f", "1\n2\n3\n"), ("g", "g\n"), ("h", "h\n")]);
    fix.write("f", "user\n2\n3\n");
    fix.git(&["add", "f"]);
    let index = fix.git(&["ls-files", "-s", "f", "h"]);
    let start = fix.checkpoint("1", &["f", "g"]);
    fix.write("f", "user\n2\nfixed\n");
    fix.write("g", "fixed\n");
    let mut ours = OwnBytes::default();
    ours.record(&fix.observe(&start, &["f", "g"]));
    ours.record_staged(&fix.stage(&start, &["f", "g"]).unwrap());
    // Meanwhile the user edits one of the files, and another one that the loop never saw.
    fix.write("g", "fixed\nand mine\n");
    fix.write("h", "mine\n");
    let restored = fix.ws.restore(&start, &ours).unwrap();
    assert_eq!(strings(&restored.restored), ["f"]);
    assert_eq!(strings(&restored.index_restored), ["f", "g"]);
    let left: Vec<_> = restored.left_alone.iter().map(|left| left.path.as_str()).collect();
    assert_eq!(left, ["g", "h"]);
    assert_eq!(fix.text("f"), "user\n2\n3\n");
    assert_eq!(fix.git(&["ls-files", "-s", "f", "h"]), index);
    assert_eq!((fix.text("g"), fix.text("h")), ("fixed\nand mine\n".to_owned(), "mine\n".to_owned()));
    // What was overwritten can be had again.
    let aside = fix.ws.load_set_aside(&restored.set_aside.unwrap().name).unwrap();
    assert_eq!(fix.ws.put_back(&aside).unwrap().restored.len(), 1);
    assert_eq!(fix.text("f"), "user\n2\nfixed\n");
    fix.fsck();
}

#[test]
fn undo_takes_a_finished_loop_back_even_after_the_user_committed_it() {
    let fix = Fixture::new(&[("f", "bug\n"), ("g", "bug\n")]);
    let start = fix.checkpoint("1", &["f", "g", "new"]);
    for path in ["f", "g", "new"] {
        fix.write(path, "fixed\n");
    }
    let mut ours = OwnBytes::default();
    ours.record(&fix.observe(&start, &["f", "g", "new"]));
    ours.record_staged(&fix.stage(&start, &["f", "g", "new"]).unwrap());
    fix.git(&["commit", "-q", "-m", "the fix"]);
    fix.write("g", "fixed\nand more\n");
    fix.write("unrelated", "u\n");
    // The record survives as text, as the ledger keeps it.
    let ours: OwnBytes = serde_json::from_str(&serde_json::to_string(&ours).unwrap()).unwrap();
    let undone = fix.ws.undo(&start, &ours).unwrap();
    assert_eq!(strings(&undone.restored), ["new", "f"]);
    assert_eq!(strings(&undone.left_alone.iter().map(|left| left.path.clone()).collect::<Vec<_>>()), ["g"]);
    assert_eq!(fix.text("f"), "bug\n");
    assert!(!fix.at("new").exists());
    assert_eq!(fix.text("g"), "fixed\nand more\n");
    assert_eq!(fix.ws.undo(&start, &ours).unwrap().restored, []);
}

#[test]
fn everything_works_before_the_first_commit() {
    let dir = tempfile::tempdir().unwrap();
    git_in(dir.path(), &["init", "-q", "-b", "main", "."]);
    let ws = Workspace::open(dir.path()).unwrap();
    let fix = Fixture { dir, ws };
    fix.write("f", "bug\n");
    fix.git(&["add", "f"]);
    let start = fix.checkpoint("1", &["f"]);
    assert_eq!(start.head.commit, None);
    fix.write("f", "fixed\n");
    fix.write("new", "n\n");
    fix.stage(&start, &["f", "new"]).unwrap();
    assert_eq!(fix.status(), "A  f\nA  new\n");
    fix.git(&["commit", "-q", "-m", "first"]);
    let seen = fix.observe(&start, &["f", "new"]);
    assert!(matches!(&seen.breaches[..], [Breach::HeadMoved { .. }]), "{:?}", seen.breaches);
    assert_eq!(strings(&seen.index_taken.iter().map(|c| c.path.clone()).collect::<Vec<_>>()), ["f", "new"]);
}

#[test]
fn one_driver_at_a_time_and_a_dead_one_holds_nothing() {
    let fix = Fixture::new(&[]);
    let state = fix.ws.state_dir();
    assert_eq!(DriverLock::holder(&state), None);
    let lock = DriverLock::acquire(&state).unwrap();
    assert_eq!(lock.me().pid, std::process::id());
    match DriverLock::acquire(&state) {
        Err(LockError::Held(by)) => assert_eq!(by, *lock.me()),
        other => panic!("{other:?}"),
    }
    assert_eq!(DriverLock::holder(&state), Some(lock.me().clone()));
    drop(lock);
    assert_eq!(DriverLock::holder(&state), None);
    // The record of a process that died without cleaning up says nothing.
    let stale = r#"{"pid":1,"host":"elsewhere","since":1}"#;
    std::fs::write(state.join("lock"), stale).unwrap();
    assert_eq!(DriverLock::holder(&state), None);
    DriverLock::acquire(&state).unwrap();
}
