//! A check that a test can hold at any of its runs.

use std::fs;
use std::path::PathBuf;

use crate::{DEADLINE, Repo};

/// `words`: no file may hold BROKEN. It counts its runs, and the run that is to be held waits until the test is over.
pub struct HeldCheck {
    log: PathBuf,
}

impl HeldCheck {
    /// Writes the script beside the repository.
    pub fn install(repo: &Repo) -> HeldCheck {
        let log = repo.outside().join("check");
        fs::create_dir_all(&log).expect("a fresh folder");
        let script = "echo run >> \"$1/runs\"\n\
                      n=$(grep -c run \"$1/runs\")\n\
                      : > \"$1/at-$n\"\n\
                      while [ -e \"$1/hold-$n\" ]; do sleep 0.05; done\n\
                      ! grep -q BROKEN app.txt\n";
        fs::write(log.join("check.sh"), script).expect("the folder can be written");
        HeldCheck { log }
    }

    /// Its `[[check]]` table.
    pub fn toml(&self) -> String {
        format!(
            "[[check]]\nname = \"words\"\ncommand = [\"sh\", \"{0}/check.sh\", \"{0}\"]\nkind = \"test\"\n",
            self.log.display()
        )
    }

    /// Its n-th run, from 1, is to wait.
    pub fn hold(&self, run: u32) {
        fs::write(self.log.join(format!("hold-{run}")), "").expect("the folder can be written");
    }

    /// Lets a held run go on.
    pub fn release(&self, run: u32) {
        fs::remove_file(self.log.join(format!("hold-{run}"))).expect("it is held");
    }

    /// Waits until the n-th run has begun.
    pub fn reached(&self, run: u32) {
        let mark = self.log.join(format!("at-{run}"));
        let began = std::time::Instant::now();
        while !mark.exists() {
            assert!(began.elapsed() < DEADLINE, "the check never came to run {run}");
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }

    pub fn runs(&self) -> usize {
        fs::read_to_string(self.log.join("runs")).unwrap_or_default().lines().count()
    }
}
