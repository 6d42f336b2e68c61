//! Which calls are wanted: one language for the page, the screen and the commands.
//!
//! ```text
//! server:git tool:*delete* >200ms error -client:cursor "text in a message"
//! ```
//!
//! Words beside each other must all hold; `or` between them begins another way. A word
//! with `-` or `!` before it must not hold. Patterns may have `*`, and their case does not
//! matter.

use crate::{calls::Call, limits};
use std::{fmt, str::Chars};

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
        "stands in one of its messages, which must be kept",
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

/// What is wrong with a filter, and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wrong {
    /// The byte at which it begins.
    pub at: usize,
    /// The word.
    pub word: String,
    /// What is wrong with it.
    pub why: String,
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.word.as_str() {
            "" => write!(f, "{}", self.why),
            word => write!(f, "at {}: `{word}`: {}", self.at + 1, self.why),
        }
    }
}

impl std::error::Error for Wrong {}

impl Filter {
    /// Reads a filter. Nothing lets every call through.
    pub fn parse(text: &str) -> Result<Self, Wrong> {
        let wrong = |at: usize, word: &str, why: String| Wrong {
            at,
            word: word.to_owned(),
            why,
        };
        if text.len() > limits::FILTER_BYTES {
            let why = format!("a filter has {} bytes at most", limits::FILTER_BYTES);
            return Err(wrong(0, "", why));
        }
        let words = split(text)?;
        if words.len() > limits::FILTER_WORDS {
            let why = format!("a filter has {} words at most", limits::FILTER_WORDS);
            return Err(wrong(0, "", why));
        }
        let mut ways = vec![Vec::new()];
        for Token {
            at,
            text,
            quoted,
            is_not,
        } in &words
        {
            if !quoted && text.eq_ignore_ascii_case("or") {
                if ways.last().is_some_and(Vec::is_empty) {
                    let why = "`or` stands between two words".to_owned();
                    return Err(wrong(*at, text, why));
                }
                ways.push(Vec::new());
                continue;
            }
            let test = match quoted {
                true => text_of(text),
                false => test(text),
            };
            let test = test.map_err(|why| wrong(*at, text, why))?;
            if let Some(way) = ways.last_mut() {
                let is_not = *is_not;
                way.push(Word { is_not, test });
            }
        }
        if ways.len() > 1 && ways.last().is_some_and(Vec::is_empty) {
            let at = text.len();
            return Err(wrong(at, "or", "`or` stands between two words".to_owned()));
        }
        ways.retain(|way| !way.is_empty());
        Ok(Self { ways })
    }

    /// Whether it lets every call through.
    pub fn is_empty(&self) -> bool {
        self.ways.is_empty()
    }

    /// Whether it wants to know what stands in messages.
    pub fn needs_messages(&self) -> bool {
        let mut words = self.ways.iter().flatten();
        words.any(|word| matches!(word.test, Test::Text(_)))
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
            Self::Ours => Some(call.took?.saturating_sub(call.at_server.unwrap_or(0))),
            Self::Bytes => Some(call.bytes_out),
            Self::Tokens => Some(call.tokens),
        }
    }
}

/// One word with where it begins.
struct Token {
    at: usize,
    text: String,
    /// Whether all of it stood in quotes.
    quoted: bool,
    /// Whether it must not hold.
    is_not: bool,
}

/// The words of a text. What stands in quotes is one, and `\` takes the next sign as it is.
fn split(text: &str) -> Result<Vec<Token>, Wrong> {
    let (mut words, mut chars) = (Vec::new(), text.chars());
    loop {
        let rest = chars.as_str().trim_start();
        let at = text.len() - rest.len();
        if rest.is_empty() {
            return Ok(words);
        }
        chars = rest.chars();
        let is_not = rest.starts_with(['-', '!']);
        if is_not {
            chars.next();
        }
        let quoted = chars.as_str().starts_with('"');
        let mut word = String::new();
        while let Some(next) = chars.clone().next().filter(|c| !c.is_whitespace()) {
            chars.next();
            match next {
                '"' => quote(&mut chars, &mut word).ok_or_else(|| Wrong {
                    at,
                    word: rest.to_owned(),
                    why: "the quote is not closed".to_owned(),
                })?,
                c => word.push(c),
            }
        }
        words.push(Token {
            at,
            text: word,
            quoted,
            is_not,
        });
    }
}

/// What stands until the quote that closes.
fn quote(chars: &mut Chars<'_>, word: &mut String) -> Option<()> {
    loop {
        match chars.next()? {
            '"' => return Some(()),
            '\\' => word.push(chars.next()?),
            c => word.push(c),
        }
    }
}

