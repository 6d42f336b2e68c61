//! What changed, numbered in the order in which it is told. Each listener has a short
//! list of what it has not taken yet: one that falls behind hears that it has to begin
//! anew, and nobody waits for it.

use crate::limits;
use bytes::Bytes;
use parking_lot::Mutex;
use std::{
    collections::VecDeque,
    sync::{Arc, Weak},
};
use switchboard_api::events::Event;
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

/// Whether a listener wants an event.
pub(crate) type Wanted = Box<dyn Fn(&Event) -> bool + Send + Sync>;

/// What a listener listens for.
pub(crate) struct Wish {
    /// These topics.
    pub(crate) topics: Vec<Topic>,
    /// Only what is this principal's.
    pub(crate) only: Option<Arc<str>>,
    /// And of that only what this says.
    pub(crate) wanted: Option<Wanted>,
}

impl Wish {
    fn wants(&self, told: &Told) -> bool {
        let is_for_them = match (&self.only, &told.whose) {
            (None, _) => true,
            (Some(me), Some(whose)) => me == whose,
            (Some(_), None) => false,
        };
        is_for_them
            && self.topics.contains(&told.topic)
            && self
                .wanted
                .as_ref()
                .is_none_or(|wanted| wanted(&told.event))
    }
}

/// An event that was told.
#[derive(Debug)]
struct Told {
    revision: u64,
    topic: Topic,
    /// Whose it is, where it is somebody's.
    whose: Option<Arc<str>>,
    event: Event,
    /// As it is on the wire.
    bytes: Bytes,
}

/// All that is told.
#[derive(Debug, Default)]
pub(crate) struct Feed(Mutex<Inner>);

#[derive(Debug, Default)]
struct Inner {
    /// The number of the last event.
    revision: u64,
    kept: [Kept; 3],
    listeners: Vec<Weak<Listener>>,
}

/// The last events of one topic.
#[derive(Debug, Default)]
struct Kept {
    events: VecDeque<Arc<Told>>,
    /// The number of the last one that is not kept any more.
    forgotten: u64,
}

impl Feed {
    /// Tells everybody who wants it. `whose` it is, where it is somebody's: then that
    /// principal may hear it as well as those who may hear everything.
    pub(crate) fn tell(&self, event: Event, whose: Option<Arc<str>>) -> u64 {
        let mut inner = self.0.lock();
        inner.revision += 1;
        let revision = inner.revision;
        let topic = Topic::of(&event);
        let told = Arc::new(Told {
            bytes: encoded(revision, &event),
            revision,
            topic,
            whose,
            event,
        });
        let kept = &mut inner.kept[topic as usize];
        kept.events.push_back(told.clone());
        if kept.events.len() > limits::API_EVENTS_KEPT
            && let Some(oldest) = kept.events.pop_front()
        {
            kept.forgotten = oldest.revision;
        }
        inner.listeners.retain(|listener| {
            let Some(listener) = listener.upgrade() else {
                return false;
            };
            if listener.wish.wants(&told) {
                listener.push(&told);
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
        let mut listeners = inner.listeners.iter().filter_map(Weak::upgrade);
        listeners.any(|listener| listener.wish.topics.contains(&topic))
    }

    /// Whether somebody listens to this who may hear everything.
    pub(crate) fn is_watched(&self, topic: Topic) -> bool {
        let inner = self.0.lock();
        let mut listeners = inner.listeners.iter().filter_map(Weak::upgrade);
        listeners.any(|one| one.wish.only.is_none() && one.wish.topics.contains(&topic))
    }

    /// Listens from now on, or from after this number.
    pub(crate) fn listen(&self, wish: Wish, since: Option<u64>) -> Arc<Listener> {
        let mut inner = self.0.lock();
        let since = since.unwrap_or(inner.revision);
        let mut missed: Vec<Arc<Told>> = Vec::new();
        // A number that was never given is another gateway's.
        let mut is_behind = since > inner.revision;
        for topic in &wish.topics {
            let kept = &inner.kept[*topic as usize];
            is_behind |= kept.forgotten > since;
            let after = kept.events.iter().filter(|told| told.revision > since);
            missed.extend(after.filter(|told| wish.wants(told)).cloned());
        }
        missed.sort_by_key(|told| told.revision);
        let listener = Arc::new(Listener {
            wish,
            waiting: Mutex::new(Waiting {
                events: missed.into(),
                is_behind,
                has_ended: false,
            }),
            news: Notify::new(),
            last: inner.revision,
        });
        inner
            .listeners
            .retain(|listener| listener.strong_count() > 0);
        inner.listeners.push(Arc::downgrade(&listener));
        listener
    }
}

fn encoded(revision: u64, event: &Event) -> Bytes {
    let json = serde_json::to_string(event).unwrap_or_default();
    encode_event(Some(&revision.to_string()), None, Payload::from(json)).into_bytes()
}

/// Somebody who listens.
pub(crate) struct Listener {
    wish: Wish,
    waiting: Mutex<Waiting>,
    news: Notify,
    /// The number at which it began.
    last: u64,
}

impl std::fmt::Debug for Listener {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Listener")
    }
}

#[derive(Debug)]
struct Waiting {
    events: VecDeque<Arc<Told>>,
    /// Something is missing.
    is_behind: bool,
    has_ended: bool,
}

impl Listener {
    fn push(&self, told: &Arc<Told>) {
        let mut waiting = self.waiting.lock();
        if waiting.events.len() >= limits::API_EVENTS_WAITING {
            // What it has not taken is of no use to it now.
            waiting.events.clear();
            waiting.is_behind = true;
        }
        if !waiting.is_behind {
            waiting.events.push_back(told.clone());
        }
        self.news.notify_one();
    }

    /// What comes next on the wire; nothing after it was told to begin anew.
    pub(crate) async fn next(&self) -> Option<Bytes> {
        loop {
            {
                let mut waiting = self.waiting.lock();
                if waiting.has_ended {
                    return None;
                }
                if waiting.is_behind {
                    waiting.has_ended = true;
                    return Some(encoded(self.last, &Event::Reset));
                }
                if let Some(told) = waiting.events.pop_front() {
                    return Some(told.bytes.clone());
                }
            }
            self.news.notified().await;
        }
    }
}

#[cfg(test)]
mod tests;
