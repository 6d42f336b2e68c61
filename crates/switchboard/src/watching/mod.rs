//! Watching what passes through a gateway. Each way of it has a module here, a field of
//! [`Watch`] that says what was asked for, and one of [`Watching`] that holds what was
//! begun: an observer of the host's, mostly, out of `switchboard-record`.
//!
//! What was said when the gateway was started goes before what settings files say
//! (`observe`), save the administrator's.

mod access_log;
mod audit;
mod changes;
mod log;
mod metrics;
mod tap;
#[cfg(feature = "otlp")]
mod traces;
#[cfg(not(feature = "otlp"))]
mod untraced;
mod uses;

pub use audit::folder as audit_folder;
pub use changes::Changes;
pub use log::{LogControl, WrongFilter};
pub(crate) use tap::Tapping;
pub(crate) use uses::Uses;

use crate::{VERSION, dirs::NoHome, pipeline::Governed, recorded::Recorded};
use metrics::Counting;
use parking_lot::Mutex;
use std::{
    io,
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};
use switchboard_record::{access_log::AccessLog, cassette::Recorder};

pub use switchboard_record::access_log::{
    Format as AccessLogFormat, Place as AccessLogPlace, Wanted as AccessLogWanted,
};
pub use switchboard_record::audit::Sync as AuditSync;

/// What was asked for. Nothing of it is there unless somebody says so.
#[derive(Clone, Debug, Default)]
pub struct Watch {
    /// What changes how much is logged.
    pub log: Option<Arc<dyn LogControl>>,
    /// A line for each request.
    pub access_log: Option<AccessLogWanted>,
    /// A record of what somebody is asked about later, and when it is on disk.
    pub audit: Option<AuditSync>,
    /// What is counted of calls, and where that is read.
    pub metrics: Option<MetricsWanted>,
    /// The folder into which what servers are asked and answer is recorded.
    pub cassettes: Option<PathBuf>,
    /// Messages of calls are kept for as long as it runs.
    pub tap: bool,
    /// Nothing is kept of calls, not even the list of them.
    pub nothing: bool,
}

/// What is counted of calls, and where that is read. Unless somebody says otherwise a
/// gateway that listens on an address counts, and says so at its own `/metrics`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MetricsWanted {
    /// Nothing that is counted is told.
    Off,
    /// It is read at an address of its own as well, where no token is asked for.
    At(SocketAddr),
}

