//! What was asked: who asks, the parts of the path, the query, the body.

use super::{
    answer::No,
    calls::{Searches, aside},
};
use bytes::Bytes;
use serde::{Serialize, de::DeserializeOwned};
use serde_json::Value;
use std::sync::Arc;
use switchboard_api::{routes::Route, sessions::Role};
use switchboard_gateway::{Asker, ControlSession, Counts};
use url::form_urlencoded;

/// The name of whoever holds the control token, or a session opened with a code.
pub(crate) const CONTROL: &str = "control";

/// A request whose route is known, of somebody who may use it.
#[derive(Debug)]
pub(crate) struct Ask {
    /// The route.
    pub(crate) route: &'static Route,
    /// What stands for each `{…}` of its path.
    pub(crate) parts: Vec<String>,
    /// Who asks.
    pub(crate) who: Who,
    /// What the gateway counts itself.
    pub(crate) here: Counts,
    query: String,
    body: Bytes,
    /// The page that asks, and where it asks.
    origin: Option<String>,
    host: Option<String>,
}

/// Somebody who was let in, and what they may do.
#[derive(Clone, Debug)]
pub(crate) struct Who {
    /// What they may do.
    pub(crate) role: Role,
    /// Their name.
    pub(crate) principal: Arc<str>,
    /// The session, where a code opened one.
    pub(crate) session: Option<ControlSession>,
}

impl Who {
    /// The one place where who asks becomes what they may. `None` is nobody.
    pub(crate) fn of(asker: &Asker) -> Option<Self> {
        let (role, principal, session) = match asker {
            Asker::Nobody => return None,
            Asker::Client(admission) => {
                let roles = admission.roles().iter();
                let role = Role::most(roles.map(String::as_str));
                (role, admission.principal().clone(), None)
            }
            Asker::Control => (Role::Admin, CONTROL.into(), None),
            Asker::Session(session) => (Role::Admin, CONTROL.into(), Some(session.clone())),
        };
        Some(Self {
            role,
            principal,
            session,
        })
    }

    /// Whether they may know what is this principal's.
    pub(crate) fn may_see(&self, principal: &str) -> bool {
        self.role >= Role::Viewer || *self.principal == *principal
    }

    /// Who has a place or a turn of their own: a session of a code, or a principal.
    pub(crate) fn holder(&self) -> Arc<str> {
        match &self.session {
            Some(session) => session.id.clone(),
            None => self.principal.clone(),
        }
    }

    /// What they are called in a record.
    pub(crate) fn recorded(&self) -> String {
        match &self.session {
            Some(session) => format!("{} (session {})", self.principal, session.id),
            None => self.principal.to_string(),
        }
    }
}

impl Ask {
    pub(crate) fn new(
        route: &'static Route,
        parts: Vec<String>,
        who: Who,
        here: Counts,
        query: String,
        body: Bytes,
    ) -> Self {
        Self {
            route,
            parts,
            who,
            here,
            query,
            body,
            origin: None,
            host: None,
        }
    }

    /// From which page it is asked, and where.
    pub(crate) fn asked_at(mut self, origin: Option<String>, host: Option<String>) -> Self {
        (self.origin, self.host) = (origin, host);
        self
    }

    /// Whether this is the page that asks: by its own word, or by where it asks.
    pub(crate) fn is_from(&self, page: &str) -> bool {
        let Some(page) = page.strip_suffix('/') else {
            return false;
        };
        match (&self.origin, &self.host) {
            (Some(origin), _) => origin.eq_ignore_ascii_case(page),
            (None, Some(host)) => page
                .split_once("://")
                .is_some_and(|(_, at)| at.eq_ignore_ascii_case(host)),
            (None, None) => false,
        }
    }

    /// Whether whoever asks may do this for this principal: what the table says.
    pub(crate) fn may_for(&self, principal: &str) -> bool {
        self.who.role >= self.route.others || *self.who.principal == *principal
    }

    /// What stands for the first `{…}`.
    pub(crate) fn part(&self) -> &str {
        self.parts.first().map(String::as_str).unwrap_or_default()
    }

