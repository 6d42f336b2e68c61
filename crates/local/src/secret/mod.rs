//! What looks like a secret, and texts without it.
//!
//! One answer for every place where something is shown: lists, entries, errors
//! and logs. A name can tell (`API_KEY=…`, `--token …`, `Authorization: …`), the
//! place can (`docker run -e X=…`, `https://user:…@host`), and so can the value:
//! by how it begins (`ghp_…`) or because nobody would make up such a word.
//! What people read every day must stay readable: packages, paths, addresses,
//! versions, digests.
//!
//! | module | what |
//! |---|---|
//! | `name` | what a secret is called |
//! | `value` | what a secret looks like |
//! | `address` | secrets in addresses |
//! | `argument` | secrets in command lines |
//! | `program` | programs that take a password by an option of one letter |
//! | `text` | secrets in running text |
//! | `known` | secrets that entries have, in whatever somebody says |

mod address;
mod argument;
mod known;
mod name;
mod program;
mod text;
mod value;

pub use address::address;
pub use argument::{arguments, command_line};
pub use known::{known_count, remember, remember_arguments, remember_value};
pub use name::{could_be_key, is_about_access, is_bare_key, is_name};
pub use text::{command_text, contents, text};
pub use value::is_value;

use std::borrow::Cow;

/// What stands where a secret was.
pub const HIDDEN: &str = "[redacted]";

/// The value of a variable, a header or a field as it may be shown. These are
/// where secrets are kept, so what could be one is not shown, whatever its name.
pub fn kept_value<'a>(name: &str, value: &'a str) -> Cow<'a, str> {
    if name::is_about(name) {
        return argument::shown(value);
    }
    if is_name(name) || name::is_header(name) || value::is_opaque(value) {
        hidden(value)
    } else {
        argument::shown(value)
    }
}

/// A secret as it may be shown: what is not written there itself but comes
/// from a variable (`${TOKEN}`) stays, and so does the word for the kind of it.
pub(crate) fn hidden(value: &str) -> Cow<'_, str> {
    if value.is_empty() || value == HIDDEN {
        return Cow::Borrowed(value);
    }
    if value::is_place(value) {
        return Cow::Borrowed(value);
    }
    let (scheme, rest) = value::scheme(value);
    let mut shown = scheme.to_owned();
    for part in references(rest) {
        match part {
            Part::Reference { name, default } => match default {
                Some("") | None => {
                    shown.push_str(&format!("${{{name}{}}}", default.map_or("", |_| ":-")));
                }
                Some(_) => shown.push_str(&format!("${{{name}:-{HIDDEN}}}")),
            },
            Part::Literal(literal) if literal.chars().any(char::is_alphanumeric) => {
                shown.push_str(HIDDEN);
            }
            Part::Literal(literal) => shown.push_str(literal),
        }
    }
    if shown == value {
        Cow::Borrowed(value)
    } else {
        Cow::Owned(shown)
    }
}

/// A piece of a text with references to variables.
pub(crate) enum Part<'a> {
    /// `${NAME}` or `${NAME:-default}`
    Reference {
        name: &'a str,
        default: Option<&'a str>,
    },
    /// Anything else.
    Literal(&'a str),
}

/// The references in a text, and what is between them.
pub(crate) fn references(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        let found = rest.find("${").and_then(|at| {
            let end = at + rest[at..].find('}')?;
            Some((at, end))
        });
        let Some((at, end)) = found else {
            return Some(Part::Literal(std::mem::take(&mut rest)));
        };
        if at > 0 {
            let (before, after) = rest.split_at(at);
            rest = after;
            return Some(Part::Literal(before));
        }
        let inner = &rest[2..end];
        rest = &rest[end + 1..];
        let (name, default) = match inner.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (inner, None),
        };
        Some(Part::Reference { name, default })
    })
}

#[cfg(test)]
mod tests;
