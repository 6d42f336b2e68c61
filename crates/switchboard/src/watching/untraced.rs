//! In the place of `traces`, in a build that cannot send them.

use super::WatchError;
use crate::pipeline::Governed;
use switchboard_config::Observe;

/// What is lacking, and how to have it.
const LACKS: &str = "this build has no traces: build it with --features full";

/// Says so where traces are asked for: by a setting it is an error, by a variable, which
/// may be meant for other programs, a warning.
pub(super) fn begin(settings: &Observe, governed: &Governed) -> Result<(), WatchError> {
    match settings.traces.as_ref() {
        Some(traces) if traces.off => {}
        Some(_) => {
            return Err(WatchError::Traces {
                error: LACKS.to_owned(),
            });
        }
        None => {
            let variables = &governed.options().variables;
            let endpoint = [
                "OTEL_EXPORTER_OTLP_ENDPOINT",
                "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT",
            ];
            if let Some(name) = endpoint.iter().find(|name| variables.get(name).is_some()) {
                tracing::warn!("{name}: {LACKS}");
            }
        }
    }
    Ok(())
}
