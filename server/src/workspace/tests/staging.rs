//! Exact-hunk staging.

use super::fixture::*;
use crate::workspace::*;

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

/// Stages a fix of `f` and returns what the index has then, or the word for why not.
fn staged_text(committed: &str, index: Option<&str>, users: &str, fixed: &str) -> String {
    let fix = Fixture::new(&[("f", committed)]);
    if let Some(index) = index {
        fix.write("f", index);
        fix.git(&["add", "f"]);
    }
    fix.write("f", users);
    let start = fix.checkpoint("1", &["f"]);
    let unstaged = fix.git(&["diff", "--numstat"]);
    fix.write("f", fixed);
    match fix.stage(&start, &["f"]) {
        Ok(_) => {
            assert_eq!(fix.git(&["diff", "--numstat"]), unstaged, "the user's unstaged lines stay unstaged");
            fix.staged("f")
        }
        Err(StageRefused::Conflicts(_)) => "conflict".to_owned(),
        Err(error) => panic!("{error}"),
    }
}

#[test]
fn a_hunk_next_to_the_users_hunk_is_staged_alone() {
    assert_eq!(staged_text("a\nb\nc\n", None, "U\nb\nc\n", "U\nB\nc\n"), "a\nB\nc\n");
    assert_eq!(staged_text("a\nb\nc\n", None, "a\nb\nU\n", "a\nB\nU\n"), "a\nB\nc\n");
    assert_eq!(staged_text("a\nb\nc\n", Some("S\nb\nc\n"), "S\nb\nU\n", "S\nB\nU\n"), "S\nB\nc\n");
    assert_eq!(staged_text("a\nb\n", None, "a\nb\nmine\n", "fix\na\nb\nmine\n"), "fix\na\nb\n");
}

#[test]
fn a_line_that_both_changed_or_an_uncertain_place_is_a_question() {
    assert_eq!(staged_text("a\nb\nc\n", None, "a\nU\nc\n", "a\nX\nc\n"), "conflict");
    assert_eq!(staged_text("a\nb\nc\n", None, "a\nc\n", "a\nF\nc\n"), "conflict");
    assert_eq!(staged_text("}\n", None, "}\n}\n", "}!\n}\n"), "conflict");
    assert_eq!(staged_text("a\0b\n", None, "a\0c\n", "a\0d\n"), "conflict");
}

