//! The `fix-loop` program: started in a repository, waited for with a deadline, never left behind.

use std::ffi::{OsStr, OsString};
use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread::JoinHandle;
use std::time::Duration;

use serde_json::Value;

use crate::{DEADLINE, Repo};

/// The program under test: `FIX_LOOP_BIN`, else the one that was built beside this test.
pub fn binary() -> PathBuf {
    if let Some(path) = std::env::var_os("FIX_LOOP_BIN") {
        return PathBuf::from(path);
    }
    let test = std::env::current_exe().expect("a running program has a path");
    let folder = test.parent().and_then(Path::parent).expect("tests are built in target/PROFILE/deps");
    let path = folder.join("fix-loop");
    assert!(path.exists(), "{} is not built; run `cargo build` or `tests/run`", path.display());
    path
}

/// One call of the program, not yet started.
pub struct FixLoop {
    command: Command,
    stdin: Option<String>,
}

/// How it ended.
#[derive(Debug)]
pub struct Output {
    /// `None`: by a signal.
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

/// The program while it runs. Ended when dropped.
pub struct Running {
    child: Child,
    name: String,
    stdout: Option<JoinHandle<String>>,
    stderr: Option<JoinHandle<String>>,
}

impl FixLoop {
    pub(crate) fn new<I, S>(repo: &Repo, arguments: I) -> FixLoop
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        let mut command = Command::new(binary());
        command.args(arguments).current_dir(repo.root());
        repo.isolate(&mut command);
        FixLoop { command, stdin: None }
    }

    pub fn args<I, S>(mut self, arguments: I) -> FixLoop
    where
        I: IntoIterator<Item = S>,
        S: AsRef<OsStr>,
    {
        self.command.args(arguments);
        self
    }

    pub fn env(mut self, name: &str, value: impl Into<OsString>) -> FixLoop {
        self.command.env(name, value.into());
        self
    }

    pub fn current_dir(mut self, folder: &Path) -> FixLoop {
        self.command.current_dir(folder);
        self
    }

    pub fn stdin(mut self, text: &str) -> FixLoop {
        self.stdin = Some(text.to_owned());
        self
    }

    /// Runs it to its end.
    pub fn run(self) -> Output {
        self.spawn().wait()
    }

    /// Runs it to its end, which must have this exit code.
    pub fn expect(self, code: i32) -> Output {
        let name = format!("{:?}", self.command.get_args().collect::<Vec<_>>());
        let output = self.run();
        assert_eq!(output.code, Some(code), "fix-loop {name}\n{output}");
        output
    }

    pub fn spawn(mut self) -> Running {
        let name = format!("fix-loop {:?}", self.command.get_args().collect::<Vec<_>>());
        self.command.stdout(Stdio::piped()).stderr(Stdio::piped());
        self.command.stdin(if self.stdin.is_some() { Stdio::piped() } else { Stdio::null() });
        let mut child = self.command.spawn().unwrap_or_else(|error| panic!("{name}: {error}"));
        if let (Some(text), Some(mut stdin)) = (self.stdin, child.stdin.take()) {
            // A program that ends before it read everything closes the pipe; that is its right.
            let _ = stdin.write_all(text.as_bytes());
        }
        let stdout = child.stdout.take().map(collect);
        let stderr = child.stderr.take().map(collect);
        Running { child, name, stdout, stderr }
    }
}

fn collect(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

impl Running {
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// `kill -9`, of this process alone.
    pub fn kill(mut self) -> Output {
        let _ = self.child.kill();
        self.wait()
    }

    pub fn signal(&self, name: &str) {
        let status = Command::new("kill").arg(format!("-{name}")).arg(self.pid().to_string()).status();
        assert!(status.is_ok_and(|status| status.success()), "{} could not be sent {name}", self.name);
    }

    pub fn has_ended(&mut self) -> bool {
        self.child.try_wait().expect("it is our child").is_some()
    }

    /// Waits for its end.
    pub fn wait(self) -> Output {
        self.wait_within(2 * DEADLINE)
    }

    /// The same, for what takes long by itself.
    pub fn wait_within(mut self, limit: Duration) -> Output {
        // `Child::wait` has no deadline, so another thread ends a child that never does.
        let (done, watch) = mpsc::channel::<()>();
        let pid = self.pid().to_string();
        let watchdog = std::thread::spawn(move || {
            let late = watch.recv_timeout(limit) == Err(mpsc::RecvTimeoutError::Timeout);
            if late {
                let _ = Command::new("kill").args(["-9", &pid]).status();
            }
            late
        });
        let status = self.child.wait().expect("it is our child");
        drop(done);
        let late = watchdog.join().expect("the watchdog does not panic");
        let take = |handle: &mut Option<JoinHandle<String>>| {
            handle.take().map(|handle| handle.join().expect("reading does not panic")).unwrap_or_default()
        };
        let output =
            Output { code: status.code(), stdout: take(&mut self.stdout), stderr: take(&mut self.stderr) };
        assert!(!late, "{} did not end\n{output}", self.name);
        output
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Output {
    /// stdout as JSON.
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.stdout)
            .unwrap_or_else(|error| panic!("stdout is no JSON: {error}\n{self}"))
    }
}

impl std::fmt::Display for Output {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "code {:?}\n--- stdout\n{}\n--- stderr\n{}", self.code, self.stdout, self.stderr)
    }
}
