//! The body of the hidden command `fix-loop supervise`: one program, and the end of everything it started.
//!
//! It runs in a session of its own, so Ctrl-C in a terminal reaches Fix Loop and not this process, which then sees its
//! socket close and ends the program in order. It writes nothing: output goes from the program straight to Fix Loop.

use std::collections::HashSet;
use std::io::IsTerminal as _;
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream as StdUnixStream;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use rustix::process::Signal;
use tokio::io::AsyncWriteExt as _;
use tokio::net::UnixStream;
use tokio::process::{Child, Command};
use tokio::signal::unix::{Signal as SignalStream, SignalKind, signal as signal_stream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout_at};

use super::descendants::{self, Left};
use super::frame::{Notice, Order, Start, Why, receive_order, send_notice};
use super::{Identity, NotStarted, resolve_program};

/// What leftovers get between `SIGTERM` and `SIGKILL`, at most; the program itself gets the grace it was given.
const LEFTOVER_GRACE: Duration = Duration::from_secs(1);
/// How long the end is waited for before it is told all the same. What hangs in the kernel takes no `SIGKILL`.
const SWEEP_BOUND: Duration = Duration::from_secs(10);
/// How long at a time nothing is done but ending what is handed to this process.
const CHASE: Duration = Duration::from_millis(20);
/// How often something that hangs in the kernel is looked after.
const HUNG: Duration = Duration::from_secs(1);

/// Runs one program on behalf of the Fix Loop process that holds the other end of standard input, and exits.
pub fn supervise_main() -> ! {
    if std::io::stdin().is_terminal() {
        eprintln!("`fix-loop supervise` is started by Fix Loop itself; there is nothing to run here.");
        std::process::exit(2);
    }
    let outcome = prepare().and_then(|control| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(supervise(control))
    });
    if let Err(error) = &outcome {
        eprintln!("fix-loop supervise: {error}");
    }
    std::process::exit(i32::from(outcome.is_err()));
}

/// Takes the socket off standard input, so that nothing started later can hold it, and leaves the terminal's session.
fn prepare() -> std::io::Result<StdUnixStream> {
    let control: OwnedFd = rustix::io::fcntl_dupfd_cloexec(std::io::stdin(), 3)?;
    let null = std::fs::File::open("/dev/null")?;
    rustix::stdio::dup2_stdin(&null)?;
    // Fails only for a group leader, that is when somebody started this by hand.
    let _ = rustix::process::setsid();
    #[cfg(target_os = "linux")]
    rustix::process::set_child_subreaper(Some(rustix::process::getpid()))?;
    let control = StdUnixStream::from(control);
    control.set_nonblocking(true)?;
    Ok(control)
}

async fn supervise(control: StdUnixStream) -> std::io::Result<()> {
    let (mut from, mut to) = UnixStream::from_std(control)?.into_split();
    let Order::Start(start) = receive_order(&mut from).await? else {
        return Err(std::io::ErrorKind::InvalidData.into());
    };
    let mut signals = Signals::new()?;
    let mut child = match spawn(&start) {
        Ok(child) => child,
        Err((kind, message)) => return send_notice(&mut to, &Notice::NotStarted { kind, message }).await,
    };
    let began = Instant::now();
    let leader = child.id().unwrap_or_default();
    // From here on only the program and what it started hold the output pipes.
    let null = std::fs::OpenOptions::new().write(true).open("/dev/null")?;
    rustix::stdio::dup2_stdout(&null)?;
    rustix::stdio::dup2_stderr(&null)?;
    let identity = Identity::of(leader).unwrap_or(Identity { pid: leader, start_time: 0 });
    // A parent that is gone shows as a closed socket below.
    let _ = send_notice(&mut to, &Notice::Started(identity)).await;

    let (orders_in, mut orders) = mpsc::unbounded_channel();
    tokio::spawn(async move {
        while let Ok(order) = receive_order(&mut from).await {
            if orders_in.send(order).is_err() {
                return;
            }
        }
    });
    let mut input = Some(feed(&mut child));

    let limit = began + Duration::from_millis(start.limit_ms);
    let mut status = None;
    let why = loop {
        tokio::select! {
            ended = child.wait() => {
                status = ended.ok();
                break Why::ByItself;
            }
            order = orders.recv() => match order {
                Some(Order::Input(bytes)) => if let Some(input) = &input { let _ = input.send(bytes); },
                Some(Order::EndInput) => input = None,
                Some(Order::Start(_)) => {}
                // A closed socket: Fix Loop was killed. Nobody is left to ask, so everything ends.
                Some(Order::Cancel) | None => break Why::Cancelled,
            },
            () = sleep_until(limit) => break Why::OverLimit,
            signal = signals.next() => match signal {
                Told::ChildEnded => descendants::reap(leader),
                Told::Stop => break Why::Cancelled,
            },
        }
    };
    if status.is_none() {
        status = stop(&mut child, leader, Duration::from_millis(start.grace_ms)).await;
    }
    let elapsed = began.elapsed();
    drop(input);
    let leftovers = sweep(leader, Duration::from_millis(start.grace_ms), &mut signals).await;
    let ended = Notice::Ended {
        why,
        code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        elapsed_ms: elapsed.as_millis() as u64,
        leftovers,
    };
    let _ = send_notice(&mut to, &ended).await;
    never_let_go().await;
    Ok(())
}

