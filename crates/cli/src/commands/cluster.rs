//! `cluster`: several gateways as one; and the options by which a gateway is one of them.

mod applied;
mod difference;
mod status;
mod told;
mod vouched;

use crate::{
    commands::listen::address,
    context::Context,
    failure::{Advice, Code, Failure},
    life,
    show::out,
};
use clap::{Args, Subcommand};
use serde::{Deserialize, Serialize};
use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    sync::Arc,
};
use switchboard::{
    Joined, Look,
    cluster::{
        self, ClusterError, Join, LedgerError, Store,
        authority::{self, Role},
    },
};

/// Options of `cluster`.
#[derive(Debug, Args)]
pub struct Options {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done about a cluster.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Show the replicas and workers that there are
    Status {
        #[command(flatten)]
        shared: Shared,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Make the cluster's key, its authority, and a replica's or worker's certificate, where they
    /// are missing
    Ca {
        /// The folder for them
        #[arg(value_name = "DIR")]
        folder: PathBuf,
        /// The replica or worker that gets a certificate
        #[arg(long, value_name = "NAME", default_value = "replica")]
        name: String,
        /// It is a worker of this name, not a replica
        #[arg(long)]
        worker: bool,
    },
    /// Print how NATS is set up for a cluster
    NatsConfig {
        /// A worker that gets an account of its own; repeatable
        #[arg(long = "worker", value_name = "NAME", value_parser = worker)]
        workers: Vec<String>,
    },
    /// Apply settings, tokens, approvals and pins to all replicas: signed, shown first, and kept
    /// with the versions before it
    #[command(
        override_usage = "switchboard cluster apply [OPTIONS] --sign-with <FILE>\n           --cluster <URL> --cluster-key-file <FILE> [FILE]..."
    )]
    Apply(Box<applied::ApplyOptions>),
    /// Show the versions that were applied to all replicas
    #[command(
        override_usage = "switchboard cluster history [OPTIONS] --cluster <URL> --cluster-key-file <FILE>\n           --cluster-apply-keys <FILE>"
    )]
    History(applied::HistoryOptions),
    /// Show what was applied to all replicas
    #[command(
        override_usage = "switchboard cluster show [OPTIONS] --cluster <URL> --cluster-key-file <FILE>\n           --cluster-apply-keys <FILE> [VERSION]"
    )]
    Show(applied::ShowOptions),
}

impl Action {
    /// Whether it prints JSON.
    pub fn wants_json(&self) -> bool {
        match self {
            Self::Status { json, .. } => *json,
            Self::Apply(options) => options.json,
            Self::History(options) => options.json,
            Self::Show(options) => options.json,
            Self::Ca { .. } | Self::NatsConfig { .. } => false,
        }
    }
}

/// Where a cluster's replicas share what they know.
#[derive(Clone, Debug, Args)]
pub struct Shared {
    /// NATS, where replicas share what they know; several addresses of one NATS with commas
    #[arg(long, value_name = "URL", value_delimiter = ',', required = true, value_parser = nats)]
    pub cluster: Vec<String>,
    /// The file with the cluster's key
    #[arg(long, value_name = "FILE")]
    pub cluster_key_file: PathBuf,
    /// A file with what NATS lets us in by: credentials that it made, or USER:PASSWORD
    #[arg(long, value_name = "FILE")]
    pub cluster_creds: Option<PathBuf>,
}

impl Shared {
    /// What they share it in, and the file with the cluster's key.
    pub fn opens(&self, context: &Context) -> (Store, PathBuf) {
        let store = store(context, &self.cluster, self.cluster_creds.as_deref());
        let key = context.options.directory.join(&self.cluster_key_file);
        (store, key)
    }
}

/// NATS at these addresses, with the file that it lets us in by.
pub fn store(context: &Context, servers: &[String], credentials: Option<&Path>) -> Store {
    Store {
        servers: servers.to_vec(),
        credentials: credentials.map(|file| context.options.directory.join(file)),
        ..Store::default()
    }
}

/// Whose it is that a command is about: this machine's, or a cluster's.
#[derive(Clone, Debug, Default, Args)]
pub struct OfCluster {
    /// For all replicas of a cluster, whose NATS is there; several addresses with commas
    #[arg(
        long,
        value_name = "URL",
        value_delimiter = ',',
        value_parser = nats,
        requires = "cluster_key_file"
    )]
    cluster: Vec<String>,
    /// The file with the cluster's key
    #[arg(long, value_name = "FILE", requires = "cluster")]
    cluster_key_file: Option<PathBuf>,
    /// A file with what NATS lets us in by: credentials that it made, or USER:PASSWORD
    #[arg(long, value_name = "FILE", requires = "cluster")]
    cluster_creds: Option<PathBuf>,
}

