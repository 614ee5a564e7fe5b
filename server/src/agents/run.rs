//! One dispatch: start the agent, follow it, ask once more for a missing report, and say how it ended.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tokio::sync::mpsc::{self, UnboundedSender};
use tokio::sync::oneshot;

use super::agent::{AgentSpec, Cli, Kind, SchemaVia};
use super::brief::Brief;
use super::buffers::Buffers;
use super::command_line::arguments;
use super::failure::{Failure, FailureClass, classify};
use super::follow_up::{follow_up, missing_from};
use super::outcome::{Outcome, Usage};
use super::parse::{ReportProblem, parse_report, parse_value};
use super::probe::outdated;
use super::report::Report;
use super::stream::{Output, Progress, Reading};
use super::transcript::{Transcript, path_of};
use super::{excerpt, prompt, schema, suggested};
use crate::process::{
    Cancel, Ended, How, Identity, Keep, Line, Spec, Supervisor, Watch, base_environment, set_variable,
};

/// One dispatch.
#[derive(Debug)]
pub struct Job {
    pub brief: Brief,
    pub agent: AgentSpec,
    /// In the agent's own words.
    pub model: Option<String>,
    pub effort: Option<String>,
    /// The folder to work in.
    pub cwd: PathBuf,
    /// Folders elsewhere that a worker that may edit has to write into as well: a linked worktree's commits end up there.
    pub also_writes: Vec<PathBuf>,
    /// Where the worker's transcript is written.
    pub transcript_dir: PathBuf,
    /// Wall-clock limit of the whole dispatch, follow-up included.
    pub limit: Duration,
    /// What the editor holds unsaved of the files in `cwd`.
    pub buffers: Buffers,
    /// Told the agent's process as soon as it runs, so that recovery can find it.
    pub started: Option<oneshot::Sender<Identity>>,
}

pub(super) const GRACE: Duration = Duration::from_secs(5);
/// A follow-up that could not even start up in this time is not begun.
pub(super) const LEAST: Duration = Duration::from_secs(1);
/// A whole report fits, also behind a lot of chatter.
pub(super) const KEEP: Keep = Keep { head: 4 * 1024 * 1024, tail: 4 * 1024 * 1024 };

/// Runs one dispatch to its end. When this returns, no process of the agent is left. The report is valid in form; what
/// it claims is for the engine to compare with the tree.
pub async fn run(
    job: Job,
    supervisor: &Supervisor,
    cancel: &Cancel,
    progress: Option<UnboundedSender<Progress>>,
) -> Outcome {
    let began = Instant::now();
    let agent = job.agent.name.clone();
    let fail = |class, message: &str| Outcome {
        result: Err(Failure::new(class, &agent, message)),
        usage: Usage::default(),
        elapsed: began.elapsed(),
        leftovers: 0,
        denied: None,
    };
    if job.brief.is_empty() {
        return fail(FailureClass::Environment, "the brief is empty, so there is nothing to dispatch");
    }
    if cancel.is_cancelled() {
        return fail(FailureClass::Cancelled, "cancelled before it started");
    }
    match job.agent.kind.clone() {
        Kind::Suggested => Outcome {
            result: suggested::apply(&job.brief, &job.cwd),
            usage: Usage::default(),
            elapsed: began.elapsed(),
            leftovers: 0,
            denied: None,
        },
        Kind::Command { command } => Dispatch::new(job, supervisor, cancel, progress).command(command).await,
        Kind::Cli(cli) => Dispatch::new(job, supervisor, cancel, progress).cli(&cli).await,
        Kind::Acp { command } => Dispatch::new(job, supervisor, cancel, progress).acp(command).await,
    }
}

pub(super) struct Dispatch<'a> {
    pub(super) job: Job,
    pub(super) supervisor: &'a Supervisor,
    pub(super) cancel: &'a Cancel,
    pub(super) progress: Option<UnboundedSender<Progress>>,
    began: Instant,
    limit: Duration,
    pub(super) leftovers: u32,
    pub(super) usage: Usage,
    pub(super) denied: Vec<String>,
    pub(super) transcript: Option<Transcript>,
}

/// What one start of a program came to.
enum Turn {
    Report(Box<Report>),
    /// It ended well, and its report is missing or invalid.
    Problem(ReportProblem),
    Failed(Failure),
}

impl<'a> Dispatch<'a> {
    pub(super) fn new(
        job: Job,
        supervisor: &'a Supervisor,
        cancel: &'a Cancel,
        progress: Option<UnboundedSender<Progress>>,
    ) -> Self {
        let limit = job.agent.limit.map_or(job.limit, |own| own.min(job.limit));
        let transcript = Transcript::open(&job.transcript_dir, &job.brief.worker);
        Dispatch {
            job,
            supervisor,
            cancel,
            progress,
            began: Instant::now(),
            limit,
            leftovers: 0,
            usage: Usage::default(),
            denied: Vec::new(),
            transcript: Some(transcript),
        }
    }

