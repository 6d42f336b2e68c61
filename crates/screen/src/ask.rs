//! What the screen asks of a gateway, as values: each knows its own request under `/api/v1`.

use serde_json::{Value, json, to_value};
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
    /// The body.
    pub body: Option<Value>,
}

impl Ask {
    /// The request that it is.
    pub fn request(&self) -> Request {
        match self {
            Self::State => get("state"),
            Self::Tools => get("tools"),
            Self::Server(segment) => get(&format!("servers/{}", escaped(segment))),
            Self::Listed(segment, list) => get(&format!("servers/{}/{list}", escaped(segment))),
            Self::Stderr(segment) => get(&format!("servers/{}/stderr", escaped(segment))),
            Self::Explain(name) => get(&format!("explain/{}", escaped(name))),
            Self::Act { segment, verb, act } => post(
                &format!("servers/{}/{verb}", escaped(segment)),
                to_value(act),
            ),
            Self::Form { schema, .. } => post("forms", Ok(json!({ "schema": schema }))),
            Self::Validate { schema, value, .. } => {
                post("validate", Ok(json!({ "schema": schema, "value": value })))
            }
            Self::Call { make, .. } => post("calls", to_value(make)),
            Self::Cancel(id) => delete(&format!("calls/{id}")),
            Self::Calls { filter } if filter.is_empty() => get("calls?limit=200"),
            Self::Calls { filter } => get(&format!("calls?limit=200&filter={}", escaped(filter))),
            Self::Detail(id) => get(&format!("calls/{id}")),
            Self::Replay(id, replay) => post(&format!("calls/{id}/replay"), to_value(replay)),
            Self::Questions => get("questions"),
            Self::Question(id) => get(&format!("questions/{}", escaped(id))),
            Self::Answer { id, answer } => {
                post(&format!("questions/{}", escaped(id)), to_value(answer))
            }
            Self::Tokens => get("tokens"),
            Self::MakeToken(name) => post("tokens", Ok(json!({ "name": name }))),
            Self::Revoke(name) => delete(&format!("tokens/{}", escaped(name))),
            Self::Export { filter, .. } => get(&format!("export?filter={}", escaped(filter))),
            Self::Tap(armed) => post("tap", Ok(json!({ "armed": armed }))),
            Self::Rule(rule) => post("tools/rules", to_value(rule)),
        }
    }

    /// Whether it is answered when a tool is done, however long that takes.
    pub fn is_call(&self) -> bool {
        matches!(self, Self::Call { .. } | Self::Replay(..))
    }

    /// What is being tried, for a line that says it failed.
    pub fn what(&self) -> String {
        match self {
            Self::Act { segment, verb, .. } => format!("{verb} {segment}"),
            Self::Call { make, .. } => {
                format!("call {}", make.name.as_deref().unwrap_or_default())
            }
            Self::Answer { answer, .. } => answer.action.clone(),
            Self::Export { file, .. } => format!("save {file}"),
            Self::MakeToken(name) => format!("make the token {name}"),
            Self::Revoke(name) => format!("revoke the token {name}"),
            other => other.request().path,
        }
    }
}

fn get(path: &str) -> Request {
    Request {
        verb: "GET",
        path: path.to_owned(),
        body: None,
    }
}

fn delete(path: &str) -> Request {
    Request {
        verb: "DELETE",
        path: path.to_owned(),
        body: None,
    }
}

fn post(path: &str, body: serde_json::Result<Value>) -> Request {
    Request {
        verb: "POST",
        path: path.to_owned(),
        // Plain values have nothing that could not be written.
        body: Some(body.unwrap_or_default()),
    }
}

/// One segment of a path, or one value of a query.
fn escaped(text: &str) -> String {
    percent::encoded(text, "")
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
            Ask::MakeToken("t".into()),
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
        }
    }
}
