//! The text of a value that was changed, in which what nobody touched stands as it was
//! written: a number may have more digits than a reader keeps.

use serde_json::Value;
use std::{borrow::Cow, collections::HashMap};
use switchboard_wire::json::{self, Span, is_exact};

/// A value, and the text that it was read from.
#[derive(Clone, Copy)]
pub(super) struct Written<'a> {
    pub(super) value: &'a Value,
    pub(super) text: &'a str,
}

/// The text of `value`. What is as it was in `whole` stands as it did there, and what is as
/// it was in `given`, as there.
pub(super) fn text(
    value: &Value,
    given: Option<Written<'_>>,
    whole: Option<Written<'_>>,
) -> String {
    let mut out = String::new();
    put(&mut out, value, given, whole);
    out
}

/// Values come from a reader that has a cap on their depth, and so does this.
fn put(out: &mut String, value: &Value, given: Option<Written<'_>>, whole: Option<Written<'_>>) {
    let same = |written: &Written<'_>| written.value == value;
    // Whoever writes more digits than a reader keeps means them, although they are read as
    // what was there.
    let says_more = given.is_some_and(|given| !is_exact(given.text.as_bytes()));
    if let Some(whole) = whole.filter(same).filter(|_| !says_more) {
        return out.push_str(whole.text);
    }
    match value {
        Value::Object(members) => {
            let [given, whole] = [given, whole].map(|written| written.map(Written::members));
            out.push('{');
            for (at, (key, member)) in members.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                out.push_str(&json::quote(key));
                out.push(':');
                let given = given.as_ref().and_then(|of| of.get(key.as_str())).copied();
                let whole = whole.as_ref().and_then(|of| of.get(key.as_str())).copied();
                put(out, member, given, whole);
            }
            out.push('}');
        }
        Value::Array(items) => {
            // Where some came or went nobody can tell which is which.
            let [given, whole] = [given, whole].map(|written| {
                let of = written.map(Written::items);
                of.filter(|of| of.len() == items.len())
            });
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push(',');
                }
                let given = given.as_ref().and_then(|of| of.get(at)).copied();
                let whole = whole.as_ref().and_then(|of| of.get(at)).copied();
                put(out, item, given, whole);
            }
            out.push(']');
        }
        _ => match given.filter(same) {
            Some(given) => out.push_str(given.text),
            None => out.push_str(&value.to_string()),
        },
    }
}

impl<'a> Written<'a> {
    fn part(self, value: &'a Value, span: Span) -> Option<Self> {
        let text = self.text.get(span.start..span.end)?;
        Some(Self { value, text })
    }

    fn members(self) -> HashMap<Cow<'a, str>, Self> {
        let text = self.text.as_bytes();
        let members = json::members(text).filter_map(|member| {
            let key = json::text(member.key.of(text))?;
            let part = self.part(self.value.get(&*key)?, member.value)?;
            Some((key, part))
        });
        members.collect()
    }

    fn items(self) -> Vec<Self> {
        let values = self.value.as_array().into_iter().flatten();
        let spans = json::elements(self.text.as_bytes());
        let items = values.zip(spans);
        items
            .filter_map(|(value, span)| self.part(value, span))
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LONG: &str = "12345678901234567890123";

    fn read(text: &str) -> Value {
        serde_json::from_str(text).unwrap()
    }

    #[test]
    fn what_nobody_touched_is_as_it_was_written() {
        let whole = format!(
            r#"{{ "n" : {LONG}, "f":1.50, "l":[1.0, {{"d":0.1000000000000000055}}],"t":"a\u0062"}}"#
        );
        let value = read(&whole);
        let written = Some(Written {
            value: &value,
            text: &whole,
        });
        assert_eq!(text(&value, None, written), whole);
        let mut changed = value.clone();
        changed["t"] = "c".into();
        changed["l"][0] = 2.into();
        let expected =
            format!(r#"{{"n":{LONG},"f":1.50,"l":[2,{{"d":0.1000000000000000055}}],"t":"c"}}"#);
        assert_eq!(text(&changed, None, written), expected);
        // Somebody who was shown what a reader keeps, and sends that.
        let given_text = changed.to_string();
        let given = Some(Written {
            value: &changed,
            text: &given_text,
        });
        assert_eq!(text(&changed, given, written), expected);
        // Somebody who means other digits that are read as the same.
        let given_text = expected.replace(LONG, "12345678901234567890124");
        let given = Some(Written {
            value: &changed,
            text: &given_text,
        });
        assert_eq!(text(&changed, given, written), given_text);
    }

    #[test]
    fn numbers_with_more_digits_than_are_kept_are_told() {
        for exact in [
            "1",
            "-1.50",
            "1e3",
            "0.30000000000000004",
            "18446744073709551615",
            "\"123456789012345678901\"",
            "100000",
        ] {
            assert!(is_exact(exact.as_bytes()), "{exact}");
        }
        for inexact in [
            LONG,
            "[1,{\"a\":18446744073709551617}]",
            "0.1000000000000000055",
            "1e400",
        ] {
            assert!(!is_exact(inexact.as_bytes()), "{inexact}");
        }
    }
}
