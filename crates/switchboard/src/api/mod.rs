//! `/api/v1` of a gateway: what [`switchboard_api`] says is asked and answered, done.
//!
//! | file | what |
//! |---|---|
//! | `router.rs` | the way from a request to its answer: who asks, whether they may, which route |
//! | `asking.rs`, `answer.rs` | what was asked, with its parts read; what is answered, or why not |
//! | `feed.rs`, `events.rs` | what changed, numbered, for those who listen |
//! | `state.rs` | the whole as one document, and what changes in it |
//! | `sessions.rs`, `people.rs` | single-use codes and the sessions that they open; people who sign in at an identity provider |
//! | the others | one topic of the table each |
//! | `spliced.rs` | values that were changed, with the rest as it was written |
//! | `without.rs` | what servers wrote, without secrets |
//! | `client.rs` | the other side: asking a gateway that runs |

mod answer;
mod apps;
mod asking;
mod breakpoints;
mod calls;
mod client;
mod events;
mod feed;
mod insight;
mod out;
mod people;
mod pins;
mod proposals;
mod questions;
mod router;
mod servers;
mod sessions;
mod settings;
mod spliced;
mod state;
mod tokens;
mod tools;
mod without;

pub(crate) use apps::Frames;
pub use client::{Client, ClientError, Events, Pieces};
pub(crate) use out::{ANSWERS, take as take_answer};
pub(crate) use router::{VERSION, answer, may};
pub use switchboard_api as types;

use crate::{pipeline::Options, pools::Pools, roster::Member, watching::Watching};
use answer::No;
use asking::Ask;
use feed::Feed;
use out::Out;
use proposals::Proposals;
use sessions::Sessions;
use state::Keeper;
use std::{
    net::SocketAddr,
    sync::{Arc, OnceLock},
    time::{SystemTime, UNIX_EPOCH},
};
use switchboard_agent::Caller;
use switchboard_gateway::Visitors;
use switchboard_host::{Host, Quota};
use switchboard_record::audit::Record;
use tokio::sync::watch;

/// All that answers are made of, for one gateway.
pub(crate) struct Api {
    pub(crate) host: Arc<Host>,
    /// Uses the copies of the servers that clients use.
    pub(crate) caller: Caller,
    pub(crate) pools: Pools,
    pub(crate) options: Options,
    pub(crate) visitors: Visitors,
    /// What watches the gateway.
    pub(crate) watching: Arc<Watching>,
    /// All that is configured, now.
    pub(crate) members: watch::Receiver<Vec<Member>>,
    pub(crate) reload: crate::control::Reload,
    /// What changed, for those who listen.
    pub(crate) feed: Arc<Feed>,
    /// Those who came in by a code.
    pub(crate) sessions: Arc<Sessions>,
    /// Those who sign in at an identity provider.
    people: people::People,
    /// Entries that wait for approval.
    proposals: Proposals,
    /// Which calls are held on their way, where calls are listed.
    breakpoints: Option<Arc<breakpoints::List>>,
    keeper: Keeper,
    /// What servers wait for.
    pub(crate) standing: questions::Standing,
    /// Who else is told what waits.
    pub(crate) out: Out,
    /// Places for event streams.
    streams: Arc<Quota>,
    /// Resources whose changes are told.
    watched: servers::Watched,
    /// Pages of servers that a frame has yet to fetch.
    pub(crate) frames: Arc<Frames>,
    /// Who looks into messages.
    searches: calls::Searches,
    /// Who looks at files and lists.
    looks: calls::Searches,
    /// Who reads large ones.
    readings: calls::Searches,
    /// Where it listens, once it does.
    address: OnceLock<SocketAddr>,
    /// Which process this is.
    instance: String,
    /// When it began, in milliseconds since 1970.
    since: u64,
    pub(crate) may: May,
}

/// What is allowed here at all, whoever asks.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct May {
    /// Whether anybody may come in without a token.
    pub(crate) open: bool,
    /// Whether settings may be changed over the API.
    pub(crate) edit: bool,
}

/// What an [`Api`] is made of.
pub(crate) struct Parts {
    pub(crate) host: Arc<Host>,
    pub(crate) caller: Caller,
    pub(crate) pools: Pools,
    pub(crate) options: Options,
    pub(crate) visitors: Visitors,
    pub(crate) watching: Arc<Watching>,
    pub(crate) members: watch::Receiver<Vec<Member>>,
    pub(crate) reload: crate::control::Reload,
    pub(crate) may: May,
    /// The way in for people, where there is an identity provider for them.
    pub(crate) people: Option<Arc<switchboard_auth::People>>,
}

impl Api {
    pub(crate) fn new(parts: Parts) -> Arc<Self> {
        let Parts {
            host,
            caller,
            pools,
            options,
            visitors,
            watching,
            members,
            reload,
            may,
            people,
        } = parts;
        let tap = watching.tap().map(|tapping| tapping.tap.clone());
        let api = Arc::new(Self {
            breakpoints: tap.map(breakpoints::List::new),
            host,
            caller,
            pools,
            options,
            visitors,
            watching,
            members,
            reload,
            may,
            watched: servers::Watched::default(),
            frames: Arc::default(),
            feed: Arc::default(),
            sessions: Arc::default(),
            people: people::People::new(people),
            proposals: Proposals::default(),
            keeper: Keeper::default(),
            standing: questions::Standing::default(),
            out: Out::default(),
            streams: Quota::with_reserve(
                "event streams",
                crate::limits::API_STREAMS,
                crate::limits::API_STREAMS_KEPT,
            ),
            searches: calls::Searches::default(),
            looks: calls::Searches::short(),
            readings: calls::Searches::default(),
            address: OnceLock::new(),
            instance: switchboard_local::random::id().unwrap_or_default(),
            since: now(),
        });
        breakpoints::begin(&api);
        questions::follow(&api);
        proposals::recall(&api);
        api
    }

    /// Puts on record what somebody has done here.
    fn record(&self, ask: &Ask, record: Record) {
        let record = record.with("by", format!("api: {}", ask.who.recorded()));
        self.watching.record(record);
    }

    /// Reads the configuration again, so that what was written holds at once.
    fn read_again(&self) -> Result<(), No> {
        let reloaded = (self.reload)();
        reloaded.map(drop).map_err(|why| {
            let text = format!("it was written, and the gateway goes on as it was: {why}");
            No::conflict(switchboard_local::secret::text(&text))
        })
    }

    /// Says where it listens.
    pub(crate) fn listens_at(&self, address: SocketAddr) {
        let _ = self.address.set(address);
    }
}

/// Milliseconds since 1970.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
    })
}
