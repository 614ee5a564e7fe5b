//! Suggestions are applied only to what they were made for.

use super::*;

fn edit(start: (u32, u32), end: (u32, u32), replacement: &str, deleted: Option<&str>) -> Edit {
    Edit {
        file: "f".into(),
        start: Position::new(start.0, start.1),
        end: Position::new(end.0, end.1),
        replacement: replacement.into(),
        deleted: deleted.map(str::to_owned),
    }
}

#[test]
fn an_edit_replaces_exactly_its_range() {
    // text, start, end, replacement, deleted → result
    let table = [
        ("a = 1\n", (1, 5), (1, 6), "2", "1", "a = 2\n"),
        ("x😀y\n", (1, 2), (1, 3), "e", "😀", "xey\n"),
        ("é = l\n", (1, 5), (1, 6), "m", "l", "é = m\n"),
        ("a\nb\nc\n", (2, 1), (3, 1), "", "b\n", "a\nc\n"),
        ("a\nb\nc\n", (2, 1), (2, 1), "new\n", "", "a\nnew\nb\nc\n"),
        ("a\r\nb\r\n", (2, 1), (3, 1), "x\ny\n", "b\n", "a\r\nx\r\ny\r\n"),
        ("a\r\nb\r\n", (1, 1), (1, 2), "import os\r\nimport sys", "a", "import os\r\nimport sys\r\nb\r\n"),
        ("a\nb", (2, 1), (3, 1), "x\n", "b\n", "a\nx"),
        ("a\nb", (2, 2), (2, 2), "\n", "", "a\nb\n"),
        ("a\n", (2, 1), (2, 1), "b\n", "", "a\nb\n"),
        ("\u{feff}a\n", (1, 1), (1, 2), "b", "a", "\u{feff}b\n"),
        ("", (1, 1), (1, 1), "a\n", "", "a\n"),
    ];
    for (text, start, end, replacement, deleted, expected) in table {
        let edit = edit(start, end, replacement, Some(deleted));
        assert_eq!(apply_edits(text, "f", &[edit]).as_deref(), Ok(expected), "{text:?}");
    }
}

#[test]
fn edits_are_applied_from_back_to_front_in_any_order() {
    let edits = [edit((1, 1), (1, 2), "long", Some("a")), edit((1, 3), (1, 4), "", Some("c"))];
    assert_eq!(apply_edits("abcd\n", "f", &edits).as_deref(), Ok("longbd\n"));
    let reversed = [edits[1].clone(), edits[0].clone()];
    assert_eq!(apply_edits("abcd\n", "f", &reversed).as_deref(), Ok("longbd\n"));
}

#[test]
fn a_suggestion_for_other_text_is_refused_as_a_whole() {
    use SuggestionRefused as R;
    let text = "one two\nthree\n";
    type Case = (Vec<Edit>, fn(&SuggestionRefused) -> bool);
    let cases: Vec<Case> = vec![
        (vec![edit((1, 5), (1, 8), "2", Some("TWO"))], |error| matches!(error, R::Different { .. })),
        (vec![edit((1, 5), (1, 8), "2", None)], |error| matches!(error, R::Unverifiable { .. })),
        (vec![edit((9, 1), (9, 2), "2", Some("x"))], |error| matches!(error, R::NoSuchPlace { .. })),
        (vec![edit((1, 5), (1, 99), "2", Some("x"))], |error| matches!(error, R::NoSuchPlace { .. })),
        (vec![edit((0, 1), (1, 1), "2", Some("x"))], |error| matches!(error, R::NoSuchPlace { .. })),
        (vec![edit((1, 5), (1, 3), "2", Some(""))], |error| matches!(error, R::NoSuchPlace { .. })),
        (vec![edit((1, 1), (1, 6), "", Some("one t")), edit((1, 5), (1, 8), "", Some("two"))], |error| {
            matches!(error, R::Overlap { .. })
        }),
        (vec![edit((1, 1), (1, 4), "1", Some("one")), edit((2, 1), (2, 6), "3", Some("other"))], |error| {
            matches!(error, R::Different { .. })
        }),
        (vec![], |error| matches!(error, R::NoEdits { .. })),
    ];
    for (edits, expected) in cases {
        let error = apply_edits(text, "f", &edits).unwrap_err();
        assert!(expected(&error), "{edits:?}: {error}");
    }
}

#[test]
fn the_reviewed_text_stands_in_for_what_an_edit_does_not_say() {
    let edits = [edit((1, 5), (1, 8), "2", None)];
    assert_eq!(apply_edits_against("one two\n", Some("one two\n"), "f", &edits).as_deref(), Ok("one 2\n"));
    assert!(apply_edits_against("one TWO\n", Some("one two\n"), "f", &edits).is_err());
    let insertion = [edit((1, 1), (1, 1), "# ", None)];
    assert_eq!(apply_edits_against("a\n", Some("a\n"), "f", &insertion).as_deref(), Ok("# a\n"));
    assert!(apply_edits_against("new\na\n", Some("a\n"), "f", &insertion).is_err(), "the line has moved");
}

#[test]
fn edits_of_other_files_are_left_out() {
    let mut other = edit((1, 1), (1, 2), "z", Some("a"));
    other.file = "g".into();
    let edits = [edit((1, 1), (1, 2), "b", Some("a")), other];
    assert_eq!(apply_edits("a\n", "f", &edits).as_deref(), Ok("b\n"));
}
