//! The index file is read as git reads it.

use std::io::Write;

use super::fixture::*;
use crate::workspace::index_file::*;

/// What git itself says of the index: mode, object, stage and name of each entry.
fn as_git_says(fix: &Fixture) -> Vec<String> {
    let out = fix.git(&["ls-files", "-s", "-z"]);
    out.split('\0').filter(|line| !line.is_empty()).map(str::to_owned).collect()
}

fn as_read(file: &IndexFile) -> Vec<String> {
    let told = |seen: Seen<'_>| {
        let entry = seen.entry();
        format!("{:06o} {} {}\t{}", entry.mode, entry.id, entry.stage, String::from_utf8_lossy(seen.name))
    };
    file.iter().map(told).collect()
}

#[test]
fn every_version_is_read_as_git_reads_it() {
    let long = format!("long/{}/x", "n".repeat(200));
    let fix = Fixture::new(&[("a", "1\n"), ("a.b", "2\n"), ("a-b/c", "3\n"), ("é", "4\n"), (&long, "5\n")]);
    fix.write("late", "6\n");
    fix.git(&["add", "--intent-to-add", "late"]);
    fix.git(&["update-index", "--skip-worktree", "a.b"]);
    fix.git(&["update-index", "--assume-unchanged", "é"]);
    for version in ["2", "4", "3"] {
        fix.git(&["update-index", "--index-version", version]);
        let file = IndexFile::read(&fix.at(".git/index")).unwrap();
        assert_eq!(as_read(&file), as_git_says(&fix), "version {version}");
        let flags = |path: &str| {
            let entry = file.of(path).next().unwrap().entry();
            (entry.intent_to_add, entry.skip_worktree, entry.assume_unchanged)
        };
        assert_eq!(flags("late"), (true, false, false), "version {version}");
        assert_eq!(flags("a.b"), (false, true, false), "version {version}");
        assert_eq!(flags("é"), (false, false, true), "version {version}");
        assert_eq!(flags("a"), (false, false, false), "version {version}");
        assert_eq!(file.of("nothing").count(), 0);
        assert_eq!(file.iter().filter(Seen::is_flagged).count(), 3);
    }
}

#[test]
fn the_stages_of_an_unmerged_path_are_found_together() {
    let fix = Fixture::new(&[("a", "1\n"), ("b", "2\n")]);
    let id = fix.git(&["rev-parse", "HEAD:a"]);
    let id = id.trim();
    let zero = "0".repeat(40);
    let info = format!("0 {zero} 0\ta\0100644 {id} 1\ta\0100644 {id} 2\ta\0100644 {id} 3\ta\0");
    let mut command = git_command(fix.dir.path(), &["update-index", "-z", "--index-info"]);
    let mut child = command.stdin(std::process::Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(info.as_bytes()).unwrap();
    assert!(child.wait().unwrap().success());
    let file = IndexFile::read(&fix.at(".git/index")).unwrap();
    let stages: Vec<u8> = file.of("a").map(|seen| seen.entry().stage).collect();
    assert_eq!(stages, [1, 2, 3]);
    assert_eq!(as_read(&file), as_git_says(&fix));
}

#[test]
fn an_index_that_became_split_is_refused() {
    let fix = Fixture::new(&[("a", "1\n")]);
    fix.git(&["update-index", "--split-index"]);
    assert!(IndexFile::read(&fix.at(".git/index")).unwrap_err().to_string().contains("split"));
}

#[test]
fn a_damaged_index_is_an_error_wherever_it_ends() {
    let fix = Fixture::new(&[("a", "1\n"), ("dir/b", "2\n")]);
    for version in ["2", "4"] {
        fix.git(&["update-index", "--index-version", version]);
        let whole = std::fs::read(fix.at(".git/index")).unwrap();
        for end in 1..whole.len() {
            // Without a panic; and what has all of its entries may lack what follows them.
            let read = IndexFile::parse(whole[..end].to_vec());
            assert!(read.is_err() || read.is_ok_and(|file| file.iter().count() == 2), "{version}, {end}");
        }
        assert!(IndexFile::parse(b"DIRC\0\0\0\x09\0\0\0\0".to_vec()).is_err());
    }
    assert_eq!(IndexFile::parse(Vec::new()).unwrap().iter().count(), 0);
}
