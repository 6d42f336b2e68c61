//! Secrets in command lines.

use super::{
    HIDDEN, address, address::without_secrets, command_text, hidden, kept_value, name,
    program::Running, text, value,
};
use std::borrow::Cow;

/// What an option says about the word after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// Nothing.
    Any,
    /// It is a secret.
    Secret,
    /// It is the value of a name in a text, and a secret.
    Named,
    /// It is what a shell is to run.
    Script,
    /// It is one if it could be: the option has one letter, which means
    /// something else elsewhere.
    Perhaps,
    /// It is a variable with its value (`docker run -e`).
    Variable,
    /// It is a header.
    Header,
    /// It is a user, perhaps with a password.
    User,
    /// It is a password, whatever it looks like.
    Password,
    /// It is a user and a password, with this between them.
    Login(char),
    /// It is random and meant to be seen.
    Public,
}

/// The arguments of a command, each without its secrets.
pub fn arguments<'a>(arguments: impl IntoIterator<Item = &'a str>) -> Vec<Cow<'a, str>> {
    command_line(None, arguments)
}

/// The same of this program, which may take a password in a way of its own.
pub fn command_line<'a>(
    program: Option<&str>,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Vec<Cow<'a, str>> {
    let mut next = Next::Any;
    let mut running = Running::default();
    if let Some(program) = program {
        running.see(program);
    }
    let each = arguments.into_iter().map(|argument| {
        // A secret may begin with a hyphen; an option of one letter is short.
        let is_secret = match next {
            Next::Password => true,
            Next::Secret => argument.len() > 3 && !argument.starts_with("--"),
            _ => false,
        };
        let was = std::mem::replace(&mut next, Next::Any);
        if !is_secret && let Some((option, value, what)) = running.joined(argument) {
            return join(argument, option, "", after(what, value));
        }
        if !is_option(argument) || is_secret {
            // What another program's option would say of it is not said here.
            if !matches!(was, Next::Password | Next::Login(_)) {
                running.see(argument);
            }
            return after(was, argument);
        }
        if !argument.contains('=') {
            let own = running.said_by(argument);
            next = own.unwrap_or_else(|| said_by(argument));
        }
        option(argument)
    });
    each.collect()
}

/// Whether it begins as options do, and has a name.
pub(super) fn is_option(argument: &str) -> bool {
    let name = argument.split('=').next().unwrap_or_default();
    argument.starts_with('-')
        && name.len() > 1
        && !name.contains(char::is_whitespace)
        && !value::is_value(name.trim_start_matches('-'))
}

pub(super) fn said_by(option: &str) -> Next {
    match option {
        "-e" | "--env" | "--environment" | "--build-arg" | "--set-env" => Next::Variable,
        "-H" | "--header" | "--headers" | "--http-header" | "--add-header" => Next::Header,
        "-u" | "--user" | "--proxy-user" | "--basic" | "-U" => Next::User,
        "-k" => Next::Secret,
        "-c" | "-lc" | "-ec" | "-ic" | "/c" | "/C" => Next::Script,
        "-t" | "-p" | "-s" | "-a" | "-K" | "-T" | "-P" | "-S" => Next::Perhaps,
        name if name::is_public(name) => Next::Public,
        name if name::is_name(name) => Next::Secret,
        _ => Next::Any,
    }
}

/// `--name=value`, or `--name` alone.
fn option(argument: &str) -> Cow<'_, str> {
    // An option of one letter may have its value behind it at once.
    for letter in ["-p", "-k"] {
        if let Some(value) = argument.strip_prefix(letter)
            && could_be_one(value)
        {
            return join(argument, letter, "", hidden(value));
        }
    }
    if let Some((name, value)) = argument.split_once('=') {
        return join(argument, name, "=", after(said_by(name), value));
    }
    match argument.split_once(':') {
        Some((name, value)) if name::is_name(name) && !value.is_empty() => {
            join(argument, name, ":", named(value))
        }
        _ => Cow::Borrowed(argument),
    }
}

