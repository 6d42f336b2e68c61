//! `cargo xtask cluster`: several gateways as one, on this machine, to look at. Three NATS
//! servers, three replicas in homes of their own, two workers, clients that ask whichever
//! replica they like, and one that is killed and started again now and then.

mod load;

use crate::cargo::whole;
use crate::process::{Group, Server};
use crate::steps::status;
use crate::{paths, setup};
use anyhow::{Context, Result, ensure};
use load::{Counts, Load};
use rustix::process::{Pid, Signal, kill_process};
use std::{
    fs::{self, File},
    net::TcpListener,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

/// Options of `cargo xtask cluster`.
#[derive(clap::Args)]
pub struct Options {
    /// How long it runs
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// How many clients ask at once
    #[arg(long, default_value_t = 8)]
    clients: usize,
    /// Seconds from one kill of a replica to the next; 0 for none
    #[arg(long, default_value_t = 20)]
    kill_every: u64,
}

const REPLICAS: usize = 3;
const WORKERS: usize = 2;
const STARTS_WITHIN: Duration = Duration::from_secs(60);
/// A replica that was killed is away for this long.
const AWAY: Duration = Duration::from_secs(5);

/// Where replicas are, as clients know them.
type Addresses = Arc<Mutex<Vec<String>>>;

struct Fleet {
    folder: PathBuf,
    program: PathBuf,
    nats: String,
    server: String,
    replicas: Vec<Option<Server>>,
    addresses: Addresses,
}

/// Starts it, and shows what happens.
pub fn run(options: &Options) -> Result<()> {
    let tools = setup::run()?;
    let mut build = whole(["build", "--bins", "--package", "switchboard-cli"]);
    status(build.args(["--package", "switchboard-testkit"]))?;
    let folder = paths::scratch("cluster")?;
    let (nats, _nats) = nats(&tools.nats, &folder)?;
    let echo = paths::program("debug", "echo-server")?;
    let mut echo = Command::new(echo);
    let echo = Server::start(
        echo.args(["--http", "0"]),
        folder.join("server.log"),
        STARTS_WITHIN,
    )?;
    let mut fleet = Fleet {
        program: paths::program("debug", "switchboard")?,
        nats,
        server: echo.url.clone(),
        replicas: Vec::new(),
        addresses: Addresses::default(),
        folder,
    };
    for number in 0..REPLICAS {
        let started = fleet.start(number)?;
        let mut addresses = locked(&fleet.addresses);
        addresses.push(started.url.clone());
        drop(addresses);
        fleet.replicas.push(Some(started));
    }
    let workers = (0..WORKERS).map(|number| fleet.hire(number));
    let workers: Result<Vec<Group>> = workers.collect();
    let _workers = workers?;
    println!("NATS: {}", fleet.nats);
    println!("logs: {}", fleet.folder.display());
    let load = Load::begin(options.clients, fleet.addresses.clone());
    let watched = fleet.watch(options, &load);
    let counts = load.end();
    watched?;
    println!("{counts}");
    let Counts { lost, wrong, .. } = counts;
    ensure!(
        lost == 0 && wrong == 0,
        "{lost} requests were told that their session is unknown, {wrong} answers were wrong"
    );
    Ok(())
}

impl Fleet {
    fn command(&self, number: usize) -> Command {
        let home = self.folder.join(format!("home{number}"));
        let mut command = Command::new(&self.program);
        command
            .env_clear()
            .env("HOME", &home)
            .env("PATH", "/usr/bin:/bin")
            .current_dir(&self.folder);
        command
    }

    /// Starts a replica, at the address that it had before if it had one.
    fn start(&self, number: usize) -> Result<Server> {
        fs::create_dir_all(self.folder.join(format!("home{number}")))?;
        let name = format!("r{number}");
        let mut ca = self.command(number);
        let ca = ca.args(["cluster", "ca", "keys", "--name", &name]);
        status_of(ca)?;
        let before = locked(&self.addresses).get(number).cloned();
        let address = before.map_or_else(|| "127.0.0.1:0".to_owned(), |url| host(&url));
        let config = format!(
            "{{\"mcpServers\":{{\"far\":{{\"type\":\"http\",\"url\":\"{}\"}},\"near\":{{\"type\":\"worker\"}}}}}}",
            self.server
        );
        let mut serve = self.command(number);
        serve
            .args(["serve", "--no-auth", "--http", &address])
            .args(["--strict-mcp-config", "--mcp-config", &config])
            .args(["--cluster", &self.nats, "--cluster-name", &name])
            .args(["--cluster-key-file", "keys/cluster.key", "--cluster-cert"])
            .arg(format!("keys/{name}.pem"));
        let log = self.folder.join(format!("{name}.log"));
        Server::start(&mut serve, log, STARTS_WITHIN)
    }

    /// Starts a worker that runs a server for all replicas.
    fn hire(&self, number: usize) -> Result<Group> {
        fs::create_dir_all(self.folder.join(format!("home{number}")))?;
        let name = format!("w{number}");
        let mut ca = self.command(number);
        status_of(ca.args(["cluster", "ca", "keys", "--name", &name, "--worker"]))?;
        let echo = paths::program("debug", "echo-server")?;
        let config = format!(
            "{{\"mcpServers\":{{\"near\":{{\"command\":\"{}\",\"args\":[\"--stdio\"]}}}}}}",
            echo.display()
        );
        let mut work = self.command(number);
        work.args(["worker", "--join", &self.nats])
            .args(["--strict-mcp-config", "--mcp-config", &config])
            .args(["--cluster-key-file", "keys/cluster.key", "--cluster-cert"])
            .arg(format!("keys/{name}.pem"));
        let log = File::create(self.folder.join(format!("{name}.log")))?;
        work.stdout(log.try_clone()?).stderr(log);
        Group::spawn(work.stdin(Stdio::null()))
    }

    /// Shows what happens, and kills now and then.
    fn watch(&mut self, options: &Options, load: &Load) -> Result<()> {
        let begun = Instant::now();
        let every = Duration::from_secs(options.kill_every);
        let (mut next_kill, mut victim) = (begun + every, 0);
        let mut back: Option<(usize, Instant)> = None;
        while begun.elapsed() < Duration::from_secs(options.seconds) {
            std::thread::sleep(Duration::from_secs(1));
            let there = self.replicas.iter().flatten().count();
            let seconds = begun.elapsed().as_secs();
            println!("{seconds:>4} s  {there} replicas  {}", load.counts());
            if let Some((number, at)) = back
                && Instant::now() >= at
            {
                println!("        r{number} is started again");
                self.replicas[number] = Some(self.start(number)?);
                back = None;
            }
            if !every.is_zero() && Instant::now() >= next_kill && back.is_none() {
                if let Some(killed) = self.replicas[victim].take() {
                    println!("        r{victim} is killed");
                    kill(&killed);
                }
                back = Some((victim, Instant::now() + AWAY));
                (next_kill, victim) = (next_kill + every, (victim + 1) % REPLICAS);
            }
        }
        self.show()
    }

    fn show(&self) -> Result<()> {
        let mut command = self.command(0);
        command
            .args(["cluster", "status", "--cluster", &self.nats])
            .args(["--cluster-key-file", "keys/cluster.key"]);
        status_of(&mut command)
    }
}

fn kill(server: &Server) {
    let pid = i32::try_from(server.id()).ok().and_then(Pid::from_raw);
    if let Some(pid) = pid {
        let _ = kill_process(pid, Signal::KILL);
    }
}

fn status_of(command: &mut Command) -> Result<()> {
    let ended = command.status().context("starting the program")?;
    ensure!(ended.success(), "{command:?} failed");
    Ok(())
}

fn host(url: &str) -> String {
    url.trim_start_matches("http://").to_owned()
}

fn locked(addresses: &Addresses) -> std::sync::MutexGuard<'_, Vec<String>> {
    addresses.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Three servers that form a cluster, and where they are.
pub fn nats(program: &Path, folder: &Path) -> Result<(String, Vec<Group>)> {
    // All at once: what was given back may be given again.
    let mut clients = free(2 * REPLICAS)?;
    let routes = clients.split_off(REPLICAS);
    let others: Vec<String> = routes.iter().map(|it| format!("\"nats://{it}\"")).collect();
    let mut groups = Vec::new();
    for number in 0..REPLICAS {
        let config = folder.join(format!("n{number}.conf"));
        let store = folder.join(format!("n{number}"));
        let text = format!(
            "server_name: n{number}\nlisten: \"{}\"\njetstream {{ store_dir: \"{}\" }}\n\
             cluster {{ name: try, listen: \"{}\", routes: [{}] }}\n",
            clients[number],
            store.display(),
            routes[number],
            others.join(", ")
        );
        fs::write(&config, text)?;
        let log = File::create(folder.join(format!("n{number}.log")))?;
        let mut command = Command::new(program);
        command.arg("-c").arg(&config).stdin(Stdio::null());
        command.stdout(log.try_clone()?).stderr(log);
        groups.push(Group::spawn(&mut command)?);
    }
    let all: Vec<String> = clients.iter().map(|it| format!("nats://{it}")).collect();
    let begun = Instant::now();
    let is_led = || {
        let logs = (0..REPLICAS).map(|number| folder.join(format!("n{number}.log")));
        let mut texts = logs.filter_map(|log| fs::read_to_string(log).ok());
        texts.any(|text| text.contains("Self is new JetStream cluster metadata leader"))
    };
    while !is_led() {
        ensure!(
            begun.elapsed() < STARTS_WITHIN,
            "NATS does not agree on a leader"
        );
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok((all.join(","), groups))
}

/// Addresses that were free a moment ago.
fn free(count: usize) -> Result<Vec<String>> {
    let listeners: Result<Vec<TcpListener>, _> = (0..count)
        .map(|_| TcpListener::bind("127.0.0.1:0"))
        .collect();
    let listeners = listeners?;
    let addresses = listeners.iter().map(|it| Ok(it.local_addr()?.to_string()));
    addresses.collect()
}
