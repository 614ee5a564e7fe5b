//! `doctor`: what works here and what is missing.

use super::exit::{Exit, Outcome};
use super::{Format, Place, print, session};

pub async fn doctor(place: &Place, format: Format) -> Outcome {
    let root = session::root(place)?;
    let examined =
        fix_loop::engine::examine(&root, session::user_config().as_deref(), &session::supervisor()?).await;
    match format {
        Format::Json => print::json(&examined)?,
        Format::Text => {
            for line in &examined.lines {
                let state = match line.state {
                    fix_loop::engine::LineState::Ok => "ok     ",
                    fix_loop::engine::LineState::Note => "note   ",
                    fix_loop::engine::LineState::Missing => "missing",
                };
                tell!("{state}  {:<16} {}", line.what, line.says);
            }
            tell!("\n{}", if examined.ready { "Ready." } else { "Not ready: see `missing` above." });
        }
    }
    Ok(if examined.ready { Exit::Done } else { Exit::Environment })
}
