//! `log`: how much the running gateways log, from now on.

use crate::{
    context::Context,
    failure::{Code, Failure},
    limits,
    logging::Filter,
    show::out,
};
use clap::Args;
use serde_json::{Value, json};
use switchboard::api::types::insight::Log;

/// Options of `log`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    /// How much: error, warn, info, debug or trace; MODULE=LEVEL for one part. Without any it is
    /// only shown
    #[arg(value_name = "LEVEL|MODULE=LEVEL")]
    pub filter: Vec<String>,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "Examples:
  switchboard log debug
  switchboard log warn host=debug gateway::faces=trace";

/// Tells them, and shows what they log then.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let filter = match options.filter.is_empty() {
        true => None,
        false => {
            let parsed = options.filter.join(",").parse::<Filter>();
            Some(parsed.map_err(|wrong| Failure::usage(wrong.to_string()))?)
        }
    };
    let gateways = context.options.gateways();
    if gateways.is_empty() {
        let hint = "start one with switchboard up";
        return Err(Failure::new(Code::Unreachable, "no gateway is running").hint(hint));
    }
    let mut all = Vec::new();
    for gateway in &gateways {
        let address = &gateway.running.address;
        let answer = match &filter {
            Some(filter) => {
                let wanted = json!({"filter": filter.to_string()});
                gateway.post::<Log>("log", &wanted, limits::RECONNECT)
            }
            None => gateway.get("log", limits::RECONNECT),
        };
        let Log { log: now, .. } = answer.map_err(|error| {
            let text = format!("the gateway at http://{address} could not do it: {error}");
            Failure::new(Code::Unreachable, text)
        })?;
        if !options.json {
            out::line(&format!("http://{address} logs {now}"))?;
        }
        all.push(json!({"gateway": format!("http://{address}"), "log": now}));
    }
    if options.json {
        out::line(&Value::Array(all).to_string())?;
    }
    Ok(Code::Done)
}
