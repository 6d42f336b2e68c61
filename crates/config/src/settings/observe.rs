//! `observe`: what is kept of the calls that pass through a gateway. For the user and
//! the administrator to say; a repository has no say in it.

use super::section::Section;
use crate::{fault::Fault, read::Doc};
use serde::{Deserialize, Deserializer, de::Error};
use std::{collections::BTreeMap, net::SocketAddr, path::PathBuf};

/// What settings say about watching. One field for each way.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Observe {
    /// `accessLog`: a line for each request.
    pub access_log: Option<AccessLog>,
    /// `audit`: a record of what somebody is asked about later.
    pub audit: Option<Audit>,
    /// `metrics`: what is counted, and where that is read.
    pub metrics: Option<MetricsSetting>,
    /// `traces`: what becomes of each request, for a collector.
    pub traces: Option<Traces>,
}

/// The section.
const HERE: &str = "observe";
/// Everything that it can have.
const KEYS: [&str; 4] = ["accessLog", "audit", "metrics", "traces"];

/// `accessLog`.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AccessLog {
    /// Where lines go; `-` is stderr.
    pub file: PathBuf,
    /// What they look like.
    #[serde(default)]
    pub format: LineFormat,
}

/// `audit`.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Audit {
    /// When a record is on disk.
    pub sync: AuditSync,
    /// What happens when it cannot be written.
    pub on_failure: OnAuditFailure,
    /// Whether arguments are recorded too.
    pub arguments: bool,
    /// A file, elsewhere at best, to which each head is added.
    pub heads_to: Option<PathBuf>,
}

/// When a record is on disk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AuditSync {
    /// Before the answer leaves.
    Each,
    /// A second later at most.
    #[default]
    Second,
}

/// What happens when a record cannot be written.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum OnAuditFailure {
    /// It is said, and calls go on.
    #[default]
    Warn,
    /// Calls are refused.
    Refuse,
}

/// `metrics`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct MetricsSetting {
    /// Nothing is counted.
    pub off: bool,
    /// An address at which what is counted is read without a token.
    pub address: Option<SocketAddr>,
}

/// `traces`. What is missing is as the standard's variables (`OTEL_…`) say.
#[derive(Clone, Default, PartialEq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
pub struct Traces {
    /// Nothing is sent, whatever variables say.
    pub off: bool,
    /// The address of a collector.
    pub endpoint: Option<String>,
    /// How spans travel.
    pub protocol: Option<TracesProtocol>,
    /// What the collector is shown.
    pub headers: BTreeMap<String, String>,
    /// The part of traces that is recorded, from 0 to 1.
    #[serde(deserialize_with = "ratio")]
    pub ratio: Option<f64>,
    /// Servers that get the baggage of a request; `*` is all of them.
    pub baggage_to: Vec<String>,
}

/// A part of something.
fn ratio<'de, D: Deserializer<'de>>(from: D) -> Result<Option<f64>, D::Error> {
    let ratio = f64::deserialize(from)?;
    match (0.0..=1.0).contains(&ratio) {
        true => Ok(Some(ratio)),
        false => Err(D::Error::custom("`ratio` must be a number from 0 to 1")),
    }
}

// Settings are compared, and a ratio that is no number is never read.
impl Eq for Traces {}

impl std::fmt::Debug for Traces {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // The address and the headers may hold a secret.
        f.debug_struct("Traces")
            .field("off", &self.off)
            .field("protocol", &self.protocol)
            .finish_non_exhaustive()
    }
}

/// How spans travel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub enum TracesProtocol {
    /// OTLP over gRPC.
    #[serde(rename = "grpc")]
    Grpc,
    /// OTLP over HTTP, in protobuf.
    #[serde(rename = "http/protobuf")]
    Http,
}

/// What lines of a log look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LineFormat {
    /// `key=value`.
    #[default]
    Text,
    /// A JSON object each.
    Json,
}

