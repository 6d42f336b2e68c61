//! Which calls are wanted: one language for the page, the screen and the commands.
//!
//! ```text
//! server:git tool:*delete* >200ms error -client:cursor "text in a message"
//! ```
//!
//! Words beside each other must all hold; `or` between them begins another way. A word
//! with `-` or `!` before it must not hold. Patterns may have `*`, and their case does not
//! matter.

mod read;
mod wrong;

pub use wrong::{Why, Wrong};

use crate::{calls::Call, limits};
use read::split;

/// What a filter can say, each with what it means: for help and reference.
pub const WORDS: &[(&str, &str)] = &[
    ("server:NAME", "calls of this server"),
    (
        "tool:NAME",
        "calls of this tool (also `name:`: a prompt, a resource, a task)",
    ),
    ("client:NAME", "what the client calls itself"),
    ("principal:NAME", "on whose behalf"),
    ("session:ID", "the client's session"),
    ("method:NAME", "the method, such as `tools/*`"),
    (
        "origin:client|own",
        "a client's, or a command's, a flow's, the console's",
    ),
    (
        "era:legacy|modern|bridged",
        "the client's era; `bridged` where the server's is another",
    ),
    (
        "ok, error, denied, cancelled, running, waiting",
        "how it ended, or that it has not",
    ),
    ("fault:client|ours|server", "whose fault it was"),
    ("code:N", "the error's code"),
    ("id:12", "its number; also `id:10..20`"),
    (
        ">200ms, <1s",
        "how long it took; `server>200ms` at its server, `ours>1ms` in us",
    ),
    ("bytes>10k, tokens>1000", "how large the answer is"),
    (
        "asked, retried, kept, replay",
        "asked somebody, was sent again, has its messages, repeats another",
    ),
    (
        "\"text\"",
        "stands in one of its messages, which must be kept; four of these at most",
    ),
    ("-WORD, !WORD", "not that"),
    ("or", "one way or the other"),
];

/// A filter that has been read.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Ways in which a call can match; none is all calls.
    ways: Vec<Vec<Word>>,
}

#[derive(Clone, Debug, PartialEq)]
struct Word {
    is_not: bool,
    test: Test,
}

