use lsp_types::{Position, PositionEncodingKind, Range, TextDocumentContentChangeEvent};

use super::super::anchors::{Anchors, Edit, Lines};
use super::super::text::{Encoding, Text, head, line_breaks, printable};

const ALL: [Encoding; 3] = [Encoding::Utf8, Encoding::Utf16, Encoding::Utf32];

fn range(start: (u32, u32), end: (u32, u32)) -> Range {
    Range::new(Position::new(start.0, start.1), Position::new(end.0, end.1))
}

fn change(start: (u32, u32), end: (u32, u32), text: &str) -> TextDocumentContentChangeEvent {
    TextDocumentContentChangeEvent { range: Some(range(start, end)), range_length: None, text: text.into() }
}

#[test]
fn the_clients_first_known_encoding_is_taken_and_utf_16_without_one() {
    let negotiate = |names: &[&'static str]| {
        let kinds: Vec<PositionEncodingKind> =
            names.iter().map(|&name| PositionEncodingKind::new(name)).collect();
        Encoding::negotiate(Some(&kinds))
    };
    assert_eq!(negotiate(&["utf-8", "utf-16"]), Encoding::Utf8);
    assert_eq!(negotiate(&["utf-7", "utf-32", "utf-8"]), Encoding::Utf32);
    assert_eq!(negotiate(&["utf-16"]), Encoding::Utf16);
    assert_eq!(negotiate(&["ebcdic"]), Encoding::Utf16);
    assert_eq!(negotiate(&[]), Encoding::Utf16);
    assert_eq!(Encoding::negotiate(None), Encoding::Utf16);
}

#[test]
fn positions_count_in_the_negotiated_unit_and_never_split_a_character() {
    // `é` is 2, 1, 1 units and `𝄞` is 4, 2, 1 units in UTF-8, UTF-16 and UTF-32.
    let text = Text::new("aé𝄞b\n");
    let cases: [(Encoding, &[(u32, usize)]); 3] = [
        (Encoding::Utf8, &[(0, 0), (1, 1), (2, 1), (3, 3), (4, 3), (6, 3), (7, 7), (8, 8), (99, 8)]),
        (Encoding::Utf16, &[(0, 0), (1, 1), (2, 3), (3, 3), (4, 7), (5, 8), (99, 8)]),
        (Encoding::Utf32, &[(0, 0), (1, 1), (2, 3), (3, 7), (4, 8), (99, 8)]),
    ];
    for (encoding, offsets) in cases {
        for &(character, offset) in offsets {
            let found = text.offset(Position::new(0, character), encoding);
            assert_eq!(found, offset, "{encoding:?} {character}");
        }
    }
}

#[test]
fn lines_end_at_every_line_end_that_lsp_knows() {
    let text = Text::new("one\r\ntwo\rthree\n\nfive");
    let lines: Vec<&str> = (0..text.line_count()).map(|line| text.line(line)).collect();
    assert_eq!(lines, ["one", "two", "three", "", "five"]);
    assert_eq!(text.line(99), "");
    assert_eq!(Text::new("").line_count(), 1);
    assert_eq!(Text::new("a\n").line_count(), 2);
    assert_eq!(line_breaks("a\r\nb\nc\rd"), 3);
}

#[test]
fn the_squiggle_runs_from_the_first_non_blank_column_to_the_line_end() {
    let text = Text::new("\t  é𝄞 = 1  \r\n   \nlast");
    assert_eq!(text.visible(0, Encoding::Utf8), range((0, 3), (0, 15)));
    assert_eq!(text.visible(0, Encoding::Utf16), range((0, 3), (0, 12)));
    assert_eq!(text.visible(0, Encoding::Utf32), range((0, 3), (0, 11)));
    for encoding in ALL {
        assert_eq!(text.visible(1, encoding), range((1, 0), (1, 3)), "a blank line is shown whole");
        assert_eq!(
            text.visible(99, encoding),
            range((2, 0), (2, 4)),
            "the last line stands in for lines past the end"
        );
    }
}

