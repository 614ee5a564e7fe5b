//! Checkpoint, observation and restore of the work tree.

use super::fixture::*;
use crate::workspace::*;

#[test]
fn a_checkpoint_brings_back_every_kind_of_dirty_path_byte_for_byte() {
    // Given a tree with a staged, a half-staged, a modified, a deleted, an untracked and an ignored file.
    let fix = Fixture::new(&[
        ("staged.txt", "a\n"),
        ("half.txt", "a\nb\nc\n"),
        ("modified.txt", "a\n"),
        ("deleted.txt", "a\n"),
        ("clean.txt", "clean\n"),
        ("doomed/clean.txt", "doomed\n"),
        (".gitignore", ".env\n"),
    ]);
    fix.write("staged.txt", "staged\n");
    fix.git(&["add", "staged.txt"]);
    fix.write("half.txt", "A\nb\nc\n");
    fix.git(&["add", "half.txt"]);
    fix.write("half.txt", "A\nb\nC\n");
    fix.write("modified.txt", b"b\r\nraw \xff bytes");
    std::fs::remove_file(fix.at("deleted.txt")).unwrap();
    fix.write("new dir/untracked.txt", "untracked\n");
    fix.write(".env", "SECRET=1\n");
    let status = fix.status();
    let start = fix.checkpoint("1", &[]);

    // When a worker overwrites, deletes and adds all over the place.
    for path in ["staged.txt", "half.txt", "modified.txt", "deleted.txt", "clean.txt", ".env"] {
        fix.write(path, "trampled\n");
    }
    std::fs::remove_dir_all(fix.at("new dir")).unwrap();
    std::fs::remove_dir_all(fix.at("doomed")).unwrap();
    fix.write("worker/left/this.txt", "x\n");
    let seen = fix.observe(&start, &["clean.txt"]);
    let mut ours = OwnBytes::default();
    ours.record(&seen);
    let restored = fix.ws.restore(&start, &ours).unwrap();

    // Then every byte is back, and nothing of the worker's is left.
    assert_eq!(restored.left_alone, []);
    assert_eq!(fix.status(), status);
    assert_eq!(fix.text("half.txt"), "A\nb\nC\n");
    assert_eq!(fix.read("modified.txt"), b"b\r\nraw \xff bytes");
    assert_eq!(fix.text("new dir/untracked.txt"), "untracked\n");
    assert_eq!(fix.text("doomed/clean.txt"), "doomed\n");
    assert_eq!(fix.text(".env"), "SECRET=1\n");
    assert!(!fix.at("worker").exists());
    fix.fsck();
}

#[test]
fn changes_are_told_by_kind_and_place() {
    let fix = Fixture::new(&[("in.txt", "a\n"), ("out.txt", "a\n"), ("gone.txt", "a\n"), ("run.sh", "#!\n")]);
    let start = fix.checkpoint("1", &["in.txt"]);
    fix.write("in.txt", "b\n");
    fix.write("out.txt", "b\n");
    fix.write("users.txt", "mine\n");
    fix.write("new.txt", "n\n");
    std::fs::remove_file(fix.at("gone.txt")).unwrap();
    make_executable(&fix, "run.sh");
    let saved = [(repo_path("users.txt"), ObjectId::of_bytes(b"mine\n"))];
    let seen = fix.ws.observe(&start, &fix.scope(&["in.txt"]), &saved).unwrap();
    assert_eq!(
        told(&seen),
        [
            "Deleted OutOfScope gone.txt",
            "Modified InScope in.txt",
            "Added OutOfScope new.txt",
            "Modified OutOfScope out.txt",
            "ModeChanged OutOfScope run.sh",
            "Added Users users.txt",
        ]
    );
    assert_eq!(seen.breaches, []);
}

pub(super) fn make_executable(fix: &Fixture, path: &str) {
    use std::os::unix::fs::PermissionsExt;
    std::fs::set_permissions(fix.at(path), std::fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn a_file_is_written_only_while_it_is_as_expected_and_keeps_its_mode() {
    let fix = Fixture::new(&[("run.sh", "old\n")]);
    make_executable(&fix, "run.sh");
    let path = repo_path("run.sh");
    let seen = fix.ws.file_state(&path).unwrap();
    assert!(fix.ws.write_file(&path, seen.as_ref(), Some(b"new\n")).unwrap());
    assert_eq!(fix.text("run.sh"), "new\n");
    assert_eq!(fix.ws.file_state(&path).unwrap().unwrap().kind, FileKind::Executable);
    // The user saved meanwhile.
    assert!(!fix.ws.write_file(&path, seen.as_ref(), Some(b"again\n")).unwrap());
    assert!(!fix.ws.write_file(&path, seen.as_ref(), None).unwrap());
    assert!(!fix.ws.write_file(&path, None, Some(b"again\n")).unwrap());
    assert_eq!(fix.text("run.sh"), "new\n");
    // New files come with their folders; nothing is left of an attempt that failed.
    assert!(fix.ws.write_file(&repo_path("deep/er/new"), None, Some(b"n\n")).unwrap());
    assert!(!fix.ws.write_file(&repo_path("not/here"), seen.as_ref(), Some(b"n\n")).unwrap());
    assert!(!fix.at("not").exists());
    let now = fix.ws.file_state(&path).unwrap();
    assert!(fix.ws.write_file(&path, now.as_ref(), None).unwrap());
    assert_eq!(fix.status(), " D run.sh\n?? deep/er/new\n");
    let scratch = fix.ws.state_dir().join("scratch");
    assert_eq!(std::fs::read_dir(scratch).unwrap().count(), 0);
}
