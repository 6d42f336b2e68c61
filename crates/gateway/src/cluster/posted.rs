//! NATS as a way to a replica that cannot be dialled: the bytes of a connection, cut into
//! messages. Inside is the same TLS as on a direct link, so that NATS can neither read nor
//! change anything; each message carries what only a replica can make, and its number, so
//! that nobody else opens or disturbs a link, and what is played back counts for nothing.

use super::keys::{ClusterKeys, TAG};
use crate::limits;
use bytes::Bytes;
use futures_util::StreamExt;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Instant,
};
use switchboard_ledger::{Arrival, Post};
use switchboard_local::{hex, random, visible};
use switchboard_tasks as tasks;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt, DuplexStream, ReadHalf, WriteHalf},
    sync::{Semaphore, mpsc},
};

/// What stands before the ids of replicas where messages are sent to.
const PLACE: &str = "sb.post";

/// Bytes before what a message brings: its kind, its number, and what proves it.
const HEAD: usize = 1 + 8 + TAG; // tidy: a form

/// What a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
enum Kind {
    /// A link begins.
    Open = 0,
    /// Bytes.
    Data = 1,
    /// So many bytes more may come.
    Credit = 2,
    /// There is no more.
    End = 3,
}

impl Kind {
    fn of(byte: u8) -> Option<Self> {
        let all = [Self::Open, Self::Data, Self::Credit, Self::End];
        all.into_iter().find(|kind| *kind as u8 == byte)
    }
}

/// A link as its two ends know it: who it is with, and which of theirs it is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct Name {
    peer: String,
    link: String,
}

/// Links by the way of NATS.
pub(crate) struct Posted {
    post: Arc<dyn Post>,
    keys: Arc<ClusterKeys>,
    id: String,
    links: Mutex<HashMap<Name, Heard>>,
    /// Messages that no replica has sent.
    strangers: AtomicU64,
    comes: mpsc::Sender<DuplexStream>,
    comers: tokio::sync::Mutex<mpsc::Receiver<DuplexStream>>,
}

impl Posted {
    pub(super) fn new(post: Arc<dyn Post>, keys: Arc<ClusterKeys>, id: &str) -> Arc<Self> {
        let (comes, comers) = mpsc::channel(limits::POST_COMERS);
        Arc::new(Self {
            post,
            keys,
            id: id.to_owned(),
            links: Mutex::default(),
            strangers: AtomicU64::new(0),
            comes,
            comers: tokio::sync::Mutex::new(comers),
        })
    }

    /// The next link that somebody has begun.
    pub(crate) async fn accept(&self) -> Option<DuplexStream> {
        self.comers.lock().await.recv().await
    }

    /// Begins a link to a replica; nothing where it does not listen.
    pub(super) async fn connect(self: &Arc<Self>, peer: &str) -> io::Result<Option<DuplexStream>> {
        let link = hex(random::bytes::<8>()?);
        let name = Name {
            peer: peer.to_owned(),
            link,
        };
        let (end, ours) = self.begin(&name, 0)?;
        let opening = Opening {
            links: &self.links,
            name: Some(name.clone()),
        };
        let open = self.frame(&name, Kind::Open, 0, &[]);
        let handed = self.post.hand_over(&self.place(&name), open).await;
        if !handed.map_err(io::Error::other)? {
            return Ok(None);
        }
        opening.opened();
        self.carry(name, ours, 1);
        Ok(Some(end))
    }

    /// Where the other end of a link hears of it.
    fn place(&self, name: &Name) -> String {
        format!("{PLACE}.{}.{}.{}", name.peer, self.id, name.link)
    }

    /// A message as it is sent.
    fn frame(&self, name: &Name, kind: Kind, number: u64, body: &[u8]) -> Bytes {
        let number = number.to_be_bytes();
        let kind = [kind as u8];
        let (to, from, link) = (&name.peer, &self.id, &name.link);
        let said = [to.as_bytes(), from.as_bytes(), link.as_bytes(), &kind];
        let tag = self.keys.tag(&[&said[..], &[&number, body]].concat());
        let tag = tag.unwrap_or_else(|| vec![0; TAG]);
        [&kind[..], &number, &tag, body].concat().into()
    }

    /// What was sent, if a replica has sent it to us on this link.
    fn opened(&self, name: &Name, message: &Bytes) -> Option<(Option<Kind>, u64, Bytes)> {
        let (head, _) = message.split_at_checked(HEAD)?;
        let (kind, rest) = head.split_first()?;
        let (number, tag) = rest.split_at_checked(8)?;
        let body = message.slice(HEAD..);
        let (to, from, link) = (&self.id, &name.peer, &name.link);
        let kinds = [*kind];
        let said = [to.as_bytes(), from.as_bytes(), link.as_bytes(), &kinds];
        let is_it = self
            .keys
            .is_tagged(&[&said[..], &[number, &body]].concat(), tag);
        let number = u64::from_be_bytes(number.try_into().ok()?);
        is_it.then_some((Kind::of(*kind), number, body))
    }

