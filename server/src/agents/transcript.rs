//! The bounded record of what one worker wrote, in the ledger's folder: one file per worker.

use std::fs::File;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::process::{Line, Stream};

/// What is kept of one worker.
const MOST: u64 = 8 * 1024 * 1024;

/// A file that is being written. A transcript that cannot be written never fails a dispatch.
pub(super) struct Transcript {
    file: Option<File>,
    written: u64,
    left_out: u64,
}

impl Transcript {
    pub(super) fn open(folder: &Path, worker: &str) -> Self {
        let path = path_of(folder, worker, "log");
        let file = std::fs::create_dir_all(folder)
            .and_then(|()| File::options().create(true).append(true).open(&path))
            .inspect_err(|error| {
                tracing::warn!("the transcript {} cannot be written: {error}", path.display())
            })
            .ok();
        Transcript { file, written: 0, left_out: 0 }
    }

    /// A remark of our own.
    pub(super) fn note(&mut self, text: &str) {
        self.write(&format!("# {}\n", crate::process::clean(text).replace('\n', "\n# ")));
    }

    pub(super) fn line(&mut self, line: &Line) {
        let mark = match line.stream {
            Stream::Stdout => "",
            Stream::Stderr => "! ",
        };
        let text = format!("{mark}{}\n", crate::process::clean(&line.text).replace('\n', " "));
        if self.written + text.len() as u64 > MOST {
            self.left_out += text.len() as u64;
            return;
        }
        self.write(&text);
    }

    pub(super) fn close(mut self) {
        if self.left_out > 0 {
            let text = format!("# {} more bytes left out\n", self.left_out);
            self.write(&text);
        }
    }

    fn write(&mut self, text: &str) {
        self.written += text.len() as u64;
        if let Some(file) = &mut self.file
            && file.write_all(text.as_bytes()).is_err()
        {
            self.file = None;
        }
    }
}

/// Where a worker's file lies. The worker's name is the engine's, and still never leaves the folder.
pub(super) fn path_of(folder: &Path, worker: &str, extension: &str) -> PathBuf {
    let safe: String = worker
        .chars()
        .map(|char| if char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.') { char } else { '_' })
        .take(100)
        .collect();
    let safe = safe.trim_start_matches('.');
    folder.join(format!("{}.{extension}", if safe.is_empty() { "worker" } else { safe }))
}
