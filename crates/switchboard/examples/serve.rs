//! Serves what a user has configured to clients on this machine, as `switchboard serve` does.
#![allow(clippy::print_stderr, reason = "an example for people to read")]

use std::error::Error;
use switchboard::{Config, Listen, Options, Purpose, Show, Variables};
use tokio_util::sync::CancellationToken;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let variables = Variables::new(|name| std::env::var_os(name));
    let options = Options::new(std::env::current_dir()?, variables);
    let servers = Config::load(&options)?
        .approve(&options.approvals())
        .govern(None, Purpose::Gateway)?;

    // Whoever shows the client token may come in; it is made when there is none.
    let listen = Listen {
        http: Some(([127, 0, 0, 1], 3700).into()),
        ..Listen::default()
    };
    let gateway = servers
        .gateway(Show::default())
        .listen(listen.doors(&options)?)?;
    for place in gateway.places() {
        eprintln!("listening on http://{}", place.address());
    }
    // It follows the files, and ends its servers when it is told to stop.
    gateway.serve(CancellationToken::new()).await?;
    Ok(())
}
