//! Servers that must be there (`"required": true`): they are connected from the start,
//! and a gateway is ready once all of them are.

use crate::{
    limits,
    pools::Pools,
    report::report,
    roster::{Member, Status},
};
use std::sync::Arc;
use switchboard_agent::Caller;
use switchboard_config::Standing;
use switchboard_gateway::Readiness;
use switchboard_host::{Server, State};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How many must be there, and how many are.
pub(crate) fn readiness(members: &[Member]) -> Readiness {
    let required = members.iter().filter(|member| is_required(member));
    let mut ready = Readiness::default();
    for member in required {
        ready.required += 1;
        if let Status::Server(server) = &member.status {
            ready.there += usize::from(is_there(server));
        }
    }
    ready
}

/// Whether it counts: what another entry of its name stands for does not.
fn is_required(member: &Member) -> bool {
    let stands_back = matches!(
        member.status,
        Status::Unused(Standing::Shadowed(_) | Standing::Duplicate(_))
    );
    member.entry.required && !stands_back
}

fn is_there(server: &Server) -> bool {
    State::from(&*server.state().borrow()) == State::Connected
}

/// Connects those that are not there, again and again, until it is told to stop.
pub(crate) async fn keep(
    mut members: watch::Receiver<Vec<Member>>,
    caller: Caller,
    pools: Pools,
    stop: CancellationToken,
) {
    loop {
        let missing: Vec<Arc<Server>> = members
            .borrow_and_update()
            .iter()
            .filter(|member| is_required(member))
            .filter_map(|member| match &member.status {
                Status::Server(server) if !is_there(server) => Some(server.clone()),
                _ => None,
            })
            .collect();
        let meet = futures_util::future::join_all(missing.iter().map(async |server| {
            let remote = server.spec.target.is_remote();
            let _ = pools.run(remote, report(&caller, server)).await;
        }));
        if stop.run_until_cancelled(meet).await.is_none() {
            return;
        }
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(limits::REQUIRED_LOOK) => {}
            changed = members.changed() => if changed.is_err() { return },
        }
    }
}