/// Why a gateway cannot be watched as it was asked for. It does not serve then.
#[derive(Debug, thiserror::Error)]
pub enum WatchError {
    /// The file of the access log.
    #[error("the access log {} cannot be written: {error}", file.display())]
    AccessLog {
        /// Which file.
        file: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The folder of the record of calls.
    #[error("the record of calls in {} cannot be written: {error}", folder.display())]
    Audit {
        /// Which folder.
        folder: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// The folder of cassettes.
    #[error("cassettes cannot be written into {}: {error}", folder.display())]
    Cassettes {
        /// Which folder.
        folder: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// Where traces go, or how.
    #[error("traces cannot be sent: {error}")]
    Traces {
        /// Why not.
        error: String,
    },
    /// There is nowhere to keep anything.
    #[error("{0}")]
    Home(#[from] NoHome),
}

impl From<WatchError> for io::Error {
    fn from(error: WatchError) -> Self {
        Self::other(error)
    }
}

/// What watches one gateway. `/api` can ask it.
#[derive(Debug, Default)]
pub struct Watching {
    /// What changes how much is logged, where anything does.
    pub(crate) log: Option<Arc<dyn LogControl>>,
    access_log: Option<Arc<AccessLog>>,
    audit: Option<audit::Running>,
    /// What copies that to where all replicas have it.
    recorded: Mutex<Option<Recorded>>,
    recorder: Option<Arc<Recorder>>,
    /// Where that writes.
    cassettes: Option<PathBuf>,
    counting: Option<Counting>,
    /// Whether what is counted is told.
    counts: bool,
    /// What keeps calls, where somebody can ask for them.
    tap: Option<Tapping>,
    #[cfg(feature = "otlp")]
    traces: Option<Arc<switchboard_record::traces::Traces>>,
    /// Where what is counted is read besides.
    metrics_at: Option<SocketAddr>,
}

impl Watching {
    /// Begins what `watch` and the settings ask for, in front of these servers.
    /// `listens`: on addresses, where others can ask for what is counted.
    pub(crate) fn begin(
        watch: &Watch,
        governed: &Governed,
        listens: bool,
    ) -> Result<Arc<Self>, WatchError> {
        let settings = governed.observe();
        let access_log = access_log::begin(watch, settings, governed)?;
        let audit = audit::begin(watch, settings, governed)?;
        let recorder = recorder(watch, governed)?;
        let wanted = watch.metrics.or_else(|| metrics::configured(settings));
        #[cfg(not(feature = "otlp"))]
        untraced::begin(settings, governed)?;
        let counts = listens && wanted != Some(MetricsWanted::Off);
        #[cfg(feature = "otlp")]
        let traces = traces::begin(settings, governed)?;
        // The list of calls is kept whether or not anything is told of it.
        let kept = listens && !watch.nothing;
        let counting = kept.then(|| Counting::begin(governed.host()));
        let tap = counting.as_ref();
        // Where nothing can be kept it lasts as long as the gateway.
        let uses = governed.options().dirs().ok();
        let uses = uses.map(|dirs| dirs.state.join("tool-uses.json"));
        let tap = tap.map(|counting| Tapping::begin(governed.host(), counting, watch.tap, uses));
        #[cfg(feature = "otlp")]
        let counting = counting.map(|counting| counting.with_traces(traces.as_ref()));
        Ok(Arc::new(Self {
            log: watch.log.clone(),
            access_log,
            audit,
            recorded: Mutex::default(),
            cassettes: watch
                .cassettes
                .as_ref()
                .map(|folder| path_of(folder, governed)),
            recorder,
            #[cfg(feature = "otlp")]
            traces,
            counting,
            counts,
            tap,
            metrics_at: match wanted {
                Some(MetricsWanted::At(address)) => Some(address),
                _ => None,
            },
        }))
    }

    /// The folder into which what servers are asked and answer is recorded.
    pub(crate) fn cassettes(&self) -> Option<&Path> {
        self.cassettes.as_deref()
    }

    /// Puts something on record, where a record is kept.
    pub(crate) fn record(&self, record: switchboard_record::audit::Record) {
        if let Some(running) = &self.audit {
            running.audit.record(record);
        }
    }

    /// Copies what is put on record to where all replicas of a cluster have it.
    pub(crate) fn share(&self, records: &switchboard_gateway::Records) {
        if let Some(running) = &self.audit {
            let (keep, audit) = (running.keep.clone(), running.audit.clone());
            let begun = Recorded::begin(records, keep, audit);
            *self.recorded.lock() = Some(begun);
        }
    }

    /// What is counted, if anything is.
    pub(crate) fn counting(&self) -> Option<&Counting> {
        self.counting.as_ref().filter(|_| self.counts)
    }

    /// What keeps calls, if anything does.
    pub(crate) fn tap(&self) -> Option<&Tapping> {
        self.tap.as_ref()
    }

    /// Where what is counted is read besides, if anybody wants that.
    pub(crate) fn metrics_at(&self) -> Option<SocketAddr> {
        self.metrics_at
    }

    /// Nothing more comes: what waits to be written is written.
    pub(crate) async fn close(&self) {
        if let Some(log) = &self.access_log {
            log.flush().await;
        }
        if let Some(recorder) = &self.recorder {
            recorder.flush().await;
        }
        #[cfg(feature = "otlp")]
        if let Some(traces) = &self.traces {
            traces.flush().await;
        }
        if let Some(tap) = &self.tap {
            let uses = tap.uses().clone();
            let _ = switchboard_tasks::blocking(move || uses.keep()).await;
        }
        if let Some(audit) = &self.audit {
            audit.close().await;
        }
        let recorded = self.recorded.lock().take();
        if let Some(recorded) = recorded {
            recorded.end().await;
        }
    }
}

/// Records what servers are asked and answer, where that is wanted.
fn recorder(watch: &Watch, governed: &Governed) -> Result<Option<Arc<Recorder>>, WatchError> {
    let Some(folder) = &watch.cassettes else {
        return Ok(None);
    };
    let folder = path_of(folder, governed);
    // Whoever is written about does not write it.
    governed.options().in_use.add_own([folder.clone()]);
    let recorder = Recorder::begin(&folder, VERSION)
        .map_err(|error| WatchError::Cassettes { folder, error })?;
    governed.host().observe(recorder.clone());
    Ok(Some(recorder))
}

/// A path that a file of the user's names: `~/` is the home, and relative paths begin
/// in the directory that we work in.
fn path_of(named: &Path, governed: &Governed) -> PathBuf {
    let options = governed.options();
    match (named.strip_prefix("~"), options.variables.get("HOME")) {
        (Ok(rest), Some(home)) => Path::new(&home).join(rest),
        _ => options.directory.join(named),
    }
}
