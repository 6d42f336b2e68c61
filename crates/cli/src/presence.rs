//! A gateway that other commands find, use and control, and that follows its
//! configuration files.

use crate::{
    connectors,
    context::{self, Context, warn},
    failure::{Code, Failure},
    told,
};
use parking_lot::Mutex;
use std::{net::SocketAddr, path::PathBuf, sync::Arc, time::Duration};
use switchboard::{
    Dirs, Member, Roster, Settings, VERSION,
    config::Loaded,
    connectors::Fetching,
    desk::Desk,
    gateway::{Announcement, ControlDesk},
    host::{Host, permission::Mode},
    running::{Note, RENEWAL, Running},
    tokens,
    vigil::{self, Sight},
};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// How often it is looked at what was approved.
const PINS: Duration = Duration::from_secs(1);

/// How what is loaded becomes what is served.
pub struct Arrangement {
    /// Built-in servers come in, others go.
    pub arrange: Arc<dyn Fn(Loaded) -> Result<Loaded, Failure> + Send + Sync>,
    /// The permission mode that the command line says.
    pub mode: Option<Mode>,
    /// What clients are told when they come in.
    pub announcement: Announcement,
}

/// Follows the configuration files, and keeps the list of connectors fresh.
pub struct Follower {
    reload: Arc<Reload>,
    /// The files that decide what is served.
    files: Arc<Mutex<Vec<PathBuf>>>,
    members: watch::Receiver<Vec<Member>>,
    host: Arc<Host>,
    /// The list of connectors that is to be fetched.
    fetching: Arc<Mutex<Option<Fetching>>>,
}

/// Reads everything again; whether that changed anything.
type Reload = dyn Fn() -> Result<bool, String> + Send + Sync;

impl Follower {
    /// For the servers of `roster`, which were made of `loaded`.
    pub fn new(context: &Context, roster: &Roster, loaded: Known, rule: Arrangement) -> Self {
        let files = Arc::new(Mutex::new(loaded.files));
        let (told, members) = watch::channel(roster.members.clone());
        let fetching = Arc::new(Mutex::new(loaded.fetching));
        let reload = {
            let (context, files, host) = (context.clone(), files.clone(), roster.host.clone());
            let faults = Mutex::new(loaded.faults);
            let rules = Mutex::new(loaded.rules);
            let fetching = fetching.clone();
            move || {
                told::read_again();
                let mut loaded = context.load();
                *files.lock() = context.files(&loaded);
                context.protect(&loaded);
                *fetching.lock() = connectors::fetching(&context, &loaded);
                if let Some(failure) = context::unusable(&loaded) {
                    // An administrator's file that cannot be read shuts everything.
                    if loaded.exclusive.is_some() {
                        host.replace(Vec::new());
                    }
                    return Err(failure.text().to_owned());
                }
                // Half a file, most likely: what runs is better than half of it.
                let now = faults_of(&loaded);
                let known = std::mem::replace(&mut *faults.lock(), now.clone());
                if let Some(new) = now.iter().find(|fault| !known.contains(fault)) {
                    return Err(new.clone());
                }
                context.pin(&mut loaded);
                let text = |failure: Failure| failure.text().to_owned();
                let loaded = (rule.arrange)(loaded).map_err(text)?;
                let now = rules_of(&loaded);
                rule.announcement.set(loaded.about_folder());
                let reloaded = context.reload(&host, loaded, rule.mode).map_err(text)?;
                let changed = reloaded.changed;
                told.send_replace(reloaded.members);
                let other_rules = std::mem::replace(&mut *rules.lock(), now.clone()) != now;
                if other_rules && !changed {
                    host.announce_all();
                }
                Ok(changed || other_rules)
            }
        };
        Self {
            reload: Arc::new(reload),
            files,
            members,
            host: roster.host.clone(),
            fetching,
        }
    }

    /// Goes on until it is told to stop.
    pub async fn follow(&self, stop: CancellationToken) {
        let fetching = || self.fetching.lock().clone();
        let fetch = switchboard::connectors::follow(fetching, stop.clone());
        tokio::join!(
            self.follow_files(stop.clone()),
            self.follow_pins(stop),
            fetch
        );
    }

    /// Looks every second whether something was approved that waits here.
    async fn follow_pins(&self, stop: CancellationToken) {
        while stop
            .run_until_cancelled(tokio::time::sleep(PINS))
            .await
            .is_some()
        {
            self.host.refresh_pins();
        }
    }

    async fn follow_files(&self, stop: CancellationToken) {
        let (reload, files) = (self.reload.clone(), self.files.clone());
        let seen = Sight::of(files.lock().clone());
        vigil::watch(seen, stop, |now| {
            match reload() {
                Ok(true) => {
                    tracing::info!("the configuration has changed, and the servers with it")
                }
                Ok(false) => {}
                Err(why) => tracing::warn!(
                    why,
                    "the configuration has changed, but cannot be used; what runs goes on"
                ),
            }
            now.and(files.lock().clone())
        })
        .await;
    }
}

