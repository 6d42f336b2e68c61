//! Two replicas of a cluster, with NATS: a session of one of them, asked for at it or at the
//! other. What is measured is the processor time of both.

use super::subjects::{Programs, START_LIMIT, gateway_command, token};
use crate::process::{Group, Server};
use anyhow::{Context, Result, ensure};
use serde_json::Value;
use std::{
    fs,
    path::Path,
    process::{Command, Stdio},
};

/// How the second replica reaches the first.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// It dials it.
    Direct,
    /// Nobody can dial anybody.
    Nats,
}

/// What runs.
pub struct Fleet {
    /// The replicas.
    pub replicas: Vec<Server>,
    /// NATS, which ends after them.
    _nats: Vec<Group>,
}

const REPLICAS: usize = 2;

/// Starts it in a folder of its own.
pub fn start(programs: &Programs, entries: &Value, way: Way, scratch: &Path) -> Result<Fleet> {
    let folder = scratch.join("fleet");
    if folder.exists() {
        fs::remove_dir_all(&folder)?;
    }
    fs::create_dir_all(&folder)?;
    let program = programs.nats.as_deref().context("no NATS server")?;
    let (url, nats) = crate::cluster::nats(program, &folder)?;
    let keys = folder.join("keys");
    let token = token(scratch)?;
    let mut replicas = Vec::new();
    for number in 0..REPLICAS {
        let name = format!("r{number}");
        let mut ca = Command::new(&programs.gateway);
        ca.args(["cluster", "ca"]).arg(&keys);
        ca.args(["--name", &name]).stdout(Stdio::null());
        ensure!(ca.status()?.success(), "no certificate for {name}");
        let home = folder.join(&name);
        fs::create_dir_all(&home)?;
        let command = Command::new(&programs.gateway);
        let mut command = gateway_command(command, entries, &token, &home)?;
        command
            .args(["--cluster", &url, "--cluster-key-file"])
            .arg(keys.join("cluster.key"))
            .arg("--cluster-cert")
            .arg(keys.join(format!("{name}.pem")));
        if way == Way::Nats {
            command.args(["--cluster-advertise", "127.0.0.1:1"]);
        }
        let log = folder.join(format!("{name}.log"));
        let started = Server::start(&mut command, log, START_LIMIT);
        replicas.push(started.with_context(|| format!("replica {name}"))?);
    }
    Ok(Fleet {
        replicas,
        _nats: nats,
    })
}
