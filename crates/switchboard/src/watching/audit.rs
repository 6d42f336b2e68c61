//! The record of calls and of what changes.

use super::{Watch, WatchError, changes::Changes, path_of};
use crate::{Dirs, VERSION, pipeline::Governed};
use std::{path::PathBuf, sync::Arc};
use switchboard_config::{AuditSync, Observe, OnAuditFailure};
use switchboard_record::audit::{Audit, Keep, OnFailure, Record, Sync, Wanted};
use switchboard_tasks as tasks;
use tokio_util::task::AbortOnDropHandle;

/// Where records are kept.
pub fn folder(dirs: &Dirs) -> PathBuf {
    dirs.state.join("audit")
}

/// The record of a gateway, and what watches its configuration for it.
#[derive(Debug)]
pub(super) struct Running {
    pub(super) audit: Arc<Audit>,
    pub(super) keep: Keep,
    _changes: AbortOnDropHandle<()>,
}

pub(super) fn begin(
    watch: &Watch,
    settings: &Observe,
    governed: &Governed,
) -> Result<Option<Running>, WatchError> {
    let configured = settings.audit.clone();
    let Some(said) = configured.or_else(|| watch.audit.map(|_| Default::default())) else {
        return Ok(None);
    };
    let dirs = governed.options().dirs()?;
    let folder = folder(&dirs);
    let wanted = Wanted {
        keep: Keep {
            heads: said.heads_to.as_deref().map(|file| path_of(file, governed)),
            ..Keep::within(folder.clone())
        },
        sync: watch.audit.unwrap_or(match said.sync {
            AuditSync::Each => Sync::Each,
            AuditSync::Second => Sync::Second,
        }),
        on_failure: match said.on_failure {
            OnAuditFailure::Warn => OnFailure::Warn,
            OnAuditFailure::Refuse => OnFailure::Refuse,
        },
        arguments: said.arguments,
    };
    governed.options().in_use.add_own(wanted.keep.heads.clone());
    let audit = Audit::begin(&wanted).map_err(|error| WatchError::Audit { folder, error })?;
    governed.host().observe(audit.clone());
    let names: Vec<String> = governed
        .host()
        .servers()
        .iter()
        .map(|server| server.name().to_string())
        .collect();
    let directory = governed.options().directory.display().to_string();
    audit.record(
        Record::new("start")
            .with("version", VERSION)
            .with("process", std::process::id())
            .with("directory", directory)
            .with("servers", names),
    );
    let changes = follow(audit.clone(), governed);
    Ok(Some(Running {
        audit,
        keep: wanted.keep,
        _changes: AbortOnDropHandle::new(changes),
    }))
}

/// Records what becomes of the configuration while the gateway runs.
fn follow(audit: Arc<Audit>, governed: &Governed) -> tokio::task::JoinHandle<()> {
    let mut members = governed.follower().members();
    let options = governed.options().clone();
    let mut known = Changes::read(&options);
    tasks::spawn(tasks::Kind::Upkeep, async move {
        while members.changed().await.is_ok() {
            let options = options.clone();
            let Ok(now) = tasks::blocking(move || Changes::read(&options)).await else {
                return;
            };
            if let Some(record) = known.until(&now) {
                audit.record(record.with("by", "a file"));
            }
            known = now;
        }
    })
}

impl Running {
    pub(super) async fn close(&self) {
        let record = Record::new("stop").with("process", std::process::id());
        self.audit.record(record);
        self.audit.flush().await;
    }
}
