//! Diagnostic logging to stderr, off unless `FIX_LOOP_LOG` asks for it (`info`, `debug`, `fix_loop=trace` …).

use tracing_subscriber::EnvFilter;

pub fn start() {
    let Ok(filter) = std::env::var("FIX_LOOP_LOG") else { return };
    let Ok(filter) = EnvFilter::try_new(filter) else {
        tell!("fix-loop: FIX_LOOP_LOG is not a log filter; nothing is logged");
        return;
    };
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_writer(std::io::stderr)
        .with_ansi(false)
        // It would be said on stderr, which is what cannot be written.
        .log_internal_errors(false)
        .init();
}
