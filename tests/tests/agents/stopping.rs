//! Ending an agent in the middle of its work: nobody is left, and the tree is what it was.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::PathBuf;
use std::process::Command;
use std::sync::mpsc::channel;

use fix_loop_tests::{DEADLINE, Replies};
use serde_json::json;

use super::world::{Program, WRONG, World, edit};

/// Held open by everything that the agent's tool starts, in sessions of their own too.
struct Held {
    reader: BufReader<File>,
}

impl Held {
    /// Waits until the tool is up.
    fn open(fifo: PathBuf) -> Held {
        let mut reader = BufReader::new(File::open(fifo).expect("the pipe was made"));
        let mut line = String::new();
        reader.read_line(&mut line).expect("it can be read");
        assert_eq!(line, "up\n");
        Held { reader }
    }

    /// Comes to its end only when nobody holds it.
    fn assert_nobody_is_left(mut self) {
        let (done, wait) = channel();
        std::thread::spawn(move || {
            let mut rest = String::new();
            let read = self.reader.read_to_string(&mut rest).map(|_| rest);
            let _ = done.send(read.expect("it can be read"));
        });
        let rest = wait.recv_timeout(DEADLINE).expect("something that the agent's tool started still runs");
        assert_eq!(rest, "");
    }
}

/// A fixer that has edited the file and runs a tool that never ends.
fn deep_in_a_tool(program: Program) -> (World, PathBuf) {
    // The first has no parent any more and ignores what asks it to end; the second has a session of its own.
    let command = "exec 9> ../held; (setsid sh -c \"trap '' TERM HUP; sleep 1000\" &); setsid sleep 1000 & \
                   echo up >&9; sleep 1000";
    let steps = [
        json!({"read": "calc.py"}),
        edit(WRONG, "    return a - 2 * b"),
        json!({"shell": command}),
        json!({"say": "done"}),
    ];
    let world = World::new(program, Replies::new().to("fixer", steps));
    let fifo = world.repo.outside().join("held");
    assert!(Command::new("mkfifo").arg(&fifo).status().expect("mkfifo is installed").success());
    (world, fifo)
}

/// Processes whose environment or working folder is of this repository's home: what `fix-loop` started and forgot.
fn survivors(world: &World) -> Vec<String> {
    let home = format!("HOME={}", world.repo.home().display());
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc").into_iter().flatten().flatten() {
        let (environment, command) = (entry.path().join("environ"), entry.path().join("cmdline"));
        let Ok(bytes) = std::fs::read(environment) else { continue };
        if bytes.split(|byte| *byte == 0).any(|one| one == home.as_bytes()) {
            let command = std::fs::read(command).unwrap_or_default();
            found.push(String::from_utf8_lossy(&command).replace('\0', " "));
        }
    }
    found
}

pub fn a_signal_ends_the_agents_tool_and_restores_the_tree(program: Program) {
    let (world, fifo) = deep_in_a_tool(program);
    let before = (world.repo.tree(), world.repo.git_state(), world.repo.diff_cached());
    let running = world.run(&[]).spawn();
    let held = Held::open(fifo);
    assert!(!survivors(&world).is_empty(), "what is counted below is seen while it runs");
    running.signal("INT");
    let output = running.wait();
    assert_eq!(output.code, Some(1), "{output}");
    assert_eq!(survivors(&world), [""; 0]);
    held.assert_nobody_is_left();
    assert_eq!((world.repo.tree(), world.repo.git_state(), world.repo.diff_cached()), before);
    assert_eq!(world.status()["counts"]["open"], 1);
}

pub fn cancelling_in_the_editor_ends_the_agents_tool_and_restores_the_tree(program: Program) {
    let (world, fifo) = deep_in_a_tool(program);
    let before = (world.repo.tree(), world.repo.git_state(), world.repo.diff_cached());
    let mut client = world.lsp();
    let action = client.code_action(&world.repo, "calc.py", 4, "Fix with loop");
    client.choose(&action);
    let held = Held::open(fifo);
    client.execute("fix-loop.cancel", json!({}));
    client.status(|status| {
        let loops = status["loops"].as_array().expect("a list");
        status["counts"]["open"] == 1 && loops.iter().all(|known| known["state"] == "finished")
    });
    held.assert_nobody_is_left();
    client.finished_progress();
    assert_eq!((world.repo.tree(), world.repo.git_state(), world.repo.diff_cached()), before);
    client.shutdown();
    assert_eq!(survivors(&world), [""; 0]);
}
