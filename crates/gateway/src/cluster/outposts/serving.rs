//! The outpost's end: it stays connected to every replica, and serves each link that one
//! of them asks for as it would serve a client.

use super::{
    frames::{FromOutpost, Refused, Said, ToOutpost, Wanted, hear, say},
    hiring::{HiredServer, Hires, NotHired},
    link::{NoWay, Pass},
    places::{Fenced, Holder, InUse, NoRight, Rights},
};
use crate::{
    admission::Admission,
    cluster::{
        applied::Applied,
        keys::{self, ClusterKeys},
        nodes::{Node, Nodes},
        part::Part,
        signed::ApplyKeys,
    },
    faces::{conversation::ClientTerms, stdio},
    gateway::Gateway,
    limits,
};
use std::{
    collections::{BTreeMap, HashMap},
    fmt, io,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Instant,
};
use switchboard_host::{Scope, Server, Target};
use switchboard_ledger::Ledger;
use switchboard_tasks as tasks;
use switchboard_transport::{dial::LinkTls, stdio::Lines};
use switchboard_wire::limits::MESSAGE_BYTES;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    sync::{Notify, mpsc},
    task::JoinHandle,
};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

/// What an outpost is made of.
pub struct OutpostParts {
    /// What replicas and outposts share.
    pub ledger: Arc<dyn Ledger>,
    /// The keys of the cluster.
    pub keys: ClusterKeys,
    /// Its certificate, made out to its name.
    pub tls: LinkTls,
    /// Its name.
    pub name: String,
    /// The version of the program.
    pub version: String,
    /// What it is like.
    pub labels: BTreeMap<String, String>,
    /// How many links it takes.
    pub room: usize,
    /// Which of its servers it offers; all of them where none is named.
    pub offers: Vec<String>,
    /// Whose signatures count of what outposts are to run; without them it runs nothing but
    /// its own.
    pub signers: Option<ApplyKeys>,
    /// What it followed before, as it was kept.
    pub followed: Vec<Vec<u8>>,
    /// How many of those servers it has in use at a time.
    pub hire_room: usize,
}

/// A machine that runs servers for replicas.
pub struct Outpost {
    pub(super) pass: Pass,
    pub(super) ledger: Arc<dyn Ledger>,
    nodes: Nodes,
    pub(super) rights: Rights,
    labels: BTreeMap<String, String>,
    room: usize,
    offers: Vec<String>,
    /// What was signed for outposts, and what it makes of it.
    applied: Applied,
    hires: Arc<Hires>,
    pub(super) version: String,
    links: AtomicUsize,
    draining: AtomicBool,
    /// Told when replicas are to hear something new at once.
    news: Notify,
    /// What is under way on links may finish, and nothing new begins.
    ends: CancellationToken,
    tasks: TaskTracker,
}

impl Outpost {
    /// A new outpost. Nobody hears of it before it serves.
    ///
    /// # Errors
    /// When the system has no random numbers.
    pub fn new(parts: OutpostParts) -> io::Result<Arc<Self>> {
        let keys = Arc::new(parts.keys);
        let id = keys::replica(Some(&parts.name))?;
        let holder = Holder {
            id: id.clone(),
            name: parts.name.clone(),
        };
        Ok(Arc::new(Self {
            applied: Applied::new(
                Part::Outposts,
                parts.ledger.clone(),
                keys.clone(),
                parts.signers,
                &parts.followed,
            ),
            hires: Arc::new(Hires::new(parts.hire_room)),
            nodes: Nodes::new(parts.ledger.clone(), keys.clone()),
            rights: Rights::new(parts.ledger.clone(), keys.clone(), holder),
            ledger: parts.ledger,
            pass: Pass {
                id,
                name: parts.name,
                keys,
                tls: parts.tls,
            },
            labels: parts.labels,
            room: parts.room,
            offers: parts.offers,
            version: parts.version,
            links: AtomicUsize::new(0),
            draining: AtomicBool::new(false),
            news: Notify::new(),
            ends: CancellationToken::new(),
            tasks: TaskTracker::new(),
        }))
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.pass.id
    }

    /// What was signed for outposts.
    pub fn applied(&self) -> &Applied {
        &self.applied
    }

    /// What of it runs here.
    pub fn hires(&self) -> &Hires {
        &self.hires
    }

    /// What it hires out is something else now: replicas hear of it at once.
    pub fn hires_now(&self, all: Vec<HiredServer>) {
        self.hires.set(all);
        self.news.notify_waiters();
    }

