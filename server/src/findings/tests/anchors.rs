//! A finding stays on its code.

use super::*;

const TEXT: &str = "one\ntwo\nthree\nfour\nfive\n";

fn at(text: &str, start: u32, end: u32) -> Anchor {
    Anchor::place(text, start, end)
}

fn place(line: u32, column: u32) -> BufferPlace {
    BufferPlace { line, column }
}

/// Applies an edit to ASCII text, so that the tests cannot say one thing and do another.
fn edited(
    text: &str,
    anchor: &Anchor,
    start: (u32, u32),
    end: (u32, u32),
    inserted: &str,
) -> (Anchor, String) {
    let offset = |(line, column): (u32, u32)| {
        let starts: Vec<usize> =
            std::iter::once(0).chain(text.match_indices('\n').map(|(at, _)| at + 1)).collect();
        starts[line as usize] + column as usize
    };
    let after = format!("{}{inserted}{}", &text[..offset(start)], &text[offset(end)..]);
    let edit = BufferEdit {
        start: place(start.0, start.1),
        end: place(end.0, end.1),
        inserted: inserted.to_owned(),
    };
    (anchor.edited(&edit, text, &after), after)
}

#[test]
fn lines_follow_edits_of_the_buffer() {
    // edit of TEXT → where lines 3 to 4 are then, and whether they are stale
    let table = [
        ((0, 0), (0, 0), "a\nb\nc\nd\ne\nf\n", (9, 10, false)),
        ((2, 0), (2, 0), "new\n", (4, 5, false)),
        ((1, 3), (1, 3), "\nnew", (4, 5, false)),
        ((0, 0), (2, 0), "", (1, 2, false)),
        ((0, 2), (1, 1), "", (2, 3, false)),
        ((4, 0), (4, 4), "changed", (3, 4, false)),
        ((3, 4), (3, 4), "\nnew", (3, 4, false)),
        ((2, 5), (2, 5), " and more", (3, 4, false)),
        ((2, 0), (2, 0), "  ", (3, 4, false)),
        ((2, 2), (2, 2), "\n", (3, 5, false)),
        ((2, 0), (4, 0), "", (3, 3, true)),
        ((0, 0), (5, 0), "", (1, 1, true)),
        ((0, 0), (5, 0), "zero\none\ntwo\nthree\nfour\nfive\n", (4, 5, false)),
        ((2, 0), (3, 0), "", (3, 3, false)),
        ((3, 0), (4, 0), "", (3, 3, false)),
    ];
    for (start, end, inserted, expected) in table {
        let (anchor, after) = edited(TEXT, &at(TEXT, 3, 4), start, end, inserted);
        assert_eq!(
            (anchor.line_start, anchor.line_end, anchor.stale),
            expected,
            "{start:?}-{end:?} {inserted:?} gives {after:?}"
        );
    }
}

#[test]
fn inserting_six_lines_above_keeps_the_finding_on_its_code() {
    let (anchor, after) = edited(CALC, &at(CALC, 2, 2), (0, 0), (0, 0), "1\n2\n3\n4\n5\n6\n");
    assert_eq!(anchor.line_start, 8);
    assert_eq!(after.lines().nth(7), Some("    return a / b"));
}

#[test]
fn undo_brings_a_stale_anchor_back() {
    let anchor = at(TEXT, 3, 3);
    let (gone, after) = edited(TEXT, &anchor, (2, 0), (3, 0), "");
    assert!(gone.stale);
    let (back, restored) = edited(&after, &gone, (2, 0), (2, 0), "three\n");
    assert_eq!(restored, TEXT);
    assert_eq!((back.line_start, back.stale), (3, false));
    let (elsewhere, _) = edited(&after, &gone, (0, 0), (0, 0), "above\n");
    assert!(elsewhere.stale);
    assert_eq!(elsewhere.line_start, 4);
}

