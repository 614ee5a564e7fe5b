//! `run` and `review`: the loop without an editor.

use std::io::{BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};

use fix_loop::config::Protocol;
use fix_loop::engine::status::StatusLoop;
use fix_loop::engine::{Command, EngineHandle, QuestionView, RunReport, Snapshot};
use fix_loop::protocol::QuestionKind;

use super::exit::{Exit, Failure, Outcome};
use super::session::{self, Wishes};
use super::{Format, Output, Place, files, print};

#[derive(Args)]
pub struct RunArguments {
    /// Findings files, beside those in the inbox; `-` is stdin
    findings: Vec<PathBuf>,
    #[command(flatten)]
    output: Output,
    /// Which loop
    #[arg(long)]
    protocol: Option<Protocol>,
    /// The agent that fixes
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Only these findings
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    only: Vec<String>,
    /// Who answers questions [default: ask on a terminal, else none]
    #[arg(long, value_enum)]
    answer: Option<AnswerBy>,
    /// Trust this workspace for this run
    #[arg(long)]
    trust: bool,
    /// Take the findings from a pull request's review comments
    #[arg(long, value_name = "URL")]
    from_pr: Option<String>,
    /// Run this check and take each failing test as a confirmed P1 finding
    #[arg(long, value_name = "NAME")]
    from_check: Option<String>,
    /// Print batches, scopes, checks and agents; start nothing
    #[arg(long)]
    dry_run: bool,
}

