//! This side of the supervisor: starts one per program, feeds it, reads the output, and collects how it ended.

use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::path::PathBuf;
use std::process::Stdio;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWriteExt as _, DuplexStream};
use tokio::net::UnixStream;
use tokio::net::unix::OwnedWriteHalf;
use tokio::process::{Child, Command};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::captured::Collector;
use super::frame::{Notice, Order, Start, Why, receive_notice, send_order};
use super::{
    Cancel, Captured, Ended, How, Identity, Keep, Line, NotStarted, Spec, Stream, Watch, descendants,
};

/// One line of output is cut here. The last line of an agent holds its whole report.
const LONGEST_LINE: usize = 1024 * 1024;
/// No more text than this is passed on as lines.
const MOST_LINES: usize = 64 * 1024 * 1024;
/// How long output may stay open after the end. Every process of ours is gone by then; only a stranger that was handed
/// the pipe can hold it.
const DRAIN: Duration = Duration::from_secs(2);
/// What the supervisor itself may need beyond the grace, before it is taken for broken.
const SUPERVISOR_BOUND: Duration = Duration::from_secs(30);
/// Frames of input are cut to this, so that an order to cancel waits for little.
const INPUT_FRAME: usize = 64 * 1024;

/// Starts programs. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Supervisor {
    exe: PathBuf,
}

/// The two open pipes of a program that is talked with.
#[derive(Debug)]
pub struct Conversation {
    /// To its standard input. Dropping it closes the pipe.
    pub input: DuplexStream,
    /// From its standard output. It must be read or dropped, or the program blocks.
    pub output: DuplexStream,
}

impl Supervisor {
    /// `exe` is a program that understands `supervise`: `fix-loop` itself.
    pub fn new(exe: impl Into<PathBuf>) -> Self {
        let exe = exe.into();
        Supervisor { exe: std::path::absolute(&exe).unwrap_or(exe) }
    }

    /// The running program as its own supervisor; stays right while its file is being replaced by an update.
    pub fn current() -> io::Result<Self> {
        if cfg!(target_os = "linux") && PathBuf::from("/proc/self/exe").exists() {
            return Ok(Supervisor { exe: "/proc/self/exe".into() });
        }
        std::env::current_exe().map(|exe| Supervisor { exe })
    }

    /// Runs a program to its end. When this returns, none of its processes is left. When the future is dropped, they
    /// are ended too.
    pub async fn run(&self, spec: Spec, cancel: &Cancel, watch: Watch) -> Ended {
        self.drive(spec, cancel, watch, None).await
    }

