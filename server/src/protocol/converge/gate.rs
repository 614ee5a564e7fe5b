//! The `LOOP_GATE` block: its fixed text, and reading it back.

/// How the loop ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    Pass,
    PassStandardsOnly,
    Paused,
}

impl Verdict {
    pub fn words(self) -> &'static str {
        match self {
            Verdict::Pass => "PASS",
            Verdict::PassStandardsOnly => "PASS_STANDARDS_ONLY",
            Verdict::Paused => "PAUSED",
        }
    }
}

/// What the block says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    pub verdict: Verdict,
    /// `unknown` when the loop ended before its base was pinned.
    pub review_base: String,
    pub final_head: String,
    pub open_confirmed_findings: u32,
}

impl Gate {
    /// The block, without a newline at its end.
    pub fn text(&self) -> String {
        format!(
            "LOOP_GATE:\n  verdict: {}\n  review_base: {}\n  final_head: {}\n  open_confirmed_findings: {}",
            self.verdict.words(),
            self.review_base,
            self.final_head,
            self.open_confirmed_findings
        )
    }
}

/// Reads the last block in `text`. `None` when there is none or it is not complete.
pub fn parse_gate(text: &str) -> Option<Gate> {
    let lines: Vec<&str> = text.lines().map(str::trim_end).collect();
    let start = lines.iter().rposition(|line| *line == "LOOP_GATE:")?;
    let mut lines = lines[start + 1..].iter();
    let mut value = |key: &str| {
        let value = lines.next()?.strip_prefix("  ")?.strip_prefix(key)?.strip_prefix(": ")?;
        (!value.is_empty() && !value.contains(char::is_whitespace)).then_some(value)
    };
    let verdict = value("verdict")?;
    let verdict = [Verdict::Pass, Verdict::PassStandardsOnly, Verdict::Paused]
        .into_iter()
        .find(|known| known.words() == verdict)?;
    Some(Gate {
        verdict,
        review_base: value("review_base")?.to_owned(),
        final_head: value("final_head")?.to_owned(),
        open_confirmed_findings: value("open_confirmed_findings")?.parse().ok()?,
    })
}
