//! The rows of `docs/reference/rewrites.md`: which of them allows a change.

use super::difference::{How, Key};
use std::sync::LazyLock;
use switchboard_wire::Method;

const PAGE: &str = include_str!("../../../../docs/reference/rewrites.md");

/// One row.
#[derive(Debug)]
struct Row {
    id: &'static str,
    path: Vec<Step>,
    place: &'static str,
    /// Whether it is only for client and server of different eras.
    is_between_eras: bool,
    /// Whether it is only for what a person has changed.
    is_by_a_person: bool,
}

#[derive(Debug, PartialEq, Eq)]
enum Step {
    Member(String),
    /// Any member or element.
    Any,
    Each,
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    let (mut is_between_eras, mut is_by_a_person) = (false, false);
    let mut rows = Vec::new();
    for line in PAGE.lines() {
        if let Some(heading) = line.strip_prefix("## ") {
            is_between_eras = heading.starts_with("Between the eras");
            is_by_a_person = heading.starts_with("At a breakpoint");
        }
        rows.extend(row(line).map(|row| Row {
            is_between_eras,
            is_by_a_person,
            ..row
        }));
    }
    rows
});

/// A line of a table, if it has an id.
fn row(line: &'static str) -> Option<Row> {
    let inner = line.strip_prefix("| `")?.strip_suffix(" |")?;
    let (path, rest) = inner.split_once("` | ")?;
    let (rest, id) = rest.rsplit_once(" | ")?;
    let (place, _) = rest.split_once(" | ")?;
    let is_id = id.len() >= 2
        && id.starts_with(|c: char| c.is_ascii_uppercase())
        && id[1..].chars().all(|c| c.is_ascii_digit());
    is_id.then(|| Row {
        id,
        path: steps(path),
        place,
        is_between_eras: false,
        is_by_a_person: false,
    })
}

/// Members are separated by dots, `*` is any of them. What follows `_meta.` is one key up
/// to the first dot after its slash.
fn steps(path: &str) -> Vec<Step> {
    let (path, reserved) = match path.split_once("_meta.") {
        Some((before, rest)) => (format!("{before}_meta"), Some(rest)),
        None => (path.to_owned(), None),
    };
    let mut steps: Vec<Step> = path.split('.').flat_map(part).collect();
    if let Some(rest) = reserved {
        let slash = rest.find('/').unwrap_or(0);
        let end = rest[slash..].find('.');
        let end = end.map_or(rest.len(), |dot| slash + dot);
        steps.push(Step::Member(rest[..end].to_owned()));
        steps.extend(rest[end..].split('.').skip(1).flat_map(part));
    }
    steps
}

fn part(part: &str) -> Vec<Step> {
    match part.strip_suffix("[]") {
        Some(name) => vec![Step::Member(name.to_owned()), Step::Each],
        None if part == "*" => vec![Step::Any],
        None => vec![Step::Member(part.to_owned())],
    }
}

/// A message in which something was changed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Within<'a> {
    /// `request`, `response`, `error`, `notification`.
    pub(crate) shape: &'a str,
    /// Its method, or that of the request that it answers.
    pub(crate) method: &'a str,
    /// Whether client and server speak different eras.
    pub(crate) bridged: bool,
    /// Whether a person has changed the call, or its answer.
    pub(crate) edited: bool,
}

