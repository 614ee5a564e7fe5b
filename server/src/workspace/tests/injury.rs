//! What workers do to a tree although nobody asked, and what is left of it afterwards (R21, R29, R31, R33, R35, R36, R39).

use std::os::unix::fs::{PermissionsExt, symlink};

use super::fixture::*;
use crate::workspace::*;

/// A tree in the middle of the user's work.
fn in_use() -> Fixture {
    let fix = Fixture::new(&[
        ("staged.txt", "a\n"),
        ("half.txt", "a\nb\nc\n"),
        ("dirty.txt", "a\n"),
        ("target.txt", "bug\n"),
        (".gitignore", ".env\nnode_modules/\n"),
    ]);
    fix.write("dirty.txt", "stashed\n");
    fix.git(&["stash", "-q"]);
    fix.write("staged.txt", "staged\n");
    fix.git(&["add", "staged.txt"]);
    fix.write("half.txt", "A\nb\nc\n");
    fix.git(&["add", "half.txt"]);
    fix.write("half.txt", "A\nb\nC\n");
    fix.write("dirty.txt", "dirty\n");
    fix.write("loose/new.txt", "new\n");
    fix.write(".env", "SECRET\n");
    fix.write("node_modules/x.js", "x\n");
    fix
}

struct Before {
    index: String,
    status: String,
    files: Vec<(&'static str, String)>,
}

impl Before {
    fn of(fix: &Fixture) -> Before {
        let paths = ["staged.txt", "half.txt", "dirty.txt", "loose/new.txt", ".env", "node_modules/x.js"];
        Before {
            index: fix.git(&["ls-files", "-s"]),
            status: fix.status(),
            files: paths.into_iter().map(|path| (path, fix.text(path))).collect(),
        }
    }

