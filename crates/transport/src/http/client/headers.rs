//! The headers of a request, built once and copied for each.

use super::HttpTarget;
use crate::link::About;
use http::{
    HeaderMap, HeaderName, HeaderValue, Uri,
    header::{
        self, ACCEPT, ACCEPT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE, HOST, TRANSFER_ENCODING,
        UPGRADE, USER_AGENT,
    },
};
use std::sync::Arc;
use switchboard_wire::{
    Era, Method, Revision,
    header::{PARAM_PREFIX, encode},
};

pub(super) const SESSION: HeaderName = HeaderName::from_static("mcp-session-id");
pub(super) const LAST_EVENT: HeaderName = HeaderName::from_static("last-event-id");
const VERSION: HeaderName = HeaderName::from_static("mcp-protocol-version");
const METHOD: HeaderName = HeaderName::from_static("mcp-method");
const NAME: HeaderName = HeaderName::from_static("mcp-name");

const BOTH_TYPES: HeaderValue = HeaderValue::from_static("application/json, text/event-stream");
const JSON: HeaderValue = HeaderValue::from_static("application/json");
const EVENTS: HeaderValue = HeaderValue::from_static("text/event-stream");
const IDENTITY: HeaderValue = HeaderValue::from_static("identity");
const AGENT: HeaderValue =
    HeaderValue::from_static(concat!("switchboard/", env!("CARGO_PKG_VERSION")));

/// What all requests say from now on: the revision and the session.
pub(super) struct Speaking {
    /// Without revision and session, for `initialize`.
    fresh: Arc<HeaderMap>,
    current: Arc<HeaderMap>,
    revision: Option<Revision>,
    session: Option<HeaderValue>,
}

/// The headers for one request, and what they say.
pub(super) struct Spoken {
    pub(super) headers: Arc<HeaderMap>,
    pub(super) era: Option<Era>,
    /// Whether a session is named.
    pub(super) session: bool,
}

impl Speaking {
    pub(super) fn new(target: &HttpTarget) -> Self {
        let mut headers = HeaderMap::with_capacity(16);
        for (name, value) in &target.headers {
            if !is_ours(name) {
                headers.append(name.clone(), value.clone());
            }
        }
        headers.entry(USER_AGENT).or_insert(AGENT);
        if let Some(host) = host(&target.url) {
            headers.entry(HOST).or_insert(host);
        }
        headers.insert(ACCEPT, BOTH_TYPES);
        headers.insert(ACCEPT_ENCODING, IDENTITY);
        headers.insert(CONTENT_TYPE, JSON);
        let fresh = Arc::new(headers);
        Self {
            current: fresh.clone(),
            fresh,
            revision: None,
            session: None,
        }
    }

    pub(super) fn speak(&mut self, revision: Revision) {
        self.revision = Some(revision);
        self.rebuild();
    }

    /// Takes the session that an answer to `initialize` names, or none.
    pub(super) fn set_session(&mut self, session: Option<&HeaderValue>) {
        let visible = |value: &&HeaderValue| {
            !value.is_empty()
                && value
                    .as_bytes()
                    .iter()
                    .all(|byte| (0x21..=0x7e).contains(byte))
        };
        self.session = session.filter(visible).cloned().map(|mut value| {
            value.set_sensitive(true);
            value
        });
        self.rebuild();
    }

    pub(super) fn session(&self) -> Option<String> {
        self.session.as_ref()?.to_str().ok().map(str::to_owned)
    }

    pub(super) fn era(&self) -> Option<Era> {
        self.revision.map(Revision::era)
    }

    /// What a request with this method says. `initialize` begins anew, so it names nothing.
    pub(super) fn spoken(&self, method: Option<Method>) -> Spoken {
        if method == Some(Method::Initialize) {
            return Spoken {
                headers: self.fresh.clone(),
                era: None,
                session: false,
            };
        }
        Spoken {
            headers: self.current.clone(),
            era: self.era(),
            session: self.current.contains_key(SESSION),
        }
    }

