//! A gateway that runs already, or another program in the way: a second `up` finds the
//! first, a person is asked before another port is used, and no address is written
//! that may be somebody else's tomorrow.

use super::{Options, PORT, PORTS, clients::Entries, unusable};
use crate::{
    commands::status,
    context::Context,
    failure::{Code, Failure},
    limits,
    show::{live, out, safe, term},
    trusting,
};
use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Instant,
};
use switchboard::{
    Attached, TakenOver,
    running::{self, Running},
    tokens,
};

/// The gateway of `up` that runs, or else another one that takes the same token.
fn first(context: &Context) -> Result<Option<Attached>, Failure> {
    let file = tokens::client_file(&context.dirs()?);
    let gateways = context.options.gateways();
    let same = |gateway: &&Attached| gateway.running.client_token.as_ref() == Some(&file);
    let by_up = gateways.iter().find(|gateway| gateway.running.by_up);
    Ok(by_up.or_else(|| gateways.iter().find(same)).cloned())
}

/// What was found of a gateway that runs.
#[derive(Default)]
pub struct Before {
    /// It stays, beside this one.
    pub stays: Option<Attached>,
    /// This one takes its place, on its sockets.
    pub replaced: Option<TakenOver>,
}

/// The gateway that runs, unless it is to be replaced: then its sockets are taken over, or
/// it is ended where it does not hand them over, or another port is wanted.
pub fn before(context: &Context, options: &Options) -> Result<Before, Failure> {
    let first = match first(context)? {
        Some(first) if options.replace => first.running,
        stays => {
            let replaced = None;
            return Ok(Before { stays, replaced });
        }
    };
    let replaced = take_over(context, &first, options.port)?;
    if replaced.is_none() {
        status::end(&first)?;
        out::line(&format!("Stopped http://{}.", first.address))?;
    }
    Ok(Before {
        stays: None,
        replaced,
    })
}

/// The sockets of a gateway that runs, where this one may have them.
pub fn take_over(
    context: &Context,
    running: &Running,
    port: Option<u16>,
) -> Result<Option<TakenOver>, Failure> {
    let address: Option<SocketAddr> = running.address.parse().ok();
    let is_same = |address: SocketAddr| port.is_none_or(|port| port == address.port());
    if !address.is_some_and(is_same) {
        return Ok(None);
    }
    let fault = match TakenOver::from(&running::folder(&context.dirs()?), running.pid) {
        Ok(taken) => {
            out::line(&format!("Takes the place of http://{}.", running.address))?;
            return Ok(Some(taken));
        }
        Err(fault) => fault,
    };
    if let Some(other) = quicker(context, running)? {
        let text = format!(
            "another command took the place of process {} just now: http://{} is process {}",
            running.pid, other.address, other.pid
        );
        let hint = "it runs as it was started there; to replace it as well, say so once more";
        return Err(Failure::new(Code::Answered, text).hint(hint));
    }
    tracing::info!(%fault, "the gateway that runs does not hand over, so it is ended first");
    Ok(None)
}

/// Whoever took the place of this gateway meanwhile. Its note may come a moment later than
/// it serves.
fn quicker(context: &Context, before: &Running) -> Result<Option<Running>, Failure> {
    let until = Instant::now() + limits::REPLACED;
    loop {
        let all = running::all(&context.dirs()?).running;
        let is_other = |one: &Running| one.address == before.address && one.pid != before.pid;
        let other = all.into_iter().find(is_other);
        if other.is_some() || Instant::now() > until {
            return Ok(other);
        }
        #[expect(clippy::disallowed_methods, reason = "the command does nothing else")]
        std::thread::sleep(limits::ENDING_LOOK);
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
