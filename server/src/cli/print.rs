//! What people read at the terminal. JSON goes to stdout, everything else to stderr.

use std::io::Write;
use std::sync::Arc;

use serde::Serialize;
use tokio::sync::{broadcast, oneshot};

use fix_loop::engine::{EngineHandle, FindingState, FindingView, Notice, NoticeLevel, RunReport, Snapshot};

use super::exit::Failure;

pub fn json<T: Serialize>(value: &T) -> Result<(), Failure> {
    let mut text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::environment(format!("the result cannot be written as JSON: {error}")))?;
    text.push('\n');
    stdout(&text)
}

pub fn stdout(text: &str) -> Result<(), Failure> {
    let mut out = std::io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        // Whoever read stdout has seen enough (`| head`).
        Err(error) if error.kind() == std::io::ErrorKind::BrokenPipe => Ok(()),
        other => other.map_err(|error| Failure::environment(format!("stdout cannot be written: {error}"))),
    }
}

/// See `tell!`.
pub fn line_to_people(mut line: String) {
    line.push('\n');
    // Whole at once, so that two processes do not write into each other's lines.
    let _ = std::io::stderr().lock().write_all(line.as_bytes());
}

/// Prints notices to stderr while something runs.
pub struct Progress {
    stop: oneshot::Sender<()>,
    done: tokio::task::JoinHandle<()>,
}

impl Progress {
    pub fn start(engine: &EngineHandle) -> Progress {
        let mut notices = engine.notices();
        let (stop, mut stopped) = oneshot::channel();
        let done = tokio::spawn(async move {
            loop {
                tokio::select! {
                    biased;
                    notice = notices.recv() => match notice {
                        Ok(notice) => line(&notice),
                        Err(broadcast::error::RecvError::Lagged(_)) => {}
                        Err(broadcast::error::RecvError::Closed) => return,
                    },
                    _ = &mut stopped => return,
                }
            }
        });
        Progress { stop, done }
    }

    /// Prints what is still to be printed, then ends.
    pub async fn stop(self) {
        let _ = self.stop.send(());
        let _ = self.done.await;
    }
}

fn line(notice: &Notice) {
    let who = notice.r#loop.as_deref().map(|id| format!("[{id}] ")).unwrap_or_default();
    let what = match notice.level {
        NoticeLevel::Worker => "  · ",
        NoticeLevel::Info => "",
        NoticeLevel::Warning => "warning: ",
        NoticeLevel::Error => "error: ",
    };
    tell!("{who}{what}{}", notice.message);
}

fn id(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn place(finding: &FindingView) -> String {
    match (&finding.detail.file, finding.detail.line_start) {
        (Some(file), Some(line)) => format!("{file}:{line}"),
        (Some(file), None) => file.clone(),
        _ => "no file".into(),
    }
}

pub fn status(snapshot: &Arc<Snapshot>) {
    if let Some(why) = &snapshot.fixing_off {
        tell!("Fixing is off: {why}\n");
    }
    if let Some(driver) = &snapshot.status.driver {
        tell!("Driven by process {} on {}.\n", driver.pid, driver.host);
    }
    for error in &snapshot.input_errors {
        tell!("{}:{}:{}: {}", error.file, error.line, error.column, error.message);
    }
    if snapshot.findings.is_empty() {
        tell!("No findings. Put a findings file into .fix-loop/findings/, or name one: `fix-loop run FILE`.");
    }
    for finding in &snapshot.findings {
        tell!(
            "{:>6}  {:?}  {:<28} {}\n        {}",
            id(&finding.detail.id),
            finding.detail.severity,
            place(finding),
            finding.detail.title,
            finding.standing
        );
    }
    for shown in snapshot.status.loops.iter().filter(|shown| shown.state != "finished") {
        let findings: Vec<String> = shown.findings.iter().map(id).collect();
        tell!(
            "loop {} ({}): {}, round {}, findings {}{}",
            shown.id,
            shown.protocol,
            shown.state,
            shown.round,
            findings.join(", "),
            shown.activity.as_ref().map(|line| format!(" · {line}")).unwrap_or_default()
        );
    }
    questions(snapshot);
}

fn questions(snapshot: &Snapshot) {
    for question in &snapshot.questions {
        tell!("\nquestion {}: {}", question.id, question.text);
        for line in question.detail.lines() {
            tell!("    {line}");
        }
        for (index, option) in question.options.iter().enumerate() {
            let mark = if *option == question.recommended { " (recommended)" } else { "" };
            tell!("  {}. {option}{mark}", index + 1);
        }
        tell!("  answer with: fix-loop answer {} NUMBER", question.id);
    }
}

pub fn report(report: &RunReport, snapshot: &Snapshot) {
    for finding in snapshot.findings.iter().filter(|finding| finding.detail.state != FindingState::Ignored) {
        tell!("finding {} ({}): {}", id(&finding.detail.id), finding.detail.title, finding.standing);
    }
    for ignored in &report.ignored {
        tell!("finding {}: {}", id(&ignored.id), ignored.reason);
    }
    questions(snapshot);
    ending(report);
}

/// How the run ended, as its protocol says it: `rereview` with one terminal word, `converge` with its gate.
pub fn ending(report: &RunReport) {
    let blocks = || {
        for block in &report.blocks {
            tell!("\n{}", block.trim_end());
        }
    };
    match (report.protocol.as_str(), report.gate.outcome) {
        ("rereview", "done") => {
            blocks();
            tell!("\ndone");
        }
        ("rereview", word @ ("blocked" | "failed")) => {
            blocks();
            tell!("\n{word}: {}", report.gate.reason);
        }
        _ => {
            tell!("\n{}: {}", report.gate.verdict, report.gate.reason);
            blocks();
        }
    }
}
