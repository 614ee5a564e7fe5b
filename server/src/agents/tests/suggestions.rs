//! The built-in agent.

use std::path::Path;

use serde_json::{Value, json};

use super::prompts::brief;
use crate::agents::report::{FixStatus, Report};
use crate::agents::role::{ProtocolName, Role};
use crate::agents::suggested::apply;

fn edit(file: &str, start: (u32, u32), end: (u32, u32), deleted: Option<&str>, replacement: &str) -> Value {
    json!({"file":file,"start":{"line":start.0,"column":start.1},"end":{"line":end.0,"column":end.1},
        "replacement":replacement,"deleted":deleted})
}

fn run(folder: &Path, suggestions: &[Vec<Value>]) -> Report {
    let mut brief = brief(Role::Fixer, ProtocolName::Bounded);
    brief.findings = suggestions
        .iter()
        .enumerate()
        .map(|(at, edits)| json!({"id":at + 1,"title":"t","suggestion":edits}))
        .collect();
    brief.scope = vec!["a.py".into(), "./b.py".into(), "link.py".into(), "sub/../../x".into()];
    apply(&brief, folder).unwrap()
}

fn status(report: &Report) -> FixStatus {
    match report {
        Report::Fix(fix) => fix.status,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_suggestion_is_applied_at_its_code_points() {
    let cases = [
        ("x = 1\n", edit("a.py", (1, 5), (1, 6), Some("1"), "2"), "x = 2\n"),
        (
            "s = \"😀é\"; eval(x)\n",
            edit("a.py", (1, 11), (1, 15), Some("eval"), "safe"),
            "s = \"😀é\"; safe(x)\n",
        ),
        ("\u{feff}x = 1\n", edit("a.py", (1, 1), (1, 2), Some("x"), "y"), "\u{feff}y = 1\n"),
        ("a\r\nb\r\nc\r\n", edit("a.py", (2, 1), (3, 1), Some("b\n"), "d\ne\n"), "a\r\nd\r\ne\r\nc\r\n"),
        ("a\nb", edit("a.py", (2, 2), (2, 2), Some(""), "c"), "a\nbc"),
        ("a\nb\n", edit("a.py", (3, 1), (3, 1), None, "c\n"), "a\nb\nc\n"),
        ("a\nb\nc\n", edit("a.py", (1, 2), (3, 1), None, ""), "ac\n"),
    ];
    for (before, edit, after) in cases {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.py");
        std::fs::write(&file, before).unwrap();
        let report = run(folder.path(), &[vec![edit]]);
        assert_eq!(status(&report), FixStatus::Fixed, "{before:?}: {report:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), after, "{before:?}");
    }
}

#[test]
fn several_edits_are_all_placed_in_the_text_that_was_reviewed() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.py"), "one\ntwo\nthree\n").unwrap();
    std::fs::write(folder.path().join("b.py"), "b\n").unwrap();
    let first = edit("a.py", (1, 1), (1, 4), Some("one"), "1\n1");
    let report = run(
        folder.path(),
        &[
            vec![first.clone(), edit("a.py", (3, 1), (3, 6), Some("three"), "3")],
            vec![first, edit("b.py", (1, 1), (1, 2), Some("b"), "B")],
        ],
    );
    let Report::Fix(fix) = report else { panic!() };
    assert_eq!(fix.files_changed, ["a.py", "b.py"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("a.py")).unwrap(), "1\n1\ntwo\n3\n");
    assert_eq!(std::fs::read_to_string(folder.path().join("b.py")).unwrap(), "B\n");
}

#[test]
fn anything_doubtful_is_declined_and_nothing_is_written() {
    let folder = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.py");
    std::fs::write(&file, "one\ntwo\n").unwrap();
    std::fs::write(folder.path().join("b.py"), b"caf\xe9\n").unwrap();
    std::fs::write(outside.path().join("x"), "one\n").unwrap();
    std::os::unix::fs::symlink(outside.path().join("x"), folder.path().join("link.py")).unwrap();
    let good = edit("a.py", (1, 1), (1, 4), Some("one"), "1");
    let cases = [
        vec![],
        vec![edit("a.py", (1, 1), (1, 4), Some("two"), "2")],
        vec![edit("a.py", (1, 4), (1, 1), None, "2")],
        vec![edit("a.py", (9, 1), (9, 2), None, "2")],
        vec![edit("a.py", (1, 9), (1, 10), None, "2")],
        vec![edit("a.py", (0, 1), (1, 2), None, "2")],
        vec![edit("a.py", (1, 1), (1, 4), Some("one"), "one")],
        vec![good.clone(), edit("a.py", (1, 2), (2, 1), None, "x")],
        vec![good.clone(), edit("a.py", (1, 1), (1, 4), Some("one"), "other")],
        vec![good.clone(), edit("b.py", (1, 1), (1, 2), None, "C")],
        vec![good.clone(), edit("link.py", (1, 1), (1, 2), None, "C")],
        vec![good.clone(), edit("sub/../../x", (1, 1), (1, 2), None, "C")],
        vec![json!({"file":"a.py","replacement":"no place"})],
    ];
    for edits in cases {
        let report = run(folder.path(), std::slice::from_ref(&edits));
        assert_eq!(status(&report), FixStatus::Declined, "{edits:?}");
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "one\ntwo\n", "{edits:?}");
    }
    assert_eq!(std::fs::read_to_string(outside.path().join("x")).unwrap(), "one\n");
}

#[test]
fn a_file_outside_the_scope_is_asked_for_and_not_touched() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.py"), "one\n").unwrap();
    std::fs::write(folder.path().join("c.py"), "c\n").unwrap();
    let edits = vec![edit("a.py", (1, 1), (1, 4), None, "1"), edit("c.py", (1, 1), (1, 2), None, "C")];
    let Report::Scope(request) = run(folder.path(), std::slice::from_ref(&edits)) else { panic!() };
    assert_eq!(request.additional_files, ["c.py"]);
    assert_eq!(std::fs::read_to_string(folder.path().join("a.py")).unwrap(), "one\n");
}

#[test]
fn findings_without_a_suggestion_are_named() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.py"), "one\n").unwrap();
    let Report::Fix(fix) = run(folder.path(), &[vec![edit("a.py", (1, 1), (1, 4), None, "1")], vec![]])
    else {
        panic!()
    };
    assert_eq!(fix.status, FixStatus::Fixed);
    assert!(fix.concerns.unwrap().contains("finding 2"));
}

#[test]
fn it_serves_only_the_fixer_and_only_the_first_round() {
    let folder = tempfile::tempdir().unwrap();
    let mut second = brief(Role::Fixer, ProtocolName::Bounded);
    second.round = 2;
    assert_eq!(status(&apply(&second, folder.path()).unwrap()), FixStatus::Declined);
    let failure = apply(&brief(Role::Verifier, ProtocolName::Bounded), folder.path()).unwrap_err();
    assert!(failure.advice.contains("[roles.verifier]"), "{failure:?}");
}

#[test]
fn the_mode_of_a_file_is_kept() {
    use std::os::unix::fs::PermissionsExt as _;
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("a.py");
    std::fs::write(&file, "one\n").unwrap();
    std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o755)).unwrap();
    run(folder.path(), &[vec![edit("a.py", (1, 1), (1, 4), None, "1")]]);
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o755);
}
