//! The whole as one document, and what changes in it. The document and the changes are
//! made by one comparison under one lock, so that whoever has the document of a number and
//! hears all that comes after it has what the document is by then.

mod keeper;
mod row;

pub(super) use keeper::Keeper;
pub(super) use row::{client, scope};

use super::{Api, breakpoints, insight, questions};
use crate::{VERSION, limits};
use std::sync::{Arc, Weak};
use switchboard_api::state::{Document, GatewayInfo, Server};
use switchboard_local::secret;
use switchboard_tasks as tasks;

/// `GET state`.
pub(super) async fn document(api: &Arc<Api>) -> Document {
    api.keeper.measure(api).await;
    let (revision, servers, clients) = api.keeper.refresh(api);
    Document {
        revision,
        gateway: gateway(api),
        servers,
        clients,
        waiting: questions::waiting(api),
        tap: insight::tap(api),
        breakpoints: breakpoints::state(api),
    }
}

/// One server as it is now.
pub(super) fn server(api: &Api, name: &str) -> Option<Server> {
    let (_, servers, _) = api.keeper.refresh(api);
    let mut named: Vec<Server> = servers.into_iter().filter(|one| one.name == name).collect();
    // One that counts, where several files have the name.
    let counts = named.iter().position(|one| one.state.word != "shadowed");
    let at = counts.or((!named.is_empty()).then_some(0))?;
    Some(named.swap_remove(at))
}

fn gateway(api: &Api) -> GatewayInfo {
    GatewayInfo {
        version: VERSION.to_owned(),
        instance: api.instance.clone(),
        since: api.since,
        address: api
            .address
            .get()
            .map(ToString::to_string)
            .unwrap_or_default(),
        directory: api.options.directory.display().to_string(),
        open: api.may.open,
        edits: api.may.edit,
        panics: tasks::panics(),
        last_panic: tasks::last_panic().map(|text| secret::text(&text).into_owned()),
    }
}

/// Looks for changes from now on, for as long as anybody listens. Whoever calls this
/// listens already.
pub(super) fn follow(api: &Arc<Api>) {
    if api.keeper.begins_to_follow() {
        api.keeper.refresh(api);
        tasks::spawn(tasks::Kind::Upkeep, look(Arc::downgrade(api)));
    }
}

async fn look(api: Weak<Api>) {
    let Some((mut states, mut members)) = api
        .upgrade()
        .map(|api| (api.host.state_events(), api.members.clone()))
    else {
        return;
    };
    loop {
        let settings = tokio::select! {
            _ = states.next() => false,
            changed = members.changed() => changed.is_ok(),
            () = tokio::time::sleep(limits::API_LOOK) => false,
        };
        // What comes together is told together.
        tokio::time::sleep(limits::API_TOGETHER).await;
        let Some(api) = api.upgrade() else { return };
        api.keeper.measure(&api).await;
        api.keeper.refresh(&api);
        if settings {
            api.feed
                .tell(switchboard_api::events::Event::Settings, None);
        }
        if api.keeper.ends_to_follow(&api) {
            return;
        }
    }
}
