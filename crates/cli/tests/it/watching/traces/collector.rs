//! A collector that nobody here wrote, and the spans that it has got.

use std::{
    collections::BTreeMap,
    env, fs,
    net::{TcpListener, TcpStream},
    path::PathBuf,
    time::Duration,
};
use switchboard_testkit::Program;
use switchboard_testkit::world::{World, until};

const LONG: Duration = Duration::from_secs(120);

/// A span, as the collector shows it.
#[derive(Clone, Debug, Default)]
pub struct Span {
    pub trace: String,
    pub id: String,
    pub parent: String,
    pub name: String,
    pub kind: String,
    pub status: String,
    pub attributes: BTreeMap<String, String>,
    /// The traces and spans that it is linked to.
    pub links: Vec<(String, String)>,
}

impl Span {
    #[track_caller]
    pub fn says(&self, name: &str) -> &str {
        let said = self.attributes.get(name);
        said.unwrap_or_else(|| panic!("no {name} in {self:?}"))
    }
}

/// rotel, which writes down all that it gets.
pub struct Collector {
    pub http: String,
    pub grpc: String,
    out: PathBuf,
    _program: Program,
}

fn program() -> PathBuf {
    let file = env::var_os("SWITCHBOARD_TEST_ROTEL").map(PathBuf::from);
    file.filter(|file| file.is_file()).unwrap_or_else(|| {
        panic!(
            "THERE IS NO rotel: nothing was tried with a real collector. `cargo xtask setup` \
             installs the package rotel of PyPI and prints where it is; SWITCHBOARD_TEST_ROTEL \
             names its program"
        )
    })
}

fn free() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

impl Collector {
    pub async fn start(world: &World) -> Self {
        let out = world.path("home/collected");
        let (http, grpc) = (free(), free());
        let script = format!("exec \"$0\" \"$@\" >{} 2>&1", out.display());
        let program = world
            .launch_any("/bin/sh")
            .args(["-c", &script])
            .arg(program())
            .args(["start", "--exporter", "blackhole"])
            .args(["--debug-log", "traces"])
            .args(["--debug-log-verbosity", "detailed"])
            .args(["--otlp-http-endpoint", &http])
            .args(["--otlp-grpc-endpoint", &grpc])
            .arg("--pid-file")
            .arg(world.path("home/rotel.pid"))
            .spawn();
        for at in [&http, &grpc] {
            let there = until(LONG, || TcpStream::connect(at.as_str()).ok());
            there.await.expect("the collector listens");
        }
        Self {
            http: format!("http://{http}"),
            grpc: format!("http://{grpc}"),
            out,
            _program: program,
        }
    }

    /// All that it was sent, as it shows it.
    pub fn text(&self) -> String {
        fs::read_to_string(&self.out).unwrap_or_default()
    }

    /// The spans of a trace, once there are as many as that, and those that come with
    /// the last of them.
    pub async fn trace(&self, trace: &str, least: usize) -> Vec<Span> {
        let found = until(LONG, || {
            let all = spans(&self.text());
            let all: Vec<Span> = all.into_iter().filter(|it| it.trace == trace).collect();
            (all.len() >= least).then_some(all)
        });
        let found = found.await;
        found.unwrap_or_else(|| panic!("no {least} spans of {trace} in:\n{}", self.text()))
    }
}

/// Reads what the collector shows.
pub fn spans(text: &str) -> Vec<Span> {
    let mut all: Vec<Span> = Vec::new();
    let mut part = "";
    for line in text.lines() {
        if line.starts_with("Span #") {
            all.push(Span::default());
            part = "span";
            continue;
        }
        if line.starts_with("ResourceSpans #") {
            part = "";
        }
        let Some(span) = all.last_mut().filter(|_| !part.is_empty()) else {
            continue;
        };
        match line.trim_end() {
            "Attributes:" => part = "attributes",
            "Links:" => part = "links",
            "Events:" => part = "events",
            _ => {}
        }
        match (part, line.trim().split_once(':')) {
            ("span", Some((key, value))) => {
                let value = value.trim().to_owned();
                match key.trim() {
                    "Trace ID" => span.trace = value,
                    "Parent ID" => span.parent = value,
                    "ID" => span.id = value,
                    "Name" => span.name = value,
                    "Kind" => span.kind = value,
                    "Status code" => span.status = value,
                    _ => {}
                }
            }
            ("attributes", Some((key, value))) => {
                let Some(key) = key.trim().strip_prefix("-> ") else {
                    continue;
                };
                let value = value.trim();
                let value = value.split_once('(').map_or(value, |(_, rest)| rest);
                let value = value.strip_suffix(')').unwrap_or(value);
                span.attributes.insert(key.to_owned(), value.to_owned());
            }
            ("links", Some((key, value))) => {
                let Some(link) = span.links.last_mut() else {
                    continue;
                };
                match key.trim() {
                    "-> Trace ID" => link.0 = value.trim().to_owned(),
                    "-> ID" => link.1 = value.trim().to_owned(),
                    _ => {}
                }
            }
            ("links", None) if line.starts_with("SpanLink #") => {
                span.links.push(Default::default());
            }
            _ => {}
        }
    }
    all
}
