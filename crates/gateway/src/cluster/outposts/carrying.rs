//! The replica's end of links to servers of outposts: which outpost runs a server for whom,
//! and what is carried there and back.

use super::{
    frames::{Said, Wanted},
    known::{Arrived, Counted, Here, NoLink, Outposts},
};
use crate::{limits, session::seal};
use parking_lot::Mutex;
use std::{
    collections::{HashMap, HashSet},
    sync::{Arc, atomic::Ordering},
    time::Instant,
};
use switchboard_host::{Far, FarEnd, FarOwner, FarReach};
use switchboard_local::{visible, wildcard};
use switchboard_tasks as tasks;
use tokio::{
    io::{AsyncWriteExt, DuplexStream, copy_bidirectional},
    time::timeout,
};
use tokio_util::sync::CancellationToken;

impl FarReach for Outposts {
    fn lead(&self, far: &Far, owner: FarOwner, mut pipe: DuplexStream, why: FarEnd) {
        let (me, far, told) = (self.clone(), far.clone(), why.clone());
        let leading = async move {
            match me.reach(&far, owner).await {
                Ok(reached) => reached.carry(&far, &mut pipe, &why).await,
                Err(fault) => why.say(fault.to_string()),
            }
            let _ = pipe.shutdown().await;
        };
        let last_word = move || told.say("a bug in Switchboard ended the connection");
        tasks::spawn_or(tasks::Kind::Connection, leading, last_word);
    }
}

/// A server that an outpost runs.
struct Reached {
    outpost: Counted,
    link: Arrived,
    /// Another has taken its place.
    fence: CancellationToken,
}

impl Outposts {
    /// A link to the server, of whichever outpost runs it. Waits for a moment where none
    /// does: one may be about to come.
    async fn reach(&self, far: &Far, owner: FarOwner) -> Result<Reached, NoOutpost> {
        let begun = tokio::time::Instant::now();
        let mut tried: HashSet<String> = HashSet::new();
        let mut refused = None;
        // Those that run it already, where no more may: their right to it may be about to end.
        let mut first: Vec<String> = Vec::new();
        loop {
            let changed = self.0.changed.notified();
            let mut fitting = self.fitting(far, &owner);
            fitting.retain(|here| !tried.contains(&here.comer.id));
            let named = fitting.iter().position(|it| first.contains(&it.comer.name));
            let next = match named {
                Some(at) => Some(fitting.swap_remove(at)),
                None => fitting.into_iter().next(),
            };
            let Some(here) = next else {
                let is_run = !first.is_empty();
                let patience = match is_run {
                    true => limits::PLACE_COMES,
                    false => limits::OUTPOST_COMES,
                };
                if begun.elapsed() >= patience {
                    return Err(refused.unwrap_or_else(|| self.nobody(far)));
                }
                let pause = match is_run {
                    true => limits::OUTPOST_AGAIN,
                    false => patience - begun.elapsed(),
                };
                let _ = timeout(pause, changed).await;
                if is_run {
                    tried.clear();
                }
                continue;
            };
            let wanted = Wanted {
                link: String::new(),
                server: far.server.to_string(),
                principal: owner.principal.to_string(),
                alone: owner.alone,
                copies: far.copies,
                what: far.what.as_deref().map(str::to_owned),
            };
            let outpost = Counted::new(here.clone());
            let mut is_news = true;
            let why = match self.ask(&here, wanted).await {
                Ok(link) => match self.0.places.take(&far.server, link.place.as_deref()) {
                    Some(fence) => {
                        return Ok(Reached {
                            outpost,
                            link,
                            fence,
                        });
                    }
                    None => "it runs the server by a right that another has by now".to_owned(),
                },
                Err(fault) => {
                    if let NoLink::Refused(refused) = &fault {
                        is_news = refused.run_by.is_empty();
                        first.clone_from(&refused.run_by);
                    }
                    fault.to_string()
                }
            };
            let (name, why) = (&here.comer.name, visible::line(&why));
            if is_news {
                tracing::warn!(name, server = %far.server, why, "a worker does not run a server that it offers");
            }
            refused = Some(NoOutpost::Refused(name.clone(), why));
            tried.insert(here.comer.id.clone());
        }
    }

    /// The outposts that may run a server, and have room for it; the best first. Clients
    /// that share a server are led to the same one by every replica, others to whichever
    /// has the least to do.
    fn fitting(&self, far: &Far, owner: &FarOwner) -> Vec<Arc<Here>> {
        let fits = |here: &Arc<Here>| {
            let said = here.said();
            let named = far
                .machines
                .iter()
                .any(|name| wildcard::matches(name, &here.comer.name));
            let is_like = |(label, value): &(String, String)| said.labels.get(label) == Some(value);
            (far.machines.is_empty() || named)
                && said.runs(far)
                && far.labels.iter().all(is_like)
                && !said.draining
                && said.links < said.room
        };
        let mut all = self.all();
        all.retain(fits);
        let weight = |here: &Arc<Here>| {
            let who = if owner.alone { "" } else { &*owner.principal };
            let parts = [
                far.server.as_bytes(),
                who.as_bytes(),
                here.comer.name.as_bytes(),
            ];
            let hash = seal::digest_of(parts).as_ref().to_vec();
            let load = match owner.alone {
                true => here.links.load(Ordering::Relaxed),
                false => 0,
            };
            (load, hash)
        };
        all.sort_by_cached_key(weight);
        all
    }

