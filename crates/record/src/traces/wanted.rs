//! What was asked for: what settings say, and where they say nothing the standard's
//! variables.

use super::sampler::Sampler;
use switchboard_local::percent;
use switchboard_wire::{meta, trace::TraceContext};

/// How spans travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Protocol {
    /// OTLP over gRPC.
    Grpc,
    /// OTLP over HTTP, in protobuf.
    #[default]
    Http,
}

/// What was asked for.
#[derive(Clone, PartialEq)]
pub struct Wanted {
    /// The address that spans are sent to.
    pub endpoint: String,
    /// How they travel.
    pub protocol: Protocol,
    /// What is shown there, besides what `OTEL_EXPORTER_OTLP_HEADERS` says.
    pub headers: Vec<(String, String)>,
    /// Who we are.
    pub resource: Vec<(String, String)>,
    /// Which traces are recorded.
    pub sampler: Sampler,
    /// Servers that get the baggage of a request; `*` is all of them.
    pub baggage_to: Vec<String>,
    /// Where we are ourselves a part of a trace.
    pub parent: Option<TraceContext>,
}

/// What settings say.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Said {
    /// The address of a collector.
    pub endpoint: Option<String>,
    /// How spans travel.
    pub protocol: Option<Protocol>,
    /// What is shown there.
    pub headers: Vec<(String, String)>,
    /// The part of traces that is recorded.
    pub ratio: Option<f64>,
    /// Servers that get the baggage of a request.
    pub baggage_to: Vec<String>,
}

/// A variable that says what cannot be. It may be meant for another program, so that it
/// is said, and counts as if it were not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{variable}: {problem}")]
pub struct WrongSetting {
    /// Which one.
    pub variable: &'static str,
    /// What is wrong with it.
    pub problem: String,
}

impl std::fmt::Debug for Wanted {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address and the headers may hold a secret.
        f.debug_struct("Wanted")
            .field("protocol", &self.protocol)
            .field("sampler", &self.sampler)
            .finish_non_exhaustive()
    }
}

const ENDPOINT: &str = "OTEL_EXPORTER_OTLP_ENDPOINT";
const TRACES_ENDPOINT: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
const PROTOCOL: &str = "OTEL_EXPORTER_OTLP_PROTOCOL";
const TRACES_PROTOCOL: &str = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL";
const SAMPLER: &str = "OTEL_TRACES_SAMPLER";
const SAMPLER_ARGUMENT: &str = "OTEL_TRACES_SAMPLER_ARG";
const ATTRIBUTES: &str = "OTEL_RESOURCE_ATTRIBUTES";
const SERVICE: &str = "OTEL_SERVICE_NAME";
const EXPORTER: &str = "OTEL_TRACES_EXPORTER";
const DISABLED: &str = "OTEL_SDK_DISABLED";

impl Wanted {
    /// What is to be sent, if anything is. `said` is what settings say, if they want
    /// traces; `variable` gives the environment; `version` is ours. What the environment
    /// says that cannot be is added to `wrong`.
    pub fn of(
        said: Option<Said>,
        variable: impl Fn(&str) -> Option<String>,
        version: &str,
        wrong: &mut Vec<WrongSetting>,
    ) -> Option<Self> {
        // One that is empty says nothing.
        let variable = |name: &str| variable(name).filter(|text| !text.trim().is_empty());
        let is_disabled = variable(DISABLED).is_some_and(|it| it.eq_ignore_ascii_case("true"));
        let named = [TRACES_ENDPOINT, ENDPOINT]
            .into_iter()
            .any(|name| variable(name).is_some());
        let exporter = match variable(EXPORTER).as_deref() {
            None => named,
            Some("otlp") => true,
            Some("none") => false,
            Some(other) => {
                let problem = format!("{other:?} is not known; it can be otlp or none");
                wrong.push(WrongSetting::of(EXPORTER, problem));
                false
            }
        };
        if is_disabled || said.is_none() && !exporter {
            return None;
        }
        let said = said.unwrap_or_default();
        let protocol = said.protocol.unwrap_or_else(|| protocol(&variable, wrong));
        Some(Self {
            endpoint: endpoint(said.endpoint, protocol, &variable),
            protocol,
            headers: said.headers,
            resource: resource(&variable, version, wrong),
            sampler: sampler(said.ratio, &variable, wrong),
            baggage_to: said.baggage_to,
            parent: variable(&meta::TRACEPARENT.to_ascii_uppercase()).and_then(|parent| {
                let state = variable(&meta::TRACESTATE.to_ascii_uppercase());
                TraceContext::parse(&parent, state.as_deref())
            }),
        })
    }
}

