//! Who was let in, and what ends that. The two are one value: whatever stays
//! open for a client (a session, a socket, a stream, a call that waits for its
//! client) is made from an [`Admission`] and ends with it.

use crate::{
    door::{ClientToken, Door, Refused, Shown},
    limits,
};
use http::HeaderMap;
use parking_lot::Mutex;
use std::{
    collections::HashMap,
    fmt,
    net::IpAddr,
    sync::{Arc, OnceLock, Weak},
    time::{Duration, Instant, SystemTime},
};
use switchboard_host::{Client, Comers, Host, StillAdmitted};
use switchboard_transport::{Budget, Share};
use tokio_util::sync::CancellationToken;
use url::Url;

/// A principal that was let in, together with what ends that and where what it
/// holds is counted.
#[derive(Clone)]
pub struct Admission {
    kind: Arc<Kind>,
    share: Share,
    /// Where it comes from, where that is a network.
    address: Option<IpAddr>,
}

/// A principal that may come in, if there is room for it.
pub(crate) struct Pass(Kind);

impl Pass {
    /// Who it is.
    pub(crate) fn principal(&self) -> &Arc<str> {
        self.0.principal()
    }

    /// Somebody whom another replica has let in.
    pub(crate) fn by_a_replica(principal: Arc<str>, shutdown: CancellationToken) -> Self {
        Self(Kind::Served {
            principal,
            shutdown,
            is_handed_on: true,
        })
    }

    /// It has come in, and what it holds counts in this share.
    pub(crate) fn admit(self, share: Share, address: Option<IpAddr>) -> Admission {
        Admission {
            kind: Arc::new(self.0),
            share,
            address,
        }
    }
}

enum Kind {
    /// For as long as it is served: nothing else ends it.
    Served {
        principal: Arc<str>,
        shutdown: CancellationToken,
        /// Whether another replica has let it in.
        is_handed_on: bool,
    },
    /// By a client token of ours that may be revoked.
    Token {
        entrance: Arc<Entrance>,
        /// Which of these.
        tokens: Arc<[ClientToken]>,
        index: usize,
        /// When it was shown.
        since: Instant,
        /// Ends when it is revoked. There is none until somebody waits for it.
        leash: OnceLock<CancellationToken>,
    },
    /// By a token of the identity provider, which has an end of its own.
    Signed {
        principal: Arc<str>,
        expires: SystemTime,
        /// What it may do besides being a client.
        roles: Arc<[String]>,
        shutdown: CancellationToken,
    },
}

/// Why an admission is over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// We stop: what is under way may finish.
    Shutdown,
    /// The token was revoked.
    Revoked,
    /// The token has expired.
    Expired,
}

impl Ended {
    /// The same in words.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shutdown => "shutting down",
            Self::Revoked => "the token was revoked",
            Self::Expired => "the token has expired",
        }
    }
}

impl Kind {
    fn principal(&self) -> &Arc<str> {
        match self {
            Self::Served { principal, .. } | Self::Signed { principal, .. } => principal,
            Self::Token { tokens, index, .. } => &tokens[*index].name,
        }
    }
}

impl StillAdmitted for Kind {
    fn over(&self) -> Option<&'static str> {
        let ended = match self {
            Self::Served { .. } => return None,
            Self::Token {
                entrance,
                tokens,
                index,
                since,
                ..
            } => {
                let ClientToken { name, secret } = &tokens[*index];
                // Most requests leave as soon as they have come.
                let is_good = since.elapsed() < limits::JUST_SHOWN
                    || entrance.door.are_current(tokens)
                    || entrance.door.accepts(name, secret);
                (!is_good).then_some(Ended::Revoked)
            }
            Self::Signed { expires, .. } => {
                (*expires <= SystemTime::now()).then_some(Ended::Expired)
            }
        };
        ended.map(Ended::as_str)
    }
}

impl Admission {
    /// For somebody who needs no token: whoever started us, or holds the other
    /// end of a pair in this process.
    pub fn served(
        principal: impl Into<Arc<str>>,
        shutdown: CancellationToken,
        budget: &Budget,
    ) -> Self {
        let principal = principal.into();
        let share = budget.share_of(&principal, false);
        let kind = Arc::new(Kind::Served {
            principal,
            shutdown,
            is_handed_on: false,
        });
        Self {
            kind,
            share,
            address: None,
        }
    }

    /// The client that came in by it, as the servers' side knows it.
    pub(crate) fn admits(&self, client: Client) -> Client {
        let client = client.charged_to(&self.share).coming_from(self.address);
        self.lets_in(&client);
        client
    }

    /// Notes that a client has come in by it once more.
    pub(crate) fn lets_in(&self, client: &Client) {
        if !matches!(&*self.kind, Kind::Served { .. }) {
            client.comes_in_by(self.kind.clone());
        }
    }

    /// Whether another replica has let it in, and hands its requests on.
    pub(crate) fn is_handed_on(&self) -> bool {
        matches!(
            &*self.kind,
            Kind::Served {
                is_handed_on: true,
                ..
            }
        )
    }

    /// On whose behalf.
    pub fn principal(&self) -> &Arc<str> {
        self.kind.principal()
    }

    /// What an identity provider says that it may do besides being a client: words that
    /// mean something to whoever answers under `/api/`.
    pub fn roles(&self) -> &[String] {
        match &*self.kind {
            Kind::Signed { roles, .. } => roles,
            _ => &[],
        }
    }