    pub(super) fn end(mut self, result: Result<Report, Failure>) -> Outcome {
        if let Some(mut transcript) = self.transcript.take() {
            match &result {
                Ok(report) => {
                    transcript.note(&format!("report: {}", serde_json::to_string(report).unwrap_or_default()))
                }
                Err(failure) => {
                    transcript.note(&format!("no report ({:?}): {}", failure.class, failure.message))
                }
            }
            transcript.close();
        }
        Outcome {
            result,
            usage: self.usage,
            elapsed: self.began.elapsed(),
            leftovers: self.leftovers,
            denied: (!self.denied.is_empty())
                .then(|| Failure::not_allowed(&self.job.agent.name, &self.denied)),
        }
    }

    pub(super) fn failure(&self, class: FailureClass, message: impl Into<String>) -> Failure {
        Failure::new(class, &self.job.agent.name, message)
    }

    /// `editing`: for a turn that may edit.
    pub(super) fn environment(&self, editing: bool) -> Vec<(String, String)> {
        let agent = &self.job.agent;
        let mut env = base_environment(&agent.pass_env);
        let of_role = if editing { &agent.editing_env } else { &agent.reading_env };
        for (key, value) in agent.env.iter().chain(of_role) {
            set_variable(&mut env, key, value.clone());
        }
        env
    }

    pub(super) fn prompt(&self) -> String {
        let brief = &self.job.brief;
        match self.job.agent.templates.get(&brief.role) {
            Some(template) => prompt::prompt_with(brief, template),
            None => prompt::prompt(brief),
        }
    }

    pub(super) fn remaining(&self) -> Duration {
        self.limit.saturating_sub(self.began.elapsed())
    }

    /// Starts the program once and follows its lines.
    async fn start(
        &mut self,
        argv: Vec<String>,
        env: Vec<(String, String)>,
        stdin: Vec<u8>,
        cancel: &Cancel,
        mut on_line: impl FnMut(&Line) -> Vec<Progress>,
    ) -> Ended {
        let spec = Spec {
            argv,
            cwd: self.job.cwd.clone(),
            env,
            stdin,
            limit: self.remaining().max(Duration::from_millis(1)),
            grace: GRACE,
            keep: KEEP,
        };
        if let Some(transcript) = &mut self.transcript {
            // The program only: arguments may hold the whole brief.
            let program = spec.argv.first().map(String::as_str).unwrap_or_default();
            transcript.note(&format!(
                "{} round {} worker {}: {} ({program})",
                self.job.brief.role.as_str(),
                self.job.brief.round,
                self.job.brief.worker,
                self.job.agent.name
            ));
        }
        let (sender, mut lines) = mpsc::unbounded_channel();
        let watch = Watch { started: self.job.started.take(), lines: Some(sender) };
        let mut transcript = self.transcript.take();
        let progress = self.progress.clone();
        let follow = async {
            while let Some(line) = lines.recv().await {
                for step in on_line(&line) {
                    if let Some(progress) = &progress {
                        let _ = progress.send(step);
                    }
                }
                if let Some(transcript) = &mut transcript {
                    transcript.line(&line);
                }
            }
        };
        let (ended, ()) = tokio::join!(self.supervisor.run(spec, cancel, watch), follow);
        self.transcript = transcript;
        self.leftovers = self.leftovers.saturating_add(ended.leftovers);
        ended
    }

    /// What is the same for every program: endings that are not its own.
    pub(super) fn not_its_own(&self, how: &How, last_words: &str) -> Option<Failure> {
        let with_words = |text: String| excerpt::with_last(text, last_words);
        Some(match how {
            How::Exited(_) => return None,
            How::NotStarted { kind, message } => Failure::not_started(&self.job.agent.name, *kind, message),
            How::Cancelled => self.failure(FailureClass::Cancelled, "cancelled"),
            How::OverLimit => {
                let seconds = self.limit.as_secs_f64();
                self.failure(
                    FailureClass::OverLimit,
                    with_words(format!("stopped at its limit of {seconds:.0} seconds")),
                )
            }
            How::Signalled(signal) => {
                self.failure(FailureClass::Agent, with_words(format!("it was ended by signal {signal}")))
            }
        })
    }

