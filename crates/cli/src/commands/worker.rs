//! `worker`: runs servers for the replicas of a cluster: those of its own settings, and those
//! that somebody has signed.

use crate::{
    commands::{
        cluster::{nats, store},
        serve::{announce_folder, only, usable},
    },
    context::Context,
    failure::{Advice, Code, Failure},
    life,
    limits::{HIRE_ROOM, WORKER_ROOM},
    show::out,
};
use clap::Args;
use std::{path::PathBuf, sync::Arc};
use switchboard::{
    Purpose, Show,
    cluster::{Hire, Hires, Hiring},
    config::{Entry, Loaded, Scope},
    host::permission::Mode,
    local::visible,
    wire::name::Style,
};

/// Options of `worker`.
#[derive(Clone, Debug, Args)]
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
    /// Run what switchboard cluster apply says for workers as well, if a key in this file has signed
    /// it; its own servers are offered then only where --offer names them
    #[arg(long, value_name = "FILE")]
    hire: Option<PathBuf>,
    /// Variables of this machine that such servers may be given where they ask for them; without it
    /// none
    #[arg(long, value_name = "NAME", value_delimiter = ',', requires = "hire")]
    hire_env: Vec<String>,
    /// How many of those servers it has in use at a time
    #[arg(long, value_name = "COUNT", default_value_t = HIRE_ROOM, requires = "hire", value_parser = clap::value_parser!(u32).range(1..))]
    hire_room: u32,
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
        let hires = self.hire.as_ref().map(|signers| Hires {
            signers: here(signers),
            followed: context.dirs().ok().map(|dirs| dirs.state.join("cluster")),
            variables: self.hire_env.clone(),
            room: self.hire_room as usize,
        });
        Ok(Hire {
            store: store(context, &self.join, self.cluster_creds.as_deref()),
            key: here(&self.cluster_key_file),
            certificate: here(&self.cluster_cert),
            name,
            labels: self.labels.iter().cloned().collect(),
            room: self.room as usize,
            offers: self.offer.clone(),
            hires,
        })
    }

    /// Leaves the servers that are offered, and those that were signed. Whoever hires this
    /// machine out has not said that others may use what is its own.
    fn leave(&self, loaded: &mut Loaded) -> Result<(), Failure> {
        let is_signed = |entry: &Entry| entry.scope == Scope::Fleet;
        let all = std::mem::take(&mut loaded.servers).into_iter();
        let (signed, own): (Vec<_>, Vec<_>) = all.partition(|it| is_signed(&it.entry));
        if self.hire.is_none() || !self.offer.is_empty() {
            loaded.servers = own;
            only(loaded, &self.offer, "--offer")?;
        }
        loaded.servers.extend(signed);
        Ok(())
    }
}

/// Works until a signal comes.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let hire = options.hire(context)?;
    context.options.in_use.add_own(hire.secrets());
    let said = options.clone();
    let offered = move |loaded: &mut Loaded| Ok(said.leave(loaded)?);
    let approved = context.config()?.approve(&context.options.approvals());
    let approved = approved.arrange(Arc::new(offered))?;
    announce_folder(approved.read());
    let approved = approved.names(Style::Short);
    let governed = approved.govern(options.permission_mode, Purpose::Gateway)?;
    usable(&governed, options.hire.is_some())?;
    let fronted = governed.gateway(Show::default());
    life::long(async |stop| {
        let name = hire.name.clone();
        let is_hired = hire.hires.is_some();
        let hired = hire.join(fronted.governed()).await?;
        let hires = hired.hires(fronted.governed());
        let is_own = |name: &&str| {
            !hires
                .iter()
                .any(|it| it.why.is_none() && it.server == *name)
        };
        let servers = fronted.governed().host().servers();
        let offers = servers.iter().map(|server| &**server.name());
        let offers: Vec<&str> = offers.filter(is_own).collect();
        let offers = match (offers.is_empty(), is_hired) {
            (true, true) => None,
            (true, false) => Some("offers nothing yet".to_owned()),
            (false, _) => Some(format!("offers {}", offers.join(", "))),
        };
        let hires = is_hired.then(|| hired_out(&hires));
        let does: Vec<String> = offers.into_iter().chain(hires).collect();
        let (id, does) = (hired.id(), does.join("; "));
        out::line(&visible::line(&format!("Worker {name} ({id}) {does}")))?;
        fronted.work(hired, stop).await?;
        Ok(Code::Done)
    })?
}

/// What a worker hires out, and what it does not.
pub fn hired_out(hires: &[Hiring]) -> String {
    let (run, not): (Vec<_>, Vec<_>) = hires.iter().partition(|hire| hire.why.is_none());
    let names: Vec<&str> = run.iter().map(|hire| &*hire.server).collect();
    let names = match names.is_empty() {
        true => "nothing".to_owned(),
        false => names.join(", "),
    };
    let not = not.iter().map(|hire| {
        let why = hire.why.as_deref().unwrap_or_default();
        format!(", not {} ({why})", hire.server)
    });
    format!("hires out {names}{}", not.collect::<String>())
}
