//! A gateway that runs already, or another program in the way: a second `up` finds the
//! first, a person is asked before another port is used, and no address is written
//! that may be somebody else's tomorrow.

use super::{Options, PORT, PORTS, clients::Entries, unusable};
use crate::{
    commands::status,
    context::Context,
    failure::Failure,
    show::{live, out, safe, term},
    trusting,
};
use std::net::Ipv4Addr;
use switchboard::{Attached, tokens};

/// The gateway of `up` that runs, or else another one that takes the same token.
fn first(context: &Context) -> Result<Option<Attached>, Failure> {
    let file = tokens::client_file(&context.dirs()?);
    let gateways = context.options.gateways();
    let same = |gateway: &&Attached| gateway.running.client_token.as_ref() == Some(&file);
    let by_up = gateways.iter().find(|gateway| gateway.running.by_up);
    Ok(by_up.or_else(|| gateways.iter().find(same)).cloned())
}

/// The same, unless it is to be replaced: then it is ended.
pub fn first_unless_replaced(
    context: &Context,
    replace: bool,
) -> Result<Option<Attached>, Failure> {
    match first(context)? {
        Some(first) if replace => {
            status::end(&first.running)?;
            out::line(&format!("Stopped http://{}.", first.running.address))?;
            Ok(None)
        }
        first => Ok(first),
    }
}

/// How clients are connected to a gateway that runs.
pub fn entries_of(context: &Context, first: &Attached) -> Result<(String, Entries), Failure> {
    let base = format!("http://{}", first.running.address);
    let token = tokens::client(&context.dirs()?).map_err(unusable)?;
    let entries = Entries::new(&base, token, context)?;
    Ok((base, entries))
}

/// Whether a second gateway is wanted beside one that runs: a person is asked.
pub fn is_wanted_beside(
    context: &Context,
    options: &Options,
    first: &Attached,
) -> Result<bool, Failure> {
    let running = &first.running;
    if !running.by_up {
        return Ok(true);
    }
    let text = format!(
        "A gateway runs already, at http://{} (process {}), started in {}.",
        running.address,
        running.pid,
        running.directory.display()
    );
    let text = safe::line(&text);
    if term::can_ask() {
        live::stderr_line(&text);
        return trusting::ask("Start another one, on another port? [y/N] ");
    }
    let global = &context.global;
    if options.chooses() || !global.mcp_config.is_empty() || global.strict_mcp_config {
        let hint = "--port PORT starts another one beside it, --replace takes its place";
        return Err(Failure::usage(text).hint(hint));
    }
    out::line(&text)?;
    Ok(false)
}

/// How many ports are tried after the first. A person is asked before another one is
/// used: addresses that were written down somewhere would not lead to it.
pub fn other_ports() -> Result<u16, Failure> {
    let is_taken = || std::net::TcpListener::bind((Ipv4Addr::LOCALHOST, PORT)).is_err();
    if !term::can_ask() || !is_taken() {
        return Ok(PORTS);
    }
    let question =
        format!("Port {PORT} is taken by another program. Use the next free one? [y/N] ");
    if trusting::ask(&question)? {
        return Ok(PORTS);
    }
    Err(
        Failure::usage(format!("port {PORT} is taken by another program"))
            .hint("name one with --port"),
    )
}

/// Said instead of writing an address that another program may have tomorrow.
pub fn will_die(port: u16) -> String {
    format!(
        "not written: port {PORT} is taken just now, and {port} may be another program's tomorrow; \
         --port PORT names one that stays"
    )
}
