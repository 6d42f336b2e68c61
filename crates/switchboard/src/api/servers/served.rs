//! What is served here, and how one of them is doing once it has been met: what commands
//! go by that would use a server of ours in place of their own.

use super::{
    super::{
        Api,
        answer::{Answer, Reply},
        asking::Ask,
    },
    member, usable,
};
use crate::{
    report::{self, copies},
    used::{Used, used},
    wants_sign_in::needs_auth,
};
use std::sync::Arc;
use switchboard_api::servers::{Served, Serving};
use switchboard_host::{Server, State, Target};
use switchboard_local::secret;

/// `GET servers`.
pub(super) async fn all(api: &Arc<Api>, ask: &Ask) -> Answer {
    let servers = api.host.servers();
    let used = match ask.word("used").as_deref() {
        Some("true") => {
            let _turn = api.looks.turn(&ask.who.holder()).await?;
            used(&servers).await
        }
        _ => vec![None; servers.len()],
    };
    let each = servers.iter().zip(used);
    Reply::json(&Serving {
        servers: each
            .map(|(server, used)| served(api, server, used))
            .collect(),
        rules: api.host.guard().rules().made_of().to_string(),
    })
}

fn served(api: &Api, server: &Arc<Server>, used: Option<Used>) -> Served {
    let state = State::from(&*server.state().borrow());
    let target = &server.spec.target;
    let namer = api.host.namer();
    let segment = namer.prefix(server.name()).unwrap_or_default();
    Served {
        name: server.name().to_string(),
        segment: segment.to_owned(),
        identity: server.spec.identity.to_string(),
        builtin: matches!(
            target,
            Target::Linked(_) | Target::Calling(_) | Target::InProcess(_)
        ),
        needs_auth: needs_auth(server),
        reason: match &state {
            State::Failed(why) => Some(secret::text(why).into_owned()),
            _ => None,
        },
        state: state.word().to_owned(),
        copies: copies(server),
        is_process: matches!(target, Target::Stdio(_)),
        used,
    }
}

/// `GET servers/{segment}/report`.
pub(super) async fn report(api: &Arc<Api>, name: &str) -> Answer {
    let server = match api.host.server(name) {
        Some(server) => server,
        None => usable(&member(api, name)?)?,
    };
    let remote = server.spec.target.is_remote();
    let meeting = report::report(&api.caller, &server);
    let mut report = api.pools.run(remote, meeting).await;
    report.reason = report
        .reason
        .map(|reason| secret::text(&reason).into_owned());
    Reply::json(&report)
}
