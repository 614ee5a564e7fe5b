//! Running one check, and running it again where a failure might be chance (R37, R38, R40).
//!
//! Starts programs through [`crate::process`] only; reads what they wrote through [`super::readers`]. Never decides
//! what a failure means for a finding: [`super::judge`] does.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::instrument::{Instrumented, instrument};
use super::output::comparable_tail;
use super::readers::{self, Project, Raw, Reading};
use super::{
    Check, CheckRun, Command, Excerpt, Failure, Outcome, Reader, TestsRun, What, Why, environment, pattern,
};
use crate::process::{Cancel, Ended, How, Keep, Spec, Supervisor, Watch};

/// Test results are read from the output, so more of it is kept than is shown.
const KEEP: Keep = Keep { head: 1024 * 1024, tail: 4 * 1024 * 1024 };
/// Reports beyond this are not read; the text is.
const LARGEST_REPORT: u64 = 64 * 1024 * 1024;
/// How long a check may take to end when told to.
const GRACE: Duration = Duration::from_secs(3);

/// Runs a check; any failure is repeated once on the same tree, and is inconclusive when it does not come again.
pub async fn run(check: &Check, root: &Path, supervisor: &Supervisor, cancel: &Cancel) -> CheckRun {
    settled(check, root, supervisor, cancel, &BTreeSet::new(), None).await
}

/// The run before a fix: as [`run`], since a test that fails by chance before the fix would make it look like one.
pub async fn run_before(check: &Check, root: &Path, supervisor: &Supervisor, cancel: &Cancel) -> CheckRun {
    run(check, root, supervisor, cancel).await
}

/// The run after a fix: only failures that were not there before are repeated.
pub async fn run_after(
    check: &Check,
    root: &Path,
    supervisor: &Supervisor,
    cancel: &Cancel,
    before: &CheckRun,
) -> CheckRun {
    let expected = before.failure().map(|failure| failure.tests.clone()).unwrap_or_default();
    settled(check, root, supervisor, cancel, &expected, before.failure()).await
}

async fn settled(
    check: &Check,
    root: &Path,
    supervisor: &Supervisor,
    cancel: &Cancel,
    expected: &BTreeSet<String>,
    before: Option<&Failure>,
) -> CheckRun {
    if check.is_pattern() {
        return pattern::run(check, root);
    }
    let first = once(check, root, supervisor, cancel).await;
    let Some(failure) = first.failure() else { return first };
    let known = before.is_some_and(|before| failure.same_as(before))
        || !failure.tests.is_empty() && failure.tests.is_subset(expected);
    if known {
        return first;
    }
    let second = once(check, root, supervisor, cancel).await;
    settle(first, second, expected)
}

/// Takes two runs on the same tree together: what failed only once is chance.
fn settle(first: CheckRun, second: CheckRun, expected: &BTreeSet<String>) -> CheckRun {
    let seconds = first.seconds + second.seconds;
    let leftovers = first.leftovers + second.leftovers;
    let mut both = match (&first.outcome, &second.outcome) {
        (Outcome::Failed(failed), Outcome::Passed) => {
            let flaky: BTreeSet<String> = failed.tests.difference(expected).cloned().collect();
            let outcome = Outcome::Inconclusive(Why::Flaky(flaky.clone()));
            CheckRun { outcome, flaky, ..first }
        }
        (Outcome::Failed(one), Outcome::Failed(two)) if !one.tests.is_empty() && !two.tests.is_empty() => {
            let steady: BTreeSet<String> = one.tests.intersection(&two.tests).cloned().collect();
            let flaky: BTreeSet<String> = one.tests.symmetric_difference(&two.tests).cloned().collect();
            if steady.is_empty() {
                CheckRun { outcome: Outcome::Inconclusive(Why::Flaky(flaky.clone())), flaky, ..first }
            } else {
                let details =
                    one.details.iter().filter(|test| steady.contains(&test.name)).cloned().collect();
                let failure = Failure { tests: steady, details, ..two.clone() };
                CheckRun { outcome: Outcome::Failed(failure), flaky, ..second }
            }
        }
        // It stopped, or failed twice without names: the second run is the word, and the first is not contradicted.
        (_, _) => second,
    };
    both.seconds = seconds;
    both.leftovers = leftovers;
    both
}

