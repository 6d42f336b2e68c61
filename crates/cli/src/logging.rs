//! Logs: one line each, with nothing in it that a terminal would obey or that looks
//! like a secret. They go to stderr, to the journal where that is what stderr leads to,
//! or to a file; how much is said can be changed while the program runs. Those of
//! gateways are kept in a file as well, for `switchboard logs`.

use crate::{
    args::Level,
    failure::Advice,
    show::{live, safe},
};
use parking_lot::Mutex;
use std::{
    fmt,
    io::{self, Write},
    path::{Path, PathBuf},
    str::FromStr,
    sync::{Arc, OnceLock},
};
use switchboard::{
    local::secret,
    record::log_files::{LogFile, Rotation},
    watching::{LogControl, WrongFilter},
};
use tracing::Metadata;
use tracing_subscriber::{
    Registry,
    filter::{LevelFilter, Targets},
    fmt::MakeWriter,
    layer::SubscriberExt,
    reload,
    util::SubscriberInitExt,
};

/// How much is logged: by all of it, and by some modules another amount.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    level: Level,
    modules: Vec<(String, Level)>,
}

impl From<Level> for Filter {
    fn from(level: Level) -> Self {
        Self {
            level,
            modules: Vec::new(),
        }
    }
}

impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.level.word())?;
        for (module, level) in &self.modules {
            write!(f, ",{module}={}", level.word())?;
        }
        Ok(())
    }
}

impl FromStr for Filter {
    type Err = Advice;

    fn from_str(text: &str) -> Result<Self, Advice> {
        let mut filter = Self::from(Level::Warn);
        for part in text.split(',').map(str::trim) {
            let (module, word) = part.rsplit_once('=').unwrap_or(("", part));
            let level = Level::parse(word).ok_or_else(|| {
                let text = format!("{word:?} is no level: write error, warn, info, debug or trace");
                Advice::from(text)
            })?;
            let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | ':');
            match module {
                "" if part.contains('=') => return Err("name a module before =".into()),
                "" => filter.level = level,
                module if module.chars().all(is_name) => {
                    filter.modules.push((module.to_owned(), level));
                }
                _ => return Err(format!("{module:?} is no module").into()),
            }
        }
        Ok(filter)
    }
}

impl Filter {
    /// Our own crates speak at the asked level, others only when something is odd.
    fn targets(&self) -> Targets {
        let level = self.level.filter();
        let others = if level == LevelFilter::TRACE {
            LevelFilter::DEBUG
        } else {
            level.min(LevelFilter::WARN)
        };
        let mut targets = Targets::new()
            .with_default(others)
            .with_target("switchboard", level);
        for (module, level) in &self.modules {
            // `host` is our crate of that name; a longer name is another's.
            let crate_name = module.split("::").next().unwrap_or_default();
            let target = match CRATES.contains(&crate_name) {
                true => format!("switchboard_{module}"),
                false => module.clone(),
            };
            targets = targets.with_target(target, level.filter());
        }
        // What they log at debug level holds codes and tokens.
        for target in switchboard::auth::SECRET_TARGETS {
            targets = targets.with_target(*target, LevelFilter::OFF);
        }
        targets
    }
}

/// Our crates, as a filter names them.
const CRATES: [&str; 12] = [
    "agent",
    "auth",
    "builtin",
    "config",
    "gateway",
    "host",
    "local",
    "model",
    "process",
    "record",
    "tasks",
    "transport",
];

/// What changes the amount while the program runs.
static CONTROL: OnceLock<Arc<Control>> = OnceLock::new();

#[derive(Debug)]
struct Control {
    now: Mutex<Filter>,
    handle: reload::Handle<Targets, Registry>,
    file: Option<PathBuf>,
}

impl LogControl for Control {
    fn set(&self, filter: &str) -> Result<(), WrongFilter> {
        let filter = Filter::from_str(filter).map_err(|wrong| WrongFilter(wrong.to_string()))?;
        let targets = filter.targets();
        let set = self.handle.reload(targets);
        set.map_err(|error| WrongFilter(error.to_string()))?;
        *self.now.lock() = filter;
        Ok(())
    }

    fn now(&self) -> String {
        self.now.lock().to_string()
    }

    fn file(&self) -> Option<PathBuf> {
        self.file.clone()
    }
}

/// What changes the amount while the program runs, for a gateway's `/api`.
pub fn control() -> Option<Arc<dyn LogControl>> {
    let control = CONTROL.get()?.clone();
    Some(control)
}

