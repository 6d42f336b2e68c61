//! `worker`: runs servers of its own settings for the replicas of a cluster.

use crate::{
    commands::{
        cluster::{nats, store},
        serve::{announce_folder, only, usable},
    },
    context::Context,
    failure::{Advice, Code, Failure},
    life,
    limits::WORKER_ROOM,
    show::out,
};
use clap::Args;
use std::{path::PathBuf, sync::Arc};
use switchboard::{
    Purpose, Show, cluster::Hire, config::Loaded, host::permission::Mode, wire::name::Style,
};

/// Options of `worker`.
#[derive(Debug, Args)]
pub struct Options {
    /// NATS, where the cluster's replicas share what they know; several addresses of one NATS with
    /// commas
    #[arg(long, value_name = "URL", value_delimiter = ',', required = true, value_parser = nats)]
    join: Vec<String>,
    /// The file with the cluster's key
    #[arg(long, value_name = "FILE")]
    cluster_key_file: PathBuf,
    /// The file (PEM) with this worker's certificate, that of the cluster's authority, and the
    /// private key; switchboard cluster ca DIR --name NAME --worker makes one
    #[arg(long, value_name = "FILE")]
    cluster_cert: PathBuf,
    /// A file with what NATS lets us in by: credentials that it made, or USER:PASSWORD
    #[arg(long, value_name = "FILE")]
    cluster_creds: Option<PathBuf>,
    /// The worker's name, which its certificate is made out to (default: the name of that file)
    #[arg(long, value_name = "NAME")]
    name: Option<String>,
    /// Offer only these servers of its settings
    #[arg(long, value_name = "SERVER", value_delimiter = ',')]
    offer: Vec<String>,
    /// Say something of this worker that entries can ask for, such as gpu=yes; repeatable
    #[arg(long = "label", value_name = "NAME=VALUE", value_parser = label)]
    labels: Vec<(String, String)>,
    /// How many connections of replicas to its servers it takes at a time
    #[arg(long, value_name = "COUNT", default_value_t = WORKER_ROOM, value_parser = clap::value_parser!(u32).range(1..))]
    room: u32,
    /// What its own rules say about tools that none of them is about: client (the default;
    /// whoever is connected asks its own user), default, auto, read-only or bypassPermissions
    #[arg(long, value_name = "MODE")]
    permission_mode: Option<Mode>,
}

fn label(text: &str) -> Result<(String, String), Advice> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE, such as gpu=yes".into()),
    }
}

impl Options {
    fn hire(&self, context: &Context) -> Result<Hire, Failure> {
        let here = |file: &PathBuf| context.options.directory.join(file);
        let stem = self.cluster_cert.file_stem().and_then(|stem| stem.to_str());
        let name = self.name.clone().or_else(|| stem.map(str::to_owned));
        let name =
            name.ok_or_else(|| Failure::usage("the worker has no name").hint("say --name NAME"))?;
        Ok(Hire {
            store: store(context, &self.join, self.cluster_creds.as_deref()),
            key: here(&self.cluster_key_file),
            certificate: here(&self.cluster_cert),
            name,
            labels: self.labels.iter().cloned().collect(),
            room: self.room as usize,
            offers: self.offer.clone(),
        })
    }
}

/// Works until a signal comes.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let hire = options.hire(context)?;
    context.options.in_use.add_own(hire.secrets());
    let names = options.offer.clone();
    let offered = move |loaded: &mut Loaded| Ok(only(loaded, &names, "--offer")?);
    let approved = context.config()?.approve(&context.options.approvals());
    let approved = approved.arrange(Arc::new(offered))?;
    announce_folder(approved.read());
    let approved = approved.names(Style::Short);
    let governed = approved.govern(options.permission_mode, Purpose::Gateway)?;
    usable(&governed, false)?;
    let fronted = governed.gateway(Show::default());
    life::long(async |stop| {
        let name = hire.name.clone();
        let hired = hire.join().await?;
        let offers = fronted.governed().host().servers();
        let offers: Vec<&str> = offers.iter().map(|server| &**server.name()).collect();
        out::line(&format!(
            "Worker {name} ({}) offers {}",
            hired.id(),
            match offers.is_empty() {
                true => "nothing yet".to_owned(),
                false => offers.join(", "),
            }
        ))?;
        fronted.work(hired, stop).await?;
        Ok(Code::Done)
    })?
}
