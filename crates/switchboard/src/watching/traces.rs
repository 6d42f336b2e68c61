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
    let wrong = |error: String| WatchError::Traces { error };
    let wanted = Wanted::of(said.map(as_said), variable, VERSION);
    let Some(wanted) = wanted.map_err(|error| wrong(error.to_string()))? else {
        return Ok(None);
    };
    let traces = Traces::begin(wanted).map_err(|error| wrong(error.to_string()))?;
    governed.host().observe(traces.clone());
    Ok(Some(traces))
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
