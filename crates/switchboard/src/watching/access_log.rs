//! A line for each request.

use super::{AccessLogFormat, AccessLogPlace, AccessLogWanted, Watch, WatchError, path_of};
use crate::pipeline::Governed;
use std::sync::Arc;
use switchboard_config::{LineFormat, Observe};
use switchboard_record::{access_log::AccessLog, log_files::rotated};

pub(super) fn begin(
    watch: &Watch,
    settings: &Observe,
    governed: &Governed,
) -> Result<Option<Arc<AccessLog>>, WatchError> {
    let configured = settings.access_log.as_ref().map(|log| {
        let format = match log.format {
            LineFormat::Text => AccessLogFormat::Text,
            LineFormat::Json => AccessLogFormat::Json,
        };
        AccessLogWanted::named(&log.file, format)
    });
    let Some(mut wanted) = watch.access_log.clone().or(configured) else {
        return Ok(None);
    };
    if let AccessLogPlace::File(file) = &mut wanted.to {
        *file = path_of(file, governed);
        // Whoever is written about does not write it.
        let put_aside = rotated(file);
        governed.options().in_use.add_own(put_aside);
    }
    let log = AccessLog::begin(&wanted).map_err(|error| WatchError::AccessLog {
        file: match wanted.to {
            AccessLogPlace::File(file) => file,
            AccessLogPlace::Stderr => "stderr".into(),
        },
        error,
    })?;
    governed.host().observe(log.clone());
    Ok(Some(log))
}
