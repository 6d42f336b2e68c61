//! What changed, numbered in the order in which it is told. The last events of each topic
//! are kept, as many as there is room for; a listener only knows where it is, and what it
//! takes is what is kept. One that falls behind hears that it has to begin anew, and nobody
//! waits for it.

use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};
use switchboard_api::{calls::Call, events::Event};
use switchboard_transport::http::sse::encode_event;
use switchboard_wire::Payload;
use tokio::sync::Notify;

/// What an event is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Topic {
    /// The gateway, its servers and clients.
    State,
    /// Calls.
    Calls,
    /// What waits for a person.
    Questions,
}

impl Topic {
    /// All of them.
    pub(crate) const ALL: [Self; 3] = [Self::State, Self::Calls, Self::Questions];

    /// Its word in a query.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Calls => "calls",
            Self::Questions => "questions",
        }
    }

    const fn of(event: &Event) -> Self {
        match event {
            Event::Call { .. } => Self::Calls,
            Event::Question { .. } => Self::Questions,
            _ => Self::State,
        }
    }
}

/// Whether a listener wants a call. Looks at nothing but the call itself.
pub(crate) type Wanted = Box<dyn Fn(&Call) -> bool + Send + Sync>;

/// What a listener listens for.
pub(crate) struct Wish {
    /// These topics.
    pub(crate) topics: Vec<Topic>,
    /// Only what is this principal's.
    pub(crate) only: Option<Arc<str>>,
    /// And of calls only those that this says.
    pub(crate) wanted: Option<Wanted>,
}

impl Wish {
    /// What of an event this listener is told, if anything is.
    fn of(&self, told: &Told) -> Option<Bytes> {
        let bytes = match (&self.only, &told.whose) {
            (None, _) => &told.bytes,
            (Some(me), Some(whose)) if me == whose => told.own.as_ref().unwrap_or(&told.bytes),
            (Some(_), _) => return None,
        };
        let is_wanted = match (&self.wanted, &told.call) {
            (Some(wanted), Some(call)) => wanted(call),
            _ => true,
        };
        is_wanted.then(|| bytes.clone())
    }
}

/// An event that was told.
#[derive(Debug)]
struct Told {
    revision: u64,
    /// Whose it is, where it is somebody's.
    whose: Option<Arc<str>>,
    /// The call, where it is about one: filters look at it.
    call: Option<Box<Call>>,
    /// As it is on the wire.
    bytes: Bytes,
    /// The same for whoever sees only what is their own.
    own: Option<Bytes>,
}

impl Told {
    /// What it takes, about: a call is there twice.
    fn weight(&self) -> usize {
        let copies = 1 + usize::from(self.call.is_some());
        self.bytes.len() * copies + self.own.as_ref().map_or(0, Bytes::len)
    }
}

/// All that is told.
#[derive(Debug, Default)]
pub(crate) struct Feed(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// The number of the last event.
    revision: u64,
    kept: [Kept; 3],
    ears: Vec<Weak<Ear>>,
}

/// The last events of one topic.
#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<Arc<Told>>,
    bytes: usize,
    /// The number of the last one that is not kept any more.
    forgotten: u64,
}

impl Kept {
    fn keep(&mut self, told: Told) {
        self.bytes += told.weight();
        self.events.push_back(Arc::new(told));
        while self.events.len() > limits::API_EVENTS_KEPT || self.bytes > limits::API_EVENTS_BYTES {
            let Some(oldest) = self.events.pop_front() else {
                return;
            };
            self.bytes -= oldest.weight();
            self.forgotten = oldest.revision;
        }
    }

    /// The first one after this number.
    fn after(&self, revision: u64) -> Option<&Arc<Told>> {
        let at = self
            .events
            .partition_point(|told| told.revision <= revision);
        self.events.get(at)
    }
}

/// Something that a listener wanted is not kept any more.
struct Behind;

impl Feed {
    /// Tells everybody who wants it. `whose` it is, where it is somebody's: then that
    /// principal may hear it as well as those who may hear everything.
    pub(crate) fn tell(&self, event: Event, whose: Option<Arc<str>>) -> u64 {
        self.tell_each(event, whose, None)
    }

