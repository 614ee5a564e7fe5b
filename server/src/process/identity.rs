//! Recognising a process again after Fix Loop itself was killed.
//!
//! A pid alone is not enough, since the system gives it to someone else later; a pid with its start time is. Recovery
//! (DESIGN 7.5) uses it to end what a crash left running, and must never end anything else.

use serde::{Deserialize, Serialize};

/// A process, told apart from any later one with the same pid.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Identity {
    pub pid: u32,
    /// Opaque: the kernel's start time with a mark of the present boot, so that a process of another boot never
    /// matches. Zero where the system does not tell; then nothing matches.
    pub start_time: u64,
}

impl Identity {
    /// The identity of a running process.
    pub fn of(pid: u32) -> Option<Identity> {
        start_time(pid).map(|start_time| Identity { pid, start_time })
    }
}

/// Whether exactly this process still runs (a zombie does not).
pub fn is_alive(identity: &Identity) -> bool {
    identity.start_time != 0
        && start_time(identity.pid) == Some(identity.start_time)
        && !super::descendants::is_zombie(identity.pid)
}

/// Ends a process left over from an earlier run, with its group and its descendants. Says whether there was one.
/// A process with the same pid and another start time is left alone.
pub fn end_leftover(identity: &Identity) -> bool {
    if !is_alive(identity) {
        return false;
    }
    super::descendants::kill_tree(identity.pid);
    true
}

#[cfg(target_os = "linux")]
fn start_time(pid: u32) -> Option<u64> {
    // 40 bits of clock ticks since boot are centuries; 13 bits of the boot's id above them keep the whole value exact
    // in every JSON reader.
    let ticks = super::descendants::stat(pid)?.start_ticks & ((1 << 40) - 1);
    Some(boot_mark() << 40 | ticks)
}

#[cfg(target_os = "linux")]
fn boot_mark() -> u64 {
    static MARK: std::sync::OnceLock<u64> = std::sync::OnceLock::new();
    *MARK.get_or_init(|| {
        let id = std::fs::read("/proc/sys/kernel/random/boot_id").unwrap_or_default();
        let hash = id.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        });
        hash >> 51
    })
}

#[cfg(not(target_os = "linux"))]
fn start_time(pid: u32) -> Option<u64> {
    // `ps` is the portable way; the text is hashed, since only equality matters.
    let output =
        std::process::Command::new("ps").args(["-o", "lstart=", "-p", &pid.to_string()]).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let text = text.trim();
    if text.is_empty() {
        return None;
    }
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    Some(hash >> 11 | 1)
}
