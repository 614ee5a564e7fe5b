//! Real programs under the real supervisor. Every test waits for something the program says, never for time.

use std::io::Read as _;
use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use fix_loop::process::{
    Cancel, How, Identity, Keep, Line, NotStarted, Spec, Stream, Supervisor, Watch, end_leftover, is_alive,
};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::sync::{mpsc, oneshot};

fn supervisor() -> Supervisor {
    Supervisor::new(env!("CARGO_BIN_EXE_fix-loop"))
}

fn spec(folder: &Path, argv: &[&str]) -> Spec {
    Spec {
        argv: argv.iter().map(|argument| (*argument).to_owned()).collect(),
        cwd: folder.to_owned(),
        env: vec![("PATH".into(), std::env::var("PATH").unwrap_or_default()), ("LC_ALL".into(), "C".into())],
        stdin: Vec::new(),
        limit: Duration::from_secs(300),
        grace: Duration::from_secs(20),
        keep: Keep::default(),
    }
}

fn shell(folder: &Path, script: &str) -> Spec {
    spec(folder, &["sh", "-c", script])
}

/// Runs a program, and cancels it after `after` lines. Every line of the form `pid N` is remembered as a process.
async fn run_and_cancel(spec: Spec, after: usize) -> (fix_loop::process::Ended, Vec<Identity>) {
    let cancel = Cancel::new();
    let (sender, mut lines) = mpsc::unbounded_channel();
    let watching = async {
        let mut seen = Vec::new();
        while let Some(Line { text, .. }) = lines.recv().await {
            if let Some(pid) = text.strip_prefix("pid ") {
                seen.push(Identity::of(pid.trim().parse().unwrap()).expect("it runs, since it just spoke"));
            }
            if seen.len() == after {
                cancel.cancel();
            }
        }
        seen
    };
    let supervisor = supervisor();
    let run = supervisor.run(spec, &cancel, Watch { started: None, lines: Some(sender) });
    tokio::join!(run, watching)
}

async fn run(spec: Spec) -> fix_loop::process::Ended {
    supervisor().run(spec, &Cancel::new(), Watch::default()).await
}

fn fifo(folder: &Path, name: &str) -> PathBuf {
    let path = folder.join(name);
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    path
}

/// Reads a pipe to its end of file, which comes when the last process that held it has ended.
fn until_nobody_holds(fifo: PathBuf) -> std::thread::JoinHandle<String> {
    std::thread::spawn(move || {
        let mut text = String::new();
        std::fs::File::open(fifo).unwrap().read_to_string(&mut text).unwrap();
        text
    })
}

#[tokio::test]
async fn a_program_gets_exactly_its_input_arguments_environment_and_folder() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = shell(
        folder.path(),
        r#"pwd -P; env | grep -v '^PWD=\|^_=\|^SHLVL=' | sort; cat; printf %s "$1" >&2; exit 7"#,
    );
    spec.argv.extend(["name".into(), "a b\n'ü".into()]);
    spec.env.push(("ONE".into(), "two words".into()));
    spec.stdin = b"in\0put".to_vec();
    let ended = run(spec).await;
    assert_eq!(ended.how, How::Exited(7));
    let path = std::env::var("PATH").unwrap();
    let place = folder.path().canonicalize().unwrap();
    let want = format!("{}\nLC_ALL=C\nONE=two words\nPATH={path}\nin\0put", place.display());
    assert_eq!(String::from_utf8(ended.stdout.bytes().unwrap()).unwrap(), want);
    assert_eq!(ended.stderr.bytes().unwrap(), "a b\n'ü".as_bytes());
    assert_eq!(ended.leftovers, 0);
}

#[tokio::test]
async fn a_large_input_reaches_the_program_whole() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = shell(folder.path(), "wc -c");
    spec.stdin = vec![b'x'; 5_000_000];
    assert_eq!(run(spec).await.stdout.text().trim(), "5000000");
}