    fn rebuild(&mut self) {
        let mut headers = HeaderMap::clone(&self.fresh);
        if let Some(revision) = self.revision {
            headers.insert(VERSION, HeaderValue::from_static(revision.as_str()));
        }
        // The modern era has no sessions.
        if let (Some(session), true) = (&self.session, self.era() != Some(Era::Modern)) {
            headers.insert(SESSION, session.clone());
        }
        self.current = Arc::new(headers);
    }
}

/// The headers of a GET or DELETE made from those of a POST.
pub(super) fn without_body(headers: &HeaderMap) -> HeaderMap {
    let mut headers = headers.clone();
    headers.remove(CONTENT_TYPE);
    headers.insert(ACCEPT, EVENTS);
    headers
}

/// Something that a header cannot say.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum HeaderError {
    #[error("{0:?} is no header name")]
    Name(String),
    #[error("the method name {0:?} cannot be sent in a header")]
    Method(String),
    #[error("{0:?} cannot be sent in a header")]
    Value(String),
}

/// The headers with which 2026-07-28 mirrors a request's body.
pub(super) fn mirrored(about: &About) -> Result<Vec<(HeaderName, HeaderValue)>, HeaderError> {
    let About::Request {
        method,
        method_name,
        name,
        params,
        ..
    } = about
    else {
        return Ok(Vec::new());
    };
    let mut headers = Vec::with_capacity(2 + params.len());
    if *method == Method::Other {
        if let Some(name) = method_name {
            headers.push((METHOD, method_value(name)?));
        }
    } else {
        headers.push((METHOD, HeaderValue::from_static(method.as_str())));
    }
    if let Some(name) = name {
        headers.push((NAME, value(name)?));
    }
    for (param, text) in params {
        let name = HeaderName::from_bytes(format!("{PARAM_PREFIX}{param}").as_bytes())
            .map_err(|_| HeaderError::Name(param.clone()))?;
        headers.push((name, value(text)?));
    }
    Ok(headers)
}

/// What a request says besides, in whichever era. What a header cannot say is left out.
pub(super) fn beside(about: &About) -> impl Iterator<Item = (HeaderName, HeaderValue)> {
    let headers: &[(&'static str, String)] = match about {
        About::Request { headers, .. } => headers,
        _ => &[],
    };
    headers.iter().filter_map(|(name, text)| {
        let value = HeaderValue::from_str(text).ok()?;
        Some((HeaderName::from_static(name), value))
    })
}

/// A header's readers take off white space around it and do not agree about what
/// lies beyond ASCII, so a method with such in it would be another in the header. For
/// methods there is no other form.
fn method_value(name: &str) -> Result<HeaderValue, HeaderError> {
    let is_plain = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic());
    is_plain
        .then(|| HeaderValue::from_str(name).ok())
        .flatten()
        .ok_or_else(|| HeaderError::Method(name.to_owned()))
}

fn value(text: &str) -> Result<HeaderValue, HeaderError> {
    HeaderValue::from_str(&encode(text)).map_err(|_| HeaderError::Value(text.to_owned()))
}

/// Whether a header is the protocol's or the connection's, so that neither
/// configuration nor credentials may set it.
pub(super) fn is_ours(name: &HeaderName) -> bool {
    [
        &ACCEPT,
        &ACCEPT_ENCODING,
        &CONTENT_TYPE,
        &CONTENT_LENGTH,
        &header::CONTENT_ENCODING,
        &TRANSFER_ENCODING,
        &header::CONNECTION,
        &header::EXPECT,
        &header::TE,
        &header::TRAILER,
        &UPGRADE,
        &SESSION,
        &LAST_EVENT,
        &VERSION,
        &METHOD,
        &NAME,
    ]
    .contains(&name)
        || name.as_str() == "keep-alive"
        || name.as_str().starts_with(PARAM_PREFIX)
}

fn host(url: &Uri) -> Option<HeaderValue> {
    let default = if url.scheme_str() == Some("https") {
        443
    } else {
        80
    };
    match url.port_u16() {
        Some(port) if port != default => {
            HeaderValue::from_str(&format!("{}:{port}", url.host()?)).ok()
        }
        _ => HeaderValue::from_str(url.host()?).ok(),
    }
}
