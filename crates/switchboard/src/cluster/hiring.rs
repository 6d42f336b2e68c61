//! A worker that runs what somebody has signed for the cluster: it follows that as a replica
//! follows what is applied, and says what of it runs here and why the rest does not. What is
//! signed is all that counts: neither NATS nor a replica can have anything started.

use crate::{
    applied::Followed,
    identity::of_runs,
    limits,
    pipeline::{Follower, Governed, Holding},
    roster::{Member, Status},
};
use parking_lot::RwLock;
use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};
use switchboard_config::{Fault, Hired, HiredServer as Signed, Scope};
use switchboard_gateway::{Hire, HiredServer, NotRun, Outpost, Signed as Version};
use switchboard_host::{Host, Server, ServerSpec};
use switchboard_local::wildcard;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What a worker is, for entries that ask for it, and what it lends them.
pub(super) struct Terms {
    pub(super) name: String,
    pub(super) labels: BTreeMap<String, String>,
    pub(super) variables: Arc<[String]>,
}

impl Terms {
    /// Why an entry is not for this worker.
    fn unfit(&self, hire: &Hire) -> Option<NotRun> {
        let mut names = hire.outposts.iter();
        if !hire.outposts.is_empty() && !names.any(|name| wildcard::matches(name, &self.name)) {
            return Some(NotRun::OtherNames(hire.outposts.join(", ")));
        }
        let mut labels = hire.labels.iter();
        let (name, value) = labels.find(|(name, value)| self.labels.get(*name) != Some(*value))?;
        Some(NotRun::Label(name.clone(), value.clone()))
    }
}

/// A worker that runs what was signed.
pub(super) struct Following {
    outpost: Arc<Outpost>,
    terms: Terms,
    kept: Followed,
    holds: Arc<RwLock<Holding>>,
    host: Arc<Host>,
    follower: Follower,
    newest: watch::Receiver<Option<Arc<Version>>>,
    members: watch::Receiver<Vec<Member>>,
    /// What was said last of each server.
    said: HashMap<String, (String, Option<String>)>,
    /// Whether one is for this worker that it cannot run.
    is_stuck: bool,
}

impl Following {
    /// Begins with the newest that is known.
    pub(super) fn begin(
        outpost: &Arc<Outpost>,
        terms: Terms,
        kept: Followed,
        governed: &Governed,
    ) -> Self {
        let follower = governed.follower().clone();
        let mut this = Self {
            newest: outpost.applied().newest(),
            outpost: outpost.clone(),
            terms,
            kept,
            holds: governed.options().applied.clone(),
            host: governed.host().clone(),
            members: follower.members(),
            follower,
            said: HashMap::new(),
            is_stuck: false,
        };
        this.run();
        this
    }

    /// Goes on until it is told to stop.
    pub(super) async fn follow(mut self, stop: CancellationToken) {
        let mut newest = self.newest.clone();
        let mut members = self.members.clone();
        loop {
            tokio::select! {
                () = stop.cancelled() => return,
                Ok(()) = newest.changed() => self.run(),
                // The worker's own files have changed, and what they permit.
                Ok(()) = members.changed() => self.tell(),
                // What was missing on this machine may be there by now.
                () = tokio::time::sleep(limits::HIRES_LOOK), if self.is_stuck => {
                    let _ = self.follower.reload();
                    self.tell();
                }
            }
        }
    }

    /// Runs the newest version: what is not in it ends, whatever else there is.
    fn run(&mut self) {
        let Some(signed) = self.newest.borrow_and_update().clone() else {
            return;
        };
        let version = signed.statement.version;
        let fitting = signed.statement.hires.iter();
        let fitting = fitting.filter(|(_, hire)| self.terms.unfit(hire).is_none());
        let servers = fitting.map(|(name, hire)| Signed {
            name: name.clone(),
            runs: hire.runs.clone(),
        });
        self.holds.write().configured.hired = Hired {
            servers: servers.collect(),
            variables: self.terms.variables.clone(),
        };
        // Nobody can show it an older one from now on.
        self.kept.keep(&signed);
        let reloaded = self.follower.reload();
        self.outpost.applied().is_run(version, reloaded.is_ok());
        match reloaded {
            Ok(_) => {
                let signer = &signed.signer;
                tracing::info!(
                    version,
                    signer,
                    "this worker goes by what was signed for it"
                );
            }
            Err(why) => {
                tracing::warn!(version, %why, "this worker's own settings cannot be used: nothing new is started that was signed");
            }
        }
        self.tell();
    }

