//! How much is logged, as a word.

use tracing_subscriber::filter::LevelFilter;

/// How much to log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// What failed.
    Error,
    /// What is odd, too.
    Warn,
    /// What happens.
    Info,
    /// Why.
    Debug,
    /// Everything.
    Trace,
}

impl Level {
    const ALL: [Self; 5] = [
        Self::Error,
        Self::Warn,
        Self::Info,
        Self::Debug,
        Self::Trace,
    ];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warn => "warn",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Trace => "trace",
        }
    }

    /// The level of this word.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|level| level.word() == word)
    }

    /// The same for those who filter.
    pub fn filter(self) -> LevelFilter {
        match self {
            Self::Error => LevelFilter::ERROR,
            Self::Warn => LevelFilter::WARN,
            Self::Info => LevelFilter::INFO,
            Self::Debug => LevelFilter::DEBUG,
            Self::Trace => LevelFilter::TRACE,
        }
    }
}