    fn is_back(&self, fix: &Fixture) {
        assert_eq!(fix.git(&["ls-files", "-s"]), self.index);
        assert_eq!(fix.status(), self.status);
        for (path, text) in &self.files {
            assert_eq!(fix.text(path), *text, "{path}");
        }
    }
}

/// What the engine does with a breach: take the index back, then restore everything that is the loop's.
fn put_right(fix: &Fixture, start: &Checkpoint) -> (Observation, Restored) {
    let seen = fix.observe(start, &["target.txt"]);
    let mut ours = OwnBytes::default();
    ours.record(&seen);
    assert_eq!(fix.ws.untake_index(&seen.index_taken).unwrap(), []);
    let restored = fix.ws.restore(start, &ours).unwrap();
    (seen, restored)
}

#[test]
fn whole_tree_commands_of_a_worker_are_breaches_and_every_byte_of_the_user_comes_back() {
    let commands: [(&str, &[&[&str]]); 6] = [
        ("stash", &[&["stash", "-q", "--include-untracked"]]),
        ("stash and drop", &[&["stash", "-q"], &["stash", "drop", "-q"]]),
        ("reset --hard", &[&["reset", "-q", "--hard"]]),
        ("checkout and clean", &[&["checkout", "-q", "--", "."], &["clean", "-qfd"]]),
        ("reset the index", &[&["reset", "-q"]]),
        ("restore", &[&["restore", "--staged", "--worktree", "."]]),
    ];
    for (name, commands) in commands {
        let fix = in_use();
        let before = Before::of(&fix);
        let start = fix.checkpoint("1", &["target.txt"]);
        for command in commands {
            fix.git(command);
        }
        let (seen, restored) = put_right(&fix, &start);
        before.is_back(&fix);
        assert_eq!(restored.left_alone, [], "{name}");
        let breached = |wanted: fn(&Breach) -> bool| seen.breaches.iter().any(wanted);
        match name {
            "stash" => assert!(breached(
                |breach| matches!(breach, Breach::StashChanged { added, .. } if added.len() == 1)
            )),
            "reset --hard" | "reset the index" | "restore" => {
                assert!(
                    breached(|breach| matches!(breach, Breach::IndexReset { paths } if paths.len() == 2)),
                    "{name}"
                );
            }
            _ => {}
        }
        if name != "reset the index" {
            let discarded = |breach: &Breach| matches!(breach, Breach::WorkDiscarded { paths } if paths.contains(&repo_path("dirty.txt")));
            assert!(seen.breaches.iter().any(discarded), "{name}: {:?}", seen.breaches);
        }
        fix.fsck();
    }
}

#[test]
fn sweeping_all_untracked_files_is_a_breach_and_deleting_one_of_them_is_a_change() {
    let fix = Fixture::new(&[("f", "f\n")]);
    fix.write("notes", "n\n");
    fix.write("draft", "d\n");
    let start = fix.checkpoint("1", &["f"]);
    std::fs::remove_file(fix.at("draft")).unwrap();
    let seen = fix.observe(&start, &["f"]);
    assert_eq!((told(&seen), seen.breaches), (vec!["Deleted OutOfScope draft".to_owned()], vec![]));
    fix.git(&["clean", "-qf"]);
    let seen = fix.observe(&start, &["f"]);
    assert_eq!(
        seen.breaches,
        [Breach::WorkDiscarded { paths: vec![repo_path("draft"), repo_path("notes")] }]
    );
}

#[test]
fn tags_that_a_fetch_brought_are_only_reported() {
    let fix = Fixture::new(&[("f", "f\n")]);
    let start = fix.checkpoint("1", &[]);
    fix.git(&["tag", "v1"]);
    assert_eq!(fix.observe(&start, &[]).breaches, [Breach::TagsChanged { tags: vec!["v1".into()] }]);
    fix.write(".git/FETCH_HEAD", "");
    assert_eq!(fix.observe(&start, &[]).breaches, []);
}

#[test]
fn hooks_and_configuration_that_changed_are_reported() {
    let fix = Fixture::new(&[("f", "f\n")]);
    let start = fix.checkpoint("1", &[]);
    assert_eq!(fix.observe(&start, &[]).git_files_changed, Vec::<String>::new());
    fix.write(".git/hooks/pre-commit", "#!/bin/sh\n");
    fix.git(&["config", "alias.x", "!true"]);
    assert_eq!(fix.observe(&start, &[]).git_files_changed, ["config", "hooks/pre-commit"]);
}

#[test]
fn a_stash_that_a_worker_cleared_is_a_breach_and_its_files_are_kept() {
    let fix = in_use();
    let lost: ObjectId = fix.git(&["rev-parse", "stash@{0}"]).trim().parse().unwrap();
    let content = fix.git(&["rev-parse", "stash@{0}:dirty.txt"]);
    let start = fix.checkpoint("1", &[]);
    fix.git(&["stash", "clear"]);
    fix.git(&["reflog", "expire", "--expire=now", "--all"]);
    fix.git(&["gc", "-q", "--prune=now"]);
    let seen = fix.observe(&start, &[]);
    assert_eq!(seen.breaches, [Breach::StashChanged { lost: vec![lost], added: vec![] }]);
    assert_eq!(fix.git(&["cat-file", "blob", content.trim()]), "stashed\n");
}

#[test]
fn a_commit_by_a_worker_is_reported_and_history_is_left_alone() {
    let fix = in_use();
    let before = Before::of(&fix);
    let head = fix.git(&["rev-parse", "HEAD"]);
    let start = fix.checkpoint("1", &["target.txt"]);
    fix.write("target.txt", "fixed\n");
    fix.git(&["add", "-A"]);
    fix.git(&["commit", "-q", "-m", "worker"]);
    let (seen, restored) = put_right(&fix, &start);
    match &seen.breaches[..] {
        [Breach::HeadMoved { from, to }] => {
            assert_eq!(from.commit.unwrap().to_string(), head.trim());
            assert_eq!(to.commit.unwrap().to_string(), fix.git(&["rev-parse", "HEAD"]).trim());
        }
        other => panic!("{other:?}"),
    }
    assert_ne!(fix.git(&["rev-parse", "HEAD"]), head, "history is never reset");
    assert_eq!(restored.left_alone, []);
    // Once the user takes the commit back, everything is as it was.
    fix.git(&["reset", "-q", "--soft", "HEAD~1"]);
    before.is_back(&fix);
}

#[test]
fn branches_tags_and_new_refs_are_told_apart() {
    let fix = Fixture::new(&[("f", "f\n")]);
    fix.git(&["tag", "v1"]);
    let start = fix.checkpoint("1", &[]);
    fix.git(&["branch", "topic"]);
    fix.git(&["update-ref", "refs/remotes/origin/main", "HEAD"]);
    let seen = fix.observe(&start, &[]);
    assert_eq!(seen.breaches, []);
    let names: Vec<_> = seen.refs_changed.iter().map(|change| change.name.as_str()).collect();
    assert_eq!(names, ["refs/heads/topic", "refs/remotes/origin/main"]);

    fix.git(&["tag", "-d", "v1"]);
    fix.git(&["tag", "v2"]);
    fix.git(&["checkout", "-q", "topic"]);
    let breaches = fix.observe(&start, &[]).breaches;
    assert!(breaches.contains(&Breach::TagsChanged { tags: vec!["v1".into(), "v2".into()] }), "{breaches:?}");
    assert!(breaches.iter().any(|breach| matches!(breach, Breach::BranchSwitched { .. })));
    // Our own refs are nobody's business.
    fix.checkpoint("2", &[]);
    assert!(fix.observe(&start, &[]).refs_changed.iter().all(|change| !change.name.contains("fix-loop")));
}

#[test]
fn damage_to_encoding_and_line_endings_is_a_breach() {
    let breaches = |before: &[u8], after: &[u8]| -> Vec<String> {
        let fix = Fixture::new(&[]);
        fix.write("f", before);
        fix.git(&["add", "f"]);
        fix.git(&["commit", "-q", "-m", "f"]);
        let start = fix.checkpoint("1", &["f"]);
        fix.write("f", after);
        let name = |breach: &Breach| match breach {
            Breach::LostBom { .. } => "bom".to_owned(),
            Breach::LineEndings { lines, .. } => format!("endings {lines}"),
            Breach::Encoding { .. } => "encoding".to_owned(),
            other => format!("{other:?}"),
        };
        fix.observe(&start, &["f"]).breaches.iter().map(name).collect()
    };
    let none: [&str; 0] = [];
    assert_eq!(breaches(b"\xef\xbb\xbfa\nb\n", b"a\nB\n"), ["bom"]);
    assert_eq!(breaches(b"\xef\xbb\xbfa\nb\n", b"\xef\xbb\xbfa\nB\n"), none);
    assert_eq!(breaches(b"\xff\xfea\0\n\0", b"a\n"), ["bom"]);
    assert_eq!(breaches(b"a\r\nb\r\nc\r\n", b"a\nB\nc\n"), ["endings 2"]);
    assert_eq!(breaches(b"a\nb\nc\n", b"a\r\nB\r\nc\r\n"), ["endings 2"]);
    // A file of mixed endings may be edited, but not evened out.
    assert_eq!(breaches(b"a\r\nb\nc\r\nd\n", b"a\r\nB\nc\r\nd\n"), none);
    assert_eq!(breaches(b"a\r\nb\nc\r\nd\n", b"a\nB\nc\nd\n"), ["endings 2"]);
    // A newline at the end of the file is not a flip.
    assert_eq!(breaches(b"a\r\nb", b"a\r\nb\r\n"), none);
    assert_eq!(breaches("é\n".as_bytes(), "\u{fffd}\nx\n".as_bytes()), ["encoding"]);
    assert_eq!(breaches(b"caf\xe9\nb\n", "caf\u{fffd}\nB\n".as_bytes()), ["encoding"]);
    assert_eq!(breaches(b"caf\xe9\nb\n", "café\nB\n".as_bytes()), ["encoding"]);
    assert_eq!(breaches(b"\x80 5\nb\n", "€ 5\nB\n".as_bytes()), ["encoding"]);
    assert_eq!(breaches("café\nb\n".as_bytes(), b"caf\xe9\nB\n"), ["encoding"]);
    assert_eq!(breaches(b"caf\xe9\nb\n", b"caf\xe9\nB\n"), none);
    assert_eq!(breaches(b"caf\xe9\nb\n", b"coffee\nb\n"), none);
    assert_eq!(breaches(b"a\nb\n", b""), none);
    assert_eq!(breaches(b"a\0b\r\n", b"a\0c\n"), none);
}

#[test]
fn modes_types_and_special_files_are_part_of_the_comparison() {
    let fix = Fixture::new(&[("run.sh", "#!\n"), ("file", "f\n"), ("to-fifo", "x\n"), ("pointed", "p\n")]);
    super::tree::make_executable(&fix, "run.sh");
    symlink("pointed", fix.at("link")).unwrap();
    fix.git(&["add", "-A"]);
    fix.git(&["commit", "-q", "-m", "modes"]);
    let start = fix.checkpoint("1", &[]);
    std::fs::set_permissions(fix.at("run.sh"), std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::remove_file(fix.at("link")).unwrap();
    fix.write("link", "p\n");
    std::fs::remove_file(fix.at("file")).unwrap();
    symlink("/etc/passwd", fix.at("file")).unwrap();
    std::fs::remove_file(fix.at("to-fifo")).unwrap();
    make_fifo(&fix, "to-fifo");
    let seen = fix.observe(&start, &["to-fifo"]);
    assert_eq!(
        told(&seen),
        [
            "TypeChanged OutOfScope file",
            "TypeChanged OutOfScope link",
            "ModeChanged OutOfScope run.sh",
            "TypeChanged InScope to-fifo"
        ]
    );
    assert_eq!(seen.breaches, [Breach::SpecialFile { path: repo_path("to-fifo") }]);
    // Staging a FIFO neither blocks nor happens.
    assert!(matches!(fix.stage(&start, &["to-fifo"]), Err(StageRefused::SpecialFile(_))));
    let mut ours = OwnBytes::default();
    ours.record(&seen);
    assert_eq!(fix.ws.restore(&start, &ours).unwrap().left_alone, []);
    assert_eq!(fix.status(), "");
    assert_eq!(std::fs::read_link(fix.at("link")).unwrap().to_str(), Some("pointed"));
    assert!(std::fs::metadata(fix.at("run.sh")).unwrap().permissions().mode() & 0o111 == 0o111);
}

fn make_fifo(fix: &Fixture, path: &str) {
    let made = std::process::Command::new("mkfifo").arg(fix.at(path)).status().unwrap();
    assert!(made.success());
}

#[test]
fn permissions_of_the_users_own_files_survive() {
    let fix = Fixture::new(&[("f", "f\n")]);
    fix.write("secret", "s\n");
    std::fs::set_permissions(fix.at("secret"), std::fs::Permissions::from_mode(0o600)).unwrap();
    let start = fix.checkpoint("1", &[]);
    std::fs::remove_file(fix.at("secret")).unwrap();
    let seen = fix.observe(&start, &[]);
    fix.ws.set_aside(&start, &seen.changes).unwrap();
    assert_eq!(std::fs::metadata(fix.at("secret")).unwrap().permissions().mode() & 0o777, 0o600);
}

#[test]
fn a_rename_is_two_paths() {
    let fix = Fixture::new(&[("old.txt", "the same text\nin both\n")]);
    let start = fix.checkpoint("1", &["old.txt"]);
    std::fs::rename(fix.at("old.txt"), fix.at("new.txt")).unwrap();
    let seen = fix.observe(&start, &["old.txt"]);
    assert_eq!(told(&seen), ["Added OutOfScope new.txt", "Deleted InScope old.txt"]);
    let scope = ["old.txt", "new.txt"];
    fix.stage(&start, &scope).unwrap();
    assert_eq!(fix.git(&["diff", "--cached", "--name-status", "--no-renames"]), "A\tnew.txt\nD\told.txt\n");
}

#[test]
fn a_folder_that_became_a_link_out_of_the_repository_is_neither_read_nor_written_through() {
    let fix = Fixture::new(&[("src/a.rs", "a\n")]);
    let outside = tempfile::tempdir().unwrap();
    write(&outside.path().join("a.rs"), b"outside\n");
    let start = fix.checkpoint("1", &["src/a.rs"]);
    let scope = fix.scope(&["src/a.rs"]);
    std::fs::remove_dir_all(fix.at("src")).unwrap();
    symlink(outside.path(), fix.at("src")).unwrap();
    assert!(Scope::new(fix.ws.root(), &["src/a.rs"], &[]).is_err());
    let scope: Scope = serde_json::from_str(&serde_json::to_string(&scope).unwrap()).unwrap();
    let seen = fix.ws.observe(&start, &scope, &[]).unwrap();
    assert_eq!(told(&seen), ["Added OutOfScope src", "Deleted InScope src/a.rs"]);
    let aside = fix.ws.set_aside(&start, &seen.changes).unwrap();
    assert_eq!(aside.left_alone, []);
    assert_eq!(fix.text("src/a.rs"), "a\n");
    assert_eq!(fix.status(), "");
    assert_eq!(std::fs::read(outside.path().join("a.rs")).unwrap(), b"outside\n");
}

#[test]
fn a_file_that_became_a_folder_and_a_folder_that_became_a_file_come_back() {
    let fix = Fixture::new(&[("file", "f\n"), ("dir/a", "a\n")]);
    let start = fix.checkpoint("1", &[]);
    std::fs::remove_file(fix.at("file")).unwrap();
    fix.write("file/inner/deep", "x\n");
    std::fs::remove_dir_all(fix.at("dir")).unwrap();
    fix.write("dir", "now a file\n");
    let seen = fix.observe(&start, &[]);
    let aside = fix.ws.set_aside(&start, &seen.changes).unwrap();
    assert_eq!(aside.left_alone, []);
    assert_eq!(fix.status(), "");
    assert_eq!((fix.text("file"), fix.text("dir/a")), ("f\n".to_owned(), "a\n".to_owned()));
}

#[test]
fn ignored_files_are_reported_apart_and_restored() {
    let fix = in_use();
    let start = fix.checkpoint("1", &["target.txt"]);
    fix.write(".env", "LEAKED\n");
    fix.write("node_modules/y.js", "y\n");
    let seen = fix.observe(&start, &["target.txt"]);
    assert_eq!(told(&seen), Vec::<String>::new());
    let ignored: Vec<_> = seen.ignored_changed.iter().map(|change| change.path.as_str()).collect();
    assert_eq!(ignored, [".env"]);
    let mut ours = OwnBytes::default();
    ours.record(&seen);
    fix.ws.restore(&start, &ours).unwrap();
    assert_eq!(fix.text(".env"), "SECRET\n");
    assert!(fix.at("node_modules/y.js").exists(), "an ignored folder is not protected");
}

#[test]
fn an_ignored_file_in_scope_is_seen_and_never_staged() {
    let fix = Fixture::new(&[(".gitignore", "*.local\n")]);
    let start = fix.checkpoint("1", &["new.local"]);
    fix.write("new.local", "x\n");
    assert_eq!(told(&fix.observe(&start, &["new.local"])), ["Added InScope new.local"]);
    let staged = fix.stage(&start, &["new.local"]).unwrap();
    assert_eq!(staged.entries, []);
    assert_eq!(staged.skipped, [(repo_path("new.local"), NotStaged::Ignored)]);
    assert_eq!(fix.status(), "");
}

#[test]
fn editing_gitignore_neither_hides_files_nor_exposes_an_ignored_folder() {
    let fix = in_use();
    let before = Before::of(&fix);
    let start = fix.checkpoint("1", &[]);
    // The worker hides the user's untracked file, overwrites it, and lets go of node_modules.
    fix.write(".gitignore", "loose/\n.env\n");
    fix.write("loose/new.txt", "trampled\n");
    let seen = fix.observe(&start, &[]);
    assert_eq!(told(&seen), ["Modified OutOfScope .gitignore", "Modified OutOfScope loose/new.txt"]);
    fix.ws.set_aside(&start, &seen.changes).unwrap();
    before.is_back(&fix);
}

#[test]
fn large_files_are_named_as_unprotected_and_never_copied() {
    let fix = Fixture::new(&[("f", "f\n")]);
    let make = |path: &str, size: u64| std::fs::File::create(fix.at(path)).unwrap().set_len(size).unwrap();
    make("large.bin", (50 << 20) + 1);
    let start = fix.checkpoint("1", &[]);
    assert_eq!(start.unprotected.len(), 1);
    assert_eq!(
        (start.unprotected[0].path.as_str(), start.unprotected[0].size),
        ("large.bin", (50 << 20) + 1)
    );
    assert_eq!(told(&fix.observe(&start, &[])), Vec::<String>::new());
    make("large.bin", (50 << 20) + 2);
    make("another.bin", (50 << 20) + 2);
    let seen = fix.observe(&start, &[]);
    assert_eq!(told(&seen), ["Added OutOfScope another.bin", "Modified OutOfScope large.bin"]);
    let aside = fix.ws.set_aside(&start, &seen.changes).unwrap();
    assert_eq!(aside.left_alone.len(), 2);
    assert!(fix.at("large.bin").exists() && fix.at("another.bin").exists());
}

#[test]
fn names_that_are_no_utf8_are_named_as_unprotected() {
    use std::os::unix::ffi::OsStrExt;
    let fix = Fixture::new(&[("f", "f\n")]);
    let name = std::ffi::OsStr::from_bytes(b"caf\xe9");
    if std::fs::write(fix.dir.path().join(name), "x").is_err() {
        return; // This file system has no such names.
    }
    let start = fix.checkpoint("1", &[]);
    assert_eq!(start.unprotected[0].path, "caf\u{fffd}");
}

#[test]
fn submodules_and_nested_repositories_are_watched_but_never_written() {
    let library = Fixture::new(&[("base.txt", "b\n")]);
    let fix = Fixture::new(&[("f", "f\n")]);
    add_submodule(&fix, &library);
    git_in(fix.dir.path(), &["init", "-q", "nested"]);
    fix.write("nested/x", "x\n");
    let start = fix.checkpoint("1", &["sub/base.txt"]);
    assert_eq!(told(&fix.observe(&start, &["sub/base.txt"])), Vec::<String>::new());
    fix.write("sub/base.txt", "fixed\n");
    fix.write("nested/x", "longer\n");
    let seen = fix.observe(&start, &[]);
    assert_eq!(
        seen.breaches,
        [
            Breach::RepositoryChanged { path: repo_path("nested") },
            Breach::RepositoryChanged { path: repo_path("sub") }
        ]
    );
    match fix.stage(&start, &["sub/base.txt"]) {
        Err(StageRefused::OtherRepository { repository, folder, .. }) => {
            assert_eq!(repository.as_str(), "sub");
            assert_eq!(folder, fix.ws.root().join("sub"));
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fix.git(&["diff", "--cached", "--name-only"]), "");
}

#[test]
fn a_late_write_is_caught_by_a_second_look() {
    let fix = Fixture::new(&[("f", "f\n")]);
    let start = fix.checkpoint("1", &["f"]);
    fix.write("f", "fixed\n");
    let first = fix.observe(&start, &["f"]);
    assert_eq!(fix.observe(&start, &["f"]).tree, first.tree);
    fix.write("f", "late!\n");
    let second = fix.observe(&start, &["f"]);
    assert_ne!(second.tree, first.tree);
    // Coming back to a state gives its id again, whatever lies between.
    fix.write("f", "fixed\n");
    assert_eq!(fix.observe(&start, &["f"]).tree, first.tree);
    fix.write("f", "f\n");
    assert_eq!(fix.observe(&start, &["f"]).tree, TreeId::of(&[]));
}