    async fn command(mut self, command: Vec<String>) -> Outcome {
        let stdin = match serde_json::to_vec(&self.job.brief) {
            Ok(bytes) => bytes,
            Err(error) => {
                let failure =
                    self.failure(FailureClass::Environment, format!("the brief cannot be written: {error}"));
                return self.end(Err(failure));
            }
        };
        let env = self.environment(self.job.brief.role.may_edit());
        let ended = self.start(command, env, stdin, self.cancel, |_| Vec::new()).await;
        let stdout = ended.stdout.lossy();
        let last_words = excerpt::last_line(&ended.stderr.text(), 300);
        let result = match (self.not_its_own(&ended.how, &last_words), &ended.how) {
            (Some(failure), _) => Err(failure),
            (None, How::Exited(0)) => parse_report(self.job.brief.role, self.job.brief.protocol, &stdout)
                .map_err(|problem| self.unreported(problem)),
            (None, How::Exited(code @ (126 | 127))) => {
                let message = format!("the command could not be run (exit code {code}): {last_words}");
                Err(self.failure(FailureClass::Environment, message))
            }
            (None, how) => {
                let words = if last_words.is_empty() { excerpt::last_line(&stdout, 300) } else { last_words };
                let class = match parse_report(self.job.brief.role, self.job.brief.protocol, &stdout) {
                    Err(ReportProblem::AgentError(message)) => classify(None, &message),
                    _ => FailureClass::Agent,
                };
                let code = if let How::Exited(code) = how { *code } else { -1 };
                Err(self.failure(class, format!("the command ended with exit code {code}: {words}")))
            }
        };
        self.end(result)
    }

    /// A program that ended well and gave no valid report.
    pub(super) fn unreported(&self, problem: ReportProblem) -> Failure {
        match &problem {
            ReportProblem::AgentError(message) => self.failure(classify(None, message), problem.to_string()),
            _ => self.failure(FailureClass::NoReport, problem.to_string()),
        }
    }

    async fn cli(mut self, cli: &Cli) -> Outcome {
        let text = cli.shielded(self.prompt());
        let schema_argument = match self.schema_argument(cli) {
            Ok(argument) => argument,
            Err(failure) => return self.end(Err(failure)),
        };
        let mut tries = self.job.agent.retries.saturating_add(1);
        let (mut turn, mut reading) = loop {
            let (turn, reading) = self.turn(cli, &text, schema_argument.as_deref(), None).await;
            self.account(&reading, None);
            self.denied.extend(reading.denied.iter().cloned());
            tries -= 1;
            match &turn {
                Turn::Failed(failure)
                    if failure.class == FailureClass::Service && reading.tools == 0 && tries > 0 => {}
                _ => break (turn, reading),
            }
        };
        let mut incomplete = None;
        let problem = match &turn {
            Turn::Problem(problem) => Some(problem.clone()),
            // A report that leaves findings out is asked for once more; then it counts for what it says.
            Turn::Report(report) => {
                let missing = missing_from(report, &self.job.brief);
                incomplete = missing.is_some().then(|| report.clone());
                missing.map(|missing| ReportProblem::Incomplete(format!("the findings {missing}")))
            }
            Turn::Failed(_) => None,
        };
        if let Some(problem) = problem
            && let Some(session) = reading.session.clone()
            && !cli.resume.is_empty()
            && self.remaining() > LEAST
        {
            if let Some(transcript) = &mut self.transcript {
                transcript.note(&format!("asked again: {problem}"));
            }
            let text = cli.shielded(follow_up(&problem, &self.job.brief.report_schema));
            let before = reading.usage;
            (turn, reading) = self.turn(cli, &text, schema_argument.as_deref(), Some(&session)).await;
            self.account(&reading, Some(before));
        }
        let result = match turn {
            Turn::Report(report) => Ok(*report),
            Turn::Problem(problem) => Err(self.unreported(problem)),
            Turn::Failed(failure) => Err(failure),
        };
        let result = match (result, incomplete) {
            (Err(failure), Some(report)) if failure.class == FailureClass::NoReport => Ok(*report),
            (Err(failure), _) => Err(self.unless_outdated(failure).await),
            (result, _) => result,
        };
        self.end(result)
    }

    /// What an old program does with arguments that it does not know looks like anything. Its version is only asked for
    /// where nothing else is to blame.
    async fn unless_outdated(&self, failure: Failure) -> Failure {
        if !matches!(failure.class, FailureClass::Agent | FailureClass::NoReport) {
            return failure;
        }
        match outdated(&self.job.agent, self.supervisor, &self.job.cwd).await {
            Some(message) => {
                let advice = format!("update {}, then try again", self.job.agent.name);
                Failure { advice, ..self.failure(FailureClass::Environment, message) }
            }
            None => failure,
        }
    }

    /// Adds up what a turn cost. `before` is the session's cost so far, for agents that tell the session's sum.
    fn account(&mut self, reading: &Reading, before: Option<Usage>) {
        let mut usage = reading.usage;
        if reading.counts_session()
            && let Some(before) = before
        {
            usage.tokens = usage.tokens.map(|sum| sum.saturating_sub(before.tokens.unwrap_or(0)));
        }
        self.usage.add(usage);
    }