    /// Why nobody runs a server.
    fn nobody(&self, far: &Far) -> NoOutpost {
        let server = far.server.to_string();
        let all = self.all();
        let runs = |here: &&Arc<Here>| here.said().runs(far);
        let names = all.iter().filter(runs);
        let mut names: Vec<String> = names.map(|here| here.comer.name.clone()).collect();
        names.sort();
        match (all.len(), names.is_empty()) {
            (0, _) => NoOutpost::NoneAtAll(server),
            (_, true) if far.what.is_some() => {
                let mut why: Vec<String> = all.iter().filter_map(|it| it.why_not(far)).collect();
                why.sort();
                why.truncate(limits::WHY_NOT);
                if why.is_empty() {
                    why.push("none of them hires anything out".to_owned());
                }
                NoOutpost::NotHired(server, visible::line(&why.join("; ")))
            }
            (count, true) => NoOutpost::NotOffered(server, count),
            (_, false) => NoOutpost::NoneFits(server, names.join(", ")),
        }
    }
}

impl Said {
    /// Whether it runs this server: what it was signed as, or what it offers itself.
    fn runs(&self, far: &Far) -> bool {
        match &far.what {
            Some(what) => {
                let mut hires = self.hires.iter();
                hires.any(|it| it.why.is_none() && *it.server == *far.server && *it.what == **what)
            }
            None => self.offers.iter().any(|offer| **offer == *far.server),
        }
    }
}

impl Here {
    /// Why an outpost that goes by what was signed does not run a server of it.
    fn why_not(&self, far: &Far) -> Option<String> {
        let said = self.said();
        said.applied?;
        let name = &self.comer.name;
        let hire = said.hires.iter().find(|it| *it.server == *far.server);
        Some(match hire {
            Some(hire) => match &hire.why {
                Some(why) => format!("{name}: {why}"),
                None => format!("{name} has another version of it"),
            },
            None => format!("{name} has not heard of it"),
        })
    }
}

/// Why there is no link to a server.
#[derive(Debug, thiserror::Error)]
enum NoOutpost {
    #[error("no worker is connected to run {0:?}")]
    NoneAtAll(String),
    #[error("no worker offers {0:?}; connected: {1}")]
    NotOffered(String, usize),
    #[error("no worker hires out {0:?} as it was applied ({1})")]
    NotHired(String, String),
    #[error(
        "the workers that offer {0:?} ({1}) end, have no room, or are not what the entry asks for"
    )]
    NoneFits(String, String),
    #[error("the worker {0} does not run it: {1}")]
    Refused(String, String),
}

impl Reached {
    /// Carries what is said, both ways, until either end has enough.
    async fn carry(mut self, far: &Far, pipe: &mut DuplexStream, why: &FarEnd) {
        let name = self.outpost.0.comer.name.clone();
        let server = &far.server;
        tracing::debug!(name, %server, "a server of a worker is connected");
        let mut carried = std::pin::pin!(copy_bidirectional(pipe, &mut self.link.stream));
        let mut was_told = false;
        let end = loop {
            tokio::select! {
                biased;
                () = self.fence.cancelled() => {
                    break format!("another worker runs it in the place of {name}");
                }
                () = self.outpost.0.gone.cancelled() => break format!("the worker {name} has gone"),
                () = self.outpost.0.ends.cancelled(), if !was_told => {
                    was_told = true;
                    why.nears();
                }
                carried = &mut carried => break match carried {
                    Ok(_) => format!("the worker {name} has closed the connection"),
                    Err(fault) => format!("the connection to the worker {name} broke: {fault}"),
                },
            }
        };
        tracing::debug!(name, %server, end, "a server of a worker is not connected any more");
        why.say(end);
    }
}

/// Who holds the places of servers whose copies are counted. A place is taken anew with a
/// larger number each time, so that one who comes with a smaller was away meanwhile.
#[derive(Default)]
pub(super) struct Places(Mutex<HashMap<String, Held>>);

struct Held {
    number: u64,
    fence: CancellationToken,
    since: Instant,
}

impl Places {
    /// What ends a link by this place; none where another has the place by now.
    fn take(&self, server: &str, place: Option<&str>) -> Option<CancellationToken> {
        let Some(place) = place else {
            return Some(CancellationToken::new());
        };
        let (at, number) = place.split_once(' ')?;
        let (at, number) = (format!("{server} {at}"), number.parse().ok()?);
        let mut all = self.0.lock();
        if all.len() >= limits::PLACES && !all.contains_key(&at) {
            all.retain(|_, held| held.since.elapsed() < limits::PLACE_LIFE);
        }
        let new = || Held {
            number,
            fence: CancellationToken::new(),
            since: Instant::now(),
        };
        let held = all.entry(at).or_insert_with(new);
        if number < held.number {
            return None;
        }
        if number > held.number {
            held.fence.cancel();
            *held = new();
        }
        Some(held.fence.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_place_that_was_taken_anew_ends_what_went_by_it_before() {
        let places = Places::default();
        let first = places.take("notes", Some("0 7")).unwrap();
        let same = places.take("notes", Some("0 7")).unwrap();
        let other = places.take("notes", Some("1 3")).unwrap();
        assert!(!first.is_cancelled() && !same.is_cancelled());
        let next = places.take("notes", Some("0 9")).unwrap();
        assert!(first.is_cancelled() && same.is_cancelled());
        assert!(!next.is_cancelled() && !other.is_cancelled());
        assert!(places.take("notes", Some("0 8")).is_none());
        assert!(places.take("notes", Some("nothing")).is_none());
        assert!(places.take("git", Some("0 1")).is_some());
        assert!(places.take("notes", None).is_some());
    }
}
