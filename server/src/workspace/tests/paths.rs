//! Paths that stay inside, and scopes made of them.

use std::path::Path;

use super::fixture::*;
use crate::workspace::*;

#[test]
fn paths_are_made_canonical_or_refused() {
    let fine = [
        ("a.txt", "a.txt"),
        ("./a//b/./c", "a/b/c"),
        ("a b/é.rs", "a b/é.rs"),
        ("..a/b..", "..a/b.."),
        (".github/x", ".github/x"),
        (".gitignore", ".gitignore"),
    ];
    for (given, expected) in fine {
        assert_eq!(RepoPath::new(given).unwrap().as_str(), expected);
    }
    let refused = [
        "",
        ".",
        "./",
        "/etc/passwd",
        "../x",
        "a/../../x",
        "a/..",
        ".git/config",
        "a/.GIT/hooks/x",
        ".git",
        "a/.git ",
        "git~1/x",
        "a\0b",
        ".g\u{200c}it/config",
    ];
    for given in refused {
        assert!(RepoPath::new(given).is_err(), "{given:?}");
    }
}

#[test]
fn links_are_resolved_inside_the_root_and_refused_outside_of_it() {
    let fix = Fixture::new(&[("real/a.txt", "a\n"), ("b.txt", "b\n")]);
    let outside = tempfile::tempdir().unwrap();
    write(&outside.path().join("secret"), b"s");
    let link = |target: &Path, name: &str| std::os::unix::fs::symlink(target, fix.at(name)).unwrap();
    link(Path::new("real"), "linked");
    link(outside.path(), "away");
    link(&outside.path().join("secret"), "secret");
    link(Path::new("b.txt"), "alias");
    link(Path::new("nowhere"), "dangling");
    let other_spelling = tempfile::tempdir().unwrap();
    let spelling = other_spelling.path().join("ws");
    std::os::unix::fs::symlink(fix.dir.path(), &spelling).unwrap();

    let root = fix.ws.root();
    let resolve = |given: &Path| RepoPath::resolve(root, given).map(|path| path.to_string());
    assert_eq!(resolve(Path::new("linked/a.txt")).unwrap(), "real/a.txt");
    assert_eq!(resolve(Path::new("linked/../b.txt")).unwrap(), "b.txt");
    assert_eq!(resolve(Path::new("not/yet/there.txt")).unwrap(), "not/yet/there.txt");
    // An editor may know the folder by another name (R07).
    assert_eq!(resolve(&spelling.join("real/a.txt")).unwrap(), "real/a.txt");
    for given in ["away/secret", "../x", "dangling/x", "linked/../../x"] {
        assert!(matches!(resolve(Path::new(given)), Err(PathError::Outside(_))), "{given}");
    }
    assert!(matches!(resolve(Path::new(".git/config")), Err(PathError::GitFolder(_))));
    assert!(resolve(root).is_err());
    // The link itself is a path of the repository; as part of a scope it must not lead out.
    assert_eq!(resolve(Path::new("secret")).unwrap(), "secret");
    assert!(matches!(Scope::new(root, &["secret"], &[]), Err(PathError::Outside(_))));
    // A link to a file that is yet to be made is as good as the file; links to links that end nowhere are not.
    assert!(fix.scope(&["dangling"]).contains(&repo_path("nowhere")));
    link(Path::new("dangling"), "twice");
    assert!(Scope::new(root, &["twice"], &[]).is_err());
    let scope = fix.scope(&["alias"]);
    assert!(scope.contains(&repo_path("alias")) && scope.contains(&repo_path("b.txt")));
}

#[test]
fn a_scope_holds_files_whole_folders_and_globs() {
    let fix = Fixture::new(&[("src/a.rs", "a\n"), ("b.txt", "b\n")]);
    let globs = ["docs/**/*.md".to_owned(), "*.lock".to_owned()];
    let scope = Scope::new(fix.ws.root(), &["src", "b.txt"], &globs).unwrap();
    let table = [
        ("src/a.rs", true),
        ("src/deep/new.rs", true),
        ("srcs/a.rs", false),
        ("b.txt", true),
        ("c.txt", false),
        ("docs/x/y.md", true),
        ("Cargo.lock", true),
        ("sub/Cargo.lock", false),
    ];
    for (path, expected) in table {
        assert_eq!(scope.contains(&repo_path(path)), expected, "{path}");
    }
    assert!(matches!(Scope::new(fix.ws.root(), &["b.txt"], &["[".to_owned()]), Err(PathError::Glob { .. })));
    assert!(Scope::new::<&str>(fix.ws.root(), &[], &globs).unwrap().is_empty());
}
