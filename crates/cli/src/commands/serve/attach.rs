//! `serve` on stdio behind a running gateway; and when that ends behind the next
//! one, or with servers of its own. The client stays.

use super::{Assembled, Options, assemble};
use crate::{
    context::Context,
    failure::{Code, Failure},
    life,
    presence::Follower,
};
use switchboard::{
    attached::Attached,
    gateway::faces,
    relay::{Ended, Relay, Way},
};
use tokio_util::sync::CancellationToken;

/// What fits between us and servers of our own before the writer waits.
const PIPE: usize = 64 * 1024;

/// A gateway, and the one server of it that the client wants, if so.
struct Candidate {
    gateway: Attached,
    segment: Option<String>,
    announcement: Option<String>,
}

impl Candidate {
    /// What is said of it when it is not there any more.
    fn gone(&self, ended: Ended) -> String {
        let what = match ended {
            Ended::Silent => "does not answer any more",
            Ended::ByClient | Ended::ByGateway => "has ended",
        };
        let running = &self.gateway.running;
        let (address, pid) = (&running.address, running.pid);
        format!("the gateway at http://{address} (process {pid}) {what}")
    }

    /// `None` if it does not let us in after all.
    async fn open(&self) -> Option<Way> {
        let address = &self.gateway.running.address;
        let (segment, announcement) = (self.segment.as_deref(), self.announcement.as_deref());
        match Way::to_gateway(&self.gateway, segment, announcement).await {
            Ok(way) => {
                tracing::info!("attached to the gateway at http://{address}");
                Some(way)
            }
            Err(error) => {
                tracing::warn!(%error, "the gateway at http://{address} does not let us in");
                None
            }
        }
    }
}

/// Relays to a gateway that runs, whatever it serves: one that was started here,
/// else the newest.
pub fn to_any(context: &Context, options: &Options) -> Result<Option<Code>, Failure> {
    let relayed = relay(context, options, any(context, context.gateways()))?;
    if relayed.is_none() {
        tracing::info!("no gateway runs, so servers are started for this client alone");
    }
    Ok(relayed)
}

/// Relays to the gateway that serves just what we would, if there is one.
pub fn try_run(
    context: &Context,
    options: &Options,
    made: &Assembled,
) -> Result<Option<Code>, Failure> {
    let fitting = fitting(context, options, made, context.gateways());
    relay(context, options, fitting)
}

fn any(context: &Context, mut gateways: Vec<Attached>) -> Vec<Candidate> {
    gateways.sort_by_key(|gateway| gateway.running.directory != context.directory);
    let each = gateways.into_iter().map(|gateway| Candidate {
        gateway,
        segment: None,
        announcement: None,
    });
    each.collect()
}

fn fitting(
    context: &Context,
    options: &Options,
    made: &Assembled,
    gateways: Vec<Attached>,
) -> Vec<Candidate> {
    let here = &context.directory;
    let mut found = Vec::new();
    for mut gateway in gateways {
        if !serves_the_same(&gateway, options, made) {
            // It may not have seen its files change yet.
            let behind = gateway.running.directory == *here && gateway.reload().is_ok();
            if !behind || !serves_the_same(&gateway, options, made) {
                continue;
            }
        }
        let segment = made.single.as_deref().and_then(|name| {
            let known = gateway.servers.iter().find(|known| known.name == name);
            known.map(|known| known.segment.clone())
        });
        let announcement = made.announcement.get().map(|text| text.to_string());
        found.push(Candidate {
            gateway,
            segment,
            announcement,
        });
    }
    found
}

/// Whether its clients see what ours would: the same servers under the same
/// names, and the same of them. Built-in servers of its own may come on top.
fn serves_the_same(gateway: &Attached, options: &Options, made: &Assembled) -> bool {
    let servers = made.roster.host.servers();
    if servers.is_empty()
        || servers
            .iter()
            .any(|server| gateway.find(&server.spec).is_none())
    {
        return false;
    }
    // Only its own rules hold for those behind it.
    if !gateway.permits_the_same(&made.roster.host.guard().rules()) {
        let address = &gateway.running.address;
        tracing::debug!("the gateway at http://{address} has other permission rules");
        return false;
    }
    if made.single.is_some() {
        return true;
    }
    let ours = |name: &str| servers.iter().any(|server| &**server.name() == name);
    let more = |known: &&switchboard::attached::Known| !ours(&known.name);
    let mut more = gateway.servers.iter().filter(more);
    gateway.running.names == options.shown()
        && if options.only.is_empty() {
            more.all(|known| known.builtin)
        } else {
            more.next().is_none()
        }
}

