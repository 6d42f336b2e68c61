//! Three gateways that are one, behind a load balancer that sends each request to any of
//! them.

use super::{own_home, paths};
use crate::cluster;
use crate::process::{Group, Server};
use anyhow::{Context, Result, ensure};
use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const COUNT: usize = 3;
const STARTS_WITHIN: Duration = Duration::from_secs(60);

/// NATS, three gateways, and what stands before them. Dropping it ends all.
pub struct Replicas {
    /// Where clients come in, without a path.
    pub url: String,
    sprayer: Server,
    gateways: Vec<Server>,
    _nats: Vec<Group>,
}

impl Replicas {
    /// Starts them with this configuration, and waits until they know each other.
    pub fn start(nats: &Path, config: &str, logs: &Path) -> Result<Self> {
        let folder = logs.join("replicas");
        fs::create_dir_all(&folder)?;
        let (url, groups) = cluster::nats(nats, &folder)?;
        let keys = folder.join("keys");
        let program = || -> Result<Command> {
            let mut command = Command::new(paths::program("debug", "switchboard")?);
            own_home(&mut command, logs)?;
            Ok(command)
        };
        let mut gateways = Vec::new();
        for number in 0..COUNT {
            let name = format!("r{number}");
            let mut ca = program()?;
            let made = ca
                .args(["cluster", "ca"])
                .arg(&keys)
                .args(["--name", &name]);
            let made = made.output().context("making a certificate")?;
            ensure!(made.status.success(), "no certificate was made: {made:?}");
            let mut command = program()?;
            command
                .args(["serve", "--http", "127.0.0.1:0", "--no-auth"])
                .args(["--strict-mcp-config", "--mcp-config", config])
                .args(["--cluster", &url, "--cluster-name", &name])
                .arg("--cluster-key-file")
                .arg(keys.join("cluster.key"))
                .arg("--cluster-cert")
                .arg(keys.join(format!("{name}.pem")));
            let log = logs.join(format!("{name}.log"));
            let started = Server::start(&mut command, log, STARTS_WITHIN);
            gateways.push(started.with_context(|| format!("the gateway {name}"))?);
        }
        let mut status = program()?;
        status
            .args(["cluster", "status", "--json", "--cluster", &url])
            .arg("--cluster-key-file")
            .arg(keys.join("cluster.key"));
        until_known(&mut status)?;
        let mut sprayer = Command::new(paths::program("debug", "sprayer")?);
        for gateway in &gateways {
            let address = gateway.url.trim_start_matches("http://");
            sprayer.args(["--to", address]);
        }
        let sprayer = Server::start(&mut sprayer, logs.join("sprayer.log"), STARTS_WITHIN)?;
        Ok(Self {
            url: sprayer.url.trim_end_matches("/mcp").to_owned(),
            sprayer,
            gateways,
            _nats: groups,
        })
    }

    /// Looks at each of them.
    pub fn each(&mut self, look: fn(&mut Server) -> Result<()>) -> Result<()> {
        look(&mut self.sprayer)?;
        self.gateways.iter_mut().try_for_each(look)
    }
}

fn until_known(status: &mut Command) -> Result<()> {
    let begun = Instant::now();
    loop {
        let said = status.output().context("asking who is there")?;
        let there: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap_or_default();
        if there.as_array().is_some_and(|all| all.len() == COUNT) {
            return Ok(());
        }
        ensure!(
            begun.elapsed() < STARTS_WITHIN,
            "the gateways do not know each other: {said:?}"
        );
    }
}
