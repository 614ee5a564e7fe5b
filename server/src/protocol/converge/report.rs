//! The final report, with the `LOOP_GATE` block at its end, and the ends of the loop.

use std::fmt::Write as _;

use super::super::docket::one_line;
use super::super::vocabulary::*;
use super::Source;
use super::gate::{Gate, Verdict};
use super::machine::Converge;
use super::phase::Phase;

impl Converge {
    /// The gate as it stands.
    pub fn gate(&self, verdict: Verdict) -> Gate {
        let unknown = || "unknown".to_owned();
        Gate {
            verdict,
            review_base: self.prepared.as_ref().map_or_else(unknown, |prepared| prepared.review_base.clone()),
            final_head: self.head.clone().unwrap_or_else(unknown),
            open_confirmed_findings: self.ledger.burden(),
        }
    }

    /// PASS needs both axes; with attached findings, a spec that was snapshotted.
    fn pass(&self) -> Verdict {
        let has_both = match self.input.source {
            Source::Review => !self.standards_only,
            Source::Attached(_) => self.prepared.as_ref().is_some_and(|prepared| prepared.has_spec),
        };
        if has_both { Verdict::Pass } else { Verdict::PassStandardsOnly }
    }

    /// Environment, branch, workers, commits, validation, dispositions and unresolved evidence, and then the block.
    pub fn report(&self, verdict: Verdict) -> String {
        let mut text = String::new();
        let prepared = self.prepared.as_ref();
        let unknown = "not prepared";
        let worktree = prepared.map(|prepared| prepared.worktree.as_str()).filter(|path| !path.is_empty());
        let environment = match (prepared, worktree) {
            (Some(_), Some(path)) if verdict == Verdict::Paused => format!("managed worktree {path}"),
            (Some(_), Some(path)) => format!("managed worktree {path}, removed at the end"),
            (Some(_), None) => "managed worktree".to_owned(),
            (None, _) => unknown.to_owned(),
        };
        let branch = prepared.map_or(unknown, |prepared| prepared.branch.as_str());
        let _ = writeln!(text, "Environment: {environment}\nBranch: {branch}");
        let _ = writeln!(text, "Review: {}", self.axes_words());
        let _ = writeln!(text, "Workers: {}", or_none(&self.workers));
        let _ = writeln!(text, "Fix commits: {}", or_none(&self.commits));
        let _ = writeln!(text, "Validation: {}", self.validation_words());
        text.push_str("Dispositions:\n");
        for root in &self.ledger.roots {
            let _ = writeln!(text, "- {}: {} — {}", root.id, disposition(root), one_line(&root.evidence));
        }
        if self.ledger.roots.is_empty() {
            text.push_str("- none\n");
        }
        text.push_str("Unresolved evidence:\n");
        let open: Vec<&Root> = self.ledger.roots.iter().filter(|root| root.is_open()).collect();
        for root in &open {
            let _ = writeln!(
                text,
                "- {}: {} — {}",
                root.id,
                one_line(&root.root_cause),
                one_line(&root.evidence)
            );
        }
        for failure in &self.ledger.new_failures {
            let _ = writeln!(text, "- validation: {}", one_line(failure));
        }
        if self.ledger.burden() == 0 {
            text.push_str("- none\n");
        }
        if self.has_disagreement {
            let _ = writeln!(
                text,
                "disagreement: the review named {} findings, and the checker disputes all of them",
                self.findings.len()
            );
        }
        let _ = write!(text, "\n{}", self.gate(verdict).text());
        text
    }

    fn axes_words(&self) -> &'static str {
        match (&self.input.source, self.standards_only, self.axes.is_empty()) {
            (Source::Attached(_), ..) => "skipped: the findings were attached",
            (Source::Review, _, true) => "not begun",
            (Source::Review, true, _) => "standards; spec skipped with the user's approval",
            (Source::Review, false, _) => "standards and spec",
        }
    }

    fn validation_words(&self) -> String {
        let Some(validation) = &self.validation else { return "no command is known".to_owned() };
        let command = one_line(&validation.command);
        let failing = if validation.failing.is_empty() {
            String::new()
        } else {
            let lines: Vec<String> = validation.failing.iter().map(|line| one_line(line)).collect();
            format!(": {}", lines.join(", "))
        };
        match validation.outcome {
            ValidationOutcome::Pass => format!("`{command}` PASS"),
            ValidationOutcome::NotRun => format!("`{command}` NOT_RUN{failing}"),
            ValidationOutcome::Fail if self.ledger.new_failures.is_empty() => {
                format!("`{command}` FAIL, as at the base: not caused by the fixes, and not green{failing}")
            }
            ValidationOutcome::Fail => format!("`{command}` FAIL{failing}"),
        }
    }

    // ------------------------------------------------------------ ends

    pub(super) fn finish_pass(&mut self, why: &str) {
        let verdict = self.pass();
        let how = if verdict == Verdict::Pass { EndedHow::Pass } else { EndedHow::PassStandardsOnly };
        self.finish(how, why, verdict);
    }

    pub(super) fn finish_paused(&mut self, why: &str) {
        self.finish(EndedHow::Blocked, why, Verdict::Paused);
    }

    pub(super) fn finish_cancelled(&mut self) {
        self.finish(EndedHow::Cancelled, "cancelled by the user", Verdict::Paused);
    }

    fn finish(&mut self, how: EndedHow, why: &str, verdict: Verdict) {
        for key in self.keys() {
            let settled = self.ledger.settled(&key, self.round.max(1));
            self.docket.record(Record::Settled { key: key.clone(), how: settled.clone() });
            self.settled.insert(key, settled);
        }
        self.phase = Phase::Over;
        let ending =
            Ending { how, reason: one_line(why), follow_up: Vec::new(), block: Some(self.report(verdict)) };
        self.ending = Some(ending.clone());
        self.docket.give(Action::Finish(ending));
    }
}

fn disposition(root: &Root) -> &'static str {
    match (root.confirmed, root.state) {
        (false, _) => "DISPUTED",
        (true, RootState::Resolved) => "RESOLVED",
        (true, RootState::Open) => "OPEN",
        (true, RootState::ConfirmedFixRegression) => "CONFIRMED_FIX_REGRESSION",
    }
}

fn or_none(items: &[String]) -> String {
    if items.is_empty() { "none".to_owned() } else { items.join(", ") }
}