/// Starts logging: to `file`, or else to stderr, and then to `kept` as well.
pub fn init(filter: Filter, file: Option<&Path>, kept: Option<&Path>) -> io::Result<()> {
    let open = |file: &Path| LogFile::open(file, Rotation::default()).map(Mutex::new);
    let to = match file {
        Some(file) => To::File(open(file)?),
        None if is_journal() => To::Journal,
        None => To::Stderr,
    };
    // Where it cannot be kept it is on stderr all the same.
    let kept = kept.filter(|_| file.is_none());
    let kept = kept.and_then(|kept| open(kept).ok());
    let (targets, handle) = reload::Layer::new(filter.targets());
    let layer = tracing_subscriber::fmt::layer()
        .with_ansi(false)
        .with_writer(Lines(Arc::new(Places { to, kept })));
    let begun = tracing_subscriber::registry()
        .with(targets)
        .with(layer)
        .try_init();
    // Only fails if there is one already.
    if begun.is_ok() {
        let now = Mutex::new(filter);
        let file = file.and_then(|file| std::path::absolute(file).ok());
        let _ = CONTROL.set(Arc::new(Control { now, handle, file }));
    }
    switchboard::tasks::watch_panics();
    Ok(())
}

/// Whether stderr leads to the journal: the one who started us says which file that is.
fn is_journal() -> bool {
    let said = std::env::var("JOURNAL_STREAM").ok();
    let said = said.as_deref().and_then(|said| said.split_once(':'));
    let Some((device, inode)) = said else {
        return false;
    };
    rustix::fs::fstat(io::stderr()).is_ok_and(|stderr| {
        device.parse() == Ok(stderr.st_dev) && inode.parse() == Ok(stderr.st_ino)
    })
}

/// Where lines go.
#[derive(Debug)]
struct Places {
    to: To,
    /// The file that several gateways write to, each with its process.
    kept: Option<Mutex<LogFile>>,
}

/// Where they are read at once.
#[derive(Debug)]
enum To {
    Stderr,
    /// Stderr, with the priority that the journal reads before each line.
    Journal,
    File(Mutex<LogFile>),
}

/// Makes a writer for each event.
struct Lines(Arc<Places>);

impl<'a> MakeWriter<'a> for Lines {
    type Writer = Line;

    fn make_writer(&'a self) -> Line {
        Line {
            text: Vec::new(),
            places: self.0.clone(),
            priority: 6,
        }
    }

    fn make_writer_for(&'a self, about: &Metadata<'_>) -> Line {
        let priority = match *about.level() {
            tracing::Level::ERROR => 3,
            tracing::Level::WARN => 4,
            tracing::Level::INFO => 6,
            tracing::Level::DEBUG | tracing::Level::TRACE => 7,
        };
        let mut line = self.make_writer();
        line.priority = priority;
        line
    }
}

/// Collects one event and writes it as one line when it is complete: what a
/// server said cannot look like a record of ours.
struct Line {
    text: Vec<u8>,
    places: Arc<Places>,
    /// As syslog counts them.
    priority: u8,
}

impl Write for Line {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.text.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        let text = String::from_utf8_lossy(&self.text);
        let line = safe::line(&secret::text(text.trim_end()));
        let (time, rest) = line.split_once(' ').unwrap_or(("", &line));
        if let Some(kept) = &self.places.kept {
            let line = format!("{time} [{}] {rest}\n", std::process::id());
            // Where it cannot be written it is on stderr all the same.
            let _ = kept.lock().write(line.as_bytes());
        }
        match &self.places.to {
            To::Stderr => live::stderr_line(&line),
            To::Journal => {
                // It has times and levels of its own.
                let (_, text) = rest.trim_start().split_once(' ').unwrap_or(("", rest));
                live::stderr_line(&format!("<{}>{text}", self.priority));
            }
            To::File(file) => {
                let written = file.lock().write(format!("{line}\n").as_bytes());
                if written.is_err() {
                    // Better there than nowhere.
                    live::stderr_line(&line);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn filters_as_people_write_them() {
        for (text, shown) in [
            ("info", "info"),
            ("warn,host=debug", "warn,host=debug"),
            (
                "host=debug, gateway::faces=trace",
                "warn,host=debug,gateway::faces=trace",
            ),
        ] {
            assert_eq!(text.parse::<Filter>().unwrap().to_string(), shown);
        }
        for wrong in ["", "loud", "host=", "=debug", "a b=info", "info,"] {
            assert!(wrong.parse::<Filter>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn modules_have_their_own_amount() {
        let targets = "warn,host=debug,hyper=trace"
            .parse::<Filter>()
            .unwrap()
            .targets();
        let debug = &tracing::Level::DEBUG;
        assert!(targets.would_enable("switchboard_host::call", debug));
        assert!(!targets.would_enable("switchboard_gateway", debug));
        assert!(targets.would_enable("hyper::proto", &tracing::Level::TRACE));
        assert!(!targets.would_enable("rmcp::transport::auth", &tracing::Level::ERROR));
    }
}