/// One run, with the wider one in its place when narrowing found no test.
async fn once(check: &Check, root: &Path, supervisor: &Supervisor, cancel: &Cancel) -> CheckRun {
    let What::Command(command) = &check.what else { return pattern::run(check, root) };
    let narrow = start(check, command, &command.argv, command.limit, root, supervisor, cancel).await;
    match (&narrow.outcome, &command.wider) {
        (Outcome::Inconclusive(Why::NothingRan), Some(wider)) => {
            // One wall clock for both.
            let left = command.limit.saturating_sub(Duration::from_secs_f64(narrow.seconds));
            let mut wide = start(check, command, wider, left, root, supervisor, cancel).await;
            wide.seconds += narrow.seconds;
            wide.leftovers += narrow.leftovers;
            wide
        }
        _ => narrow,
    }
}

async fn start(
    check: &Check,
    command: &Command,
    argv: &[String],
    limit: Duration,
    root: &Path,
    supervisor: &Supervisor,
    cancel: &Cancel,
) -> CheckRun {
    let cannot = |reason: String| {
        let mut run = CheckRun::bare(check.name.clone(), Outcome::Inconclusive(Why::CannotStart(reason)));
        run.argv = argv.to_vec();
        run
    };
    let scratch = match tempfile::Builder::new().prefix("fix-loop-check-").tempdir() {
        Ok(scratch) => scratch,
        Err(error) => return cannot(format!("no temporary folder could be made: {error}")),
    };
    let cwd = match folder(root, &command.cwd) {
        Ok(cwd) => cwd,
        Err(reason) => return cannot(reason),
    };
    let Instrumented { argv: full, report } = instrument(argv, check.reader, scratch.path());
    let spec = Spec {
        argv: full,
        cwd,
        env: environment::of_check(command, root, scratch.path()),
        stdin: Vec::new(),
        limit,
        grace: GRACE,
        keep: KEEP,
    };
    let ended = supervisor.run(spec, cancel, Watch::default()).await;
    let report = report.and_then(|path| read_report(&path));
    let project = Project::new(root, &command.cwd);
    let mut run = conclude(check, command, &ended, report.as_deref(), &project);
    run.argv = argv.to_vec();
    run
}

/// A check's folder, resolved, and never outside the root (DESIGN 11).
fn folder(root: &Path, cwd: &Path) -> Result<std::path::PathBuf, String> {
    let root = root.canonicalize().map_err(|error| format!("{}: {error}", root.display()))?;
    let folder = root
        .join(cwd)
        .canonicalize()
        .map_err(|error| format!("its folder {} cannot be used: {error}", cwd.display()))?;
    if folder.starts_with(&root) {
        Ok(folder)
    } else {
        Err(format!("its folder {} leads out of the workspace", cwd.display()))
    }
}

fn read_report(path: &Path) -> Option<String> {
    let length = path.metadata().ok()?.len();
    if length > LARGEST_REPORT {
        return None;
    }
    std::fs::read(path).ok().map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
}

/// What an ended program means.
fn conclude(
    check: &Check,
    command: &Command,
    ended: &Ended,
    report: Option<&str>,
    project: &Project,
) -> CheckRun {
    let stdout = ended.stdout.text();
    let stderr = ended.stderr.text();
    let exit = match ended.how {
        How::Exited(code) => Some(code),
        _ => None,
    };
    let raw = Raw { stdout: &stdout, stderr: &stderr, report, exit };
    let reading = readers::read(check.reader, &raw, project);
    let shown = reading.shown.as_deref().unwrap_or(&stdout);
    let output = match (shown.trim_end(), stderr.trim_end()) {
        (out, "") => out.to_owned(),
        ("", err) => err.to_owned(),
        (out, err) => format!("{out}\n{err}"),
    };
    let outcome = match &ended.how {
        How::Cancelled => Outcome::Inconclusive(Why::Cancelled),
        How::OverLimit => Outcome::Inconclusive(Why::TimeLimit(command.limit)),
        How::Signalled(signal) => Outcome::Inconclusive(Why::Signal(*signal)),
        How::NotStarted { message, .. } => Outcome::Inconclusive(Why::CannotStart(message.clone())),
        How::Exited(code) => by_exit(check, *code, &reading, &output, &stderr),
    };
    let mut run = CheckRun::bare(check.name.clone(), outcome);
    run.ran = reading.ran.filter(|_| exit.is_some());
    run.tests = reading.tests.filter(|_| exit.is_some());
    run.output = Excerpt::of_run(&output);
    run.seconds = ended.elapsed.as_secs_f64();
    run.leftovers = ended.leftovers;
    run
}