fn text_of(text: &str) -> Result<Test, String> {
    match text {
        "" => Err("there is nothing between the quotes".to_owned()),
        text => Ok(Test::Text(text.to_owned())),
    }
}

fn test(word: &str) -> Result<Test, String> {
    match word {
        "ok" | "error" | "denied" | "cancelled" | "running" | "waiting" => {
            return Ok(Test::Outcome(word.to_owned()));
        }
        "asked" => return Ok(Test::Asked),
        "retried" => return Ok(Test::Retried),
        "kept" => return Ok(Test::Kept),
        "replay" => return Ok(Test::Replay),
        _ => {}
    }
    let mark = word.find([':', '<', '>']);
    let Some(mark) = mark else {
        let why = "no word of the filter; a text that messages are searched for stands in quotes";
        return Err(why.to_owned());
    };
    let (key, value) = (&word[..mark], &word[mark + 1..]);
    if value.is_empty() {
        return Err(format!("something has to follow `{}`", &word[..=mark]));
    }
    match &word[mark..=mark] {
        ":" => named(key, value),
        than => {
            let field = match key {
                "" | "took" => Field::Took,
                "server" => Field::AtServer,
                "ours" => Field::Ours,
                "bytes" => Field::Bytes,
                "tokens" => Field::Tokens,
                _ => return Err("took, server, ours, bytes and tokens can be compared".to_owned()),
            };
            let than = if than == ">" { Than::More } else { Than::Less };
            let limit = match field {
                Field::Took | Field::AtServer | Field::Ours => time(value)?,
                Field::Bytes | Field::Tokens => amount(value)?,
            };
            Ok(Test::Number(field, than, limit))
        }
    }
}

fn named(key: &str, value: &str) -> Result<Test, String> {
    let pattern = || Pattern::new(value);
    let one_of = |all: &[&str]| match all.contains(&value) {
        true => Ok(value.to_owned()),
        false => Err(format!("{key} is one of {}", all.join(", "))),
    };
    Ok(match key {
        "server" => Test::Server(pattern()),
        "tool" | "name" => Test::Name(pattern()),
        "client" => Test::Client(pattern()),
        "principal" => Test::Principal(pattern()),
        "session" => Test::Session(pattern()),
        "method" => Test::Method(pattern()),
        "origin" => Test::Origin(one_of(&["client", "own"])?),
        "outcome" => Test::Outcome(one_of(&[
            "ok",
            "error",
            "denied",
            "cancelled",
            "running",
            "waiting",
        ])?),
        "fault" => Test::Fault(one_of(&["client", "ours", "server"])?),
        "era" => Test::Era(match value {
            "legacy" => Spoken::Legacy,
            "modern" => Spoken::Modern,
            "bridged" => Spoken::Bridged,
            _ => return Err("era is one of legacy, modern, bridged".to_owned()),
        }),
        "code" => {
            let code = value.parse();
            Test::Code(code.map_err(|_| "a code is a whole number".to_owned())?)
        }
        "id" => {
            let number = |text: &str| {
                let number = text.parse::<u64>();
                number.map_err(|_| "an id is a number, or two with `..` between them".to_owned())
            };
            match value.split_once("..") {
                Some((from, to)) => Test::Id(number(from)?, number(to)?),
                None => Test::Id(number(value)?, number(value)?),
            }
        }
        _ => {
            let why = "server, tool, client, principal, session, method, origin, era, fault, \
                       code and id can be asked for";
            return Err(why.to_owned());
        }
    })
}

/// A time in microseconds.
fn time(text: &str) -> Result<u64, String> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(at.unwrap_or(text.len()));
    let scale = match unit {
        "us" | "µs" => 1.0,
        "ms" | "" => 1_000.0,
        "s" => 1_000_000.0,
        "m" | "min" => 60_000_000.0,
        _ => return Err("a time is a number with us, ms, s or m".to_owned()),
    };
    let number: f64 = number
        .parse()
        .map_err(|_| "a time is a number with us, ms, s or m".to_owned())?;
    Ok((number * scale) as u64)
}

/// A number with `k` or `m`.
fn amount(text: &str) -> Result<u64, String> {
    let (number, scale) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1024),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1024 * 1024),
        _ => (text, 1),
    };
    let number = number.parse::<u64>();
    let number =
        number.map_err(|_| "a size is a whole number, with k or m if need be".to_owned())?;
    Ok(number.saturating_mul(scale))
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
