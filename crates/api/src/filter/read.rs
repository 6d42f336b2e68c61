//! A filter's text as words, and what each of them says.

use super::{Field, Pattern, Spoken, Test, Than, Why, Wrong};
use std::str::Chars;

/// One word with where it begins.
pub(super) struct Token {
    pub(super) at: usize,
    pub(super) text: String,
    /// Whether all of it stood in quotes.
    quoted: bool,
    /// Whether it must not hold.
    pub(super) is_not: bool,
}

impl Token {
    /// Whether another way begins here.
    pub(super) fn is_or(&self) -> bool {
        !self.quoted && self.text.eq_ignore_ascii_case("or")
    }

    /// What it says.
    pub(super) fn test(&self) -> Result<Test, Why> {
        match (self.quoted, self.text.as_str()) {
            (true, "") => Err(Why::EmptyText),
            (true, text) => Ok(Test::Text(text.to_owned())),
            (false, word) => test(word),
        }
    }
}

/// The words of a text. What stands in quotes is one, and `\` takes the next sign as it is.
pub(super) fn split(text: &str) -> Result<Vec<Token>, Wrong> {
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
                '"' => quote(&mut chars, &mut word).ok_or_else(|| Why::OpenQuote.at(at, rest))?,
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

fn test(word: &str) -> Result<Test, Why> {
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
        return Err(Why::NoWord);
    };
    let (key, value) = (&word[..mark], &word[mark + 1..]);
    if value.is_empty() {
        return Err(Why::NothingFollows(word[..=mark].to_owned()));
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
                _ => return Err(Why::NotCompared),
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

fn named(key: &str, value: &str) -> Result<Test, Why> {
    let pattern = || Pattern::new(value);
    let one_of = |all: &[&str]| match all.contains(&value) {
        true => Ok(value.to_owned()),
        false => Err(Why::NotOneOf(key.to_owned(), all.join(", "))),
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
            _ => return Err(Why::NoEra),
        }),
        "code" => {
            let code = value.parse();
            Test::Code(code.map_err(|_| Why::NoCode)?)
        }
        "id" => {
            let number = |text: &str| {
                let number = text.parse::<u64>();
                number.map_err(|_| Why::NoId)
            };
            match value.split_once("..") {
                Some((from, to)) => Test::Id(number(from)?, number(to)?),
                None => Test::Id(number(value)?, number(value)?),
            }
        }
        _ => return Err(Why::NoKey),
    })
}

/// A time in microseconds.
fn time(text: &str) -> Result<u64, Why> {
    let at = text.find(|c: char| !c.is_ascii_digit() && c != '.');
    let (number, unit) = text.split_at(at.unwrap_or(text.len()));
    let scale = match unit {
        "us" | "µs" => 1.0,
        "ms" | "" => 1_000.0,
        "s" => 1_000_000.0,
        "m" | "min" => 60_000_000.0,
        _ => return Err(Why::NoTime),
    };
    let number: f64 = number.parse().map_err(|_| Why::NoTime)?;
    Ok((number * scale) as u64)
}

/// A number with `k` or `m`.
fn amount(text: &str) -> Result<u64, Why> {
    let (number, scale) = match text.as_bytes().last() {
        Some(b'k' | b'K') => (&text[..text.len() - 1], 1024),
        Some(b'm' | b'M') => (&text[..text.len() - 1], 1024 * 1024),
        _ => (text, 1),
    };
    let number = number.parse::<u64>();
    Ok(number.map_err(|_| Why::NoSize)?.saturating_mul(scale))
}
