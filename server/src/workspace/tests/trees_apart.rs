//! Linked and managed worktrees, and history.

use super::fixture::*;
use crate::workspace::*;

#[test]
fn linked_worktrees_have_checkpoints_of_their_own() {
    let fix = Fixture::new(&[("f", "f\n")]);
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("linked");
    fix.git(&["worktree", "add", "-q", "-b", "linked", path.to_str().unwrap()]);
    let linked = Workspace::open(&path).unwrap();
    assert_ne!(linked.state_dir(), fix.ws.state_dir());
    let name = CheckpointName::new("L1", "1").unwrap();
    write(&path.join("f"), b"linked\n");
    let theirs = linked.checkpoint(&name, &[]).unwrap();
    let ours = fix.ws.checkpoint(&name, &[]).unwrap();
    assert_eq!(linked.load_checkpoint(&name).unwrap().head, theirs.head);
    assert_eq!(fix.ws.load_checkpoint(&name).unwrap().head, ours.head);
    assert_eq!(linked.load_checkpoint(&name).unwrap().files().count(), 1);
    assert_eq!(fix.ws.load_checkpoint(&name).unwrap().files().count(), 0);
    // Staging works on the worktree's own index.
    write(&path.join("f"), b"fixed\n");
    let scope = Scope::new(linked.root(), &["f"], &[]).unwrap();
    let seen = linked.observe(&theirs, &scope, &[]).unwrap();
    assert_eq!(told(&seen), ["Modified InScope f"]);
    assert_eq!(fix.ws.expire_checkpoints(std::time::Duration::ZERO, &|_| true).unwrap(), 1);
    assert!(linked.load_checkpoint(&name).is_ok());
}

#[test]
fn a_managed_worktree_is_made_judged_reset_and_removed() {
    let fix = Fixture::new(&[("f", "f\n")]);
    let base = fix.ws.resolve("HEAD").unwrap().to_string();
    fix.write("f", "the user's own\n");
    let tree = fix.ws.add_worktree("fix-loop/L1", "HEAD").unwrap();
    // Agents refuse to edit below a folder named .git, and the user's own status does not change.
    assert!(
        tree.path.starts_with(fix.ws.root())
            && !tree.path.components().any(|part| part.as_os_str() == ".git")
    );
    assert_eq!(fix.status(), " M f\n");
    let start = fix.checkpoint("1", &[]);
    assert_eq!(start.files().map(|(path, _)| path.as_str()).collect::<Vec<_>>(), ["f"]);
    assert_eq!(std::fs::read(tree.path.join("f")).unwrap(), b"f\n");
    assert_eq!(fix.ws.add_worktree("fix-loop/L1", "HEAD").unwrap(), tree, "making it twice is once");

    let state = fix.ws.commit_state(&tree, &base).unwrap();
    assert_eq!(state.branch.as_deref(), Some("refs/heads/fix-loop/L1"));
    assert!(state.clean && state.descends_from_base && state.commits.is_empty());
    write(&tree.path.join("f"), b"fixed\n");
    write(&tree.path.join("junk"), b"j\n");
    assert!(!fix.ws.commit_state(&tree, &base).unwrap().clean);
    git_in(&tree.path, &["commit", "-q", "-a", "-m", "the fix\n\nbody"]);
    std::fs::remove_file(tree.path.join("junk")).unwrap();
    let state = fix.ws.commit_state(&tree, &base).unwrap();
    assert!(state.clean && state.commits == [state.head]);
    let head = state.head.to_string();
    assert_eq!(fix.ws.commit_subject(state.head).unwrap(), "the fix");
    assert_eq!(strings(&fix.ws.paths_between(&base, &head).unwrap()), ["f"]);
    assert!(fix.ws.diff_between(&base, &head).unwrap().contains("-f\n+fixed\n"));
    assert!(fix.ws.is_ancestor(&base, &head).unwrap() && !fix.ws.is_ancestor(&head, &base).unwrap());
    assert_eq!(fix.ws.merge_base("main", "fix-loop/L1").unwrap().unwrap().to_string(), base);
    assert_eq!(fix.ws.read_at(&head, &repo_path("f")).unwrap().unwrap(), b"fixed\n");
    assert_eq!(fix.ws.read_at(&base, &repo_path("none")).unwrap(), None);

    // A worker rewrote history and left the branch: the state says so, and the reset puts only this tree right.
    git_in(&tree.path, &["checkout", "-q", "--orphan", "elsewhere"]);
    git_in(&tree.path, &["commit", "-q", "-m", "unrelated"]);
    let state = fix.ws.commit_state(&tree, &base).unwrap();
    assert!(!state.descends_from_base);
    write(&tree.path.join("junk"), b"j\n");
    fix.ws.reset_managed(&tree, &head).unwrap();
    let state = fix.ws.commit_state(&tree, &base).unwrap();
    assert_eq!((state.head.to_string(), state.clean), (head, true));
    assert_eq!(state.branch.as_deref(), Some("refs/heads/fix-loop/L1"));
    assert_eq!(fix.ws.managed_worktrees().unwrap().len(), 1);

    assert_eq!(told(&fix.observe(&start, &[])), Vec::<String>::new());

    fix.ws.remove_worktree(&tree).unwrap();
    assert!(!tree.path.exists() && !fix.at(".fix-loop").exists());
    fix.ws.remove_worktree(&tree).unwrap();
    assert_eq!(fix.git(&["branch", "--list", "fix-loop/L1"]).trim(), "fix-loop/L1");
    // The user's own tree was never touched.
    assert_eq!(fix.status(), " M f\n");
    assert_eq!(fix.git(&["rev-parse", "main"]).trim(), base);
}