/// `None` if none of them lets us in.
fn relay(
    context: &Context,
    options: &Options,
    candidates: Vec<Candidate>,
) -> Result<Option<Code>, Failure> {
    if candidates.is_empty() {
        return Ok(None);
    }
    life::short(async |stop| {
        let Some(mut found) = first(candidates).await else {
            return Ok(None);
        };
        let mut relay = Relay::new(stop.clone());
        let mut left = Vec::new();
        let code = loop {
            let (gateway, way) = found;
            let lost = |ended| {
                let gone = gateway.gone(ended);
                format!("{gone}; whether the request was carried out is unknown")
            };
            match relay.over(way, lost).await {
                Ok(Ended::ByClient) => break Ok(Code::Done),
                Ok(ended) => tracing::warn!("{}; its client stays", gateway.gone(ended)),
                Err(error) => break Err(Failure::new(Code::Answered, error.to_string())),
            }
            // Each is tried once: one that takes clients and drops them is no use.
            left.push(gateway.gateway.running.pid);
            match next(context, options, &left).await {
                Ok(Next::Gateway(next)) => found = *next,
                Ok(Next::Own(made)) => {
                    break alone(&mut relay, context, options, *made, &stop).await;
                }
                Err(failure) => break Err(failure),
            }
        };
        relay.finish().await;
        code.map(Some)
    })?
}

async fn first(candidates: Vec<Candidate>) -> Option<(Candidate, Way)> {
    for candidate in candidates {
        if let Some(way) = candidate.open().await {
            return Some((candidate, way));
        }
    }
    None
}

/// Who serves the client after a gateway that has ended.
enum Next {
    Gateway(Box<(Candidate, Way)>),
    Own(Box<Assembled>),
}

/// Looks at everything anew: files may have changed since the client came. Nobody
/// is served by this process meanwhile, so that it may take a moment.
async fn next(context: &Context, options: &Options, left: &[i32]) -> Result<Next, Failure> {
    let mut gateways = context.gateways_now();
    gateways.retain(|gateway| !left.contains(&gateway.running.pid));
    if options.attach {
        if let Some(found) = first(any(context, gateways)).await {
            return Ok(Next::Gateway(Box::new(found)));
        }
        return assemble(context, options).map(|made| Next::Own(Box::new(made)));
    }
    let made = assemble(context, options)?;
    match first(fitting(context, options, &made, gateways)).await {
        Some(found) => Ok(Next::Gateway(Box::new(found))),
        None => Ok(Next::Own(Box::new(made))),
    }
}

/// Serves the client with servers that it shares with nobody.
async fn alone(
    relay: &mut Relay,
    context: &Context,
    options: &Options,
    made: Assembled,
    stop: &CancellationToken,
) -> Result<Code, Failure> {
    tracing::info!("servers are started for this client alone");
    let (near, far) = tokio::io::duplex(PIPE);
    let (read, write) = tokio::io::split(far);
    let host = made.roster.host.clone();
    let serve = faces::stdio::serve_streams(made.gateway(), read, write, stop.clone());
    let (read, write) = tokio::io::split(near);
    let lost = |_| "Switchboard's own servers have ended".to_owned();
    let relaying = relay.over(Way::streams(read, write), lost);
    let rule = super::arrangement(options, &made.announcement);
    let follower = Follower::new(context, &made.roster, made.known, rule);
    let served = {
        let both = async { tokio::join!(relaying, serve) };
        tokio::pin!(both);
        tokio::select! {
            served = &mut both => served,
            () = follower.follow(stop.clone()) => both.await,
        }
    };
    switchboard::library::close(&host).await;
    let failed = |error: std::io::Error| Failure::new(Code::Answered, error.to_string());
    match served {
        (Err(error), _) | (_, Err(error)) => Err(failed(error)),
        (Ok(_), Ok(())) => Ok(Code::Done),
    }
}
