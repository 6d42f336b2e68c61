//! A message without secrets: what is read of the tap goes through here, unless somebody
//! asks for the secrets themselves, which is put on record.

use std::borrow::Cow;
use switchboard_local::secret;
use switchboard_wire::json;

/// Fields of the protocol whose name is like a secret's, and whose value is none.
const PLAIN: [&str; 4] = ["progressToken", "nextCursor", "cursor", "maxTokens"];

/// Fields whose members are named by others: what is named `token` there is the definition
/// of one.
const NAMED: [&str; 5] = [
    "properties",
    "patternProperties",
    "$defs",
    "definitions",
    "dependentRequired",
];

/// Fields that hold pictures and files, from so many bytes on: longer than a secret is.
const CONTENTS: [&str; 2] = ["data", "blob"];
// tidy: a threshold, not a cap
const CONTENT: usize = 1024;

/// The text of a message without its secrets, and how many were cut. What stands under a
/// telling name goes, with all that is in it, and so does what looks like a secret or is
/// known to be one.
pub fn redact(text: &str) -> (String, u32) {
    let mut reading = Reading {
        out: String::with_capacity(text.len()),
        ..Reading::default()
    };
    let mut rest = text;
    while let Some(at) =
        rest.find(|c: char| "\"{}[],".contains(c) || c == '-' || c.is_ascii_digit())
    {
        let (before, from) = rest.split_at(at);
        reading.out.push_str(before);
        let length = match from.as_bytes()[0] {
            b'"' => string(from),
            b'-' | b'0'..=b'9' => number(from),
            _ => 1,
        };
        let (token, after) = from.split_at(length);
        reading.take(token, after);
        rest = after;
    }
    reading.out.push_str(rest);
    (reading.out, reading.cut)
}

/// What was read so far, and where that is.
#[derive(Default)]
struct Reading {
    out: String,
    cut: u32,
    /// The key whose value comes next, where there is one.
    key: Option<String>,
    /// The objects and lists that are open.
    open: Vec<Open>,
}

/// An object or a list that is open.
#[derive(Clone, Copy, Default)]
struct Open {
    is_list: bool,
    /// Whether all in it is a secret.
    is_secret: bool,
    /// Whether its members are named by others.
    is_named: bool,
}

impl Reading {
    fn take(&mut self, token: &str, after: &str) {
        match token.as_bytes()[0] {
            b'{' | b'[' => {
                let outer = self.open.last().copied().unwrap_or_default();
                let key = self.key.as_deref();
                let is = |names: &[&str]| key.is_some_and(|key| names.contains(&key));
                self.open.push(Open {
                    is_list: token == "[",
                    // A definition of what is named so is none itself.
                    is_secret: outer.is_secret
                        || (self.tells() && !outer.is_named && !is_many(key)),
                    is_named: is(&NAMED) || (outer.is_named && token == "["),
                });
                // What is in a list is what the list is.
                if token == "{" {
                    self.key = None;
                }
                self.out.push_str(token);
            }
            b'}' | b']' => {
                self.open.pop();
                self.key = None;
                self.out.push_str(token);
            }
            b',' => {
                if !self.open.last().is_some_and(|open| open.is_list) {
                    self.key = None;
                }
                self.out.push_str(token);
            }
            b'"' if after.trim_start().starts_with(':') => {
                self.key = json::text(token.as_bytes()).map(Cow::into_owned);
                let shown = value(token, None, false, &mut self.cut);
                self.out.push_str(&shown);
            }
            b'"' => {
                let is_secret = self.is_secret() || self.tells();
                let shown = value(token, self.key.as_deref(), is_secret, &mut self.cut);
                self.out.push_str(&shown);
            }
            _ => self.number(token),
        }
    }

    /// A number. Of many things of a name it says how many there are.
    fn number(&mut self, token: &str) {
        let hides = self.is_secret() || (self.tells() && !is_many(self.key.as_deref()));
        if hides {
            self.cut += 1;
            self.out.push_str(&json::quote(secret::HIDDEN));
        } else {
            self.out.push_str(token);
        }
    }

    /// Whether all here is a secret.
    fn is_secret(&self) -> bool {
        self.open.last().is_some_and(|open| open.is_secret)
    }

    /// Whether the key says that its value is a secret.
    fn tells(&self) -> bool {
        let key = self.key.as_deref();
        key.is_some_and(|key| !PLAIN.contains(&key) && secret::is_name(key))
    }
}

