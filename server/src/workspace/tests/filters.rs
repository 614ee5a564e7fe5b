//! Clean and smudge filters, line endings and encodings (R11, R12, R13).

use super::fixture::*;
use crate::workspace::*;

/// The blob that `git add` makes of the present file, without adding it.
fn as_git_adds(fix: &Fixture, path: &str) -> String {
    let scratch = fix.at(".git/judge-index");
    std::fs::copy(fix.at(".git/index"), &scratch).unwrap();
    let run = |args: &[&str]| {
        let output = git_command(fix.dir.path(), args).env("GIT_INDEX_FILE", &scratch).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    run(&["add", path]);
    run(&["ls-files", "-s", path])
}

/// Fixes `path` from the checkpoint on, stages it, and compares the entry with what `git add` would make; then restores
/// and compares the bytes.
fn stages_as_git_does_and_restores(fix: &Fixture, path: &str, fixed: &[u8]) {
    let original = fix.read(path);
    let start = fix.checkpoint("1", &[]);
    fix.write(path, fixed);
    let wanted = as_git_adds(fix, path);
    let staged = fix.stage(&start, &[path]).unwrap();
    assert_eq!(staged.skipped, []);
    assert_eq!(fix.git(&["ls-files", "-s", path]), wanted);
    assert_eq!(fix.git(&["diff", "--name-only"]), "", "the file is clean against its entry");
    let mut ours = OwnBytes::default();
    ours.record(&fix.observe(&start, &[path]));
    ours.record_staged(&staged);
    let restored = fix.ws.restore(&start, &ours).unwrap();
    assert_eq!(restored.left_alone, []);
    assert_eq!(fix.read(path), original);
    assert_eq!(fix.status(), "");
}

#[test]
fn a_file_with_a_clean_filter_is_staged_through_it() {
    let config = [
        ("filter.case.clean", "tr a-z A-Z"),
        ("filter.case.smudge", "tr A-Z a-z"),
        ("filter.case.required", "true"),
    ];
    let fix =
        Fixture::configured(&config, &[(".gitattributes", "*.up filter=case\n"), ("f.up", "one\ntwo\n")]);
    assert_eq!(fix.staged("f.up"), "ONE\nTWO\n");
    stages_as_git_does_and_restores(&fix, "f.up", b"one\nfixed\n");
}

#[test]
fn the_users_unstaged_hunk_stays_unstaged_behind_a_filter() {
    let config = [("filter.case.clean", "tr a-z A-Z"), ("filter.case.smudge", "tr A-Z a-z")];
    let fix = Fixture::configured(
        &config,
        &[(".gitattributes", "*.up filter=case\n"), ("f.up", "one\ntwo\nthree\n")],
    );
    fix.write("f.up", "one\ntwo\nmine\n");
    let start = fix.checkpoint("1", &[]);
    fix.write("f.up", "fixed\ntwo\nmine\n");
    fix.stage(&start, &["f.up"]).unwrap();
    assert_eq!(fix.staged("f.up"), "FIXED\nTWO\nTHREE\n");
}

#[test]
fn a_filter_that_fails_is_reported_and_nothing_is_staged() {
    let fix = Fixture::configured(
        &[("filter.lfs.clean", "false"), ("filter.lfs.required", "true")],
        &[("f.bin", "one\n"), ("g.txt", "g\n")],
    );
    fix.write(".gitattributes", "*.bin filter=lfs\n");
    let start = fix.checkpoint("1", &["f.bin"]);
    fix.write("f.bin", "two\n");
    fix.write("g.txt", "h\n");
    let before = fix.git(&["ls-files", "-s"]);
    match fix.stage(&start, &["f.bin", "g.txt"]) {
        Err(StageRefused::Filter { path, message }) => {
            assert_eq!(path.as_str(), "f.bin");
            assert!(message.contains("lfs"), "{message}");
        }
        other => panic!("{other:?}"),
    }
    assert_eq!(fix.git(&["ls-files", "-s"]), before);
}

#[test]
fn an_lfs_pointer_is_replaced_whole_or_not_at_all() {
    // The pointer text stands for git-lfs, which need not be installed here.
    let pointer = |n: u8| format!("version https://git-lfs.github.com/spec/v1\noid sha256:{n}\nsize {n}\n");
    let fix = Fixture::new(&[("big", &pointer(1))]);
    fix.write("big", pointer(2));
    let start = fix.checkpoint("1", &["big"]);
    fix.write("big", pointer(3).replace("size 3", "size 2"));
    assert!(matches!(fix.stage(&start, &["big"]), Err(StageRefused::Conflicts(_))));
}

#[test]
fn without_git_lfs_a_raw_file_never_takes_the_place_of_a_pointer() {
    let pointer = "version https://git-lfs.github.com/spec/v1\noid sha256:1\nsize 1\n";
    let fix =
        Fixture::new(&[("big.bin", pointer), (".gitattributes", "*.bin filter=lfs\n"), ("raw.bin", "raw\n")]);
    let start = fix.checkpoint("1", &["big.bin", "raw.bin", "new.bin"]);
    for path in ["big.bin", "new.bin"] {
        fix.write(path, "raw content\n");
        match fix.stage(&start, &[path]) {
            Err(StageRefused::Filter { message, .. }) => {
                assert!(message.contains("git lfs install"), "{message}")
            }
            other => panic!("{other:?}"),
        }
    }
    // What is raw in the index already can stay so.
    fix.write("raw.bin", "fixed\n");
    fix.stage(&start, &["raw.bin"]).unwrap();
    assert_eq!(fix.staged("raw.bin"), "fixed\n");
}

#[test]
fn a_working_tree_encoding_is_staged_as_utf8() {
    let utf16 = |text: &str| -> Vec<u8> {
        let units = std::iter::once(0xfeff).chain(text.encode_utf16());
        units.flat_map(u16::to_le_bytes).collect()
    };
    let fix = Fixture::new(&[(".gitattributes", "*.utf working-tree-encoding=UTF-16LE-BOM\n")]);
    fix.write("f.utf", utf16("eins\nzwei\n"));
    fix.git(&["add", "f.utf"]);
    fix.git(&["commit", "-q", "-m", "utf"]);
    assert_eq!(fix.staged("f.utf"), "eins\nzwei\n");
    stages_as_git_does_and_restores(&fix, "f.utf", &utf16("eins\nrepariert\n"));
}

#[test]
fn line_endings_are_converted_as_git_converts_them() {
    let fix = Fixture::configured(&[("core.autocrlf", "true")], &[("f.txt", "a\r\nb\r\n")]);
    assert_eq!(fix.staged("f.txt"), "a\nb\n");
    stages_as_git_does_and_restores(&fix, "f.txt", b"a\r\nfixed\r\n");
}

#[test]
fn a_clean_file_that_has_the_line_endings_of_its_blob_gets_those_back() {
    // With autocrlf a checkout would make CRLF, but this file was written with LF and is clean all the same.
    let fix = Fixture::configured(&[("core.autocrlf", "true")], &[("f.txt", "a\nb\n")]);
    stages_as_git_does_and_restores(&fix, "f.txt", b"a\nfixed\n");
}

#[test]
fn crlf_that_is_in_the_index_already_stays_there() {
    let fix = Fixture::new(&[("f.txt", "a\r\nb\r\n")]);
    fix.git(&["config", "core.autocrlf", "true"]);
    stages_as_git_does_and_restores(&fix, "f.txt", b"a\r\nfixed\r\n");
    fix.git(&["config", "core.autocrlf", "input"]);
    stages_as_git_does_and_restores(&fix, "f.txt", b"a\r\nagain\r\n");
}

#[test]
fn text_eol_attributes_are_honoured() {
    let fix = Fixture::new(&[
        (".gitattributes", "*.bat text eol=crlf\n*.sh text eol=lf\n* text=auto\n"),
        ("f.bat", "a\r\nb\r\n"),
        ("f.sh", "a\nb\n"),
        ("f.txt", "a\nb\n"),
    ]);
    stages_as_git_does_and_restores(&fix, "f.bat", b"a\r\nfixed\r\n");
    stages_as_git_does_and_restores(&fix, "f.sh", b"a\nfixed\n");
    stages_as_git_does_and_restores(&fix, "f.txt", b"a\nfixed\n");
}

#[test]
fn an_objection_of_safecrlf_is_reported() {
    let fix = Fixture::configured(
        &[("core.autocrlf", "true"), ("core.safecrlf", "true")],
        &[("f.txt", "a\r\nb\r\n")],
    );
    let start = fix.checkpoint("1", &["f.txt"]);
    fix.write("f.txt", "a\r\nfixed\n");
    match fix.stage(&start, &["f.txt"]) {
        Err(StageRefused::Filter { message, .. }) => {
            assert!(message.contains("would be replaced"), "{message}")
        }
        other => panic!("{other:?}"),
    }
}

#[test]
fn changed_attributes_do_not_change_what_a_clean_file_was() {
    let fix = Fixture::new(&[("f.txt", "a\r\nb\r\n")]);
    let start = fix.checkpoint("1", &[]);
    fix.write(".gitattributes", "* text eol=lf\n");
    assert_eq!(told(&fix.observe(&start, &[])), ["Added OutOfScope .gitattributes"]);
}
