//! What a running gateway can be asked and told under its control token:
//! `GET state`, `GET status`, `GET stats`, `GET servers`, `GET servers/{segment}` (meets it), `GET rules` (which they
//! are, not what they say), `GET log`, `POST log/{filter}`, `POST reconnect/{segment}` or `reconnect/all`,
//! `POST reload`.

use crate::{
    api::{self, Api},
    attached::Known,
    pipeline::{Governed, ReloadError},
    pools::Pools,
    report::{self, Report, report},
    required,
    roster::Member,
    used::{Used, used},
    wants_sign_in::needs_auth,
    watching::Watching,
};
use http::{Method, StatusCode};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use std::{
    fmt,
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use switchboard_agent::Caller;
use switchboard_gateway::{
    Answering, Asked, Control, ControlSession, Controlled, Counts, Readiness, Visitor, Visitors,
    Writing,
};
use switchboard_host::{Host, Server, Target};
use switchboard_local::secret;
use switchboard_tasks as tasks;
use tokio::sync::watch;

/// Answers for one gateway.
pub(crate) struct GatewayControl {
    host: Arc<Host>,
    /// Uses the copies of the servers that clients use.
    caller: Caller,
    pools: Pools,
    reload: Reload,
    visitors: Visitors,
    /// What watches it.
    watching: Arc<Watching>,
    /// All that is configured, now.
    members: watch::Receiver<Vec<Member>>,
    /// When it began, in seconds since 1970.
    since: u64,
    /// What answers under `/api/v1/`.
    api: Arc<Api>,
}

/// Reads the configuration again and changes the servers; what changed, or why it cannot.
pub(crate) type Reload = Arc<dyn Fn() -> Result<bool, ReloadError> + Send + Sync>;

impl fmt::Debug for GatewayControl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("GatewayControl")
    }
}

impl GatewayControl {
    /// A control for these servers. `principal` is on whose behalf most clients act.
    pub(crate) fn new(
        governed: &Governed,
        principal: &str,
        reload: Reload,
        watching: Arc<Watching>,
        may: api::May,
    ) -> Self {
        let (host, settings) = (governed.host().clone(), governed.settings());
        let members = governed.follower().members();
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        let (visitors, caller) = (
            Visitors::default(),
            Caller::shared_as(host.clone(), principal),
        );
        let api = Api::new(api::Parts {
            host: host.clone(),
            caller: caller.clone(),
            pools: Pools::new(settings),
            options: governed.options().clone(),
            visitors: visitors.clone(),
            watching: watching.clone(),
            members: members.clone(),
            reload: reload.clone(),
            may,
        });
        Self {
            visitors,
            since: since.map_or(0, |since| since.as_secs()),
            caller,
            pools: Pools::new(settings),
            host,
            reload,
            watching,
            members,
            api,
        }
    }

    /// What answers under `/api/v1/`.
    pub(crate) fn api(&self) -> &Arc<Api> {
        &self.api
    }

    /// Where it is noted who is connected.
    pub(crate) fn visitors(&self) -> &Visitors {
        &self.visitors
    }

    async fn status(&self) -> GatewayStatus {
        let servers = self.host.servers();
        let used = used(&servers).await;
        GatewayStatus {
            since: self.since,
            clients: self.visitors.now(),
            servers: servers.iter().zip(used).map(ServerStatus::of).collect(),
        }
    }

    /// Reads the configuration again.
    pub(crate) fn reload(&self) -> Result<bool, ReloadError> {
        (self.reload)()
    }

    fn servers(&self) -> Vec<Known> {
        let namer = self.host.namer();
        let each = |server: &Arc<Server>| Known {
            name: server.name().to_string(),
            identity: server.spec.identity.to_string(),
            segment: namer.prefix(server.name()).unwrap_or_default().to_owned(),
            needs_auth: needs_auth(server),
            builtin: matches!(
                server.spec.target,
                Target::Linked(_) | Target::Calling(_) | Target::InProcess(_)
            ),
        };
        self.host.servers().iter().map(each).collect()
    }

    async fn meet(&self, server: &Arc<Server>) -> Report {
        let remote = server.spec.target.is_remote();
        self.pools.run(remote, report(&self.caller, server)).await
    }

    async fn reconnect(&self, servers: &[Arc<Server>]) -> Value {
        let each = servers.iter().map(async |server| {
            server.reconnect().await;
            let report = self.meet(server).await;
            json!({ "name": **server.name(), "health": report.health, "reason": report.reason })
        });
        Value::Array(futures_util::future::join_all(each).await)
    }

    /// Changes how much is logged, and says how much it is.
    fn log(&self, filter: Option<&str>) -> Controlled {
        let Some(log) = &self.watching.log else {
            return refused(StatusCode::NOT_FOUND, "nothing is logged here");
        };
        if let Some(Err(wrong)) = filter.map(|filter| log.set(filter)) {
            return refused(StatusCode::BAD_REQUEST, &wrong.to_string());
        }
        found(&json!({ "log": log.now(), "file": log.file() }))
    }

