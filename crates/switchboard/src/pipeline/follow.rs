//! Following the files that servers were made of: what is read again goes the same
//! way, in the same order, and changes the servers of the same host.

use super::{Arrangement, Look, Options, Unusable, approved, asking};
use crate::{
    connectors::{self, Fetching},
    file_watch::{self, Snapshot},
    limits,
    permissions::{Governance, Purpose, Unfollowable},
    roster::{Member, Roster, keep_ways},
};
use parking_lot::Mutex;
use std::{path::PathBuf, sync::Arc};
use switchboard_config::{Fault, Permissions};
use switchboard_host::{Announcement, BoxError, Host, permission::Mode, pins};
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

/// What was loaded, as far as a reload must know.
#[derive(Clone, Debug)]
pub(super) struct Known {
    files: Vec<PathBuf>,
    faults: Vec<Fault>,
    /// The permission rules, to see whether they are what they were.
    rules: Permissions,
    /// What definitions are to be, likewise.
    signed: Option<pins::Signed>,
    fetching: Option<Fetching>,
}

impl Known {
    pub(super) fn of(look: &Look) -> Self {
        Self {
            files: look.files(),
            faults: faults_of(look),
            rules: look.permissions.clone(),
            signed: look.options.applied.read().pins.clone(),
            fetching: look.fetching(),
        }
    }
}

fn faults_of(look: &Look) -> Vec<Fault> {
    let faults = look.faults.iter();
    faults.map(|(_, fault)| fault.clone()).collect()
}

/// Why what was read again cannot be used. What runs goes on.
#[derive(Debug, thiserror::Error)]
pub enum ReloadError {
    /// Nothing of it can be.
    #[error(transparent)]
    Unusable(#[from] Unusable),
    /// Something is wrong that was not before.
    #[error(transparent)]
    Fault(#[from] Box<Fault>),
    /// Whoever arranges servers does not agree.
    #[error(transparent)]
    Arrangement(BoxError),
    /// The rules cannot be followed.
    #[error(transparent)]
    Unfollowable(#[from] Unfollowable),
}

/// Follows the configuration files, and keeps the list of connectors fresh. Clones
/// are the same follower.
#[derive(Clone)]
pub struct Follower(Arc<Followed>);

struct Followed {
    options: Options,
    host: Arc<Host>,
    arrangements: Vec<Arrangement>,
    purpose: Purpose,
    mode: Option<Mode>,
    announcement: Announcement,
    known: Mutex<Known>,
    members: watch::Sender<Vec<Member>>,
}

impl Follower {
    pub(super) fn new(
        options: Options,
        roster: &Roster,
        known: Known,
        arrangements: Vec<Arrangement>,
        (purpose, mode): (Purpose, Option<Mode>),
        announcement: Announcement,
    ) -> Self {
        let (members, _) = watch::channel(roster.members.clone());
        Self(Arc::new(Followed {
            options,
            host: roster.host.clone(),
            arrangements,
            purpose,
            mode,
            announcement,
            known: Mutex::new(known),
            members,
        }))
    }

    /// All that is configured, now and after each change of the files.
    pub fn members(&self) -> watch::Receiver<Vec<Member>> {
        self.0.members.subscribe()
    }

    /// Reads everything again; whether that changed anything.
    ///
    /// # Errors
    /// Why it cannot be used. What runs goes on, unless an administrator shuts it.
    pub fn reload(&self) -> Result<bool, ReloadError> {
        self.0.reload()
    }

    /// Goes on until it is told to stop.
    pub async fn follow(&self, stop: CancellationToken) {
        let fetching = || self.0.known.lock().fetching.clone();
        let fetch = connectors::follow(fetching, stop.clone());
        tokio::join!(
            self.follow_files(stop.clone()),
            self.follow_pins(stop),
            fetch
        );
    }

    /// Looks every second whether something was approved that waits here.
    async fn follow_pins(&self, stop: CancellationToken) {
        while stop
            .run_until_cancelled(tokio::time::sleep(limits::PINS_LOOK))
            .await
            .is_some()
        {
            self.0.host.refresh_pins();
        }
    }

    async fn follow_files(&self, stop: CancellationToken) {
        let files = || self.0.known.lock().files.clone();
        file_watch::watch(Snapshot::of(files()), stop, |now| {
            match self.reload() {
                Ok(true) => {
                    tracing::info!("the configuration has changed, and the servers with it");
                }
                Ok(false) => {}
                Err(why) => tracing::warn!(
                    %why,
                    "the configuration has changed, but cannot be used; what runs goes on"
                ),
            }
            now.and(files())
        })
        .await;
    }
}

impl Followed {
    fn reload(&self) -> Result<bool, ReloadError> {
        self.options.tell.read_again();
        let look = Look::new(&self.options);
        look.warn(false);
        {
            let (files, fetching) = (look.files(), look.fetching());
            let mut known = self.known.lock();
            known.files = files;
            known.fetching = fetching;
        }
        look.protect();
        if let Some(unusable) = look.unusable() {
            // An administrator's file that cannot be read shuts everything.
            if look.exclusive.is_some() {
                self.host.replace(Vec::new());
            }
            return Err(unusable.into());
        }
        // Half a file, most likely: what runs is better than half of it.
        let now = faults_of(&look);
        let known = std::mem::replace(&mut self.known.lock().faults, now.clone());
        if let Some(new) = now.iter().find(|fault| !known.contains(fault)) {
            return Err(Box::new(new.clone()).into());
        }
        self.change(look)
    }

    /// The servers and their rules become what was read.
    fn change(&self, look: Look) -> Result<bool, ReloadError> {
        let config = look.usable()?;
        let mut look = config.approve(&self.options.approvals()).look;
        for arrangement in &self.arrangements {
            approved::apply(arrangement, &mut look.loaded).map_err(ReloadError::Arrangement)?;
        }
        self.announcement.set(look.about_folder());
        let kit = look.kit(self.purpose);
        let permissions = std::mem::take(&mut look.loaded.permissions);
        let inbox = std::mem::take(&mut look.loaded.inbox);
        let data = self.options.places().map(|places| places.data);
        let signed = self.options.applied.read().pins.clone();
        let governance = Governance {
            permissions: &permissions,
            purpose: self.purpose,
            mode: self.mode,
            data: data.as_deref(),
            signed: signed.as_ref(),
        };
        let reloaded = kit.with(|with| Roster::reload(&self.host, look.loaded, with, &governance));
        let reloaded = reloaded?;
        for warning in &reloaded.warnings {
            self.options.tell.warn(warning);
        }
        self.host.desk().set_policy(asking::policy(&inbox));
        let mut members = reloaded.members;
        keep_ways(&mut members, &self.members.borrow());
        self.members.send_replace(members);
        let mut known = self.known.lock();
        let other_rules = known.rules != permissions || known.signed != signed;
        (known.rules, known.signed) = (permissions, signed);
        drop(known);
        if other_rules && !reloaded.changed {
            self.host.announce_all();
        }
        Ok(reloaded.changed || other_rules)
    }
}
