//! `cluster status`: who is there, and what each does.

use crate::{
    commands::worker::hired_out,
    failure::{Code, Failure},
    show::out,
};
use serde::Serialize;
use std::{
    collections::BTreeMap,
    time::{Duration, SystemTime, UNIX_EPOCH},
};
use switchboard::{
    cluster::{Announced, Lease, LeaseOf, Looked, Node},
    local::{spoken, visible},
};

/// A replica as `cluster status --json` shows it. The names are what scripts rely on.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Shown<'a> {
    id: &'a str,
    address: &'a str,
    version: &'a str,
    sessions: usize,
    draining: bool,
    since: u64,
    certificate: &'a str,
    /// How long the store took to take what it said last.
    lag_ms: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    applied: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    unusable: Option<u64>,
    /// The replicas that it reaches through NATS alone.
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    over_nats: &'a [String],
}

/// A worker, likewise.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct ShownWorker<'a> {
    id: &'a str,
    worker: &'a str,
    version: &'a str,
    offers: &'a [String],
    labels: &'a BTreeMap<String, String>,
    links: usize,
    room: usize,
    draining: bool,
    since: u64,
    /// The servers that were signed for workers, where it hires itself out.
    #[serde(skip_serializing_if = "Option::is_none")]
    hires: Option<Vec<ShownHire<'a>>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    applied: Option<u64>,
}

/// One of them, likewise.
#[derive(Debug, Serialize)]
struct ShownHire<'a> {
    server: &'a str,
    runs: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

impl<'a> ShownHire<'a> {
    fn all(worker: &'a Announced) -> Option<Vec<Self>> {
        let hires = worker.hires.iter().map(|hire| Self {
            server: &hire.server,
            runs: hire.why.is_none(),
            why: hire.why.as_deref(),
        });
        worker.applied.map(|_| hires.collect())
    }
}

/// What one of them does alone, likewise.
#[derive(Debug, Serialize)]
struct ShownLease<'a> {
    lease: &'static str,
    of: &'a str,
    holder: &'a str,
    number: u64,
}

impl<'a> ShownLease<'a> {
    fn new(lease: &'a Lease) -> Self {
        let (kind, of) = match &lease.of {
            LeaseOf::SignIn(hash) => ("sign-in", hash),
            LeaseOf::Server(copy) => ("server", copy),
        };
        Self {
            lease: kind,
            of,
            holder: &lease.holder,
            number: lease.number,
        }
    }

    fn row(&self) -> String {
        let Self {
            lease,
            of,
            holder,
            number,
        } = self;
        format!("lease  {lease} {of}  held by {holder}, number {number}")
    }
}

/// One of a cluster.
#[derive(Debug, Serialize)]
#[serde(untagged)]
enum ShownAny<'a> {
    Replica(Shown<'a>),
    Worker(ShownWorker<'a>),
    Lease(ShownLease<'a>),
}

/// Shows who is there, and what each does.
pub(super) fn show(found: &Looked, json: bool) -> Result<Code, Failure> {
    let Looked {
        replicas,
        outposts,
        leases,
    } = found;
    let leases = leases.iter().map(ShownLease::new);
    if json {
        let replicas = replicas.iter().map(|(id, node)| Shown {
            id,
            address: &node.address,
            version: &node.version,
            sessions: node.sessions,
            draining: node.draining,
            since: node.since,
            certificate: &node.fingerprint,
            lag_ms: node.lag_ms,
            applied: node.applied,
            unusable: node.unusable,
            over_nats: &node.over_nats,
        });
        let workers = outposts.iter().map(|(id, worker)| ShownWorker {
            id,
            worker: &worker.name,
            version: &worker.version,
            offers: &worker.offers,
            labels: &worker.labels,
            links: worker.links,
            room: worker.room,
            draining: worker.draining,
            since: worker.since,
            hires: ShownHire::all(worker),
            applied: worker.applied,
        });
        let workers = workers.map(ShownAny::Worker);
        let rows = replicas.map(ShownAny::Replica).chain(workers);
        let rows = rows.chain(leases.map(ShownAny::Lease));
        out::json_list(&rows.collect::<Vec<_>>())?;
    } else {
        if replicas.is_empty() {
            out::line("No replica is there.")?;
        }
        let rows = replicas.iter().map(|(id, node)| row(id, node));
        let workers = outposts.iter().map(|(id, worker)| worker_row(id, worker));
        let leases = leases.map(|lease| lease.row());
        for row in rows.chain(workers).chain(leases) {
            out::line(&visible::line(&row))?;
        }
    }
    Ok(match replicas.is_empty() {
        true => Code::Unreachable,
        false => Code::Done,
    })
}

/// For how long something is there.
pub(super) fn age(since: u64) -> String {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let now = now.map_or(0, |now| now.as_secs());
    spoken(Duration::from_secs(now.saturating_sub(since)))
}

fn worker_row(id: &str, worker: &Announced) -> String {
    let age = age(worker.since);
    let ends = if worker.draining { ", ends" } else { "" };
    let offers = match worker.offers.is_empty() {
        true => "offers nothing".to_owned(),
        false => format!("offers {}", worker.offers.join(", ")),
    };
    let hires = worker.applied.map(|version| {
        let hires = hired_out(&worker.hires);
        format!(", {hires}, goes by version {version}")
    });
    let hires = hires.unwrap_or_default();
    let labels = worker.labels.iter();
    let labels: String = labels
        .map(|(name, value)| format!("  {name}={value}"))
        .collect();
    let (version, links, room) = (&worker.version, worker.links, worker.room);
    format!(
        "{id}  worker  {version}  {offers}{hires}{labels}  {links} of {room} connections, for {age}{ends}"
    )
}

fn row(id: &str, node: &Node) -> String {
    let age = age(node.since);
    let ends = if node.draining { ", ends" } else { "" };
    let (address, version, sessions) = (&node.address, &node.version, node.sessions);
    if address.is_empty() {
        return format!("{id}  of a newer version: what else it says is not known here");
    }
    let lag = node.lag_ms.map(|lag| format!(", {lag} ms to the store"));
    let runs = node
        .applied
        .map(|version| format!(", runs version {version}"));
    let cannot = node.unusable;
    let cannot = cannot.map(|version| format!(", cannot use version {version}"));
    let over = &node.over_nats;
    let over = (!over.is_empty()).then(|| format!(", through NATS to {}", over.join(", ")));
    let more: String = [lag, runs, cannot, over].into_iter().flatten().collect();
    format!("{id}  {address}  {version}  {sessions} sessions in memory, for {age}{more}{ends}")
}
