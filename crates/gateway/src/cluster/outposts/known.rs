//! The outposts that are connected to this replica, and the links that they were asked for.

use super::{
    carrying::Places,
    frames::{FromOutpost, Refused, Said, ToOutpost, Wanted, hear, say},
};
use crate::limits;
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};
use switchboard_local::random;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Notify, mpsc, oneshot},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

/// The outposts that one replica knows.
#[derive(Clone, Default)]
pub(crate) struct Outposts(pub(super) Arc<Shared>);

#[derive(Default)]
pub(super) struct Shared {
    here: Mutex<HashMap<String, Arc<Here>>>,
    /// Links that were asked for and have not come yet.
    wanted: Mutex<HashMap<String, Expected>>,
    /// Told whenever an outpost says something new.
    pub(super) changed: Notify,
    /// Told whenever there may be an outpost for a server that had none.
    offers: Notify,
    pub(super) places: Places,
}

/// Whoever has come as an outpost, as far as that was looked into.
#[derive(Clone, Debug)]
pub(crate) struct Comer {
    pub id: String,
    pub name: String,
    /// Its certificate, as a hash.
    pub fingerprint: String,
}

/// An outpost that is connected.
pub(super) struct Here {
    pub(super) comer: Comer,
    said: Mutex<Said>,
    told: mpsc::Sender<ToOutpost>,
    /// It ends, and takes no more.
    pub(super) ends: CancellationToken,
    /// It is not there any more.
    pub(super) gone: CancellationToken,
    /// Its links to this replica.
    pub(super) links: AtomicUsize,
}

struct Expected {
    from: Comer,
    comes: oneshot::Sender<Result<Arrived, Refused>>,
}

/// A link that has come.
pub(super) struct Arrived {
    pub(super) stream: TokioIo<Upgraded>,
    /// By which place the outpost runs the server, where that is counted.
    pub(super) place: Option<String>,
}

/// Why there is no link.
#[derive(Debug, thiserror::Error)]
pub(super) enum NoLink {
    /// The outpost says no.
    #[error("{}", .0.why)]
    Refused(Refused),
    /// It has gone.
    #[error("it has gone")]
    Gone,
    /// It has too much to do already.
    #[error("too many links are asked for at once")]
    Busy,
    /// It takes too long.
    #[error("it opens none within {:?}", limits::OUTPOST_OPENS)]
    Late,
}

impl Here {
    pub(super) fn said(&self) -> Said {
        self.said.lock().clone()
    }
}

impl Outposts {
    /// Waits until there may be an outpost for a server that had none.
    pub(crate) async fn offer_more(&self) {
        self.0.offers.notified().await;
    }

    /// Those that are connected.
    pub(super) fn all(&self) -> Vec<Arc<Here>> {
        self.0.here.lock().values().cloned().collect()
    }

    /// Listens to an outpost for as long as it is connected.
    pub(crate) async fn attend(&self, comer: Comer, stream: Upgraded) {
        let (read, write) = tokio::io::split(TokioIo::new(stream));
        let (told, tells) = mpsc::channel(limits::OUTPOST_TOLD);
        let here = Arc::new(Here {
            comer: comer.clone(),
            said: Mutex::default(),
            told,
            ends: CancellationToken::new(),
            gone: CancellationToken::new(),
            links: AtomicUsize::new(0),
        });
        {
            let mut all = self.0.here.lock();
            if all.len() >= limits::OUTPOSTS {
                return tracing::warn!(
                    name = comer.name,
                    "there are too many workers: one more is not taken"
                );
            }
            if let Some(before) = all.insert(comer.id.clone(), here.clone()) {
                before.gone.cancel();
            }
        }
        let (name, id) = (&comer.name, &comer.id);
        tracing::info!(name, id, "a worker is there");
        let ended = tokio::select! {
            ended = self.listen(&here, read) => ended,
            ended = tell(tells, write) => ended,
            () = here.gone.cancelled() => Ok(()),
        };
        here.gone.cancel();
        {
            let mut all = self.0.here.lock();
            if all.get(id).is_some_and(|now| Arc::ptr_eq(now, &here)) {
                all.remove(id);
            }
        }
        self.0.changed.notify_waiters();
        let why = ended.err().map(|fault| fault.to_string());
        tracing::info!(name, id, why, "a worker has gone");
    }