    /// A new link, whose other end says this number first.
    fn begin(&self, name: &Name, due: u64) -> io::Result<(DuplexStream, Ours)> {
        let (heard, hears) = mpsc::channel(limits::POST_WAITING);
        let credit = Arc::new(Semaphore::new(limits::POST_CREDIT));
        let mut links = self.links.lock();
        if links.len() >= limits::LINKS {
            return Err(io::Error::other("there are too many links"));
        }
        links.insert(
            name.clone(),
            Heard {
                due,
                at: Instant::now(),
                heard,
                credit: credit.clone(),
            },
        );
        let (end, other) = tokio::io::duplex(limits::POST_CHUNK);
        let ours = Ours {
            hears,
            credit,
            other,
        };
        Ok((end, ours))
    }

    /// Whether nothing was heard on a link for a while.
    fn is_quiet(&self, name: &Name) -> bool {
        let links = self.links.lock();
        let link = links.get(name);
        link.is_some_and(|link| link.at.elapsed() > limits::POST_QUIET)
    }

    /// Links with those who have gone end: they say nothing of it.
    pub(super) fn retain(&self, is_there: impl Fn(&str) -> bool) {
        self.links.lock().retain(|name, _| is_there(&name.peer));
    }

    /// Hears of all links, for as long as it is listened.
    pub(super) async fn keep(self: &Arc<Self>) {
        tokio::join!(self.keep_hearing(), self.keep_noting());
    }

    /// Links to those who do not listen any more end at once.
    async fn keep_noting(&self) {
        loop {
            if let Ok(mut unheard) = self.post.unheard().await {
                while let Some(to) = unheard.next().await {
                    let mut words = to.rsplit('.');
                    let (link, peer) = (words.next(), words.nth(1));
                    if let (Some(link), Some(peer)) = (link, peer) {
                        let name = Name {
                            peer: peer.to_owned(),
                            link: link.to_owned(),
                        };
                        let ended = self.links.lock().remove(&name);
                        if ended.is_some() {
                            tracing::info!(%peer, "a replica does not listen any more: a link through NATS ends");
                        }
                    }
                }
            }
            tokio::time::sleep(limits::NODES_LOOK).await;
        }
    }

    async fn keep_hearing(self: &Arc<Self>) {
        let at = format!("{PLACE}.{}", self.id);
        loop {
            match self.post.listen(&at).await {
                Ok(mut arrivals) => {
                    while let Some(arrival) = arrivals.next().await {
                        self.arrived(&arrival).await;
                    }
                }
                Err(fault) => tracing::debug!(%fault, "NATS is no way to this replica now"),
            }
            tokio::time::sleep(limits::NODES_LOOK).await;
        }
    }

    async fn arrived(self: &Arc<Self>, arrival: &Arrival) {
        let mut words = arrival.to.rsplit('.');
        let (Some(link), Some(peer)) = (words.next(), words.next()) else {
            return;
        };
        let name = Name {
            peer: peer.to_owned(),
            link: link.to_owned(),
        };
        let Some((kind, number, body)) = self.opened(&name, &arrival.message) else {
            let before = self.strangers.fetch_add(1, Ordering::Relaxed);
            if before.is_multiple_of(limits::FORGED_TOLD) {
                tracing::warn!(
                    from = visible::line(peer),
                    "what came through NATS was not sent by a replica of this cluster: it is not looked at"
                );
            }
            return;
        };
        match kind {
            Some(Kind::Open) => {
                if number == 0 && self.opens(&name) {
                    let _ = self.post.acknowledge(arrival).await;
                }
            }
            Some(kind) => self.heard(&name, kind, number, body),
            None => self.passes_by(&name, number),
        }
    }

    /// A newer version says something that this one does not know. It is not missing.
    fn passes_by(&self, name: &Name, number: u64) {
        if let Some(link) = self.links.lock().get_mut(name)
            && link.due == number
        {
            link.due = number.saturating_add(1);
        }
        tracing::debug!(
            peer = name.peer,
            "a message of a newer version is passed by"
        );
    }

    /// What was played back counts for nothing; what is missing ends the link, since nobody
    /// sends it again.
    fn heard(&self, name: &Name, kind: Kind, number: u64, body: Bytes) {
        let mut links = self.links.lock();
        let Some(link) = links.get_mut(name).filter(|link| number >= link.due) else {
            return;
        };
        let is_next = number == link.due;
        link.at = Instant::now();
        link.due = number.saturating_add(1);
        let is_taken = is_next
            && match kind {
                // Not behind what waits to be taken: that may wait for this.
                Kind::Credit => link.may_send(&body),
                _ => link.heard.try_send((kind, body)).is_ok(),
            };
        if !is_taken {
            tracing::debug!(
                peer = name.peer,
                "a link through NATS has lost something, and ends"
            );
            links.remove(name);
        }
    }