/// The presence of one gateway.
pub struct Presence {
    dirs: Dirs,
    context: Context,
    desk: Arc<Desk>,
    token: String,
    /// Whether other commands find the token where it is kept.
    is_kept: bool,
    follower: Follower,
}

impl Presence {
    /// For the servers of `roster`, which were made of `loaded`. One that is
    /// `alone` does without a home that can be written: in a container, say.
    pub fn new(
        context: &Context,
        roster: &Roster,
        settings: &Settings,
        principal: &str,
        loaded: Known,
        rule: Arrangement,
        alone: bool,
    ) -> Result<Self, Failure> {
        let wrong = |error: String| Failure::new(Code::Configuration, error);
        let dirs = Dirs::from_env().map_err(|error| wrong(error.to_string()))?;
        let (token, is_kept) = match tokens::control(&dirs) {
            Ok(token) => (token, true),
            Err(error) if alone => {
                warn(&format!(
                    "{error}; other commands cannot find or control this gateway"
                ));
                (
                    tokens::random().map_err(|error| wrong(error.to_string()))?,
                    false,
                )
            }
            Err(error) => return Err(wrong(error.to_string()).hint(error.hint())),
        };
        let follower = Follower::new(context, roster, loaded, rule);
        let reload = follower.reload.clone();
        let reload = Box::new(move || reload());
        let desk = Desk::new(roster.host.clone(), principal, settings, reload);
        Ok(Self {
            dirs,
            context: context.clone(),
            desk: Arc::new(desk),
            token,
            is_kept,
            follower,
        })
    }

    /// What the control token opens.
    pub fn control(&self) -> ControlDesk {
        ControlDesk {
            token: self.token.clone(),
            control: self.desk.clone(),
        }
    }

    /// All that is configured, now and after each change of the files.
    pub fn members(&self) -> watch::Receiver<Vec<Member>> {
        self.follower.members.clone()
    }

    /// Leaves a note where commands look for it; it goes when it is dropped. An
    /// address that this machine cannot be sure of has none.
    pub fn note(&self, address: SocketAddr, names: &str, token: Option<PathBuf>) -> Option<Note> {
        let mut address = address;
        if address.ip().is_unspecified() {
            address.set_ip(std::net::Ipv4Addr::LOCALHOST.into());
        }
        if !address.ip().is_loopback() || !self.is_kept {
            return None;
        }
        let running = Running {
            address: address.to_string(),
            pid: i32::try_from(std::process::id()).ok()?,
            names: names.to_owned(),
            client_token: token,
            control_token: tokens::control_file(&self.dirs),
            directory: self.context.directory.clone(),
            version: VERSION.to_owned(),
        };
        let left = running.leave_note(&self.dirs);
        left.inspect_err(|error| {
            warn(&format!(
                "other commands will not find this gateway: {error}"
            ));
        })
        .ok()
    }

    /// Follows the configuration files, and sees to it that the note is there,
    /// until it is told to stop.
    pub async fn follow(&self, note: Option<&Note>, stop: CancellationToken) {
        let follow = self.follower.follow(stop.clone());
        tokio::join!(follow, keep(note, stop));
    }
}

/// Writes the note again where somebody or something damaged it.
async fn keep(note: Option<&Note>, stop: CancellationToken) {
    let Some(note) = note else { return };
    loop {
        tokio::select! {
            () = stop.cancelled() => return,
            () = tokio::time::sleep(RENEWAL) => {}
        }
        match note.renew() {
            Ok(false) => {}
            Ok(true) => tracing::warn!(
                "the note by which commands find this gateway was damaged, and is written again"
            ),
            Err(error) => {
                tracing::debug!(%error, "the note by which commands find this gateway cannot be written")
            }
        }
    }
}

/// What was loaded at the start, as far as a reload must know.
pub struct Known {
    files: Vec<PathBuf>,
    faults: Vec<String>,
    rules: String,
    fetching: Option<Fetching>,
}

impl Known {
    /// Of what was loaded.
    pub fn of(context: &Context, loaded: &Loaded) -> Self {
        Self {
            files: context.files(loaded),
            faults: faults_of(loaded),
            rules: rules_of(loaded),
            fetching: connectors::fetching(context, loaded),
        }
    }
}

fn faults_of(loaded: &Loaded) -> Vec<String> {
    loaded
        .faults
        .iter()
        .map(|(_, fault)| fault.to_string())
        .collect()
}

/// The permission rules, to see whether they are what they were.
fn rules_of(loaded: &Loaded) -> String {
    format!("{:?}", loaded.permissions)
}