#[test]
fn typing_in_the_line_keeps_the_identity_and_emptying_it_makes_it_stale() {
    let anchor = at(TEXT, 3, 3);
    let (typed, after) = edited(TEXT, &anchor, (2, 0), (2, 5), "thirty");
    assert_eq!((typed.line_start, typed.stale), (3, false));
    assert_eq!(typed.cited, anchor.cited);
    assert_ne!(typed.current, anchor.current);
    assert_eq!(typed.refind(&format!("zero\n{after}")).line_start, 4);
    let (emptied, _) = edited(TEXT, &anchor, (2, 0), (2, 5), "");
    assert!(emptied.stale);
}

#[test]
fn lines_follow_a_file_that_changed_on_disk() {
    let old = "import os\n\ndef f(x):\n    y = compute(x)\n    return y\n\ndef g():\n    return 1\n";
    // new text → line of `y = compute(x)`, and whether it is stale
    let table = [
        (old.to_owned(), (4, false)),
        (format!("# a\n# b\n{old}"), (6, false)),
        (old.replace("import os\n\n", ""), (2, false)),
        (old.replace("y = compute(x)", "y = compute(x, 1)"), (4, false)),
        (old.replace("    y = compute(x)\n", ""), (4, true)),
        (old.replace("\n", "\r\n"), (4, false)),
        (old.replace("    y", "\ty"), (4, false)),
        ("def g():\n    return 1\n\ndef f(x):\n    y = compute(x)\n    return y\n".to_owned(), (5, false)),
        (String::new(), (1, true)),
        ("something else entirely\n".to_owned(), (1, true)),
    ];
    for (new, (line, stale)) in table {
        let anchor = at(old, 4, 4).through_diff(old, &new);
        assert_eq!((anchor.line_start, anchor.stale), (line, stale), "{new:?}");
        assert!(anchor.line_end >= anchor.line_start);
    }
}

#[test]
fn a_common_line_elsewhere_is_not_taken_for_the_one_that_went() {
    let old = "def f():\n    return None\n\ndef g():\n    return None\n";
    let new = "def f():\n    pass\n\ndef g():\n    return None\n";
    let anchor = at(old, 2, 2).through_diff(old, new);
    assert!(anchor.stale);
    assert_eq!(anchor.line_start, 2);
}

#[test]
fn a_range_keeps_what_is_left_of_it() {
    let old = "a1\nb2\nc3\nd4\ne5\n";
    let anchor = at(old, 2, 4).through_diff(old, "a1\nb2\nc3\nnew\nd4\ne5\n");
    assert_eq!((anchor.line_start, anchor.line_end), (2, 5));
    let anchor = at(old, 2, 4).through_diff(old, "a1\nd4\ne5\n");
    assert_eq!((anchor.line_start, anchor.line_end, anchor.stale), (2, 2, false));
}

#[test]
fn after_a_restart_the_nearest_place_with_the_cited_lines_counts() {
    let anchor = at("x\nrisky()\ny\n", 2, 2);
    for (text, line, stale) in [
        ("x\nrisky()\ny\n", 2, false),
        ("1\n2\n3\nx\n  risky()\ny\n", 5, false),
        ("risky()\n1\n2\n3\n4\n5\nrisky()\n", 1, false),
        ("x\ny\n", 2, true),
        ("", 1, true),
    ] {
        let found = anchor.refind(text);
        assert_eq!((found.line_start, found.stale), (line, stale), "{text:?}");
    }
}

#[test]
fn an_anchor_outside_the_text_is_clamped() {
    let anchor = at(TEXT, 90, 95);
    assert_eq!((anchor.line_start, anchor.line_end), (5, 5));
    let anchor = at(TEXT, 0, 0);
    assert_eq!((anchor.line_start, anchor.line_end), (1, 1));
    let anchor = at("", 3, 2);
    assert_eq!((anchor.line_start, anchor.line_end), (1, 1));
}
