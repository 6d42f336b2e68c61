//! What is counted of a gateway: calls by `switchboard_record::metrics`, and what the
//! parts know of themselves, read when somebody asks.

use super::MetricsWanted;
use crate::VERSION;
use std::{
    sync::Arc,
    time::{SystemTime, UNIX_EPOCH},
};
use switchboard_auth as auth;
use switchboard_config::{MetricsSetting, Observe};
use switchboard_gateway::{Counts, Visitors, Written};
use switchboard_host::{Host, Server, State, catalog};
use switchboard_process::{self as process, Usage, descriptors};
use switchboard_record::metrics::{Format, Kind, Labels, Metrics, Page};
use switchboard_tasks as tasks;

/// Counts for one gateway.
#[derive(Debug)]
pub(crate) struct Counting {
    calls: Metrics,
    host: Arc<Host>,
    /// When it began, in seconds since 1970.
    since: f64,
    /// What is sent to a collector, if anything is.
    #[cfg(feature = "otlp")]
    traces: Option<Arc<switchboard_record::traces::Traces>>,
}

/// What settings say about it.
pub(super) fn configured(settings: &Observe) -> Option<MetricsWanted> {
    match settings.metrics? {
        MetricsSetting { off: true, .. } => Some(MetricsWanted::Off),
        MetricsSetting { address, .. } => address.map(MetricsWanted::At),
    }
}

/// Every state that a server can be in.
const STATES: [State; 6] = [
    State::Idle,
    State::Pending,
    State::Connected,
    State::Asleep,
    State::Failed(String::new()),
    State::NeedsAuth,
];

impl Counting {
    /// Counts from now on what passes through this host.
    pub(crate) fn begin(host: &Arc<Host>) -> Self {
        let calls = Metrics::default();
        host.observe(Arc::new(calls.clone()));
        let since = SystemTime::now().duration_since(UNIX_EPOCH);
        Self {
            calls,
            host: host.clone(),
            since: since.map_or(0.0, |since| since.as_secs_f64()),
            #[cfg(feature = "otlp")]
            traces: None,
        }
    }

    /// The same, with what is sent to a collector.
    #[cfg(feature = "otlp")]
    pub(super) fn with_traces(
        mut self,
        traces: Option<&Arc<switchboard_record::traces::Traces>>,
    ) -> Self {
        self.traces = traces.cloned();
        self
    }

    /// Counts and list of calls.
    pub(crate) fn calls(&self) -> &Metrics {
        &self.calls
    }

    /// All of it, for Prometheus.
    pub(crate) async fn page(
        &self,
        accept: Option<&str>,
        here: Counts,
        visitors: &Visitors,
    ) -> Written {
        let format = Format::preferred(accept);
        let mut page = Page::new(format);
        self.calls.write(&mut page);
        self.gateway(&mut page, here, visitors);
        let servers = self.host.servers();
        self.servers(&mut page, &servers);
        sign_ins(&mut page);
        let pids: Vec<(Arc<str>, Vec<u32>)> = servers
            .iter()
            .map(|server| (server.name().clone(), server.processes()))
            .filter(|(_, pids)| !pids.is_empty())
            .collect();
        // The machine's processes are read from files.
        let used = tasks::blocking(move || (process::own_usage(), all_usage(pids))).await;
        if let Ok((own, theirs)) = used {
            self.own_process(&mut page, own);
            processes(&mut page, &theirs);
        }
        Written {
            content_type: format.content_type(),
            text: page.finish(),
        }
    }

    fn gateway(&self, page: &mut Page, here: Counts, visitors: &Visitors) {
        let budget = self.host.budget();
        let visitors = visitors.now();
        let name = "switchboard_clients";
        let help = "Clients that are known, by era: those with a session, and those without one that asked of late.";
        page.family(name, Kind::Gauge, help);
        for era in ["legacy", "modern"] {
            let count = visitors.iter().filter(|one| one.era == era).count();
            page.sample(name, &[("era", era)], count);
        }
        let sessions = visitors.iter().filter(|one| one.seen.is_none()).count();
        let (known, asked) = catalog::list_counts();
        let gauges: [(&str, &str, usize); 7] = [
            ("switchboard_sessions", "Clients with a session.", sessions),
            (
                "switchboard_connections",
                "Connections over the network that are open.",
                here.connections,
            ),
            (
                "switchboard_calls_in_flight",
                "Calls that have begun and not ended.",
                budget.calls(),
            ),
            (
                "switchboard_parked_calls",
                "Calls that wait until their client comes back with answers.",
                here.parked,
            ),
            (
                "switchboard_queued_bytes",
                "Bytes of small messages that wait for clients that do not read.",
                budget.queued(),
            ),
            (
                "switchboard_budget_bytes",
                "Bytes of large messages in memory.",
                budget.used(),
            ),
            (
                "switchboard_budget_limit_bytes",
                "Bytes of large messages that there may be in memory.",
                budget.cap(),
            ),
        ];
        for (name, help, value) in gauges {
            page.single(name, Kind::Gauge, help, value);
        }
        let help = "Requests that showed no token, or a wrong one.";
        page.single(
            "switchboard_door_refusals_total",
            Kind::Counter,
            help,
            here.refused,
        );
        let name = "switchboard_list_lookups_total";
        let help =
            "How often a server's list was wanted: known already (hit), or asked for (miss).";
        page.family(name, Kind::Counter, help);
        page.sample(name, &[("cache", "hit")], known);
        page.sample(name, &[("cache", "miss")], asked);
    }

