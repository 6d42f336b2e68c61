//! Several gateways as one: replicas that share a ledger.
//!
//! A session is served by the replica that has it; every other is a way to it. Its id says
//! which replica opened it and proves that this was one of ours, so that most requests find
//! their way without anybody being asked. Where that replica has gone, whoever is asked
//! takes the session over, by compare and set, as it would on one machine.

mod applied;
mod asking;
mod beat;
mod keys;
mod leases;
mod links;
mod news;
mod nodes;
pub(crate) mod outposts;
mod part;
mod posted;
mod records;
mod sign_ins;
mod signed;
mod turns;

pub use applied::{Applied, AppliedBook, ApplyError, Page as AppliedPage, Runs};
pub(crate) use asking::{HERE, REPLICA};
pub use keys::{BadKeys, ClusterKeys};
pub use leases::{Lease, LeaseOf};
pub(crate) use links::{Answered, NoAnswer, Whose};
pub use nodes::Node;
pub use outposts::{Announced, HiredServer, Hires, Hiring, NotRun, Outpost, OutpostParts};
pub use part::{Hire, Part};
pub(crate) use posted::Posted;
pub use records::{Chain as RecordChain, RecordHead, RecordPiece, RecordPlace, Records, Shortened};
pub use sign_ins::SignIns;
pub use signed::{
    ApplyKey, ApplyKeys, Approval, BadApplyKey, Document, NotApplied, Signed, Statement,
    TokenDigest,
};

use crate::{door::WrongTokens, limits, session::seal::Binding};
use aws_lc_rs::digest;
use beat::Beat;
use http::{HeaderMap, HeaderName, Response};
use links::Links;
use news::News;
use nodes::Nodes;
use outposts::{Comer, Outposts, headers};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    fmt, io,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{SystemTime, UNIX_EPOCH},
};
use switchboard_host::FarReach;
use switchboard_ledger::{Ledger, LedgerError, Lives, Others, Post};
use switchboard_local::hex;
use switchboard_transport::{
    dial::{LinkTls, WORKER_NAMES, is_made_out_to},
    http::http1,
};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

/// This replica, and the others.
pub struct Cluster {
    id: String,
    keys: Arc<ClusterKeys>,
    nodes: Arc<Nodes>,
    links: Links,
    tls: LinkTls,
    address: String,
    version: String,
    since: u64,
    /// Where other replicas come in; taken by whoever serves them.
    listener: Mutex<Option<TcpListener>>,
    /// Who has sessions that their ids say another has.
    moved: Mutex<HashMap<String, String>>,
    /// Ids that replicas of ours have made, as was found out once.
    proven: Mutex<HashSet<Box<str>>>,
    draining: AtomicBool,
    /// Fires when others have been told that it is there, or that was tried in vain.
    told: CancellationToken,
    /// How often others may have taken this one for dead.
    lost: AtomicU64,
    /// Ids that nobody here has made.
    forged: AtomicU64,
    /// Tickets likewise.
    forged_tickets: AtomicU64,
    /// The machines that run servers for this replica.
    outposts: Outposts,
    /// Sign-ins, which all replicas have.
    sign_ins: SignIns,
    /// What was applied to all replicas.
    applied: Applied,
    /// What replicas have recorded.
    records: Records,
    /// The way through NATS, where replicas cannot dial each other.
    posted: Option<Arc<Posted>>,
    /// Wrong tokens, here and elsewhere.
    wrong_tokens: Arc<WrongTokens>,
    /// Whether no session begins that would end with this replica.
    strict: bool,
    /// Whether something that all replicas have has changed.
    news: News,
}

/// What a replica is made of.
pub struct ClusterParts {
    /// What all replicas share.
    pub ledger: Arc<dyn Ledger>,
    /// The way to replicas that cannot be dialled, where there is one.
    pub post: Option<Arc<dyn Post>>,
    /// The keys of the cluster.
    pub keys: ClusterKeys,
    /// By what replicas know each other.
    pub tls: LinkTls,
    /// Where others come in.
    pub listener: TcpListener,
    /// Where they find that, if it is elsewhere for them.
    pub advertised: Option<String>,
    /// What its id begins with, so that others can tell its sessions from theirs.
    pub name: Option<String>,
    /// The version of the program.
    pub version: String,
    /// Who may apply something to all replicas; without them nothing is followed.
    pub signers: Option<ApplyKeys>,
    /// What it followed before, as it was kept.
    pub followed: Vec<Vec<u8>>,
    /// Whether no session begins that would end with this replica.
    pub strict: bool,
}

