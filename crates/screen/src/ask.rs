//! What the screen asks of a gateway, as values: each knows its own request under `/api/v1`.

use serde_json::{Value, to_string};
use switchboard_api::{
    calls::{Make, Replay},
    questions::Answer,
    servers::Act,
    tools::Rule,
};
use switchboard_local::percent;

/// Something that a gateway is asked.
#[derive(Clone, Debug)]
pub enum Ask {
    /// The whole.
    State,
    /// All tools.
    Tools,
    /// One server, by its segment.
    Server(String),
    /// What it lists: `tools`, `resources`, `templates`, `prompts`.
    Listed(String, &'static str),
    /// What it wrote to its stderr.
    Stderr(String),
    /// Why it is there, or is not.
    Explain(String),
    /// To do something with it.
    Act {
        /// Its segment.
        segment: String,
        /// One of `servers::VERBS`.
        verb: &'static str,
        /// What the verb wants besides.
        act: Act,
    },
    /// A schema as fields; `page` is the form that waits for them.
    Form {
        /// The page.
        page: u64,
        /// The schema.
        schema: Value,
    },
    /// Whether a value fits a schema.
    Validate {
        /// The page.
        page: u64,
        /// The schema.
        schema: Value,
        /// The value.
        value: Value,
    },
    /// To make a call; `page` shows what becomes of it.
    Call {
        /// The page.
        page: u64,
        /// The call.
        make: Box<Make>,
    },
    /// To cancel a call.
    Cancel(u64),
    /// Calls that match a filter, newest first.
    Calls {
        /// The filter.
        filter: String,
    },
    /// One call with both its sides.
    Detail(u64),
    /// To make a call again.
    Replay(u64, Box<Replay>),
    /// What waits for a person.
    Questions,
    /// One of them, whole.
    Question(String),
    /// To answer one.
    Answer {
        /// Which.
        id: String,
        /// What.
        answer: Box<Answer>,
    },
    /// Who may come in.
    Tokens,
    /// To make a token.
    MakeToken(String),
    /// To revoke one.
    Revoke(String),
    /// Calls as a cassette, written to a file.
    Export {
        /// Which calls.
        filter: String,
        /// The file, as it was typed.
        file: String,
    },
    /// To keep messages, or no longer.
    Tap(bool),
    /// To write rules, or to show what would be written.
    Rule(Box<Rule>),
}

/// A request under `/api/v1`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Request {
    /// `GET`, `POST`, `DELETE`.
    pub verb: &'static str,
    /// Below `/api/v1/`, with its query.
    pub path: String,
    /// The body, as text of JSON.
    pub body: Option<String>,
}

impl Ask {
    /// The request that it is.
    pub fn request(&self) -> Request {
        let body = self.body();
        let verb = match (self, &body) {
            (_, Some(_)) => "POST",
            (Self::Cancel(_) | Self::Revoke(_), None) => "DELETE",
            _ => "GET",
        };
        Request {
            verb,
            path: self.path(),
            body,
        }
    }

    fn path(&self) -> String {
        let number = match self {
            Self::Cancel(id) | Self::Detail(id) | Self::Replay(id, _) => id.to_string(),
            _ => String::new(),
        };
        // What is between may be anything, and is one segment or one value of a query.
        let (before, between, after) = match self {
            Self::State => ("state", "", ""),
            Self::Tools => ("tools", "", ""),
            Self::Server(segment) => ("servers/", segment.as_str(), ""),
            Self::Listed(segment, list) => ("servers/", segment.as_str(), *list),
            Self::Stderr(segment) => ("servers/", segment.as_str(), "stderr"),
            Self::Explain(name) => ("explain/", name.as_str(), ""),
            Self::Act { segment, verb, .. } => ("servers/", segment.as_str(), *verb),
            Self::Form { .. } => ("forms", "", ""),
            Self::Validate { .. } => ("validate", "", ""),
            Self::Call { .. } => ("calls", "", ""),
            Self::Calls { filter } if filter.is_empty() => ("calls?limit=200", "", ""),
            Self::Calls { filter } => ("calls?limit=200&filter=", filter.as_str(), ""),
            Self::Cancel(_) | Self::Detail(_) => ("calls/", number.as_str(), ""),
            Self::Replay(..) => ("calls/", number.as_str(), "replay"),
            Self::Questions => ("questions", "", ""),
            Self::Question(id) | Self::Answer { id, .. } => ("questions/", id.as_str(), ""),
            Self::Tokens | Self::MakeToken(_) => ("tokens", "", ""),
            Self::Revoke(name) => ("tokens/", name.as_str(), ""),
            Self::Export { filter, .. } => ("export?filter=", filter.as_str(), ""),
            Self::Tap(_) => ("tap", "", ""),
            Self::Rule(_) => ("tools/rules", "", ""),
        };
        let slash = if after.is_empty() { "" } else { "/" };
        let between = percent::encoded(between, "");
        format!("{before}{between}{slash}{after}")
    }

