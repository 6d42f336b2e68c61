//! `WWW-Authenticate`, read properly (RFC 9110 §11.6.1): several challenges in one
//! header, quoted strings with escapes, parameters by name. A description that
//! contains `scope=evil` is a description.

use http::{HeaderMap, header};

/// One challenge of a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Challenge {
    /// `bearer`, `dpop`, …, in lower case.
    pub scheme: String,
    /// Parameters in order, names in lower case. The first of a name counts.
    params: Vec<(String, String)>,
}

impl Challenge {
    /// The value of a parameter.
    pub fn param(&self, name: &str) -> Option<&str> {
        self.params
            .iter()
            .find(|(known, _)| known == name)
            .map(|(_, value)| value.as_str())
    }

    /// The scopes that are asked for.
    pub fn scopes(&self) -> Vec<String> {
        self.param("scope")
            .unwrap_or_default()
            .split_ascii_whitespace()
            .map(str::to_owned)
            .collect()
    }

    /// Whether it asks for more rights than a token that is good has.
    pub fn wants_more(&self) -> bool {
        match self.param("error") {
            Some(error) => error == "insufficient_scope",
            None => !self.scopes().is_empty(),
        }
    }

    /// All challenges of a response.
    pub fn all(headers: &HeaderMap) -> Vec<Self> {
        headers
            .get_all(header::WWW_AUTHENTICATE)
            .iter()
            .filter_map(|value| value.to_str().ok())
            .flat_map(Self::parse)
            .collect()
    }

    /// The challenges in one header value. What cannot be read ends the reading.
    pub fn parse(value: &str) -> Vec<Self> {
        let mut rest = value;
        let mut found: Vec<Self> = Vec::new();
        loop {
            rest = rest.trim_start_matches([' ', '\t', ',']);
            let word = token(rest);
            if word.is_empty() {
                return found;
            }
            let after = &rest[word.len()..];
            // `name = value` belongs to the challenge before; `name` alone begins one.
            let equals = after.trim_start_matches([' ', '\t']);
            if let (Some(text), Some(open)) = (equals.strip_prefix('='), found.last_mut())
                && !text.starts_with('=')
            {
                let text = text.trim_start_matches([' ', '\t']);
                let Some((value, behind)) = parameter_value(text) else {
                    return found;
                };
                let name = word.to_ascii_lowercase();
                if open.param(&name).is_none() {
                    open.params.push((name, value));
                }
                rest = behind;
                continue;
            }
            found.push(Self {
                scheme: word.to_ascii_lowercase(),
                params: Vec::new(),
            });
            rest = skip_token68(after);
        }
    }
}

/// The challenge that OAuth speaks about, the most telling one of them.
pub fn oauth(headers: &HeaderMap) -> Option<Challenge> {
    most_telling(Challenge::all(headers))
}

/// The scopes that a 403 with these challenges asks for; empty where it does not
/// say which.
pub(crate) fn missing_scopes(challenges: &str) -> Option<Vec<String>> {
    let challenge = most_telling(Challenge::parse(challenges))?;
    challenge.wants_more().then(|| challenge.scopes())
}

fn most_telling(mut all: Vec<Challenge>) -> Option<Challenge> {
    all.retain(|challenge| matches!(challenge.scheme.as_str(), "bearer" | "dpop"));
    all.sort_by_key(|challenge| challenge.params.is_empty());
    all.into_iter().next()
}

fn token(text: &str) -> &str {
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(c)))
        .unwrap_or(text.len());
    &text[..end]
}

fn parameter_value(text: &str) -> Option<(String, &str)> {
    let Some(quoted) = text.strip_prefix('"') else {
        // Addresses and scopes appear unquoted although they should not.
        let end = text.find([',', ' ', '\t']).unwrap_or(text.len());
        return Some((text[..end].to_owned(), &text[end..]));
    };
    let mut value = String::new();
    let mut escaped = false;
    for (at, c) in quoted.char_indices() {
        match c {
            _ if escaped => {
                value.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return Some((value, &quoted[at + 1..])),
            _ => value.push(c),
        }
    }
    None
}

/// `Negotiate YII=`: a scheme may be followed by one opaque word.
fn skip_token68(after: &str) -> &str {
    let text = after.trim_start_matches([' ', '\t']);
    let end = text
        .find(|c: char| !(c.is_ascii_alphanumeric() || "-._~+/".contains(c)))
        .unwrap_or(text.len());
    let behind = text[end..].trim_start_matches('=');
    let rest = behind.trim_start_matches([' ', '\t']);
    // `realm="x"` leaves a quote behind its equals sign, `realm=x` a word.
    if end > 0 && (rest.is_empty() || rest.starts_with(',')) {
        return behind;
    }
    after
}

#[cfg(test)]
mod tests;