fn spawn(start: &Start) -> Result<Child, (NotStarted, String)> {
    if !start.cwd.is_dir() {
        return Err((NotStarted::NoFolder, format!("the folder {} does not exist", start.cwd.display())));
    }
    let name = start.argv.first().map(String::as_str).unwrap_or_default();
    let path = start.env.iter().rfind(|(key, _)| key == "PATH").map(|(_, value)| value.as_str());
    let program = resolve_program(name, &start.cwd, path)?;
    let mut command = Command::new(&program);
    command
        .arg0(name)
        .args(&start.argv[1..])
        .current_dir(&start.cwd)
        .env_clear()
        .envs(start.env.iter().map(|(key, value)| (key, value)))
        .stdin(Stdio::piped())
        .stdout(Stdio::inherit())
        .stderr(Stdio::inherit())
        .process_group(0);
    #[cfg(target_os = "linux")]
    // SAFETY: the closure runs in the forked child before `exec` and makes one system call; it neither allocates nor
    // takes a lock.
    unsafe {
        // Should this supervisor itself be killed, its program does not outlive it.
        command.pre_exec(|| Ok(rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?));
    }
    command.spawn().map_err(|error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => NotStarted::NotFound,
            std::io::ErrorKind::PermissionDenied => NotStarted::NotExecutable,
            std::io::ErrorKind::InvalidInput => NotStarted::BadCommand,
            _ => NotStarted::Refused,
        };
        (kind, format!("{} could not be started: {error}", program.display()))
    })
}

/// Writes input to the program as it takes it. A program that does not read must not keep orders from arriving, so the
/// input waits here.
fn feed(child: &mut Child) -> mpsc::UnboundedSender<Vec<u8>> {
    let (sender, mut receiver) = mpsc::unbounded_channel::<Vec<u8>>();
    if let Some(mut stdin) = child.stdin.take() {
        tokio::spawn(async move {
            while let Some(bytes) = receiver.recv().await {
                if stdin.write_all(&bytes).await.is_err() {
                    return;
                }
            }
        });
    }
    sender
}

async fn stop(child: &mut Child, leader: u32, grace: Duration) -> Option<ExitStatus> {
    descendants::signal_group(leader, Signal::TERM);
    // A stopped group would not see the signal before it is killed.
    descendants::signal_group(leader, Signal::CONT);
    if let Ok(ended) = timeout_at(Instant::now() + grace, child.wait()).await {
        return ended.ok();
    }
    descendants::signal_group(leader, Signal::KILL);
    descendants::signal(leader, Signal::KILL);
    timeout_at(Instant::now() + SWEEP_BOUND, child.wait()).await.ok()?.ok()
}

/// Ends and reaps everything below this process, and says how many were still alive.
async fn sweep(leader: u32, grace: Duration, signals: &mut Signals) -> u32 {
    let me = std::process::id();
    let mut ended = HashSet::new();
    let kindly_until = Instant::now() + grace.min(LEFTOVER_GRACE);
    let bound = kindly_until + SWEEP_BOUND;
    if !cfg!(target_os = "linux") {
        descendants::signal_group(leader, Signal::TERM);
        descendants::signal_group(leader, Signal::KILL);
        return 0;
    }
    loop {
        let now = Instant::now();
        if descendants::reap_all() == Left::None || now >= bound {
            break;
        }
        let alive = descendants::below(me);
        let kindly = now < kindly_until;
        if !kindly {
            for &pid in &alive {
                descendants::signal(pid, Signal::STOP);
            }
        }
        for &pid in &alive {
            let first = Identity::of(pid).is_some_and(|identity| ended.insert(identity));
            if !kindly {
                descendants::signal(pid, Signal::KILL);
            } else if first {
                descendants::signal(pid, Signal::TERM);
                descendants::signal(pid, Signal::CONT);
            }
        }
        if !kindly {
            descendants::chase(CHASE);
        }
        // Wakes up for every ended child; the tick is for grandchildren, whose end their own parent takes.
        let tick = now + Duration::from_millis(if kindly { 10 } else { 1 });
        let _ = timeout_at(tick, signals.child_ended()).await;
    }
    u32::try_from(ended.len()).unwrap_or(u32::MAX)
}

/// What outlasted the sweep would belong to nobody once this process is gone, so it stays for as long as anything is left.
async fn never_let_go() {
    while cfg!(target_os = "linux") && descendants::chase(CHASE) == Left::Some {
        tokio::time::sleep(HUNG).await;
    }
}

/// The signals this process acts on. They are handled, not ignored: an ignored signal would stay ignored in the program.
struct Signals {
    child: SignalStream,
    terminate: SignalStream,
    interrupt: SignalStream,
    hangup: SignalStream,
}

impl Signals {
    fn new() -> std::io::Result<Self> {
        Ok(Signals {
            child: signal_stream(SignalKind::child())?,
            terminate: signal_stream(SignalKind::terminate())?,
            interrupt: signal_stream(SignalKind::interrupt())?,
            hangup: signal_stream(SignalKind::hangup())?,
        })
    }

    async fn child_ended(&mut self) {
        self.child.recv().await;
    }

    async fn next(&mut self) -> Told {
        tokio::select! {
            _ = self.child.recv() => Told::ChildEnded,
            _ = self.terminate.recv() => Told::Stop,
            _ = self.interrupt.recv() => Told::Stop,
            _ = self.hangup.recv() => Told::Stop,
        }
    }
}

enum Told {
    ChildEnded,
    Stop,
}
