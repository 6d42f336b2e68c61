//! Servers that an outpost runs because somebody has signed them for machines like it. A
//! replica asks for exactly one that was signed: what is called the same here and is another
//! one, older or the outpost's own, is not given to it.

use crate::limits;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use std::{
    collections::{BTreeMap, HashMap},
    fmt,
    sync::Arc,
};
use switchboard_host::{Host, Server};
use switchboard_local::{secret, visible};
use tokio_util::sync::CancellationToken;

/// Such a server, as others hear of it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hiring {
    /// What it is called.
    pub server: String,
    /// What exactly it is, as a hash.
    pub what: String,
    /// Why it does not run here, if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
}

/// The same at its outpost.
#[derive(Clone, Debug)]
pub struct HiredServer {
    /// What it is called.
    pub name: String,
    /// What exactly it is, as a hash.
    pub what: String,
    /// The server, or why it does not run here.
    pub server: Result<Arc<Server>, NotRun>,
}

/// Why a server that was signed for outposts does not run at one of them.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotRun {
    /// It is for those that are called otherwise.
    #[error("it is for the workers {0}")]
    OtherNames(String),
    /// It is for those of which this can be said.
    #[error("it asks for the label {0}={1}")]
    Label(String, String),
    /// It cannot be told what the outpost's own settings say.
    #[error("this worker's own settings cannot be used")]
    Unusable,
    /// They do not let it run.
    #[error("{0}")]
    NotPermitted(String),
    /// It cannot work there.
    #[error("{0}")]
    Faulty(String),
}

impl NotRun {
    /// Whether it is for this outpost all the same, and may run later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::OtherNames(_) | Self::Label(..) => false,
            Self::Unusable | Self::NotPermitted(_) | Self::Faulty(_) => true,
        }
    }

    /// In words that others may see.
    pub fn shown(&self) -> String {
        let text = self.to_string();
        visible::cut(&visible::line(&secret::text(&text)), limits::HIRE_WHY)
    }
}

/// All of an outpost's.
pub struct Hires {
    now: Mutex<BTreeMap<String, Held>>,
    /// How many links each of them has.
    in_use: Mutex<HashMap<String, usize>>,
    /// How many of them may be in use at a time.
    room: usize,
}

struct Held {
    hired: HiredServer,
    /// It is not what it was, or not wanted any more.
    over: CancellationToken,
}

/// Why there is no link to such a server.
#[derive(Debug, thiserror::Error)]
pub(super) enum NotHired {
    #[error("it hires out no such server")]
    Unknown,
    #[error("it has another version of it than the one that is asked for")]
    Other,
    #[error("{}", .0.shown())]
    Unable(NotRun),
    #[error("this worker's own settings do not permit it")]
    Shut,
    #[error("it runs as many servers of the cluster as it may ({0})")]
    Full(usize),
}

impl Hires {
    /// None yet, of which so many may be in use at a time.
    pub(super) fn new(room: usize) -> Self {
        Self {
            now: Mutex::default(),
            in_use: Mutex::default(),
            room,
        }
    }

    /// These are signed now. Links of those that are not the same any more end.
    pub fn set(&self, all: Vec<HiredServer>) {
        let mut now = self.now.lock();
        let mut before = std::mem::take(&mut *now);
        for hired in all {
            let is_it = |held: &Held| is_same(&held.hired, &hired);
            let over = match before.get(&hired.name).is_some_and(is_it) {
                true => before.remove(&hired.name).map(|held| held.over),
                false => None,
            };
            let over = over.unwrap_or_default();
            now.insert(hired.name.clone(), Held { hired, over });
        }
        for held in before.into_values() {
            held.over.cancel();
        }
    }

    /// What others hear of them, where this is what has servers: an administrator may have
    /// shut all of them meanwhile.
    pub fn said(&self, host: &Host) -> Vec<Hiring> {
        let now = self.now.lock();
        let all = now.values().map(|held| Hiring {
            server: held.hired.name.clone(),
            what: held.hired.what.clone(),
            why: match &held.hired.server {
                Ok(server) => (!is_there(server, host)).then(|| NotHired::Shut.to_string()),
                Err(why) => Some(why.shown()),
            },
        });
        all.collect()
    }

    /// Those that run.
    pub fn running(&self) -> Vec<Arc<Server>> {
        let now = self.now.lock();
        let servers = now.values().map(|held| held.hired.server.clone());
        servers.filter_map(Result::ok).collect()
    }

    /// Whether this very server is one of them, and not the outpost's own.
    pub(super) fn has(&self, server: &Arc<Server>) -> bool {
        let now = self.now.lock();
        let held = now.get(&**server.name());
        let hired = held.and_then(|held| held.hired.server.as_ref().ok());
        hired.is_some_and(|hired| Arc::ptr_eq(hired, server))
    }

    /// The server that is asked for, for as long as what is returned is kept.
    pub(super) fn take(
        self: &Arc<Self>,
        (name, what): (&str, &str),
        host: &Host,
    ) -> Result<Use, NotHired> {
        let now = self.now.lock();
        let held = now.get(name).ok_or(NotHired::Unknown)?;
        if held.hired.what != what {
            return Err(NotHired::Other);
        }
        let server = held.hired.server.clone().map_err(NotHired::Unable)?;
        if !is_there(&server, host) {
            return Err(NotHired::Shut);
        }
        let mut in_use = self.in_use.lock();
        if !in_use.contains_key(name) && in_use.len() >= self.room {
            return Err(NotHired::Full(self.room));
        }
        *in_use.entry(name.to_owned()).or_default() += 1;
        Ok(Use {
            server,
            over: held.over.clone(),
            name: name.to_owned(),
            of: self.clone(),
        })
    }
}

fn is_there(server: &Arc<Server>, host: &Host) -> bool {
    let servers = host.servers();
    let found = servers.named(server.name());
    found.is_some_and(|found| Arc::ptr_eq(found, server))
}

fn is_same(one: &HiredServer, other: &HiredServer) -> bool {
    match (&one.server, &other.server) {
        (Ok(server), Ok(same)) => one.what == other.what && Arc::ptr_eq(server, same),
        _ => false,
    }
}

/// One that is in use.
pub(super) struct Use {
    pub(super) server: Arc<Server>,
    /// Fires when it is not what it was any more.
    pub(super) over: CancellationToken,
    name: String,
    of: Arc<Hires>,
}

impl Drop for Use {
    fn drop(&mut self) {
        let mut in_use = self.of.in_use.lock();
        if let Some(links) = in_use.get_mut(&self.name) {
            *links -= 1;
            if *links == 0 {
                in_use.remove(&self.name);
            }
        }
    }
}

impl fmt::Debug for Hires {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.now.lock().keys()).finish()
    }
}