#[derive(Clone, Debug, PartialEq)]
enum Test {
    Server(Pattern),
    Name(Pattern),
    Client(Pattern),
    Principal(Pattern),
    Session(Pattern),
    Method(Pattern),
    Origin(String),
    Era(Spoken),
    Outcome(String),
    Fault(String),
    Code(i64),
    Id(u64, u64),
    Number(Field, Than, u64),
    Asked,
    Retried,
    Kept,
    Replay,
    Text(String),
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Spoken {
    Legacy,
    Modern,
    Bridged,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Field {
    Took,
    AtServer,
    Ours,
    Bytes,
    Tokens,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Than {
    More,
    Less,
}

impl Filter {
    /// Reads a filter. Nothing lets every call through.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        if text.len() > limits::FILTER_BYTES {
            return Err(Why::TooLong.whole());
        }
        let words = split(text)?;
        if words.len() > limits::FILTER_WORDS {
            return Err(Why::TooManyWords.whole());
        }
        let mut ways = vec![Vec::new()];
        for token in &words {
            if token.is_or() {
                if ways.last().is_some_and(Vec::is_empty) {
                    return Err(Why::Or.at(token.at, &token.text));
                }
                ways.push(Vec::new());
                continue;
            }
            let test = token.test().map_err(|why| why.at(token.at, &token.text))?;
            if let Some(way) = ways.last_mut() {
                let is_not = token.is_not;
                way.push(Word { is_not, test });
            }
        }
        if ways.len() > 1 && ways.last().is_some_and(Vec::is_empty) {
            return Err(Why::Or.at(text.len(), "or"));
        }
        ways.retain(|way| !way.is_empty());
        let filter = Self { ways };
        if filter.texts() > limits::FILTER_TEXTS {
            return Err(Why::TooManyTexts.whole());
        }
        Ok(filter)
    }

    /// Whether it lets every call through.
    pub fn is_empty(&self) -> bool {
        self.ways.is_empty()
    }

    /// Whether it is for calls of the program's own alone: no client's call matches.
    pub fn is_of_own(&self) -> bool {
        let is_own = |word: &Word| match &word.test {
            Test::Origin(origin) => (origin == "own") != word.is_not,
            _ => false,
        };
        !self.ways.is_empty() && self.ways.iter().all(|way| way.iter().any(is_own))
    }

    /// Whether it wants to know what stands in messages.
    pub fn needs_messages(&self) -> bool {
        self.texts() > 0
    }

    fn texts(&self) -> usize {
        let words = self.ways.iter().flatten();
        let texts = words.filter(|word| matches!(word.test, Test::Text(_)));
        texts.count()
    }

    /// Whether a call is wanted. `says` tells whether a text stands in its messages; it
    /// is asked last, since it has most to do.
    pub fn matches(&self, call: &Call, says: &mut dyn FnMut(&str) -> bool) -> bool {
        if self.ways.is_empty() {
            return true;
        }
        self.ways.iter().any(|way| {
            let cheap = |word: &&Word| !matches!(word.test, Test::Text(_));
            let dear = |word: &&Word| matches!(word.test, Test::Text(_));
            way.iter().filter(cheap).all(|word| word.holds(call))
                && way.iter().filter(dear).all(|word| match &word.test {
                    Test::Text(text) => says(text) != word.is_not,
                    _ => true,
                })
        })
    }
}

impl Word {
    fn holds(&self, call: &Call) -> bool {
        self.test.holds(call) != self.is_not
    }
}

impl Test {
    fn holds(&self, call: &Call) -> bool {
        let has = |pattern: &Pattern, text: &Option<String>| {
            text.as_ref().is_some_and(|text| pattern.matches(text))
        };
        match self {
            Self::Server(pattern) => has(pattern, &call.server),
            Self::Name(pattern) => has(pattern, &call.name),
            Self::Client(pattern) => has(pattern, &call.client),
            Self::Principal(pattern) => pattern.matches(&call.principal),
            Self::Session(pattern) => has(pattern, &call.session),
            Self::Method(pattern) => pattern.matches(&call.method),
            Self::Origin(origin) => call.origin == *origin,
            Self::Era(era) => era.is_of(call),
            Self::Outcome(outcome) => call.outcome == *outcome,
            Self::Fault(fault) => call.fault.as_ref() == Some(fault),
            Self::Code(code) => call.code == Some(*code),
            Self::Id(from, to) => (*from..=*to).contains(&call.id),
            Self::Number(field, than, limit) => field.of(call).is_some_and(|value| match than {
                Than::More => value > *limit,
                Than::Less => value < *limit,
            }),
            Self::Asked => call.asked > 0,
            Self::Retried => call.sent > 1,
            Self::Kept => call.kept,
            Self::Replay => call.replay_of.is_some(),
            Self::Text(_) => true,
        }
    }
}

impl Spoken {
    fn is_of(self, call: &Call) -> bool {
        match self {
            Self::Legacy => call.client_era == "legacy",
            Self::Modern => call.client_era == "modern",
            Self::Bridged => call
                .server_era
                .as_ref()
                .is_some_and(|era| *era != call.client_era),
        }
    }
}

impl Field {
    fn of(self, call: &Call) -> Option<u64> {
        match self {
            Self::Took => call.took,
            Self::AtServer => call.at_server,
            Self::Ours => call.ours(),
            Self::Bytes => Some(call.bytes_out),
            Self::Tokens => Some(call.tokens),
        }
    }
}

/// A text in which `*` is anything.
#[derive(Clone, Debug, PartialEq)]
struct Pattern(Vec<String>);

impl Pattern {
    fn new(text: &str) -> Self {
        let parts = text.split('*');
        Self(parts.map(str::to_lowercase).collect())
    }

    fn matches(&self, text: &str) -> bool {
        let text = text.to_lowercase();
        let (Some(first), Some(last)) = (self.0.first(), self.0.last()) else {
            return false;
        };
        if self.0.len() == 1 {
            return text == *first;
        }
        let Some(rest) = text.strip_prefix(first.as_str()) else {
            return false;
        };
        let Some(mut rest) = rest.strip_suffix(last.as_str()) else {
            return false;
        };
        self.0[1..self.0.len() - 1].iter().all(|part| {
            let found = rest.find(part.as_str());
            if let Some(at) = found {
                rest = &rest[at + part.len()..];
            }
            found.is_some()
        })
    }
}

#[cfg(test)]
mod tests;