    fn servers(&self, page: &mut Page, servers: &[Arc<Server>]) {
        let name = "switchboard_server_state";
        page.family(name, Kind::Gauge, "1 for the state that a server is in.");
        for server in servers {
            let now = State::from(&*server.state().borrow());
            for state in &STATES {
                let labels = [of(server), ("state", state.word())];
                page.sample(name, &labels, u8::from(state.word() == now.word()));
            }
        }
        let name = "switchboard_server_connections";
        let help = "Connections to a server that work, or processes of it.";
        page.family(name, Kind::Gauge, help);
        for server in servers {
            page.sample(name, &[of(server)], *server.copies().borrow());
        }
        let counts: Vec<_> = servers.iter().map(|server| server.counts()).collect();
        let each = |page: &mut Page, name: &str, kind, help, values: Vec<u64>| {
            page.family(name, kind, help);
            for (server, value) in servers.iter().zip(values) {
                page.sample(name, &[of(server)], value);
            }
        };
        let help = "Connections that were made, or processes that were started.";
        let made = counts.iter().map(|counts| counts.made).collect();
        each(
            page,
            "switchboard_server_starts_total",
            Kind::Counter,
            help,
            made,
        );
        let help = "Attempts to connect or to start that failed.";
        let failed = counts.iter().map(|counts| counts.failed).collect();
        let name = "switchboard_server_start_failures_total";
        each(page, name, Kind::Counter, help, failed);
        let help = "Starts that took the place of one that was lost.";
        let again = counts.iter().map(|counts| counts.restarts).collect();
        each(
            page,
            "switchboard_server_restarts_total",
            Kind::Counter,
            help,
            again,
        );
        let help = "Connections that are left alone after a row of failures, until somebody asks.";
        let left = counts.iter().map(|counts| counts.left_alone as u64);
        let name = "switchboard_server_left_alone";
        each(page, name, Kind::Gauge, help, left.collect());
        let help = "Calls that wait for their turn, at a server that serves one client at a time.";
        let waiting = counts.iter().map(|counts| counts.waiting as u64);
        let name = "switchboard_server_waiting_calls";
        each(page, name, Kind::Gauge, help, waiting.collect());
    }

    fn own_process(&self, page: &mut Page, own: Usage) {
        let help = "1, with the version that runs.";
        let name = "switchboard_build_info";
        page.family(name, Kind::Gauge, help);
        page.sample(name, &[("version", VERSION)], 1);
        let help = "Faults of our own that did not end the program. Each is a bug.";
        let name = "switchboard_panics_total";
        page.single(name, Kind::Counter, help, tasks::panics());
        #[cfg(feature = "otlp")]
        if let Some(traces) = &self.traces {
            let help = "Spans that found no room, or that the collector did not take.";
            let name = "switchboard_spans_dropped_total";
            page.single(name, Kind::Counter, help, traces.dropped());
        }
        let help = "Processor time that this program has used, without its servers.";
        let name = "process_cpu_seconds_total";
        page.single(name, Kind::Counter, help, own.processor.as_secs_f64());
        let help = "Bytes of memory that are this program's, without its servers.";
        let name = "process_resident_memory_bytes";
        page.single(name, Kind::Gauge, help, own.memory);
        let help = "When this program began, in seconds since 1970.";
        page.single("process_start_time_seconds", Kind::Gauge, help, self.since);
        if let Some(limit) = descriptors::limit() {
            let help = "How many files may be open.";
            page.single("process_max_fds", Kind::Gauge, help, limit);
        }
    }
}

fn sign_ins(page: &mut Page) {
    let two = |page: &mut Page, name: &str, help: &str, tries: auth::Tries| {
        page.family(name, Kind::Counter, help);
        page.sample(name, &[("outcome", "done")], tries.done);
        page.sample(name, &[("outcome", "failed")], tries.failed);
    };
    let help = "Sign-ins to servers.";
    two(page, "switchboard_sign_ins_total", help, auth::sign_ins());
    let name = "switchboard_sign_in_renewals_total";
    let help = "Renewals of sign-ins to servers.";
    two(page, name, help, auth::renewals());
}

/// What each server's processes use together.
fn all_usage(servers: Vec<(Arc<str>, Vec<u32>)>) -> Vec<(Arc<str>, Usage)> {
    let pids: Vec<u32> = servers.iter().flat_map(|(_, pids)| pids.clone()).collect();
    let mut used = process::usage_of(&pids).into_iter();
    let sum = |(server, pids): (Arc<str>, Vec<u32>)| {
        let own = used.by_ref().take(pids.len());
        let sum = own.fold(Usage::default(), Usage::and);
        (server, sum)
    };
    servers.into_iter().map(sum).collect()
}

fn processes(page: &mut Page, servers: &[(Arc<str>, Usage)]) {
    let each = |page: &mut Page, name: &str, kind, help, value: fn(&Usage) -> f64| {
        page.family(name, kind, help);
        for (server, used) in servers {
            let labels: Labels<'_> = &[("mcp_server_name", server)];
            page.sample(name, labels, value(used));
        }
    };
    let help = "Processes of a server that is a program, with all that it started.";
    let name = "switchboard_server_processes";
    each(page, name, Kind::Gauge, help, |used| used.processes as f64);
    let help = "Bytes of memory that are theirs.";
    let name = "switchboard_server_resident_memory_bytes";
    each(page, name, Kind::Gauge, help, |used| used.memory as f64);
    let help = "Processor time that those which run now have used.";
    let name = "switchboard_server_cpu_seconds_total";
    each(page, name, Kind::Counter, help, |used| {
        used.processor.as_secs_f64()
    });
}

fn of(server: &Arc<Server>) -> (&'static str, &str) {
    ("mcp_server_name", server.name())
}
