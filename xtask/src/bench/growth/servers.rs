//! Many servers behind one gateway: what a page, a call and a search cost, how soon the
//! first complete list is there, what it takes of memory. All are HTTP servers that answer
//! at once; one program plays them.

use super::grid::Amount;
use super::plot::Plot;
use crate::bench::measure::{Cell, Gated, Load, Sample, measure};
use crate::bench::proc;
use crate::bench::report::{median, range};
use crate::bench::subjects::{Programs, Running, upstream_with};
use crate::process::Server;
use crate::table::Table;
use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};
use std::path::Path;
use std::time::{Duration, Instant};

/// Tools of a server, and how many of them do nothing but be listed.
const TOOLS: usize = 50;
const MORE_TOOLS: &str = "36";
/// Tools on a full page (`host/src/limits.rs`).
const PAGE: usize = 1000;
/// How long a gateway may take to have nothing to do.
const REST: Duration = Duration::from_secs(60);
/// What counts as nothing to do: less processor time than this in [`LOOK`].
const LOOK: Duration = Duration::from_millis(300);
const LITTLE: f64 = 25_000.0;

/// What clients ask of many servers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Ask {
    /// The first page of all tools.
    Page,
    /// A call of one tool.
    Call,
    /// A search among all of them.
    Search,
}

impl Ask {
    fn told(self) -> Vec<String> {
        let words: &[&str] = match self {
            Self::Page => &["--list"],
            Self::Call => &["--tool", "s0000__payload"],
            Self::Search => &[
                "--tool",
                "search_tools",
                "--arguments",
                r#"{"query":"payload"}"#,
            ],
        };
        words.iter().map(|&word| word.to_owned()).collect()
    }
}

/// A gateway with so many servers, and what was measured of it.
pub struct Wide {
    /// How many servers.
    pub servers: usize,
    listing: Running,
    searching: Option<Running>,
    /// Seconds until the first complete list, since the gateway was started.
    pub first_list: f64,
    /// Its memory then, in MiB.
    pub pss_mib: f64,
    samples: Vec<(Ask, Sample)>,
}

impl Wide {
    /// Tools on its first page.
    pub fn on_page(&self) -> f64 {
        (self.servers * TOOLS).min(PAGE) as f64
    }

    /// CPU of what was asked, a round each.
    pub fn cpu(&self, ask: Ask) -> Vec<f64> {
        let its = self.samples.iter().filter(|(asked, _)| *asked == ask);
        its.filter_map(|(_, sample)| sample.cpu_us).collect()
    }
}

/// The servers, and gateways of several widths in front of them.
pub struct Widths {
    /// One for each width.
    pub wide: Vec<Wide>,
    _upstream: Server,
}

impl Widths {
    /// Starts all of them, and measures in turn what is asked of each.
    pub fn of(
        widths: &[usize],
        search: bool,
        amount: Amount,
        programs: &Programs,
        scratch: &Path,
    ) -> Result<Self> {
        let upstream = servers(programs, scratch)?;
        let mut wide = Vec::new();
        for &servers in widths {
            wide.push(started(servers, search, &upstream, programs, scratch)?);
        }
        for round in 1..=amount.rounds {
            for one in &mut wide {
                for ask in [Ask::Page, Ask::Call, Ask::Search] {
                    one.measure(ask, round, amount, programs)?;
                }
            }
        }
        Ok(Self {
            wide,
            _upstream: upstream,
        })
    }

    /// The table of everything.
    pub fn table(&self) -> String {
        let mut table = Table::new([
            "servers",
            "tools",
            "first complete list s",
            "PSS MiB",
            "a page µs",
            "(min–max)",
            "for each tool on it",
            "a call µs",
            "(min–max)",
            "÷ first",
            "a search µs",
        ]);
        let show = |value: Option<f64>, digits: usize| {
            value.map_or_else(|| "–".into(), |value| format!("{value:.digits$}"))
        };
        let first = self
            .wide
            .first()
            .and_then(|one| median(&one.cpu(Ask::Call)));
        for one in &self.wide {
            let (page, call) = (one.cpu(Ask::Page), one.cpu(Ask::Call));
            let grown = median(&call).zip(first).map(|(call, first)| call / first);
            table.row([
                one.servers.to_string(),
                (one.servers * TOOLS).to_string(),
                format!("{:.2}", one.first_list),
                format!("{:.1}", one.pss_mib),
                show(median(&page), 0),
                range(&page, 0),
                show(median(&page).map(|page| page / one.on_page()), 2),
                show(median(&call), 1),
                range(&call, 1),
                show(grown, 2),
                show(median(&one.cpu(Ask::Search)), 1),
            ]);
        }
        table.render()
    }