    fn schema_argument(&self, cli: &Cli) -> Result<Option<String>, Failure> {
        let whole = &self.job.brief.report_schema;
        match &cli.schema {
            SchemaVia::PromptOnly => Ok(None),
            SchemaVia::Inline(_) => Ok(Some(whole.to_string())),
            SchemaVia::File(_) => {
                let path = self.write_beside("schema.json", &schema::strict(whole).to_string())?;
                Ok(Some(path.to_string_lossy().into_owned()))
            }
        }
    }

    /// Writes a file that the program is to read, beside the worker's transcript.
    fn write_beside(&self, extension: &str, text: &str) -> Result<PathBuf, Failure> {
        let path = path_of(&self.job.transcript_dir, &self.job.brief.worker, extension);
        match std::fs::write(&path, text) {
            Ok(()) => Ok(path),
            Err(error) => {
                let message = format!("{} cannot be written: {error}", path.display());
                Err(self.failure(FailureClass::Environment, message))
            }
        }
    }

    async fn turn(
        &mut self,
        cli: &Cli,
        text: &str,
        schema_argument: Option<&str>,
        session: Option<&str>,
    ) -> (Turn, Reading) {
        let editing = self.job.brief.role.may_edit() && session.is_none();
        let argv = arguments(cli, &self.job, editing, text, schema_argument, session);
        if let Some((extension, rules)) = cli.reading_rules.as_ref().filter(|_| !editing)
            && let Err(failure) = self.write_beside(extension, rules)
        {
            return (Turn::Failed(failure), Reading::new(cli.output, ""));
        }
        let env = self.environment(editing);
        let stdin = if cli.takes_argument() { Vec::new() } else { text.as_bytes().to_vec() };
        let mut reading =
            Reading::new(cli.output, &self.job.cwd.to_string_lossy()).impatient(cli.retrying.clone());
        let stop = self.cancel.child_token();
        let ended = self
            .start(argv, env, stdin, &stop, |line| {
                let progress = match line.stream {
                    crate::process::Stream::Stdout => reading.line(&line.text),
                    crate::process::Stream::Stderr => reading.complaint_line(&line.text),
                };
                if reading.gave_up {
                    stop.cancel();
                }
                progress
            })
            .await;
        reading.finish(&ended.stdout.lossy(), &ended.stderr.lossy());
        let turn = self.judge(cli, &ended, &reading);
        (turn, reading)
    }

    fn judge(&self, cli: &Cli, ended: &Ended, reading: &Reading) -> Turn {
        let stderr = excerpt::last_line(&ended.stderr.text(), 300);
        let last_words = reading.error.as_ref().map_or(stderr.as_str(), |error| error.message.as_str());
        // That we ended it for trying again and again is the service's failure, not a wish of the user's.
        let ours = reading.gave_up && ended.how == How::Cancelled && !self.cancel.is_cancelled();
        if let Some(failure) = self.not_its_own(&ended.how, last_words).filter(|_| !ours) {
            return Turn::Failed(failure);
        }
        if let Some(error) = &reading.error {
            return Turn::Failed(self.failure(classify(error.status, &error.message), &error.message));
        }
        let (role, protocol) = (self.job.brief.role, self.job.brief.protocol);
        if reading.schema_unmet {
            // It may have said in prose what it could not say otherwise; it is validated here again in any case.
            return match reading.text.as_deref().map(|text| parse_report(role, protocol, text)) {
                Some(Ok(report)) => Turn::Report(Box::new(report)),
                _ => Turn::Problem(ReportProblem::Invalid("it never fitted the schema".to_owned())),
            };
        }
        let parsed = match (&reading.structured, &reading.text) {
            (Some(value), _) => parse_value(role, protocol, value),
            (None, Some(text)) => parse_report(role, protocol, text),
            (None, None) => Err(ReportProblem::Empty),
        };
        let code = if let How::Exited(code) = ended.how { code } else { -1 };
        if code != 0 {
            // It says that it failed. A report beside that is no report.
            let words = match (&reading.text, cli.output) {
                (Some(text), Output::Text) if stderr.is_empty() => excerpt::last_line(text, 300),
                _ => stderr,
            };
            let class = match code {
                126 | 127 => FailureClass::Environment,
                _ => classify(None, &words),
            };
            return Turn::Failed(self.failure(class, format!("it ended with exit code {code}: {words}")));
        }
        match parsed {
            Ok(report) => Turn::Report(Box::new(report)),
            Err(ReportProblem::AgentError(message)) => {
                Turn::Failed(self.failure(classify(None, &message), &message))
            }
            Err(problem) => Turn::Problem(problem),
        }
    }
}

/// Where a worker's transcript lies.
pub fn transcript_path(folder: &Path, worker: &str) -> PathBuf {
    path_of(folder, worker, "log")
}
