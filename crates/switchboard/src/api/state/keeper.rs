//! What was told last, so that only what is new is told.

use super::{
    super::{
        Api,
        feed::{Feed, Topic},
        now,
    },
    row::{self, Counted},
};
use crate::{
    limits,
    roster::Status,
    used::{Used, used},
};
use parking_lot::Mutex;
use std::{collections::HashMap, sync::Arc, time::Instant};
use switchboard_api::{
    events::Event,
    state::{Client, Server},
};

/// What was told last.
#[derive(Debug, Default)]
pub(in super::super) struct Keeper {
    last: Mutex<Last>,
    used: Mutex<Measured>,
    follows: Mutex<bool>,
}

#[derive(Debug, Default)]
struct Last {
    servers: Vec<Server>,
    clients: Vec<Client>,
    /// What the lists of each come to.
    counted: HashMap<String, Counted>,
}

/// What processes used when that was last looked at.
#[derive(Debug, Default)]
struct Measured {
    at: Option<Instant>,
    used: HashMap<String, (Used, f64)>,
}

impl Keeper {
    /// Looks at what processes use, unless that was done just now.
    pub(in super::super) async fn measure(&self, api: &Api) {
        let before = {
            let mut measured = self.used.lock();
            let before = measured.at;
            if before.is_some_and(|at| at.elapsed() < limits::API_MEASURE) {
                return;
            }
            measured.at = Some(Instant::now());
            before
        };
        let servers = api.host.servers();
        let all = used(&servers).await;
        let passed = before.map(|at| at.elapsed().as_secs_f64());
        let mut measured = self.used.lock();
        let old = std::mem::take(&mut measured.used);
        for (server, used) in servers.iter().zip(all) {
            let Some(used) = used else { continue };
            let name = server.name().to_string();
            let share = passed.and_then(|passed| {
                let (was, _) = old.get(&name)?;
                let spent = used.cpu_ms.checked_sub(was.cpu_ms)? as f64 / 1000.0;
                Some((spent / passed.max(0.001) * 100.0).round())
            });
            measured
                .used
                .insert(name, (used, share.unwrap_or_default()));
        }
    }

    /// Compares what is with what was told, and tells what is new. The number of the last
    /// event, and what is.
    pub(in super::super) fn refresh(&self, api: &Api) -> (u64, Vec<Server>, Vec<Client>) {
        let mut last = self.last.lock();
        let servers = self.servers(api, &mut last);
        let clients: Vec<Client> = api.visitors.now().iter().map(row::client).collect();
        tell(&api.feed, &last, &servers, &clients);
        last.servers.clone_from(&servers);
        last.clients.clone_from(&clients);
        (api.feed.revision(), servers, clients)
    }

    fn servers(&self, api: &Api, last: &mut Last) -> Vec<Server> {
        let members = api.members.borrow();
        let measured = self.used.lock();
        let mut counted = std::mem::take(&mut last.counted);
        let mut rows = Vec::with_capacity(members.len());
        for member in members.iter() {
            let mut row = row::server(api, member);
            if let Status::Server(server) = &member.status {
                let known = counted.remove(&row.name);
                let (count, news) = Counted::of(api, server, known);
                for list in news {
                    let (name, list) = (row.name.clone(), list.to_owned());
                    api.feed.tell(Event::Listed { name, list }, None);
                }
                count.fill(&mut row);
                last.counted.insert(row.name.clone(), count);
                if let Some((used, share)) = measured.used.get(&row.name) {
                    // By whole mebibytes: less is no news.
                    row.memory = Some(used.memory.div_ceil(1 << 20) << 20);
                    row.cpu = Some(*share);
                }
            }
            row::seen(
                &mut row,
                last.servers.iter().find(|old| is_same(old, member)),
                now(),
            );
            rows.push(row);
        }
        rows
    }

    /// Whether nobody looked for changes so far: whoever is told so does it now.
    pub(super) fn begins_to_follow(&self) -> bool {
        !std::mem::replace(&mut *self.follows.lock(), true)
    }

    /// Whether nobody listens any more.
    pub(super) fn ends_to_follow(&self, api: &Api) -> bool {
        let mut follows = self.follows.lock();
        *follows = api.feed.is_heard(Topic::State);
        !*follows
    }
}

fn is_same(old: &Server, member: &crate::roster::Member) -> bool {
    let file = member.entry.source.file();
    old.name == member.entry.name
        && old.file.as_deref() == file.map(|file| file.display().to_string()).as_deref()
}

fn key(server: &Server) -> (&str, Option<&str>) {
    (&server.name, server.file.as_deref())
}

fn tell(feed: &Arc<Feed>, last: &Last, servers: &[Server], clients: &[Client]) {
    for server in servers {
        let old = last.servers.iter().find(|old| key(old) == key(server));
        if old != Some(server) {
            let server = Box::new(server.clone());
            feed.tell(Event::Server { server }, None);
        }
    }
    for old in &last.servers {
        if !servers.iter().any(|server| key(server) == key(old)) {
            let name = old.name.clone();
            let file = old.file.clone();
            feed.tell(Event::ServerGone { name, file }, None);
        }
    }
    if last.clients != clients {
        let clients = clients.to_vec();
        feed.tell(Event::Clients { clients }, None);
    }
}
