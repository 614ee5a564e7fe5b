//! `git diff --cached` is exactly the fix, and what is the user's stays as it is (DESIGN 7.3).

use fix_loop_tests::{finding, step};

use super::{APP, Project, Script, fixer};

#[test]
fn the_fix_is_staged_beside_the_users_hunks_in_the_same_file() {
    let project = Project::new(fixer());
    let repo = &project.repo;
    repo.write("app.txt", APP.replace("five", "five, staged"));
    repo.git(["add", "app.txt"]);
    repo.write("app.txt", APP.replace("five", "five, staged").replace("three", "three, not staged"));
    project.run(&[]).expect(0);
    assert_eq!(
        repo.diff_cached(),
        "diff --git a/app.txt b/app.txt\n--- a/app.txt\n+++ b/app.txt\n\
         @@ -2 +2 @@ one\n-BAD line\n+GOOD line\n@@ -5 +5 @@ four\n-five\n+five, staged\n"
    );
    assert_eq!(
        repo.diff(),
        "diff --git a/app.txt b/app.txt\n--- a/app.txt\n+++ b/app.txt\n\
         @@ -3 +3 @@ GOOD line\n-three\n+three, not staged\n"
    );
}

#[test]
fn a_file_that_git_is_only_told_of_and_everything_else_of_the_users_stays_as_it_is() {
    let project = Project::with(&[("gone.txt", "g\n"), ("moved.txt", "m\n")], fixer(), "");
    let repo = &project.repo;
    repo.write("intended.txt", "to come\n");
    repo.git(["add", "--intent-to-add", "intended.txt"]);
    repo.write("untracked.txt", "mine\n");
    repo.remove("gone.txt");
    repo.git(["mv", "moved.txt", "there.txt"]);
    repo.write("other.txt", "staged\n");
    repo.git(["add", "other.txt"]);
    repo.write("other.txt", "staged, and more\n");
    let but_app = || -> Vec<String> {
        let status = repo.git(["status", "--porcelain=v2", "--untracked-files=all"]);
        status.lines().filter(|line| !line.ends_with(" app.txt")).map(str::to_owned).collect()
    };
    let (before, mut tree) = (but_app(), repo.tree());
    project.run(&[]).expect(0);
    assert_eq!(but_app(), before);
    let mut after = repo.tree();
    let app = std::path::Path::new("app.txt");
    assert_ne!(after.remove(app), tree.remove(app));
    assert_eq!(after, tree);
    assert_eq!(repo.staged("app.txt"), APP.replace("BAD", "GOOD"));
}

#[test]
fn mode_line_endings_and_a_missing_last_newline_are_kept() {
    let script = Script::new().on(
        "fixer",
        [step::edit("tool.sh", "BAD", "GOOD"), step::edit("dos.txt", "BAD", "GOOD"), step::fixed("both")],
    );
    let project = Project::with(&[("dos.txt", "a\r\nBAD\r\nc")], script, "");
    let repo = &project.repo;
    repo.write("tool.sh", "#!/bin/sh\necho BAD\n");
    repo.make_executable("tool.sh");
    repo.commit("a tool");
    let mut bad = finding("f1", "tool.sh", 2, "BAD is printed");
    bad["related_files"] = serde_json::json!(["dos.txt"]);
    bad["checks"] = serde_json::json!([{"absent": "BAD"}]);
    repo.findings(&[bad]);
    let report = project.run(&[]).expect(0).json();
    assert_eq!(report["evidence"], serde_json::json!({"f1": "pattern"}));
    let staged = repo.git(["diff", "--cached", "--raw", "--abbrev=4"]);
    assert!(staged.contains(":100755 100755") && staged.contains(":100644 100644"), "{staged}");
    assert_eq!(staged.lines().count(), 2, "{staged}");
    assert_eq!(
        (repo.staged("dos.txt"), repo.read("dos.txt")),
        ("a\r\nGOOD\r\nc".into(), "a\r\nGOOD\r\nc".into())
    );
    assert_eq!(repo.diff(), "");
}
