//! Who is asking: one client of ours, as the upstream side sees it.

mod request;

use crate::{
    bridge::object_with,
    desk::{AskAt, Desk},
    exchange::{Input, Notice, can_be_asked},
    limits,
};
use bytes::Bytes;
use parking_lot::RwLock;
use std::{
    fmt,
    hash::{BuildHasher, RandomState},
    net::IpAddr,
    sync::{
        Arc, OnceLock,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
};
use switchboard_transport::Share;
use switchboard_wire::{Era, Method, Revision, json};

/// Tells clients apart for as long as this process runs.
pub type ClientId = u64;

/// Marks the identity of a client that is known by principal and key.
const KNOWN_BY_NAME: u64 = 1 << 63;

/// The log levels of the protocol, least severe first.
pub const LOG_LEVELS: [&str; 8] = [
    "debug",
    "info",
    "notice",
    "warning",
    "error",
    "critical",
    "alert",
    "emergency",
];

/// A client: a session, a connection, or (modern HTTP) a principal with its key.
pub struct Client {
    /// Ours, never reused.
    pub id: ClientId,
    /// Who it is over several requests: itself, or (modern HTTP, which has no
    /// sessions) its principal. Decides whose a server's question can be. Says
    /// something only together with the principal.
    pub identity: u64,
    /// On whose behalf it acts.
    pub principal: Arc<str>,
    /// The revision it speaks.
    pub revision: Revision,
    /// The text of the capabilities it declared.
    pub capabilities: Bytes,
    /// The text of its `initialize` parameters. Servers that serve this client alone are greeted with them.
    pub greeting: Option<Bytes>,
    /// What it calls itself in them, once somebody has asked.
    said_name: OnceLock<Option<Arc<str>>>,
    /// Whether its servers are its own and shared with nobody (the stdio face).
    pub exclusive: bool,
    /// Whether nobody else uses its servers, although it comes anew with each of its
    /// requests (a modern client on the stdio face).
    pub alone: bool,
    /// The log level it asked for, as an index into [`LOG_LEVELS`]; 255 where it did not.
    log_level: AtomicU8,
    /// Whether it can hear of anything outside its requests.
    pub addressable: bool,
    /// Whether somebody behind it decides about calls, whatever it declared to servers.
    pub decides: bool,
    /// Whether it is the program itself, which looks after servers and uses none.
    pub(crate) looks_after: bool,
    /// Whether it gave a key that tells it from others of its principal.
    pub(crate) keyed: bool,
    /// Whether it has gone: nothing is kept for it any more.
    left: AtomicBool,
    /// Whom it stands for in one request, where it is not the client itself.
    stands_for: Option<Arc<Self>>,
    /// What its principal holds in memory, where that is counted.
    share: Option<Share>,
    /// What it came in by last, where that can end.
    admission: RwLock<Option<Arc<dyn StillAdmitted>>>,
    /// Where its requests come from, where that is a network.
    pub address: Option<IpAddr>,
    /// Where a person is asked beside it or in its place, where anybody may be.
    desk: Option<Arc<Desk>>,
    /// The text of what it says of itself with each request.
    says: Option<Bytes>,
    sink: Arc<dyn ClientSink>,
}

/// What a client came in by. Nothing is sent to a server for one that may not come
/// in any more.
pub trait StillAdmitted: Send + Sync {
    /// Why it is over; `None` while it is not. Asked for every request, so it must be
    /// quick.
    fn over(&self) -> Option<&'static str>;
}

/// Where things go that belong to no request of the client's.
pub trait ClientSink: Send + Sync {
    /// A notification from `server`. Must not block.
    fn notice(&self, server: &Arc<str>, notice: Notice);

    /// Whether anybody hears just now what belongs to no call.
    fn is_heard(&self) -> bool {
        true
    }

    /// A question from a server outside any call. Must not block.
    fn ask(&self, input: Input);
}

/// For clients that can only be answered, not addressed.
#[derive(Debug)]
pub struct NoSink;

impl ClientSink for NoSink {
    fn notice(&self, _: &Arc<str>, _: Notice) {}

    fn ask(&self, input: Input) {
        input.refuse_unsupported();
    }
}

impl Client {
    /// A client that shares servers with others of its principal.
    pub fn new(
        principal: Arc<str>,
        revision: Revision,
        capabilities: Bytes,
        sink: Arc<dyn ClientSink>,
    ) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self {
            id,
            identity: id,
            principal,
            revision,
            capabilities,
            greeting: None,
            said_name: OnceLock::new(),
            exclusive: false,
            alone: false,
            log_level: AtomicU8::new(u8::MAX),
            addressable: true,
            decides: false,
            looks_after: false,
            keyed: false,
            left: AtomicBool::new(false),
            stands_for: None,
            share: None,
            admission: RwLock::default(),
            address: None,
            desk: None,
            says: None,
            sink,
        }
    }

    /// What it calls itself, or else on whose behalf it acts.
    pub fn name(&self) -> String {
        let name = self.said_name().unwrap_or(&self.principal);
        name.chars().take(limits::CLIENT_NAME).collect()
    }

    /// What it called itself when it greeted us, or with its request, if it did.
    pub fn said_name(&self) -> Option<&Arc<str>> {
        let read = || {
            let info: &[u8] = match (&self.greeting, &self.says) {
                (Some(greeting), _) => json::field(greeting, "clientInfo").ok()??.of(greeting),
                (None, Some(says)) => says,
                (None, None) => return None,
            };
            let name = json::text(json::field(info, "name").ok()??.of(info))?;
            let name: String = name.chars().take(limits::CLIENT_NAME).collect();
            Some(Arc::from(name))
        };
        self.said_name.get_or_init(read).as_ref()
    }

    /// The same client, for whom a person may be asked in its place; `says` is the text
    /// of what it says of itself with its request, where it does.
    pub fn at_desk(mut self, desk: &Arc<Desk>, says: Option<Bytes>) -> Self {
        self.desk = Some(desk.clone());
        self.says = says;
        self
    }

    /// Where a person is asked beside it or in its place.
    pub(crate) fn desk(&self) -> Option<&Arc<Desk>> {
        self.desk.as_ref()
    }

    /// Who is asked what its calls lead to.
    pub(crate) fn asked_at(&self) -> AskAt {
        let desk = self.desk.as_ref();
        desk.map_or(AskAt::Client, |desk| desk.asks(&self.principal))
    }

    /// Whether this could be put to it: it declared so.
    pub(crate) fn can_be_put(&self, input: &Input) -> bool {
        match input.method() {
            Method::ElicitationCreate if input.consent().is_some() => can_be_asked(self),
            Method::ElicitationCreate if input.is_page() => self.opens_pages(),
            Method::ElicitationCreate => self.declares("elicitation"),
            Method::SamplingCreateMessage => self.declares("sampling"),
            _ => true,
        }
    }

    /// The same client, with what it said when it greeted us: servers of its own are greeted with it.
    pub fn greeting(mut self, greeting: Bytes) -> Self {
        self.greeting = Some(greeting);
        self
    }

    /// The same client, whose calls and answers count in this share.
    pub fn charged_to(mut self, share: &Share) -> Self {
        self.share = Some(share.clone());
        self
    }

    /// Notes what it came in by, which may be newer than what it came in by at first.
    pub fn comes_in_by(&self, admission: Arc<dyn StillAdmitted>) {
        *self.admission.write() = Some(admission);
    }

    /// Why nothing may be sent for it any more, if so.
    pub(crate) fn shut_out(&self) -> Option<&'static str> {
        let itself = self.stands_for.as_deref().unwrap_or(self);
        itself.admission.read().as_ref()?.over()
    }

    /// The same client, whose requests come from this address.
    pub fn coming_from(mut self, address: Option<IpAddr>) -> Self {
        self.address = address;
        self
    }

    /// What its principal holds in memory, where that is counted.
    pub fn share(&self) -> Option<&Share> {
        self.share.as_ref()
    }

    /// The same client with servers of its own, greeted as it greeted us.
    pub fn exclusive(mut self, greeting: Option<Bytes>) -> Self {
        self.exclusive = true;
        self.greeting = greeting;
        self
    }

    /// The same client, who is the only one of its servers.
    pub fn alone(mut self) -> Self {
        self.alone = true;
        self
    }

    /// It is the program itself, which looks after servers: nobody's use of them.
    #[must_use]
    pub fn looking_after(mut self) -> Self {
        self.looks_after = true;
        self
    }

    /// The same client with somebody behind it who can be asked whether a call may go ahead.
    pub fn deciding(mut self, decides: bool) -> Self {
        self.decides = decides;
        self
    }

    /// A client that lives for one request: it hears only answers, and no
    /// connection needs to remember it.
    pub fn passing(mut self) -> Self {
        self.addressable = false;
        self
    }

    /// The same client for one request during which nothing can be asked of it.
    pub fn unasked(self: &Arc<Self>) -> Arc<Self> {
        let questions = ["elicitation", "sampling", "roots"];
        Arc::new(Self {
            id: self.id,
            identity: self.identity,
            principal: self.principal.clone(),
            revision: self.revision,
            capabilities: object_with(&self.capabilities, &questions, &[]).into(),
            greeting: self.greeting.clone(),
            said_name: self.said_name.clone(),
            exclusive: self.exclusive,
            alone: self.alone,
            log_level: AtomicU8::new(self.log_level.load(Ordering::Relaxed)),
            addressable: false,
            decides: self.decides,
            looks_after: self.looks_after,
            keyed: self.keyed,
            left: AtomicBool::new(false),
            stands_for: Some(self.itself().clone()),
            share: self.share.clone(),
            admission: RwLock::default(),
            address: self.address,
            desk: self.desk.clone(),
            says: self.says.clone(),
            sink: self.sink.clone(),
        })
    }

    /// The client itself, where this one stands for it.
    pub(crate) fn itself(self: &Arc<Self>) -> &Arc<Self> {
        self.stands_for.as_ref().unwrap_or(self)
    }

    /// The same client as all others of its principal that gave this key, or
    /// that gave none: modern HTTP has no sessions.
    pub fn known_by(mut self, key: Option<&str>) -> Self {
        // Secret, so that nobody can choose keys that come to the same.
        static SECRET: OnceLock<RandomState> = OnceLock::new();
        let secret = SECRET.get_or_init(RandomState::new);
        // Never the id of a client that is its own identity: those count from one.
        self.identity = secret.hash_one((&self.principal, key)) | KNOWN_BY_NAME;
        self.keyed = key.is_some();
        self
    }

    /// Whether it is the same as all others of its principal and key.
    pub(crate) fn is_known_by_name(&self) -> bool {
        self.identity & KNOWN_BY_NAME != 0
    }

    /// Notes that it has gone.
    pub(crate) fn leave(&self) {
        self.left.store(true, Ordering::Release);
    }

    /// Whether it has gone.
    pub(crate) fn has_left(&self) -> bool {
        let itself = self.stands_for.as_deref().unwrap_or(self);
        itself.left.load(Ordering::Acquire)
    }

    /// Legacy or modern.
    pub fn era(&self) -> Era {
        self.revision.era()
    }

    /// Whether it declared this capability.
    pub fn declares(&self, capability: &str) -> bool {
        json::members(&self.capabilities).any(|member| {
            json::text(member.key.of(&self.capabilities)).is_some_and(|key| key == capability)
        })
    }

    /// Whether it declared that it can send its user to a page. An elicitation
    /// capability that names no mode means forms alone.
    pub fn opens_pages(&self) -> bool {
        let elicitation = json::field(&self.capabilities, "elicitation")
            .ok()
            .flatten();
        elicitation.is_some_and(|span| {
            let modes = span.of(&self.capabilities);
            json::field(modes, "url").is_ok_and(|url| url.is_some())
        })
    }

    /// Notes the log level it asks for, as an index into [`LOG_LEVELS`].
    pub fn set_log_level(&self, rank: u8) {
        self.log_level.store(rank, Ordering::Relaxed);
    }

    /// The log level it asked for, as an index into [`LOG_LEVELS`].
    pub(crate) fn log_rank(&self) -> Option<u8> {
        Some(self.log_level.load(Ordering::Relaxed)).filter(|rank| *rank != u8::MAX)
    }

    /// The log level it asked for; `info` where it did not.
    pub fn log_level(&self) -> &'static str {
        LOG_LEVELS
            .get(usize::from(self.log_level.load(Ordering::Relaxed)))
            .copied()
            .unwrap_or("info")
    }

    /// Whether it ever asked for a log level.
    pub fn asked_for_logs(&self) -> bool {
        self.log_level.load(Ordering::Relaxed) != u8::MAX
    }

    /// Whether it wants a log message of this level. Those who never asked get all.
    pub fn wants_log(&self, level: &str) -> bool {
        let rank = LOG_LEVELS.iter().position(|known| *known == level);
        let wanted = self.log_level.load(Ordering::Relaxed);
        wanted == u8::MAX || rank.is_none_or(|rank| rank >= usize::from(wanted))
    }

    /// Who it says it is: the text of its `clientInfo`, or ours.
    pub fn info(&self) -> String {
        let given = self.greeting.as_deref().and_then(|greeting| {
            let span = json::field(greeting, "clientInfo").ok()??;
            Some(String::from_utf8_lossy(span.of(greeting)).into_owned())
        });
        given.unwrap_or_else(|| {
            format!(
                "{{\"name\":\"switchboard\",\"version\":\"{}\"}}",
                env!("CARGO_PKG_VERSION")
            )
        })
    }

    /// Where to reach it outside its requests.
    pub fn sink(&self) -> &dyn ClientSink {
        self.sink.as_ref()
    }
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client")
            .field("id", &self.id)
            .field("principal", &self.principal)
            .field("revision", &self.revision)
            .finish_non_exhaustive()
    }
}