#[test]
fn a_place_in_code_points_becomes_a_range_that_is_never_empty_on_a_line_with_text() {
    let text = Text::new("{\n  \"é𝄞\": }\n");
    assert_eq!(text.range_from(2, 6, Encoding::Utf16), range((1, 6), (1, 10)));
    assert_eq!(text.range_from(2, 6, Encoding::Utf8), range((1, 9), (1, 13)));
    assert_eq!(text.range_from(1, 99, Encoding::Utf16), range((0, 0), (0, 1)));
    assert_eq!(text.range_from(99, 1, Encoding::Utf16), range((2, 0), (2, 0)));
    assert_eq!(text.range_from(0, 0, Encoding::Utf16), range((0, 0), (0, 1)));
}

#[test]
fn incremental_changes_give_the_text_that_the_editor_has() {
    let cases: [(&str, TextDocumentContentChangeEvent, &str); 8] = [
        ("abc\n", change((0, 1), (0, 2), "X"), "aXc\n"),
        ("a\nb\n", change((0, 1), (1, 0), ""), "ab\n"),
        ("a𝄞b", change((0, 3), (0, 3), "|"), "a𝄞|b"),
        ("a𝄞b", change((0, 2), (0, 3), "x"), "axb"),
        ("a\r\nb", change((0, 9), (0, 9), "!"), "a!\r\nb"),
        ("a", change((9, 0), (9, 0), "\nz"), "a\nz"),
        ("abc", change((0, 2), (0, 1), ""), "ac"),
        ("", change((0, 0), (0, 0), "new"), "new"),
    ];
    for (before, change, after) in cases {
        let mut text = Text::new(before);
        text.apply(&change, Encoding::Utf16);
        assert_eq!(&**text.content(), after, "{before:?} {change:?}");
    }
    let mut text = Text::new("old");
    text.apply(
        &TextDocumentContentChangeEvent { range: None, range_length: None, text: "whole".into() },
        Encoding::Utf16,
    );
    assert_eq!(&**text.content(), "whole");
}

#[test]
fn control_codes_are_left_out_and_long_text_is_cut_with_a_mark() {
    assert_eq!(printable("a\u{1b}[31mb\u{0}\r\n\tc\u{9b}"), "a[31mb\n\tc");
    assert_eq!(head("one\ntwo\nthree", 2, 100), "one\ntwo…");
    assert_eq!(head("äöü", 1, 2), "äö…");
    assert_eq!(head("  short \n", 3, 100), "short");
}

/// Lines 5–7 (0-based), whose first line is indented by 4.
#[test]
fn lines_stay_on_their_code_under_every_kind_of_edit() {
    let at = Lines { first: 5, last: 7 };
    let edit = |start, end, breaks, starts_at_line_end| Edit {
        range: range(start, end),
        breaks,
        starts_at_line_end,
    };
    let cases = [
        ("six lines put in above", edit((0, 0), (0, 0), 6, false), (11, 13)),
        ("a line put in right above", edit((5, 0), (5, 0), 1, false), (6, 8)),
        ("Enter pressed at the code's first column", edit((5, 4), (5, 4), 1, false), (6, 8)),
        ("Enter at the end of the line above", edit((4, 9), (4, 9), 1, true), (6, 8)),
        ("two lines above deleted", edit((2, 0), (4, 0), 0, false), (3, 5)),
        ("indentation changed", edit((5, 0), (5, 4), 0, false), (5, 7)),
        ("typing in the first line", edit((5, 9), (5, 9), 0, false), (5, 7)),
        ("a line put in inside", edit((6, 0), (6, 0), 1, false), (5, 8)),
        ("a line inside deleted", edit((6, 0), (7, 0), 0, false), (5, 6)),
        ("Enter at the end of the last line", edit((7, 12), (7, 12), 1, true), (5, 7)),
        ("the last line split", edit((7, 3), (7, 3), 1, false), (5, 8)),
        ("the line behind joined to the last line", edit((7, 12), (8, 0), 0, true), (5, 7)),
        ("everything behind deleted", edit((8, 0), (20, 0), 0, false), (5, 7)),
        ("the start cut off together with a line above", edit((4, 0), (6, 0), 0, false), (4, 5)),
        ("the end cut off together with a line behind", edit((6, 0), (9, 0), 0, false), (5, 6)),
        ("the whole code replaced by one line", edit((3, 0), (9, 0), 1, false), (4, 4)),
    ];
    for (name, edit, (first, last)) in cases {
        assert_eq!(at.after(edit, 4), Lines { first, last }, "{name}");
    }
}

