//! What is configured and approved: what becomes of it is decided here, its rules next.

use super::{Governed, Look, follow::Known};
use crate::permissions::{Purpose, Unfollowable};
use std::{error::Error, path::PathBuf, sync::Arc};
use switchboard_config::{Loaded, Standing, approval::Store};
use switchboard_host::permission::Mode;
use switchboard_wire::name::Style;

/// Where it is kept that a list of the user's approved something, so that a change of
/// it asks again.
#[derive(Clone, Debug)]
pub struct Approvals(Kept);

#[derive(Clone, Debug)]
enum Kept {
    In(PathBuf),
    AtStart,
    Nowhere,
}

impl Approvals {
    /// In this file; that of a user is [`Options::approvals`](super::Options::approvals).
    pub fn kept_in(file: impl Into<PathBuf>) -> Self {
        Self(Kept::In(file.into()))
    }

    /// In the user's file, before a server is first started and not sooner: for whoever
    /// may start none at all.
    pub fn at_start() -> Self {
        Self(Kept::AtStart)
    }

    /// Nowhere: nothing of a project is used that nobody has said yes to before.
    pub fn nowhere() -> Self {
        Self(Kept::Nowhere)
    }
}

/// What is configured becomes what is used: servers come in, others go. Done again
/// whenever the files are read again. The rules are out of its reach.
pub type Arrangement =
    Arc<dyn Fn(&mut Loaded) -> Result<(), Box<dyn Error + Send + Sync>> + Send + Sync>;

/// What is configured and may be started; who may use it how is not decided yet.
pub struct Approved {
    pub(super) look: Look,
    pub(super) known: Known,
    pub(super) arrangements: Vec<Arrangement>,
    style: Option<Style>,
}

impl Approved {
    pub(super) fn new(mut look: Look, approvals: &Approvals) -> Self {
        let known = Known::of(&look);
        keep(&mut look, approvals);
        Self {
            look,
            known,
            arrangements: Vec::new(),
            style: None,
        }
    }

    /// What was read.
    pub fn read(&self) -> &Look {
        &self.look
    }

    /// Adds what running gateways have besides what is configured.
    #[must_use]
    pub fn bring_along(mut self) -> Self {
        self.look.bring_along();
        self
    }

    /// Has servers come in and others go, now and whenever files are read again.
    pub fn arrange(
        mut self,
        arrangement: Arrangement,
    ) -> Result<Self, Box<dyn Error + Send + Sync>> {
        apply(&arrangement, &mut self.look.loaded)?;
        self.arrangements.push(arrangement);
        Ok(self)
    }

    /// How tools are named; with their whole names unless a gateway serves them.
    #[must_use]
    pub fn names(mut self, style: Style) -> Self {
        self.style = Some(style);
        self
    }

    /// Makes servers of it, under the rules of the settings. `mode` is what whoever
    /// starts this says about tools that no rule is about.
    pub fn govern(self, mode: Option<Mode>, purpose: Purpose) -> Result<Governed, Unfollowable> {
        let style = self.style.unwrap_or(match purpose {
            Purpose::Gateway => Style::Short,
            Purpose::Command | Purpose::Agent => Style::Full,
        });
        Governed::new(self, mode, purpose, style)
    }
}

/// Changes what was loaded, and none of its rules.
pub(super) fn apply(
    arrangement: &Arrangement,
    loaded: &mut Loaded,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let permissions = loaded.permissions.clone();
    let arranged = arrangement(loaded);
    loaded.permissions = permissions;
    arranged
}

/// Keeps what a list of the user's approved. What cannot be kept is not used.
pub(super) fn keep(look: &mut Look, approvals: &Approvals) {
    let loaded = &mut look.loaded;
    if loaded.pins.is_empty() {
        return;
    }
    let pins: Vec<_> = loaded.pins.drain(..).map(|pin| (pin, true)).collect();
    let kept = match &approvals.0 {
        Kept::In(file) => Store::decide(file, &pins).map_err(|error| error.to_string()),
        // Each such entry has a pin, without which it does not start.
        Kept::AtStart => Ok(()),
        Kept::Nowhere => Err("there is nowhere to keep them".to_owned()),
    };
    let Err(error) = kept else { return };
    look.options.tell.warn(&format!(
        "approvals cannot be kept, so that servers wait for them: {error}"
    ));
    for server in &mut loaded.servers {
        let pinned = pins.iter().any(|(pin, _)| pin.name == server.entry.name);
        if server.entry.inside && pinned && server.standing == Standing::Active {
            server.standing = Standing::PendingApproval;
        }
    }
}
