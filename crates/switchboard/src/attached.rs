//! Using a gateway that runs: asking it things with the control token, and
//! reaching its servers at its own addresses.

use crate::{
    Options, identity, limits,
    roster::Prepared,
    running::{self, Running},
    tokens::{self, TokenError},
};
use serde::de::DeserializeOwned;
use serde_json::Value;
use std::{
    collections::HashMap,
    io::{self, Read, Write},
    net::{SocketAddr, TcpStream},
    path::Path,
    sync::Arc,
    time::{Duration, Instant},
};
use switchboard_api::{
    PREFIX, Refused,
    servers::{Served, Serving},
    settings::Reloaded,
    state::Document,
};
use switchboard_config::{
    Configured, Entry, Loaded, Permissions, Scope, Source, Standing, Transport,
};
use switchboard_host::{
    Remote, ServerSpec, Target,
    permission::{Mode, Rules},
};

pub(crate) use crate::limits::PROMPT;

/// A running gateway that answers us.
#[derive(Clone, Debug)]
pub struct Attached {
    /// Where it is.
    pub running: Running,
    /// Its servers.
    pub servers: Vec<Served>,
    /// A hash of what it permits.
    rules: String,
    control: String,
    client: Option<String>,
}

/// A server that is reached through a running gateway.
#[derive(Clone, Debug)]
pub struct ViaGateway {
    /// Which gateway.
    pub gateway: Arc<Attached>,
    /// Where in it.
    pub segment: String,
}