impl WrongSetting {
    fn of(variable: &'static str, problem: String) -> Self {
        Self { variable, problem }
    }
}

fn protocol(variable: &impl Fn(&str) -> Option<String>, wrong: &mut Vec<WrongSetting>) -> Protocol {
    for name in [TRACES_PROTOCOL, PROTOCOL] {
        match variable(name).as_deref().map(str::trim) {
            None => {}
            Some("grpc") => return Protocol::Grpc,
            Some("http/protobuf") => return Protocol::Http,
            Some(other) => {
                let problem = format!("{other:?} is not known; it can be grpc or http/protobuf");
                wrong.push(WrongSetting::of(name, problem));
            }
        }
    }
    Protocol::default()
}

/// The address. One for everything is the beginning of the one for traces over HTTP.
fn endpoint(
    said: Option<String>,
    protocol: Protocol,
    variable: &impl Fn(&str) -> Option<String>,
) -> String {
    if let Some(own) = said.or_else(|| variable(TRACES_ENDPOINT)) {
        return own.trim().to_owned();
    }
    let general = variable(ENDPOINT).unwrap_or_else(|| match protocol {
        Protocol::Grpc => "http://localhost:4317".to_owned(),
        Protocol::Http => "http://localhost:4318".to_owned(),
    });
    let general = general.trim();
    match protocol {
        Protocol::Grpc => general.to_owned(),
        Protocol::Http => format!("{}/v1/traces", general.trim_end_matches('/')),
    }
}

fn sampler(
    ratio: Option<f64>,
    variable: &impl Fn(&str) -> Option<String>,
    wrong: &mut Vec<WrongSetting>,
) -> Sampler {
    if let Some(ratio) = ratio {
        return Sampler {
            ratio: ratio.clamp(0.0, 1.0),
            ..Sampler::default()
        };
    }
    let Some(name) = variable(SAMPLER) else {
        return Sampler::default();
    };
    let argument = variable(SAMPLER_ARGUMENT);
    Sampler::named(name.trim(), argument.as_deref()).unwrap_or_else(|| {
        let problem = format!(
            "{name:?} is not known, or its argument is no number from 0 to 1; it can be always_on, \
             always_off or traceidratio, each also with parentbased_ in front"
        );
        wrong.push(WrongSetting::of(SAMPLER, problem));
        Sampler::default()
    })
}

/// Who we are: what the environment says, and a name and a version where it says none.
fn resource(
    variable: &impl Fn(&str) -> Option<String>,
    version: &str,
    wrong: &mut Vec<WrongSetting>,
) -> Vec<(String, String)> {
    let mut all: Vec<(String, String)> = Vec::new();
    let mut set = |name: &str, value: String| {
        all.retain(|(other, _)| other != name);
        all.push((name.to_owned(), value));
    };
    set("service.name", "switchboard".into());
    set("service.version", version.into());
    let given = variable(ATTRIBUTES).unwrap_or_default();
    for pair in given.split(',').filter(|pair| !pair.trim().is_empty()) {
        let Some((name, value)) = pair.split_once('=') else {
            let problem = "must be name=value, with commas between".to_owned();
            wrong.push(WrongSetting::of(ATTRIBUTES, problem));
            continue;
        };
        set(name.trim(), unescaped(value.trim()));
    }
    if let Some(name) = variable(SERVICE) {
        set("service.name", name);
    }
    all
}

