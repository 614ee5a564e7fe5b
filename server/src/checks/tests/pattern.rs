//! Pattern checks on a real file.

use std::fs;
use std::path::PathBuf;

use crate::checks::*;
use crate::process::{Cancel, Supervisor};

fn check(wanted: bool, pattern: &str, file: &str) -> Check {
    let (pattern, file) = (pattern.to_owned(), PathBuf::from(file));
    let what = if wanted { What::Present { pattern, file } } else { What::Absent { pattern, file } };
    Check { name: CheckName::new("p"), what, origin: Origin::Finding, reader: Reader::Plain, focus: None }
}

/// A pattern starts no program, so any supervisor will do.
async fn word(root: &std::path::Path, check: &Check) -> &'static str {
    let run = run(check, root, &Supervisor::new("/nowhere"), &Cancel::new()).await;
    match run.outcome {
        Outcome::Passed => "passed",
        Outcome::Failed(_) => "failed",
        Outcome::Inconclusive(Why::CannotStart(_)) => "cannot",
        Outcome::Inconclusive(_) => "inconclusive",
    }
}

#[tokio::test]
async fn patterns_search_the_whole_file_over_lines() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.py"), b"import os\r\nos.system(\r\n    cmd)\r\n# \xff\xfe end").unwrap();
    let table = [
        (r"eval", "passed", "failed"),
        (r"^os\.system", "failed", "passed"),
        (r"import os$", "failed", "passed"),
        (r"os\.system\(\s*cmd\)", "failed", "passed"),
        (r"(?s)import.*end", "failed", "passed"),
        (r"import.*end", "passed", "failed"),
        (r"(?i)IMPORT OS", "failed", "passed"),
        (r"os(", "cannot", "cannot"),
        (r"(?=x)", "cannot", "cannot"),
    ];
    for (pattern, absent, present) in table {
        assert_eq!(word(folder.path(), &check(false, pattern, "a.py")).await, absent, "absent {pattern}");
        assert_eq!(word(folder.path(), &check(true, pattern, "a.py")).await, present, "present {pattern}");
    }
}

#[tokio::test]
async fn a_file_that_is_gone_or_leads_out_says_nothing() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("secret"), "x").unwrap();
    let folder = tempfile::tempdir().unwrap();
    fs::create_dir(folder.path().join("folder")).unwrap();
    std::os::unix::fs::symlink(outside.path().join("secret"), folder.path().join("link")).unwrap();
    for file in ["gone.py", "link", "folder", "../x"] {
        assert_eq!(word(folder.path(), &check(false, "x", file)).await, "cannot", "{file}");
        assert_eq!(word(folder.path(), &check(true, "x", file)).await, "cannot", "{file}");
    }
}

#[tokio::test]
async fn a_failed_pattern_says_where_it_was_found() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("a.py"), "one\ntwo\neval(x)\n").unwrap();
    let run =
        run(&check(false, "eval", "a.py"), folder.path(), &Supervisor::new("/nowhere"), &Cancel::new()).await;
    assert_eq!(run.output, "`eval` is still found at a.py:3");
}