    async fn respond(&self, verb: &Method, path: &str) -> Controlled {
        let read = *verb == Method::GET;
        let there = |segment: &str| self.host.server(segment);
        let value = match (read, path.split_once('/').unwrap_or((path, ""))) {
            (true, ("servers", "")) => json!(self.servers()),
            (true, ("state", "")) => json!(State::now()),
            (true, ("status", "")) => json!(self.status().await),
            (true, ("stats", "")) => match self.watching.counting() {
                Some(counting) => json!(counting.stats()),
                None => return refused(StatusCode::NOT_FOUND, "nothing is counted here"),
            },
            (true, ("log", "")) => return self.log(None),
            (false, ("log", filter)) => return self.log(Some(filter)),
            (true, ("rules", "")) => json!(**self.host.guard().rules().made_of()),
            (true, ("servers", segment)) => match there(segment) {
                Some(server) => return found(&self.meet(&server).await),
                None => return missing(segment),
            },
            (false, ("reconnect", "all")) => {
                let all: Vec<Arc<Server>> = self.host.servers().to_vec();
                self.reconnect(&all).await
            }
            (false, ("reconnect", segment)) => match there(segment) {
                Some(server) => self.reconnect(&[server]).await,
                None => return missing(segment),
            },
            (false, ("reload", "")) => match self.reload() {
                Ok(changed) => json!({ "changed": changed }),
                Err(why) => return refused(StatusCode::CONFLICT, &why.to_string()),
            },
            _ => return refused(StatusCode::NOT_FOUND, "there is nothing at this path"),
        };
        found(&value)
    }
}

/// How the process itself is doing.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct State {
    /// How many panics it has survived: each is a bug of ours.
    pub panics: u64,
    /// Where the last one was, and what it said.
    pub last_panic: Option<String>,
}

impl State {
    /// As it is now.
    pub fn now() -> Self {
        Self {
            panics: tasks::panics(),
            last_panic: tasks::last_panic(),
        }
    }
}

/// Who is connected to a gateway, and what runs.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct GatewayStatus {
    /// When it began, in seconds since 1970.
    pub since: u64,
    /// Its clients.
    pub clients: Vec<Visitor>,
    /// Its servers. None is met for this.
    pub servers: Vec<ServerStatus>,
}

/// How a server is doing, as far as that is known without asking it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct ServerStatus {
    /// Its configured name.
    pub name: String,
    /// The word for it, as `list --json` has it.
    pub state: String,
    /// Why it cannot be used.
    pub reason: Option<String>,
    /// How many processes of it run, or connections to it.
    pub copies: Option<usize>,
    /// Whether those are processes.
    pub is_process: bool,
    /// What those use.
    pub used: Option<Used>,
}

impl ServerStatus {
    fn of((server, used): (&Arc<Server>, Option<Used>)) -> Self {
        let state = switchboard_host::State::from(&*server.state().borrow());
        let reason = match &state {
            switchboard_host::State::Failed(why) => Some(secret::text(why).into_owned()),
            _ => None,
        };
        Self {
            name: server.name().to_string(),
            state: state.word().to_owned(),
            reason,
            copies: report::copies(server),
            is_process: matches!(server.spec.target, Target::Stdio(_)),
            used,
        }
    }
}

fn found(value: &impl Serialize) -> Controlled {
    match serde_json::to_string(value) {
        Ok(json) => Controlled::json(StatusCode::OK, json),
        Err(fault) => refused(StatusCode::INTERNAL_SERVER_ERROR, &fault.to_string()),
    }
}

fn missing(segment: &str) -> Controlled {
    refused(
        StatusCode::NOT_FOUND,
        &format!("there is no server {segment:?}"),
    )
}

fn refused(status: StatusCode, why: &str) -> Controlled {
    Controlled::json(status, json!({ "error": why }).to_string())
}

impl Control for GatewayControl {
    fn may_ask(&self, asked: &Asked) -> Result<(), Box<Controlled>> {
        match asked.path.starts_with(api::VERSION) {
            true => api::may(&self.api, asked).map_err(|no| Box::new(no.into())),
            // The face has seen the control token.
            false => Ok(()),
        }
    }

    fn answer(&self, asked: Asked) -> Answering<'_> {
        Box::pin(async move {
            if asked.path.starts_with(api::ANSWERS) {
                return api::take_answer(&self.api, asked).await;
            }
            match asked.path.starts_with(api::VERSION) {
                true => api::answer(&self.api, asked).await,
                false => self.respond(&asked.verb, &asked.path).await,
            }
        })
    }

    fn session(&self, bearer: &[u8]) -> Option<ControlSession> {
        self.api.sessions.find(bearer)
    }

    fn metrics<'a>(&'a self, accept: Option<&'a str>, here: Counts) -> Writing<'a> {
        Box::pin(async move {
            let counting = self.watching.counting()?;
            Some(counting.page(accept, here, &self.visitors).await)
        })
    }

    fn readiness(&self) -> Readiness {
        required::readiness(&self.members.borrow())
    }
}
