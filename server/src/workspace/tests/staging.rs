//! Exact-hunk staging.

use super::fixture::*;

#[test]
fn only_the_hunks_of_the_loop_are_staged_and_the_users_stay_as_they_were() {
    // Given a file with a staged and an unstaged hunk of the user's.
    let fix = Fixture::new(&[("f.txt", "1\n2\n3\n4\n5\n6\n7\n8\n9\n")]);
    fix.write("f.txt", "1 staged\n2\n3\n4\n5\n6\n7\n8\n9\n");
    fix.git(&["add", "f.txt"]);
    fix.write("f.txt", "1 staged\n2\n3\n4\n5\n6\n7\n8\n9 unstaged\n");
    let start = fix.checkpoint("1", &["f.txt"]);

    // When a worker fixes a line in the middle.
    fix.write("f.txt", "1 staged\n2\n3\n4\n5 fixed\n6\n7\n8\n9 unstaged\n");
    let staged = fix.stage(&start, &["f.txt"]).unwrap();

    // Then the index has the user's staged hunk and the fix, and not the unstaged hunk.
    assert_eq!(fix.staged("f.txt"), "1 staged\n2\n3\n4\n5 fixed\n6\n7\n8\n9\n");
    assert_eq!(fix.status(), "MM f.txt\n");

    // And unstaging gives the user's entry back.
    assert_eq!(fix.ws.unstage(&staged).unwrap(), []);
    assert_eq!(fix.staged("f.txt"), "1 staged\n2\n3\n4\n5\n6\n7\n8\n9\n");
    fix.fsck();
}

#[test]
fn new_deleted_and_executable_files_and_links_are_staged_as_git_add_would() {
    let fix = Fixture::new(&[("gone.txt", "g\n"), ("run.sh", "#!\n"), ("link", "x\n"), ("same.txt", "s\n")]);
    let scope = ["gone.txt", "run.sh", "link", "new.txt"];
    let start = fix.checkpoint("1", &scope);
    std::fs::remove_file(fix.at("gone.txt")).unwrap();
    super::tree::make_executable(&fix, "run.sh");
    std::fs::remove_file(fix.at("link")).unwrap();
    std::os::unix::fs::symlink("same.txt", fix.at("link")).unwrap();
    fix.write("new.txt", "n\n");
    fix.stage(&start, &scope).unwrap();
    assert_eq!(fix.status(), "D  gone.txt\nT  link\nA  new.txt\nM  run.sh\n");
    let by_us = fix.git(&["ls-files", "-s"]);
    fix.git(&["add", "-A"]);
    assert_eq!(fix.git(&["ls-files", "-s"]), by_us);
}
