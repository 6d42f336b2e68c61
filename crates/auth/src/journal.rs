//! What happened on the way to a sign-in: every request with its answer, without what is
//! secret in them, and where somebody was sent. It is for whoever wants to know why a
//! sign-in does not work out; nothing is decided by it.

use crate::{
    limits,
    net::{Inbound, NetError, Outbound},
};
use http::{HeaderMap, Method, StatusCode};
use parking_lot::Mutex;
use serde_json::Value;
use std::{collections::VecDeque, sync::Arc, time::Instant};
use switchboard_local::{
    secret::{self, HIDDEN},
    visible,
};
use url::{Url, form_urlencoded};

/// One step.
#[derive(Clone, Debug, Default)]
pub struct Step {
    /// What it was for: `challenge`, `resource`, `metadata`, `registration`, `authorize`,
    /// `token`, `revocation`, `request`.
    pub what: &'static str,
    /// When it began, in milliseconds since 1970.
    pub at: u64,
    /// Milliseconds until it was over.
    pub took: u64,
    /// `GET`, `POST`.
    pub method: String,
    /// Where to, without secrets.
    pub url: String,
    /// What was sent, line by line, without secrets.
    pub sent: Vec<String>,
    /// The answer's status.
    pub status: Option<u16>,
    /// What came back, line by line, without secrets.
    pub answered: Vec<String>,
    /// Why nothing came back, or what the answer says is wrong.
    pub fault: Option<String>,
}

/// The last steps of one server's sign-in.
#[derive(Clone, Debug, Default)]
pub struct Journal(Arc<Mutex<Kept>>);

#[derive(Debug, Default)]
struct Kept {
    steps: VecDeque<Step>,
    /// How it ended: nothing while it is under way.
    ended: Option<Ended>,
}

/// How a sign-in ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// Somebody is signed in.
    SignedIn,
    /// Nobody is.
    Failed {
        /// Why, for a person.
        why: String,
        /// The step that could not even be tried, where it was not the last of those
        /// that were: named as in [`Step::what`].
        at: Option<&'static str>,
    },
}

/// Fields of forms and documents that everybody may read. All others are cut: what is not
/// known may be a secret.
const PLAIN: [&str; 20] = [
    "audience",
    "client_id",
    "client_name",
    "code_challenge_method",
    "error",
    "error_description",
    "expires_in",
    "grant_type",
    "grant_types",
    "issuer",
    "redirect_uri",
    "redirect_uris",
    "requested_token_type",
    "resource",
    "response_type",
    "response_types",
    "scope",
    "subject_token_type",
    "token_endpoint_auth_method",
    "token_type",
];

/// Headers that say something about a sign-in.
const HEADERS: [&str; 8] = [
    "content-type",
    "www-authenticate",
    "location",
    "retry-after",
    "authorization",
    "dpop",
    "dpop-nonce",
    "accept",
];

impl Journal {
    /// A new sign-in begins: what was there is of another.
    pub(crate) fn begin(&self) {
        *self.0.lock() = Kept::default();
    }

    /// It is over.
    pub(crate) fn end(&self, ended: Ended) {
        self.0.lock().ended = Some(ended);
    }

    /// The steps, and how it ended.
    pub fn read(&self) -> (Vec<Step>, Option<Ended>) {
        let kept = self.0.lock();
        (kept.steps.iter().cloned().collect(), kept.ended.clone())
    }

    /// Somebody is sent to a page.
    pub(crate) fn sent_to(&self, page: &Url) {
        let query = page.query().unwrap_or_default();
        self.keep(Step {
            what: "authorize",
            at: crate::clock::millis(),
            method: Method::GET.to_string(),
            url: without_query(page),
            sent: form(query),
            ..Step::default()
        });
    }

    /// A request, and what became of it.
    pub(crate) fn note(
        &self,
        out: &Outbound,
        begun: Instant,
        came: Result<(StatusCode, &HeaderMap, &[u8]), &NetError>,
    ) {
        let took = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        let mut step = Step {
            what: what(out),
            at: crate::clock::millis().saturating_sub(took),
            took,
            method: out.method.to_string(),
            url: without_query(&out.url),
            ..Step::default()
        };
        step.sent = headers(&out.headers);
        step.sent.extend(body(&out.headers, &out.body));
        match came {
            Ok((status, head, text)) => {
                step.status = Some(status.as_u16());
                step.answered = headers(head);
                step.answered.extend(body(head, text));
                step.fault = said_fault(text).filter(|_| !status.is_success());
            }
            Err(fault) => step.fault = Some(cut(&fault.to_string())),
        }
        self.keep(step);
    }

    fn keep(&self, step: Step) {
        let mut kept = self.0.lock();
        if kept.steps.len() >= limits::JOURNAL_STEPS {
            kept.steps.pop_front();
        }
        kept.steps.push_back(step);
    }
}

/// The head and the body of an answer, to be noted.
pub(crate) fn came(answer: &Inbound) -> (StatusCode, &HeaderMap, &[u8]) {
    (answer.status, &answer.headers, &answer.body)
}

/// What a request is for, by where it goes and what it holds.
fn what(out: &Outbound) -> &'static str {
    let path = out.url.path();
    let has = |word: &[u8]| out.body.windows(word.len()).any(|part| part == word);
    match () {
        () if path.contains("/.well-known/oauth-protected-resource") => "resource",
        () if path.contains("/.well-known/") => "metadata",
        () if has(b"\"redirect_uris\"") => "registration",
        () if has(b"grant_type=") => "token",
        () if has(b"token_type_hint=") => "revocation",
        () if has(b"\"jsonrpc\"") => "challenge",
        () => "request",
    }
}

fn without_query(url: &Url) -> String {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    cut(&secret::address(url.as_str()))
}

