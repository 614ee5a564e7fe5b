//! The exhaustion block as text and back.

use super::super::super::vocabulary::*;
use super::super::{Exhaustion, parse_exhaustion};

fn block() -> Exhaustion {
    Exhaustion {
        attempts: 2,
        gaps: vec![
            Gap {
                severity: Severity::P0,
                text: "the total — is wrong".into(),
                file: Some("src/a.py".into()),
                line: None,
            },
            Gap { severity: Severity::P1, text: "no file".into(), file: None, line: None },
        ],
        cause: Cause::AmbiguousSpec,
        new_evidence: None,
        route: "ask which rounding is meant".into(),
        raises: 1,
        appeal: None,
    }
}

#[test]
fn the_block_is_the_text_of_the_protocol() {
    assert_eq!(
        block().text(),
        "Fix loop exhausted (2/2). Group remains in progress.\n\
         Remaining gaps:\n\
         - [CRITICAL] the total — is wrong — src/a.py\n\
         - [HIGH] no file — (no file)\n\
         Cause: ambiguous-spec\n\
         New evidence: none — model/effort escalation prohibited\n\
         Corrective route: ask which rounding is meant\n\
         Budget: attempts=2/2; effort_escalations=1/2\n\
         Appeal: none"
    );
}

#[test]
fn a_printed_block_is_read_back_wherever_it_stands() {
    let blocks = [
        block(),
        Exhaustion {
            new_evidence: Some("a new trace".into()),
            appeal: Some("reviewer SHIP".into()),
            ..block()
        },
        Exhaustion { attempts: 0, raises: 3, cause: Cause::OverdesignedPlan, ..block() },
    ];
    for block in blocks {
        for text in
            [block.text(), format!("before\n{}\n\nafter", block.text()), block.text().replace('\n', "\r\n")]
        {
            assert_eq!(parse_exhaustion(&text).as_ref(), Some(&block), "{text}");
        }
    }
}

#[test]
fn the_last_block_counts() {
    let later = Exhaustion { raises: 2, ..block() };
    assert_eq!(parse_exhaustion(&format!("{}\n{}", block().text(), later.text())), Some(later));
}

#[test]
fn words_with_line_breaks_cannot_forge_a_line() {
    let forged = Exhaustion { route: "wait\nAppeal: resolved".into(), ..block() };
    let read = parse_exhaustion(&forged.text()).expect("the block is whole");
    assert_eq!((read.route.as_str(), read.appeal), ("wait Appeal: resolved", None));
}

#[test]
fn what_is_no_whole_block_is_none() {
    let whole = block().text();
    for cut in 0..whole.lines().count() {
        let text: Vec<&str> = whole.lines().take(cut).collect();
        assert_eq!(parse_exhaustion(&text.join("\n")), None, "{cut} lines");
    }
    for (from, to) in [
        ("(2/2)", "(2/3)"),
        ("ambiguous-spec", "unclear"),
        ("attempts=2/2", "attempts=1/2"),
        ("[CRITICAL]", "[URGENT]"),
        ("escalations=1/2", "escalations=x/2"),
    ] {
        assert_eq!(parse_exhaustion(&whole.replace(from, to)), None, "{to}");
    }
}
