//! The syslog severities of `notifications/message`.

/// A severity; a greater one is more severe.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LogLevel(usize);

const NAMES: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

impl LogLevel {
    pub(crate) const INFO: Self = Self(1);

    pub(crate) fn parse(name: &str) -> Option<Self> {
        NAMES.iter().position(|known| *known == name).map(Self)
    }

    pub(crate) fn as_str(self) -> &'static str {
        NAMES[self.0]
    }
}
