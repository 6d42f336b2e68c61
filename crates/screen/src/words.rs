//! The command line's words: taking them apart, and completing them.

use crate::limits;
use std::fmt;
use switchboard_local::shell;

/// A command of the program, for completion.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Verb {
    /// Its name.
    pub name: String,
    /// What it does.
    pub about: String,
    /// Its long options.
    pub options: Vec<String>,
}

/// Verbs that ask something, or go on until somebody ends them: they get the terminal.
const ON_TERMINAL: [&str; 11] = [
    "approve",
    "builtin",
    "connect",
    "dev",
    "disconnect",
    "import",
    "login",
    "serve",
    "trust",
    "ui",
    "up",
];

/// Whether a command needs the terminal itself.
pub fn wants_terminal(words: &[String]) -> bool {
    let first = words.iter().find(|word| !word.starts_with('-'));
    let follows = words.iter().any(|word| word == "-f" || word == "--follow");
    let asks = words.iter().any(|word| word == "--client-secret");
    follows || asks || first.is_some_and(|verb| ON_TERMINAL.contains(&verb.as_str()))
}

/// A line as words, with quotes as a shell has them. None where a quote is left open.
pub fn split(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let (mut word, mut begun) = (String::new(), false);
    let mut rest = line.chars();
    while let Some(c) = rest.next() {
        match c {
            ' ' | '\t' => {
                if std::mem::take(&mut begun) {
                    words.push(std::mem::take(&mut word));
                }
            }
            '\'' => {
                begun = true;
                loop {
                    match rest.next()? {
                        '\'' => break,
                        c => word.push(c),
                    }
                }
            }
            '"' => {
                begun = true;
                loop {
                    match rest.next()? {
                        '"' => break,
                        '\\' => match rest.next()? {
                            c @ ('"' | '\\' | '$' | '`') => word.push(c),
                            c => {
                                word.push('\\');
                                word.push(c);
                            }
                        },
                        c => word.push(c),
                    }
                }
            }
            '\\' => {
                begun = true;
                word.push(rest.next()?);
            }
            c => {
                begun = true;
                word.push(c);
            }
        }
    }
    if begun {
        words.push(word);
    }
    Some(words)
}

/// A word as it is typed into a shell.
pub fn quoted(word: &str) -> String {
    shell::quoted(word, "-_./:=@%+,")
}

/// What could stand where the cursor is: how many characters before it stay, and the words.
pub fn complete(before: &str, verbs: &[Verb], names: &[String]) -> (usize, Vec<String>) {
    let start = before.rfind([' ', '\t']).map_or(0, |at| at + 1);
    let (earlier, begun) = before.split_at(start);
    let keep = earlier.chars().count();
    let verb = earlier
        .split_whitespace()
        .find(|word| !word.starts_with('-'));
    // In their order, each once, and no more than are offered.
    let mut found: Vec<String> = Vec::new();
    let mut offer = |word: &String| {
        if word.starts_with(begun)
            && let Err(at) = found.binary_search(word)
        {
            found.insert(at, word.clone());
            found.truncate(limits::COMPLETIONS);
        }
    };
    match verb {
        None => verbs.iter().for_each(|verb| offer(&verb.name)),
        Some(verb) if begun.starts_with('-') => {
            let verb = verbs.iter().find(|known| known.name == verb);
            verb.iter().flat_map(|verb| &verb.options).for_each(offer);
        }
        Some(_) => names.iter().for_each(offer),
    }
    (keep, found)
}

/// How much all of them have in common.
pub fn common(words: &[String]) -> String {
    let mut words = words.iter();
    let Some(first) = words.next() else {
        return String::new();
    };
    let mut common: Vec<char> = first.chars().collect();
    for word in words {
        let same = common
            .iter()
            .zip(word.chars())
            .take_while(|(a, b)| **a == *b)
            .count();
        common.truncate(same);
    }
    common.into_iter().collect()
}

/// How well a text has the letters of a pattern, in their order; less is better. None where
/// it does not have them. Letters that follow each other and begin words count as near.
pub fn matches(pattern: &str, text: fmt::Arguments<'_>) -> Option<usize> {
    if pattern.is_empty() {
        return Some(0);
    }
    let (mut penalty, mut last) = (0, None::<usize>);
    let text = lower(&fmt::format(text));
    let mut from = 0;
    for wanted in lower(pattern) {
        if wanted == ' ' {
            continue;
        }
        let found = text.iter().skip(from).position(|c| *c == wanted)? + from;
        let begins = found == 0 || !text[found - 1].is_alphanumeric();
        penalty += match last {
            Some(last) if found == last + 1 => 0,
            _ if begins => 1,
            Some(last) => 3 + (found - last),
            None => 3 + found,
        };
        last = Some(found);
        from = found + 1;
    }
    Some(penalty)
}

/// The characters of a text in lower case.
#[inline(never)]
fn lower(text: &str) -> Vec<char> {
    text.chars().flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_as_a_shell_has_them() {
        for (line, expected) in [
            ("list --json", Some(vec!["list", "--json"])),
            (
                "add 'a b' \"c \\\" d\" e\\ f",
                Some(vec!["add", "a b", "c \" d", "e f"]),
            ),
            (
                "call t '{\"a\":1}' ''",
                Some(vec!["call", "t", "{\"a\":1}", ""]),
            ),
            ("  ", Some(vec![])),
            ("add 'open", None),
        ] {
            let expected = expected.map(|words| words.into_iter().map(str::to_owned).collect());
            assert_eq!(split(line), expected, "{line}");
        }
        for word in ["plain", "a b", "it's", "", "{\"a\":1}"] {
            assert_eq!(split(&quoted(word)), Some(vec![word.to_owned()]));
        }
    }

    #[test]
    fn words_are_completed() {
        let verb = |name: &str| Verb {
            name: name.to_owned(),
            about: String::new(),
            options: vec!["--json".into(), "--json-lines".into()],
        };
        let verbs = [verb("enable"), verb("explain"), verb("list")];
        let names = ["github".to_owned(), "gitlab".to_owned()];
        assert_eq!(
            complete("e", &verbs, &names),
            (0, vec!["enable".into(), "explain".into()])
        );
        assert_eq!(
            complete("enable gitl", &verbs, &names),
            (7, vec!["gitlab".into()])
        );
        assert_eq!(complete("list --j", &verbs, &names).1.len(), 2);
        assert_eq!(common(&complete("enable ", &verbs, &names).1), "git");
        assert_eq!(common(&[]), "");
    }

    #[test]
    fn letters_in_order_match() {
        let matches = |pattern: &str, text: &str| matches(pattern, format_args!("{text}"));
        assert!(matches("ghis", "github list_issues").is_some());
        assert!(matches("xyz", "github").is_none());
        assert!(matches("echo", "echo") < matches("echo", "everything echo"));
        assert!(matches("li", "list") < matches("li", "a plain index"));
        assert_eq!(matches("", "anything"), Some(0));
    }

    #[test]
    fn what_asks_gets_the_terminal() {
        let words = |line: &str| split(line).unwrap();
        assert!(wants_terminal(&words("login github")));
        assert!(wants_terminal(&words("logs github -f")));
        assert!(!wants_terminal(&words("list")));
    }
}