/// Who belongs to a cluster, by their ids.
#[derive(Clone, Debug, Default)]
pub struct Looked {
    /// The replicas.
    pub replicas: Vec<(String, Node)>,
    /// The outposts.
    pub outposts: Vec<(String, Announced)>,
    /// What one of them does alone.
    pub leases: Vec<Lease>,
}

impl Cluster {
    /// A new replica. Nobody hears of it before it is served.
    ///
    /// # Errors
    /// When the system has no random numbers, or the listener no address.
    pub fn new(parts: ClusterParts) -> io::Result<Arc<Self>> {
        let at: SocketAddr = parts.listener.local_addr()?;
        let keys = Arc::new(parts.keys);
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let id = keys::replica(parts.name.as_deref())?;
        let posted = parts.post.map(|post| Posted::new(post, keys.clone(), &id));
        Ok(Arc::new(Self {
            sign_ins: SignIns::new(parts.ledger.clone(), keys.clone(), &id),
            records: Records::new(parts.ledger.clone(), keys.clone(), &id),
            news: News::new(parts.ledger.clone()),
            applied: Applied::new(
                Part::Replicas,
                parts.ledger.clone(),
                keys.clone(),
                parts.signers,
                &parts.followed,
            ),
            wrong_tokens: Arc::default(),
            strict: parts.strict,
            id,
            nodes: Arc::new(Nodes::new(parts.ledger, keys.clone())),
            keys,
            links: Links::new(parts.tls.clone(), posted.clone()),
            posted,
            tls: parts.tls,
            address: parts.advertised.unwrap_or_else(|| at.to_string()),
            version: parts.version,
            since: since.map_or(0, |since| since.as_secs()),
            listener: Mutex::new(Some(parts.listener)),
            moved: Mutex::default(),
            proven: Mutex::default(),
            draining: AtomicBool::new(false),
            told: CancellationToken::new(),
            lost: AtomicU64::new(0),
            forged: AtomicU64::new(0),
            forged_tickets: AtomicU64::new(0),
            outposts: Outposts::default(),
        }))
    }

    /// The replicas and outposts that a ledger knows, for whoever is none of them.
    ///
    /// # Errors
    /// When it cannot be read.
    pub async fn survey(
        ledger: Arc<dyn Ledger>,
        keys: &Arc<ClusterKeys>,
    ) -> Result<Looked, LedgerError> {
        let nodes = Nodes::new(ledger.clone(), keys.clone());
        nodes.look().await?;
        let mut replicas = nodes.all();
        replicas.sort_by(|one, other| one.0.cmp(&other.0));
        Ok(Looked {
            replicas,
            outposts: Announced::look(&ledger, keys).await?,
            leases: Lease::look(&ledger, keys).await?,
        })
    }

    /// Who lives, as far as this replica knows.
    pub fn lives(&self) -> Lives {
        Lives::among(&self.id, self.nodes.clone())
    }

    /// Its id.
    pub fn id(&self) -> &str {
        &self.id
    }

    /// Where other replicas come in.
    pub(crate) fn listener(&self) -> Option<TcpListener> {
        self.listener.lock().take()
    }

    /// The sign-ins that all replicas have.
    pub fn sign_ins(&self) -> &SignIns {
        &self.sign_ins
    }

    /// What was applied to all replicas.
    pub fn applied(&self) -> &Applied {
        &self.applied
    }

    /// What replicas have recorded.
    pub fn records(&self) -> &Records {
        &self.records
    }

    /// Wrong tokens, counted over all replicas.
    pub fn wrong_tokens(&self) -> &Arc<WrongTokens> {
        &self.wrong_tokens
    }

    /// Whether no session begins that would end with this replica.
    pub(crate) fn is_strict(&self) -> bool {
        self.strict
    }

    /// The way to servers of outposts.
    pub fn way(&self) -> Arc<dyn FarReach> {
        Arc::new(self.outposts.clone())
    }

    pub(crate) fn outposts(&self) -> &Outposts {
        &self.outposts
    }