    /// Serves replicas until it is told to stop; then what is under way may finish.
    pub async fn serve(self: &Arc<Self>, gateway: Arc<Gateway>, stop: CancellationToken) {
        let upkeep = [self.announces(&gateway), self.keeps_rights(&gateway)];
        let mut attended: HashMap<String, JoinHandle<()>> = HashMap::new();
        while !stop.is_cancelled() {
            if self.nodes.look().await.is_ok() {
                attended.retain(|_, attending| !attending.is_finished());
                for (id, _) in self.nodes.all() {
                    let (me, gateway, replica) = (self.clone(), gateway.clone(), id.clone());
                    let attends = || {
                        tasks::spawn(tasks::Kind::Upkeep, async move {
                            me.attends(&replica, gateway).await;
                        })
                    };
                    attended.entry(id).or_insert_with(attends);
                }
            }
            if let Err(fault) = self.applied.look().await {
                tracing::debug!(%fault, "it cannot be looked what workers are to run");
            }
            let look = tokio::time::sleep(limits::NODES_LOOK);
            stop.run_until_cancelled(look).await;
        }
        self.drains().await;
        for task in upkeep.into_iter().chain(attended.into_values()) {
            task.abort();
        }
        self.rights.end().await;
        self.forgets(&gateway).await;
    }

    /// Takes no more, and waits for what is under way.
    async fn drains(&self) {
        self.draining.store(true, Ordering::Relaxed);
        self.news.notify_waiters();
        // Replicas end their links as soon as nothing is under way on them.
        let begun = Instant::now();
        while self.links.load(Ordering::Relaxed) > 0 && begun.elapsed() < limits::DRAIN {
            tokio::time::sleep(limits::OUTPOST_LOOK).await;
        }
        self.ends.cancel();
        self.tasks.close();
        let ending = limits::DRAIN + limits::LAST_WRITE;
        let _ = tokio::time::timeout(ending, self.tasks.wait()).await;
    }

    /// Stays connected to a replica for as long as it is there.
    async fn attends(self: Arc<Self>, replica: &str, gateway: Arc<Gateway>) {
        let mut was_told = false;
        while let Some(node) = self.nodes.get(replica) {
            match self.pass.attend(&node).await {
                Ok(stream) => {
                    was_told = false;
                    tracing::info!(replica, "connected to a replica");
                    let (read, write) = tokio::io::split(stream);
                    let (refuses, refused) = mpsc::channel(limits::OUTPOST_TOLD);
                    let ended = tokio::select! {
                        ended = self.tells(&gateway, refused, write) => ended,
                        ended = self.hears(&gateway, &node, &refuses, read) => ended,
                    };
                    let why = ended.err().map(|fault| fault.to_string());
                    tracing::info!(replica, why, "the connection to a replica has ended");
                }
                Err(why) if !was_told => {
                    was_told = true;
                    tracing::warn!(replica, %why, "a replica does not take this worker");
                }
                Err(_) => {}
            }
            tokio::time::sleep(limits::OUTPOST_AGAIN).await;
        }
    }

    /// Tells a replica how it is doing, and which links there will not be.
    async fn tells(
        &self,
        gateway: &Gateway,
        mut refused: mpsc::Receiver<Refused>,
        mut write: impl AsyncWrite + Unpin,
    ) -> io::Result<()> {
        loop {
            let news = self.news.notified();
            say(&mut write, &FromOutpost::Is(self.said(gateway))).await?;
            tokio::select! {
                Some(refused) = refused.recv() => {
                    say(&mut write, &FromOutpost::Refused(refused)).await?;
                }
                () = news => {}
                () = tokio::time::sleep(limits::OUTPOST_BEAT) => {}
            }
        }
    }

    async fn hears(
        self: &Arc<Self>,
        gateway: &Arc<Gateway>,
        node: &Node,
        refuses: &mpsc::Sender<Refused>,
        mut read: impl AsyncRead + Unpin,
    ) -> io::Result<()> {
        loop {
            let wanted = match hear(&mut read).await? {
                ToOutpost::Beat => continue,
                ToOutpost::Open(wanted) => wanted,
            };
            let (me, gateway) = (self.clone(), gateway.clone());
            let (node, refuses) = (node.clone(), refuses.clone());
            tasks::spawn_in(&self.tasks, tasks::Kind::Connection, async move {
                let (link, server) = (wanted.link.clone(), wanted.server.clone());
                if let Err(no) = me.opens(gateway, &node, wanted).await {
                    tracing::info!(server, why = %no, "a replica asked for a link in vain");
                    let _ = refuses.try_send(no.told(link));
                }
            });
        }
    }

    /// Serves one link, to its end.
    async fn opens(
        &self,
        gateway: Arc<Gateway>,
        node: &Node,
        wanted: Wanted,
    ) -> Result<(), NotOpened> {
        let (server, hired) = match &wanted.what {
            Some(what) => {
                let asked = (&*wanted.server, &**what);
                let hired = self.hires.take(asked, gateway.host())?;
                (hired.server.clone(), Some(hired))
            }
            None => {
                let server = self.offered(&gateway, &wanted.server);
                (server.ok_or(NotOpened::Unknown)?, None)
            }
        };
        if self.draining.load(Ordering::Relaxed) {
            return Err(NotOpened::Ends);
        }
        let _link = Link::one_more(self).ok_or(NotOpened::Full)?;
        let right = match wanted.copies {
            Some(copies) => Some(self.rights.take(&wanted.server, copies).await?),
            None => None,
        };
        let place = right.as_ref().map(|right| right.right().place());
        let stream = self.pass.bring(node, &wanted.link, place).await?;
        let (name, principal) = (&wanted.server, &wanted.principal);
        tracing::debug!(server = name, principal, "serves a replica");
        let lost = right.as_ref().map(|right| right.right().lost.clone());
        let stream = Fenced {
            stream,
            right: right.as_ref().map(InUse::right).cloned(),
        };
        let withdrawn = hired.as_ref().map(|hired| hired.over.clone());
        let serving = async {
            match withdrawn {
                Some(_) => self.converses_apart(gateway, server, &wanted, stream).await,
                None => self.converses(gateway, server, &wanted, stream).await,
            }
        };
        let ended = tokio::select! {
            ended = serving => ended,
            () = over(lost.as_ref()) => Err(io::Error::other("another worker may run it by now")),
            () = over(withdrawn.as_ref()) => Err(io::Error::other("it is not what is to run any more")),
        };
        if let Err(fault) = ended {
            tracing::debug!(server = name, %fault, "a replica's link ended badly");
        }
        Ok(())
    }

