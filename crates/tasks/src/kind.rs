//! What kinds of tasks there are.

use std::fmt;

/// What a task is for. A test panics in each of them on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A client's request, up to its answer.
    Request,
    /// One message of a client's that is looked at.
    Message,
    /// One request over HTTP, whatever it is for.
    Http,
    /// The events of an answer over HTTP.
    Stream,
    /// A client's connection.
    Connection,
    /// A client on a channel of its own, as long as it stays.
    Conversation,
    /// A question to a client.
    Question,
    /// Something that is looked at now and then.
    Upkeep,
    /// The making of a connection to a server, and what keeps it.
    Connecting,
    /// A message of a server's that is looked at.
    Arriving,
    /// What a server is listened to for besides answers.
    Listening,
    /// A small thing that nobody waits for.
    Background,
    /// Reads what a server sends.
    Reader,
    /// Writes what waits to be written.
    Writer,
    /// One message on its way to a server over HTTP.
    Post,
    /// Watches a server's process.
    Process,
    /// A sign-in.
    SignIn,
    /// A server inside the program.
    Builtin,
    /// Work on a thread of its own.
    Blocking,
}

impl Kind {
    /// All of them.
    pub const ALL: [Self; 19] = [
        Self::Request,
        Self::Message,
        Self::Http,
        Self::Stream,
        Self::Connection,
        Self::Conversation,
        Self::Question,
        Self::Upkeep,
        Self::Connecting,
        Self::Arriving,
        Self::Listening,
        Self::Background,
        Self::Reader,
        Self::Writer,
        Self::Post,
        Self::Process,
        Self::SignIn,
        Self::Builtin,
        Self::Blocking,
    ];

    /// One word.
    pub fn name(self) -> &'static str {
        match self {
            Self::Request => "request",
            Self::Message => "message",
            Self::Http => "http",
            Self::Stream => "stream",
            Self::Connection => "connection",
            Self::Conversation => "conversation",
            Self::Question => "question",
            Self::Upkeep => "upkeep",
            Self::Connecting => "connecting",
            Self::Arriving => "arriving",
            Self::Listening => "listening",
            Self::Background => "background",
            Self::Reader => "reader",
            Self::Writer => "writer",
            Self::Post => "post",
            Self::Process => "process",
            Self::SignIn => "sign-in",
            Self::Builtin => "builtin",
            Self::Blocking => "blocking",
        }
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Panics where a test wants it: `SWITCHBOARD_TEST_PANIC=reader:2` is the second
/// task of that kind, `reader` is each of them.
#[cfg(debug_assertions)]
pub(crate) fn panic_on_purpose(kind: Kind) {
    use std::sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    };
    static WANTED: LazyLock<Option<(String, Option<u64>)>> = LazyLock::new(|| {
        let wanted = std::env::var("SWITCHBOARD_TEST_PANIC").ok()?;
        Some(match wanted.split_once(':') {
            Some((kind, count)) => (kind.to_owned(), count.parse().ok()),
            None => (wanted, None),
        })
    });
    static SEEN: AtomicU64 = AtomicU64::new(0);
    let Some((wanted, which)) = &*WANTED else {
        return;
    };
    if wanted != kind.name() {
        return;
    }
    let seen = SEEN.fetch_add(1, Ordering::Relaxed) + 1;
    if which.is_none_or(|which| which == seen) {
        panic!("a task of kind {kind} panics on purpose");
    }
}

#[cfg(not(debug_assertions))]
pub(crate) fn panic_on_purpose(_: Kind) {}