    /// Who has come as an outpost, if that is so: its certificate is made out to the name
    /// that it says, and it has the cluster's key.
    pub(crate) fn outpost(&self, headers: &HeaderMap, certificate: &[u8]) -> Option<Comer> {
        let text = |name: &HeaderName| headers.get(name)?.to_str().ok();
        let (name, id) = (text(&headers::NAME)?, text(&headers::ID)?);
        let proof = text(&headers::PROOF)?;
        let fingerprint = fingerprint(certificate);
        let own = self::fingerprint(self.tls.own());
        let claim = outposts::claim(name, id, &fingerprint, &own);
        let is_it = is_made_out_to(certificate, &format!("{name}.{WORKER_NAMES}"))
            && self.keys.is_vouched_for(&claim, proof);
        is_it.then(|| Comer {
            // Whatever it says, it is no other worker's.
            id: format!("{name} {id}"),
            name: name.to_owned(),
            fingerprint,
        })
    }

    pub(crate) fn tls(&self) -> &LinkTls {
        &self.tls
    }

    /// An id for a new session of ours.
    pub(crate) fn new_session(&self) -> String {
        self.keys.session(&self.id)
    }

    /// Seals what a client holds for all replicas.
    pub(crate) fn wrap(&self, content: &[u8], binding: &Binding) -> Option<String> {
        self.keys.wrap(content, binding)
    }

    /// Opens it again.
    pub(crate) fn unwrap(&self, sealed: &str, binding: &Binding) -> Option<Vec<u8>> {
        self.keys.unwrap(sealed, binding)
    }

