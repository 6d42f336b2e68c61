//! Making a connection: which era and which way of carrying messages the server
//! has, and the handshake. Who shares a connection is in `slots.rs`; when one is
//! made, and made again, in `attempt.rs`.

use super::{
    connection::{Connection, Ended, Reports},
    discover::{self, Found},
    far::{FarAsk, FarEnd, FarOwner},
    initialize,
    knowledge::other,
    link::{self, Carrier},
    server::{Server, legacy_revision},
    slot::ConnectError,
    slots::Key,
    spec::{StandIn, Target},
};
use crate::{
    catalog::{List, Listing},
    client::Client,
    error::CallError,
    exchange::Outcome,
    limits,
};
use std::{ops::Deref, path::Path, sync::Arc, time::Duration};
use switchboard_tasks as tasks;
use switchboard_transport::Undelivered;
use switchboard_wire::{Era, Method, Revision};
use tokio::time::timeout;
use tokio_util::task::TaskTracker;

impl Server {
    pub(super) async fn connect(
        &self,
        key: &Key,
        client: &Arc<Client>,
    ) -> Result<Arc<Connection>, ConnectError> {
        let wanted = key.era;
        if wanted == Era::Legacy && self.stand_ins().serve(&key.owner) && self.is_modern_alone() {
            return Err(ConnectError::NeedsAuth(Undelivered::NeedsAuth {
                status: 401,
                challenge: None,
            }));
        }
        if self.spec.era.is_some_and(|era| era != wanted) {
            return Err(ConnectError::WrongEra(self.spec.era.unwrap_or(wanted)));
        }
        if self.known().lacks(wanted) {
            return Err(ConnectError::WrongEra(other(wanted)));
        }
        let result = match wanted {
            Era::Legacy => self.connect_legacy(key, client).await,
            Era::Modern => self.connect_modern(key).await,
        };
        match &result {
            Ok(_) => self.known().note_has(wanted),
            Err(ConnectError::WrongEra(_)) => self.known().note_lacks(wanted),
            Err(_) => {}
        }
        if let Ok(connection) = &result {
            let written = self
                .guard()
                .and_then(|guard| guard.judge_hello(self, connection));
            if let Some(written) = written {
                written.done().await;
            }
            let hello = connection.hello().cloned();
            connection.catalogs().set_hello(wanted, hello);
            self.known().note_first_lists(connection.catalogs());
            self.remember();
        }
        result
    }

    async fn connect_legacy(
        &self,
        key: &Key,
        client: &Arc<Client>,
    ) -> Result<Arc<Connection>, ConnectError> {
        let carrier = self.known().carrier();
        let (mut connection, mut outcome) = self.greet(key, client, carrier).await?;
        if carrier == Carrier::Streamable
            && takes_no_post(&outcome)
            && matches!(self.spec.target, Target::Http(_))
        {
            // Older servers have their stream at the address, and take messages elsewhere.
            let (older, answer) = self.greet(key, client, Carrier::Sse).await?;
            if matches!(answer, Outcome::Reply(_)) {
                tracing::debug!(server = %self.spec.name, "speaks HTTP+SSE");
                self.known().note_sse();
                connection.close().await;
                (connection, outcome) = (older, answer);
            } else {
                older.close().await;
            }
        } else if carrier == Carrier::Sse && !matches!(outcome, Outcome::Reply(_)) {
            self.known().doubt_sse();
        }
        match initialize::complete(&connection, outcome) {
            Ok(_) => {
                connection.attach(client);
                Ok(connection.met())
            }
            Err(ConnectError::Refused(text)) if self.is_modern(key).await => {
                connection.close().await;
                tracing::debug!(server = %self.spec.name, text, "speaks only the modern era");
                Err(ConnectError::WrongEra(Era::Modern))
            }
            Err(error) => Err(self.give_up(&connection, error).await),
        }
    }

    /// Opens a connection and sends `initialize` on it.
    async fn greet(
        &self,
        key: &Key,
        client: &Arc<Client>,
        carrier: Carrier,
    ) -> Result<(Unmet, Outcome), ConnectError> {
        let revision = match (self.spec.target.is_remote(), client.exclusive) {
            (true, _) | (_, true) => key.revision.unwrap_or_else(|| legacy_revision(client)),
            _ => Revision::NEWEST_LEGACY,
        };
        let connection = self.open_over(key, carrier)?;
        let is_its_own = key.owner.is_one() || client.alone;
        let exclusive = is_its_own.then_some(client.as_ref());
        let outcome = initialize::initialize(&connection, exclusive, revision)?
            .outcome()
            .await;
        Ok((connection, outcome))
    }

