//! Which paths lie inside the root, on a real file system.

use std::path::Path;

use super::*;

fn tree() -> (tempfile::TempDir, DiskTree) {
    let folder = tempfile::tempdir().unwrap();
    let root = folder.path().join("ws");
    for path in ["src", ".git", "sub"] {
        std::fs::create_dir_all(root.join(path)).unwrap();
    }
    for (path, text) in
        [("src/a.py", "a\n"), (".git/config", "x"), ("sub/b.py", "b\n"), ("src/sp ace é.py", "c\n")]
    {
        std::fs::write(root.join(path), text).unwrap();
    }
    std::fs::write(folder.path().join("outside.py"), "o\n").unwrap();
    let tree = DiskTree::new(&root);
    (folder, tree)
}

#[test]
fn paths_are_resolved_inside_the_root() {
    let (folder, tree) = tree();
    let root = folder.path().join("ws");
    let absolute = root.join("src/a.py").display().to_string();
    let uri = format!("file://{}/src/sp%20ace%20%C3%A9.py", root.display());
    for (given, expected) in [
        ("src/a.py", "src/a.py"),
        ("./src/a.py", "src/a.py"),
        (" src/a.py ", "src/a.py"),
        ("src/../sub/b.py", "sub/b.py"),
        ("src\\a.py", "src/a.py"),
        ("not/yet/there.py", "not/yet/there.py"),
        ("src/sp ace é.py", "src/sp ace é.py"),
        (absolute.as_str(), "src/a.py"),
        (uri.as_str(), "src/sp ace é.py"),
        ("src/.gitignore", "src/.gitignore"),
    ] {
        assert_eq!(tree.resolve(given).as_deref(), Ok(expected), "{given}");
    }
}

#[test]
fn spaces_around_a_path_belong_to_it_where_there_is_such_a_file() {
    let (folder, tree) = tree();
    std::fs::write(folder.path().join("ws/src/a.py "), "with a space\n").unwrap();
    std::fs::write(folder.path().join("ws/ b.py"), "with a space\n").unwrap();
    for (given, expected) in [
        ("src/a.py ", "src/a.py "),
        (" src/a.py", "src/a.py"),
        ("src/a.py  ", "src/a.py"),
        (" b.py", " b.py"),
        ("b.py ", "b.py"),
    ] {
        assert_eq!(tree.resolve(given).as_deref(), Ok(expected), "{given:?}");
    }
}

#[test]
fn paths_that_leave_the_root_or_enter_git_are_refused() {
    let (_folder, tree) = tree();
    use PathRefused as R;
    let outside: fn(&R) -> bool = |refused| matches!(refused, R::OutsideRoot { .. });
    let git: fn(&R) -> bool = |refused| matches!(refused, R::InsideGit { .. });
    let folder: fn(&R) -> bool = |refused| matches!(refused, R::Folder { .. });
    let unusable: fn(&R) -> bool = |refused| matches!(refused, R::Unusable { .. });
    for (given, expected) in [
        ("../outside.py", outside),
        ("src/../../outside.py", outside),
        ("/etc/passwd", outside),
        ("file:///etc/passwd", outside),
        ("C:\\Users\\x.py", outside),
        ("//server/share/x.py", outside),
        (".git/config", git),
        ("src/../.git/config", git),
        (".GIT/config", git),
        ("sub/.git/hooks/pre-commit", git),
        (".git", git),
        ("src", folder),
        (".", folder),
        ("", unusable),
        ("a\0b", unusable),
        ("a\nb", unusable),
    ] {
        let refused = tree.resolve(given).unwrap_err();
        assert!(expected(&refused), "{given}: {refused}");
    }
}

#[cfg(unix)]
#[test]
fn links_are_followed_before_the_root_is_checked() {
    use std::os::unix::fs::symlink;
    let (folder, tree) = tree();
    let root = folder.path().join("ws");
    symlink(folder.path(), root.join("up")).unwrap();
    symlink(folder.path().join("outside.py"), root.join("link.py")).unwrap();
    symlink(root.join(".git"), root.join("gitlink")).unwrap();
    symlink("src/a.py", root.join("inner.py")).unwrap();
    symlink("/nowhere/at/all.py", root.join("dangling.py")).unwrap();
    symlink("loop.py", root.join("loop.py")).unwrap();
    symlink("up/none.py", root.join("behind.py")).unwrap();
    symlink("not/there.py", root.join("later.py")).unwrap();
    for given in ["up/outside.py", "link.py", "up/new.py", "dangling.py", "sub/../up/x", "behind.py"] {
        assert!(matches!(tree.resolve(given), Err(PathRefused::OutsideRoot { .. })), "{given}");
    }
    assert!(matches!(tree.resolve("gitlink/config"), Err(PathRefused::InsideGit { .. })));
    assert!(matches!(tree.resolve("loop.py"), Err(PathRefused::Unusable { .. })));
    assert_eq!(tree.resolve("later.py").as_deref(), Ok("not/there.py"));
    assert_eq!(tree.resolve("inner.py").as_deref(), Ok("src/a.py"));
    assert_eq!(tree.resolve("up/ws/src/a.py").as_deref(), Ok("src/a.py"));
}

#[cfg(unix)]
#[test]
fn both_spellings_of_a_linked_root_are_accepted() {
    let (folder, _) = tree();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink(folder.path().join("ws"), &link).unwrap();
    let tree = DiskTree::new(&link);
    for root in [link, folder.path().join("ws").canonicalize().unwrap()] {
        let given = root.join("src/a.py").display().to_string();
        assert_eq!(tree.resolve(&given).as_deref(), Ok("src/a.py"), "{given}");
    }
    assert_eq!(tree.root(), folder.path().join("ws").canonicalize().unwrap());
}

#[test]
fn texts_are_read_whatever_their_encoding() {
    let (folder, tree) = tree();
    let write =
        |name: &str, bytes: &[u8]| std::fs::write(folder.path().join("ws").join(name), bytes).unwrap();
    write("wide.txt", b"\xff\xfea\x00\n\x00b\x00");
    write("big.txt", b"\xfe\xff\x00a\x00\n\x00b");
    write("latin.txt", b"caf\xe9\nb\n");
    for name in ["wide.txt", "big.txt", "latin.txt"] {
        assert_eq!(tree.text(name).unwrap().lines().count(), 2, "{name}");
    }
    assert_eq!(tree.text("src"), None);
    assert_eq!(tree.text("none"), None);
    assert_eq!(tree.text_at("HEAD", "src/a.py"), None);
}

#[test]
fn open_buffers_lie_over_the_disk() {
    let (_folder, disk) = tree();
    let tree = MemoryTree::over(&disk, [("src/a.py".to_owned(), "unsaved\n".to_owned())].into());
    assert_eq!(tree.text("src/a.py").as_deref(), Some("unsaved\n"));
    assert_eq!(tree.text("sub/b.py").as_deref(), Some("b\n"));
    assert!(tree.resolve("../outside.py").is_err());
    assert!(DiskTree::new(Path::new("/nowhere/at/all")).text("x").is_none());
}
