//! Connectors: a list of remote servers that an account brings along. Where it
//! is fetched from is said by the user or the administrator; here it is read,
//! judged and kept. Fetching it is for those who open sockets.
//!
//! The list comes from another machine, so it is believed only as far as it can
//! do no harm here: remote servers and nothing else, no file of ours, no
//! variable of our environment. One entry that asks for more, and nothing of the
//! list is believed.

mod cache;

use crate::{
    entry::{Entry, Scope, Transport},
    expand::variables,
    fault::{Fault, Source},
    limits,
    read::{self, Doc},
};
pub use cache::{Cache, State};
use serde_json::{Map, Value, json};
use std::fmt;
use url::{Host, Url};

/// Where the list is, and what opens it.
#[derive(Clone, PartialEq, Eq)]
pub struct Connectors {
    /// Its address.
    pub url: Url,
    /// The bearer token as it is written: nothing is expanded yet. Without it
    /// the environment or the keychain has one.
    pub token: Option<String>,
    /// File and line.
    pub place: String,
}

impl fmt::Debug for Connectors {
    // The token stays out of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connectors")
            .field("url", &self.url.as_str())
            .field("place", &self.place)
            .finish_non_exhaustive()
    }
}

const SHAPE: &str = r#"write {"url": "https://…", "token": "${VAR}"}"#;

impl Connectors {
    /// Reads `connectors` of a settings file.
    pub(crate) fn read(doc: &Doc<'_>, file: &str) -> Result<Option<Self>, Box<Fault>> {
        let Some((value, line)) = doc.value(&["connectors"]) else {
            return Ok(None);
        };
        let wrong = |problem: String| {
            let problem = format!("`connectors` {problem}");
            Box::new(doc.fault_at(line, problem, Some(SHAPE.to_owned())))
        };
        let Some(object) = value.as_object() else {
            return Err(wrong("must be an object".to_owned()));
        };
        if let Some(key) = object.keys().find(|key| *key != "url" && *key != "token") {
            return Err(wrong(format!("has a key {key:?} that means nothing here")));
        }
        let url = object.get("url").and_then(Value::as_str);
        let url = url.ok_or_else(|| wrong("has no `url`".to_owned()))?;
        let url = Url::parse(url)
            .ok()
            .filter(Url::has_host)
            .ok_or_else(|| wrong(format!("has a `url` that is no web address: {url:?}")))?;
        match url.scheme() {
            "https" => {}
            "http" if is_loopback(&url) => {}
            _ => {
                let problem = "has a `url` that is not https: the token would be read on the way";
                return Err(wrong(problem.to_owned()));
            }
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(wrong("has a `url` with a user name or password".to_owned()));
        }
        let token = match object.get("token") {
            None | Some(Value::Null) => None,
            Some(Value::String(token)) => Some(token.clone()),
            Some(_) => return Err(wrong("has a `token` that is no text".to_owned())),
        };
        Ok(Some(Self {
            url,
            token,
            place: format!("{file}:{line}"),
        }))
    }

    /// The servers of a list that was fetched, or why none of them is believed.
    /// Both `{"mcpServers": {…}}` and a list of entries with names are understood.
    pub fn accept(&self, text: &str) -> Result<Map<String, Value>, Box<Fault>> {
        let source = Source::Address(self.url.to_string());
        let wrong =
            |problem: String, hint: &str| Box::new(Fault::whole(source.clone(), problem, hint));
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let whole: Value = serde_json::from_str(text)
            .map_err(|error| wrong(format!("not JSON: {error}"), ANSWER))?;
        let servers = by_name(whole).map_err(|problem| wrong(problem.to_string(), ANSWER))?;
        if servers.len() > limits::CONNECTORS {
            let problem = format!("more than {} servers", limits::CONNECTORS);
            return Err(wrong(problem, "a shorter list"));
        }
        let text = json!({ "mcpServers": &servers }).to_string();
        let entries = read::read(&text, &source, Scope::Connector)?;
        match self.refusal(&entries) {
            // The text is ours by now: a line of it says nothing to anybody.
            Some(fault) => Err(Box::new(Fault { line: 0, ..fault })),
            None => Ok(servers),
        }
    }

    /// Whether its servers must not be in the user's own network: what a list
    /// on this machine may name, one from elsewhere may not. Judged by the text
    /// of each address here, and by what its name leads to when it is reached.
    pub(crate) fn names_public_servers_only(&self) -> bool {
        !is_near(&self.url)
    }

