//! Where two texts of JSON differ, by path, with the bytes of it.

use crate::limits;
use switchboard_wire::json::{self, Span, ValueKind};

/// Something that is not the same.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Differs {
    /// Where: keys, and numbers of elements.
    pub path: Vec<Key>,
    /// In which way.
    pub how: How,
    /// Where it stood.
    pub before: Option<Span>,
    /// Where it stands.
    pub after: Option<Span>,
}

/// A step into a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Key {
    /// A member.
    Member(String),
    /// An element.
    Element(usize),
}

/// In which way something is not the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// It is another.
    Changed,
    /// It was not there.
    Added,
    /// It is not there any more.
    Removed,
    /// It says the same and is written in another way.
    WhiteSpace,
}

impl How {
    /// A word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Added => "added",
            Self::Removed => "removed",
            Self::WhiteSpace => "white-space",
        }
    }
}

/// A path as a JSON pointer.
pub fn pointer(path: &[Key]) -> String {
    let mut out = String::new();
    for key in path {
        out.push('/');
        match key {
            Key::Member(name) => out.push_str(&name.replace('~', "~0").replace('/', "~1")),
            Key::Element(number) => out.push_str(&number.to_string()),
        }
    }
    out
}

/// Two values that are to be compared.
struct Pair {
    path: Vec<Key>,
    before: Span,
    after: Span,
}

/// Where `after` is not what `before` is. Texts that are no JSON differ as a whole.
pub fn differences(before: &[u8], after: &[u8]) -> Vec<Differs> {
    let (Ok((a, _)), Ok((b, _))) = (json::check(before), json::check(after)) else {
        let whole = |text: &[u8]| Some(Span::new(0, text.len()));
        let is_other = before != after;
        return Vec::from_iter(is_other.then(|| Differs {
            path: Vec::new(),
            how: How::Changed,
            before: whole(before),
            after: whole(after),
        }));
    };
    let (mut found, mut open) = (Vec::new(), Vec::new());
    open.push(Pair {
        path: Vec::new(),
        before: a,
        after: b,
    });
    while let Some(pair) = open.pop() {
        if found.len() >= limits::TAP_EDITS {
            break;
        }
        compare((before, after), pair, &mut found, &mut open);
    }
    found.sort_by_key(|one: &Differs| one.after.or(one.before).map_or(0, |span| span.start));
    found
}

fn compare(texts: (&[u8], &[u8]), pair: Pair, found: &mut Vec<Differs>, open: &mut Vec<Pair>) {
    let (a, b) = (pair.before.of(texts.0), pair.after.of(texts.1));
    if a == b {
        return;
    }
    let kinds = (ValueKind::of(a), ValueKind::of(b));
    let (was_found, was_open) = (found.len(), open.len());
    let deep = pair.path.len() < limits::TAP_DEPTH;
    match kinds {
        (Some(ValueKind::Object), Some(ValueKind::Object)) if deep => {
            objects((a, b), &pair, found, open);
        }
        (Some(ValueKind::Array), Some(ValueKind::Array)) if deep => {
            arrays((a, b), &pair, found, open);
        }
        _ => {
            let how = match same_text(a, b) {
                true => How::WhiteSpace,
                false => How::Changed,
            };
            return found.push(differs(pair, how));
        }
    }
    // Nothing in them is another, and yet they are not the same bytes.
    if found.len() == was_found && open.len() == was_open {
        found.push(differs(pair, How::WhiteSpace));
    }
}

fn differs(pair: Pair, how: How) -> Differs {
    Differs {
        path: pair.path,
        how,
        before: Some(pair.before),
        after: Some(pair.after),
    }
}

/// Whether two strings say the same, with other escapes.
fn same_text(a: &[u8], b: &[u8]) -> bool {
    json::text(a).is_some_and(|said| json::text(b).is_some_and(|other| said == other))
}

fn objects(texts: (&[u8], &[u8]), pair: &Pair, found: &mut Vec<Differs>, open: &mut Vec<Pair>) {
    let (a, b) = texts;
    let named = |text: &[u8], key: Span| json::loose_text(key.of(text)).into_owned();
    let mut old: Vec<(String, Span)> = json::members(a)
        .map(|member| (named(a, member.key), member.value))
        .collect();
    for member in json::members(b) {
        let name = named(b, member.key);
        let after = member.value.shifted(pair.after.start);
        let at = old.iter().position(|(other, _)| *other == name);
        let path = below(&pair.path, Key::Member(name));
        match at.map(|at| old.remove(at)) {
            Some((_, before)) => {
                if before.of(a) != member.value.of(b) {
                    let before = before.shifted(pair.before.start);
                    open.push(Pair {
                        path,
                        before,
                        after,
                    });
                }
            }
            None => found.push(Differs {
                path,
                how: How::Added,
                before: None,
                after: Some(after),
            }),
        }
    }
    for (name, before) in old {
        found.push(Differs {
            path: below(&pair.path, Key::Member(name)),
            how: How::Removed,
            before: Some(before.shifted(pair.before.start)),
            after: None,
        });
    }
}