/// Names of several that are never anything else than what they say.
const SURELY: [&str; 4] = ["credentials", "secrets", "passwords", "passphrases"];

/// Whether a name is that of several, which may be counted and listed: `tokens`, `keys`.
fn is_many(key: Option<&str>) -> bool {
    key.is_some_and(|key| {
        let key = key.to_ascii_lowercase();
        let is_sure = SURELY.iter().any(|sure| key.ends_with(sure));
        key.ends_with('s') && !key.ends_with("ss") && !is_sure
    })
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

/// Where a number ends that begins here.
fn number(text: &str) -> usize {
    let fits = |c: char| c.is_ascii_digit() || "+-.eE".contains(c);
    text.find(|c| !fits(c)).unwrap_or(text.len())
}

/// A string as it may be shown.
fn value<'a>(token: &'a str, key: Option<&str>, is_secret: bool, cut: &mut u32) -> Cow<'a, str> {
    let Some(said) = json::text(token.as_bytes()) else {
        return Cow::Borrowed(token);
    };
    let is = |names: &[&str]| key.is_some_and(|key| names.contains(&key));
    if said.is_empty() || is(&PLAIN) {
        return Cow::Borrowed(token);
    }
    let shown = match is_secret {
        true => secret::kept_value("token", &said),
        false if is(&CONTENTS) && is_contents(&said) => secret::contents(&said),
        false => secret::text(&said),
    };
    if shown == said {
        return Cow::Borrowed(token);
    }
    *cut += shown.matches(secret::HIDDEN).count() as u32;
    Cow::Owned(json::quote(&shown))
}

/// Whether this is a picture or a file, as JSON has them.
fn is_contents(said: &str) -> bool {
    let fits = |c: char| c.is_ascii_alphanumeric() || "+/=_-\r\n".contains(c);
    said.len() > CONTENT && said.chars().all(fits)
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
    #[test]
    fn what_stands_under_a_telling_name_goes_whatever_it_is() {
        let table = [
            (
                r#"{"password":1234,"n":1234}"#,
                r#"{"password":"[redacted]","n":1234}"#,
            ),
            (r#"{"pin": -12.5e3 }"#, r#"{"pin": "[redacted]" }"#),
            (
                r#"{"authorization":{"scheme":"x","value":["a",7,true,null]},"b":"c"}"#,
                r#"{"authorization":{"scheme":"[redacted]","value":["[redacted]","[redacted]",true,null]},"b":"c"}"#,
            ),
            (
                r#"{"secret":["a",["b"]],"n":[1]}"#,
                r#"{"secret":["[redacted]",["[redacted]"]],"n":[1]}"#,
            ),
            (
                r#"{"a":[{"token":{"x":{"y":"z"}}}]}"#,
                r#"{"a":[{"token":{"x":{"y":"[redacted]"}}}]}"#,
            ),
        ];
        for (text, expected) in table {
            assert_eq!(redact(text).0, expected);
        }
        // What is no secret by these names.
        for text in [
            r#"{"inputSchema":{"properties":{"token":{"type":"string","maxLength":5}},"required":["token"]}}"#,
            r#"{"tokens":1200,"maxTokens":5,"progressToken":17,"keys":3,"monkey":4}"#,
            r#"{"params":{"_meta":{"progressToken":17}},"id":12}"#,
        ] {
            assert_eq!(redact(text), (text.to_owned(), 0));
        }
    }

    #[test]
    fn what_is_large_is_looked_through_as_well() {
        let token = "ghp_a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8";
        let picture = "iVBORw0KGgo".repeat(2000);
        for key in ["data", "blob", "text"] {
            let same = format!(r#"{{"{key}":"{picture}"}}"#);
            assert_eq!(redact(&same), (same.clone(), 0));
            for with in [
                format!("{picture}/{token}/{picture}"),
                format!("{picture} {token} {picture}"),
                format!("{picture}_{token}"),
            ] {
                let (shown, cut) = redact(&format!(r#"{{"{key}":"{with}"}}"#));
                assert!(cut == 1 && !shown.contains(token), "{key}");
            }
        }
        // A text in such a field is a text.
        let text = format!("{} password=wanderlust", "lorem ipsum ".repeat(200));
        assert_eq!(redact(&format!(r#"{{"data":"{text}"}}"#)).1, 1);
    }
}
