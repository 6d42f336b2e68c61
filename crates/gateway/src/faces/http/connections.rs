//! The connections of the HTTP face: whose they are, which of them are idle, and
//! who gives way when room runs out.

use super::body::Body;
use crate::limits;
use bytes::Bytes;
use http_body::{Frame, SizeHint};
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    io,
    net::IpAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
    time::Instant,
};
use switchboard_host::{Full, Place, Quota};
use switchboard_process::descriptors;
use switchboard_transport::Share;
use tokio::sync::Notify;

/// All that are open.
pub(super) struct Connections {
    open: Mutex<HashMap<u64, Arc<Connection>>>,
    next: AtomicU64,
    quota: Arc<Quota>,
    most: usize,
}

impl Default for Connections {
    fn default() -> Self {
        // Servers and files need descriptors too.
        let most = descriptors::limit().map_or(limits::CONNECTIONS, |limit| {
            limits::CONNECTIONS.min(usize::try_from(limit / 2).unwrap_or(usize::MAX))
        });
        Self {
            open: Mutex::default(),
            next: AtomicU64::new(0),
            quota: Quota::new("connections", most),
            most,
        }
    }
}

/// One of them.
pub(super) struct Connection {
    number: u64,
    /// Requests whose answers are not written yet.
    busy: AtomicUsize,
    /// Whether there ever was a request on it.
    used: AtomicBool,
    idle_since: Mutex<Instant>,
    /// The place of the principal whose it is and what that one holds, once it is known.
    owner: Mutex<Option<(Place, Share)>>,
    room_needed: Notify,
    /// Where it comes from.
    address: Option<IpAddr>,
}

impl Connections {
    /// How many there may be.
    pub(super) fn most(&self) -> usize {
        self.most
    }

    /// Whether there is room for one more.
    pub(super) fn has_room(&self) -> bool {
        self.open.lock().len() < self.most
    }

    /// Enters one.
    pub(super) fn add(&self, address: Option<IpAddr>) -> Arc<Connection> {
        let connection = Arc::new(Connection {
            number: self.next.fetch_add(1, Ordering::Relaxed),
            busy: AtomicUsize::new(0),
            used: AtomicBool::new(false),
            idle_since: Mutex::new(Instant::now()),
            owner: Mutex::default(),
            room_needed: Notify::new(),
            address,
        });
        let mut open = self.open.lock();
        open.insert(connection.number, connection.clone());
        connection
    }

    /// It has ended.
    pub(super) fn remove(&self, connection: &Connection) {
        self.open.lock().remove(&connection.number);
    }

    /// Asks idle ones to end: those that never asked for anything, and only where
    /// there is none of them a few that did, which may be about to ask again. Of
    /// each those that have been idle for longest.
    pub(super) fn give_way(&self) {
        let open = self.open.lock();
        let idle = open.values().filter(|one| !one.is_busy());
        let mut idle: Vec<_> = idle
            .map(|one| (one.is_used(), *one.idle_since.lock(), one))
            .collect();
        idle.sort_by_key(|(used, since, _)| (*used, *since));
        let silent = idle.iter().take_while(|(used, ..)| !used).count();
        let most = match silent {
            0 => limits::GIVE_WAY_USED,
            silent => silent.min(limits::GIVE_WAY),
        };
        for (.., one) in idle.into_iter().take(most) {
            one.room_needed.notify_one();
        }
    }

    /// Notes whose a connection is. It is one principal's at a time. What that
    /// principal holds is counted in the share that is returned; `found` looks it
    /// up, and says whether there are others.
    pub(super) fn belongs_to(
        &self,
        connection: &Connection,
        principal: &Arc<str>,
        found: impl FnOnce() -> (bool, Share),
    ) -> Result<Share, Full> {
        let mut owner = connection.owner.lock();
        if let Some((place, share)) = &*owner
            && place.principal() == &**principal
        {
            return Ok(share.clone());
        }
        *owner = None;
        let (several, share) = found();
        let place = self.quota.take(principal, several)?;
        *owner = Some((place, share.clone()));
        Ok(share)
    }
}

impl Connection {
    /// Where it comes from.
    pub(super) fn address(&self) -> Option<IpAddr> {
        self.address
    }

    /// A request begins; it lasts as long as what is returned.
    pub(super) fn begin(self: &Arc<Self>) -> Use {
        self.used.store(true, Ordering::Relaxed);
        self.busy.fetch_add(1, Ordering::Relaxed);
        Use(self.clone())
    }

    pub(super) fn is_used(&self) -> bool {
        self.used.load(Ordering::Relaxed)
    }

    fn is_busy(&self) -> bool {
        self.busy.load(Ordering::Relaxed) > 0
    }

    /// Waits until it has to give way to others, which only an idle one has.
    pub(super) async fn gives_way(&self) {
        loop {
            self.room_needed.notified().await;
            if !self.is_busy() {
                return;
            }
        }
    }
}

/// A request that is served on a connection.
pub(super) struct Use(Arc<Connection>);

impl Drop for Use {
    fn drop(&mut self) {
        *self.0.idle_since.lock() = Instant::now();
        self.0.busy.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A body that keeps its connection from counting as idle.
pub(super) struct Served {
    pub(super) body: Body,
    /// Ends with the body.
    pub(super) _until: Use,
}

impl http_body::Body for Served {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// A warning that would come again and again: told once, and then at most once in
/// a while, with how often it was.
#[derive(Default)]
pub(super) struct Repeated(Mutex<Option<(Instant, u64)>>);

impl Repeated {
    /// How often it was since it was last told, if it is time to tell it.
    pub(super) fn is_due(&self) -> Option<u64> {
        let mut state = self.0.lock();
        let now = Instant::now();
        match &mut *state {
            Some((told, times)) if now.duration_since(*told) < limits::WARN_AGAIN => {
                *times += 1;
                None
            }
            other => {
                let times = other.map_or(1, |(_, times)| times + 1);
                *other = Some((now, 0));
                Some(times)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[tokio::test]
    async fn the_silent_give_way_first_and_the_busy_never() {
        let connections = Connections::default();
        let (silent, kept, busy) = (
            connections.add(None),
            connections.add(None),
            connections.add(None),
        );
        drop(kept.begin());
        let _request = busy.begin();
        let stays = async |one: &Connection| {
            let waited = tokio::time::timeout(Duration::from_millis(20), one.gives_way());
            waited.await.is_err()
        };
        connections.give_way();
        silent.gives_way().await;
        assert!(stays(&kept).await, "it may be about to ask again");
        assert!(stays(&busy).await);
        // Where nobody is silent, those that asked for something give way, too: a few.
        connections.remove(&silent);
        let others: Vec<_> = (0..limits::GIVE_WAY_USED)
            .map(|_| connections.add(None))
            .collect();
        for other in &others {
            drop(other.begin());
        }
        connections.give_way();
        kept.gives_way().await;
        assert!(
            stays(others.last().unwrap()).await,
            "the last that was idle"
        );
        assert!(stays(&busy).await);
        let silent = connections.add(None);
        for _ in 0..limits::GIVE_WAY {
            connections.add(None);
        }
        let new = connections.add(None);
        connections.give_way();
        silent.gives_way().await;
        assert!(stays(&new).await, "the newest is not among the first");
    }

    #[test]
    fn a_repeated_warning_is_told_once() {
        let warning = Repeated::default();
        assert_eq!(warning.is_due(), Some(1));
        for _ in 0..100 {
            assert_eq!(warning.is_due(), None);
        }
    }
}
