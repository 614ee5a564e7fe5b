//! The process ends at every single write, as by `kill -9`; the next start puts everything right.

use std::collections::BTreeMap;
use std::process::{Command, Stdio};

use super::fixture::*;
use crate::workspace::*;

const FOLDER: &str = "FIX_LOOP_TEST_CRASH_FOLDER";
const SCOPE: [&str; 3] = ["f", "g", "new"];

type Target = BTreeMap<RepoPath, Option<FileState>>;

fn worker(fix: &Fixture) {
    fix.write("f", "1\n2 fixed\n3\nuser\n");
    std::fs::remove_file(fix.at("g")).ok();
    fix.write("new", "n\n");
    fix.write("outside", "o\n");
}

fn target(observation: &Observation) -> Target {
    observation.placed(Place::InScope).map(|change| (change.path.clone(), change.after.clone())).collect()
}

/// One stage and one restore, as the engine does them.
fn stage_and_restore(ws: &Workspace, start: &Checkpoint, target: &Target, ours: &OwnBytes) {
    let staged = ws.stage(start, target, &StagedEntries::default()).unwrap();
    let mut ours = ours.clone();
    ours.record_staged(&staged);
    ws.restore(start, &ours).unwrap();
}

/// Not a test of its own: the process that is ended. Without the variable it has nothing to do.
#[test]
#[ignore = "run by the test below"]
fn the_process_that_is_ended() {
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let folder = std::path::PathBuf::from(folder);
    let ws = Workspace::open(&folder).unwrap();
    let start = ws.load_checkpoint(&CheckpointName::new("L1", "start").unwrap()).unwrap();
    let read = |name: &str| std::fs::read(ws.git_dir().join(name)).unwrap();
    let seen: Observation = serde_json::from_slice(&read("seen.json")).unwrap();
    let mut ours = OwnBytes::default();
    ours.record(&seen);
    stage_and_restore(&ws, &start, &target(&seen), &ours);
}

fn run_child(fix: &Fixture, key: &str, value: &str) -> std::process::ExitStatus {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            "workspace::tests::crash::the_process_that_is_ended",
            "--ignored",
            "--test-threads=1",
        ])
        .env(FOLDER, fix.dir.path())
        .env(key, value)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status()
        .unwrap()
}

#[test]
fn ending_the_process_at_any_write_loses_nothing_and_the_redo_completes() {
    let fix = Fixture::new(&[("f", "1\n2\n3\n4\n"), ("g", "g\n"), ("kept", "k\n")]);
    fix.write("f", "1\n2\n3\nuser\n");
    fix.write("kept", "user\n");
    fix.git(&["add", "kept"]);
    let start = fix.checkpoint("start", &SCOPE);
    let (index, status) = (fix.git(&["ls-files", "-s"]), fix.status());
    worker(&fix);
    let seen = fix.observe(&start, &SCOPE);
    std::fs::write(fix.at(".git/seen.json"), serde_json::to_vec(&seen).unwrap()).unwrap();
    let mut ours = OwnBytes::default();
    ours.record(&seen);

    let log = fix.at(".git/points");
    assert!(run_child(&fix, "FIX_LOOP_FAULT_COUNT", log.to_str().unwrap()).success());
    let points = std::fs::read_to_string(&log).unwrap();
    let points: Vec<&str> = points.lines().collect();
    for wanted in ["index.locked", "index.before", "index.after", "file.before", "keep.tree", "restore.after"]
    {
        assert!(points.contains(&wanted), "{points:?}");
    }
    assert_eq!((fix.git(&["ls-files", "-s"]), fix.status()), (index.clone(), status.clone()));

    // Every point at which something besides a loose object was being written.
    let writes = points.iter().enumerate().filter(|(_, name)| !name.starts_with("object."));
    for (at, name) in writes {
        worker(&fix);
        let ended = run_child(&fix, "FIX_LOOP_FAULT", &(at + 1).to_string());
        assert!(!ended.success(), "{name} was not reached");
        // The next start: no lock is left, and the redo of stage and restore gets to the very same end.
        let ws = Workspace::open(fix.dir.path()).unwrap();
        assert!(!fix.at(".git/index.lock").exists(), "{name}");
        stage_and_restore(&ws, &start, &target(&seen), &ours);
        assert_eq!(fix.git(&["ls-files", "-s"]), index, "{name}");
        assert_eq!(fix.status(), status, "{name}");
        assert_eq!(fix.text("f"), "1\n2\n3\nuser\n", "{name}");
        assert_eq!(fix.text("kept"), "user\n", "{name}");
    }
    fix.fsck();
}