impl Observe {
    /// Puts what `other` says in the place of what was said before.
    pub fn overrule(&mut self, other: Self) {
        let Self {
            access_log,
            audit,
            metrics,
            traces,
        } = other;
        self.traces = traces.or(self.traces.take());
        self.metrics = metrics.or(self.metrics.take());
        self.access_log = access_log.or(self.access_log.take());
        self.audit = audit.or(self.audit.take());
    }

    /// Adds what a file says; later files win.
    pub fn read(&mut self, doc: &Doc<'_>) -> Vec<Fault> {
        let example = r#"{"accessLog": {"file": "/path"}}"#;
        match Section::open(doc, HERE, &KEYS, example) {
            Err(faults) => faults,
            Ok(section) => section
                .part("accessLog", &mut self.access_log)
                .part("audit", &mut self.audit)
                .part("metrics", &mut self.metrics)
                .part("traces", &mut self.traces)
                .faults(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{fault::Source, read::with};

    fn read(text: &str) -> (Observe, Vec<String>) {
        let mut found = Observe::default();
        let faults = with(text, &Source::File("/s.json".into()), |doc| found.read(doc));
        let faults = faults.unwrap().iter().map(ToString::to_string).collect();
        (found, faults)
    }

    #[test]
    fn what_is_to_be_watched() {
        let (found, faults) = read(
            r#"{"observe": {"accessLog": {"file": "/a", "format": "json"},
                "audit": {"sync": "each", "onFailure": "refuse", "headsTo": "/h"}}}"#,
        );
        assert!(faults.is_empty(), "{faults:?}");
        let audit = Audit {
            sync: AuditSync::Each,
            on_failure: OnAuditFailure::Refuse,
            arguments: false,
            heads_to: Some("/h".into()),
        };
        assert_eq!(found.audit, Some(audit));
        let log = found.access_log.unwrap();
        assert_eq!((log.file, log.format), ("/a".into(), LineFormat::Json));
    }

    #[test]
    fn where_counts_are_read() {
        let (found, faults) = read(r#"{"observe": {"metrics": {"address": "127.0.0.1:9464"}}}"#);
        assert!(faults.is_empty(), "{faults:?}");
        let address = found.metrics.unwrap().address.unwrap();
        assert_eq!(address.port(), 9464);
        let (_, faults) = read(r#"{"observe": {"metrics": {"address": "here"}}}"#);
        assert!(faults[0].contains("`observe.metrics`: "), "{faults:?}");
    }

    #[test]
    fn where_traces_go() {
        let (found, faults) = read(
            r#"{"observe": {"traces": {"endpoint": "http://c:4317", "protocol": "grpc", "ratio": 0.1,
                "headers": {"x-key": "k"}, "baggageTo": ["files"]}}}"#,
        );
        assert!(faults.is_empty(), "{faults:?}");
        let traces = found.traces.unwrap();
        assert_eq!(traces.protocol, Some(TracesProtocol::Grpc));
        assert!(!format!("{traces:?}").contains("x-key"));
        assert_eq!(traces.baggage_to, ["files"]);
        for bad in [r#""protocol": "http/json""#, r#""ratio": 2"#] {
            let (_, faults) = read(&format!(r#"{{"observe": {{"traces": {{{bad}}}}}}}"#));
            assert!(faults[0].contains("`observe.traces`: "), "{faults:?}");
        }
    }

    #[test]
    fn what_cannot_be_is_named_with_its_line() {
        let (found, faults) = read(
            "{\"observe\": {\"acessLog\": {},\n\"accessLog\": {\"file\": \"/a\", \"shape\": 1}}}",
        );
        assert!(found.access_log.is_none());
        assert!(
            faults[0].starts_with("/s.json:1: `observe.acessLog` is not known"),
            "{faults:?}"
        );
        assert!(
            faults[1].starts_with("/s.json:2: `observe.accessLog`: unknown field `shape`"),
            "{faults:?}"
        );
    }
}
