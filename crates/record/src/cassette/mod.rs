//! Cassettes: what a server was asked and what it answered, in a file that can be given
//! on (`.mcp.jsonl`). One is written while a gateway runs, or from calls that are
//! kept; a server is played from it, and servers are held to it.
//!
//! | module | what |
//! |---|---|
//! | `line` | a line as text, and back |
//! | `read` | a whole file, within bounds |
//! | `fault` | what can be wrong with a line |
//! | `file` | files that are written, one after the other |
//! | `export` | calls that are kept in memory, as a cassette |
//! | `redact` | JSON without its secrets |
//! | `recorder` | an observer that records all that passes at servers |
//! | `asked` | requests as they are compared, and the recorded one that is closest |
//! | `compare` | where two values differ |
//! | `replay` | a server that answers from a cassette |
//! | `verify` | a server, held to a cassette |
//! | `junit` | what came of that, as continuous integration reads it |

mod asked;
mod compare;
mod export;
mod fault;
mod file;
mod junit;
mod line;
mod read;
mod recorder;
mod redact;
pub mod replay;
pub mod verify;

pub use compare::{Difference, differences};
pub use export::Export;
pub use fault::{Incomparable, LineFault};
pub use file::text;
pub use junit::junit;
pub use read::CassetteError;
pub use recorder::{Recorder, calls_of};
pub use redact::redact;

use bytes::Bytes;
use std::{collections::HashSet, sync::Arc};
use switchboard_wire::Era;

/// The version of the format that is written here.
// tidy: a version, not a cap
pub const VERSION: u64 = 1;
/// How the name of a cassette ends.
pub const ENDING: &str = ".mcp.jsonl";

/// What a file holds.
#[derive(Clone, Debug, Default)]
pub struct Cassette {
    /// What its first line says.
    pub header: Header,
    /// What servers said when they were met, of the first line and of those that follow.
    pub hellos: Vec<Hello>,
    /// Calls, in the order in which they began to be written down: that of their ends.
    pub calls: Vec<Recorded>,
}

/// The first line, but for what servers said.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Header {
    /// When it was begun.
    pub recorded: String,
    /// The program that wrote it, with its version.
    pub by: String,
}

/// What a server was told when it was met, and what it said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hello {
    /// The server.
    pub server: Arc<str>,
    /// The era in which it was met.
    pub era: Era,
    /// The parameters of `initialize` or `server/discover`.
    pub params: Option<Bytes>,
    /// What it answered.
    pub result: Bytes,
}

/// A call with where it stands.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// The line of the file, from 1.
    pub line: usize,
    /// The call.
    pub call: Call,
    /// What the server said, outside of any call, before the next one.
    pub after: Vec<Notice>,
}

/// One request to a server, and what came of it. Texts are those of the messages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The server.
    pub server: Arc<str>,
    /// The era in which it was asked.
    pub era: Era,
    /// When it left, in milliseconds since the recording began.
    pub at: u64,
    /// How long the answer took, in milliseconds.
    pub took: u64,
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Option<Bytes>,
    /// What happened before the answer.
    pub between: Vec<Between>,
    /// The answer.
    pub answer: Answer,
}

/// An answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The text of a result.
    Result(Bytes),
    /// The text of an error.
    Error(Bytes),
}

/// What happens between a request and its answer. Times are milliseconds since the request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Between {
    /// The server said something.
    Notice(Notice),
    /// The server asked something.
    Question(Question),
}

/// Something that a server said.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// When.
    pub at: u64,
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Option<Bytes>,
}

/// Something that a server asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// When.
    pub at: u64,
    /// The method.
    pub method: String,
    /// The parameters.
    pub params: Option<Bytes>,
    /// When it was answered, and what.
    pub answered: Option<(u64, Answer)>,
}

impl Cassette {
    /// The servers that it is about, in order, each once.
    pub fn servers(&self) -> Vec<Arc<str>> {
        let mut seen = HashSet::new();
        let met = self.hellos.iter().map(|hello| &hello.server);
        let asked = self.calls.iter().map(|one| &one.call.server);
        let names = met
            .chain(asked)
            .filter(|name| seen.insert(Arc::clone(name)));
        names.cloned().collect()
    }

    /// What is about one server alone.
    #[must_use]
    pub fn of(mut self, server: &str) -> Self {
        self.hellos.retain(|hello| &*hello.server == server);
        self.calls.retain(|one| &*one.call.server == server);
        self
    }

    /// What a server said when it was met in this era.
    pub fn hello(&self, era: Era) -> Option<&Hello> {
        self.hellos.iter().rev().find(|hello| hello.era == era)
    }

    /// The eras in which there is anything, that of most calls first.
    pub fn eras(&self) -> Vec<Era> {
        let count = |era: Era| {
            let calls = self.calls.iter().filter(|one| one.call.era == era).count();
            let hellos = self.hellos.iter().filter(|hello| hello.era == era).count();
            (calls, hellos)
        };
        let mut eras = vec![Era::Legacy, Era::Modern];
        eras.retain(|era| count(*era) != (0, 0));
        eras.sort_by_key(|era| std::cmp::Reverse(count(*era)));
        eras
    }
}

#[cfg(test)]
mod tests;