    async fn listen(&self, here: &Here, mut read: impl AsyncRead + Unpin) -> io::Result<()> {
        loop {
            match hear(&mut read).await? {
                FromOutpost::Is(said) => {
                    if said.draining {
                        here.ends.cancel();
                    }
                    let before = std::mem::replace(&mut *here.said.lock(), said.clone());
                    if before != said {
                        self.0.changed.notify_waiters();
                    }
                    let before = (before.offers, before.labels, before.hires);
                    if before != (said.offers, said.labels, said.hires) {
                        self.0.offers.notify_one();
                    }
                }
                FromOutpost::Refused(refused) => {
                    if let Some(expected) = self.expected(&refused.link, &here.comer) {
                        let _ = expected.send(Err(refused));
                    }
                }
            }
        }
    }

    /// Whether somebody waits for this link, and asked this outpost for it.
    pub(crate) fn expects(&self, link: &str, comer: &Comer) -> bool {
        let wanted = self.0.wanted.lock();
        let Some(Expected { from, .. }) = wanted.get(link) else {
            return false;
        };
        let is_it = (&from.id, &from.fingerprint) == (&comer.id, &comer.fingerprint);
        if !is_it {
            let (name, asked) = (&comer.name, &from.name);
            tracing::warn!(
                name,
                asked,
                "a worker came for a link that another was asked for: it is refused"
            );
        }
        is_it
    }

    /// Who waits for it.
    fn expected(
        &self,
        link: &str,
        comer: &Comer,
    ) -> Option<oneshot::Sender<Result<Arrived, Refused>>> {
        if !self.expects(link, comer) {
            return None;
        }
        let expected = self.0.wanted.lock().remove(link);
        expected.map(|expected| expected.comes)
    }

    /// A link has come.
    pub(crate) fn arrived(
        &self,
        link: &str,
        comer: &Comer,
        place: Option<String>,
        stream: Upgraded,
    ) {
        if let Some(comes) = self.expected(link, comer) {
            let stream = TokioIo::new(stream);
            let _ = comes.send(Ok(Arrived { stream, place }));
        }
    }

    /// Asks an outpost for a link.
    pub(super) async fn ask(&self, of: &Here, mut wanted: Wanted) -> Result<Arrived, NoLink> {
        wanted.link = random::id().expect("the operating system gives random bytes");
        let (comes, coming) = oneshot::channel();
        let expected = Expected {
            from: of.comer.clone(),
            comes,
        };
        let link = Asked(self, wanted.link.clone());
        {
            let mut all = self.0.wanted.lock();
            if all.len() >= limits::OUTPOSTS {
                return Err(NoLink::Busy);
            }
            all.insert(link.1.clone(), expected);
        }
        let told = of.told.try_send(ToOutpost::Open(wanted));
        told.map_err(|_| NoLink::Busy)?;
        let come = tokio::select! {
            come = timeout(limits::OUTPOST_OPENS, coming) => come,
            () = of.gone.cancelled() => return Err(NoLink::Gone),
        };
        match come {
            Ok(Ok(Ok(arrived))) => Ok(arrived),
            Ok(Ok(Err(refused))) => Err(NoLink::Refused(refused)),
            Ok(Err(_)) => Err(NoLink::Gone),
            Err(_) => Err(NoLink::Late),
        }
    }
}

/// A link that was asked for: forgotten when nobody waits for it any more.
struct Asked<'a>(&'a Outposts, String);

impl Drop for Asked<'_> {
    fn drop(&mut self) {
        self.0.0.wanted.lock().remove(&self.1);
    }
}

/// Tells an outpost what is to be told, and that we are there.
async fn tell(
    mut tells: mpsc::Receiver<ToOutpost>,
    mut write: impl AsyncWrite + Unpin,
) -> io::Result<()> {
    loop {
        let next = timeout(limits::OUTPOST_BEAT, tells.recv()).await;
        match next {
            Ok(Some(next)) => say(&mut write, &next).await?,
            Ok(None) => return Ok(()),
            Err(_) => say(&mut write, &ToOutpost::Beat).await?,
        }
    }
}

/// One of an outpost's links, counted while it is there.
pub(super) struct Counted(pub(super) Arc<Here>);

impl Counted {
    pub(super) fn new(here: Arc<Here>) -> Self {
        here.links.fetch_add(1, Ordering::Relaxed);
        Self(here)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.links.fetch_sub(1, Ordering::Relaxed);
    }
}

impl fmt::Debug for Outposts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Outposts")
    }
}
