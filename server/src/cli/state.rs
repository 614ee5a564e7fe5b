//! Commands that show or change state: `status`, `answer`, `confirm`, `defer`, `dispute`, `reopen`, `verify`, `undo`, `trust`.

use clap::Args;
use serde_json::json;

use fix_loop::engine::{Command, EngineHandle};

use super::exit::{Exit, Failure, Outcome};
use super::session::{self, Wishes};
use super::{Format, Output, Place, print, run};

#[derive(Args)]
pub struct Named {
    /// The finding's id or fingerprint
    id: String,
    #[command(flatten)]
    output: Output,
}

#[derive(Args)]
pub struct NamedWithReason {
    /// The finding's id or fingerprint
    id: String,
    /// Why
    #[arg(long)]
    reason: Option<String>,
    #[command(flatten)]
    output: Output,
}

pub async fn status(place: &Place, format: Format) -> Outcome {
    let root = session::root(place)?;
    let engine = session::start(root, Wishes { look: true, resume: true, ..Wishes::default() }).await?;
    let snapshot = engine.snapshot();
    match format {
        Format::Json => {
            let detail: Vec<_> = snapshot.findings.iter().map(|finding| &finding.detail).collect();
            // Also where it is empty: scripts rely on the key.
            let mut status = serde_json::to_value(&snapshot.status).expect("a status is plain data");
            status["findings_detail"] = serde_json::to_value(detail).expect("findings are plain data");
            print::json(&status)?;
        }
        Format::Text => print::status(&snapshot),
    }
    engine.shutdown().await;
    Ok(Exit::Done)
}

/// Sends one command; drives on what it sets going when no other process does.
async fn change(place: &Place, command: Command, format: Format) -> Outcome {
    let root = session::root(place)?;
    let only_decides = !drives_on(&command);
    let engine = session::start(root, Wishes { resume: true, only_decides, ..Wishes::default() }).await?;
    let result = obey(&engine, command, format).await;
    engine.shutdown().await;
    result
}

fn drives_on(command: &Command) -> bool {
    matches!(command, Command::Answer { .. } | Command::Verify { .. })
}

async fn obey(engine: &EngineHandle, command: Command, format: Format) -> Outcome {
    let driving = engine.is_driving();
    let drives_on = drives_on(&command);
    let printer = print::Progress::start(engine);
    let reply = engine.command(command).await.map_err(Failure::from)?;
    tell!("{}", reply.message);
    if !driving || !drives_on {
        printer.stop().await;
        if format == Format::Json {
            print::json(&json!({"message": reply.message, "loops": reply.loops}))?;
        }
        return Ok(Exit::Done);
    }
    // What the command set going has to be seen before idleness means anything.
    engine.settled().await;
    run::until_idle(engine, &reply.loops, None).await;
    printer.stop().await;
    run::conclude(engine, Vec::new(), format).await
}

pub async fn answer(
    place: &Place,
    question: String,
    choice: String,
    text: Option<String>,
    format: Format,
) -> Outcome {
    change(place, Command::Answer { question, choice, text }, format).await
}

pub async fn confirm(place: &Place, named: Named) -> Outcome {
    change(place, Command::Confirm { finding: named.id }, named.output.format).await
}

pub async fn defer(place: &Place, named: NamedWithReason) -> Outcome {
    change(place, Command::Defer { finding: named.id, reason: named.reason }, named.output.format).await
}

pub async fn dispute(place: &Place, named: NamedWithReason) -> Outcome {
    change(place, Command::Dispute { finding: named.id, reason: named.reason }, named.output.format).await
}

pub async fn reopen(place: &Place, named: Named) -> Outcome {
    change(place, Command::Reopen { finding: named.id }, named.output.format).await
}

pub async fn verify(place: &Place, named: Named) -> Outcome {
    change(place, Command::Verify { finding: named.id }, named.output.format).await
}

pub async fn undo(place: &Place, r#loop: String, format: Format) -> Outcome {
    change(place, Command::Undo { r#loop }, format).await
}

/// The root with the commands of its configuration, or the commands of one finding.
pub async fn trust(place: &Place, command_of: Option<String>, format: Format) -> Outcome {
    let command = command_of.map_or(Command::Trust, |finding| Command::Approve { finding });
    change(place, command, format).await
}
