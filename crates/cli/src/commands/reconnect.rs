//! `reconnect`: tells the running gateways.

use crate::{
    context::Context,
    failure::{Code, Failure},
    limits,
    near::{did_you_mean, near},
    show::{
        out, safe,
        term::{self},
    },
};
use clap::Args;
use serde_json::{Value, json};
use switchboard::{Attached, Known};

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
        let Some(what) = wanted(gateway, &options.name) else {
            continue;
        };
        let address = &gateway.running.address;
        let answer = gateway
            .ask("POST", &format!("reconnect/{what}"), limits::RECONNECT)
            .map_err(|error| {
                let text = format!("the gateway at http://{address} could not do it: {error}");
                Failure::new(Code::Unreachable, text)
            })?;
        let servers: Vec<Value> = serde_json::from_str(&answer).unwrap_or_default();
        for mut server in servers {
            server["gateway"] = json!(format!("http://{address}"));
            results.push(server);
        }
    }
    if results.is_empty() {
        let known: Vec<&Known> = gateways
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

/// What to name in the gateway's path, if it has the server.
fn wanted(gateway: &Attached, name: &str) -> Option<String> {
    if name == "all" {
        return Some(name.to_owned());
    }
    let known = gateway.servers.iter().find(|known| known.name == name)?;
    Some(known.segment.clone())
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
