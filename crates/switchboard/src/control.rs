//! What answers for a gateway: `/api/v1/` under the control token and what else opens it,
//! `/metrics`, readiness. Commands of earlier versions ask elsewhere under `/api/`, and are
//! told that nothing is there any more.

use crate::{
    api::{self, Api},
    pipeline::{Governed, ReloadError},
    pools::Pools,
    required,
    roster::Member,
    watching::Watching,
};
use http::StatusCode;
use std::{fmt, sync::Arc};
use switchboard_agent::Caller;
use switchboard_api::Refused;
use switchboard_gateway::{
    Answering, Asked, Control, ControlSession, Controlled, Counts, Readiness, Visitors, Writing,
};
use tokio::sync::watch;

/// Answers for one gateway.
pub(crate) struct GatewayControl {
    visitors: Visitors,
    /// What watches it.
    watching: Arc<Watching>,
    /// All that is configured, now.
    members: watch::Receiver<Vec<Member>>,
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
        people: Option<Arc<switchboard_auth::People>>,
    ) -> Self {
        let host = governed.host();
        let members = governed.follower().members();
        let visitors = Visitors::default();
        let api = Api::new(api::Parts {
            host: host.clone(),
            caller: Caller::shared_as(host.clone(), principal),
            pools: Pools::new(governed.settings()),
            options: governed.options().clone(),
            visitors: visitors.clone(),
            watching: watching.clone(),
            members: members.clone(),
            reload,
            may,
            people,
        });
        Self {
            visitors,
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
}

/// What commands of earlier versions are told.
fn gone() -> Controlled {
    let refused = Refused {
        error: format!("this gateway answers under {}", switchboard_api::PREFIX),
        code: "gone".to_owned(),
        hint: Some("program and gateway are of different versions: switchboard restart".to_owned()),
        field: None,
    };
    let json = serde_json::to_string(&refused).unwrap_or_default();
    Controlled::json(StatusCode::GONE, json)
}

impl Control for GatewayControl {
    fn may_ask(&self, asked: &Asked) -> Result<usize, Box<Controlled>> {
        match asked.path.starts_with(api::VERSION) {
            true => api::may(&self.api, asked).map_err(|no| Box::new(no.into())),
            // The face has seen the control token.
            false => Ok(switchboard_api::limits::BODY),
        }
    }

    fn answer(&self, asked: Asked) -> Answering<'_> {
        Box::pin(async move {
            if asked.path.starts_with(api::ANSWERS) {
                return api::take_answer(&self.api, asked).await;
            }
            match asked.path.starts_with(api::VERSION) {
                true => api::answer(&self.api, asked).await,
                false => gone(),
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
