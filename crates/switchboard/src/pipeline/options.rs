//! Where we are, what we are told, and whom we tell what is wrong. Nothing of it is
//! asked of the process, so that a program can have as many of these as it likes.

use super::Approvals;
use crate::{
    attached::{self, Attached},
    dirs::{Dirs, NoHome},
    in_use::InUse,
};
use parking_lot::RwLock;
use std::{
    fmt,
    path::PathBuf,
    sync::{Arc, OnceLock},
};
use switchboard_config::{self as config, Places, Variables};
use switchboard_host::{FarWay, pins};

/// Who is told what is worth a warning, also while a gateway follows its files.
pub trait Tell: Send + Sync {
    /// Tells somebody.
    fn warn(&self, text: &str);

    /// Everything is about to be read again: what is still wrong then was told before.
    fn read_again(&self) {}
}

/// What holds here as it does at other replicas of a cluster.
#[derive(Clone, Debug, Default)]
pub(crate) struct Holding {
    /// Settings, and what was approved.
    pub(crate) configured: config::Applied,
    /// What definitions are to be; nothing where nobody is followed.
    pub(crate) pins: Option<pins::Signed>,
}

/// Writes warnings to the log.
#[derive(Clone, Copy, Debug)]
struct Log;

impl Tell for Log {
    fn warn(&self, text: &str) {
        tracing::warn!("{text}");
    }
}

/// What [`Config::load`](super::Config::load) goes by. Clones share what they know
/// of running gateways, and what they keep file tools away from.
#[derive(Clone)]
pub struct Options {
    /// Where we work: relative paths begin here, and servers start here.
    pub directory: PathBuf,
    /// The environment. It also says where the user's files are; without `HOME` there
    /// are none.
    pub variables: Variables,
    /// The values of `--mcp-config`, in order: a file each, or JSON.
    pub mcp_config: Vec<String>,
    /// Looks at nothing else, save what an administrator says and what forbids something.
    pub strict: bool,
    /// The file of this very program: entries that would start it do not count.
    pub own_program: Option<PathBuf>,
    /// Leaves gateways that run alone: servers are this program's own.
    pub direct: bool,
    /// Who is told what is wrong; the log, unless somebody else is named.
    pub tell: Arc<dyn Tell>,
    /// What this run is told by and runs: the file tools leave it alone.
    pub in_use: InUse,
    /// The way to servers of workers, once it is known.
    pub(crate) far_way: FarWay,
    /// The way to sign-ins that several machines share, once it is known.
    #[cfg(feature = "sign-in")]
    pub(crate) sign_ins: switchboard_auth::FleetWay,
    /// What holds for this gateway as for others of its cluster.
    pub(crate) applied: Arc<RwLock<Holding>>,
    gateways: Arc<OnceLock<Vec<Attached>>>,
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("directory", &self.directory)
            .field("strict", &self.strict)
            .field("direct", &self.direct)
            .finish_non_exhaustive()
    }
}

impl Options {
    /// All that a user has configured for this directory, which is an absolute path.
    pub fn new(directory: impl Into<PathBuf>, variables: Variables) -> Self {
        Self {
            directory: directory.into(),
            variables,
            mcp_config: Vec::new(),
            strict: false,
            own_program: None,
            direct: false,
            tell: Arc::new(Log),
            in_use: InUse::default(),
            far_way: FarWay::default(),
            #[cfg(feature = "sign-in")]
            sign_ins: switchboard_auth::FleetWay::default(),
            applied: Arc::default(),
            gateways: Arc::default(),
        }
    }

    /// Our own directories.
    pub fn dirs(&self) -> Result<Dirs, NoHome> {
        Dirs::find_from(&self.directory, |name| self.path(name))
    }

    /// Where the files of all scopes are.
    pub fn places(&self) -> Option<Places> {
        // `SWITCHBOARD_CONFIG_DIR` is judged by its place, so the rest is found without it.
        let usual = |name: &str| self.path(name).filter(|_| name != "SWITCHBOARD_CONFIG_DIR");
        let dirs = Dirs::find_from(&self.directory, usual).ok()?;
        Some(Places::find(
            &self.directory,
            &dirs.config,
            &dirs.data,
            &dirs.cache,
            |name| self.variables.get(name),
        ))
    }

    /// Where the user's approvals are kept.
    pub fn approvals(&self) -> Approvals {
        match self.places() {
            Some(places) => Approvals::kept_in(places.approvals()),
            None => Approvals::nowhere(),
        }
    }

    /// The user's gateways that run and answer, unless they are to be left alone.
    /// They are asked once, side by side; who does not answer is passed by. A build
    /// without `gateway` leaves all of them alone.
    pub fn gateways(&self) -> Vec<Attached> {
        self.gateways
            .get_or_init(|| attached::answering(self))
            .clone()
    }

    /// The same, asked anew.
    pub fn gateways_now(&self) -> Vec<Attached> {
        attached::answering(self)
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        self.variables.get(name).map(PathBuf::from)
    }
}
