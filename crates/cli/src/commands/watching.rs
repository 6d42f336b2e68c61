//! How what passes through a gateway is watched: options of `serve` and `up`. What
//! settings files say under `observe` counts where these say nothing.

use super::listen;
use crate::failure::Advice;
use clap::{Args, ValueEnum};
use serde::{Deserialize, Serialize};
use std::{net::SocketAddr, path::PathBuf};
use switchboard::watching::{self, AccessLogFormat, AccessLogWanted, MetricsWanted, Watch};

/// What was asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[command(next_help_heading = "Watching it")]
pub struct WatchOptions {
    /// Write a line for each request to this file, or to stderr (-): who asked for what, how it
    /// ended, how long it took
    #[arg(long, value_name = "FILE|-")]
    pub access_log: Option<PathBuf>,
    /// What its lines look like
    #[arg(
        long,
        value_name = "FORMAT",
        default_value = "text",
        requires = "access_log"
    )]
    pub access_log_format: LineFormat,
    /// Record who called what, whether it was permitted and how it ended, for switchboard audit;
    /// with =each every record is on disk before its answer leaves, else a second later
    #[arg(long, value_name = "SYNC", num_args = 0..=1, require_equals = true)]
    #[arg(default_missing_value = "second")]
    pub audit: Option<AuditSync>,
    /// Let what is counted be read at this address as well, at /metrics and without a token; off
    /// tells it nowhere
    #[arg(long, value_name = "ADDR|off", value_parser = metrics)]
    pub metrics: Option<Metrics>,
    /// Record what servers are asked and answer as cassettes in this folder, without secrets, for
    /// switchboard replay and verify
    #[arg(long, value_name = "DIR")]
    pub record: Option<PathBuf>,
    /// Keep the messages of calls from the beginning, for switchboard traffic: else they are kept
    /// while somebody looks
    #[arg(long)]
    pub tap: bool,
    /// Keep nothing of calls, neither counts nor a list: what all the rest is measured against
    #[arg(long, hide = true, conflicts_with_all = ["tap", "metrics"])]
    pub unwatched: bool,
}

/// When records are on disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum AuditSync {
    /// Before the answer leaves
    Each,
    /// A second later at most
    Second,
}

/// Where what is counted is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum Metrics {
    /// Nowhere.
    Off,
    /// At an address of its own.
    At(SocketAddr),
}

fn metrics(text: &str) -> Result<Metrics, Advice> {
    match text {
        "off" => Ok(Metrics::Off),
        address => listen::address(address).map(Metrics::At),
    }
}

/// What lines look like.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum LineFormat {
    /// key=value
    #[default]
    Text,
    /// A JSON object each
    Json,
}

impl WatchOptions {
    /// Whether an address is asked for at which something is read.
    pub fn has_address(&self) -> bool {
        matches!(self.metrics, Some(Metrics::At(_)))
    }

    /// The same, as the gateway is told.
    pub fn watch(&self) -> Watch {
        let format = match self.access_log_format {
            LineFormat::Text => AccessLogFormat::Text,
            LineFormat::Json => AccessLogFormat::Json,
        };
        let access_log = self.access_log.as_ref();
        Watch {
            log: crate::logging::control(),
            access_log: access_log.map(|file| AccessLogWanted::named(file, format)),
            audit: self.audit.map(|sync| match sync {
                AuditSync::Each => watching::AuditSync::Each,
                AuditSync::Second => watching::AuditSync::Second,
            }),
            metrics: self.metrics.map(|metrics| match metrics {
                Metrics::Off => MetricsWanted::Off,
                Metrics::At(address) => MetricsWanted::At(address),
            }),
            cassettes: self.record.clone(),
            tap: self.tap,
            nothing: self.unwatched,
        }
    }
}