    async fn connect_modern(&self, key: &Key) -> Result<Arc<Connection>, ConnectError> {
        let connection = self.open(key)?;
        let mut found = probe(&connection).await;
        if matches!(found, Ok(Found::Again)) {
            found = probe(&connection).await;
        }
        match found {
            Ok(Found::Modern) => Ok(connection.met()),
            Ok(Found::Legacy) => {
                connection.close().await;
                Err(ConnectError::WrongEra(Era::Legacy))
            }
            Ok(Found::Again) => {
                let text = format!(
                    "the server refuses version {} and names it as supported",
                    Revision::NEWEST
                );
                Err(self.give_up(&connection, ConnectError::Failed(text)).await)
            }
            Err(error) => Err(self.give_up(&connection, error).await),
        }
    }

    /// Whether a server that refused `initialize` answers `server/discover`.
    async fn is_modern(&self, key: &Key) -> bool {
        let key = Key {
            era: Era::Modern,
            revision: None,
            ..key.clone()
        };
        match self.connect_modern(&key).await {
            Ok(connection) => {
                self.known().note_has(Era::Modern);
                connection.close().await;
                true
            }
            Err(_) => false,
        }
    }

    /// Connects to what stands in while the server wants a sign-in. It speaks the
    /// handshake era; clients of the other one reach it over the bridge.
    pub(super) async fn stand_in(
        &self,
        key: &Key,
        client: &Arc<Client>,
        stand_in: &StandIn,
    ) -> Result<Arc<Connection>, ConnectError> {
        if key.era == Era::Modern {
            return Err(ConnectError::WrongEra(Era::Legacy));
        }
        let exclusive = key.owner.is_one().then_some(client.as_ref());
        let connection = self.connection_to(key, true);
        link::open_stand_in(stand_in, self.lets_sign_in(), &connection);
        let connection = self.unmet(connection);
        let revision = key.revision.unwrap_or_else(|| legacy_revision(client));
        let outcome = initialize::initialize(&connection, exclusive, revision)?
            .outcome()
            .await;
        initialize::complete(&connection, outcome)?;
        connection.attach(client);
        Ok(connection.met())
    }

    /// Whether it is known not to have the handshake era.
    fn is_modern_alone(&self) -> bool {
        self.spec.era == Some(Era::Modern) || self.known().lacks(Era::Legacy)
    }

    fn open(&self, key: &Key) -> Result<Unmet, ConnectError> {
        self.open_over(key, Carrier::Streamable)
    }

    fn open_over(&self, key: &Key, carrier: Carrier) -> Result<Unmet, ConnectError> {
        let connection = self.connection_to(key, false);
        self.health().note_opened(&connection);
        let end = FarEnd::default();
        let owner = FarOwner {
            principal: key.owner.principal().clone(),
            alone: key.owner.is_one(),
        };
        let ask = FarAsk {
            owner,
            end: end.clone(),
        };
        link::open(
            &self.spec,
            carrier,
            self.budget(),
            self.starting(),
            ask,
            &connection,
        )
        .map_err(|fault| ConnectError::Failed(fault.to_string()))?;
        if matches!(self.spec.target, Target::Far(_)) {
            self.gives_way(key, &connection, end);
        }
        Ok(self.unmet(connection))
    }

    fn unmet(&self, connection: Arc<Connection>) -> Unmet {
        Unmet {
            connection: Some(connection),
            busy: self.retirement().tasks().clone(),
        }
    }