impl OfCluster {
    /// Where a cluster has it, if that is meant.
    pub fn shared(&self) -> Option<Shared> {
        Some(Shared {
            cluster: self.cluster.clone(),
            cluster_key_file: self.cluster_key_file.clone()?,
            cluster_creds: self.cluster_creds.clone(),
        })
    }

    /// Does something with the sign-ins of the cluster, if they are meant.
    pub async fn with_sign_ins<T>(
        &self,
        context: &Context,
        look: &Look,
        work: impl Future<Output = T>,
    ) -> Result<T, Failure> {
        let Some(shared) = self.shared() else {
            return Ok(work.await);
        };
        let (store, key) = shared.opens(context);
        let sign_ins = cluster::sign_ins(&store, &key).await?;
        look.share_sign_ins(Arc::new(sign_ins.clone()));
        let done = work.await;
        sign_ins.settle().await;
        Ok(done)
    }
}

/// The options by which a gateway is one of several.
#[derive(Clone, Debug, Default, PartialEq, Eq, Args, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[command(next_help_heading = "One of several gateways")]
pub struct Membership {
    /// Be one of several gateways that share their sessions; NATS is where they share what they
    /// know, such as nats://10.0.0.1:4222; several addresses of one NATS with commas
    #[arg(
        long,
        value_name = "URL",
        value_delimiter = ',',
        value_parser = nats,
        requires = "cluster_key_file",
        requires = "cluster_cert"
    )]
    pub cluster: Vec<String>,
    /// The file with the cluster's key; switchboard cluster ca makes one
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub cluster_key_file: Option<PathBuf>,
    /// The file (PEM) with our certificate, that of the cluster's authority, and our private key
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub cluster_cert: Option<PathBuf>,
    /// Where the others reach this one (default: 127.0.0.1:0, for several on one machine)
    #[arg(long, value_name = "ADDR", requires = "cluster", value_parser = address)]
    pub cluster_listen: Option<SocketAddr>,
    /// The same as the others see it, where that differs
    #[arg(long, value_name = "HOST:PORT", requires = "cluster")]
    pub cluster_advertise: Option<String>,
    /// What the ids of its sessions begin with, for a load balancer to know them by: lower-case
    /// letters and digits, another for each replica
    #[arg(long, value_name = "NAME", requires = "cluster", value_parser = name)]
    pub cluster_name: Option<String>,
    /// A file with what NATS lets us in by: credentials that it made, or USER:PASSWORD
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub cluster_creds: Option<PathBuf>,
    /// Begin alone where NATS cannot be reached, and join later
    #[arg(long, requires = "cluster")]
    pub cluster_optional: bool,
    /// Open no session while NATS cannot be reached: it would end with this replica
    #[arg(long, requires = "cluster")]
    pub cluster_strict: bool,
    /// Follow what switchboard cluster apply says, if a key in this file has signed it
    #[arg(long, value_name = "FILE", requires = "cluster")]
    pub cluster_apply_keys: Option<PathBuf>,
}

/// An address of NATS.
pub fn nats(text: &str) -> Result<String, Advice> {
    let url = url::Url::parse(text).ok();
    match url {
        // Others on this machine see command lines.
        Some(url) if url.password().is_some() || !url.username().is_empty() => {
            Err("write user and password into a file, and name it with --cluster-creds".into())
        }
        Some(url) if matches!(url.scheme(), "nats" | "tls") && url.has_host() => {
            Ok(text.to_owned())
        }
        _ => Err("write an address of NATS, such as nats://127.0.0.1:4222".into()),
    }
}

/// The name of a worker, as its certificate has it.
fn worker(text: &str) -> Result<String, Advice> {
    match authority::is_name(text) {
        true => Ok(text.to_owned()),
        false => Err("write the name of the worker's certificate: letters, digits, - and _".into()),
    }
}

fn name(text: &str) -> Result<String, Advice> {
    let is_good = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    match (1..=16).contains(&text.len()) && text.bytes().all(is_good) {
        true => Ok(text.to_owned()),
        false => Err("write up to 16 lower-case letters and digits".into()),
    }
}