    /// The replica that opened a session; none where no replica of ours did.
    pub(crate) fn first_owner<'a>(&self, session: &'a str) -> Option<&'a str> {
        if self.proven.lock().contains(session) {
            return keys::named(session);
        }
        let owner = self.keys.owner(session);
        if owner.is_some() {
            let mut proven = self.proven.lock();
            if proven.len() >= limits::PROVEN {
                proven.clear();
            }
            proven.insert(session.into());
        }
        // Ids of a gateway that was alone are no attempt at anything, and one line says it.
        if owner.is_none() && is_to_be_told(&self.forged) {
            tracing::warn!("a session id was not made by this cluster: it is refused");
        }
        owner
    }

    /// What a client holds for a call that waits here.
    pub(crate) fn ticket(&self, sealed: &str) -> String {
        self.keys.ticket(&self.id, sealed)
    }

    /// The replica at which the call of a ticket waits; none where no replica of ours has
    /// made it, so that nobody is looked for because a client has made one up.
    pub(crate) fn waits_at<'a>(&self, ticket: &'a str) -> Option<&'a str> {
        let replica = self.keys.waits_at(ticket);
        if replica.is_none() && is_to_be_told(&self.forged_tickets) {
            tracing::warn!("a ticket was not made by this cluster: it is refused");
        }
        replica
    }

    /// The replica that has a session, as far as that is known.
    pub(crate) fn owner(&self, session: &str) -> Option<String> {
        let first = self.first_owner(session)?;
        let moved = self.moved.lock().get(session).cloned();
        Some(moved.unwrap_or_else(|| first.to_owned()))
    }

    /// Remembers who has a session.
    pub(crate) fn moved(&self, session: &str, owner: &str) {
        let mut moved = self.moved.lock();
        if moved.len() >= limits::MOVED {
            moved.clear();
        }
        moved.insert(session.to_owned(), owner.to_owned());
    }

    /// Asks the replica that has a session, where it can be asked. One that is paused, or whose
    /// machine has gone, never says so: see [`gone`](Self::gone).
    pub(crate) async fn ask(
        &self,
        owner: &str,
        whose: &Whose<'_>,
        request: &http1::Request<'_>,
    ) -> Result<Response<Answered>, NoAnswer> {
        let node = self.nodes.get(owner);
        // One that is known to be dead is not waited for, although what it said has not
        // ended yet.
        let node = node.filter(|node| !node.draining && self.nodes.is_alive(owner));
        let node = node.ok_or(NoAnswer::Unreachable)?;
        let asked = self.links.ask(owner, &node, Some(whose), request).await;
        if matches!(asked, Err(NoAnswer::Refused)) {
            self.nodes.refused(owner);
        }
        asked
    }

    /// Whether a replica is there: looked for now, since it may just have come. It alone is,
    /// so that this costs no more the more replicas there are.
    pub(crate) async fn finds(&self, owner: &str) -> bool {
        self.nodes.lives_now(owner).await.is_ok() && self.nodes.get(owner).is_some()
    }

    /// Waits until a replica has gone.
    pub(crate) fn gone(&self, owner: &str) -> impl Future<Output = ()> + Send + use<> {
        gone(self.nodes.clone(), owner.to_owned())
    }

    /// Whether what replicas share can be reached.
    pub(crate) fn is_reached(&self) -> bool {
        self.nodes.is_reached()
    }

    /// Whether it gives its sessions away.
    pub(crate) fn is_draining(&self) -> bool {
        self.draining.load(Ordering::Relaxed)
    }

    /// It gives its sessions away from now on. Returns when others have heard of it, so
    /// that nobody asks it any more.
    pub(crate) async fn drains(&self) {
        self.draining.store(true, Ordering::Relaxed);
        let others = self.nodes.all();
        if others.iter().any(|(id, _)| *id != self.id) {
            tokio::time::sleep(limits::DRAIN_TOLD).await;
        }
    }

    /// How often others may have taken this one for dead.
    pub(crate) fn lost(&self) -> u64 {
        self.lost.load(Ordering::Relaxed)
    }

    /// Says that it is there, looks who else is and what has changed that all have, until
    /// it is stopped itself.
    pub(crate) async fn keep(&self, sessions: impl Fn() -> usize) {
        let posted = async {
            if let Some(posted) = &self.posted {
                posted.keep().await;
            }
        };
        let known = self.keep_known(sessions);
        tokio::join!(known, self.keep_asking(), self.keep_told(), posted);
    }

    /// Links that others have begun through NATS, where that is a way.
    pub(crate) fn posted(&self) -> Option<&Arc<Posted>> {
        self.posted.as_ref()
    }

    async fn keep_told(&self) {
        let mut seen = None;
        loop {
            // What could not be looked at is looked at again.
            if let Some(due) = self.news.due(seen.as_ref()).await
                && self.look().await.is_ok()
            {
                seen = Some(due);
            }
            tokio::time::sleep(limits::NEWS_LOOK).await;
        }
    }

    /// Looks at what all replicas have.
    async fn look(&self) -> Result<(), LedgerError> {
        let (sign_ins, applied) = tokio::join!(self.sign_ins.look(), self.applied.look());
        sign_ins.and(applied)
    }

    /// Waits until others can know that it is there, where they can be told: a session that
    /// is opened before that would be that of somebody who has gone.
    pub(crate) async fn is_known(&self) {
        let _ = tokio::time::timeout(limits::NODE_TOLD, self.told.cancelled()).await;
    }

    async fn keep_known(&self, sessions: impl Fn() -> usize) {
        let mut beat = Beat::default();
        loop {
            beat.say(self, &sessions).await;
            self.told.cancel();
            if self.nodes.look().await.is_ok() {
                self.links.retain(|id| self.nodes.get(id).is_some());
                if let Some(posted) = &self.posted {
                    posted.retain(|id| self.nodes.is_alive(id));
                }
                let others = self
                    .nodes
                    .all()
                    .into_iter()
                    .filter(|(id, _)| *id != self.id);
                let guesses = others.map(|(_, node)| node.guesses);
                self.wrong_tokens
                    .elsewhere(guesses.fold(0, u32::saturating_add));
            }
            tokio::time::sleep(limits::NODES_LOOK).await;
        }
    }

    /// It has gone.
    pub(crate) async fn leave(&self) {
        let leaving = self.nodes.forget(&self.id);
        let _ = tokio::time::timeout(limits::LINK_CONNECT, leaving).await;
    }
}

async fn gone(nodes: Arc<Nodes>, owner: String) {
    while nodes.is_alive(&owner) {
        tokio::time::sleep(limits::NODES_LOOK).await;
    }
}

/// Of what nobody here has made, one in so many is told of.
fn is_to_be_told(seen: &AtomicU64) -> bool {
    let before = seen.fetch_add(1, Ordering::Relaxed);
    before.is_multiple_of(limits::FORGED_TOLD)
}

/// A certificate as a hash.
fn fingerprint(certificate: &[u8]) -> String {
    hex(digest::digest(&digest::SHA256, certificate))
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Cluster").field(&self.id).finish()
    }
}