    /// What each costs, over how many servers there are.
    pub fn plot(&self) -> Plot {
        let title = "What is asked of many servers, 50 tools each";
        let ticks = self.wide.iter();
        let ticks = ticks.map(|one| (one.servers as f64, one.servers.to_string()));
        let mut plot = Plot::new(title, "servers", "CPU µs").ticks(ticks.collect());
        for (name, ask) in [
            ("a call", Ask::Call),
            ("a search", Ask::Search),
            ("a page", Ask::Page),
        ] {
            let points = self.wide.iter();
            let points =
                points.filter_map(|one| Some((one.servers as f64, median(&one.cpu(ask))?)));
            plot.curve(name, points.collect());
        }
        plot
    }
}

impl Wide {
    fn measure(
        &mut self,
        ask: Ask,
        round: usize,
        amount: Amount,
        programs: &Programs,
    ) -> Result<()> {
        let running = match (ask, &self.searching) {
            (Ask::Search, None) => return Ok(()),
            (Ask::Search, Some(searching)) => searching,
            _ => &self.listing,
        };
        let load = Load {
            cell: Cell {
                bytes: 200,
                clients: 1,
            },
            era: "legacy".into(),
            seconds: amount.seconds,
            asks: ask.told(),
            counts: None,
        };
        let sample = measure(programs, running, &load)?;
        let what = ask.told().join(" ");
        eprintln!("{} servers, {what}, round {round}: {sample}", self.servers);
        self.samples.push((ask, sample));
        Ok(())
    }
}

/// The program that plays all servers.
pub fn servers(programs: &Programs, scratch: &Path) -> Result<Server> {
    upstream_with(&programs.upstream, scratch, &["--more-tools", MORE_TOOLS])
}

/// A gateway that has just been started with so many, in a home of its own: it knows
/// nothing of them. Also how many seconds its first complete list took.
pub fn first_list(
    count: usize,
    upstream: &Server,
    programs: &Programs,
    scratch: &Path,
) -> Result<(Running, f64)> {
    let begun = Instant::now();
    let running = gateway(count, &[], upstream, programs, scratch)?;
    let tools = (count * TOOLS).to_string();
    let mut load = Gated::start(programs, &running, |command| {
        command.args(["--tools", &tools, "--count", "0", "--warmup-ms", "0"]);
    })?;
    let took = begun.elapsed().as_secs_f64();
    load.go()?;
    load.end()?;
    Ok((running, took))
}

fn started(
    count: usize,
    search: bool,
    upstream: &Server,
    programs: &Programs,
    scratch: &Path,
) -> Result<Wide> {
    let (listing, first_list) = first_list(count, upstream, programs, scratch)?;
    quiet(&listing)?;
    let pss_mib = listing.pss_kib()? / 1024.0;
    eprintln!("{count} servers: first complete list {first_list:.2} s, {pss_mib:.1} MiB PSS");
    let searching = match search {
        false => None,
        true => {
            let with = ["--tools".to_owned(), "search".to_owned()];
            let searching = gateway(count, &with, upstream, programs, scratch)?;
            let load = Gated::start(programs, &searching, |command| {
                command.args(Ask::Search.told()).args(["--count", "0"]);
            })?;
            load.end()?;
            quiet(&searching)?;
            Some(searching)
        }
    };
    Ok(Wide {
        servers: count,
        listing,
        searching,
        first_list,
        pss_mib,
        samples: Vec::new(),
    })
}

fn gateway(
    count: usize,
    with: &[String],
    upstream: &Server,
    programs: &Programs,
    scratch: &Path,
) -> Result<Running> {
    let entry = json!({"type": "http", "url": upstream.url});
    let named = (0..count).map(|n| (format!("s{n:04}"), entry.clone()));
    let entries = Value::Object(named.collect::<Map<String, Value>>());
    let name = format!("wide-{count}-{}", with.join(""));
    let home = (0..).map(|n| scratch.join(format!("{name}-{n}")));
    let home = home
        .into_iter()
        .find(|home| !home.exists())
        .context("a home")?;
    std::fs::create_dir_all(&home)?;
    Running::gateway(programs, &entries, with, "/mcp", &home)
}

/// Waits until it has nothing to do.
pub fn quiet(running: &Running) -> Result<()> {
    let (pids, deadline) = (running.pids()?, Instant::now() + REST);
    loop {
        let before = proc::cpu_micros(&pids)?;
        std::thread::sleep(LOOK);
        if proc::cpu_micros(&pids)? - before < LITTLE {
            return Ok(());
        }
        ensure!(
            Instant::now() < deadline,
            "the gateway does not come to rest"
        );
    }
}