impl Membership {
    /// How it becomes one of several, if that is wanted.
    fn said(&self, context: &Context) -> Option<Join> {
        let here = |file: &PathBuf| context.options.directory.join(file);
        if self.cluster.is_empty() {
            return None;
        }
        Some(Join {
            store: store(context, &self.cluster, self.cluster_creds.as_deref()),
            key: here(self.cluster_key_file.as_ref()?),
            certificate: here(self.cluster_cert.as_ref()?),
            listen: self
                .cluster_listen
                .unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0))),
            advertise: self.cluster_advertise.clone(),
            name: self.cluster_name.clone(),
            optional: self.cluster_optional,
            strict: self.cluster_strict,
            apply_keys: self.cluster_apply_keys.as_ref().map(here),
            followed: context.dirs().ok().map(|dirs| dirs.state.join("cluster")),
        })
    }

    /// Whether it follows what is applied to all.
    pub fn follows(&self) -> bool {
        self.cluster_apply_keys.is_some()
    }

    /// Whether it is to be one of several.
    pub fn is_wanted(&self) -> bool {
        !self.cluster.is_empty()
    }

    /// The files that hold its secrets.
    pub fn secrets(&self, context: &Context) -> Vec<PathBuf> {
        self.said(context)
            .map_or_else(Vec::new, |join| join.secrets())
    }

    /// Joins, if that is wanted.
    pub async fn join(&self, context: &Context) -> Result<Option<Joined>, Failure> {
        match self.said(context) {
            Some(join) => Ok(Some(join.join().await?)),
            None => Ok(None),
        }
    }
}

impl From<ClusterError> for Failure {
    fn from(error: ClusterError) -> Self {
        let text = error.to_string();
        match error {
            ClusterError::Store(LedgerError::Unled(_)) => Self::new(Code::Unreachable, text).hint(
                "its servers may be choosing who leads, which takes seconds: try again; if it \
                 lasts, see that more than half of them run and reach each other, that their \
                 disks have room, and that the account has the rights that switchboard cluster \
                 nats-config prints",
            ),
            ClusterError::Store(_) => Self::new(Code::Unreachable, text).hint(
                "see that NATS 2.11 or later runs there with JetStream (switchboard cluster \
                 nats-config prints how), or say --cluster-optional to begin alone and join later",
            ),
            ClusterError::File { .. } | ClusterError::Keys { .. } => {
                Self::new(Code::Configuration, text)
                    .hint("switchboard cluster ca DIR makes a key; all replicas need the same")
            }
            ClusterError::ApplyKeys { .. } => Self::new(Code::Configuration, text).hint(
                "switchboard cluster ca DIR makes apply.key, to sign with, and apply.pub, which \
                 replicas and workers go by",
            ),
            ClusterError::NoHome => Self::new(Code::Configuration, text).hint(
                "set HOME to a folder of its own, or leave --cluster-apply-keys or --hire out",
            ),
            ClusterError::Certificate(_) => Self::new(Code::Configuration, text)
                .hint("switchboard cluster ca DIR --name NAME makes one for each replica"),
            ClusterError::NotTheWorker { .. } => Self::new(Code::Configuration, text).hint(
                "switchboard cluster ca DIR --name NAME --worker makes one; --name says the name \
                 where the file is called otherwise",
            ),
            ClusterError::Nowhere(_) => {
                Self::usage(text).hint("name an address, or say --cluster-advertise HOST:PORT")
            }
            ClusterError::Bind { .. } => {
                Self::usage(text).hint("choose another port, or port 0 for a free one")
            }
        }
    }
}

/// Does it.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let here = |path: &PathBuf| context.options.directory.join(path);
    match &options.action {
        Action::NatsConfig { workers } => {
            out::bytes(cluster::nats_config(workers).as_bytes())?;
        }
        Action::Ca {
            folder,
            name,
            worker,
        } => {
            let role = match worker {
                true => Role::Worker,
                false => Role::Replica,
            };
            make(&here(folder), name, role)?;
        }
        Action::Status { shared, json } => {
            let (store, key) = shared.opens(context);
            let found = life::short(async |_| cluster::status(&store, &key).await)??;
            return status::show(&found, *json);
        }
        Action::Apply(options) => return applied::apply(context, options),
        Action::History(options) => return applied::history(context, options),
        Action::Show(options) => return applied::show(context, options),
    }
    Ok(Code::Done)
}

fn make(folder: &Path, name: &str, role: Role) -> Result<(), Failure> {
    let made = authority::make(folder, name, role);
    let made = made.map_err(|error| Failure::new(Code::Configuration, error.to_string()))?;
    if made.is_empty() {
        return out::line("All of it is there already.");
    }
    for path in &made {
        out::line(&format!("Made {}", path.display()))?;
    }
    let key = folder.join(match role {
        Role::Replica => authority::KEY,
        Role::Worker => authority::WORKERS_KEY,
    });
    let who = match role {
        Role::Replica => "replica",
        Role::Worker => "worker",
    };
    let pem = folder.join(format!("{name}.pem"));
    out::line(&format!(
        "Every {who} needs {} and a certificate of its own, such as {}; {} stays where certificates are made.",
        key.display(),
        pem.display(),
        folder.join(authority::AUTHORITY_KEY).display()
    ))?;
    let applies = folder.join(authority::APPLY_KEY);
    if !made.contains(&applies) {
        return Ok(());
    }
    out::line(&format!(
        "{} signs what is applied to all replicas: it belongs to whoever may do that; replicas get {}.",
        applies.display(),
        folder.join(authority::APPLY_KEYS).display()
    ))
}