/// The row that allows this change, if one does.
pub(crate) fn row_of(path: &[Key], how: How, within: Within<'_>) -> Option<&'static str> {
    if how == How::WhiteSpace {
        return Some("W1");
    }
    let fits = |row: &&Row| {
        (within.bridged || !row.is_between_eras)
            && (within.edited || !row.is_by_a_person)
            && row.covers(path, how, within.bridged)
            && row.is_of(within)
    };
    // What a person has changed, then the one that says most of the path, and of those the
    // one about eras.
    let found = ROWS.iter().filter(fits);
    found
        .max_by_key(|row| (row.is_by_a_person, row.path.len(), row.is_between_eras))
        .map(|row| row.id)
}

impl Row {
    /// Whether a change there is one of this row: at it, below it, or what holds it comes
    /// or goes as a whole. Across eras much does, for other reasons.
    fn covers(&self, path: &[Key], how: How, bridged: bool) -> bool {
        let same = self
            .path
            .iter()
            .zip(path)
            .all(|(step, key)| match (step, key) {
                (Step::Any, _) | (Step::Each, Key::Element(_)) => true,
                (Step::Member(name), Key::Member(key)) => name == key,
                _ => false,
            });
        same && (path.len() >= self.path.len() || (how != How::Changed && !bridged))
    }

    fn is_of(&self, within: Within<'_>) -> bool {
        if let Some((_, code)) = self.place.split_once("error -") {
            return within.shape == "error" && !code.is_empty();
        }
        let mut quoted = self.place.split('`').skip(1).step_by(2).peekable();
        if self.place.contains('`') && quoted.peek().is_some_and(|word| is_method(word)) {
            return quoted.any(|word| word == within.method);
        }
        match self.place {
            "lists" => within.method.ends_with("/list"),
            "any message" => true,
            place => place.contains(within.shape),
        }
    }
}

fn is_method(word: &str) -> bool {
    word.contains('/') || word == Method::Initialize.as_str()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    fn member(names: &[&str]) -> Vec<Key> {
        let key = |name: &&str| match name.parse() {
            Ok(number) => Key::Element(number),
            Err(_) => Key::Member((*name).to_owned()),
        };
        names.iter().map(key).collect()
    }

    #[test]
    fn every_row_has_an_id_of_its_own() {
        let ids: HashSet<&str> = ROWS.iter().map(|row| row.id).collect();
        assert_eq!(ids.len(), ROWS.len());
        let begins = |line: &&str| line.starts_with("| `");
        // The table of what is refused begins with words.
        assert_eq!(PAGE.lines().filter(begins).count(), ROWS.len());
        assert!(PAGE.contains("`W1`"), "white space has a row, too");
    }

    #[test]
    fn changes_find_their_rows() {
        let within = |shape, method, bridged| Within {
            shape,
            method,
            bridged,
            edited: false,
        };
        let find = |names: &[&str], how, within| row_of(&member(names), how, within);
        let call = within("request", "tools/call", false);
        assert_eq!(find(&["id"], How::Changed, call), Some("S1"));
        assert_eq!(find(&["params", "name"], How::Changed, call), Some("A1"));
        assert_eq!(find(&["params", "arguments"], How::Changed, call), None);
        assert_eq!(
            find(&["params", "arguments"], How::WhiteSpace, call),
            Some("W1")
        );
        let edited = Within {
            edited: true,
            ..call
        };
        let nonce = ["params", "arguments", "nonce"];
        assert_eq!(find(&nonce, How::Changed, edited), Some("B1"));
        let result = within("response", "tools/call", false);
        let edited = Within {
            edited: true,
            ..result
        };
        assert_eq!(find(&["result", "x"], How::Added, edited), Some("B2"));
        assert_eq!(find(&["id"], How::Changed, edited), Some("S1"));
        let link = ["result", "content", "0", "uri"];
        assert_eq!(find(&link, How::Changed, result), Some("A32"));
        assert_eq!(find(&["result", "x"], How::Added, result), None);
        let bridged = within("response", "tools/call", true);
        assert_eq!(find(&["result", "x"], How::Added, bridged), Some("E1"));
        let state = ["result", "requestState"];
        assert_eq!(find(&state, How::Added, bridged), Some("E5"));
        assert_eq!(find(&state, How::Changed, result), Some("X10"));
        let bridged = within("request", "tools/call", true);
        assert_eq!(
            find(&["params", "_meta"], How::Removed, bridged),
            Some("E1")
        );
        let token = ["params", "_meta", "progressToken"];
        assert_eq!(find(&token, How::Changed, call), Some("S2"));
    }
}