#[derive(Args)]
pub struct ReviewArguments {
    #[command(flatten)]
    output: Output,
    /// The agent that fixes
    #[arg(long, value_name = "NAME")]
    agent: Option<String>,
    /// Who answers questions [default: ask on a terminal, else none]
    #[arg(long, value_enum)]
    answer: Option<AnswerBy>,
    /// Trust this workspace for this run
    #[arg(long)]
    trust: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum AnswerBy {
    /// You, at this terminal.
    Ask,
    /// Nobody: the recommended option is taken.
    Recommended,
    /// Nobody: the run ends as waiting.
    None,
}

fn answer_by(asked: Option<AnswerBy>) -> AnswerBy {
    asked.unwrap_or(if std::io::stdin().is_terminal() && std::io::stderr().is_terminal() {
        AnswerBy::Ask
    } else {
        AnswerBy::None
    })
}

/// What stopped a run is told in the one object too, so that a script reads one whatever happened.
fn in_json_too(outcome: Outcome, protocol: Option<Protocol>, format: Format) -> Outcome {
    if let (Err(failure), Format::Json) = (&outcome, format) {
        print::json(&RunReport::stopped(protocol.unwrap_or_default(), &failure.message))?;
    }
    outcome
}

pub async fn run(place: &Place, arguments: RunArguments) -> Outcome {
    let (protocol, format) = (arguments.protocol, arguments.output.format);
    in_json_too(run_loops(place, arguments).await, protocol, format)
}

pub async fn review(place: &Place, arguments: ReviewArguments) -> Outcome {
    let format = arguments.output.format;
    in_json_too(review_commits(place, arguments).await, Some(Protocol::Converge), format)
}

async fn run_loops(place: &Place, arguments: RunArguments) -> Outcome {
    let root = session::root(place)?;
    let mut paths = Vec::new();
    // What came from stdin or a pull request lives as long as this run.
    let mut held = Vec::new();
    for file in &arguments.findings {
        // A file that cannot be read stops the run before anything starts.
        let bytes = files::bytes_of(file)?;
        files::parse(&bytes, file, &root)?;
        if file == Path::new("-") {
            held.push(files::hold("stdin-", &bytes)?);
            continue;
        }
        paths.push(
            std::path::absolute(file)
                .map_err(|error| Failure::input(format!("{}: {error}", file.display())))?,
        );
    }
    if let Some(url) = &arguments.from_pr {
        held.push(files::pull_request(url, &root).await?);
    }
    paths.extend(held.iter().map(|file| file.path().to_path_buf()));
    let answer = answer_by(arguments.answer);
    let wishes = Wishes {
        trusted: arguments.trust || arguments.dry_run,
        protocol: arguments.protocol,
        agent: arguments.agent.clone(),
        files: paths,
        recommended: answer == AnswerBy::Recommended,
        asks: answer == AnswerBy::Ask,
        resume: !arguments.dry_run,
        look: arguments.dry_run,
        only_decides: arguments.dry_run,
    };
    let engine = session::start(root, wishes).await?;
    let result = drive(&engine, &arguments, answer).await;
    engine.shutdown().await;
    result
}

async fn drive(engine: &EngineHandle, arguments: &RunArguments, answer: AnswerBy) -> Outcome {
    let snapshot = engine.snapshot();
    if let Some(error) = snapshot.input_errors.first() {
        return Err(Failure::input(format!(
            "{}:{}:{}: {}",
            error.file, error.line, error.column, error.message
        )));
    }
    if arguments.dry_run {
        let plan = engine.plan(arguments.only.clone()).await?;
        match arguments.output.format {
            Format::Json => print::json(&plan)?,
            Format::Text => tell!("{}", plan.to_string().trim_end_matches('\n')),
        }
        return Ok(Exit::Done);
    }
    must_drive(engine, &snapshot)?;
    let printer = print::Progress::start(engine);
    if let Some(name) = &arguments.from_check {
        let reply = engine.command(Command::FromCheck { name: name.clone() }).await?;
        tell!("{}", reply.message);
    }
    for line in engine.plan(arguments.only.clone()).await?.beginning() {
        tell!("{line}");
    }
    let command = if arguments.only.is_empty() {
        Command::FixAll
    } else {
        Command::Fix { findings: arguments.only.clone() }
    };
    let reply = engine.command(command).await?;
    tell!("{}", reply.message);
    until_idle(engine, &reply.loops, (answer == AnswerBy::Ask).then_some(())).await;
    printer.stop().await;
    untrusted(engine).await?;
    conclude(engine, arguments.only.clone(), arguments.output.format).await
}

async fn review_commits(place: &Place, arguments: ReviewArguments) -> Outcome {
    let root = session::root(place)?;
    let answer = answer_by(arguments.answer);
    let wishes = Wishes {
        trusted: arguments.trust,
        protocol: Some(Protocol::Converge),
        agent: arguments.agent,
        recommended: answer == AnswerBy::Recommended,
        asks: answer == AnswerBy::Ask,
        resume: true,
        ..Wishes::default()
    };
    let engine = session::start(root, wishes).await?;
    let result = async {
        must_drive(&engine, &engine.snapshot())?;
        let printer = print::Progress::start(&engine);
        let reply = engine.command(Command::Review).await?;
        tell!("{}", reply.message);
        until_idle(&engine, &reply.loops, (answer == AnswerBy::Ask).then_some(())).await;
        printer.stop().await;
        untrusted(&engine).await?;
        conclude(&engine, Vec::new(), arguments.output.format).await
    }
    .await;
    engine.shutdown().await;
    result
}

/// Fixing has to be possible, and this process has to be the one that drives.
fn must_drive(engine: &EngineHandle, snapshot: &Snapshot) -> Result<(), Failure> {
    if let Some(why) = &snapshot.fixing_off {
        return Err(Failure::environment(why.clone()));
    }
    if !engine.is_driving() {
        let who = snapshot.status.driver.as_ref().map_or_else(
            || "another process".into(),
            |driver| format!("process {} on {}", driver.pid, driver.host),
        );
        return Err(Failure::environment(format!(
            "{who} drives this work tree; wait for it, or answer its questions with `fix-loop answer`"
        )));
    }
    Ok(())
}

async fn untrusted(engine: &EngineHandle) -> Result<(), Failure> {
    let snapshot = engine.snapshot();
    // The one about the whole root; whether one command of a finding may run belongs to its loop.
    let about_the_root =
        |question: &&QuestionView| question.kind == QuestionKind::Trust && question.r#loop.is_none();
    let Some(question) = snapshot.questions.iter().find(about_the_root) else {
        return Ok(());
    };
    // What was queued is not left to start by itself some day.
    let no = Command::Answer { question: question.id.clone(), choice: "2".into(), text: None };
    let _ = engine.command(no).await;
    Err(Failure::environment(format!(
        "this workspace is not trusted, so nothing was started. {}\nTrust it with `fix-loop trust`, or for this run with --trust.",
        question.detail
    )))
}

/// Waits until nothing is under way any more; asks at the terminal where `ask` says so.
///
/// SIGINT and SIGTERM cancel what is under way: the tree is restored and the findings stay open (DESIGN 6.8).
pub async fn until_idle(engine: &EngineHandle, loops: &[String], ask: Option<()>) {
    let mut stop = Signals::new();
    // What the command set going has to be seen before anything can be called idle.
    engine.settled().await;
    let mut watch = engine.watch();
    let mut asked: Vec<String> = Vec::new();
    loop {
        let snapshot = watch.borrow_and_update().clone();
        let known = loops.iter().all(|id| snapshot.status.loops.iter().any(|shown| shown.id == *id));
        if known && !snapshot.busy {
            let open = snapshot.questions.iter().find(|question| !asked.contains(&question.id));
            match (ask, open) {
                (Some(()), Some(question)) => {
                    asked.push(question.id.clone());
                    let chosen = tokio::select! {
                        chosen = ask_at_terminal(question) => chosen,
                        () = stop.any() => return,
                    };
                    if let Some(choice) = chosen {
                        let answer = Command::Answer { question: question.id.clone(), choice, text: None };
                        if let Err(refusal) = engine.command(answer).await {
                            tell!("{}", refusal.message);
                        }
                        engine.settled().await;
                    }
                    continue;
                }
                _ => return,
            }
        }
        let changed = tokio::select! {
            changed = watch.changed() => changed.is_ok(),
            () = stop.any() => {
                tell!("cancelling: the tree is restored");
                cancel(engine).await;
                true
            }
        };
        if !changed {
            return;
        }
    }
}

/// Everything that works or waits for its turn; what waits for an answer is left to wait.
async fn cancel(engine: &EngineHandle) {
    let snapshot = engine.snapshot();
    let waits = |id: &str| snapshot.questions.iter().any(|question| question.r#loop.as_deref() == Some(id));
    // The queued ones first, or the end of one would start the next.
    let mut live: Vec<&StatusLoop> = snapshot.status.loops.iter().filter(|shown| !waits(&shown.id)).collect();
    live.sort_by_key(|shown| shown.state != "queued");
    for shown in live {
        // Refused where it has just ended by itself.
        let _ = engine.command(Command::Cancel { r#loop: Some(shown.id.clone()) }).await;
    }
    engine.settled().await;
}

/// The signals that ask a program to end.
struct Signals {
    interrupt: Option<tokio::signal::unix::Signal>,
    terminate: Option<tokio::signal::unix::Signal>,
}

impl Signals {
    fn new() -> Signals {
        use tokio::signal::unix::{SignalKind, signal};
        Signals {
            interrupt: signal(SignalKind::interrupt()).ok(),
            terminate: signal(SignalKind::terminate()).ok(),
        }
    }

    async fn any(&mut self) {
        async fn one(signal: &mut Option<tokio::signal::unix::Signal>) {
            match signal {
                Some(signal) => drop(signal.recv().await),
                None => std::future::pending().await,
            }
        }
        tokio::select! {
            () = one(&mut self.interrupt) => {}
            () = one(&mut self.terminate) => {}
        }
    }
}

/// `None`: the question stays open.
async fn ask_at_terminal(question: &QuestionView) -> Option<String> {
    let question = question.clone();
    tokio::task::spawn_blocking(move || {
        let mut terminal = std::io::stderr();
        let _ = writeln!(terminal, "\n{}\n{}", question.text, question.detail);
        for (index, option) in question.options.iter().enumerate() {
            let mark = if *option == question.recommended { " (recommended)" } else { "" };
            let _ = writeln!(terminal, "  {}. {option}{mark}", index + 1);
        }
        loop {
            let _ = write!(terminal, "Choose 1-{} (empty: leave it open): ", question.options.len());
            let _ = terminal.flush();
            let mut line = String::new();
            if std::io::stdin().lock().read_line(&mut line).ok()? == 0 {
                return None;
            }
            let line = line.trim();
            if line.is_empty() {
                return None;
            }
            if line.parse::<usize>().is_ok_and(|number| (1..=question.options.len()).contains(&number)) {
                return Some(line.to_owned());
            }
        }
    })
    .await
    .ok()
    .flatten()
}

/// Prints the run report and gives its exit code.
pub async fn conclude(engine: &EngineHandle, only: Vec<String>, format: Format) -> Outcome {
    let report = engine.report_on(only).await?;
    match format {
        Format::Json => {
            print::ending(&report);
            print::json(&report)?;
        }
        Format::Text => print::report(&report, &engine.snapshot()),
    }
    Ok(Exit::of_report(report.exit))
}