#[tokio::test]
async fn a_program_that_never_reads_its_large_input_still_ends_well() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = shell(folder.path(), "echo done");
    spec.stdin = vec![b'x'; 5_000_000];
    let ended = run(spec).await;
    assert_eq!((ended.how, ended.stdout.text().as_str()), (How::Exited(0), "done\n"));
}

#[tokio::test]
async fn a_signal_is_not_an_exit_code() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(run(shell(folder.path(), "kill -SEGV $$")).await.how, How::Signalled(11));
}

#[tokio::test]
async fn a_program_that_cannot_start_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let plain = folder.path().join("plain");
    std::fs::write(&plain, "echo hi\n").unwrap();
    let missing = folder.path().join("gone");
    let cases = [
        (
            spec(folder.path(), &["no-such-program-anywhere"]),
            NotStarted::NotFound,
            "no-such-program-anywhere",
        ),
        (spec(folder.path(), &["./nothing"]), NotStarted::NotFound, "nothing"),
        (spec(folder.path(), &["./plain"]), NotStarted::NotExecutable, "plain"),
        (spec(folder.path(), &[]), NotStarted::BadCommand, "empty"),
        (spec(folder.path(), &["sh", "-c", "a\0b"]), NotStarted::BadCommand, "sh"),
        (spec(&missing, &["sh"]), NotStarted::NoFolder, "gone"),
    ];
    for (spec, want, names) in cases {
        match run(spec).await.how {
            How::NotStarted { kind, message } => {
                assert_eq!(kind, want, "{message}");
                assert!(message.contains(names), "{message}");
            }
            how => panic!("{names}: {how:?}"),
        }
    }
}

#[tokio::test]
async fn a_missing_supervisor_is_said_and_not_a_program_failure() {
    let folder = tempfile::tempdir().unwrap();
    let gone = Supervisor::new(folder.path().join("fix-loop"));
    let ended = gone.run(shell(folder.path(), "true"), &Cancel::new(), Watch::default()).await;
    assert!(matches!(ended.how, How::NotStarted { kind: NotStarted::Refused, .. }), "{:?}", ended.how);
}

#[tokio::test]
async fn a_cancel_before_the_start_starts_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = Cancel::new();
    cancel.cancel();
    let ended = supervisor().run(shell(folder.path(), "touch ran"), &cancel, Watch::default()).await;
    assert_eq!(ended.how, How::Cancelled);
    assert!(!folder.path().join("ran").exists());
}

#[tokio::test]
async fn cancelling_ends_children_in_their_own_sessions() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        setsid sh -c 'echo pid $$; exec sleep 1000' &
        setsid sh -c 'setsid sh -c "echo pid \$\$; exec sleep 1000" & echo pid $$; wait' &
        echo pid $$
        wait"#;
    let (ended, seen) = run_and_cancel(shell(folder.path(), script), 4).await;
    assert_eq!(ended.how, How::Cancelled);
    assert_eq!(seen.iter().filter(|identity| is_alive(identity)).count(), 0);
    assert!(ended.leftovers >= 1, "sessions of their own do not get the group's signal");
}

#[tokio::test]
async fn a_cancelled_program_that_exits_with_zero_is_still_cancelled() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"trap 'echo asked nicely; exit 0' TERM; echo pid $$; while :; do sleep 1000 & wait; done"#;
    let (ended, _) = run_and_cancel(shell(folder.path(), script), 1).await;
    assert_eq!(ended.how, How::Cancelled);
    assert!(ended.stdout.text().contains("asked nicely"));
}

#[tokio::test]
async fn a_program_and_children_that_ignore_being_asked_are_killed() {
    let folder = tempfile::tempdir().unwrap();
    let script = r#"
        trap '' TERM INT HUP
        setsid sh -c 'trap "" TERM; echo pid $$; while :; do sleep 1000; done' &
        echo pid $$
        while :; do sleep 1000; done"#;
    let mut spec = shell(folder.path(), script);
    spec.grace = Duration::from_millis(50);
    let (ended, seen) = run_and_cancel(spec, 2).await;
    assert_eq!(ended.how, How::Cancelled);
    assert_eq!(seen.iter().filter(|identity| is_alive(identity)).count(), 0);
}

