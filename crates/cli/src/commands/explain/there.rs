//! The part of `explain` that asks a running gateway: where one has the very same server,
//! what it decides is what its clients get, whatever the rules say in this folder.

use crate::{commands::traffic::encoded, context::Context};
use switchboard::{
    Attached,
    api::types::servers::{Explained, Served},
    host::Server,
    limits::API_ANSWER,
};

/// What a gateway says.
#[derive(Debug)]
pub struct There {
    /// Which.
    pub address: String,
    /// What.
    pub explained: Explained,
}

/// Asks the first gateway that has this server, if one has and says so: for the server, or
/// a tool of it.
pub fn ask(context: &Context, server: &Server, name: &str) -> Option<There> {
    let here = &context.options.directory;
    let mut gateways = context.options.gateways();
    gateways.sort_by_key(|gateway| gateway.running.directory != *here);
    let gateway = gateways.iter().find(|gateway| has(gateway, server))?;
    let path = format!("explain/{}", encoded(name));
    let explained = gateway.get(&path, API_ANSWER).ok()?;
    Some(There {
        address: format!("http://{}", gateway.running.address),
        explained,
    })
}

/// Whether it has the very same, or it is the gateway's own.
fn has(gateway: &Attached, server: &Server) -> bool {
    let own = |served: &Served| served.builtin && served.name == **server.name();
    gateway.find(&server.spec).is_some() || gateway.servers.iter().any(own)
}

/// How the server is doing there, in a line.
pub fn note(context: &Context, server: &Server) -> Option<String> {
    let there = ask(context, server, server.name())?;
    let state = there.explained.state?;
    let why = state.reason.map(|why| format!(": {why}"));
    Some(format!(
        "the gateway at {} has it: {}{}",
        there.address,
        state.word,
        why.unwrap_or_default()
    ))
}
