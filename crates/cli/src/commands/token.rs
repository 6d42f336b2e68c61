//! `token`: the tokens that let clients in to a gateway of this user's.

use crate::{
    context::{Context, warn},
    failure::{Code, Failure},
    show::out,
};
use clap::{Args, Subcommand};
use serde_json::json;
use std::time::SystemTime;
use switchboard::{
    host::pins::Pins,
    tokens::{self, TokenError},
};

/// Options of `token`.
#[derive(Debug, Args)]
pub struct Options {
    /// What to do
    #[command(subcommand)]
    pub action: Action,
}

/// What can be done with tokens.
#[derive(Debug, Subcommand)]
pub enum Action {
    /// Make a token and print it; it is shown this once
    Create {
        /// Who it stands for: rules name clients by it
        name: String,
    },
    /// Show the names of all tokens
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Stop accepting a token, in gateways that run too
    Revoke {
        /// The token
        name: String,
    },
}

/// Does it.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let dirs = context.dirs()?;
    match &options.action {
        Action::Create { name } => {
            let token = tokens::create(&dirs, name).map_err(|error| failed(&error))?;
            out::line(&token.secret)?;
        }
        Action::Revoke { name } => {
            tokens::revoke(&dirs, name).map_err(|error| failed(&error))?;
            // Whoever gets a token of this name next is somebody else.
            let pins = dirs.data.join("pins");
            if let Err(error) = Pins::open(pins.clone()).forget_principal(name) {
                let pins = pins.display();
                warn(&format!(
                    "what was pinned for {name} is still in {pins}: {error}"
                ));
            }
            out::line(&format!("Revoked {name}."))?;
        }
        Action::List { json } => {
            let found = tokens::list(&dirs).map_err(|error| failed(&error))?;
            if *json {
                let rows: Vec<_> = found
                    .iter()
                    .map(|(name, made)| {
                        let fault = tokens::fault(&dirs, name);
                        let problem = fault.map(|fault| fault.to_string());
                        json!({"name": name, "created": seconds(*made), "problem": problem})
                    })
                    .collect();
                out::json_list(&rows)?;
            } else {
                for (name, _) in &found {
                    out::line(name)?;
                }
            }
            for (name, _) in &found {
                if let Some(fault) = tokens::fault(&dirs, name) {
                    warn(&format!(
                        "token {name:?} lets nobody in: {fault}; make it anew with switchboard token revoke {name} and token create {name}"
                    ));
                }
            }
        }
    }
    Ok(Code::Done)
}

/// Seconds since 1970.
fn seconds(time: Option<SystemTime>) -> Option<u64> {
    let since = time?.duration_since(SystemTime::UNIX_EPOCH).ok()?;
    Some(since.as_secs())
}

fn failed(error: &TokenError) -> Failure {
    match error {
        TokenError::Exists(name) => Failure::usage(error.to_string())
            .hint(format!("revoke it first: switchboard token revoke {name}")),
        TokenError::Unknown(_) => {
            Failure::usage(error.to_string()).hint("see switchboard token list")
        }
        TokenError::Name(_) | TokenError::Ours(_) => Failure::usage(error.to_string()),
        _ => Failure::new(Code::Configuration, error.to_string()),
    }
}