#[tokio::test]
async fn a_stopped_program_is_ended_too() {
    let folder = tempfile::tempdir().unwrap();
    let (ended, seen) =
        run_and_cancel(shell(folder.path(), "echo pid $$; kill -STOP $$; exec sleep 1000"), 1).await;
    assert_eq!(ended.how, How::Cancelled);
    assert!(!is_alive(&seen[0]));
}

#[tokio::test]
async fn what_a_program_leaves_behind_is_ended_and_counted() {
    // With time to end by itself, and with none.
    for grace in [Duration::from_secs(20), Duration::ZERO] {
        let folder = tempfile::tempdir().unwrap();
        let held = fifo(folder.path(), "held");
        fifo(folder.path(), "ready");
        let reading = until_nobody_holds(held);
        // A double fork: the server's parent is gone before the program ends.
        let script = r#"
        (setsid sh -c 'exec 9> held; echo here >&9; echo ready > ready; exec sleep 1000' &)
        read -r line < ready
        exit 3"#;
        let ended = run(Spec { grace, ..shell(folder.path(), script) }).await;
        assert_eq!(ended.how, How::Exited(3), "leftovers do not change how the program itself ended");
        assert_eq!(ended.leftovers, 1);
        assert_eq!(reading.join().unwrap(), "here\n");
    }
}

/// Each link forks the next one, in a session of its own, and exits: whoever lists processes sees only dead ones. A chain
/// that nobody breaks ends by itself after a minute or so and says that it did, so that a failed test leaves nothing behind.
const CHAIN_IN_PYTHON: &str = r#"exec python3 -c '
import os, signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(8, b"ready\n")
for _ in range(100_000):
    if os.fork():
        os._exit(0)
    os.setsid()
open("outlived", "w")
'"#;
const CHAIN_IN_PERL: &str = r#"exec perl -e '
use POSIX;
$SIG{TERM} = "IGNORE";
POSIX::write(8, "ready\n", 6);
for (1..500_000) {
    POSIX::_exit(0) if fork;
    POSIX::setsid();
}
open(my $file, ">", "outlived");
'"#;

#[tokio::test]
async fn processes_that_fork_away_from_their_killer_are_caught() {
    for (chain, at_once) in
        [(CHAIN_IN_PYTHON, 1), (CHAIN_IN_PERL, 1), (CHAIN_IN_PYTHON, 4), (CHAIN_IN_PERL, 4)]
    {
        let folder = tempfile::tempdir().unwrap();
        // Every process of the chains holds the pipe, so its end of file means that they are broken.
        let reading = until_nobody_holds(fifo(folder.path(), "fifo"));
        fifo(folder.path(), "ready");
        let each = format!("({chain}) &\n").repeat(at_once) + &"read -r line <&8\n".repeat(at_once);
        let mut spec = shell(folder.path(), &format!("exec 8<> ready 9> fifo; echo here >&9\n{each}"));
        spec.grace = Duration::from_millis(50);
        let ended = run(spec).await;
        assert_eq!(ended.how, How::Exited(0));
        assert_eq!(reading.join().unwrap(), "here\n");
        assert!(!folder.path().join("outlived").exists(), "{at_once} of {chain}: ended by itself");
    }
}

#[tokio::test]
async fn a_program_over_its_limit_is_ended_and_not_called_failed() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec = shell(folder.path(), "trap 'exit 0' TERM; while :; do sleep 1000 & wait; done");
    spec.limit = Duration::from_millis(100);
    assert_eq!(run(spec).await.how, How::OverLimit);
}