/// A word after an option that says what it is.
pub(super) fn after(next: Next, word: &str) -> Cow<'_, str> {
    match next {
        Next::Script => command_text(word),
        Next::Public => Cow::Borrowed(word),
        Next::Secret | Next::Named => named(word),
        Next::Password => password(word),
        Next::Login(mark) => match word.split_once(mark) {
            Some((user, secret)) if !secret.is_empty() && !secret.starts_with("//") => {
                join(word, user, &mark.to_string(), hidden(secret))
            }
            _ => shown(word),
        },
        Next::Perhaps if could_be_one(word) => hidden(word),
        Next::Any | Next::Perhaps => shown(word),
        Next::Variable => match word.split_once('=') {
            Some((name, value)) if name::is_variable(name) => {
                join(word, name, "=", kept_value(name, value))
            }
            _ => shown(word),
        },
        Next::Header => match word.split_once(':') {
            Some((name, value)) if !value.starts_with("//") => {
                let start = value.len() - value.trim_start().len();
                let (space, value) = value.split_at(start);
                join(word, name, &format!(":{space}"), kept_value(name, value))
            }
            _ => match word.split_once('=') {
                Some((name, value)) => join(word, name, "=", kept_value(name, value)),
                None => shown(word),
            },
        },
        Next::User => match word.split_once(':') {
            Some((user, password))
                if !password.starts_with("//") && password.bytes().any(|b| !b.is_ascii_digit()) =>
            {
                join(word, user, ":", hidden(password))
            }
            _ => shown(word),
        },
    }
}

/// The value of a name that tells. What is switched on or off is no secret, and
/// an address has something to show.
pub(super) fn named(word: &str) -> Cow<'_, str> {
    match word {
        "true" | "false" | "none" => Cow::Borrowed(word),
        word if word.contains("://") => address(word),
        word => hidden(word),
    }
}

/// What stands where a password is expected. Where it is to be read from is none.
fn password(word: &str) -> Cow<'_, str> {
    let source = ["env:", "file:", "fd:"];
    match word == "stdin" || source.iter().any(|begin| word.starts_with(begin)) {
        true => Cow::Borrowed(word),
        false => hidden(word),
    }
}

/// Letters and digits, and nothing that makes a name, a place or a number of it.
fn could_be_one(word: &str) -> bool {
    word.len() >= 8
        && !value::is_path(word)
        && !word.contains(['/', ':', '@', '.'])
        && word.bytes().any(|byte| byte.is_ascii_digit())
        && word.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// A word that nothing is known about.
pub(super) fn shown(word: &str) -> Cow<'_, str> {
    // A header behind its option at once, as curl takes it.
    if let Some(header) = word.strip_prefix("-H")
        && header.contains(':')
    {
        return join(word, "-H", "", after(Next::Header, header));
    }
    if word.contains(|c: char| c.is_whitespace() || matches!(c, '{' | '"' | '\'' | ',' | '<')) {
        return whole_pair(word).unwrap_or_else(|| command_text(word));
    }
    single(word, true)
}

/// A word that is a name and a value and nothing else: the value is hidden
/// whole, with all that is in it.
fn whole_pair(word: &str) -> Option<Cow<'_, str>> {
    let at = word.find(['=', ':'])?;
    let (name, rest) = word.split_at(at);
    let tells = name::is_variable(&name.replace('-', "_")) && name::is_name(name);
    if !tells || rest[1..].starts_with("//") {
        return None;
    }
    let start = 1 + rest[1..].len() - rest[1..].trim_start().len();
    let (mark, value) = rest.split_at(start);
    Some(join(word, name, mark, hidden(value)))
}