    fn body(&self) -> Option<String> {
        let text = match self {
            Self::Act { act, .. } => to_string(act),
            Self::Form { schema, .. } => Ok(object(&[("schema", schema)])),
            Self::Validate { schema, value, .. } => {
                Ok(object(&[("schema", schema), ("value", value)]))
            }
            Self::Call { make, .. } => to_string(make),
            Self::Replay(_, replay) => to_string(replay),
            Self::Answer { answer, .. } => to_string(answer),
            Self::MakeToken(name) => Ok(object(&[("name", &Value::String(name.clone()))])),
            Self::Tap(armed) => Ok(object(&[("armed", &Value::Bool(*armed))])),
            Self::Rule(rule) => to_string(rule),
            _ => return None,
        };
        // Plain values have nothing that could not be written.
        Some(text.unwrap_or_else(|_| "null".to_owned()))
    }

    /// Whether it is answered when a tool is done, however long that takes.
    pub fn is_call(&self) -> bool {
        matches!(self, Self::Call { .. } | Self::Replay(..))
    }

    /// What is being tried, for a line that says it failed.
    pub fn what(&self) -> String {
        let (before, name) = match self {
            Self::Act { segment, verb, .. } => (*verb, segment.as_str()),
            Self::Call { make, .. } => ("call", make.name.as_deref().unwrap_or_default()),
            Self::Answer { answer, .. } => return answer.action.clone(),
            Self::Export { file, .. } => ("save", file.as_str()),
            Self::MakeToken(name) => ("make the token", name.as_str()),
            Self::Revoke(name) => ("revoke the token", name.as_str()),
            other => return other.path(),
        };
        format!("{before} {name}")
    }
}

/// An object of these members, as text.
fn object(members: &[(&str, &Value)]) -> String {
    let mut text = String::new();
    for (key, value) in members {
        let sign = if text.is_empty() { '{' } else { ',' };
        text.push_str(&format!("{sign}\"{key}\":{value}"));
    }
    text.push('}');
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_api::{PREFIX, routes::ROUTES};

    /// Every request is one that the table of routes has.
    #[test]
    fn requests_are_routes() {
        let asks = [
            Ask::State,
            Ask::Tools,
            Ask::Server("a b/c".into()),
            Ask::Listed("s".into(), "prompts"),
            Ask::Stderr("s".into()),
            Ask::Explain("mcp__s__t".into()),
            Ask::Act {
                segment: "s".into(),
                verb: "reconnect",
                act: Act::default(),
            },
            Ask::Form {
                page: 1,
                schema: Value::Null,
            },
            Ask::Validate {
                page: 1,
                schema: Value::Null,
                value: Value::Null,
            },
            Ask::Call {
                page: 1,
                make: Box::default(),
            },
            Ask::Cancel(1),
            Ask::Calls {
                filter: "a=b".into(),
            },
            Ask::Detail(1),
            Ask::Replay(1, Box::default()),
            Ask::Questions,
            Ask::Question("q".to_owned()),
            Ask::Answer {
                id: "q".into(),
                answer: Box::default(),
            },
            Ask::Tokens,
            Ask::MakeToken("\"t".into()),
            Ask::Revoke("t".into()),
            Ask::Export {
                filter: "id:1 or ok".into(),
                file: "f".into(),
            },
            Ask::Tap(true),
            Ask::Rule(Box::default()),
        ];
        assert_eq!(PREFIX, "/api/v1/");
        for ask in asks {
            let request = ask.request();
            let path = request.path.split('?').next().unwrap();
            let fits = |route: &str| {
                let (route, path): (Vec<_>, Vec<_>) =
                    (route.split('/').collect(), path.split('/').collect());
                route.len() == path.len()
                    && route
                        .iter()
                        .zip(&path)
                        .all(|(r, p)| r.starts_with('{') || r == p)
            };
            let known = ROUTES
                .iter()
                .any(|route| route.verb == request.verb && fits(route.path));
            assert!(known, "{request:?}");
            let body = request.body.as_deref();
            let is_json = |text: &str| serde_json::from_str::<Value>(text).is_ok();
            assert!(body.is_none_or(is_json), "{request:?}");
            assert_eq!(body.is_some(), request.verb == "POST", "{request:?}");
        }
    }
}
