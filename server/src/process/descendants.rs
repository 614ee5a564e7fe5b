//! The processes below a process: listing, ending and reaping them.
//!
//! Linux tells the whole tree through `/proc`. Elsewhere only the process group is known, which is the documented
//! fallback: a descendant in a session of its own escapes there.

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

/// Sends a signal to one process; one that is already gone is no error.
pub(super) fn signal(pid: u32, signal: Signal) {
    if let Some(pid) = raw(pid) {
        let _ = kill_process(pid, signal);
    }
}

/// Sends a signal to a process group; one that is already gone is no error.
pub(super) fn signal_group(leader: u32, signal: Signal) {
    if let Some(pid) = raw(leader) {
        let _ = kill_process_group(pid, signal);
    }
}

/// 0 and 1 are never a process of ours, and as a signal's target they would mean very different things.
fn raw(pid: u32) -> Option<Pid> {
    i32::try_from(pid).ok().filter(|pid| *pid > 1).and_then(Pid::from_raw)
}

/// Ends a process, its group and all that descends from it, until nothing new appears.
pub(super) fn kill_tree(root: u32) {
    for _ in 0..100 {
        let tree = below(root);
        if tree.is_empty() {
            break;
        }
        // Stopped first: what is stopped cannot fork while its parent is being ended.
        for &pid in &tree {
            signal(pid, Signal::STOP);
        }
        for &pid in &tree {
            signal(pid, Signal::KILL);
        }
    }
    signal_group(root, Signal::KILL);
    signal(root, Signal::KILL);
}

/// Whether this process still has children.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Left {
    Some,
    None,
}

#[cfg(target_os = "linux")]
pub(super) use linux::*;

#[cfg(target_os = "linux")]
mod linux {
    use std::fs;

    use std::time::{Duration, Instant};

    use rustix::process::{Signal, WaitOptions, wait, waitpid};

    use super::Left;

    /// The fields of `/proc/PID/stat` that matter here.
    pub(in crate::process) struct Stat {
        pub state: char,
        pub parent: u32,
        pub start_ticks: u64,
    }

    pub(in crate::process) fn stat(pid: u32) -> Option<Stat> {
        let text = fs::read(format!("/proc/{pid}/stat")).ok()?;
        let text = String::from_utf8_lossy(&text);
        // The second field is the name in parentheses, and may itself contain spaces and parentheses.
        let mut fields = text.rsplit_once(')')?.1.split_whitespace();
        let state = fields.next()?.chars().next()?;
        let parent = fields.next()?.parse().ok()?;
        let start_ticks = fields.nth(17)?.parse().ok()?;
        Some(Stat { state, parent, start_ticks })
    }

    pub(in crate::process) fn is_zombie(pid: u32) -> bool {
        // A process whose main thread ended shows as a zombie while its other threads run on.
        let threads = || fs::read_dir(format!("/proc/{pid}/task")).map_or(0, Iterator::count);
        stat(pid).is_none_or(|stat| matches!(stat.state, 'Z' | 'X') && threads() <= 1)
    }

    /// The direct children of a process, zombies included.
    pub(in crate::process) fn children(pid: u32) -> Vec<u32> {
        let Ok(tasks) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
        let mut found = Vec::new();
        for task in tasks.flatten() {
            match fs::read_to_string(task.path().join("children")) {
                Ok(text) => found.extend(text.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok())),
                // A kernel without the children file; a thread that just ended gives the same error and costs only
                // this scan.
                Err(_) => return children_by_scan(pid),
            }
        }
        found
    }

    fn children_by_scan(parent: u32) -> Vec<u32> {
        let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
        entries
            .flatten()
            .filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok())
            .filter(|&pid| stat(pid).is_some_and(|stat| stat.parent == parent))
            .collect()
    }

    /// Everything alive below a process, parents before children. Zombies are walked through but not listed.
    pub(in crate::process) fn below(root: u32) -> Vec<u32> {
        let mut alive = Vec::new();
        let mut seen = std::collections::HashSet::new();
        let mut open = children(root);
        while let Some(pid) = open.pop() {
            if !seen.insert(pid) {
                continue;
            }
            if !is_zombie(pid) {
                alive.push(pid);
            }
            open.extend(children(pid));
        }
        alive
    }

    /// Takes the exit status of every dead child of this process except `leader`, whose status its waiter wants.
    pub(in crate::process) fn reap(leader: u32) {
        for pid in children(std::process::id()) {
            if pid != leader && is_zombie(pid) {
                let _ = waitpid(super::raw(pid), WaitOptions::NOHANG);
            }
        }
    }

    /// Takes the exit status of every dead child, the program's included.
    ///
    /// Only the kernel's word that there is no child is taken for the end of everything below a subreaper: a listing can
    /// find nothing but dead processes while the next one is being forked.
    pub(in crate::process) fn reap_all() -> Left {
        loop {
            match wait(WaitOptions::NOHANG) {
                Ok(Some(_)) => {}
                Ok(None) => return Left::Some,
                Err(_) => return Left::None,
            }
        }
    }

    /// For a while, ends every descendant as soon as it appears, and does nothing else.
    ///
    /// A process that forks and exits, again and again, is gone before the whole tree has been listed with care. Here
    /// nothing is asked of a process but its children: those of one that is exiting are listed until they are handed to
    /// this process, a kill is sent before the next look, and the kernel lets no fork succeed while `SIGKILL` is pending.
    pub(in crate::process) fn chase(longest: Duration) -> Left {
        let me = std::process::id();
        let until = Instant::now() + longest;
        let mut open = Vec::new();
        while Instant::now() < until {
            if reap_all() == Left::None {
                return Left::None;
            }
            open.push(me);
            while let Some(pid) = open.pop() {
                let forked =
                    fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).unwrap_or_default();
                for child in forked.split_whitespace().filter_map(|pid| pid.parse::<u32>().ok()) {
                    super::signal(child, Signal::KILL);
                    open.push(child);
                }
            }
        }
        Left::Some
    }
}

#[cfg(not(target_os = "linux"))]
pub(super) fn reap_all() -> Left {
    Left::None
}

#[cfg(not(target_os = "linux"))]
pub(super) fn chase(_longest: std::time::Duration) -> Left {
    Left::None
}

#[cfg(not(target_os = "linux"))]
pub(super) fn is_zombie(pid: u32) -> bool {
    raw(pid).is_none_or(|pid| rustix::process::test_kill_process(pid).is_err())
}

/// Not known on this system; see the module's first paragraph.
#[cfg(not(target_os = "linux"))]
pub(super) fn below(_root: u32) -> Vec<u32> {
    Vec::new()
}

/// Only Linux lets a process adopt what its program left behind.
#[cfg(not(target_os = "linux"))]
pub(super) fn reap(_leader: u32) {}
