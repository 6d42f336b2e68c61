//! Secrets in running text: what is logged, what an error says, what a shell is
//! told to run.

use super::{
    HIDDEN, Part,
    argument::{self, Next},
    known, name,
    program::Running,
    references, value,
};
use crate::limits;
use std::borrow::Cow;

/// A text for people without what looks like a secret. In a sentence a word
/// such as "token" is followed by other words, which stay.
pub fn text(text: &str) -> Cow<'_, str> {
    match keyless(known::without(text)) {
        Cow::Borrowed(text) => scan(text, false),
        Cow::Owned(text) => Cow::Owned(scan(&text, false).into_owned()),
    }
}

/// A text without keys as files have them: all from where one begins to where it ends, or to
/// the end of the text, whatever its lines look like.
fn keyless(text: Cow<'_, str>) -> Cow<'_, str> {
    const BEGIN: &str = "-----BEGIN";
    const END: &str = "-----END";
    const MARK: &str = "-----";
    if !text.contains(BEGIN) {
        return text;
    }
    let mut shown = String::with_capacity(text.len());
    let mut rest = &*text;
    while let Some(begin) = rest.find(BEGIN) {
        shown.push_str(&rest[..begin]);
        shown.push_str(HIDDEN);
        let inside = &rest[begin + BEGIN.len()..];
        rest = match inside.find(END) {
            Some(end) => {
                let after = &inside[end + END.len()..];
                let close = after.find(MARK).map(|at| at + MARK.len());
                close.map_or("", |close| &after[close..])
            }
            None => "",
        };
    }
    shown.push_str(rest);
    Cow::Owned(shown)
}

/// A command line that is one text, such as what a shell is given: there a
/// telling name is enough.
pub fn command_text(text: &str) -> Cow<'_, str> {
    match keyless(Cow::Borrowed(text)) {
        Cow::Borrowed(text) => scan(text, true),
        Cow::Owned(text) => Cow::Owned(scan(&text, true).into_owned()),
    }
}

/// A text of which most is no text, such as a picture: without secrets that are known, and
/// without what begins as well-known secrets do.
pub fn contents(text: &str) -> Cow<'_, str> {
    match keyless(known::without(text)) {
        Cow::Borrowed(text) => long_word(text, false),
        Cow::Owned(text) => Cow::Owned(long_word(&text, false).into_owned()),
    }
}

/// What goes on for longer without a gap than any secret does: a picture, a file, a form.
/// What begins as secrets do is found in it, and what is a pair of a form is looked at by
/// itself.
fn long_word(word: &str, sure: bool) -> Cow<'_, str> {
    if word.contains("-----BEGIN") {
        return Cow::Borrowed(HIDDEN);
    }
    let mut shown = String::new();
    for pair in word.split_inclusive('&') {
        if pair.len() < word.len() && pair.len() <= limits::LONGEST_SECRET {
            let (bare, mark) = match pair.strip_suffix('&') {
                Some(bare) => (bare, "&"),
                None => (pair, ""),
            };
            shown.push_str(&argument::single(bare, sure));
            shown.push_str(mark);
            continue;
        }
        let mut from = 0;
        for found in value::sure(pair) {
            // So few letters stand in every picture.
            let is_token =
                !pair[found.clone()].starts_with("eyJ") || pair[found.clone()].contains('.');
            if is_token {
                shown.push_str(&pair[from..found.start]);
                shown.push_str(HIDDEN);
                from = found.end;
            }
        }
        shown.push_str(&pair[from..]);
    }
    same_or(word, shown)
}

/// Hides what is written as the value of a variable that is not set
/// (`${TOKEN:-…}`).
pub(super) fn defaults(text: &str) -> Cow<'_, str> {
    if !text.contains(":-") || !text.contains("${") {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len());
    for part in references(text) {
        match part {
            Part::Literal(literal) => shown.push_str(literal),
            Part::Reference { name, default } => {
                let hide = |default: &str| {
                    let named = name::is_name(name) && !value::is_path(default);
                    !default.is_empty() && (named || value::is_value(default))
                };
                shown.push_str("${");
                shown.push_str(name);
                if let Some(default) = default {
                    shown.push_str(":-");
                    shown.push_str(if hide(default) { HIDDEN } else { default });
                }
                shown.push('}');
            }
        }
    }
    same_or(text, shown)
}