/// A word without spaces. `sure` where a telling name is enough.
pub(super) fn single(word: &str, sure: bool) -> Cow<'_, str> {
    if word.contains("://") {
        return match word.split_once('=') {
            Some((name, rest)) if !name.contains(':') && rest.contains("://") => {
                join(word, name, "=", without_secrets(rest, sure))
            }
            _ => without_secrets(word, sure),
        };
    }
    if word.contains('=') {
        return form(word, sure);
    }
    let fits = |value: &str| sure || !value::is_plain(value);
    if let Some((name, value)) = word.split_once(':')
        && !value.is_empty()
        && name::is_name(name)
        && fits(value)
        && !word.contains("${")
    {
        return join(word, name, ":", hidden(value));
    }
    if let Some(shown) = with_password(word) {
        return Cow::Owned(shown);
    }
    let filled = text::defaults(word);
    if let Cow::Owned(filled) = filled {
        return Cow::Owned(filled);
    }
    if value::is_value(word) {
        return hidden(word);
    }
    filled
}

/// Pairs as a form has them: `a=1&b=2`.
fn form(word: &str, sure: bool) -> Cow<'_, str> {
    if !word.contains('&') {
        return pairs(word, sure);
    }
    let each: Vec<_> = word.split('&').map(|pair| pairs(pair, sure)).collect();
    match each.iter().any(|pair| matches!(pair, Cow::Owned(_))) {
        true => Cow::Owned(each.join("&")),
        false => Cow::Borrowed(word),
    }
}

/// `NAME=value`, also where the value is a pair again. Not by recursion: a word
/// may hold any number of them.
fn pairs(word: &str, sure: bool) -> Cow<'_, str> {
    // What base64 is filled up with at its end names nothing.
    let body = word.trim_end_matches('=');
    if body.len() < word.len() && !body.is_empty() {
        let shown = match body.contains('=') {
            true => pairs(body, sure),
            false if value::is_value(body) => hidden(body),
            false => Cow::Borrowed(body),
        };
        return match shown {
            Cow::Owned(shown) => Cow::Owned(shown),
            Cow::Borrowed(_) => Cow::Borrowed(word),
        };
    }
    let mut begin = 0;
    while let Some(length) = word[begin..].find('=') {
        let (name, value) = (&word[begin..begin + length], &word[begin + length + 1..]);
        let before = &word[..begin + length];
        let bare = name.trim_start_matches('-');
        if name::is_public(name) {
            return Cow::Borrowed(word);
        }
        // A sentence has no equals signs, so the name is enough; but it may say how
        // something is written (`KEY=VALUE`).
        let telling = name::is_name(name) && (sure || !value::is_placeholder(value));
        // Where variables are set, what could be a secret is one.
        let variable = sure && name::is_variable(bare) && bare == bare.to_ascii_uppercase();
        if telling || variable && !name::is_about(name) && value::is_opaque(value) {
            return join(word, before, "=", named(value));
        }
        begin += length + 1;
    }
    if begin == 0 {
        return Cow::Borrowed(word);
    }
    let (before, value) = (&word[..begin - 1], &word[begin..]);
    let filled = text::defaults(value);
    let shown = match filled {
        Cow::Borrowed(value) if value::is_value(value) => hidden(value),
        filled => filled,
    };
    join(word, before, "=", shown)
}

/// `user:password@host`, without what goes before it.
fn with_password(word: &str) -> Option<String> {
    let (user, host) = word.rsplit_once('@')?;
    let (name, password) = user.split_once(':')?;
    let is_version = host.starts_with(|c: char| c.is_ascii_digit() || "^~<>=*v".contains(c))
        || host == "latest"
        || host.starts_with("sha256:");
    let is_package = matches!(
        name,
        "npm" | "jsr" | "file" | "workspace" | "docker" | "git"
    );
    let plain =
        !name.is_empty() && !name.contains('/') && !password.is_empty() && !password.contains('/');
    (plain && !is_version && !is_package && !host.is_empty() && !word.contains("${"))
        .then(|| format!("{HIDDEN}@{host}"))
}

/// Name, mark and value again; the word itself where nothing was hidden.
fn join<'a>(word: &'a str, name: &str, mark: &str, value: Cow<'a, str>) -> Cow<'a, str> {
    match value {
        Cow::Borrowed(_) => Cow::Borrowed(word),
        Cow::Owned(value) => Cow::Owned(format!("{name}{mark}{value}")),
    }
}
