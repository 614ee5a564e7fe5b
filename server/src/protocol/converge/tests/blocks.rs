//! The `LOOP_GATE` block as text and back.

use super::super::{Gate, Verdict, parse_gate};

fn gate(verdict: Verdict) -> Gate {
    Gate { verdict, review_base: "0a1b2c3".into(), final_head: "4d5e6f7".into(), open_confirmed_findings: 2 }
}

#[test]
fn the_block_is_the_text_of_the_protocol() {
    assert_eq!(
        gate(Verdict::PassStandardsOnly).text(),
        "LOOP_GATE:\n  verdict: PASS_STANDARDS_ONLY\n  review_base: 0a1b2c3\n  final_head: 4d5e6f7\n  \
         open_confirmed_findings: 2"
    );
}

#[test]
fn a_printed_block_is_read_back_wherever_it_stands() {
    for verdict in [Verdict::Pass, Verdict::PassStandardsOnly, Verdict::Paused] {
        let gate = gate(verdict);
        for text in [
            gate.text(),
            format!("report\n\n{}\n", gate.text()),
            gate.text().replace('\n', "\r\n") + "\r\nafter",
        ] {
            assert_eq!(parse_gate(&text).as_ref(), Some(&gate), "{text}");
        }
    }
    let both = format!("{}\n{}", gate(Verdict::Paused).text(), gate(Verdict::Pass).text());
    assert_eq!(parse_gate(&both), Some(gate(Verdict::Pass)), "the last one counts");
}

#[test]
fn what_is_no_whole_block_is_none() {
    let whole = gate(Verdict::Pass).text();
    for cut in 0..whole.lines().count() {
        let text: Vec<&str> = whole.lines().take(cut).collect();
        assert_eq!(parse_gate(&text.join("\n")), None, "{cut} lines");
    }
    for (from, to) in [
        ("verdict: PASS", "verdict: pass"),
        ("verdict: PASS", "verdict: PASS | PAUSED"),
        ("  verdict", "verdict"),
        ("findings: 2", "findings: some"),
        ("review_base: 0a1b2c3", "review_base: "),
    ] {
        assert_eq!(parse_gate(&whole.replace(from, to)), None, "{to}");
    }
}
