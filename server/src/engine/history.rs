//! What is told of a finding at length, in Markdown.

use crate::protocol::Settled;

use super::api::FindingView;
use super::driver::Driver;
use super::running::LoopRun;
use super::state::Life;
use super::words;

/// What the report on a finding tells of its latest loop, in Markdown.
pub(super) fn history(driver: &Driver, view: &FindingView, last: Option<&LoopRun>, life: &Life) -> String {
    let Some(run) = last else { return String::new() };
    let mut text = format!("\n## Loop {} ({})\n\n", run.id(), run.opened.start.protocol());
    for attempt in &view.attempts {
        text.push_str(&format!("- {attempt}\n"));
    }
    for worker in &run.traces.workers {
        text.push_str(&format!(
            "- Worker {}: {} with {}{}, round {}, {:.1} s: {}\n",
            worker.worker.0,
            super::roster::role_name(worker.role),
            worker.agent,
            worker.model.as_ref().map(|model| format!(" ({model})")).unwrap_or_default(),
            worker.round,
            worker.seconds,
            worker.outcome.as_deref().unwrap_or("at work")
        ));
    }
    for note in &run.traces.notes {
        text.push_str(&format!("- {note}\n"));
    }
    for decided in &run.traces.decisions {
        text.push_str(&format!(
            "- Decided: {}: {} → {} ({})\n",
            decided.about, decided.old, decided.new, decided.reason
        ));
    }
    if let Some((_, Settled::Manual { still_broken })) = &life.settled {
        text.push_str(&format!("\n## Still broken\n\n{still_broken}\n"));
    }
    if let Some(ending) = &run.view.finished {
        text.push_str(&format!("\nEnded: {}\n", ending.reason));
        if let Some(block) = &ending.block {
            text.push_str(&format!("\n```\n{}\n```\n", block.trim_end()));
        }
    }
    if let Some(workspace) = &driver.workspace {
        text.push_str(&format!(
            "\nTranscripts: `{}`\n",
            workspace.state_dir().join("workers").join(run.id().to_string()).display()
        ));
    }
    text
}

impl FindingView {
    /// The whole report on it in Markdown, for *Show report*.
    pub fn report(&self) -> String {
        let detail = &self.detail;
        let place = match (&detail.file, detail.line_start) {
            (Some(file), Some(line)) => format!("`{file}:{line}`"),
            (Some(file), None) => format!("`{file}`"),
            _ => "no file".into(),
        };
        let mut text = format!(
            "# {:?} {}\n\n- Where: {place}\n- State: {}\n",
            detail.severity, detail.title, self.standing
        );
        if !self.criterion.is_empty() {
            text.push_str(&format!("- Criterion: {}\n", self.criterion));
        }
        if let Some(grade) = detail.evidence {
            text.push_str(&format!("- Evidence: {}\n", words::grade_in_words(grade)));
        }
        if let Some(cost) = self.cost_usd {
            text.push_str(&format!("- Cost: {cost:.4} USD\n"));
        }
        if !self.body.trim().is_empty() {
            text.push_str(&format!("\n{}\n", self.body.trim()));
        }
        text.push_str(&self.history);
        text
    }
}
