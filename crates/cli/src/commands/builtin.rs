//! `builtin`: one built-in server on stdio, for any client.

use crate::{
    failure::{Code, Failure},
    life,
    near::{did_you_mean, near},
};
use clap::Args;
use switchboard::{
    VERSION,
    builtin::{Builtin, System, on_stdio},
};

/// Options of `builtin`.
#[derive(Debug, Args)]
pub struct Options {
    /// Which one: system
    pub name: String,
}

/// Serves until stdin ends or a signal comes.
pub fn run(options: &Options) -> Result<Code, Failure> {
    let names: Vec<&str> = Builtin::ALL.iter().map(|builtin| builtin.name()).collect();
    let Some(builtin) = Builtin::parse(&options.name) else {
        let hint = did_you_mean(&near(&options.name, names.clone()));
        let hint = hint.unwrap_or_else(|| format!("there are: {}", names.join(", ")));
        return Err(
            Failure::usage(format!("there is no built-in server {:?}", options.name)).hint(hint),
        );
    };
    life::short(async move |stop| {
        let server = match builtin {
            Builtin::System => System::new(VERSION),
        };
        tokio::select! {
            ended = on_stdio(server) => match ended {
                Ok(()) => Ok(Code::Done),
                Err(fault) => Err(Failure::new(Code::Answered, fault.to_string())),
            },
            () = stop.cancelled() => Ok(Code::Done),
        }
    })?
}