/// Goes through the words of a text, and through what stands in quotes. What is
/// between them stays as it is. `sure` in command lines. What is in quotes holds
/// none of the same kind, so this goes two levels deep at most.
fn scan(text: &str, sure: bool) -> Cow<'_, str> {
    let mut shown = String::with_capacity(text.len());
    let mut next = Next::Any;
    let mut rest = text;
    let mut running = Running::default();
    while let Some(first) = rest.chars().next() {
        if is_gap(first) {
            if matches!(first, '\n' | ';' | '|') {
                running.end();
            }
            shown.push(first);
            rest = &rest[first.len_utf8()..];
            continue;
        }
        let (quote, unit, after) = unit(rest);
        let was = next;
        let bare = quote.is_empty();
        let is_own = matches!(was, Next::Password | Next::Login(_));
        if bare && !is_own && !argument::is_option(unit) {
            match unit {
                "&&" | "&" => running.end(),
                word => running.see(word),
            }
        }
        let is_mark = bare && matches!(unit, ":" | "=");
        // The kind of secret goes before it: `Bearer …`.
        let goes_on = was == Next::Named && (is_mark || bare && value::is_scheme(unit));
        next = if goes_on {
            was
        } else if matches!(was, Next::Login(mark) if after.starts_with(mark)) {
            // What is between the two ends a word.
            Next::Password
        } else {
            let own = running.said_by(unit).filter(|_| bare);
            own.unwrap_or_else(|| said_by(unit, after, sure))
        };
        shown.push_str(quote);
        shown.push_str(&match was {
            _ if bare && unit.len() > limits::LONGEST_SECRET => long_word(unit, sure),
            _ if is_mark || goes_on => Cow::Borrowed(unit),
            Next::Password | Next::Login(_) => argument::after(was, unit),
            _ if bare && let Some((option, value, what)) = running.joined(unit) => {
                Cow::Owned(format!("{option}{}", argument::after(what, value)))
            }
            Next::User if !argument::is_option(unit) => argument::after(was, unit),
            Next::Any | Next::Named if !sure && bare && value::is_plain(unit) => {
                Cow::Borrowed(unit)
            }
            Next::Any if !bare => scan(unit, sure),
            Next::Public => Cow::Borrowed(unit),
            Next::Named if bare && argument::is_option(unit) => argument::single(unit, sure),
            Next::Named => argument::named(unit),
            Next::Any => argument::single(unit, sure),
            was if sure && !argument::is_option(unit) => argument::after(was, unit),
            _ => argument::single(unit, sure),
        });
        shown.push_str(quote);
        rest = after;
    }
    same_or(text, shown)
}

/// The next word, or what stands in the quotes that begin here, and what
/// follows. Where no quote closes it again, a quote is a sign like others.
fn unit(text: &str) -> (&str, &str, &str) {
    if text.starts_with(['"', '\'', '`']) {
        let (quote, inside) = text.split_at(1);
        if let Some(end) = inside.find(quote) {
            return (quote, &inside[..end], &inside[end + 1..]);
        }
        return ("", quote, inside);
    }
    let mut at = 0;
    while let Some(c) = text[at..].chars().next() {
        let before = text[..at].chars().next_back();
        if text[at..].starts_with("${")
            && let Some(length) = closing(&text[at..])
        {
            at += length + 1;
        } else if is_gap(c) {
            break;
        } else if matches!(c, '"' | '\'' | '`') && !before.is_some_and(char::is_alphanumeric) {
            // Not the apostrophe in a word.
            break;
        } else if matches!(c, '"' | '`') {
            break;
        } else {
            at += c.len_utf8();
        }
    }
    ("", &text[..at], &text[at..])
}

/// Where a reference to a variable ends, which is not far from where it begins.
fn closing(text: &str) -> Option<usize> {
    text[..text.floor_char_boundary(limits::LONGEST_REFERENCE)].find('}')
}

/// What is between words.
fn is_gap(c: char) -> bool {
    let brackets = ['{', '}', '[', ']', '(', ')', '<', '>'];
    c.is_whitespace() || matches!(c, ',' | ';' | '|' | '\\') || brackets.contains(&c)
}

/// What a word says about what follows it.
fn said_by(unit: &str, after: &str, sure: bool) -> Next {
    if unit.starts_with('-') && (!unit.contains('=') || unit.ends_with('=')) {
        let next = argument::said_by(unit.trim_end_matches('='));
        return match next {
            Next::Secret => Next::Named,
            Next::Public => Next::Public,
            Next::User => Next::User,
            next if sure => next,
            _ => Next::Any,
        };
    }
    if ["bearer", "basic", "dpop"]
        .iter()
        .any(|known| unit.eq_ignore_ascii_case(known))
    {
        return if after.starts_with(' ') {
            Next::Named
        } else {
            Next::Any
        };
    }
    let name = unit.trim_end_matches([':', '=']);
    let element = after.starts_with('>');
    let marked = name.len() < unit.len() || element || after.trim_start().starts_with([':', '=']);
    if marked && name::is_name(name) {
        Next::Named
    } else {
        Next::Any
    }
}

fn same_or(text: &str, shown: String) -> Cow<'_, str> {
    if shown == text {
        Cow::Borrowed(text)
    } else {
        Cow::Owned(shown)
    }
}