    /// The same where it may be ended from outside: whatever of the conversation is still under way
    /// then, the replica's connection is not held by it, and ends at once.
    async fn converses_apart(
        &self,
        gateway: Arc<Gateway>,
        server: Arc<Server>,
        wanted: &Wanted,
        mut stream: impl AsyncRead + AsyncWrite + Send + Unpin,
    ) -> io::Result<()> {
        let (inner, mut outer) = tokio::io::duplex(limits::OUTPOST_PIPE);
        let conversing = self.converses(gateway, server, wanted, inner);
        let carrying = tokio::io::copy_bidirectional(&mut outer, &mut stream);
        tokio::try_join!(conversing, carrying).map(drop)
    }

    async fn converses(
        &self,
        gateway: Arc<Gateway>,
        server: Arc<Server>,
        wanted: &Wanted,
        stream: impl AsyncRead + AsyncWrite + Send + Unpin + 'static,
    ) -> io::Result<()> {
        let host = gateway.host();
        let principal: Arc<str> = wanted.principal.as_str().into();
        let admission = Admission::served(principal, self.ends.clone(), host.budget());
        host.serves(admission.principal());
        let (read, write) = tokio::io::split(stream);
        let lines = Lines::charged(read, MESSAGE_BYTES, admission.share());
        let terms = ClientTerms {
            scope: Scope::One(server),
            admission,
            own_servers: wanted.alone,
            shared_credential: false,
            modern: true,
            announcement: None,
        };
        stdio::serve_client(gateway, terms, lines, write, None).await
    }

    /// The server of this name, if it is offered.
    fn offered(&self, gateway: &Gateway, name: &str) -> Option<Arc<Server>> {
        let servers = gateway.host().servers();
        let server = servers.named(name)?;
        self.offers(server).then(|| server.clone())
    }

    /// What another outpost runs is not this one's to offer, nor is what was signed.
    fn offers(&self, server: &Arc<Server>) -> bool {
        let is_named = self.offers.iter().any(|name| **name == **server.name());
        let is_own = !matches!(server.spec.target, Target::Far(_)) && !self.hires.has(server);
        (self.offers.is_empty() || is_named) && is_own
    }

    pub(super) fn said(&self, gateway: &Gateway) -> Said {
        let servers = gateway.host().servers();
        let offered = servers.iter().filter(|server| self.offers(server));
        Said {
            offers: offered.map(|server| server.name().to_string()).collect(),
            labels: self.labels.clone(),
            links: self.links.load(Ordering::Relaxed),
            room: self.room,
            draining: self.draining.load(Ordering::Relaxed),
            hires: self.hires.said(gateway.host()),
            applied: self.applied.version(),
        }
    }
}

/// Waits until something is over, where it can be.
async fn over(ends: Option<&CancellationToken>) {
    match ends {
        Some(ends) => ends.cancelled().await,
        None => std::future::pending().await,
    }
}

/// One of the links that there may be.
struct Link<'a>(&'a Outpost);

impl<'a> Link<'a> {
    fn one_more(of: &'a Outpost) -> Option<Self> {
        let more = |links: usize| (links < of.room).then_some(links + 1);
        let order = Ordering::Relaxed;
        of.links.fetch_update(order, order, more).ok()?;
        Some(Self(of))
    }
}

impl Drop for Link<'_> {
    fn drop(&mut self) {
        self.0.links.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Why a link is not opened.
#[derive(Debug, thiserror::Error)]
enum NotOpened {
    #[error("it offers no such server")]
    Unknown,
    #[error(transparent)]
    Hired(#[from] NotHired),
    #[error("it has no room for another link")]
    Full,
    #[error("it ends")]
    Ends,
    #[error(transparent)]
    Place(#[from] NoRight),
    #[error(transparent)]
    Way(#[from] NoWay),
}

impl NotOpened {
    fn told(self, link: String) -> Refused {
        let why = self.to_string();
        let run_by = match self {
            Self::Place(NoRight::Taken(by)) => by,
            _ => Vec::new(),
        };
        Refused { link, why, run_by }
    }
}

impl fmt::Debug for Outpost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Outpost").field(&self.pass.id).finish()
    }
}