/// Why a running gateway is of no use to us.
#[derive(Debug, thiserror::Error)]
pub enum AttachError {
    /// Nothing would let us in.
    #[error(transparent)]
    Token(#[from] TokenError),
    /// It is frozen, or has no room left.
    #[error("it does not answer within {PROMPT:?}")]
    Silent,
    /// It is none of ours, or too different.
    #[error("it does not answer as it should: {0}")]
    Unfit(#[source] io::Error),
    /// A fault of our own.
    #[error("asking it went wrong")]
    Broken,
}

impl Attached {
    /// Asks a gateway what it has; why not, if it does not answer as ours.
    pub fn open(running: &Running) -> Result<Self, AttachError> {
        let secret = |file| tokens::of_running(file, running).map(|token| token.secret);
        let control = secret(&running.control_token)?;
        let client = match &running.client_token {
            Some(file) => Some(secret(file)?),
            None => None,
        };
        let mut attached = Self {
            running: running.clone(),
            servers: Vec::new(),
            rules: String::new(),
            control,
            client,
        };
        attached.look().map_err(|fault| match fault.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => AttachError::Silent,
            _ => AttachError::Unfit(fault),
        })?;
        Ok(attached)
    }

    /// Asks what it has and what it permits, of one moment.
    fn look(&mut self) -> io::Result<()> {
        let serving: Serving = self.get("servers", PROMPT)?;
        (self.servers, self.rules) = (serving.servers, serving.rules);
        Ok(())
    }

    /// Has the gateway read its configuration again, and asks what it has then.
    pub fn reload(&mut self) -> io::Result<()> {
        self.post::<Reloaded>("reload", &Value::Null, limits::RELOAD)?;
        self.look()
    }

    /// The gateway as one document, if it says so.
    pub fn state(&self) -> Option<Document> {
        self.get("state", limits::API_PROMPT).ok()
    }

    /// Its servers with what they use, if it says so.
    pub fn used(&self) -> Option<Vec<Served>> {
        let serving = self.get::<Serving>("servers?used=true", limits::API_PROMPT);
        Some(serving.ok()?.servers)
    }

    /// Whether it permits just what these rules do.
    pub fn permits_the_same(&self, rules: &Rules) -> bool {
        *self.rules == **rules.made_of()
    }

    /// Whether it asks a person about whatever these settings want asked. By which mode it
    /// decides about the rest does not matter.
    fn asks_the_same(&self, permissions: &Permissions) -> bool {
        let same = |mode| identity::of_rules(permissions, mode) == self.rules;
        Mode::ALL.into_iter().any(same)
    }

    /// Whether this is an entry for a server that only this gateway has.
    fn brought(&self, entry: &Entry) -> bool {
        let here = format!("http://{}/mcp/", self.running.address);
        let url = entry.url.as_deref();
        entry.source == Source::Ours && url.is_some_and(|url| url.starts_with(&here))
    }

    /// Asks for what is at a path below `/api/v1/`, and waits so long in all.
    ///
    /// # Errors
    /// What it said, where that is no success, or why it said nothing.
    pub fn get<T: DeserializeOwned>(&self, path: &str, patience: Duration) -> io::Result<T> {
        self.ask("GET", path, &Value::Null, patience)
    }

    /// Sends something there.
    ///
    /// # Errors
    /// What it said, where that is no success, or why it said nothing.
    pub fn post<T: DeserializeOwned>(
        &self,
        path: &str,
        body: &Value,
        patience: Duration,
    ) -> io::Result<T> {
        self.ask("POST", path, body, patience)
    }

    fn ask<T: DeserializeOwned>(
        &self,
        verb: &str,
        path: &str,
        body: &Value,
        patience: Duration,
    ) -> io::Result<T> {
        let end = Instant::now() + patience;
        let address: SocketAddr = self.running.address.parse().map_err(io::Error::other)?;
        let body = match body {
            Value::Null => String::new(),
            body => body.to_string(),
        };
        let mut stream = TcpStream::connect_timeout(&address, PROMPT)?;
        stream.set_write_timeout(Some(PROMPT))?;
        write!(
            stream,
            "{verb} {PREFIX}{path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {}\r\n\
             Content-Type: application/json\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            self.control,
            body.len()
        )?;
        let text = received(&mut stream, end)?;
        let (head, body) = text
            .split_once("\r\n\r\n")
            .ok_or_else(|| io::Error::other("the gateway's answer is cut short"))?;
        match head.split(' ').nth(1).unwrap_or_default() {
            "200" => serde_json::from_str(body).map_err(io::Error::other),
            status => Err(refused(status, body)),
        }
    }

    /// The server of the gateway's that is the very same.
    pub fn find(&self, spec: &ServerSpec) -> Option<&Served> {
        self.servers
            .iter()
            .find(|known| known.name == *spec.name && known.identity == *spec.identity)
    }

    /// Leads a server's spec through the gateway, if the gateway has the same.
    pub fn reroute(&self, spec: &mut ServerSpec) -> bool {
        let Some(known) = self.find(spec).filter(|known| !known.needs_auth) else {
            return false;
        };
        let url = format!("http://{}/mcp/{}", self.running.address, known.segment);
        let Ok(url) = url.parse() else { return false };
        let mut remote = Remote::new(url);
        if let Some(token) = &self.client {
            let Ok(mut value) = http::HeaderValue::try_from(format!("Bearer {token}")) else {
                return false;
            };
            value.set_sensitive(true);
            remote.headers.insert(http::header::AUTHORIZATION, value);
        }
        spec.target = Target::Http(remote);
        // The gateway remembers; and which era its server has is its business.
        spec.knowledge_file = None;
        true
    }

    /// An entry for a server that only this gateway has.
    pub fn entry(&self, known: &Served) -> Entry {
        let mut entry = Entry::at(known.name.as_str(), Scope::Dynamic, Source::Ours, 1);
        entry.transport = Transport::Http;
        entry.url = Some(format!(
            "http://{}/mcp/{}",
            self.running.address, known.segment
        ));
        let authorization = self.client.as_ref().map(|token| format!("Bearer {token}"));
        entry.headers = authorization
            .map(|value| ("Authorization".to_owned(), value))
            .into_iter()
            .collect();
        entry
    }

    /// What lets a client in.
    pub fn client_token(&self) -> Option<&str> {
        self.client.as_deref()
    }
}

/// All that it says until the end, which is not to be later than this.
fn received(stream: &mut TcpStream, end: Instant) -> io::Result<String> {
    let mut answer = Vec::new();
    let mut chunk = vec![0; 64 * 1024];
    while answer.len() < limits::CONTROL_ANSWER_BYTES {
        let left = end.saturating_duration_since(Instant::now());
        // A limit of nothing would be none.
        stream.set_read_timeout(Some(left.max(Duration::from_millis(1))))?;
        match stream.read(&mut chunk)? {
            0 => break,
            read => answer.extend_from_slice(&chunk[..read]),
        }
    }
    String::from_utf8(answer).map_err(io::Error::other)
}

/// What it said no with.
fn refused(status: &str, body: &str) -> io::Error {
    let said = serde_json::from_str::<Refused>(body).ok();
    io::Error::other(match said.filter(|said| !said.error.is_empty()) {
        Some(Refused {
            error,
            hint: Some(hint),
            ..
        }) => format!("{error} ({hint})"),
        Some(said) => said.error,
        None if body.trim().is_empty() => format!("HTTP {status}"),
        None => format!("HTTP {status}: {}", body.trim_end()),
    })
}

/// The user's gateways that run and answer, unless they are to be left alone. They are
/// asked side by side; who does not answer is passed by.
pub(crate) fn answering(options: &Options) -> Vec<Attached> {
    let Some(dirs) = options.dirs().ok().filter(|_| !options.direct) else {
        return Vec::new();
    };
    let found = running::all(&dirs);
    for fault in &found.damaged {
        options.tell.warn(&fault.to_string());
    }
    let asked: Vec<_> = std::thread::scope(|scope| {
        let asking: Vec<_> = found
            .running
            .iter()
            .map(|running| scope.spawn(move || Attached::open(running)))
            .collect();
        asking
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect()
    });
    let mut answering = Vec::new();
    for (running, asked) in found.running.iter().zip(asked) {
        match asked.unwrap_or(Err(AttachError::Broken)) {
            Ok(attached) => answering.push(attached),
            Err(why) => options.tell.warn(&format!(
                "the gateway at http://{} (process {}) is passed by: {why}; switchboard doctor says what to do",
                running.address, running.pid
            )),
        }
    }
    answering
}

/// Leads the servers through the first gateway that has each. A gateway that
/// was started here and knows some of them differently reads its files first.
pub(crate) fn lead(
    prepared: &mut [Prepared],
    here: &Path,
    permissions: &Permissions,
    gateways: &mut [Attached],
) -> HashMap<String, ViaGateway> {
    let mut via = HashMap::new();
    for gateway in gateways {
        let mut servers = prepared.iter().filter_map(Prepared::server);
        let behind = servers.any(|(_, spec)| gateway.find(spec).is_none());
        if behind && gateway.running.directory == here && gateway.reload().is_err() {
            continue;
        }
        let shared = Arc::new(gateway.clone());
        let asks = shared.asks_the_same(permissions);
        for one in prepared.iter_mut() {
            let brought = one.server().is_some_and(|(entry, _)| shared.brought(entry));
            let Some(spec) = one.spec() else { continue };
            if brought {
                spec.asks_itself = asks;
                continue;
            }
            let Some(segment) = shared.find(spec).map(|known| known.segment.clone()) else {
                continue;
            };
            if !via.contains_key(&*spec.name) && shared.reroute(spec) {
                spec.asks_itself = asks;
                let gateway = shared.clone();
                via.insert(spec.name.to_string(), ViaGateway { gateway, segment });
            }
        }
    }
    via
}

/// Adds what the gateways have besides what is configured: one that was started here
/// first.
pub(crate) fn bring_along(options: &Options, loaded: &mut Loaded) {
    let mut gateways = options.gateways();
    gateways.sort_by_key(|gateway| gateway.running.directory != options.directory);
    for gateway in &gateways {
        for known in gateway.servers.iter().filter(|known| known.builtin) {
            if loaded.find(&known.name).is_none() {
                let entry = gateway.entry(known);
                let server = Configured::new(entry, Standing::Active);
                loaded.servers.push(server);
            }
        }
    }
}