const F: (u64, &str) = (1, "f");

fn on(first: u32) -> Lines {
    Lines { first, last: first }
}

const ENTER_ABOVE: Option<Edit> = Some(Edit {
    range: Range { start: Position { line: 0, character: 0 }, end: Position { line: 0, character: 0 } },
    breaks: 1,
    starts_at_line_end: false,
});
const LINE_ABOVE_DELETED: Option<Edit> = Some(Edit {
    range: Range { start: Position { line: 0, character: 0 }, end: Position { line: 1, character: 0 } },
    breaks: 0,
    starts_at_line_end: false,
});

#[test]
fn a_finding_is_where_the_engine_has_it_moved_by_what_the_engine_has_not_seen() {
    let mut anchors = Anchors::default();
    for event in 1..=3 {
        anchors.edited(F, on(10), Some(event), ENTER_ABOVE, 0);
    }
    assert_eq!(anchors.shown(F, on(10)), on(13));
    assert!(!anchors.told(F, on(11), 1), "it has only seen the first keystroke");
    assert_eq!(anchors.shown(F, on(11)), on(13));
    assert!(!anchors.told(F, on(13), 3));
    assert!(anchors.is_empty(1), "the engine has seen everything");

    anchors.edited(F, on(13), Some(4), ENTER_ABOVE, 0);
    anchors.edited(F, on(13), Some(5), ENTER_ABOVE, 0);
    assert!(anchors.told(F, on(40), 4), "the engine found the code elsewhere");
    assert_eq!(anchors.shown(F, on(40)), on(41), "but has not seen the last keystroke");
    anchors.forget(1, |fingerprint| fingerprint != "f");
    assert_eq!(anchors.shown(F, on(40)), on(40));
}

#[test]
fn what_is_typed_and_taken_back_again_and_again_is_not_mistaken_for_an_earlier_time() {
    let mut anchors = Anchors::default();
    for event in 1..=100 {
        let edit = if event % 2 == 1 { ENTER_ABOVE } else { LINE_ABOVE_DELETED };
        let so_far = u64::saturating_sub(event, 50);
        anchors.edited(F, on(10 + (so_far % 2) as u32), Some(event), edit, 0);
        // The engine is always fifty keystrokes behind.
        if event > 50 {
            let seen = event - 50;
            let elsewhere = anchors.told(F, on(10 + (seen % 2) as u32), seen);
            assert!(!elsewhere, "after {event}");
        }
        assert_eq!(anchors.shown(F, on(10)), on(10 + (event % 2) as u32), "after {event}");
    }
}

#[test]
fn a_whole_new_text_moves_nothing_until_the_engine_has_compared() {
    let mut anchors = Anchors::default();
    anchors.edited(F, on(10), Some(1), ENTER_ABOVE, 0);
    anchors.edited(F, on(10), Some(2), None, 0);
    assert!(!anchors.told(F, on(11), 1));
    assert_eq!(anchors.shown(F, on(11)), on(11));
    assert!(anchors.told(F, on(3), 2));
    assert_eq!(anchors.shown(F, on(3)), on(3));
}

#[test]
fn what_the_engine_reads_from_disk_only_stays_moved_until_it_has_read_again() {
    let mut anchors = Anchors::default();
    anchors.edited(F, on(10), None, ENTER_ABOVE, 0);
    assert!(!anchors.told(F, on(10), 99), "not saved yet");
    assert_eq!(anchors.shown(F, on(10)), on(11));
    assert!(!anchors.told(F, on(11), 100), "saved and read");
    assert_eq!(anchors.shown(F, on(11)), on(11));
    assert!(anchors.is_empty(1));
}

#[test]
fn lines_of_a_finding_count_from_one_and_are_never_inverted() {
    assert_eq!(Lines::of_finding(Some(1), Some(3)), Some(Lines { first: 0, last: 2 }));
    assert_eq!(Lines::of_finding(Some(4), None), Some(Lines { first: 3, last: 3 }));
    assert_eq!(Lines::of_finding(Some(4), Some(2)), Some(Lines { first: 3, last: 3 }));
    assert_eq!(Lines::of_finding(None, None), None);
    assert_eq!(Lines::of_finding(Some(0), Some(0)), None);
}
