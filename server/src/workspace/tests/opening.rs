//! Opening, and refusing early with a remedy (R14, R19).

use super::fixture::*;
use crate::workspace::*;

fn refusal(dir: &std::path::Path) -> String {
    match Workspace::open(dir) {
        Ok(_) => "opened".to_owned(),
        Err(OpenError::Unsupported { feature, remedy }) => {
            assert!(!remedy.is_empty());
            feature
        }
        Err(error) => error.to_string(),
    }
}

#[test]
fn folders_without_a_work_tree_are_named() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(Workspace::open(dir.path()), Err(OpenError::NotARepository(_))));
    git_in(dir.path(), &["init", "-q", "--bare", "bare"]);
    assert!(matches!(Workspace::open(&dir.path().join("bare")), Err(OpenError::Bare(_))));
    assert!(matches!(Workspace::open(&dir.path().join("none")), Err(OpenError::Folder { .. })));
    let fix = Fixture::new(&[]);
    assert!(matches!(Workspace::open(&fix.at(".git")), Err(OpenError::NotARepository(_))));
}

#[test]
fn unsupported_repositories_say_what_would_turn_fixing_on_and_it_does() {
    let dir = tempfile::tempdir().unwrap();
    git_in(dir.path(), &["init", "-q", "--object-format=sha256", "sha"]);
    assert_eq!(refusal(&dir.path().join("sha")), "sha256 objects");

    let fix = Fixture::new(&[("in/a", "a\n"), ("out/b", "b\n")]);
    fix.git(&["update-index", "--split-index"]);
    assert_eq!(refusal(fix.dir.path()), "a split index");
    fix.git(&["config", "core.splitIndex", "false"]);
    fix.git(&["update-index", "--no-split-index"]);
    assert_eq!(refusal(fix.dir.path()), "opened");

    fix.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "in"]);
    assert_eq!(refusal(fix.dir.path()), "a sparse index");
    fix.git(&["sparse-checkout", "reapply", "--no-sparse-index"]);
    assert_eq!(refusal(fix.dir.path()), "opened");

    fix.git(&["config", "remote.origin.promisor", "true"]);
    assert_eq!(refusal(fix.dir.path()), "a partial clone");
}

#[test]
fn a_reftable_repository_is_refused_with_the_command_that_migrates_it() {
    let dir = tempfile::tempdir().unwrap();
    let made = git_command(dir.path(), &["init", "-q", "--ref-format=reftable", "."]).output().unwrap();
    if !made.status.success() {
        eprintln!("skipped: this git has no reftable");
        return;
    }
    let error = Workspace::open(dir.path()).unwrap_err();
    assert!(error.to_string().contains("git refs migrate --ref-format=files"), "{error}");
}

#[test]
fn a_subfolder_opens_the_whole_work_tree_and_paths_are_read_from_the_subfolder() {
    let fix = Fixture::new(&[("sub/deep/a.txt", "a\n")]);
    let ws = Workspace::open(&fix.at("sub/deep")).unwrap();
    assert_eq!(ws.root(), fix.ws.root());
    assert_eq!(ws.prefix().unwrap().as_str(), "sub/deep");
    assert_eq!(ws.resolve_path("a.txt".as_ref()).unwrap().as_str(), "sub/deep/a.txt");
    assert_eq!(ws.resolve_path("../b.txt".as_ref()).unwrap().as_str(), "sub/b.txt");
    let scope = ws.scope(&["a.txt"], &["*.lock".to_owned()]).unwrap();
    assert!(scope.contains(&repo_path("sub/deep/a.txt")) && scope.contains(&repo_path("sub/deep/x.lock")));
    assert!(!scope.contains(&repo_path("a.txt")) && !scope.contains(&repo_path("x.lock")));
    assert_eq!(ws.state_dir(), ws.git_dir().join("fix-loop"));
}

#[test]
fn a_submodule_that_is_not_checked_out_names_the_folder_to_open() {
    let library = Fixture::new(&[("base.txt", "b\n")]);
    let fix = Fixture::new(&[]);
    add_submodule(&fix, &library);
    // Checked out, the submodule is a repository like any other.
    let inside = Workspace::open(&fix.at("sub")).unwrap();
    assert_eq!(inside.root(), fix.at("sub").canonicalize().unwrap());
    fix.git(&["submodule", "--quiet", "deinit", "-f", "sub"]);
    std::fs::create_dir_all(fix.at("sub")).unwrap();
    match Workspace::open(&fix.at("sub")).unwrap_err() {
        OpenError::InsideSubmodule { submodule, folder } => {
            assert_eq!(submodule.as_str(), "sub");
            assert_eq!(folder, fix.ws.root().join("sub"));
        }
        error => panic!("{error}"),
    }
}

#[test]
fn variables_of_a_git_hook_do_not_lead_to_another_repository() {
    // GIT_DIR and the like cannot be set in this process, which other tests share; that they are dropped shows in the
    // environment that a git alias sees.
    let fix = Fixture::new(&[]);
    let git = crate::workspace::git::Git::new(fix.ws.root());
    let seen = git.line(&["-c", "alias.seen=!env", "seen"]).unwrap();
    let names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
    assert!(names.contains(&"GIT_OPTIONAL_LOCKS"));
    assert!(!names.contains(&"GIT_INDEX_FILE") && !names.contains(&"GIT_WORK_TREE"), "{names:?}");
}

#[test]
fn a_workspace_can_be_shared_between_blocking_threads() {
    fn shared<T: Send + Sync>() {}
    shared::<Workspace>();
    shared::<DriverLock>();
}