    /// Why a list is not believed, if it is not.
    pub(crate) fn refusal(&self, entries: &[Entry]) -> Option<Fault> {
        entries.iter().find_map(|entry| {
            let (field, problem) = self.objection(entry)?;
            let mut fault = entry.fault(&field, format!("{problem}: the whole list is refused"));
            fault.hint =
                Some("connectors may name remote servers only, by address and headers".to_owned());
            Some(fault)
        })
    }

    fn objection(&self, entry: &Entry) -> Option<(String, String)> {
        let no = |field: &str, problem: &str| Some((field.to_owned(), problem.to_owned()));
        if entry.name.trim().is_empty()
            || entry.name.chars().count() > limits::CONNECTOR_NAME
            || entry.name.chars().any(char::is_control)
        {
            return no("name", "is no name for a server");
        }
        if !matches!(
            entry.transport,
            Transport::Http | Transport::Sse | Transport::Ws
        ) {
            return no("type", "a connector must be a remote server");
        }
        // Programs that would run here, and files that would be read here.
        let local = [
            "command",
            "args",
            "envFile",
            "inheritEnv",
            "headersHelper",
            "tls",
            "lockFolder",
        ];
        let written = |key: &&str| entry.written.get(*key).is_some();
        if let Some(key) = local.iter().find(|key| written(key)) {
            return no(key, "a connector has no say over this machine");
        }
        for key in ["privateKey", "assertionFile"] {
            if entry.written["oauth"].get(key).is_some() {
                return no(
                    &format!("oauth.{key}"),
                    "a connector has no say over this machine",
                );
            }
        }
        let whole = entry.written.to_string();
        if whole.contains("${file:") {
            return no("${file:…}", "a connector may not read files");
        }
        if let Some(variable) = variables(&whole).first() {
            let problem = format!("a connector may not read the variable {variable}");
            return Some(("${…}".to_owned(), problem));
        }
        let url = entry.url.as_deref().and_then(|url| Url::parse(url).ok());
        let Some(url) = url else {
            return no("url", "is no address");
        };
        if !self.names_public_servers_only() {
            return None;
        }
        if !matches!(url.scheme(), "https" | "wss") {
            return no("url", "a connector must be reached over TLS");
        }
        if is_near(&url) {
            return no("url", "a connector may not lead into your own network");
        }
        None
    }
}

const ANSWER: &str = r#"expected {"mcpServers": {"name": {"type": "http", "url": "https://…"}}} or a list of {"name", "type", "url"}"#;

/// What is wrong with a list of connectors as a whole.
#[derive(Debug, thiserror::Error)]
enum ListError {
    #[error("neither `mcpServers` nor `servers` is there")]
    NoServers,
    #[error("it is neither an object nor a list")]
    Shape,
    #[error("no. {0} of the list is no object")]
    NoObject(usize),
    #[error("no. {0} of the list has no `name`")]
    NoName(usize),
    #[error("two servers are called {0:?}")]
    Twice(String),
}

/// The servers by their names, in either shape.
fn by_name(whole: Value) -> Result<Map<String, Value>, ListError> {
    let list = match whole {
        Value::Array(list) => list,
        Value::Object(mut whole) => match (whole.remove("mcpServers"), whole.remove("servers")) {
            (Some(Value::Object(servers)), _) => return Ok(servers),
            (None, Some(Value::Array(list))) => list,
            _ => return Err(ListError::NoServers),
        },
        _ => return Err(ListError::Shape),
    };
    let mut servers = Map::new();
    for (i, entry) in list.into_iter().enumerate() {
        let Value::Object(mut entry) = entry else {
            return Err(ListError::NoObject(i + 1));
        };
        let Some(Value::String(name)) = entry.remove("name") else {
            return Err(ListError::NoName(i + 1));
        };
        if servers.contains_key(&name) {
            return Err(ListError::Twice(name));
        }
        servers.insert(name, Value::Object(entry));
    }
    Ok(servers)
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            name == "localhost" || name.ends_with(".localhost")
        }
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        None => false,
    }
}

/// Whether an address is on this machine or in its network, as far as its text says.
fn is_near(url: &Url) -> bool {
    let v4 = |address: std::net::Ipv4Addr| {
        address.is_loopback()
            || address.is_private()
            || address.is_link_local()
            || address.is_unspecified()
    };
    match url.host() {
        Some(Host::Ipv4(address)) => v4(address),
        Some(Host::Ipv6(address)) => match address.to_ipv4_mapped() {
            Some(address) => v4(address),
            None => {
                address.is_loopback()
                    || address.is_unspecified()
                    || address.is_unique_local()
                    || address.is_unicast_link_local()
            }
        },
        _ => is_loopback(url),
    }
}

#[cfg(test)]
mod tests;