fn arrays(texts: (&[u8], &[u8]), pair: &Pair, found: &mut Vec<Differs>, open: &mut Vec<Pair>) {
    let (a, b) = texts;
    let old: Vec<Span> = json::elements(a).collect();
    let new: Vec<Span> = json::elements(b).collect();
    let removed = |span: Span, at: usize| Differs {
        path: below(&pair.path, Key::Element(at)),
        how: How::Removed,
        before: Some(span.shifted(pair.before.start)),
        after: None,
    };
    let mut next = 0;
    // Where some are missing, those that are still there are found again.
    let is_shorter = new.len() < old.len();
    for (at, span) in new.iter().enumerate() {
        if is_shorter {
            let same = |other: &Span| other.of(a) == span.of(b);
            if let Some(ahead) = old[next.min(old.len())..].iter().position(same) {
                let missing = old.iter().enumerate().skip(next).take(ahead);
                found.extend(missing.map(|(gone, span)| removed(*span, gone)));
                next += ahead + 1;
                continue;
            }
        }
        let path = below(&pair.path, Key::Element(at));
        let after = span.shifted(pair.after.start);
        match old.get(next) {
            Some(before) if before.of(a) == span.of(b) => {}
            Some(before) => open.push(Pair {
                path,
                before: before.shifted(pair.before.start),
                after,
            }),
            None => found.push(Differs {
                path,
                how: How::Added,
                before: None,
                after: Some(after),
            }),
        }
        next += 1;
    }
    let missing = old.iter().enumerate().skip(next);
    found.extend(missing.map(|(gone, span)| removed(*span, gone)));
}

fn below(path: &[Key], key: Key) -> Vec<Key> {
    let mut path = path.to_vec();
    path.push(key);
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(before: &str, after: &str) -> Vec<String> {
        let of = |text: &str, span: Option<Span>| {
            span.map_or("-".to_owned(), |span| {
                String::from_utf8_lossy(span.of(text.as_bytes())).into_owned()
            })
        };
        let all = differences(before.as_bytes(), after.as_bytes());
        all.iter()
            .map(|one| {
                let (was, is) = (of(before, one.before), of(after, one.after));
                format!("{} {} {was} {is}", pointer(&one.path), one.how.word())
            })
            .collect()
    }

    #[test]
    fn each_difference_is_told_with_its_bytes() {
        let table: &[(&str, &str, &[&str])] = &[
            (r#"{"id":1}"#, r#"{"id":1}"#, &[]),
            (r#"{"id":1}"#, r#"{"id":2}"#, &["/id changed 1 2"]),
            (
                r#"{"a":1}"#,
                r#"{ "a":1}"#,
                &[" white-space {\"a\":1} { \"a\":1}"],
            ),
            (
                r#"{"a":"é"}"#,
                r#"{"a":"\u00e9"}"#,
                &["/a white-space \"é\" \"\\u00e9\""],
            ),
            (
                r#"{"p":{"x/y":1,"z":2}}"#,
                r#"{"p":{"z":3,"n":[4]}}"#,
                &[
                    "/p/z changed 2 3",
                    "/p/x~1y removed 1 -",
                    "/p/n added - [4]",
                ],
            ),
            (
                r#"{"t":[{"n":1},{"n":2},{"n":3}]}"#,
                r#"{"t":[{"n":1},{"n":3}]}"#,
                &["/t/1 removed {\"n\":2} -"],
            ),
            (
                r#"[{"n":1},{"n":2}]"#,
                r#"[{"n":1},{"n":9},5]"#,
                &["/1/n changed 2 9", "/2 added - 5"],
            ),
            ("x", "y", &[" changed x y"]),
        ];
        for (before, after, expected) in table {
            assert_eq!(&told(before, after), expected, "{before} {after}");
        }
    }

    #[test]
    fn depth_and_number_are_bounded() {
        let deep = |end: &str| format!("{}{end}{}", "[".repeat(5000), "]".repeat(5000));
        assert_eq!(
            differences(deep("1").as_bytes(), deep("2").as_bytes()).len(),
            1
        );
        let wide = |value: u32| format!("[{}]", vec![value.to_string(); 5000].join(","));
        let found = differences(wide(1).as_bytes(), wide(2).as_bytes());
        assert!(found.len() <= limits::TAP_EDITS);
    }
}
