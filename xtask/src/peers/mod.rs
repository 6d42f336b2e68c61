//! `cargo xtask peers`: real servers and real clients, by package name and pinned,
//! each installed from its registry, listed and called.
//!
//! A server is asked directly and then through one gateway that has them all: the same
//! tools, and the same answer to one call. A client is pointed at a gateway and has to
//! show its tools and call one. Agents are driven by a scripted model on loopback, which
//! asks for one call and then ends.

mod agents;
mod behind;
mod clients;
mod commands;
mod dialect;
mod drive;
mod http;
mod model;
mod package;
mod page;
mod proxy;
mod row;
mod rpc;
mod scene;
mod servers;

use crate::cargo::whole;
use crate::steps::status;
use anyhow::{Context, Result, bail, ensure};
use clients::{CLIENTS, Client, Way};
use drive::Target;
use package::Package;
use row::Row;
use scene::Scene;
use servers::SERVERS;
use std::time::Instant;

/// Options of `cargo xtask peers`.
#[derive(clap::Args, Default)]
pub struct Options {
    /// Only this one; repeatable
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Only servers
    #[arg(long)]
    servers: bool,
    /// Only clients
    #[arg(long)]
    clients: bool,
    /// Only the few small ones that are run with every change
    #[arg(long)]
    quick: bool,
    /// Say which there are, and run none
    #[arg(long)]
    list: bool,
    /// Put the table into docs/design/peers.md
    #[arg(long)]
    write: bool,
    /// Install them, and run none
    #[arg(long)]
    install: bool,
}

/// What is known of a peer.
#[derive(Clone, Copy)]
pub enum Expected {
    /// It works; from now on it has to.
    Works,
    /// It does not, for this reason.
    Fails(&'static str),
}

/// Runs what was asked for.
pub fn run(options: &Options) -> Result<()> {
    let begun = Instant::now();
    let wanted = |name: &str, quick: bool| match options.only.is_empty() {
        true => quick || !options.quick,
        false => options.only.iter().any(|only| only == name),
    };
    let servers = SERVERS
        .iter()
        .filter(|server| wanted(server.name, server.quick));
    let servers: Vec<_> = servers
        .filter(|_| !options.clients || options.servers)
        .collect();
    let clients = CLIENTS
        .iter()
        .filter(|client| wanted(client.name, client.quick));
    let clients: Vec<_> = clients
        .filter(|_| !options.servers || options.clients)
        .collect();
    ensure!(
        !(servers.is_empty() && clients.is_empty()),
        "there is no such peer; --list says which there are"
    );
    let of_servers = servers
        .iter()
        .map(|server| (server.name, "server", server.package));
    let of_clients = clients
        .iter()
        .map(|client| (client.name, "client", client.package));
    let all: Vec<_> = of_servers.chain(of_clients).collect();
    if options.list {
        for (name, kind, package) in &all {
            println!("{kind}  {name:14}  {}", package.title());
        }
        return Ok(());
    }
    install(all.iter().map(|(_, _, package)| package));
    println!("peers: installed in {:.0} s", begun.elapsed().as_secs_f64());
    if options.install {
        return Ok(());
    }
    status(whole(["build", "--quiet", "-p", "switchboard-cli"]))?;
    let scene = Scene::set("debug")?;
    let mut rows = Vec::new();
    if !servers.is_empty() {
        rows.extend(behind::run(&scene, &servers)?);
        if !options.quick && options.only.is_empty() {
            rows.push(proxy::run(&scene));
        }
    }
    if !clients.is_empty() {
        rows.extend(before(&scene, &clients)?);
        rows.extend(cold(&scene, &clients)?);
    }
    if options.write {
        page::write(&rows)?;
    }
    finish(&rows, begun)
}

/// What cannot be installed is said at once, and again in its row.
fn install<'a>(packages: impl Iterator<Item = &'a Package>) {
    for package in packages {
        if let Err(error) = package.install() {
            eprintln!("peers: {}: {error:#}", package.title());
        }
    }
}

/// Clients in front of one gateway, and in front of servers that they start through us.
fn before(scene: &Scene, clients: &[&Client]) -> Result<Vec<Row>> {
    // Everything's list goes by what a client can do. At a gateway, which can do it all
    // for its clients, that is the same for everybody; a server of one's own it is not.
    let shared = entries(scene, &["everything", "filesystem", "memory"])?;
    let own = entries(scene, &["filesystem", "memory"])?;
    let (gateway, token) = scene.gateway("clients", &shared)?;
    let url = format!("{}/mcp", gateway.url);
    let there = rpc::Http::new(&url, &token);
    let tools = rpc::Client::connect(there, behind::ANSWER).and_then(|mut it| it.tools());
    let mut target = Target {
        at_gateway: tools.context("the gateway itself")?.len(),
        in_file: 0,
        suffix: "",
        config: scene.config("own", &own)?,
        url,
        token,
    };
    target.in_file = drive::own_list(scene, &target)?;
    let mut rows = Vec::new();
    for client in clients {
        rows.extend(drive::run(scene, &target, client, client.ways));
    }
    Ok(rows)
}

/// Clients that list once, in front of six common servers of which nothing is known.
fn cold(scene: &Scene, clients: &[&Client]) -> Result<Vec<Row>> {
    const SIX: [&str; 6] = ["filesystem", "memory", "github", "git", "time", "fetch"];
    let listing_once = ["inspector", "claude-code"];
    let some = clients
        .iter()
        .filter(|client| listing_once.contains(&client.name));
    let mut rows = Vec::new();
    for client in some {
        let target = Target {
            url: String::new(),
            token: String::new(),
            suffix: "-cold",
            config: scene.config("six", &entries(scene, &SIX)?)?,
            at_gateway: 0,
            in_file: 64,
        };
        rows.extend(drive::run(scene, &target, client, &[Way::Stdio]));
    }
    Ok(rows)
}

/// Some of the servers, as entries of a file.
fn entries(scene: &Scene, names: &[&str]) -> Result<serde_json::Value> {
    let mut entries = serde_json::Map::new();
    for server in SERVERS.iter().filter(|server| names.contains(&server.name)) {
        server.package.install()?;
        entries.insert(server.name.into(), behind::entry(scene, server)?);
    }
    Ok(serde_json::Value::Object(entries))
}

fn finish(rows: &[Row], begun: Instant) -> Result<()> {
    println!("\n{}", row::table(rows.iter(), true));
    println!("{} in {:.0} s", rows.len(), begun.elapsed().as_secs_f64());
    for row in rows.iter().filter(|row| row.better()) {
        println!("{} works now: its row can say so", row.name);
    }
    let worse: Vec<&str> = rows
        .iter()
        .filter(|row| !row.as_expected())
        .map(|row| row.name.as_str())
        .collect();
    if !worse.is_empty() {
        bail!("no longer as they were: {}", worse.join(", "));
    }
    Ok(())
}
