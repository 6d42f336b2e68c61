//! `cargo xtask peers`: real servers and real clients, by package name and pinned,
//! each installed from its registry, listed and called.
//!
//! A server is asked directly and then through one gateway that has them all: the same
//! tools, and the same answer to one call. A client is pointed at a gateway and has to
//! show its tools and call one. Agents are driven by a scripted model on loopback, which
//! asks for one call and then ends.

mod behind;
mod http;
mod package;
mod row;
mod rpc;
mod scene;
mod servers;

use crate::cargo::cargo;
use crate::steps::status;
use anyhow::{Result, bail, ensure};
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
    let servers: Vec<_> = SERVERS
        .iter()
        .filter(|server| !options.clients && wanted(server.name, server.quick))
        .collect();
    ensure!(
        !servers.is_empty(),
        "there is no such peer; --list says which there are"
    );
    if options.list {
        for server in &servers {
            println!("{:12} {}", server.name, server.package.title());
        }
        return Ok(());
    }
    for server in &servers {
        if let Err(error) = server.package.install() {
            eprintln!("peers: {}: {error:#}", server.package.title());
        }
    }
    println!("peers: installed in {:.0} s", begun.elapsed().as_secs_f64());
    if options.install {
        return Ok(());
    }
    status(cargo(["build", "--quiet", "-p", "switchboard-cli"]))?;
    let scene = Scene::set("debug")?;
    let mut rows = Vec::new();
    if !servers.is_empty() {
        rows.extend(behind::run(&scene, &servers)?);
    }
    finish(&rows, begun)
}

fn finish(rows: &[Row], begun: Instant) -> Result<()> {
    println!("\n{}", row::table(rows, true));
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
