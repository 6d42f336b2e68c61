//! `serve` on stdio behind a running gateway.

use super::Options;
use crate::{
    context::Context,
    failure::{Code, Failure},
    life,
};
use switchboard::{
    Roster,
    attached::Attached,
    relay::{Attachment, Ended},
};

/// Relays to a gateway that runs, whatever it serves: one that was started here,
/// else the newest.
pub fn to_any(context: &Context) -> Result<Option<Code>, Failure> {
    let mut gateways = context.gateways();
    gateways.sort_by_key(|gateway| gateway.running.directory != context.directory);
    for gateway in gateways {
        match life::short(async |stop| relay(&gateway, None, None, stop).await)? {
            Some(ended) => return ended.map(Some),
            None => continue,
        }
    }
    tracing::info!("no gateway runs, so servers are started for this client alone");
    Ok(None)
}

/// Relays to the gateway that serves just what we would, if there is one.
pub fn try_run(
    context: &Context,
    options: &Options,
    roster: &Roster,
    single: Option<&str>,
    announcement: Option<&str>,
) -> Result<Option<Code>, Failure> {
    let here = &context.directory;
    for mut gateway in context.gateways() {
        if !serves_the_same(&gateway, options, roster, single) {
            // It may not have seen its files change yet.
            let behind = gateway.running.directory == *here && gateway.reload().is_ok();
            if !behind || !serves_the_same(&gateway, options, roster, single) {
                continue;
            }
        }
        let segment = single.and_then(|name| {
            let known = gateway.servers.iter().find(|known| known.name == name);
            known.map(|known| known.segment.clone())
        });
        let relayed =
            life::short(async |stop| relay(&gateway, segment.as_deref(), announcement, stop).await);
        match relayed? {
            Some(ended) => return ended.map(Some),
            None => continue,
        }
    }
    Ok(None)
}

/// Whether its clients see what ours would: the same servers under the same
/// names, and the same of them. Built-in servers of its own may come on top.
fn serves_the_same(
    gateway: &Attached,
    options: &Options,
    roster: &Roster,
    single: Option<&str>,
) -> bool {
    let servers = roster.host.servers();
    if servers.is_empty()
        || servers
            .iter()
            .any(|server| gateway.find(&server.spec).is_none())
    {
        return false;
    }
    // Only its own rules hold for those behind it.
    if !gateway.permits_the_same(&roster.host.guard().rules()) {
        let address = &gateway.running.address;
        tracing::debug!("the gateway at http://{address} has other permission rules");
        return false;
    }
    if single.is_some() {
        return true;
    }
    let ours = |name: &str| servers.iter().any(|server| &**server.name() == name);
    let more = |known: &&switchboard::attached::Known| !ours(&known.name);
    let mut more = gateway.servers.iter().filter(more);
    gateway.running.names == options.names().word()
        && if options.only.is_empty() {
            more.all(|known| known.builtin)
        } else {
            more.next().is_none()
        }
}

/// `None` if the gateway does not let us in after all.
async fn relay(
    gateway: &Attached,
    segment: Option<&str>,
    announcement: Option<&str>,
    stop: tokio_util::sync::CancellationToken,
) -> Option<Result<Code, Failure>> {
    let address = &gateway.running.address;
    let attachment = match Attachment::open(gateway, segment, announcement).await {
        Ok(attachment) => attachment,
        Err(error) => {
            tracing::warn!(%error, "the gateway at http://{address} does not let us in");
            return None;
        }
    };
    tracing::info!("attached to the gateway at http://{address}");
    let gone = |ended: &Ended| {
        let what = match ended {
            Ended::Silent => "does not answer any more",
            Ended::ByClient | Ended::ByGateway => "has ended",
        };
        let pid = gateway.running.pid;
        format!("the gateway at http://{address} (process {pid}) {what}")
    };
    let lost = |ended: &Ended| {
        let gone = gone(ended);
        format!("{gone}; whether the request was carried out is unknown")
    };
    let relayed = attachment
        .relay(tokio::io::stdin(), tokio::io::stdout(), stop, lost)
        .await;
    Some(match relayed {
        Ok(Ended::ByClient) => Ok(Code::Done),
        Ok(ended) => Err(Failure::new(Code::Unreachable, gone(&ended)).hint(
            "start this command again: it attaches to another gateway, or starts servers itself",
        )),
        Err(error) => Err(Failure::new(Code::Answered, error.to_string())),
    })
}
