//! What other clients have configured, as entries that could be added here. Their secrets
//! are not told: whoever adds one names it, and it is read again.

use super::{
    super::{
        Api,
        answer::{Answer, No, Reply},
        asking::Ask,
        calls::shortly,
        servers::{look, no_home},
    },
    change, explained,
};
use crate::limits;
use serde_json::Value;
use std::sync::Arc;
use switchboard_api::settings::{Elsewhere, Importable, Imports};
use switchboard_config::{
    Places,
    clients::{Client, Homes},
    import::{Found, find},
    redacted,
};
use switchboard_local::{secret, visible};

/// `GET imports`.
pub(super) async fn answer(api: &Arc<Api>, ask: &Ask) -> Answer {
    let places = api.options.places().ok_or_else(no_home)?;
    let look = look(api, &ask.who).await?;
    let (found, mut faults) = all(api, ask, &places).await?;
    let mut servers = Vec::new();
    for one in found.into_iter().take(limits::API_LIST) {
        let entry = match change::parsed(&one.name, &one.entry) {
            Ok(entry) => entry,
            Err(fault) => {
                faults.push(secret::text(&format!("{}: {fault}", one.name)).into_owned());
                continue;
            }
        };
        let known = look.find(&one.name);
        servers.push(Importable {
            from: Elsewhere {
                client: one.client.as_str().to_owned(),
                file: one.file.display().to_string(),
                name: one.written_name,
            },
            name: one.name,
            entry: redacted(&one.entry),
            explained: explained(&look, &entry, &places, one.notes),
            project: one.workspace,
            left_out: one.left_out,
            same: known.is_some_and(|known| known.entry.written == one.entry),
            replaces: known.map(|known| known.entry.place()),
        });
    }
    Reply::json(&Imports { servers, faults })
}

/// The entry that another client has, as it is now.
pub(super) async fn entry(
    api: &Arc<Api>,
    ask: &Ask,
    places: &Places,
    from: &Elsewhere,
    scope: Option<&str>,
) -> Result<Value, No> {
    let (found, _) = all(api, ask, places).await?;
    let is_it = |one: &&Found| {
        one.client.as_str() == from.client
            && one.written_name == from.name
            && one.file.display().to_string() == from.file
    };
    let found = found.iter().find(is_it);
    let found = found.ok_or_else(|| No::not_found("that client does not have it any more"))?;
    if found.workspace && scope != Some("local") {
        let no = No::invalid("what a project's file has is not kept for you everywhere");
        return Err(no.hint("add it for this folder").field("/scope"));
    }
    Ok(found.entry.clone())
}

/// What all clients have, and what could not be read.
async fn all(api: &Arc<Api>, ask: &Ask, places: &Places) -> Result<(Vec<Found>, Vec<String>), No> {
    let variables = api.options.variables.clone();
    let places = places.clone();
    let read = shortly(&api.looks, &ask.who, move || {
        let homes = Homes::of(&places, |name| variables.get(name));
        let mut faults = Vec::new();
        let found: Vec<Found> = Client::all()
            .flat_map(|client| find(client, &homes, &mut faults))
            .collect();
        let faults: Vec<String> = faults
            .iter()
            .map(|fault| visible::line(&secret::text(&fault.to_string())))
            .collect();
        (found, faults)
    });
    read.await
}
