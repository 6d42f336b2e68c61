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
    let token = token(scratch)?;
    let mut replicas = Vec::new();
    for number in 0..REPLICAS {
        let name = format!("r{number}");
        let home = folder.join(&name);
        fs::create_dir_all(&home)?;
        let command = Command::new(&programs.gateway);
        let mut command = gateway_command(command, entries, &token, &home)?;
        command.args(membership(&programs.gateway, &folder, &url, &name)?);
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

/// Options of `serve` that make it the replica of this name, with a certificate and keys in a
/// folder of this one.
pub fn membership(gateway: &Path, folder: &Path, nats: &str, name: &str) -> Result<Vec<String>> {
    let keys = folder.join("keys");
    let mut ca = Command::new(gateway);
    ca.args(["cluster", "ca"]).arg(&keys);
    ca.args(["--name", name]).stdout(Stdio::null());
    ensure!(ca.status()?.success(), "no certificate for {name}");
    let file = |name: &str| keys.join(name).display().to_string();
    let mut options = vec!["--cluster".to_owned(), nats.to_owned()];
    options.extend(["--cluster-key-file".to_owned(), file("cluster.key")]);
    options.extend(["--cluster-cert".to_owned(), file(&format!("{name}.pem"))]);
    Ok(options)
}
