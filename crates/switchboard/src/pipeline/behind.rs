//! A client on our own streams behind a gateway that runs; and when that ends behind
//! the next one, or with servers of its own. The client stays.

use super::{Fronted, Options};
use crate::{
    attached::Attached,
    limits,
    relay::{Ended, Relay, Way},
    running::Running,
};
use std::{io, path::Path};
use switchboard_api::servers::Served;
use tokio_util::sync::CancellationToken;

/// What a client is told of a gateway that was started in this directory, if anything.
pub(super) type ToldOf<'a> = dyn Fn(&Path) -> Option<String> + 'a;

/// How a client of ours is led to gateways that run, and what it has where none does.
pub struct Behind<'a, E> {
    /// What we are told.
    pub options: &'a Options,
    /// Where any gateway will do, whatever it serves: what its client is told, by the
    /// directory that the gateway was started in.
    pub any: Option<&'a ToldOf<'a>>,
    /// Makes servers of our own, of what the files say by then.
    pub make: &'a dyn Fn() -> Result<Fronted, E>,
}

/// A gateway, and the one server of it that the client wants, if so.
pub struct Candidate {
    gateway: Attached,
    segment: Option<String>,
    announcement: Option<String>,
    /// Whether nobody has read that yet.
    is_news: bool,
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
                if let Some(text) = announcement.filter(|_| self.is_news) {
                    tracing::warn!("{text}");
                }
                Some(way)
            }
            Err(error) => {
                tracing::warn!(%error, "the gateway at http://{address} does not let us in");
                None
            }
        }
    }
}

/// Who serves the client after a gateway that has ended.
enum Next {
    Gateway(Box<(Candidate, Way)>),
    Own(Box<Fronted>),
}

impl<E: From<io::Error>> Behind<'_, E> {
    /// The gateways that serve just what we would; all of them, where any will do: those
    /// of `up` first, and among them one that was started here.
    pub fn candidates(&self, ours: Option<&Fronted>) -> Vec<Candidate> {
        self.fitting(ours, self.options.gateways())
    }

    fn fitting(&self, ours: Option<&Fronted>, mut gateways: Vec<Attached>) -> Vec<Candidate> {
        let here = &self.options.directory;
        let Some(ours) = ours else {
            let order = |running: &Running| (!running.by_up, running.directory != *here);
            gateways.sort_by_key(|gateway| order(&gateway.running));
            let each = gateways.into_iter().map(|gateway| Candidate {
                announcement: self.any.and_then(|tell| tell(&gateway.running.directory)),
                gateway,
                segment: None,
                is_news: true,
            });
            return each.collect();
        };
        let mut found = Vec::new();
        for mut gateway in gateways {
            if !ours.is_served_by(&gateway) {
                // It may not have seen its files change yet.
                let behind = gateway.running.directory == *here && gateway.reload().is_ok();
                if !behind || !ours.is_served_by(&gateway) {
                    continue;
                }
            }
            let segment = ours.show.single.as_deref().and_then(|name| {
                let known = gateway.servers.iter().find(|known| known.name == name);
                known.map(|known| known.segment.clone())
            });
            let announcement = ours.governed.announcement().get();
            found.push(Candidate {
                gateway,
                segment,
                announcement: announcement.map(|text| text.to_string()),
                is_news: false,
            });
        }
        found
    }

    /// Relays to the first of them that lets us in, until the client goes. Whether
    /// there was one.
    pub async fn relay(
        &self,
        candidates: Vec<Candidate>,
        stop: CancellationToken,
    ) -> Result<bool, E> {
        let Some(mut found) = first(candidates).await else {
            return Ok(false);
        };
        let mut relay = Relay::new(stop.clone());
        let mut left = Vec::new();
        let ended = loop {
            let (gateway, way) = found;
            let lost = |ended| {
                let gone = gateway.gone(ended);
                format!("{gone}; whether the request was carried out is unknown")
            };
            match relay.over(way, lost).await {
                Ok(Ended::ByClient) => break Ok(()),
                Ok(ended) => tracing::warn!("{}; its client stays", gateway.gone(ended)),
                Err(error) => break Err(error.into()),
            }
            // Each is tried once: one that takes clients and drops them is no use.
            left.push(gateway.gateway.running.pid);
            match self.next(&left).await {
                Ok(Next::Gateway(next)) => found = *next,
                Ok(Next::Own(made)) => {
                    let alone = Box::pin(alone(&mut relay, *made, &stop));
                    break alone.await.map_err(E::from);
                }
                Err(failure) => break Err(failure),
            }
        };
        relay.finish().await;
        ended.map(|()| true)
    }

    /// Looks at everything anew: files may have changed since the client came. Nobody
    /// is served by this process meanwhile, so that it may take a moment.
    async fn next(&self, left: &[i32]) -> Result<Next, E> {
        let mut gateways = self.options.gateways_now();
        gateways.retain(|gateway| !left.contains(&gateway.running.pid));
        if self.any.is_some() {
            if let Some(found) = first(self.fitting(None, gateways)).await {
                return Ok(Next::Gateway(Box::new(found)));
            }
            return (self.make)().map(|made| Next::Own(Box::new(made)));
        }
        let made = (self.make)()?;
        match first(self.fitting(Some(&made), gateways)).await {
            Some(found) => Ok(Next::Gateway(Box::new(found))),
            None => Ok(Next::Own(Box::new(made))),
        }
    }
}

impl Fronted {
    /// Whether a gateway's clients see what ours would: the same servers under the same
    /// names, and the same of them. Built-in servers of its own may come on top.
    fn is_served_by(&self, gateway: &Attached) -> bool {
        let host = self.governed.host();
        let servers = host.servers();
        if servers.is_empty()
            || servers
                .iter()
                .any(|server| gateway.find(&server.spec).is_none())
        {
            return false;
        }
        // Only its own rules hold for those behind it.
        if !gateway.permits_the_same(&host.guard().rules()) {
            let address = &gateway.running.address;
            tracing::debug!("the gateway at http://{address} has other permission rules");
            return false;
        }
        if self.show.single.is_some() {
            return true;
        }
        let ours = |name: &str| servers.iter().any(|server| &**server.name() == name);
        let mut more = gateway
            .servers
            .iter()
            .filter(|known: &&Served| !ours(&known.name));
        gateway.running.names == self.show.word
            && if self.show.chosen {
                more.next().is_none()
            } else {
                more.all(|known| known.builtin)
            }
    }
}

async fn first(candidates: Vec<Candidate>) -> Option<(Candidate, Way)> {
    for candidate in candidates {
        if let Some(way) = candidate.open().await {
            return Some((candidate, way));
        }
    }
    None
}

/// Serves the client with servers that it shares with nobody.
async fn alone(relay: &mut Relay, made: Fronted, stop: &CancellationToken) -> io::Result<()> {
    tracing::info!("servers are started for this client alone");
    let (near, far) = tokio::io::duplex(limits::PIPE_BYTES);
    let (read, write) = tokio::io::split(far);
    let serve = made.streams(read, write, stop.clone());
    let (read, write) = tokio::io::split(near);
    let lost = |_| "Switchboard's own servers have ended".to_owned();
    let relaying = relay.over(Way::streams(read, write), lost);
    let (relayed, served) = tokio::join!(relaying, serve);
    relayed.and(served)
}
