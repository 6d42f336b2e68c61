//! `console`: the address of the running gateway's page, with a code that opens it once.

use crate::{
    context::Context,
    failure::{Code, Failure},
    life,
    show::out,
};
use clap::Args;
use serde_json::{Value, json};
use switchboard::api::{Client, ClientError, types::sessions};

/// Options of `console`.
#[derive(Debug, Args)]
pub struct Options {
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

/// Asks the gateway for a code, and shows the address.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let gateway = Client::find(&context.options).map_err(|fault| failed(&fault))?;
    let made = life::short(async |_| gateway.post::<sessions::Code>("codes", &json!({})).await)?;
    let made = made.map_err(|fault| failed(&fault))?;
    if options.json {
        let shown: Value = json!({
            "address": made.address, "code": made.code, "seconds": made.seconds,
        });
        out::json(shown.to_string().as_bytes())?;
        return Ok(Code::Done);
    }
    out::line(made.address.as_deref().unwrap_or(&made.code))?;
    crate::context::note(&format!(
        "it opens once, within {} seconds; whoever opens it may do everything",
        made.seconds
    ));
    Ok(Code::Done)
}

/// The failure that a gateway is which does not do what it is asked.
pub fn failed(fault: &ClientError) -> Failure {
    let (code, hint) = match fault {
        ClientError::None => (Code::Unreachable, None),
        ClientError::Refused(status, refused) => {
            let code = match status.as_u16() {
                401 | 403 => Code::NotPermitted,
                400..=499 => Code::Usage,
                _ => Code::Answered,
            };
            (code, refused.hint.clone())
        }
        ClientError::Token(_) => (Code::Configuration, None),
        ClientError::Silent | ClientError::Broken(_) | ClientError::Unfit(_) => {
            let hint = "switchboard doctor says what is wrong with it".to_owned();
            (Code::Unreachable, Some(hint))
        }
    };
    let failure = Failure::new(code, fault.to_string());
    match hint {
        Some(hint) => failure.hint(hint),
        None => failure,
    }
}
