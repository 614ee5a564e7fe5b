//! `lsp`: the language server over stdin and stdout.

use std::path::PathBuf;

use fix_loop::engine::{self, EngineHandle};
use fix_loop::lsp::{self, EngineFactory};

use super::exit::{Exit, Failure, Outcome};
use super::session::{self, Wishes};

struct Factory;

impl EngineFactory for Factory {
    async fn open(
        &self,
        root: PathBuf,
        settings: Option<serde_json::Value>,
        trusted: Option<bool>,
    ) -> Result<EngineHandle, String> {
        let wishes =
            Wishes { trusted: trusted.unwrap_or(false), resume: true, asks: true, ..Wishes::default() };
        let mut setup = session::setup(root, wishes).map_err(|failure| failure.message)?;
        setup.settings = settings;
        setup.lenient = true;
        engine::start(setup).map_err(|error| error.to_string())
    }
}

pub async fn lsp() -> Outcome {
    match lsp::serve(tokio::io::stdin(), tokio::io::stdout(), Factory).await {
        0 => Ok(Exit::Done),
        _ => {
            Err(Failure { exit: Exit::Unresolved, message: "the editor went away without a shutdown".into() })
        }
    }
}