    /// Where what the principal holds in memory is counted.
    pub fn share(&self) -> &Share {
        &self.share
    }

    /// Waits until it is over.
    pub async fn ended(&self) -> Ended {
        match &*self.kind {
            Kind::Served { shutdown, .. } => {
                shutdown.cancelled().await;
                Ended::Shutdown
            }
            Kind::Token { entrance, .. } => {
                if let Some(leash) = self.leash() {
                    leash.cancelled().await;
                }
                match entrance.shutdown.is_cancelled() {
                    true => Ended::Shutdown,
                    false => Ended::Revoked,
                }
            }
            Kind::Signed {
                expires, shutdown, ..
            } => tokio::select! {
                () = shutdown.cancelled() => Ended::Shutdown,
                () = expiry(*expires) => Ended::Expired,
            },
        }
    }

    /// Waits until it is taken back: revoked or expired. Does not end when we
    /// stop, for what may then still finish.
    pub async fn withdrawn(&self) -> Ended {
        match self.ended().await {
            Ended::Shutdown => std::future::pending().await,
            ended => ended,
        }
    }

    /// Whether its token was revoked. From the first time on that this is asked,
    /// somebody looks.
    pub(crate) fn is_revoked(&self) -> bool {
        let Kind::Token { entrance, .. } = &*self.kind else {
            return false;
        };
        let leash = self.leash();
        !entrance.shutdown.is_cancelled() && leash.is_some_and(CancellationToken::is_cancelled)
    }

    fn leash(&self) -> Option<&CancellationToken> {
        match &*self.kind {
            Kind::Token {
                entrance,
                tokens,
                index,
                leash,
                ..
            } => Some(leash.get_or_init(|| entrance.leash(&tokens[*index]))),
            _ => None,
        }
    }
}

impl fmt::Debug for Admission {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Admission").field(self.principal()).finish()
    }
}

/// Waits until this moment by the clock of the wall.
async fn expiry(at: SystemTime) {
    while let Ok(left) = at.duration_since(SystemTime::now()) {
        // Some more than is left, so that it is over when we look.
        tokio::time::sleep(left.min(limits::CLOCK_LOOK) + Duration::from_millis(1)).await;
    }
}

impl Comers for Entrance {
    fn principals(&self) -> Option<Vec<Arc<str>>> {
        self.door.principals()
    }
}

/// A door that is in use: it lets people in, and knows what ends that.
pub(crate) struct Entrance {
    door: Door,
    shutdown: CancellationToken,
    /// For each client token that has something open: what ends it. There are no
    /// more of them than there were tokens.
    leashes: Mutex<HashMap<(Arc<str>, String), CancellationToken>>,
}

impl Entrance {
    pub(crate) fn new(door: Door, shutdown: CancellationToken) -> Arc<Self> {
        Arc::new(Self {
            door,
            shutdown,
            leashes: Mutex::default(),
        })
    }

    /// Tells the servers' side who can come in.
    pub(crate) fn announce(self: &Arc<Self>, host: &Host) {
        let me: Weak<dyn Comers> = Arc::<Self>::downgrade(self);
        host.serves_all(me);
    }

    /// The door itself.
    pub(crate) fn door(&self) -> &Door {
        &self.door
    }

    /// Lets somebody in who shows a token of ours, or anybody where the door is open.
    pub(crate) fn let_in(self: &Arc<Self>, headers: &HeaderMap) -> Option<Pass> {
        match self.door.shown(headers)? {
            Shown::Live { tokens, index } => Some(Pass(Kind::Token {
                entrance: self.clone(),
                tokens,
                index,
                since: Instant::now(),
                leash: OnceLock::new(),
            })),
            Shown::Fixed(principal) => Some(Pass(Kind::Served {
                principal,
                shutdown: self.shutdown.clone(),
                is_handed_on: false,
            })),
        }
    }

    /// Lets somebody in who shows a token of the identity provider's, or says why
    /// not. `resource` is the endpoint that is asked for, as the client wrote it.
    pub(crate) async fn let_in_signed(
        &self,
        headers: &HeaderMap,
        resource: Option<Url>,
    ) -> Result<Pass, Refused> {
        let signed = self.door.signed(headers, resource).await?;
        Ok(Pass(Kind::Signed {
            principal: signed.principal,
            expires: signed.expires,
            roles: signed.roles,
            shutdown: self.shutdown.clone(),
        }))
    }

    fn leash(&self, token: &ClientToken) -> CancellationToken {
        let key = (token.name.clone(), token.secret.clone());
        let mut leashes = self.leashes.lock();
        leashes
            .entry(key)
            .or_insert_with(|| self.shutdown.child_token())
            .clone()
    }

    /// Ends what those have open whose token is not accepted any more; who they are.
    fn look(&self) -> Vec<Arc<str>> {
        let mut gone = Vec::new();
        self.leashes.lock().retain(|(name, secret), leash| {
            let stays = self.door.accepts(name, secret);
            if !stays {
                leash.cancel();
                gone.push(name.clone());
            }
            stays
        });
        gone
    }

    /// Watches over revoked tokens until it is stopped itself; `tell` is called
    /// after what ended.
    pub(crate) async fn watch(&self, tell: impl Fn()) {
        loop {
            tokio::time::sleep(limits::REVOKED_LOOK).await;
            let gone = self.look();
            for principal in &gone {
                tracing::info!(%principal, "its token was revoked; what it had open has ended");
            }
            if !gone.is_empty() {
                tell();
            }
        }
    }
}