    /// A word of the query. The first of a name counts.
    pub(crate) fn word(&self, name: &str) -> Option<String> {
        let mut words = form_urlencoded::parse(self.query.as_bytes());
        let found = words.find(|(key, _)| key == name);
        found.map(|(_, value)| value.into_owned())
    }

    /// A number of the query.
    pub(crate) fn number(&self, name: &str) -> Result<Option<u64>, No> {
        let Some(word) = self.word(name) else {
            return Ok(None);
        };
        let number = word.parse().map_err(|_| {
            No::invalid(format!("{name} must be a whole number")).field(format!("/{name}"))
        })?;
        Ok(Some(number))
    }

    /// A member of the body as it was written.
    pub(crate) fn written(&self, key: &'static str) -> Option<&str> {
        let span = switchboard_wire::json::field(&self.body, key).ok()??;
        std::str::from_utf8(span.of(&self.body)).ok()
    }

    /// The body as what the route takes. Nothing at all is as good as `{}`; a field that
    /// is not known is refused.
    pub(crate) fn body<T: DeserializeOwned + Serialize>(&self) -> Result<T, No> {
        read(&self.body)
    }

    /// The same of a body that may be large, which is read aside then: everybody else is
    /// served on this thread.
    pub(crate) async fn large<T>(&self, readings: &Searches) -> Result<T, No>
    where
        T: DeserializeOwned + Serialize + Send + 'static,
    {
        self.made_of(readings, Ok).await
    }

    /// What is made of such a body, where making it takes its time as well.
    pub(crate) async fn made_of<T, M>(
        &self,
        readings: &Searches,
        make: impl FnOnce(T) -> Result<M, No> + Send + 'static,
    ) -> Result<M, No>
    where
        T: DeserializeOwned + Serialize,
        M: Send + 'static,
    {
        let body = self.body.clone();
        let bytes = body.len();
        aside(readings, &self.who, bytes, move || make(read(&body)?)).await?
    }
}

/// A value in which every field is one that we know.
fn read<T: DeserializeOwned + Serialize>(body: &[u8]) -> Result<T, No> {
    let text: &[u8] = match body.trim_ascii() {
        b"" => b"{}",
        text => text,
    };
    let no_json = |fault: serde_json::Error| No::invalid(format!("the body is no JSON: {fault}"));
    let sent: Value = serde_json::from_slice(text).map_err(no_json)?;
    let mut reader = serde_json::Deserializer::from_slice(text);
    let read: Result<T, _> = serde_path_to_error::deserialize(&mut reader);
    let value = read.map_err(|fault| {
        let path = pointer(fault.path());
        No::invalid(fault.into_inner().to_string()).field(path)
    })?;
    let known = serde_json::to_value(&value).map_err(|fault| No::broken(&fault))?;
    match unknown(&sent, &known) {
        Some(field) => Err(No::invalid(format!("there is no field {field}")).field(field)),
        None => Ok(value),
    }
}

fn pointer(path: &serde_path_to_error::Path) -> String {
    use serde_path_to_error::Segment;
    let mut pointer = String::new();
    for segment in path {
        match segment {
            Segment::Seq { index } => pointer.push_str(&format!("/{index}")),
            Segment::Map { key } => {
                pointer.push('/');
                pointer.push_str(&escaped(key));
            }
            Segment::Enum { .. } | Segment::Unknown => {}
        }
    }
    pointer
}

fn escaped(key: &str) -> String {
    key.replace('~', "~0").replace('/', "~1")
}

/// A field that was sent and that nothing was made of. Values that are taken as they are
/// come back as they were, so that nothing in them is one. Where it is is written down only
/// when it was found: most bodies have none, and some have a million places.
fn unknown(sent: &Value, known: &Value) -> Option<String> {
    let mut steps = unknown_in(sent, known)?;
    steps.reverse();
    Some(steps.iter().map(|step| format!("/{step}")).collect())
}