    /// Says what of it runs here.
    fn tell(&mut self) {
        self.members.borrow_and_update();
        let Some(signed) = self.newest.borrow().clone() else {
            return;
        };
        let hires = signed.statement.hires.iter();
        let all: Vec<HiredServer> = hires
            .map(|(name, hire)| HiredServer {
                name: name.clone(),
                what: of_runs(&hire.runs),
                server: match self.terms.unfit(hire) {
                    Some(why) => Err(why),
                    None => self.server(name, hire),
                },
            })
            .collect();
        let stuck = |hired: &HiredServer| hired.server.as_ref().is_err_and(|why| why.may_pass());
        self.is_stuck = all.iter().any(stuck);
        self.log(&all);
        self.end_others(&all);
        self.outpost.hires_now(all);
    }

    /// Ends what is not to run any more, also where nothing new can be started.
    fn end_others(&self, all: &[HiredServer]) {
        let stays = |server: &Arc<Server>| {
            let mut all = all.iter().filter_map(|hired| hired.server.as_ref().ok());
            all.any(|hired| Arc::ptr_eq(hired, server))
        };
        let mut over = self.outpost.hires().running();
        over.retain(|server| !stays(server));
        let is_over = |server: &Arc<Server>| over.iter().any(|it| Arc::ptr_eq(it, server));
        let servers = self.host.servers();
        if servers.iter().any(is_over) {
            let left = servers.iter().filter(|server| !is_over(server));
            let left = left.map(|server| ServerSpec::clone(&server.spec));
            self.host.replace(left.collect());
        }
    }

    /// The server that an entry has become here, or why there is none.
    fn server(&self, name: &str, hire: &Hire) -> Result<Arc<Server>, NotRun> {
        let members = self.members.borrow();
        let is_it = |member: &&Member| {
            let entry = &member.entry;
            entry.scope == Scope::Fleet && entry.name == name && entry.written == hire.runs
        };
        let member = members.iter().find(is_it);
        let member = member.ok_or(NotRun::Unusable)?;
        match &member.status {
            Status::Server(server) => {
                let servers = self.host.servers();
                let found = servers.named(name);
                let is_there = found.is_some_and(|found| Arc::ptr_eq(found, server));
                is_there.then(|| server.clone()).ok_or(NotRun::Unusable)
            }
            Status::Faulty(faults) => {
                let faults: Vec<String> = faults.iter().map(Fault::reason).collect();
                Err(NotRun::Faulty(faults.join("; ")))
            }
            Status::Unused(_) => Err(NotRun::NotPermitted(member.why.clone().unwrap_or_default())),
        }
    }

    /// Writes to the log what has changed.
    fn log(&mut self, all: &[HiredServer]) {
        let mut now = HashMap::new();
        for HiredServer { name, what, server } in all {
            let why = server.as_ref().err().map(NotRun::shown);
            let said = (what.clone(), why.clone());
            if self.said.remove(name).as_ref() != Some(&said) {
                match why {
                    None => tracing::info!(server = name, "hires out a server of the cluster"),
                    Some(why) => {
                        tracing::info!(server = name, why, "does not run a server of the cluster");
                    }
                }
            }
            now.insert(name.clone(), said);
        }
        for name in self.said.keys() {
            tracing::info!(
                server = name,
                "a server of the cluster was withdrawn: it ends here"
            );
        }
        self.said = now;
    }
}