#[test]
fn a_conflict_stages_nothing_at_all_and_shows_both_sides() {
    let fix = Fixture::new(&[("f", "a\n"), ("g", "g\n")]);
    fix.write("f", "user\n");
    let start = fix.checkpoint("1", &["f", "g"]);
    fix.write("f", "fix\n");
    fix.write("g", "fix\n");
    match fix.stage(&start, &["f", "g"]) {
        Err(StageRefused::Conflicts(conflicts)) => {
            assert_eq!(conflicts.len(), 1);
            assert_eq!(conflicts[0].ours, "@@ -1 +1 @@\n-user\n+fix\n");
            assert_eq!(conflicts[0].theirs, "@@ -1 +1 @@\n-user\n+a\n");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fix.status(), " M f\n M g\n");
}

#[test]
fn deleting_a_file_with_unstaged_changes_of_the_user_is_a_question() {
    let fix = Fixture::new(&[("f", "a\n")]);
    fix.write("f", "a\nuser\n");
    let start = fix.checkpoint("1", &["f"]);
    std::fs::remove_file(fix.at("f")).unwrap();
    assert!(matches!(fix.stage(&start, &["f"]), Err(StageRefused::Conflicts(_))));
    assert_eq!(fix.staged("f"), "a\n");
}

#[test]
fn a_file_that_the_user_never_added_is_not_swept_in() {
    let fix = Fixture::new(&[("x", "x\n")]);
    fix.write("loose", "user\n");
    fix.write("intended", "user\n");
    fix.git(&["add", "-N", "intended"]);
    let start = fix.checkpoint("1", &["loose", "intended"]);
    fix.write("loose", "fixed\n");
    fix.write("intended", "fixed\n");
    let staged = fix.stage(&start, &["loose", "intended"]).unwrap();
    assert_eq!(
        staged.skipped,
        [(repo_path("intended"), NotStaged::Untracked), (repo_path("loose"), NotStaged::Untracked)]
    );
    assert_eq!(fix.status(), " A intended\n?? loose\n");
}

#[test]
fn a_new_file_beyond_a_symlinked_folder_is_refused() {
    let fix = Fixture::new(&[("real/x", "x\n")]);
    let outside = tempfile::tempdir().unwrap();
    write(&outside.path().join("secret"), b"s\n");
    std::os::unix::fs::symlink(outside.path(), fix.at("link")).unwrap();
    let start = fix.checkpoint("1", &[]);
    let id = fix.ws.store.write(b"s\n").unwrap();
    let state = FileState { kind: FileKind::Regular, content: id, size: 2, permissions: None, stored: true };
    let target = [(repo_path("link/secret"), Some(state))].into();
    match fix.ws.stage(&start, &target, &StagedEntries::default()) {
        Err(StageRefused::BeyondLink(path)) => assert_eq!(path.as_str(), "link/secret"),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_entry_of_the_users_never_gives_way_to_a_new_file() {
    let fix = Fixture::new(&[("x", "x\n")]);
    fix.write("made/later", "user\n");
    fix.git(&["add", "-N", "made/later"]);
    let scope = fix.scope(&["made", "made/later"]);
    let start = fix.checkpoint("1", &["made", "made/later"]);
    std::fs::remove_dir_all(fix.at("made")).unwrap();
    fix.write("made", "a file\n");
    let seen = fix.ws.observe(&start, &scope, &[]).unwrap();
    let target = seen.changes.iter().map(|change| (change.path.clone(), change.after.clone())).collect();
    match fix.ws.stage(&start, &target, &StagedEntries::default()) {
        Err(StageRefused::Conflicts(conflicts)) => assert_eq!(conflicts[0].path.as_str(), "made/later"),
        other => panic!("{other:?}"),
    }
    assert_eq!(fix.git(&["ls-files"]), "made/later\nx\n");
}

#[test]
fn what_cannot_be_staged_is_known_before_any_dispatch() {
    let library = Fixture::new(&[("base.txt", "b\n")]);
    let fix = Fixture::new(&[("f", "f\n"), ("skipped", "s\n"), (".gitignore", "*.log\n"), ("real/x", "x\n")]);
    add_submodule(&fix, &library);
    fix.git(&["update-index", "--skip-worktree", "skipped"]);
    fix.write("loose", "l\n");
    std::os::unix::fs::symlink("real", fix.at("link")).unwrap();
    let of = |path: &str| fix.ws.stageable(&repo_path(path));
    assert_eq!(of("f").unwrap(), None);
    assert_eq!(of("brand/new").unwrap(), None);
    assert_eq!(of("skipped").unwrap(), Some(NotStaged::SkipWorktree));
    assert_eq!(of("loose").unwrap(), Some(NotStaged::Untracked));
    assert_eq!(of("x.log").unwrap(), Some(NotStaged::Ignored));
    assert!(matches!(of("sub/base.txt"), Err(StageRefused::OtherRepository { .. })));
    assert!(matches!(of("link/x"), Err(StageRefused::BeyondLink(_))));
}

#[test]
fn the_executable_bit_is_staged_only_where_the_repository_trusts_it() {
    let fix = Fixture::new(&[("f", "a\n")]);
    fix.git(&["config", "core.filemode", "false"]);
    let start = fix.checkpoint("1", &["f", "new"]);
    fix.write("f", "b\n");
    super::tree::make_executable(&fix, "f");
    fix.write("new", "n\n");
    super::tree::make_executable(&fix, "new");
    fix.stage(&start, &["f", "new"]).unwrap();
    let entries = fix.git(&["ls-files", "-s"]);
    assert!(entries.lines().all(|line| line.starts_with("100644")), "{entries}");
    // And a mode that the user has staged is kept under a fix of the text.
    let fix = Fixture::new(&[("f", "a\n")]);
    fix.git(&["update-index", "--chmod=+x", "f"]);
    let start = fix.checkpoint("1", &["f"]);
    fix.write("f", "b\n");
    fix.stage(&start, &["f"]).unwrap();
    assert!(fix.git(&["ls-files", "-s"]).starts_with("100755"));
    assert_eq!(fix.staged("f"), "b\n");
}

#[test]
fn odd_names_are_staged_as_they_are() {
    let names = ["a b", "tab\there", "new\nline", "-dash", ":(top)x", "quote\"s", "*.txt", "é"];
    let files: Vec<(&str, &str)> = names.iter().map(|name| (*name, "a\n")).collect();
    let fix = Fixture::new(&files);
    let start = fix.checkpoint("1", &names);
    for name in names {
        fix.write(name, "b\n");
    }
    let staged = fix.stage(&start, &names).unwrap();
    assert_eq!(staged.entries.len(), names.len());
    assert_eq!(fix.git(&["diff", "--name-only"]), "");
    assert_eq!(
        fix.git(&["diff", "--cached", "--name-only", "-z"]).split_terminator('\0').count(),
        names.len()
    );
}