/// The steps that lead to such a field, the last one first. No deeper than JSON is read.
fn unknown_in(sent: &Value, known: &Value) -> Option<Vec<String>> {
    let below = |sent, known, step: &dyn Fn() -> String| {
        let mut steps = unknown_in(sent, known)?;
        steps.push(step());
        Some(steps)
    };
    match (sent, known) {
        (Value::Object(sent), Value::Object(known)) => {
            sent.iter().find_map(|(key, value)| match known.get(key) {
                Some(known) => below(value, known, &|| escaped(key)),
                None => Some(vec![escaped(key)]),
            })
        }
        (Value::Array(sent), Value::Array(known)) => {
            let both = sent.iter().zip(known).enumerate();
            let mut both = both.map(|(index, (sent, known))| (index, sent, known));
            both.find_map(|(index, sent, known)| below(sent, known, &|| index.to_string()))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use switchboard_api::{calls::Replay, limits, routes::ROUTES, tools::Form};

    #[test]
    fn a_field_that_nobody_knows_is_named() {
        let no = read::<Replay>(br#"{"times":1,"tiems":2}"#).unwrap_err();
        assert!(format!("{no:?}").contains("/tiems"), "{no:?}");
        let no = read::<Replay>(br#"{"set":[{"path":"/a","valeu":1}]}"#).unwrap_err();
        assert!(format!("{no:?}").contains("/set/0/valeu"), "{no:?}");
        let no = read::<Replay>(br#"{"times":"often"}"#).unwrap_err();
        assert!(format!("{no:?}").contains("\"/times\""), "{no:?}");
        // What is taken as it is has fields of its own.
        let form: Form = read(br#"{"schema":{"type":"object","x":{"y":[{"z":1}]}}}"#).unwrap();
        assert_eq!(form.schema["x"]["y"][0]["z"], 1);
        let no = read::<Replay>(br#"{"set":[{"path":"/a"},{"path":"/b","a/b":1}]}"#).unwrap_err();
        assert!(format!("{no:?}").contains("/set/1/a~1b"), "{no:?}");
    }

    #[test]
    fn a_page_is_the_one_that_asks() {
        let route = &ROUTES[0];
        let here = Counts::default();
        let ask = |origin: Option<&str>| {
            let (who, body) = (Who::stranger(), Bytes::new());
            let ask = Ask::new(route, Vec::new(), who, here, String::new(), body);
            ask.asked_at(origin.map(str::to_owned), Some("127.0.0.1:80".to_owned()))
        };
        assert!(ask(None).is_from("http://127.0.0.1:80/"));
        assert!(ask(Some("https://us.example")).is_from("https://us.example/"));
        for (origin, page) in [
            (None, "http://evil.example/"),
            (None, "http://127.0.0.1:80/other"),
            (None, ""),
            (Some("https://us.example"), "http://us.example/"),
            (Some("https://us.example"), "http://127.0.0.1:80/"),
            (Some("null"), "http://127.0.0.1:80/"),
        ] {
            assert!(!ask(origin).is_from(page), "{origin:?} {page}");
        }
    }

    /// Whoever sends something large has it read on another thread: this one has done
    /// something else before it is over.
    #[tokio::test]
    async fn a_large_body_is_read_aside() {
        let numbers = "1,".repeat(limits::BODY_ARGUMENTS / 4);
        let body = format!(r#"{{"schema":[{numbers}1]}}"#);
        let route = ROUTES.iter().find(|route| route.path == "forms").unwrap();
        let here = Counts::default();
        let ask = |body: String| {
            let who = Who::stranger();
            Ask::new(route, Vec::new(), who, here, String::new(), body.into())
        };
        let readings = Searches::default();
        let this = std::thread::current().id();
        let read_on = async |body: String| {
            let made = |_: Form| Ok(std::thread::current().id());
            ask(body).made_of(&readings, made).await.unwrap()
        };
        assert_ne!(read_on(body).await, this);
        assert_eq!(read_on(r#"{"schema":{}}"#.to_owned()).await, this);
    }
}
