//! Commands from other processes (DESIGN 4): a file renamed into `<git dir>/fix-loop/requests/`.
//!
//! A request appears whole or not at all, is taken by exactly one driver, and is answered by a file of the same name in
//! `replies/`, so that the process that asked can say what came of it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use super::api::{Command, Refusal, Reply};

static SERIAL: AtomicU32 = AtomicU32::new(0);

/// A request as left by another process.
#[derive(Debug)]
pub struct Request {
    pub name: String,
    pub command: Result<Command, String>,
}

fn requests(state_dir: &Path) -> PathBuf {
    state_dir.join("requests")
}

fn replies(state_dir: &Path) -> PathBuf {
    state_dir.join("replies")
}

fn write_whole(folder: &Path, name: &str, bytes: &[u8]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut file = tempfile::NamedTempFile::new_in(folder)?;
    io::Write::write_all(&mut file, bytes)?;
    file.persist(folder.join(name)).map_err(|error| error.error)?;
    Ok(())
}

/// Leaves a command for the driver; the name is for [`reply`].
pub fn leave(state_dir: &Path, command: &Command) -> io::Result<String> {
    let name = format!("{}-{}.json", std::process::id(), SERIAL.fetch_add(1, Ordering::Relaxed));
    let bytes = serde_json::to_vec(command).expect("commands are plain data");
    write_whole(&requests(state_dir), &name, &bytes)?;
    Ok(name)
}

/// Takes every request that is there, oldest first.
pub fn take(state_dir: &Path) -> Vec<Request> {
    let Ok(entries) = fs::read_dir(requests(state_dir)) else { return Vec::new() };
    let mut found: Vec<(std::time::SystemTime, String, PathBuf)> = entries
        .filter_map(Result::ok)
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let written = entry.metadata().ok()?.modified().ok()?;
            // Temporary names have a leading dot and no `.json`.
            (name.ends_with(".json") && !name.starts_with('.')).then(|| (written, name, entry.path()))
        })
        .collect();
    found.sort();
    found
        .into_iter()
        .filter_map(|(_, name, path)| {
            let bytes = fs::read(&path).ok()?;
            fs::remove_file(&path).ok()?;
            let command = serde_json::from_slice(&bytes).map_err(|error| error.to_string());
            Some(Request { name, command })
        })
        .collect()
}

pub fn answer(state_dir: &Path, name: &str, result: &Result<Reply, Refusal>) -> io::Result<()> {
    let bytes = serde_json::to_vec(result).expect("replies are plain data");
    write_whole(&replies(state_dir), name, &bytes)
}

/// The driver's answer, once it is there; it is taken away.
pub fn reply(state_dir: &Path, name: &str) -> Option<Result<Reply, Refusal>> {
    let path = replies(state_dir).join(name);
    let bytes = fs::read(&path).ok()?;
    let _ = fs::remove_file(&path);
    serde_json::from_slice(&bytes).ok()
}

/// The request is still there: nobody has taken it. Takes it back and says whether it did.
pub fn withdraw(state_dir: &Path, name: &str) -> bool {
    fs::remove_file(requests(state_dir).join(name)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::engine::api::RefusalKind;

    #[test]
    fn a_request_is_taken_once_and_answered_to_the_one_who_asked() {
        let dir = tempfile::tempdir().unwrap();
        let first = leave(dir.path(), &Command::FixAll).unwrap();
        let second = leave(dir.path(), &Command::Undo { r#loop: "L1".into() }).unwrap();
        let taken = take(dir.path());
        assert_eq!(taken.len(), 2);
        assert!(take(dir.path()).is_empty());
        let refusal = Refusal { kind: RefusalKind::Unknown, message: "no such loop".into() };
        answer(dir.path(), &second, &Err(refusal.clone())).unwrap();
        assert_eq!(reply(dir.path(), &first), None);
        assert_eq!(reply(dir.path(), &second), Some(Err(refusal)));
        assert_eq!(reply(dir.path(), &second), None);
        assert!(!withdraw(dir.path(), &first));
    }

    #[test]
    fn garbage_is_told_and_half_written_files_are_not_seen() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(requests(dir.path())).unwrap();
        fs::write(requests(dir.path()).join("1-0.json"), "{\"command\":\"launch\"}").unwrap();
        fs::write(requests(dir.path()).join(".tmp123"), "{").unwrap();
        let taken = take(dir.path());
        assert_eq!(taken.len(), 1);
        assert!(taken[0].command.is_err());
    }
}