#[tokio::test]
async fn output_of_900_megabytes_is_drained_in_little_space() {
    let folder = tempfile::tempdir().unwrap();
    let mut spec =
        shell(folder.path(), "printf start; head -c 900000000 /dev/zero; printf end; printf errors >&2");
    spec.keep = Keep { head: 5, tail: 3 };
    let ended = run(spec).await;
    assert_eq!(ended.how, How::Exited(0));
    assert_eq!(ended.stdout.total(), 900_000_008);
    assert_eq!(
        (ended.stdout.head.as_slice(), ended.stdout.tail.as_slice()),
        (b"start".as_slice(), b"end".as_slice())
    );
    assert_eq!(ended.stderr.text(), "errors");
}

#[tokio::test]
async fn odd_bytes_are_kept_as_they_are_and_shown_safely() {
    let folder = tempfile::tempdir().unwrap();
    let ended = run(shell(folder.path(), r"printf 'a\000b\377\033[31mred\033[0m no newline'")).await;
    assert_eq!(ended.stdout.bytes().unwrap(), b"a\0b\xff\x1b[31mred\x1b[0m no newline");
    assert_eq!(ended.stdout.text(), "ab\u{fffd}red no newline");
}

#[tokio::test]
async fn lines_come_with_their_stream_and_the_last_needs_no_newline() {
    let folder = tempfile::tempdir().unwrap();
    let (sender, mut lines) = mpsc::unbounded_channel();
    let script = r#"printf 'one\r\n\nthree'; printf 'err\n' >&2; head -c 3000000 /dev/zero | tr '\0' x >&2"#;
    let watch = Watch { started: None, lines: Some(sender) };
    supervisor().run(shell(folder.path(), script), &Cancel::new(), watch).await;
    let (mut out, mut err) = (Vec::new(), Vec::new());
    while let Some(line) = lines.recv().await {
        match line.stream {
            Stream::Stdout => out.push(line.text),
            Stream::Stderr => err.push(line.text),
        }
    }
    assert_eq!(out, ["one", "", "three"]);
    assert_eq!(err[0], "err");
    assert_eq!(err[1].chars().count(), 1024 * 1024 + 1, "a line without an end is cut");
    assert_eq!(err.len(), 2);
}

#[tokio::test]
async fn a_program_has_a_group_of_its_own_in_a_session_of_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let script = "import os; print(os.getpid(), os.getpgid(0), os.getsid(0), os.getppid())";
    let ended = run(spec(folder.path(), &["python3", "-c", script])).await;
    let text = ended.stdout.text();
    let ids: Vec<u32> = text.split_whitespace().map(|id| id.parse().unwrap()).collect();
    let [pid, group, session, supervisor] = ids[..] else { panic!("{text}") };
    assert_eq!(group, pid);
    assert_eq!(session, supervisor, "the supervisor leads a session that has no terminal");
}

#[tokio::test]
async fn the_started_process_is_named_so_that_recovery_can_find_it() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = Cancel::new();
    let (sender, started) = oneshot::channel();
    let supervisor = supervisor();
    let watch = Watch { started: Some(sender), lines: None };
    let run = supervisor.run(shell(folder.path(), "exec sleep 1000"), &cancel, watch);
    let recover = async {
        let identity = started.await.unwrap();
        let stored = serde_json::to_string(&identity).unwrap();
        let identity: Identity = serde_json::from_str(&stored).unwrap();
        assert!(is_alive(&identity));
        assert!(
            !end_leftover(&Identity { start_time: identity.start_time + 1, ..identity }),
            "somebody else's"
        );
        assert!(is_alive(&identity));
        assert!(end_leftover(&identity));
        identity
    };
    let (ended, identity) = tokio::join!(run, recover);
    assert_eq!(ended.how, How::Signalled(9));
    assert!(!end_leftover(&identity), "it is gone");
}

#[tokio::test]
async fn a_run_that_is_dropped_ends_its_program() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = fifo(folder.path(), "fifo");
    let spec = shell(folder.path(), "exec 9> fifo; setsid sh -c 'echo ready >&9; exec sleep 1000' & wait");
    let task = tokio::spawn(async move { supervisor().run(spec, &Cancel::new(), Watch::default()).await });
    let (ready, heard) = oneshot::channel();
    let reading = tokio::task::spawn_blocking(move || {
        let mut reader = BufReader::new(std::fs::File::open(fifo).unwrap());
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        ready.send(line).unwrap();
        let mut rest = String::new();
        reader.read_to_string(&mut rest).unwrap();
        rest
    });
    assert_eq!(heard.await.unwrap(), "ready\n");
    task.abort();
    assert_eq!(reading.await.unwrap(), "", "end of file: nobody holds the pipe any more");
}