    /// A link that somebody begins; whether there is room for it.
    fn opens(self: &Arc<Self>, name: &Name) -> bool {
        // One that is known was played back.
        if self.links.lock().contains_key(name) {
            return false;
        }
        let Ok(place) = self.comes.clone().try_reserve_owned() else {
            return false;
        };
        let Ok((end, ours)) = self.begin(name, 1) else {
            return false;
        };
        place.send(end);
        self.carry(name.clone(), ours, 0);
        true
    }

    /// Carries what one link brings, both ways, until it ends.
    fn carry(self: &Arc<Self>, name: Name, ours: Ours, first: u64) {
        let me = self.clone();
        tasks::spawn(tasks::Kind::Connection, async move {
            let Ours {
                hears,
                credit,
                other,
            } = ours;
            let (read, write) = tokio::io::split(other);
            let numbers = tokio::sync::Mutex::new(first);
            let carrier = Carrier {
                posted: &me,
                name: &name,
                numbers: &numbers,
                credit: &credit,
            };
            tokio::select! {
                () = carrier.sends(read) => {}
                () = carrier.takes(hears, write) => {}
            }
            me.links.lock().remove(&name);
            carrier.say(Kind::End, &[]).await;
        });
    }
}

/// A link that may come to nothing.
struct Opening<'a> {
    links: &'a Mutex<HashMap<Name, Heard>>,
    name: Option<Name>,
}

impl Opening<'_> {
    fn opened(mut self) {
        self.name = None;
    }
}

impl Drop for Opening<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            self.links.lock().remove(name);
        }
    }
}

/// Our end of a link.
struct Ours {
    hears: mpsc::Receiver<(Kind, Bytes)>,
    credit: Arc<Semaphore>,
    other: DuplexStream,
}

/// A link as messages are brought to it.
struct Heard {
    /// The number that comes next.
    due: u64,
    /// When the last one came.
    at: Instant,
    heard: mpsc::Sender<(Kind, Bytes)>,
    /// How much the other end takes.
    credit: Arc<Semaphore>,
}

impl Heard {
    /// The other end takes more; whether it can say so.
    fn may_send(&self, more: &[u8]) -> bool {
        let Ok(more) = <[u8; 4]>::try_from(more) else {
            return false;
        };
        let room = limits::POST_CREDIT.saturating_sub(self.credit.available_permits());
        let more = usize::try_from(u32::from_be_bytes(more)).unwrap_or(usize::MAX);
        self.credit.add_permits(more.min(room));
        true
    }
}

/// One link, while it is carried.
struct Carrier<'a> {
    posted: &'a Posted,
    name: &'a Name,
    /// The number of the next message.
    numbers: &'a tokio::sync::Mutex<u64>,
    /// How much the other end takes.
    credit: &'a Semaphore,
}

impl Carrier<'_> {
    /// Says something; whether it could be sent. One after the other: they are numbered.
    async fn say(&self, kind: Kind, body: &[u8]) -> bool {
        let mut number = self.numbers.lock().await;
        let frame = self.posted.frame(self.name, kind, *number, body);
        *number += 1;
        let (place, post) = (self.posted.place(self.name), &self.posted.post);
        // On a link that was in use a moment ago somebody listens.
        let sent = match self.posted.is_quiet(self.name) {
            true => post.send_noted(&place, frame),
            false => post.send(&place, frame),
        };
        sent.await.is_ok()
    }

    async fn sends(&self, mut read: ReadHalf<DuplexStream>) {
        let mut chunk = vec![0; limits::POST_CHUNK];
        while let Ok(count @ 1..) = read.read(&mut chunk).await {
            let Ok(taken) = self.credit.acquire_many(cost(count)).await else {
                return;
            };
            taken.forget();
            if !self.say(Kind::Data, &chunk[..count]).await {
                return;
            }
        }
    }

    async fn takes(
        &self,
        mut hears: mpsc::Receiver<(Kind, Bytes)>,
        mut write: WriteHalf<DuplexStream>,
    ) {
        let mut owed = 0;
        while let Some((kind, body)) = hears.recv().await {
            match kind {
                Kind::Data => {
                    if write.write_all(&body).await.is_err() {
                        return;
                    }
                    owed += cost(body.len());
                    if owed >= cost(limits::POST_CREDIT / 4) {
                        if !self.say(Kind::Credit, &owed.to_be_bytes()).await {
                            return;
                        }
                        owed = 0;
                    }
                }
                Kind::End | Kind::Open | Kind::Credit => return,
            }
        }
    }
}

/// What a message of so many bytes counts for.
fn cost(count: usize) -> u32 {
    let count = count.max(limits::POST_LEAST);
    u32::try_from(count).unwrap_or(u32::MAX)
}

impl fmt::Debug for Posted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Posted").field(&self.id).finish()
    }
}

#[cfg(test)]
mod tests;
