//! `reconnect`: tells the running gateways.

use super::console::failed;
use crate::{
    context::Context,
    failure::{Code, Failure},
    life,
    near::{did_you_mean, near},
    show::{
        out, safe,
        term::{self},
    },
};
use clap::Args;
use futures_util::future::join_all;
use serde_json::{Value, json};
use switchboard::{
    Attached,
    api::{
        Client, ClientError,
        types::servers::{Done, Served},
    },
};

/// Options of `reconnect`.
#[derive(Debug, Args)]
pub struct Options {
    /// The server, or all
    #[arg(value_name = "NAME|all")]
    pub name: String,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Reconnects, and says how it went.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let gateways = context.options.gateways();
    if gateways.is_empty() {
        let hint =
            "start one with switchboard up; without one, servers are started for each command anew";
        return Err(Failure::new(Code::Unreachable, "no gateway is running").hint(hint));
    }
    let mut results: Vec<Value> = Vec::new();
    for gateway in &gateways {
        let wanted: Vec<&Served> = wanted(gateway, &options.name).collect();
        if !wanted.is_empty() {
            results.extend(reconnected(gateway, &wanted)?);
        }
    }
    if results.is_empty() {
        let known: Vec<&Served> = gateways
            .iter()
            .flat_map(|gateway| &gateway.servers)
            .collect();
        let names = known.iter().map(|known| known.name.as_str());
        let hint = did_you_mean(&near(&options.name, names));
        let text = format!("no running gateway has a server {:?}", options.name);
        return Err(
            Failure::usage(text).hint(hint.unwrap_or_else(|| "see switchboard list".to_owned()))
        );
    }
    let well = |server: &Value| server["health"] == "connected";
    if options.json {
        out::json_list(&results)?;
    } else {
        for server in &results {
            show(server, well(server))?;
        }
    }
    Ok(if results.iter().all(well) {
        Code::Done
    } else {
        Code::Unreachable
    })
}

/// Those of the gateway's servers that are meant.
fn wanted<'a>(gateway: &'a Attached, name: &'a str) -> impl Iterator<Item = &'a Served> {
    let is_meant = move |known: &&Served| name == "all" || known.name == name;
    gateway.servers.iter().filter(is_meant)
}

/// Has the gateway connect to these anew, side by side.
fn reconnected(gateway: &Attached, servers: &[&Served]) -> Result<Vec<Value>, Failure> {
    let client = Client::of(&gateway.running).map_err(|fault| failed(&fault))?;
    let address = format!("http://{}", gateway.running.address);
    let nothing = json!({});
    let each = servers.iter().map(async |known| {
        let path = format!("servers/{}/reconnect", known.segment);
        client.post::<Done>(&path, &nothing).await
    });
    let done = life::short(async |_| join_all(each).await)?;
    let row = |done: Result<Done, ClientError>| -> Result<Value, Failure> {
        let Done { server, .. } = done.map_err(|fault| failed(&fault))?;
        let reason = server.state.reason.or(server.state.hint);
        let (name, health) = (server.name, server.state.word);
        Ok(json!({"name": name, "health": health, "reason": reason, "gateway": address}))
    };
    done.into_iter().map(row).collect()
}

fn show(server: &Value, well: bool) -> Result<(), Failure> {
    let paint = term::stdout();
    let name = safe::line(server["name"].as_str().unwrap_or_default());
    if well {
        return out::line(&format!("{name}  {}", paint.green("connected")));
    }
    let reason = safe::lines(server["reason"].as_str().unwrap_or("it gave no reason"));
    out::line(&format!("{name}  {}: {reason}", paint.red("failed")))
}
