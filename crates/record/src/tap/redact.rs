//! A message without secrets: what is read of the tap goes through here, unless somebody
//! asks for the secrets themselves, which is put on record.

use std::borrow::Cow;
use switchboard_local::secret;
use switchboard_wire::json;

/// Fields of the protocol whose name is like a secret's, and whose value is none.
const PLAIN: [&str; 4] = ["progressToken", "nextCursor", "cursor", "maxTokens"];

/// Fields that hold pictures and files, from so many bytes on: longer than a secret is.
const CONTENTS: [&str; 2] = ["data", "blob"];
// tidy: a threshold, not a cap
const CONTENT: usize = 1024;

/// What is longer than this, without a gap, is no secret.
// tidy: a threshold, not a cap
const RUN: usize = 16 * 1024;

/// The text of a message without its secrets, and how many were cut. What stands under a
/// telling name goes, and so does what looks like a secret or is known to be one.
pub fn redact(text: &str) -> (String, u32) {
    let (mut out, mut cut) = (String::with_capacity(text.len()), 0);
    let (mut rest, mut key) = (text, None::<String>);
    while let Some(at) = rest.find(['"', '{', '}']) {
        let (before, from) = rest.split_at(at);
        out.push_str(before);
        if !from.starts_with('"') {
            // What follows is no value of the last key.
            key = None;
            out.push_str(&from[..1]);
            rest = &from[1..];
            continue;
        }
        let length = string(from);
        let (token, after) = from.split_at(length);
        if after.trim_start().starts_with(':') {
            key = json::text(token.as_bytes()).map(Cow::into_owned);
            out.push_str(&value(token, None, &mut cut));
        } else {
            out.push_str(&value(token, key.as_deref(), &mut cut));
        }
        rest = after;
    }
    out.push_str(rest);
    (out, cut)
}

/// Where a string ends that begins here.
fn string(text: &str) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    bytes.len()
}

/// A string as it may be shown.
fn value<'a>(token: &'a str, key: Option<&str>, cut: &mut u32) -> Cow<'a, str> {
    let Some(said) = json::text(token.as_bytes()) else {
        return Cow::Borrowed(token);
    };
    let is = |names: &[&str]| key.is_some_and(|key| names.contains(&key));
    if said.is_empty() || is(&PLAIN) || (is(&CONTENTS) && said.len() > CONTENT) {
        return Cow::Borrowed(token);
    }
    let shown = match key.is_some_and(secret::is_name) {
        true => secret::kept_value(key.unwrap_or_default(), &said),
        false => without_secrets(&said),
    };
    if shown == said {
        return Cow::Borrowed(token);
    }
    *cut += shown.matches(secret::HIDDEN).count() as u32;
    Cow::Owned(json::quote(&shown))
}

/// A text without what looks like a secret. What goes on for longer without a gap than any
/// secret does is none: a picture, a file, a line of signs.
fn without_secrets(said: &str) -> Cow<'_, str> {
    let is_run = |c: char| c.is_ascii_alphanumeric() || "+/=_-".contains(c);
    if said.len() <= RUN {
        return secret::text(said);
    }
    let (mut out, mut rest) = (String::with_capacity(said.len()), said);
    while !rest.is_empty() {
        let long = rest.split(|c| !is_run(c)).find(|run| run.len() > RUN);
        // Where it stands in what is left.
        let at = long.map_or(rest.len(), |run| {
            run.as_ptr() as usize - rest.as_ptr() as usize
        });
        let (before, from) = rest.split_at(at);
        out.push_str(&secret::text(before));
        let (run, after) = from.split_at(long.map_or(0, str::len));
        out.push_str(run);
        rest = after;
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_go_and_everything_else_stays() {
        let token = format!("ghp_{}", "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8");
        let same = [
            r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"echo","arguments":{"text":"a plain sentence, \"quoted\""}}}"#,
            r#"{"params":{"_meta":{"progressToken":"a1B2c3D4e5F6g7H8i9J0k1L2m3"}}}"#,
            "{ \"a\" : [ 1 , \"b\" ] , \"password\" : \"\" }",
            "no message",
            r#"{"unclosed":"a"#,
        ];
        for text in same {
            assert_eq!(redact(text), (text.to_owned(), 0));
        }
        let with = |value: &str, key: &str| format!(r#"{{"{key}" : {value}, "n":1}}"#);
        for (key, secret) in [
            ("text", token.as_str()),
            ("password", "correct horse"),
            ("apiKey", "0123456789"),
            ("text", &format!("it is {token} here")),
        ] {
            let (shown, cut) = redact(&with(&json::quote(secret), key));
            assert_eq!(cut, 1, "{shown}");
            assert!(!shown.contains(secret), "{shown}");
            assert!(serde_json::from_str::<serde_json::Value>(&shown).is_ok());
        }
        // Between what is too long to be one.
        let picture = "iVBORw0KGgo".repeat(2000);
        let around = json::quote(&format!("{picture} {token} {picture}"));
        let (shown, cut) = redact(&with(&around, "text"));
        assert_eq!(cut, 1);
        assert!(!shown.contains(&token) && shown.matches(&picture).count() == 2);
        let (shown, cut) = redact(&with(&format!("[\"{token}\",\"{token}\"]"), "keys"));
        assert_eq!(cut, 2, "{shown}");
        // In the text of another message.
        let inner = json::quote(&format!("{{\"token\":\"{token}\"}}"));
        let (shown, cut) = redact(&with(&inner, "text"));
        assert_eq!(cut, 1, "{shown}");
        assert!(!shown.contains(&token), "{shown}");
    }
}
