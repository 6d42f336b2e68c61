//! What settings files of the user and the administrator say about signing in.
//! A repository has no say in it.

use crate::{fault::Fault, read::Doc};
use serde_json::{Map, Value};
use std::fmt;

/// Where sign-ins are kept, and who vouches for us.
#[derive(Clone, Debug, Default)]
pub struct SignIn {
    /// `tokenStore`: `keychain` or `file`.
    pub token_store: Option<String>,
    /// `xaaIdp`: the enterprise's identity provider.
    pub idp: Option<Idp>,
}

/// An identity provider, as it is written: nothing is expanded yet.
#[derive(Clone, PartialEq, Eq)]
pub struct Idp {
    /// Its issuer.
    pub issuer: String,
    /// Our client there.
    pub client_id: String,
    /// The client's secret.
    pub client_secret: Option<String>,
    /// The port on which a sign-in comes back.
    pub callback_port: Option<u16>,
    /// Scopes beside `openid`.
    pub scopes: Vec<String>,
    /// File and line.
    pub place: String,
}

impl fmt::Debug for Idp {
    // The secret stays out of it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Idp")
            .field("issuer", &self.issuer)
            .field("client_id", &self.client_id)
            .finish_non_exhaustive()
    }
}

impl SignIn {
    /// Puts what `other` says in the place of what was said before.
    pub fn overrule(&mut self, other: Self) {
        self.token_store = other.token_store.or(self.token_store.take());
        self.idp = other.idp.or(self.idp.take());
    }

    /// Adds what a file says; later files win.
    pub fn read(&mut self, doc: &Doc<'_>, file: &str) -> Vec<Fault> {
        let mut faults = Vec::new();
        let mut wrong = |line: usize, problem: String, hint: &str| {
            faults.push(doc.fault_at(line, problem, Some(hint.to_owned())));
        };
        if let Some((value, line)) = doc.value(&["tokenStore"]) {
            match value.as_str() {
                Some(store @ ("keychain" | "file")) => self.token_store = Some(store.to_owned()),
                _ => wrong(
                    line,
                    "`tokenStore` must be \"keychain\" or \"file\"".into(),
                    "a file is readable by you alone, but not encrypted",
                ),
            }
        }
        if let Some((value, line)) = doc.value(&["xaaIdp"]) {
            let place = format!("{file}:{line}");
            match value
                .as_object()
                .ok_or("must be an object")
                .and_then(|object| idp(object, place))
            {
                Ok(idp) => self.idp = Some(idp),
                Err(problem) => wrong(
                    line,
                    format!("`xaaIdp` {problem}"),
                    "write {\"issuer\": \"https://…\", \"clientId\": \"…\"}",
                ),
            }
        }
        faults
    }
}

fn idp(object: &Map<String, Value>, place: String) -> Result<Idp, &'static str> {
    let text = |key: &str| object.get(key).and_then(Value::as_str).map(str::to_owned);
    let port = match object.get("callbackPort") {
        None | Some(Value::Null) => None,
        Some(port) => {
            let port = port.as_u64().and_then(|port| u16::try_from(port).ok());
            Some(
                port.filter(|port| *port > 0)
                    .ok_or("has a `callbackPort` that is no port")?,
            )
        }
    };
    let scopes = match object.get("scopes") {
        None | Some(Value::Null) => Vec::new(),
        Some(Value::String(all)) => all.split_whitespace().map(str::to_owned).collect(),
        Some(Value::Array(list)) => {
            let each = list.iter().map(|scope| scope.as_str().map(str::to_owned));
            each.collect::<Option<_>>()
                .ok_or("has `scopes` that are no texts")?
        }
        Some(_) => return Err("has `scopes` that are no list"),
    };
    Ok(Idp {
        issuer: text("issuer").ok_or("has no `issuer`")?,
        client_id: text("clientId").ok_or("has no `clientId`")?,
        client_secret: text("clientSecret"),
        callback_port: port,
        scopes,
        place,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fault::Source, read::with};

    fn read(text: &str) -> (SignIn, Vec<String>) {
        let mut found = SignIn::default();
        let faults = with(text, &Source::File("/s.json".into()), |doc| {
            found.read(doc, "/s.json")
        });
        let faults = faults.unwrap().iter().map(ToString::to_string).collect();
        (found, faults)
    }

    #[test]
    fn settings_of_signing_in() {
        let (found, faults) = read(
            r#"{"tokenStore": "file", "xaaIdp": {"issuer": "https://i", "clientId": "c",
                "clientSecret": "hush", "callbackPort": 8123, "scopes": "a b"}}"#,
        );
        assert!(faults.is_empty(), "{faults:?}");
        assert_eq!(found.token_store.as_deref(), Some("file"));
        let idp = found.idp.unwrap();
        assert_eq!((idp.scopes.len(), idp.callback_port), (2, Some(8123)));
        assert!(!format!("{idp:?}").contains("hush"));
    }

    #[test]
    fn what_cannot_be_is_named_with_its_line() {
        let (found, faults) = read("{\"tokenStore\": \"cloud\",\n\"xaaIdp\": {\"issuer\": \"x\"}}");
        assert!(found.idp.is_none() && found.token_store.is_none());
        assert!(
            faults[0].starts_with("/s.json:1: `tokenStore` must be"),
            "{faults:?}"
        );
        assert!(
            faults[1].starts_with("/s.json:2: `xaaIdp` has no `clientId`"),
            "{faults:?}"
        );
    }
}
