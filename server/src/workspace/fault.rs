//! Places at which a test may end the process, so that recovery is proven at every write.
//!
//! Owns the counting. Never does anything in a release build.

/// Marks a place between two writes.
///
/// In debug builds `FIX_LOOP_FAULT=<n>` makes the nth call abort the process, as `kill -9` would, and
/// `FIX_LOOP_FAULT_COUNT=<file>` appends the name of each point that is passed.
#[inline]
pub fn point(name: &str) {
    #[cfg(debug_assertions)]
    counted::point(name);
    #[cfg(not(debug_assertions))]
    let _ = name;
}

#[cfg(debug_assertions)]
mod counted {
    use std::io::Write;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicU64, Ordering};

    struct Plan {
        abort_at: Option<u64>,
        log: Option<std::path::PathBuf>,
    }

    static PASSED: AtomicU64 = AtomicU64::new(0);
    static PLAN: OnceLock<Plan> = OnceLock::new();

    pub(super) fn point(name: &str) {
        let plan = PLAN.get_or_init(|| Plan {
            abort_at: std::env::var("FIX_LOOP_FAULT").ok().and_then(|n| n.trim().parse().ok()),
            log: std::env::var_os("FIX_LOOP_FAULT_COUNT").map(Into::into),
        });
        let passed = PASSED.fetch_add(1, Ordering::SeqCst) + 1;
        if let Some(log) = &plan.log
            && let Ok(mut file) = std::fs::OpenOptions::new().create(true).append(true).open(log)
        {
            // One write call per line, so that lines of two threads never mix.
            file.write_all(format!("{name}\n").as_bytes()).ok();
        }
        if plan.abort_at == Some(passed) {
            std::process::abort();
        }
    }
}
