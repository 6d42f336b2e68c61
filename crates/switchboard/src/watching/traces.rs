//! What becomes of each request, for a collector.

use super::WatchError;
use crate::{VERSION, pipeline::Governed};
use std::sync::Arc;
use switchboard_config::{Observe, Traces as Setting, TracesProtocol};
use switchboard_record::traces::{Protocol, Said, Traces, Wanted};

pub(super) fn begin(
    settings: &Observe,
    governed: &Governed,
) -> Result<Option<Arc<Traces>>, WatchError> {
    let said = settings.traces.clone();
    if said.as_ref().is_some_and(|said| said.off) {
        return Ok(None);
    }
    let variables = &governed.options().variables;
    let variable = |name: &str| variables.get(name)?.into_string().ok();
    let (is_said, mut wrong) = (said.is_some(), Vec::new());
    let wanted = Wanted::of(said.map(as_said), variable, VERSION, &mut wrong);
    for problem in wrong {
        tracing::warn!("{problem}; it is ignored");
    }
    let Some(wanted) = wanted else {
        return Ok(None);
    };
    match Traces::begin(wanted) {
        Ok(traces) => {
            governed.host().observe(traces.clone());
            Ok(Some(traces))
        }
        Err(error) if is_said => Err(WatchError::Traces {
            error: error.to_string(),
        }),
        // The variable may be meant for other programs.
        Err(error) => {
            tracing::warn!(%error, "OTEL_EXPORTER_OTLP_ENDPOINT: no traces are sent");
            Ok(None)
        }
    }
}

fn as_said(setting: Setting) -> Said {
    Said {
        endpoint: setting.endpoint,
        protocol: setting.protocol.map(|protocol| match protocol {
            TracesProtocol::Grpc => Protocol::Grpc,
            TracesProtocol::Http => Protocol::Http,
        }),
        headers: setting.headers.into_iter().collect(),
        ratio: setting.ratio,
        baggage_to: setting.baggage_to,
    }
}