fn headers(all: &HeaderMap) -> Vec<String> {
    let told = HEADERS.iter().filter_map(|name| {
        let value = all.get(*name)?;
        let value = match *name {
            "authorization" | "dpop" | "dpop-nonce" => HIDDEN.to_owned(),
            _ => cut(&secret::text(value.to_str().unwrap_or("[not text]"))),
        };
        Some(format!("{name}: {value}"))
    });
    told.collect()
}

fn body(head: &HeaderMap, text: &[u8]) -> Vec<String> {
    if text.is_empty() {
        return Vec::new();
    }
    let kind = head.get(http::header::CONTENT_TYPE);
    let kind = kind.and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    if kind.contains("urlencoded") {
        return form(&String::from_utf8_lossy(text));
    }
    match serde_json::from_slice::<Value>(text) {
        Ok(Value::Object(members)) => {
            let lines = members.iter().map(|(name, value)| field(name, value));
            lines.take(limits::JOURNAL_LINES).collect()
        }
        _ => vec![format!("{} bytes that are no JSON object", text.len())],
    }
}

/// One member of a document. Addresses and lists of words say what a server can do; a text
/// is shown where its name is known to be no secret.
fn field(name: &str, value: &Value) -> String {
    let shown = match value {
        Value::String(text) if is_plain(name) || is_address(text) => cut(&secret::text(text)),
        Value::String(_) => HIDDEN.to_owned(),
        Value::Array(_) | Value::Object(_) if secret::is_name(name) => HIDDEN.to_owned(),
        other => cut(&secret::text(&other.to_string())),
    };
    format!("{}: {shown}", cut(name))
}

fn is_plain(name: &str) -> bool {
    PLAIN.contains(&name) || name.ends_with("_supported")
}

fn is_address(text: &str) -> bool {
    Url::parse(text).is_ok_and(|url| matches!(url.scheme(), "https" | "http"))
}

fn form(text: &str) -> Vec<String> {
    let pairs = form_urlencoded::parse(text.as_bytes());
    let lines = pairs.map(|(name, value)| match is_plain(&name) {
        true => format!("{}: {}", cut(&name), cut(&secret::text(&value))),
        false => format!("{}: {HIDDEN}", cut(&name)),
    });
    lines.take(limits::JOURNAL_LINES).collect()
}

/// What an answer itself says is wrong (RFC 6749, section 5.2).
fn said_fault(text: &[u8]) -> Option<String> {
    let said: Value = serde_json::from_slice(text).ok()?;
    let code = said["error"].as_str()?;
    let more = said["error_description"].as_str().unwrap_or_default();
    let text = format!("{code}: {more}");
    Some(cut(&secret::text(text.trim_end_matches([':', ' ']))))
}

fn cut(text: &str) -> String {
    visible::cut(&visible::line(text), limits::JOURNAL_TEXT)
}

#[cfg(test)]
mod tests {
    use super::*;
    use http::HeaderValue;

    const SECRET: &str = "s3cr3t-s3cr3t-s3cr3t";

    fn url(text: &str) -> Url {
        text.parse().unwrap()
    }

    fn json_head() -> HeaderMap {
        let json = HeaderValue::from_static("application/json");
        HeaderMap::from_iter([(http::header::CONTENT_TYPE, json)])
    }

    #[test]
    fn no_secret_of_a_sign_in_is_kept() {
        let journal = Journal::default();
        let pairs = [
            ("grant_type", "authorization_code"),
            ("code", SECRET),
            ("code_verifier", SECRET),
            ("client_secret", SECRET),
            ("client_id", "us"),
            ("something_else", SECRET),
        ];
        let mut out = Outbound::form(url("https://as.example/token?key=s3cr3t"), &pairs);
        let basic = HeaderValue::from_static("Basic s3cr3t-s3cr3t-s3cr3t");
        out.headers.insert(http::header::AUTHORIZATION, basic);
        let answer = format!(
            r#"{{"access_token":"{SECRET}","refresh_token":"{SECRET}","id_token":"{SECRET}","token_type":"Bearer","expires_in":60,"odd":"{SECRET}"}}"#
        );
        let head = json_head();
        let came = (StatusCode::OK, &head, answer.as_bytes());
        journal.note(&out, Instant::now(), Ok(came));
        journal.sent_to(&url(
            "https://as.example/authorize?client_id=us&state=s3cr3t&code_challenge=s3cr3t",
        ));
        let (steps, ended) = journal.read();
        assert!(ended.is_none());
        assert_eq!(steps[0].what, "token");
        assert_eq!(steps[1].what, "authorize");
        let text = format!("{steps:?}");
        assert!(!text.contains("s3cr3t"), "{text}");
        assert!(text.contains("client_id: us"), "{text}");
        assert!(text.contains("expires_in: 60"), "{text}");
    }

    #[test]
    fn what_a_server_says_is_wrong_is_told_and_steps_are_capped() {
        let journal = Journal::default();
        let out = Outbound::get(url("https://as.example/.well-known/openid-configuration"));
        let answer = br#"{"error":"invalid_client","error_description":"nobody knows you"}"#;
        let head = json_head();
        for _ in 0..limits::JOURNAL_STEPS + 5 {
            let came = (StatusCode::UNAUTHORIZED, &head, &answer[..]);
            journal.note(&out, Instant::now(), Ok(came));
        }
        let (steps, _) = journal.read();
        assert_eq!(steps.len(), limits::JOURNAL_STEPS);
        assert_eq!(steps[0].what, "metadata");
        let fault = steps[0].fault.as_deref();
        assert_eq!(fault, Some("invalid_client: nobody knows you"));
        journal.begin();
        assert!(journal.read().0.is_empty());
    }
}