#[test]
fn only_our_own_worktrees_are_reset_or_removed() {
    let fix = Fixture::new(&[("f", "f\n")]);
    let parent = tempfile::tempdir().unwrap();
    let path = parent.path().join("theirs");
    fix.git(&["worktree", "add", "-q", "-b", "theirs", path.to_str().unwrap()]);
    write(&path.join("f"), b"work\n");
    let in_disguise =
        Worktree { path: fix.ws.root().join(".fix-loop/worktrees/../.."), branch: "main".into() };
    for tree in [
        Worktree { path: path.clone(), branch: "theirs".into() },
        Worktree { path: fix.dir.path().to_path_buf(), branch: "main".into() },
        in_disguise,
    ] {
        assert!(matches!(fix.ws.reset_managed(&tree, "HEAD"), Err(WorkspaceError::NotManaged(_))));
        assert!(matches!(fix.ws.remove_worktree(&tree), Err(WorkspaceError::NotManaged(_))));
    }
    assert_eq!(std::fs::read(path.join("f")).unwrap(), b"work\n");
}

#[test]
fn revisions_are_data_and_cleanliness_counts_untracked_files() {
    let fix = Fixture::new(&[("f", "f\n"), (".gitignore", "*.o\n")]);
    for revision in ["nope", "--all", "HEAD^{tree}x", "", "-n1"] {
        assert!(matches!(fix.ws.resolve(revision), Err(WorkspaceError::NoSuchRevision(_))), "{revision}");
    }
    assert!(fix.ws.is_clean().unwrap());
    fix.write("x.o", "o\n");
    assert!(fix.ws.is_clean().unwrap());
    assert!(fix.ws.is_ignored(&repo_path("x.o")).unwrap());
    assert!(!fix.ws.is_ignored(&repo_path("f")).unwrap());
    fix.write("loose", "l\n");
    assert_eq!(fix.ws.unclean_paths().unwrap(), ["loose"]);
    fix.git(&["add", "loose"]);
    assert!(!fix.ws.is_clean().unwrap());
    assert_eq!(fix.ws.file_text(&repo_path("loose")).unwrap().as_deref(), Some("l\n"));
    assert_eq!(fix.ws.file_text(&repo_path("none")).unwrap(), None);
}
