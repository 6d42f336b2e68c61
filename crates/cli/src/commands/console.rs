//! `console`: the way to the gateway's page in a browser.

use super::status::{Which, chosen};
use crate::{
    context::Context,
    failure::{Code, Failure},
    life,
    show::{out, safe},
};
use clap::Args;
use serde_json::json;
use switchboard::{
    api::{Client, ClientError, types::sessions},
    auth,
};

/// Options of `console`.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub struct Options {
    #[command(flatten)]
    pub which: Which,
    /// Open it in a browser
    #[arg(long)]
    pub open: bool,
    /// Print JSON
    #[arg(long)]
    pub json: bool,
}

const EXAMPLES: &str = "Examples:
  switchboard console
  switchboard console --open

The address has a code in it that is good once, for a minute. It is a fragment, so that
no server and no other page ever sees it.";

/// Makes a code, and shows the address that it opens.
pub fn run(context: &Context, options: &Options) -> Result<Code, Failure> {
    let running = chosen(context, &options.which)?;
    life::short(async |_| {
        let client = Client::of(&running).map_err(failed)?;
        let code: sessions::Code = client.post("codes", &json!({})).await.map_err(failed)?;
        let address = code.address.unwrap_or_else(|| {
            let at = &running.address;
            format!("http://{at}/#{}", code.code)
        });
        if options.json {
            let shown = json!({ "address": address, "seconds": code.seconds });
            out::json(shown.to_string().as_bytes())?;
        } else {
            out::line(&safe::line(&address))?;
        }
        match options.open {
            true => open(&address).await,
            false => Ok(Code::Done),
        }
    })?
}

/// Opens the page in the user's browser.
pub async fn open(address: &str) -> Result<Code, Failure> {
    let fault = |text: String| {
        Failure::new(Code::Answered, text).hint("go to the address with a browser yourself")
    };
    let page = address.parse();
    let page = page.map_err(|_| fault(format!("{address} is no address")))?;
    let opened = auth::browser::system()(page).await;
    opened.map_err(|error| fault(error.to_string()))?;
    Ok(Code::Done)
}

fn failed(error: ClientError) -> Failure {
    Failure::new(Code::Unreachable, error.to_string()).hint("see switchboard status")
}
