//! Logs: one line each on stderr, with nothing in it that a terminal would obey or
//! that looks like a secret.

use crate::{
    args::Level,
    show::{live, safe},
};
use std::io::{self, Write};
use switchboard::local::secret;
use tracing_subscriber::{
    filter::{LevelFilter, Targets},
    fmt::MakeWriter,
    layer::SubscriberExt,
    util::SubscriberInitExt,
};

/// Starts logging. Our own crates speak at the asked level, others only when something is odd.
pub fn init(level: Level) {
    let level = match level {
        Level::Error => LevelFilter::ERROR,
        Level::Warn => LevelFilter::WARN,
        Level::Info => LevelFilter::INFO,
        Level::Debug => LevelFilter::DEBUG,
        Level::Trace => LevelFilter::TRACE,
    };
    let others = if level == LevelFilter::TRACE {
        LevelFilter::DEBUG
    } else {
        level.min(LevelFilter::WARN)
    };
    let mut filter = Targets::new()
        .with_default(others)
        .with_target("switchboard", level);
    // What they log at debug level holds codes and tokens.
    for target in switchboard::auth::SECRET_TARGETS {
        filter = filter.with_target(*target, LevelFilter::OFF);
    }
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(Lines);
    // Only fails if there is one already.
    let _ = tracing_subscriber::registry()
        .with(filter)
        .with(layer)
        .try_init();
    switchboard::tasks::watch_panics();
}

/// Makes a writer for each event.
struct Lines;

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line::default()
    }
}

/// Collects one event and writes it as one line when it is complete: what a
/// server said cannot look like a record of ours.
#[derive(Default)]
struct Line(Vec<u8>);

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.0);
        live::stderr_line(&safe::line(&secret::text(text.trim_end())));
    }
}