    /// Runs a program with open pipes. The conversation is used while the returned future is being polled; the future
    /// resolves when the program has ended. `spec.stdin` is written first.
    pub fn converse<'a>(
        &'a self,
        spec: Spec,
        cancel: &'a Cancel,
        watch: Watch,
    ) -> (Conversation, impl Future<Output = Ended> + Send + 'a) {
        let (input, from_caller) = tokio::io::duplex(INPUT_FRAME);
        let (to_caller, output) = tokio::io::duplex(INPUT_FRAME);
        (Conversation { input, output }, self.drive(spec, cancel, watch, Some((from_caller, to_caller))))
    }

    async fn drive(
        &self,
        spec: Spec,
        cancel: &Cancel,
        watch: Watch,
        talk: Option<(DuplexStream, DuplexStream)>,
    ) -> Ended {
        if cancel.is_cancelled() {
            return Ended { how: How::Cancelled, ..nothing() };
        }
        let (mut child, control) = match self.start_supervisor() {
            Ok(started) => started,
            Err(error) => {
                let message = format!("the supervisor {} could not be started: {error}", self.exe.display());
                return Ended { how: How::NotStarted { kind: NotStarted::Refused, message }, ..nothing() };
            }
        };
        let began = Instant::now();
        let (from_caller, to_caller) = talk.unzip();
        let stdout = collect(child.stdout.take(), Stream::Stdout, spec.keep, watch.lines.clone(), to_caller);
        let stderr = collect(child.stderr.take(), Stream::Stderr, spec.keep, watch.lines, None);

        let (mut from, to) = control.into_split();
        // Read in a task of its own: a frame half read when another event wins would be lost.
        let (notices_in, mut notices) = mpsc::unbounded_channel();
        let _reader = EndsWithOwner(tokio::spawn(async move {
            while let Ok(notice) = receive_notice(&mut from).await {
                if notices_in.send(notice).is_err() {
                    return;
                }
            }
        }));
        let (orders, _writer) = order_writer(
            to,
            spec.stdin,
            from_caller,
            Start {
                argv: spec.argv,
                cwd: spec.cwd,
                env: spec.env,
                limit_ms: milliseconds(spec.limit),
                grace_ms: milliseconds(spec.grace),
            },
        );
        let mut started = watch.started;
        let mut leader: Option<Identity> = None;
        let mut told = false;
        let mut patience = spec.limit.saturating_add(spec.grace).saturating_add(SUPERVISOR_BOUND);
        let mut deadline = began.checked_add(patience);
        let outcome = loop {
            tokio::select! {
                notice = notices.recv() => match notice {
                    Some(Notice::Started(identity)) => {
                        leader = Some(identity);
                        if let Some(started) = started.take() {
                            let _ = started.send(identity);
                        }
                    }
                    Some(Notice::NotStarted { kind, message }) => break Some(Finished::not_started(kind, message)),
                    Some(Notice::Ended { why, code, signal, elapsed_ms, leftovers }) => {
                        let how = match (why, code, signal) {
                            (Why::OverLimit, ..) => How::OverLimit,
                            (Why::Cancelled, ..) => How::Cancelled,
                            (Why::ByItself, Some(code), _) => How::Exited(code),
                            (Why::ByItself, None, signal) => How::Signalled(signal.unwrap_or(9)),
                        };
                        break Some(Finished { how, elapsed: Duration::from_millis(elapsed_ms), leftovers });
                    }
                    None => break None,
                },
                () = cancel.cancelled(), if !told => {
                    told = true;
                    let _ = orders.send(Order::Cancel);
                    patience = spec.grace.saturating_add(SUPERVISOR_BOUND);
                    deadline = Instant::now().checked_add(patience);
                }
                () = until(deadline) => break None,
            }
        };
        let finished = outcome.unwrap_or_else(|| {
            // The supervisor was killed or hangs: what it can no longer do is done from here, as far as possible.
            if let Some(leader) = leader {
                super::end_leftover(&leader);
                descendants::signal_group(leader.pid, Signal::KILL);
            }
            let _ = child.start_kill();
            let how = match (told, leader) {
                (true, _) => How::Cancelled,
                (false, Some(_)) => How::Signalled(9),
                (false, None) => How::NotStarted {
                    kind: NotStarted::Refused,
                    message: format!(
                        "the supervisor {} ended before it started the program",
                        self.exe.display()
                    ),
                },
            };
            Finished { how, elapsed: began.elapsed(), leftovers: 0 }
        });
        let _ = timeout(SUPERVISOR_BOUND, child.wait()).await;
        Ended {
            how: finished.how,
            stdout: stdout.finish().await,
            stderr: stderr.finish().await,
            elapsed: finished.elapsed,
            leftovers: finished.leftovers,
        }
    }

    fn start_supervisor(&self) -> io::Result<(Child, UnixStream)> {
        let (ours, theirs) = StdUnixStream::pair()?;
        ours.set_nonblocking(true)?;
        let ours = UnixStream::from_std(ours)?;
        let child = Command::new(&self.exe)
            .arg("supervise")
            .current_dir("/")
            .stdin(Stdio::from(OwnedFd::from(theirs)))
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        Ok((child, ours))
    }
}

struct Finished {
    how: How,
    elapsed: Duration,
    leftovers: u32,
}

impl Finished {
    fn not_started(kind: NotStarted, message: String) -> Self {
        Finished { how: How::NotStarted { kind, message }, elapsed: Duration::ZERO, leftovers: 0 }
    }
}

fn nothing() -> Ended {
    Ended {
        how: How::Cancelled,
        stdout: Captured::default(),
        stderr: Captured::default(),
        elapsed: Duration::ZERO,
        leftovers: 0,
    }
}

/// Whole milliseconds, at most about thirty years, so that deadlines stay representable.
fn milliseconds(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX).min(1_000_000_000_000)
}

async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => tokio::time::sleep_until(deadline.into()).await,
        None => std::future::pending().await,
    }
}