fn by_exit(check: &Check, code: i32, reading: &Reading, output: &str, stderr: &str) -> Outcome {
    if let Some(reason) = &reading.cannot_start {
        return Outcome::Inconclusive(Why::CannotStart(reason.clone()));
    }
    if code == 0 {
        // A runner that exits well without having run a test has shown nothing. Failing tests behind a good exit
        // code are the project's own decision (expected failures, `|| true`): not ours to call passed either.
        return match (reading.ran, reading.failing.is_empty()) {
            (Some(0), true) if runs_tests(check) => Outcome::Inconclusive(Why::NothingRan),
            // A known runner that said nothing was ended from inside (`os._exit(0)`), or told not to run anything.
            (None, true) if runs_tests(check) && is_known_runner(check.reader) => {
                Outcome::Inconclusive(Why::NothingRan)
            }
            (_, true) => Outcome::Passed,
            (_, false) => failed(code, reading, output),
        };
    }
    if reading.failing.is_empty() {
        if reading.ran == Some(0) {
            return Outcome::Inconclusive(Why::NothingRan);
        }
        if let Some(reason) = not_the_code(check, code, stderr) {
            return Outcome::Inconclusive(Why::CannotStart(reason));
        }
    }
    failed(code, reading, output)
}

fn is_known_runner(reader: Reader) -> bool {
    !matches!(reader, Reader::Any | Reader::Plain)
}

fn runs_tests(check: &Check) -> bool {
    match &check.what {
        What::Command(command) => command.kind == super::Kind::Test,
        What::Absent { .. } | What::Present { .. } => false,
    }
}

/// Exit codes and messages that speak of the runner, not of the code under test.
fn not_the_code(check: &Check, code: i32, stderr: &str) -> Option<String> {
    let line = |words: &[&str]| {
        stderr
            .lines()
            .rev()
            .find(|line| words.iter().any(|words| line.contains(words)))
            .map(|line| line.trim().to_owned())
    };
    match code {
        127 => {
            return Some(
                line(&["not found"]).unwrap_or_else(|| "a program it needs was not found".to_owned()),
            );
        }
        126 => {
            let reason = line(&["Permission denied", "cannot execute"]);
            return Some(reason.unwrap_or_else(|| "a program it needs cannot be executed".to_owned()));
        }
        _ => {}
    }
    match check.reader {
        Reader::Pytest | Reader::Unittest | Reader::Any | Reader::Plain => {
            let argv = check.argv();
            let module = argv.iter().position(|word| word == "-m").and_then(|at| argv.get(at + 1));
            let module =
                module.map(String::as_str).or((check.reader == Reader::Pytest).then_some("pytest"))?;
            line(&[&format!("No module named {module}")])
                .filter(|line| !line.starts_with("ModuleNotFoundError"))
        }
        Reader::Jest => {
            line(&["Cannot find module", "is not recognized", "could not determine executable to run"])
        }
        Reader::Tap => line(&["Could not find '", "bad option"]),
        Reader::Libtest | Reader::Nextest => line(&["error: no such command", "rustup could not choose"]),
        Reader::Go => line(&["go: cannot find main module", "go: go.mod file not found"]),
    }
}

fn failed(code: i32, reading: &Reading, output: &str) -> Outcome {
    Outcome::Failed(Failure {
        tests: reading.failing.iter().map(|test| test.name.clone()).collect(),
        exit: Some(code),
        tail: comparable_tail(output),
        details: reading.failing.clone(),
    })
}

impl CheckRun {
    /// Whether the runner named the tests that passed.
    pub fn names_passed_tests(&self) -> bool {
        self.tests.as_ref().is_some_and(|TestsRun { passed, .. }| !passed.is_empty())
    }
}