    /// The same, in other words for whoever sees only what is their own.
    pub(crate) fn tell_each(
        &self,
        event: Event,
        whose: Option<Arc<str>>,
        own: Option<&Event>,
    ) -> u64 {
        let topic = Topic::of(&event);
        let (json, own) = (json(&event), own.map(json));
        let call = match event {
            Event::Call { call } => Some(call),
            _ => None,
        };
        let mut inner = self.0.lock();
        inner.revision += 1;
        let revision = inner.revision;
        inner.kept[topic as usize].keep(Told {
            revision,
            whose,
            call,
            bytes: encoded(revision, json),
            own: own.map(|own| encoded(revision, own)),
        });
        inner.ears.retain(|ear| {
            let Some(ear) = ear.upgrade() else {
                return false;
            };
            if ear.topics.contains(&topic) {
                ear.news.notify_one();
            }
            true
        });
        revision
    }

    /// The number of the last event.
    pub(crate) fn revision(&self) -> u64 {
        self.0.lock().revision
    }

    /// Whether anybody listens to this: if not, it need not be told.
    pub(crate) fn is_heard(&self, topic: Topic) -> bool {
        let inner = self.0.lock();
        let mut ears = inner.ears.iter().filter_map(Weak::upgrade);
        ears.any(|ear| ear.topics.contains(&topic))
    }

    /// Whether somebody listens to this who may hear everything.
    pub(crate) fn is_watched(&self, topic: Topic) -> bool {
        let inner = self.0.lock();
        let mut ears = inner.ears.iter().filter_map(Weak::upgrade);
        ears.any(|ear| ear.hears_all && ear.topics.contains(&topic))
    }

    /// Listens from now on, or from after this number.
    pub(crate) fn listen(self: &Arc<Self>, wish: Wish, since: Option<u64>) -> Listener {
        let ear = Arc::new(Ear {
            topics: wish.topics.clone(),
            hears_all: wish.only.is_none(),
            news: Notify::new(),
        });
        let mut inner = self.0.lock();
        inner.ears.retain(|ear| ear.strong_count() > 0);
        inner.ears.push(Arc::downgrade(&ear));
        Listener {
            feed: self.clone(),
            ear,
            wish,
            at: since.unwrap_or(inner.revision),
            has_ended: false,
        }
    }

    /// The first event of these topics after this number.
    fn after(&self, topics: &[Topic], at: u64) -> Result<Option<Arc<Told>>, Behind> {
        let inner = self.0.lock();
        let kept = || topics.iter().map(|topic| &inner.kept[*topic as usize]);
        // A number that was never given is another gateway's.
        if at > inner.revision || kept().any(|kept| kept.forgotten > at) {
            return Err(Behind);
        }
        let next = kept().filter_map(|kept| kept.after(at));
        Ok(next.min_by_key(|told| told.revision).cloned())
    }
}

fn json(event: &Event) -> String {
    serde_json::to_string(event).unwrap_or_default()
}

fn encoded(revision: u64, json: String) -> Bytes {
    encode_event(Some(&revision.to_string()), None, Payload::from(json)).into_bytes()
}

/// What of a listener the feed knows.
#[derive(Debug)]
struct Ear {
    topics: Vec<Topic>,
    /// Whether it may hear what is anybody's.
    hears_all: bool,
    news: Notify,
}

/// Somebody who listens.
pub(crate) struct Listener {
    feed: Arc<Feed>,
    ear: Arc<Ear>,
    wish: Wish,
    /// The number of the last event that it has looked at.
    at: u64,
    has_ended: bool,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

impl Listener {
    /// What comes next on the wire; nothing after it was told to begin anew.
    pub(crate) async fn next(&mut self) -> Option<Bytes> {
        if self.has_ended {
            return None;
        }
        loop {
            match self.feed.after(&self.wish.topics, self.at) {
                Ok(Some(told)) => {
                    self.at = told.revision;
                    if let Some(bytes) = self.wish.of(&told) {
                        return Some(bytes);
                    }
                    // What is passed over takes no turn from others.
                    tokio::task::consume_budget().await;
                }
                Ok(None) => self.ear.news.notified().await,
                Err(Behind) => {
                    self.has_ended = true;
                    return Some(encoded(self.feed.revision(), json(&Event::Reset)));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests;