#[tokio::test]
async fn a_killed_supervisor_takes_its_program_with_it() {
    let folder = tempfile::tempdir().unwrap();
    let (sender, started) = oneshot::channel();
    let supervisor = supervisor();
    let cancel = Cancel::new();
    let watch = Watch { started: Some(sender), lines: None };
    let reading = until_nobody_holds(fifo(folder.path(), "held"));
    let script = "exec 9> held; read -r line; kill -9 $PPID; exec sleep 1000";
    let (mut conversation, run) = supervisor.converse(shell(folder.path(), script), &cancel, watch);
    let kill = async {
        started.await.unwrap();
        conversation.input.write_all(b"go\n").await.unwrap();
    };
    let (ended, ()) = tokio::join!(run, kill);
    assert_eq!(ended.how, How::Signalled(9));
    assert_eq!(reading.join().unwrap(), "", "end of file: the program has ended");
}

#[tokio::test]
async fn a_conversation_goes_both_ways_until_the_input_is_closed() {
    let folder = tempfile::tempdir().unwrap();
    let cancel = Cancel::new();
    let supervisor = supervisor();
    let script = r#"while read -r line; do echo "got $line"; done; echo closed; exit 4"#;
    let (mut conversation, run) =
        supervisor.converse(shell(folder.path(), script), &cancel, Watch::default());
    let talk = async {
        let mut answer = [0; 8];
        for word in ["one\n", "two\n"] {
            conversation.input.write_all(word.as_bytes()).await.unwrap();
            conversation.output.read_exact(&mut answer).await.unwrap();
            assert_eq!(std::str::from_utf8(&answer).unwrap(), format!("got {word}"));
        }
        drop(conversation.input);
        let mut rest = String::new();
        conversation.output.read_to_string(&mut rest).await.unwrap();
        rest
    };
    let (ended, rest) = tokio::join!(run, talk);
    assert_eq!(rest, "closed\n");
    assert_eq!(ended.how, How::Exited(4));
    assert_eq!(ended.stdout.text(), "got one\ngot two\nclosed\n");
}

const HELPER: &str = "FIX_LOOP_TEST_PARENT_FOLDER";

/// Not a test: the process that the next test kills. Does nothing unless that test starts it.
#[tokio::test]
#[ignore = "helper: started by the test that kills it"]
async fn parent_to_be_killed() {
    let Some(folder) = std::env::var_os(HELPER) else { return };
    let script = r#"
        trap '' TERM
        exec 9> fifo
        setsid sh -c 'trap "" TERM; echo ready >&9; while :; do sleep 1000; done' &
        echo ready >&9
        while :; do sleep 1000; done"#;
    let mut spec = shell(Path::new(&folder), script);
    spec.grace = Duration::from_millis(50);
    run(spec).await;
}

#[test]
fn killing_the_parent_leaves_no_process_behind() {
    let folder = tempfile::tempdir().unwrap();
    let fifo = fifo(folder.path(), "fifo");
    let mut parent = std::process::Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "process::parent_to_be_killed", "--ignored", "--nocapture"])
        .env(HELPER, folder.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut reader = BufReader::new(std::fs::File::open(fifo).unwrap());
    for _ in 0..2 {
        let mut line = String::new();
        reader.read_line(&mut line).unwrap();
        assert_eq!(line, "ready\n");
    }
    parent.kill().unwrap();
    parent.wait().unwrap();
    let mut rest = String::new();
    reader.read_to_string(&mut rest).unwrap();
    assert_eq!(rest, "", "end of file: every process that held the pipe has ended");
}