    fn connection_to(&self, key: &Key, stand_in: bool) -> Arc<Connection> {
        let exclusive = key.owner.is_one();
        let catalogs = self.catalogs_of(&key.owner);
        let (theirs, era) = (Arc::downgrade(&catalogs), key.era);
        let changes = Box::new(move |method: Method| {
            if let Some(catalogs) = theirs.upgrade() {
                catalogs.of(era).invalidate(method);
            }
        });
        let me = self.weak();
        let unclear = Box::new(move || {
            if let Some(server) = me.upgrade() {
                server.remember();
            }
        });
        let me = self.weak();
        // Whoever is not there any more cannot tell: then it is as strict as can be.
        let several = Box::new(move || me.upgrade().is_none_or(|at| at.has_several_principals()));
        let me = self.weak();
        let listed = Box::new(
            move |connection: &Arc<Connection>, list: List, listing: &Listing| {
                let server = me.upgrade()?;
                server.guard()?.judge(&server, connection, list, listing)
            },
        );
        let reports = Reports {
            changes,
            unclear,
            several,
            listed,
            needs_turns: self.known().needs_turns().clone(),
            remarks: self.remarks().clone(),
            observers: self.observers(),
        };
        Connection::new(
            self.spec.clone(),
            exclusive,
            stand_in,
            catalogs,
            self.owned(&key.owner),
            reports,
        )
    }

    /// Ends what was started and adds what the server last said on stderr.
    async fn give_up(&self, connection: &Arc<Connection>, error: ConnectError) -> ConnectError {
        let stderr = connection.last_words_soon().await;
        connection.close().await;
        match error {
            ConnectError::Failed(text) => ConnectError::Failed(with_last_words(text, &stderr)),
            other => other,
        }
    }
}

/// A connection whose server has not introduced itself. One that is given up
/// on the way, because the start took too long, is ended with all that it started.
struct Unmet {
    connection: Option<Arc<Connection>>,
    busy: TaskTracker,
}

impl Unmet {
    fn met(mut self) -> Arc<Connection> {
        self.connection.take().expect("it is taken only here")
    }
}

impl Deref for Unmet {
    type Target = Arc<Connection>;

    fn deref(&self) -> &Arc<Connection> {
        self.connection
            .as_ref()
            .expect("it is there until it is met")
    }
}

impl Drop for Unmet {
    fn drop(&mut self) {
        if let Some(connection) = self
            .connection
            .take()
            .filter(|connection| connection.how_it_ended() != Some(Ended::ByUs))
        {
            tasks::spawn_in(&self.busy, tasks::Kind::Background, async move {
                connection.close().await;
            });
        }
    }
}

/// A reason with what the server last said on stderr.
pub(super) fn with_last_words(reason: String, stderr: &str) -> String {
    if stderr.is_empty() {
        return reason;
    }
    format!("{reason}; its last words on stderr:\n{stderr}")
}

/// Programs that get what they run from a network first.
const RUNNERS: [&str; 12] = [
    "npx", "npm", "pnpm", "pnpx", "yarn", "bunx", "uvx", "uv", "pipx", "deno", "docker", "podman",
];

/// Why a server did not start in time, with what its program suggests.
pub(super) fn too_slow(target: &Target, allowed: Duration) -> String {
    let reason = format!("did not start within {allowed:?}");
    let Target::Stdio(command) = target else {
        return reason;
    };
    let program = Path::new(&command.program).file_stem();
    match program.and_then(|program| program.to_str()) {
        Some(runner) if RUNNERS.contains(&runner) => format!(
            "{reason}; `{runner}` gets what it runs from a network first: if it only needs longer, set MCP_TIMEOUT \
             (milliseconds); if it cannot reach it, a variable may be missing (\"inheritEnv\" in its entry adds one)"
        ),
        _ => reason,
    }
}

/// Asks `server/discover` once and judges the answer.
async fn probe(connection: &Arc<Connection>) -> Result<Found, ConnectError> {
    match timeout(
        limits::PROBE_SILENCE,
        discover::discover(connection)?.outcome(),
    )
    .await
    {
        Ok(outcome) => discover::judge(connection, outcome),
        // Silence: a server of the handshake era that ignores what it does not know.
        Err(_) => Ok(Found::Legacy),
    }
}

/// Whether the address does not take messages by POST, as the specification
/// tells a server of HTTP+SSE by.
fn takes_no_post(outcome: &Outcome) -> bool {
    let Outcome::Failed(CallError::Undelivered { why, .. }) = outcome else {
        return false;
    };
    matches!(
        why,
        Undelivered::Status {
            status: 400 | 404 | 405,
            ..
        }
    )
}