/// A value with its `%20`s read.
fn unescaped(text: &str) -> String {
    String::from_utf8_lossy(&percent::decoded_leniently(text)).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(said: Option<Said>, all: &[(&str, &str)]) -> (Option<Wanted>, Vec<&'static str>) {
        let variable = |name: &str| {
            let found = all.iter().find(|(other, _)| *other == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let mut wrong = Vec::new();
        let wanted = Wanted::of(said, variable, "1", &mut wrong);
        (wanted, wrong.iter().map(|it| it.variable).collect())
    }

    fn some(said: Option<Said>, all: &[(&str, &str)]) -> Wanted {
        of(said, all).0.unwrap()
    }

    #[test]
    fn nothing_is_sent_that_nobody_asked_for() {
        let there = (ENDPOINT, "http://c");
        for all in [
            &[][..],
            &[(ENDPOINT, " ")],
            &[there, (DISABLED, "TRUE")],
            &[there, (EXPORTER, "none")],
        ] {
            assert_eq!(of(None, all), (None, vec![]), "{all:?}");
        }
        let disabled = of(Some(Said::default()), &[(DISABLED, "true")]);
        assert_eq!(disabled, (None, vec![]));
    }

    #[test]
    fn what_a_variable_cannot_say_is_told_and_counts_for_nothing() {
        let there = (ENDPOINT, "http://c");
        let (wanted, wrong) = of(None, &[there, (EXPORTER, "zipkin")]);
        assert_eq!((wanted, wrong), (None, vec![EXPORTER]));
        let all = [
            there,
            (PROTOCOL, "http/json"),
            (SAMPLER, "jaeger_remote"),
            (ATTRIBUTES, "x"),
        ];
        let (wanted, wrong) = of(None, &all);
        assert_eq!(wrong, [PROTOCOL, ATTRIBUTES, SAMPLER]);
        let wanted = wanted.unwrap();
        assert_eq!(wanted.protocol, Protocol::Http);
        assert_eq!(wanted.sampler, Sampler::default());
    }

    #[test]
    fn addresses_are_as_the_standard_says() {
        let http = |all: &[(&str, &str)]| some(None, all).endpoint;
        assert_eq!(
            http(&[(EXPORTER, "otlp")]),
            "http://localhost:4318/v1/traces"
        );
        assert_eq!(http(&[(ENDPOINT, "http://c/x/")]), "http://c/x/v1/traces");
        let both = [(ENDPOINT, "http://c"), (TRACES_ENDPOINT, "http://d/y")];
        assert_eq!(http(&both), "http://d/y");
        let grpc = [(ENDPOINT, "http://c:4317"), (PROTOCOL, "grpc")];
        assert_eq!(http(&grpc), "http://c:4317");
        assert_eq!(some(None, &grpc).protocol, Protocol::Grpc);
        let said = Said {
            endpoint: Some("http://e/z".into()),
            ..Said::default()
        };
        assert_eq!(some(Some(said), &both).endpoint, "http://e/z");
    }

    #[test]
    fn who_we_are_can_be_said() {
        let all = [
            (EXPORTER, "otlp"),
            (
                ATTRIBUTES,
                "service.name=x, deployment.environment.name=a%20b",
            ),
            (SERVICE, "gate"),
        ];
        let resource = some(None, &all).resource;
        for expected in [
            ("service.name", "gate"),
            ("service.version", "1"),
            ("deployment.environment.name", "a b"),
        ] {
            let expected = (expected.0.to_owned(), expected.1.to_owned());
            assert!(resource.contains(&expected), "{resource:?}");
        }
        assert_eq!(unescaped("%4g%41%"), "%4gA%");
    }
}