/// Writes orders in their own task: a large input must not keep notices from being read. An order to cancel overtakes
/// the input that has not been written yet.
fn order_writer(
    mut to: OwnedWriteHalf,
    stdin: Vec<u8>,
    from_caller: Option<DuplexStream>,
    start: Start,
) -> (mpsc::UnboundedSender<Order>, EndsWithOwner) {
    let (sender, mut receiver) = mpsc::unbounded_channel();
    let task = tokio::spawn(async move {
        if send_order(&mut to, &Order::Start(start)).await.is_err() {
            return;
        }
        let mut pending = stdin.as_slice();
        let mut caller = from_caller;
        let mut buffer = vec![0; INPUT_FRAME];
        let mut open = true;
        loop {
            let order = if let Ok(order) = receiver.try_recv() {
                order
            } else if !pending.is_empty() {
                let (now, later) = pending.split_at(pending.len().min(INPUT_FRAME));
                pending = later;
                Order::Input(now.to_vec())
            } else if let Some(stream) = &mut caller {
                tokio::select! {
                    order = receiver.recv() => match order {
                        Some(order) => order,
                        None => return,
                    },
                    read = stream.read(&mut buffer) => match read {
                        Ok(0) | Err(_) => {
                            caller = None;
                            continue;
                        }
                        Ok(count) => Order::Input(buffer[..count].to_vec()),
                    },
                }
            } else if open {
                open = false;
                Order::EndInput
            } else {
                match receiver.recv().await {
                    Some(order) => order,
                    None => return,
                }
            };
            if send_order(&mut to, &order).await.is_err() {
                return;
            }
        }
    });
    (sender, EndsWithOwner(task))
}

/// A task that holds one half of the socket. It must not outlive the run: the supervisor ends everything when the socket
/// closes, and that is how a dropped run ends its program.
struct EndsWithOwner(JoinHandle<()>);

impl Drop for EndsWithOwner {
    fn drop(&mut self) {
        self.0.abort();
    }
}

/// A stream that is being read to its end in the background.
struct Collecting {
    task: JoinHandle<()>,
    collector: std::sync::Arc<std::sync::Mutex<Collector>>,
    keep: Keep,
}

impl Collecting {
    async fn finish(mut self) -> Captured {
        if timeout(DRAIN, &mut self.task).await.is_err() {
            self.task.abort();
        }
        let mut collector = self.collector.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        std::mem::replace(&mut *collector, Collector::new(self.keep)).finish()
    }
}

fn collect(
    source: Option<impl AsyncRead + Unpin + Send + 'static>,
    stream: Stream,
    keep: Keep,
    lines: Option<mpsc::UnboundedSender<Line>>,
    mut copy: Option<DuplexStream>,
) -> Collecting {
    let collector = std::sync::Arc::new(std::sync::Mutex::new(Collector::new(keep)));
    let shared = collector.clone();
    let task = tokio::spawn(async move {
        let Some(mut source) = source else { return };
        let mut splitter =
            lines.map(|sender| Splitter { sender, stream, partial: Vec::new(), cut: false, passed: 0 });
        let mut buffer = vec![0; 64 * 1024];
        while let Ok(count @ 1..) = source.read(&mut buffer).await {
            let bytes = &buffer[..count];
            shared.lock().unwrap_or_else(std::sync::PoisonError::into_inner).push(bytes);
            if let Some(splitter) = &mut splitter {
                splitter.push(bytes);
            }
            if let Some(to) = &mut copy
                && to.write_all(bytes).await.is_err()
            {
                copy = None;
            }
        }
        if let Some(splitter) = splitter {
            splitter.finish();
        }
    });
    Collecting { task, collector, keep }
}

/// Cuts a stream into lines.
struct Splitter {
    sender: mpsc::UnboundedSender<Line>,
    stream: Stream,
    partial: Vec<u8>,
    cut: bool,
    passed: usize,
}

impl Splitter {
    fn push(&mut self, bytes: &[u8]) {
        for piece in bytes.split_inclusive(|byte| *byte == b'\n') {
            let ended = piece.ends_with(b"\n");
            let piece = piece.strip_suffix(b"\n").unwrap_or(piece);
            let room = LONGEST_LINE - self.partial.len();
            self.cut |= piece.len() > room;
            self.partial.extend_from_slice(&piece[..piece.len().min(room)]);
            if ended {
                self.send();
            }
        }
    }

    fn finish(mut self) {
        if !self.partial.is_empty() {
            self.send();
        }
    }

    fn send(&mut self) {
        let bytes = std::mem::take(&mut self.partial);
        let bytes = bytes.strip_suffix(b"\r").unwrap_or(&bytes);
        let mut text = String::from_utf8_lossy(bytes).into_owned();
        if std::mem::take(&mut self.cut) {
            text.push('…');
        }
        self.passed = self.passed.saturating_add(text.len() + 1);
        if self.passed <= MOST_LINES {
            // Whoever stopped listening needs no more lines.
            let _ = self.sender.send(Line { stream: self.stream, text });
        }
    }
}
