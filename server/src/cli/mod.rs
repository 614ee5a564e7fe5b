//! The command line of DESIGN 4.
//!
//! Owns arguments, terminal and exit codes. JSON goes to stdout, everything else to stderr. Never decides anything about
//! findings or loops: it sends the engine the same commands as an editor does.

/// A line to stderr for people. One that cannot be written is dropped: whoever closed stderr has read enough, and what runs
/// goes on (`fix-loop run 2>&1 | head`).
macro_rules! tell {
    ($($words:tt)*) => { $crate::cli::print::line_to_people(format!($($words)*)) };
}

mod demo;
mod demo_agent;
mod doctor;
mod exit;
mod files;
mod logging;
mod print;
mod run;
mod serve;
mod session;
mod state;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand, ValueEnum};

use fix_loop::config::Protocol;

pub use exit::Exit;

/// Fixes confirmed review findings in a bounded loop, and shows what really happened.
#[derive(Parser)]
#[command(name = "fix-loop", version, about, disable_help_subcommand = true)]
struct Arguments {
    #[command(flatten)]
    place: Place,
    #[command(subcommand)]
    command: Subcommands,
}

/// Where a command works.
#[derive(Args, Clone, Debug)]
pub struct Place {
    /// The workspace folder [default: the nearest folder above with fix-loop.toml or .git]
    #[arg(long, value_name = "DIR", global = true)]
    workspace: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Json,
}

#[derive(Args, Clone, Debug)]
pub struct Output {
    /// How to report: JSON goes to stdout, everything else to stderr
    #[arg(long, value_enum, default_value = "text")]
    format: Format,
}

#[derive(Subcommand)]
enum Subcommands {
    /// Serve an editor over stdin and stdout
    Lsp {
        /// Accepted and ignored: stdio is the only transport
        #[arg(long)]
        stdio: bool,
    },
    /// Fix confirmed findings without an editor
    Run(run::RunArguments),
    /// Review the committed diff and fix what is confirmed (protocol converge)
    Review(run::ReviewArguments),
    /// Print a findings file of any known format, or a pull request's comments, as ReviewOutput v1
    Import {
        /// A file, `-` for stdin, or a pull-request URL
        source: String,
        #[command(flatten)]
        output: Output,
    },
    /// Show findings, loops and open questions
    Status {
        #[command(flatten)]
        output: Output,
    },
    /// Answer an open question
    Answer {
        question: String,
        /// The option's text, or its number from 1
        choice: String,
        /// What to tell the next worker, where the question takes words
        #[arg(long)]
        text: Option<String>,
        #[command(flatten)]
        output: Output,
    },
    /// Confirm a finding that nobody has confirmed yet: it can be fixed then
    Confirm(state::Named),
    /// Hide a finding until it is reopened
    Defer(state::NamedWithReason),
    /// Say that a finding is wrong
    Dispute(state::NamedWithReason),
    /// Open a deferred, disputed or resolved finding again
    Reopen(state::Named),
    /// Verify a fix that you made yourself
    Verify(state::Named),
    /// Restore what a finished loop changed, where the bytes are still its own
    Undo {
        r#loop: String,
        #[command(flatten)]
        output: Output,
    },
    /// Say what works here and what is missing
    Doctor {
        #[command(flatten)]
        output: Output,
    },
    /// Trust this workspace with the commands that its configuration names
    Trust {
        #[command(flatten)]
        output: Output,
        /// Approve the commands that this finding brings as checks, instead
        #[arg(long, value_name = "ID")]
        command_of: Option<String>,
    },
    /// Write a commented fix-loop.toml
    Init {
        #[command(flatten)]
        output: Output,
    },
    /// Make a small project with five findings and run the loop on it
    Demo {
        /// Where [default: a fresh temporary folder]
        dir: Option<PathBuf>,
        /// Open no loop: only make the project
        #[arg(long)]
        only_make: bool,
    },
    /// Print the state graph of a protocol
    Protocol {
        name: Protocol,
        #[arg(long, value_enum, default_value = "text")]
        format: GraphFormat,
    },
    /// Print a JSON Schema
    Schema {
        #[arg(value_enum)]
        of: SchemaOf,
        /// A schema is JSON, whatever is said here
        #[arg(long, value_enum, default_value = "json")]
        format: Format,
    },
    /// The supervisor: reads what to run from its parent
    #[command(hide = true)]
    Supervise,
    /// The demo's scripted agent: brief on stdin, report on stdout
    #[command(hide = true)]
    DemoAgent,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum GraphFormat {
    Text,
    Json,
    Mermaid,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum SchemaOf {
    Config,
    Findings,
}

pub fn main() -> ExitCode {
    let arguments = Arguments::parse();
    // Neither of these two may start threads or open files of its own.
    match arguments.command {
        Subcommands::Supervise => fix_loop::process::supervise_main(),
        Subcommands::DemoAgent => return demo_agent::main(),
        _ => {}
    }
    logging::start();
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .expect("a runtime can be made");
    let exit = runtime.block_on(obey(arguments.command, &arguments.place));
    // A blocking read of stdin would hold the runtime's end up for ever.
    runtime.shutdown_background();
    exit.into()
}

async fn obey(command: Subcommands, place: &Place) -> Exit {
    let result = match command {
        Subcommands::Lsp { stdio: _ } => serve::lsp().await,
        Subcommands::Run(arguments) => run::run(place, arguments).await,
        Subcommands::Review(arguments) => run::review(place, arguments).await,
        Subcommands::Import { source, output } => files::import(&source, place, output.format).await,
        Subcommands::Status { output } => state::status(place, output.format).await,
        Subcommands::Answer { question, choice, text, output } => {
            state::answer(place, question, choice, text, output.format).await
        }
        Subcommands::Confirm(named) => state::confirm(place, named).await,
        Subcommands::Defer(named) => state::defer(place, named).await,
        Subcommands::Dispute(named) => state::dispute(place, named).await,
        Subcommands::Reopen(named) => state::reopen(place, named).await,
        Subcommands::Verify(named) => state::verify(place, named).await,
        Subcommands::Undo { r#loop, output } => state::undo(place, r#loop, output.format).await,
        Subcommands::Doctor { output } => doctor::doctor(place, output.format).await,
        Subcommands::Trust { command_of, output } => state::trust(place, command_of, output.format).await,
        Subcommands::Init { output } => files::init(place, output.format),
        Subcommands::Demo { dir, only_make } => {
            demo::demo(dir.or_else(|| place.workspace.clone()), only_make).await
        }
        Subcommands::Protocol { name, format } => files::graph(name, format),
        Subcommands::Schema { of, format: _ } => files::schema(of),
        Subcommands::Supervise | Subcommands::DemoAgent => unreachable!("taken before the runtime starts"),
    };
    match result {
        Ok(exit) => exit,
        Err(failure) => {
            tell!("fix-loop: {failure}");
            failure.exit
        }
    }
}
